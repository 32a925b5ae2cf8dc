"""The human upper bound: how well raters do when they are measured as systems are, by type.

Each rater's grades are correlated (Pearson, Spearman) with the mean of the other raters' on the same pairs,
and these correlations are averaged over raters, as the STS tasks report beside their systems (Agirre et al.
2012). Against the gold itself a rater would do too well, as their own grades are in it.

Intervals are percentiles of the bootstrap over pairs. As in `annotation.agreement`, pairs with the same
grades by the same raters are drawn as one class; classes are drawn in the order of their first pairs, which
whoever calls numbers by id. Neither the order of the ratings nor the numbers of the raters matter.

Of many pairs nearly each is a class of its own, and drawing them takes long. Where each rater has
`MANY_PAIRS` that others graded too, a correlation has the normal distribution whose variance follows from
the influence of each pair on it (the infinitesimal jackknife; Efron 1982, The Jackknife, the Bootstrap and
Other Resampling Plans, chapter 6), the limit that the bootstrap has there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist

import numpy as np

from annotation.agreement import (
    ALL,
    CONFIDENCE,
    MANY_PAIRS,
    Floats,
    Grades,
    Integers,
    batch_sizes,
    draw,
    run_starts,
)
from annotation.scoring import FEWEST_PAIRS, Estimate, correlations, estimate, single_value_text
from annotation.translation import Sentence, _, mark, ngettext

_CELLS_AT_ONCE = 2_000_000


@dataclass(frozen=True, slots=True)
class AgainstOthers:
    """How one rater correlates with the mean of the others on the same pairs."""

    rater: int
    pearson: Estimate
    spearman: Estimate
    pairs: int
    """That others graded too."""


@dataclass(frozen=True, slots=True)
class UpperBound:
    """The upper bound on the pairs of one comparison type."""

    type: str
    pearson: Estimate
    """The mean over the raters who have a correlation, each counting the same."""
    spearman: Estimate
    pairs: int
    """Pairs with two ratings or more."""
    raters: tuple[AgainstOthers, ...]
    """Of those who graded such a pair, by number."""

    @property
    def counted(self) -> int:
        """How many raters the means are of."""
        return sum(row.pearson.value is not None for row in self.raters)


def mean_of_text(raters: int) -> str:
    """How many raters a mean is over.

    >>> mean_of_text(3), mean_of_text(1), mean_of_text(0)
    ('mean of 3 raters', 'mean of 1 rater', 'mean of the raters')
    """
    if not raters:
        return _("mean of the raters")
    return ngettext("mean of {count} rater", "mean of {count} raters", raters, count=f"{raters:,}")


@dataclass(frozen=True, slots=True, eq=False)
class _Own:
    """One rater's classes of pairs (K,), sorted by point: the own grade and the others' mean."""

    rater: int
    classes: Integers
    starts: Integers
    """Where each point begins among them (V,)."""
    grades: Floats
    """The rater's grade at each point (V,)."""
    others: Floats
    """The mean of the others' grades there (V,)."""

    def sum_classes(self, counts: Floats) -> Floats:
        """The counts of points (V, R) that follow from counts of classes (C, R)."""
        from scipy.sparse import csr_array  # without it the counts of all classes would be copied

        ends, ones = np.r_[self.starts, len(self.classes)], np.ones(len(self.classes))
        points = csr_array((ones, self.classes, ends), shape=(len(self.starts), len(counts)))
        return np.asarray(points @ counts)

    def influences(self, pearson: float, spearman: float) -> Floats:
        """How far one more of each class moves both correlations (2, K), to first order."""
        sizes = np.diff(np.r_[self.starts, len(self.classes)])
        shares = sizes / sizes.sum()
        grades, others = _standardised(self.grades, shares), _standardised(self.others, shares)
        moves = np.stack(
            [
                _moves_of_correlation(grades, others, pearson),
                _moves_of_ranks(self.grades, self.others, shares, spearman),
            ]
        )
        return np.asarray(np.repeat(moves, sizes, axis=1) / sizes.sum())


def _standardised(values: Floats, shares: Floats) -> Floats:
    centred = values - shares @ values
    return np.asarray(centred / np.sqrt(shares @ centred**2))


def _moves_of_correlation(first: Floats, second: Floats, correlation: float) -> Floats:
    return np.asarray(first * second - correlation / 2 * (first**2 + second**2))


