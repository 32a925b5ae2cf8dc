"""Files of a gold set and of single ratings, a row at a time: the same bytes for the same rows.

jsonl: gold.jsonl, grades as numbers, `ratings` as [{"rater": …, "grade": …}].
csv: gold.csv, UTF-8 with a header, a column "rating:LABEL" for each rater.
spreadsheet: the same with cells that no spreadsheet program runs as formulas.
parquet: gold.parquet, the columns of jsonl.
semeval: the layout of SemEval-2014 Task 3, TYPE.input.tsv (larger, smaller, id; for word2sense word, sense
key, word#pos#number, id) and TYPE.gs.tsv (a grade), line by line the same pairs, without header or quotes;
tabs and line breaks in texts become spaces. It has no place for genres and single ratings; which type the
files are of, whatever they are called, stands in the manifest.

Unfinished pairs that are listed go to unfinished.jsonl, .csv, .parquet or, for semeval, .tsv (type, id,
reason), with the column `reason`.

Single ratings in long form, a row each, which can be imported again: id, type, rater, grade and more.
jsonl: an object a line, grades as numbers. csv: with a header, cells as they are or safe. tsv: with a
header, without quotes, and so without ids that have tabs or line breaks.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from annotation.adjudication import grade_text
from annotation.errors import ExportError
from annotation.exchange import GOLD_COLUMN, RATING_COLUMN, REVISIONS_COLUMN
from annotation.gold import Format, GoldRow
from annotation.sense_pairs import LISTS, SENSE_COLUMNS, sense_values
from annotation.senses import WORD_TO_SENSE
from kpdemo.io.tables import BYTE_ORDER_MARK, escape_formula


@dataclass(frozen=True, slots=True)
class Extras:
    """The columns after those that every table has."""

    has_senses: bool = False
    is_unfinished: bool = False
    has_comments: bool = False
    has_ratings: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns but the ratings."""
        senses = SENSE_COLUMNS if self.has_senses else ()
        reason = ("reason",) if self.is_unfinished else ()
        return (*GOLD_COLUMNS, *senses, *reason, *(("comments",) if self.has_comments else ()))

    @property
    def all_columns(self) -> tuple[str, ...]:
        """With the ratings, where they are one column."""
        return (*self.columns, *(("ratings",) if self.has_ratings else ()))


GOLD_COLUMNS = (
    "id",
    "type",
    "genre",
    "left",
    "right",
    "gold",
    GOLD_COLUMN,
    "mean",
    "spread",
    "rating_count",
    "cause",
    "intended",
    "source",
)


def row_values(row: GoldRow, extras: Extras) -> dict[str, Any]:
    """The values of a row by column, as JSON has them."""
    values: dict[str, Any] = {
        "id": row.id,
        "type": row.type,
        "genre": row.genre,
        "left": row.left,
        "right": row.right,
        "gold": _number(row.gold),
        GOLD_COLUMN: None if row.gold_source is None else row.gold_source.value,
        "mean": _number(row.mean),
        "spread": _number(row.spread),
        "rating_count": row.rating_count,
        "cause": None if row.cause is None else row.cause.value,
        "intended": _number(row.intended),
        "source": row.source,
    }
    if extras.has_senses:
        values |= sense_values(row.senses)
    if extras.is_unfinished:
        values["reason"] = None if row.reason is None else row.reason.value
    if extras.has_comments:
        values["comments"] = [
            {"rater": said.rater, "text": said.text, "problem": said.is_flagged} for said in row.comments
        ]
    if extras.has_ratings:
        values["ratings"] = [{"rater": label, "grade": float(grade)} for label, grade in row.ratings]
    return values


def _number(grade: Decimal | None) -> float | None:
    return None if grade is None else float(grade)


ROWS_AT_ONCE = 2_000
"""Rows of a Parquet row group: what is held in memory."""

