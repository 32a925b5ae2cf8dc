"""How far figures would move with other documents: standard errors over documents."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev

from kpdemo.evaluation.metrics import KindScores


def standard_errors(scores: Sequence[KindScores]) -> dict[str, float | None]:
    """Of F1@5, F1@M and R@50 as `macro_average` gives them under `skip_empty`; None for fewer than two."""
    with_gold = [score for score in scores if score.has_gold]
    return {
        "F1@5": f1_standard_error([s.precision_5 for s in with_gold], [s.recall_5 for s in with_gold]),
        "F1@M": f1_standard_error([s.precision_m for s in with_gold], [s.recall_m for s in with_gold]),
        "R@50": standard_error([score.recall_50 for score in with_gold]),
    }


def standard_error(values: Sequence[float]) -> float | None:
    """Of the mean of the documents' values."""
    return stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None


def f1_standard_error(precisions: Sequence[float], recalls: Sequence[float]) -> float | None:
    """Of 2PR / (P + R), where P and R are the means over documents.

    By the delta method: of the mean of what each document adds to F1 when F1 is taken as linear in P and R
    near their means, so that the two may go together.
    """
    if len(precisions) < 2:
        return None
    precision, recall = fmean(precisions), fmean(recalls)
    if precision + recall == 0:
        return 0.0
    by_precision = 2 * (recall / (precision + recall)) ** 2
    by_recall = 2 * (precision / (precision + recall)) ** 2
    return standard_error(
        [by_precision * p + by_recall * r for p, r in zip(precisions, recalls, strict=True)]
    )
