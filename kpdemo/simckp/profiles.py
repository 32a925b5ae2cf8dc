"""Word profiles: the words that mark the documents which use a term as a keyphrase.

A profile is the mean of these documents' TF-IDF vectors, cut to its strongest words: Rocchio's prototype of a
class. The network's vectors tell what a text is about, its words which of the terms nearby are used for it.
Letters: N terms, W words, E entries of all profiles.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kpdemo.simckp.packing import pack_lines, pack_numbers, unpack_lines, unpack_numbers
from kpdemo.simckp.sparse import SparseRows

LARGEST = 15
"""What the strongest word of a profile weighs on disk; four bits a weight."""

_WORDS, _RARITY, _LENGTHS = "profile_words", "profile_rarity", "profile_lengths"
_NUMBERS, _WEIGHTS = "profile_numbers", "profile_weights"


@dataclass(frozen=True)
class WordProfiles:
    """Attributes:
    words: W different stems.
    rarity: (W,) float32, the inverse document frequency of each.
    lengths: (N,) int32, how many words each profile has; 0 for a term of which no document is known.
    numbers: (E,) int32, the words of one profile after the other, ascending in each.
    weights: (E,) int32, theirs, 1 to `LARGEST`.
    """

    words: tuple[str, ...]
    rarity: NDArray[np.float32]
    lengths: NDArray[np.int32]
    numbers: NDArray[np.int32]
    weights: NDArray[np.int32]

    @classmethod
    def build(
        cls,
        words: tuple[str, ...],
        rarity: NDArray[np.float32],
        lengths: NDArray[np.int32],
        numbers: NDArray[np.int32],
        weights: NDArray[np.float32],
    ) -> WordProfiles:
        """From weights (E,) above 0 of any size; what disk rounds is rounded here already."""
        owners = np.repeat(np.arange(len(lengths)), lengths)
        strongest = np.zeros(len(lengths), dtype=np.float32)
        np.maximum.at(strongest, owners, weights)
        rounded = np.rint(LARGEST * weights / strongest[owners]).astype(np.int32)
        kept = rounded > 0
        left = np.bincount(owners[kept], minlength=len(lengths)).astype(np.int32)
        halved = rarity.astype(np.float16).astype(np.float32)
        return cls(words, halved, left, numbers[kept], rounded[kept])

    def scores(self, stems: Collection[str]) -> NDArray[np.float32]:
        """(N,) for each term the cosine of its profile and a text, 0 to 1.

        Args:
            stems: all words of the text; each counts once, by its rarity.
        """
        held = sorted(self._known[stem] for stem in stems if stem in self._known)
        weights = self.rarity[held]
        return self._by_word.weighed(held, weights / max(float(np.linalg.norm(weights)), 1.0e-30))

    @cached_property
    def _known(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    @cached_property
    def _by_word(self) -> SparseRows:
        """(W, N) the profiles, scaled to length 1."""
        owners = np.repeat(np.arange(len(self.lengths), dtype=np.int32), self.lengths)
        squares = np.bincount(owners, self.weights.astype(np.float64) ** 2, minlength=len(self.lengths))
        scaled = (self.weights / np.sqrt(squares)[owners]).astype(np.float32)
        return SparseRows.of(self.numbers, owners, scaled, (len(self.words), len(self.lengths)))

    def packed(self) -> dict[str, Tensor]:
        """For storing."""
        return {
            _WORDS: pack_lines(self.words),
            _RARITY: torch.from_numpy(self.rarity).half(),
            _LENGTHS: pack_numbers(self.lengths),
            _NUMBERS: pack_numbers(np.diff(self.numbers, prepend=np.int32(0))),
            _WEIGHTS: pack_numbers(self.weights),
        }

    @classmethod
    def unpacked(cls, tensors: Mapping[str, Tensor]) -> WordProfiles | None:
        """What `packed` was made of; None where there are no profiles.

        Raises:
            ValueError, KeyError, zlib.error: they are damaged.
        """
        if _WORDS not in tensors:
            return None
        words, rarity = unpack_lines(tensors[_WORDS]), tensors[_RARITY].float().numpy()
        lengths, steps, weights = (unpack_numbers(tensors[name]) for name in (_LENGTHS, _NUMBERS, _WEIGHTS))
        numbers = np.cumsum(steps, dtype=np.int32)
        fit = len(words) == len(rarity) and lengths.sum() == len(numbers) == len(weights)
        if not fit or not _within(lengths, 0) or not _within(numbers, 0, len(words) - 1):
            raise ValueError("its word profiles do not fit together")
        if not _within(weights, 1, LARGEST):
            raise ValueError("its word profiles have weights that are out of range")
        return cls(words, rarity, lengths, numbers, weights)


def _within(values: NDArray[Any], least: int, most: int | None = None) -> bool:
    return not len(values) or bool(values.min() >= least and (most is None or values.max() <= most))
