"""Assignment: pairs in a project's order, to exactly as many raters as asked for, and none twice.

A pair is a rater's from the claim until their lease ends, and reading the queue renews it. Claims, counts and
returns run on the connection of a service's transaction.

Hidden gold checks stand among the pairs of a queue and look like any other there, in answers and in progress.
They are kept in a project of their own that no list shows: whatever counts, measures or exports the project
itself never meets them. Every rater is given each of them at most once.

A rater's share of a project: the most pairs that they hold or have graded, where it has such a limit. Two
requests of one rater wait for each other before either counts what is theirs. A request that holds that lock
waits for no pair, so that one may wait for it with the lock of a pair. Who sends the rater away takes it too,
and does wait for pairs (`block_claims`): PostgreSQL undoes one of two that wait for each other, and it is
repeated.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, TypeVar, cast

from sqlalchemy import (
    ColumnElement,
    Connection,
    ScalarSelect,
    Select,
    Update,
    and_,
    bindparam,
    exists,
    func,
    insert,
    literal_column,
    or_,
    select,
    true,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from annotation.assignment import Progress, Queue, Saved
from annotation.errors import AssignmentError
from annotation.quality import check_order, checks_due
from annotation.services.project_rows import IN_USE, of_pair_in_use
from annotation.services.rater_queue import (
    ASSIGNMENTS,
    CHECKS_PROJECT,
    COMMENTS,
    EXCLUDED,
    HAS_SLOT,
    IS_HELD,
    IS_RATER_ROLE,
    MAY_CLAIM,
    MEMBERSHIPS,
    NOT_NEW,
    OWN_COMMENT,
    PAIR_COLUMNS,
    PAIRS,
    PROJECT,
    PROJECTS,
    RATER,
    RATINGS,
    SKIPS,
    STATES,
    AnyRow,
    RaterContext,
    as_pair,
    block_claims,
    in_states,
    is_in,
    lock_own_pair,
    open_context,
)
from annotation.services.repeats import claim_repeat, held_repeats, read_repeats
from annotation.services.transactions import parts, per_system
from annotation.translation import _
from annotation.types import Clock, SkipReason, utcnow
from annotation.wording import LONGEST_NOTE, normalise_note
from db import Database
from db.models import Project

Result = TypeVar("Result")

TAKES_A_SLOT = ("held", "rated")
"""A pair in one of these states for a rater is one of as many as its project asks for."""


def refresh_pairs(session: Session, pair_ids: Iterable[int]) -> None:
    """Count ratings, lowest, highest, spread and open slots of these pairs anew.

    Call it after the ratings and assignments are flushed, with the row of the project locked: an import
    calls it for one part after another, and only within one are pairs locked in the order of their ids. Who
    does not lock the project locks one pair at a time. A pair with more raters than its project has for a
    pair breaks a CHECK: refuse it before.
    """
    session.flush()
    for part in parts(sorted(set(pair_ids))):
        session.connection().execute(_LOCK_CHOSEN, {"ids": part})
        session.connection().execute(_COUNT_CHOSEN, {"ids": part})


def recount(connection: Connection, pair_id: int) -> None:
    """The same for one pair whose row is locked already."""
    connection.execute(_COUNT_ONE, {"pair": pair_id})


def _update_counts(chosen: ColumnElement[bool]) -> Update:
    low, high = func.min(RATINGS.c.quarters), func.max(RATINGS.c.quarters)

    def of_its_ratings(value: ColumnElement[int]) -> ColumnElement[int]:
        return select(value).where(RATINGS.c.pair_id == PAIRS.c.id).correlate(PAIRS).scalar_subquery()

    taken = (
        select(func.count())
        .where(ASSIGNMENTS.c.pair_id == PAIRS.c.id, in_states(*TAKES_A_SLOT))
        .correlate(PAIRS)
        .scalar_subquery()
    )
    raters = select(PROJECTS.c.raters_per_pair).where(PROJECTS.c.id == PAIRS.c.project_id)
    return (
        update(PAIRS)
        .where(chosen)
        .values(
            rating_count=of_its_ratings(func.count()),
            low_quarters=of_its_ratings(low),
            high_quarters=of_its_ratings(high),
            spread_quarters=of_its_ratings(func.coalesce(high - low, 0)),
            open_slots=raters.correlate(PAIRS).scalar_subquery() - taken,
        )
    )


_CHOSEN = PAIRS.c.id.in_(bindparam("ids", expanding=True))
_LOCK_CHOSEN = select(PAIRS.c.id).where(_CHOSEN).order_by(PAIRS.c.id).with_for_update(key_share=True)
_COUNT_CHOSEN = _update_counts(_CHOSEN)
_COUNT_ONE = _update_counts(PAIRS.c.id == bindparam("pair"))


EXACT_UP_TO = 2_000
"""Up to this many pairs are counted for every answer; more of them only now and then."""
SECONDS_A_PAIR = 0.003
"""How long the count of a larger project serves: five minutes for 100,000 pairs."""
NEAR_THE_END = 100
"""With so few pairs left it serves a tenth of that."""


def _count_own(*states: str, of: ColumnElement[bool] | None = None) -> ScalarSelect[int]:
    """How many pairs of the project are in one of these states for the rater; `of` narrows down the pairs."""
    own = select(func.count()).where(
        ASSIGNMENTS.c.project_id == PROJECT, ASSIGNMENTS.c.rater_id == RATER, in_states(*states)
    )
    if of is not None:
        own = own.select_from(ASSIGNMENTS.join(PAIRS, PAIRS.c.id == ASSIGNMENTS.c.pair_id)).where(of)
    return own.scalar_subquery()


# From the few pairs that are withdrawn, not from all that the rater graded; nobody holds one.
_GRADED_OF_WITHDRAWN = (
    select(func.count())
    .select_from(PAIRS.join(ASSIGNMENTS, ASSIGNMENTS.c.pair_id == PAIRS.c.id))
    .where(PAIRS.c.project_id == PROJECT, ~IN_USE, ASSIGNMENTS.c.rater_id == RATER, in_states("rated"))
    .scalar_subquery()
)
_GRADED, _HELD = _count_own("rated") - _GRADED_OF_WITHDRAWN, _count_own("held")
"""Of the pairs that count."""
_OPEN = select(func.count()).where(PAIRS.c.project_id == PROJECT, HAS_SLOT).scalar_subquery()
_PROGRESS = select(_GRADED, _HELD, _OPEN - _count_own(*NOT_NEW, of=HAS_SLOT), _OPEN)


def progress_of(connection: Connection, context: RaterContext) -> Progress:
    """Counted now, within their share."""
    rated, held, left, _ = _counts(connection, context)
    return context.within_share(Progress(rated, rated + held + left), held)


def _counts(connection: Connection, context: RaterContext) -> tuple[int, int, int, int]:
    """How many pairs the rater graded, holds and can have besides, and how many are open at all."""
    rated, held, left, is_open = connection.execute(_PROGRESS, context.parameters).one()
    return rated, held, left, is_open


@dataclass(frozen=True, slots=True)
class _ProgressCount:
    progress: Progress
    at: float
    serves: float
    """For this many seconds."""


class ProgressCounter:
    """The progress of raters through all that they could be given, whatever their share of it.

    Own grades do not change what a rater can have graded in the end, only others' do. In a large project
    both numbers are therefore carried on from answer to answer for a while, and then counted again: counting
    100,000 pairs for every grade would make all raters wait.
    """

    def __init__(self) -> None:
        self._counts: dict[tuple[int, int], _ProgressCount] = {}

    def recall(self, context: RaterContext, *, rated: int = 0, skipped: int = 0) -> Progress | None:
        """What was counted a moment ago and what the rater has done since; None when it must be counted."""
        key = (context.project.id, context.rater_id)
        counted = self._counts.get(key)
        if counted is None or time.monotonic() - counted.at > counted.serves:
            return None
        before = counted.progress
        progress = Progress(before.rated + rated, before.total - skipped)
        self._counts[key] = replace(counted, progress=progress)
        return progress

    def forget(self, rater_id: int) -> None:
        """Forget the counts of a rater: a transaction that changed them was undone."""
        for key in [key for key in list(self._counts) if key[1] == rater_id]:
            self._counts.pop(key, None)

    def count(self, connection: Connection, context: RaterContext) -> Progress:
        """Counted now, and recall if that takes long."""
        rated, held, left, is_open = _counts(connection, context)
        progress, pairs = Progress(rated, rated + held + left), rated + is_open
        serves = pairs * SECONDS_A_PAIR if pairs > EXACT_UP_TO else 0.0
        if progress.total - progress.rated <= NEAR_THE_END:
            serves /= 10
        self._counts[context.project.id, context.rater_id] = _ProgressCount(
            progress, time.monotonic(), serves
        )
        return progress


_HELD_PAIRS = (
    select(
        *PAIR_COLUMNS,
        ASSIGNMENTS.c.id.label("assignment_id"),
        ASSIGNMENTS.c.lease_expires_at,
        ASSIGNMENTS.c.claimed_at,
        PAIRS.c.position,
        PAIRS.c.project_id,
    )
    .select_from(
        ASSIGNMENTS.join(PAIRS, PAIRS.c.id == ASSIGNMENTS.c.pair_id).outerjoin(COMMENTS, OWN_COMMENT)
    )
    .where(ASSIGNMENTS.c.project_id.in_((PROJECT, CHECKS_PROJECT)), ASSIGNMENTS.c.rater_id == RATER, IS_HELD)
    .order_by(ASSIGNMENTS.c.claimed_at, ASSIGNMENTS.c.position)
)
_RENEW = (
    update(ASSIGNMENTS)
    .where(ASSIGNMENTS.c.id.in_(bindparam("ids", expanding=True)), IS_HELD)
    .values(lease_expires_at=bindparam("until"))
    .returning(ASSIGNMENTS.c.pair_id)
)


def held_pairs(connection: Connection, context: RaterContext, now: datetime) -> list[AnyRow]:
    """The rows of the pairs that the rater holds, first claimed first; a lease that is half over is renewed.

    Check pairs are among them; their `project_id` is that of the project that keeps them.
    """
    rows = list(connection.execute(_HELD_PAIRS, context.parameters))
    aging = [row.assignment_id for row in rows if row.lease_expires_at - now < context.lease / 2]
    if not aging:
        return rows
    renewed = set(connection.scalars(_RENEW, {"ids": aging, "until": now + context.lease}))
    return [row for row in rows if row.assignment_id not in aging or row.id in renewed]


_IS_NEW_TO_ME = ~is_in(NOT_NEW, RATER)
_OPEN_TO_ME = (
    select(*PAIR_COLUMNS, PAIRS.c.position, PAIRS.c.project_id)
    .select_from(PAIRS.outerjoin(COMMENTS, OWN_COMMENT))
    .where(PAIRS.c.project_id == PROJECT, HAS_SLOT, _IS_NEW_TO_ME)
    .order_by(PAIRS.c.position)
    .limit(bindparam("limit"))
)
_AFTER = _OPEN_TO_ME.where(PAIRS.c.position > bindparam("cursor"))
_BEFORE = _OPEN_TO_ME.where(PAIRS.c.position <= bindparam("cursor"))
_FROM_THE_BEGINNING = -1

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


_HOLD_ONE = per_system(
    ASSIGNMENTS,
    lambda insert: _hold(
        insert.values(**_HOLDING, pair_id=bindparam("pair"), position=bindparam("place")).inline()
    ),
)
"""A pair is held by the rater; `project` is where it is kept."""
_TAKE_SLOT = update(PAIRS).values(open_slots=PAIRS.c.open_slots - 1)
_TAKE_SLOT_OF_ONE = _TAKE_SLOT.where(PAIRS.c.id == bindparam("pair"))


def _search_and_hold(search: Select[Any]) -> Select[Any]:
    """A whole claim in one statement, which PostgreSQL takes: it saves two round trips."""
    found, may_claim = search.cte("found"), MAY_CLAIM.cte("may_claim")
    rows = select(*_HOLDING.values(), found.c.id, found.c.position).join_from(found, may_claim, true())
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
    connection: Connection, context: RaterContext, now: datetime, *, count: int, cursor: int
) -> list[AnyRow]:
    """Up to `count` open pairs after the position `cursor`, then from the beginning, now held."""
    claimed: list[AnyRow] = []
    for half in (0, 1):
        if len(claimed) < count:
            wanted = _claim_parameters(context, now, count=count - len(claimed), cursor=cursor)
            if connection.dialect.name == "sqlite":
                claimed += _claim_on_sqlite(connection, (_AFTER, _BEFORE)[half], wanted)
            else:
                claimed += connection.execute(_PASSING_LOCKED[half], wanted)
    return claimed


def wait_for_pair(connection: Connection, context: RaterContext, now: datetime) -> None:
    """Lock one open pair, even if others have it locked; only while this transaction holds no lock.

    The claim comes after it: what the rater may still have is counted in between.
    """
    connection.execute(_WAITING, _claim_parameters(context, now, count=1, cursor=_FROM_THE_BEGINNING)).close()


def _claim_parameters(context: RaterContext, now: datetime, *, count: int, cursor: int) -> dict[str, Any]:
    return {**context.parameters, "now": now, "until": now + context.lease, "limit": count, "cursor": cursor}


def _claim_on_sqlite(connection: Connection, search: Select[Any], wanted: dict[str, Any]) -> Sequence[AnyRow]:
    """The same in steps: nobody else can come between."""
    found = connection.execute(search, wanted).all()
    for row in found:
        connection.execute(_HOLD_ONE["sqlite"], {**wanted, "pair": row.id, "place": row.position})
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


def last_rated_position(connection: Connection, context: RaterContext) -> int:
    """Where a rater who holds nothing goes on: at the pair they graded last, or at the beginning."""
    position = connection.scalar(_LAST_RATED, context.parameters)
    return _FROM_THE_BEGINNING if position is None else position


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


def may_come_back(connection: Connection, context: RaterContext) -> bool:
    """Whether a rater who could claim nothing may be given a pair later."""
    # On SQLite nobody else is in the middle of a claim: what is open was not for this rater.
    statement = _HELD_ONLY if connection.dialect.name == "sqlite" else _HELD_OR_OPEN
    return bool(connection.scalar(statement, context.parameters))


_EXPIRED_AT_ONCE = 100

_EXPIRED = (
    select(ASSIGNMENTS.c.id, ASSIGNMENTS.c.pair_id)
    .join(PAIRS, PAIRS.c.id == ASSIGNMENTS.c.pair_id)
    .where(
        ASSIGNMENTS.c.project_id.in_((PROJECT, CHECKS_PROJECT)),
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
    connection: Connection, project_id: int, checks_project_id: int, now: datetime, *, but_rater: int = 0
) -> int:
    """Give back pairs whose lease ran out, at most a hundred, and none of `but_rater`; how many.

    A check pair is nobody else's to have: its rater is given it again when he comes back and one is due.
    """
    wanted = {"project": project_id, "checks_project": checks_project_id, "now": now, "but_rater": but_rater}
    return _return(connection, connection.execute(_EXPIRED, wanted).all())


def return_kept(connection: Connection, rater_id: int, project_id: int | None) -> int:
    """Give back what the rater holds, check pairs among it; how many pairs.

    Nor do they hold a withdrawn pair again that they had before, once it is restored. They claim nothing
    until the transaction ends. It takes several locks: `Database.transact`, with the row of the project
    locked first, as an import locks pairs in the order of its file.

    Args:
        project_id: where; None for everywhere.
    """
    count = 0
    for is_locked in (False, True):  # pairs come first, so that whoever saves a grade just now can end it
        if is_locked:
            block_claims(connection, rater_id, project_id)
        count += _return_selected(connection, *_select_kept(rater_id, project_id))
    return count


def give_back(database: Database, rater_id: int, project_id: int | None = None) -> int:
    """As `return_kept`, while the rater or somebody else may be at work on the pairs.

    Each pair goes in a transaction of its own. With several locked, an import that has rated one of them and
    comes to another would wait for this, and this for the import, which may last.

    Raises:
        UnreachableError: an import that goes on has rated one of the pairs. Those before it are given back.
    """
    statement, whose = _select_kept(rater_id, project_id)

    def return_one(assignment_id: int, session: Session) -> int:
        this = {**whose, "assignment": assignment_id}
        return _return_selected(session.connection(), statement.where(_THIS_ONE), this)

    with database.reading() as session:
        kept = session.connection().scalars(statement, whose).all()
    count = sum(database.transact(partial(return_one, assignment_id)) for assignment_id in kept)
    # What was claimed meanwhile.
    return count + database.transact(lambda session: return_kept(session.connection(), rater_id, project_id))


def _select_kept(rater_id: int, project_id: int | None) -> tuple[Select[int, int, str], dict[str, int]]:
    if project_id is None:
        return _KEPT, {"rater": rater_id}
    return _KEPT_HERE, {"rater": rater_id, "project": project_id}


def _return_selected(
    connection: Connection, statement: Select[int, int, str], whose: Mapping[str, int]
) -> int:
    """It waits for whoever grades one of the pairs just now, the pair's lock first as everywhere."""
    locking = statement.with_for_update(of=(PAIRS, ASSIGNMENTS), key_share=True)
    kept = connection.execute(locking, whose).all()
    if withdrawn := [row.id for row in kept if row.state != "held"]:
        connection.execute(_RETURN, {"ids": withdrawn})
    return _return(connection, [row for row in kept if row.state == "held"])


