"""The fields of one row of a file of pairs, ratings, decisions or larger items, whatever its format."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn

from annotation.adjudication import NOTE_LENGTH, NewDecision, is_version
from annotation.authoring import NewItem
from annotation.characters import HALF, shown
from annotation.errors import GradeError, ImportFileError
from annotation.files.spreadsheet import VERSION_COLUMN
from annotation.files.tables import RATING_COLUMN
from annotation.names import LONGEST_NAME
from annotation.scale import CLSS
from annotation.senses.fields import read_senses
from annotation.senses.network import WORD_TO_SENSE
from annotation.types import Cause, KnownPair, NewPair, NewRating

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
            raise self._error("cause", f"{shown(text)} is not a cause; write one of {', '.join(Cause)}")
        return Cause(cause)

    def _version(self) -> str | None:
        text = self._short(VERSION_COLUMN, LONGEST_NAME)
        if text is not None and not is_version(text):
            problem = (
                f"{shown(text)} is not a value that a table of decisions has there; restore the value, or "
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
            raise self._error(name, f"{shown(value)} is not text; put it in quotes")
        if len(value) > longest:
            raise self._error(name, f"has {len(value):,} characters; shorten it to {longest:,}")
        if "\0" in value:
            raise self._error(name, f"{shown(value)} holds a NUL character; delete it")
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
            except (ValueError, ArithmeticError, RecursionError):
                raise self._error(
                    "ratings", f"{shown(value)} is not a list; write 3;2.5 or [3, 2.5]"
                ) from None
        if not isinstance(value, list):
            raise self._error("ratings", f"{shown(value)} is not a list; write [3, 2.5]")
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
                    field, f"{shown(value)} is not a grade; write 0 to 4 such as 2.75"
                ) from None
        if isinstance(value, bool) or not isinstance(value, int | Decimal):
            raise self._error(field, f"{shown(value)} is not a grade; write 0 to 4 such as 2.75")
        try:
            return CLSS.check(Decimal(value))
        except GradeError:
            raise self._error(
                field, f"{shown(value)} is not 0 to 4 in steps of {CLSS.step}; fix it or delete the row"
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
