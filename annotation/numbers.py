"""Whole numbers in addresses and fields, which anybody may have written."""

from __future__ import annotations

LARGEST_WHOLE = 2**31 - 1
"""Ids are 32 bits wide in the database; nothing is counted further."""


def is_id(number: int) -> bool:
    """Whether a row can have it; the database refuses to look for others."""
    return 0 < number <= LARGEST_WHOLE


def whole_in(text: str) -> int | None:
    """The number that stands there in plain digits; None when there is none, or one above `LARGEST_WHOLE`.

    >>> [whole_in(text) for text in ("17", "²", "٣", "-1", "9" * 5000, "")]
    [17, None, None, None, None, None]
    """
    if not (text.isascii() and text.isdigit()) or len(text) > len(str(LARGEST_WHOLE)):
        return None
    return int(text) if int(text) <= LARGEST_WHOLE else None
