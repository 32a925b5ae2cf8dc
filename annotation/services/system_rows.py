"""Gold sets and systems as they are kept: written, and read again, within a transaction of the service's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from annotation.errors import NotFoundError
from annotation.files.gold_pairs import GoldPair, Key
from annotation.numbers import is_id
from annotation.services.bulk import insert_rows
from annotation.services.in_use import IN_USE
from annotation.systems.report import System
from db.models import GoldGrade, GoldSet, Pair, ScoredSystem, SystemScore, User


@dataclass(frozen=True, slots=True)
class Gold:
    """A gold set that systems are measured on."""

    name: str
    """Of the files it came from; empty for the project's own."""
    sha256: str
    pairs: tuple[GoldPair, ...]
    ungraded: frozenset[Key] = frozenset()
    """Pairs that are known to have no grade in it."""


@dataclass(frozen=True, slots=True)
class GoldVersion:
    """A gold set as it is kept, without its pairs."""

    id: int
    name: str
    sha256: str
    pairs: int
    at: datetime

    @property
    def is_own(self) -> bool:
        return not self.name


@dataclass(frozen=True, slots=True)
class Entry:
    """A system of a board: who added it, and when."""

    id: int
    name: str
    origin: str
    by: str | None
    """None for the command line."""
    at: datetime
    remark: str = ""
    """What the reader should know of its scores, a sentence."""


def keep_gold(session: Session, project_id: int, gold: Gold, now: datetime) -> int:
    """The id of this very gold set, which is written down if it is not there yet.

    One that came from files and turns out to be the project's is the project's from then on.
    """
    found = session.scalar(
        select(GoldSet).where(GoldSet.project_id == project_id, GoldSet.sha256 == gold.sha256)
    )
    if found is not None:
        found.name = gold.name and found.name
        return found.id
    row = GoldSet(
        project_id=project_id,
        name=gold.name[:200],
        sha256=gold.sha256,
        pairs=len(gold.pairs),
        created_at=now,
    )
    session.add(row)
    session.flush()
    grades = [
        {
            "gold_set_id": row.id,
            "place": place,
            "type": pair.type,
            "external_id": pair.id,
            "left": pair.left,
            "right": pair.right,
            "genre": pair.genre,
            "gold": pair.gold,
        }
        for place, pair in enumerate(gold.pairs)
    ]
    insert_rows(session, GoldGrade, grades)
    return row.id


def keep_scores(session: Session, system: ScoredSystem, gold: Gold, scores: Sequence[float | None]) -> None:
    """Write the scores of the pairs of `gold`, which may be kept in another order than it has here."""
    rows = session.execute(
        select(GoldGrade.type, GoldGrade.external_id, GoldGrade.place).where(
            GoldGrade.gold_set_id == system.gold_set_id
        )
    )
    places = {(type, id): place for type, id, place in rows}
    found = [
        {"system_id": system.id, "place": places[pair.key], "score": score}
        for pair, score in zip(gold.pairs, scores, strict=True)
        if score is not None
    ]
    insert_rows(session, SystemScore, found)


def find_gold_set(session: Session, project_id: int, gold_id: int) -> GoldSet:
    """
    Raises:
        NotFoundError: the project has no such gold set.
    """
    statement = select(GoldSet).where(GoldSet.id == gold_id, GoldSet.project_id == project_id)
    row = session.scalar(statement) if is_id(gold_id) else None
    if row is None:
        raise NotFoundError("There is no such gold set any more: look at the leaderboard again.")
    return row


def find_system(session: Session, project_id: int, system_id: int) -> ScoredSystem:
    """
    Raises:
        NotFoundError: the project has no such system.
    """
    statement = (
        select(ScoredSystem)
        .join(GoldSet, GoldSet.id == ScoredSystem.gold_set_id)
        .where(ScoredSystem.id == system_id, GoldSet.project_id == project_id)
    )
    row = session.scalar(statement) if is_id(system_id) else None
    if row is None:
        raise NotFoundError("There is no such system any more: look at the leaderboard again.")
    return row


def as_version(row: GoldSet) -> GoldVersion:
    return GoldVersion(row.id, row.name, row.sha256, row.pairs, row.created_at)


def read_pairs(session: Session, gold_id: int) -> tuple[GoldPair, ...]:
    """The pairs of a gold set in their order."""
    rows = session.execute(
        select(
            GoldGrade.type,
            GoldGrade.external_id,
            GoldGrade.left,
            GoldGrade.right,
            GoldGrade.gold,
            GoldGrade.genre,
        )
        .where(GoldGrade.gold_set_id == gold_id)
        .order_by(GoldGrade.place)
    )
    return tuple(GoldPair(*row, place="the gold set") for row in rows)


def read_keys(session: Session, project_id: int) -> frozenset[Key]:
    """Type and id of all pairs of the project that count."""
    rows = session.execute(select(Pair.type, Pair.external_id).where(Pair.project_id == project_id, IN_USE))
    return frozenset((type, id) for type, id in rows)


def read_entries(session: Session, gold_id: int) -> tuple[Entry, ...]:
    """The systems on a gold set, the first that was added first."""
    rows = session.execute(
        select(
            ScoredSystem.id,
            ScoredSystem.name,
            ScoredSystem.origin,
            User.name,
            ScoredSystem.created_at,
            ScoredSystem.remark,
        )
        .outerjoin(User, User.id == ScoredSystem.user_id)
        .where(ScoredSystem.gold_set_id == gold_id)
        .order_by(ScoredSystem.id)
    )
    return tuple(Entry(*row) for row in rows)


def read_systems(session: Session, entries: Sequence[Entry], pairs: int) -> list[System]:
    """The systems with a score, or None, for each of the pairs."""
    scores: dict[int, list[float | None]] = {entry.id: [None] * pairs for entry in entries}
    rows = session.execute(
        select(SystemScore.system_id, SystemScore.place, SystemScore.score).where(
            SystemScore.system_id.in_(scores)
        )
    )
    for system_id, place, score in rows:
        scores[system_id][place] = score
    return [System(entry.name, tuple(scores[entry.id]), entry.remark) for entry in entries]
