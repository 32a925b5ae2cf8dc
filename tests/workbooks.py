"""Workbooks of a spreadsheet, as Excel saves them."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence

from openpyxl import Workbook


def workbook(rows: Iterable[Sequence[object]]) -> bytes:
    """One whose first sheet has these rows; there is another sheet after it."""
    book = Workbook()
    assert book.active is not None
    for row in rows:
        book.active.append(row)
    book.create_sheet("notes").append(["other"])
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()
