"""The retriever as the training loop sees it, and its loss (RAMKG, section 4.1).

Letters: B pairs of a batch, N passages of it, D width.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from kpdemo.evaluation.retrieval import recall_at
from kpdemo.simckp.examples import encoder_text
from kpdemo.simckp.movable import Movable
from kpdemo.training.multilingual.parallel import Translation
from kpdemo.training.multilingual.retriever_config import RetrieverTraining
from kpdemo.training.multilingual.towers import Tower
from kpdemo.training.part import Metrics
from kpdemo.types import Document


class RetrieverPart:
    """A retriever as the training loop sees it: an item is a pair with its negatives."""

    selected = "R@5"

    def __init__(
        self,
        tower: Tower,
        config: RetrieverTraining,
        pairs: Sequence[Translation],
        passages: Sequence[Document],
        validation: Sequence[Translation],
    ) -> None:
        """Args:
        passages: what negatives are drawn from.
        """
        self._tower = tower
        self._config = config
        queries, found = config.encoder.query_prefix, config.encoder.passage_prefix
        self._queries = tower.read(_texts(queries, (pair.document for pair in pairs)))
        positives = _texts(found, (pair.passage for pair in pairs))
        negatives = _texts(found, passages) if config.negatives else []
        numbers = {text: number for number, text in enumerate(dict.fromkeys([*positives, *negatives]))}
        self._positives = _numbered(tower.read(positives), positives, numbers)
        self._negatives = _numbered(tower.read(negatives), negatives, numbers)
        self._several = len(set(negatives)) > 1
        self._validation = [
            tower.read(_texts(queries, (pair.document for pair in validation))),
            tower.read(_texts(found, (pair.passage for pair in validation))),
        ]
        self.lengths = self.repeats = [1] * len(pairs)
        self._epoch = 0

    @property
    def module(self) -> nn.Module:
        return self._tower.module

    def parameter_groups(self) -> list[dict[str, Any]]:
        config = self._config
        parameters = [value for value in self.module.parameters() if value.requires_grad]
        return [{"params": parameters, "lr": config.learning_rate, "weight_decay": config.weight_decay}]

    def begin_epoch(self, epoch: int) -> None:
        """Draw other negatives than in other epochs."""
        self._epoch = epoch

    def __getitem__(self, index: int) -> tuple[Any, _Passage, list[_Passage]]:
        own = self._positives[index]
        return self._queries[index], own, self._drawn(own, index)

    def _drawn(self, own: _Passage, index: int) -> list[_Passage]:
        """Negatives of a pair; where its own passage is drawn, another is drawn instead."""
        chance = random.Random(f"{self._config.loop.seed} {self._epoch} {index}")
        drawn: list[_Passage] = []
        while len(drawn) < self._config.negatives:
            passage = chance.choice(self._negatives)
            if passage.number != own.number:
                drawn.append(passage)
            elif not self._several:
                break  # there is no other to draw
        return drawn

    def collate(self, items: Sequence[tuple[Any, _Passage, list[_Passage]]]) -> PairBatch:
        queries, positives, negatives = zip(*items, strict=True)
        passages: list[_Passage] = [*positives, *chain.from_iterable(negatives)]
        return PairBatch(
            self._tower.collate(queries),
            self._tower.collate([passage.item for passage in passages]),
            torch.tensor([passage.number for passage in passages]),
        )

    def loss(self, batch: PairBatch) -> Tensor:
        return retrieval_loss(
            self.module(batch.queries),
            self.module(batch.passages),
            batch.numbers,
            temperature=self._config.temperature,
            both_ways=self._config.both_ways,
        )

    def evaluate(self) -> Metrics:
        queries, passages = (self._encode(items) for items in self._validation)
        scores = queries @ passages.T
        ranks = (~(scores < scores.diagonal()[:, None])).sum(1)  # after all ties, and NaN is not a hit
        return {f"R@{k}": value for k, value in recall_at(ranks.tolist()).items()}

    def _encode(self, items: Sequence[Any]) -> Tensor:
        device = next(self.module.parameters()).device
        size = self._config.loop.batch_size
        with torch.no_grad():
            return torch.cat(
                [
                    self.module(self._tower.collate(items[first : first + size]).to(device))
                    for first in range(0, len(items), size)
                ]
            )


@dataclass(frozen=True, slots=True)
class _Passage:
    """A passage as the tower reads it; those of one text have one number."""

    item: Any
    number: int


def _texts(prefix: str, documents: Iterable[Document]) -> list[str]:
    """As the encoder of an index reads them."""
    return [f"{prefix}{encoder_text(document)}" for document in documents]


def _numbered(items: Sequence[Any], texts: Sequence[str], numbers: Mapping[str, int]) -> list[_Passage]:
    return [_Passage(item, numbers[text]) for item, text in zip(items, texts, strict=True)]


@dataclass(frozen=True)
class PairBatch(Movable):
    """B queries; their passages in the same order, and negatives after them.

    Attributes:
        numbers: (N,) long, the same for the same passage.
    """

    queries: Movable
    passages: Movable
    numbers: Tensor


def retrieval_loss(
    queries: Tensor, passages: Tensor, numbers: Tensor, *, temperature: float, both_ways: bool
) -> Tensor:
    """The negative log-likelihood of each query's passage among all of the batch (RAMKG, section 4.1).

        -log (exp sim(q, p+) / (exp sim(q, p+) + Σ exp sim(q, p-)))

    with sim the dot product, p+ the query's passage, and p- all others of the batch. Where p+ occurs in the
    batch again, as another query's passage or negative, it is not a p- and is left out.

    Args:
        queries: (B, D).
        passages: (N, D), the queries' own first.
        numbers: (N,) the same for the same passage.
        both_ways: add that of each passage's query among the queries.

    Returns:
        Scalar, in nats.
    """
    scores = queries @ passages.T / temperature  # (B, N)
    own = torch.arange(len(queries), device=scores.device)
    again = numbers[:, None][: len(queries)] == numbers
    again[own, own] = False
    scores = scores.masked_fill(again, -torch.inf)
    loss = functional.cross_entropy(scores, own)
    return loss + functional.cross_entropy(scores[:, : len(queries)].T, own) if both_ways else loss
