"""Training of the pair encoder: documents near their keyphrases, over a whole bank of terms at once.

Letters: B documents, T tokens, N terms of the bank, Q of them encoded for a batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from kpdemo.simckp.movable import Movable
from kpdemo.simckp.reading import padded
from kpdemo.training.bank_model import BankModel, TermLabels, TermPlaces
from kpdemo.training.bank_validation import BankValidation
from kpdemo.training.bounds import AboveZero
from kpdemo.training.pairs import PairCache, TermPair
from kpdemo.training.part import Metrics


@dataclass(frozen=True)
class PairObjective:
    """Attributes:
    present_weight: weight of a gold term that occurs in the text; an absent one has 1.
    tower_weight: weight of the loss over encoded phrases; that over the bank's own vectors has 1.
    hard_negatives: terms a document that the bank ranks highest and that are wrong, encoded as phrases
        in addition to the gold of the batch.
    most_phrases: only this many of these, drawn at random, are encoded for a batch.
    """

    present_weight: float = 0.3
    tower_weight: float = 0.5
    hard_negatives: int = 2
    most_phrases: int = 48


@dataclass(frozen=True)
class Rates:
    """Peak learning rates.

    Attributes:
        terms: that of the bank's own vectors.
        unseen: Adam's ε for the terms, above the faint gradients of terms not seen yet, which Adam would
            scale up to full steps. A term's own document is a smaller share of a larger batch: lower it then.
    """

    encoder: float = 1.5e-4
    heads: float = 5e-4
    terms: float = 5e-4
    weight_decay: float = 0.01
    unseen: AboveZero = 1e-4


@dataclass(frozen=True)
class TermPairBatch(Movable):
    """Attributes:
    input_ids, attention_mask: (B, T) long.
    """

    input_ids: Tensor
    attention_mask: Tensor
    places: TermPlaces


class PairPart:
    """The pair encoder as the training loop sees it."""

    selected = "R@50"

    def __init__(
        self,
        module: BankModel,
        pairs: PairCache,
        phrases: Sequence[Sequence[int]],
        validation: BankValidation,
        *,
        objective: PairObjective,
        rates: Rates,
        padding: int,
    ) -> None:
        """Args:
        phrases: token ids of each term of the bank.
        padding: the pad token id.
        """
        self.module = module
        self._pairs, self._phrases, self._validation = pairs, phrases, validation
        self._objective, self._rates, self._padding = objective, rates, padding
        self.lengths, self.repeats = pairs.lengths, pairs.repeats

    def parameter_groups(self) -> list[dict[str, Any]]:
        rates, dual = self._rates, self.module.dual
        encoder = [weight for weight in dual.encoder.parameters() if weight.requires_grad]
        heads = [*dual.document_projection.parameters(), *dual.phrase_projection.parameters()]
        return [
            {"params": encoder, "lr": rates.encoder, "weight_decay": rates.weight_decay},
            {"params": [*heads, self.module.frequency_weight], "lr": rates.heads, "weight_decay": 0.0},
            {"params": [self.module.terms], "lr": rates.terms, "weight_decay": 0.0, "eps": rates.unseen},
        ]

    def __getitem__(self, number: int) -> TermPair:
        return self._pairs[number]

    def collate(self, items: Sequence[TermPair]) -> TermPairBatch:
        input_ids, mask = padded([item.tokens.tolist() for item in items], self._padding)
        return TermPairBatch(
            input_ids, mask, TermPlaces.of(items, len(self._phrases), self._objective.present_weight)
        )

    def loss(self, batch: TermPairBatch) -> Tensor:
        """Section 4.3 of SimCKP twice: over the vectors of all terms, and over the phrases of the batch."""
        dual, labels = self.module.dual, batch.places.labels
        documents = dual.documents(batch.input_ids, batch.attention_mask)
        with torch.autocast(documents.device.type, enabled=False):
            logits = self.module.logits(documents)
            over_bank = labels.loss(logits)
        chosen = self._chosen(logits.detach(), labels)
        phrases = dual.phrases(*self._read(chosen))
        with torch.autocast(documents.device.type, enabled=False):
            over_phrases = labels.loss(documents @ phrases.T / dual.config.temperature, chosen)
        return over_bank + self._objective.tower_weight * over_phrases

    def _chosen(self, logits: Tensor, labels: TermLabels) -> Tensor:
        """(Q,) the terms to encode, drawn from the batch's gold and each document's hardest negatives."""
        wrong = logits.masked_fill(~labels.negative, -torch.inf)
        hard = wrong.topk(min(self._objective.hard_negatives, wrong.shape[1]), dim=1).indices
        gold = labels.gold.any(0).nonzero().flatten()
        both = torch.tensor(sorted({*gold.tolist(), *hard.flatten().tolist()}))
        drawn = torch.randperm(len(both))[: self._objective.most_phrases]
        return both[drawn].to(logits.device)

    def _read(self, terms: Tensor) -> tuple[Tensor, Tensor]:
        input_ids, mask = padded([self._phrases[number] for number in terms.tolist()], self._padding)
        return input_ids.to(terms.device), mask.to(terms.device)

    def evaluate(self) -> Metrics:
        return self._validation.measure(self.module, self._validation.vectors(self.module.dual))
