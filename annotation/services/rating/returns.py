"""Taking pairs back from raters: on the connection of a service's transaction, or pair by pair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial

from sqlalchemy import Connection, Select, and_, bindparam, or_, select, update

from annotation.services.rating.desk import (
    ASSIGNMENTS,
    IS_HELD,
    PAIRS,
    PROJECT,
    PROJECTS,
    RATER,
    SHELF,
    AnyRow,
    Desk,
    in_states,
)
from annotation.services.rating.rater_lock import keep_from_claiming
from annotation.services.transactions import repeated_if_undone
from db import Database

_EXPIRED_AT_ONCE = 100

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
    and_(in_states("returned"), ASSIGNMENTS.c.lease_expires_at.is_not(None)),
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


def return_kept(connection: Connection, rater_id: int, project_id: int | None) -> int:
    """Give back what the rater holds, check pairs among it; how many pairs.

    Nor do they hold a withdrawn pair again that they had before, once it is restored. They claim nothing
    until the transaction ends. It takes several locks: `repeated_if_undone`, with the row of the project
    locked first, as an import locks pairs in the order of its file.

    Args:
        project_id: where; None for everywhere.
    """
    count = 0
    for is_locked in (False, True):  # pairs come first, so that whoever saves a grade just now can end it
        if is_locked:
            keep_from_claiming(connection, rater_id, project_id)
        count += _let_go(connection, *_kept(rater_id, project_id))
    return count


def give_back(database: Database, rater_id: int, project_id: int | None = None) -> int:
    """As `return_kept`, while the rater or somebody else may be at work on the pairs.

    Each pair goes in a transaction of its own. With several locked, an import that has rated one of them and
    comes to another would wait for this, and this for the import, which may last.

    Raises:
        UnreachableError: an import that goes on has rated one of the pairs. Those before it are given back.
    """
    statement, whose = _kept(rater_id, project_id)

    def one(assignment_id: int) -> int:
        with database.session() as session:
            this = {**whose, "assignment": assignment_id}
            return _let_go(session.connection(), statement.where(_THIS_ONE), this)

    def claimed_meanwhile() -> int:
        with database.session() as session:
            return return_kept(session.connection(), rater_id, project_id)

    with database.reading() as session:
        kept = session.connection().scalars(statement, whose).all()
    count = sum(repeated_if_undone(partial(one, assignment_id)) for assignment_id in kept)
    return count + repeated_if_undone(claimed_meanwhile)


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
