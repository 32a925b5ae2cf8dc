"""Hidden gold checks: pairs with a known grade among the others of a rater's queue.

Hidden check pairs: pairs with a known grade among the others of a rater's queue.
In a rater's queue, answers and progress they look like any other pair. They are kept in a project of their
own, the shelf, which no list shows: whatever counts, measures or exports the project itself never meets them.
Every rater is given each of them at most once.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, bindparam, func, select
from sqlalchemy.dialects import sqlite
from sqlalchemy.orm import Session

from annotation.assignment import Progress
from annotation.quality import QualitySettings, check_order, checks_due, has_accepted_grade
from annotation.services.claims import HOLD_ONE, recount
from annotation.services.pair_rows import IN_USE
from annotation.services.rater_queue import (
    ASSIGNMENTS,
    COMMENTED,
    COMMENTS,
    EXCLUDED,
    GRADED_OF_WITHDRAWN,
    PAIRS,
    PROJECT,
    PROJECTS,
    RATER,
    SEEN,
    SHELF,
    STATES,
    AnyRow,
    Desk,
    in_states,
)
from annotation.services.transactions import per_system
from annotation.types import from_quarters
from db import models
from db.models import Pair, Project, TrainingPair

_TAKEN = ("held", "rated", "skipped")


def checks_project_of(session: Session, project_id: int) -> int | None:
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
_EXCLUDED = (
    select(func.count())
    .select_from(ASSIGNMENTS.join(PAIRS, PAIRS.c.id == ASSIGNMENTS.c.pair_id))
    .where(
        ASSIGNMENTS.c.project_id == PROJECT,
        ASSIGNMENTS.c.rater_id == RATER,
        in_states(EXCLUDED),
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
    select(PROJECTS.c.seed, STATES.c.check_start, STATES.c.check_given, _WORKED, _EXCLUDED, _AVAILABLE)
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


class KnownKind(StrEnum):
    TRAINING = "training"
    CHECK = "check"


def training_in_use(project_id: int) -> ColumnElement[bool]:
    """Of a training pair: it is one of the project's that have not been retired."""
    return and_(TrainingPair.project_id == project_id, TrainingPair.retired_at.is_(None))


def quality_of(session: Session, project_id: int) -> QualitySettings:
    """The settings within a transaction of a service's."""
    row = session.get(models.QualitySettings, project_id)
    if row is None:
        return QualitySettings()
    return QualitySettings(
        from_quarters(row.training_quarters),
        row.pass_percent,
        row.check_every,
        from_quarters(row.check_quarters),
    )


def distances(settings: QualitySettings) -> dict[KnownKind, Decimal]:
    """A grade so far from the known one, or nearer, is accepted."""
    return {KnownKind.TRAINING: settings.training_distance, KnownKind.CHECK: settings.check_distance}


def out_of_reach(session: Session, project_id: int, kind: KnownKind, step: Decimal, distance: Decimal) -> str:
    """Why no grade is accepted of one of the pairs in use, to be followed by what to do; or nothing."""
    known = {
        KnownKind.TRAINING: select(TrainingPair.quarters).where(training_in_use(project_id)),
        KnownKind.CHECK: select(func.coalesce(Pair.intended_quarters, 0)).where(
            Pair.project_id == checks_project_of(session, project_id)
        ),
    }
    for grade in map(from_quarters, sorted(session.scalars(known[kind].distinct()))):
        if problem := no_accepted_grade(grade, step, distance):
            return f"There is a {kind} pair of {grade}, and {problem}"
    return ""


def no_accepted_grade(grade: Decimal, step: Decimal, distance: Decimal) -> str:
    """Why no grade is accepted of a pair whose known grade this is; nothing where one is."""
    if has_accepted_grade(grade, step, distance):
        return ""
    return f"no grade in steps of {step} is within the accepted distance of {distance} from {grade}"
