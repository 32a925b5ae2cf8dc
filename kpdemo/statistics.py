"""Intervals over documents and tests of differences: Student's t, the paired randomisation test, Holm.

Were the systems alike, either of a document's two results could have been either system's. So results are
swapped between the systems, document by document, and p is the share of swaps after which the systems
differ at least as much as they do (Noreen 1989, "Computer-Intensive Methods for Testing Hypotheses"; of F1,
Yeh 2000, "More accurate tests for the statistical significance of result differences"; advised by Dror et
al. 2018, "The Hitchhiker's Guide to Testing Statistical Significance in NLP").
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import fmean, stdev
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CONFIDENCE = 0.95
ROUNDING = 1e-12
"""A spread below it is rounding error."""


def margin(values: Sequence[float]) -> float | None:
    """Half the width of the 95 % interval of the mean of the documents' values, by Student's t.

    With few documents it is more accurate than the percentile bootstrap, whose intervals are then too narrow
    (Hesterberg 2015, "What Teachers Should Know about the Bootstrap"), and it takes no seed. Given what
    `f1_contributions` gives, it is of F1.

    None for fewer than two documents, and where all have the same value, which does not mean certainty.
    """
    from scipy.special import stdtrit

    error = standard_error(values)
    if error is None or error < ROUNDING:
        return None
    return float(stdtrit(len(values) - 1, (1 + CONFIDENCE) / 2)) * error


def standard_error(values: Sequence[float]) -> float | None:
    """Of the mean of the documents' values."""
    return stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None


def harmonic_mean(precision: float, recall: float) -> float:
    """F1; 0 where both are 0."""
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0


def f1_contributions(pairs: Sequence[tuple[float, float]]) -> list[float]:
    """What each document adds to 2PR / (P + R), which is their mean; P and R are the means over documents.

    By the delta method: F1 is taken as linear in P and R near their means, so that the two may go together.

    Args:
        pairs: precision and recall of each document.
    """
    if not pairs:
        return []
    precision, recall = map(fmean, zip(*pairs, strict=True))
    if precision + recall == 0:
        return [0.0] * len(pairs)
    by_precision = 2 * (recall / (precision + recall)) ** 2
    by_recall = 2 * (precision / (precision + recall)) ** 2
    return [by_precision * p + by_recall * r for p, r in pairs]


SHUFFLES = 9_999
"""Drawn swaps; where there are no more in all, all are taken and p is exact."""
SEED = 42
_DIGITS = 12
_TIE = 1e-7  # of F1 times documents: more than rounding leaves between equal differences
_CELLS_AT_ONCE = 2_000_000

Floats: TypeAlias = "NDArray[np.float64]"
Pair = tuple[float, float]
"""P and R of a document."""


def randomisation_p(first: Sequence[Pair], second: Sequence[Pair]) -> float:
    """The two-sided p of the difference in F1 of mean P and mean R, of two systems on the same documents.

    Neither the order of the documents nor which system is first changes it. Drawn, the difference that was
    found counts as one of the swaps, so that p is never 0.
    """
    import numpy as np

    one, other = (np.array(pairs, dtype=np.float64).reshape(-1, 2) for pairs in (first, second))
    middle, halves = (one + other).sum(axis=0) / 2, _unsigned((one - other) / 2)
    # F1 of sums is F1 of means times the number of documents.
    found = abs(_f1(one.sum(axis=0)) - _f1(other.sum(axis=0))) - _TIE
    is_exact = 2 ** len(halves) <= SHUFFLES
    as_large = 0
    for shift in [_all_shifts(halves)] if is_exact else _drawn_shifts(halves):
        as_large += int(np.count_nonzero(abs(_f1(middle + shift) - _f1(middle - shift)) >= found))
    return as_large / 2 ** len(halves) if is_exact else (as_large + 1) / (SHUFFLES + 1)


def holm(ps: Sequence[float]) -> list[float]:
    """The p of several tests, raised so that the chance of any false finding is not (Holm 1979)."""
    adjusted = [0.0] * len(ps)
    largest = 0.0
    for rank, place in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        largest = max(largest, min(1.0, (len(ps) - rank) * ps[place]))
        adjusted[place] = largest
    return adjusted


def _unsigned(halves: Floats) -> Floats:
    """Those that are not zero, up to sign: both signs are equally likely."""
    import numpy as np

    halves = np.round(halves, _DIGITS)
    leading = np.where(halves[:, :1] != 0, halves[:, :1], halves[:, 1:])
    unsigned: Floats = (halves * np.sign(leading))[leading[:, 0] != 0]
    return unsigned


def _all_shifts(halves: Floats) -> Floats:
    """The sum of the halves by each choice of signs."""
    import numpy as np

    count = len(halves)
    signs = 1.0 - 2.0 * (np.arange(2**count)[:, None] >> np.arange(count) & 1)
    shifts: Floats = signs @ halves
    return shifts


def _drawn_shifts(halves: Floats) -> Iterator[Floats]:
    """As many as `SHUFFLES`, in parts; of documents that are alike it is drawn how many keep their sign."""
    import numpy as np

    random = np.random.default_rng(SEED)
    kinds, sizes = np.unique(halves, axis=0, return_counts=True)
    whole, at_once = sizes @ kinds, max(1, _CELLS_AT_ONCE // len(kinds))
    single, more, sizes = kinds[sizes == 1], kinds[sizes > 1], sizes[sizes > 1]
    for done in range(0, SHUFFLES, at_once):
        count = min(at_once, SHUFFLES - done)
        kept = random.integers(2, size=(count, len(single)), dtype=np.int8) @ single  # much the faster draw
        kept += random.binomial(sizes, 0.5, size=(count, len(sizes))) @ more
        yield 2 * kept - whole


def _f1(sums: Floats) -> Floats:
    """(…,) of P and R (…, 2)."""
    import numpy as np

    total = sums.sum(axis=-1)
    f1: Floats = 2 * sums.prod(axis=-1) / np.where(total > 0, total, 1)
    return f1
