"""Pairs with known grades that come from files: which are new, and which cannot be used."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType

from sqlalchemy import select
from sqlalchemy.orm import Session

from annotation.errors import ImportFileError
from annotation.exchange import fingerprint
from annotation.quality import MOST_CHECK_PAIRS, MOST_TRAINING_PAIRS
from annotation.services.bulk import is_among
from annotation.types import KnownPair, NewPair, ReadKnownPair
from annotation.wrong_lines import WrongLines
from db.models import Pair, Project

_AT_ONCE = 500


def new_training_pairs(
    pairs: Iterable[ReadKnownPair], project: Project, old: Collection[tuple[str, str]]
) -> tuple[list[KnownPair], list[str]]:
    """Those that are not there yet, and the ids of the others.

    Args:
        pairs: as they were read.
        project: where they are to be imported.
        old: types and ids of those that are there.

    Raises:
        ImportFileError: a pair cannot be used, or there would be too many.
        WrongLinesError: several cannot.
    """
    return _new_pairs(pairs, project, old, MOST_TRAINING_PAIRS)


def new_check_pairs(
    session: Session, pairs: Iterable[ReadKnownPair], project: Project, old: Collection[tuple[str, str]]
) -> tuple[list[KnownPair], list[str]]:
    """The same of check pairs, which cannot be pairs of the project too."""
    read = list(pairs)
    prints = list({print_of(known.pair) for known in read if isinstance(known, KnownPair)})
    met: dict[str, str] = {}
    for first in range(0, len(prints), _AT_ONCE):
        chosen = is_among(session, Pair.fingerprint, prints[first : first + _AT_ONCE])
        found = select(Pair.fingerprint, Pair.external_id).where(Pair.project_id == project.id, chosen)
        met.update((row.fingerprint, row.external_id) for row in session.execute(found))
    return _new_pairs(read, project, old, MOST_CHECK_PAIRS, met)


def print_of(pair: NewPair) -> str:
    """Its fingerprint."""
    return fingerprint(pair.type, pair.left, pair.right)


def _new_pairs(
    pairs: Iterable[ReadKnownPair],
    project: Project,
    old: Collection[tuple[str, str]],
    most: int,
    met: Mapping[str, str] = MappingProxyType({}),
) -> tuple[list[KnownPair], list[str]]:
    there = set(old)
    new: list[KnownPair] = []
    duplicates: list[str] = []
    wrong = WrongLines()
    for known in pairs:
        if isinstance(known, ImportFileError):
            wrong.add(known)
            continue
        pair = known.pair
        if pair.type not in project.types:
            wrong.add(_other_type(pair, project))
        elif (pair.type, pair.id) in there:
            duplicates.append(pair.id)
        elif met and (own_id := met.get(print_of(pair))):
            wrong.add(_met_twice(pair, own_id))
        else:
            there.add((pair.type, pair.id))
            new.append(known)
    wrong.tell()
    if (count := len(old) + len(new)) > most:
        raise ImportFileError(
            f"There would be {count:,} such pairs in the project: it takes {most:,} at most."
        )
    return new, duplicates


def _other_type(pair: NewPair, project: Project) -> ImportFileError:
    return ImportFileError(
        f"{_where(pair)}, field 'type': {pair.type!r} is no type of the project, which has "
        f"{', '.join(project.types)}; mend it or add it to the project."
    )


def _met_twice(pair: NewPair, own_id: str) -> ImportFileError:
    """A pair of the project would be met twice, which gives the check away.

    Args:
        own_id: of that pair in the project.
    """
    there = "," if own_id == pair.id else f", there called {own_id!r},"
    return ImportFileError(
        f"{_where(pair)}: the pair {pair.id!r} is a pair of the project too{there} and a rater who met it "
        "twice would know; take another."
    )


def _where(pair: NewPair) -> str:
    return pair.place or f"Pair {pair.id!r}"
