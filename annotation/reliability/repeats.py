"""Agreement of raters with themselves, on pairs that came back to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from annotation.agreement import Alpha, Among, Grades, measure
from annotation.translation import Sentence, mark

AGAIN = Among(
    Sentence(mark("No pair was graded twice by the same rater yet.")),
    Sentence(mark("Only one pair was graded twice by the same rater; it takes two.")),
    Sentence(mark("grades of the pairs that were graded twice")),
)


@dataclass(frozen=True, slots=True)
class TwoGrades:
    """A pair that one rater graded twice; grades in points of the scale."""

    rater: int
    type: str
    external_id: str
    first: float
    second: float
    at: datetime
    """When the second grade was given or last changed."""
    seconds: float | None = None
    """How long the pair was looked at the second time."""


@dataclass(frozen=True, slots=True)
class SelfAgreement:
    """How well one rater agrees with themselves, or all of them do."""

    rater: int | None
    """Its number in the report; None for all raters together."""
    pairs: int
    difference: float | None
    """Mean absolute difference of the two grades, in points; None without pairs."""
    identical: float | None
    """Share of the pairs that have the same grade twice."""
    alpha: Alpha
    """Between first and second pass, interval level."""


def self_agreement(
    twice: Sequence[TwoGrades], rater: int | None, *, resamples: int, seed: int
) -> SelfAgreement:
    """The figures of these pairs; a pair of two raters counts twice, each time as a pair of its own."""
    count = len(twice)
    grades = Grades(
        np.repeat(np.arange(count, dtype=np.int64), 2),
        np.tile(np.array([0, 1], np.int64), count),
        np.array([grade for each in twice for grade in (each.first, each.second)], np.float64),
    )
    alpha = measure(grades, resamples=resamples, seed=seed, among=AGAIN)
    apart = [abs(each.first - each.second) for each in twice]
    return SelfAgreement(
        rater,
        count,
        sum(apart) / count if count else None,
        sum(distance == 0 for distance in apart) / count if count else None,
        alpha,
    )


def self_agreement_json(found: SelfAgreement) -> dict[str, Any]:
    alpha = found.alpha
    return {
        "pairs": found.pairs,
        "mean_absolute_difference": found.difference,
        "identical": found.identical,
        "alpha": {
            "value": alpha.value,
            "low": alpha.low,
            "high": alpha.high,
            "reason": alpha.reason or alpha.interval_reason or None,
        },
    }
