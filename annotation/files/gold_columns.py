"""The columns that the tables of a gold set have, and the values of a row in them."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from annotation.files.spreadsheet import GOLD_COLUMN
from annotation.gold import GoldRow
from annotation.senses.fields import SENSE_COLUMNS, sense_values


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
        return (*COLUMNS, *senses, *reason, *(("comments",) if self.has_comments else ()))

    @property
    def all_columns(self) -> tuple[str, ...]:
        """With the ratings, where they are one column."""
        return (*self.columns, *(("ratings",) if self.has_ratings else ()))


COLUMNS = (
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
