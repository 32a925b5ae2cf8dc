"""A pair together with what one rater did to it, read for them alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, and_, bindparam, func, null, select
from sqlalchemy.dialects import sqlite

from annotation.assignment import PairForRater
from annotation.errors import AssignmentError, NotFoundError
from annotation.senses.pair_senses import senses_from_json
from annotation.services.bulk import per_system
from annotation.services.in_use import IN_USE
from annotation.services.rating.desk import (
    ASSIGNMENTS,
    BARRED,
    COMMENTS,
    DESK_COLUMNS,
    PAIRS,
    PROJECT,
    PROJECTS,
    RATER,
    RATINGS,
    SET_ASIDE,
    SHELF,
    SKIPS,
    AnyRow,
    Desk,
    desk_of,
    lock_pair,
)
from annotation.types import from_quarters

SEEN = (
    PAIRS.c.id,
    PAIRS.c.type,
    PAIRS.c.left,
    PAIRS.c.right,
    PAIRS.c.senses,
    COMMENTS.c.text.label("comment"),
    COMMENTS.c.is_flagged,
)
"""What a rater sees of a pair that they have not graded."""
COMMENTED = and_(COMMENTS.c.pair_id == PAIRS.c.id, COMMENTS.c.user_id == RATER)
RATED = and_(RATINGS.c.pair_id == PAIRS.c.id, RATINGS.c.rater_id == RATER)
ASSIGNED = and_(ASSIGNMENTS.c.pair_id == PAIRS.c.id, ASSIGNMENTS.c.rater_id == RATER)

_KEEPER = PROJECTS.alias("keeper")
"""The project in which the pair is kept; of a check pair that is not the one in which it is met."""
_OWN = (
    select(
        PAIRS.c.id,
        PAIRS.c.project_id.label("keeper_id"),
        _KEEPER.c.checks_of_id.is_not(None).label("is_check"),
        (~IN_USE).label("is_withdrawn"),
        PAIRS.c.position,
        PAIRS.c.open_slots,
        ASSIGNMENTS.c.id.label("assignment_id"),
        ASSIGNMENTS.c.state,
        RATINGS.c.id.label("rating_id"),
        RATINGS.c.quarters,
        RATINGS.c.seconds,
        *DESK_COLUMNS,
    )
    .select_from(
        PAIRS.join(_KEEPER, _KEEPER.c.id == PAIRS.c.project_id)
        .join(PROJECTS, PROJECTS.c.id == func.coalesce(_KEEPER.c.checks_of_id, _KEEPER.c.id))
        .outerjoin(ASSIGNMENTS, ASSIGNED)
        .outerjoin(RATINGS, RATED)
    )
    .where(PAIRS.c.id == bindparam("pair"))
)


def lock_own_pair(connection: Connection, pair_id: int, rater_id: int, now: datetime) -> tuple[AnyRow, Desk]:
    """The pair with the rater's assignment and rating, nobody else changing it until the transaction ends.

    Raises:
        NotFoundError: there is no such pair.
        AccessError: the user is not a rater in its project.
        AssignmentError: the pair was never given to them, they are barred from it, or their grade of it was
            set aside.
    """
    lock_pair(connection, pair_id)
    return read_own_pair(connection, pair_id, rater_id, now)


def read_own_pair(connection: Connection, pair_id: int, rater_id: int, now: datetime) -> tuple[AnyRow, Desk]:
    """The same without the lock."""
    row = connection.execute(_OWN, {"pair": pair_id, "rater": rater_id, "now": now}).one_or_none()
    if row is None:
        raise NotFoundError("There is no such pair: go on with the pair that your queue shows.")
    desk = desk_of(connection, row, rater_id)
    if row.state == BARRED:
        raise AssignmentError(
            "You wrote this pair, saw its requested grade or decided on it: others grade it, go on with the "
            "next pair."
        )
    if row.state == SET_ASIDE:
        raise AssignmentError(
            "Your grade of this pair was set aside: others grade it, go on with the next pair."
        )
    if row.state is None:
        raise AssignmentError("This pair was not given to you: go on with the pair that your queue shows.")
    return row, desk


def pair_seen(row: AnyRow) -> PairForRater:
    """The pair in a row that has `SEEN`."""
    return PairForRater(
        row.id,
        row.type,
        row.left,
        row.right,
        comment=row.comment or "",
        is_flagged=bool(row.is_flagged),
        senses=senses_from_json(row.senses),
    )


def pair_graded(row: AnyRow) -> PairForRater:
    """The pair in a row that has `SEEN`, quarters and updated_at, both empty for a pair without a grade."""
    grade = None if row.quarters is None else from_quarters(row.quarters)
    return replace(pair_seen(row), grade=grade, rated_at=row.updated_at)


_GRADED = select(*SEEN, RATINGS.c.quarters, RATINGS.c.updated_at).select_from(
    PAIRS.outerjoin(RATINGS, RATED).outerjoin(COMMENTS, COMMENTED)
)
_ONE = _GRADED.where(PAIRS.c.id == bindparam("pair"))


def own_pair_seen(connection: Connection, pair_id: int, rater_id: int) -> PairForRater:
    """The pair with the rater's grade and comment; whether it is theirs was asked before."""
    return pair_graded(connection.execute(_ONE, {"pair": pair_id, "rater": rater_id}).one())


