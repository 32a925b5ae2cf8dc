"""Systems that are measured on gold sets: their scores, kept with the gold of that day, and their figures."""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from annotation.clock import Clock, utcnow
from annotation.files.gold_pairs import GoldPair, Key, gold_digest
from annotation.names import check_name, name_key
from annotation.services.access.users import id_of
from annotation.services.agreement import project_version
from annotation.services.audit import record
from annotation.services.gold_sums import pairs_with_sums, standing_in
from annotation.services.projects import as_project, find_project
from annotation.services.system_limits import check_gold, check_names
from annotation.services.system_rows import (
    Entry,
    Gold,
    GoldVersion,
    as_version,
    find_gold_set,
    find_system,
    keep_gold,
    keep_scores,
    read_entries,
    read_keys,
    read_pairs,
    read_systems,
)
from annotation.systems.baselines import Similarities
from annotation.systems.report import ScoreReport, System, score_systems
from annotation.types import User
from db import Database
from db.models import GoldSet, Pair, Project, ScoredSystem

UPLOADED = "scores"
"""The origin of a system that is known by its scores."""
KEPT_BOARDS = 4


@dataclass(frozen=True, slots=True)
class Board:
    """Systems on one gold set."""

    gold: GoldVersion
    entries: tuple[Entry, ...]
    """In the order of the systems of the report."""
    report: ScoreReport


