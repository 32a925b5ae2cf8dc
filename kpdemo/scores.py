"""How scores are printed, and compared with a threshold."""

from __future__ import annotations

from decimal import ROUND_FLOOR, Decimal

SCORE_DIGITS = 6
"""Decimals in JSON and CSV."""

SHORT_DIGITS = 2


def reaches(score: float, threshold: float) -> bool:
    """Whether a score is at least the threshold, as it is or as rounded in JSON."""
    return max(score, round(score, SCORE_DIGITS)) >= threshold


def short_score(score: float, digits: int = SHORT_DIGITS) -> str:
    """A score for display, rounded down: what is shown as 0.30 reaches a threshold of 0.3.

    >>> short_score(0.2995), short_score(0.29), short_score(0.3), short_score(-0.0021)
    ('0.29', '0.29', '0.30', '-0.01')
    """
    told = Decimal(f"{score:.{SCORE_DIGITS}f}").quantize(Decimal(1).scaleb(-digits), ROUND_FLOOR)
    return str(abs(told) if told.is_zero() else told)


def page_score(score: float) -> str:
    """As `short_score`, with so many decimals more that what is above 0 is not shown as nothing.

    >>> page_score(0.0049), page_score(0.2995), page_score(0.00003), page_score(0.0)
    ('0.004', '0.29', '0.00003', '0.00')
    """
    shown = (short_score(score, digits) for digits in range(SHORT_DIGITS, SCORE_DIGITS + 1))
    return next((told for told in shown if float(told)), short_score(score))
