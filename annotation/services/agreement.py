"""The agreement of a project, read at one moment and kept for as long as nothing in it changes."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from operator import itemgetter
from typing import Any

import numpy as np
from pydantic import TypeAdapter, ValidationError
from sqlalchemy import ColumnElement, Row, and_, case, exists, extract, false, func, select
from sqlalchemy.orm import Session

from annotation.agreement import DEFAULT_RESAMPLES, DEFAULT_SEED, Floats, Grades, Integers, Mask
from annotation.errors import AnnotationError
from annotation.reliability.planning import Plan, check_width, plan_pairs
from annotation.reliability.repeats import SelfAgreement, TwoGrades, self_agreement
from annotation.reliability.report import (
    NO_GENRE,
    SHOWN_CHARACTERS,
    WIDEST_PAIRS,
    AgreementReport,
    ProjectGrades,
    WidePair,
    build_report,
)
from annotation.services.audit import GRADES_CHANGED, PAIRS_CHANGED
from annotation.services.excluded_ratings import read_excluded
from annotation.services.numbering import KeyService, NumberService, names_of, numbers_of
from annotation.services.project_rows import (
    CHANGED,
    IN_USE,
    count_withdrawn,
    find_project,
    is_decided,
    of_pair_in_use,
    scale_of,
)
from annotation.services.rater_queue import held_back_from
from annotation.services.repeats import read_two_grades, repeats_version
from annotation.services.transactions import STREAMED_AT_ONCE, count_where
from annotation.types import utcnow
from db import Database
from db.errors import DatabaseError
from db.models import (
    Adjudication,
    AdjudicationChange,
    AuditEvent,
    KeptAgreement,
    Pair,
    Project,
    Rating,
    RatingChange,
)


@dataclass(frozen=True, slots=True)
class ReadGrades:
    """The grades of a project, and the ids that its numbers stand for."""

    data: ProjectGrades
    rater_ids: tuple[int, ...]


def read_grades(session: Session, project: Project, key: bytes) -> ReadGrades:
    """The pairs in the order of their ids, the raters in one that says nothing about them; no texts."""
    in_use = select(Pair.id, Pair.type, Pair.genre, Pair.external_id)
    pairs = sorted(
        session.execute(in_use.where(Pair.project_id == project.id, IN_USE)),
        key=itemgetter(3, 1),  # here, as database systems sort in ways of their own
    )
    ratings = _read_ratings(session, project.id)
    decided = session.execute(
        select(Adjudication.pair_id, Adjudication.quarters, CHANGED).where(
            Adjudication.project_id == project.id, of_pair_in_use(Adjudication.pair_id, project.id)
        )
    ).all()
    raters = np.unique(ratings[:, 1]).astype(np.int64).tolist()
    numbered = numbers_of(session, project.id, key, rated=raters)
    # Raters without a grade that counts keep their numbers, but are not in the report.
    rater_ids = tuple(sorted(raters, key=lambda rater: numbered[rater]))
    return ReadGrades(_numbered_grades(project, rater_ids, pairs, ratings, decided), rater_ids)


def _read_ratings(session: Session, project_id: int) -> Floats:
    """The ratings that count (R, 5): pair, rater, quarters, seconds, and when it was first given on the page,
    in seconds since 1970; nan where there is none."""

    def is_same(one: Any, other: Any) -> ColumnElement[bool]:
        return and_(one.pair_id == other.pair_id, one.rater_id == other.rater_id)

    statement = (
        select(Rating.pair_id, Rating.rater_id, Rating.quarters, Rating.seconds)
        .where(Rating.project_id == project_id)
        .execution_options(yield_per=STREAMED_AT_ONCE)
    )
    if count_withdrawn(session, project_id):  # or each pair would be looked for among none
        statement = statement.where(of_pair_in_use(Rating.pair_id, project_id))
    change, whose = RatingChange, (RatingChange.pair_id, RatingChange.rater_id)
    of_project = change.project_id == project_id
    is_import = change.origin == "import"
    if session.scalar(select(exists().where(of_project, is_import))):
        # Imported ratings were all written at one moment, which tells nothing: of these their first change.
        imported = select(*whose).where(of_project, is_import).group_by(*whose).subquery()
        changed = (
            select(*whose, func.min(change.at).label("at"))
            .join(imported, is_same(imported.c, change))
            .where(of_project, change.origin == "page")
            .group_by(*whose)
            .subquery()
        )
        first_at = case((imported.c.pair_id.is_(None), Rating.created_at), else_=changed.c.at)
        statement = (
            statement.add_columns(extract("epoch", first_at))
            .outerjoin(imported, is_same(imported.c, Rating))
            .outerjoin(changed, is_same(changed.c, Rating))
        )
    else:
        statement = statement.add_columns(extract("epoch", Rating.created_at))
    rows = session.connection().execute(statement)
    parts = [np.array([*map(tuple, part)], np.float64) for part in rows.partitions()]
    return np.concatenate([np.empty((0, 5)), *parts])


def steps_of(project: Project) -> float:
    """How many steps of its scale a point has: 4 of quarters."""
    return float(1 / scale_of(project).step)


def _numbered_grades(
    project: Project,
    raters: Sequence[int],
    pairs: Sequence[tuple[int, str, str | None, str]],
    ratings: Floats,
    decided: Sequence[Row[int, int, bool]],
) -> ProjectGrades:
    """What was read, as columns: pairs, raters, types and genres are numbers from 0.

    Args:
        project: whose types come first.
        raters: their accounts, in the order that numbers them.
        pairs: number, type, genre and id, in the order that numbers them.
        ratings: of `_read_ratings`.
        decided: pair, quarters, and whether a rating came after the decision.
    """
    places = {row[0]: place for place, row in enumerate(pairs)}
    steps = steps_of(project)
    types = tuple(dict.fromkeys([*project.types, *sorted({row[1] for row in pairs})]))
    genres = tuple(sorted({row[2] or NO_GENRE for row in pairs}))
    type_number = {name: number for number, name in enumerate(types)}
    genre_number = {name: number for number, name in enumerate(genres)}
    is_decided, is_changed, decisions = _decisions(places, decided, steps)
    threshold = project.threshold_quarters
    return ProjectGrades(
        types=types,
        genres=genres,
        type_of_pair=np.array([type_number[row[1]] for row in pairs], np.int64),
        genre_of_pair=np.array([genre_number[row[2] or NO_GENRE] for row in pairs], np.int64),
        decided=is_decided,
        changed=is_changed,
        grades=Grades(
            _places_of(ratings[:, 0], list(places)),
            _places_of(ratings[:, 1], raters),
            ratings[:, 2] / steps,
        ),
        seconds=ratings[:, 3],
        moments=ratings[:, 4],
        decisions=decisions,
        raters=len(raters),
        threshold=threshold / steps if threshold else None,
        raters_per_pair=project.raters_per_pair,
        scale=scale_of(project),
    )


def _places_of(ids: Floats, among: Sequence[int]) -> Integers:
    """The place of each id (R,) in a list that has them all once."""
    known = np.array(among, np.int64)
    order = np.argsort(known)
    return np.asarray(order[np.searchsorted(known, ids, sorter=order)])


def _decisions(
    places: Mapping[int, int], decided: Sequence[Row[int, int, bool]], steps: float
) -> tuple[Mask, Mask, Floats]:
    """Which pairs are decided, which were graded since, and the grades that they have from it."""
    is_decided, is_changed = np.zeros((2, len(places)), dtype=np.bool_)
    decisions = np.full(len(places), np.nan)
    for pair_id, quarters, has_changed in decided:
        is_decided[places[pair_id]] = True
        is_changed[places[pair_id]] = has_changed
        decisions[places[pair_id]] = quarters / steps
    return is_decided, is_changed, decisions


def read_widest(session: Session, project: Project, held_back: ColumnElement[bool]) -> tuple[WidePair, ...]:
    """The pairs whose grades are farthest apart, earlier pairs first among equals, with the beginning of
    their texts; none whose grades agree, or that is held back (see `rating.held_back`)."""
    beginning, steps = SHOWN_CHARACTERS + 1, steps_of(project)
    rows = session.execute(
        select(
            Pair.id,
            Pair.external_id,
            Pair.type,
            Pair.genre,
            func.substr(Pair.left, 1, beginning),
            func.substr(Pair.right, 1, beginning),
            Pair.low_quarters,
            Pair.high_quarters,
            Pair.rating_count,
            is_decided(project).label("is_decided"),
        )
        .where(*_differ(project), ~held_back)
        .order_by(Pair.spread_quarters.desc(), Pair.import_order)
        .limit(WIDEST_PAIRS)
    )
    return tuple(
        replace(
            WidePair(*row[:6]),
            low=row.low_quarters / steps,
            high=row.high_quarters / steps,
            ratings=row.rating_count,
            decided=bool(row.is_decided),
        )
        for row in rows
    )


def _twice(twice: Sequence[TwoGrades], raters: Sequence[int], *, resamples: int, seed: int) -> dict[str, Any]:
    """How well raters agree with themselves, all together and each, as the fields of the report."""
    place = {rater: number for number, rater in enumerate(raters)}
    of_rater: dict[int, list[TwoGrades]] = {}
    for each in twice:
        of_rater.setdefault(place[each.rater], []).append(each)

    def figures(those: Sequence[TwoGrades], rater: int | None = None) -> SelfAgreement:
        return self_agreement(those, rater, resamples=resamples, seed=seed)

    return {
        "twice": figures(twice),
        "twice_by_rater": tuple(figures(those, rater) for rater, those in sorted(of_rater.items())),
    }


def count_held_back(session: Session, project: Project, held_back: ColumnElement[bool]) -> int:
    """How many pairs whose grades differ are held back."""
    return count_where(session, *_differ(project), held_back)


def _differ(project: Project) -> tuple[ColumnElement[bool], ...]:
    return (Pair.project_id == project.id, Pair.spread_quarters > 0, IN_USE)


KEPT_REPORTS = 8
SHARE_OF_TIME = 0.05

ReportRequest = tuple[int, ...]
"""Project, resamples, seed."""


@dataclass(frozen=True, slots=True)
class _Made:
    """A report without what depends on who looks, and on how people are called at that moment."""

    report: AgreementReport
    raters: tuple[int, ...]
    """The accounts of its raters."""


@dataclass(frozen=True, slots=True)
class Latest:
    """A report that a page shows."""

    report: AgreementReport
    version: str
    """Of the grades that it is of, see `AgreementService.version`."""
    made_at: datetime | None = None
    """None where it was made for this look."""
    is_old: bool = False
    """Whether grades, decisions or pairs have changed since."""
    is_renewed: bool = False
    """Whether a process is making the next one."""


@dataclass
class _Kept:
    """The last report of one question, and the state of the data that it was made from."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    version: str | None = None
    made: _Made | None = None
    made_at: float = 0.0
    seconds: float = 0.0
    """How long making it took."""


