"""How weights and tables are made small on disk: int8, four bits, differences, packed and sparse rows.

Between two extractors trained from one backbone the differences are a fifth as large as the weights, so
that four bits are as precise for them as six or seven for the weights. Letters (differences): R rows, C
columns.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.overrides import TorchFunctionMode

Storage = Literal["fp16", "int8"]

LARGEST_INT8 = 127
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
            tensors[name], tensors[f"{name}{SCALE}"] = quantise(name, value.float())
        else:
            tensors[name] = to_half(name, value)
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


def quantise(name: str, weight: Tensor) -> tuple[Tensor, Tensor]:
    """(R, C) int8 and (R,) fp16: `pack` with "int8" of one matrix."""
    exact = weight.abs().amax(dim=1) / LARGEST_INT8
    step = exact.half()
    up = torch.nextafter(step, torch.full_like(step, torch.inf))
    step = torch.where(step.float() < exact, up, step)  # rounded up, so that no weight is cut off
    if not bool(step.isfinite().all()):
        raise ValueError(f"{name} holds a weight that is not finite or too large to store: train it again.")
    steps = step.float().masked_fill(step == 0, 1.0).unsqueeze(1)  # a row of zeros stays one
    return (weight / steps).round_().to(torch.int8), step


def to_half(name: str, value: Tensor) -> Tensor:
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


LARGEST_NIBBLE = 7
STEP = ".int4_step"
"""Follows the name of a matrix in that of its steps."""


def to_nibbles(name: str, values: Tensor) -> dict[str, Tensor]:
    """The tensors to store for a matrix (R, C): whole numbers of -7 to 7, off by half a step at most.

    Returns:
        Under its name (R, ⌈C/2⌉) uint8 with an even column in the lower half of each byte, and with `STEP`
        after it the step of each row (R,) fp16.

    Raises:
        ValueError: a number is not finite, or too large for fp16.
    """
    step = to_half(name, values.abs().amax(dim=1) / LARGEST_NIBBLE)
    steps = step.float().masked_fill(step == 0, 1.0).unsqueeze(1)  # a row of zeros stays one
    whole = (values / steps).round_().clamp_(-LARGEST_NIBBLE, LARGEST_NIBBLE).to(torch.int16) + LARGEST_NIBBLE
    even, odd = whole[:, ::2], whole[:, 1::2]
    if odd.shape[1] < even.shape[1]:
        odd = torch.nn.functional.pad(odd, (0, 1))
    return {name: (even + (odd << 4)).to(torch.uint8), f"{name}{STEP}": step}


def from_nibbles(packed: Tensor, step: Tensor, shape: Sequence[int]) -> Tensor:
    """(R, C) float32 of what `to_nibbles` made.

    Args:
        shape: R and C.

    Raises:
        ValueError: it is another.
    """
    rows, columns = shape
    if packed.shape != (rows, (columns + 1) // 2) or step.shape != (rows,):
        raise ValueError("its numbers of four bits have another shape than the matrix that they belong to")
    whole = torch.stack([packed & 15, packed >> 4], dim=2).flatten(1)[:, :columns]
    return (whole.float() - LARGEST_NIBBLE) * step.float().unsqueeze(1)


def pack_differences(state: Mapping[str, Tensor], base: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors to store for `state`, to be read again with `base`.

    The difference of a wide matrix is stored by `to_nibbles`. What is narrower is stored itself, in fp16, and
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
            tensors.update(to_nibbles(name, value.float() - base[name].float()))
        else:
            tensors[name] = to_half(name, value)
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


_LEVEL = 9  # of zlib, part of the file format


def pack_numbers(values: NDArray[np.int32]) -> Tensor:
    """Byte by byte, the lowest of all numbers first: the higher ones are alike and take little space."""
    return _compress(values.astype("<i4").view(np.uint8).reshape(-1, 4).T.tobytes())


def unpack_numbers(packed: Tensor) -> NDArray[np.int32]:
    """What `pack_numbers` was given.

    Raises:
        ValueError, zlib.error: it is damaged.
    """
    planes = np.frombuffer(_expand(packed), dtype=np.uint8).reshape(4, -1)
    return np.ascontiguousarray(planes.T).view("<i4").reshape(-1).astype(np.int32)


def pack_lines(lines: Sequence[str]) -> Tensor:
    """Of at least one line, none with a line break in it."""
    return _compress("\n".join(lines).encode())


def unpack_lines(packed: Tensor) -> tuple[str, ...]:
    """What `pack_lines` was given.

    Raises:
        ValueError, zlib.error: it is damaged.
    """
    return tuple(_expand(packed).decode().split("\n"))


def _compress(content: bytes) -> Tensor:
    return torch.frombuffer(bytearray(zlib.compress(content, _LEVEL)), dtype=torch.uint8)


def _expand(packed: Tensor) -> bytes:
    return zlib.decompress(packed.numpy().tobytes())


@dataclass(frozen=True)
class SparseRows:
    """A matrix of R rows and C columns.

    Attributes:
        starts: (R + 1,) where the entries of each row begin, and where those of the last end.
        columns, values: of the entries, row by row.
        width: C.
    """

    starts: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: NDArray[np.float32]
    width: int

    @classmethod
    def of(
        cls,
        rows: NDArray[np.integer[Any]],
        columns: NDArray[np.int32],
        values: NDArray[np.float32],
        shape: tuple[int, int],
    ) -> SparseRows:
        """From entries in any order; those of a row keep theirs."""
        order = np.argsort(rows, kind="stable")
        starts = np.append(0, np.cumsum(np.bincount(rows, minlength=shape[0])))
        return cls(starts, columns[order], values[order], shape[1])

    def row(self, number: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """The columns and the values of a row's entries."""
        own = slice(self.starts[number], self.starts[number + 1])
        return self.columns[own], self.values[own]

    def weighed(self, rows: Sequence[int], weights: NDArray[np.float32]) -> NDArray[np.float32]:
        """(C,) the sum of these rows, each times its weight."""
        stretches = [slice(self.starts[row], self.starts[row + 1]) for row in rows]
        if not stretches:
            return np.zeros(self.width, dtype=np.float32)
        weighed = [weight * self.values[own] for weight, own in zip(weights, stretches, strict=True)]
        named = np.concatenate([self.columns[own] for own in stretches])
        return np.bincount(named, np.concatenate(weighed), minlength=self.width).astype(np.float32)


_DRAWS = (Tensor.normal_, Tensor.uniform_)


@contextmanager
def unset_weights() -> Iterator[None]:
    """Build modules without memory for their weights, which `load_state_dict(state, assign=True)` sets.

    Drawing weights at random would take longer than reading them, and for drawing on the meta device PyTorch
    imports its compiler, which takes as long as importing PyTorch itself.
    """
    with torch.device("meta"), _Undrawn():
        yield


class _Undrawn(TorchFunctionMode):
    """Leaves weights as they are that would be drawn or set for the first time."""

    def __torch_function__(
        self,
        function: Callable[..., Any],
        types: Sequence[type],
        arguments: Sequence[Any] = (),
        options: Mapping[str, Any] | None = None,
    ) -> Any:
        named = options or {}
        if function in _DRAWS or getattr(function, "__module__", "") == "torch.nn.init":
            return arguments[0] if arguments else named["tensor"]
        return function(*arguments, **named)
