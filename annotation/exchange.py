"""Reading pairs, ratings and decisions from files.

Tables (TSV, CSV with comma or semicolon, the first sheet of an XLSX workbook) have a header, JSON Lines an
object a line; names of fields in any case, .gz or .xz may follow the suffix, text is UTF-8. Fields that are
not named here are passed over. In CSV a text may stand in quotes; in TSV a quotation mark is a character like
any other, unless the header is in quotes too; where a program may have put single cells in quotes,
`kpdemo.io.tables` decides. A JSON array of objects is read like JSON Lines.

- Pairs: `id`, `type` (may be left out where it is given otherwise), `left` (what the type names first),
  `right` and, if wished, `genre`, `intended` (the grade that the author aimed at) and `source`.
- Larger items, for which pairs are to be written: `id`, `type`, `text` and, if wished, `genre` and `source`.
- Ratings with their pair: `ratings`, a list of grades, or of {"rater", "grade"}; in a table "3;2.5", or
  "ana=3;ben=2.5", or a column "rating:ana" for each rater. Grades without a name are of raters "1", "2" and
  so on, in their order; null or an empty place is no rating.
- Ratings in long form: `id`, `rater`, `grade` and, if ids are not unique, `type`: a rating a row, of pairs
  imported before or earlier in the same file; with `left` and `right` in the row it brings its pair along.
- Decisions: `id`, `grade`, `cause` and, if wished, `type` (as above), `note` and `version_seen`; a row
  without grade, cause and note is none.

The files of SemEval-2014 Task 3 are UTF-8 without header and without quoting: a quotation mark is a character
like any other. A pair a line, item ids at the end, which begin with the genre ("Travel-12"):

    paragraph2sentence.test.input.tsv    larger TAB smaller TAB id     (also sentence2phrase, phrase2word)
    word2sense.test.input.tsv            word#pos TAB WordNet 3.0 sense key TAB word#pos#number TAB id
    paragraph2sentence.test.gs.tsv       a grade a line, the same lines as the input; other files too, with
                                         two decimals (2.75) or as short as can be (2.75, 3)

A word's sense, in any format, is a WordNet 3.0 sense key, or a definition in words; where there is WordNet
also word#pos#number. `annotation.sense_pairs` has fields that say more of it.

A system's output is a grade a line and, if wished, TAB and its confidence. Of word2sense the sense number
(the field `sense` of JSON Lines) is kept as the pair's `source`; items without an id are called by type and
line ("phrase2word-7").
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from functools import partial
from itertools import chain, islice
from pathlib import Path, PurePath
from typing import Any, NoReturn, TypeVar

from annotation.adjudication import NOTE_LENGTH, DecisionInput, NewDecision, is_version
from annotation.authoring import LargerItemInput, NewItem
from annotation.columns import (
    FIELDS,
    TEXTS,
    Columns,
    FirstLook,
    are_numbers,
    assign_columns,
    guess_by_content,
    guess_columns,
    id_of_line,
    names_no_columns,
    numbered_raters,
    rename,
)
from annotation.comparison import COMPARISON_TYPES
from annotation.errors import GradeError, ImportFileError
from annotation.files.tools import from_tool, item_of, tool_of
from annotation.scale import ANY_SCALE, CLSS, Scale
from annotation.sense_pairs import read_senses
from annotation.senses import WORD_TO_SENSE
from annotation.translation import Sentence, _, mark, ngettext, tell
from annotation.types import Cause, ItemInput, KnownPair, KnownPairInput, NewPair, NewRating
from annotation.wording import HALF, LONGEST_NAME, beginning, quote_value
from kpdemo.errors import InputError
from kpdemo.io.tables import (
    FORMATS,
    WORKBOOK_SUFFIXES,
    Line,
    Row,
    RowError,
    Source,
    TableFormat,
    TableRules,
    column_name,
    describe_bad_byte,
    format_of,
    is_workbook,
    open_source,
    parse_lines,
    read_lines,
    workbook_rows,
)

GOLD_COLUMN = "gold_source"
"""The column that tells a CSV of ours, whose cells were made safe for spreadsheets and are restored."""
REVISIONS_COLUMN = "revisions"
"""The same of single ratings."""
VERSION_COLUMN = "version_seen"
"""The same of decisions, which are for spreadsheets with tabs between the cells too."""
RATING_COLUMN = "rating:"
"""Begins the header of a column with the grades of one rater: "rating:ana"."""
RATING_FIELDS = frozenset({"id", "rater", "grade"})
ITEM_FIELDS = ("id", "text")
DECISION_FIELDS = ("id", "grade", "cause")
FILE_SUFFIXES = (*FORMATS, ".txt", ".json", *WORKBOOK_SUFFIXES)
"""Of the files that can be read, besides those of compressed ones and of the task."""

_NAMED_TYPE = re.compile(r"[^\W\d]\w*2\w+")
_NUMBER = re.compile(r"[+-]?[\d.,]+%?")


class FileFormat(StrEnum):
    TSV = "tsv"
    CSV = "csv"
    JSONL = "jsonl"
    """Or one array of objects."""
    SEMEVAL = "semeval"
    """The task's own input files: no header, no quotes, the comparison type in the file's name."""


@dataclass(slots=True)
class ReadingNotes:
    """What an importer is to know of how a file was read."""

    made_ids: int = 0
    """How many ids were made."""
    first_id: str = ""
    is_of_task: bool = False
    """Whether the file was taken for one of the task, which have no header."""
    is_of_sts: bool = False
    """Whether it was taken for one of the STS benchmark."""
    kind: str = ""
    """What it is, if it is no table of ours or the task's, such as "an export of Label Studio"."""
    columns: Columns = field(default_factory=dict)
    """Which columns were read as what, where it is not as they are called."""
    left_out: tuple[str, ...] = ()
    """The others then."""
    encoding: str = ""

    def make_id(self, id: str) -> str:
        """Take down an id that was made."""
        self.first_id = self.first_id or id
        self.made_ids += 1
        return id

    def sentences(self, name: str) -> list[str]:
        """What to know of the file that is called `name`."""
        return [sentence for sentence in (self.encoding, self._reading(name), self._ids(name)) if sentence]

    def _reading(self, name: str) -> str:
        if self.is_of_sts:
            return _(
                "{file} was read as a file of the STS benchmark; its scores, means of several people, were "
                "not imported.",
                file=name,
            )
        if self.kind:
            return _("{file} was read as {kind}.", file=name, kind=tell(self.kind))
        named = [
            _("{field} is {column}", field=field, column=column)
            for field, column in self.columns.items()
            if column not in (field, "")
        ]
        if not named:
            return ""
        said = f"{name}: {', '.join(named)}."
        if not self.left_out:
            return said
        return f"{said} {_('Not imported: {columns}.', columns=', '.join(self.left_out))}"

    def _ids(self, name: str) -> str:
        if not self.made_ids:
            return ""
        told = {"file": name, "count": f"{self.made_ids:,}", "first": self.first_id}
        if self.is_of_task:
            return ngettext(
                "{file} has no header and was read as an input file of SemEval-2014 Task 3: a pair has no id "
                "and got the number of the line, first {first}.",
                "{file} has no header and was read as an input file of SemEval-2014 Task 3: {count} pairs "
                "have no id and got the number of the line, first {first}.",
                self.made_ids,
                **told,
            )
        return ngettext(
            "{file}: a pair has no id and got the name of the file and the number of the line, first "
            "{first}.",
            "{file}: {count} pairs have no id and got the name of the file and the number of the line, first "
            "{first}.",
            self.made_ids,
            **told,
        )


