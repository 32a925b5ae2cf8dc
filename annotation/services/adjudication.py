"""Adjudication: the queue of pairs whose raters disagree, and decisions that two cannot take unawares."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from sqlalchemy import func, select, tuple_
from sqlalchemy.orm import Session

from annotation.adjudication import (
    AdjudicationError,
    AdjudicationItem,
    ConflictError,
    QueuePage,
    Which,
    check_decision,
    conflict_sentence,
)
from annotation.clock import Clock, utcnow
from annotation.errors import NotFoundError
from annotation.services.adjudication_items import (
    is_changed,
    read_history,
    read_item,
    read_standing,
    read_version,
)
from annotation.services.adjudication_queue import ORDER, AdjudicationQueue, entry_of
from annotation.services.projects import find_project
from annotation.services.rating.barring import bar
from annotation.services.rating.held_back import held_back_from
from annotation.types import Cause, from_quarters, to_quarters
from db import Database
from db.models import Adjudication, AdjudicationChange, Pair, Project, Rating

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

    def item(self, project_id: int, pair_id: int, *, viewer: int | None = None) -> AdjudicationItem:
        """A pair with what was said of it, and nothing of who said it.

        Raises:
            NotFoundError: the project has no such pair.
            AdjudicationError: the pair is held back.
        """
        with self._database.reading() as session:
            pair, project = _pair(session, project_id, pair_id), find_project(session, project_id)
            _refuse_held_back(session, pair, project, viewer)
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
            _refuse_held_back(session, pair, project, by)
            note = check_decision(grade, note, from_quarters(project.step_quarters))
            standing = read_standing(session, pair_id)
            wanted = (by, to_quarters(grade), cause.value, note)
            if standing is not None and _same(standing, wanted) and not is_changed(session, standing):
                return read_item(session, pair, project)  # the first click's answer was lost: saved already
            _refuse_withdrawn(pair)
            _check_version(session, pair, expected)
            if standing is None and pair.spread_quarters < project.threshold_quarters:
                raise AdjudicationError(_unflagged_text(pair, project))
            at = self._now(session, pair_id)
            if standing is None:
                standing = Adjudication(project_id=project_id, pair_id=pair_id)
                session.add(standing)
            standing.adjudicator_id, standing.quarters, standing.cause, standing.note = wanted
            standing.decided_at = at
            session.add(_change(project_id, pair_id, at, *wanted))
            session.flush()
            bar(session.connection(), pair, [by], at)
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
            _refuse_held_back(session, pair, project, by)
            _refuse_withdrawn(pair)
            _check_version(session, pair, expected)
            standing = read_standing(session, pair_id)
            if standing is None:
                raise AdjudicationError("Nobody has decided on this pair: there is nothing to withdraw.")
            session.delete(standing)
            at = self._now(session, pair_id)
            session.add(_change(project_id, pair_id, at, by, None, None, ""))
            session.flush()
            bar(session.connection(), pair, [by], at)
            return read_item(session, pair, project)

    def _now(self, session: Session, pair_id: int) -> datetime:
        """This moment, but not before the ratings that the decision is about: clocks differ."""
        last = session.scalar(select(func.max(Rating.updated_at)).where(Rating.pair_id == pair_id))
        return max(self._clock(), last) if last else self._clock()


def _check_version(session: Session, pair: Pair, expected: str | None) -> None:
    found = read_version(session, pair.id)
    if expected is not None and expected != found:
        history = read_history(session, pair.id)
        raise ConflictError(conflict_sentence(expected, found, history[0] if history else None))


def _queue(session: Session, project: Project, viewer: int | None) -> AdjudicationQueue:
    return AdjudicationQueue(project, held_back_from(session, project, viewer))


def _refuse_held_back(session: Session, pair: Pair, project: Project, viewer: int | None) -> None:
    if session.scalar(select(held_back_from(session, project, viewer)).where(Pair.id == pair.id)):
        raise AdjudicationError(
            f"You may still grade the pair {pair.external_id!r}, so that others' grades of it are not shown "
            "to you before: go on with the next pair, or leave this one to another adjudicator."
        )


def _refuse_withdrawn(pair: Pair) -> None:
    if pair.withdrawn_at is not None:
        raise AdjudicationError(
            f"The pair {pair.external_id!r} is withdrawn and needs no decision: go on with the next, or have "
            "an administrator restore it."
        )


def _unflagged_text(pair: Pair, project: Project) -> str:
    if pair.rating_count < project.raters_per_pair:
        return (
            f"The pair {pair.external_id!r} has {pair.rating_count} of {project.raters_per_pair} ratings, "
            "none far apart: wait for the others."
        )
    return (
        f"The ratings of this pair are {from_quarters(pair.spread_quarters)} apart, less than "
        f"{from_quarters(project.threshold_quarters)}: their mean is its gold grade."
    )


def _same(standing: Adjudication, wanted: tuple[int, int, str, str]) -> bool:
    return wanted == (standing.adjudicator_id, standing.quarters, standing.cause, standing.note)


def _change(
    project_id: int, pair_id: int, at: datetime, by: int, quarters: int | None, cause: str | None, note: str
) -> AdjudicationChange:
    return AdjudicationChange(
        project_id=project_id,
        pair_id=pair_id,
        adjudicator_id=by,
        quarters=quarters,
        cause=cause,
        note=note,
        at=at,
    )


def _pair(session: Session, project_id: int, pair_id: int, *, lock: bool = False) -> Pair:
    statement = select(Pair).where(Pair.id == pair_id, Pair.project_id == project_id)
    pair = session.scalar(statement.with_for_update() if lock else statement)
    if pair is None:
        raise NotFoundError(f"The project has no pair {pair_id}: choose one from the queue.")
    return pair