def return_last_held(connection: Connection, context: RaterContext) -> int:
    """Give back the pair that the rater was given last, of those they hold; how many, 0 or 1."""
    return _return(connection, connection.execute(_LAST_HELD_BY_ME, context.parameters).all())


def _return(connection: Connection, rows: Sequence[AnyRow]) -> int:
    if rows:
        connection.execute(_RETURN, {"ids": [row.id for row in rows]})
        by_pair = Counter(row.pair_id for row in rows)
        for slots in sorted(set(by_pair.values())):
            ids = [pair_id for pair_id, count in by_pair.items() if count == slots]
            connection.execute(_GIVE_SLOTS, {"ids": ids, "slots": slots})
    return len(rows)


_RATERS = (
    select(MEMBERSHIPS.c.user_id)
    .where(MEMBERSHIPS.c.project_id == PROJECT, IS_RATER_ROLE)
    .order_by(MEMBERSHIPS.c.user_id)
)
_LOCK_RATERS = _RATERS.with_for_update(key_share=True)
_LOCK_RATER = _LOCK_RATERS.where(MEMBERSHIPS.c.user_id == RATER)
_OWN = select(_GRADED, _HELD)


@dataclass(frozen=True, slots=True)
class Share:
    """What a rater has of the pairs that count."""

    most: int
    graded: int
    held: int

    @property
    def left(self) -> int:
        """How many more they may be given; below zero where the limit was lowered."""
        return self.most - self.graded - self.held

    @property
    def is_graded(self) -> bool:
        return self.graded >= self.most


