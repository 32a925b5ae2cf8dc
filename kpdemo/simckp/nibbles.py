"""Matrices stored in four bits a number, two numbers a byte (letters: R rows, C columns)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from kpdemo.simckp.quantized import halved

LARGEST = 7
STEP = ".int4_step"
"""Follows the name of a matrix in that of its steps."""


def in_nibbles(name: str, values: Tensor) -> dict[str, Tensor]:
    """The tensors to store for a matrix (R, C): whole numbers of -7 to 7, off by half a step at most.

    Returns:
        Under its name (R, ⌈C/2⌉) uint8 with an even column in the lower half of each byte, and with `STEP`
        after it the step of each row (R,) fp16.

    Raises:
        ValueError: a number is not finite, or too large for fp16.
    """
    step = halved(name, values.abs().amax(dim=1) / LARGEST)
    steps = step.float().masked_fill(step == 0, 1.0).unsqueeze(1)  # a row of zeros stays one
    whole = (values / steps).round_().clamp_(-LARGEST, LARGEST).to(torch.int16) + LARGEST
    even, odd = whole[:, ::2], whole[:, 1::2]
    if odd.shape[1] < even.shape[1]:
        odd = torch.nn.functional.pad(odd, (0, 1))
    return {name: (even + (odd << 4)).to(torch.uint8), f"{name}{STEP}": step}


def from_nibbles(packed: Tensor, step: Tensor, shape: Sequence[int]) -> Tensor:
    """(R, C) float32 of what `in_nibbles` made.

    Args:
        shape: R and C.

    Raises:
        ValueError: it is another.
    """
    rows, columns = shape
    if packed.shape != (rows, (columns + 1) // 2) or step.shape != (rows,):
        raise ValueError("its numbers of four bits have another shape than the matrix that they belong to")
    whole = torch.stack([packed & 15, packed >> 4], dim=2).flatten(1)[:, :columns]
    return (whole.float() - LARGEST) * step.float().unsqueeze(1)
