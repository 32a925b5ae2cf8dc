"""The note to an importer on accounts that the import made raters of the project."""

from __future__ import annotations

from collections.abc import Sequence

MOST_NAMED = 5


def joined_text(names: Sequence[str]) -> str:
    """How many they are and who, the first few by name; nothing where there are none.

    >>> joined_text(["Ana"])
    '1 existing account became a rater of the project: Ana. Take the role away if that was not intended.'
    """
    if not names:
        return ""
    one = "1 existing account became a rater"
    many = f"{len(names):,} existing accounts became raters"
    more = len(names) - MOST_NAMED
    named = ", ".join(names[:MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")
    became = one if len(names) == 1 else many
    return f"{became} of the project: {named}. Take the role away if that was not intended."
