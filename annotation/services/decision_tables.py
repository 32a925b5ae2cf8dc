"""Tables of pairs that wait for a decision, and decisions that come back in them: all of them, or none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session, defer

from annotation.adjudication import (
    AdjudicationError,
    AdjudicationItem,
    ConflictError,
    NewDecision,
    ReadDecision,
    Which,
    decided_since,
    decision_text,
    with_decision_of,
)
from annotation.characters import can_be_stored
from annotation.clock import Clock, utcnow
from annotation.errors import AccessError, GradeError, ImportFileError
from annotation.files.wrong_lines import WrongLines
from annotation.services.access.roles import roles_of
from annotation.services.access.users import get_user
from annotation.services.adjudication_items import PairRecord, read_items, read_records
from annotation.services.adjudication_queue import ORDER, AdjudicationQueue
from annotation.services.bulk import is_among, parts
from annotation.services.checks import shelf_of
from annotation.services.deciding import decide_within, unflagged_text
from annotation.services.pair_states import is_flagged
from annotation.services.projects import find_project
from annotation.services.rating.held_back import held_back_from
from annotation.services.transactions import repeated_if_undone
from annotation.types import Role, to_quarters
from db import Database
from db.models import Adjudication, Pair, Project, TrainingPair, User


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
            queue = AdjudicationQueue(project, held_back_from(session, project, viewer))
            ids = session.scalars(queue.select(Pair.id, which=which, type=type).order_by(*ORDER)).all()
            yield from read_items(session, ids, project)

    def decide_all(
        self, project_id: int, decisions: Iterable[ReadDecision], by: str, *, replaces: bool = False
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

        def transaction() -> DecisionSummary:
            with self._database.session() as session:
                project = find_project(session, project_id, lock=True)
                adjudicator = _adjudicator(session, project, by)
                table = _Table(session, project, adjudicator, self._clock, replaces=replaces)
                return table.decide([row for row in read if row is not None], empty=read.count(None))

        return repeated_if_undone(transaction)


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
        pairs = self._locked_pairs({row.pair for row in rows if isinstance(row, NewDecision)})
        self._read(pair.id for by_type in pairs.values() for pair in by_type.values())
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
        wrong.tell()
        return DecisionSummary(decided, unchanged, empty)

    def _locked_pairs(self, ids: Iterable[str]) -> dict[str, dict[str, Pair]]:
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

    def _read(self, pair_ids: Iterable[int]) -> None:
        """Read what decisions depend on; each pair is decided once, so that it stays true."""
        is_held_back = held_back_from(self._session, self._project, self._adjudicator.id)
        for ids in parts(pair_ids):
            self._records |= read_records(self._session, ids)
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
            checks = Pair.project_id == shelf_of(self._session, self._project.id)
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
        if record.standing is not None and self._stands(row, pair, record, record.standing):
            return False
        if pair.id in self._held_back:
            raise ImportFileError(
                f"{row.place}: {self._adjudicator.name} may still grade the pair {row.pair!r} and so must "
                "not decide on it; leave the row out, or let another adjudicator decide."
            )
        expected = self._expected(row, record)
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

    def _stands(self, row: NewDecision, pair: Pair, record: PairRecord, standing: Adjudication) -> bool:
        """Whether it is the decision on the pair already, whoever took it, and the pair is not open again."""
        is_same = (to_quarters(row.grade), row.cause.value, row.note) == (
            standing.quarters,
            standing.cause,
            standing.note,
        )
        return is_same and not (is_flagged(self._project, pair) and record.is_changed)

    def _expected(self, row: NewDecision, record: PairRecord) -> str | None:
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
        raise AccessError(f"The account {user.name} is disabled: name another, or enable it.")
    may = {Role.ADJUDICATOR, Role.ADMINISTRATOR}
    if not user.is_administrator and may.isdisjoint(roles_of(session, user.id, project.id)):
        raise AccessError(
            f"{user.name} is neither adjudicator nor administrator of {project.name}: name someone who is, "
            f"or give {user.name} the role."
        )
    return user
