"""Cells for spreadsheets: what they would run as a formula is made safe in CSV, and read back as it was.

A cell that begins with = + - @, a tab, a carriage return or a line feed gets an apostrophe before it; so does
one that begins with apostrophes and then one of these, so that reading back is exact: `unescape_formula`
takes one apostrophe away from each cell of that shape. Only text is touched.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

BYTE_ORDER_MARK = "\ufeff"
"""Without it Excel takes a file for one of Western Europe, whatever its letters."""

_RISKY = re.compile(r"'*[=+\-@\t\r\n]")
_ESCAPED = re.compile(r"'+[=+\-@\t\r\n]")


def escape_formula(cell: str) -> str:
    """`cell` as a spreadsheet shows it without running it.

    >>> escape_formula("=1+1"), escape_formula("'@anna"), escape_formula("1+1")
    ("'=1+1", "''@anna", '1+1')
    """
    return f"'{cell}" if _RISKY.match(cell) else cell


def unescape_formula(cell: str) -> str:
    """What `escape_formula` was given."""
    return cell[1:] if _ESCAPED.match(cell) else cell


def spreadsheet_csv(rows: Iterable[Sequence[str | float | None]]) -> str:
    """A table as CSV, its headings the first row: no text runs as a formula, and None is an empty cell."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerows(
        [escape_formula(cell) if isinstance(cell, str) else cell for cell in row] for row in rows
    )
    return BYTE_ORDER_MARK + out.getvalue()
