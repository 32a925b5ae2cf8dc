"""Handing out pairs in a project's order: exactly as many raters a pair as asked for, and none twice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, func, insert, select, true, update
from sqlalchemy.orm import Session

from annotation.assignment import Queue, Saved, position_in
from annotation.errors import AssignmentError
from annotation.predictions import TYPE, Moving, QueueOrder, new_positions, positions_by_document, uncertainty
from annotation.services.claims import (
    ProgressCounter,
    claim_pairs,
    give_back,
    held_pairs,
    last_rated_position,
    may_come_back,
    read_share,
    recount,
    return_expired,
    wait_for_pair,
)
from annotation.services.gold_checks import claim_check, read_checks
from annotation.services.rater_queue import (
    ASSIGNMENTS,
    SKIPS,
    AnyRow,
    Desk,
    lock_own_pair,
    lock_pairs,
    open_desk,
    pair_seen,
)
from annotation.services.transactions import repeated_if_undone
from annotation.types import Clock, SkipReason, utcnow
from annotation.wording import LONGEST_NOTE, normalise_note
from db import Database
from db.models import Assignment, Pair, Project, SentDocument, SentOrder, SentPhrase, SentPrediction, SentRun


def order_of(session: Session, project_id: int) -> QueueOrder:
    """In which order the raters of a project meet predicted keyphrases."""
    kind = session.scalar(select(SentOrder.kind).where(SentOrder.project_id == project_id))
    return QueueOrder.PROJECT if kind is None else QueueOrder(kind)


def usual_order(session: Session, project_id: int) -> QueueOrder:
    """In which order they will meet what is sent, unless the sender chooses another one."""
    chosen = order_of(session, project_id)
    sent = select(SentDocument.id).where(SentDocument.project_id == project_id).limit(1)
    is_first = chosen is QueueOrder.PROJECT and session.scalar(sent) is None
    return QueueOrder.DOCUMENT if is_first else chosen


def reorder(session: Session, project: Project, *, before: QueueOrder | None = None) -> None:
    """Let the pairs of predicted keyphrases take the places that the project's order of them gives.

    Document by document all of them move, so that what is sent later comes between no phrases of a document,
    and in a project in the order of import the other pairs make room: who is given a pair, and where a rater
    goes on, does not depend on where pairs stood before. In the other orders those that nobody was given yet
    change places among themselves.

    Args:
        session: has locked the project's row.
        project: whose order counts.
        before: the order that this one replaces; without, pairs that no order moved are in the project's own.
    """
    order = order_of(session, project.id)
    if order is QueueOrder.PROJECT and before is None:
        return
    lock_pairs(session, project.id)
    if order is QueueOrder.DOCUMENT:
        moving = _all_that_move(session, project)
        _move(session, project, moving, positions_by_document(moving))
        return
    if before is QueueOrder.DOCUMENT:
        moving = _all_that_move(session, project)
        _move(session, project, moving, {pair.pair_id: pair.own for pair in moving})
    waiting = _predicted(session, project, with_given=False)
    _move(session, project, waiting, new_positions(waiting, order))


def _move(session: Session, project: Project, pairs: Sequence[Moving], positions: Mapping[int, int]) -> None:
    moves = [
        {"pair": pair.pair_id, "place": positions[pair.pair_id]}
        for pair in pairs
        if positions[pair.pair_id] != pair.position
    ]
    if not moves:
        return
    table: Any = Pair.__table__
    move = update(table).where(table.c.id == bindparam("pair")).values(position=bindparam("place"))
    session.connection().execute(move, moves)
    follow_pairs(session, project.id)


def follow_pairs(session: Session, project_id: int) -> None:
    """Give assignments the positions of their pairs, which have moved."""
    place = select(Pair.position).where(_IS_GIVEN).scalar_subquery()
    session.execute(
        update(Assignment)
        .where(Assignment.project_id == project_id, Assignment.position != place)
        .values(position=place)
    )


def _all_that_move(session: Session, project: Project) -> list[Moving]:
    """What changes places where documents are kept together.

    In a random order positions are so far apart that a document has room between two pairs; in the order of
    import it has none, and the pairs after it move up.
    """
    predicted = _predicted(session, project, with_given=True)
    if project.is_random:
        return predicted
    is_predicted = select(SentPhrase.id).where(SentPhrase.pair_id == Pair.id).exists()
    others = session.execute(
        select(Pair.id, Pair.position, Pair.import_order).where(Pair.project_id == project.id, ~is_predicted)
    )
    return predicted + [Moving(id, position, own, 0, own) for id, position, own in others]


def _predicted(session: Session, project: Project, *, with_given: bool) -> list[Moving]:
    is_waiting = ~select(Assignment.id).where(_IS_GIVEN).exists()
    scores: dict[int, list[float]] = defaultdict(list)
    for phrase_id, score in session.execute(
        select(SentPrediction.phrase_id, SentPrediction.score)
        .join(SentPhrase, SentPhrase.id == SentPrediction.phrase_id)
        .where(SentPhrase.project_id == project.id)
    ):
        scores[phrase_id].append(score)
    runs = select(SentRun.document_id, func.count().label("models")).group_by(SentRun.document_id).subquery()
    first = (
        select(SentPhrase.document_id, func.min(Pair.import_order).label("pair"))
        .join(Pair, Pair.id == SentPhrase.pair_id)
        .where(SentPhrase.project_id == project.id)
        .group_by(SentPhrase.document_id)
        .subquery()
    )
    rows = session.execute(
        select(
            SentPhrase.id,
            Pair.id.label("pair_id"),
            Pair.type,
            Pair.external_id,
            Pair.position,
            Pair.import_order,
            SentDocument.external_id.label("document"),
            first.c.pair.label("first"),
            runs.c.models,
        )
        .join(Pair, Pair.id == SentPhrase.pair_id)
        .join(SentDocument, SentDocument.id == SentPhrase.document_id)
        .join(first, first.c.document_id == SentPhrase.document_id)
        .join(runs, runs.c.document_id == SentPhrase.document_id)
        .where(SentPhrase.project_id == project.id, true() if with_given else is_waiting)
    )
    return [
        Moving(
            row.pair_id,
            row.position,
            position_in(project, row.type, row.external_id, row.import_order),
            uncertainty(scores[row.id], row.models),
            position_in(project, TYPE, row.document, row.first),
        )
        for row in rows
    ]


_IS_GIVEN = Assignment.pair_id == Pair.id


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
        said = normalise_note(note, "note", LONGEST_NOTE)

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
