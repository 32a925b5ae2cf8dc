"""The leaderboard: systems and the gold of that day as kept, their figures, and the board as files."""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from sqlalchemy import ColumnElement, delete, func, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from annotation.comparison import types_in_order
from annotation.errors import NotFoundError, ScoreFileError, SettingsError
from annotation.files.scores import GoldDigest, GoldPair, Key, gold_digest
from annotation.scale import Scale
from annotation.scoring import Estimate
from annotation.services.agreement import project_version
from annotation.services.audit import record
from annotation.services.gold import count_graded, pairs_with_grades, standing_in
from annotation.services.project_rows import IN_USE, as_project, find_project, scale_of
from annotation.services.transactions import by_code_point, insert_rows
from annotation.services.users import id_of
from annotation.system_report import (
    Correlations,
    ScoreReport,
    System,
    SystemReport,
    score_systems,
    scores_to_json,
    scores_to_latex,
)
from annotation.systems import Similarities
from annotation.translation import Sentence, _, mark
from annotation.types import Clock, User, utcnow
from annotation.wording import check_name, is_id, name_key
from db import Database
from db.models import GoldGrade, GoldSet, Pair, Project, ScoredSystem, SystemScore
from db.models import User as UserRow
from kpdemo.io.tables import spreadsheet_csv
from kpdemo.text import number_of


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
class OwnGold:
    """What tells the project's gold from an earlier one."""

    sha256: str
    pairs: int
    """That have a grade."""


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
        raise NotFoundError(_("There is no such gold set any more: look at the leaderboard again."))
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
        raise NotFoundError(_("There is no such system any more: look at the leaderboard again."))
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
    return tuple(GoldPair(*row, place=Sentence(mark("the gold set"))) for row in rows)


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
            UserRow.name,
            ScoredSystem.created_at,
            ScoredSystem.remark,
        )
        .outerjoin(UserRow, UserRow.id == ScoredSystem.user_id)
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


MOST_PAIRS = 50_000
MOST_SYSTEMS = 40
"""On one gold set: each is compared with each other one."""
_LONGEST = {"type": 80, "id": 200, "genre": 200}


def check_training(pairs: int, grouped: Callable[[int], str] = "{:,}".format) -> None:
    """So many pairs may be calibrated on.

    Args:
        grouped: writes a large number.

    Raises:
        ScoreFileError: they are too many.
    """
    if pairs > MOST_PAIRS:
        raise ScoreFileError(
            _(
                "There are {count} training pairs, and the leaderboard takes {most}: use `python -m "
                "annotation score`.",
                count=grouped(pairs),
                most=grouped(MOST_PAIRS),
            )
        )


def check_names(names: Sequence[str], kept: Sequence[str]) -> None:
    """So many more systems have room on a gold set, and names of their own.

    Args:
        names: of the new ones.
        kept: keys of the names that are there.

    Raises:
        SettingsError: a name is taken, or there are too many systems.
    """
    taken = set(kept)
    for name in names:
        if name_key(name) in taken:
            raise SettingsError(
                _(
                    "A system named {name} already exists: give another name, or remove that one.",
                    name=repr(name),
                )
            )
        taken.add(name_key(name))
    if len(kept) >= MOST_SYSTEMS:
        raise SettingsError(
            _(
                "There are {count} systems on this gold set, as many as can be: remove some first.",
                count=len(kept),
            )
        )
    if len(taken) > MOST_SYSTEMS:
        raise SettingsError(
            _(
                "{count} systems would be on this gold set, and {most} can be: add fewer, or remove some "
                "first.",
                count=len(taken),
                most=MOST_SYSTEMS,
            )
        )