def read_share(connection: Connection, context: RaterContext) -> Share | None:
    """The rater's share, which nobody else changes until the transaction ends; None without a limit."""
    if context.most_per_rater is None:
        return None
    if connection.dialect.name != "sqlite":  # which has the whole database locked already
        connection.execute(_LOCK_RATER, context.parameters).close()
    graded, held = connection.execute(_OWN, context.parameters).one()
    return Share(context.most_per_rater, graded, held)


def make_room(connection: Connection, context: RaterContext) -> bool:
    """Whether one more pair may be the rater's, if need be in place of the one that they were given last."""
    share = read_share(connection, context)
    return share is None or share.left > 0 or return_last_held(connection, context) > 0


def read_shares(session: Session, project: Project, *, lock: bool = False) -> dict[int, Share] | None:
    """The share of each rater of the project; None where there is no limit.

    Args:
        lock: nobody else changes them until the transaction ends.
    """
    if project.most_per_rater is None:
        return None
    raters = session.scalars(_LOCK_RATERS if lock else _RATERS, {"project": project.id}).all()
    counted = (
        select(ASSIGNMENTS.c.rater_id, ASSIGNMENTS.c.state, func.count())
        .where(
            ASSIGNMENTS.c.project_id == project.id,
            ASSIGNMENTS.c.state.in_(("held", "rated")),
            of_pair_in_use(ASSIGNMENTS.c.pair_id, project.id),
        )
        .group_by(ASSIGNMENTS.c.rater_id, ASSIGNMENTS.c.state)
    )
    theirs = {(rater, state): count for rater, state, count in session.execute(counted)}
    return {
        rater: Share(project.most_per_rater, theirs.get((rater, "rated"), 0), theirs.get((rater, "held"), 0))
        for rater in raters
    }


