"""Ranking of the best present candidates of a document together, after an extractor has scored each alone.

SimCKP compares every candidate with its document only. Which of a nest to take ("vertex set", "feedback
vertex set") can be told by comparing them with each other, which goes beyond the paper. Letters: B documents,
P candidates, F features, D width of the pair encoder's vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kpdemo.candidates.chunks import Candidate, surface
from kpdemo.errors import ConfigError
from kpdemo.simckp.dual_encoder import PairEncoder
from kpdemo.simckp.examples import FEATURES as PLACE_FEATURES
from kpdemo.simckp.examples import Example
from kpdemo.simckp.keyphraseness import Keyphraseness
from kpdemo.types import Document

_COMPARED = ("", " below the best", " above those around it", " above those within it")


@dataclass(frozen=True)
class RankingConfig:
    """Attributes:
    candidates: the best so many of a document are ranked; all others stay behind them, in their order.
    similarity: the cosine of document and candidate by the bank's pair encoder is a feature.
    keyphraseness: so is how often the candidate is a keyphrase where a text has it.
    """

    candidates: int = 30
    similarity: bool = True
    keyphraseness: bool = True

    def __post_init__(self) -> None:
        if self.candidates < 1:
            raise ConfigError(f"At least 1 candidate must be ranked, not {self.candidates}.")

    @property
    def features(self) -> tuple[str, ...]:
        """The F names of the features, in order."""
        names = [*PLACE_FEATURES, "log held by", "log holds", "share held", "log rank"]
        names += [f"score{compared}" for compared in _COMPARED]
        if self.similarity:
            names += [f"similarity{compared}" for compared in _COMPARED]
        if self.keyphraseness:
            names += ["log texts", "log uses", "unknown"]
            names += [f"keyphraseness{compared}" for compared in _COMPARED]
        return tuple(names)


@dataclass(frozen=True)
class RankedList:
    """The best candidates of a document by its extractor's score.

    Attributes:
        numbers: (P,) int64, which of the document's candidates these are, best first.
        features: (P, F) float32.
    """

    numbers: NDArray[np.int64]
    features: NDArray[np.float32]


@dataclass(frozen=True)
class PresentRanker:
    """Scores the best candidates of a document by a linear function of their features.

    Attributes:
        weights: (F,) float64.
        encoder, keyphraseness: None where the configuration does without.
    """

    config: RankingConfig
    weights: NDArray[np.float64]
    intercept: float
    encoder: PairEncoder | None
    keyphraseness: Keyphraseness | None

    def rank(
        self,
        documents: Sequence[Document],
        mined: Sequence[tuple[Sequence[Candidate], Example]],
        scores: Sequence[NDArray[np.float32]],
        vectors: NDArray[np.float32] | None = None,
    ) -> list[NDArray[np.float32]]:
        """New scores (P,) of all candidates of each document: logits of the best ones, the others below.

        Args:
            mined: the candidates of each document, with its example.
            scores: (P,) of these by the extractor.
            vectors: (B, D) of the documents by `encoder`, when they are known already.
        """
        lists = self.read(documents, mined, scores, vectors)
        return [
            place_others(one.features @ self.weights + self.intercept, one.numbers, values)
            for one, values in zip(lists, scores, strict=True)
        ]

    def read(
        self,
        documents: Sequence[Document],
        mined: Sequence[tuple[Sequence[Candidate], Example]],
        scores: Sequence[NDArray[np.float32]],
        vectors: NDArray[np.float32] | None = None,
        used: Sequence[NDArray[np.bool_]] | None = None,
    ) -> list[RankedList]:
        """The candidates that are ranked, of each document; other arguments as of `rank`.

        Args:
            used: (P,) which candidates are keyphrases, of documents that keyphraseness was counted in.
        """
        most = self.config.candidates
        numbers = [np.argsort(-values, kind="stable")[:most] for values in scores]
        best = [
            [candidates[number] for number in chosen]
            for (candidates, _), chosen in zip(mined, numbers, strict=True)
        ]
        similarities = self._similarities(documents, best, vectors)
        lists = []
        for row, (chosen, found, similarity) in enumerate(zip(numbers, best, similarities, strict=True)):
            keys = [candidate.key for candidate in found]
            features = list_features(
                nesting(keys),
                np.array([len(candidate.spans) for candidate in found], dtype=np.float32),
                scores[row][chosen],
                mined[row][1].features[chosen],
                similarity,
                self.keyphraseness.counts(keys, used[row][chosen] if used else None)
                if self.keyphraseness
                else None,
            )
            lists.append(RankedList(chosen, features))
        return lists

    def _similarities(
        self,
        documents: Sequence[Document],
        best: Sequence[Sequence[Candidate]],
        vectors: NDArray[np.float32] | None,
    ) -> Sequence[NDArray[np.float32] | None]:
        """(P,) of the candidates of each document; None without an encoder."""
        if self.encoder is None or not documents:
            return [None] * len(documents)
        anchors = self.encoder.documents(documents) if vectors is None else vectors
        phrases = self.encoder.phrases(
            [surface(document, one) for document, found in zip(documents, best, strict=True) for one in found]
        )
        parts = np.split(phrases, np.cumsum([len(found) for found in best])[:-1])
        return [part @ anchor for part, anchor in zip(parts, anchors, strict=True)]


def place_others(
    logits: NDArray[np.floating[Any]], numbers: NDArray[np.int64], scores: NDArray[np.float32]
) -> NDArray[np.float32]:
    """(P,) new scores of all candidates: the logits of those with these numbers, the others below, in order.

    >>> place_others(np.float32([2, 3]), np.array([1, 2]), np.float32([0.5, 0.9, 0.8])).tolist()
    [1.0, 2.0, 3.0]
    """
    others = np.delete(np.arange(len(scores)), numbers)
    lowest = logits.min(initial=np.inf) - 1
    placed: NDArray[np.float32] = scores - scores[others].max(initial=-np.inf) + np.float32(lowest)
    placed[numbers] = logits
    return placed


def nesting(keys: Sequence[str]) -> NDArray[np.bool_]:
    """(P, P) whether the stems of the first candidate stand around those of the second, contiguously.

    >>> nesting(["vertex set", "feedback vertex set"]).tolist()
    [[False, False], [True, False]]
    """
    padded = [f" {key} " for key in keys]
    holds = np.array([[other in own for other in padded] for own in padded], dtype=bool)
    return holds.reshape(len(keys), len(keys)) & ~np.eye(len(keys), dtype=bool)


def list_features(
    within: NDArray[np.bool_],
    occurrences: NDArray[np.float32],
    scores: NDArray[np.float32],
    places: NDArray[np.float32],
    similarities: NDArray[np.float32] | None,
    counts: NDArray[np.int32] | None,
) -> NDArray[np.float32]:
    """(P, F) what is known of the best candidates of a document, best first.

    Args:
        within: (P, P) see `nesting`.
        occurrences: (P,) how often each stands in the text.
        scores: (P,) of the extractor.
        places: (P, 6) as `kpdemo.simckp.examples.FEATURES`.
        similarities: (P,) or None.
        counts: (P, 2) see `Keyphraseness.counts`, or None.
    """
    around = within.T
    columns = [*places.T, np.log1p(around.sum(1)), np.log1p(within.sum(1))]
    columns.append(_highest(around, occurrences) / occurrences)  # how often it is but a part of another
    columns.append(np.log1p(np.arange(len(scores))))
    columns += _compared(scores, around, within)
    if similarities is not None:
        columns += _compared(similarities, around, within)
    if counts is not None:
        texts, uses = counts.T.astype(np.float32)
        columns += [np.log1p(texts), np.log1p(uses), uses == 0]
        columns += _compared(np.log((uses + 0.5) / (texts + 20)), around, within)
    return np.stack(columns, axis=1).astype(np.float32)


def _compared(
    values: NDArray[np.float32], around: NDArray[np.bool_], within: NDArray[np.bool_]
) -> list[NDArray[np.float32]]:
    """Values, and how far they are from the best of the list, of those around, and of those within."""
    return [
        values,
        values - values.max(initial=-np.inf),
        np.where(around.any(1), values - _highest(around, values), 0.0),
        np.where(within.any(1), values - _highest(within, values), 0.0),
    ]


def _highest(chosen: NDArray[np.bool_], values: NDArray[np.float32]) -> NDArray[np.float32]:
    """(P,) the highest of the values that each row of `chosen` (P, P) chooses; 0 where it chooses none."""
    return np.where(chosen.any(1), np.where(chosen, values, -np.inf).max(1, initial=-np.inf), 0.0)
