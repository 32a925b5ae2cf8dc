"""How many steps a run takes, and the learning rate at each."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate, takewhile

from kpdemo.training.batching import epoch_batches
from kpdemo.training.loop_config import LoopConfig
from kpdemo.training.part import Part


def count_steps(part: Part, config: LoopConfig) -> int:
    """The batches of the document visits asked for, over as many epochs as that takes; at least one."""
    sizes = _sizes(part, config, 0)
    epochs, rest = divmod(config.documents, max(sum(sizes), 1))
    visited = accumulate(_sizes(part, config, epochs)) if rest else ()
    last = sum(1 for _ in takewhile(lambda visits: visits <= rest, visited))
    return max(epochs * len(sizes) + last, 1)


def _sizes(part: Part, config: LoopConfig, epoch: int) -> list[int]:
    return [len(batch) for batch in epoch_batches(part, config, epoch)]


def learning_rate(config: LoopConfig, steps: int) -> Callable[[int], float]:
    """The factor on the peak learning rate at each of that many steps."""

    def factor(step: int) -> float:
        done = step / steps
        rising = (step + 1) / max(config.warmup * steps, 1)
        falling = (1 - done) / config.decay if config.decay else 1.0
        return max(min(1.0, rising, falling), 0.0)

    return factor
