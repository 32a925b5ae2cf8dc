"""Rows of tables and JSON: TSV, CSV, XLSX, ODS, JSON Lines and arrays of objects; plain, .gz or .xz.

Every reader is lazy: a file costs the memory of a row or a few, an array and a workbook that of the file. An
error stands in the place of a row that cannot be used, as long as it is known where the next one begins.

Quotation marks in a TSV whose header has none are characters like any other, unless a writer put them
there: whoever types a TSV means a mark as it stands, while pandas and spreadsheets put a cell in marks where
it holds a tab, a line break or a mark, Excel also where it holds a comma. A header tells nothing of them:

- `"5"" pipe"`: all marks between the outer two are doubled, as nobody types them. It is `5" pipe`.
- `"one` and, further on, `two"`: one cell with a tab or line break in it, or two with a mark each. The
  reading that fits the header counts; where both do, the row is refused.
- `"one, two"` in one cell: Excel's marks, if all cells with a comma have them and no others. Only the end of
  the file tells, when its rows are read, so that the error stands there.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import lzma
import re
import zipfile
import zlib
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from itertools import chain
from pathlib import Path, PurePath
from typing import Any, BinaryIO, cast

from kpdemo.errors import InputError
from kpdemo.extras import needs_extra
from kpdemo.io.files import (
    COMPRESSIONS,
    LARGEST_FILE,
    NOT_UTF8,
    UTF8_MARK,
    as_utf8,
    encoding_note,
    encoding_of,
    file_errors,
    open_bytes,
)

LONGEST_LINE = 16 * 2**20
"""Bytes of a line, and characters of a cell or row that runs over several lines."""
MOST_EMPTY_LINES = 100_000
MOST_WHOLE_LINES = 100
"""A cell in quotes that runs over more lines, each of them a whole row, is none."""
FEWEST_COMMAS = 2
"""One cell in marks that holds a comma may be any writer's."""
MOST_COLUMNS = 1_000
"""Of a workbook: a cell far to the right makes every row as long."""

_LOOKED_AT = 2**20
"""Bytes from which the encoding is told, or as many as are buffered."""

_GZIP_MARK, _XZ_MARK = b"\x1f\x8b", b"\xfd7zXZ\x00"
_ZIP_MARK = b"PK\x03\x04"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_OTHER_KINDS = {
    b"%PDF": "a PDF",
    _ZIP_MARK: "a zipped file",
    b"\xd0\xcf\x11\xe0": "a workbook of an old Excel",
}
_SAVE_AS_UTF8 = "save the file as UTF-8 (in Excel: Save As, “CSV UTF-8”)"
_BAD_BYTE = re.compile("[\udc80-\udcff]")
"""As `surrogateescape` reads it: it spoils its own row and no other."""


