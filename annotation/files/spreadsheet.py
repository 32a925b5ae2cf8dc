"""Cells that a spreadsheet would run as a formula, made safe in CSV and read back as they were.

A cell that begins with = + - @, a tab, a carriage return or a line feed gets an apostrophe before it; so
does one that begins with apostrophes and then one of these, so that reading back is exact: `restored` takes
one apostrophe away from each cell of that shape. Only text is touched, and only in files whose header has
the column `gold_source`, `revisions` or `version_seen`: a table from elsewhere may begin a cell with '- and
mean it. The last tells tables of decisions, which are for spreadsheets, also with tabs.

What a page saves for a spreadsheet, `sheet` writes: it is not read back here.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

GOLD_COLUMN = "gold_source"
"""The column that tells a CSV of ours, whose cells are to be restored."""
REVISIONS_COLUMN = "revisions"
"""The same of single ratings."""
VERSION_COLUMN = "version_seen"
"""The same of decisions, whatever stands between the cells."""

BYTE_ORDER_MARK = "\ufeff"
"""Without it Excel takes a file for one of Western Europe, whatever its letters."""

_RISKY = re.compile(r"'*[=+\-@\t\r\n]")
_PROTECTED = re.compile(r"'+[=+\-@\t\r\n]")


def protected(cell: str) -> str:
    """`cell` as a spreadsheet shows it without running it."""
    return f"'{cell}" if _RISKY.match(cell) else cell


def sheet(rows: Iterable[Sequence[str | float | None]]) -> str:
    """A table as CSV, its headings the first row: no text runs as a formula, and None is an empty cell."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerows([protected(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return BYTE_ORDER_MARK + out.getvalue()


def restored(cell: str) -> str:
    """What `protected` was given."""
    return cell[1:] if _PROTECTED.match(cell) else cell