@dataclass(frozen=True, slots=True)
class CheckProgress:
    """What a rater has had of the check pairs of a project."""

    key: str
    every: int
    pairs: int
    """How many check pairs there are."""
    given: int
    """Held, graded or skipped by them."""
    graded: int
    skipped: int
    worked: int
    """Pairs of the project itself that they hold or have graded, also where the grade was set aside."""
    set_aside: int
    """Those of them whose grade was set aside: no part of a rater's progress."""
    start: int
    """How many these were when checks began."""
    given_before: int
    """How many check pairs they had been given by then."""
    has_begun: bool
    """Whether that is written down already."""

    def due(self, worked: int) -> int:
        """How many check pairs they will have been given with `worked` pairs of the project."""
        due = self.given_before + checks_due(self.key, max(0, worked - self.start), self.every)
        return min(self.pairs, max(self.given, due))

    def add_to(self, progress: Progress) -> Progress:
        """The progress as the rater sees it, in which a check pair is a pair."""
        more = self.due(progress.total + self.set_aside) - self.skipped
        return Progress(progress.rated + self.graded, progress.total + more)


_CHECK_STATES = ("held", "rated", "skipped")
_CHECKS_HAD = select(
    func.count().filter(in_states(*_CHECK_STATES)),
    func.count().filter(in_states("rated")),
    func.count().filter(in_states("skipped")),
).where(ASSIGNMENTS.c.project_id == CHECKS_PROJECT, ASSIGNMENTS.c.rater_id == RATER)
_CHECK_PAIRS = (
    select(func.count())
    .select_from(PAIRS)
    .where(PAIRS.c.project_id == CHECKS_PROJECT)
    .correlate(PROJECTS)
    .scalar_subquery()
)
_CHECK_START = (
    select(
        PROJECTS.c.seed,
        STATES.c.check_start,
        STATES.c.check_given,
        _count_own("held", "rated") - _GRADED_OF_WITHDRAWN,
        _count_own(EXCLUDED, of=IN_USE),
        _CHECK_PAIRS,
    )
    .select_from(PROJECTS.outerjoin(STATES, (STATES.c.project_id == PROJECT) & (STATES.c.user_id == RATER)))
    .where(PROJECTS.c.id == CHECKS_PROJECT)
)


