"""The settings of the training loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch

from kpdemo.training.bounds import AboveZero, Count, Positive, Share

Precision = Literal["auto", "bf16", "fp32"]


@dataclass(frozen=True)
class LoopConfig:
    """Attributes:
    documents: document visits in all; N epochs are N times the documents of one, and so N visits of each. A
        run ends with the last whole batch that they allow. A run may go on with more or fewer.
    warmup, decay: shares of the run in which the learning rate rises from and falls to zero; with
        decay = 1 - warmup it is SimCKP's linear decay, with less it stays at its peak in between. A run
        resumed with another `documents` follows the schedule of the new total from then on, so its learning
        rate may rise again; no single run has that schedule.
    clip: largest gradient norm.
    precision: "auto" is bf16 on a GPU and fp32 on a CPU, many of which are slower in bf16; a run resumes
        in the one it was started with.
    evaluate_every: document visits between two evaluations.
    patience: evaluations without a better one before the run stops.
    workers: processes that prepare batches; 0 for none.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    documents: Positive
    batch_size: Positive = 8
    warmup: Share = 0.05
    decay: Share = 0.95
    clip: AboveZero = 1.0
    precision: Precision = "auto"
    evaluate_every: Positive = 5_000
    checkpoint_minutes: AboveZero = 5.0
    patience: Positive = 10
    log_every: Positive = 50
    workers: Count = 0
    seed: Count = 42


def uses_bf16(precision: str, device: torch.device) -> bool:
    """Whether a setting `precision` means bf16 on that device."""
    return precision == "bf16" or (precision == "auto" and device.type == "cuda")
