"""CSV and TSV with a document a row."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

from kpdemo.errors import InputError
from kpdemo.reading.document_rows import BODY_FIELDS, ID_COLUMN, OWN_IDS, RowIds, SeeRow, documents_from_rows
from kpdemo.reading.files import NOT_UTF8, open_bytes
from kpdemo.reading.json_rows import ReportLine, line_name, report
from kpdemo.reading.row_lines import may_be_rows
from kpdemo.types import Document

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
