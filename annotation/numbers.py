"""Whole numbers in addresses and fields, which anybody may have written."""

from __future__ import annotations

LARGEST_ID = 2**31 - 1
"""Ids are 32 bits wide in the database."""


def id_in(text: str) -> int | None:
    """The id that stands there in plain digits; None when there is none, or none that a database could have.

    >>> [id_in(text) for text in ("17", "²", "٣", "-1", "9" * 5000, "")]
    [17, None, None, None, None, None]
    """
    if not (text.isascii() and text.isdigit()) or len(text) > len(str(LARGEST_ID)):
        return None
    return int(text) if int(text) <= LARGEST_ID else None
