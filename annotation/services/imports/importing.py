"""Importing pairs and ratings: one transaction, in parts, so that the memory needed stays the same.

A part is looked up in the database first, then inserted in bulk. Nothing of it is seen before the commit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from annotation.clock import Clock, utcnow
from annotation.comparison import foreign_type_text
from annotation.errors import ImportFileError
from annotation.files.wrong_lines import WrongLines
from annotation.services.access.users import id_of
from annotation.services.audit import record, record_account
from annotation.services.imports.pairs import PairImporter
from annotation.services.projects import as_project, find_project
from annotation.types import (
    ImportSummary,
    NewPair,
    NewRating,
    Project,
    ProjectSettings,
    ReadItem,
    User,
)
from db import Database

MOST_ITEMS = 500
MOST_CHARACTERS = 2_000_000
"""What a part holds at most; SQLite also limits the parameters of a statement."""

# The statistics of PostgreSQL miss rows that this transaction inserts: it would read whole tables for each
# part, or compile the statement, which takes longer than running it.
_NOT_NOW = ("enable_seqscan", "enable_hashjoin", "enable_mergejoin", "jit")
_BY_INDEX = select(*(func.set_config(setting, "off", True) for setting in _NOT_NOW))
_COUNT_ROWS = text("ANALYZE (SKIP_LOCKED) pairs (project_id)")  # another import may be counting until its end
_COUNTED_AFTER = 4 * MOST_ITEMS


class ImportService:
    """Brings pairs and ratings into projects. Who is allowed to is for the caller to `require`."""

    def __init__(self, database: Database, *, clock: Clock = utcnow) -> None:
        self._database = database
        self._clock = clock

    def import_pairs(
        self,
        project_id: int,
        items: Iterable[ReadItem],
        *,
        merges_equal_texts: bool = False,
        by: User | None = None,
        progress: Callable[[int], None] | None = None,
        files: Sequence[str] = (),
    ) -> ImportSummary:
        """Import everything or, when anything is wrong or the process ends, nothing.

        A pair is known by its type and id. One that is there already is left out and reported; ratings that
        come with its id are added unless they are there.

        Args:
            project_id: where to.
            items: in the order of import; read once, as they are needed.
            merges_equal_texts: the ratings of a new id whose type and texts are there already go to the pair
                that has them, and of a rater's two grades the first stays; else it is a pair of its own.
            by: who imports; None stands for the command line.
            progress: called now and then with the number of items done.
            files: their names, for the audit.

        Raises:
            NotFoundError: there is no such project.
            ImportFileError: an item cannot be used; the message begins with its place.
            WrongLinesError: several cannot; the message tells how many, and the first few.
        """
        with self._database.session() as session:
            project = as_project(find_project(session, project_id, lock=True))
            summary = import_within(
                session,
                project,
                items,
                self._clock,
                merges_equal_texts=merges_equal_texts,
                progress=progress,
            )
            of_equal_texts = {
                "equal_texts": summary.equal_texts,
                "merged": summary.merged,
                "ratings_left_out": summary.left_out,
            }
            for name in summary.new_accounts:
                record_account(session, self._clock(), name, by=id_of(by))
            record(
                session,
                self._clock(),
                "pairs imported",
                user_id=id_of(by),
                project_id=project_id,
                pairs=summary.pairs,
                ratings=summary.ratings,
                duplicates=len(summary.duplicates),
                files=list(files),
                joined=list(summary.joined),
                **{name: len(found) for name, found in of_equal_texts.items() if found},
            )
        return summary


class Importing:
    """An import in a transaction of the caller's, who has locked the project's row; nothing is audited."""

    def __init__(
        self, session: Session, project: Project, clock: Clock, *, merges_equal_texts: bool = False
    ) -> None:
        self._session, self._settings = session, project.settings
        self._counts_rows = session.connection().dialect.name == "postgresql"
        if self._counts_rows:
            session.execute(_BY_INDEX)
        self._done, self._count_at = 0, _COUNTED_AFTER
        self._wrong = WrongLines()
        self._importer = PairImporter(session, project, clock, self._wrong, merges=merges_equal_texts)

    def add(self, items: Iterable[ReadItem]) -> Iterator[int]:
        """Import them part by part; how many there were in each."""
        for read in _parts(items):
            self._importer.add([_checked(item, self._settings) for item in read])
            self._done += len(read)
            if self._counts_rows and self._done >= self._count_at:
                self._session.execute(_COUNT_ROWS)
                self._count_at *= 4
            yield len(read)

    def summary(self) -> ImportSummary:
        """What came of all of them so far.

        Raises:
            ImportFileError: an item cannot be used; others may be written, which the caller must undo.
        """
        self._wrong.tell()
        return self._importer.summary()


def import_within(
    session: Session,
    project: Project,
    items: Iterable[ReadItem],
    clock: Clock,
    *,
    merges_equal_texts: bool = False,
    progress: Callable[[int], None] | None = None,
) -> ImportSummary:
    """The whole of an `Importing`.

    Raises:
        ImportFileError: an item cannot be used; others may be written by then, which the caller must undo.
    """
    done = 0
    importing = Importing(session, project, clock, merges_equal_texts=merges_equal_texts)
    for count in importing.add(items):
        done += count
        if progress is not None:
            progress(done)
    return importing.summary()


def _checked(item: ReadItem, settings: ProjectSettings) -> ReadItem:
    """The item or, where it cannot be used by what it says alone, why."""
    if isinstance(item, ImportFileError):
        return item
    problem = _problem(item, settings)
    if not problem:
        return item
    error = ImportFileError(f"{item.where}{problem}")
    error.pair_id = item.id if isinstance(item, NewPair) else None
    return error


def _problem(item: NewPair | NewRating, settings: ProjectSettings) -> str:
    if item.type is not None and item.type not in settings.types:
        return foreign_type_text(item.type, settings.types)
    grades = [grade for _, grade in item.ratings] if isinstance(item, NewPair) else [item.grade]
    for grade in grades:
        if grade % settings.step != 0:
            return (
                f": the grade {grade} is off the project's steps of {settings.step}; "
                "fix it or make the step finer."
            )
    if isinstance(item, NewPair) and len(item.ratings) > settings.raters_per_pair:
        return (
            f": {len(item.ratings)} ratings, but the project asks for {settings.raters_per_pair} of a pair; "
            "raise that number or leave ratings out."
        )
    return ""


def _parts(items: Iterable[ReadItem]) -> Iterator[list[ReadItem]]:
    part: list[ReadItem] = []
    characters = 0
    for item in items:
        part.append(item)
        characters += len(item.left) + len(item.right) if isinstance(item, NewPair) else 0
        if len(part) == MOST_ITEMS or characters > MOST_CHARACTERS:
            yield part
            part, characters = [], 0
    if part:
        yield part