class RowError(InputError):
    """A row cannot be used, or nothing more of the file; the message names the file and the row."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line
        """Where the row begins, from 1; 0 of the file as a whole."""


@dataclass(frozen=True, slots=True)
class Row:
    line: int
    """Where it begins, from 1."""
    fields: dict[str, Any]
    """Cells of tables are text."""
    unit: str = "line"
    """What `line` counts where it is no line, as "entry" of a JSON array or "row" of a workbook."""

    @property
    def place(self) -> str:
        """As messages call it."""
        return f"{self.unit} {self.line}"


class TableFormat(StrEnum):
    TSV = "tsv"
    CSV = "csv"
    """With commas, semicolons or tabs, whichever the header has most of."""
    JSONL = "jsonl"
    """Or one array of objects."""


FORMATS = {
    ".tsv": TableFormat.TSV,
    ".tab": TableFormat.TSV,
    ".csv": TableFormat.CSV,
    ".jsonl": TableFormat.JSONL,
    ".ndjson": TableFormat.JSONL,
}
"""By the suffix of a name; others, and workbooks, are told by what is in the file."""
WORKBOOK_SUFFIXES = (".xlsx", ".ods")

Needs = Callable[[Sequence[str]], str]
"""What a header with these names lacks, as "it needs id and text."; nothing when it will do."""


@dataclass(frozen=True, slots=True)
class TableRules:
    """How tables of a kind are read."""

    needs: Needs = lambda names: ""
    marks_are_text: bool = False
    """Whether a cell such as `"yes"` between tabs, in marks that it does not need, keeps them."""
    is_escaped: Callable[[Sequence[str], str], bool] = lambda names, delimiter: False
    """Whether cells were made safe by `escape_formula`, by the names of columns and what is between them."""
    decimals: bool = False
    """Whether numbers of JSON are `Decimal` instead of float."""
    is_headerless: Callable[[Sequence[str]], bool] = lambda cells: False
    """Whether the first row is one like the others; columns are called "1", "2" and so on then."""


@dataclass(frozen=True, slots=True)
class Source:
    """An open file of rows."""

    name: str
    """As messages call it."""
    stream: BinaryIO
    size: int | None = None
    """Bytes on the disk."""
    position: Callable[[], int] | None = None
    """How many of them have been read."""
    note: str = ""
    """A sentence on its encoding, for the user, where it is not UTF-8."""


@contextmanager
def open_source(path: Path, *, name: str = "", any_encoding: bool = False) -> Iterator[Source]:
    """Open a file, compressed or not; `name` is what messages call it, by default its path.

    Args:
        any_encoding: reads UTF-16 and Windows-1252 too, of which the user is to be shown `note`.

    Raises:
        OSError: it cannot be opened.
        InputError: it cannot be read.
    """
    with path.open("rb", _LOOKED_AT if any_encoding else -1) as stream:
        buffered = cast(io.BufferedReader, stream)
        yield open_stream(buffered, name or str(path), path.stat().st_size, any_encoding=any_encoding)


def open_stream(
    stream: io.BufferedReader, name: str, size: int | None = None, *, any_encoding: bool = False
) -> Source:
    """A stream that is open already, compressed or not; arguments and errors are those of `open_source`."""
    with file_errors(name):
        head = stream.peek(len(_XZ_MARK))
    unpacked: Any = stream
    if head.startswith(_GZIP_MARK):
        unpacked = gzip.GzipFile(fileobj=stream)
    elif head.startswith(_XZ_MARK):
        unpacked = lzma.open(stream)  # noqa: SIM115  # its owner closes the stream
    note = ""
    if any_encoding:
        with file_errors(name):
            encoding = encoding_of(unpacked.peek(_LOOKED_AT))
        if encoding != "utf-8":
            unpacked, note = as_utf8(unpacked, name, encoding), encoding_note(name, encoding)
    return Source(name, cast(BinaryIO, unpacked), size, None if size is None else stream.tell, note)


def read_table(
    source: Source, format: TableFormat | None = None, rules: TableRules | None = None
) -> Iterator[Row | RowError]:
    """The rows of an open file; an error stands in the place of one that cannot be used.

    Args:
        format: of a file that is no workbook; None finds it out from the name's suffix and the first line.
        rules: of the kind of table; by default any header will do.

    Raises:
        InputError: nothing of the file can be read, or nothing more.
    """
    rules = rules or TableRules()
    if is_workbook(source):
        yield from workbook_rows(source, rules)
        return
    lines = read_lines(source)
    first = next((line for line in lines if line[1].strip()), None)
    if first is not None:
        found = format or format_of(source.name, first[1])
        yield from parse_lines(source.name, chain([first], lines), first[1], found, rules)


def read_rows(
    path: str | Path, *, on_error: ReportLine | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSON Lines file with their line numbers, from 1; blank lines are skipped.

    A file that is one JSON array of objects is read too; its entries are numbered.

    Raises:
        InputError: the file cannot be read; without `on_error`, also the first line that is not an object.
    """
    with open_bytes(Path(path)) as stream:
        rows = read_table(Source(str(path), stream), TableFormat.JSONL)
        yield from ((row.line, row.fields) for row in report_errors(rows, on_error))


@dataclass(frozen=True, slots=True)
class LineError:
    """A line of a file that could not be used; `message` is the whole sentence for the user."""

    line: int
    message: str


ReportLine = Callable[[LineError], None]


