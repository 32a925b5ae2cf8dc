"""How sure α is: the percentile bootstrap over pairs.

Pairs that are alike in what α needs are drawn as one class: a resample is a multinomial draw of class sizes,
which has the same distribution as drawing pairs one by one and costs as much for a thousand pairs as for a
hundred thousand. Every interval starts from the seed, so that it does not depend on what else is computed,
and classes are sorted, so that it does not depend on the order of pairs or raters either.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from annotation.agreement import (
    ALL,
    Among,
    Floats,
    Grades,
    Integers,
    Sums,
    alpha_of_sums,
    alphas_of_categories,
    alphas_of_parts,
    interval_parts,
    sums_of_pairs,
    why_undefined,
)

CONFIDENCE = 0.95
NO_RESAMPLES = "No resamples were asked for."
DEFAULT_RESAMPLES = 1000
DEFAULT_SEED = 2014
UNDEFINED_SHARE = 0.05
"""With a larger share of resamples without α, its quantiles would say little, and none are given."""
_CELLS_AT_ONCE = 4_000_000


@dataclass(frozen=True, slots=True)
class Alpha:
    """α of some ratings, at the interval level with its bootstrap interval, and at two other levels."""

    value: float | None
    low: float | None = None
    high: float | None = None
    pairs: int = 0
    """Pairs with two ratings or more: the others say nothing about agreement."""
    ratings: int = 0
    """On these pairs."""
    nominal: float | None = None
    """Only where it was asked for, like the ordinal one."""
    ordinal: float | None = None
    reason: str = ""
    """Why there is no value."""
    interval_reason: str = ""
    """Why there is a value without an interval."""
    undefined_resamples: int = 0
    """Resamples that drew one grade only; they are left out of the interval."""

    @property
    def interval_pairs(self) -> int | None:
        """The pairs that the interval is of; None where there is none."""
        return None if self.low is None else self.pairs

    @property
    def remark(self) -> str:
        """What there is to know of the interval: why there is none, or what it leaves out."""
        if self.interval_reason or not self.undefined_resamples:
            return self.interval_reason
        them = "resample that has" if self.undefined_resamples == 1 else "resamples that have"
        return f"The interval leaves out {self.undefined_resamples} {them} one grade only."


def measure(
    grades: Grades,
    *,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = DEFAULT_SEED,
    categories: bool = False,
    among: Among = ALL,
) -> Alpha:
    """α of these ratings with its interval, or the reason why it is undefined.

    Args:
        grades: the ratings.
        resamples: how many times to draw as many pairs as there are.
        seed: what the draws start from.
        categories: whether to give α at the nominal and the ordinal level too.
        among: which ratings these are, for the reason.
    """
    comparable = grades.comparable()
    pairs = comparable.pair_count
    if reason := why_undefined(comparable, among):
        return Alpha(None, pairs=pairs, ratings=len(comparable), reason=reason)
    sums = sums_of_pairs(comparable)
    drawn = resampled_alphas(sums, resamples=resamples, seed=seed)
    left_out = int(np.isnan(drawn).sum())
    interval = percentile_interval(drawn)
    low, high = interval or (None, None)
    interval_reason = ""
    if not resamples:
        interval_reason = NO_RESAMPLES
    elif interval is None:
        interval_reason = (
            f"{left_out:,} of {resamples:,} resamples drew one grade only: too few for an interval."
        )
    nominal, ordinal = alphas_of_categories(comparable) if categories else (None, None)
    return Alpha(
        alpha_of_sums(sums),
        low,
        high,
        pairs,
        len(comparable),
        nominal,
        ordinal,
        interval_reason=interval_reason,
        undefined_resamples=left_out,
    )


def percentile_interval(drawn: Floats) -> tuple[float, float] | None:
    """Between which the middle 95 % of what resamples (R,) gave lie.

    Args:
        drawn: nan where a resample gave nothing.

    Returns:
        None where there are no resamples, or too many gave nothing.
    """
    defined = drawn[~np.isnan(drawn)]
    if not len(drawn) or are_too_few(defined, drawn):
        return None
    return middle(defined)


def middle(values: Floats) -> tuple[float, float]:
    """Between which the middle 95 % of values (N,) lie."""
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return float(low), float(high)


def are_too_few(defined: Floats, drawn: Floats) -> bool:
    """Whether so many resamples (R,) gave nothing that those which gave something would say little."""
    return len(drawn) - len(defined) > UNDEFINED_SHARE * len(drawn)


def resampled_alphas(sums: Sums, *, resamples: int, seed: int) -> Floats:
    """Interval α of each resample; nan where it drew one grade only."""
    classes, sizes = classes_of_pairs(sums)
    parts = interval_parts(classes)
    rng = np.random.default_rng(seed)
    batches = batch_sizes(resamples, len(sizes), _CELLS_AT_ONCE)
    alphas = [alphas_of_parts(draw(sizes, count, rng) @ parts) for count in batches]
    return np.concatenate([np.empty(0), *alphas])


def batch_sizes(resamples: int, cells: int, at_once: int) -> Iterator[int]:
    """How many resamples, of so many cells each, to draw at a time: at most `at_once` cells are held."""
    size = max(1, at_once // max(1, cells))
    for first in range(0, resamples, size):
        yield min(size, resamples - first)


def draw(sizes: Integers, resamples: int, rng: np.random.Generator) -> Floats:
    """How often each class (C) comes in each resample (R, C) of as many pairs as there are."""
    count = int(sizes.sum())
    return rng.multinomial(count, sizes / count, size=resamples).astype(np.float64)


def classes_of_pairs(sums: Sums) -> tuple[Sums, Integers]:
    """The distinct kinds of pair in a fixed order, and how many pairs are of each."""
    order = np.lexsort((sums.squares, sums.totals, sums.counts))
    columns = np.stack([sums.counts, sums.totals, sums.squares])[:, order]
    starts = run_starts(columns)
    sizes = np.diff(np.r_[starts, len(order)])
    return Sums(*columns[:, starts]), sizes


def run_starts(columns: Floats | Integers) -> Integers:
    """Where each run of equal columns (K, N) begins; there is one column or more."""
    return np.flatnonzero(np.r_[True, (columns[:, 1:] != columns[:, :-1]).any(axis=0)])
