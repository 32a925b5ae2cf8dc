"""A rater in a project: what every statement about their queue needs, and the locks it takes.

Whoever changes the assignments of a pair holds the lock of its row. A transaction waits for a lock only while
it holds none, and passes over locked pairs after that, so that no two can wait for each other. Where raters
have a share of the pairs, `share` adds a lock that comes after those of pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, TypeAlias, cast

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    FromClause,
    Integer,
    Row,
    Select,
    Table,
    and_,
    bindparam,
    exists,
    func,
    literal_column,
    or_,
    select,
)
from sqlalchemy.orm import Session

from annotation.assignment import RaterProject
from annotation.errors import AccessError, NotFoundError
from annotation.services.consent_rows import lacks_consent
from annotation.services.in_use import IN_USE
from annotation.services.rating.rater_desk import Desk as Desk  # for whoever asks for its statements
from annotation.types import from_quarters
from db.models import (
    Assignment,
    Comment,
    Membership,
    Pair,
    Project,
    QualitySettings,
    RaterState,
    Rating,
    RatingChange,
    SetAside,
    Skip,
    TrainingPair,
    User,
)

PAIRS = cast(Table, Pair.__table__)
ASSIGNMENTS = cast(Table, Assignment.__table__)
RATINGS = cast(Table, Rating.__table__)
CHANGES = cast(Table, RatingChange.__table__)
SKIPS = cast(Table, Skip.__table__)
COMMENTS = cast(Table, Comment.__table__)
PROJECTS = cast(Table, Project.__table__)
STATES = cast(Table, RaterState.__table__)
_ASIDE = cast(Table, SetAside.__table__)
_USERS = cast(Table, User.__table__)
MEMBERSHIPS = cast(Table, Membership.__table__)
_QUALITY = cast(Table, QualitySettings.__table__)
_TRAINING = cast(Table, TrainingPair.__table__)

AnyRow: TypeAlias = Row[*tuple[Any, ...]]
RATER: BindParameter[int] = bindparam("rater", type_=Integer)
PROJECT: BindParameter[int] = bindparam("project", type_=Integer)
SHELF: BindParameter[int] = bindparam("shelf", type_=Integer)


def in_states(*states: str, of: FromClause = ASSIGNMENTS) -> ColumnElement[bool]:
    """Whether an assignment is in one of the states; `of` is its table, or an alias."""
    written = _written(states)
    return of.c.state == written[0] if len(written) == 1 else of.c.state.in_(written)


def _written(words: Sequence[str]) -> list[ColumnElement[str]]:
    """Written out, not bound: only then does the database see that its partial indexes serve."""
    return [literal_column(f"'{word}'") for word in words]


HAS_SLOT = and_(PAIRS.c.open_slots > literal_column("0"), IN_USE)
IS_HELD = in_states("held")
IS_RATER_ROLE: ColumnElement[bool] = MEMBERSHIPS.c.role == literal_column("'rater'")
GRADED_OF_WITHDRAWN = (
    select(func.count())
    .select_from(PAIRS.join(ASSIGNMENTS, ASSIGNMENTS.c.pair_id == PAIRS.c.id))
    .where(
        PAIRS.c.project_id == PROJECT,
        ~IN_USE,
        ASSIGNMENTS.c.rater_id == RATER,
        in_states("rated"),
    )
    .scalar_subquery()
)
"""How many pairs the rater has graded that are withdrawn; nobody holds such a pair."""
BARRED = "barred"
"""The state of a pair for whoever wrote it, saw its requested grade or decided on it: they never grade it."""
SET_ASIDE = "set_aside"
"""The state of a pair for whoever gave it a grade that was set aside."""
SETTLED = ("rated", "skipped", BARRED, SET_ASIDE)
"""A pair in one of these states is never given to the rater any more."""
NOT_NEW = ("held", *SETTLED)
"""A pair in one of these states is not offered to the rater."""


def is_in(states: Sequence[str], rater: ColumnElement[int]) -> ColumnElement[bool]:
    """Of a pair: whether it is in one of the states for the rater; false where it never was theirs.

    A scalar subquery, not EXISTS, for which PostgreSQL might hash all that the rater ever did. Negated it is
    NOT IN, not =, so that the planner expects most pairs to match and walks the index to the first one.
    """
    state = (
        select(ASSIGNMENTS.c.state)
        .where(ASSIGNMENTS.c.pair_id == PAIRS.c.id, ASSIGNMENTS.c.rater_id == rater)
        .correlate(PAIRS)
        .scalar_subquery()
    )
    return func.coalesce(state, literal_column("''")).in_(_written(states))


_RATES_HERE = and_(
    MEMBERSHIPS.c.project_id == PROJECTS.c.id,
    MEMBERSHIPS.c.user_id == _USERS.c.id,
    IS_RATER_ROLE,
)
_HELD = ASSIGNMENTS.alias("held")
_SHELF = PROJECTS.alias("shelf")
_SHELF_ID = (
    select(_SHELF.c.id).where(_SHELF.c.checks_of_id == PROJECTS.c.id).correlate(PROJECTS).scalar_subquery()
)
_MY_STATE: Select[Any] = (
    select(literal_column("1"))
    .select_from(STATES)
    .where(STATES.c.project_id == PROJECTS.c.id, STATES.c.user_id == RATER)
    .correlate(PROJECTS)
)
_HAS_SET_ASIDE = exists().where(_ASIDE.c.project_id == PROJECTS.c.id, _ASIDE.c.rater_id == RATER)
DESK_COLUMNS = (
    PROJECTS.c.id.label("project_id"),
    PROJECTS.c.name.label("project_name"),
    PROJECTS.c.step_quarters,
    PROJECTS.c.may_revise,
    PROJECTS.c.lease_minutes,
    PROJECTS.c.most_per_rater,
    exists(
        select(literal_column("1"))
        .select_from(_USERS.join(MEMBERSHIPS, _RATES_HERE))
        .where(_USERS.c.id == RATER, _USERS.c.disabled_at.is_(None))
        .correlate(PROJECTS)
    ).label("is_rater"),
    exists(
        select(literal_column("1"))
        .select_from(_HELD)
        .where(
            _HELD.c.project_id.in_((PROJECTS.c.id, _SHELF_ID)),
            in_states("held", of=_HELD),
            _HELD.c.lease_expires_at <= bindparam("now"),
            _HELD.c.rater_id != RATER,
        )
        .correlate(PROJECTS)
    ).label("has_expired"),
    exists(_MY_STATE.where(STATES.c.paused_at.is_not(None))).label("is_paused"),
    and_(
        exists(
            select(literal_column("1"))
            .select_from(_TRAINING)
            .where(_TRAINING.c.project_id == PROJECTS.c.id, _TRAINING.c.retired_at.is_(None))
            .correlate(PROJECTS)
        ),
        ~exists(_MY_STATE.where(or_(STATES.c.passed_at.is_not(None), STATES.c.excused_at.is_not(None)))),
    ).label("must_train"),
    select(_QUALITY.c.check_every)
    .where(_QUALITY.c.project_id == PROJECTS.c.id)
    .correlate(PROJECTS)
    .scalar_subquery()
    .label("check_every"),
    _SHELF_ID.label("shelf_id"),
    _HAS_SET_ASIDE.correlate(PROJECTS).label("has_set_aside"),
    lacks_consent(RATER).label("must_consent"),
)
_DESK = select(*DESK_COLUMNS).where(PROJECTS.c.id == PROJECT, PROJECTS.c.checks_of_id.is_(None))


_GRADES_HERE = (
    select(func.count())
    .select_from(RATINGS)
    .where(RATINGS.c.project_id == PROJECT, RATINGS.c.rater_id == RATER)
)


def desk_of(connection: Connection, row: AnyRow, rater_id: int) -> Desk:
    """The desk in a row that has `DESK_COLUMNS`.

    Raises:
        AccessError: the user is not a rater in the project.
    """
    if not row.is_rater:
        grades = connection.scalar(_GRADES_HERE, {"project": row.project_id, "rater": rater_id})
        raise AccessError(_no_rater(row.project_name, grades or 0))
    step = from_quarters(row.step_quarters)
    project = RaterProject(row.project_id, row.project_name, step, row.may_revise)
    return Desk(
        project,
        rater_id,
        timedelta(minutes=row.lease_minutes),
        row.has_expired,
        row.is_paused,
        row.must_train,
        row.check_every or 0,
        row.shelf_id or 0,
        row.most_per_rater,
        row.has_set_aside,
        bool(row.must_consent),
    )


def _no_rater(project: str, grades: int) -> str:
    """Whoever never graded there may be guessing numbers, and is not told the project's name."""
    if not grades:
        return "You are not a rater in this project: ask its administrator to add you."
    kept = "your grade is" if grades == 1 else f"your {grades:,} grades are"
    return f"You are no longer a rater in the project {project!r}: {kept} kept. Ask its administrator why."


