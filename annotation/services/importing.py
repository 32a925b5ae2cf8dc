"""Importing pairs and ratings: one transaction, in parts, so that the memory needed stays the same.

A part is looked up in the database first, then inserted in bulk. Nothing of it is seen before the commit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast

from sqlalchemy import Table, func, select, text
from sqlalchemy.orm import Session

from annotation.assignment import position_of
from annotation.clock import Clock, utcnow
from annotation.errors import ImportFileError
from annotation.exchange import fingerprint
from annotation.pair_senses import senses_as_json
from annotation.services.audit import record
from annotation.services.bulk import insert_rows, is_among
from annotation.services.checks import shelf_of
from annotation.services.imported_ratings import ImportedRating, RatingWriter
from annotation.services.projects import as_project, find_project
from annotation.types import (
    ImportSummary,
    NewPair,
    NewRating,
    Project,
    ProjectSettings,
    ReadItem,
    User,
    to_quarters,
)
from annotation.wrong_lines import WrongLines
from db import Database
from db.models import Pair

MOST_ITEMS = 500
MOST_CHARACTERS = 2_000_000
"""What a part holds at most; SQLite also limits the parameters of a statement."""

_PAIRS = cast(Table, Pair.__table__)
# PostgreSQL does not count rows that this transaction inserts: it would read whole tables for each part, or
# compile the statement, which takes longer than running it.
_NOT_NOW = ("enable_seqscan", "enable_hashjoin", "enable_mergejoin", "jit")
_BY_INDEX = select(*(func.set_config(setting, "off", True) for setting in _NOT_NOW))
_COUNT_ROWS = text("ANALYZE pairs (project_id)")
_COUNTED_AFTER = frozenset(4**power for power in range(1, 8))


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
        by: User | None = None,
        progress: Callable[[int], None] | None = None,
        files: Sequence[str] = (),
    ) -> ImportSummary:
        """Import everything or, when anything is wrong or the process ends, nothing.

        A pair that is there already, under its own id or another, is left out and reported. Ratings that
        come with its own id, or in long form, are added unless they are there.

        Args:
            project_id: where to.
            items: in the order of import; read once, as they are needed.
            by: who imports; None stands for the command line.
            progress: called now and then with the number of items done.
            files: their names, for the audit.

        Raises:
            NotFoundError: there is no such project.
            ImportFileError: an item cannot be used; the message begins with its place.
            WrongLinesError: several cannot; the message tells how many, and the first few.
        """
        now = self._clock()
        with self._database.session() as session:
            project = as_project(find_project(session, project_id, lock=True))
            summary = import_within(session, project, items, now, progress=progress)
            record(
                session,
                now,
                "pairs imported",
                user_id=None if by is None else by.id,
                project_id=project_id,
                pairs=summary.pairs,
                ratings=summary.ratings,
                duplicates=len(summary.duplicates),
                files=list(files),
            )
        return summary


def import_within(
    session: Session,
    project: Project,
    items: Iterable[ReadItem],
    now: datetime,
    *,
    progress: Callable[[int], None] | None = None,
) -> ImportSummary:
    """The same in a transaction of the caller's, who has locked the project's row; nothing is audited.

    Raises:
        ImportFileError: an item cannot be used.
    """
    done = 0
    counts_rows = session.connection().dialect.name == "postgresql"
    if counts_rows:
        session.execute(_BY_INDEX)
    wrong = WrongLines()
    importer = _Importer(session, project, now, wrong)
    for number, read in enumerate(_parts(items), start=1):
        part = _usable(read, project, wrong)
        if wrong:  # nothing is imported: only how many they are is still to be told
            continue
        importer.add(part)
        if counts_rows and number in _COUNTED_AFTER:
            session.execute(_COUNT_ROWS)
        done += len(part)
        if progress is not None:
            progress(done)
    wrong.tell()
    return importer.summary()


def _usable(items: Sequence[ReadItem], project: Project, wrong: WrongLines) -> list[NewPair | NewRating]:
    """The items that can be used by what they say alone; the others are `wrong`."""
    good = []
    for item in items:
        try:
            if isinstance(item, ImportFileError):
                raise item
            _check(item, project.settings)
            good.append(item)
        except ImportFileError as error:
            wrong.add(error)
    return good


def _check(item: NewPair | NewRating, settings: ProjectSettings) -> None:
    if item.type is not None and item.type not in settings.types:
        raise ImportFileError(
            f"{_where(item)}, field 'type': {item.type!r} is no type of the project, which has "
            f"{', '.join(settings.types)}; mend it or add it to the project."
        )
    grades = [grade for _, grade in item.ratings] if isinstance(item, NewPair) else [item.grade]
    for grade in grades:
        if grade % settings.step != 0:
            raise ImportFileError(
                f"{_where(item)}: the grade {grade} is off the project's steps of {settings.step}; mend "
                "it or make the step finer."
            )
    if isinstance(item, NewPair) and len(item.ratings) > settings.raters_per_pair:
        raise ImportFileError(
            f"{_where(item)}: {len(item.ratings)} ratings, but the project asks for "
            f"{settings.raters_per_pair} of a pair; raise that number or leave ratings out."
        )


@dataclass(slots=True)
class _Known:
    """A pair that is in the database, or will be when this part is inserted."""

    fingerprint: str
    id: int = 0
    """Of its row; 0 until it is inserted."""


@dataclass(slots=True)
class _Part:
    """What is known while a part is imported."""

    by_id: dict[str, dict[str, _Known]] = field(default_factory=dict)
    """External id, then type."""
    prints: dict[int, str] = field(default_factory=dict)
    """Fingerprints of its pairs by Python's id."""
    taken: set[str] = field(default_factory=set)
    """Fingerprints of pairs that are there."""
    new: list[tuple[NewPair, _Known]] = field(default_factory=list)
    again: list[tuple[NewPair | NewRating, _Known | None]] = field(default_factory=list)
    """Pairs that are there, whose ratings may be new, and ratings in long form."""


