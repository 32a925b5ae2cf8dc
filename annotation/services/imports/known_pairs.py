"""Pairs with known grades that come from files: which are new, and which cannot be used."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from annotation.comparison import foreign_type_text
from annotation.errors import ImportFileError
from annotation.exchange import fingerprint
from annotation.files.wrong_lines import WrongLines
from annotation.quality import MOST_CHECK_PAIRS, MOST_TRAINING_PAIRS
from annotation.services.bulk import is_among, parts
from annotation.services.checks import shelf_of
from annotation.services.known_grades import (
    KnownKind,
    distances,
    no_accepted_grade,
    quality_of,
    training_in_use,
)
from annotation.types import KnownPair, NewPair, ReadKnownPair, from_quarters, to_quarters
from db.models import Pair, Project, TrainingPair


@dataclass(frozen=True, slots=True)
class _Known:
    """A pair of the kind that is imported: in use, or further up in the file."""

    fingerprint: str
    quarters: int
    explanation: str = ""
    is_new: bool = False


class _Met(NamedTuple):
    """Where else raters meet the texts of a pair."""

    what: str
    id: str


def new_training_pairs(
    session: Session, pairs: Iterable[ReadKnownPair], project: Project
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
    session: Session, pairs: Iterable[ReadKnownPair], project: Project
) -> tuple[list[KnownPair], list[str]]:
    """The same of check pairs, which have no explanation."""
    rows = session.scalars(select(Pair).where(Pair.project_id == shelf_of(session, project.id)))
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
    checks = select(Pair.fingerprint).where(Pair.project_id == shelf_of(session, project_id))
    return dict.fromkeys(session.scalars(checks), "check pair") | dict.fromkeys(
        training_prints(session, project_id), "training pair"
    )


def _training_pairs(session: Session, project_id: int) -> Iterable[TrainingPair]:
    return session.scalars(select(TrainingPair).where(training_in_use(project_id)))


def _print_of_row(row: TrainingPair) -> str:
    return fingerprint(row.type, row.left, row.right)


def _new_pairs(
    session: Session,
    pairs: Iterable[ReadKnownPair],
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
    met = _met(session, project, {print_of(known.pair) for known in read if isinstance(known, KnownPair)})
    new: list[KnownPair] = []
    duplicates: list[str] = []
    wrong = WrongLines()
    step, distance = from_quarters(project.step_quarters), distances(quality_of(session, project.id))[kind]
    for known in read:
        if isinstance(known, ImportFileError):
            wrong.add(known)
            continue
        pair = known.pair
        as_read = _Known(print_of(pair), to_quarters(known.grade), known.explanation, is_new=True)
        old = there.get((pair.type, pair.id))
        if pair.type not in project.types:
            wrong.add(ImportFileError(f"{pair.where}{foreign_type_text(pair.type, project.types)}"))
        elif old is not None:
            if problem := _change(pair, old, as_read):
                wrong.add(problem)
            else:
                duplicates.append(pair.id)
        elif twin := met.get(as_read.fingerprint):
            wrong.add(_met_twice(pair, twin, told))
        elif reason := no_accepted_grade(known.grade, step, distance):
            wrong.add(_out_of_reach(pair, reason))
        else:
            there[pair.type, pair.id] = as_read
            met[as_read.fingerprint] = _Met("pair further up", pair.id)
            new.append(known)
    wrong.tell()
    if (count := before + len(new)) > most:
        raise ImportFileError(
            f"There would be {count:,} such pairs in the project: it takes {most:,} at most."
        )
    return new, duplicates


def _met(session: Session, project: Project, prints: set[str]) -> dict[str, _Met]:
    """Where raters of the project meet the texts of these fingerprints already."""
    met = {
        print: _Met("training pair of the project", id)
        for print, id in training_prints(session, project.id).items()
    }
    for what, id in (("check pair", shelf_of(session, project.id)), ("pair", project.id)):
        for some in parts(sorted(prints)):
            found = select(Pair.fingerprint, Pair.external_id).where(
                Pair.project_id == id, is_among(session, Pair.fingerprint, some)
            )
            for row in session.execute(found):
                met[row.fingerprint] = _Met(f"{what} of the project", row.external_id)
    return met


def _out_of_reach(pair: NewPair, problem: str) -> ImportFileError:
    return ImportFileError(
        f"{pair.where}, field 'grade': {problem}; fix it, make the step finer or accept a larger "
        "distance on the tab Quality of the project."
    )


def _change(pair: NewPair, old: _Known, new: _Known) -> ImportFileError | None:
    """Why a row with the id of another cannot stand beside it; None where they are equal."""
    where = "further up" if old.is_new else "there already"
    if new.fingerprint != old.fingerprint:
        field, what = "id", "other texts"
        remedy = "give this pair an id of its own"
    elif new.quarters != old.quarters:
        field, what = "grade", f"the grade {from_quarters(old.quarters)}, not {from_quarters(new.quarters)}"
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


def _met_twice(pair: NewPair, twin: _Met, told: str) -> ImportFileError:
    called = "," if twin.id == pair.id else f", there called {twin.id!r},"
    return ImportFileError(
        f"{pair.where}: the pair {pair.id!r} is a {twin.what} too{called} and {told}; choose another pair."
    )
