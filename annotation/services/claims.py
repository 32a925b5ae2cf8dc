"""The SQL of handing out pairs and taking them back, on the connection of a service's transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    and_,
    bindparam,
    exists,
    func,
    literal_column,
    or_,
    select,
    true,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from annotation.services.desk import (
    ASSIGNMENTS,
    COMMENTS,
    HAS_SLOT,
    IS_HELD,
    NOT_NEW,
    PAIRS,
    PROJECT,
    PROJECTS,
    RATER,
    RATINGS,
    SHELF,
    AnyRow,
    Desk,
)
from annotation.services.in_use import IN_USE
from annotation.services.own_pairs import COMMENTED, SEEN
from annotation.services.rater_lock import AT_WORK, keep_from_claiming

_EXPIRED_AT_ONCE = 100

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
    """The rows of the pairs that the rater holds, first claimed first; a lease half run begins anew.

    Check pairs are among them; their `project_id` is that of the shelf.
    """
    rows = list(connection.execute(_HELD, desk.whose))
    aging = [row.assignment_id for row in rows if row.lease_expires_at - now < desk.lease / 2]
    if not aging:
        return rows
    renewed = set(connection.scalars(_RENEW, {"ids": aging, "until": now + desk.lease}))
    return [row for row in rows if row.assignment_id not in aging or row.id in renewed]


# A scalar subquery, not NOT EXISTS: PostgreSQL might answer that with a hash of all that the rater ever did.
# And NOT IN, not =: it then thinks that most pairs will do, and walks along the index to the first one.
_MY_STATE = (
    select(ASSIGNMENTS.c.state)
    .where(ASSIGNMENTS.c.pair_id == PAIRS.c.id, ASSIGNMENTS.c.rater_id == RATER)
    .correlate(PAIRS)
    .scalar_subquery()
)
_MINE: list[ColumnElement[str]] = [literal_column(f"'{state}'") for state in NOT_NEW]
_IS_NEW_TO_ME = func.coalesce(_MY_STATE, literal_column("''")).not_in(_MINE)
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
        where=ASSIGNMENTS.c.state == literal_column("'returned'"),
    )


_HOLD_ONE = _hold(
    sqlite.insert(ASSIGNMENTS)
    .values(**_HOLDING, pair_id=bindparam("pair"), position=bindparam("place"))
    .inline()
)
_TAKE_SLOT = update(PAIRS).values(open_slots=PAIRS.c.open_slots - 1)
_TAKE_SLOT_OF_ONE = _TAKE_SLOT.where(PAIRS.c.id == bindparam("pair"))


def _search_and_hold(search: Select[Any]) -> Select[Any]:
    """All of a claim in one statement, which PostgreSQL takes, and which saves two trips to the server."""
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
    whose = {"project": desk.project.id, "rater": desk.rater_id}
    return {**whose, "now": now, "until": now + desk.lease, "limit": count, "cursor": cursor}


def _claim_on_sqlite(connection: Connection, search: Select[Any], wanted: dict[str, Any]) -> Sequence[AnyRow]:
    """The same in steps: nobody else can come between."""
    found = connection.execute(search, wanted).all()
    for row in found:
        connection.execute(_HOLD_ONE, {**wanted, "pair": row.id, "place": row.position})
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
    wanted = {"project": desk.project.id, "rater": desk.rater_id}
    position = connection.scalar(_LAST_RATED, wanted)
    return FROM_THE_BEGINNING if position is None else position


_EXPIRED = (
    select(ASSIGNMENTS.c.id, ASSIGNMENTS.c.pair_id)
    .join(PAIRS, PAIRS.c.id == ASSIGNMENTS.c.pair_id)
    .where(
        ASSIGNMENTS.c.project_id.in_((PROJECT, SHELF)),
        IS_HELD,
        ASSIGNMENTS.c.lease_expires_at <= bindparam("now"),
        ASSIGNMENTS.c.rater_id != bindparam("but_rater"),
    )
    .order_by(ASSIGNMENTS.c.lease_expires_at)
    .limit(_EXPIRED_AT_ONCE)
    .with_for_update(of=(ASSIGNMENTS, PAIRS), key_share=True, skip_locked=True)
)
# Held, or withdrawn while they held it: both in one statement, for one may become the other while it waits.
_IS_KEPT = or_(
    IS_HELD,
    and_(ASSIGNMENTS.c.state == literal_column("'returned'"), ASSIGNMENTS.c.lease_expires_at.is_not(None)),
)
_KEPT = (
    select(ASSIGNMENTS.c.id, ASSIGNMENTS.c.pair_id, ASSIGNMENTS.c.state)
    .join(PAIRS, PAIRS.c.id == ASSIGNMENTS.c.pair_id)
    .where(ASSIGNMENTS.c.rater_id == RATER, _IS_KEPT)
    .order_by(PAIRS.c.id)
)
_KEPT_HERE = _KEPT.where(
    or_(
        ASSIGNMENTS.c.project_id == PROJECT,
        ASSIGNMENTS.c.project_id.in_(select(PROJECTS.c.id).where(PROJECTS.c.checks_of_id == PROJECT)),
    )
)
_THIS_ONE = ASSIGNMENTS.c.id == bindparam("assignment")
_LAST_HELD_BY_ME = (
    select(ASSIGNMENTS.c.id, ASSIGNMENTS.c.pair_id)
    .join(PAIRS, PAIRS.c.id == ASSIGNMENTS.c.pair_id)
    .where(ASSIGNMENTS.c.project_id == PROJECT, ASSIGNMENTS.c.rater_id == RATER, IS_HELD)
    .order_by(ASSIGNMENTS.c.claimed_at.desc(), ASSIGNMENTS.c.position.desc())
    .limit(1)
    .with_for_update(of=(ASSIGNMENTS, PAIRS), key_share=True, skip_locked=True)
)
_RETURN = (
    update(ASSIGNMENTS)
    .where(ASSIGNMENTS.c.id.in_(bindparam("ids", expanding=True)))
    .values(state="returned", lease_expires_at=None)
)
_GIVE_SLOTS = (
    update(PAIRS)
    .where(PAIRS.c.id.in_(bindparam("ids", expanding=True)))
    .values(open_slots=PAIRS.c.open_slots + bindparam("slots"))
)


def return_expired(
    connection: Connection, project_id: int, shelf_id: int, now: datetime, *, but_rater: int = 0
) -> int:
    """Give back pairs whose lease ran out, at most a hundred, and none of `but_rater`; how many.

    A check pair is nobody else's to have: its rater is given it again when he comes back and one is due.
    """
    wanted = {"project": project_id, "shelf": shelf_id, "now": now, "but_rater": but_rater}
    return _return(connection, connection.execute(_EXPIRED, wanted).all())


def return_held(connection: Connection, project_id: int, rater_id: int) -> int:
    """Give back what the rater holds, check pairs among it; how many pairs.

    Nor do they hold a withdrawn pair again that they had before, once it is restored. They claim nothing
    until the transaction ends. It takes several locks: `repeated_if_undone`, with the row of the project
    locked first, as an import locks pairs in the order of its file.
    """
    return return_kept(connection, rater_id, project_id)


def return_kept(connection: Connection, rater_id: int, project_id: int | None) -> int:
    """As `return_held`; with None in all projects."""
    count = 0
    for is_locked in (False, True):  # pairs come first, so that whoever saves a grade just now can end it
        if is_locked:
            keep_from_claiming(connection, rater_id, project_id)
        count += _let_go(connection, *_kept(rater_id, project_id))
    return count


def kept_by(connection: Connection, rater_id: int, project_id: int | None) -> list[int]:
    """What `return_kept` would give back, by the ids of the assignments in the order of their pairs'."""
    statement, whose = _kept(rater_id, project_id)
    return list(connection.scalars(statement, whose))