@contextmanager
def import_errors() -> Iterator[None]:
    """Raise ImportFileError for what cannot be read."""
    try:
        yield
    except InputError as error:
        raise ImportFileError(str(error)) from None


@contextmanager
def open_file(path: Path, *, name: str = "", any_encoding: bool = False) -> Iterator[Source]:
    """Open a file, compressed or not; `name` is what messages call it, by default its path.

    Args:
        any_encoding: as of `open_source`.

    Raises:
        OSError: it cannot be opened.
        ImportFileError: it cannot be read.
    """
    with import_errors(), open_source(path, name=name, any_encoding=any_encoding) as source:
        yield source


def read_rows(
    source: Source,
    *,
    format: FileFormat | None = None,
    type: str | None = None,
    needs: Sequence[str] | None = None,
) -> Iterator[Row]:
    """The rows of an open file; arguments are those of `rows_or_errors`.

    Raises:
        ImportFileError: a line is no row.
    """
    for row in rows_or_errors(source, format=format, type=type, needs=needs):
        if isinstance(row, ImportFileError):
            raise row
        yield row


def rows_or_errors(
    source: Source,
    *,
    format: FileFormat | None = None,
    type: str | None = None,
    needs: Sequence[str] | None = None,
    columns: Columns | None = None,
    notes: ReadingNotes | None = None,
) -> Iterator[Row | ImportFileError]:
    """The rows of an open file; an error stands in the place of a line that is no row.

    Args:
        source: the file.
        format: None finds it out from the name's suffix and what is in the file.
        type: the comparison type of the task's own files, which name none.
        needs: the columns of files of which the task has none; None for pairs and ratings.
        columns: which are what, where their names do not tell; numbers are of a file without header.
        notes: takes down how pairs were read.

    Raises:
        ImportFileError: nothing of the file can be read, or nothing more.
    """
    columns, notes = columns or {}, notes or ReadingNotes()
    lacking = (
        partial(_describe_lacking_for_pairs, columns) if needs is None else partial(_describe_lacking, needs)
    )
    rules = TableRules(
        lacking,
        marks_are_text=True,
        is_escaped=_is_escaped,
        decimals=True,
        is_headerless=lambda cells: are_numbers(columns),
    )
    notes.encoding = source.note
    rows = _rows_of(source, rules, format, type, needs is not None or bool(columns), notes)
    if needs is None:
        rows = _as_pairs(source.name, rows, columns, notes)
    with import_errors():
        for row in rows:
            yield ImportFileError(str(row)) if isinstance(row, RowError) else row