FIELD_ENDS = re.compile(r"[\t\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_LINE_ENDS_IN_JSON = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}
_QUOTED = re.compile(r'[",\r\n]')
_SENSE_NUMBER = re.compile(r"\S+#[a-z]#\d+")
_TEXTS = ("left", "right", "id")
_SENSE_TEXTS = ("left", "right", "source", "id")
_UNSAFE_IN_NAME = re.compile(r"[^\w.-]+")
_NO_EXTRAS = Extras()


def open_gold(
    format: Format,
    folder: Path,
    types: Sequence[str],
    labels: Sequence[str] | None,
    extras: Extras = _NO_EXTRAS,
) -> RowWriter:
    """A writer of pairs with a gold grade.

    Args:
        format: which.
        folder: exists and has no such files yet.
        types: comparison types; each has its files in the semeval layout, also when empty.
        labels: of the raters, in order; None writes no single ratings.
        extras: whether there are words and senses with their definitions, and raters' comments; semeval has
            no place for them.
    """
    if format is Format.SEMEVAL:
        return SemevalWriter(folder, types)
    return _open_table(format, folder, "gold", labels, extras)


def safe_stem(type: str) -> str:
    """How the files of a comparison type begin, whatever its name.

    >>> safe_stem("title/abstract")
    'title_abstract'
    """
    return _UNSAFE_IN_NAME.sub("_", type).lstrip(".") or "type"


def task_stems(types: Iterable[str]) -> dict[str, str]:
    """How the files of each type begin in the semeval layout, no two the same.

    >>> task_stems(["a/b", "a b"])
    {'a/b': 'a_b', 'a b': 'a_b_'}
    """
    stems: dict[str, str] = {}
    for type in types:
        stem = safe_stem(type)
        while stem in stems.values():
            stem += "_"
        stems[type] = stem
    return stems


def open_unfinished(
    format: Format, folder: Path, labels: Sequence[str] | None, extras: Extras = _NO_EXTRAS
) -> RowWriter:
    """A writer of pairs without a gold grade."""
    if format is Format.SEMEVAL:
        return UnfinishedTsvWriter(folder)
    return _open_table(format, folder, "unfinished", labels, replace(extras, is_unfinished=True))


def _open_table(
    format: Format, folder: Path, stem: str, labels: Sequence[str] | None, extras: Extras
) -> RowWriter:
    path = folder / f"{stem}.{format.ending}"
    if format in (Format.CSV, Format.SPREADSHEET):
        return CsvWriter(path, labels or (), extras, is_safe=format is Format.SPREADSHEET)
    extras = replace(extras, has_ratings=labels is not None)
    return ParquetWriter(path, extras) if format is Format.PARQUET else JsonlWriter(path, extras)


class RowWriter(ABC):
    """Takes rows; its files are closed together."""

    def __init__(self) -> None:
        self.rows: dict[str, int] = {}
        """How many each file has."""
        self.columns: dict[str, Sequence[str]] = {}
        """Their names, whether they stand in the file or not."""
        self._stack = ExitStack()

    @abstractmethod
    def add(self, row: GoldRow) -> None:
        """Write a row."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def _open(self, path: Path, columns: Sequence[str]) -> IO[str]:
        self._begin(path, columns)
        return self._stack.enter_context(path.open("x", encoding="utf-8", newline=""))

    def _begin(self, path: Path, columns: Sequence[str]) -> None:
        self.rows[path.name], self.columns[path.name] = 0, columns


class JsonlWriter(RowWriter):
    def __init__(self, path: Path, extras: Extras) -> None:
        super().__init__()
        self._file, self._name = self._open(path, extras.all_columns), path.name
        self._extras = extras

    def add(self, row: GoldRow) -> None:
        self._file.write(json_line(row_values(row, self._extras)))
        self.rows[self._name] += 1


class CsvWriter(RowWriter):
    """`is_safe` makes every cell safe for spreadsheet programs."""

    def __init__(self, path: Path, labels: Sequence[str], extras: Extras, *, is_safe: bool = False) -> None:
        super().__init__()
        self._labels, self._name, self._extras = tuple(labels), path.name, extras
        self._line = csv_line if not is_safe else safe_csv_line
        header = [*extras.columns, *(f"{RATING_COLUMN}{label}" for label in self._labels)]
        self._file = self._open(path, header)
        self._file.write(csv_header(header, is_safe=is_safe))

    def add(self, row: GoldRow) -> None:
        values = row_values(row, self._extras)
        graded = dict(row.ratings)
        cells = [cell_text(value) for value in values.values()]
        self._file.write(self._line([*cells, *(cell_text(graded.get(label)) for label in self._labels)]))
        self.rows[self._name] += 1


class ParquetWriter(RowWriter):
    """Row groups of `ROWS_AT_ONCE` rows; pyarrow is imported here only."""

    def __init__(self, path: Path, extras: Extras) -> None:
        import pyarrow as pa  # type: ignore[import-untyped]
        import pyarrow.parquet as pq  # type: ignore[import-untyped]

        super().__init__()
        self._extras, self._schema = extras, _parquet_schema(pa, extras)
        self._table, self._name = pa.Table, path.name
        self._begin(path, extras.all_columns)
        self._waiting: list[dict[str, Any]] = []
        writer = pq.ParquetWriter(path, self._schema, compression="zstd")
        self._writer = self._stack.enter_context(writer)
        self._stack.callback(self._flush)

    def add(self, row: GoldRow) -> None:
        self._waiting.append(row_values(row, self._extras))
        self.rows[self._name] += 1
        if len(self._waiting) == ROWS_AT_ONCE:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            self._writer.write_table(self._table.from_pylist(self._waiting, schema=self._schema))
            self._waiting.clear()


class SemevalWriter(RowWriter):
    def __init__(self, folder: Path, types: Sequence[str]) -> None:
        super().__init__()
        self._folder = folder
        self._pairs: dict[str, tuple[IO[str], IO[str]]] = {}
        for type in types:
            self._files_of(type)

    def add(self, row: GoldRow) -> None:
        texts, grades = self._files_of(row.type)
        fields = [row.left, row.right, row.id]
        if row.type == WORD_TO_SENSE:
            is_number = row.source is not None and _SENSE_NUMBER.fullmatch(row.source)
            fields.insert(2, row.source or "" if is_number else "")
        texts.write(tsv_line(fields))
        grades.write(f"{grade_text(row.gold or Decimal(0))}\n")
        for file in (texts, grades):
            self.rows[Path(file.name).name] += 1

    def _files_of(self, type: str) -> tuple[IO[str], IO[str]]:
        if type not in self._pairs:
            stem = task_stems([*self._pairs, type])[type]
            texts = _SENSE_TEXTS if type == WORD_TO_SENSE else _TEXTS
            self._pairs[type] = (
                self._open(self._folder / f"{stem}.input.tsv", texts),
                self._open(self._folder / f"{stem}.gs.tsv", ("gold",)),
            )
        return self._pairs[type]


class UnfinishedTsvWriter(RowWriter):
    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._file = self._open(folder / "unfinished.tsv", ("type", "id", "reason"))

    def add(self, row: GoldRow) -> None:
        fields = (row.type, row.id, str(row.reason))
        self._file.write(tsv_line(fields))
        self.rows["unfinished.tsv"] += 1


def json_line(values: dict[str, Any]) -> str:
    """A line of JSON Lines, which none of its texts ends."""
    return f"{json.dumps(values, ensure_ascii=False).translate(_LINE_ENDS_IN_JSON)}\n"


def cell_text(value: Any) -> str:
    """A value as CSV has it."""
    match value:
        case None:
            return ""
        case str():
            return value
        case float() | Decimal():
            return grade_text(Decimal(str(value)))
        case list():
            return json.dumps(value, ensure_ascii=False) if value else ""
    return str(value)


def csv_line(cells: Iterable[str], *, quotes_all: bool = False) -> str:
    """A line as RFC 4180 has it; csv.writer leaves a lone carriage return bare, which ends a line."""
    quoted = (
        '"' + cell.replace('"', '""') + '"' if quotes_all or _QUOTED.search(cell) else cell for cell in cells
    )
    return ",".join(quoted) + "\n"


def safe_csv_line(cells: Iterable[str]) -> str:
    """A line of which spreadsheet programs run no cell."""
    return csv_line(map(escape_formula, cells))


def csv_header(names: Sequence[str], *, is_safe: bool) -> str:
    """The first line, which tells how the cells are to be read (`annotation.exchange`).

    Names in quotes stand over cells as they are; names without, which earlier versions always wrote, over
    cells that are safe for spreadsheet programs. The mark before these tells Excel that they are UTF-8.
    """
    return BYTE_ORDER_MARK + safe_csv_line(names) if is_safe else csv_line(names, quotes_all=True)


def tsv_line(fields: Iterable[str]) -> str:
    """A line of a TSV without quotes: tabs and line ends within a field become spaces."""
    return "\t".join(FIELD_ENDS.sub(" ", field) for field in fields) + "\n"


def _parquet_schema(pa: Any, extras: Extras) -> Any:
    text = pa.struct([pa.field("words", pa.string()), pa.field("definition", pa.string())])
    said = [pa.field(name, pa.string()) for name in ("rater", "text")]
    comment = pa.struct([*said, pa.field("problem", pa.bool_())])
    kinds = {
        **dict.fromkeys(("gold", "mean", "spread", "intended"), pa.float64()),
        **dict.fromkeys(("rating_count", "sense_sibling_count"), pa.int32()),
        **dict.fromkeys(LISTS, pa.list_(text)),
        "comments": pa.list_(comment),
    }
    fields = [pa.field(name, kinds.get(name, pa.string())) for name in extras.columns]
    if extras.has_ratings:
        rating = pa.struct([pa.field("rater", pa.string()), pa.field("grade", pa.float64())])
        fields.append(pa.field("ratings", pa.list_(rating)))
    return pa.schema(fields)


RATING_COLUMNS = ("id", "type", "rater", "grade", "seconds", "at", REVISIONS_COLUMN)
SECOND_COLUMNS = ("id", "type", "rater", "first", "second", "seconds", "at")


class RatingFormat(StrEnum):
    JSONL = "jsonl"
    CSV = "csv"
    TSV = "tsv"


@dataclass(frozen=True, slots=True)
class SingleRating:
    """A grade of a rater, as it stands."""

    id: str
    """Of the pair, as files call it."""
    type: str
    rater: str
    """The account's name, or what stands for it."""
    grade: Decimal
    seconds: float | None
    """How long the pair was looked at; None where unknown, as of imported ratings."""
    at: datetime | None
    """When this grade was given; None where unknown."""
    revisions: int
    """How often it was changed before."""


@dataclass(frozen=True, slots=True)
class SecondGrade:
    """Both grades of a pair that came back to its rater."""

    id: str
    type: str
    rater: str
    first: float
    """Their rating when they graded the pair again."""
    second: float
    seconds: float | None
    """How long the pair was looked at the second time."""
    at: datetime


def format_of(path: Path) -> RatingFormat | None:
    """By the ending of its name; None for another.

    >>> format_of(Path("news.CSV")).value, format_of(Path("news.txt"))
    ('csv', None)
    """
    ending = path.suffix.lower().removeprefix(".")
    return RatingFormat(ending) if ending in set(RatingFormat) else None


def rating_lines(
    ratings: Iterable[SingleRating] | Iterable[SecondGrade],
    format: RatingFormat,
    *,
    is_safe: bool = False,
    columns: Sequence[str] = RATING_COLUMNS,
) -> Iterator[str]:
    """The lines of a file, with their ends; `is_safe` makes cells of CSV safe for spreadsheet programs.

    Args:
        columns: `RATING_COLUMNS`, or `SECOND_COLUMNS` of second grades.

    Raises:
        ExportError: the id of a pair would not be the same in a TSV file.
    """
    rows = (dict(zip(columns, _cells(rating), strict=True)) for rating in ratings)
    if format is RatingFormat.JSONL:
        yield from map(json_line, rows)
    elif format is RatingFormat.CSV:
        line = safe_csv_line if is_safe else csv_line
        yield csv_header(columns, is_safe=is_safe)
        yield from (line(map(cell_text, row.values())) for row in rows)
    else:
        yield tsv_line(columns)
        for row in rows:
            if FIELD_ENDS.search(row["id"]):
                raise ExportError(
                    f"The id {row['id']!r} has a tab or a line break, which TSV cannot hold: "
                    "write CSV or JSON Lines."
                )
            yield tsv_line(map(cell_text, row.values()))


def rating_json(rating: SingleRating) -> dict[str, Any]:
    """A row of the file, by its columns."""
    return dict(zip(RATING_COLUMNS, _cells(rating), strict=True))


def _cells(rating: SingleRating | SecondGrade) -> tuple[Any, ...]:
    whose = (rating.id, rating.type, rating.rater)
    at = None if rating.at is None else rating.at.isoformat(timespec="seconds")
    if isinstance(rating, SecondGrade):
        return (*whose, rating.first, rating.second, rating.seconds, at)
    return (*whose, float(rating.grade), rating.seconds, at, rating.revisions)