def _moves_of_ranks(first: Floats, second: Floats, shares: Floats, correlation: float) -> Floats:
    """The influence (V,) of points on the correlation of the ranks, which the points move too."""
    ranks = [_midranks(values, shares) for values in (first, second)]
    spreads = [np.sqrt(shares @ (rank - 0.5) ** 2) for rank in ranks]
    one, other = ((rank - 0.5) / spread for rank, spread in zip(ranks, spreads, strict=True))
    moves = _moves_of_correlation(one, other, correlation)
    for values, own, beside, spread in ((first, one, other, spreads[0]), (second, other, one, spreads[1])):
        slopes = shares * (beside - correlation * own)
        # A point lifts all above it by a whole rank, and its equals by half of one.
        moves = moves - _midranks(values, slopes) / spread
    return moves


def _midranks(values: Floats, weights: Floats) -> Floats:
    """Of each value (V,), the weights (V,) of the smaller ones and half of those of its equals."""
    _, place = np.unique(values, return_inverse=True)
    sums = np.bincount(place, weights=weights)
    return np.asarray((np.cumsum(sums) - sums / 2)[place])


def upper_bound(type: str, grades: Grades, *, resamples: int, seed: int) -> UpperBound:
    """The upper bound from these ratings, all of one type, or the reason why it is undefined.

    Args:
        type: the comparison type.
        grades: with pairs numbered in the order of their ids, for the same draws whatever their order is.
        resamples: how many bootstrap samples to draw.
        seed: of the random numbers.
    """
    comparable = grades.comparable()
    is_large = _has_many_pairs(comparable)
    classes, sizes = _single_classes(comparable) if is_large else _classes(comparable)
    own = list(_own_classes(classes))
    reasons = {one.rater: _why_undefined(one, sizes) for one in own}
    usable = [one for one in own if not reasons[one.rater]]
    whole = _correlations(usable, sizes[:, None].astype(np.float64))
    if is_large and len(usable) == len(own) and not np.isnan(whole).any():
        of_each, (pearson, spearman) = _normal_estimates(usable, whole, len(sizes), resamples)
        found = {one.rater: both for one, both in zip(usable, of_each, strict=True)}
    else:
        draws = _draws(sizes, resamples if usable else 0, seed)
        none = np.empty((2, len(usable), 0))
        drawn = np.concatenate([none, *(_correlations(usable, counts) for counts in draws)], axis=2)
        found = {one.rater: _both(whole[:, place], drawn[:, place]) for place, one in enumerate(usable)}
        if found:
            pearson, spearman = _both(_means(whole), _means(drawn))
    rows = tuple(
        AgainstOthers(
            one.rater,
            *(found.get(one.rater) or _no_estimates(reasons[one.rater])),
            pairs=int(sizes[one.classes].sum()),
        )
        for one in own
    )
    if not found:
        told = max(((row.pairs, reasons[row.rater]) for row in rows), default=(0, ""))[1]
        told = Sentence(mark("No rater has a correlation. {reason}"), reason=told) if own else ALL.none
        pearson, spearman = _no_estimates(told)
    return UpperBound(type, pearson, spearman, int(sizes.sum()), rows)


def _both(whole: Floats, drawn: Floats) -> tuple[Estimate, Estimate]:
    """Both estimates, from the correlations on all pairs (2, 1) and on resamples (2, R)."""
    return estimate(float(whole[0, 0]), drawn[0]), estimate(float(whole[1, 0]), drawn[1])


def _no_estimates(reason: str) -> tuple[Estimate, Estimate]:
    return Estimate(None, reason=reason), Estimate(None, reason=reason)


def _classes(comparable: Grades) -> tuple[Grades, Integers]:
    """The ratings of one pair of each class, in the order of first pairs, and the sizes of the classes."""
    by_rater = np.lexsort((comparable.raters, comparable.pairs))
    ratings = np.stack([comparable.raters[by_rater], comparable.values[by_rater] + 0.0], axis=1)  # no -0
    starts = np.flatnonzero(np.diff(comparable.pairs[by_rater], prepend=-1))
    number_of_class: dict[bytes, int] = {}
    numbers = np.array(
        [
            number_of_class.setdefault(ratings[start:end].tobytes(), len(number_of_class))
            for start, end in pairwise([*starts, len(ratings)])
        ],
        np.int64,
    )
    _, first, sizes = np.unique(numbers, return_index=True, return_counts=True)
    one_of_each = comparable.only(np.isin(comparable.pairs, first))
    pairs = numbers[one_of_each.pairs]
    order = np.lexsort((one_of_each.values, pairs))  # grades add up from the lowest, whoever gave them
    return Grades(pairs[order], one_of_each.raters[order], one_of_each.values[order]), sizes