def _rows_of(
    source: Source,
    rules: TableRules,
    format: FileFormat | None,
    type: str | None,
    has_columns: bool,
    notes: ReadingNotes,
) -> Iterator[Row | RowError]:
    """The rows of an open file as they stand in it, or, unless it `has_columns`, as the task has them."""
    if is_workbook(source):
        yield from workbook_rows(source, rules)
        return
    lines = read_lines(source)
    first = next((line for line in lines if line[1].strip()), None)
    if first is None:
        raise ImportFileError(f"{source.name}: the file is empty; give one with at least one row.")
    found = format or FileFormat(format_of(source.name, first[1]))
    rules = replace(rules, is_escaped=partial(_is_escaped, is_plain=first[1].startswith('"')))
    lines = chain([first], lines)
    if not has_columns and format is None and _is_of_sts(first[1]):
        notes.is_of_sts = True
        yield from _sts_rows(source.name, lines)
    elif not has_columns and (
        found is FileFormat.SEMEVAL or (found is FileFormat.TSV and _has_no_header(first[1]))
    ):
        notes.is_of_task = True
        yield from _task_rows(source.name, lines, type, notes)
    elif found is FileFormat.JSONL:
        parsed = parse_lines(source.name, lines, first[1], TableFormat.JSONL, rules)
        yield from (_with_column_names(source.name, row) for row in parsed)
    else:
        of_table = TableFormat.CSV if found is FileFormat.CSV else TableFormat.TSV
        yield from parse_lines(source.name, lines, first[1], of_table, rules)


def _as_pairs(
    name: str, rows: Iterator[Row | RowError], columns: Columns, notes: ReadingNotes
) -> Iterator[Row | RowError]:
    """Rows with the fields of pairs and ratings, whatever they are called in the file."""
    tool, assigned, makes_ids, is_first = "", columns, False, True
    for row in rows:
        if isinstance(row, RowError):
            yield row
            continue
        if is_first:
            is_first = False
            tool = tool_of(row.fields)
            if tool:
                notes.kind = _export_of(tool)
            else:
                names = [*row.fields]
                assigned = assign_columns(names, columns, f"{name}, {row.place}")
                has_texts = set(TEXTS) <= {*names, *assigned}
                makes_ids = has_texts and not {"id"} & {*names, *assigned}
                if assigned:
                    used = {*assigned, *assigned.values()}
                    notes.columns = assigned
                    numbered = numbered_raters(names) if has_texts else ()
                    notes.left_out = tuple(name for name in names if name not in used | {*FIELDS, *numbered})
                    if numbered:
                        columns_of_raters = _("{low} to {high}", low=1, high=len(numbered))
                        notes.columns = {**assigned, "ratings": columns_of_raters}
                        assigned = {**assigned, **{RATING_COLUMN + name: name for name in numbered}}
        try:
            fields = row.fields
            if tool:
                fields = from_tool(tool, fields, name, f"{name}, {row.place}", columns)
            elif assigned:
                fields = rename(fields, assigned)
            if makes_ids:
                fields = {**fields, "id": notes.make_id(id_of_line(name, row.line))}
            yield replace(row, fields=fields)
        except ImportFileError as error:
            yield RowError(str(error), row.line)


def _with_column_names(name: str, row: Row | RowError) -> Row | RowError:
    """An object with its fields called as columns are."""
    if isinstance(row, RowError):
        return row
    fields = {column_name(key): value for key, value in row.fields.items()}
    if len(fields) < len(row.fields):
        return RowError(f"{name}, {row.place}: two fields have the same name; rename one.", row.line)
    return Row(row.line, fields, row.unit)


def _is_escaped(names: Sequence[str], delimiter: str, *, is_plain: bool = False) -> bool:
    """Whether a table is one of ours with cells made safe for spreadsheets; `is_plain` by the marks of its
    header, as `annotation.files.gold_files.csv_header` writes it."""
    is_export = delimiter != "\t" and not is_plain and not {GOLD_COLUMN, REVISIONS_COLUMN}.isdisjoint(names)
    return VERSION_COLUMN in names or is_export


def text_lines(source: Source) -> Iterator[Line]:
    """The lines of an open file with their numbers, for files of one value a line.

    Raises:
        ImportFileError: the file is no UTF-8 text, or damaged.
    """
    with import_errors():
        for number, text in read_lines(source):
            if problem := describe_bad_byte(text):
                raise ImportFileError(f"{source.name}, line {number}: {problem}")
            yield number, text


