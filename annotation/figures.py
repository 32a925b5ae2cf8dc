"""Figures as people read them."""

from __future__ import annotations

UNKNOWN = "–"


def figure_text(number: float | None, decimals: int = 3, *, sign: str = "") -> str:
    """The number with so many decimals, never -0.000; "+" as `sign` writes that one too.

    >>> [figure_text(number, 2) for number in (0.899, -0.12, -0.001, None)]
    ['0.90', '-0.12', '0.00', '–']
    >>> figure_text(-0.0004, sign="+")
    '+0.000'
    """
    return UNKNOWN if number is None else f"{number:{sign}z.{decimals}f}"


def range_text(low: float | None, high: float | None, *, sign: str = "") -> str:
    """An interval, such as 0.890 to 0.907.

    >>> range_text(0.89, 0.907), range_text(None, None)
    ('0.890 to 0.907', '–')
    """
    if low is None or high is None:
        return UNKNOWN
    return f"{figure_text(low, sign=sign)} to {figure_text(high, sign=sign)}"


def number_of(count: int, noun: str) -> str:
    """1 pair, 2 pairs."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
