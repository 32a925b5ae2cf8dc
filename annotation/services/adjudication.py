"""Adjudication: the queue of pairs whose raters disagree, and decisions, which nobody overrules unseen."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Row, Select, and_, func, select, tuple_
from sqlalchemy.orm import Session, defer

from annotation.adjudication import (
    NO_ADJUDICATION,
    AdjudicationError,
    AdjudicationItem,
    ConflictError,
    Decision,
    DecisionInput,
    HeldBackError,
    ItemComment,
    NewDecision,
    QueueEntry,
    QueuePage,
    Which,
    check_decision,
    conflict_sentence,
    decided_since,
    decision_text,
    shuffle_comments,
    version_of,
    with_decision_of,
)
from annotation.errors import AccessError, GradeError, ImportFileError, NotFoundError
from annotation.exchange import WrongLines
from annotation.scale import Scale
from annotation.sense_pairs import senses_from_json
from annotation.services.project_rows import (
    CHANGED,
    IN_USE,
    checks_project_of,
    comments_of,
    find_project,
    is_flagged,
    is_fully_rated,
    is_open,
    is_reopened,
    scale_of,
)
from annotation.services.rater_queue import bar_raters, held_back_from
from annotation.services.transactions import beginning_of, count_where, is_among, parts
from annotation.services.users import get_user, roles_of
from annotation.translation import _
from annotation.types import Cause, Clock, RaterComment, Role, utcnow
from annotation.wording import beginning, can_be_stored
from db import Database
from db.models import Adjudication, AdjudicationChange, Pair, Project, Rating, TrainingPair, User


@dataclass(frozen=True, slots=True)
class PairRecord:
    """The ratings of a pair and what was decided on it."""

    quarters: tuple[int, ...]
    """From the lowest to the highest."""
    last_rated_at: datetime | None
    standing: Adjudication | None
    """The decision that is the gold grade, if there is one."""
    history: tuple[Decision, ...]
    """Every decision on the pair and withdrawal of one, the last first."""
    version: str
    """Another one after every decision and rating."""

    @property
    def last(self) -> Decision | None:
        """The last decision on the pair, or withdrawal of one."""
        return self.history[0] if self.history else None

    @property
    def is_changed(self) -> bool:
        """Whether a rating came after the decision."""
        at = self.last_rated_at
        return self.standing is not None and at is not None and at > self.standing.decided_at


def read_items(session: Session, pair_ids: Iterable[int], project: Project) -> Iterator[AdjudicationItem]:
    """The pairs in the order of these ids, with their grades and comments, but not whose they are."""
    for ids in parts(pair_ids):
        pairs = {pair.id: pair for pair in session.scalars(select(Pair).where(Pair.id.in_(ids)))}
        records, comments = read_records(session, ids, scale_of(project)), comments_of(session, ids)
        for id in ids:
            yield _item(pairs[id], project, records[id], comments[id])


def read_item(session: Session, pair: Pair, project: Project) -> AdjudicationItem:
    """As `read_items`, of one pair that has been read."""
    record = read_records(session, [pair.id], scale_of(project))[pair.id]
    return _item(pair, project, record, comments_of(session, [pair.id])[pair.id])


def read_records(session: Session, pair_ids: Sequence[int], scale: Scale) -> dict[int, PairRecord]:
    """The record of each pair, of as many as a statement takes."""
    ratings: dict[int, list[tuple[int, int, datetime]]] = defaultdict(list)
    given = select(Rating.pair_id, Rating.id, Rating.quarters, Rating.updated_at)
    for pair_id, id, quarters, at in session.execute(given.where(Rating.pair_id.in_(pair_ids))):
        ratings[pair_id].append((id, quarters, at))
    decisions = session.scalars(select(Adjudication).where(Adjudication.pair_id.in_(pair_ids)))
    standing = {decision.pair_id: decision for decision in decisions}
    history, last = _history_of(session, pair_ids, scale)
    return {
        id: PairRecord(
            tuple(sorted(quarters for _id, quarters, _at in ratings[id])),
            max((at for _id, _quarters, at in ratings[id]), default=None),
            standing.get(id),
            history.get(id, ()),
            version_of(last.get(id), ratings[id]),
        )
        for id in pair_ids
    }


def _history_of(
    session: Session, pair_ids: Sequence[int], scale: Scale
) -> tuple[dict[int, tuple[Decision, ...]], dict[int, int]]:
    """Of each pair with a decision its history, and the id of the last change in it."""
    change = AdjudicationChange
    rows: Any = session.execute(
        select(change.pair_id, change.id, change.quarters, change.cause, change.note, User.name, change.at)
        .join(User, User.id == change.adjudicator_id)
        .where(change.pair_id.in_(pair_ids))
        .order_by(change.pair_id, change.id.desc())
    )
    found = {id: list(of_pair) for id, of_pair in groupby(rows, key=attrgetter("pair_id"))}
    history = {id: tuple(_decision(row, scale) for row in of_pair) for id, of_pair in found.items()}
    return history, {id: of_pair[0].id for id, of_pair in found.items()}


def _decision(row: Row[Any], scale: Scale) -> Decision:
    return Decision(
        None if row.quarters is None else scale.from_steps(row.quarters),
        Cause(row.cause) if row.cause else None,
        row.note,
        row.name,
        row.at,
    )


def _item(
    pair: Pair, project: Project, record: PairRecord, comments: Iterable[RaterComment]
) -> AdjudicationItem:
    scale = scale_of(project)
    return AdjudicationItem(
        pair_id=pair.id,
        external_id=pair.external_id,
        type=pair.type,
        left=pair.left,
        right=pair.right,
        grades=tuple(map(scale.from_steps, record.quarters)),
        comments=shuffle_comments((ItemComment(said.text, said.is_flagged) for said in comments), pair.id),
        spread=scale.from_steps(pair.spread_quarters),
        is_flagged=is_flagged(project, pair),
        is_changed=record.is_changed,
        decision=None if record.standing is None else record.last,
        history=record.history,
        senses=senses_from_json(pair.senses),
        version=record.version,
        is_withdrawn=pair.withdrawn_at is not None,
    )


ORDER: tuple[Any, ...] = (-Pair.spread_quarters, Pair.position, Pair.id)


class AdjudicationQueue:
    """The pairs of a project that are flagged or decided, and the conditions of its parts.

    Args:
        held_back: of a pair, whether it is left out; see `held_back_from`.
    """

    def __init__(self, project: Project, held_back: ColumnElement[bool]) -> None:
        flagged = is_flagged(project)
        self.open = is_open(project)
        self.decided = and_(Adjudication.id.is_not(None), ~is_reopened(project))
        # Most pairs are neither, and their texts make the table long: both kinds are found by an index.
        of_flagged = select(Pair.id).where(Pair.project_id == project.id, flagged)
        of_decided = select(Adjudication.pair_id).where(Adjudication.project_id == project.id)
        within = and_(Pair.id.in_(of_flagged.union(of_decided)), IN_USE)
        self._within, self._left_out = and_(within, ~held_back), and_(within, held_back)

    def select(self, *columns: Any, which: Which = Which.ALL, type: str | None = None) -> Select[Any]:
        """`columns` of the pairs, with their decisions."""
        statement = (
            select(*columns)
            .select_from(Pair)
            .outerjoin(Adjudication, Adjudication.pair_id == Pair.id)
            .where(self._within)
        )
        if which is not Which.ALL:
            statement = statement.where(self.open if which is Which.OPEN else self.decided)
        return statement if type is None else statement.where(Pair.type == type)

    def entries(self, which: Which, type: str | None) -> Select[Any]:
        """The pairs in order, for `entry_of`."""
        columns = (
            Pair.id,
            Pair.external_id,
            Pair.type,
            beginning_of(Pair.left),
            beginning_of(Pair.right),
            Pair.senses,
            Pair.spread_quarters,
            Pair.rating_count,
            Adjudication.quarters,
            self.open.label("is_open"),
            and_(Adjudication.id.is_not(None), CHANGED).label("is_changed"),
        )
        return self.select(*columns, which=which, type=type).order_by(*ORDER)

    def counts(self, session: Session, type: str | None) -> dict[Which, int]:
        """How many pairs each part has."""
        both = (func.count().filter(part) for part in (self.open, self.decided))
        opened, decided = session.execute(self.select(*both, type=type)).one()
        return {Which.OPEN: opened, Which.DECIDED: decided, Which.ALL: opened + decided}

    def count_held_back(self, session: Session) -> int:
        """How many pairs of all types are left out."""
        return count_where(session, self._left_out)


def entry_of(row: Row[Any], threshold: int | None, scale: Scale) -> QueueEntry:
    """A row of `AdjudicationQueue.entries`."""
    return QueueEntry(
        pair_id=row.id,
        external_id=row.external_id,
        type=row.type,
        left=beginning(row.left),
        right=beginning(row.right),
        spread=scale.from_steps(row.spread_quarters),
        ratings=row.rating_count,
        is_flagged=threshold is not None and row.spread_quarters >= threshold,
        is_open=row.is_open,
        decided=None if row.quarters is None else scale.from_steps(row.quarters),
        is_changed=row.is_changed,
        senses=senses_from_json(row.senses),
    )


def decide_within(
    session: Session,
    pair: Pair,
    project: Project,
    record: PairRecord,
    by: int,
    grade: Decimal,
    cause: Cause,
    note: str,
    *,
    expected: str | None,
    clock: Clock,
) -> None:
    """Make `grade` the gold grade of a pair; `AdjudicationService.decide` has the arguments and errors.

    Args:
        record: of the pair, read since it was locked. Whether it is held back was asked before.
    """
    scale = scale_of(project)
    note = check_decision(grade, note, scale.from_steps(project.step_quarters), scale)
    standing = record.standing
    wanted = (by, scale.to_steps(grade), cause.value, note)
    before = None
    if standing is not None:
        before = (standing.adjudicator_id, standing.quarters, standing.cause, standing.note)
    if before == wanted and not record.is_changed:
        return  # the first click's answer was lost: saved already
    _refuse_withdrawn_pair(pair)
    _check_version(record, expected)
    if standing is None and (problem := unflagged_text(pair, project)):
        raise AdjudicationError(problem)
    at = _now(record, clock)
    if standing is None:
        standing = Adjudication(project_id=pair.project_id, pair_id=pair.id)
        session.add(standing)
    standing.adjudicator_id, standing.quarters, standing.cause, standing.note = wanted
    standing.decided_at = at
    session.add(_change(pair, at, *wanted))
    bar_raters(session.connection(), pair, [by], at)


def undo_within(
    session: Session, pair: Pair, record: PairRecord, by: int, *, expected: str | None, clock: Clock
) -> None:
    """Take the decision on a pair back; `AdjudicationService.withdraw` has the arguments and errors."""
    _refuse_withdrawn_pair(pair)
    _check_version(record, expected)
    if record.standing is None:
        raise AdjudicationError(_("Nobody has decided on this pair: there is nothing to withdraw."))
    session.delete(record.standing)
    at = _now(record, clock)
    session.add(_change(pair, at, by, None, None, ""))
    bar_raters(session.connection(), pair, [by], at)


def refuse_held_back(session: Session, pair: Pair, project: Project, viewer: int | None) -> None:
    if session.scalar(select(held_back_from(session, project, viewer)).where(Pair.id == pair.id)):
        raise HeldBackError(
            _(
                "You may still grade the pair {pair}, so others' grades of it are hidden from you until "
                "then: go on with the next pair, or leave this one to another adjudicator.",
                pair=repr(pair.external_id),
            )
        )


def _refuse_withdrawn_pair(pair: Pair) -> None:
    if pair.withdrawn_at is not None:
        raise AdjudicationError(
            _(
                "The pair {pair} is withdrawn and needs no decision: go on with the next, or have an "
                "administrator restore it.",
                pair=repr(pair.external_id),
            )
        )


def _check_version(record: PairRecord, expected: str | None) -> None:
    if expected is not None and expected != record.version:
        raise ConflictError(conflict_sentence(expected, record.version, record.last))


def unflagged_text(pair: Pair, project: Project) -> str:
    """Why the pair needs no decision; nothing where its ratings are far apart."""
    if is_flagged(project, pair):
        return ""
    if not is_fully_rated(project, pair):
        return _(
            "The pair {pair} has {count} of {all} ratings, none far apart: wait for the others.",
            pair=repr(pair.external_id),
            count=pair.rating_count,
            all=project.raters_per_pair,
        )
    if project.threshold_quarters is None:
        return _(NO_ADJUDICATION)
    scale = scale_of(project)
    return _(
        "The ratings of this pair are {spread} apart, less than {threshold}: their {average} is its gold "
        "grade.",
        spread=scale.from_steps(pair.spread_quarters),
        threshold=scale.from_steps(project.threshold_quarters),
        average=_(project.average),
    )


def _now(record: PairRecord, clock: Clock) -> datetime:
    """This moment, but not before the ratings that the decision is about: clocks differ."""
    return max(clock(), record.last_rated_at) if record.last_rated_at else clock()


def _change(
    pair: Pair, at: datetime, by: int, quarters: int | None, cause: str | None, note: str
) -> AdjudicationChange:
    return AdjudicationChange(
        project_id=pair.project_id,
        pair_id=pair.id,
        adjudicator_id=by,
        quarters=quarters,
        cause=cause,
        note=note,
        at=at,
    )


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
            entries = tuple(
                entry_of(row, project.threshold_quarters, scale_of(project)) for row in rows[:limit]
            )
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
            record = read_records(session, [pair.id], scale_of(project))[pair.id]
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
            record = read_records(session, [pair.id], scale_of(project))[pair.id]
            undo_within(session, pair, record, by, expected=expected, clock=self._clock)
            return read_item(session, pair, project)


def _queue(session: Session, project: Project, viewer: int | None) -> AdjudicationQueue:
    return AdjudicationQueue(project, held_back_from(session, project, viewer))


def _pair(session: Session, project_id: int, pair_id: int, *, lock: bool = False) -> Pair:
    statement = select(Pair).where(Pair.id == pair_id, Pair.project_id == project_id)
    pair = session.scalar(statement.with_for_update() if lock else statement)
    if pair is None:
        raise NotFoundError(_("The project has no pair {pair}: choose one from the queue.", pair=pair_id))
    return pair


@dataclass(frozen=True, slots=True)
class DecisionSummary:
    decided: int
    unchanged: int
    """Rows with the decision that stands already."""
    empty: int
    """Rows without grade, cause and note."""


class DecisionTableService:
    def __init__(self, database: Database, *, clock: Clock = utcnow) -> None:
        self._database = database
        self._clock = clock

    def adjudicator(self, project_id: int, name: str) -> int:
        """The id of an account that may decide in a project.

        Raises:
            NotFoundError: there is no such project or account.
            AccessError: the account may not, or is disabled.
        """
        with self._database.reading() as session:
            return _adjudicator(session, find_project(session, project_id), name).id

    def items(
        self, project_id: int, which: Which, type: str | None = None, *, viewer: int | None = None
    ) -> Iterator[AdjudicationItem]:
        """The pairs of a part of the queue in its order, as of one moment, as `AdjudicationService.queue`."""
        with self._database.reading() as session:
            project = find_project(session, project_id)
            queue = _queue(session, project, viewer)
            ids = session.scalars(queue.select(Pair.id, which=which, type=type).order_by(*ORDER)).all()
            yield from read_items(session, ids, project)

    def decide_all(
        self, project_id: int, decisions: Iterable[DecisionInput], by: str, *, replaces: bool = False
    ) -> DecisionSummary:
        """Take all decisions of a table as `AdjudicationService.decide` takes one, or none of them.

        Args:
            project_id: where.
            decisions: as they were read; all are, before the first is taken.
            by: the name of the adjudicator whose decisions they become.
            replaces: whether they take the place of others, made since the table was written.

        Raises:
            NotFoundError: there is no such project or account.
            AccessError: the account may not decide there.
            ImportFileError: a decision cannot be taken; the message begins with its place.
            WrongLinesError: several cannot be.
        """
        read = list(decisions)

        def transaction(session: Session) -> DecisionSummary:
            project = find_project(session, project_id, lock=True)
            adjudicator = _adjudicator(session, project, by)
            table = _Table(session, project, adjudicator, self._clock, replaces=replaces)
            return table.decide([row for row in read if row is not None], empty=read.count(None))

        return self._database.transact(transaction)


class _Table:
    """The transaction of one table; the row of the project is locked, since pairs are locked together."""

    def __init__(
        self, session: Session, project: Project, adjudicator: User, clock: Clock, *, replaces: bool
    ) -> None:
        self._session, self._project, self._clock = session, project, clock
        self._adjudicator = adjudicator
        self._replaces = replaces
        self._places: dict[int, str] = {}
        """Where each pair stood in the table."""
        self._records: dict[int, PairRecord] = {}
        self._held_back: set[int] = set()

    def decide(self, rows: Sequence[NewDecision | ImportFileError], *, empty: int) -> DecisionSummary:
        pairs = self._lock_pairs({row.pair for row in rows if isinstance(row, NewDecision)})
        self._load_records(pair.id for by_type in pairs.values() for pair in by_type.values())
        wrong, decided, unchanged = WrongLines("used"), 0, 0
        for row in rows:
            try:
                if isinstance(row, ImportFileError):
                    raise row
                is_new = self._decide(row, self._pair(row, pairs.get(row.pair, {})))
            except ImportFileError as error:
                wrong.add(error)
            else:
                decided, unchanged = decided + is_new, unchanged + (not is_new)
        wrong.raise_if_any()
        return DecisionSummary(decided, unchanged, empty)

    def _lock_pairs(self, ids: Iterable[str]) -> dict[str, dict[str, Pair]]:
        """By id and type."""
        found: dict[str, dict[str, Pair]] = {}
        for some in parts(sorted(filter(can_be_stored, ids))):
            rows = self._session.scalars(
                select(Pair)
                .where(Pair.project_id == self._project.id, is_among(self._session, Pair.external_id, some))
                .order_by(Pair.id)
                .options(defer(Pair.left), defer(Pair.right), defer(Pair.senses))
                .with_for_update(key_share=True)
            )
            for pair in rows:
                found.setdefault(pair.external_id, {})[pair.type] = pair
        return found

    def _load_records(self, pair_ids: Iterable[int]) -> None:
        """Read what decisions depend on; each pair is decided once, so that it stays true."""
        is_held_back = held_back_from(self._session, self._project, self._adjudicator.id)
        for ids in parts(pair_ids):
            self._records |= read_records(self._session, ids, scale_of(self._project))
            held_back = select(Pair.id).where(Pair.id.in_(ids), is_held_back)
            self._held_back.update(self._session.scalars(held_back))

    def _pair(self, row: NewDecision, by_type: Mapping[str, Pair]) -> Pair:
        if row.type is None and len(by_type) > 1:
            raise ImportFileError(
                f"{row.place}, field 'type': is missing, and several types have a pair {row.pair!r} "
                f"({', '.join(sorted(by_type))}); write the type."
            )
        pair = by_type.get(row.type) if row.type is not None else next(iter(by_type.values()), None)
        if pair is None:
            raise ImportFileError(f"{row.place}, field 'id': {self._missing_text(row, by_type)}.")
        first = self._places.setdefault(pair.id, row.place)
        if first != row.place:
            raise ImportFileError(
                f"{row.place}: the pair {row.pair!r} is decided further up too ({first}); keep one of them."
            )
        return pair

    def _missing_text(self, row: NewDecision, by_type: Mapping[str, Pair]) -> str:
        if by_type:
            return (
                f"the pair {row.pair!r} is of the type {', '.join(sorted(by_type))}, not {row.type}; fix it"
            )
        if can_be_stored(row.pair):
            checks = Pair.project_id == checks_project_of(self._session, self._project.id)
            training = TrainingPair.project_id == self._project.id
            known = {
                "check pair": select(Pair.id).where(checks, Pair.external_id == row.pair),
                "training pair": select(TrainingPair.id).where(
                    training, TrainingPair.external_id == row.pair
                ),
            }
            for kind, statement in known.items():
                if self._session.scalar(statement.limit(1)) is not None:
                    return f"{row.pair!r} is a {kind}, whose grade is known; leave the row out"
        return (
            f"the project {self._project.name} has no pair {row.pair!r}; fix the id, which a spreadsheet "
            "may have rewritten (open the column id as text), or leave the row out"
        )

    def _decide(self, row: NewDecision, pair: Pair) -> bool:
        """Whether it is a new decision.

        Raises:
            ImportFileError: it cannot be taken.
        """
        record = self._records[pair.id]
        if record.standing is not None and self._is_standing(row, pair, record, record.standing):
            return False
        if pair.id in self._held_back:
            raise ImportFileError(
                f"{row.place}: {self._adjudicator.name} may still grade the pair {row.pair!r} and so must "
                "not decide on it; leave the row out, or let another adjudicator decide."
            )
        expected = self._expected_version(row, record)
        try:
            decide_within(
                self._session,
                pair,
                self._project,
                record,
                self._adjudicator.id,
                row.grade,
                row.cause,
                row.note,
                expected=expected,
                clock=self._clock,
            )
        except ConflictError:
            unflagged = "" if record.standing is not None else unflagged_text(pair, self._project)
            problem = unflagged or _conflict_text(row, record, expected or "")
        except GradeError as error:
            raise ImportFileError(f"{row.place}, field 'grade': {error}") from None
        except AdjudicationError as error:
            problem = str(error)
        else:
            return True
        raise ImportFileError(f"{row.place}: {problem}")

    def _is_standing(self, row: NewDecision, pair: Pair, record: PairRecord, standing: Adjudication) -> bool:
        """Whether it is the decision on the pair already, whoever took it, and the pair is not open again."""
        is_same = (scale_of(self._project).to_steps(row.grade), row.cause.value, row.note) == (
            standing.quarters,
            standing.cause,
            standing.note,
        )
        return is_same and not (is_flagged(self._project, pair) and record.is_changed)

    def _expected_version(self, row: NewDecision, record: PairRecord) -> str | None:
        """The version of the pair at which the decision is taken; None for any."""
        found = record.version
        if row.version is None:
            return None if record.standing is None or self._replaces else with_decision_of(found, "0-")
        return with_decision_of(row.version, found) if self._replaces else row.version


def _conflict_text(row: NewDecision, record: PairRecord, expected: str) -> str:
    last = decided_since(expected, record.version, record.last)
    if last is None or with_decision_of(expected, record.version) != record.version:  # --replace is no help
        return (
            f"a rating of the pair {row.pair!r} changed since the table was written; leave the row out, "
            "and look at the pair in a new table."
        )
    return (
        f"{decision_text(last)} already; leave the row of the pair {row.pair!r} out, or give --replace "
        "to decide all the same."
    )


def _adjudicator(session: Session, project: Project, name: str) -> User:
    user = get_user(session, name)
    if user.disabled_at is not None:
        raise AccessError(_("The account {name} is disabled: name another, or enable it.", name=user.name))
    may = {Role.ADJUDICATOR, Role.ADMINISTRATOR}
    if not user.is_administrator and may.isdisjoint(roles_of(session, user.id, project.id)):
        raise AccessError(
            _(
                "{name} is neither adjudicator nor administrator of {project}: name someone who is, or give "
                "{name} the role.",
                name=user.name,
                project=project.name,
            )
        )
    return user
