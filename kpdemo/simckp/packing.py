"""Numbers and lines, compressed for a file of tensors; the same ones give the same bytes."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

_LEVEL = 9  # of zlib, part of the file format


def pack_numbers(values: NDArray[np.int32]) -> Tensor:
    """Byte by byte, the lowest of all numbers first: the higher ones are alike and take little space."""
    return _compressed(values.astype("<i4").view(np.uint8).reshape(-1, 4).T.tobytes())


def unpack_numbers(packed: Tensor) -> NDArray[np.int32]:
    """What `pack_numbers` was given.

    Raises:
        ValueError, zlib.error: it is damaged.
    """
    planes = np.frombuffer(_expanded(packed), dtype=np.uint8).reshape(4, -1)
    return np.ascontiguousarray(planes.T).view("<i4").reshape(-1).astype(np.int32)


def pack_lines(lines: Sequence[str]) -> Tensor:
    """Of at least one line, none with a line break in it."""
    return _compressed("\n".join(lines).encode())


def unpack_lines(packed: Tensor) -> tuple[str, ...]:
    """What `pack_lines` was given.

    Raises:
        ValueError, zlib.error: it is damaged.
    """
    return tuple(_expanded(packed).decode().split("\n"))


def _compressed(content: bytes) -> Tensor:
    return torch.frombuffer(bytearray(zlib.compress(content, _LEVEL)), dtype=torch.uint8)


def _expanded(packed: Tensor) -> bytes:
    return zlib.decompress(packed.numpy().tobytes())
