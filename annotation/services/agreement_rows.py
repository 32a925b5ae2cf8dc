"""The rows that agreement is computed from, as columns of numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
from sqlalchemy import ColumnElement, Row, and_, func, select
from sqlalchemy.orm import Session

from annotation.agreement import Floats, Grades, Mask
from annotation.reliability.report import (
    NO_GENRE,
    SHOWN_CHARACTERS,
    WIDEST_PAIRS,
    ProjectGrades,
    WidePair,
)
from annotation.services.bulk import count_where
from annotation.services.in_use import IN_USE, of_pair_in_use
from annotation.services.numbering import numbers_of
from annotation.services.pair_states import CHANGED, is_decided
from annotation.services.work import on_page
from annotation.types import QUARTERS_PER_POINT
from db.models import Adjudication, Pair, Project, Rating


@dataclass(frozen=True, slots=True)
class ReadGrades:
    """The grades of a project, and the ids that its numbers stand for."""

    data: ProjectGrades
    rater_ids: tuple[int, ...]


def read_grades(session: Session, project: Project, key: bytes) -> ReadGrades:
    """The pairs in the order of import, the raters in an order that says nothing about them; no texts."""
    pairs = session.execute(
        select(Pair.id, Pair.type, Pair.genre)
        .where(Pair.project_id == project.id, IN_USE)
        .order_by(Pair.import_order)
    ).all()
    page = on_page([project.id]).subquery()
    ratings = session.execute(
        select(Rating.pair_id, Rating.rater_id, Rating.quarters, Rating.seconds, page.c.first_at)
        .outerjoin(page, and_(page.c.pair_id == Rating.pair_id, page.c.rater_id == Rating.rater_id))
        .where(Rating.project_id == project.id, of_pair_in_use(Rating.pair_id, project.id))
    ).all()
    decided = session.execute(
        select(Adjudication.pair_id, Adjudication.quarters, CHANGED).where(
            Adjudication.project_id == project.id, of_pair_in_use(Adjudication.pair_id, project.id)
        )
    ).all()
    numbered = numbers_of(session, project.id, key, {row[1] for row in ratings})
    # Raters without a grade that counts keep their numbers, but are not in the report.
    rater_ids = tuple(sorted({row[1] for row in ratings}, key=lambda rater: numbered[rater]))
    data = _numbered_grades(project, rater_ids, pairs, ratings, decided)
    return ReadGrades(data, rater_ids)


def _numbered_grades(
    project: Project,
    raters: Sequence[int],
    pairs: Sequence[Row[int, str, str | None]],
    ratings: Sequence[Row[int, int, int, float | None, datetime | None]],
    decided: Sequence[Row[int, int, bool]],
) -> ProjectGrades:
    """What was read, as columns: pairs, raters, types and genres are numbers from 0.

    Args:
        project: whose types come first.
        raters: their accounts, in the order that numbers them.
        pairs: id, type and genre, in the order that numbers them.
        ratings: pair, rater, quarters, seconds, and when it was first given on the page, if it was.
        decided: pair, quarters, and whether a rating came after the decision.
    """
    places = {row[0]: place for place, row in enumerate(pairs)}
    rater_number = {rater: number for number, rater in enumerate(raters)}
    types = tuple(dict.fromkeys([*project.types, *sorted({row[1] for row in pairs})]))
    genres = tuple(sorted({row[2] or NO_GENRE for row in pairs}))
    type_number = {name: number for number, name in enumerate(types)}
    genre_number = {name: number for number, name in enumerate(genres)}
    is_decided, is_changed, decisions = _decisions(places, decided)
    threshold = project.threshold_quarters
    return ProjectGrades(
        types=types,
        genres=genres,
        type_of_pair=np.array([type_number[row[1]] for row in pairs], np.int64),
        genre_of_pair=np.array([genre_number[row[2] or NO_GENRE] for row in pairs], np.int64),
        decided=is_decided,
        changed=is_changed,
        grades=Grades(
            np.array([places[row[0]] for row in ratings], np.int64),
            np.array([rater_number[row[1]] for row in ratings], np.int64),
            np.array([row[2] for row in ratings], np.float64) / QUARTERS_PER_POINT,
        ),
        seconds=np.array([np.nan if row[3] is None else row[3] for row in ratings], np.float64),
        # Of the page: imported ratings were all written at one moment, which tells nothing.
        moments=np.array([np.nan if row[4] is None else row[4].timestamp() for row in ratings], np.float64),
        decisions=decisions,
        raters=len(raters),
        threshold=threshold / QUARTERS_PER_POINT if threshold else None,
        raters_per_pair=project.raters_per_pair,
    )


def _decisions(
    places: Mapping[int, int], decided: Sequence[Row[int, int, bool]]
) -> tuple[Mask, Mask, Floats]:
    """Which pairs are decided, which were graded since, and the grades that they have from it."""
    is_decided, is_changed = np.zeros((2, len(places)), dtype=np.bool_)
    decisions = np.full(len(places), np.nan)
    for pair_id, quarters, has_changed in decided:
        is_decided[places[pair_id]] = True
        is_changed[places[pair_id]] = has_changed
        decisions[places[pair_id]] = quarters / QUARTERS_PER_POINT
    return is_decided, is_changed, decisions


def read_widest(session: Session, project: Project, held_back: ColumnElement[bool]) -> tuple[WidePair, ...]:
    """The pairs whose grades are farthest apart, earlier pairs first among equals, with the beginning of
    their texts; none whose grades agree, or that is held back (see `rating.held_back`)."""
    beginning = SHOWN_CHARACTERS + 1
    rows = session.execute(
        select(
            Pair.id,
            Pair.external_id,
            Pair.type,
            Pair.genre,
            func.substr(Pair.left, 1, beginning),
            func.substr(Pair.right, 1, beginning),
            Pair.low_quarters,
            Pair.high_quarters,
            Pair.rating_count,
            is_decided(project).label("is_decided"),
        )
        .where(*_differ(project), ~held_back)
        .order_by(Pair.spread_quarters.desc(), Pair.import_order)
        .limit(WIDEST_PAIRS)
    )
    return tuple(
        replace(
            WidePair(*row[:6]),
            low=row.low_quarters / QUARTERS_PER_POINT,
            high=row.high_quarters / QUARTERS_PER_POINT,
            ratings=row.rating_count,
            decided=bool(row.is_decided),
        )
        for row in rows
    )


def count_held_back(session: Session, project: Project, held_back: ColumnElement[bool]) -> int:
    """How many pairs whose grades differ are held back."""
    return count_where(session, *_differ(project), held_back)


def _differ(project: Project) -> tuple[ColumnElement[bool], ...]:
    return (Pair.project_id == project.id, Pair.spread_quarters > 0, IN_USE)
