"""Handing out pairs: exactly as many raters a pair as the project asks for, and no rater twice."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection, insert, update

from annotation.assignment import Queue, Saved
from annotation.clock import Clock, utcnow
from annotation.errors import AssignmentError
from annotation.notes import LONGEST_NOTE, kept_text
from annotation.services.checks import claim_check, read_checks
from annotation.services.rating.claims import (
    claim_pairs,
    held_pairs,
    last_rated_position,
    may_come_back,
    wait_for_pair,
)
from annotation.services.rating.counting import ProgressCounter
from annotation.services.rating.desk import ASSIGNMENTS, SKIPS, AnyRow, Desk, open_desk
from annotation.services.rating.own_pairs import lock_own_pair, pair_seen
from annotation.services.rating.returns import give_back, return_expired
from annotation.services.rating.share import read_share
from annotation.services.rating.tally import recount
from annotation.services.transactions import repeated_if_undone
from annotation.types import SkipReason
from db import Database

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
            TrainingError: they have to grade the training pairs first.
        """

        def claim() -> Queue:
            with self._database.session() as session:
                connection = session.connection()
                now = self._clock()
                desk = open_desk(connection, project_id, rater_id, now)
                desk.check_may_work()
                return self.fill(connection, desk, now, count=count)

        return self.or_wait(repeated_if_undone(claim, lambda: self.forget_progress(rater_id)), rater_id)

    def skip(self, pair_id: int, rater_id: int, reason: SkipReason, note: str = "") -> Saved:
        """Give the pair to somebody else, for a reason; the rater's queue after that.

        They are not offered the pair again, but may still grade it while it has a place for them.

        Raises:
            NotFoundError: there is no such pair.
            AccessError: the user is not a rater in its project, or may not work as of `queue`.
            AssignmentError: the pair was never theirs, or they graded it.
        """
        said = kept_text(note, "note", LONGEST_NOTE)

        def skip() -> Saved:
            with self._database.session() as session:
                connection = session.connection()
                now = self._clock()
                row, desk = lock_own_pair(connection, pair_id, rater_id, now)
                desk.check_may_work()
                if row.state == "rated":
                    raise AssignmentError(
                        "You graded this pair already: change its grade instead of skipping it."
                    )
                is_new = row.state != "skipped"
                if is_new:
                    _skip(connection, row, desk, reason, said, now)
                queue = self.fill(connection, desk, now, answered=row, skipped=int(is_new))
                return Saved(now, queue)

        saved = repeated_if_undone(skip, lambda: self.forget_progress(rater_id))
        return replace(saved, queue=self.or_wait(saved.queue, rater_id))

    def give_back(self, project_id: int, rater_id: int) -> int:
        """Let go of what the rater holds, so that others can have it at once; how many pairs.

        Raises:
            UnreachableError: see `returns.give_back`.
        """
        return give_back(self._database, rater_id, project_id)

    def fill(
        self,
        connection: Connection,
        desk: Desk,
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
        if desk.has_expired:
            return_expired(connection, desk.project.id, desk.shelf_id, now, but_rater=desk.rater_id)
        rows = held_pairs(connection, desk, now)
        own = [row for row in rows if row.project_id == desk.project.id]
        known = self._progress.remembered(desk, rated=rated, skipped=skipped)
        is_all = known is not None and known.rated + len(own) >= known.total
        checks = read_checks(connection, desk)
        if checks is not None and len(rows) < count:
            rows += claim_check(connection, desk, checks, now)
        if is_all and not rows:  # before they are told so: pairs may have been restored or imported since
            known = self._progress.count(connection, desk)
            is_all = known.rated >= known.total
        share = read_share(connection, desk) if len(rows) < count else None
        wanted = count - len(rows) if share is None else min(count - len(rows), share.left)
        if wanted > 0 and not is_all:  # else all that is open is theirs: do not look through it
            cursor = _cursor(connection, desk, own, answered)
            claimed = claim_pairs(connection, desk, now, count=wanted, cursor=cursor)
            rows, own = rows + claimed, own + claimed
        pairs = tuple(pair_seen(row) for row in rows[:count])
        is_graded = not pairs and share is not None and share.is_graded
        is_waiting = not pairs and not is_graded and may_come_back(connection, desk)
        progress = known or self._progress.count(connection, desk)
        # What was imported since the last count makes it no fewer than these.
        progress = replace(progress, total=max(progress.total, progress.rated + len(own)))
        progress = desk.within_share(progress, len(own))
        if checks is not None:
            progress = checks.added_to(progress)
        return Queue(desk.project, pairs, is_waiting, progress, is_graded)

    def forget_progress(self, rater_id: int) -> None:
        """To be called when a transaction with `fill` failed: what it counted is void."""
        self._progress.forget(rater_id)

    def or_wait(self, queue: Queue, rater_id: int) -> Queue:
        """The queue or, where it is empty, a second look at pairs that others had locked just then."""
        if queue.pairs or not queue.is_waiting or self._database.is_sqlite:
            return queue

        def wait() -> Queue:
            with self._database.session() as session:
                connection = session.connection()
                now = self._clock()
                desk = open_desk(connection, queue.project.id, rater_id, now)
                wait_for_pair(connection, desk, now)
                desk = open_desk(connection, queue.project.id, rater_id, now)  # it may have been a long wait
                return queue if desk.must_consent else self.fill(connection, desk, now)

        return repeated_if_undone(wait)


def _cursor(connection: Connection, desk: Desk, held: list[AnyRow], answered: AnyRow | None) -> int:
    """The position after which the search for pairs begins."""
    if held:
        return int(held[-1].position)
    return last_rated_position(connection, desk) if answered is None else int(answered.position)


def _skip(
    connection: Connection, row: AnyRow, desk: Desk, reason: SkipReason, note: str, now: datetime
) -> None:
    connection.execute(
        update(ASSIGNMENTS)
        .where(ASSIGNMENTS.c.id == row.assignment_id)
        .values(state="skipped", lease_expires_at=None)
    )
    connection.execute(
        insert(SKIPS).values(
            project_id=row.keeper_id,
            pair_id=row.id,
            rater_id=desk.rater_id,
            reason=reason.value,
            note=note,
            at=now,
        )
    )
    recount(connection, row.id)
