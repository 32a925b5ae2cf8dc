"""How far figures would move with other documents: standard errors and intervals over documents."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev

from kpdemo.evaluation.metrics import CUTS, KindScores

CONFIDENCE = 0.95
ROUNDING = 1e-12
"""A spread below it is rounding error."""


def standard_errors(scores: Sequence[KindScores]) -> dict[str, float | None]:
    """Of F1@5, F1@M and R@50 as `macro_average` gives them under `skip_empty`; None for fewer than two."""
    with_gold = [score for score in scores if score.has_gold]
    of_f1 = {
        f"F1@{cut}": standard_error(f1_contributions([score.at[cut] for score in with_gold])) for cut in CUTS
    }
    return of_f1 | {"R@50": standard_error([score.recall_50 for score in with_gold])}


def margin(values: Sequence[float]) -> float | None:
    """Half the width of the 95 % interval of the mean of the documents' values, by Student's t.

    With few documents it is more accurate than the percentile bootstrap, whose intervals are then too narrow
    (Hesterberg 2015, "What Teachers Should Know about the Bootstrap"), and it takes no seed. Given what
    `f1_contributions` gives, it is of F1.

    None for fewer than two documents, and where all have the same value, which does not mean certainty.
    """
    from scipy.special import stdtrit

    error = standard_error(values)
    if error is None or error < ROUNDING:
        return None
    return float(stdtrit(len(values) - 1, (1 + CONFIDENCE) / 2)) * error


def standard_error(values: Sequence[float]) -> float | None:
    """Of the mean of the documents' values."""
    return stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None


def f1_contributions(pairs: Sequence[tuple[float, float]]) -> list[float]:
    """What each document adds to 2PR / (P + R), which is their mean; P and R are the means over documents.

    By the delta method: F1 is taken as linear in P and R near their means, so that the two may go together.

    Args:
        pairs: precision and recall of each document.
    """
    if not pairs:
        return []
    precision, recall = map(fmean, zip(*pairs, strict=True))
    if precision + recall == 0:
        return [0.0] * len(pairs)
    by_precision = 2 * (recall / (precision + recall)) ** 2
    by_recall = 2 * (precision / (precision + recall)) ** 2
    return [by_precision * p + by_recall * r for p, r in pairs]
