"""Reading pairs, ratings and decisions from files.

Tables (TSV, CSV with comma or semicolon) have a header, JSON Lines an object a line; names of fields in any
case, .gz may follow the suffix, the file is UTF-8. Fields that are not named here are passed over. In CSV a
text may stand in quotes; in TSV a quotation mark is a character like any other, unless the header is in
quotes too; where a program may have put single cells in quotes, `resolve_quotes` in `annotation.files.tables`
decides. A JSON array of objects is read like JSON Lines.

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
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn, TypeVar, cast

from annotation.adjudication import NOTE_LENGTH, DecisionInput, NewDecision, is_version
from annotation.authoring import LargerItemInput, NewItem
from annotation.comparison import COMPARISON_TYPES
from annotation.errors import GradeError, ImportFileError
from annotation.files.formats import (
    FileFormat,
    Source,
    decision_columns,
    item_columns,
    rows_or_errors,
    type_of_name,
)
from annotation.files.tables import RATING_COLUMN, VERSION_COLUMN, Row
from annotation.scale import CLSS
from annotation.sense_pairs import read_senses
from annotation.senses import WORD_TO_SENSE
from annotation.types import Cause, ItemInput, KnownPair, KnownPairInput, NewPair, NewRating
from annotation.wording import HALF, LONGEST_NAME, quote_value

MOST_TOLD = 5


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
        if len(self._first) < MOST_TOLD:
            self._first.append(error)

    def tell(self) -> None:
        """Do nothing where there are none.

        Raises:
            ImportFileError: the one that there is, as it is.
            WrongLinesError: there are several.
        """
        if self._total == 1:
            raise self._first[0]
        if self._total:
            raise WrongLinesError([str(error) for error in self._first], self._total, self._done)


MOST_WITHHELD = 100_000


class Withheld:
    """Lines that can be used and come after a wrong one: later lines are compared with them too.

    A limited number is kept, so that a large file costs no more memory than these. Beyond them a line with an
    id of another one of the same file is not counted among the wrong ones.
    """

    def __init__(self) -> None:
        self._prints: dict[tuple[str, str], str] = {}
        self._taken: set[str] = set()

    def add(self, type: str, id: str, fingerprint: str) -> None:
        if len(self._prints) < MOST_WITHHELD:
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

    def __init__(self, fields: dict[str, Any], where: str, type: str | None) -> None:
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
            rater, grade = self._long_form()
            if len(self.ratings()) > 1:
                raise self._error("ratings", "there are a rater and a grade too; give each a row of its own")
            type = self._short("type", LONGEST_NAME) or self._type
            return NewRating(self._needed("id", LONGEST_ID), rater, grade, type, self._where)
        if "rater" in fields and not _is_empty(fields.get("grade")) and _is_empty(fields["rater"]):
            raise self._error("rater", "a grade without rater; name the rater or empty the grade")
        return self._pair()

    def _pair(self) -> NewPair:
        fields = self._fields
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
            ratings=self.ratings(),
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
        if self._is_long_form():
            raise self._blank("left", "write the text of the pair or delete the row")
        pair = self._pair()
        name = "gold" if "gold" in self._fields and _is_empty(self._fields.get("grade")) else "grade"
        if _is_empty(self._fields.get(name)):
            raise self._blank(name, "write the known grade, 0 to 4, or delete the row")
        explanation = self._short("explanation", LONGEST_EXPLANATION) or ""
        return KnownPair(pair, self._grade(self._fields[name], name), explanation)

    def decision(self) -> NewDecision | None:
        """None where grade, cause and note are empty."""
        if all(_is_empty(self._fields.get(name)) for name in ("grade", "cause", "note")):
            return None
        if _is_empty(self._fields.get("grade")):
            raise self._blank("grade", "write it, or empty cause and note too")
        return NewDecision(
            pair=self._needed("id", LONGEST_ID),
            type=self._short("type", LONGEST_NAME),
            grade=self._grade(self._fields["grade"], "grade"),
            cause=self._cause(),
            note=self._short("note", NOTE_LENGTH) or "",
            version=self._version(),
            place=self._where,
        )

    def _cause(self) -> Cause:
        """By its value or name: "true_ambiguity", "True ambiguity"."""
        text = self._short("cause", LONGEST_NAME)
        if text is None:
            raise self._blank("cause", f"write one of {', '.join(Cause)}")
        cause = "_".join(text.lower().split())
        if cause not in set(Cause):
            raise self._error("cause", f"{quote_value(text)} is not a cause; write one of {', '.join(Cause)}")
        return Cause(cause)

    def _version(self) -> str | None:
        text = self._short(VERSION_COLUMN, LONGEST_NAME)
        if text is not None and not is_version(text):
            problem = (
                f"{quote_value(text)} is not a value that a table of decisions has there; restore the "
                "value, or "
                "leave it empty"
            )
            raise self._error(VERSION_COLUMN, problem)
        return text

    def _pair_type(self) -> str:
        type = self._short("type", LONGEST_NAME) or self._type
        if type is None:
            raise self._blank("type", "add it, or name the type of the whole file")
        return type

    def _text(self, name: str) -> str:
        text = self._fields.get(name)
        if _is_empty(text):
            raise self._blank(name, "write its text or delete the row")
        assert text is not None
        self._check(name, text, LONGEST_TEXT)
        return str(text)

    def _needed(self, name: str, longest: int) -> str:
        value = self._short(name, longest)
        if value is None:
            raise self._blank(name, "fill it in or delete the row")
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
            raise self._error(name, f"{quote_value(value)} is not text; put it in quotes")
        if len(value) > longest:
            raise self._error(name, f"has {len(value):,} characters; shorten it to {longest:,}")
        if "\0" in value:
            raise self._error(name, f"{quote_value(value)} holds a NUL character; delete it")
        if found := HALF.search(value):
            raise self._error(name, f"holds half a character, U+{ord(found[0]):04X}; write it as UTF-8")

    def _long_form(self) -> tuple[str, Decimal]:
        rater = self._needed("rater", LONGEST_NAME)
        if _is_empty(self._fields.get("grade")):
            raise self._blank("grade", "fill it in or delete the row")
        return rater, self._grade(self._fields["grade"], "grade")

    def ratings(self) -> tuple[tuple[str, Decimal], ...]:
        """Rater and grade of each rating in the row.

        Raises:
            ImportFileError: a rating has no rater or no grade of the scale, or a rater has two.
        """
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
            raise self._error("scale", f"{quote_value(scale)} is not 0-4; convert the grades first")
        return tuple(found)

    def _listed(self, value: object) -> Iterator[tuple[str, Decimal]]:
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
                return [self._named(part) for part in value.split(";")]
            try:
                value = json.loads(value, parse_float=Decimal, parse_constant=Decimal)
            except (ValueError, ArithmeticError, RecursionError):
                raise self._error(
                    "ratings", f"{quote_value(value)} is not a list; write 3;2.5 or [3, 2.5]"
                ) from None
        if not isinstance(value, list):
            raise self._error("ratings", f"{quote_value(value)} is not a list; write [3, 2.5]")
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
                raise self._error(
                    field, f"{quote_value(value)} is not a grade; write 0 to 4 such as 2.75"
                ) from None
        if isinstance(value, bool) or not isinstance(value, int | Decimal):
            raise self._error(field, f"{quote_value(value)} is not a grade; write 0 to 4 such as 2.75")
        try:
            return CLSS.check(Decimal(value))
        except GradeError:
            raise self._error(
                field, f"{quote_value(value)} is not 0 to 4 in steps of {CLSS.step}; fix it or delete the row"
            ) from None

    def _blank(self, field: str, remedy: str) -> ImportFileError:
        state = "is missing" if self._fields.get(field) is None else "is empty"
        return self._error(field, f"{state}; {remedy}")

    def _refuse(self, field: str, problem: str) -> NoReturn:
        raise self._error(field, problem)

    def _error(self, field: str, problem: str) -> ImportFileError:
        return ImportFileError(f"{self._where}, field {field!r}: {problem}.")


def _is_empty(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


_Read = TypeVar("_Read")


def read_items_or_errors(
    source: Source,
    *,
    format: FileFormat | None = None,
    type: str | None = None,
    only_type: str | None = None,
) -> Iterator[ItemInput]:
    """The pairs and ratings of an open file, one at a time, as they are needed.

    An error stands in the place of a row that cannot be used, with file, line, field and value in its
    message; it is the last where no row can be read after it.

    Args:
        source: from `annotation.files.formats.open_source`.
        format: None finds it out from the name's suffix and the first line.
        type: the comparison type of rows that name none.
        only_type: that of the project, where it has one: of rows whose file names none either.
    """
    return _or_errors(source.name, _row_readers(source, format, type, only_type), RowReader.item)


def read_known_pairs(
    source: Source, *, type: str | None = None, only_type: str | None = None
) -> Iterator[KnownPairInput]:
    """The pairs of an open file with their fields `grade` (or `gold`) and, if wished, `explanation`.

    Arguments and errors are those of `read_items_or_errors`.
    """
    return _or_errors(source.name, _row_readers(source, None, type, only_type), RowReader.known_pair)


def read_larger_items(
    source: Source, *, format: FileFormat | None = None, type: str | None = None
) -> Iterator[LargerItemInput]:
    """The larger items of an open file; arguments and errors are those of `read_items_or_errors`."""
    rows = rows_or_errors(source, format=format, type=type, needs=item_columns)
    return _or_errors(source.name, _readers(source, rows, type), RowReader.larger_item)


def read_decisions(source: Source) -> Iterator[DecisionInput]:
    """The decisions of an open table, such as `annotation.cli.adjudication` writes; None of a row
    without grade, cause and note. Errors are those of `read_items_or_errors`."""
    rows = rows_or_errors(source, format=None, type=None, needs=decision_columns)
    return _or_errors(source.name, _readers(source, rows, None), RowReader.decision)


def _or_errors(
    name: str, readers: Iterable[RowReader | ImportFileError], read: Callable[[RowReader], _Read]
) -> Iterator[_Read | ImportFileError]:
    is_empty = True
    try:
        for reader in readers:
            is_empty = False
            try:
                found = reader if isinstance(reader, ImportFileError) else read(reader)
            except ImportFileError as error:
                found, error.pair_id = error, cast(RowReader, reader).pair_id
            yield found
        if is_empty:
            yield ImportFileError(f"{name}: the file has a header and no rows; add one row or more.")
    except ImportFileError as error:  # of the file: nothing after it can be read
        yield error


def _row_readers(
    source: Source, format: FileFormat | None, type: str | None, only_type: str | None
) -> Iterator[RowReader | ImportFileError]:
    """Of each row; its type is the one named here, else by the file's name, else the project's only one."""
    named = type_of_name(source.name)
    default = type or (named if named in COMPARISON_TYPES else only_type)
    return _readers(source, rows_or_errors(source, format=format, type=type or named or only_type), default)


def _readers(
    source: Source, rows: Iterable[Row | ImportFileError], default: str | None
) -> Iterator[RowReader | ImportFileError]:
    for row in rows:
        if isinstance(row, ImportFileError):
            yield row
        else:
            yield RowReader(row.fields, f"{source.name}, {row.place}", default)


def fingerprint(type: str, left: str, right: str) -> str:
    """The same for pairs that read the same: what differs only in white space is one pair."""
    texts = [" ".join(unicodedata.normalize("NFC", text).split()) for text in (left, right)]
    return hashlib.sha256("\0".join((type, *texts)).encode()).hexdigest()
