"""The document of a row, of JSON Lines or of a table with a document a row (CSV, TSV).

A text that begins with a quotation mark, in a file without quotes, makes a reader of quotes take all that
follows, as far as the next mark before a tab or line break, for one cell.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

from kpdemo.errors import InputError
from kpdemo.io.files import NOT_UTF8, open_bytes
from kpdemo.io.json_lines import ReportLine, line_name, report
from kpdemo.text import SURROGATE, shorten
from kpdemo.types import Document

SEPARATOR = ";"
OTHER_SEPARATORS = (",", "|", "，", "、", "；")
_FIELDS = ("keyphrases", "keyword", "keywords")


def keyphrase_field(row: Mapping[str, Any]) -> tuple[str, Any]:
    """The name and the value of the field with the keyphrases; None where there is none."""
    name = next((name for name in _FIELDS if row.get(name) is not None), _FIELDS[0])
    return name, row.get(name)


class KeyphraseTexts:
    """Looks through the rows of a file; `problem` says whether a list of it would pass for one phrase.

    A phrase may hold a comma itself. So it is a problem only where most texts hold the same mark and none
    holds a semicolon.
    """

    def __init__(self) -> None:
        self._texts = 0
        self._separated = False
        self._marks: Counter[str] = Counter()

    def see(self, row: Mapping[str, Any]) -> None:
        _, value = keyphrase_field(row)
        if isinstance(value, str) and value.strip():
            self._texts += 1
            self._separated = self._separated or SEPARATOR in value
            self._marks.update(mark for mark in OTHER_SEPARATORS if mark in value)

    def problem(self) -> str:
        """What is wrong with the keyphrases and what to do; nothing where they can be read."""
        [(mark, times)] = self._marks.most_common(1) or [("", 0)]
        if self._separated or 2 * times <= self._texts:
            return ""
        return (
            f'the keyphrases of {times:,} of {self._texts:,} documents have "{mark}" but no "{SEPARATOR}", '
            f'so each list would count as one phrase; separate phrases by "{SEPARATOR}", and put one '
            f'after a phrase that has "{mark}" itself.'
        )


BODY_FIELDS = ("abstract", "text")

SeeRow = Callable[[Mapping[str, Any]], None]
"""Called with the row of each document that can be used."""
NameRow = Callable[[int], str]
"""The id of a document that has none, by the number of its line; called for such documents only."""

ID_COLUMN = "id"


@dataclass(frozen=True, slots=True)
class RowIds:
    """Where the ids of rows are: in a field, or in a column whatever the case of its name."""

    column: str = ID_COLUMN
    name_row: NameRow = str


OWN_IDS = RowIds()


def document_from_row(
    row: Mapping[str, Any], *, where: str, default_id: str = "", id_column: str = ID_COLUMN
) -> Document:
    """The document of one row: our own fields, or those of KP20k.

    Args:
        row: `id`, `title`, `abstract` or `text`, `keyphrases` (or `keyword`, `keywords`; a list, or
            one text with semicolons) and `language`; only `abstract` or `text` must be there.
        where: begins the message when something is wrong, such as "docs.jsonl, line 3".
        default_id: the id of a row that has none.
        id_column: the field with the id.

    Raises:
        InputError: a field is missing or of the wrong kind.
    """
    body = next((_text_field(row, name, where) for name in BODY_FIELDS if row.get(name) is not None), None)
    if body is None:
        raise InputError(f'{where}: no field "abstract" or "text"; add one or empty the line.')
    return Document(
        body=body,
        title=_text_field(row, "title", where),
        id=_id_field(row, id_column, where) or default_id,
        keyphrases=_keyphrase_field(row, where),
        language=_text_field(row, "language", where),
    )


def documents_from_rows(
    rows: Iterable[tuple[int, Mapping[str, Any]]],
    name: str,
    on_error: ReportLine | None,
    on_row: SeeRow | None = None,
    ids: RowIds = OWN_IDS,
) -> Iterator[tuple[int, Document]]:
    """The documents of rows with their line numbers."""
    for number, row in rows:
        try:
            document = document_from_row(row, where=line_name(name, number), id_column=ids.column)
        except InputError as error:
            report(error, number, on_error)
        else:
            if on_row is not None:
                on_row(row)
            yield number, document if document.id else replace(document, id=ids.name_row(number))


def _text_field(row: Mapping[str, Any], name: str, where: str) -> str:
    value = row.get(name)
    return "" if value is None else _checked_text(value, name, where)


def _checked_text(value: object, name: str, where: str) -> str:
    if not isinstance(value, str):
        raise InputError(
            f'{where}: "{name}" is {_short(value)}, not text; put it in quotes or empty the line.'
        )
    if SURROGATE.search(value):
        raise InputError(f'{where}: "{name}" holds half a character; save the file as UTF-8 again.')
    return value


def _id_field(row: Mapping[str, Any], name: str, where: str) -> str:
    value = row.get(name)
    return str(value) if type(value) is int else _text_field(row, name, where)


def _keyphrase_field(row: Mapping[str, Any], where: str) -> tuple[str, ...]:
    name, value = keyphrase_field(row)
    if value is None:
        return ()
    if isinstance(value, str):
        value = value.split(SEPARATOR)
    if not isinstance(value, list):
        raise InputError(f'{where}: "{name}" is {_short(value)}, not a list of texts; fix or empty the line.')
    phrases = (_checked_text(phrase, name, where).strip() for phrase in value)
    return tuple(phrase for phrase in phrases if phrase)


def _short(value: object) -> str:
    return shorten(json.dumps(value, ensure_ascii=False, default=str), 40)


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


_BAD_BYTE = re.compile("[\udc80-\udcff]")  # as `surrogateescape` reads it
_UTF16_MARKS = ("\udcff\udcfe", "\udcfe\udcff")  # as `surrogateescape` reads them
_LARGEST_CELL = 64 * 1024 * 1024  # csv refuses cells over 128 KiB unless told otherwise


def read_table(
    path: Path,
    suffix: str,
    on_error: ReportLine | None,
    on_row: SeeRow | None = None,
    ids: RowIds = OWN_IDS,
) -> Iterator[tuple[int, Document]]:
    """The documents of a table, each with the line where its row begins.

    Raises:
        InputError: the file cannot be read; without `on_error`, also the first bad row.
    """
    # A bad byte becomes half a character, which spoils its own row and no other.
    with io.TextIOWrapper(open_bytes(path), "utf-8-sig", errors="surrogateescape", newline="") as stream:
        ids = replace(ids, column=column_name(ids.column))
        rows = _table_rows(stream, path, suffix, on_error, ids.column)
        yield from documents_from_rows(rows, str(path), on_error, on_row, ids)


def _table_rows(
    stream: TextIO, path: Path, suffix: str, on_error: ReportLine | None, id_column: str
) -> Iterator[tuple[int, dict[str, Any]]]:
    csv.field_size_limit(_LARGEST_CELL)
    header_line = stream.readline()
    delimiter = _delimiter(header_line, suffix)
    may_swallow = delimiter == "\t" and '"' not in header_line
    reader = csv.reader(chain([header_line], stream), delimiter=delimiter, strict=True)
    if header_line.startswith(_UTF16_MARKS) or "\x00" in header_line:
        raise InputError(f"{path}: {NOT_UTF8}")
    header = [column_name(name) for name in _next_row(reader, line_name(str(path), 1)) or ()]
    if not set(BODY_FIELDS) & set(header):
        raise InputError(f'{path}: no column "abstract" or "text" in the first line; name the columns there.')
    if id_column not in (ID_COLUMN, *header):
        columns = ", ".join(filter(None, header))
        raise InputError(f'{path}: no column "{id_column}" for the ids; name one of {columns}.')
    while True:
        first = reader.line_num + 1
        where = line_name(str(path), first)
        try:
            cells = _next_row(reader, where)
        except InputError as error:
            report(error, first, on_error)
            return  # which of the lines after it begin a row is not known
        if cells is None:
            return
        if any(cells[len(header) :]):  # a spreadsheet may end all rows with empty cells
            problem = f"{len(cells)} cells under {len(header)} columns; quote the text."
            report(InputError(f"{where}: {problem}"), first, on_error)
        elif may_swallow and may_be_rows(cells, len(header)):
            report(_swallowed(where, first, reader.line_num), first, on_error)
        elif any(cells):
            # An empty cell is a field left out, except that an empty text is an empty document.
            named = zip(header, cells, strict=False)
            row = {name: cell for name, cell in named if cell or name in BODY_FIELDS}
            if problem := _no_utf8(row):
                report(InputError(f"{where}: {problem}"), first, on_error)
            else:
                yield first, row


def column_name(written: str) -> str:
    """What a column is found by, however its name is written."""
    return written.strip().lower()


def _no_utf8(row: dict[str, Any]) -> str:
    """What is wrong with a row that has a cell with a byte that is not UTF-8."""
    for name, cell in row.items():
        if bad := _BAD_BYTE.search(cell):
            byte = f"0x{ord(bad.group()) - 0xDC00:02x}"
            return (
                f'"{name}" is not UTF-8 text (byte {byte}); save the file as UTF-8, which Excel calls '
                '"CSV UTF-8".'
            )
    return ""


def _swallowed(where: str, first: int, last: int) -> InputError:
    line = "the same line" if last == first else f"line {last}"
    rows = "that line is a whole row" if last == first else "each line up to there reads as a row"
    return InputError(
        f'{where}: a cell begins with " and one in {line} ends with it, but {rows} without them; put the '
        'cell in quotes and write "" for each " in it, or save the file as CSV.'
    )


def _next_row(reader: Iterator[list[str]], where: str) -> list[str] | None:
    try:
        return next(reader, None)
    except csv.Error as error:
        if "field larger" in str(error):
            raise InputError(
                f"{where}: a cell of more than {_LARGEST_CELL:,} characters, so reading ends here; look for "
                'a " that is never closed, or shorten the text.'
            ) from None
        raise InputError(
            f'{where}: a cell begins with " and has no " at its end, so reading ends here; '
            'put the whole cell in quotes and write "" for each " in it.'
        ) from None


def _delimiter(header: str, suffix: str) -> str:
    if suffix == ".tsv":
        return "\t"
    # Spreadsheets of half of Europe write semicolons.
    return ";" if ";" in header and "," not in header else ","
