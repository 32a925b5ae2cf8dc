"""Weights close to those of another model: only the differences are stored, in four bits a weight.

Between two extractors trained from one backbone the differences are a fifth as large as the weights, so that
four bits are as precise for them as six or seven for the weights. Letters: R rows, C columns.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from kpdemo.simckp.nibbles import STEP, from_nibbles, in_nibbles
from kpdemo.simckp.quantized import halved, is_wide


def pack_differences(state: Mapping[str, Tensor], base: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors to store for `state`, to be read again with `base`.

    The difference of a wide matrix is stored `in_nibbles`. What is narrower is stored itself, in fp16, and
    what is equal is left out.

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
        if is_wide(value):
            tensors.update(in_nibbles(name, value.float() - base[name].float()))
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
            raise ValueError(f"{name} is not a weight of the model that it differs from")
        if f"{name}{STEP}" in tensors:
            value = base[name] + from_nibbles(value, tensors[f"{name}{STEP}"], base[name].shape)
        state[name] = value.float() if value.is_floating_point() else value
    return state
