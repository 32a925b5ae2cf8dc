"""Hidden check pairs: pairs with a known grade among the others of a rater's queue.

In a rater's queue, answers and progress they look like any other pair. They are kept in a project of their
own, the shelf, which no list shows: whatever counts, measures or exports the project itself never meets them.
Every rater is given each of them at most once.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, func, select
from sqlalchemy.dialects import sqlite
from sqlalchemy.orm import Session

from annotation.assignment import Progress
from annotation.quality import check_order, checks_due
from annotation.services.bulk import per_system
from annotation.services.in_use import IN_USE
from annotation.services.rating.claims import HOLD_ONE
from annotation.services.rating.desk import (
    ASSIGNMENTS,
    COMMENTS,
    GRADED_OF_WITHDRAWN,
    PAIRS,
    PROJECT,
    PROJECTS,
    RATER,
    SET_ASIDE,
    SHELF,
    STATES,
    AnyRow,
    Desk,
    in_states,
)
from annotation.services.rating.own_pairs import COMMENTED, SEEN
from annotation.services.rating.tally import recount
from db.models import Project

_TAKEN = ("held", "rated", "skipped")


def shelf_of(session: Session, project_id: int) -> int | None:
    """The id of the project that keeps the check pairs of this one, if it has any."""
    return session.scalar(select(Project.id).where(Project.checks_of_id == project_id))


@dataclass(frozen=True, slots=True)
class Checks:
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

    def added_to(self, progress: Progress) -> Progress:
        """The progress as the rater sees it, in which a check pair is a pair."""
        more = self.due(progress.total + self.set_aside) - self.skipped
        return Progress(progress.rated + self.graded, progress.total + more)


_HAD = select(
    func.count().filter(in_states(*_TAKEN)),
    func.count().filter(in_states("rated")),
    func.count().filter(in_states("skipped")),
).where(ASSIGNMENTS.c.project_id == SHELF, ASSIGNMENTS.c.rater_id == RATER)
_WORKED = (
    select(func.count())
    .where(
        ASSIGNMENTS.c.project_id == PROJECT,
        ASSIGNMENTS.c.rater_id == RATER,
        in_states("held", "rated"),
    )
    .scalar_subquery()
    - GRADED_OF_WITHDRAWN
)
_SET_ASIDE = (
    select(func.count())
    .select_from(ASSIGNMENTS.join(PAIRS, PAIRS.c.id == ASSIGNMENTS.c.pair_id))
    .where(
        ASSIGNMENTS.c.project_id == PROJECT,
        ASSIGNMENTS.c.rater_id == RATER,
        in_states(SET_ASIDE),
        IN_USE,
    )
    .scalar_subquery()
)
_AVAILABLE = (
    select(func.count())
    .select_from(PAIRS)
    .where(PAIRS.c.project_id == SHELF)
    .correlate(PROJECTS)
    .scalar_subquery()
)
_PLAN = (
    select(PROJECTS.c.seed, STATES.c.check_start, STATES.c.check_given, _WORKED, _SET_ASIDE, _AVAILABLE)
    .select_from(PROJECTS.outerjoin(STATES, (STATES.c.project_id == PROJECT) & (STATES.c.user_id == RATER)))
    .where(PROJECTS.c.id == SHELF)
)


def read_checks(connection: Connection, desk: Desk) -> Checks | None:
    """What the rater has had of the check pairs; None in a project without any."""
    if not desk.shelf_id:
        return None
    given, graded, skipped = connection.execute(_HAD, desk.whose).one()
    seed, start, given_before, worked, aside, pairs = connection.execute(_PLAN, desk.whose).one()
    worked += aside
    return Checks(
        f"{seed}:{desk.rater_id}",
        desk.check_every,
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


def _beginning(insert: sqlite.Insert) -> sqlite.Insert:
    begun: dict[str, Any] = {"check_start": bindparam("start"), "check_given": bindparam("given")}
    whose = {"project_id": PROJECT, "user_id": RATER}
    return insert.values({**whose, **begun}).on_conflict_do_update(
        index_elements=["project_id", "user_id"], set_=begun
    )


_BEGIN = per_system(STATES, _beginning)
_LEFT = select(PAIRS.c.id).where(
    PAIRS.c.project_id == SHELF,
    PAIRS.c.id.not_in(
        select(ASSIGNMENTS.c.pair_id).where(
            ASSIGNMENTS.c.project_id == SHELF,
            ASSIGNMENTS.c.rater_id == RATER,
            in_states(*_TAKEN),
        )
    ),
)
_ONE = (
    select(*SEEN, PAIRS.c.position, PAIRS.c.project_id)
    .select_from(PAIRS.outerjoin(COMMENTS, COMMENTED))
    .where(PAIRS.c.id == bindparam("pair"))
    .with_for_update(of=PAIRS, key_share=True, skip_locked=True)
)


def claim_check(connection: Connection, desk: Desk, checks: Checks, now: datetime) -> list[AnyRow]:
    """The row of a check pair that is due now, held by the rater; none when none is due or left.

    The rater's key decides which one, so that two tabs claim the same pair.
    """
    if checks.every and not checks.has_begun:
        begun = {"start": checks.start, "given": checks.given_before}
        connection.execute(_BEGIN[connection.dialect.name], {**desk.whose, **begun})
    if checks.given >= checks.due(checks.worked):
        return []
    left = connection.scalars(_LEFT, desk.whose).all()
    if not left:
        return []
    chosen = min(left, key=lambda pair: check_order(checks.key, pair))
    # One that somebody else has locked comes with the next answer.
    rows = list(connection.execute(_ONE, {**desk.whose, "pair": chosen}))
    for row in rows:
        whose = {"project": desk.shelf_id, "rater": desk.rater_id, "pair": row.id, "place": row.position}
        held = {**whose, "now": now, "until": now + desk.lease}
        connection.execute(HOLD_ONE[connection.dialect.name], held)
        recount(connection, row.id)
    return rows