_LAST_GRADED = (
    select(*SEEN, RATINGS.c.quarters, RATINGS.c.updated_at, RATINGS.c.updated_at.label("answered_at"))
    .select_from(RATINGS.join(PAIRS, PAIRS.c.id == RATINGS.c.pair_id).outerjoin(COMMENTS, COMMENTED))
    .where(RATINGS.c.project_id.in_((PROJECT, SHELF)), RATINGS.c.rater_id == RATER, IN_USE)
    .order_by(RATINGS.c.updated_at.desc(), RATINGS.c.id.desc())
    .limit(bindparam("limit"))
)
_LAST_SKIPPED = (
    select(
        *SEEN,
        null().label("quarters"),
        null().label("updated_at"),
        func.max(SKIPS.c.at, type_=SKIPS.c.at.type).label("answered_at"),
    )
    .select_from(
        ASSIGNMENTS.join(PAIRS, PAIRS.c.id == ASSIGNMENTS.c.pair_id)
        .join(SKIPS, and_(SKIPS.c.pair_id == PAIRS.c.id, SKIPS.c.rater_id == RATER))
        .outerjoin(COMMENTS, COMMENTED)
    )
    .where(
        ASSIGNMENTS.c.project_id.in_((PROJECT, SHELF)),
        ASSIGNMENTS.c.rater_id == RATER,
        ASSIGNMENTS.c.state == "skipped",
        IN_USE,
    )
    .group_by(PAIRS.c.id, COMMENTS.c.id)
    .order_by(func.max(SKIPS.c.at).desc(), func.max(SKIPS.c.id).desc())
    .limit(bindparam("limit"))
)


def answered_pairs(connection: Connection, desk: Desk, limit: int) -> tuple[PairForRater, ...]:
    """What the rater graded or skipped last, newest first."""
    wanted = {**desk.whose, "limit": limit}
    rows = [row for search in (_LAST_GRADED, _LAST_SKIPPED) for row in connection.execute(search, wanted)]
    rows.sort(key=lambda row: row.answered_at, reverse=True)
    return tuple(pair_graded(row) for row in rows[:limit])


def _saying(insert: sqlite.Insert) -> sqlite.Insert:
    values: dict[str, Any] = {name: bindparam(name) for name in (*_WHOSE, *_SAID)}
    said = {name: values[name] for name in _SAID}
    return insert.values(values).on_conflict_do_update(index_elements=["pair_id", "user_id"], set_=said)


_WHOSE = ("project_id", "pair_id", "user_id")
_SAID = ("text", "is_flagged", "updated_at")
_SAY = per_system(COMMENTS, _saying)


def keep_comment(
    connection: Connection, row: AnyRow, desk: Desk, text: str, is_flagged: bool, now: datetime
) -> None:
    """The rater's comment on the pair of `row`, in place of an earlier one."""
    whose = {"project_id": row.keeper_id, "pair_id": row.id, "user_id": desk.rater_id}
    said = {"text": text, "is_flagged": is_flagged, "updated_at": now}
    connection.execute(_SAY[connection.dialect.name], {**whose, **said})
