"""The phrase bank in training: a dual encoder, and a vector of its own for each term.

Letters: B documents, N terms of the bank, D width of the vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from kpdemo.simckp.dual_encoder import DualEncoder, contrastive_loss_over
from kpdemo.simckp.movable import Movable
from kpdemo.training.pairs import TermPair


class BankModel(nn.Module):
    """The term vectors start as what the phrase tower makes of the terms, and are trained along.

    A term that many documents have is placed by these documents; a rare one stays near its words.
    """

    log_frequency: Tensor

    def __init__(self, dual: DualEncoder, terms: Tensor, log_frequency: Tensor) -> None:
        """Args:
        terms: (N, D) where the term vectors start.
        log_frequency: (N,) log(1 + gold documents) of each term.
        """
        super().__init__()
        self.dual = dual
        self.terms = nn.Parameter(terms)
        self.frequency_weight = nn.Parameter(torch.tensor(0.5))
        self.register_buffer("log_frequency", log_frequency)

    def term_vectors(self) -> Tensor:
        """(N, D), of length 1."""
        return functional.normalize(self.terms, dim=-1)

    def logits(self, documents: Tensor) -> Tensor:
        """(B, N) for (B, D) document vectors: cosine over temperature, and the term's own frequency.

        With the frequency apart, the vectors need not encode it.
        """
        cosine = documents @ self.term_vectors().T
        return cosine / self.dual.config.temperature + self.frequency_weight * self.log_frequency


@dataclass(frozen=True)
class TermPlaces(Movable):
    """The `TermLabels` of a batch as places, which take little room on the way to a device.

    Attributes:
        gold, present: (2, G) and (2, S) long, the document of the batch and the term's number; a term can be
            both a keyphrase and in the text.
        documents, terms: B and N.
        present_weight: see `TermLabels`.
    """

    gold: Tensor
    present: Tensor
    documents: int
    terms: int
    present_weight: float

    @classmethod
    def of(cls, pairs: Sequence[TermPair], terms: int, present_weight: float) -> TermPlaces:
        """Args:
        terms: N.
        """
        gold, present = (_places([getattr(pair, name) for pair in pairs]) for name in ("gold", "present"))
        return cls(gold, present, len(pairs), terms, present_weight)

    @property
    def labels(self) -> TermLabels:
        return TermLabels(self._marks(self.gold), self._marks(self.present), self.present_weight)

    def _marks(self, places: Tensor) -> Tensor:
        marks = torch.zeros(self.documents, self.terms, dtype=torch.bool, device=places.device)
        marks[places[0], places[1]] = True
        return marks


def _places(rows: Sequence[NDArray[np.int32]]) -> Tensor:
    """(2, all that the rows hold) long."""
    documents = np.repeat(np.arange(len(rows)), list(map(len, rows)))
    return torch.from_numpy(np.stack([documents, np.concatenate(rows)]).astype(np.int64))


@dataclass(frozen=True)
class TermLabels:
    """The terms of each document of a batch.

    Attributes:
        gold, present: (B, N) bool, its keyphrases and what occurs in its text; a term can be both.
        present_weight: weight of a gold term that occurs in the text; an absent one has 1.
    """

    gold: Tensor
    present: Tensor
    present_weight: float

    @property
    def negative(self) -> Tensor:
        """(B, N) bool: terms of the text are never given as absent keyphrases, so they are not negatives."""
        return ~(self.gold | self.present)

    def loss(self, logits: Tensor, chosen: Tensor | slice = slice(None)) -> Tensor:
        """Section 4.3 of SimCKP for the logits of the `chosen` terms, (B, Q)."""
        weight = torch.where(self.present[:, chosen], self.present_weight, 1.0)
        return contrastive_loss_over(logits, self.gold[:, chosen], self.negative[:, chosen], weight)