def type_of_name(name: str) -> str | None:
    """The comparison type that a file's name begins with, as in paragraph2sentence.test.input.tsv."""
    base = PurePath(name).name
    stem = base.split(".")[0]
    if stem in COMPARISON_TYPES or _NAMED_TYPE.fullmatch(stem) or (stem and ".input." in base):
        return stem
    return None


def column_names(text: str, delimiter: str) -> list[str]:
    """Those of a header, in lower case."""
    return [cell.strip().strip('"').strip().lower() for cell in text.split(delimiter)]


def _has_no_header(first_line: str) -> bool:
    """A line of single words is taken for a header too: imported as a pair, it would go to raters unseen."""
    return _is_a_pair(column_names(first_line, "\t"))


def _is_a_pair(cells: Sequence[str]) -> bool:
    """Whether a first row is taken for one instead of a header."""
    return names_no_columns(cells) and not tool_of(dict.fromkeys(map(column_name, cells)))


def _describe_lacking_for_pairs(columns: Columns, names: Sequence[str]) -> str:
    found = {*names, *guess_columns(names), *(field for field, name in columns.items() if name)}
    if found.issuperset(TEXTS) or found.issuperset(RATING_FIELDS) or tool_of(dict.fromkeys(names)):
        return ""
    return (
        "it needs id, left and right, or, for ratings, id, rater and grade; or say which column is which, as "
        "in --columns left=A,right=B."
    )


def _describe_lacking(needs: Sequence[str], names: Sequence[str]) -> str:
    *others, last = needs
    return "" if set(needs).issubset(names) else f"it needs {', '.join(others)} and {last}."


def _task_rows(
    name: str, lines: Iterable[Line], type: str | None, notes: ReadingNotes
) -> Iterator[Row | RowError]:
    if type is None:
        raise InputError(
            f"{name}, line 1: no header with id, left and right (or id, rater and grade); add one, or, "
            "for an input file of SemEval-2014 Task 3, name its comparison type."
        )
    for number, text in lines:
        if not text.strip():
            continue
        cells = text.rstrip("\r\n").split("\t")
        if problem := describe_bad_byte(text) or _no_task_row(cells, 4 if type == WORD_TO_SENSE else 3):
            yield RowError(f"{name}, line {number}: {problem}", number)
            continue
        id = cells[-1].strip() if len(cells) > 2 else ""
        fields: dict[str, Any] = {
            "id": id or notes.make_id(f"{type}-{number}"),
            "type": type,
            "left": cells[0],
            "right": cells[1],
        }
        if type == WORD_TO_SENSE:
            fields["source"] = cells[2] if len(cells) == 4 else None
        elif "-" in id:
            fields["genre"] = id.rpartition("-")[0]
        yield Row(number, fields)


def _is_of_sts(first_line: str) -> bool:
    """Whether it begins a file of the STS benchmark (Cer et al. 2017): TSV, although it ends in .csv."""
    cells = first_line.split("\t")
    return (
        len(cells) >= 7 and cells[0].startswith("main-") and _NUMBER.fullmatch(cells[4].strip()) is not None
    )


def _sts_rows(name: str, lines: Iterable[Line]) -> Iterator[Row | RowError]:
    """Genre, file, year, number in that file, score, two sentences, and sources that are passed over."""
    for number, text in lines:
        cells = text.rstrip("\r\n").split("\t")
        if not text.strip():
            continue
        if problem := describe_bad_byte(text):
            yield RowError(f"{name}, line {number}: {problem}", number)
        elif len(cells) < 7:
            yield RowError(
                f"{name}, line {number}: {len(cells)} fields between tabs, not 7 as in the STS benchmark "
                "(genre, file, year, number, score, two sentences); add what is missing.",
                number,
            )
        else:
            genre, *of_id, score, left, right = (cell.strip() for cell in cells[:7])
            fields = {"id": "-".join(of_id), "genre": genre, "score": score, "left": left, "right": right}
            yield Row(number, fields)


def _no_task_row(cells: Sequence[str], most: int) -> str:
    """Why the cells are no pair of the task; nothing when they are."""
    if not 2 <= len(cells) <= most:
        return (
            f"{len(cells)} fields between tabs, not 2 to {most} (left item, right item, "
            f"{'sense number, ' if most == 4 else ''}id); add what is missing, or a header, or say which "
            "column is which, as in --columns left=1,right=2."
        )
    if all(_NUMBER.fullmatch(cell.strip()) for cell in cells[:2]):
        left, right = (cell.strip()[:40] for cell in cells[:2])
        return (
            f"{left!r} and {right!r} are numbers, no texts to grade; give a file of pairs, or add a header "
            "with id, left and right."
        )
    return ""


MOST_LISTED = 5


