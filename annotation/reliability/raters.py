"""Who differs: the figures of each rater, of every two, α without each; drift, and whom to look at first.

Whom to look at first is said in plain sentences: one grade for everything, far faster, far from the others.
Each is a reason to look, never a verdict. Raters with fewer than `FEWEST_GRADES` grades are left alone.

Drift is how far a rater grades above or below the others, window by window. The distance of a rating is its
grade minus its reference: the adjudicated grade where there is one, else the mean of the other raters. A
rater's distances are split, in the order of time, into windows of equal size, each with its mean and a 95 %
interval from Student's t (mean ± t·s/√n). A project has many windows: by chance one interval in twenty misses
the true mean.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from math import sqrt

import numpy as np

from annotation.agreement import (
    ALL,
    CONFIDENCE,
    OF_TWO_RATERS,
    WITHOUT_A_RATER,
    Alpha,
    Floats,
    Grades,
    Integers,
    measure,
    places_of_two,
    run_starts,
)
from annotation.scale import CLSS, Scale
from annotation.translation import _
from annotation.wording import name_order

_ROUNDING = 1e-9
MEASURED_RATER_PAIRS = 200
"""At most, those with the most pairs in common: nobody reads more."""


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
    left, right = places_of_two(pairs)
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


def bucket_counts(values: Floats, scale: Scale = CLSS) -> tuple[int, ...]:
    """How many grades are in each bucket: a point of the scale with the steps above it."""
    edges = np.array(scale.points, np.float64) - _ROUNDING
    places = np.searchsorted(edges, values, side="right") - 1
    return tuple(int(count) for count in np.bincount(places, minlength=len(edges)))


def bucket_names(scale: Scale = CLSS) -> tuple[str, ...]:
    """What the buckets are called.

    >>> bucket_names()
    ('0 to 0.75', '1 to 1.75', '2 to 2.75', '3 to 3.75', '4')
    """
    ends = [point - scale.step for point in scale.points[1:]]
    names = (
        str(low) if end == low else f"{low} to {end}" for low, end in zip(scale.points, ends, strict=False)
    )
    return (*names, str(scale.highest))


FEWEST_GRADES = 10
"""Grades that a rater needs before anything is said of them; timed or shared ones where these count."""
FASTER = 3
"""This many times as fast as the others: their median against the median of the others' medians."""
FARTHER = Decimal("0.25")
"""This share of the scale's range above or below the others' mean, on average: a point of CLSS."""


def far_points(scale: Scale = CLSS) -> float:
    """`FARTHER` in points of a scale.

    >>> far_points(), far_points(Scale(Decimal(1), 0, 100))
    (1.0, 25.0)
    """
    return float(scale.share(FARTHER))


def conspicuous_raters(
    raters: Sequence[RaterFigures], names: Sequence[str], far: float = far_points()
) -> list[tuple[int, str]]:
    """A rater's number and a sentence for each thing that stands out, in the order of names.

    Speed and distance take three raters: of two who differ, nobody can tell which one is off.

    Args:
        far: who grades so many points above or below the others stands out.
    """
    ordered = sorted(raters, key=lambda row: name_order(names[row.rater]))
    return [(row.rater, said) for row in ordered for said in _remarks(row, raters, names[row.rater], far)]


def _remarks(row: RaterFigures, raters: Sequence[RaterFigures], name: str, far: float) -> Iterator[str]:
    if row.ratings >= FEWEST_GRADES and row.spread == 0:
        yield _(
            "{name} gave the same grade, {grade}, to all {count} pairs.",
            name=name,
            grade=f"{row.mean:g}",
            count=f"{row.ratings:,}",
        )
    own = _comparable_seconds(row)
    all_others = [_comparable_seconds(other) for other in raters if other is not row]
    others = [seconds for seconds in all_others if seconds is not None]
    if own is not None and len(others) >= 2:
        usual = statistics.median(others)
        if own * FASTER <= usual:
            yield _(
                "{name} takes {seconds} s for a pair (median), the others {usual} s.",
                name=name,
                seconds=f"{own:.1f}",
                usual=f"{usual:.1f}",
            )
    compared = sum(other.shared >= FEWEST_GRADES for other in raters)
    if row.shared >= FEWEST_GRADES and compared > 2 and row.bias is not None and abs(row.bias) >= far:
        points = f"{abs(row.bias):.2f}"
        higher = _("{name} grades {points} above the others on average.", name=name, points=points)
        lower = _("{name} grades {points} below the others on average.", name=name, points=points)
        yield higher if row.bias > 0 else lower


def _comparable_seconds(row: RaterFigures) -> float | None:
    return row.median_seconds if row.timed >= FEWEST_GRADES else None


FEWEST_IN_WINDOW = 10
"""Ratings; the interval of fewer would say nothing."""
MOST_WINDOWS = 10


@dataclass(frozen=True, slots=True)
class Window:
    """Ratings of one rater that follow each other."""

    start: float
    """When the first rating was given, and the last, in seconds since 1970."""
    end: float
    ratings: int
    mean: float
    """Of the distances: above 0 where the rater grades higher than the others."""
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Drift:
    rater: int
    windows: tuple[Window, ...]
    """In the order of time; none with too few ratings that can be compared."""
    step: float = float(CLSS.step)
    """Of the scale, in points: a smaller move is none."""

    @property
    def change(self) -> float | None:
        """The mean of the last window minus that of the first; None with fewer than two windows."""
        return self.windows[-1].mean - self.windows[0].mean if len(self.windows) > 1 else None

    @property
    def is_clear(self) -> bool:
        """Whether first and last window are a step of the scale apart and their intervals do not meet."""
        if self.change is None:
            return False
        first, last = self.windows[0], self.windows[-1]
        is_apart = first.high < last.low or last.high < first.low
        return is_apart and abs(self.change) > self.step - _ROUNDING


def drifts(
    grades: Grades, moments: Floats, decisions: Floats, raters: int, step: float = float(CLSS.step)
) -> list[Drift]:
    """The drift of raters 0 to `raters` - 1.

    Args:
        grades: all ratings, (R,).
        moments: when each was given first, in seconds since 1970, (R,); nan where unknown.
        decisions: the adjudicated grade of each pair, (P,); nan where there is none.
        raters: how many raters there are.
        step: of the scale.
    """
    decided = decisions[grades.pairs]
    distances = grades.values - np.where(np.isnan(decided), grades.others_means(), decided)
    usable = ~np.isnan(distances) & ~np.isnan(moments)
    found = []
    for rater in range(raters):
        own = np.flatnonzero(usable & (grades.raters == rater))
        order = own[np.argsort(moments[own], kind="stable")]
        found.append(Drift(rater, _windows(moments[order], distances[order]), step))
    return found


def _windows(moments: Floats, distances: Floats) -> tuple[Window, ...]:
    count = min(MOST_WINDOWS, len(distances) // FEWEST_IN_WINDOW)
    if not count:
        return ()
    cuts = np.linspace(0, len(distances), count + 1).round().astype(int)
    windows = []
    for start, end in pairwise(cuts):
        mean, half = mean_interval(distances[start:end])
        since, until = float(moments[start]), float(moments[end - 1])
        windows.append(Window(since, until, int(end - start), mean, mean - half, mean + half))
    return tuple(windows)


def mean_interval(values: Sequence[float] | Floats) -> tuple[float, float]:
    """The mean of two values or more, and half the width of its 95 % interval."""
    from scipy.special import stdtrit

    count = len(values)
    reach = float(stdtrit(count - 1, (1 + CONFIDENCE) / 2))
    return float(np.mean(values)), reach * float(np.std(values, ddof=1)) / sqrt(count)
