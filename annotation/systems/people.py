"""How well people do on a gold set, to be set beside the systems: of gold sets that have single ratings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from annotation.agreement import Grades
from annotation.comparison import types_in_order
from annotation.files.gold_pairs import GoldPair
from annotation.gold import label_key
from annotation.reliability.upper_bound import UpperBound, upper_bound


@dataclass(frozen=True, slots=True)
class People:
    """What the raters of a gold set reach by type, each against the mean of the others."""

    bounds: tuple[UpperBound, ...]
    """Of the types that have a pair with two ratings or more."""
    raters: tuple[str, ...]
    """Their labels; the bounds have their places here as numbers."""
    undecided: int = 0
    """Flagged pairs without a decision, which the gold set lacks: people differ most on them."""


def people_of(gold: Sequence[GoldPair], undecided: int = 0, *, resamples: int, seed: int) -> People:
    """The upper bound of each type, from the single ratings of its pairs.

    Args:
        gold: in any order, which changes nothing.
        undecided: flagged pairs without a decision that `gold` lacks.
        resamples: how often the bootstrap draws.
        seed: what the draws start from.
    """
    raters = sorted({rater for pair in gold for rater, _ in pair.ratings}, key=label_key)
    number_of = {rater: number for number, rater in enumerate(raters)}
    bounds = []
    for type in types_in_order(pair.type for pair in gold):
        pairs = sorted((pair for pair in gold if pair.type == type), key=lambda pair: pair.key)
        rows = [
            (place, number_of[rater], float(grade))
            for place, pair in enumerate(pairs)
            for rater, grade in pair.ratings
        ]
        found = upper_bound(type, _grades(rows), resamples=resamples, seed=seed)
        bounds += [found] if found.raters else []
    return People(tuple(bounds), tuple(raters), undecided)


def _grades(rows: Sequence[tuple[int, int, float]]) -> Grades:
    """Of pair, rater and grade of each rating."""
    pairs, raters, values = zip(*rows, strict=True) if rows else ((), (), ())
    return Grades(
        np.array(pairs, dtype=np.int64), np.array(raters, dtype=np.int64), np.array(values, dtype=np.float64)
    )
