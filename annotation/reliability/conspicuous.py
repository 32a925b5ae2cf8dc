"""Raters to look at first, in plain sentences: one grade for everything, far faster, far from the others.

Each is a reason to look, never a verdict. Raters with fewer than `FEWEST_GRADES` grades are left alone.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from annotation.reliability.raters import RaterFigures

FEWEST_GRADES = 10
"""Grades that a rater needs before anything is said of them; timed or shared ones where these count."""
FASTER = 3
"""This many times as fast as the others: their median against the median of the others' medians."""
FARTHER = 1.0
"""This many points above or below the others' mean, on average."""


def conspicuous(raters: Sequence[RaterFigures], names: Sequence[str]) -> list[tuple[int, str]]:
    """A rater's number and a sentence for each thing that stands out, in the order of names.

    Speed and distance take three raters: of two who differ, nobody can tell which one is off.
    """
    ordered = sorted(raters, key=lambda row: names[row.rater].casefold())
    return [(row.rater, f"{names[row.rater]} {said}.") for row in ordered for said in _remarks(row, raters)]


def _remarks(row: RaterFigures, raters: Sequence[RaterFigures]) -> Iterator[str]:
    if row.ratings >= FEWEST_GRADES and row.spread == 0:
        yield f"gave the same grade, {row.mean:g}, to all {row.ratings:,} pairs"
    own = _timed(row)
    others = [seconds for other in raters if other is not row and (seconds := _timed(other)) is not None]
    if own is not None and len(others) >= 2:
        usual = statistics.median(others)
        if own * FASTER <= usual:
            yield f"takes {own:.1f} s for a pair (median), the others {usual:.1f} s"
    compared = sum(other.shared >= FEWEST_GRADES for other in raters)
    if row.shared >= FEWEST_GRADES and compared > 2 and row.bias is not None and abs(row.bias) >= FARTHER:
        side = "above" if row.bias > 0 else "below"
        yield f"grades {abs(row.bias):.2f} {side} the others on average"


def _timed(row: RaterFigures) -> float | None:
    return row.median_seconds if row.timed >= FEWEST_GRADES else None
