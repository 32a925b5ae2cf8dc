"""Many documents made ready by several processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

from tqdm import tqdm

from kpdemo.cores import usable_cores

Item = TypeVar("Item")
Made = TypeVar("Made")


def in_groups(
    make: Callable[[Sequence[Item]], Made],
    items: Sequence[Item],
    *,
    size: int,
    description: str,
    workers: int | None = None,
) -> Iterator[Made]:
    """What `make` makes of each group of `size` items, in order, with a progress bar of documents.

    Args:
        make: a picklable function.
        workers: processes; None for one a core.
    """
    groups = [items[first : first + size] for first in range(0, len(items), size)]
    with (
        ProcessPoolExecutor(workers or usable_cores()) as pool,
        tqdm(total=len(items), desc=description, unit="doc") as bar,
    ):
        for group, made in zip(groups, pool.map(make, groups), strict=True):
            yield made
            bar.update(len(group))
