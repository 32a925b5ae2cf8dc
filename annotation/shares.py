"""Shares as people read them."""

from __future__ import annotations


def share_text(share: float, decimals: int = 0) -> str:
    """A share of 1 in percent: 100 % is all and 0 % none, whatever rounding would make of nearly so.

    >>> [share_text(share) for share in (0.0, 0.004, 0.5, 0.996, 1.0)]
    ['0 %', '1 %', '50 %', '99 %', '100 %']
    """
    percent = 100 * share
    if 0 < share < 1:
        smallest = 10.0**-decimals
        percent = min(max(percent, smallest), 100 - smallest)
    return f"{percent:.{decimals}f} %"
