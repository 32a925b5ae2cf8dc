"""The human upper bound: how well raters do when they are measured as systems are, by type.

A canonical order of classes of pairs: it depends on grades, not on how raters and pairs are numbered.
By colour refinement (Weisfeiler and Leman 1968): raters and classes are rehashed by each other until no more
raters can be told apart, then one of those still tied is singled out, and so on. Only contrived designs, such
as rings of equal grades, tie raters who are not interchangeable: there other numbers may change the draws.

Each rater's grades are correlated (Pearson, Spearman) with the mean of the other raters' on the same pairs,
and these correlations are averaged over raters, as the STS tasks report beside their systems (Agirre et al.
2012). Against the gold itself a rater would do too well, as their own grades are in it.

Intervals are percentiles of the bootstrap over pairs. As in `annotation.agreement`, pairs with the same
grades by the same raters are drawn as one class, and neither the order of pairs nor the names or the order of
raters change a digit, except in designs that the canonical order calls contrived.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annotation.agreement import ALL, Floats, Grades, Integers, batch_sizes, draw, run_starts
from annotation.scoring import FEWEST_PAIRS, Estimate, correlations, estimate, single_value_text
from annotation.wording import number_of

Hashes = npt.NDArray[np.uint64]
"""Of 64 bits; combined by addition, so that order does not matter."""


def class_order(sizes: Integers, classes: Integers, raters: Integers, *said: Floats) -> Integers:
    """A permutation (C,) of the classes that does not depend on how classes and raters are numbered.

    Args:
        sizes: how many pairs are of each class (C,).
        classes: of each rating (E,).
        raters: of each rating (E,).
        said: what else there is to a rating, each (E,).
    """
    found, numbers = np.unique(raters, return_inverse=True)
    links, alone = hash_parts(*map(bits, said)), hash_parts(sizes.astype(np.uint64))
    rows = sum_hashes(numbers, hash_parts(links, classes.astype(np.uint64)), len(found))
    told, known = hash_parts(_occurrences(rows)), 0
    while True:
        seen = alone + sum_hashes(classes, hash_parts(links + told[numbers]), len(sizes))
        kinds, counts = np.unique(told, return_counts=True)
        if len(kinds) == len(told):
            return np.argsort(seen, kind="stable")
        if len(kinds) > known:
            known = len(kinds)
            told = hash_parts(told, sum_hashes(numbers, hash_parts(links + seen[classes]), len(told)))
        else:  # interchangeable, so that any of them will do
            one = np.flatnonzero(told == kinds[counts > 1][0])[:1]
            told[one] = hash_parts(told[one])


def bits(values: Floats) -> Hashes:
    """The bit pattern of each value, the same of 0 and -0."""
    return (values + 0.0).view(np.uint64)


def hash_parts(*parts: Hashes) -> Hashes:
    """A hash (N,) of the values at each position of the parts (N,), mixed as in SplitMix64."""
    found = np.zeros_like(parts[0])
    for part in parts:
        found = (found ^ part) + np.uint64(0x9E3779B97F4A7C15)
        found = (found ^ (found >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        found = (found ^ (found >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        found ^= found >> np.uint64(31)
    return found


def sum_hashes(places: Integers, hashes: Hashes, count: int) -> Hashes:
    """The sums (count,) of the hashes (E,) at each place."""
    sums = np.zeros(count, np.uint64)
    np.add.at(sums, places, hashes)
    return sums


def _occurrences(keys: Hashes) -> Hashes:
    """How many equal keys come before each key (N,): raters who said the same are interchangeable."""
    order = np.argsort(keys, kind="stable")
    _, starts, counts = np.unique(keys[order], return_index=True, return_counts=True)
    numbers = np.empty(len(keys), np.uint64)
    numbers[order] = np.arange(len(keys)) - np.repeat(starts, counts)
    return numbers


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
    return f"mean of {number_of(raters, 'rater')}" if raters else "mean of the raters"


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

    def summed(self, counts: Floats) -> Floats:
        """The counts of points (V, R) that follow from counts of classes (C, R)."""
        return np.asarray(np.add.reduceat(counts[self.classes], self.starts, axis=0))


def upper_bound(type: str, grades: Grades, *, resamples: int, seed: int) -> UpperBound:
    """The upper bound from these ratings, all of one type, or the reason why it is undefined."""
    comparable = grades.comparable()
    classes, sizes = _classes(comparable)
    others = classes.others_means()
    own = list(_own_classes(classes, others))
    reasons = {one.rater: _why_undefined(one, sizes) for one in own}
    usable = [one for one in own if not reasons[one.rater]]
    whole = _correlations(usable, sizes[:, None].astype(np.float64))
    order = _order(usable, classes, others, sizes)
    draws = _draws(sizes, order, resamples if usable else 0, seed)
    none = np.empty((2, len(usable), 0))
    drawn = np.concatenate([none, *(_correlations(usable, counts) for counts in draws)], axis=2)
    found = {one.rater: _both(whole[:, place], drawn[:, place]) for place, one in enumerate(usable)}
    rows = tuple(
        AgainstOthers(
            one.rater,
            *(found.get(one.rater) or _undefined(reasons[one.rater])),
            pairs=int(sizes[one.classes].sum()),
        )
        for one in own
    )
    if found:
        pearson, spearman = _both(_means(whole), _means(drawn))
    else:
        told = max(((row.pairs, reasons[row.rater]) for row in rows), default=(0, ""))[1]
        told = f"No rater has a correlation. {told}" if own else ALL.none
        pearson, spearman = _undefined(told)
    return UpperBound(type, pearson, spearman, int(sizes.sum()), rows)


def _both(whole: Floats, drawn: Floats) -> tuple[Estimate, Estimate]:
    """Both estimates, from the correlations on all pairs (2, 1) and on resamples (2, R)."""
    return estimate(float(whole[0, 0]), drawn[0]), estimate(float(whole[1, 0]), drawn[1])


def _undefined(reason: str) -> tuple[Estimate, Estimate]:
    return Estimate(None, reason=reason), Estimate(None, reason=reason)


def _classes(comparable: Grades) -> tuple[Grades, Integers]:
    """The ratings of one pair of each class, numbered from 0, and the sizes of the classes."""
    # Pairs of a class have the same sum of the hashes of their ratings.
    said = hash_parts(bits(comparable.values), comparable.raters.astype(np.uint64))
    sums = sum_hashes(comparable.pairs, said, comparable.pair_count)
    _, first, sizes = np.unique(sums, return_index=True, return_counts=True)
    number = np.full(comparable.pair_count, -1)
    number[first] = np.arange(len(first))
    pairs = number[comparable.pairs]
    order = np.lexsort((comparable.values, pairs))  # grades add up from the lowest, whoever gave them
    order = order[pairs[order] >= 0]
    return Grades(pairs[order], comparable.raters[order], comparable.values[order]), sizes


def _own_classes(classes: Grades, others: Floats) -> Iterator[_Own]:
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
        told = "1 pair that others" if pairs == 1 else f"{pairs} pairs that others"
        return f"{told} graded too: a correlation takes {FEWEST_PAIRS} or more."
    return single_value_text(pairs, {"grades": own.grades, "means of the others": own.others})


def _order(usable: Sequence[_Own], classes: Grades, others: Floats, sizes: Integers) -> Integers:
    """The order in which classes are drawn, canonical in the grades of raters with a correlation."""
    kept = np.isin(classes.raters, [one.rater for one in usable])
    told = classes.only(kept)
    return class_order(sizes, told.pairs, told.raters, told.values, others[kept])


def _draws(sizes: Integers, order: Integers, resamples: int, seed: int) -> Iterator[Floats]:
    """The class counts (C, R) of bootstrap samples, in batches."""
    rng = np.random.default_rng(seed)
    for size in batch_sizes(resamples, len(sizes), _CELLS_AT_ONCE):
        counts = np.empty((len(sizes), size))
        counts[order] = draw(sizes[order], size, rng).T
        yield counts


def _correlations(usable: Sequence[_Own], counts: Floats) -> Floats:
    """Both correlations (2, U, R) of each rater, with the classes weighted by their counts (C, R)."""
    table = np.empty((2, len(usable), counts.shape[1]))
    for place, one in enumerate(usable):
        found = correlations(one.others, one.grades[None, :], one.summed(counts))
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