def check_gold(gold: Gold) -> None:
    """Systems may be measured on it.

    Raises:
        ScoreFileError: it has no pairs or too many, or texts that cannot be kept.
    """
    if not gold.pairs:
        raise ScoreFileError(
            _(
                "The gold set has no pairs with a grade yet: have some graded and adjudicated, or choose "
                "another one."
            )
        )
    if len(gold.pairs) > MOST_PAIRS:
        raise ScoreFileError(
            _(
                "The gold set has {count} pairs, and the leaderboard takes {most}: use `python -m annotation "
                "score`.",
                count=f"{len(gold.pairs):,}",
                most=f"{MOST_PAIRS:,}",
            )
        )
    for pair in gold.pairs:
        fields = {"type": pair.type, "id": pair.id, "genre": pair.genre or ""}
        for field, value in fields.items():
            if len(value) > _LONGEST[field]:
                most = _LONGEST[field]
                raise ScoreFileError(
                    _(
                        "{place}, field {field}: has {length} characters; shorten it to {most}.",
                        place=pair.place,
                        field=repr(field),
                        length=len(value),
                        most=most,
                    )
                )
        if any("\0" in text for text in (*fields.values(), pair.left, pair.right)):
            raise ScoreFileError(_("{place}: holds the character U+0000; delete it.", place=pair.place))


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
        self._own: dict[int, tuple[str, OwnGold]] = {}
        """By project, with the state of the data that it was read from."""
        self._boards: OrderedDict[tuple[GoldVersion, tuple[Entry, ...]], Board] = OrderedDict()

    def scale(self, project_id: int) -> Scale:
        """The project's.

        Raises:
            NotFoundError: there is no such project.
        """
        with self._database.reading() as session:
            return scale_of(find_project(session, project_id))

    def own_gold(self, project_id: int) -> Gold:
        """The project's pairs that have a gold grade now, in the order of import.

        Raises:
            NotFoundError: there is no such project.
        """
        with self._database.reading() as session:
            return _gold_of(session, find_project(session, project_id))

    def own_version(self, project_id: int) -> OwnGold:
        """Which gold the project has now; read again only when a grade or a pair has changed.

        Raises:
            NotFoundError: there is no such project.
        """
        with self._lock:
            grading = self._grading[project_id]
        with grading, self._database.reading() as session:  # who asks meanwhile waits for what is read here
            project = find_project(session, project_id)
            version = project_version(session, project)
            kept = self._own.get(project_id)
            if kept is not None and kept[0] == version:
                return kept[1]
            own = _version_of(session, project)
            self._own[project_id] = version, own
            return own

    def comparable_version(self, project_id: int) -> OwnGold:
        """The same, without the hash where the gold has more pairs than are kept of any: none can be it, and
        all its pairs would be read.

        Raises:
            NotFoundError: there is no such project.
        """
        with self._database.reading() as session:
            graded = count_graded(session, find_project(session, project_id))
        return OwnGold("", graded) if graded > MOST_PAIRS else self.own_version(project_id)

    def golds(self, project_id: int) -> list[GoldVersion]:
        """The gold sets that systems are measured on: that of the project as it is now, then the last first.

        Raises:
            NotFoundError: there is no such project.
        """
        with self._database.reading() as session:
            find_project(session, project_id)
            golds = select(GoldSet).where(GoldSet.project_id == project_id).order_by(GoldSet.id.desc())
            found = [as_version(row) for row in session.scalars(golds)]
        now = self.comparable_version(project_id).sha256 if found else ""
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
                if (kept := self._cached_board(key)) is not None:
                    return kept
                pairs = read_pairs(session, gold_id)
                systems = read_systems(session, entries, len(pairs))
            board = Board(version, entries, score_systems(pairs, systems))
            with self._lock:
                self._boards[key] = board
                while len(self._boards) > KEPT_BOARDS:
                    self._boards.popitem(last=False)
            return board

    def _cached_board(self, key: tuple[GoldVersion, tuple[Entry, ...]]) -> Board | None:
        with self._lock:
            if key in self._boards:
                self._boards.move_to_end(key)
            return self._boards.get(key)


def _gold_of(session: Session, project: Project) -> Gold:
    graded: list[GoldPair] = []
    ungraded: set[Key] = set()
    for key, pair in _read_gold(session, project, Pair.import_order):
        if pair is None:
            ungraded.add(key)
        else:
            graded.append(pair)
    return Gold("", gold_digest(graded), tuple(graded), frozenset(ungraded))


def _version_of(session: Session, project: Project) -> OwnGold:
    """The same, of which no texts are kept."""
    by_key = (by_code_point(session, column) for column in (Pair.type, Pair.external_id))
    digest, count = GoldDigest(), 0
    for _key, pair in _read_gold(session, project, *by_key):
        if pair is not None:
            digest.add(pair)
            count += 1
    return OwnGold(digest.hexdigest(), count)


def _read_gold(
    session: Session, project: Project, *order: ColumnElement[Any] | InstrumentedAttribute[Any]
) -> Iterator[tuple[Key, GoldPair | None]]:
    """Every pair that counts, by its key; None in place of one without a gold grade."""
    settings = as_project(project).settings
    columns = Pair.type, Pair.external_id, Pair.left, Pair.right, Pair.genre
    golds: dict[tuple[str | None, int | None], float | None] = {}  # of many pairs few differ
    for row in session.execute(pairs_with_grades(project.id, *columns, order=order)):
        graded = row.grades, row.decided
        if graded not in golds:
            gold = standing_in(row, settings.scale).gold(settings)
            golds[graded] = None if gold is None else float(gold)
        key, grade = (row.type, row.external_id), golds[graded]
        yield (
            key,
            None
            if grade is None
            else GoldPair(*key, row.left, row.right, grade, row.genre, Sentence(mark("the project's gold"))),
        )


