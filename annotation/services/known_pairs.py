"""Pairs whose grade is known, for training and as hidden checks: importing them, and correcting a grade."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from annotation.assignment import position_of
from annotation.clock import Clock, utcnow
from annotation.errors import GradeError, NotFoundError
from annotation.scale import CLSS
from annotation.senses.pair_senses import senses_as_json
from annotation.services.access.users import id_of
from annotation.services.audit import record
from annotation.services.checks import shelf_of
from annotation.services.imports.known_pairs import new_check_pairs, new_training_pairs, print_of
from annotation.services.imports.order import next_order
from annotation.services.known_grades import (
    KnownKind,
    distances,
    no_accepted_grade,
    quality_of,
    training_in_use,
)
from annotation.services.projects import find_project
from annotation.services.quality import begin_checks_anew
from annotation.types import KnownPair, NewPair, ReadKnownPair, User, from_quarters, to_quarters
from db import Database
from db.models import Pair, Project, TrainingPair

_SLOTS = 1_000_000
"""A check pair is graded by everybody: it never runs out of places."""


@dataclass(frozen=True, slots=True)
class KnownSummary:
    pairs: int
    duplicates: tuple[str, ...] = ()
    """Ids of those that were there already, with the same texts and grade, and were left out."""
    ratings_left_out: int = 0
    """Single ratings in the file: these pairs have one grade, which is known."""


@dataclass(frozen=True, slots=True)
class KnownLine:
    """A training pair in use, or a check pair, as administrators see it."""

    kind: KnownKind
    id: int
    external_id: str
    left: str
    right: str
    grade: Decimal


class KnownPairService:
    """Who is allowed to call a method is for the caller to `require`."""

    def __init__(self, database: Database, clock: Clock = utcnow) -> None:
        self._database = database
        self._clock = clock

    def import_training(
        self,
        project_id: int,
        pairs: Iterable[ReadKnownPair],
        *,
        by: User | None = None,
        files: Sequence[str] = (),
    ) -> KnownSummary:
        """Add training pairs, all or none; raters meet them in this order.

        Raises:
            NotFoundError: there is no such project.
            ImportFileError: a pair cannot be used, is met elsewhere here, or there would be too many.
            WrongLinesError: several cannot be used; the message tells how many, and the first few.
        """
        with self._database.session() as session:
            project = find_project(session, project_id, lock=True)
            read = list(pairs)
            new, duplicates = new_training_pairs(session, read, project)
            first = next_order(session, TrainingPair, project.id)
            session.add_all(
                TrainingPair(
                    project_id=project.id,
                    **_texts(known.pair),
                    quarters=to_quarters(known.grade),
                    explanation=known.explanation,
                    import_order=order,
                )
                for order, known in enumerate(new, start=first)
            )
            self._record(session, "training pairs imported", project, len(new), files, by)
        return KnownSummary(len(new), tuple(duplicates), _count_ratings(read))

    def retire_training(self, project_id: int, *, by: User | None = None) -> int:
        """Use the training pairs no longer; attempts at them are kept. How many they were.

        Raises:
            NotFoundError: there is no such project.
        """
        now = self._clock()
        with self._database.session() as session:
            project = find_project(session, project_id, lock=True)
            retired = session.scalars(
                update(TrainingPair)
                .where(training_in_use(project.id))
                .values(retired_at=now)
                .returning(TrainingPair.id)
            ).all()
            if retired:
                self._record(session, "training pairs retired", project, len(retired), (), by)
        return len(retired)

    def import_checks(
        self,
        project_id: int,
        pairs: Iterable[ReadKnownPair],
        *,
        by: User | None = None,
        files: Sequence[str] = (),
    ) -> KnownSummary:
        """Add hidden check pairs, all or none.

        Raises:
            NotFoundError: there is no such project.
            ImportFileError: a pair cannot be used, is met elsewhere here, or there would be too many.
            WrongLinesError: several cannot be used.
        """
        with self._database.session() as session:
            project = find_project(session, project_id, lock=True)
            shelf = _shelf(session, project, self._clock)
            read = list(pairs)
            new, duplicates = new_check_pairs(session, read, project)
            first = next_order(session, Pair, shelf.id)
            session.add_all(
                Pair(
                    project_id=shelf.id,
                    **_texts(known.pair),
                    intended_quarters=to_quarters(known.grade),
                    fingerprint=print_of(known.pair),
                    position=position_of(shelf.seed, known.pair.type, known.pair.id),
                    import_order=order,
                    open_slots=shelf.raters_per_pair,
                )
                for order, known in enumerate(new, start=first)
            )
            if new:  # or the checks that the larger number makes overdue would come one after another
                begin_checks_anew(session, project.id)
            self._record(session, "check pairs imported", project, len(new), files, by)
        return KnownSummary(len(new), tuple(duplicates), _count_ratings(read))

    def known(self, project_id: int) -> tuple[KnownLine, ...]:
        """The training pairs in use and then the check pairs, each in the order of their import.

        Raises:
            NotFoundError: there is no such project.
        """
        with self._database.reading() as session:
            project = find_project(session, project_id)
            training = session.scalars(
                select(TrainingPair).where(training_in_use(project.id)).order_by(TrainingPair.import_order)
            )
            lines = [_line(KnownKind.TRAINING, row) for row in training]
            checks = session.scalars(
                select(Pair)
                .where(Pair.project_id == shelf_of(session, project.id))
                .order_by(Pair.import_order)
            )
            return (*lines, *(_line(KnownKind.CHECK, row) for row in checks))

    def set_grade(
        self, project_id: int, kind: KnownKind, pair_id: int, grade: Decimal, *, by: User | None = None
    ) -> Decimal:
        """Correct the known grade of a pair; what it was.

        Grades of an attempt that is not finished, and all of a check pair, are compared with the new one;
        finished attempts stay as they were judged.

        Raises:
            NotFoundError: there is no such project, or no such pair in use.
            GradeError: the grade is not on the scale, or no grade of raters is accepted where it is known.
        """
        quarters = to_quarters(CLSS.check(grade))
        with self._database.session() as session:
            project = find_project(session, project_id, lock=True)
            row = _in_use(session, project, kind, pair_id)
            before = _quarters(row)
            if before != quarters:
                _check_reach(session, project, kind, grade)
                if isinstance(row, TrainingPair):
                    row.quarters = quarters
                else:
                    row.intended_quarters = quarters
                record(
                    session,
                    self._clock(),
                    "known grade changed",
                    user_id=id_of(by),
                    project_id=project.id,
                    kind=kind.value,
                    pair=row.external_id,
                    before=str(from_quarters(before)),
                    after=str(from_quarters(quarters)),
                )
        return from_quarters(before)

    def _record(
        self,
        session: Session,
        action: str,
        project: Project,
        pairs: int,
        files: Sequence[str],
        by: User | None,
    ) -> None:
        who = {"user_id": id_of(by), "project_id": project.id}
        record(session, self._clock(), action, **who, pairs=pairs, files=list(files))


def _count_ratings(pairs: Iterable[ReadKnownPair]) -> int:
    return sum(len(known.pair.ratings) for known in pairs if isinstance(known, KnownPair))


def _in_use(session: Session, project: Project, kind: KnownKind, pair_id: int) -> TrainingPair | Pair:
    if kind is KnownKind.TRAINING:
        training = session.get(TrainingPair, pair_id)
        if training and training.project_id == project.id and training.retired_at is None:
            return training
    else:
        check = session.get(Pair, pair_id)
        if check and check.project_id == shelf_of(session, project.id):
            return check
    raise NotFoundError(f"There is no {kind} pair {pair_id} in use here: choose another one.")


def _check_reach(session: Session, project: Project, kind: KnownKind, grade: Decimal) -> None:
    distance = distances(quality_of(session, project.id))[kind]
    if problem := no_accepted_grade(grade, from_quarters(project.step_quarters), distance):
        raise GradeError(
            f"{problem[0].upper()}{problem[1:]}: make the step finer or accept a larger distance."
        )


def _quarters(row: TrainingPair | Pair) -> int:
    """The known grade; a check pair keeps it where others have the one that was asked for."""
    quarters = row.quarters if isinstance(row, TrainingPair) else row.intended_quarters
    assert quarters is not None
    return quarters


def _line(kind: KnownKind, row: TrainingPair | Pair) -> KnownLine:
    return KnownLine(kind, row.id, row.external_id, row.left, row.right, from_quarters(_quarters(row)))


def _texts(pair: NewPair) -> dict[str, Any]:
    return {
        "external_id": pair.id,
        "type": pair.type,
        "left": pair.left,
        "right": pair.right,
        "senses": None if pair.senses is None else senses_as_json(pair.senses),
    }


def _shelf(session: Session, project: Project, clock: Clock) -> Project:
    """The project that keeps the check pairs, made with the first of them."""
    row = session.scalar(select(Project).where(Project.checks_of_id == project.id))
    if row is not None:
        return row
    row = Project(
        name=f"Check pairs of {project.id}",
        name_key=f"check pairs\n{project.id}",  # nobody can type such a name
        types=[],
        raters_per_pair=_SLOTS,
        threshold_quarters=project.threshold_quarters,
        step_quarters=1,
        is_random=True,
        seed=secrets.randbelow(2**62),
        may_revise=True,
        lease_minutes=project.lease_minutes,
        created_by=project.created_by,
        created_at=clock(),
        checks_of_id=project.id,
    )
    session.add(row)
    session.flush()
    return row
