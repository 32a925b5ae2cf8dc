"""How many candidates to give, and what a score means: threshold, calibration, expected F1. No PyTorch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kpdemo.errors import TrainingError
from kpdemo.extras import needs_extra


@dataclass(frozen=True, slots=True)
class Calibration:
    """A logistic curve from raw score to the share of such candidates that are gold (Platt 1999)."""

    slope: float = 1.0
    intercept: float = 0.0

    def probability(self, score: float) -> float:
        return float(self.probabilities(np.array([score]))[0])

    def probabilities(self, scores: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
        """Of many, in any shape."""
        logits = self.slope * scores.astype(np.float64) + self.intercept
        shares: NDArray[np.float64] = 1 / (1 + np.exp(-np.clip(logits, -50.0, 50.0)))
        return shares


def best_cutoff(scores: NDArray[np.float32], positive: NDArray[np.bool_]) -> float:
    """The score of the last candidate kept where F1 against the mined gold is highest, the first of equals.

    Args:
        scores, positive: (P,), at least one of them positive.
    """
    order = np.argsort(-scores, kind="stable")
    return float(scores[order[np.argmax(f1_by_count(positive[order]))]])


def f1_by_count(ranked: NDArray[np.bool_]) -> NDArray[np.float64]:
    """(P,) the F1 of the best one, the best two, and so on.

    Args:
        ranked: (P,) whether each candidate is gold, best first; at least one of them is.
    """
    hits = np.cumsum(ranked)
    f1: NDArray[np.float64] = 2 * hits / (np.arange(1, len(hits) + 1) + ranked.sum())
    return f1


def learn_threshold(scored: Iterable[tuple[NDArray[np.float32], NDArray[np.bool_]]]) -> float:
    """The mean of the documents' F1-maximising thresholds (SimCKP, section 5.3).

    Args:
        scored: (scores, positive) of each document; those without a positive do not count.

    Raises:
        TrainingError: no document has a positive.
    """
    documents = [(scores, positive) for scores, positive in scored if positive.any()]
    refuse_without_gold(positive for _, positive in documents)
    return float(np.mean([best_cutoff(scores, positive) for scores, positive in documents]))


def refuse_without_gold(positives: Iterable[NDArray[np.bool_]]) -> None:
    """Args:
    positives: of the candidates of each validation document, which of them are gold.

    Raises:
        TrainingError: no document has one.
    """
    if not any(positive.any() for positive in positives):
        raise TrainingError(
            "No validation document has a gold keyphrase among its candidates: give other ones."
        )


def learn_calibration(scores: NDArray[np.float32], positive: NDArray[np.bool_]) -> Calibration:
    """Fit the curve on the candidates of many documents: (N,) each, at least one of them positive.

    Raises:
        TrainingError: all of them are.
    """
    if positive.all():
        raise TrainingError("Every candidate of the validation documents is gold: give more documents.")
    with needs_extra("sklearn", "Calibration"):
        from sklearn.linear_model import LogisticRegression

    fitted = LogisticRegression(C=np.inf).fit(scores[:, None], positive)
    return Calibration(float(fitted.coef_[0, 0]), float(fitted.intercept_[0]))


def own_count(scores: Sequence[float], threshold: float, minimum: int) -> int:
    """How many the paper's rule gives: all above the threshold, at least `minimum` (SimCKP, section 5.3)."""
    return max(sum(score > threshold for score in scores), minimum)


Counting = Literal["threshold", "expected F1"]
"""The paper's rule (`kpdemo.simckp.calibration.own_count`), or `ExpectedF1`."""

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
