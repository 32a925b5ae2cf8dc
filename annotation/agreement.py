"""Krippendorff's α (Content Analysis, 2004, chapter 11), with its bootstrap interval over pairs.

A pair counts when two raters or more graded it. At the interval level α needs three sums of each pair only,
which the bootstrap draws. The nominal and ordinal α, which have no interval, are those of the package
`krippendorff`; it makes an array of pairs × values × values, so that of many pairs they are counted here.

Intervals are percentiles of the bootstrap over pairs. Pairs with the same sums form a class, and a resample
is a multinomial draw of class sizes: the distribution of drawing pairs one by one, at a cost that does not
grow with their number. (Where nearly every pair is a class of its own, pairs are drawn one by one.) Where
the grades of `MANY_PAIRS` pairs differ, the sums of a resample are drawn from the normal distribution that
they then have: what it leaves out is far less than the chance of a thousand resamples. Every interval starts
from the seed, whatever else is computed, and classes are sorted: the order of pairs and raters does not
matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal, NamedTuple

import krippendorff
import numpy as np
import numpy.typing as npt

from annotation.translation import Sentence, _, mark, ngettext, tell

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

LEVELS: tuple[Literal["nominal"], Literal["ordinal"]] = ("nominal", "ordinal")
"""Whose α is told beside that of the interval level."""
_CELLS_OF_PACKAGE = 1_000_000
"""Pairs × values × values that `krippendorff` is asked for: some 30 MB and a tenth of a second."""
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

    none: Sentence
    one: Sentence
    ratings: Sentence


ALL = Among(
    Sentence(mark("No pair has two ratings yet.")),
    Sentence(mark("Only one pair has two ratings; it takes two.")),
    Sentence(mark("ratings")),
)
UNADJUDICATED = Among(
    Sentence(mark("Every pair with two ratings is flagged or decided.")),
    Sentence(mark("Only one pair with two ratings is neither flagged nor decided; it takes two.")),
    Sentence(mark("ratings of pairs that are neither flagged nor decided")),
)
OF_TWO_RATERS = Among(
    Sentence(mark("No pair has ratings of both.")),
    Sentence(mark("Only one pair has ratings of both; it takes two.")),
    Sentence(mark("ratings of the pairs that both rated")),
)
WITHOUT_A_RATER = Among(
    Sentence(mark("Without this rater no pair has two ratings.")),
    Sentence(mark("Without this rater only one pair has two ratings; it takes two.")),
    Sentence(mark("ratings that remain without this rater")),
)


def why_undefined(comparable: Grades, among: Among = ALL) -> str:
    """Why these ratings have no α, in words; empty when they have one."""
    pairs = comparable.pair_count
    if pairs < 2:
        return among.none if pairs == 0 else among.one
    low, high = comparable.values.min(), comparable.values.max()
    if low == high:
        return Sentence(
            mark("All {count} {ratings} are {grade}: agreement cannot be told from one grade alone."),
            count=len(comparable),
            ratings=among.ratings,
            grade=f"{low:g}",
        )
    return ""


def sums_of_pairs(comparable: Grades) -> Sums:
    """The sufficient statistics of interval α. The lowest grade becomes 0: α stays, rounding shrinks."""
    values = comparable.values - comparable.values.min()
    pairs = comparable.pairs
    return Sums(
        np.bincount(pairs).astype(np.float64),
        _sum_by_pair(pairs, values),
        _sum_by_pair(pairs, values * values),
    )


def _sum_by_pair(pairs: Integers, values: Floats) -> Floats:
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
    """Nominal and ordinal α of pairs that use more than one grade."""
    domain, places = np.unique(comparable.values, return_inverse=True)
    if comparable.pair_count * len(domain) ** 2 > _CELLS_OF_PACKAGE:
        return _alphas_of_coincidences(_coincidences(comparable.pairs, places, len(domain)))
    cells = comparable.pairs * len(domain) + places
    shape = comparable.pair_count, len(domain)
    counts = np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)
    counts = counts[np.lexsort(counts.T)]  # or the order of pairs would show in the last digit
    nominal, ordinal = (
        float(krippendorff.alpha(value_counts=counts, value_domain=domain, level_of_measurement=level))
        for level in LEVELS
    )
    return nominal, ordinal


def _alphas_of_coincidences(met: Floats) -> tuple[float, float]:
    """Nominal and ordinal α of how often each two grades meet (V, V).

    With o how often each two grades meet, n_c how often each is used, and n of all:
    α = 1 - (n - 1) Σ o δ / Σ n_c n_k δ. δ is 1 of two grades that differ at the nominal level, the squared
    distance of their midranks at the ordinal one.
    """
    used = met.sum(axis=0)
    expected = np.outer(used, used)
    midranks = np.cumsum(used) - used / 2
    nominal, ordinal = (
        float(1 - (used.sum() - 1) * (met * distances).sum() / (expected * distances).sum())
        for distances in (1 - np.eye(len(used)), (midranks[:, None] - midranks) ** 2)
    )
    return nominal, ordinal


def _coincidences(pairs: Integers, places: Integers, values: int) -> Floats:
    """How often each two grades meet in a pair (V, V), both ways; each grade with all others of its pair
    counts once in all.

    Args:
        pairs: of each rating.
        places: which of the V grades each rating is.
        values: V.
    """
    order = np.argsort(pairs, kind="stable")
    pairs, places = pairs[order], places[order]
    # Pairs with as many grades are counted together: whole numbers add up to the same in any order.
    sizes, size_of = np.unique(np.bincount(pairs), return_inverse=True)
    shape = len(sizes), values, values
    left, right = places_of_two(pairs)
    cells = np.ravel_multi_index((size_of[pairs[left]], places[left], places[right]), shape)
    counts = np.bincount(cells, minlength=prod(shape)).reshape(shape)
    met = ((counts + counts.transpose(0, 2, 1)) / (sizes - 1)[:, None, None]).sum(axis=0)
    return np.asarray(met, dtype=np.float64)


def places_of_two(pairs: Integers) -> tuple[Integers, Integers]:
    """Every two places of the sorted array `pairs` that hold the same pair."""
    lefts, rights = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for step in range(1, len(pairs)):
        left = np.flatnonzero(pairs[step:] == pairs[:-step])
        if not len(left):
            break
        lefts.append(left)
        rights.append(left + step)
    return np.concatenate(lefts), np.concatenate(rights)


CONFIDENCE = 0.95
NO_RESAMPLES = Sentence(mark("No resamples were asked for."))
DEFAULT_RESAMPLES = 1000
DEFAULT_SEED = 2014
UNDEFINED_SHARE = 0.05
"""Where α is undefined in a larger share of the resamples, there is no interval."""
_CELLS_AT_ONCE = 4_000_000
_FEW_CLASSES, _PAIRS_FOR_A_CLASS = 5_000, 12
"""With more classes and fewer pairs for each, to draw the pairs one by one takes less time."""
MANY_PAIRS = 5_000
"""Pairs whose grades differ, from which on the sums of a resample are taken as normal."""


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
            return tell(self.interval_reason)
        return ngettext(
            "The interval leaves out {count} resample that has one grade only.",
            "The interval leaves out {count} resamples that have one grade only.",
            self.undefined_resamples,
        )


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
        interval_reason = Sentence(
            mark("{count} of {resamples} resamples drew one grade only: too few for an interval."),
            count=f"{left_out:,}",
            resamples=f"{resamples:,}",
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
    if are_normal(parts, sizes):
        return alphas_of_parts(draw_normal(parts, sizes, len(sums), resamples, rng))
    batches = batch_sizes(resamples, len(sizes), _CELLS_AT_ONCE)
    alphas = [alphas_of_parts(draw(sizes, count, rng) @ parts) for count in batches]
    return np.concatenate([np.empty(0), *alphas])


def are_normal(parts: Floats, sizes: Integers) -> bool:
    """Whether the summed parts (C, 4) of a resample of classes of these sizes (C,) are as good as normal:
    both disagreements are then sums over many pairs."""
    differ = sizes[parts[:, 3] > 0].sum()
    return bool(min(differ, sizes.sum() - sizes.max()) >= MANY_PAIRS)


def draw_normal(
    parts: Floats, sizes: Integers, pairs: int, resamples: int, rng: np.random.Generator
) -> Floats:
    """The summed parts (R, 4) of bootstrap samples of so many pairs, in the limit of many."""
    shares = sizes / sizes.sum()
    mean = shares @ parts
    spread = (parts - mean).T @ ((parts - mean) * shares[:, None])
    return rng.multivariate_normal(
        pairs * mean, pairs * spread, size=resamples, check_valid="ignore", method="eigh"
    )


def batch_sizes(resamples: int, cells: int, at_once: int) -> Iterator[int]:
    """The sizes of batches of resamples with so many cells each: a batch has at most `at_once` cells."""
    size = max(1, at_once // max(1, cells))
    for first in range(0, resamples, size):
        yield min(size, resamples - first)


def draw(sizes: Integers, resamples: int, rng: np.random.Generator) -> Floats:
    """The class counts (R, C) of bootstrap samples of data with classes of these sizes (C,)."""
    count, classes = int(sizes.sum()), len(sizes)
    if classes <= _FEW_CLASSES or count > _PAIRS_FOR_A_CLASS * classes:
        return rng.multinomial(count, sizes / count, size=resamples).astype(np.float64)
    class_of_pair = np.repeat(np.arange(classes), sizes)
    drawn = np.empty((resamples, classes))
    for row in drawn:
        pairs = rng.integers(count, size=count)
        row[:] = np.bincount(class_of_pair[pairs] if classes < count else pairs, minlength=classes)
    return drawn


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


ENOUGH_PAIRS = 50
"""With fewer, a bootstrap interval is often too narrow, and its width too uncertain to plan with."""


class PartSize(NamedTuple):
    """How many pairs with two grades or more a part has; None where α has no interval."""

    name: str
    all: int | None
    unadjudicated: int | None = None


def too_few_text(pairs: int) -> str:
    return ngettext(
        "Too few pairs to tell: {count} pair with two grades or more, and with fewer than {enough} the "
        "interval is often narrower than it should be.",
        "Too few pairs to tell: {count} pairs with two grades or more, and with fewer than {enough} the "
        "interval is often narrower than it should be.",
        pairs,
        count=f"{pairs:,}",
        enough=ENOUGH_PAIRS,
    )


def few_parts_text(parts: Sequence[PartSize]) -> str:
    """Which parts have too few pairs to trust their intervals; empty where none has."""
    few = [
        part.name if _is_few(part.all) else _("{name} (unadjudicated)", name=part.name)
        for part in parts
        if _is_few(part.all) or _is_few(part.unadjudicated)
    ]
    if not few:
        return ""
    return _(
        "Fewer than {enough} pairs with two grades, so that the interval is often narrower than it should "
        "be: {names}.",
        enough=ENOUGH_PAIRS,
        names=", ".join(few),
    )


def few_pairs_text(whole: PartSize, parts: Sequence[PartSize]) -> str:
    """The warning for all pairs or, where these are enough, for the parts."""
    if whole.all is not None and _is_few(whole.all):
        return too_few_text(whole.all)
    return few_parts_text([whole, *parts])


def _is_few(pairs: int | None) -> bool:
    return pairs is not None and pairs < ENOUGH_PAIRS
