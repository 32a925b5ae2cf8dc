"""The phrase bank: terms with their vectors, from which absent keyphrases are retrieved.

Letters (associations): N terms, E pairs of them, S terms that occur in a text.

A profile is the mean of these documents' TF-IDF vectors, cut to its strongest words: Rocchio's prototype of
a class. The network's vectors show what a text is about, its words which of several near terms authors
choose. Letters (profiles): N terms, W words, E entries of all profiles.

SimCKP generates absent keyphrases; retrieving them goes beyond the paper. Letters (bank): B documents, N
terms of the bank, D width of the vectors.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kpdemo.selection import drop_nested_keys
from kpdemo.simckp.storage import (
    STEP,
    SparseRows,
    from_nibbles,
    pack,
    pack_lines,
    pack_numbers,
    to_nibbles,
    unpack,
    unpack_lines,
    unpack_numbers,
)
from kpdemo.simckp.terms import TermIndex, TextTerms, term_key

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


VECTORS = "vectors"

VectorStorage = Literal["int8", "int4"]
"""How a bank's vectors are stored; "int4" has room for twice the width."""


@dataclass(frozen=True)
class BankScore:
    """The weights of what is added to a term's cosine in its score; chosen on validation documents.

    Attributes:
        frequency: of the term's log frequency.
        words: of the share of its words that occur in the text, in any order.
        likeness: of the mean cosine to the terms of the text that are nearest to it.
        association: of the votes of the terms of the text that documents use together with it.
        profiles: of the cosine of the text's words and the term's word profile.
        nearest: how many of the text's terms the likeness averages over; they are the evidence, too.
        sharpness: 1 / temperature of the softmax over the cosines of the document and the text's terms that
            weights their votes: a term in passing counts less than what the document is about.
        scored: the rest is computed only for this many terms, the best by cosine, frequency and profile.
    """

    frequency: float = 0.04
    words: float = 0.0
    likeness: float = 0.0
    association: float = 0.0
    profiles: float = 0.0
    nearest: int = 3
    sharpness: float = 10.0
    scored: int = 1000


