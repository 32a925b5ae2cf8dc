"""Grades and comments of raters: what counts, its history, and what the rater said lately."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select, update

from annotation.assignment import PairForRater, Progress, Saved
from annotation.clock import Clock, utcnow
from annotation.errors import AssignmentError
from annotation.notes import LONGEST_COMMENT, kept_text
from annotation.scale import Scale
from annotation.services.checks import read_checks
from annotation.services.rating.assignment import AssignmentService
from annotation.services.rating.counting import progress_of
from annotation.services.rating.desk import (
    ASSIGNMENTS,
    CHANGES,
    RATINGS,
    AnyRow,
    Desk,
    open_desk,
)
from annotation.services.rating.held_back import could_be_seen
from annotation.services.rating.own_pairs import (
    answered_pairs,
    keep_comment,
    lock_own_pair,
    own_pair_seen,
    read_own_pair,
)
from annotation.services.rating.share import make_room
from annotation.services.rating.tally import recount
from annotation.services.transactions import repeated_if_undone
from annotation.types import from_quarters, to_quarters
from db import Database

RECENT = 20


class RatingService:
    """Keeps grades: one of each rater for a pair, every change of it in the history."""

    def __init__(
        self, database: Database, clock: Clock = utcnow, assignments: AssignmentService | None = None
    ) -> None:
        self._database = database
        self._clock = clock
        self._assignments = assignments or AssignmentService(database, clock)

    def rate(self, pair_id: int, rater_id: int, grade: Decimal, seconds: float | None = None) -> Saved:
        """Keep the grade and fill the rater's queue, in one transaction.

        The same grade again changes nothing, so that a browser may send one twice. A pair whose lease ran
        out is taken again if it still has a place.

        Args:
            seconds: from showing the pair to this submit; added to those of earlier grades.

        Raises:
            NotFoundError: there is no such pair.
            AccessError: the user is not a rater in its project, is paused or in training there, or has not
                agreed to its text.
            GradeError: the grade is not on the project's scale.
            AssignmentError: the pair was never theirs, others took it, the project keeps first grades, or the
                rater could look at others' grades since they graded or skipped it.
        """

        def rate() -> Saved:
            with self._database.session() as session:
                connection = session.connection()
                row, desk = lock_own_pair(connection, pair_id, rater_id, self._clock())
                desk.check_may_work()
                now = self._clock()  # once the pair is locked: a decision made meanwhile was made before
                quarters = to_quarters(Scale(desk.project.step).check(grade))
                is_new = row.rating_id is None
                if is_new:
                    _add(connection, row, desk, quarters, seconds, now)
                elif row.quarters != quarters:
                    _revise(connection, row, desk, quarters, seconds, now)
                queue = self._assignments.fill(connection, desk, now, answered=row, rated=int(is_new))
                return Saved(now, queue)

        saved = repeated_if_undone(rate, lambda: self._assignments.forget_progress(rater_id))
        return replace(saved, queue=self._assignments.or_wait(saved.queue, rater_id))

    def comment(self, pair_id: int, rater_id: int, text: str, is_flagged: bool = False) -> datetime:
        """Keep the rater's comment on a pair of theirs, in place of an earlier one; when that was.

        Raises:
            NotFoundError: there is no such pair.
            AccessError: the user is not a rater in its project.
            ConsentError: they have to agree to the project's text first.
            AssignmentError: the pair was never theirs.
            NoteError: the comment is too long.
        """
        kept = kept_text(text, "comment", LONGEST_COMMENT)
        with self._database.session() as session:
            now = self._clock()
            # Locked: the row that is written refers to the project too, and who deletes it locks pairs first.
            row, desk = lock_own_pair(session.connection(), pair_id, rater_id, now)
            desk.check_consent()
            keep_comment(session.connection(), row, desk, kept, is_flagged, now)
        return now

    def pair(self, pair_id: int, rater_id: int) -> PairForRater:
        """A pair that was given to the rater, with their grade and comment.

        Raises:
            NotFoundError: there is no such pair.
            AccessError: the user is not a rater in its project.
            AssignmentError: the pair was never theirs.
        """
        with self._database.reading() as session:
            read_own_pair(session.connection(), pair_id, rater_id, self._clock())
            return own_pair_seen(session.connection(), pair_id, rater_id)

    def recent(self, project_id: int, rater_id: int, limit: int = RECENT) -> tuple[PairForRater, ...]:
        """What the rater graded or skipped last, newest first; a skipped pair has no grade.

        Raises:
            NotFoundError: there is no such project.
            AccessError: the user is not a rater in it.
        """
        with self._database.reading() as session:
            desk = open_desk(session.connection(), project_id, rater_id, self._clock())
            return answered_pairs(session.connection(), desk, limit)

    def progress(self, project_id: int, rater_id: int) -> Progress:
        """How many pairs the rater graded, of how many that they can have graded in the end; counted now.

        Raises:
            NotFoundError: there is no such project.
            AccessError: the user is not a rater in it.
        """
        with self._database.reading() as session:
            desk = open_desk(session.connection(), project_id, rater_id, self._clock())
            progress = progress_of(session.connection(), desk)
            checks = read_checks(session.connection(), desk)
            return progress if checks is None else checks.added_to(progress)


_WHOSE: dict[str, Any] = {
    "project_id": bindparam("project"),
    "pair_id": bindparam("pair"),
    "rater_id": bindparam("rater"),
    "quarters": bindparam("grade"),
}
_TAKE = (
    update(ASSIGNMENTS)
    .where(ASSIGNMENTS.c.id == bindparam("assignment"))
    .values(state="rated", lease_expires_at=None)
)
_KEEP = (
    insert(RATINGS)
    .values(**_WHOSE, seconds=bindparam("spent"), created_at=bindparam("now"), updated_at=bindparam("now"))
    .inline()  # nobody asks for the id of the new row
)
_REMEMBER = (
    insert(CHANGES)
    .values(
        **_WHOSE,
        previous_quarters=bindparam("previous"),
        seconds=bindparam("spent"),
        origin="page",
        at=bindparam("now"),
    )
    .inline()
)
_ADD = {
    "sqlite": (_TAKE, _KEEP, _REMEMBER),
    # In one trip to the server instead of three.
    "postgresql": (_REMEMBER.add_cte(_TAKE.cte("taken"), _KEEP.cte("kept")),),
}
_CHANGE = (
    update(RATINGS)
    .where(RATINGS.c.id == bindparam("rating"))
    .values(quarters=bindparam("grade"), seconds=bindparam("total"), updated_at=bindparam("now"))
)


def _add(
    connection: Connection, row: AnyRow, desk: Desk, quarters: int, seconds: float | None, now: datetime
) -> None:
    if row.state != "held":
        _check_place(connection, row, desk)
    values = {**_given(row, desk, quarters, seconds, now), "assignment": row.assignment_id}
    for statement in _ADD[connection.dialect.name]:
        connection.execute(statement, values)
    recount(connection, row.id)


def _check_place(connection: Connection, row: AnyRow, desk: Desk) -> None:
    """Refuse a grade of a pair that the rater no longer holds, unless both have room for it."""
    if row.open_slots < 1:
        raise AssignmentError(
            "The time for this pair ran out and others have taken it: your grade was not saved, "
            "go on with the next pair."
            if row.state == "returned"
            else "You skipped this pair and others have taken it since: your grade was not saved, "
            "go on with the next pair."
        )
    is_skipped = row.state == "skipped" and not row.is_check
    if is_skipped and connection.scalar(select(could_be_seen(row.id, desk.rater_id))):
        raise AssignmentError(
            "You skipped this pair, and could look at others' grades of it since: your grade was not saved, "
            "go on with the next pair."
        )
    if not row.is_check and not row.is_withdrawn and not make_room(connection, desk):
        raise AssignmentError(
            "You have graded your share of the pairs, and no longer hold this one: your grade was not saved, "
            "others grade the pair."
        )


def _given(row: AnyRow, desk: Desk, quarters: int, seconds: float | None, now: datetime) -> dict[str, object]:
    whose = {"project": row.keeper_id, "pair": row.id, "rater": desk.rater_id}
    return {**whose, "grade": quarters, "previous": row.quarters, "spent": seconds, "now": now}


def _revise(
    connection: Connection, row: AnyRow, desk: Desk, quarters: int, seconds: float | None, now: datetime
) -> None:
    if not desk.project.may_revise:
        raise AssignmentError(
            f"You graded this pair {from_quarters(row.quarters)}, and this project keeps the first grade: "
            "go on with the next pair."
        )
    if not row.is_check and connection.scalar(select(could_be_seen(row.id, desk.rater_id))):
        raise AssignmentError(
            f"You graded this pair {from_quarters(row.quarters)}, and could look at others' grades of it "
            "since: that grade stays, go on with the next pair."
        )
    total = None if row.seconds is None and seconds is None else (row.seconds or 0) + (seconds or 0)
    values = {**_given(row, desk, quarters, seconds, now), "rating": row.rating_id, "total": total}
    connection.execute(_CHANGE, values)
    connection.execute(_REMEMBER, values)
    recount(connection, row.id)
