"""Batches of documents of similar length, in an order that depends on the seed and the epoch alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kpdemo.training.loop_config import LoopConfig
from kpdemo.training.part import Part

_POOL = 64  # batches sorted by length together: wide enough to pad little, narrow enough to stay random


def epoch_batches(part: Part, config: LoopConfig, epoch: int) -> list[list[int]]:
    """Indices into `part`, a function of the epoch alone; as many in every epoch, in as many batches."""
    return length_bucketed(
        part.lengths, part.repeats, batch_size=config.batch_size, seed=config.seed, epoch=epoch
    )


def length_bucketed(
    lengths: Sequence[int] | NDArray[np.int32],
    repeats: Sequence[int] | NDArray[np.int32],
    *,
    batch_size: int,
    seed: int,
    epoch: int,
) -> list[list[int]]:
    """Split an epoch into batches.

    Args:
        lengths: tokens of each example.
        repeats: how often each example occurs in an epoch.

    Returns:
        Indices of the examples of each batch; a last, smaller batch is kept.
    """
    random = np.random.default_rng([seed, epoch])
    order = random.permutation(np.repeat(np.arange(len(lengths)), repeats))
    length = np.asarray(lengths)
    batches: list[list[int]] = []
    for first in range(0, len(order), batch_size * _POOL):
        pool = order[first : first + batch_size * _POOL]
        pool = pool[np.argsort(length[pool], kind="stable")]
        groups = [pool[start : start + batch_size].tolist() for start in range(0, len(pool), batch_size)]
        batches.extend(groups[number] for number in random.permutation(len(groups)))
    return batches
