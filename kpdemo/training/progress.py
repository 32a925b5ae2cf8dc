"""The progress of a run, and what its model card says of it."""

from __future__ import annotations

import math
import platform
from dataclasses import dataclass, field

import torch


@dataclass
class Progress:
    """The progress of a run; stored with every checkpoint.

    Attributes:
        documents: visited so far; an epoch's last batch has fewer than the others.
        planned: document visits the learning rate was planned for before, if the run was resumed with others.
        precision: "bf16" or "fp32".
        processors: what its steps were made on, in order.
    """

    step: int = 0
    documents: int = 0
    epoch: int = 0
    batch: int = 0
    seconds: float = 0.0
    best: float = -math.inf
    best_step: int = 0
    since_best: int = 0
    planned: list[int] = field(default_factory=list)
    precision: str = ""
    processors: list[str] = field(default_factory=list)

    def goes_on_with(self, processor: str) -> None:
        """Note what the next steps are made on."""
        if self.processors[-1:] != [processor]:
            self.processors.append(processor)

    def time(self) -> str:
        """How long the steps took, on what and in which precision."""
        on = f" on {', then '.join(self.processors)}" if self.processors else ""
        return f"{self.seconds / 60:.0f} minutes{on}, {self.precision}"


def processor(device: torch.device) -> str:
    """The name of a GPU, or the number of threads on a CPU."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{torch.get_num_threads()} {platform.machine()} CPU threads"