class AgreementService:
    """Reports on agreement. Who may see one is for the caller to `require`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._keys = KeyService(database)
        self._numbers = NumberService(database)
        self._renewals = _Renewals(database)
        self._kept: OrderedDict[ReportRequest, _Kept] = OrderedDict()
        self._lock = threading.Lock()

    def version(self, project_id: int) -> str:
        """A stamp that changes whenever the project's report would; cheap to ask for again and again.

        Raises:
            NotFoundError: there is no such project.
        """
        with self._database.reading() as session:
            return project_version(session, find_project(session, project_id))

    def report(
        self,
        project_id: int,
        *,
        resamples: int = DEFAULT_RESAMPLES,
        seed: int = DEFAULT_SEED,
        named: bool = True,
        viewer: int | None = None,
    ) -> AgreementReport:
        """The agreement of a project as it is now.

        Args:
            project_id: which project.
            resamples: of the bootstrap.
            seed: of the bootstrap; the same ratings and seed give the same intervals.
            named: whether raters have their names; else "Rater" and the number that they have in gold sets.
            viewer: who looks; of pairs that they may still be given as a rater no grades are listed.

        Raises:
            NotFoundError: there is no such project.
        """
        kept, key = self._cache_entry(project_id, resamples, seed), self._keys.raters(project_id)
        # Whoever opens the page while the report is being made for somebody else waits for that one.
        with kept.lock, self._database.reading() as session:
            project = find_project(session, project_id)
            version = project_version(session, project)
            if kept.made is None or kept.version != version:
                started = time.monotonic()
                kept.made, kept.version = _make(session, project, key, resamples, seed), version
                kept.made_at = time.monotonic()
                kept.seconds = kept.made_at - started
            made = kept.made
        return self._for_viewer(project_id, made, named=named, viewer=viewer)

    def latest(
        self, project_id: int, *, named: bool = True, viewer: int | None = None, is_asked: bool = True
    ) -> Latest | None:
        """What a page shows: the report as it is now, or, of a project so large that making it takes longer
        than somebody waits, the last one; a process of its own then makes the next.

        Args:
            project_id, named, viewer: as of `report`.
            is_asked: whether somebody asked for it; else making them takes a 20th of the time at most.

        Returns:
            None where there is no report yet: the first one is being made.

        Raises:
            NotFoundError: there is no such project.
        """
        with self._database.reading() as session:
            project = find_project(session, project_id)
            version = project_version(session, project)
            is_large = _has_many_ratings(session, project_id)
            row = session.get(KeptAgreement, project_id) if is_large else None
        if not is_large:
            return Latest(self.report(project_id, named=named, viewer=viewer), version)
        made = None if row is None else _read_kept(row)
        if row is None or made is None:
            self._renewals.start(project_id)
            return None
        is_old = row.version != version
        is_due = is_old and (is_asked or _may_be_renewed(row))
        is_renewed = is_due and self._renewals.start(project_id)
        shown = self._for_viewer(project_id, made, named=named, viewer=viewer)
        return Latest(shown, row.version, row.made_at, is_old, is_renewed)

    def _for_viewer(
        self, project_id: int, made: _Made, *, named: bool, viewer: int | None
    ) -> AgreementReport:
        """With the names of raters, and without grades that the viewer must not see."""
        with self._database.reading() as session:
            project, report = find_project(session, project_id), made.report
            held_back = held_back_from(session, project, viewer)
            if count := count_held_back(session, project, held_back):
                report = replace(report, widest=read_widest(session, project, held_back), held_back=count)
            aside = read_excluded(session, project.id)
            told = [*made.raters, *(line.rater_id for line in aside)]
            names, unnumbered = names_of(session, told), 0
        if not named:  # without the lock: to number raters may take waiting for a write
            names, unnumbered = self._numbers.names(project_id, told)
        return replace(
            report,
            rater_names=tuple(names[rater] for rater in made.raters),
            set_aside=tuple(line.as_excluded_grades(names[line.rater_id]) for line in aside),
            unnumbered=unnumbered,
        )

    def plan(
        self,
        project_id: int,
        target: float,
        *,
        resamples: int = DEFAULT_RESAMPLES,
        seed: int = DEFAULT_SEED,
    ) -> tuple[Plan, int]:
        """How many more pairs, rated as those so far, an interval of α of this width takes, and how many
        pairs of the project have fewer than two ratings.

        Raises:
            NotFoundError: there is no such project.
            SettingsError: no interval can be so wide.
        """
        check_width(target)
        key = self._keys.raters(project_id)
        with self._database.reading() as session:
            data = read_grades(session, find_project(session, project_id), key).data
        plan = plan_pairs(data.grades, target, resamples=resamples, seed=seed)
        return plan, len(data.decided) - plan.pairs

    def may_renew(self, project_id: int) -> bool:
        """Whether a page that renews itself may ask for a new report: making them takes at most a 20th of
        the time, so that a project of 100,000 pairs can be watched while it is graded."""
        kept = self._cache_entry(project_id, DEFAULT_RESAMPLES, DEFAULT_SEED)
        return time.monotonic() - kept.made_at >= kept.seconds / SHARE_OF_TIME

    def _cache_entry(self, *question: int) -> _Kept:
        with self._lock:
            kept = self._kept.setdefault(question, _Kept())
            self._kept.move_to_end(question)
            while len(self._kept) > KEPT_REPORTS:
                self._kept.popitem(last=False)
            return kept


def _make(session: Session, project: Project, key: bytes, resamples: int, seed: int) -> _Made:
    read = read_grades(session, project, key)
    twice = read_two_grades(session, project.id)
    report = replace(
        build_report(read.data, resamples=resamples, seed=seed),
        project=project.name,
        widest=read_widest(session, project, false()),
        withdrawn=count_withdrawn(session, project.id),
        **_twice(twice, read.rater_ids, resamples=resamples, seed=seed),
    )
    return _Made(report, read.rater_ids)


MANY_RATINGS = 100_000
"""Of a project whose page shows the last report while the next one is made, which takes seconds."""
SECONDS_AFTER_FAILURE = 60
_STORED = TypeAdapter(_Made)


def _has_many_ratings(session: Session, project_id: int) -> bool:
    ratings = select(Rating.id).where(Rating.project_id == project_id)
    return session.scalar(ratings.offset(MANY_RATINGS - 1).limit(1)) is not None


def _read_kept(row: KeptAgreement) -> _Made | None:
    """None where another version of the program made it, which knew other figures."""
    try:
        return _STORED.validate_json(row.content)
    except ValidationError:
        return None


def _may_be_renewed(row: KeptAgreement) -> bool:
    return (utcnow() - row.made_at).total_seconds() >= row.seconds / SHARE_OF_TIME


class _Renewals:
    """Processes that make reports, one at a time of each project; their memory goes with them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._running: dict[int, tuple[subprocess.Popen[bytes], float]] = {}

    def start(self, project_id: int) -> bool:
        """Unless one is running, or has just failed; whether one runs now."""
        with self._lock:
            process, begun = self._running.get(project_id, (None, 0.0))
            if process is not None:
                if process.poll() is None:
                    return True
                if process.returncode and time.monotonic() - begun < SECONDS_AFTER_FAILURE:
                    return False
            process = subprocess.Popen([sys.executable, "-c", _PROGRAM, *sys.path], stdin=subprocess.PIPE)
            threading.Thread(target=process.wait, daemon=True).start()  # leaves no zombie
            self._running[project_id] = process, time.monotonic()
            assert process.stdin is not None
            url = self._database.url.render_as_string(hide_password=False)  # not for the list of processes
            with process.stdin as pipe:
                pipe.write(json.dumps([url, project_id]).encode())
            return True


