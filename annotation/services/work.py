"""Who worked how much in a project: grades, skips and time of each rater."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Select, and_, func, literal, or_, select, union_all
from sqlalchemy.orm import Session

from annotation.clock import Clock, utcnow
from annotation.consent import Consent
from annotation.services.access.roles import is_rater
from annotation.services.checks import shelf_of
from annotation.services.consent_rows import consents_of
from annotation.services.projects import find_project
from db import Database
from db.models import Assignment, Membership, Pair, Rating, RatingChange, SetAsideRating, Skip, User

DAY = timedelta(hours=24)
WEEK = timedelta(days=7)
SECONDS_AN_HOUR = 3600
SHORTEST = 0.1
"""Hours; of less time a rate of grades says nothing."""


@dataclass(frozen=True, slots=True)
class Work:
    """What a rater did in a project, also with check pairs and what counts no longer."""

    rater: str
    is_former: bool = False
    """They are a rater no longer."""
    ratings: int = 0
    imported: int = 0
    """Those of them that came from a file: nobody knows when they were given, nor how long they took."""
    checks: int = 0
    """Those of them that are of check pairs."""
    withdrawn: int = 0
    """Those of them that are of pairs that count no longer."""
    set_aside: int = 0
    """Those of them that were set aside."""
    skipped: int = 0
    held: int = 0
    """Pairs whose lease runs."""
    last_day: int = 0
    """Ratings given on the page within 24 hours, and within seven days."""
    last_week: int = 0
    seconds: float = 0.0
    """How long the pairs that were graded were looked at."""
    first_at: datetime | None = None
    """Of grades and skips on the page."""
    last_at: datetime | None = None
    consent: Consent | None = None
    """None where they never agreed here, such as raters whom a file brought."""

    @property
    def hours(self) -> float:
        return self.seconds / SECONDS_AN_HOUR

    @property
    def per_hour(self) -> float | None:
        """Grades in an hour of looking at pairs; None where it was too short to tell."""
        return (self.ratings - self.imported) / self.hours if self.hours >= SHORTEST else None


class WorkService:
    """Who is allowed to ask is for the caller to `require`."""

    def __init__(self, database: Database, clock: Clock = utcnow) -> None:
        self._database = database
        self._clock = clock

    def work(self, project_id: int) -> tuple[Work, ...]:
        """Of the raters, by name, and then of those who were raters and graded or skipped something.

        Raises:
            NotFoundError: there is no such project.
        """
        now = self._clock()
        with self._database.reading() as session:
            project = find_project(session, project_id)
            shelf = shelf_of(session, project.id)
            projects = [project.id] if shelf is None else [project.id, shelf]
            rated, taken = _rated(session, projects, shelf, now), _taken(session, projects, now)
            skips = _skips(session, projects)
            people = _people(session, project.id, {*rated, *taken, *skips})
            consents = consents_of(session, project)
        return tuple(
            Work(
                name,
                is_former,
                consent=consents.get(id),
                **_figures(rated.get(id, {}), taken.get(id, {}), skips.get(id, ())),
            )
            for id, name, is_former in people
        )


def _figures(
    rated: Mapping[str, Any], taken: Mapping[str, Any], skipped_at: tuple[datetime, ...]
) -> dict[str, Any]:
    figures = {**rated, **taken}
    moments = [*skipped_at, *(figures.pop(name, None) for name in ("first_at", "last_at"))]
    known = [moment for moment in moments if moment is not None]
    return {**figures, "first_at": min(known, default=None), "last_at": max(known, default=None)}


def _rated(
    session: Session, projects: list[int], shelf: int | None, now: datetime
) -> dict[int, dict[str, Any]]:
    """By rater what their ratings say."""
    given = union_all(*(_given(table, projects) for table in (Rating, SetAsideRating))).subquery().c
    # Of the history: a rating may have come from a file first, and is touched when it is brought back.
    page = on_page(projects).subquery()
    is_of_page = page.c.first_at.is_not(None)
    rows = session.execute(
        select(
            given.rater_id,
            func.count().label("ratings"),
            func.count().filter(~is_of_page).label("imported"),
            func.count().filter(given.project_id == (shelf or 0)).label("checks"),
            func.count().filter(Pair.withdrawn_at.is_not(None)).label("withdrawn"),
            func.count().filter(given.is_set_aside == 1).label("set_aside"),
            func.count().filter(page.c.first_at > now - DAY).label("last_day"),
            func.count().filter(page.c.first_at > now - WEEK).label("last_week"),
            func.coalesce(func.sum(given.seconds), 0.0).label("seconds"),
            func.min(page.c.first_at).label("first_at"),
            func.max(page.c.last_at).label("last_at"),
        )
        .join(Pair, Pair.id == given.pair_id)
        .outerjoin(page, (page.c.pair_id == given.pair_id) & (page.c.rater_id == given.rater_id))
        .group_by(given.rater_id)
    )
    return _by_rater(rows)


def _given(table: type[Rating | SetAsideRating], projects: list[int]) -> Select[*tuple[Any, ...]]:
    is_set_aside = literal(int(table is SetAsideRating)).label("is_set_aside")
    names = ("project_id", "pair_id", "rater_id", "seconds")
    columns = [getattr(table, name) for name in names]
    return select(*columns, is_set_aside).where(table.project_id.in_(projects))


def on_page(projects: list[int]) -> Select[*tuple[Any, ...]]:
    """When ratings were given and last changed on the page, by pair and rater; none of those from files."""
    at = RatingChange.at
    moments = func.min(at).label("first_at"), func.max(at).label("last_at")
    return (
        select(RatingChange.pair_id, RatingChange.rater_id, *moments)
        .where(RatingChange.project_id.in_(projects), RatingChange.origin == "page")
        .group_by(RatingChange.pair_id, RatingChange.rater_id)
    )


def _taken(session: Session, projects: list[int], now: datetime) -> dict[int, dict[str, Any]]:
    """By rater how many pairs they skipped and hold; only of those who have some."""
    skipped = Assignment.state == "skipped"
    held = and_(Assignment.state == "held", Assignment.lease_expires_at > now)
    rows = session.execute(
        select(
            Assignment.rater_id,
            func.count().filter(skipped).label("skipped"),
            func.count().filter(held).label("held"),
        )
        .where(Assignment.project_id.in_(projects), or_(skipped, held))
        .group_by(Assignment.rater_id)
    )
    return _by_rater(rows)


def _skips(session: Session, projects: list[int]) -> dict[int, tuple[datetime, datetime]]:
    """By rater when they skipped first and last."""
    rows = session.execute(
        select(Skip.rater_id, func.min(Skip.at), func.max(Skip.at))
        .where(Skip.project_id.in_(projects))
        .group_by(Skip.rater_id)
    )
    return {rater: (first, last) for rater, first, last in rows}


def _people(session: Session, project_id: int, known: set[int]) -> list[tuple[int, str, bool]]:
    """Id, name and whether they are a rater no longer, of the raters and of the others that are known."""
    is_former = Membership.user_id.is_(None)
    rows: Any = session.execute(
        select(User.id, User.name, is_former)
        .outerjoin(Membership, is_rater(User.id, project_id))
        .where(or_(~is_former, User.id.in_(known)))
        .order_by(is_former, User.name_key)
    )
    return [(id, name, bool(former)) for id, name, former in rows]


def _by_rater(rows: Any) -> dict[int, dict[str, Any]]:
    return {row.pop("rater_id"): row for row in (dict(found) for found in rows.mappings())}
