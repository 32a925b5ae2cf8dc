"""Scores against gold grades: Pearson's and Spearman's correlation, their intervals, tests of differences.

Intervals are percentiles of the bootstrap over pairs. A resample says how often each pair was drawn; it is
the same for all systems, so that differences between systems are paired.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from zlib import crc32

import numpy as np

from annotation.agreement import (
    NO_RESAMPLES,
    NO_SPREAD,
    Floats,
    Integers,
    Mask,
    are_too_few,
    batch_sizes,
    percentile_interval,
)
from annotation.translation import Sentence, mark

FEWEST_PAIRS = 3
_DIGITS = 12
"""Decimals: equal systems may differ in later ones, by rounding."""
_CELLS_AT_ONCE = 500_000


@dataclass(frozen=True, slots=True)
class Estimate:
    """A correlation, a sum or a difference of some, with its 95 % interval; or why there is none."""

    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str = ""
    """Why there is no value."""
    interval_reason: str = ""
    """Why there is a value without an interval."""


@dataclass(frozen=True, slots=True)
class Williams:
    """Williams' test: Student's t, its degrees of freedom, and the two-sided probability."""

    t: float
    degrees: int
    p: float


@dataclass(frozen=True, slots=True, eq=False)
class Resamples:
    """Correlations of S systems with the gold grades in R resamples, each (S, R); nan where undefined."""

    pearson: Floats
    spearman: Floats


_ONE = mark("{count} pair: a correlation takes {fewest} or more.")
_TOO_FEW = mark("{count} pairs: a correlation takes {fewest} or more.")
GOLD_GRADES, SCORES = Sentence(mark("gold grades")), Sentence(mark("scores"))


def why_undefined(gold: Floats, scores: Floats) -> str:
    """Why scores (N,) have no correlation with the grades (N,), in words; empty when they have one."""
    pairs = len(gold)
    if pairs < FEWEST_PAIRS:
        return Sentence(_TOO_FEW if pairs != 1 else _ONE, count=pairs, fewest=FEWEST_PAIRS)
    return single_value_text(pairs, {GOLD_GRADES: gold, SCORES: scores})


def single_value_text(pairs: int, named: Mapping[str, Floats]) -> str:
    """Which of these values (N,) are all the same, in a sentence; empty when none are."""
    for name, values in named.items():
        if values.min() == values.max():
            return Sentence(
                mark("All {count} {values} are {value}: one value correlates with nothing."),
                count=f"{pairs:,}",
                values=name,
                value=f"{values[0]:g}",
            )
    return ""


def correlations_between(rows: Floats) -> Floats:
    """Pearson's correlations (S, S) of S rows (N,) with each other; nan where one has a single value only."""
    centred = np.array([_standard(row) for row in rows])
    together = np.einsum("sn,tn->st", centred, centred)
    squares = together.diagonal()
    is_spread = squares > NO_SPREAD
    return _ratio(together, np.outer(squares, squares), np.outer(is_spread, is_spread))


def resample(
    gold: Floats, scores: Floats, *, resamples: int, seed: int, group: Sequence[str] = ()
) -> Resamples:
    """Both correlations of each system in each of `resamples` resamples.

    Args:
        gold: (N,) grades.
        scores: (S, N) of the systems.
        resamples: how many, R.
        seed: what the draws start from.
        group: names the pairs, such as their type: other groups get other draws of the same seed.
    """
    rng = np.random.default_rng([seed, crc32("\0".join(group).encode("utf-8", "surrogatepass"))])
    found = [correlations(gold, scores, counts) for counts in _draws(len(gold), resamples, rng)]
    empty = np.empty((len(scores), 0))
    return Resamples(
        np.concatenate([empty, *(part.pearson for part in found)], axis=1),
        np.concatenate([empty, *(part.spearman for part in found)], axis=1),
    )


def _draws(pairs: int, resamples: int, rng: np.random.Generator) -> Iterator[Floats]:
    """The counts of pairs (N, R) in bootstrap samples, in batches."""
    for columns in batch_sizes(resamples, pairs, _CELLS_AT_ONCE):
        cells = rng.integers(pairs, size=(columns, pairs)) * columns + np.arange(columns)[:, None]
        yield np.bincount(cells.ravel(), minlength=pairs * columns).reshape(pairs, columns).astype(float)


def correlations(gold: Floats, scores: Floats, counts: Floats) -> Resamples:
    """Both correlations, with the pairs weighted by their counts.

    Args:
        gold: (N,) grades.
        scores: (S, N) of the systems.
        counts: (N, R), each column adding up to the same.
    """
    ranked = [_Ranks.of(row) for row in (gold, *scores)]
    return Resamples(
        _pearsons(_standard(gold), np.array([_standard(row) for row in scores]), counts),
        _spearmans(ranked[0], ranked[1:], counts),
    )


def _standard(values: Floats) -> Floats:
    """Centred, and 1 at most: correlations stay, rounding error shrinks, and no square overflows."""
    tiny = np.finfo(np.float64).tiny
    scaled = values / max(np.abs(values).max(), tiny)
    centred = scaled - scaled.mean()
    return np.asarray(centred / max(np.abs(centred).max(), tiny), dtype=np.float64)


