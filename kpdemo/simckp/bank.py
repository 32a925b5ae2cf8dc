"""The phrase bank: terms with their vectors, from which absent keyphrases are retrieved.

SimCKP generates absent keyphrases; retrieving them goes beyond the paper. Letters: B documents, N terms of
the bank, D width of the vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kpdemo.nesting import unnested_keys
from kpdemo.simckp.associations import Associations
from kpdemo.simckp.nibbles import STEP, from_nibbles, in_nibbles
from kpdemo.simckp.profiles import WordProfiles
from kpdemo.simckp.quantized import pack, unpack
from kpdemo.simckp.terms import TermIndex, TextTerms, term_key

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
        stored: the vectors as on disk, see `kpdemo.simckp.quantized` and, for "int4", `nibbles`.
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
        stored = pack({VECTORS: vectors}) if storage == "int8" else in_nibbles(VECTORS, vectors)
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
        apart = (unnested_keys(self.keys[number] for number in row) for row in nearest)
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
