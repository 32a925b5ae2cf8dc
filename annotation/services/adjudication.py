"""Adjudication: the queue of pairs whose raters disagree, and decisions, which nobody overrules unseen."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

from sqlalchemy import select, tuple_
from sqlalchemy.orm import Session

from annotation.adjudication import AdjudicationItem, QueuePage, Which
from annotation.clock import Clock, utcnow
from annotation.errors import NotFoundError
from annotation.services.adjudication_items import read_item, read_records
from annotation.services.adjudication_queue import ORDER, AdjudicationQueue, entry_of
from annotation.services.deciding import decide_within, refuse_held_back, undo_within
from annotation.services.projects import find_project
from annotation.services.rating.held_back import held_back_from
from annotation.types import Cause
from db import Database
from db.models import Pair, Project

PAGE_SIZE = 50


class Neighbours(NamedTuple):
    """The pairs before and after one in a part of the queue."""

    previous: int | None
    next: int | None


class AdjudicationService:
    def __init__(self, database: Database, *, clock: Clock = utcnow) -> None:
        self._database = database
        self._clock = clock

    def queue(
        self,
        project_id: int,
        which: Which = Which.OPEN,
        type: str | None = None,
        *,
        limit: int | None = PAGE_SIZE,
        viewer: int | None = None,
    ) -> QueuePage:
        """The queue, largest spread first, then in the order of rating.

        Args:
            limit: how many entries at most; None for all.
            viewer: who looks; here and below, pairs that they may still be given as a rater are held back.

        Raises:
            NotFoundError: there is no such project.
        """
        with self._database.reading() as session:
            project = find_project(session, project_id)
            queue = _queue(session, project, viewer)
            statement = queue.entries(which, type).limit(None if limit is None else limit + 1)
            rows = session.execute(statement).all()
            counts = queue.counts(session, type)
            types = session.scalars(queue.select(Pair.type).distinct().order_by(Pair.type)).all()
            entries = tuple(entry_of(row, project.threshold_quarters) for row in rows[:limit])
            held_back = queue.count_held_back(session)
        return QueuePage(entries, counts, tuple(types), len(rows) > len(entries), held_back)

    def counts(
        self, project_id: int, type: str | None = None, *, viewer: int | None = None
    ) -> dict[Which, int]:
        """How many pairs each part of the queue has; arguments as of `queue`.

        Raises:
            NotFoundError: there is no such project.
        """
        with self._database.reading() as session:
            return _queue(session, find_project(session, project_id), viewer).counts(session, type)

    def item(self, project_id: int, pair_id: int, *, viewer: int | None = None) -> AdjudicationItem:
        """A pair with its grades and comments, but not whose they are.

        Raises:
            NotFoundError: the project has no such pair.
            AdjudicationError: the pair is held back.
        """
        with self._database.reading() as session:
            pair, project = _pair(session, project_id, pair_id), find_project(session, project_id)
            refuse_held_back(session, pair, project, viewer)
            return read_item(session, pair, project)

    def neighbours(
        self,
        project_id: int,
        pair_id: int,
        which: Which = Which.OPEN,
        type: str | None = None,
        *,
        viewer: int | None = None,
    ) -> Neighbours:
        """The pairs before and after `pair_id`, whether or not it is itself in this part of the queue."""
        with self._database.reading() as session:
            pair = _pair(session, project_id, pair_id)
            here = tuple_(-pair.spread_quarters, pair.position, pair.id)
            queue = _queue(session, find_project(session, project_id), viewer)
            ids = queue.select(Pair.id, which=which, type=type)
            later = ids.where(tuple_(*ORDER) > here).order_by(*ORDER)
            earlier = ids.where(tuple_(*ORDER) < here).order_by(*(column.desc() for column in ORDER))
            after, before = session.scalar(later.limit(1)), session.scalar(earlier.limit(1))
        return Neighbours(before, after)

    def first(
        self,
        project_id: int,
        which: Which = Which.OPEN,
        type: str | None = None,
        *,
        viewer: int | None = None,
    ) -> int | None:
        """The first pair of a part of the queue; None when it is empty."""
        page = self.queue(project_id, which, type, limit=1, viewer=viewer)
        return page.entries[0].pair_id if page.entries else None

    def decide(
        self,
        project_id: int,
        pair_id: int,
        by: int,
        grade: Decimal,
        cause: Cause,
        note: str = "",
        *,
        expected: str | None = None,
    ) -> AdjudicationItem:
        """Make `grade` the gold grade of a pair, in place of any decision before.

        Whoever decides without having graded the pair never grades it afterwards.

        Args:
            by: the adjudicator's id.
            expected: the version of the item that the adjudicator was looking at; with it, a decision or
                rating that came meanwhile is told and not overruled unseen.

        Raises:
            GradeError: the grade is not on the project's scale.
            ConflictError: the pair is not at the version `expected`.
            AdjudicationError: the pair is held back from the adjudicator or withdrawn, or it is not flagged
                and nobody decided on it before.
        """
        with self._database.session() as session:
            pair = _pair(session, project_id, pair_id, lock=True)
            project = find_project(session, project_id)  # once the pair is locked no coarser step comes
            refuse_held_back(session, pair, project, by)
            record = read_records(session, [pair.id])[pair.id]
            chosen = (by, grade, cause, note)
            decide_within(session, pair, project, record, *chosen, expected=expected, clock=self._clock)
            return read_item(session, pair, project)

    def withdraw(
        self, project_id: int, pair_id: int, by: int, *, expected: str | None = None
    ) -> AdjudicationItem:
        """Take the decision on a pair back, so that it is open again; the history keeps it.

        Who may not grade the pair since they decided still may not, and whoever takes it back no more.

        Raises:
            ConflictError: the pair is not at the version `expected`.
            AdjudicationError: there is no decision, or the pair is held back or withdrawn.
        """
        with self._database.session() as session:
            project = find_project(session, project_id)
            pair = _pair(session, project_id, pair_id, lock=True)
            refuse_held_back(session, pair, project, by)
            record = read_records(session, [pair.id])[pair.id]
            undo_within(session, pair, record, by, expected=expected, clock=self._clock)
            return read_item(session, pair, project)


def _queue(session: Session, project: Project, viewer: int | None) -> AdjudicationQueue:
    return AdjudicationQueue(project, held_back_from(session, project, viewer))


def _pair(session: Session, project_id: int, pair_id: int, *, lock: bool = False) -> Pair:
    statement = select(Pair).where(Pair.id == pair_id, Pair.project_id == project_id)
    pair = session.scalar(statement.with_for_update() if lock else statement)
    if pair is None:
        raise NotFoundError(f"The project has no pair {pair_id}: choose one from the queue.")
    return pair