def _pearsons(gold: Floats, scores: Floats, counts: Floats) -> Floats:
    """(S, R) from sums over pairs."""
    n = counts.sum(axis=0)

    def total(values: Floats) -> Floats:
        return np.asarray(np.einsum("...n,nr->...r", values, counts))  # no threads, the same for any S

    sums, squares = total(scores), total(scores * scores)
    gold_sum, gold_squares = total(gold), total(gold * gold)
    spreads, gold_spread = n * squares - sums**2, n * gold_squares - gold_sum**2
    is_spread = (spreads > NO_SPREAD * n * squares) & (gold_spread > NO_SPREAD * n * gold_squares)
    together = n * total(scores * gold) - sums * gold_sum
    return _ratio(together, spreads * gold_spread, is_spread)


@dataclass(frozen=True, slots=True, eq=False)
class _Ranks:
    """Values (N,) as V classes of ties, from the lowest."""

    order: Integers
    """The values' places (N,), sorted by value."""
    starts: Integers
    """Where each class begins in that order (V,)."""
    classes: Integers
    """Which class each value is of (N,)."""

    @classmethod
    def of(cls, values: Floats) -> _Ranks:
        domain, classes = np.unique(values, return_inverse=True)
        order = np.argsort(classes, kind="stable")
        return cls(order, np.searchsorted(classes[order], np.arange(len(domain))), classes)

    def sum_by_class(self, cells: Floats) -> Floats:
        """The rows of `cells` (N, R), summed by class (V, R)."""
        ordered = cells[self.order]
        is_tied = len(self.starts) < len(self.order)
        return np.asarray(np.add.reduceat(ordered, self.starts, axis=0) if is_tied else ordered)


def _spearmans(gold: _Ranks, scores: Sequence[_Ranks], counts: Floats) -> Floats:
    """(S, R), from centred midranks."""
    sizes, ranks = _midranks(gold, counts)
    weighed = counts * ranks[gold.classes]
    gold_spread = np.einsum("vr,vr,vr->r", sizes, ranks, ranks)
    found = np.empty((len(scores), counts.shape[1]))
    for place, row in enumerate(scores):
        sizes, ranks = _midranks(row, counts)
        spread = np.einsum("vr,vr,vr->r", sizes, ranks, ranks)
        together = np.einsum("vr,vr->r", ranks, row.sum_by_class(weighed))
        found[place] = _ratio(together, spread * gold_spread, (spread > 0) & (gold_spread > 0))
    return found


def _midranks(row: _Ranks, counts: Floats) -> tuple[Floats, Floats]:
    """The weighted size of each class (V, R), and its centred midrank (V, R)."""
    sizes = row.sum_by_class(counts)
    last = np.cumsum(sizes, axis=0)
    return sizes, np.asarray(last - sizes / 2 - last[-1] / 2)


def _ratio(together: Floats, spreads: Floats, defined: Mask) -> Floats:
    ratio = np.full(together.shape, np.nan)
    np.divide(together, np.sqrt(np.abs(spreads)), out=ratio, where=defined)
    return np.asarray(np.clip(ratio, -1, 1))


def estimate(value: float, drawn: Floats) -> Estimate:
    """A value with its percentile interval over resamples (R,), nan where these are undefined."""
    if np.isnan(value):
        return Estimate(None, reason=Sentence(mark("The values differ by no more than rounding.")))
    if not len(drawn):
        return Estimate(value, interval_reason=NO_RESAMPLES)
    interval = percentile_interval(drawn)
    if interval is None:
        left_out = np.isnan(drawn).sum()
        return Estimate(
            value,
            interval_reason=Sentence(
                mark("{count} of {resamples} resamples drew one value only: no interval."),
                count=f"{left_out:,}",
                resamples=f"{len(drawn):,}",
            ),
        )
    return Estimate(value, *interval)


def bootstrap_p(differences: Floats) -> float | None:
    """The two-sided bootstrap p-value of a difference (R,): twice the smaller tail at zero.

    One is added to both counts, so that no finite number of resamples gives 0 (Davison and Hinkley 1997,
    section 4.2). None where `estimate` gives no interval: without resamples, or with too few defined.
    """
    defined = differences[~np.isnan(differences)]
    if not len(defined) or are_too_few(defined, differences):
        return None
    beyond = min(np.count_nonzero(defined <= 0), np.count_nonzero(defined >= 0))
    return min(1.0, 2 * (int(beyond) + 1) / (len(defined) + 1))


def williams_test(first: float, second: float, between: float, pairs: int) -> Williams | None:
    """Williams' test of two correlations with the same gold grades (Williams 1959; Steiger 1980, Equation 7).

    Args:
        first: correlation of the first system with the gold grades.
        second: of the second.
        between: of the two systems' scores.
        pairs: how many pairs all three are of.

    Returns:
        None where the two systems say the same, or there are three pairs or fewer.
    """
    if pairs <= FEWEST_PAIRS:
        return None
    determinant = max(0.0, 1 - first**2 - second**2 - between**2 + 2 * first * second * between)
    mean = (first + second) / 2
    spread = 2 * determinant * (pairs - 1) / (pairs - 3) + mean**2 * (1 - between) ** 3
    if spread < NO_SPREAD:
        return None
    from scipy.special import stdtr

    t = (first - second) * sqrt((pairs - 1) * (1 + between) / spread)
    return Williams(t, pairs - 3, float(2 * stdtr(pairs - 3, -abs(t))))


def ranking(values: Sequence[float | None]) -> list[int | None]:
    """The place of each value, 1 for the highest; equal ones share the better place, None has none.

    Values that only the rounding of their last digits tells apart are equal.
    """
    rounded = [None if value is None else round(value, _DIGITS) for value in values]
    known = [value for value in rounded if value is not None]
    return [None if value is None else 1 + sum(other > value for other in known) for value in rounded]
