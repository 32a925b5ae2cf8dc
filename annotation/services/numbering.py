"""The numbers that stand for raters wherever their names are not shown: the same in files and on pages."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from annotation.gold import rater_numbers
from annotation.services.gold_rows import rater_ids
from db.models import Export, Project

NUMBERS = "rater_numbers"
"""Where an export keeps, among its options, the numbers that it used."""


def numbers_of(session: Session, project: Project) -> dict[int, int]:
    """The number of each rater's account, from 1; those that a gold set has used stay for ever."""
    known: dict[int, int] = {}
    earlier = select(Export.options).where(Export.project_id == project.id).order_by(Export.id)
    for kept in session.scalars(earlier):
        known |= {int(rater): number for rater, number in kept.get(NUMBERS, {}).items()}
    return rater_numbers(rater_ids(session, project.id), project.seed, known)
