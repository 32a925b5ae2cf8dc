"""Tables with a header: TSV, and CSV with comma or semicolon."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, cast

from annotation.errors import ImportFileError
from annotation.files.quotes import Cells, as_meant
from annotation.files.spreadsheet import GOLD_COLUMN, REVISIONS_COLUMN, VERSION_COLUMN, restored

LONGEST_LINE = 8 * 2**20
"""Bytes of a line, and characters of a cell that runs over several lines."""
RATING_COLUMN = "rating:"
"""Begins the header of a column with the grades of one rater: "rating:ana"."""

_OLD_LINE_BREAK = "a line break of an old Macintosh in it; save the file with usual ones"
_CSV_ADVICE = {
    "unexpected end of data": 'a field begins with " and is never closed; close it',
    "field larger than field limit": f"a field of more than {LONGEST_LINE:,} characters; "
    'look for a " that is never closed, or shorten it',
    "new-line character seen": _OLD_LINE_BREAK,
    "expected after": 'a field begins with " and continues after the closing one; put the whole field in '
    'quotes and write "" for each " in it',
}


@dataclass(frozen=True, slots=True)
class Row:
    line: int
    """Where it begins, from 1."""
    fields: dict[str, Any]
    """By names in small letters. Cells of tables are text; JSON numbers are Decimals or whole numbers."""
    unit: str = "line"
    """What `line` counts where it is no line, as "entry" of a JSON array."""

    @property
    def place(self) -> str:
        """As messages call it."""
        return f"{self.unit} {self.line}"


def only_rows(rows: Iterable[Row | ImportFileError]) -> Iterator[Row]:
    """The rows as far as they are right.

    Raises:
        ImportFileError: an error stands in the place of a row.
    """
    for row in rows:
        if isinstance(row, ImportFileError):
            raise row
        yield row


def table_rows(
    name: str,
    lines: Iterable[tuple[int, str]],
    delimiter: str,
    header: str,
    *,
    needs: Callable[[Sequence[str]], str],
) -> Iterator[Row | ImportFileError]:
    """The rows of a table under their header's names; an error stands in the place of a line that is no row.

    Between tabs a quotation mark is a character like any other, as in the task's own files, unless the header
    itself is in quotes or a writer put the cell in them (`annotation.files.quotes`).

    Args:
        name: what messages call the file.
        lines: with their numbers, one after the other.
        delimiter: what stands between cells.
        header: the first line with any text.
        needs: what a header with these names lacks, as "it needs id and text."; nothing when it will do.

    Raises:
        ImportFileError: the header lacks something, or nobody can tell where the next row begins.
    """
    is_plain = delimiter == "\t" and '"' not in header
    cut = _plain_rows(lines) if is_plain else _quoted_rows(name, lines, delimiter)
    rows: Iterator[Cells | ImportFileError] = (
        row for row in cut if isinstance(row, ImportFileError) or any(cell.strip() for cell in row[1])
    )
    first = next(rows, None)
    if first is None:
        return
    if isinstance(first, ImportFileError):
        raise first
    columns = _header(name, *first, needs)
    if is_plain:
        rows = as_meant(name, cast(Iterator[Cells], rows), len(columns))
    marks = {VERSION_COLUMN} if delimiter == "\t" else {VERSION_COLUMN, GOLD_COLUMN, REVISIONS_COLUMN}
    is_protected = not marks.isdisjoint(columns)
    for row in rows:
        error = row if isinstance(row, ImportFileError) else _problem(name, *row, len(columns), is_plain)
        if error is not None:
            yield error
            continue
        number, cells = cast(Cells, row)
        texts = map(restored, cells) if is_protected else cells
        yield Row(number, dict(zip(columns, texts, strict=False)))


def _problem(name: str, number: int, cells: list[str], width: int, is_plain: bool) -> ImportFileError | None:
    """Why the cells are no row under a header of `width`."""
    if is_plain and any("\r" in cell for cell in cells):
        return ImportFileError(f"{name}, line {number}: {_OLD_LINE_BREAK}.")
    if len(cells) > width:
        way = "take the tabs out of its texts" if is_plain else "put fields with the separator in quotes"
        return ImportFileError(
            f"{name}, line {number}: {len(cells)} fields under a header of {width}; {way}."
        )
    return None


def column_names(text: str, delimiter: str) -> list[str]:
    """Those of a header, in lower case."""
    return [cell.strip().strip('"').strip().lower() for cell in text.split(delimiter)]


def separator(header: str) -> str:
    """Comma, semicolon or tab: whichever stands most often in it."""
    return max((",", ";", "\t"), key=header.count)


def _plain_rows(lines: Iterable[tuple[int, str]]) -> Iterator[Cells]:
    """A row a line, cut at its tabs."""
    return ((number, text.rstrip("\r\n").split("\t")) for number, text in lines)


def _quoted_rows(
    name: str, lines: Iterable[tuple[int, str]], delimiter: str
) -> Iterator[Cells | ImportFileError]:
    """Rows whose cells may be in quotes, and hold line breaks then."""
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))
    rest = iter(lines)
    first = next(rest, None)
    if first is None:
        return
    all_lines, latest = chain([first], rest), ""

    def texts() -> Iterator[str]:
        nonlocal latest
        for _, latest in all_lines:
            yield latest

    reader = csv.reader(texts(), delimiter=delimiter, strict=True)
    while True:
        before = reader.line_num
        number = first[0] + before
        try:
            cells = next(reader, None)
        except csv.Error as error:
            advice = next((text for part, text in _CSV_ADVICE.items() if part in str(error)), str(error))
            is_one_line = reader.line_num == before + 1 and latest.count('"') % 2 == 0
            if not (is_one_line and "expected after" in str(error)):
                raise ImportFileError(
                    f"{name}, line {number}: {advice} (what follows was not read)."
                ) from None
            yield ImportFileError(f"{name}, line {number}: {advice}.")
            continue
        if cells is None:
            return
        yield number, cells


def _header(name: str, number: int, cells: list[str], needs: Callable[[Sequence[str]], str]) -> list[str]:
    if any("\r" in cell for cell in cells):
        raise ImportFileError(f"{name}, line {number}: {_OLD_LINE_BREAK}.")
    names = []
    for cell in cells:
        column = cell.strip()
        is_rating = column.lower().startswith(RATING_COLUMN)
        label = column[len(RATING_COLUMN) :].strip()
        names.append(f"{RATING_COLUMN}{label}" if is_rating else column.lower())
    times = Counter(names)
    twice = next((column for column in names if column and times[column] > 1), None)
    if twice is not None:
        raise ImportFileError(f"{name}, line {number}: the column {twice!r} occurs twice; delete one.")
    if lacking := needs(names):
        raise ImportFileError(f"{name}, line {number}: the header has {', '.join(names)[:200]}; {lacking}")
    return names
