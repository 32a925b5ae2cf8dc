"""Training of the network that puts a bank's best terms in order, and of the floor below which none is given.

Letters: B documents, K terms of each, F features, N terms of the bank, D width of the vectors.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from kpdemo.errors import ConfigError
from kpdemo.languages import ENGLISH
from kpdemo.simckp.calibration import Calibration
from kpdemo.simckp.phrase_bank import PhraseBank, TermRanker
from kpdemo.simckp.terms import TextTerms
from kpdemo.training.data import Count, Positive, Rate, Share, Source

LEAST_DEVIATION = 1.0e-3
"""Of a feature or of a term's cosine that hardly varies."""
TOGETHER = 128
"""Documents that terms are looked up for at once."""
LEAST_GIVEN = 50
"""Terms above a floor before their precision counts as known."""


@dataclass(frozen=True)
class RankerTraining:
    """Attributes:
    train: documents that neither the bank nor its encoder has read: their scores say too much about those.
    skip, pool: the first documents of `train` that are left out, and how many are used then.
    ranked: terms of a document that are put in order, those with the best score.
    width: of the layer between.
    epochs: visits of each document.
    rate: peak learning rate of AdamW, which falls to 0 along a cosine.
    precision: of the terms that are given, on the validation documents: no term is given below the score
        from which on it is reached.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    train: tuple[Source, ...]
    skip: Count = 0
    pool: Positive = 5_000
    ranked: Positive = 200
    width: Positive = 24
    epochs: Positive = 30
    batch_size: Positive = 64
    rate: Rate = 5e-3
    precision: Share = 0.08
    seed: Count = 0


def train_ranker(
    bank: PhraseBank,
    vectors: NDArray[np.float32],
    texts: Sequence[TextTerms],
    gold: Sequence[Collection[str]],
    config: RankerTraining,
) -> TermRanker:
    """Fit the network on documents with a gold term among their best.

    The loss is the cross-entropy of each gold term among all of its document's, and for a score that can be
    calibrated that of each term by itself.

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
    return fit_ranker(features, labels, typical, config)


def fit_ranker(
    features: Sequence[NDArray[np.float32]],
    labels: Sequence[NDArray[np.bool_]],
    typical: NDArray[np.float32],
    config: RankerTraining,
) -> TermRanker:
    """Of (K, F) features of each document's terms, and which of them are gold."""
    every = np.concatenate(features)
    mean, scale = every.mean(axis=0), np.maximum(every.std(axis=0), LEAST_DEVIATION)
    hidden, output = _fit([(rows - mean) / scale for rows in features], labels, config)
    return TermRanker(
        mean,
        scale,
        hidden.weight.detach().T.contiguous().numpy(),
        hidden.bias.detach().numpy(),
        output.weight.detach()[0].contiguous().numpy(),
        output.bias.detach().numpy(),
        typical,
        config.ranked,
    )


def typical_cosines(bank: PhraseBank, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """(N, 2) mean and standard deviation of each term's cosine over documents (B, D)."""
    terms, mean = bank.vectors, vectors.mean(axis=0)
    variance = np.einsum("nd,nd->n", terms @ np.cov(vectors.T, bias=True).astype(np.float32), terms)
    deviation = np.sqrt(np.maximum(variance, LEAST_DEVIATION**2))
    rounded = np.stack([terms @ mean, deviation], axis=1).astype(np.float16)
    return rounded.astype(np.float32)


def _fit(
    features: Sequence[NDArray[np.float32]], labels: Sequence[NDArray[np.bool_]], config: RankerTraining
) -> tuple[nn.Linear, nn.Linear]:
    """The layer between and the output, from documents of (K, F) each."""
    most = max(map(len, features))
    inputs = torch.zeros(len(features), most, features[0].shape[1])
    wanted = torch.zeros(len(features), most)
    real = torch.zeros(len(features), most, dtype=torch.bool)
    for row, (own, positive) in enumerate(zip(features, labels, strict=True)):
        inputs[row, : len(own)] = torch.from_numpy(own)
        wanted[row, : len(own)] = torch.from_numpy(positive).float()
        real[row, : len(own)] = True
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        hidden, output = nn.Linear(inputs.shape[2], config.width), nn.Linear(config.width, 1)
        network = nn.Sequential(hidden, nn.ReLU(), output)
        optimiser = torch.optim.AdamW(network.parameters(), config.rate, weight_decay=1e-4)
        steps = config.epochs * -(-len(features) // config.batch_size)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
        for _ in range(config.epochs):
            order = torch.randperm(len(features))
            for start in range(0, len(order), config.batch_size):
                batch = order[start : start + config.batch_size]
                logits = network(inputs[batch]).squeeze(-1).masked_fill(~real[batch], -torch.inf)
                gold = wanted[batch]
                among = -(functional.log_softmax(logits, dim=1)[gold > 0]).mean()
                alone = functional.binary_cross_entropy_with_logits(logits[real[batch]], gold[real[batch]])
                optimiser.zero_grad()
                (among + alone).backward()  # type: ignore[no-untyped-call]
                optimiser.step()
                schedule.step()
    return hidden, output


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