def open_desk(connection: Connection, project_id: int, rater_id: int, now: datetime) -> Desk:
    """The project as its rater meets it.

    Raises:
        NotFoundError: there is no such project.
        AccessError: the user is not a rater in it.
    """
    row = connection.execute(_DESK, {"project": project_id, "rater": rater_id, "now": now}).one_or_none()
    if row is None:
        raise NotFoundError(f"There is no project {project_id}: see the list of projects.")
    return desk_of(connection, row, rater_id)


_LOCK_PAIR = select(PAIRS.c.id).where(PAIRS.c.id == bindparam("pair")).with_for_update(key_share=True)


def lock_pair(connection: Connection, pair_id: int) -> None:
    """Wait for the row of the pair; SQLite has the whole database locked already."""
    if connection.dialect.name != "sqlite":
        connection.execute(_LOCK_PAIR, {"pair": pair_id})


def lock_pairs(session: Session, project_id: int, *, is_deleting: bool = False) -> None:
    """Wait for raters who are grading, and let others wait; SQLite has them waiting already.

    In the order of ids, as everywhere, so that nobody waits for each other.

    Args:
        is_deleting: wait also for those who only refer to a pair, such as with a comment.
    """
    pairs = select(Pair.id).where(Pair.project_id == project_id).order_by(Pair.id)
    session.execute(pairs.with_for_update(key_share=not is_deleting)).close()
