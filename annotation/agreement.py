"""Krippendorff's α (Content Analysis, 2004, chapter 11): one minus observed over expected disagreement.

A pair counts when two raters or more graded it. At the interval level α needs three sums of each pair only,
so memory grows with the ratings and not with the square of the values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

NO_SPREAD = 1e-12
"""A spread below this share of the squared values is rounding error, not a second value."""


@dataclass(frozen=True, slots=True, eq=False)
class Grades:
    """Ratings as three parallel arrays (R,): the pair, the rater and the grade of each."""

    pairs: Integers
    raters: Integers
    values: Floats

    def __len__(self) -> int:
        return len(self.values)

    @property
    def pair_count(self) -> int:
        """How many pairs there are, where they are numbered without gaps."""
        return int(self.pairs.max()) + 1 if len(self) else 0

    def only(self, chosen: Mask) -> Grades:
        """The ratings where `chosen` is true."""
        return Grades(self.pairs[chosen], self.raters[chosen], self.values[chosen])

    def others_means(self) -> Floats:
        """For each rating (R,), the mean of the other raters' grades of its pair; nan where none is."""
        counts = np.bincount(self.pairs)[self.pairs]
        totals = np.bincount(self.pairs, weights=self.values)[self.pairs]
        means = np.full(len(self), np.nan)
        np.divide(totals - self.values, counts - 1, out=means, where=counts > 1)
        return means

    def comparable(self) -> Grades:
        """The ratings of pairs that have two or more; pairs are renumbered without gaps."""
        if not len(self):
            return self
        counts = np.bincount(self.pairs)
        enough = counts >= 2
        numbers = np.cumsum(enough) - 1
        kept = enough[self.pairs]
        return Grades(numbers[self.pairs[kept]], self.raters[kept], self.values[kept])


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Of each comparable pair (N,): the number of ratings, their sum and the sum of their squares."""

    counts: Floats
    totals: Floats
    squares: Floats

    def __len__(self) -> int:
        return len(self.counts)


@dataclass(frozen=True, slots=True)
class Among:
    """A subset of the ratings, by the words for when they are too few or all the same."""

    none: str
    one: str
    ratings: str


ALL = Among("No pair has two ratings yet.", "Only one pair has two ratings; it takes two.", "ratings")
UNADJUDICATED = Among(
    "Every pair with two ratings is flagged or decided.",
    "Only one pair with two ratings is neither flagged nor decided; it takes two.",
    "ratings of pairs that are neither flagged nor decided",
)
OF_TWO_RATERS = Among(
    "No pair has ratings of both.",
    "Only one pair has ratings of both; it takes two.",
    "ratings of the pairs that both rated",
)
WITHOUT_A_RATER = Among(
    "Without this rater no pair has two ratings.",
    "Without this rater only one pair has two ratings; it takes two.",
    "ratings that remain without this rater",
)


def why_undefined(comparable: Grades, among: Among = ALL) -> str:
    """Why these ratings have no α, in words; empty when they have one."""
    pairs = comparable.pair_count
    if pairs < 2:
        return among.none if pairs == 0 else among.one
    low, high = comparable.values.min(), comparable.values.max()
    if low == high:
        return (
            f"All {len(comparable)} {among.ratings} are {low:g}: agreement cannot be told from one grade "
            "alone."
        )
    return ""


def sums_of_pairs(comparable: Grades) -> Sums:
    """The sufficient statistics of interval α. The lowest grade becomes 0: α stays, rounding shrinks."""
    values = comparable.values - comparable.values.min()
    pairs = comparable.pairs
    return Sums(
        np.bincount(pairs).astype(np.float64),
        _summed(pairs, values),
        _summed(pairs, values * values),
    )


def _summed(pairs: Integers, values: Floats) -> Floats:
    return np.asarray(np.bincount(pairs, weights=values), dtype=np.float64)


def alpha_of_sums(sums: Sums) -> float:
    """Interval α of pairs that use more than one grade."""
    # Summed from the lowest, or the order of pairs would show in the last digit.
    totals = np.sort(interval_parts(sums), axis=0).sum(axis=0)
    return float(alphas_of_parts(totals[None, :])[0])


def interval_parts(sums: Sums) -> Floats:
    """The additive terms of each pair (N, 4): count, sum, sum of squares, disagreement within the pair.

    Over the ordered pairs of c values with sum s and squares q, the squared differences add up to
    2(cq - s²); each value is compared with c - 1 others.
    """
    inside = 2 * (sums.counts * sums.squares - sums.totals**2) / (sums.counts - 1)
    return np.stack([sums.counts, sums.totals, sums.squares, inside], axis=1)


def alphas_of_parts(parts: Floats) -> Floats:
    """Interval α of each row of summed `interval_parts` (R, 4); nan where all grades are the same.

    D_o = inside / n and D_e = 2(nQ - S²) / (n(n - 1)).
    """
    n, total, squares, inside = parts.T
    spread = n * squares - total**2
    defined = spread > NO_SPREAD * n * squares
    ratio = np.full(len(parts), np.nan)
    np.divide(inside * (n - 1), 2 * spread, out=ratio, where=defined)
    return 1 - ratio


def alphas_of_categories(comparable: Grades) -> tuple[float, float]:
    """Nominal and ordinal α of pairs that use more than one grade.

    Both weight one coincidence matrix (V, V): how often two grades meet in a pair. `krippendorff`, with which
    tests compare, makes an array of pairs × V × V: 230 MB for 100,000 pairs and all 17 grades.
    """
    domain, places = np.unique(comparable.values, return_inverse=True)
    pairs = comparable.pair_count
    cells = comparable.pairs * len(domain) + places
    counts = np.bincount(cells, minlength=pairs * len(domain)).reshape(pairs, len(domain)).astype(np.float64)
    weighted = counts / (counts.sum(axis=1, keepdims=True) - 1)
    observed = counts.T @ weighted - np.diag(weighted.sum(axis=0))
    each = counts.sum(axis=0)
    expected = (np.outer(each, each) - np.diag(each)) / (each.sum() - 1)

    def alpha(distances: Floats) -> float:
        return float(1 - (observed * distances).sum() / (expected * distances).sum())

    return alpha(1 - np.eye(len(domain))), alpha(_ordinal_distances(each))


def _ordinal_distances(each: Floats) -> Floats:
    """Krippendorff's ordinal metric: ratings between two values, their own counted half, squared."""
    middles = np.cumsum(each) - each / 2
    return np.square(middles[:, None] - middles[None, :])
