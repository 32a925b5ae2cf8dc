"""Every single rating of a project, also of pairs without a gold grade, as a file in long form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from hashlib import file_digest
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from sqlalchemy import case, func, select
from sqlalchemy.orm import Session

from annotation.clock import Clock, utcnow
from annotation.files.rating_files import RatingFormat, SingleRating, rating_lines
from annotation.gold import RaterColumns, anonymous_label, label_key
from annotation.services.audit import record
from annotation.services.bulk import STREAMED_AT_ONCE, count_where
from annotation.services.in_use import IN_USE, of_pair_in_use
from annotation.services.numbering import NumberService, keep_exported
from annotation.services.projects import find_project
from annotation.services.raters import names_of, rater_ids
from annotation.types import from_quarters
from db import Database
from db.models import Pair, Rating, RatingChange


class RatingExportService:
    def __init__(self, database: Database, *, clock: Clock = utcnow) -> None:
        self._database = database
        self._clock = clock
        self._numbers = NumberService(database, clock)

    def export(
        self,
        project_id: int,
        file: Path,
        format: RatingFormat,
        *,
        named: bool,
        publish: Callable[[], None] | None = None,
    ) -> int:
        """Write the ratings of the pairs that count to a new file, and keep the numbers that it gave raters.

        Args:
            project_id: which project.
            file: it is made, or emptied.
            format: of the file.
            named: whether raters have their names; else "rater 1" and so on, as in gold sets.
            publish: puts the file in its place; where that fails, nothing was exported.

        Returns:
            How many ratings it has.

        Raises:
            NotFoundError: there is no such project.
            ExportError: the format cannot hold the id of a pair.
        """
        with self._database.reading() as session:
            project = find_project(session, project_id)
            raters = rater_ids(session, project.id)
            if named:
                labels = names_of(session, raters)
            else:
                numbers = self._numbers.give(project.id, raters)
                labels = {rater: anonymous_label(numbers[rater]) for rater in raters}
            counts = of_pair_in_use(Rating.pair_id, project.id)
            written = count_where(session, Rating.project_id == project.id, counts)
            with file.open("w", encoding="utf-8", newline="") as stream:
                stream.writelines(rating_lines(_ratings(session, project.id, labels), format))
        self._keep(project_id, file, None if named else raters, written, publish)
        return written

    def _keep(
        self,
        project_id: int,
        file: Path,
        numbered: Sequence[int] | None,
        written: int,
        publish: Callable[[], None] | None,
    ) -> None:
        """Publish and write down that it was done, with numbers for these raters or, of None, with names."""
        raters = (RaterColumns.NAMED if numbered is None else RaterColumns.ANONYMOUS).value
        with file.open("rb") as stream:
            digest = file_digest(stream, "sha256").hexdigest()
        with self._database.session() as session:
            project = find_project(session, project_id, lock=True)  # it stays until this is written down
            if numbered is not None:
                keep_exported(session, project.id, numbered)
            record(
                session,
                self._clock(),
                "ratings exported",
                project_id=project.id,
                raters=raters,
                ratings=written,
                sha256=digest,
            )
            session.flush()
            if publish is not None:
                publish()


def _ratings(session: Session, project_id: int, labels: dict[int, str]) -> Iterator[SingleRating]:
    """In the order of import, those of a pair by what stands for their raters."""
    given = (
        select(
            RatingChange.pair_id,
            RatingChange.rater_id,
            func.count().label("times"),
            func.max(case((RatingChange.origin == "page", RatingChange.at))).label("at"),
        )
        .where(RatingChange.project_id == project_id)
        .group_by(RatingChange.pair_id, RatingChange.rater_id)
        .subquery()
    )
    rows: Any = session.execute(
        select(
            Pair.import_order,
            Pair.external_id,
            Pair.type,
            Rating.rater_id,
            Rating.quarters,
            Rating.seconds,
            given.c.at,
            func.coalesce(given.c.times, 1).label("times"),
        )
        .join(Pair, Pair.id == Rating.pair_id)
        .outerjoin(given, (given.c.pair_id == Rating.pair_id) & (given.c.rater_id == Rating.rater_id))
        .where(Rating.project_id == project_id, IN_USE)
        .order_by(Pair.import_order)
        .execution_options(yield_per=STREAMED_AT_ONCE)
    )
    for _, of_pair in groupby(rows, key=attrgetter("import_order")):
        for row in sorted(of_pair, key=lambda row: label_key(labels[row.rater_id])):
            yield SingleRating(
                row.external_id,
                row.type,
                labels[row.rater_id],
                from_quarters(row.quarters),
                row.seconds,
                row.at,
                row.times - 1,
            )
