"""The ranker: how likely each candidate is to be a keyphrase, from its features.

Letters: P candidates, F features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from kpdemo.ramkg.features import OWN_FEATURES, RETRIEVED_FEATURES, Ranked
from kpdemo.simckp.counting import ExpectedF1

HIDDEN = 128

_CONSTANT = 1e-3  # a deviation below it is rounding


class Ranker(nn.Module):
    """A small network over standardised features.

    Args:
        retrieval: whether it reads what retrieval gives; the base model does not.
    """

    def __init__(self, *, retrieval: bool) -> None:
        super().__init__()
        width = len(OWN_FEATURES) + len(RETRIEVED_FEATURES) * retrieval
        self.retrieval = retrieval
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("scale", torch.ones(width))
        self.network = nn.Sequential(
            nn.Linear(width, HIDDEN),
            nn.GELU(),
            nn.Linear(HIDDEN, HIDDEN),
            nn.GELU(),
            nn.Linear(HIDDEN, 1),
        )

    def standardise(self, features: NDArray[np.float32]) -> None:
        """Take mean and deviation from training candidates, (P, F); constant features are not scaled."""
        values = torch.from_numpy(features)
        deviation = values.std(0)
        self.get_buffer("mean").copy_(values.mean(0))
        self.get_buffer("scale").copy_(torch.where(deviation < _CONSTANT, 1.0, deviation))

    def forward(self, features: Tensor) -> Tensor:
        """(P,) log-odds of (P, F) features."""
        logits: Tensor = self.network((features - self.get_buffer("mean")) / self.get_buffer("scale"))
        return logits.squeeze(-1)


@dataclass(frozen=True)
class Choosing:
    """A ranker with the rule for how many phrases a document gets.

    Attributes:
        counting: from the probabilities of all candidates.
        minimum: keyphrases given when the rule says fewer.
    """

    module: Ranker
    counting: ExpectedF1
    minimum: int = 3

    def probabilities(self, ranked: Ranked) -> NDArray[np.float32]:
        """(P,) of each candidate."""
        if not ranked.phrases:
            return np.zeros(0, dtype=np.float32)
        with torch.inference_mode():
            logits = self.module(torch.from_numpy(inputs(ranked, retrieval=self.module.retrieval)))
        values: NDArray[np.float32] = torch.sigmoid(logits).numpy()
        return values

    def count(self, probabilities: Sequence[float]) -> int:
        """How many of a document's candidates to give."""
        return max(self.counting.count(probabilities), self.minimum)


def inputs(ranked: Ranked, *, retrieval: bool) -> NDArray[np.float32]:
    """(P, F) what a ranker reads of candidates."""
    return np.concatenate([ranked.own, ranked.retrieved], axis=1) if retrieval else ranked.own