class WrongLinesError(ImportFileError):
    """Several lines cannot be used; the message is one sentence, which numbers those that it tells.

    `lines` has the same for a list: how many they are, then the reason of each.
    """

    def __init__(self, reasons: Sequence[str], total: int, done: str = "imported") -> None:
        """Prepare it.

        Args:
            reasons: of the first ones, each a sentence with its place.
            total: how many there are.
            done: what cannot be done with them.
        """
        few = "these are" if total == len(reasons) else f"the first {len(reasons)} are"
        self.lines = (f"{total:,} lines cannot be {done}; {few}:", *reasons)
        numbered = (
            f"({number}) {' '.join(reason.split()).removesuffix('.')}"
            for number, reason in enumerate(reasons, start=1)
        )
        super().__init__(f"{self.lines[0]} {'; '.join(numbered)}.")


class WrongLines:
    """Collects them; of all but the first few only the number is kept."""

    def __init__(self, done: str = "imported") -> None:
        """`done` is what cannot be done with them."""
        self._done = done
        self._first: list[ImportFileError] = []
        self._total = 0

    def __bool__(self) -> bool:
        return self._total > 0

    def add(self, error: ImportFileError) -> None:
        self._total += 1
        if len(self._first) < MOST_LISTED:
            self._first.append(error)

    def raise_if_any(self) -> None:
        """Do nothing where there are none.

        Raises:
            ImportFileError: the one that there is, as it is.
            WrongLinesError: there are several.
        """
        if self._total == 1:
            raise self._first[0]
        if self._total:
            raise WrongLinesError([str(error) for error in self._first], self._total, self._done)


MOST_FOLLOWING = 100_000


class FollowingLines:
    """Lines that can be used and come after a wrong one: later lines are compared with them too.

    A limited number is kept, so that a large file costs no more memory than these. Beyond them a line with an
    id of another one of the same file is not counted among the wrong ones.
    """

    def __init__(self) -> None:
        self._prints: dict[tuple[str, str], str] = {}
        self._taken: set[str] = set()

    def add(self, type: str, id: str, fingerprint: str) -> None:
        if len(self._prints) < MOST_FOLLOWING:
            self._prints[type, id] = fingerprint
            self._taken.add(fingerprint)

    def fingerprint_of(self, type: str, id: str) -> str | None:
        """Of the line with this id; None where there is none."""
        return self._prints.get((type, id))

    def __contains__(self, fingerprint: str) -> bool:
        return fingerprint in self._taken


LONGEST_TEXT = 250_000
LONGEST_ID = 200
LONGEST_EXPLANATION = 4_000
_DECIMAL_COMMA = re.compile(r"\d+,\d+")


