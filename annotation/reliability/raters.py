"""Who differs: the figures of each rater, α of every two raters, and α without each rater."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from annotation.agreement import ALL, OF_TWO_RATERS, WITHOUT_A_RATER, Floats, Grades, Integers
from annotation.reliability.bootstrap import Alpha, measure, run_starts

MEASURED_RATER_PAIRS = 200
"""At most, those with the most pairs in common: nobody reads more."""
BUCKET_EDGES = (0.0, 1.0, 2.0, 3.0, 4.0)
"""Where a bucket of grades begins: each point of the scale with the steps above it."""


@dataclass(frozen=True, slots=True)
class RaterFigures:
    """One rater's figures; None where there are too few grades to tell."""

    rater: int
    ratings: int
    mean: float | None
    spread: float | None
    """Standard deviation; it takes two grades."""
    median_seconds: float | None
    """Of the ratings that were timed; imported ones are not."""
    bias: float | None
    """How much higher than the others' mean, on average over the pairs that others rated too."""
    shared: int
    """How many pairs these are."""
    timed: int
    """How many ratings `median_seconds` is of."""


@dataclass(frozen=True, slots=True)
class TwoRaters:
    first: int
    second: int
    alpha: Alpha


@dataclass(frozen=True, slots=True)
class LeftOut:
    """α of everybody's ratings but one rater's."""

    rater: int
    alpha: Alpha


def rater_figures(grades: Grades, seconds: Floats, raters: int) -> list[RaterFigures]:
    """The figures of raters 0 to `raters` - 1.

    Args:
        grades: all ratings.
        seconds: how long each took; nan where unknown.
        raters: how many raters there are.
    """
    bias, shared = _bias(grades, raters)
    figures = []
    for rater in range(raters):
        own = grades.raters == rater
        values, timed = grades.values[own], seconds[own]
        timed = timed[~np.isnan(timed)]
        figures.append(
            RaterFigures(
                rater,
                len(values),
                float(values.mean()) if len(values) else None,
                float(values.std(ddof=1)) if len(values) > 1 else None,
                float(np.median(timed)) if len(timed) else None,
                float(bias[rater]) if shared[rater] else None,
                int(shared[rater]),
                len(timed),
            )
        )
    return figures


def _bias(grades: Grades, raters: int) -> tuple[Floats, Integers]:
    """Each rater's mean distance from the others' mean on the same pairs, and on how many pairs."""
    common = grades.comparable()
    above = common.values - common.others_means()
    shared = np.bincount(common.raters, minlength=raters)
    summed = np.bincount(common.raters, weights=above, minlength=raters)
    return np.divide(summed, shared, out=np.zeros(raters), where=shared > 0), shared


def alphas_of_rater_pairs(grades: Grades, *, resamples: int, seed: int) -> list[TwoRaters]:
    """α of each pair of raters on the pairs that both graded, the lowest first, undefined ones last."""
    meetings = sorted(_meetings(grades), key=lambda found: (-len(found[2]), found[:2]))
    measured = [
        TwoRaters(first, second, measure(both, resamples=resamples, seed=seed, among=OF_TWO_RATERS))
        for first, second, both in meetings[:MEASURED_RATER_PAIRS]
    ]
    return sorted(
        measured,
        key=lambda pair: (
            pair.alpha.value is None,
            pair.alpha.value or 0.0,
            pair.first,
            pair.second,
        ),
    )


def _meetings(grades: Grades) -> Iterator[tuple[int, int, Grades]]:
    """Each pair of raters who graded a common pair, and their grades of the common pairs."""
    order = np.lexsort((grades.raters, grades.pairs))
    pairs, raters, values = grades.pairs[order], grades.raters[order], grades.values[order]
    left, right = _places_of_two(pairs)
    if not len(left):
        return
    names = np.stack([raters[left], raters[right]], axis=1)
    by_names = np.lexsort((names[:, 1], names[:, 0]))
    left, right, names = left[by_names], right[by_names], names[by_names]
    for start, end in pairwise([*run_starts(names.T), len(names)]):
        here = np.r_[left[start:end], right[start:end]]
        numbers = np.tile(np.arange(end - start), 2)
        first, second = (int(name) for name in names[start])
        yield first, second, Grades(numbers, raters[here], values[here])


def _places_of_two(pairs: Integers) -> tuple[Integers, Integers]:
    """Every two places of the sorted array `pairs` that hold the same pair."""
    lefts, rights = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for step in range(1, len(pairs)):
        left = np.flatnonzero(pairs[step:] == pairs[:-step])
        if not len(left):
            break
        lefts.append(left)
        rights.append(left + step)
    return np.concatenate(lefts), np.concatenate(rights)


def alphas_without_each(grades: Grades, raters: int, *, resamples: int, seed: int) -> list[LeftOut]:
    """Leave-one-out α, the highest first: the rater on top lowers agreement most."""
    among = WITHOUT_A_RATER if len(grades.comparable()) else ALL

    def without(rater: int) -> Alpha:
        others = grades.only(grades.raters != rater)
        return measure(others, resamples=resamples, seed=seed, among=among)

    measured = [LeftOut(rater, without(rater)) for rater in range(raters)]
    return sorted(
        measured, key=lambda left: (left.alpha.value is None, -(left.alpha.value or 0.0), left.rater)
    )


def bucket_counts(values: Floats) -> tuple[int, ...]:
    """How many grades are in each bucket."""
    places = np.searchsorted(BUCKET_EDGES, values, side="right") - 1
    return tuple(int(count) for count in np.bincount(places, minlength=len(BUCKET_EDGES)))
