"""Files of pairs and ratings, read by their format: TSV, CSV, JSON, the task's own TSV; plain or .gz.

Rows of the files that hold pairs and ratings: TSV, CSV, JSON, the task's own TSV; plain or .gz.
Every reader is lazy: a file costs the memory of a row or a few, and only a JSON array that of the file. What
is no row is told with file and line.
"""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain
from pathlib import Path, PurePath
from typing import Any, BinaryIO, cast

from annotation.comparison import COMPARISON_TYPES
from annotation.errors import ImportFileError
from annotation.files.tables import (
    LARGEST_ARRAY,
    LONGEST_LINE,
    Row,
    column_names,
    json_rows,
    only_rows,
    separator,
    table_rows,
)


@dataclass(slots=True)
class MadeIds:
    """Of a file: how many ids were made of comparison type and line, and the first."""

    count: int = 0
    first: str = ""

    def made(self, id: str) -> str:
        """Take down an id that was made."""
        self.first = self.first or id
        self.count += 1
        return id

    def sentence(self, name: str) -> str:
        """What to know of the file that is called `name`; nothing where no id was made."""
        if not self.count:
            return ""
        has = f"{self.count:,} pairs have no id and got" if self.count > 1 else "a pair has no id and got"
        return (
            f"{name} has no header and was read as an input file of SemEval-2014 Task 3: {has} the number of "
            f"the line, first {self.first}."
        )


MOST_EMPTY_LINES = 100_000
PAIR_FIELDS = frozenset({"id", "left", "right"})
RATING_FIELDS = frozenset({"id", "rater", "grade"})
ITEM_FIELDS = frozenset({"id", "text"})
DECISION_FIELDS = frozenset({"id", "grade", "cause"})

_UTF8_MARK = b"\xef\xbb\xbf"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_GZIP_MARK = b"\x1f\x8b"
_OTHER_KINDS = {
    b"%PDF": "a PDF",
    b"PK\x03\x04": "a workbook of a spreadsheet or another zipped file",
    b"\xd0\xcf\x11\xe0": "a workbook of an old Excel",
}
_IN_EXCEL = " (in Excel: Save As, “CSV UTF-8”)"
_NAMED_TYPE = re.compile(r"[^\W\d]\w*2\w+")
_COLUMN_NAME = re.compile(r"[a-z_][a-z0-9_]*")
_NUMBER = re.compile(r"[+-]?[\d.,]+%?")


class FileFormat(StrEnum):
    TSV = "tsv"
    CSV = "csv"
    JSONL = "jsonl"
    """Or one array of objects."""
    SEMEVAL = "semeval"
    """The task's own input files: no header, no quotes, the comparison type in the file's name."""


SUFFIXES = {
    ".tsv": FileFormat.TSV,
    ".tab": FileFormat.TSV,
    ".csv": FileFormat.CSV,
    ".jsonl": FileFormat.JSONL,
    ".ndjson": FileFormat.JSONL,
}


@dataclass(frozen=True, slots=True)
class Source:
    """An open file of pairs or ratings."""

    name: str
    """As messages call it."""
    stream: BinaryIO
    size: int | None = None
    """Bytes on the disk."""
    position: Callable[[], int] | None = None
    """How many of them have been read."""
    made_ids: MadeIds = field(default_factory=MadeIds, compare=False)


@contextmanager
def open_source(path: Path, *, name: str = "") -> Iterator[Source]:
    """Open a file, compressed or not; `name` is what messages call it, by default its path."""
    with path.open("rb") as stream:
        yield open_stream(stream, name or str(path), path.stat().st_size)


def open_stream(stream: io.BufferedReader, name: str, size: int | None = None) -> Source:
    """A stream that is open already, compressed or not."""
    with _readable(name):
        is_gzip = stream.peek(2)[:2] == _GZIP_MARK
    text = cast(BinaryIO, gzip.GzipFile(fileobj=stream)) if is_gzip else stream
    return Source(name, text, size, None if size is None else stream.tell)


