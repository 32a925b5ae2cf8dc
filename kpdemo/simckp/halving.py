"""Work on a batch that the device's memory may not hold."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TypeVar

import torch

from kpdemo.errors import KpdemoError

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