def read_checks(connection: Connection, context: RaterContext) -> CheckProgress | None:
    """What the rater has had of the check pairs; None in a project without any."""
    if not context.checks_project_id:
        return None
    given, graded, skipped = connection.execute(_CHECKS_HAD, context.parameters).one()
    seed, start, given_before, worked, aside, pairs = connection.execute(
        _CHECK_START, context.parameters
    ).one()
    worked += aside
    return CheckProgress(
        f"{seed}:{context.rater_id}",
        context.check_every,
        pairs,
        given,
        graded,
        skipped,
        worked,
        aside,
        worked if start is None else start,
        given if given_before is None else given_before,
        start is not None,
    )


_CHECKS_BEGIN: dict[str, Any] = {"check_start": bindparam("start"), "check_given": bindparam("given")}
_BEGIN_CHECKS = per_system(
    STATES,
    lambda insert: insert.values(project_id=PROJECT, user_id=RATER, **_CHECKS_BEGIN).on_conflict_do_update(
        index_elements=["project_id", "user_id"], set_=_CHECKS_BEGIN
    ),
)
_CHECKS_LEFT = select(PAIRS.c.id).where(
    PAIRS.c.project_id == CHECKS_PROJECT,
    PAIRS.c.id.not_in(
        select(ASSIGNMENTS.c.pair_id).where(
            ASSIGNMENTS.c.project_id == CHECKS_PROJECT,
            ASSIGNMENTS.c.rater_id == RATER,
            in_states(*_CHECK_STATES),
        )
    ),
)
_CHOSEN_CHECK = (
    select(*PAIR_COLUMNS, PAIRS.c.position, PAIRS.c.project_id)
    .select_from(PAIRS.outerjoin(COMMENTS, OWN_COMMENT))
    .where(PAIRS.c.id == bindparam("pair"))
    .with_for_update(of=PAIRS, key_share=True, skip_locked=True)
)


