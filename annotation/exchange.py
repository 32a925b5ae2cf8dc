"""Reading pairs and ratings from files.

Tables (TSV, CSV with comma or semicolon) have a header, JSON Lines an object a line; names of fields in
any case, .gz may follow the suffix, the file is UTF-8. Fields that are not named here are passed over. In CSV
a text may stand in quotes; in TSV a quotation mark is a character like any other, unless the header is in
quotes too; where a program may have put single cells in quotes, `annotation.quotes` decides.

- Pairs: `id`, `type` (may be left out where it is given otherwise), `left` (the larger item), `right`, and,
  if wished, `genre`, `intended` (the grade that the author aimed at) and `source`.
- Larger items, for which pairs are to be written: `id`, `type`, `text` and, if wished, `genre` and `source`.
- Ratings with their pair: `ratings`, a list of grades, or of {"rater", "grade"}; in a table "3;2.5", or
  "ana=3;ben=2.5", or a column "rating:ana" for each rater. Grades without a name are of raters "1", "2" and
  so on, in their order; null or an empty place is no rating.
- Ratings in long form: `id`, `rater`, `grade` and, if ids are not unique, `type`: a rating a row, of pairs
  imported before or earlier in the same file; with `left` and `right` in the row it brings its pair along.

The files of SemEval-2014 Task 3 are UTF-8 without header and without quoting: a quotation mark is a character
like any other. A pair a line, item ids at the end, which begin with the genre ("Travel-12"):

    paragraph2sentence.test.input.tsv    larger TAB smaller TAB id     (also sentence2phrase, phrase2word)
    word2sense.test.input.tsv            word#pos TAB WordNet 3.0 sense key TAB word#pos#number TAB id
    paragraph2sentence.test.gs.tsv       a grade a line, the same lines as the input; other files too, with
                                         two decimals (2.75) or as short as can be (2.75, 3)

A word's sense, in any format, is a WordNet 3.0 sense key, or a definition in words; where there is WordNet
also word#pos#number. `annotation.sense_fields` has fields that say more of it.

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
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn

from annotation.authoring import NewItem
from annotation.characters import HALF, shown
from annotation.comparison import COMPARISON_TYPES
from annotation.errors import GradeError, ImportFileError
from annotation.formats import (
    FileFormat,
    Source,
    open_source,
    open_stream,
    read_rows,
    type_of_name,
)
from annotation.scale import CLSS
from annotation.sense_fields import read_senses
from annotation.senses import WORD_TO_SENSE
from annotation.tables import RATING_COLUMN
from annotation.types import KnownPair, NewPair, NewRating, ReadItem

__all__ = [
    "FileFormat",
    "Source",
    "fingerprint",
    "open_source",
    "open_stream",
    "read_items",
    "read_items_or_errors",
    "read_known_pairs",
    "read_larger_items",
    "type_of_name",
]

LONGEST_TEXT = 250_000
LONGEST_ID = 200
LONGEST_NAME = 80
LONGEST_EXPLANATION = 4_000
_DECIMAL_COMMA = re.compile(r"\d+,\d+")


def read_items(
    source: Source, *, format: FileFormat | None = None, type: str | None = None
) -> Iterator[NewPair | NewRating]:
    """The pairs and ratings of an open file, one at a time.

    Args:
        source: from `open_source`.
        format: None finds it out from the name's suffix and the first line.
        type: the comparison type of rows that name none.

    Raises:
        ImportFileError: a row cannot be used; the message names file, line, field and value.
    """
    for item in read_items_or_errors(source, format=format, type=type):
        if isinstance(item, ImportFileError):
            raise item
        yield item


def read_items_or_errors(
    source: Source,
    *,
    format: FileFormat | None = None,
    type: str | None = None,
    only_type: str | None = None,
) -> Iterator[ReadItem]:
    """As `read_items`, but an error stands in the place of its row, and is the last where no row follows.

    Args:
        only_type: that of the project, where it has one: of rows whose file names none either.
    """
    try:
        for reader in _row_readers(source, format, type, only_type):
            try:
                item: ReadItem = reader.item()
            except ImportFileError as error:
                item = error
            yield item
    except ImportFileError as error:  # of the file: nothing after it can be read
        yield error


def read_larger_items(
    source: Source, *, format: FileFormat | None = None, type: str | None = None
) -> Iterator[NewItem]:
    """The larger items of an open file, one at a time; arguments and errors are those of `read_items`."""
    for row in read_rows(source, format=format, type=type, of_items=True):
        yield _RowReader(row.fields, f"{source.name}, line {row.line}", type).larger_item()


def read_known_pairs(
    source: Source,
    *,
    format: FileFormat | None = None,
    type: str | None = None,
    only_type: str | None = None,
) -> Iterator[KnownPair]:
    """The pairs of an open file with their fields `grade` (or `gold`) and, if wished, `explanation`.

    Args:
        source: from `open_source`.
        format: None finds it out from the name's suffix and the first line.
        type: the comparison type of rows that name none.
        only_type: that of the project, where it has one: of rows whose file names none either.

    Raises:
        ImportFileError: a row cannot be used; the message names file, line, field and value.
    """
    for reader in _row_readers(source, format, type, only_type):
        yield reader.known_pair()


def _row_readers(
    source: Source, format: FileFormat | None, type: str | None, only_type: str | None
) -> Iterator[_RowReader]:
    """Of each row; its type is the one named here, else by the file's name, else the project's only one."""
    named = type_of_name(source.name)
    default = type or (named if named in COMPARISON_TYPES else only_type)
    for row in read_rows(source, format=format, type=type or named or only_type):
        yield _RowReader(row.fields, f"{source.name}, line {row.line}", default)


def fingerprint(type: str, left: str, right: str) -> str:
    """The same for pairs that read the same: what differs only in white space is one pair."""
    texts = [" ".join(unicodedata.normalize("NFC", text).split()) for text in (left, right)]
    return hashlib.sha256("\0".join((type, *texts)).encode()).hexdigest()


class _RowReader:
    """Takes the fields of one row apart; `where` begins every message."""

    def __init__(self, fields: dict[str, Any], where: str, type: str | None) -> None:
        self._fields = fields
        self._where = where
        self._type = type

    def item(self) -> NewPair | NewRating:
        fields = self._fields
        has_texts = not (_is_empty(fields.get("left")) and _is_empty(fields.get("right")))
        if not has_texts and not _is_empty(fields.get("rater")):
            rater, grade = self._long_form()
            type = self._short("type", LONGEST_NAME) or self._type
            return NewRating(self._needed("id", LONGEST_ID), rater, grade, type, self._where)
        type = self._pair_type()
        is_sense = type == WORD_TO_SENSE
        source = self._short("source", LONGEST_TEXT)
        if source is None and is_sense:
            source = self._short("sense", LONGEST_ID)
        return NewPair(
            id=self._needed("id", LONGEST_ID),
            type=type,
            left=self._text("left"),
            right=self._sense() if is_sense else self._text("right"),
            genre=self._short("genre", LONGEST_ID),
            intended=None
            if _is_empty(fields.get("intended"))
            else self._grade(fields["intended"], "intended"),
            source=source,
            ratings=self._ratings(),
            senses=read_senses(fields, self._refuse) if is_sense else None,
            place=self._where,
        )

    def _sense(self) -> str:
        """A sense key or, in its place, a sense number such as "pot#n#2"."""
        if _is_empty(self._fields.get("right")) and not _is_empty(self._fields.get("sense")):
            return self._needed("sense", LONGEST_ID)
        return self._text("right")

    def larger_item(self) -> NewItem:
        return NewItem(
            id=self._needed("id", LONGEST_ID),
            type=self._pair_type(),
            text=self._text("text"),
            genre=self._short("genre", LONGEST_ID),
            source=self._short("source", LONGEST_TEXT),
            place=self._where,
        )

    def known_pair(self) -> KnownPair:
        pair = self.item()
        if not isinstance(pair, NewPair):
            raise self._error("left", "is empty; write the text of the pair or delete the row")
        name = "gold" if _is_empty(self._fields.get("grade")) else "grade"
        if _is_empty(self._fields.get(name)):
            raise self._error("grade", "is empty; write the known grade, 0 to 4, or delete the row")
        explanation = self._short("explanation", LONGEST_EXPLANATION) or ""
        return KnownPair(pair, self._grade(self._fields[name], name), explanation)

    def _pair_type(self) -> str:
        type = self._short("type", LONGEST_NAME) or self._type
        if type is None:
            raise self._error("type", "is missing; add it, or name the type of the whole file")
        return type

    def _text(self, name: str) -> str:
        text = self._fields.get(name)
        if _is_empty(text):
            raise self._error(name, "is empty; write its text or delete the row")
        assert text is not None
        self._check(name, text, LONGEST_TEXT)
        return str(text)

    def _needed(self, name: str, longest: int) -> str:
        value = self._short(name, longest)
        if value is None:
            raise self._error(name, "is empty; fill it in or delete the row")
        return value

    def _short(self, name: str, longest: int) -> str | None:
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
            raise self._error(name, f"{shown(value)} is no text; put it in quotes")
        if len(value) > longest:
            raise self._error(name, f"has {len(value):,} characters; shorten it to {longest:,}")
        if "\0" in value:
            raise self._error(name, f"{shown(value)} holds a NUL character; delete it")
        if found := HALF.search(value):
            raise self._error(name, f"holds half a character, U+{ord(found[0]):04X}; write it as UTF-8")

    def _long_form(self) -> tuple[str, Decimal]:
        rater = self._needed("rater", LONGEST_NAME)
        if _is_empty(self._fields.get("grade")):
            raise self._error("grade", "is empty; fill it in or delete the row")
        return rater, self._grade(self._fields["grade"], "grade")

    def _ratings(self) -> tuple[tuple[str, Decimal], ...]:
        found = list(self._listed(self._fields["ratings"])) if "ratings" in self._fields else []
        for name, value in self._fields.items():
            if name.startswith(RATING_COLUMN) and not _is_empty(value):
                rater = self._rater(name.removeprefix(RATING_COLUMN), name)
                found.append((rater, self._grade(value, name)))
        if not _is_empty(self._fields.get("rater")):
            found.append(self._long_form())
        if not found:
            return ()
        times = Counter(rater for rater, _ in found)
        twice = next((rater for rater, count in times.items() if count > 1), None)
        if twice is not None:
            raise self._error("ratings", f"{twice!r} rated the pair twice; keep one of the grades")
        if (scale := self._fields.get("scale")) not in (None, "", "0-4"):
            raise self._error("scale", f"{shown(scale)} is not 0-4; convert the grades first")
        return tuple(found)

    def _listed(self, value: object) -> Iterator[tuple[str, Decimal]]:
        if _is_empty(value):
            return
        for number, entry in enumerate(self._split(value), start=1):
            if _is_empty(entry):
                continue
            if isinstance(entry, dict):
                if not {"rater", "grade"} <= set(entry):
                    raise self._error("ratings", f'{shown(entry)} needs "rater" and "grade"')
                if _is_empty(entry["grade"]):
                    continue
                yield self._rater(entry["rater"], "ratings"), self._grade(entry["grade"], "ratings")
            else:
                yield str(number), self._grade(entry, "ratings")

    def _split(self, value: object) -> list[Any]:
        """The entries of `ratings`: a list, or the text of a cell."""
        if isinstance(value, str):
            if not value.lstrip().startswith("["):
                return [self._named(part) for part in value.split(";")]
            try:
                value = json.loads(value, parse_float=Decimal, parse_constant=Decimal)
            except (ValueError, RecursionError):
                raise self._error("ratings", f"{shown(value)} is no list; write 3;2.5 or [3, 2.5]") from None
        if not isinstance(value, list):
            raise self._error("ratings", f"{shown(value)} is no list; write [3, 2.5]")
        return value

    def _named(self, part: str) -> object:
        rater, separator, grade = part.rpartition("=")
        return {"rater": rater, "grade": grade} if separator else part

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
                raise self._error(field, f"{shown(value)} is no grade; write 0 to 4 such as 2.75") from None
        if isinstance(value, bool) or not isinstance(value, int | Decimal):
            raise self._error(field, f"{shown(value)} is no grade; write 0 to 4 such as 2.75")
        try:
            return CLSS.check(Decimal(value))
        except GradeError:
            raise self._error(
                field, f"{shown(value)} is not 0 to 4 in steps of {CLSS.step}; mend it or delete the row"
            ) from None

    def _refuse(self, field: str, problem: str) -> NoReturn:
        raise self._error(field, problem)

    def _error(self, field: str, problem: str) -> ImportFileError:
        return ImportFileError(f"{self._where}, field {field!r}: {problem}.")


def _is_empty(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())