def read_rows(source: Source, *, format: FileFormat | None, type: str | None) -> Iterator[Row]:
    """The rows of an open file; arguments are those of `rows_or_errors`.

    Raises:
        ImportFileError: a line is no row.
    """
    return only_rows(rows_or_errors(source, format=format, type=type))


def rows_or_errors(
    source: Source,
    *,
    format: FileFormat | None,
    type: str | None,
    needs: Callable[[Sequence[str]], str] | None = None,
) -> Iterator[Row | ImportFileError]:
    """The rows of an open file; an error stands in the place of a line that is no row.

    Args:
        source: the file.
        format: None finds it out from the name's suffix and the first line.
        type: the comparison type of the task's own files, which name none.
        needs: what a header lacks, as `table_rows` has it, in files of which the task has none; None for
            pairs and ratings.

    Raises:
        ImportFileError: nothing of the file can be read, or nothing more.
    """
    with _readable(source.name):
        lines = _lines(source)
        first = next((line for line in lines if line[1].strip()), None)
        if first is None:
            raise ImportFileError(f"{source.name}: the file is empty; give one with at least one row.")
        found = format or _format_of(source.name, first[1])
        lines = chain([first], lines)
        if found is FileFormat.JSONL:
            yield from json_rows(source.name, lines)
        elif needs is None and (
            found is FileFormat.SEMEVAL or (found is FileFormat.TSV and _has_no_header(first[1]))
        ):
            yield from _task_rows(source, lines, type)
        else:
            delimiter = "\t" if found is FileFormat.TSV else separator(first[1])
            yield from table_rows(source.name, lines, delimiter, first[1], needs=needs or _pair_columns)


def read_lines(source: Source) -> Iterator[tuple[int, str]]:
    """The lines of an open file with their numbers, without their ends, for files of one value a line.

    Raises:
        ImportFileError: the file is no UTF-8 text, or damaged.
    """
    with _readable(source.name):
        for number, text in _lines(source):
            yield number, text.rstrip("\r\n")


def type_of_name(name: str) -> str | None:
    """The comparison type that a file's name begins with, as in paragraph2sentence.test.input.tsv."""
    base = PurePath(name).name
    stem = base.split(".")[0]
    if stem in COMPARISON_TYPES or _NAMED_TYPE.fullmatch(stem) or (stem and ".input." in base):
        return stem
    return None


@contextmanager
def _readable(name: str) -> Iterator[None]:
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise ImportFileError(
            f"{name}: the compressed data end too early or are damaged; compress the file again."
        ) from None
    except OSError as error:  # of a stream, which knows no name
        raise ImportFileError(
            f"{name}: cannot be read ({error.strerror or error}); check the file."
        ) from None


def _lines(source: Source) -> Iterator[tuple[int, str]]:
    """Lines with their numbers and ends, decoded one at a time."""
    number = empty = 0
    while line := source.stream.readline(LONGEST_LINE + 1):
        is_first = empty == number  # of those that hold something
        number += 1
        where = f"{source.name}, line {number}"
        if number == 1:
            _refuse_other_kinds(source.name, line)
            if line.startswith(_UTF16_MARKS):
                raise ImportFileError(f"{where}: the file is UTF-16; save it as UTF-8{_IN_EXCEL}.")
            line = line.removeprefix(_UTF8_MARK)
        empty = empty + 1 if line.isspace() else 0
        if empty > MOST_EMPTY_LINES:  # a small .gz may hold billions of them
            raise ImportFileError(
                f"{where}: {MOST_EMPTY_LINES:,} empty lines one after the other; delete them."
            )
        longest = LONGEST_LINE
        if is_first and len(line) > LONGEST_LINE and line.lstrip().startswith(b"["):
            longest = LARGEST_ARRAY  # as many programs write it: without a line break
            line += source.stream.readline(LARGEST_ARRAY)
        if len(line) > longest:
            raise ImportFileError(f"{where}: longer than {longest:,} bytes; shorten its texts.")
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ImportFileError(
                f"{where}: byte {error.start + 1} is not UTF-8 (0x{line[error.start]:02x}); save it as UTF-8"
                f"{_IN_EXCEL}."
            ) from None
        yield number, text