# It finds modules where this program does, and not in the folder that it happens to be in.
_PROGRAM = """import json, sys
sys.path[:] = sys.argv[1:]
from annotation.services.agreement import keep_report
keep_report(*json.load(sys.stdin))"""


def keep_report(url: str, project_id: int) -> None:
    """Make the report of a project and keep it for `AgreementService.latest`.

    Raises:
        SystemExit: with a sentence; the project was deleted, or the database cannot be used.
    """
    database, started = Database(url), time.monotonic()
    try:
        key = KeyService(database).raters(project_id)
        with database.reading() as session:
            project = find_project(session, project_id)
            version = project_version(session, project)
            made = _make(session, project, key, DEFAULT_RESAMPLES, DEFAULT_SEED)
        kept = KeptAgreement(
            project_id=project_id,
            version=version,
            content=_STORED.dump_json(made).decode(),
            seconds=time.monotonic() - started,
            made_at=utcnow(),
        )
        with database.session() as session:
            find_project(session, project_id, lock=True)
            session.merge(kept)
    except (AnnotationError, DatabaseError) as error:
        raise SystemExit(str(error)) from None
    finally:
        database.dispose()


def project_version(session: Session, project: Project) -> str:
    """A stamp that changes whenever the project's report, or its gold, would.

    Every change of a rating, a decision or the pairs adds a row to a history that never shrinks, so counting
    is enough. The largest id would not do: on PostgreSQL a smaller one may be committed later.
    """

    def count(table: type[RatingChange | AdjudicationChange | AuditEvent], *where: Any) -> int | None:
        counted = select(func.count()).select_from(table).where(table.project_id == project.id, *where)
        return session.scalar(counted)

    version = (
        project.created_at.isoformat(),
        project.name,
        tuple(project.types),
        project.threshold_quarters,
        project.raters_per_pair,
        session.scalar(select(func.max(Pair.import_order)).where(Pair.project_id == project.id)),
        count(RatingChange),
        count(AdjudicationChange),
        repeats_version(session, project.id),
        count(AuditEvent, AuditEvent.action.in_(PAIRS_CHANGED + GRADES_CHANGED)),
    )
    return repr(version)