def return_one(connection: Connection, assignment_id: int, rater_id: int) -> int:
    """Give back one of `kept_by`, if it still is; 1 where others can have the pair now, else 0."""
    statement, whose = _kept(rater_id, None)
    return _let_go(connection, statement.where(_THIS_ONE), {**whose, "assignment": assignment_id})


def _kept(rater_id: int, project_id: int | None) -> tuple[Select[int, int, str], dict[str, int]]:
    if project_id is None:
        return _KEPT, {"rater": rater_id}
    return _KEPT_HERE, {"rater": rater_id, "project": project_id}


def _let_go(connection: Connection, statement: Select[int, int, str], whose: Mapping[str, int]) -> int:
    """It waits for whoever grades one of the pairs just now, the pair's lock first as everywhere."""
    locking = statement.with_for_update(of=(PAIRS, ASSIGNMENTS), key_share=True)
    kept = connection.execute(locking, whose).all()
    if withdrawn := [row.id for row in kept if row.state != "held"]:
        connection.execute(_RETURN, {"ids": withdrawn})
    return _return(connection, [row for row in kept if row.state == "held"])


def return_last_held(connection: Connection, desk: Desk) -> int:
    """Give back the pair that the rater was given last, of those they hold; how many, 0 or 1."""
    return _return(connection, connection.execute(_LAST_HELD_BY_ME, desk.whose).all())


def _return(connection: Connection, rows: Sequence[AnyRow]) -> int:
    if rows:
        connection.execute(_RETURN, {"ids": [row.id for row in rows]})
        by_pair = Counter(row.pair_id for row in rows)
        for slots in sorted(set(by_pair.values())):
            ids = [pair_id for pair_id, count in by_pair.items() if count == slots]
            connection.execute(_GIVE_SLOTS, {"ids": ids, "slots": slots})
    return len(rows)


_ELSEWHERE = ASSIGNMENTS.alias("elsewhere")
_HELD_ELSEWHERE = exists(
    select(literal_column("1"))
    .select_from(_ELSEWHERE.join(PAIRS, PAIRS.c.id == _ELSEWHERE.c.pair_id))
    .where(
        _ELSEWHERE.c.project_id == PROJECT,
        _ELSEWHERE.c.state == literal_column("'held'"),
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
    wanted = {"project": desk.project.id, "rater": desk.rater_id}
    # On SQLite nobody else is in the middle of a claim: what is open was not for this rater.
    statement = _HELD_ONLY if connection.dialect.name == "sqlite" else _HELD_OR_OPEN
    return bool(connection.scalar(statement, wanted))
