"""Which terms are keyphrases of the same documents, and how strongly the terms of a text suggest others.

Letters: N terms, E pairs of them, S terms that occur in a text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from kpdemo.simckp.packing import pack_numbers, unpack_numbers
from kpdemo.simckp.sparse import SparseRows

SMOOTHING = 10
"""Added to the document counts of terms, so that rare ones get no extreme associations."""


@dataclass(frozen=True)
class Associations:
    """Attributes:
    uses: (N,) int32, how many documents have each term among their keyphrases.
    first, second: (E,) int32, pairs of terms, first < second, ascending.
    together: (E,) int32, how many documents have both.
    documents: in all.
    """

    uses: NDArray[np.int32]
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    together: NDArray[np.int32]
    documents: int

    @classmethod
    def none(cls, terms: int) -> Associations:
        """Of `terms` terms that no document uses together."""
        empty = np.zeros(0, dtype=np.int32)
        return cls(np.zeros(terms, dtype=np.int32), empty, empty, empty, 0)

    def votes(self, voters: Sequence[int], weights: NDArray[np.float32]) -> NDArray[np.float32]:
        """(N,) the association of each term with the voters, as a weighted sum.

        The strength of a pair is log(1 + lift), where lift is how many more documents have both than chance
        would give.

        Args:
            voters: S numbers of terms.
            weights: (S,) of each.
        """
        return self._rows.weighed(voters, weights)

    @cached_property
    def _rows(self) -> SparseRows:
        """(N, N) the strength of each pair, both ways."""
        expected = (self.uses[self.first] + SMOOTHING) * (self.uses[self.second] + np.float64(SMOOTHING))
        found = self.together * np.float64(self.documents)  # which int32 may not hold
        strength = np.log1p(found / expected).astype(np.float32)
        owners = np.concatenate([self.first, self.second])
        partners = np.concatenate([self.second, self.first])
        return SparseRows.of(
            owners, partners, np.concatenate([strength, strength]), (len(self.uses), len(self.uses))
        )

    def packed(self) -> dict[str, Tensor]:
        """As tensors to be stored, without `documents`."""
        arrays = {
            "uses": self.uses,
            "first": np.diff(self.first, prepend=np.int32(0)),
            "second": self.second,
            "together": self.together,
        }
        return {name: pack_numbers(values) for name, values in arrays.items()}

    @classmethod
    def unpacked(cls, tensors: dict[str, Tensor], documents: int) -> Associations:
        """What `packed` was made of.

        Raises:
            ValueError, KeyError, zlib.error: it is damaged.
        """
        uses, steps, second, together = (
            unpack_numbers(tensors[name]) for name in ("uses", "first", "second", "together")
        )
        first = np.cumsum(steps, dtype=np.int32)
        if not len(first) == len(second) == len(together):
            raise ValueError("its pairs differ in length")
        return cls(uses, first, second, together, documents)
