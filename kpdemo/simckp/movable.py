"""Batches of tensors, which move to a device as a whole."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor


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