_FIGURES = ("pearson", "pearson_low", "pearson_high", "spearman", "spearman_low", "spearman_high")
_HEADER = ("system", "rank", "origin", "added", "by", "type", "genre", "pairs", *_FIGURES, "reason")
_Row: TypeAlias = Sequence[str | float | None]
_SHOWN_DIGITS = 12
"""Of the SHA-256 of a gold set."""


def digits_of(gold: GoldVersion) -> str:
    """How its SHA-256 begins, which tells it from others."""
    return gold.sha256[:_SHOWN_DIGITS]


def gold_name(gold: GoldVersion) -> str:
    """What a sentence calls it: "the project's gold (8e3cd24a1f0b)"."""
    name = "the project's gold" if gold.is_own else f"gold from {gold.name}"
    return f"{name} ({digits_of(gold)})"


def gold_text(gold: GoldVersion, own: OwnGold) -> str:
    """Which gold the figures are of, and whether the project's, which is `own` now, has changed since."""
    pairs, digits = number_of(gold.pairs, "pair"), digits_of(gold)
    if gold.sha256 == own.sha256:
        return f"On the project's gold as it is now: {pairs}, version {digits}."
    when = f"of {gold.at:%Y-%m-%d %H:%M} UTC"
    if not gold.is_own:
        return f"On gold from {gold.name}, {when}: {pairs}, version {digits}."
    have = "has" if own.pairs == 1 else "have"
    return (
        f"On the project's gold {when}: {pairs}, version {digits}. The gold has changed since: "
        f"{number_of(own.pairs, 'pair')} {have} a grade now, {gold.pairs:,} then. These figures are of "
        "the older gold; to measure a system on the new one, add it again."
    )


def gold_as_json(gold: GoldVersion) -> dict[str, Any]:
    """What tells a gold set from others; the project's own has no name."""
    return {
        "name": gold.name or None,
        "pairs": gold.pairs,
        "sha256": gold.sha256,
        "at": gold.at.isoformat(),
    }


def coverage_json(system: System, gold: Gold) -> dict[str, Any]:
    """How many scores of the gold pairs it has, and of each type that it leaves out the number of pairs."""
    lacking = [pair.type for pair, score in zip(gold.pairs, system.scores, strict=True) if score is None]
    return {
        "system": check_name(system.name),
        "scores": len(system.scores) - len(lacking),
        "without_score": {type: lacking.count(type) for type in types_in_order(lacking)},
        "left_out": system.left_out,
    }


def board_as_json(board: Board) -> dict[str, Any]:
    """As `python -m annotation score --json`, with what is known of the gold set and of each system."""
    told = scores_to_json(board.report)
    systems = [
        {"origin": entry.origin, "at": entry.at.isoformat(), "by": entry.by, **system}
        for entry, system in zip(board.entries, told["systems"], strict=True)
    ]
    return {"gold": gold_as_json(board.gold), **told, "systems": systems}


def board_as_csv(board: Board) -> str:
    """Of each system its sum, and a row for each type, each genre, and each type within a genre."""
    rows: list[_Row] = [_HEADER]
    ranks = board.report.ranks()["sum_pearson"]
    for system, rank, entry in zip(board.report.systems, ranks, board.entries, strict=True):
        head = (system.name, rank, entry.origin, entry.at.isoformat(), entry.by)
        rows += ((*head, *row) for row in _rows(system))
    return spreadsheet_csv(rows)


def board_as_latex(board: Board, own: OwnGold, *, made_by: str) -> str:
    """The ranking as a table of a paper; a comment says so where the project's gold has changed since.

    Args:
        own: the project's gold now.
        made_by: the command or the page, and the project.
    """
    gold = board.gold
    named = f"gold from {gold.name or 'the project'}, SHA-256 of its pairs {gold.sha256}"
    is_older = gold.is_own and gold.sha256 != own.sha256
    remarks = [gold_text(gold, own)] if is_older else []
    return scores_to_latex(board.report, made_by=f"{made_by}, {named}", remarks=remarks)


def _rows(system: SystemReport) -> Iterator[_Row]:
    sums = (*_cells(system.sum_pearson), *_cells(system.sum_spearman))
    yield ("sum", "", None, *sums, system.sum_pearson.reason)
    for type, part in system.types.items():
        yield _row(type, "", part)
    for genre, whole in system.genres.items():
        yield _row("", genre, whole.all)
        for type, part in whole.by_type.items():
            yield _row(type, genre, part)


def _row(type: str, genre: str, part: Correlations) -> _Row:
    figures = (*_cells(part.pearson), *_cells(part.spearman))
    return (type, genre, part.pairs, *figures, part.pearson.reason or part.pearson.interval_reason)


def _cells(found: Estimate) -> tuple[float | None, float | None, float | None]:
    return found.value, found.low, found.high
