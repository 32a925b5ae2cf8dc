"""Token ids in batches: padded, moved to a device, and halved where its memory is too small."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from threading import current_thread, main_thread
from typing import Self, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kpdemo.errors import KpdemoError


@dataclass(frozen=True)
class Movable:
    """Tensors, batches of them and numbers, as the fields of a dataclass."""

    def to(self, device: torch.device) -> Self:
        moved = {
            name: value.to(device, non_blocking=True) if isinstance(value, Tensor) else value.to(device)
            for name, value in vars(self).items()
            if isinstance(value, Tensor | Movable)
        }
        return replace(self, **moved)


Item = TypeVar("Item")
Result = TypeVar("Result")

logger = logging.getLogger(__name__)


def in_halves(
    work: Callable[[Sequence[Item]], list[Result]], items: Sequence[Item], *, too_large: str
) -> list[Result]:
    """`work(items)`, one result an item; in halves, and halves of these, when it runs out of memory.

    Args:
        too_large: the sentence to raise when a single item does not fit.

    Raises:
        KpdemoError: a single item does not fit.
    """
    try:
        return work(items)
    except torch.OutOfMemoryError as error:
        if len(items) == 1:
            raise KpdemoError(too_large) from error
    half = len(items) // 2
    logger.warning("out of memory with %d texts at once: continuing with %d", len(items), half)
    return [
        result
        for part in (items[:half], items[half:])
        for result in in_halves(work, part, too_large=too_large)
    ]


def compute_both(first: Callable[[], Item], second: Callable[[], Result]) -> tuple[Item, Result]:
    """What two parts of the work on a CPU return, computed at once with half of PyTorch's threads each.

    For a short text its threads wait for one another after every product; two halves of the work do not.

    Only the main thread does so, such as that of the models' process: PyTorch gives the number of threads to
    every thread that meets it meanwhile, too, and one that halved it again would leave all with too few.

    Args:
        first: the only one that may tell how far it is, see `kpdemo.worker.tell`.

    Raises:
        Exception: what either part raises, the first before the second.
    """
    threads = torch.get_num_threads()
    if threads == 1 or current_thread() is not main_thread():
        return first(), second()
    torch.set_num_threads(threads // 2)
    try:
        with ThreadPoolExecutor(1, thread_name_prefix="second-half") as pool:
            beside = pool.submit(copy_context().run, second)
            return first(), beside.result()
    finally:
        torch.set_num_threads(threads)


TOO_LARGE = "The device's memory is too small for a single text: use --device cpu."

Tower = Callable[[Tensor, Tensor], Tensor]
"""Token ids and their mask, (N, T) long each, to vectors (N, D)."""


def pad_rows(
    rows: Sequence[Sequence[int] | NDArray[np.int64] | Tensor], padding: int
) -> tuple[Tensor, Tensor]:
    """Token ids, padded at their ends with `padding`, and mask, (N, T) long each."""
    length = max(map(len, rows), default=0)
    input_ids = torch.full((len(rows), length), padding)
    mask = torch.zeros((len(rows), length), dtype=torch.long)
    for number, row in enumerate(rows):
        input_ids[number, : len(row)] = torch.as_tensor(row)
        mask[number, : len(row)] = 1
    return input_ids, mask


def encode_rows(
    tower: Tower,
    rows: Sequence[Sequence[int]],
    *,
    padding: int,
    device: torch.device,
    size: int,
) -> Tensor:
    """(N, D) on the CPU: what `tower` makes of N rows of token ids, read `size` of like length at a time.

    A batch that the device's memory does not hold is halved.

    Args:
        padding: the pad token id.

    Raises:
        ValueError: there is no row.
    """

    def read(numbers: Sequence[int]) -> list[Tensor]:
        input_ids, mask = pad_rows([rows[number] for number in numbers], padding)
        return list(tower(input_ids.to(device), mask.to(device)).float().cpu())

    if not rows:
        raise ValueError("there is nothing to encode")
    order = sorted(range(len(rows)), key=lambda number: len(rows[number]))
    vectors = torch.stack(
        [
            vector
            for first in range(0, len(order), size)
            for vector in in_halves(read, order[first : first + size], too_large=TOO_LARGE)
        ]
    )
    return torch.empty_like(vectors).index_copy_(0, torch.tensor(order), vectors)