class RowReader:
    """Takes the fields of one row apart; `where` begins every message, `type` is for a row without."""

    def __init__(self, fields: dict[str, Any], where: str, type: str | None, scale: Scale = CLSS) -> None:
        self._scale = scale
        self._fields = fields
        self._where = where
        self._type = type

    @property
    def pair_id(self) -> str | None:
        """Of the pair that the row would be; None for a rating in long form, or where it has none."""
        id = self._fields.get("id")
        return str(id).strip() if not self._is_long_form() and isinstance(id, str | int) else None

    def _is_long_form(self) -> bool:
        fields = self._fields
        has_texts = not (_is_empty(fields.get("left")) and _is_empty(fields.get("right")))
        return not has_texts and not _is_empty(fields.get("rater"))

    def item(self) -> NewPair | NewRating:
        fields = self._fields
        if self._is_long_form():
            rater, grade = self._single_rating()
            if len(self.ratings()) > 1:
                raise self._error("ratings", "there are a rater and a grade too; give each a row of its own")
            type = self._value_of("type", LONGEST_NAME) or self._type
            return NewRating(self._require("id", LONGEST_ID), rater, grade, type, self._where)
        if "rater" in fields and not _is_empty(fields.get("grade")) and _is_empty(fields["rater"]):
            raise self._error("rater", "a grade without rater; name the rater or empty the grade")
        return self._pair()

    def _pair(self) -> NewPair:
        fields = self._fields
        type = self._pair_type()
        is_sense = type == WORD_TO_SENSE
        source = self._value_of("source", LONGEST_TEXT)
        if source is None and is_sense:
            source = self._value_of("sense", LONGEST_ID)
        return NewPair(
            id=self._require("id", LONGEST_ID),
            type=type,
            left=self._require_text("left"),
            right=self._sense() if is_sense else self._require_text("right"),
            genre=self._value_of("genre", LONGEST_ID),
            intended=None
            if _is_empty(fields.get("intended"))
            else self._grade(fields["intended"], "intended"),
            source=source,
            ratings=self.ratings(),
            senses=read_senses(fields, self._refuse) if is_sense else None,
            place=self._where,
        )

    def _sense(self) -> str:
        """A sense key or, in its place, a sense number such as "pot#n#2"."""
        if _is_empty(self._fields.get("right")) and not _is_empty(self._fields.get("sense")):
            return self._require("sense", LONGEST_ID)
        return self._require_text("right")

    def larger_item(self) -> NewItem:
        return NewItem(
            id=self._require("id", LONGEST_ID),
            type=self._pair_type(),
            text=self._require_text("text"),
            genre=self._value_of("genre", LONGEST_ID),
            source=self._value_of("source", LONGEST_TEXT),
            place=self._where,
        )

    def known_pair(self) -> KnownPair:
        if self._is_long_form():
            raise self._blank("left", "write the text of the pair or delete the row")
        pair = self._pair()
        name = "gold" if "gold" in self._fields and _is_empty(self._fields.get("grade")) else "grade"
        if _is_empty(self._fields.get(name)):
            raise self._blank(name, f"write the known grade, {self._scale.ends}, or delete the row")
        explanation = self._value_of("explanation", LONGEST_EXPLANATION) or ""
        return KnownPair(pair, self._grade(self._fields[name], name), explanation)

    def decision(self) -> NewDecision | None:
        """None where grade, cause and note are empty."""
        if all(_is_empty(self._fields.get(name)) for name in ("grade", "cause", "note")):
            return None
        if _is_empty(self._fields.get("grade")):
            raise self._blank("grade", "write it, or empty cause and note too")
        return NewDecision(
            pair=self._require("id", LONGEST_ID),
            type=self._value_of("type", LONGEST_NAME),
            grade=self._grade(self._fields["grade"], "grade"),
            cause=self._cause(),
            note=self._value_of("note", NOTE_LENGTH) or "",
            version=self._version(),
            place=self._where,
        )

    def _cause(self) -> Cause:
        """By its value or name: "true_ambiguity", "True ambiguity"."""
        text = self._value_of("cause", LONGEST_NAME)
        if text is None:
            raise self._blank("cause", f"write one of {', '.join(Cause)}")
        cause = "_".join(text.lower().split())
        if cause not in set(Cause):
            raise self._error("cause", f"{quote_value(text)} is not a cause; write one of {', '.join(Cause)}")
        return Cause(cause)

    def _version(self) -> str | None:
        text = self._value_of(VERSION_COLUMN, LONGEST_NAME)
        if text is not None and not is_version(text):
            problem = (
                f"{quote_value(text)} is not a value that a table of decisions has there; restore the "
                "value, or "
                "leave it empty"
            )
            raise self._error(VERSION_COLUMN, problem)
        return text

    def _pair_type(self) -> str:
        type = self._value_of("type", LONGEST_NAME) or self._type
        if type is None:
            raise self._blank("type", "add it, or name the type of the whole file")
        return type

    def _require_text(self, name: str) -> str:
        text = self._fields.get(name)
        if _is_empty(text):
            raise self._blank(name, "write its text or delete the row")
        assert text is not None
        self._check(name, text, LONGEST_TEXT)
        return str(text)

    def _require(self, name: str, longest: int) -> str:
        value = self._value_of(name, longest)
        if value is None:
            raise self._blank(name, "fill it in or delete the row")
        return value

    def _value_of(self, name: str, longest: int) -> str | None:
        """A value that is known by its text, without space around it; None when there is none."""
        value = self._fields.get(name)
        if value is None:
            return None
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if _is_empty(value):
            return None
        self._check(name, value, longest)
        assert isinstance(value, str)
        return value.strip()

    def _check(self, name: str, value: object, longest: int) -> None:
        if not isinstance(value, str):
            raise self._error(name, f"{quote_value(value)} is not text; put it in quotes")
        if len(value) > longest:
            raise self._error(name, f"has {len(value):,} characters; shorten it to {longest:,}")
        if "\0" in value:
            raise self._error(name, f"{quote_value(value)} holds a NUL character; delete it")
        if found := HALF.search(value):
            raise self._error(name, f"holds half a character, U+{ord(found[0]):04X}; write it as UTF-8")

    def _single_rating(self) -> tuple[str, Decimal]:
        rater = self._require("rater", LONGEST_NAME)
        if _is_empty(self._fields.get("grade")):
            raise self._blank("grade", "fill it in or delete the row")
        return rater, self._grade(self._fields["grade"], "grade")

    def ratings(self) -> tuple[tuple[str, Decimal], ...]:
        """Rater and grade of each rating in the row.

        Raises:
            ImportFileError: a rating has no rater or no grade of the scale, or a rater has two.
        """
        found = list(self._parse_entries(self._fields["ratings"])) if "ratings" in self._fields else []
        for name, value in self._fields.items():
            if name.startswith(RATING_COLUMN) and not _is_empty(value):
                rater = self._rater(name.removeprefix(RATING_COLUMN), name)
                found.append((rater, self._grade(value, name)))
        if not _is_empty(self._fields.get("rater")):
            found.append(self._single_rating())
        if not found:
            return ()
        times = Counter(rater for rater, _ in found)
        twice = next((rater for rater, count in times.items() if count > 1), None)
        if twice is not None:
            raise self._error("ratings", f"{twice!r} rated the pair twice; keep one of the grades")
        own = f"{self._scale.lowest}-{self._scale.highest}"
        is_told = self._scale != ANY_SCALE
        if is_told and (scale := self._fields.get("scale")) not in (None, "", own):
            raise self._error("scale", f"{quote_value(scale)} is not {own}; convert the grades first")
        return tuple(found)

    def _parse_entries(self, value: object) -> Iterator[tuple[str, Decimal]]:
        if _is_empty(value):
            return
        for number, entry in enumerate(self._split(value), start=1):
            if _is_empty(entry):
                continue
            if isinstance(entry, dict):
                if not {"rater", "grade"} <= set(entry):
                    raise self._error("ratings", f'{quote_value(entry)} needs "rater" and "grade"')
                if _is_empty(entry["grade"]):
                    continue
                yield self._rater(entry["rater"], "ratings"), self._grade(entry["grade"], "ratings")
            else:
                yield str(number), self._grade(entry, "ratings")

    def _split(self, value: object) -> list[Any]:
        """The entries of `ratings`: a list, or the text of a cell."""
        if isinstance(value, str):
            if not value.lstrip().startswith("["):
                parts = (part.rpartition("=") for part in value.split(";"))
                return [{"rater": rater, "grade": grade} if mark else grade for rater, mark, grade in parts]
            try:
                value = json.loads(value, parse_float=Decimal, parse_constant=Decimal)
            except (ValueError, ArithmeticError, RecursionError):
                raise self._error(
                    "ratings", f"{quote_value(value)} is not a list; write 3;2.5 or [3, 2.5]"
                ) from None
        if not isinstance(value, list):
            raise self._error("ratings", f"{quote_value(value)} is not a list; write [3, 2.5]")
        return value

    def _rater(self, value: object, field: str) -> str:
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if _is_empty(value):
            raise self._error(field, "a rating without rater; name the rater")
        self._check(field, value, LONGEST_NAME)
        return str(value).strip()

    def _grade(self, value: object, field: str) -> Decimal:
        if isinstance(value, str):
            text = value.strip()
            if _DECIMAL_COMMA.fullmatch(text):
                text = text.replace(",", ".")
            try:
                value = Decimal(text)
            except InvalidOperation:
                raise self._no_grade(value, field) from None
        if isinstance(value, bool) or not isinstance(value, int | Decimal):
            raise self._no_grade(value, field)
        try:
            return self._scale.check(Decimal(value))
        except GradeError:
            raise self._error(
                field, f"{quote_value(value)} is not {self._scale.text}; fix it or delete the row"
            ) from None

    def _no_grade(self, value: object, field: str) -> ImportFileError:
        grades = f"{self._scale.ends} such as {self._scale.example}"
        return self._error(field, f"{quote_value(value)} is not a grade; write {grades}")

    def _blank(self, field: str, remedy: str) -> ImportFileError:
        state = "is missing" if self._fields.get(field) is None else "is empty"
        return self._error(field, f"{state}; {remedy}")

    def _refuse(self, field: str, problem: str) -> NoReturn:
        raise self._error(field, problem)

    def _error(self, field: str, problem: str) -> ImportFileError:
        return ImportFileError(f"{self._where}, field {field!r}: {problem}.")


