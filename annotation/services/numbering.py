"""The numbers that stand for raters wherever their names are not shown: the same in files and on pages."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import select
from sqlalchemy.orm import Session

from annotation.gold import rater_numbers
from annotation.services.gold_rows import rater_ids
from db.models import Export, Project

NUMBERS = "rater_numbers"
"""Where an export keeps, among its options, the numbers that it used."""
RATINGS = "ratings"
"""The format of what is no gold set but all single ratings; it is kept for its numbers."""


def numbers_of(session: Session, project: Project, key: bytes) -> dict[int, int]:
    """The number of each rater's account, from 1, not always without gaps; those of a gold set stay for ever.

    Where gold sets disagree, as those that were exported at once used to, the earliest stands: whoever has
    the number of somebody else in a later one gets another, which no gold set has used.

    Args:
        key: `KeyService.raters` of the project.
    """
    known, used = given_numbers(session, project.id)
    return rater_numbers(rater_ids(session, project.id), key, known, used)


def are_free(session: Session, project: Project, numbers: Mapping[int, int]) -> bool:
    """Whether numbers that were read before may be kept; the row of the project is locked.

    False where a gold set that was exported meanwhile gave one to somebody else, or a rater another.
    """
    known, _ = given_numbers(session, project.id)
    both = {**numbers, **known}
    return both.items() >= numbers.items() and len(set(both.values())) == len(both)


def given_numbers(session: Session, project_id: int) -> tuple[dict[int, int], set[int]]:
    """The numbers that stand, each rater's own, and all that were ever used."""
    known: dict[int, int] = {}
    used: set[int] = set()
    earlier = select(Export.options).where(Export.project_id == project_id).order_by(Export.id)
    for kept in session.scalars(earlier):
        numbers = {int(rater): number for rater, number in kept.get(NUMBERS, {}).items()}
        for rater, number in numbers.items():
            if rater not in known and number not in known.values():
                known[rater] = number
        used |= set(numbers.values())
    return known, used
