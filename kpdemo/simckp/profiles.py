"""Word profiles: the words that are typical of documents with a term among their keyphrases.

A profile is the mean of these documents' TF-IDF vectors, cut to its strongest words: Rocchio's prototype of a
class. The network's vectors show what a text is about, its words which of several near terms authors choose.
Letters: N terms, W words, E entries of all profiles.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kpdemo.simckp.packing import pack_lines, pack_numbers, unpack_lines, unpack_numbers
from kpdemo.simckp.sparse import SparseRows

LARGEST = 15
"""What the strongest word of a profile weighs on disk; four bits a weight."""

_WORDS, _RARITY, _HOLDING = "profile_words", "profile_rarity", "profile_holding"
_TERMS, _WEIGHTS = "profile_terms", "profile_weights"


@dataclass(frozen=True)
class WordProfiles:
    """The profiles, by word: a text asks for few of these.

    Attributes:
        words: W different stems.
        rarity: (W,) float32, the inverse document frequency of each.
        holding: (W,) int32, how many profiles have each word.
        terms: (E,) int32, the terms whose profiles have a word, one word after the other; ascending in each.
        weights: (E,) int32, of the word in these profiles, 1 to `LARGEST`.
        count: N.
    """

    words: tuple[str, ...]
    rarity: NDArray[np.float32]
    holding: NDArray[np.int32]
    terms: NDArray[np.int32]
    weights: NDArray[np.int32]
    count: int

    @classmethod
    def build(
        cls,
        words: tuple[str, ...],
        rarity: NDArray[np.float32],
        holding: NDArray[np.int32],
        terms: NDArray[np.int32],
        weights: NDArray[np.float32],
        count: int,
    ) -> WordProfiles:
        """From weights (E,) above 0 of any size; what disk rounds is rounded here already."""
        strongest = np.zeros(count, dtype=np.float32)
        np.maximum.at(strongest, terms, weights)
        rounded = np.rint(LARGEST * weights / strongest[terms]).astype(np.int32).clip(1)
        return cls(words, rarity.astype(np.float16).astype(np.float32), holding, terms, rounded, count)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(N,) how many words each profile has; 0 for a term without a known document."""
        return np.bincount(self.terms, minlength=self.count)

    def scores(self, stems: Collection[str]) -> NDArray[np.float32]:
        """(N,) for each term the cosine of its profile and a text, 0 to 1.

        Args:
            stems: all words of the text; each counts once, by its rarity.
        """
        held = sorted(self._known[stem] for stem in stems if stem in self._known)
        weights = self.rarity[held]
        return self._rows.weighed(held, weights / max(float(np.linalg.norm(weights)), 1.0e-30))

    @cached_property
    def _known(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    @cached_property
    def _rows(self) -> SparseRows:
        """(W, N) the profiles, scaled to length 1."""
        squares = np.bincount(self.terms, self.weights.astype(np.float64) ** 2, minlength=self.count)
        scaled = (self.weights / np.sqrt(squares)[self.terms]).astype(np.float32)
        starts = np.append(0, np.cumsum(self.holding, dtype=np.int64))
        return SparseRows(starts, self.terms, scaled, self.count)

    def packed(self) -> dict[str, Tensor]:
        """For storing, with `count` apart."""
        return {
            _WORDS: pack_lines(self.words),
            _RARITY: torch.from_numpy(self.rarity).half(),
            _HOLDING: pack_numbers(self.holding),
            _TERMS: pack_numbers(np.diff(self.terms, prepend=np.int32(0))),
            _WEIGHTS: pack_numbers(self.weights),
        }

    @classmethod
    def unpacked(cls, tensors: Mapping[str, Tensor], count: int) -> WordProfiles:
        """What `packed` was made of.

        Raises:
            ValueError, KeyError, zlib.error: they are damaged.
        """
        words, rarity = unpack_lines(tensors[_WORDS]), tensors[_RARITY].float().numpy()
        holding, steps, weights = (unpack_numbers(tensors[name]) for name in (_HOLDING, _TERMS, _WEIGHTS))
        terms = np.cumsum(steps, dtype=np.int32)
        fit = (len(words),) == rarity.shape == holding.shape and holding.sum() == len(terms) == len(weights)
        within = _within(holding, 1, count) and _within(terms, 0, count - 1) and _within(weights, 1, LARGEST)
        if not fit or not within or not (np.isfinite(rarity) & (rarity > 0)).all():
            raise ValueError("its word profiles do not fit together")
        return cls(words, rarity, holding, terms, weights, count)


def _within(values: NDArray[np.int32], least: int, most: int) -> bool:
    return not len(values) or bool(values.min() >= least and values.max() <= most)
