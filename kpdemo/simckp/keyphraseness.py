"""Keyphraseness: how often a phrase is a keyphrase of the documents whose text has it.

After KEA's keyphrase frequency (Frank et al. 1999) and Wikify's keyphraseness (Mihalcea and Csomai 2007). The
table has no phrases, only hashes of them. Letters: N phrases of the table, P phrases asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from kpdemo.simckp.storage import pack_numbers, unpack_numbers

_BYTES = 4
"""Of a hash: of 200,000 phrases in the table, one phrase in 20,000 that is not there is taken for another."""


@dataclass(frozen=True)
class Keyphraseness:
    """Attributes:
    hashes: (N,) uint32, ascending, of `Candidate.key`.
    texts: (N,) int32, how many documents have the phrase in their text, or among their keyphrases.
    uses: (N,) int32, how many have it among their keyphrases; N is at least 1.
    """

    hashes: NDArray[np.uint32]
    texts: NDArray[np.int32]
    uses: NDArray[np.int32]

    @classmethod
    def of(cls, counts: Mapping[str, tuple[int, int]]) -> Keyphraseness:
        """From the `texts` and `uses` of phrases by key; of phrases with one hash the most used counts."""
        by_use = sorted(counts.items(), key=lambda item: (-item[1][1], item[0]))
        rows = np.array([counted for _, counted in by_use], dtype=np.int32).reshape(-1, 2)
        hashes, first = np.unique(_hashes(key for key, _ in by_use), return_index=True)
        return cls(hashes, rows[first, 0], rows[first, 1])

    def __len__(self) -> int:
        return len(self.hashes)

    def counts(self, keys: Sequence[str], used: NDArray[np.bool_] | None = None) -> NDArray[np.int32]:
        """(P, 2) the `texts` and `uses` of phrases by their keys; 0 for those that the table has not.

        Args:
            used: (P,) of a document that was counted, which of these phrases, all in its text, are its
                keyphrases; it is left out, as if the table had been made without it.
        """
        wanted = _hashes(keys)
        places = np.searchsorted(self.hashes, wanted).clip(max=len(self) - 1)
        found = np.stack([self.texts, self.uses], axis=1)[places]
        if used is not None:
            found -= np.stack([np.ones_like(used), used], axis=1)
        known = (self.hashes[places] == wanted) & (found[:, 1] >= self.uses.min())
        return np.where(known[:, None], found, 0).clip(0)

    def packed(self) -> dict[str, Tensor]:
        """As tensors to be stored."""
        hashes = self.hashes.astype(np.int64)
        steps = np.diff(hashes, prepend=0).astype(np.uint32).view(np.int32)
        arrays = {"hashes": steps, "texts": self.texts, "uses": self.uses}
        return {name: pack_numbers(values) for name, values in arrays.items()}

    @classmethod
    def unpacked(cls, tensors: Mapping[str, Tensor]) -> Keyphraseness:
        """What `packed` was made of.

        Raises:
            ValueError, KeyError, zlib.error: it is damaged.
        """
        steps, texts, uses = (unpack_numbers(tensors[name]) for name in ("hashes", "texts", "uses"))
        hashes = np.cumsum(steps.view(np.uint32), dtype=np.uint64)
        if not len(hashes) == len(texts) == len(uses) or hashes.max(initial=0) >= 1 << 8 * _BYTES:
            raise ValueError("its numbers of phrases differ")
        return cls(hashes.astype(np.uint32), texts, uses)


def _hashes(keys: Iterable[str]) -> NDArray[np.uint32]:
    digests = b"".join(blake2b(key.encode(), digest_size=_BYTES).digest() for key in keys)
    return np.frombuffer(digests, dtype="<u4").astype(np.uint32)
