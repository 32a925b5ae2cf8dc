"""Single ratings in long form, a row each, which can be imported again: id, type, rater, grade and more.

jsonl: an object a line, grades as numbers. csv: with a header, cells made safe (spreadsheet.py). tsv: with a
header, without quotes, and so without ids that have tabs or line breaks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Any

from annotation.errors import ExportError
from annotation.files.gold_files import FIELD_ENDS, cell_text, csv_line, json_line, tsv_line
from annotation.files.spreadsheet import REVISIONS_COLUMN

COLUMNS = ("id", "type", "rater", "grade", "seconds", "at", REVISIONS_COLUMN)


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


def format_of(path: Path) -> RatingFormat | None:
    """By the ending of its name; None for another.

    >>> format_of(Path("news.CSV")).value, format_of(Path("news.txt"))
    ('csv', None)
    """
    ending = path.suffix.lower().removeprefix(".")
    return RatingFormat(ending) if ending in set(RatingFormat) else None


def rating_lines(ratings: Iterable[SingleRating], format: RatingFormat) -> Iterator[str]:
    """The lines of a file, with their ends.

    Raises:
        ExportError: the id of a pair would not be the same in a TSV file.
    """
    rows = map(_values, ratings)
    if format is RatingFormat.JSONL:
        yield from map(json_line, rows)
    elif format is RatingFormat.CSV:
        yield csv_line(COLUMNS)
        yield from (csv_line([cell_text(value) for value in row.values()]) for row in rows)
    else:
        yield tsv_line(COLUMNS)
        for row in rows:
            if FIELD_ENDS.search(row["id"]):
                raise ExportError(
                    f"The id {row['id']!r} has a tab or a line break, which TSV cannot hold: "
                    "write CSV or JSON Lines."
                )
            yield tsv_line(value if isinstance(value, str) else cell_text(value) for value in row.values())


def _values(rating: SingleRating) -> dict[str, Any]:
    at = None if rating.at is None else rating.at.isoformat(timespec="seconds")
    cells = (rating.id, rating.type, rating.rater, float(rating.grade), rating.seconds, at, rating.revisions)
    return dict(zip(COLUMNS, cells, strict=True))
