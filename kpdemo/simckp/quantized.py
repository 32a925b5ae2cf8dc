"""Weights on disk: half precision, or 8-bit integers with one scale a row (letters: R rows, C columns)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import torch
from torch import Tensor

Storage = Literal["fp16", "int8"]

LARGEST = 127
NARROWEST = 64  # columns; a narrower row saves nothing worth its error
SCALE = ".int8_scale"


def pack(state: Mapping[str, Tensor], storage: Storage = "int8") -> dict[str, Tensor]:
    """The tensors to store for a model's state.

    With "int8" a wide matrix (R, C) becomes integers of -127 to 127 and, under its name with `SCALE` after
    it, the step of each row (R,) in fp16: symmetric quantisation, off by half a step at most. All else
    becomes fp16, and what is not floating point stays.

    Raises:
        ValueError: a weight is not finite, or too large for fp16.
    """
    tensors: dict[str, Tensor] = {}
    for name, value in state.items():
        value = value.detach().cpu()
        if storage == "int8" and is_wide(value):
            tensors[name], tensors[f"{name}{SCALE}"] = _quantise(name, value.float())
        else:
            tensors[name] = halved(name, value)
    return tensors


def unpack(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The state that `pack` was given, as far as it was kept; float32 what was floating point."""
    return {
        name: value.to(torch.float32).mul_(tensors[f"{name}{SCALE}"].float().unsqueeze(1))
        if f"{name}{SCALE}" in tensors
        else (value.float() if value.is_floating_point() else value)
        for name, value in tensors.items()
        if not name.endswith(SCALE)
    }


def is_wide(value: Tensor) -> bool:
    """Whether it is a matrix of floating point numbers, wide enough to be stored as integers."""
    return value.is_floating_point() and value.dim() == 2 and value.shape[1] >= NARROWEST


def _quantise(name: str, weight: Tensor) -> tuple[Tensor, Tensor]:
    """(R, C) int8 and (R,) fp16."""
    exact = weight.abs().amax(dim=1) / LARGEST
    step = exact.half()
    up = torch.nextafter(step, torch.full_like(step, torch.inf))
    step = torch.where(step.float() < exact, up, step)  # rounded up, so that no weight is cut off
    if not bool(step.isfinite().all()):
        raise ValueError(f"{name} holds a weight that is not finite or too large to store: train it again.")
    steps = step.float().masked_fill(step == 0, 1.0).unsqueeze(1)  # a row of zeros stays one
    return (weight / steps).round_().to(torch.int8), step


def halved(name: str, value: Tensor) -> Tensor:
    """In fp16 what is floating point.

    Raises:
        ValueError: a weight is not finite, or too large for it.
    """
    if not value.is_floating_point():
        return value.contiguous()
    half = value.half().contiguous()
    if not bool(half.isfinite().all()):
        raise ValueError(f"{name} holds a weight that is not finite or too large to store: train it again.")
    return half
