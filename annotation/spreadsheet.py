"""Cells that a spreadsheet would run as a formula, made safe in CSV and read back as they were.

A cell that begins with = + - @, a tab, a carriage return or a line feed gets an apostrophe before it; so
does one that begins with apostrophes and then one of these, so that reading back is exact: `restored` takes
one apostrophe away from each cell of that shape. Only text is touched, and only in files whose header has
the column `gold_source`: a table from elsewhere may begin a cell with '- and mean it.
"""

from __future__ import annotations

import re

GOLD_COLUMN = "gold_source"
"""The column that tells a CSV of ours, whose cells are to be restored."""

_RISKY = re.compile(r"'*[=+\-@\t\r\n]")
_PROTECTED = re.compile(r"'+[=+\-@\t\r\n]")


def protected(cell: str) -> str:
    """`cell` as a spreadsheet shows it without running it."""
    return f"'{cell}" if _RISKY.match(cell) else cell


def restored(cell: str) -> str:
    """What `protected` was given."""
    return cell[1:] if _PROTECTED.match(cell) else cell
