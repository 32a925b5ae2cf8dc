"""The order of a document's best candidates: a network that compares them with one another.

An extractor scores each candidate against the document alone. Most of its errors are a longer or shorter
phrase than the author's, or a right one behind wrong ones. The network sees in addition how far each of the
best is behind the others, which of them it nests with, and what the phrase bank makes of it. SimCKP has no
such step.

Letters: P candidates, K of them that are put in order, F features, D width of the bank's vectors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kpdemo.candidates.chunks import Candidate, surface
from kpdemo.simckp.examples import FEATURES
from kpdemo.simckp.extractor import Selection
from kpdemo.simckp.feature_network import FeatureNetwork
from kpdemo.simckp.phrase_bank import PhraseBank
from kpdemo.simckp.read_ahead import ReadDocument
from kpdemo.simckp.terms import TextTerms
from kpdemo.types import Document

CANDIDATE_FEATURES = (
    "score",
    "score below the best",
    "score above the fifth",
    "log rank",
    *FEATURES,
    "known to the bank",
    "cosine",
    "cosine, standardised",
    "profile",
    "profile relative to the best",
    "log frequency",
    "inside a longer one",
    "score of the best longer one",
    "around a shorter one",
    "score of the best shorter one",
)
"""What the network knows of a candidate, see `candidate_features`."""

FIFTH = 4
"""The place of the last keyphrase that a document gets at least; scores are compared with its score."""


@dataclass(frozen=True)
class CandidateRanker:
    """Attributes:
    network: over `CANDIDATE_FEATURES`.
    ranked: how many of a document's candidates it puts in order, those with the best scores.
    selection: how its scores become an answer.
    """

    network: FeatureNetwork
    ranked: int
    selection: Selection

    def rescore(
        self,
        document: Document,
        read: ReadDocument,
        scores: NDArray[np.float32],
        vector: NDArray[np.float32],
        bank: PhraseBank,
    ) -> NDArray[np.float32]:
        """(P,) of the best candidates the network's logits; the others follow, as far below the last as they
        are by the extractor's scores.

        Args:
            scores: (P,) the extractor's.
            vector: (D,) of the document by the bank's encoder.
        """
        if not len(scores):
            return scores
        best = best_candidates(scores, self.ranked)
        logits = self.network.logits(candidate_features(document, read, scores, vector, bank, best))
        rescored: NDArray[np.float32] = scores - scores[best[-1]] + logits.min()
        rescored[best] = logits
        return rescored


def best_candidates(scores: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """(K,) the numbers of the candidates with the best of (P,) scores, best first."""
    return np.argsort(-scores, kind="stable")[:count]


def candidate_features(
    document: Document,
    read: ReadDocument,
    scores: NDArray[np.float32],
    vector: NDArray[np.float32],
    bank: PhraseBank,
    best: NDArray[np.int64],
) -> NDArray[np.float32]:
    """(K, F) the `CANDIDATE_FEATURES` of the best candidates of a document.

    Args:
        scores: (P,) the extractor's.
        vector: (D,) of the document by the bank's encoder.
        bank: with a ranker, whose typical cosines are taken.
        best: (K,) from `best_candidates`, at least one.
    """
    chosen = [read.candidates[number] for number in best]
    ranked = scores[best]
    columns = (
        ranked,
        ranked - ranked[0],
        ranked - ranked[min(FIFTH, len(ranked) - 1)],
        np.log1p(np.arange(len(ranked))),
        *read.example.features[best].T,
        *_bank_features(document, chosen, vector, read.terms, bank),
        *_nest_features([one.key for one in chosen], ranked),
    )
    return np.stack(columns, axis=1).astype(np.float32)


def _bank_features(
    document: Document,
    candidates: Sequence[Candidate],
    vector: NDArray[np.float32],
    text: TextTerms,
    bank: PhraseBank,
) -> list[NDArray[Any]]:
    """(K,) each; 0 of a candidate that is no term of the bank."""
    found = [bank.terms.number(surface(document, one), document.language) for one in candidates]
    known = np.array([number is not None for number in found])
    numbers = np.array([number or 0 for number in found])
    cosine, standardised, profile = bank.opinions(numbers, vector, text)
    highest = max(float((known * profile).max()), 1.0e-6)
    columns = cosine, standardised, profile, profile / highest, bank.log_frequency[numbers]
    return [known, *(known * column for column in columns)]


def _nest_features(keys: Sequence[str], scores: NDArray[np.float32]) -> Iterator[NDArray[Any]]:
    """(K,) each: whether a candidate is inside others, and how much higher the best of these scores; whether
    it is around others, and the same of these."""
    padded = [f" {key} " for key in keys]
    inside = np.array([[one in other for other in padded] for one in padded]) & ~np.eye(len(keys), dtype=bool)
    for nests in (inside, inside.T):
        best = np.where(nests, scores, -np.inf).max(axis=1)
        nested: NDArray[np.bool_] = np.isfinite(best)
        yield nested
        yield np.where(nested, best - scores, 0)
