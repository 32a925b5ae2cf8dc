"""How many keyphrases a document gets; SimCKP names its global threshold among its limitations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kpdemo.simckp.threshold import Calibration, f1_by_count, refuse_without_gold

Counting = Literal["threshold", "expected F1"]
"""The paper's rule (`kpdemo.simckp.threshold.own_count`), or `ExpectedF1`."""

_GOLD_TRIED = np.arange(0.25, 8.01, 0.25)


@dataclass(frozen=True, slots=True)
class ExpectedF1:
    """Keeps as many of the best candidates as maximise the expected F1.

    With probabilities p₁ ≥ p₂ ≥ … and g gold keyphrases, k candidates are expected to reach
    2 (p₁ + … + p_k) / (k + g). This rises while the next probability is above half of it (Lipton, Elkan
    and Naryanaswamy 2014), so that each document has its own threshold: high where some candidates stand
    out, low where none does.

    Attributes:
        gold: g; learnt, because a document's scores say little about the number of its keyphrases.
    """

    gold: float

    def count(self, probabilities: Sequence[float]) -> int:
        """How many to keep.

        Args:
            probabilities: of all candidates of one document, in any order.
        """
        expected = 0.0  # of those kept, how many are gold
        for kept, probability in enumerate(sorted(probabilities, reverse=True)):
            if probability * (kept + self.gold) <= expected:
                return kept
            expected += probability
        return len(probabilities)


def learn_expected_f1(
    scored: Iterable[tuple[NDArray[np.float32], NDArray[np.bool_]]],
    calibration: Calibration,
    *,
    minimum: int,
) -> ExpectedF1:
    """The rule with the best mean F1 of the documents, against the mined gold.

    Args:
        scored: (scores, positive) of each document; those without a positive do not count.
        calibration: from score to probability.
        minimum: keyphrases given when the rule says fewer.

    Raises:
        TrainingError: no document has a positive.
    """
    documents = [(scores, positive) for scores, positive in scored if positive.any()]
    refuse_without_gold(positive for _, positive in documents)
    curves = [f1_by_count(positive[np.argsort(-scores, kind="stable")]) for scores, positive in documents]
    probabilities = [calibration.probabilities(scores).tolist() for scores, _ in documents]

    def mean_f1(gold: float) -> float:
        counts = [max(ExpectedF1(gold).count(values), minimum) for values in probabilities]
        kept = [curve[min(count, len(curve)) - 1] for curve, count in zip(curves, counts, strict=True)]
        return float(np.mean(kept))

    return ExpectedF1(max(_GOLD_TRIED.tolist(), key=mean_f1))