@dataclass(frozen=True, slots=True)
class RetrievedTerm:
    """A term found for a document.

    Attributes:
        score: what it is ranked by; see `BankScore`.
        evidence: the terms that speak for it as the document writes them, best first.
    """

    text: str
    score: float
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True)
class PhraseBank:
    """Terms, their vectors and what ranks them.

    Attributes:
        texts: N spellings.
        keys: the `term_key` of each, kept because stemming them all takes seconds.
        log_frequency: (N,) float32, log(1 + documents that use the term as a keyphrase).
        stored: the vectors as on disk, see `kpdemo.simckp.storage` and, for "int4", `nibbles`.
        associations: of the terms; votes for each other.
        encoder: the hash of the pair encoder that the vectors belong to.
        device: where the nearest terms are searched.
        profiles: of the terms' words; a bank may have none.
    """

    texts: tuple[str, ...]
    keys: tuple[str, ...]
    log_frequency: NDArray[np.float32]
    stored: dict[str, Tensor]
    associations: Associations
    encoder: str
    score: BankScore = BankScore()
    device: str = "cpu"
    profiles: WordProfiles | None = None

    @classmethod
    def build(
        cls,
        texts: Sequence[str],
        log_frequency: NDArray[np.floating[Any]],
        vectors: Tensor,
        *,
        encoder: str,
        associations: Associations | None = None,
        storage: VectorStorage = "int8",
    ) -> PhraseBank:
        """From unit vectors (N, D), which are rounded here as storing rounds them.

        Args:
            storage: of the vectors.

        Raises:
            ValueError: there is no term, not one vector and one frequency for each, or D is odd for "int4".
        """
        if storage == "int4" and vectors.shape[1] % 2:
            raise ValueError(f"vectors of {vectors.shape[1]} numbers do not fill bytes of two")
        if not len(texts) == len(log_frequency) == len(vectors) > 0:
            raise ValueError(f"{len(texts)} terms, {len(log_frequency)} frequencies, {len(vectors)} vectors")
        rounded = log_frequency.astype(np.float16).astype(np.float32)
        keys = tuple(map(term_key, texts))
        stored = pack({VECTORS: vectors}) if storage == "int8" else to_nibbles(VECTORS, vectors)
        known = associations or Associations.none(len(texts))
        return cls(tuple(texts), keys, rounded, stored, known, encoder)

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def storage(self) -> VectorStorage:
        return "int4" if f"{VECTORS}{STEP}" in self.stored else "int8"

    @cached_property
    def vectors(self) -> NDArray[np.float32]:
        """(N, D), of length 1; with "int8" up to rounding."""
        if self.storage == "int8":
            vectors: NDArray[np.float32] = unpack(self.stored)[VECTORS].numpy()
            return vectors
        packed = self.stored[VECTORS]
        rows, halves = packed.shape
        restored = from_nibbles(packed, self.stored[f"{VECTORS}{STEP}"], (rows, 2 * halves))
        return torch.nn.functional.normalize(restored, dim=1).numpy()

    @cached_property
    def terms(self) -> TermIndex:
        """Finds the bank's terms in a document's text."""
        return TermIndex(self.keys, self.texts)

    @property
    def _rows(self) -> NDArray[np.float32]:
        """(N, D + 1) the vectors; a last coordinate carries the frequency's part of the score."""
        return np.hstack([self.vectors, self.score.frequency * self.log_frequency[:, None]])

    @cached_property
    def _index(self) -> Any:
        """A FAISS index of inner products."""
        import faiss  # here, because only retrieval needs it

        rows = self._rows
        index = faiss.IndexFlatIP(rows.shape[1])
        index.add(rows)
        return index

    @cached_property
    def _columns(self) -> Tensor:
        """(D + 1, N) on the device."""
        return torch.from_numpy(self._rows).to(self.device).T

    def search(
        self, documents: NDArray[np.float32], count: int, texts: Sequence[TextTerms] | None = None
    ) -> list[list[RetrievedTerm]]:
        """The `count` best terms of each document, best first; fewer when the bank has fewer.

        Args:
            documents: (B, D) vectors of the pair encoder the bank was built with, of length 1.
            texts: what `terms` found in each document. Terms that occur in the text are never returned,
                but vote for similar ones, and the nearest of them are the evidence.
        """
        read = texts or [TextTerms()] * len(documents)
        wanted = max(count, self.score.scored) + max((len(text.numbers) for text in read), default=0)
        queries = np.hstack([documents, np.ones((len(documents), 1), dtype=np.float32)])
        profiled = self._profiled(read)
        found = self._best(queries, profiled, min(wanted, len(self)))
        return [
            self._rank(document, numbers, text, count, None if profiled is None else profiled[row])
            for row, (document, numbers, text) in enumerate(zip(documents, found, read, strict=True))
        ]

    def _profiled(self, texts: Sequence[TextTerms]) -> NDArray[np.float32] | None:
        """(B, N) the word profiles' part of the score; None where they have none."""
        profiles, weight = self.profiles, self.score.profiles
        if profiles is None or not weight or not texts:
            return None
        return weight * np.stack([profiles.scores(text.stems) for text in texts])

    def _best(
        self, queries: NDArray[np.float32], profiled: NDArray[np.float32] | None, count: int
    ) -> NDArray[np.int64]:
        """(B, count) the terms with the highest inner products for (B, D + 1), with what their word profiles
        add (B, N), best first."""
        numbers: NDArray[np.int64]
        if self.device == "cpu" and profiled is None:
            _, numbers = self._index.search(queries, count)
        else:
            scores = torch.from_numpy(queries).to(self.device) @ self._columns  # (B, N)
            if profiled is not None:
                scores += torch.from_numpy(profiled).to(self.device)
            numbers = scores.topk(count, dim=1).indices.cpu().numpy()
        return numbers

    def _rank(
        self,
        document: NDArray[np.float32],
        found: NDArray[np.int64],
        text: TextTerms,
        count: int,
        profiled: NDArray[np.float32] | None,
    ) -> list[RetrievedTerm]:
        present = np.asarray(text.numbers, dtype=np.int64)
        numbers = found[~np.isin(found, present)][: max(count, self.score.scored)]
        vectors = self.vectors[numbers]
        scores = (
            _products(vectors, document)
            + self.score.frequency * self.log_frequency[numbers]
            + self.score.words * self.terms.shares_of_words(numbers, text.stems)
            + self.score.likeness * self._likeness(_products(vectors, self.vectors[present].T))
            + self.score.association * self._votes(document, present)[numbers]
        )
        if profiled is not None:
            scores += profiled[numbers]
        best = np.argsort(-scores, kind="stable")[:count]
        told = np.fromiter(sorted(text.spelt), dtype=np.int64)
        evidence = self._evidence(numbers[best], told)
        return [
            RetrievedTerm(
                self.texts[numbers[row]],
                float(scores[row]),
                tuple(text.spelt[number] for number in speaking),
            )
            for row, speaking in zip(best, evidence, strict=True)
        ]

    def _likeness(self, cosine: NDArray[np.float32]) -> NDArray[np.float32]:
        """(K,) the mean cosine of K terms to the terms of the text that are nearest, from (K, S)."""
        count = min(self.score.nearest, cosine.shape[1])
        if not count:
            return np.zeros(len(cosine), dtype=np.float32)
        first = cosine.shape[1] - count
        nearest = np.partition(cosine, first, axis=1)[:, first:]
        mean: NDArray[np.float32] = nearest.mean(axis=1)
        return mean

    def _evidence(self, numbers: NDArray[np.int64], told: NDArray[np.int64]) -> list[list[int]]:
        """For each of K terms the nearest of the text's terms, best first, none inside another."""
        cosine = _products(self.vectors[numbers], self.vectors[told].T)  # (K, S)
        nearest = told[np.argsort(-cosine, axis=1, kind="stable")[:, : 2 * self.score.nearest]].tolist()
        apart = (drop_nested_keys(self.keys[number] for number in row) for row in nearest)
        return [
            [row[place] for place in islice(places, self.score.nearest)]
            for row, places in zip(nearest, apart, strict=True)
        ]

    def _votes(self, document: NDArray[np.float32], present: NDArray[np.int64]) -> NDArray[np.float32]:
        """(N,) the votes of the terms of the text for all terms, by their associations."""
        logits = self.score.sharpness * _products(self.vectors[present], document)
        weights = np.exp(logits - logits.max(initial=0.0))
        return self.associations.votes(present.tolist(), weights / max(weights.sum(), 1.0e-30))

    def frequency_of(self, text: str) -> float:
        """The log frequency of a term; 0 when the bank does not have it."""
        number = self.terms.numbers.get(term_key(text))
        return 0.0 if number is None else float(self.log_frequency[number])


def _products(rows: NDArray[np.float32], columns: NDArray[np.float32]) -> NDArray[np.float32]:
    """The matrix product by PyTorch: NumPy's idle threads keep spinning and slow the networks down."""
    product: NDArray[np.float32] = (torch.from_numpy(rows) @ torch.from_numpy(columns)).numpy()
    return product