def _claim_check(
    connection: Connection, context: RaterContext, checks: CheckProgress, now: datetime
) -> list[AnyRow]:
    """The row of a check pair that is due now, held by the rater; none when none is due or left.

    The rater's key decides which one, so that two tabs claim the same pair.
    """
    if checks.every and not checks.has_begun:
        begun = {"start": checks.start, "given": checks.given_before}
        connection.execute(_BEGIN_CHECKS[connection.dialect.name], {**context.parameters, **begun})
    if checks.given >= checks.due(checks.worked):
        return []
    left = connection.scalars(_CHECKS_LEFT, context.parameters).all()
    if not left:
        return []
    chosen = min(left, key=lambda pair: check_order(checks.key, pair))
    # One that somebody else has locked comes with the next answer.
    rows = list(connection.execute(_CHOSEN_CHECK, {**context.parameters, "pair": chosen}))
    for row in rows:
        whose = {
            "project": context.checks_project_id,
            "rater": context.rater_id,
            "pair": row.id,
            "place": row.position,
        }
        held = {**whose, "now": now, "until": now + context.lease}
        connection.execute(_HOLD_ONE[connection.dialect.name], held)
        recount(connection, row.id)
    return rows


AHEAD = 2
"""A rater holds the pair that is shown and the one after it."""


