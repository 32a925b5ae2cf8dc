"""A row of a TSV, read with quotes: is it one row, or did a quotation mark swallow others?

A text that begins with a quotation mark, in a file without quotes, makes a reader of quotes take all that
follows, as far as the next mark before a tab or line break, for one cell.
"""

from __future__ import annotations

from collections.abc import Sequence


def may_be_rows(cells: Sequence[str], columns: int) -> bool:
    """Whether the row may also be one or several rows of that many columns without quotes.

    Rows may lack their last cells or have one too many, and blank lines may separate them.
    """
    if columns < 2:
        return False
    if any("\n" in cell for cell in cells):
        return any(
            _holds_rows(cell.split("\n"), place, len(cells) - place - 1, columns)
            for place, cell in enumerate(cells)
        )
    inside = sum(cell.count("\t") for cell in cells)
    return inside > 0 and len(cells) + inside == columns


def _holds_rows(lines: Sequence[str], before: int, after: int, columns: int) -> bool:
    """Of the lines of a cell with that many others before and after it in its row."""
    if len(lines) < 2:
        return False
    first, last = before + lines[0].count("\t"), lines[-1].count("\t")
    between = [line.count("\t") for line in lines[1:-1] if line.strip("\r")]
    if first == 0 or not all(0 < tabs <= columns for tabs in between):
        return False
    are_whole = first == last + after == columns - 1
    return are_whole or 0 < last <= columns