def report(error: InputError, line: int, on_error: ReportLine | None) -> None:
    """Tell of a line that cannot be used, or raise its error where nobody listens."""
    if on_error is None:
        raise error
    on_error(LineError(line, str(error)))


def report_errors(rows: Iterable[Row | RowError], on_error: ReportLine | None) -> Iterator[Row]:
    """The rows that can be used; the others as by `report`."""
    for row in rows:
        if isinstance(row, RowError):
            report(row, row.line, on_error)
        else:
            yield row


def line_name(name: str, line: int) -> str:
    """What messages call a line, or a row of a workbook."""
    return f"{name}, {line_unit(name)} {line}"


def line_unit(name: str) -> str:
    """What a file with the name consists of: "line", "row" or "record"."""
    return _UNITS.get(PurePath(name).suffix.lower(), "line")


_UNITS = {**dict.fromkeys(WORKBOOK_SUFFIXES, "row"), ".ris": "record", ".xml": "record"}


Line = tuple[int, str]
"""Its number, from 1, and its text with the line's end."""


def read_lines(source: Source) -> Iterator[Line]:
    """Lines, decoded one at a time; a byte that is not UTF-8 is half a character, see `describe_bad_byte`.

    Raises:
        InputError: the file is not text, is damaged, or has a line that is too long.
    """
    number = empty = 0
    with file_errors(source.name):
        while line := source.stream.readline(LONGEST_LINE + 1):
            is_first = empty == number  # of those that hold something
            number += 1
            where = line_name(source.name, number)
            if number == 1:
                if (kind := other_kind(line)) is not None:
                    advice = "save it as TSV, CSV, XLSX or JSON Lines"
                    raise InputError(f"{source.name}: this is {kind}, not a text file; {advice}.")
                if line.startswith(_UTF16_MARKS) or b"\0" in line[:2]:
                    raise InputError(f"{source.name}: {NOT_UTF8}")
                line = line.removeprefix(UTF8_MARK)
            empty = empty + 1 if line.isspace() else 0
            if empty > MOST_EMPTY_LINES:  # a small .gz may hold billions of them
                raise InputError(
                    f"{where}: {MOST_EMPTY_LINES:,} empty lines one after the other; delete them."
                )
            longest = LONGEST_LINE
            if is_first and len(line) > LONGEST_LINE and line.lstrip().startswith(b"["):
                longest = LARGEST_FILE  # as many programs write an array: without a line break
                line += source.stream.readline(LARGEST_FILE)
            if len(line) > longest:
                raise InputError(f"{where}: longer than {longest:,} bytes; shorten its texts.")
            yield number, line.decode("utf-8", "surrogateescape")


def other_kind(head: bytes) -> str | None:
    """What a file that begins so is if it is no text."""
    return next((kind for mark, kind in _OTHER_KINDS.items() if head.startswith(mark)), None)


def describe_bad_byte(text: str) -> str:
    """What is wrong with a text of `read_lines` that has a byte that is not UTF-8; nothing of another."""
    if found := _BAD_BYTE.search(text):
        return f"not UTF-8 text (byte 0x{ord(found[0]) - 0xDC00:02x}); {_SAVE_AS_UTF8}."
    return ""


def format_of(name: str, first_line: str) -> TableFormat:
    """The format of a file of text, by the suffix of its name, else by its first line that is not blank."""
    suffixes = [suffix.lower() for suffix in PurePath(name).suffixes]
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    if suffixes and suffixes[-1] in FORMATS:
        return FORMATS[suffixes[-1]]
    text = first_line.lstrip()
    if text.startswith(("{", "[")):
        return TableFormat.JSONL
    return TableFormat.TSV if "\t" in text else TableFormat.CSV


def parse_lines(
    name: str, lines: Iterable[Line], first: str, format: TableFormat, rules: TableRules
) -> Iterator[Row | RowError]:
    """The rows of a file of text.

    Args:
        name: what messages call the file.
        lines: of `read_lines`, from the first that is not blank.
        first: the text of that one.

    Raises:
        InputError: nothing of the file can be read, or nothing more.
    """
    if format is TableFormat.JSONL:
        return _json_rows(name, lines, first, rules.decimals)
    delimiter = "\t" if format is TableFormat.TSV else separator(first)
    if delimiter == "\t" and '"' not in first:
        cells = _plain_cells(name, iter(lines), _ExcelMarks(name) if rules.marks_are_text else None)
        return _table_rows(name, cells, delimiter, rules, "take the tabs out of its texts")
    cells = _quoted_cells(name, lines, delimiter)
    return _table_rows(name, cells, delimiter, rules, "put fields with the separator in quotes")