def _refuse_other_kinds(name: str, line: bytes) -> None:
    for mark, kind in _OTHER_KINDS.items():
        if line.startswith(mark):
            raise ImportFileError(
                f"{name}: this is {kind}, not a text file; save it as TSV, CSV or JSON Lines."
            )


def _format_of(name: str, first_line: str) -> FileFormat:
    suffixes = [suffix.lower() for suffix in PurePath(name).suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    if suffixes and suffixes[-1] in SUFFIXES:
        return SUFFIXES[suffixes[-1]]
    text = first_line.lstrip()
    if text.startswith(("{", "[")):
        return FileFormat.JSONL
    return FileFormat.TSV if "\t" in text else FileFormat.CSV


def _has_no_header(first_line: str) -> bool:
    """A line of single words is taken for a header too: imported as a pair, it would go to raters unseen."""
    names = {*column_names(first_line, "\t")} - {""}
    known = PAIR_FIELDS | RATING_FIELDS | {"type", "genre", "intended", "source", "ratings"}
    are_words = all(_COLUMN_NAME.fullmatch(name) for name in names)
    return not ("id" in names or are_words or len(names & known) > 1)


def _task_rows(
    source: Source, lines: Iterable[tuple[int, str]], type: str | None
) -> Iterator[Row | ImportFileError]:
    name = source.name
    if type is None:
        raise ImportFileError(
            f"{name}, line 1: no header with id, left and right (or id, rater and grade); add one, or, "
            "for an input file of SemEval-2014 Task 3, name its comparison type."
        )
    for number, text in lines:
        if not text.strip():
            continue
        cells = text.rstrip("\r\n").split("\t")
        if problem := _no_task_row(cells, 4 if type == "word2sense" else 3):
            yield ImportFileError(f"{name}, line {number}: {problem}")
            continue
        id = cells[-1].strip() if len(cells) > 2 else ""
        fields: dict[str, Any] = {
            "id": id or source.made_ids.made(f"{type}-{number}"),
            "type": type,
            "left": cells[0],
            "right": cells[1],
        }
        if type == "word2sense":
            fields["source"] = cells[2] if len(cells) == 4 else None
        elif "-" in id:
            fields["genre"] = id.rpartition("-")[0]
        yield Row(number, fields)


def _no_task_row(cells: Sequence[str], most: int) -> str:
    """Why the cells are no pair of the task; nothing when they are."""
    if not 2 <= len(cells) <= most:
        return (
            f"{len(cells)} fields between tabs, not 2 to {most} (left item, right item, "
            f"{'sense number, ' if most == 4 else ''}id); add what is missing, or a header."
        )
    if all(_NUMBER.fullmatch(cell.strip()) for cell in cells[:2]):
        left, right = (cell.strip()[:40] for cell in cells[:2])
        return (
            f"{left!r} and {right!r} are numbers, no texts to grade; give a file of pairs, or add a header "
            "with id, left and right."
        )
    return ""


def item_columns(names: Sequence[str]) -> str:
    """What a header lacks for larger items."""
    return "" if ITEM_FIELDS.issubset(names) else "it needs id and text."


def decision_columns(names: Sequence[str]) -> str:
    """What a header lacks for decisions."""
    return "" if DECISION_FIELDS.issubset(names) else "it needs id, grade and cause."


def _pair_columns(names: Sequence[str]) -> str:
    if PAIR_FIELDS.issubset(names) or RATING_FIELDS.issubset(names):
        return ""
    return "it needs id, left and right, or, for ratings, id, rater and grade."
