"""Repeat pairs: some of a rater's pairs come back to them, unmarked, as an answer of its own.

The second grade is no rating: what counts, measures or exports ratings never meets it. A repeat
takes no slot, so that it needs no lease. Whoever writes one has the lock of its pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from sqlalchemy import Connection, Table, and_, bindparam, exists, func, insert, literal, select, update
from sqlalchemy.orm import Session

from annotation.assignment import PairForRater, Progress
from annotation.errors import AssignmentError
from annotation.quality import repeat_order, repeats_apart, repeats_due
from annotation.reliability.repeats import TwoGrades
from annotation.services.project_rows import IN_USE, scale_in
from annotation.services.rater_queue import PAIRS, RATINGS, AnyRow, RaterContext, as_graded_pair
from annotation.services.transactions import per_system
from annotation.translation import _
from db.models import Repeat, RepeatChange

REPEATS = cast(Table, Repeat.__table__)
CHANGES = cast(Table, RepeatChange.__table__)

_OWN_RATING = and_(RATINGS.c.pair_id == REPEATS.c.pair_id, RATINGS.c.rater_id == REPEATS.c.rater_id)
_COUNTING = REPEATS.join(PAIRS, PAIRS.c.id == REPEATS.c.pair_id).join(RATINGS, _OWN_RATING)
"""Those whose pair is in use and whose first grade has not been set aside."""
_MINE = and_(REPEATS.c.project_id == bindparam("project"), REPEATS.c.rater_id == bindparam("rater"), IN_USE)
_COLUMNS = (
    PAIRS.c.id,
    PAIRS.c.type,
    PAIRS.c.left,
    PAIRS.c.right,
    PAIRS.c.senses,
    PAIRS.c.project_id,
    REPEATS.c.comment,
    REPEATS.c.is_flagged,
    REPEATS.c.quarters,
    REPEATS.c.answered_at.label("updated_at"),
    REPEATS.c.answered_at,
    REPEATS.c.claimed_at,
    literal(True).label("is_repeat"),
)
_ALL = select(*_COLUMNS).select_from(_COUNTING).where(_MINE)
_HELD = _ALL.where(REPEATS.c.state == "held").order_by(REPEATS.c.claimed_at)
_ONE = _ALL.where(REPEATS.c.pair_id == bindparam("pair"))
_ANSWERED = (
    _ALL.where(REPEATS.c.state != "held").order_by(REPEATS.c.answered_at.desc()).limit(bindparam("limit"))
)
# Imported grades have no seconds: nobody gave them here, and they do not come back.
_GRADED = and_(
    RATINGS.c.project_id == bindparam("project"),
    RATINGS.c.rater_id == bindparam("rater"),
    RATINGS.c.seconds.is_not(None),
    IN_USE,
)
_RATED_PAIRS = RATINGS.join(PAIRS, PAIRS.c.id == RATINGS.c.pair_id)
_COUNT = (
    select(
        select(func.count()).select_from(_RATED_PAIRS).where(_GRADED).scalar_subquery().label("graded"),
        func.count().label("given"),
        func.count().filter(REPEATS.c.state == "rated").label("rated"),
        func.count().filter(REPEATS.c.state == "skipped").label("skipped"),
        func.coalesce(func.max(REPEATS.c.graded_before), 0).label("last_at"),
    )
    .select_from(_COUNTING)
    .where(_MINE)
)
_NEWEST = (
    select(RATINGS.c.id)
    .select_from(_RATED_PAIRS)
    .where(_GRADED)
    .order_by(RATINGS.c.updated_at.desc(), RATINGS.c.id.desc())
    .limit(bindparam("apart"))
)
_CANDIDATES = (
    select(PAIRS.c.id, PAIRS.c.type, PAIRS.c.external_id)
    .select_from(_RATED_PAIRS)
    .where(
        _GRADED,
        RATINGS.c.id.not_in(_NEWEST),
        ~exists().where(REPEATS.c.pair_id == RATINGS.c.pair_id, REPEATS.c.rater_id == RATINGS.c.rater_id),
    )
)
_GIVE = per_system(
    REPEATS,
    lambda insert: insert.values(
        project_id=bindparam("project"),
        pair_id=bindparam("pair"),
        rater_id=bindparam("rater"),
        state="held",
        graded_before=bindparam("graded"),
        comment="",
        is_flagged=False,
        claimed_at=bindparam("now"),
    ).on_conflict_do_nothing(index_elements=["pair_id", "rater_id"]),
)


@dataclass(frozen=True, slots=True)
class RepeatProgress:
    """What a rater has had of repeat pairs."""

    percent: int
    graded: int
    """Pairs of the project that they graded on the page: of these some come back."""
    given: int
    """Held, graded or skipped by them."""
    rated: int
    skipped: int
    last_at: int
    """How many pairs they had graded when the last one came back."""

    def is_due(self, *, is_last: bool) -> bool:
        """Whether one comes back now; never two without a pair between them, but at the end."""
        is_answered = self.given == self.rated + self.skipped
        is_apart = is_answered and (self.graded > self.last_at or not self.given)
        return self.given < repeats_due(self.graded, self.percent) and (is_apart or is_last)

    def add_to(self, shown: Progress, own: Progress, *, is_at_end: bool) -> Progress:
        """The progress as the rater sees it, in which a repeat is a pair.

        Args:
            shown: with what else is added.
            own: of the pairs of the project alone.
            is_at_end: nothing is left, so that none will come back any more.
        """
        graded = self.graded + own.total - own.rated
        expected = 0 if is_at_end else repeats_due(graded, self.percent)
        return Progress(shown.rated + self.rated, shown.total + max(expected, self.given) - self.skipped)


def read_repeats(connection: Connection, context: RaterContext) -> RepeatProgress | None:
    """What the rater has had of repeats; None in a project without."""
    if not context.repeat_percent:
        return None
    counted = connection.execute(_COUNT, context.parameters).one()
    return RepeatProgress(context.repeat_percent, *counted)


def held_repeats(connection: Connection, context: RaterContext) -> list[AnyRow]:
    """The rows of the repeats that wait for the rater."""
    return list(connection.execute(_HELD, context.parameters))


def claim_repeat(
    connection: Connection, context: RaterContext, repeats: RepeatProgress, now: datetime, *, is_last: bool
) -> list[AnyRow]:
    """The row of a pair that comes back now; none when none is due.

    Seed, rater and pair decide which one, so that two tabs get the same.

    Args:
        is_last: there is nothing else for the rater.
    """
    if not repeats.is_due(is_last=is_last):
        return []
    wanted = {**context.parameters, "apart": repeats_apart(repeats.graded)}
    found = connection.execute(_CANDIDATES, wanted).all()
    if not found:
        return []
    chosen = min(
        found, key=lambda row: repeat_order(context.seed, context.rater_id, row.type, row.external_id)
    )
    whose = {**context.parameters, "pair": chosen.id}
    connection.execute(_GIVE[connection.dialect.name], {**whose, "graded": repeats.graded, "now": now})
    return [row for row in held_repeats(connection, context) if row.id == chosen.id]


def lock_repeat(connection: Connection, pair_id: int, rater_id: int) -> AnyRow:
    """The repeat of a pair whose lock this transaction has.

    Raises:
        AssignmentError: the pair never came back to the rater.
    """
    found = connection.execute(
        select(REPEATS).where(REPEATS.c.pair_id == pair_id, REPEATS.c.rater_id == rater_id)
    ).one_or_none()
    if found is None:
        raise AssignmentError(_("This pair was not given to you: go on with the pair that your queue shows."))
    return found


def change_repeat(connection: Connection, repeat_id: int, **values: Any) -> None:
    connection.execute(update(REPEATS).where(REPEATS.c.id == repeat_id).values(**values))


def grade_repeat(
    connection: Connection, again: AnyRow, quarters: int, first: int, seconds: float | None, now: datetime
) -> None:
    """Keep a second grade, and that it was given.

    Args:
        again: the row that `lock_repeat` found.
        quarters: the grade, in steps of the project's scale.
        first: the rater's rating of the pair now.
        seconds: spent on this answer.
    """
    is_timed = again.seconds is not None or seconds is not None
    change_repeat(
        connection,
        again.id,
        state="rated",
        quarters=quarters,
        # What they had given by then: a change of it after this is made with both in mind.
        first_quarters=first if again.quarters is None else again.first_quarters,
        seconds=(again.seconds or 0) + (seconds or 0) if is_timed else None,
        answered_at=now,
    )
    whose = {"project_id": again.project_id, "pair_id": again.pair_id, "rater_id": again.rater_id}
    given = {"quarters": quarters, "previous_quarters": again.quarters, "seconds": seconds, "at": now}
    connection.execute(insert(CHANGES).values(**whose, **given).inline())


def read_repeat(connection: Connection, context: RaterContext, pair_id: int) -> PairForRater:
    """The pair with the rater's second grade, and what they said of it then."""
    row = connection.execute(_ONE, {**context.parameters, "pair": pair_id}).one()
    return as_graded_pair(row, context.project.scale)


def answered_repeats(connection: Connection, context: RaterContext, limit: int) -> Sequence[AnyRow]:
    """The rows of the repeats that the rater graded or skipped last."""
    return connection.execute(_ANSWERED, {**context.parameters, "limit": limit}).all()


def read_two_grades(session: Session, project_id: int) -> list[TwoGrades]:
    """Both grades of the pairs that were graded twice, of ratings that count; by rater and pair."""
    scale = scale_in(session, project_id)
    rows = session.execute(
        select(PAIRS.c.type, PAIRS.c.external_id, REPEATS)
        .select_from(_COUNTING)
        .where(REPEATS.c.project_id == project_id, REPEATS.c.state == "rated", IN_USE)
    )
    found = [
        TwoGrades(
            row.rater_id,
            row.type,
            row.external_id,
            float(scale.from_steps(row.first_quarters)),
            float(scale.from_steps(row.quarters)),
            row.answered_at,
            row.seconds,
        )
        for row in rows
    ]
    return sorted(found, key=lambda each: (each.rater, each.external_id, each.type))


def repeats_version(session: Session, project_id: int) -> Any:
    """What changes whenever one of the second grades does."""
    return session.scalar(select(func.count()).where(CHANGES.c.project_id == project_id))
