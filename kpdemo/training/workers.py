"""Many documents prepared by several processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import parent_process
from multiprocessing.connection import wait
from threading import Thread
from typing import TypeVar

from tqdm import tqdm

from kpdemo.cores import usable_cores

Item = TypeVar("Item")
Made = TypeVar("Made")


def process_pool(workers: int | None = None) -> ProcessPoolExecutor:
    """Processes that end with this one, however it ends.

    Those of an ordinary pool wait for work for ever when the process that had it is killed.

    Args:
        workers: processes; None for one a core.
    """
    return ProcessPoolExecutor(workers or usable_cores(), initializer=_watch_parent)


def _watch_parent() -> None:
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def in_groups(
    make: Callable[[Sequence[Item]], Made], items: Sequence[Item], *, size: int, description: str
) -> Iterator[Made]:
    """What `make` makes of each group of `size` items, in order, with a progress bar of documents.

    Args:
        make: a picklable function.
    """
    groups = [items[first : first + size] for first in range(0, len(items), size)]
    with process_pool() as pool, tqdm(total=len(items), desc=description, unit="doc") as bar:
        for group, made in zip(groups, pool.map(make, groups), strict=True):
            yield made
            bar.update(len(group))
