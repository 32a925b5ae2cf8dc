"""Training of the terms alone, with a frozen pair encoder: cheap enough for several epochs.

Letters: B documents, D width of the vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from kpdemo.simckp.movable import Movable
from kpdemo.training.bank_model import BankModel, TermPlaces
from kpdemo.training.bank_validation import BankValidation
from kpdemo.training.pairs import PairCache, TermPair
from kpdemo.training.part import Metrics


@dataclass(frozen=True)
class RestingBatch(Movable):
    """Attributes:
    documents: (B, D) their vectors.
    """

    documents: Tensor
    places: TermPlaces


class RefinementPart:
    """The terms as the training loop sees them."""

    selected = "R@50"

    def __init__(
        self,
        module: BankModel,
        pairs: PairCache,
        vectors: Tensor,
        validation: BankValidation,
        *,
        present_weight: float,
        rate: float,
        unseen: float,
    ) -> None:
        """Args:
        vectors: (len(pairs), D) of the documents.
        present_weight: see `TermLabels`.
        rate, unseen: peak learning rate of the terms, and Adam's ε, as in `Rates`.
        """
        self.module = module.requires_grad_(False)
        module.terms.requires_grad_(True)
        module.frequency_weight.requires_grad_(True)
        self._pairs, self._vectors, self._validation = pairs, vectors, validation
        self._seen = validation.vectors(module.dual)
        self._present_weight, self._rate, self._unseen = present_weight, rate, unseen
        self.lengths = [1] * len(pairs)  # vectors are of one length
        self.repeats = pairs.repeats

    def parameter_groups(self) -> list[dict[str, Any]]:
        trained = [self.module.terms, self.module.frequency_weight]
        return [{"params": trained, "lr": self._rate, "weight_decay": 0.0, "eps": self._unseen}]

    def __getitem__(self, number: int) -> tuple[Tensor, TermPair]:
        return self._vectors[number], self._pairs[number]

    def collate(self, items: Sequence[tuple[Tensor, TermPair]]) -> RestingBatch:
        terms = len(self.module.log_frequency)
        places = TermPlaces.of([pair for _, pair in items], terms, self._present_weight)
        return RestingBatch(torch.stack([vector for vector, _ in items]), places)

    def loss(self, batch: RestingBatch) -> Tensor:
        """Section 4.3 of SimCKP over all terms."""
        with torch.autocast(batch.documents.device.type, enabled=False):
            return batch.places.labels.loss(self.module.logits(batch.documents))

    def evaluate(self) -> Metrics:
        return self._validation.measure(self.module, self._seen)
