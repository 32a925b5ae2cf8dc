"""Rows of tables and JSON: TSV, CSV, JSON Lines and arrays.

Cells that were made safe for spreadsheets (`kpdemo.io.spreadsheets`) are restored only in files whose header
has the column `gold_source`, `revisions` or `version_seen`: a table from elsewhere may begin a cell with '-
and mean it. The last tells tables of decisions, which are for spreadsheets, also with tabs.

Quotation marks in a TSV whose header has none are characters like any other, unless a writer put them there.

The task's own files, and whoever types a TSV, mean a mark as it stands. pandas and spreadsheets put a cell in
marks where it holds a tab, a line break or a mark, Excel also where it holds a comma, and no other, so that a
header tells nothing of them:

- `"5"" pipe"`: all marks between the outer two are doubled, as nobody types them. It is `5" pipe`.
- `"one` and, further on, `two"`: one cell with a tab or line break in it, or two with a mark each. Where both
  fit the header there is no telling, and the row is refused.
- `"one, two"` in one cell: Excel's marks, if all cells with a comma have them and no others. Only the end of
  the file tells, when its rows are read, so that the file is refused there.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum, auto
from itertools import chain
from typing import Any, cast

from annotation.errors import ImportFileError
from kpdemo.io.spreadsheets import unescape_formula

GOLD_COLUMN = "gold_source"
"""The column that tells a CSV of ours, whose cells are to be restored."""
REVISIONS_COLUMN = "revisions"
"""The same of single ratings."""
VERSION_COLUMN = "version_seen"
"""The same of decisions, whatever stands between the cells."""

Cells = tuple[int, list[str]]
"""A row's line, and its cells."""

MOST_WAITING = 100
"""Rows that may wait for the end of a cell; one that runs over more rows, each of them whole, is none."""
FEWEST_COMMAS = 2
"""One cell in marks that holds a comma may be any writer's."""
_ADVICE = "write the header in quotes too, or save the file as CSV (what follows was not read)"


class _Cell(Enum):
    """What becomes of a cell in quotes."""

    GOES_ON = auto()
    ENDS = auto()
    IS_NONE = auto()


def resolve_quotes(name: str, rows: Iterable[Cells], width: int) -> Iterator[Cells]:
    """The rows of a plain TSV, each once it is certain that its marks stand for themselves.

    Args:
        name: what messages call the file.
        rows: lines, cut at tabs.
        width: the number of columns.

    Raises:
        ImportFileError: a row may be a part of a cell in quotes, or Excel put cells in them.
    """
    opened, commas = _OpenMark(name, width), _Commas(name)
    waiting: deque[Cells] = deque()
    for number, cells in rows:
        opened.follow(number, cells)
        commas.follow(number, cells)
        waiting.append((number, [_unquote(cell) for cell in cells]))
        if len(waiting) > MOST_WAITING:
            opened.forget()
        while waiting and (opened.line is None or waiting[0][0] < opened.line):
            yield waiting.popleft()
    yield from waiting
    commas.end()


