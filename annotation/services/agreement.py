"""The agreement of a project, read at one moment and kept for as long as nothing in it changes."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import false, func, select
from sqlalchemy.orm import Session

from annotation.reliability.bootstrap import DEFAULT_RESAMPLES, DEFAULT_SEED
from annotation.reliability.planning import Plan, check_width, plan_pairs
from annotation.reliability.report import AgreementReport, build_report
from annotation.services.agreement_rows import count_held_back, read_grades, read_widest
from annotation.services.audit import GRADES_CHANGED, PAIRS_CHANGED
from annotation.services.in_use import count_withdrawn
from annotation.services.keys import KeyService
from annotation.services.numbering import NumberService
from annotation.services.projects import find_project
from annotation.services.raters import names_of
from annotation.services.rating.held_back import held_back_from
from annotation.services.set_aside_rows import read_set_aside
from db import Database
from db.models import AdjudicationChange, AuditEvent, Pair, Project, RatingChange

KEPT_REPORTS = 8
SHARE_OF_TIME = 0.05

Question = tuple[int, ...]
"""Project, resamples, seed."""


@dataclass
class _Kept:
    """The last report of one question, and the state of the data that it was made from."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    version: str | None = None
    report: AgreementReport | None = None
    raters: tuple[int, ...] = ()
    """The accounts of its raters: their names may change meanwhile."""
    made_at: float = 0.0
    seconds: float = 0.0
    """How long making it took."""


class AgreementService:
    """Reports on agreement. Who may see one is for the caller to `require`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._keys = KeyService(database)
        self._numbers = NumberService(database)
        self._kept: OrderedDict[Question, _Kept] = OrderedDict()
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
        kept, key = self._place(project_id, resamples, seed), self._keys.raters(project_id)
        # Whoever opens the page while the report is being made for somebody else waits for that one.
        with kept.lock, self._database.reading() as session:
            project = find_project(session, project_id)
            version = project_version(session, project)
            if kept.report is None or kept.version != version:
                started = time.monotonic()
                read = read_grades(session, project, key)
                report = build_report(read.data, resamples=resamples, seed=seed)
                kept.report = replace(
                    report,
                    project=project.name,
                    widest=read_widest(session, project, false()),
                    withdrawn=count_withdrawn(session, project.id),
                )
                kept.raters, kept.version = read.rater_ids, version
                kept.made_at = time.monotonic()
                kept.seconds = kept.made_at - started
            report, raters = kept.report, kept.raters
            held_back = held_back_from(session, project, viewer)
            if count := count_held_back(session, project, held_back):
                report = replace(report, widest=read_widest(session, project, held_back), held_back=count)
            aside = read_set_aside(session, project.id)
            told = [*raters, *(line.rater_id for line in aside)]
            names, unnumbered = names_of(session, told), 0
        if not named:  # without the lock: to number raters may take waiting for a write
            names, unnumbered = self._numbers.names(project_id, told)
        return replace(
            report,
            rater_names=tuple(names[rater] for rater in raters),
            set_aside=tuple(line.told(names[line.rater_id]) for line in aside),
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
        kept = self._place(project_id, DEFAULT_RESAMPLES, DEFAULT_SEED)
        return time.monotonic() - kept.made_at >= kept.seconds / SHARE_OF_TIME

    def _place(self, *question: int) -> _Kept:
        with self._lock:
            kept = self._kept.setdefault(question, _Kept())
            self._kept.move_to_end(question)
            while len(self._kept) > KEPT_REPORTS:
                self._kept.popitem(last=False)
            return kept


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
        count(AuditEvent, AuditEvent.action.in_(PAIRS_CHANGED + GRADES_CHANGED)),
    )
    return repr(version)