def separator(header: str) -> str:
    """Comma, semicolon or tab: whichever stands most often in it."""
    return max((",", ";", "\t"), key=header.count)


def column_name(cell: str) -> str:
    """What a column is found by: in small letters as far as a colon, as in "rating:Ana"."""
    kind, colon, label = cell.strip().partition(":")
    return f"{kind.strip().lower()}{colon}{label.strip()}"


# Tables

Cells = tuple[int, list[str]]
"""A row's line, and its cells."""

_OLD_LINE_BREAK = "a line break of an old Macintosh in it; save the file with usual ones"
_CSV_ADVICE = {
    "unexpected end of data": 'a field begins with " and is never closed; close it',
    "field larger than field limit": f"a field of more than {LONGEST_LINE:,} characters; "
    'look for a " that is never closed, or shorten it',
    "new-line character seen": _OLD_LINE_BREAK,
    "expected after": 'a field begins with " and continues after the closing one; put the whole field in '
    'quotes and write "" for each " in it',
}


def _header(name: str, unit: str, number: int, cells: Sequence[str], needs: Needs) -> list[str]:
    """The names of the columns.

    Raises:
        InputError: the table cannot be read by them.
    """
    where = f"{name}, {unit} {number}"
    text = "".join(cells)
    if "\0" in text:
        raise InputError(f"{name}: {NOT_UTF8}")
    if "\r" in text:
        raise InputError(f"{where}: {_OLD_LINE_BREAK}.")
    if problem := describe_bad_byte(text):
        raise InputError(f"{where}: {problem}")
    names = [column_name(cell) for cell in cells]
    times = Counter(names)
    twice = next((column for column in names if column and times[column] > 1), None)
    if twice is not None:
        raise InputError(f"{where}: the column {twice!r} occurs twice; delete one.")
    if lacking := needs(names):
        raise InputError(f"{where}: the header has {', '.join(names)[:200]}; {lacking}")
    return names


def _table_rows(
    name: str,
    rows: Iterator[Cells | RowError],
    delimiter: str,
    rules: TableRules,
    advice: str,
    unit: str = "line",
) -> Iterator[Row | RowError]:
    """The rows of a table under their header's names; `advice` is on rows that are too long."""
    columns: list[str] = []
    is_escaped = False
    for row in rows:
        if isinstance(row, RowError):
            if not columns:
                raise row
            yield row
            continue
        number, cells = row
        if not any(cell.strip() for cell in cells):
            continue
        if not columns:
            if rules.is_headerless(cells):
                columns = [str(place) for place in range(1, len(cells) + 1)]
            else:
                columns = _header(name, unit, number, cells, rules.needs)
                is_escaped = rules.is_escaped(columns, delimiter)
                continue
        problem = describe_bad_byte("".join(cells))
        if any(cells[len(columns) :]):  # a spreadsheet may end all rows with empty ones
            problem = f"{len(cells)} fields under a header of {len(columns)}; {advice}."
        if problem:
            yield RowError(f"{name}, {unit} {number}: {problem}", number)
        else:
            texts = map(unescape_formula, cells) if is_escaped else cells
            yield Row(number, dict(zip(columns, texts, strict=False)), unit)