class _Commas:
    """Whether cells stand in marks exactly where Excel puts them."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lines: list[int] = []
        """Of cells in marks for the sake of a comma alone; the first few."""
        self._may_be_excels = True

    def follow(self, number: int, cells: list[str]) -> None:
        if not self._may_be_excels:
            return
        for cell in cells:
            is_whole = cell.startswith('"') and _rest(cell[1:]) is _Cell.ENDS
            text = cell[1:-1] if is_whole else cell
            if is_whole != ("," in text or '"' in text):
                self._may_be_excels = False
            elif is_whole and '"' not in text and len(self._lines) < FEWEST_COMMAS:
                self._lines.append(number)

    def end(self) -> None:
        """After the last row.

        Raises:
            ImportFileError: they do.
        """
        if self._may_be_excels and len(self._lines) >= FEWEST_COMMAS:
            raise ImportFileError(
                f"{self._name}, line {self._lines[0]}: from here on only cells with a comma are in quotation "
                "marks, as Excel writes them; save the file as “CSV UTF-8” instead."
            )


class _OpenMark:
    """The last mark that may begin a cell in quotes which goes on."""

    def __init__(self, name: str, width: int) -> None:
        self._name = name
        self._width = width
        self._before = 0
        """Cells before it in its row."""
        self.line: int | None = None

    def forget(self) -> None:
        self.line = None

    def follow(self, number: int, cells: list[str]) -> None:
        """Look at the next row.

        Raises:
            ImportFileError: it ends the cell, or is a part of a row that does.
        """
        for place, cell in enumerate(cells):
            if self.line is not None:
                found = _rest(cell)
                if found is _Cell.GOES_ON:
                    continue
                if found is _Cell.ENDS and self._before + len(cells) - place <= self._width:
                    raise self._ends(self.line, number)
                self.forget()
            if cell.startswith('"') and _rest(cell[1:]) is _Cell.GOES_ON:
                self.line, self._before = number, place
        if self.line == number and self._before == len(cells) - 1 < self._width - 1:
            raise ImportFileError(
                f"{self._name}, line {number}: the last of {len(cells)} cells under a header of {self._width}"
                f' begins with " and does not end with it, as one with a line break in it does; {_ADVICE}.'
            )

    def _ends(self, first: int, last: int) -> ImportFileError:
        where = "the same line" if last == first else f"line {last}"
        return ImportFileError(
            f'{self._name}, line {first}: a cell begins with " and one in {where} ends with it, which may be '
            f"one cell with a tab or line break in it or two cells; {_ADVICE}."
        )


def _rest(text: str) -> _Cell:
    """What becomes of a cell in quotes with this text behind what is known of it."""
    single = text.replace('""', "")
    place = single.find('"')
    if place < 0:
        return _Cell.GOES_ON
    return _Cell.ENDS if place == len(single) - 1 else _Cell.IS_NONE


def _unquote(cell: str) -> str:
    """`"a ""b"" c"` as the `a "b" c` that a writer was given; any other cell as it is."""
    inner = cell[1:-1]
    if cell.startswith('"') and '""' in inner and _rest(cell[1:]) is _Cell.ENDS:
        return inner.replace('""', '"')
    return cell


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
    itself is in quotes or a writer put the cell in them (`annotation.files.tables`).

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
        rows = resolve_quotes(name, cast(Iterator[Cells], rows), len(columns))
    marks = {VERSION_COLUMN} if delimiter == "\t" else {VERSION_COLUMN, GOLD_COLUMN, REVISIONS_COLUMN}
    is_protected = not marks.isdisjoint(columns)
    for row in rows:
        error = row if isinstance(row, ImportFileError) else _problem(name, *row, len(columns), is_plain)
        if error is not None:
            yield error
            continue
        number, cells = cast(Cells, row)
        texts = map(unescape_formula, cells) if is_protected else cells
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


LARGEST_ARRAY = 100 * 2**20
"""Characters of an array, which is held in memory as a whole; of lines there is one at a time."""

_JSON = json.JSONDecoder(parse_float=Decimal, parse_constant=Decimal)
_GAP = re.compile(r"[ \t\r\n]*")
_FAILS = (ValueError, ArithmeticError, RecursionError)
"""The second of an exponent beyond those of Decimal, the last of brackets without end."""


def json_rows(name: str, lines: Iterable[tuple[int, str]]) -> Iterator[Row | ImportFileError]:
    """The objects of a file; an error stands in the place of a value that is none.

    Args:
        name: what messages call the file.
        lines: with their numbers, one after the other; the first has text.

    Raises:
        ImportFileError: the file is an array, and nothing more of it can be read.
    """
    rest = iter(lines)
    first = next(rest)
    if not first[1].lstrip().startswith("["):
        yield from _rows_of_lines(name, chain([first], rest))
        return
    held = [first]
    size = len(first[1])
    for line in rest:
        held.append(line)
        size += len(line[1])
        if size > LARGEST_ARRAY:
            raise ImportFileError(
                f"{name}: an array of more than {LARGEST_ARRAY:,} characters; write JSON Lines, one object "
                "a line."
            )
    if any(text.strip() for _, text in held[1:]) and _is_json(first[1]):
        yield from _rows_of_lines(name, held)  # which begin with a wrong one
        return
    yield from _rows_of_array(name, "".join(text for _, text in held))


def _rows_of_lines(name: str, lines: Iterable[tuple[int, str]]) -> Iterator[Row | ImportFileError]:
    for number, text in lines:
        if not text.strip():
            continue
        where = f"{name}, line {number}"
        try:
            value = _JSON.decode(text)
        except _FAILS as error:
            yield ImportFileError(f"{where}: {_reason(error)}; write one object a line.")
        else:
            yield _row(name, value, Row(number, {}), "write one object {…} a line")


def _rows_of_array(name: str, text: str) -> Iterator[Row | ImportFileError]:
    at = _end_of_gap(text, text.index("[") + 1)
    if text[at:].rstrip() == "]":
        raise ImportFileError(f"{name}: the array is empty; give one with at least one object.")
    number, mark = 0, ","
    try:
        while mark == ",":
            number += 1
            value, after = _JSON.raw_decode(text, at)
            yield _row(name, value, Row(number, {}, "entry"), "write an array of objects {…}")
            at = _end_of_gap(text, after)
            mark = text[at : at + 1]
            if mark not in (",", "]"):
                raise json.JSONDecodeError("no comma and no ] follows", text, at)
            at = _end_of_gap(text, at + 1)
        if at < len(text):
            raise json.JSONDecodeError("something follows the array", text, at)
    except _FAILS as error:
        raise ImportFileError(
            f"{name}, entry {number}: {_reason(error)}; fix it (what follows was not read)."
        ) from None


def _row(name: str, value: Any, row: Row, advice: str) -> Row | ImportFileError:
    if isinstance(value, dict):
        row.fields.update((key.strip().lower(), field) for key, field in value.items())
        if len(row.fields) < len(value):
            return ImportFileError(f"{name}, {row.place}: two fields have the same name; rename one.")
        return row
    return ImportFileError(f"{name}, {row.place}: JSON, but not an object; {advice}.")


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return f"not JSON ({getattr(error, 'msg', 'a number with too many digits')})"


def _is_json(text: str) -> bool:
    try:
        _JSON.decode(text)
    except _FAILS:
        return False
    return True


def _end_of_gap(text: str, start: int) -> int:
    gap = _GAP.match(text, start)
    return gap.end() if gap else start