def _is_empty(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


_Item = TypeVar("_Item")


def read_items_or_errors(
    source: Source,
    *,
    format: FileFormat | None = None,
    type: str | None = None,
    only_type: str | None = None,
    columns: Columns | None = None,
    notes: ReadingNotes | None = None,
    scale: Scale = CLSS,
) -> Iterator[ItemInput]:
    """The pairs and ratings of an open file, one at a time, as they are needed.

    An error stands in the place of a row that cannot be used, with file, line, field and value in its
    message; it is the last where no row can be read after it.

    Args:
        source: from `open_file`, or `open_stream` of `kpdemo.io.tables`.
        format: None finds it out from the name's suffix and what is in the file.
        type: the comparison type of rows that name none.
        only_type: that of the project, where it has one: of rows whose file names none either.
        columns: which are what, where their names do not tell; numbers are of a file without header.
        notes: takes down how pairs were read.
        scale: the project's, on which each grade has to be.
    """
    named = type_of_name(source.name)
    default = type or (named if named in COMPARISON_TYPES else only_type)
    rows = rows_or_errors(
        source, format=format, type=type or named or only_type, columns=columns, notes=notes
    )
    return _items(source.name, rows, default, RowReader.item, scale)


SHOWN_ROWS = 3
_LOOKED_AT_ROWS = 20


def look_at(source: Source, *, type: str | None = None) -> FirstLook:
    """What an open file seems to be, and its first rows; none of it is read further than that.

    Raises:
        ImportFileError: nothing of it can be read.
    """
    headerless = False

    def is_headerless(cells: Sequence[str]) -> bool:
        nonlocal headerless
        headerless = _is_a_pair(cells)
        return headerless

    rules = TableRules(marks_are_text=True, is_escaped=_is_escaped, is_headerless=is_headerless)
    notes = ReadingNotes()
    with import_errors():
        found = _rows_of(source, rules, None, type or "pair", False, notes)
        rows = [row for row in islice(found, _LOOKED_AT_ROWS) if isinstance(row, Row)]
    if not rows:
        return FirstLook(Sentence(mark("a file without a row that can be read")), (), (), None)
    tool = tool_of(rows[0].fields)
    if tool:
        columns: Columns | None = None
        try:
            pairs = [_shown_pair(tool, row, source.name) for row in rows[:SHOWN_ROWS]]
        except ImportFileError:  # it is not clear which of these are the texts
            pairs, columns = [item_of(tool, row.fields, source.name) for row in rows[:SHOWN_ROWS]], {}
        names = tuple(dict.fromkeys(name for fields in pairs for name in fields))
        shown = tuple(tuple(_beginning(fields.get(name)) for name in names) for fields in pairs)
        return FirstLook(_export_of(tool), names, shown, columns)
    names = tuple(rows[0].fields)
    shown = tuple(tuple(_beginning(row.fields.get(name)) for name in names) for row in rows[:SHOWN_ROWS])
    if notes.is_of_task:
        of_task = Sentence(mark("an input file of SemEval-2014 Task 3, without a header"))
        return FirstLook(of_task, names, shown, None)
    if notes.is_of_sts:
        return FirstLook(Sentence(mark("a file of the STS benchmark")), names, shown, None)
    if headerless:
        guess = guess_by_content([[str(value) for value in row.fields.values()] for row in rows])
        return FirstLook(Sentence(mark("a table without a header")), names, shown, guess)
    return FirstLook(Sentence(mark("a table with a header")), names, shown, guess_columns(names))


def _export_of(tool: str) -> Sentence:
    return Sentence(mark("an export of {tool}"), tool=tool.split(",")[0])


def _shown_pair(tool: str, row: Row, name: str) -> dict[str, Any]:
    """The pair of a row of an export, its ratings as text."""
    fields = from_tool(tool, row.fields, name, name, {})
    given = fields.get("ratings")
    if isinstance(given, list):
        fields["ratings"] = "; ".join(f"{one['rater']}={one['grade']}" for one in given)
    return fields


def _beginning(value: Any) -> str:
    return beginning(" ".join(("" if value is None else str(value)).split()), SHOWN_CHARACTERS)


SHOWN_CHARACTERS = 80


def read_known_pairs(
    source: Source, *, type: str | None = None, only_type: str | None = None, scale: Scale = CLSS
) -> Iterator[KnownPairInput]:
    """The pairs of an open file with their fields `grade` (or `gold`) and, if wished, `explanation`.

    Arguments and errors are those of `read_items_or_errors`.
    """
    named = type_of_name(source.name)
    default = type or (named if named in COMPARISON_TYPES else only_type)
    rows = rows_or_errors(source, type=type or named or only_type)
    return _items(source.name, rows, default, RowReader.known_pair, scale)


def read_larger_items(
    source: Source, *, format: FileFormat | None = None, type: str | None = None
) -> Iterator[LargerItemInput]:
    """The larger items of an open file; arguments and errors are those of `read_items_or_errors`."""
    rows = rows_or_errors(source, format=format, type=type, needs=ITEM_FIELDS)
    return _items(source.name, rows, type, RowReader.larger_item)


def read_decisions(source: Source, *, scale: Scale = CLSS) -> Iterator[DecisionInput]:
    """The decisions of an open table, such as `annotation.cli.adjudication` writes; None of a row
    without grade, cause and note. Errors are those of `read_items_or_errors`."""
    rows = rows_or_errors(source, needs=DECISION_FIELDS)
    return _items(source.name, rows, None, RowReader.decision, scale)


def _items(
    name: str,
    rows: Iterable[Row | ImportFileError],
    type: str | None,
    read: Callable[[RowReader], _Item],
    scale: Scale = CLSS,
) -> Iterator[_Item | ImportFileError]:
    """What `read` makes of each row; `type` is of rows that name none."""
    is_empty = True
    try:
        for row in rows:
            is_empty = False
            if isinstance(row, ImportFileError):
                yield row
                continue
            reader = RowReader(row.fields, f"{name}, {row.place}", type, scale)
            try:
                found: _Item | ImportFileError = read(reader)
            except ImportFileError as error:
                found, error.pair_id = error, reader.pair_id
            yield found
        if is_empty:
            yield ImportFileError(f"{name}: the file has no rows; add one or more.")
    except ImportFileError as error:  # of the file: nothing after it can be read
        yield error


def fingerprint(type: str, left: str, right: str) -> str:
    """The same for pairs that read the same: what differs only in white space is one pair."""
    texts = [" ".join(unicodedata.normalize("NFC", text).split()) for text in (left, right)]
    return hashlib.sha256("\0".join((type, *texts)).encode()).hexdigest()
