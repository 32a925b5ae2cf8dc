"""Confidence intervals of α: the percentile bootstrap over pairs.

Pairs with the same sufficient statistics form a class, and a resample is a multinomial draw of class sizes:
the distribution of drawing pairs one by one, at a cost that does not grow with their number. Every interval
starts from the seed, whatever else is computed, and classes are sorted: the order of pairs and raters does
not matter.
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
"""Where α is undefined in a larger share of the resamples, there is no interval."""
_CELLS_AT_ONCE = 4_000_000


@dataclass(frozen=True, slots=True)
class Alpha:
    """Krippendorff's α: at the interval level with its bootstrap interval, and at two other levels."""

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
        """How many pairs the interval is based on; None without an interval."""
        return None if self.low is None else self.pairs

    @property
    def remark(self) -> str:
        """Why there is no interval, or which resamples it leaves out; else empty."""
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
        resamples: how many bootstrap samples to draw.
        seed: of the random numbers.
        categories: whether to compute nominal and ordinal α too.
        among: which ratings these are, for the wording of the reason.
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
    """The 2.5th and 97.5th percentiles of a statistic over resamples (R,), nan where it is undefined.

    Returns:
        None without resamples, or where too many are undefined.
    """
    defined = drawn[~np.isnan(drawn)]
    if not len(drawn) or are_too_few(defined, drawn):
        return None
    return middle(defined)


def middle(values: Floats) -> tuple[float, float]:
    """The bounds of the middle 95 % of values (N,)."""
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return float(low), float(high)


def are_too_few(defined: Floats, drawn: Floats) -> bool:
    """Whether a statistic is undefined in too many of the resamples (R,) for an interval."""
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
    """The sizes of batches of resamples with so many cells each: a batch has at most `at_once` cells."""
    size = max(1, at_once // max(1, cells))
    for first in range(0, resamples, size):
        yield min(size, resamples - first)


def draw(sizes: Integers, resamples: int, rng: np.random.Generator) -> Floats:
    """The class counts (R, C) of bootstrap samples of data with classes of these sizes (C,)."""
    count = int(sizes.sum())
    return rng.multinomial(count, sizes / count, size=resamples).astype(np.float64)


def classes_of_pairs(sums: Sums) -> tuple[Sums, Integers]:
    """The distinct sums of pairs in a fixed order, and how many pairs have each."""
    order = np.lexsort((sums.squares, sums.totals, sums.counts))
    columns = np.stack([sums.counts, sums.totals, sums.squares])[:, order]
    starts = run_starts(columns)
    sizes = np.diff(np.r_[starts, len(order)])
    return Sums(*columns[:, starts]), sizes


def run_starts(columns: Floats | Integers) -> Integers:
    """Where each run of equal columns (K, N) begins; there is one column or more."""
    return np.flatnonzero(np.r_[True, (columns[:, 1:] != columns[:, :-1]).any(axis=0)])
