"""The SQL of handing out pairs, on the connection of a service's transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, cast

from sqlalchemy import (
    Connection,
    Select,
    bindparam,
    exists,
    literal_column,
    or_,
    select,
    true,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from annotation.services.bulk import per_system
from annotation.services.in_use import IN_USE
from annotation.services.rating.desk import (
    ASSIGNMENTS,
    COMMENTS,
    HAS_SLOT,
    IS_HELD,
    NOT_NEW,
    PAIRS,
    PROJECT,
    RATER,
    RATINGS,
    SHELF,
    AnyRow,
    Desk,
    in_states,
    is_in,
)
from annotation.services.rating.own_pairs import COMMENTED, SEEN
from annotation.services.rating.rater_lock import AT_WORK

_HELD = (
    select(
        *SEEN,
        ASSIGNMENTS.c.id.label("assignment_id"),
        ASSIGNMENTS.c.lease_expires_at,
        PAIRS.c.position,
        PAIRS.c.project_id,
    )
    .select_from(ASSIGNMENTS.join(PAIRS, PAIRS.c.id == ASSIGNMENTS.c.pair_id).outerjoin(COMMENTS, COMMENTED))
    .where(ASSIGNMENTS.c.project_id.in_((PROJECT, SHELF)), ASSIGNMENTS.c.rater_id == RATER, IS_HELD)
    .order_by(ASSIGNMENTS.c.claimed_at, ASSIGNMENTS.c.position)
)
_RENEW = (
    update(ASSIGNMENTS)
    .where(ASSIGNMENTS.c.id.in_(bindparam("ids", expanding=True)), IS_HELD)
    .values(lease_expires_at=bindparam("until"))
    .returning(ASSIGNMENTS.c.pair_id)
)


def held_pairs(connection: Connection, desk: Desk, now: datetime) -> list[AnyRow]:
    """The rows of the pairs that the rater holds, first claimed first; a lease that is half over is renewed.

    Check pairs are among them; their `project_id` is that of the shelf.
    """
    rows = list(connection.execute(_HELD, desk.whose))
    aging = [row.assignment_id for row in rows if row.lease_expires_at - now < desk.lease / 2]
    if not aging:
        return rows
    renewed = set(connection.scalars(_RENEW, {"ids": aging, "until": now + desk.lease}))
    return [row for row in rows if row.assignment_id not in aging or row.id in renewed]


_IS_NEW_TO_ME = ~is_in(NOT_NEW, RATER)
_OPEN_TO_ME = (
    select(*SEEN, PAIRS.c.position, PAIRS.c.project_id)
    .select_from(PAIRS.outerjoin(COMMENTS, COMMENTED))
    .where(PAIRS.c.project_id == PROJECT, HAS_SLOT, _IS_NEW_TO_ME)
    .order_by(PAIRS.c.position)
    .limit(bindparam("limit"))
)
_AFTER = _OPEN_TO_ME.where(PAIRS.c.position > bindparam("cursor"))
_BEFORE = _OPEN_TO_ME.where(PAIRS.c.position <= bindparam("cursor"))
FROM_THE_BEGINNING = -1

_HOLDING = {
    "project_id": PROJECT,
    "rater_id": RATER,
    "state": literal_column("'held'"),
    "claimed_at": bindparam("now", type_=ASSIGNMENTS.c.claimed_at.type),
    "lease_expires_at": bindparam("until", type_=ASSIGNMENTS.c.lease_expires_at.type),
}
_RENEWED = ("state", "claimed_at", "lease_expires_at")


def _hold(insert: sqlite.Insert) -> sqlite.Insert:
    """A pair that was returned is held again; one that another tab claimed meanwhile is left alone."""
    return insert.on_conflict_do_update(
        index_elements=["pair_id", "rater_id"],
        set_={name: _HOLDING[name] for name in _RENEWED},
        where=in_states("returned"),
    )


def _hold_one(insert: sqlite.Insert) -> sqlite.Insert:
    return _hold(insert.values(**_HOLDING, pair_id=bindparam("pair"), position=bindparam("place")).inline())


HOLD_ONE = per_system(ASSIGNMENTS, _hold_one)
"""A pair is held by the rater; `project` is where it is kept, the shelf if it is a check pair."""
_TAKE_SLOT = update(PAIRS).values(open_slots=PAIRS.c.open_slots - 1)
_TAKE_SLOT_OF_ONE = _TAKE_SLOT.where(PAIRS.c.id == bindparam("pair"))


def _search_and_hold(search: Select[Any]) -> Select[Any]:
    """A whole claim in one statement, which PostgreSQL takes: it saves two round trips."""
    found, at_work = search.cte("found"), AT_WORK.cte("at_work")
    rows = select(*_HOLDING.values(), found.c.id, found.c.position).join_from(found, at_work, true())
    insert = postgresql.insert(ASSIGNMENTS).from_select([*_HOLDING, "pair_id", "position"], rows)
    held = _hold(cast(sqlite.Insert, insert)).returning(ASSIGNMENTS.c.pair_id).cte("held")
    taken = _TAKE_SLOT.where(PAIRS.c.id == held.c.pair_id).cte("taken")
    claimed = select(found).join(held, held.c.pair_id == found.c.id).order_by(found.c.position)
    return claimed.add_cte(taken)


_PASSING_LOCKED = tuple(
    _search_and_hold(half.with_for_update(of=PAIRS, key_share=True, skip_locked=True))
    for half in (_AFTER, _BEFORE)
)
_WAITING = _AFTER.with_for_update(of=PAIRS, key_share=True)


def claim_pairs(
    connection: Connection, desk: Desk, now: datetime, *, count: int, cursor: int
) -> list[AnyRow]:
    """Up to `count` open pairs after the position `cursor`, then from the beginning, now held."""
    claimed: list[AnyRow] = []
    for half in (0, 1):
        if len(claimed) < count:
            wanted = _wanted(desk, now, count=count - len(claimed), cursor=cursor)
            if connection.dialect.name == "sqlite":
                claimed += _claim_on_sqlite(connection, (_AFTER, _BEFORE)[half], wanted)
            else:
                claimed += connection.execute(_PASSING_LOCKED[half], wanted)
    return claimed


def wait_for_pair(connection: Connection, desk: Desk, now: datetime) -> None:
    """Lock one open pair, even if others have it locked; only while this transaction holds no lock.

    The claim comes after it: what the rater may still have is counted in between.
    """
    connection.execute(_WAITING, _wanted(desk, now, count=1, cursor=FROM_THE_BEGINNING)).close()


def _wanted(desk: Desk, now: datetime, *, count: int, cursor: int) -> dict[str, Any]:
    return {**desk.whose, "now": now, "until": now + desk.lease, "limit": count, "cursor": cursor}


def _claim_on_sqlite(connection: Connection, search: Select[Any], wanted: dict[str, Any]) -> Sequence[AnyRow]:
    """The same in steps: nobody else can come between."""
    found = connection.execute(search, wanted).all()
    for row in found:
        connection.execute(HOLD_ONE["sqlite"], {**wanted, "pair": row.id, "place": row.position})
        connection.execute(_TAKE_SLOT_OF_ONE, {"pair": row.id})
    return found


_LATEST = (
    select(PAIRS.c.position, RATINGS.c.created_at)
    .join_from(RATINGS, PAIRS, PAIRS.c.id == RATINGS.c.pair_id)
    .where(RATINGS.c.project_id == PROJECT, RATINGS.c.rater_id == RATER, IN_USE)
    .order_by(RATINGS.c.updated_at.desc())
    .limit(20)
    .subquery("latest")
)
# The newest of the latest twenty: a change to an early grade should not send the search back there.
_LAST_RATED = select(_LATEST.c.position).order_by(_LATEST.c.created_at.desc()).limit(1)


def last_rated_position(connection: Connection, desk: Desk) -> int:
    """Where a rater who holds nothing goes on: at the pair they graded last, or at the beginning."""
    position = connection.scalar(_LAST_RATED, desk.whose)
    return FROM_THE_BEGINNING if position is None else position


_ELSEWHERE = ASSIGNMENTS.alias("elsewhere")
_HELD_ELSEWHERE = exists(
    select(literal_column("1"))
    .select_from(_ELSEWHERE.join(PAIRS, PAIRS.c.id == _ELSEWHERE.c.pair_id))
    .where(
        _ELSEWHERE.c.project_id == PROJECT,
        in_states("held", of=_ELSEWHERE),
        _ELSEWHERE.c.rater_id != RATER,
        _IS_NEW_TO_ME,
    )
)
_STILL_OPEN = exists(
    select(literal_column("1"))
    .select_from(PAIRS)
    .where(PAIRS.c.project_id == PROJECT, HAS_SLOT, _IS_NEW_TO_ME)
)
# In one statement, which sees one moment: between two, a pair that was open is held.
_HELD_OR_OPEN = select(or_(_HELD_ELSEWHERE, _STILL_OPEN))
_HELD_ONLY = select(_HELD_ELSEWHERE)


def may_come_back(connection: Connection, desk: Desk) -> bool:
    """Whether a rater who could claim nothing may be given a pair later."""
    # On SQLite nobody else is in the middle of a claim: what is open was not for this rater.
    statement = _HELD_ONLY if connection.dialect.name == "sqlite" else _HELD_OR_OPEN
    return bool(connection.scalar(statement, desk.whose))