class AssignmentService:
    """Gives pairs to raters for a time, and takes back what they leave.

    A pair is a rater's from the claim until their lease ends; reading the queue renews it.
    """

    def __init__(self, database: Database, clock: Clock = utcnow) -> None:
        self._database = database
        self._clock = clock
        self._progress = ProgressCounter()

    def queue(self, project_id: int, rater_id: int, count: int = AHEAD) -> Queue:
        """The pairs that the rater holds, filled up to `count` with new ones.

        Raises:
            NotFoundError: there is no such project.
            AccessError: the user is not a rater in it, or is paused.
            ConsentError: they have to agree to the project's text first.
            TrainingPairsError: they have to grade the training pairs first.
        """

        def claim(connection: Connection) -> Queue:
            now = self._clock()
            context = open_context(connection, project_id, rater_id, now)
            context.check_may_work()
            return self.fill(connection, context, now, count=count)

        return self.look_again(self.transact(claim, rater_id), rater_id)

    def skip(self, pair_id: int, rater_id: int, reason: SkipReason, note: str = "") -> Saved:
        """Give the pair to somebody else, for a reason; the rater's queue after that.

        They are not offered the pair again, but may still grade it while it has a place for them.

        Raises:
            NotFoundError: there is no such pair.
            AccessError: the user is not a rater in its project, or may not work as of `queue`.
            AssignmentError: the pair was never theirs, or they graded it.
        """
        said = normalise_note(note, "note", LONGEST_NOTE)

        def skip(connection: Connection) -> Saved:
            now = self._clock()
            row, context = lock_own_pair(connection, pair_id, rater_id, now)
            context.check_may_work()
            if row.state == "rated":
                raise AssignmentError(
                    _("You graded this pair already: change its grade instead of skipping it.")
                )
            is_new = row.state != "skipped"
            if is_new:
                taken = ASSIGNMENTS.c.id == row.assignment_id
                connection.execute(
                    update(ASSIGNMENTS).where(taken).values(state="skipped", lease_expires_at=None)
                )
                whose = {"project_id": row.keeper_id, "pair_id": row.id, "rater_id": rater_id}
                connection.execute(insert(SKIPS).values(**whose, reason=reason.value, note=said, at=now))
                recount(connection, row.id)
            queue = self.fill(connection, context, now, answered=row, skipped=int(is_new))
            return Saved(now, queue)

        saved = self.transact(skip, rater_id)
        return replace(saved, queue=self.look_again(saved.queue, rater_id))

    def give_back(self, project_id: int, rater_id: int) -> int:
        """Let go of what the rater holds, so that others can have it at once; how many pairs.

        Raises:
            NotFoundError: there is no such project.
            AccessError: the user is not a rater in it.
            UnreachableError: an import that goes on has rated one of the pairs. Those before it are given
                back.
        """
        with self._database.reading() as session:
            open_context(session.connection(), project_id, rater_id, self._clock())
        return give_back(self._database, rater_id, project_id)

    def fill(
        self,
        connection: Connection,
        context: RaterContext,
        now: datetime,
        *,
        count: int = AHEAD,
        answered: AnyRow | None = None,
        rated: int = 0,
        skipped: int = 0,
    ) -> Queue:
        """The queue within a transaction that may write; for the services of annotation.

        Args:
            answered: the pair that this transaction is about: the search goes on from there.
            rated: how many pairs this transaction has added to those that they graded.
            skipped: how many it has taken from those that they can have.
        """
        if answered is not None and (answered.is_check or answered.is_withdrawn):
            answered, rated, skipped = None, 0, 0  # nothing has changed among the pairs that count
        if context.has_expired:
            return_expired(
                connection, context.project.id, context.checks_project_id, now, but_rater=context.rater_id
            )
        rows = held_pairs(connection, context, now)
        own = [row for row in rows if row.project_id == context.project.id]
        known = self._progress.recall(context, rated=rated, skipped=skipped)
        is_all = known is not None and known.rated + len(own) >= known.total
        repeats = read_repeats(connection, context)
        if repeats is not None:
            rows = sorted(
                [*rows, *held_repeats(connection, context)], key=lambda row: cast(datetime, row.claimed_at)
            )
        checks = read_checks(connection, context)
        if repeats is not None and len(rows) < count:
            rows += claim_repeat(connection, context, repeats, now, is_last=False)
        if checks is not None and len(rows) < count:
            rows += _claim_check(connection, context, checks, now)
        if is_all and not rows:  # before they are told so: pairs may have been restored or imported since
            known = self._progress.count(connection, context)
            is_all = known.rated >= known.total
        share = read_share(connection, context) if len(rows) < count else None
        wanted = count - len(rows) if share is None else min(count - len(rows), share.left)
        if wanted > 0 and not is_all:  # else all that is open is theirs: do not look through it
            if own:
                cursor = int(own[-1].position)
            elif answered is not None:
                cursor = int(answered.position)
            else:
                cursor = last_rated_position(connection, context)
            claimed = claim_pairs(connection, context, now, count=wanted, cursor=cursor)
            rows, own = rows + claimed, own + claimed
        if repeats is not None and not rows:
            rows += claim_repeat(connection, context, repeats, now, is_last=True)
        pairs = tuple(as_pair(row) for row in rows[:count])
        is_graded = not pairs and share is not None and share.is_graded
        is_waiting = not pairs and not is_graded and may_come_back(connection, context)
        progress = known or self._progress.count(connection, context)
        # What was imported since the last count makes it no fewer than these.
        progress = replace(progress, total=max(progress.total, progress.rated + len(own)))
        progress = plain = context.within_share(progress, len(own))
        if checks is not None:
            progress = checks.add_to(progress)
        repeats = read_repeats(connection, context)  # one may have come back just now
        if repeats is not None:
            is_at_end = not pairs and not is_waiting
            progress = repeats.add_to(progress, plain, is_at_end=is_at_end)
        return Queue(context.project, pairs, is_waiting, progress, is_graded)

    def transact(self, work: Callable[[Connection], Result], rater_id: int) -> Result:
        """What `work`, a transaction with `fill`, returns; where it failed, what it counted is forgotten."""
        return self._database.write(work, lambda: self._progress.forget(rater_id))

    def look_again(self, queue: Queue, rater_id: int) -> Queue:
        """The queue or, where it is empty, another one after waiting for pairs that others had locked."""
        if queue.pairs or not queue.is_waiting or self._database.is_sqlite:
            return queue

        def wait(connection: Connection) -> Queue:
            now = self._clock()
            context = open_context(connection, queue.project.id, rater_id, now)
            wait_for_pair(connection, context, now)
            # Anew: it may have been a long wait.
            context = open_context(connection, queue.project.id, rater_id, now)
            return queue if context.must_consent else self.fill(connection, context, now)

        return self.transact(wait, rater_id)
