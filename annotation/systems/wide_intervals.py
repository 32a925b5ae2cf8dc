"""Whether the intervals of systems are narrow enough to rank systems by."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from annotation.figures import number_of
from annotation.reliability.bootstrap import NO_RESAMPLES
from annotation.scoring import Estimate
from annotation.systems.report import ScoreReport

WIDE = 1.0
"""Half of the range of a correlation, -1 to 1: a wider interval hardly tells systems apart."""


@dataclass(frozen=True, slots=True)
class WidePart:
    """A type on which a system's interval is wider than `WIDE`, or undefined."""

    type: str
    pairs: int
    system: str
    """The one with the widest."""
    width: float
    """Infinite where the resamples gave no interval."""
    reason: str
    """Why they gave none: few pairs, or many with scores or grades that hardly differ. Else empty."""


def wide_parts(report: ScoreReport) -> list[WidePart]:
    """The types that hardly tell systems apart, as the intervals of Pearson tell, each with the widest."""
    found = []
    for type in report.types:
        parts = [(system.name, system.types[type]) for system in report.systems]
        measured = [
            WidePart(type, part.pairs, name, _width(part.pearson), part.pearson.interval_reason)
            for name, part in parts
            if part.pearson.value is not None
        ]
        widest = max(measured, key=lambda part: part.width, default=None)
        if widest is not None and widest.width > WIDE:
            found.append(widest)
    return found


def wide_intervals_text(report: ScoreReport, called: Callable[[str], str] = str) -> str:
    """That ranks are uncertain, where an interval is undefined or wider than `WIDE`; else empty.

    Args:
        called: what the reader calls a comparison type.
    """
    wide = [
        f"{called(part.type)} has {number_of(part.pairs, 'pair')}, and "
        + (
            f"for “{part.system}” {part.reason.rstrip('.')}"
            if part.reason
            else f"the interval of “{part.system}” is {part.width:.2f} wide"
        )
        for part in wide_parts(report)
    ]
    if not wide:
        return ""
    return (
        f"Uncertain ranks: {'; '.join(wide)}. A correlation lies between \N{MINUS SIGN}1 and 1, so that such "
        "figures hardly tell systems apart."
    )


def _width(found: Estimate) -> float:
    if found.low is not None and found.high is not None:
        return found.high - found.low
    return 0.0 if found.interval_reason == NO_RESAMPLES else math.inf
