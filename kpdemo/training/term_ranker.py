"""Training of the network that puts a bank's best terms in order, and of the floor below which none is given.

Letters: B documents, N terms of the bank, D width of the vectors.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kpdemo.errors import ConfigError
from kpdemo.languages import ENGLISH
from kpdemo.simckp.calibration import Calibration
from kpdemo.simckp.phrase_bank import PhraseBank, TermRanker
from kpdemo.simckp.terms import TextTerms
from kpdemo.training.data import Positive, Share, Source
from kpdemo.training.feature_network import NetworkTraining, fit_network

LEAST_DEVIATION = 1.0e-3
"""Of a term's cosine that hardly varies."""
TOGETHER = 128
"""Documents that terms are looked up for at once."""
LEAST_GIVEN = 50
"""Terms above a floor before their precision counts as known."""


@dataclass(frozen=True, kw_only=True)
class RankerTraining(NetworkTraining):
    """Attributes:
    train: documents that neither the bank nor its encoder has read: their scores say too much about those.
    ranked: terms of a document that are put in order, those with the best score.
    precision: of the terms that are given, on the validation documents: no term is given below the score
        from which on it is reached.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    train: tuple[Source, ...]
    ranked: Positive = 200
    precision: Share = 0.08


def train_ranker(
    bank: PhraseBank,
    vectors: NDArray[np.float32],
    texts: Sequence[TextTerms],
    gold: Sequence[Collection[str]],
    config: RankerTraining,
) -> TermRanker:
    """Fit the network on documents with a gold term among their best.

    Args:
        vectors: (B, D) of the documents.
        texts: the bank's terms in each.
        gold: the keys of each document's absent keyphrases.

    Raises:
        ConfigError: no document has a gold term among its best.
    """
    typical = typical_cosines(bank, vectors)
    features, labels = [], []
    for start in range(0, len(texts), TOGETHER):
        part = slice(start, start + TOGETHER)
        own = texts[part]
        found = bank.best_terms(vectors[part], own, [ENGLISH] * len(own), config.ranked)
        for document, text, keys, terms in zip(vectors[part], own, gold[part], found, strict=True):
            first = terms.first(config.ranked)
            positive = np.array([bank.keys[number] in keys for number in first.numbers], dtype=bool)
            if positive.any():
                features.append(bank.features(document, text, first, typical))
                labels.append(positive)
    if not features:
        raise ConfigError(
            f"No document of the ranker has a keyphrase among its {config.ranked} best terms: give more."
        )
    return TermRanker(fit_network(features, labels, config), typical, config.ranked)


def typical_cosines(bank: PhraseBank, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """(N, 2) mean and standard deviation of each term's cosine over documents (B, D)."""
    terms, mean = bank.vectors, vectors.mean(axis=0)
    variance = np.einsum("nd,nd->n", terms @ np.cov(vectors.T, bias=True).astype(np.float32), terms)
    deviation = np.sqrt(np.maximum(variance, LEAST_DEVIATION**2))
    rounded = np.stack([terms @ mean, deviation], axis=1).astype(np.float16)
    return rounded.astype(np.float32)


def learn_floor(
    scored: Iterable[tuple[NDArray[np.float32], NDArray[np.bool_]]],
    calibration: Calibration,
    *,
    most: int,
    precision: float,
) -> float:
    """The least probability from which on the terms given are right often enough; 1 where they never are.

    Args:
        scored: (scores, positive) of each document's terms, best first.
        most: terms of a document that are given.
        precision: the share of those given that is to be right.
    """
    given = [(scores[:most], positive[:most]) for scores, positive in scored]
    scores = np.concatenate([scores for scores, _ in given])
    order = np.argsort(-scores, kind="stable")
    counts = np.arange(1, len(order) + 1)
    shares = np.cumsum(np.concatenate([positive for _, positive in given])[order]) / counts
    [enough] = np.nonzero((shares >= precision) & (counts >= min(LEAST_GIVEN, len(order))))
    return calibration.probability(float(scores[order[enough[-1]]])) if len(enough) else 1.0
