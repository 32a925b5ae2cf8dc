"""The agreement of a project, read at one moment and kept for as long as nothing in it changes."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import numpy as np
from sqlalchemy import Row, func, select
from sqlalchemy.orm import Session

from annotation.agreement import Grades, Integers
from annotation.agreement_report import (
    NO_GENRE,
    SHOWN_CHARACTERS,
    AgreementReport,
    ProjectGrades,
    WidePair,
    build_report,
    widest,
)
from annotation.bootstrap import DEFAULT_RESAMPLES, DEFAULT_SEED
from annotation.planning import Plan, check_width, plan_pairs
from annotation.services.adjudication_queue import CHANGED
from annotation.services.audit import PAIRS_CHANGED
from annotation.services.in_use import IN_USE, count_withdrawn, of_pair_in_use
from annotation.services.keys import KeyService
from annotation.services.numbering import numbers_of
from annotation.services.projects import find_project
from annotation.types import QUARTERS_PER_POINT
from db import Database
from db.models import (
    Adjudication,
    AdjudicationChange,
    AuditEvent,
    Pair,
    Project,
    Rating,
    RatingChange,
    User,
)

KEPT_REPORTS = 8
SHARE_OF_TIME = 0.05

Version = tuple[object, ...]
Question = tuple[int, ...]
"""Project, resamples, seed."""


@dataclass
class _Kept:
    """The last report of one question, and the state of the data that it was made from."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    version: Version | None = None
    report: AgreementReport | None = None
    raters: tuple[int, ...] = ()
    """The accounts of its raters: their names may change meanwhile."""
    made_at: float = 0.0
    seconds: float = 0.0
    """How long making it took."""


@dataclass(frozen=True, slots=True)
class _Read:
    """The grades of a project, and the ids that its numbers stand for."""

    data: ProjectGrades
    pair_ids: Integers
    rater_ids: tuple[int, ...]
    rater_labels: tuple[str, ...]
    """What raters are called by their numbers in gold sets, of which some may be nobody's."""


