"""The phrase bank: terms with their vectors, from which absent keyphrases are retrieved.

Letters (associations): N terms, E pairs of them, S terms that occur in a text.

A profile is the mean of these documents' TF-IDF vectors, cut to its strongest words: Rocchio's prototype of
a class. The network's vectors show what a text is about, its words which of several near terms authors
choose. Letters (profiles): N terms, W words, E entries of all profiles.

SimCKP generates absent keyphrases; retrieving them goes beyond the paper. Letters (bank): B documents, N
terms of the bank, D width of the vectors.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kpdemo.languages import ENGLISH
from kpdemo.selection import drop_nested_keys
from kpdemo.simckp.feature_network import FeatureNetwork, products
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


LEAST_TOGETHER = 2
"""Documents that use two terms together before one is evidence for the other."""
LEAST_STRENGTH = 2.0
"""Of the association of a single word that is evidence: chance would have a sixth of the documents."""


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

    def counts(self, number: int) -> dict[int, int]:
        """How many documents have another term together with this one, by its number."""
        partners, together = self._counts.row(number)
        return dict(zip(partners.tolist(), map(int, together.tolist()), strict=True))

    def strengths(self, number: int) -> dict[int, float]:
        """How strongly other terms are associated with this one, see `votes`."""
        partners, strengths = self._rows.row(number)
        return dict(zip(partners.tolist(), strengths.tolist(), strict=True))

    @cached_property
    def _counts(self) -> SparseRows:
        """(N, N) how many documents have both terms of each pair, both ways."""
        owners = np.concatenate([self.first, self.second])
        partners = np.concatenate([self.second, self.first])
        together = self.together.astype(np.float32)
        return SparseRows.of(
            owners, partners, np.concatenate([together, together]), (len(self.uses), len(self.uses))
        )

    def strongest(self, voters: Sequence[int]) -> NDArray[np.float32]:
        """(N,) the strength of each term's strongest pair with one of these terms; 0 without any."""
        found = np.zeros(len(self.uses), dtype=np.float32)
        for voter in voters:
            partners, strengths = self._rows.row(voter)
            found[partners] = np.maximum(found[partners], strengths)
        return found

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
        held = sorted(self._word_numbers[stem] for stem in stems if stem in self._word_numbers)
        weights = self.rarity[held]
        return self._rows.weighed(held, weights / max(float(np.linalg.norm(weights)), 1.0e-30))

    @cached_property
    def _word_numbers(self) -> dict[str, int]:
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


TERM_FEATURES = (
    "cosine",
    "log frequency",
    "profile",
    "words",
    "words in the text",
    "words in the title",
    "likeness",
    "highest likeness",
    "likeness to the title",
    "association",
    "association with the title",
    "association with what is repeated",
    "likeness to what is repeated",
    "highest association",
    "score",
    "score below the best",
    "log rank",
    "log words of the text",
    "mean of the ten best scores",
    "mean cosine over documents",
    "its standard deviation",
    "cosine, standardised by both",
)
"""What the ranker knows of a term and a document, see `PhraseBank.features`."""

_RANKER = "ranker_"
_TYPICAL = "typical"


