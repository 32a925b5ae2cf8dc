"""Rater drift: how far each rater grades above or below the others, window by window.

The distance of a rating is its grade minus its reference: the adjudicated grade where there is one, else the
mean of the other raters. A rater's distances are split, in the order of time, into windows of equal size,
each with its mean and a 95 % interval from Student's t (mean ± t·s/√n). A project has many windows: by chance
one interval in twenty misses the true mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt

import numpy as np

from annotation.agreement import Floats, Grades
from annotation.reliability.bootstrap import CONFIDENCE

FEWEST_IN_WINDOW = 10
"""Ratings; the interval of fewer would say nothing."""
MOST_WINDOWS = 10
ENOUGH_DRIFT = 0.25
"""In points; a smaller move is less than one step of the scale."""
_ROUNDING = 1e-9


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
        return is_apart and abs(self.change) > ENOUGH_DRIFT - _ROUNDING


def drifts(grades: Grades, moments: Floats, decisions: Floats, raters: int) -> list[Drift]:
    """The drift of raters 0 to `raters` - 1.

    Args:
        grades: all ratings, (R,).
        moments: when each was given first, in seconds since 1970, (R,); nan where unknown.
        decisions: the adjudicated grade of each pair, (P,); nan where there is none.
        raters: how many raters there are.
    """
    distances = _distances(grades, decisions)
    usable = ~np.isnan(distances) & ~np.isnan(moments)
    found = []
    for rater in range(raters):
        own = np.flatnonzero(usable & (grades.raters == rater))
        order = own[np.argsort(moments[own], kind="stable")]
        found.append(Drift(rater, _windows(moments[order], distances[order])))
    return found


def _distances(grades: Grades, decisions: Floats) -> Floats:
    """How far each grade is above its reference; nan where there is none."""
    decided = decisions[grades.pairs]
    return grades.values - np.where(np.isnan(decided), grades.others_means(), decided)


def _windows(moments: Floats, distances: Floats) -> tuple[Window, ...]:
    count = min(MOST_WINDOWS, len(distances) // FEWEST_IN_WINDOW)
    if not count:
        return ()
    cuts = np.linspace(0, len(distances), count + 1).round().astype(int)
    return tuple(_window(moments[start:end], distances[start:end]) for start, end in pairwise(cuts))


def _window(moments: Floats, distances: Floats) -> Window:
    mean, half = mean_interval(distances)
    return Window(float(moments[0]), float(moments[-1]), len(distances), mean, mean - half, mean + half)


def mean_interval(values: Sequence[float] | Floats) -> tuple[float, float]:
    """The mean of two values or more, and half the width of its 95 % interval."""
    from scipy.special import stdtrit

    count = len(values)
    reach = float(stdtrit(count - 1, (1 + CONFIDENCE) / 2))
    return float(np.mean(values)), reach * float(np.std(values, ddof=1)) / sqrt(count)