class _Importer:
    """The transaction of one import."""

    def __init__(self, session: Session, project: Project, now: datetime, wrong: WrongLines) -> None:
        self._session = session
        self._project = project
        self._wrong = wrong
        self._ratings = RatingWriter(session, project, now)
        self._shelf = shelf_of(session, project.id)
        last = session.scalar(select(func.max(Pair.import_order)).where(Pair.project_id == project.id))
        self._first_order = self._order = 0 if last is None else last + 1
        self._duplicates: dict[str, None] = {}

    def summary(self) -> ImportSummary:
        pairs = self._order - self._first_order
        return ImportSummary(pairs, self._ratings.written, tuple(self._duplicates))

    def add(self, items: Sequence[NewPair | NewRating]) -> None:
        """Import a part, if the pairs of it fit to those that are there; else they are among the wrong lines.

        Raises:
            ImportFileError: a rating of it cannot be used.
        """
        part = self._look_up(items)
        for item in items:
            if isinstance(item, NewPair):
                self._sort(item, part)
            else:
                part.again.append((item, None))
        if self._wrong:
            return
        if part.new:
            self._insert(part)
        self._ratings.write([rating for pair, known in part.new for rating in _ratings_of(pair, known)])
        self._merge(part)

    def _look_up(self, items: Sequence[NewPair | NewRating]) -> _Part:
        columns = (Pair.id, Pair.external_id, Pair.type, Pair.fingerprint)
        ids = {_id(item) for item in items}
        rows = self._session.execute(
            select(*columns).where(
                Pair.project_id == self._project.id, is_among(self._session, Pair.external_id, ids)
            )
        )
        part = _Part()
        for row_id, external_id, type, print in rows:
            part.by_id.setdefault(external_id, {})[type] = _Known(print, row_id)
        pairs = [item for item in items if isinstance(item, NewPair)]
        part.prints = {id(pair): fingerprint(pair.type, pair.left, pair.right) for pair in pairs}
        there = select(Pair.fingerprint).where(
            Pair.project_id == self._project.id,
            is_among(self._session, Pair.fingerprint, part.prints.values()),
        )
        part.taken.update(self._session.scalars(there))
        self._refuse_checks(pairs, part)
        return part

    def _refuse_checks(self, pairs: Sequence[NewPair], part: _Part) -> None:
        """A check pair would be met twice, which gives it away; `import_checks` refuses the same."""
        if self._shelf is None:
            return
        of_checks = select(Pair.fingerprint).where(
            Pair.project_id == self._shelf,
            is_among(self._session, Pair.fingerprint, part.prints.values()),
        )
        found = set(self._session.scalars(of_checks))
        for pair in pairs:
            if part.prints[id(pair)] in found:
                self._refuse(
                    f"{_where(pair)}: the pair {pair.id!r} is a check pair of the project, and a rater who "
                    "met it twice would know; leave it out."
                )

    def _refuse(self, reason: str) -> None:
        self._wrong.add(ImportFileError(reason))

    def _sort(self, pair: NewPair, part: _Part) -> None:
        print = part.prints[id(pair)]
        types = part.by_id.setdefault(pair.id, {})
        known = types.get(pair.type)
        if known is not None:
            if known.fingerprint != print:
                self._refuse(
                    f"{_where(pair)}, field 'id': {pair.id!r} is the id of another pair, in the project or "
                    "further up; give this one an id of its own."
                )
            part.again.append((pair, known))
        elif print in part.taken:
            self._duplicates[pair.id] = None
        else:
            types[pair.type] = _Known(print)
            part.taken.add(print)
            part.new.append((pair, types[pair.type]))

    def _insert(self, part: _Part) -> None:
        rows = [self._row(pair, known, order) for order, (pair, known) in enumerate(part.new, self._order)]
        insert_rows(self._session, _PAIRS, rows)
        if any(pair.ratings for pair, _ in part.new) or part.again:
            ids = self._session.execute(
                select(Pair.import_order, Pair.id).where(
                    Pair.project_id == self._project.id, Pair.import_order >= self._order
                )
            )
            for order, id in ids:
                part.new[order - self._order][1].id = id
        self._order += len(rows)

    def _row(self, pair: NewPair, known: _Known, order: int) -> dict[str, Any]:
        settings = self._project.settings
        quarters = [to_quarters(grade) for _, grade in pair.ratings]
        return {
            "project_id": self._project.id,
            "external_id": pair.id,
            "type": pair.type,
            "left": pair.left,
            "right": pair.right,
            "genre": pair.genre,
            "intended_quarters": None if pair.intended is None else to_quarters(pair.intended),
            "source": pair.source,
            "senses": None if pair.senses is None else senses_as_json(pair.senses),
            "fingerprint": known.fingerprint,
            "position": position_of(settings.seed, pair.type, pair.id) if settings.is_random else order,
            "import_order": order,
            "open_slots": settings.raters_per_pair - len(quarters),
            "rating_count": len(quarters),
            "low_quarters": min(quarters, default=None),
            "high_quarters": max(quarters, default=None),
            "spread_quarters": max(quarters, default=0) - min(quarters, default=0),
        }

    def _merge(self, part: _Part) -> None:
        found = [
            (item, _ratings_of(item, known or self._rated(cast(NewRating, item), part)))
            for item, known in part.again
        ]
        is_new = iter(self._ratings.merge([rating for _, ratings in found for rating in ratings]))
        for item, ratings in found:
            brought = sum(next(is_new) for _ in ratings)
            if not brought:
                self._duplicates[_id(item)] = None

    def _rated(self, rating: NewRating, part: _Part) -> _Known:
        types = part.by_id.get(rating.pair_id, {})
        fitting = [known for type, known in types.items() if rating.type in (None, type)]
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            raise ImportFileError(
                f"{_where(rating)}, field 'id': pairs of {len(fitting)} types have the id "
                f"{rating.pair_id!r} ({', '.join(sorted(types))}); add a field 'type'."
            )
        of_type = "" if rating.type is None else f" of type {rating.type!r}"
        raise ImportFileError(
            f"{_where(rating)}, field 'id': the project has no pair {rating.pair_id!r}{of_type}; import the "
            "pairs first."
        )


def _ratings_of(item: NewPair | NewRating, known: _Known) -> list[ImportedRating]:
    id, place = _id(item), _where(item)
    ratings = item.ratings if isinstance(item, NewPair) else ((item.rater, item.grade),)
    return [ImportedRating(known.id, id, rater, to_quarters(grade), place) for rater, grade in ratings]


def _id(item: NewPair | NewRating) -> str:
    return item.id if isinstance(item, NewPair) else item.pair_id


def _where(item: NewPair | NewRating) -> str:
    return item.place or f"Pair {_id(item)!r}"


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