@dataclass(frozen=True)
class TermRanker:
    """Puts the terms with the best `BankScore` in order.

    Attributes:
        network: over `TERM_FEATURES`.
        typical: (N, 2) mean and standard deviation of each term's cosine over documents: what is near to
            all of them would be proposed everywhere.
        ranked: how many terms it puts in order.
        score: the weight of the `BankScore`, which is added to the output; chosen on validation documents.
    """

    network: FeatureNetwork
    typical: NDArray[np.float32]
    ranked: int
    score: float = 0.0

    def logits(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        """(K,) of K terms, from (K, F)."""
        scores = features[:, TERM_FEATURES.index("score")]
        logits: NDArray[np.float32] = self.network.logits(features) + self.score * scores
        return logits.astype(np.float32)

    def packed(self) -> dict[str, Tensor]:
        """As tensors to be stored, without `ranked` and `score`."""
        return {**self.network.packed(_RANKER), f"{_RANKER}{_TYPICAL}": torch.from_numpy(self.typical)}

    @classmethod
    def unpacked(cls, tensors: Mapping[str, Tensor], ranked: int, score: float) -> TermRanker:
        """What `packed` was made of.

        Raises:
            ValueError, KeyError: it is damaged.
        """
        network = FeatureNetwork.unpacked(tensors, _RANKER, len(TERM_FEATURES))
        return cls(network, tensors[f"{_RANKER}{_TYPICAL}"].numpy(), ranked, score)


@dataclass(frozen=True)
class ScoredTerms:
    """K terms for a document, best first.

    Attributes:
        numbers: (K,) of the terms.
        scores: (K,) the `BankScore` of each.
        profiled: (K,) the cosine of the text and each word profile; 0 where the score does not ask for it.
    """

    numbers: NDArray[np.int64]
    scores: NDArray[np.float32]
    profiled: NDArray[np.float32]

    def first(self, count: int) -> ScoredTerms:
        return ScoredTerms(self.numbers[:count], self.scores[:count], self.profiled[:count])


@dataclass(frozen=True, slots=True)
class RetrievedTerm:
    """A term found for a document.

    Attributes:
        score: what it is ranked by: the ranker's logit, of a bank without one its `BankScore`.
        evidence: the terms that speak for it as the document writes them, best first.
        reason: why they do, in a sentence.
    """

    text: str
    score: float
    evidence: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class PhraseBank:
    """Terms, their vectors and what ranks them.

    Attributes:
        texts: N spellings.
        keys: the `term_key` of each, kept because stemming them all takes seconds.
        log_frequency: (N,) float32, log(1 + documents that use the term as a keyphrase).
        stored: the vectors as on disk, see `kpdemo.simckp.storage` and, for "int4", `to_nibbles`.
        associations: of the terms; votes for each other.
        encoder: the hash of the pair encoder that the vectors belong to.
        device: where the nearest terms are searched.
        profiles: of the terms' words; a bank may have none.
        ranker: puts the best terms in order; a bank may have none.
        languages: the code of each term's; none where all are English.
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
    ranker: TermRanker | None = None
    languages: tuple[str, ...] = ()

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
        languages: Sequence[str] = (),
    ) -> PhraseBank:
        """From unit vectors (N, D), which are rounded here as storing rounds them.

        Args:
            storage: of the vectors.
            languages: the code of each term's; none where all are English.

        Raises:
            ValueError: there is no term, not one vector, frequency and language for each, or D is odd for
                "int4".
        """
        if storage == "int4" and vectors.shape[1] % 2:
            raise ValueError(f"vectors of {vectors.shape[1]} numbers do not fill bytes of two")
        told = languages or [ENGLISH] * len(texts)
        if not len(texts) == len(log_frequency) == len(vectors) == len(told) > 0:
            raise ValueError(
                f"{len(texts)} terms, {len(log_frequency)} frequencies, {len(vectors)} vectors, "
                f"{len(told)} languages"
            )
        rounded = log_frequency.astype(np.float16).astype(np.float32)
        keys = tuple(map(term_key, texts, told))
        stored = pack({VECTORS: vectors}) if storage == "int8" else to_nibbles(VECTORS, vectors)
        known = associations or Associations.none(len(texts))
        return cls(tuple(texts), keys, rounded, stored, known, encoder, languages=tuple(languages))

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def storage(self) -> VectorStorage:
        return "int4" if f"{VECTORS}{STEP}" in self.stored else "int8"

    @property
    def vectors(self) -> NDArray[np.float32]:
        """(N, D), of length 1; with "int8" up to rounding. Searched too: only read them."""
        return self._rows[:, :-1]

    def unpack(self) -> None:
        """Have `vectors` ready.

        Raises:
            ValueError: they do not fit their steps.
        """
        _ = self._rows

    def _unpacked(self) -> NDArray[np.float32]:
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
        return TermIndex(self.keys, self.texts, self.languages)

    @cached_property
    def spoken(self) -> frozenset[str]:
        """The languages that it has terms of."""
        return frozenset(self.languages or [ENGLISH])

    @cached_property
    def _rows(self) -> NDArray[np.float32]:
        """(N, D + 1) the vectors; a last coordinate carries the frequency's part of the score."""
        return np.hstack([self._unpacked(), self.score.frequency * self.log_frequency[:, None]])

    @cached_property
    def _index(self) -> Any:
        """A FAISS index of inner products."""
        import faiss  # here, because only retrieval needs it

        rows = self._rows
        index = faiss.IndexFlatIP(rows.shape[1])
        index.add(rows)
        return index

    @cached_property
    def _codes(self) -> NDArray[np.str_]:
        """(N,) the language of each term."""
        return np.array(self.languages or [ENGLISH] * len(self))

    @cached_property
    def _columns(self) -> Tensor:
        """(D + 1, N) on the device."""
        return torch.from_numpy(self._rows).to(self.device).T

    def search(
        self,
        documents: NDArray[np.float32],
        count: int,
        texts: Sequence[TextTerms] | None = None,
        languages: Sequence[str] | None = None,
    ) -> list[list[RetrievedTerm]]:
        """The `count` best terms of each document, best first; fewer when the bank has fewer.

        Args:
            documents: (B, D) vectors of the pair encoder the bank was built with, of length 1.
            texts: what `terms` found in each document. Terms that occur in the text are never returned,
                but vote for similar ones, and the nearest of them are the evidence.
            languages: the code of each document's, "" for English: only terms of it are returned.
        """
        read = texts or [TextTerms()] * len(documents)
        codes = languages or [ENGLISH] * len(documents)
        return [
            self._answer(found, document, text, count)
            for found, document, text in zip(
                self.best_terms(documents, read, codes, count), documents, read, strict=True
            )
        ]

    def best_terms(
        self, documents: NDArray[np.float32], texts: Sequence[TextTerms], languages: Sequence[str], count: int
    ) -> Iterator[ScoredTerms]:
        """The terms of each document with the best `BankScore`, at least `count` of them; see `search`."""
        wanted = max(count, self.score.scored)
        most = wanted + max((len(text.numbers) for text in texts), default=0)
        queries = np.hstack([documents, np.ones((len(documents), 1), dtype=np.float32)])
        profiled = self._profile_scores(texts)
        codes = [code or ENGLISH for code in languages]
        found = self._best(queries, profiled, codes, min(most, len(self)))
        for row, (document, numbers, text) in enumerate(zip(documents, found, texts, strict=True)):
            left = numbers[(numbers >= 0) & ~np.isin(numbers, text.numbers)][:wanted]
            own = profiled[row, left] if profiled is not None else np.zeros(len(left), dtype=np.float32)
            scores = self._scores(document, left, own, text)
            order = np.argsort(-scores, kind="stable")
            yield ScoredTerms(left[order], scores[order], own[order])

    def _profile_scores(self, texts: Sequence[TextTerms]) -> NDArray[np.float32] | None:
        """(B, N) the cosine of each text and word profile; None where the score does not ask for it."""
        if self.profiles is None or not self.score.profiles or not texts:
            return None
        return np.stack([self.profiles.scores(text.stems) for text in texts])

    def _best(
        self,
        queries: NDArray[np.float32],
        profiled: NDArray[np.float32] | None,
        languages: Sequence[str],
        count: int,
    ) -> NDArray[np.int64]:
        """(B, count) the terms of each document's language with the highest inner products for (B, D + 1),
        with what their word profiles (B, N) add, best first; -1 where there are fewer."""
        numbers: NDArray[np.int64]
        foreign = self.spoken.symmetric_difference(languages) if languages else ()
        if self.device == "cpu" and profiled is None and not foreign:
            _, numbers = self._index.search(queries, count)
            return numbers
        scores = torch.from_numpy(queries).to(self.device) @ self._columns  # (B, N)
        if profiled is not None:
            scores += self.score.profiles * torch.from_numpy(profiled).to(self.device)
        for row, language in enumerate(languages):
            if self.spoken != {language}:
                scores[row, torch.from_numpy(self._codes != language).to(self.device)] = -torch.inf
        best = scores.topk(count, dim=1)
        numbers = best.indices.masked_fill(best.values == -torch.inf, -1).cpu().numpy()
        return numbers

    def _scores(
        self,
        document: NDArray[np.float32],
        numbers: NDArray[np.int64],
        profiled: NDArray[np.float32],
        text: TextTerms,
    ) -> NDArray[np.float32]:
        """(K,) the `BankScore` of K terms, given the cosine of each word profile."""
        vectors, present = self.vectors[numbers], np.array(text.numbers, dtype=np.int64)
        scores: NDArray[np.float32] = (
            products(vectors, document)
            + self.score.frequency * self.log_frequency[numbers]
            + self.score.words * self.terms.shares_of_words(numbers, text.stems)
            + self.score.likeness * self._likeness(products(vectors, self.vectors[present].T))
            + self.score.association * self._votes(document, present)[numbers]
            + self.score.profiles * profiled
        )
        return scores

    def _answer(
        self, found: ScoredTerms, document: NDArray[np.float32], text: TextTerms, count: int
    ) -> list[RetrievedTerm]:
        numbers, scores = found.numbers, found.scores
        if self.ranker is not None:
            first = found.first(self.ranker.ranked)
            logits = self.ranker.logits(self.features(document, text, first, self.ranker.typical))
            order = np.argsort(-logits, kind="stable")
            numbers, scores = first.numbers[order], logits[order]
        best = numbers[:count]
        told = np.fromiter(sorted(text.spelt), dtype=np.int64)
        return [
            RetrievedTerm(
                self.texts[number],
                float(score),
                tuple(text.spelt[one] for one in speaking),
                self._reason(number, {one: text.spelt[one] for one in speaking}),
            )
            for number, score, speaking in zip(best, scores, self._evidence(best, told), strict=False)
        ]

    def _reason(self, number: int, speaking: Mapping[int, str]) -> str:
        """How often authors use the term together with those of the text, or that it is only alike."""
        counts = self.associations.counts(number)
        used = [
            f"“{text}” ({counts[one]:,} times)"
            for one, text in speaking.items()
            if counts.get(one, 0) >= LEAST_TOGETHER
        ]
        if used:
            return f"Authors use it together with {_listed(used)}."
        alike = [f"“{text}”" for text in speaking.values()]
        return f"Its meaning is near to that of {_listed(alike)}." if alike else ""

    def features(
        self,
        document: NDArray[np.float32],
        text: TextTerms,
        found: ScoredTerms,
        typical: NDArray[np.float32],
    ) -> NDArray[np.float32]:
        """(K, F) the `TERM_FEATURES` of K terms, best first.

        Args:
            document: (D,).
            typical: (N, 2), see `TermRanker`.
        """
        numbers = found.numbers
        vectors = self.vectors[numbers]
        present, title = (np.array(own, dtype=np.int64) for own in (text.numbers, text.title))
        repeated = np.array(text.counts, dtype=np.float32) - 1  # (S,)
        repeated /= max(float(repeated.sum()), 1.0)
        near = products(vectors, self.vectors[present].T)  # (K, S)
        evenly = np.full(len(title), 1 / max(len(title), 1), dtype=np.float32)
        cosine = products(vectors, document)
        mean, deviation = typical[numbers].T
        rows = np.broadcast_arrays(
            cosine,
            self.log_frequency[numbers],
            found.profiled,
            self.terms.lengths[numbers],
            self.terms.shares_of_words(numbers, text.stems),
            self.terms.shares_of_words(numbers, text.title_stems),
            self._likeness(near),
            near.max(axis=1, initial=0.0),
            products(vectors, self.vectors[title].T).max(axis=1, initial=0.0),
            self._votes(document, present)[numbers],
            self.associations.votes(text.title, evenly)[numbers],
            self.associations.votes(text.numbers, repeated)[numbers],
            near @ repeated,
            self.associations.strongest(text.numbers)[numbers],
            found.scores,
            found.scores - found.scores.max(initial=-np.inf),
            np.log1p(np.arange(len(numbers))),
            np.log1p(len(text.stems)),
            found.scores[:10].sum() / 10,
            mean,
            deviation,
            (cosine - mean) / deviation,
        )
        return np.stack(rows, axis=1).astype(np.float32)

    def opinions(
        self, numbers: NDArray[np.int64], document: NDArray[np.float32], text: TextTerms
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
        """(K,) each, of K terms: the cosine to the document, the same standardised by what is typical of the
        term, and the cosine of the text and the term's word profile, 0 without profiles.

        Args:
            document: (D,).

        Raises:
            ValueError: the bank has no ranker, which knows what is typical.
        """
        if self.ranker is None:
            raise ValueError("the bank has no ranker")
        cosine = products(self.vectors[numbers], document)
        mean, deviation = self.ranker.typical[numbers].T
        standardised = (cosine - mean) / deviation
        if self.profiles is None:
            return cosine, standardised, np.zeros_like(cosine)
        return cosine, standardised, self.profiles.scores(text.stems)[numbers]

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
        """For each of K terms those of the text's terms that authors use with it, then the nearest others.

        None is inside another. A single word counts only if authors use it with the term much more than
        chance would have it.
        """
        cosine = products(self.vectors[numbers], self.vectors[told].T)  # (K, S)
        order = told[np.argsort(-cosine, axis=1, kind="stable")]
        nearest = [
            self._speaking(number, row.tolist())[: 2 * self.score.nearest]
            for number, row in zip(numbers.tolist(), order, strict=True)
        ]
        apart = (drop_nested_keys(self.keys[number] for number in row) for row in nearest)
        return [
            [row[place] for place in islice(places, self.score.nearest)]
            for row, places in zip(nearest, apart, strict=True)
        ]

    def _speaking(self, number: int, nearest: Sequence[int]) -> list[int]:
        if not self.associations.documents:
            return list(nearest)
        counts = self.associations.counts(number)
        strengths = self.associations.strengths(number)
        used = [
            one
            for one in nearest
            if counts.get(one, 0) >= LEAST_TOGETHER
            and (" " in self.keys[one] or strengths.get(one, 0.0) >= LEAST_STRENGTH)
        ]
        alike = [one for one in nearest if one not in used and " " in self.keys[one]]
        return [*sorted(used, key=lambda one: -strengths[one]), *alike]

    def _votes(self, document: NDArray[np.float32], present: NDArray[np.int64]) -> NDArray[np.float32]:
        """(N,) the votes of the terms of the text for all terms, by their associations."""
        logits = self.score.sharpness * products(self.vectors[present], document)
        weights = np.exp(logits - logits.max(initial=0.0))
        return self.associations.votes(present.tolist(), weights / max(weights.sum(), 1.0e-30))

    def frequency_of(self, text: str) -> float:
        """The log frequency of a term; 0 when the bank does not have it."""
        number = self.terms.number(text)
        return 0.0 if number is None else float(self.log_frequency[number])


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