class SystemService:
    """Who may see or change anything is for the caller to `require`."""

    def __init__(
        self, database: Database, *, similarities: Similarities | None = None, clock: Clock = utcnow
    ) -> None:
        """
        Args:
            similarities: what the system `embedding` asks; without it there is none.
        """
        self.similarities = similarities
        self._database = database
        self._clock = clock
        self._lock = threading.Lock()
        """Guards the other locks and `_boards`, for a moment; a board or a gold is computed under its own."""
        self._counting: defaultdict[int, threading.Lock] = defaultdict(threading.Lock)
        self._grading: defaultdict[int, threading.Lock] = defaultdict(threading.Lock)
        self._own: tuple[int, str, Gold] | None = None
        self._boards: OrderedDict[tuple[GoldVersion, tuple[Entry, ...]], Board] = OrderedDict()

    def own_gold(self, project_id: int) -> Gold:
        """The project's pairs that have a gold grade now, in the order of import.

        Raises:
            NotFoundError: there is no such project.
        """
        with self._lock:
            grading = self._grading[project_id]
        with grading, self._database.reading() as session:  # who asks meanwhile waits for what is read here
            project = find_project(session, project_id)
            version = project_version(session, project)
            kept = self._own
            if kept is not None and kept[:2] == (project_id, version):
                return kept[2]
            gold = _gold_of(session, project)
            self._own = (project_id, version, gold)
            return gold

    def golds(self, project_id: int) -> list[GoldVersion]:
        """The gold sets that systems are measured on: that of the project as it is now, then the last first.

        Raises:
            NotFoundError: there is no such project.
        """
        now = self.own_gold(project_id).sha256
        with self._database.reading() as session:
            golds = select(GoldSet).where(GoldSet.project_id == project_id).order_by(GoldSet.id.desc())
            found = [as_version(row) for row in session.scalars(golds)]
        return sorted(found, key=lambda gold: gold.sha256 != now)

    def gold(self, project_id: int, gold_id: int) -> Gold:
        """A gold set with its pairs.

        Raises:
            NotFoundError: the project has no such gold set.
        """
        with self._database.reading() as session:
            row = find_gold_set(session, project_id, gold_id)
            pairs = read_pairs(session, gold_id)
            known = frozenset() if row.name else read_keys(session, project_id)
            return Gold(row.name, row.sha256, pairs, known - {pair.key for pair in pairs})

    def add(
        self, project_id: int, gold: Gold, system: System, *, origin: str = UPLOADED, by: User | None = None
    ) -> int:
        """As `add_all` of a single system."""
        return self.add_all(project_id, gold, [(system, origin)], by=by)

    def add_all(
        self, project_id: int, gold: Gold, systems: Sequence[tuple[System, str]], *, by: User | None = None
    ) -> int:
        """Keep systems with their scores, and the gold set if it is new; the id of the gold set.

        All of them or none.

        Args:
            systems: each with its origin.

        Raises:
            SettingsError: a name cannot be used or is taken, or there are too many systems.
            ScoreFileError: the gold set has no pairs or too many, or texts that cannot be kept.
        """
        names = [check_name(system.name) for system, _ in systems]
        check_gold(gold)
        now = self._clock()
        with self._database.session() as session:
            find_project(session, project_id, lock=True)
            gold_id = keep_gold(session, project_id, gold, now)
            kept = session.scalars(
                select(ScoredSystem.name_key).where(ScoredSystem.gold_set_id == gold_id)
            ).all()
            check_names(names, kept)
            for name, (system, origin) in zip(names, systems, strict=True):
                row = ScoredSystem(
                    gold_set_id=gold_id,
                    name=name,
                    name_key=name_key(name),
                    origin=origin,
                    remark=system.remark,
                    user_id=id_of(by),
                    created_at=now,
                )
                session.add(row)
                session.flush()
                keep_scores(session, row, gold, system.scores)
                record(
                    session,
                    now,
                    "system added",
                    user_id=id_of(by),
                    project_id=project_id,
                    name=name,
                    origin=origin,
                    gold_sha256=gold.sha256,
                )
        return gold_id

    def remove(self, project_id: int, system_id: int, *, by: User | None = None) -> None:
        """Forget a system, and its gold set if it was the last one on it.

        Raises:
            NotFoundError: the project has no such system.
        """
        with self._database.session() as session:
            find_project(session, project_id, lock=True)
            row = find_system(session, project_id, system_id)
            name, gold_id = row.name, row.gold_set_id
            sha256 = find_gold_set(session, project_id, gold_id).sha256
            session.execute(delete(ScoredSystem).where(ScoredSystem.id == system_id))
            left = session.scalar(
                select(func.count()).select_from(ScoredSystem).where(ScoredSystem.gold_set_id == gold_id)
            )
            if not left:
                session.execute(delete(GoldSet).where(GoldSet.id == gold_id))
            record(
                session,
                self._clock(),
                "system removed",
                user_id=id_of(by),
                project_id=project_id,
                name=name,
                gold_sha256=sha256,
            )

    def entries(self, project_id: int, gold_id: int) -> tuple[Entry, ...]:
        """The systems on a gold set, the first that was added first.

        Raises:
            NotFoundError: the project has no such gold set.
        """
        with self._database.reading() as session:
            return read_entries(session, find_gold_set(session, project_id, gold_id).id)

    def board(self, project_id: int, gold_id: int) -> Board:
        """The systems on a gold set with their figures; counted once and kept for as long as nothing changes.

        Raises:
            NotFoundError: the project has no such gold set.
        """
        with self._lock:
            counting = self._counting[project_id]
        with counting:  # who asks while a board of the project is counted waits for that one
            with self._database.reading() as session:
                version = as_version(find_gold_set(session, project_id, gold_id))
                entries = read_entries(session, gold_id)
                key = (version, entries)  # not their ids alone: SQLite gives those of removed rows anew
                if (kept := self._kept(key)) is not None:
                    return kept
                pairs = read_pairs(session, gold_id)
                systems = read_systems(session, entries, len(pairs))
            board = Board(version, entries, score_systems(pairs, systems))
            with self._lock:
                self._boards[key] = board
                while len(self._boards) > KEPT_BOARDS:
                    self._boards.popitem(last=False)
            return board

    def _kept(self, key: tuple[GoldVersion, tuple[Entry, ...]]) -> Board | None:
        with self._lock:
            if key in self._boards:
                self._boards.move_to_end(key)
            return self._boards.get(key)


def _gold_of(session: Session, project: Project) -> Gold:
    settings = as_project(project).settings
    graded: list[GoldPair] = []
    ungraded: set[Key] = set()
    columns = Pair.type, Pair.external_id, Pair.left, Pair.right, Pair.genre
    for row in session.execute(pairs_with_sums(project.id, *columns)):
        grade = standing_in(row).gold(settings)
        if grade is None:
            ungraded.add((row.type, row.external_id))
        else:
            texts = (row.type, row.external_id, row.left, row.right)
            graded.append(GoldPair(*texts, float(grade), row.genre, "the project's gold"))
    return Gold("", gold_digest(graded), tuple(graded), frozenset(ungraded))