class AgreementService:
    """Reports on agreement. Who may see one is for the caller to `require`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._keys = KeyService(database)
        self._kept: OrderedDict[Question, _Kept] = OrderedDict()
        self._lock = threading.Lock()

    def version(self, project_id: int) -> str:
        """What changes whenever the project's report would: cheap to ask for again and again.

        Raises:
            NotFoundError: there is no such project.
        """
        with self._database.reading() as session:
            return repr(_version(session, find_project(session, project_id)))

    def report(
        self,
        project_id: int,
        *,
        resamples: int = DEFAULT_RESAMPLES,
        seed: int = DEFAULT_SEED,
        named: bool = True,
    ) -> AgreementReport:
        """The agreement of a project as it is now.

        Args:
            project_id: which project.
            resamples: of the bootstrap.
            seed: of the bootstrap; the same ratings and seed give the same intervals.
            named: whether raters have their names; else "Rater" and the number that they have in gold sets.

        Raises:
            NotFoundError: there is no such project.
        """
        kept, key = self._place(project_id, resamples, seed), self._keys.raters(project_id)
        # Who opens the page while somebody else's report is being made waits for that one.
        with kept.lock, self._database.reading() as session:
            project = find_project(session, project_id)
            version = _version(session, project)
            if kept.report is None or kept.version != version:
                started = time.monotonic()
                read = _read_grades(session, project, key)
                report = build_report(read.data, resamples=resamples, seed=seed)
                kept.report = replace(
                    report,
                    project=project.name,
                    rater_names=read.rater_labels,
                    widest=_read_widest(session, read),
                    withdrawn=count_withdrawn(session, project.id),
                )
                kept.raters, kept.version = read.rater_ids, version
                kept.made_at = time.monotonic()
                kept.seconds = kept.made_at - started
            report, raters = kept.report, kept.raters
            if not named or not raters:
                return report
            named_users = select(User.id, User.name).where(User.id.in_(raters))
            names = dict(session.execute(named_users).all())
            return replace(report, rater_names=tuple(names[rater] for rater in raters))

    def plan(
        self,
        project_id: int,
        target: float,
        *,
        resamples: int = DEFAULT_RESAMPLES,
        seed: int = DEFAULT_SEED,
    ) -> tuple[Plan, int]:
        """How many more pairs with two ratings an interval of α of this width takes, and how many pairs of
        the project have fewer than two.

        Raises:
            NotFoundError: there is no such project.
            SettingsError: no interval can be so wide.
        """
        check_width(target)
        key = self._keys.raters(project_id)
        with self._database.reading() as session:
            data = _read_grades(session, find_project(session, project_id), key).data
        plan = plan_pairs(data.grades, target, resamples=resamples, seed=seed)
        return plan, len(data.decided) - plan.pairs

    def may_renew(
        self, project_id: int, *, resamples: int = DEFAULT_RESAMPLES, seed: int = DEFAULT_SEED
    ) -> bool:
        """Whether a page that renews itself may ask for a new report: making them takes at most a 20th of
        the time, so that a project of 100,000 pairs can be watched while it is graded."""
        kept = self._place(project_id, resamples, seed)
        return time.monotonic() - kept.made_at >= kept.seconds / SHARE_OF_TIME

    def _place(self, *question: int) -> _Kept:
        with self._lock:
            kept = self._kept.setdefault(question, _Kept())
            self._kept.move_to_end(question)
            while len(self._kept) > KEPT_REPORTS:
                self._kept.popitem(last=False)
            return kept


def _version(session: Session, project: Project) -> Version:
    """Every change of a rating, a decision or the pairs adds to what never shrinks, so counting is enough.

    The largest id would not do: on PostgreSQL a smaller one may be committed later.
    """

    def count(table: type[RatingChange | AdjudicationChange | AuditEvent], *where: Any) -> int | None:
        counted = select(func.count()).select_from(table).where(table.project_id == project.id, *where)
        return session.scalar(counted)

    return (
        project.created_at.isoformat(),
        project.name,
        tuple(project.types),
        project.threshold_quarters,
        project.raters_per_pair,
        session.scalar(select(func.max(Pair.import_order)).where(Pair.project_id == project.id)),
        count(RatingChange),
        count(AdjudicationChange),
        count(AuditEvent, AuditEvent.action.in_(PAIRS_CHANGED)),
    )


def _read_grades(session: Session, project: Project, key: bytes) -> _Read:
    """The pairs in the order of import, the raters in an order that tells nothing of them; no texts."""
    pairs = session.execute(
        select(Pair.id, Pair.type, Pair.genre)
        .where(Pair.project_id == project.id, IN_USE)
        .order_by(Pair.import_order)
    ).all()
    ratings = session.execute(
        select(Rating.pair_id, Rating.rater_id, Rating.quarters, Rating.seconds, Rating.created_at).where(
            Rating.project_id == project.id, of_pair_in_use(Rating.pair_id, project.id)
        )
    ).all()
    decided = session.execute(
        select(Adjudication.pair_id, Adjudication.quarters, CHANGED).where(
            Adjudication.project_id == project.id, of_pair_in_use(Adjudication.pair_id, project.id)
        )
    ).all()
    numbered = numbers_of(session, project, key)
    rater_ids = tuple(sorted(numbered, key=lambda rater: numbered[rater]))
    data = _numbered_grades(project, rater_ids, pairs, ratings, decided)
    pair_ids = np.fromiter((row[0] for row in pairs), np.int64, len(pairs))
    return _Read(data, pair_ids, rater_ids, tuple(f"Rater {numbered[rater]}" for rater in rater_ids))


def _numbered_grades(
    project: Project,
    raters: Sequence[int],
    pairs: Sequence[Row[int, str, str | None]],
    ratings: Sequence[Row[int, int, int, float | None, datetime]],
    decided: Sequence[Row[int, int, bool]],
) -> ProjectGrades:
    """What was read, as columns: pairs, raters, types and genres are numbers from 0.

    Args:
        project: whose types come first.
        raters: their accounts, in the order that numbers them.
        pairs: id, type and genre, in the order that numbers them.
        ratings: pair, rater, quarters, seconds and moment.
        decided: pair, quarters, and whether a rating came after the decision.
    """
    places = {row[0]: place for place, row in enumerate(pairs)}
    rater_number = {rater: number for number, rater in enumerate(raters)}
    types = tuple(dict.fromkeys([*project.types, *sorted({row[1] for row in pairs})]))
    genres = tuple(sorted({row[2] or NO_GENRE for row in pairs}))
    type_number = {name: number for number, name in enumerate(types)}
    genre_number = {name: number for number, name in enumerate(genres)}
    is_decided, is_changed = np.zeros((2, len(pairs)), dtype=np.bool_)
    decisions = np.full(len(pairs), np.nan)
    for pair_id, quarters, has_changed in decided:
        is_decided[places[pair_id]] = True
        is_changed[places[pair_id]] = has_changed
        decisions[places[pair_id]] = quarters / QUARTERS_PER_POINT
    return ProjectGrades(
        types=types,
        genres=genres,
        type_of_pair=np.array([type_number[row[1]] for row in pairs], np.int64),
        genre_of_pair=np.array([genre_number[row[2] or NO_GENRE] for row in pairs], np.int64),
        decided=is_decided,
        changed=is_changed,
        grades=Grades(
            np.array([places[row[0]] for row in ratings], np.int64),
            np.array([rater_number[row[1]] for row in ratings], np.int64),
            np.array([row[2] for row in ratings], np.float64) / QUARTERS_PER_POINT,
        ),
        seconds=np.array([np.nan if row[3] is None else row[3] for row in ratings], np.float64),
        # Imported ratings were all written at one moment, which tells nothing.
        moments=np.array([np.nan if row[3] is None else row[4].timestamp() for row in ratings], np.float64),
        decisions=decisions,
        raters=len(raters),
        threshold=project.threshold_quarters / QUARTERS_PER_POINT,
        raters_per_pair=project.raters_per_pair,
    )


def _read_widest(session: Session, read: _Read) -> tuple[WidePair, ...]:
    found = widest(read.data)
    ids = [int(read.pair_ids[number]) for number in found.pairs]
    beginning = SHOWN_CHARACTERS + 1
    rows = session.execute(
        select(
            Pair.id,
            Pair.external_id,
            Pair.type,
            Pair.genre,
            func.substr(Pair.left, 1, beginning),
            func.substr(Pair.right, 1, beginning),
        ).where(Pair.id.in_(ids))
    )
    found_pairs = {
        id: WidePair(id, external_id, type, genre, left, right)
        for id, external_id, type, genre, left, right in rows
    }
    columns = zip(ids, found.pairs, found.lows, found.highs, found.ratings, strict=True)
    return tuple(
        replace(found_pairs[id], low=low, high=high, ratings=count, decided=bool(read.data.decided[number]))
        for id, number, low, high, count in columns
    )
