"""The report on writing, counted from the rows of a project."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from statistics import median

from sqlalchemy import exists, func, select
from sqlalchemy.orm import Session

from annotation.gold import standing_of
from annotation.services.bulk import count_where
from annotation.services.gold_rows import stream_pairs
from annotation.services.projects import as_project, find_project
from annotation.services.raters import names_of
from annotation.services.writing.rows import balance_of
from annotation.types import Project
from annotation.writing_report import JudgedPair, WriterCounts, WritingReport, writing_report
from db import Database
from db.models import LargerItem, Writing, WritingChange


class WritingReportService:
    """Who is allowed to see it is for the caller to `require`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def report(self, project_id: int) -> WritingReport:
        """Everything there is to know of the writing in a project.

        Raises:
            NotFoundError: there is no such project.
        """
        with self._database.reading() as session:
            project = as_project(find_project(session, project_id))
            writers = _writers_of_pairs(session, project_id)
            names = names_of(session, sorted(_writers(session, project_id)))
            return writing_report(
                project.name,
                project.settings.types,
                list(_judged(session, project, writers, names)),
                balance_of(session, project_id, project.settings.types),
                _counts(session, project_id, names),
                reserved=_reserved(session, project_id),
                waiting=_waiting(session, project_id),
                not_understood=_not_understood(session, project_id),
            )


def _judged(
    session: Session, project: Project, writers: dict[int, int], names: dict[int, str]
) -> Iterator[JudgedPair]:
    for pair in stream_pairs(session, project.id):
        standing = standing_of([grade for _, grade in pair.ratings], pair.adjudicated)
        obtained = standing.gold(project.settings)
        writer = writers.get(pair.id)
        yield JudgedPair(pair.type, pair.intended, obtained, None if writer is None else names[writer])


def _writers(session: Session, project_id: int) -> set[int]:
    return set(session.scalars(select(Writing.writer_id).where(Writing.project_id == project_id).distinct()))


def _writers_of_pairs(session: Session, project_id: int) -> dict[int, int]:
    rows = session.execute(
        select(LargerItem.pair_id, Writing.writer_id)
        .join(Writing, Writing.item_id == LargerItem.id)
        .where(
            LargerItem.project_id == project_id,
            LargerItem.pair_id.is_not(None),
            Writing.state == "accepted",
        )
    )
    return {pair_id: writer_id for pair_id, writer_id in rows if pair_id is not None}


def _counts(session: Session, project_id: int, names: dict[int, str]) -> list[WriterCounts]:
    states: Counter[tuple[int, str]] = Counter()
    seconds: defaultdict[int, list[float]] = defaultdict(list)
    rows = session.execute(
        select(Writing.writer_id, Writing.state, Writing.seconds).where(Writing.project_id == project_id)
    )
    for writer, state, spent in rows:
        states[writer, state] += 1
        if spent is not None and state in ("submitted", "accepted"):
            seconds[writer].append(spent)
    backs = (
        select(WritingChange.writer_id, func.count())
        .where(WritingChange.project_id == project_id, WritingChange.action == "sent_back")
        .group_by(WritingChange.writer_id)
    )
    sent_back = dict(session.execute(backs).all())
    return [
        WriterCounts(
            writer=name,
            submitted=states[writer, "submitted"],
            accepted=states[writer, "accepted"],
            sent_back=sent_back.get(writer, 0),
            blank=states[writer, "blank"],
            handed_on=states[writer, "handed_on"],
            seconds=median(seconds[writer]) if writer in seconds else None,
        )
        for writer, name in sorted(names.items(), key=lambda each: each[1].casefold())
    ]


def _waiting(session: Session, project_id: int) -> int:
    return count_where(session, Writing.project_id == project_id, Writing.state == "submitted")


def _reserved(session: Session, project_id: int) -> int:
    unpaired = LargerItem.grade == 0, LargerItem.pair_id.is_(None)
    return count_where(session, LargerItem.project_id == project_id, *unpaired)


def _not_understood(session: Session, project_id: int) -> int:
    left_blank = exists().where(Writing.item_id == LargerItem.id, Writing.state == "blank")
    is_open = LargerItem.grade.is_(None), LargerItem.withdrawn_at.is_(None)
    return count_where(session, LargerItem.project_id == project_id, *is_open, left_blank)