def _has_many_pairs(comparable: Grades) -> bool:
    """Whether each rater has so many that the correlations of resamples are as good as normal."""
    counts = np.bincount(comparable.raters)
    return bool(counts.any() and counts[counts > 0].min() >= MANY_PAIRS)


def _single_classes(comparable: Grades) -> tuple[Grades, Integers]:
    """As `_classes`, with each pair as a class of its own."""
    order = np.lexsort((comparable.values, comparable.pairs))
    ratings = Grades(comparable.pairs[order], comparable.raters[order], comparable.values[order])
    return ratings, np.ones(comparable.pair_count, np.int64)


def _normal_estimates(
    usable: Sequence[_Own], whole: Floats, pairs: int, resamples: int
) -> tuple[list[tuple[Estimate, Estimate]], tuple[Estimate, Estimate]]:
    """The correlations of each rater and their means, from those on all pairs (2, U, 1)."""
    influences = [one.influences(*whole[:, place, 0]) for place, one in enumerate(usable)]
    together = np.zeros((2, pairs))
    for one, both in zip(usable, influences, strict=True):
        together[:, one.classes] += both / len(usable)

    def estimates(values: Floats, moves: Floats) -> tuple[Estimate, Estimate]:
        if not resamples:
            return _both(values, np.empty((2, 0)))
        reach = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * np.sqrt((moves**2).sum(axis=1))
        pearson, spearman = (
            Estimate(float(value), max(-1.0, float(value - half)), min(1.0, float(value + half)))
            for value, half in zip(values[:, 0], reach, strict=True)
        )
        return pearson, spearman

    each = [estimates(whole[:, place], both) for place, both in enumerate(influences)]
    return each, estimates(_means(whole), together)


def _own_classes(classes: Grades) -> Iterator[_Own]:
    others = classes.others_means()
    for rater in np.unique(classes.raters):
        own = np.flatnonzero(classes.raters == rater)
        order = own[np.lexsort((classes.pairs[own], others[own], classes.values[own]))]
        points = np.stack([classes.values[order], others[order]])
        starts = run_starts(points)
        yield _Own(int(rater), classes.pairs[order], starts, *points[:, starts])


def _why_undefined(own: _Own, sizes: Integers) -> str:
    """Why a rater has no correlation, in words; empty where they have one."""
    pairs = int(sizes[own.classes].sum())
    if pairs < FEWEST_PAIRS:
        one = mark("1 pair that others graded too: a correlation takes {fewest} or more.")
        more = mark("{count} pairs that others graded too: a correlation takes {fewest} or more.")
        return Sentence(one if pairs == 1 else more, count=pairs, fewest=FEWEST_PAIRS)
    named: dict[str, Floats] = {
        Sentence(mark("grades")): own.grades,
        Sentence(mark("means of the others")): own.others,
    }
    return single_value_text(pairs, named)


def _draws(sizes: Integers, resamples: int, seed: int) -> Iterator[Floats]:
    """The class counts (C, R) of bootstrap samples, in batches."""
    rng = np.random.default_rng(seed)
    for size in batch_sizes(resamples, len(sizes), _CELLS_AT_ONCE):
        yield np.ascontiguousarray(draw(sizes, size, rng).T)


def _correlations(usable: Sequence[_Own], counts: Floats) -> Floats:
    """Both correlations (2, U, R) of each rater, with the classes weighted by their counts (C, R)."""
    table = np.empty((2, len(usable), counts.shape[1]))
    for place, one in enumerate(usable):
        found = correlations(one.others, one.grades[None, :], one.sum_classes(counts))
        table[0, place], table[1, place] = found.pearson[0], found.spearman[0]
    return table


def _means(table: Floats) -> Floats:
    """The means (2, R) over the raters (2, U, R) whose correlation is defined; nan where none is."""
    defined = ~np.isnan(table)
    counted = defined.sum(axis=1)
    # Summed from the lowest, or the order of raters would show in the last digit.
    total = np.sort(np.where(defined, table, 0.0), axis=1).sum(axis=1)
    means = np.full(total.shape, np.nan)
    np.divide(total, counted, out=means, where=counted > 0)
    return means
