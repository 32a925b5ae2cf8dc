"""Sparse matrices, read a few rows at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


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

    def weighed(self, rows: Sequence[int], weights: NDArray[np.float32]) -> NDArray[np.float32]:
        """(C,) the sum of these rows, each times its weight."""
        stretches = [slice(self.starts[row], self.starts[row + 1]) for row in rows]
        if not stretches:
            return np.zeros(self.width, dtype=np.float32)
        weighed = [weight * self.values[own] for weight, own in zip(weights, stretches, strict=True)]
        named = np.concatenate([self.columns[own] for own in stretches])
        return np.bincount(named, np.concatenate(weighed), minlength=self.width).astype(np.float32)