def _quoted_cells(name: str, lines: Iterable[Line], delimiter: str) -> Iterator[Cells | RowError]:
    """Rows whose cells may be in quotes, and hold line breaks then."""
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))
    begin, latest = 0, ""

    def texts() -> Iterator[str]:
        nonlocal begin, latest
        for number, latest in lines:
            begin = begin or number
            yield latest

    reader = csv.reader(texts(), delimiter=delimiter, strict=True)
    while True:
        before = reader.line_num
        try:
            cells = next(reader, None)
        except csv.Error as error:
            number = begin + before
            advice = next((text for part, text in _CSV_ADVICE.items() if part in str(error)), str(error))
            is_one_line = reader.line_num == before + 1 and latest.count('"') % 2 == 0
            if not (is_one_line and "expected after" in str(error)):
                yield RowError(f"{line_name(name, number)}: {advice} (what follows was not read).", number)
                return
            yield RowError(f"{line_name(name, number)}: {advice}.", number)
            continue
        if cells is None:
            return
        yield begin + before, cells


def _plain_cells(name: str, lines: Iterator[Line], marks: _ExcelMarks | None) -> Iterator[Cells | RowError]:
    """Rows cut at their tabs, or read with quotes where only that fits the header, which is the first.

    Args:
        marks: sees cells in marks that they do not need, which stay; None takes these marks off.
    """
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))
    number, text = next(lines)
    header = text.rstrip("\r\n").split("\t")
    width = len(header)
    yield number, header
    waiting: deque[Line] = deque()
    while (line := waiting.popleft() if waiting else next(lines, None)) is not None:
        number, text = line
        cells = text.rstrip("\r\n").split("\t")
        if any("\r" in cell for cell in cells):
            yield RowError(f"{line_name(name, number)}: {_OLD_LINE_BREAK}.", number)
            continue
        if '"' not in text:
            if marks is not None and "," in text:
                marks.see(number, cells)
            yield number, cells
            continue
        taken: list[Line] = []
        quoted = _cells_in_quotes(text, waiting, lines, width, taken)
        if quoted is None or any(quoted[width:]):
            waiting.extendleft(reversed(taken))
        elif taken or len(quoted) != len(cells):
            if _may_be_rows(quoted, width):
                yield _ambiguous(name, number, taken[-1][0] if taken else number)
            else:
                yield number, quoted
            continue
        elif marks is None:
            yield number, quoted
            continue
        if marks is not None:
            marks.see(number, cells)
        yield number, [_unquote(cell) for cell in cells]
    if marks is not None and (error := marks.error()):
        yield error


def _cells_in_quotes(
    first: str, waiting: deque[Line], lines: Iterator[Line], width: int, taken: list[Line]
) -> list[str] | None:
    """The cells of a row that begins in the line `first`, if its marks are those of a writer.

    Args:
        waiting: lines that come before `lines`.
        taken: gets the lines after the first that were looked at, all of the row if it is one.
    """
    size, whole = len(first), 0

    def texts() -> Iterator[str]:
        nonlocal size, whole
        yield first
        while (line := waiting.popleft() if waiting else next(lines, None)) is not None:
            taken.append(line)
            size += len(line[1])
            whole += line[1].count("\t") == width - 1
            if size > LONGEST_LINE or whole > MOST_WHOLE_LINES:
                return
            yield line[1]

    try:
        return next(csv.reader(texts(), delimiter="\t", strict=True), None)
    except csv.Error:
        return None


def _may_be_rows(cells: Sequence[str], columns: int) -> bool:
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
    return len(cells) + sum(cell.count("\t") for cell in cells) <= columns


def _holds_rows(lines: Sequence[str], before: int, after: int, columns: int) -> bool:
    """Of the lines of a cell with that many others before and after it in its row."""
    if len(lines) < 2:
        return False
    first, last = before + lines[0].count("\t"), lines[-1].count("\t")
    between = [line.count("\t") for line in lines[1:-1] if line.strip("\r")]
    if first == 0 or not all(0 < tabs <= columns for tabs in between):
        return False
    are_whole = first == last + after == columns - 1
    are_many = len(between) > 1 and all(tabs == columns - 1 for tabs in between)
    return are_whole or are_many or 0 < last <= columns


def _ambiguous(name: str, first: int, last: int) -> RowError:
    where = "the same line" if last == first else f"line {last}"
    return RowError(
        f'{line_name(name, first)}: a cell begins with " and one in {where} ends with it, which may be one '
        "cell with a tab or line break in it or two cells; write the header in quotes too, or save the file "
        "as CSV.",
        first,
    )


