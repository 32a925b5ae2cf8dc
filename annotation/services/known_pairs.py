"""Pairs whose grade is known, for training and as gold checks: importing them, and correcting a grade."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from annotation.assignment import position_of
from annotation.comparison import foreign_type_text
from annotation.errors import GradeError, ImportFileError, NotFoundError
from annotation.exchange import WrongLines, fingerprint
from annotation.quality import MOST_CHECK_PAIRS, MOST_TRAINING_PAIRS
from annotation.scale import Scale
from annotation.sense_pairs import is_undescribed, senses_to_json
from annotation.senses import undescribed_text
from annotation.services.audit import record
from annotation.services.project_rows import checks_project_of, find_project, next_order, scale_of
from annotation.services.quality import (
    KnownKind,
    begin_checks_anew,
    distances,
    no_accepted_grade,
    quality_of,
    training_in_use,
)
from annotation.services.transactions import is_among, parts
from annotation.services.users import id_of
from annotation.translation import _, ngettext
from annotation.types import (
    Clock,
    KnownPair,
    KnownPairInput,
    NewPair,
    User,
    utcnow,
)
from db import Database
from db.models import Pair, Project, TrainingPair


@dataclass(frozen=True, slots=True)
class _Known:
    """A pair of the kind that is imported: in use, or further up in the file."""

    fingerprint: str
    quarters: int
    explanation: str = ""
    is_new: bool = False


class _Twin(NamedTuple):
    """Where else raters meet the texts of a pair."""

    what: str
    id: str


def new_training_pairs(
    session: Session, pairs: Iterable[KnownPairInput], project: Project
) -> tuple[list[KnownPair], list[str]]:
    """Those that are not there yet, and the ids of those that are, exactly as they were read.

    Args:
        session: has the row of the project locked.
        pairs: as they were read.
        project: where they are to be imported.

    Raises:
        ImportFileError: a pair cannot be used, or there would be too many.
        WrongLinesError: several cannot.
    """
    there = {
        (row.type, row.external_id): _Known(_print_of_row(row), row.quarters, row.explanation)
        for row in _training_pairs(session, project.id)
    }
    told = "training would reveal its grade"
    return _new_pairs(session, pairs, project, there, MOST_TRAINING_PAIRS, KnownKind.TRAINING, told)


def new_check_pairs(
    session: Session, pairs: Iterable[KnownPairInput], project: Project
) -> tuple[list[KnownPair], list[str]]:
    """The same of check pairs, which have no explanation."""
    rows = session.scalars(select(Pair).where(Pair.project_id == checks_project_of(session, project.id)))
    there = {(row.type, row.external_id): _Known(row.fingerprint, row.intended_quarters or 0) for row in rows}
    bare = (KnownPair(each.pair, each.grade) if isinstance(each, KnownPair) else each for each in pairs)
    told = "a rater who saw it twice would notice"
    return _new_pairs(session, bare, project, there, MOST_CHECK_PAIRS, KnownKind.CHECK, told)


def print_of(pair: NewPair) -> str:
    """Its fingerprint."""
    return fingerprint(pair.type, pair.left, pair.right)


def training_prints(session: Session, project_id: int) -> dict[str, str]:
    """The ids of the training pairs in use, by their fingerprints."""
    return {_print_of_row(row): row.external_id for row in _training_pairs(session, project_id)}


def known_prints(session: Session, project_id: int) -> dict[str, str]:
    """What the pairs with known grades are, training or check pairs in use, by their fingerprints."""
    checks = select(Pair.fingerprint).where(Pair.project_id == checks_project_of(session, project_id))
    return dict.fromkeys(session.scalars(checks), "check pair") | dict.fromkeys(
        training_prints(session, project_id), "training pair"
    )


def _training_pairs(session: Session, project_id: int) -> Iterable[TrainingPair]:
    return session.scalars(select(TrainingPair).where(training_in_use(project_id)))


def _print_of_row(row: TrainingPair) -> str:
    return fingerprint(row.type, row.left, row.right)


def _new_pairs(
    session: Session,
    pairs: Iterable[KnownPairInput],
    project: Project,
    there: dict[tuple[str, str], _Known],
    most: int,
    kind: KnownKind,
    told: str,
) -> tuple[list[KnownPair], list[str]]:
    """Sort the pairs.

    Args:
        there: by type and id; the new ones are added.
        most: of the pairs that there may be then.
        kind: what they become.
        told: why their texts may be met nowhere else.
    """
    read, before = list(pairs), len(there)
    met = _find_twins(
        session, project, {print_of(known.pair) for known in read if isinstance(known, KnownPair)}
    )
    new: list[KnownPair] = []
    duplicates: list[str] = []
    wrong = WrongLines()
    scale = scale_of(project)
    step, distance = scale.from_steps(project.step_quarters), distances(quality_of(session, project.id))[kind]
    for known in read:
        if isinstance(known, ImportFileError):
            wrong.add(known)
            continue
        pair = known.pair
        if not scale.allows(known.grade):
            off = f"{known.grade} is not {scale.text}; fix it or delete the row."
            wrong.add(ImportFileError(f"{pair.where}, field 'grade': {off}"))
            continue
        as_read = _Known(print_of(pair), scale.to_steps(known.grade), known.explanation, is_new=True)
        old = there.get((pair.type, pair.id))
        if pair.type not in project.types:
            wrong.add(ImportFileError(f"{pair.where}{foreign_type_text(pair.type, project.types)}"))
        elif old is not None:
            if problem := _describe_difference(pair, old, as_read, scale):
                wrong.add(problem)
            else:
                duplicates.append(pair.id)
        elif twin := met.get(as_read.fingerprint):
            called = "," if twin.id == pair.id else f", there called {twin.id!r},"
            wrong.add(
                ImportFileError(
                    f"{pair.where}: the pair {pair.id!r} is a {twin.what} too{called} and {told}; choose "
                    "another pair."
                )
            )
        elif reason := no_accepted_grade(known.grade, step, distance):
            wrong.add(
                ImportFileError(
                    _(
                        "{where}, field 'grade': {reason}; fix it, make the step finer or accept a larger "
                        "distance on the tab Quality of the project.",
                        where=pair.where,
                        reason=reason,
                    )
                )
            )
        else:
            there[pair.type, pair.id] = as_read
            met[as_read.fingerprint] = _Twin("pair further up", pair.id)
            new.append(known)
    wrong.raise_if_any()
    if (count := before + len(new)) > most:
        raise ImportFileError(
            _(
                "There would be {count} such pairs in the project: it takes {most} at most.",
                count=f"{count:,}",
                most=f"{most:,}",
            )
        )
    return new, duplicates


def _find_twins(session: Session, project: Project, prints: set[str]) -> dict[str, _Twin]:
    """Where raters of the project meet the texts of these fingerprints already."""
    met = {
        print: _Twin("training pair of the project", id)
        for print, id in training_prints(session, project.id).items()
    }
    for what, id in (("check pair", checks_project_of(session, project.id)), ("pair", project.id)):
        for some in parts(sorted(prints)):
            found = select(Pair.fingerprint, Pair.external_id).where(
                Pair.project_id == id, is_among(session, Pair.fingerprint, some)
            )
            for row in session.execute(found):
                met[row.fingerprint] = _Twin(f"{what} of the project", row.external_id)
    return met


def _describe_difference(pair: NewPair, old: _Known, new: _Known, scale: Scale) -> ImportFileError | None:
    """Why a row with the id of another cannot stand beside it; None where they are equal."""
    where = "further up" if old.is_new else "there already"
    if new.fingerprint != old.fingerprint:
        field, what = "id", "other texts"
        remedy = "give this pair an id of its own"
    elif new.quarters != old.quarters:
        before, after = scale.from_steps(old.quarters), scale.from_steps(new.quarters)
        field, what = "grade", f"the grade {before}, not {after}"
        remedy = "leave the row out, and set the known grade on the tab Quality of the project"
    elif new.explanation != old.explanation:
        field, what = "explanation", "another explanation"
        remedy = "leave the row out, or stop using the training pairs and import all of them again"
    else:
        return None
    if old.is_new and field != "id":
        remedy = "leave one of them out"
    place = f"{pair.where}, field {field!r}"
    return ImportFileError(f"{place}: {pair.id!r} is {where} with {what}; {remedy}.")


_SLOTS = 1_000_000
"""A check pair is graded by everybody: it never runs out of places."""


@dataclass(frozen=True, slots=True)
class KnownSummary:
    pairs: int
    duplicates: tuple[str, ...] = ()
    """Ids of those that were there already, with the same texts and grade, and were left out."""
    ratings_left_out: int = 0
    """Single ratings in the file: these pairs have one grade, which is known."""

    undescribed: int = 0
    """New pairs of a word and a sense key without definitions, as there was no WordNet."""

    @property
    def notes(self) -> list[str]:
        """A sentence or two for each thing that an importer may not have expected."""
        told = [undescribed_text(self.undescribed)] if self.undescribed else []
        if self.ratings_left_out:
            text = ngettext(
                "{count} rating in the file was left out: these pairs have one grade, which is known.",
                "{count} ratings in the file were left out: these pairs have one grade, which is known.",
                self.ratings_left_out,
                count=f"{self.ratings_left_out:,}",
            )
            told.append(text)
        return told


@dataclass(frozen=True, slots=True)
class KnownLine:
    """A training pair in use, or a check pair, as administrators see it."""

    kind: KnownKind
    id: int
    external_id: str
    left: str
    right: str
    grade: Decimal


def _summary(
    new: Sequence[KnownPair], duplicates: Iterable[str], read: Sequence[KnownPairInput]
) -> KnownSummary:
    undescribed = sum(is_undescribed(known.pair) for known in new)
    return KnownSummary(len(new), tuple(duplicates), _count_ratings(read), undescribed)


class KnownPairService:
    """Who is allowed to call a method is for the caller to `require`."""

    def __init__(self, database: Database, clock: Clock = utcnow) -> None:
        self._database = database
        self._clock = clock

    def import_training(
        self,
        project_id: int,
        pairs: Iterable[KnownPairInput],
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
                    quarters=scale_of(project).to_steps(known.grade),
                    explanation=known.explanation,
                    import_order=order,
                )
                for order, known in enumerate(new, start=first)
            )
            self._record(session, "training pairs imported", project, len(new), files, by)
        return _summary(new, duplicates, read)

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
        pairs: Iterable[KnownPairInput],
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
            checks_project = _make_checks_project(session, project, self._clock)
            read = list(pairs)
            new, duplicates = new_check_pairs(session, read, project)
            first = next_order(session, Pair, checks_project.id)
            session.add_all(
                Pair(
                    project_id=checks_project.id,
                    **_texts(known.pair),
                    intended_quarters=scale_of(project).to_steps(known.grade),
                    fingerprint=print_of(known.pair),
                    position=position_of(checks_project.seed, known.pair.type, known.pair.id),
                    import_order=order,
                    open_slots=checks_project.raters_per_pair,
                )
                for order, known in enumerate(new, start=first)
            )
            if new:  # or the checks that the larger number makes overdue would come one after another
                begin_checks_anew(session, project.id)
            self._record(session, "check pairs imported", project, len(new), files, by)
        return _summary(new, duplicates, read)

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
            scale = scale_of(project)
            lines = [_line(KnownKind.TRAINING, row, scale) for row in training]
            checks = session.scalars(
                select(Pair)
                .where(Pair.project_id == checks_project_of(session, project.id))
                .order_by(Pair.import_order)
            )
            return (*lines, *(_line(KnownKind.CHECK, row, scale) for row in checks))

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
        with self._database.session() as session:
            project = find_project(session, project_id, lock=True)
            scale = scale_of(project)
            quarters = scale.to_steps(scale.check(grade))
            row = _in_use(session, project, kind, pair_id)
            before = _quarters(row)
            if before != quarters:
                distance = distances(quality_of(session, project.id))[kind]
                if problem := no_accepted_grade(grade, scale.from_steps(project.step_quarters), distance):
                    raise GradeError(
                        _(
                            "{problem}: make the step finer or accept a larger distance.",
                            problem=f"{problem[0].upper()}{problem[1:]}",
                        )
                    )
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
                    before=str(scale.from_steps(before)),
                    after=str(scale.from_steps(quarters)),
                )
        return scale.from_steps(before)

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


def _count_ratings(pairs: Iterable[KnownPairInput]) -> int:
    return sum(len(known.pair.ratings) for known in pairs if isinstance(known, KnownPair))


def _in_use(session: Session, project: Project, kind: KnownKind, pair_id: int) -> TrainingPair | Pair:
    if kind is KnownKind.TRAINING:
        training = session.get(TrainingPair, pair_id)
        if training and training.project_id == project.id and training.retired_at is None:
            return training
    else:
        check = session.get(Pair, pair_id)
        if check and check.project_id == checks_project_of(session, project.id):
            return check
    raise NotFoundError(
        _("There is no training pair {id} in use here: choose another one.", id=pair_id)
        if kind is KnownKind.TRAINING
        else _("There is no check pair {id} in use here: choose another one.", id=pair_id)
    )


def _quarters(row: TrainingPair | Pair) -> int:
    """The known grade; a check pair keeps it where others have the one that was asked for."""
    quarters = row.quarters if isinstance(row, TrainingPair) else row.intended_quarters
    assert quarters is not None
    return quarters


def _line(kind: KnownKind, row: TrainingPair | Pair, scale: Scale) -> KnownLine:
    known = scale.from_steps(_quarters(row))
    return KnownLine(kind, row.id, row.external_id, row.left, row.right, known)


def _texts(pair: NewPair) -> dict[str, Any]:
    return {
        "external_id": pair.id,
        "type": pair.type,
        "left": pair.left,
        "right": pair.right,
        "senses": None if pair.senses is None else senses_to_json(pair.senses),
    }


def _make_checks_project(session: Session, project: Project, clock: Clock) -> Project:
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
        scale_step=project.scale_step,
        scale_low=project.scale_low,
        scale_high=project.scale_high,
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
