"""Weights near those of another model: only what tells them apart is stored, in four bits a weight.

Of two extractors trained from one backbone the differences are a fifth as large as the weights, so that four
bits of them are as good as six or seven of the weights themselves. Letters: R rows, C columns.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from kpdemo.simckp.quantized import NARROWEST, halved

LARGEST = 7
STEP = ".int4_step"


def pack_differences(state: Mapping[str, Tensor], base: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors to store for `state`, to be read again beside `base`.

    The difference of a wide matrix (R, C) becomes integers of -7 to 7, two in a byte, and under its name with
    `STEP` after it the step of each row (R,) in fp16, off by half a step at most. What is narrower is stored
    itself, in fp16, and what is equal is left out.

    Raises:
        ValueError: the two have other weights or shapes, or one is not finite or too large for fp16.
    """
    if {name: value.shape for name, value in state.items()} != {
        name: value.shape for name, value in base.items()
    }:
        raise ValueError("their weights have other names or shapes")
    tensors: dict[str, Tensor] = {}
    for name, value in state.items():
        value = value.detach().cpu()
        if torch.equal(value, base[name]):
            continue
        if value.is_floating_point() and value.dim() == 2 and value.shape[1] >= NARROWEST:
            tensors[name], tensors[f"{name}{STEP}"] = _quantise(name, value.float() - base[name].float())
        else:
            tensors[name] = halved(name, value)
    return tensors


def unpack_differences(tensors: Mapping[str, Tensor], base: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The state that `pack_differences` was given, as far as it was kept.

    Args:
        base: the same as then; float32 what is floating point. Weights that are equal are these tensors.

    Raises:
        ValueError: `tensors` belong to another base.
    """
    state = dict(base)
    for name, value in tensors.items():
        if name.endswith(STEP):
            continue
        if name not in base:
            raise ValueError(f"{name} is no weight of the model that it differs from")
        if f"{name}{STEP}" in tensors:
            value = base[name] + _restore(value, tensors[f"{name}{STEP}"], base[name].shape)
        state[name] = value.float() if value.is_floating_point() else value
    return state


def _quantise(name: str, difference: Tensor) -> tuple[Tensor, Tensor]:
    """(R, ⌈C/2⌉) uint8 with an even column in the lower half of each byte, and (R,) fp16."""
    step = halved(name, difference.abs().amax(dim=1) / LARGEST)
    steps = step.float().masked_fill(step == 0, 1.0).unsqueeze(1)  # a row without a difference stays one
    whole = (difference / steps).round_().clamp_(-LARGEST, LARGEST).to(torch.int16) + LARGEST
    even, odd = whole[:, ::2], whole[:, 1::2]
    if odd.shape[1] < even.shape[1]:
        odd = torch.nn.functional.pad(odd, (0, 1))
    return (even + (odd << 4)).to(torch.uint8), step


def _restore(packed: Tensor, step: Tensor, shape: torch.Size) -> Tensor:
    """(R, C) float32."""
    rows, columns = shape
    if packed.shape != (rows, (columns + 1) // 2) or step.shape != (rows,):
        raise ValueError("its differences have another shape than the model that they belong to")
    whole = torch.stack([packed & 15, packed >> 4], dim=2).flatten(1)[:, :columns]
    return (whole.float() - LARGEST) * step.float().unsqueeze(1)