class _ExcelMarks:
    """Whether cells stand in marks exactly where Excel puts them."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lines: list[int] = []
        """Of cells in marks for the sake of a comma alone; the first few."""
        self._may_be_excels = True

    def see(self, number: int, cells: Iterable[str]) -> None:
        if not self._may_be_excels:
            return
        for cell in cells:
            is_whole = _is_whole(cell)
            text = cell[1:-1] if is_whole else cell
            if is_whole != ("," in text or '"' in text):
                self._may_be_excels = False
            elif is_whole and '"' not in text and len(self._lines) < FEWEST_COMMAS:
                self._lines.append(number)

    def error(self) -> RowError | None:
        """After the last row: what to say if they do."""
        if not self._may_be_excels or len(self._lines) < FEWEST_COMMAS:
            return None
        return RowError(
            f"{line_name(self._name, self._lines[0])}: from here on only cells with a comma are in quotation "
            "marks, as Excel writes them; save the file as “CSV UTF-8” instead.",
            self._lines[0],
        )


def _is_whole(cell: str) -> bool:
    """Whether the cell begins with a mark, ends with one, and has others only in twos."""
    return len(cell) > 1 and cell[0] == cell[-1] == '"' and '"' not in cell[1:-1].replace('""', "")


def _unquote(cell: str) -> str:
    """`"a ""b"" c"` as the `a "b" c` that a writer was given; any other cell as it is."""
    inner = cell[1:-1]
    return inner.replace('""', '"') if '""' in inner and _is_whole(cell) else cell


# Workbooks


_DAMAGES = (
    *(zipfile.BadZipFile, zlib.error, EOFError, SyntaxError, RuntimeError),
    *(ArithmeticError, AttributeError, LookupError, TypeError, ValueError),
)
"""What a damaged workbook makes of its reader."""


def is_workbook(source: Source) -> bool:
    """Whether the file is zipped, as workbooks are."""
    with file_errors(source.name):
        return cast(io.BufferedReader, source.stream).peek(len(_ZIP_MARK)).startswith(_ZIP_MARK)


def workbook_rows(source: Source, rules: TableRules) -> Iterator[Row | RowError]:
    """The rows of the first sheet of an XLSX or ODS workbook; formulas as they were computed last.

    Raises:
        InputError: it is another zipped file, damaged or too large.
    """
    name = source.name
    with file_errors(name):
        content = source.stream.read(LARGEST_FILE + 1)
    too_large = InputError(f"{name}: a workbook of more than {LARGEST_FILE:,} bytes; save it as CSV.")
    if len(content) > LARGEST_FILE:
        raise too_large
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if sum(part.file_size for part in archive.infolist()) > LARGEST_FILE:
                raise too_large  # of a few bytes, a file may unpack to gigabytes
            is_ods = "content.xml" in archive.namelist()
        values = _ods_values(content, name) if is_ods else _xlsx_values(content)
        rows = _sheet_cells(name, values)
        yield from _table_rows(name, rows, "", rules, "delete what is right of it", "row")
    except InputError:
        raise
    except _DAMAGES as error:
        raise InputError(
            f"{name}: not a workbook that can be read ({error}); save it as XLSX again, or as CSV."
        ) from None


def _xlsx_values(content: bytes) -> Iterator[Sequence[Any]]:
    """The cells of each row of the first sheet."""
    with needs_extra("files", "A workbook"):
        from openpyxl import load_workbook  # here, because few files are workbooks

    book = load_workbook(io.BytesIO(content), read_only=True, data_only=True)
    sheet = book.worksheets[0]
    sheet.reset_dimensions()  # which the file may tell wrongly
    width = MOST_COLUMNS
    for values in sheet.iter_rows(max_col=width, values_only=True):
        if any(value is not None for value in values):
            width = max(place for place, value in enumerate(values, 1) if value is not None)
            break
    yield from sheet.iter_rows(max_col=width + 1, values_only=True)


def _ods_values(content: bytes, name: str) -> Iterator[Sequence[Any]]:
    """The cells of each row of the first sheet; numbers as they are kept, other cells as they are shown."""
    with needs_extra("files", "A workbook"):
        from kpdemo.io.packages import Package, children, local_name, parse_xml

    root = parse_xml(Package(content, name, "a workbook").read("content.xml"), name, "a workbook")
    table = next(iter(children(root, "table")), None)
    empty = 0
    for row in [] if table is None else children(table, "table-row"):
        values: list[Any] = []
        for cell in row:
            told = _by_local_name(cell)
            is_number = told.get("value-type") in ("float", "percentage", "currency")
            shown = "\n".join(_ods_text(part) for part in cell if local_name(part) == "p")
            value = float(told["value"]) if is_number else shown or None
            times = int(told.get("number-columns-repeated", "1"))
            values += [value] * min(times, MOST_COLUMNS - len(values))
        times = int(_by_local_name(row).get("number-rows-repeated", "1"))
        if not any(value is not None for value in values):
            empty += times  # a million of them may end the sheet
            continue
        for _ in range(min(empty, MOST_EMPTY_LINES + 1)):
            yield ()
        empty = 0
        for _ in range(times):
            yield values


def _by_local_name(element: Any) -> dict[str, str]:
    """Its attributes without their namespaces."""
    return {name.rpartition("}")[2]: value for name, value in element.items()}


def _ods_text(paragraph: Any) -> str:
    """The text of a paragraph; repeated spaces, tabs and line breaks are elements, notes are left out."""
    from kpdemo.io.packages import local_name

    pieces = [paragraph.text or ""]
    for part in paragraph:
        kind = local_name(part)
        if kind == "s":
            pieces.append(" " * int(_by_local_name(part).get("c", "1")))
        elif kind != "annotation":
            pieces.append({"tab": "\t", "line-break": "\n"}.get(kind) or _ods_text(part))
        pieces.append(part.tail or "")
    return "".join(pieces)


def _sheet_cells(name: str, sheet: Iterator[Sequence[Any]]) -> Iterator[Cells | RowError]:
    """The rows of a sheet with their numbers, from the header on."""
    width, empty = 0, 0
    for number, values in enumerate(sheet, 1):
        cells = [_cell_text(value) for value in values]
        while len(cells) > width and not cells[-1]:
            cells.pop()
        width = width or len(cells)
        empty = 0 if any(cells) else empty + 1
        if empty > MOST_EMPTY_LINES:
            raise InputError(
                f"{name}, row {number}: {MOST_EMPTY_LINES:,} empty rows one after the other; delete them."
            )
        if width:
            yield number, cells


def _cell_text(value: Any) -> str:
    """The value of a cell as CSV would have it.

    >>> _cell_text(3.0), _cell_text(2.75), _cell_text(None)
    ('3', '2.75', '')
    """
    if value is None:
        return ""
    return f"{value:.15g}" if isinstance(value, float) else str(value)


# JSON

_GAP = re.compile(r"[ \t\r\n]*")
_FAILS = (ValueError, ArithmeticError, RecursionError)
"""The second of an exponent beyond those of Decimal, the last of brackets without end."""
_DECODERS = {
    False: json.JSONDecoder(),
    True: json.JSONDecoder(parse_float=Decimal, parse_constant=Decimal),
}


def _json_rows(name: str, lines: Iterable[Line], first: str, decimals: bool) -> Iterator[Row | RowError]:
    """The objects of a file; an error stands in the place of a value that is none."""
    decoder = _DECODERS[decimals]
    if not first.lstrip().startswith("["):
        yield from _rows_of_lines(name, lines, decoder)
        return
    held: list[Line] = []
    size = 0
    for line in lines:
        held.append(line)
        size += len(line[1])
        if size > LARGEST_FILE:
            raise InputError(
                f"{name}: an array of more than {LARGEST_FILE:,} characters; write JSON Lines, one object a "
                "line."
            )
    if any(text.strip() for _, text in held[1:]) and _is_json(first, decoder):
        yield from _rows_of_lines(name, held, decoder)  # which begin with a wrong one
    else:
        yield from _rows_of_array(name, held[0][0], "".join(text for _, text in held), decoder)


def _rows_of_lines(name: str, lines: Iterable[Line], decoder: json.JSONDecoder) -> Iterator[Row | RowError]:
    for number, text in lines:
        if not (content := text.strip()):
            continue
        where = line_name(name, number)
        if problem := describe_bad_byte(content):
            yield RowError(f"{where}: {problem}", number)
            continue
        try:
            value = decoder.decode(content)
        except _FAILS as error:
            yield RowError(f"{where}: {_reason(error)}; fix or empty the line.", number)
            continue
        if isinstance(value, dict):
            yield Row(number, value)
        else:
            yield RowError(f"{where}: JSON, but not an object; write one object {{…}} a line.", number)


def _rows_of_array(name: str, line: int, text: str, decoder: json.JSONDecoder) -> Iterator[Row | RowError]:
    """The entries of an array, called by their lines or, where not all begin on lines of their own, counted.

    Args:
        line: where `text` begins.
    """
    if problem := describe_bad_byte(text):
        raise InputError(f"{name}: {problem}")
    begins: list[int] = []
    at = 0
    with suppress(InputError):
        for begin, _ in _entries(name, text, decoder):
            line += text.count("\n", at, begin)
            at = begin
            begins.append(line)
    has_lines = len(set(begins)) == len(begins)
    for number, (_, value) in enumerate(_entries(name, text, decoder), 1):
        row = Row(begins[number - 1], {}) if has_lines else Row(number, {}, "entry")
        if isinstance(value, dict):
            yield replace(row, fields=value)
        else:
            advice = "write an array of objects {…}"
            yield RowError(f"{name}, {row.place}: JSON, but not an object; {advice}.", row.line)


def _entries(name: str, text: str, decoder: json.JSONDecoder) -> Iterator[tuple[int, Any]]:
    """The values in an array, each with the offset where it begins.

    Raises:
        InputError: what follows the last one is not JSON.
    """
    at = _end_of_gap(text, text.index("[") + 1)
    if text[at:].rstrip() == "]":
        return
    number, mark = 0, ","
    try:
        while mark == ",":
            number += 1
            value, after = decoder.raw_decode(text, at)
            yield at, value
            at = _end_of_gap(text, after)
            mark = text[at : at + 1]
            if mark not in (",", "]"):
                raise json.JSONDecodeError("no comma and no ] follows", text, at)
            at = _end_of_gap(text, at + 1)
        if at < len(text):
            raise json.JSONDecodeError("something follows the array", text, at)
    except _FAILS as error:
        raise InputError(
            f"{name}, entry {number}: {_reason(error)}; fix it (what follows was not read)."
        ) from None


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, json.JSONDecodeError):
        place = f"column {error.colno}" if error.lineno == 1 else f"line {error.lineno}"
        return f"not JSON ({error.msg} at {place})"
    return "not JSON (a number with too many digits)"


def _is_json(text: str, decoder: json.JSONDecoder) -> bool:
    try:
        decoder.decode(text)
    except _FAILS:
        return False
    return True


def _end_of_gap(text: str, start: int) -> int:
    gap = _GAP.match(text, start)
    return gap.end() if gap else start


# Cells for spreadsheets: what they would run as a formula is made safe in CSV, and read back as it was.

BYTE_ORDER_MARK = "\ufeff"
"""Without it Excel takes a file for one of Western Europe, whatever its letters."""

FORMULA_BEGINS = "=+-@|%＝＋－＠\t\r\n"
"""What a cell begins with that some spreadsheet program runs; those of full width as East Asian ones do."""
_RISKY = re.compile(rf"'*[{re.escape(FORMULA_BEGINS)}]")
_ESCAPED = re.compile(rf"'+[{re.escape(FORMULA_BEGINS)}]")


def escape_formula(cell: str) -> str:
    """`cell` as a spreadsheet shows it without running it.

    What begins with one of `FORMULA_BEGINS` gets an apostrophe before it; so does what begins with
    apostrophes and then one of these, so that `unescape_formula` is exact.

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
    csv.writer(out).writerows(
        [escape_formula(cell) if isinstance(cell, str) else cell for cell in row] for row in rows
    )
    return BYTE_ORDER_MARK + out.getvalue()
