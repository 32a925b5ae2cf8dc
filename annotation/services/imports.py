"""Importing pairs and ratings: one transaction, in parts, so that the memory needed stays the same.

A part is looked up in the database first, then inserted in bulk. Nothing of it is seen before the commit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from annotation.assignment import position_in
from annotation.comparison import foreign_type_text
from annotation.errors import ImportFileError
from annotation.exchange import WrongLines, fingerprint
from annotation.sense_pairs import senses_to_json
from annotation.services.audit import record, record_account
from annotation.services.known_pairs import training_prints
from annotation.services.project_rows import IN_USE, as_project, checks_project_of, find_project, next_order
from annotation.services.rating_imports import ImportedRating, RatingWriter
from annotation.services.transactions import insert_rows, is_among
from annotation.services.users import id_of
from annotation.types import (
    Clock,
    EqualTexts,
    ImportSummary,
    ItemInput,
    NewPair,
    NewRating,
    Project,
    ProjectSettings,
    User,
    to_quarters,
    utcnow,
)
from db import Database
from db.models import Pair

MOST_WRONG_IDS = 100_000
"""No more are kept, so that a large file costs no more memory than these."""
MOST_ITEMS = 500
MOST_CHARACTERS = 2_000_000
"""What a part holds at most; SQLite also limits the parameters of a statement."""

# The statistics of PostgreSQL miss rows that this transaction inserts: it would read whole tables for each
# part, or compile the statement, which takes longer than running it.
_NOT_NOW = ("enable_seqscan", "enable_hashjoin", "enable_mergejoin", "jit")
_BY_INDEX = select(*(func.set_config(setting, "off", True) for setting in _NOT_NOW))
_COUNT_ROWS = text("ANALYZE (SKIP_LOCKED) pairs (project_id)")  # another import may be counting until its end
_COUNTED_AFTER = 4 * MOST_ITEMS


@dataclass(slots=True)
class _Known:
    """A pair that is in the database, or will be when this part is inserted."""

    fingerprint: str
    external_id: str
    id: int = 0
    """Of its row; 0 until it is inserted."""


@dataclass(slots=True)
class _Part:
    """What is known while a part is imported."""

    by_id: dict[str, dict[str, _Known]] = field(default_factory=dict)
    """External id, then type; the ids of merged rows are among them."""
    prints: dict[int, str] = field(default_factory=dict)
    """Fingerprints of its pairs by Python's id."""
    by_print: dict[str, _Known] = field(default_factory=dict)
    """The first pair with the texts of each fingerprint."""
    checks: dict[str, _Known] = field(default_factory=dict)
    """Check pairs of the project, by their fingerprints."""
    new: list[tuple[NewPair, _Known]] = field(default_factory=list)
    again: list[tuple[NewPair | NewRating, _Known | None]] = field(default_factory=list)
    """Pairs that are there, whose ratings may be new, and ratings in long form."""
    rows: dict[int, int] = field(default_factory=dict)
    """The place of each item in the part by Python's id."""
    wrong: dict[int, ImportFileError] = field(default_factory=dict)
    """By the same place."""


class PairImporter:
    """An import in a transaction of the caller's, who has locked the project's row; nothing is audited."""

    def __init__(
        self, session: Session, project: Project, clock: Clock, *, merges_equal_texts: bool = False
    ) -> None:
        """`merges_equal_texts` is as of `ImportService.import_pairs`."""
        self._session = session
        self._project = project
        self._merges = merges_equal_texts
        self._wrong = WrongLines()
        self._counts_rows = session.connection().dialect.name == "postgresql"
        if self._counts_rows:
            session.execute(_BY_INDEX)
        self._ratings = RatingWriter(session, project, clock)
        self._shelf = checks_project_of(session, project.id)
        self._training = training_prints(session, project.id)
        self._first_order = self._order = next_order(session, Pair, project.id)
        self._duplicates: dict[str, None] = {}
        self._equal_texts: list[EqualTexts] = []
        self._merged: dict[str, dict[str, _Known]] = {}
        """Into which pair each was merged, by its id, then type."""
        self._merged_prints: set[str] = set()
        self._wrong_ids: set[str] = set()
        """Of lines that would have been pairs, as far as they say it."""

    def add(self, items: Iterable[ItemInput], progress: Callable[[int], None] | None = None) -> None:
        """Import them part by part; `progress` is called after each with the number of items done."""
        done, count_at = 0, _COUNTED_AFTER
        for part in _parts(items):
            self._add_part(part)
            done += len(part)
            if self._counts_rows and done >= count_at:
                self._session.execute(_COUNT_ROWS)
                count_at *= 4
            if progress is not None:
                progress(done)

    def summary(self) -> ImportSummary:
        """What came of all items so far.

        Raises:
            ImportFileError: an item cannot be used; others may be written, which the caller must undo.
        """
        self._wrong.raise_if_any()
        pairs = self._order - self._first_order
        raters = self._ratings.raters
        merged = (
            EqualTexts(id, pair.external_id) for id, types in self._merged.items() for pair in types.values()
        )
        return ImportSummary(
            pairs,
            self._ratings.written,
            tuple(self._duplicates),
            joined=tuple(raters.joined),
            new_accounts=tuple(raters.new_accounts),
            equal_texts=tuple(self._equal_texts),
            merged=tuple(merged),
            left_out=tuple(self._ratings.left_out),
        )

    def _add_part(self, items: Sequence[ItemInput]) -> None:
        """Import a part, but for its wrong lines, which are put among those of the import.

        What follows a wrong line is written too, as later lines are compared with it; all of it is undone
        in the end.
        """
        checked = [_check_item(item, self._project.settings) for item in items]
        part = self._look_up([item for item in checked if not isinstance(item, ImportFileError)])
        for row, item in enumerate(checked):
            part.rows[id(item)] = row
            problem = item if isinstance(item, ImportFileError) else self._sort(item, part)
            if problem is not None:
                part.wrong[row] = problem
                if len(self._wrong_ids) < MOST_WRONG_IDS:
                    named = "" if isinstance(item, ImportFileError) else _id(item)
                    self._wrong_ids.add(problem.pair_id or named)
        if part.new:
            self._insert(part)
        new = [rating for pair, known in part.new for rating in self._ratings_of(pair, known, part)]
        part.wrong.update(self._ratings.write(new))
        self._merge(part)
        for row in sorted(part.wrong):
            self._wrong.add(part.wrong[row])

    def _look_up(self, items: Sequence[NewPair | NewRating]) -> _Part:
        part = _Part()
        ids = {_id(item) for item in items}
        for name in ids & self._merged.keys():
            part.by_id[name] = dict(self._merged[name])
        columns = (Pair.id, Pair.external_id, Pair.type, Pair.fingerprint)
        rows = self._session.execute(
            select(*columns).where(
                Pair.project_id == self._project.id, is_among(self._session, Pair.external_id, ids)
            )
        )
        for row_id, external_id, type, print in rows:
            part.by_id.setdefault(external_id, {})[type] = _Known(print, external_id, row_id)
        pairs = [item for item in items if isinstance(item, NewPair)]
        part.prints = {id(pair): fingerprint(pair.type, pair.left, pair.right) for pair in pairs}
        part.by_print = self._first_by_print(self._project.id, part)
        if self._shelf is not None:
            part.checks = self._first_by_print(self._shelf, part)
        return part

    def _first_by_print(self, project_id: int, part: _Part) -> dict[str, _Known]:
        """The first pair of a project with each fingerprint of the part; withdrawn ones come last."""
        of_project = Pair.project_id == project_id
        has_print = is_among(self._session, Pair.fingerprint, set(part.prints.values()))
        first = func.coalesce(func.min(Pair.import_order).filter(IN_USE), func.min(Pair.import_order))
        orders = self._session.scalars(select(first).where(of_project, has_print).group_by(Pair.fingerprint))
        if not (found := orders.all()):
            return {}
        columns = (Pair.fingerprint, Pair.external_id, Pair.id)
        rows = self._session.execute(select(*columns).where(of_project, Pair.import_order.in_(found)))
        return {row.fingerprint: _Known(*row) for row in rows}

    def _sort(self, item: NewPair | NewRating, part: _Part) -> ImportFileError | None:
        """Put the item where it belongs in the part, or tell why it cannot be used."""
        if isinstance(item, NewRating):
            part.again.append((item, None))
            return None
        print = part.prints[id(item)]
        if print in part.checks:  # it would be met twice; `import_checks` refuses the same
            return ImportFileError(
                f"{item.where}: the pair {item.id!r} is a check pair of the project, and a rater who saw it "
                "twice would notice; leave it out."
            )
        types = part.by_id.setdefault(item.id, {})
        known = types.get(item.type)
        if known is not None and known.fingerprint != print:
            return ImportFileError(
                f"{item.where}, field 'id': {item.id!r} is the id of another pair, in the project or "
                "further up; give this one an id of its own."
            )
        twin = part.by_print.get(print)
        if known is not None:
            part.again.append((item, known))
        elif twin is not None and self._merges:
            types[item.type] = self._merged.setdefault(item.id, {})[item.type] = twin
            self._merged_prints.add(print)
            part.again.append((item, twin))
        elif print in self._training:  # `import_training` refuses the same
            return ImportFileError(
                f"{item.where}: the pair {item.id!r} is a training pair of the project, and training would "
                "reveal its grade; leave it out."
            )
        else:
            types[item.type] = _Known(print, item.id)
            if twin is not None:
                self._equal_texts.append(EqualTexts(item.id, twin.external_id))
            part.by_print.setdefault(print, types[item.type])
            part.new.append((item, types[item.type]))
        return None

    def _insert(self, part: _Part) -> None:
        rows = [self._row(pair, known, order) for order, (pair, known) in enumerate(part.new, self._order)]
        insert_rows(self._session, Pair, rows)
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
            "senses": None if pair.senses is None else senses_to_json(pair.senses),
            "fingerprint": known.fingerprint,
            "position": position_in(settings, pair.type, pair.id, order),
            "import_order": order,
            "open_slots": settings.raters_per_pair - len(quarters),
            "rating_count": len(quarters),
            "low_quarters": min(quarters, default=None),
            "high_quarters": max(quarters, default=None),
            "spread_quarters": max(quarters, default=0) - min(quarters, default=0),
        }

    def _merge(self, part: _Part) -> None:
        found: list[NewPair | NewRating] = []  # under the ids of their pairs
        ratings: list[ImportedRating] = []
        for item, its_pair in part.again:
            known = its_pair or self._find_pair(cast(NewRating, item), part)
            if known is not None:
                if known.external_id == _id(item):
                    found.append(item)
                ratings += self._ratings_of(item, known, part)
        brought, wrong = self._ratings.merge(ratings)
        part.wrong.update(wrong)
        for item in found:
            if part.rows[id(item)] not in brought:
                self._duplicates[_id(item)] = None

    def _find_pair(self, rating: NewRating, part: _Part) -> _Known | None:
        """The pair of a rating in long form; None where there is none, which is noted."""
        types = part.by_id.get(rating.pair_id, {})
        fitting = [known for type, known in types.items() if rating.type in (None, type)]
        if len(fitting) == 1:
            return fitting[0]
        where = f"{rating.where}, field 'id'"
        if fitting:
            part.wrong[part.rows[id(rating)]] = ImportFileError(
                f"{where}: pairs of {len(fitting)} types have the id {rating.pair_id!r} "
                f"({', '.join(sorted(types))}); add a field 'type'."
            )
        elif rating.pair_id not in self._wrong_ids:  # else the line of its pair is told
            of_type = "" if rating.type is None else f" of type {rating.type!r}"
            part.wrong[part.rows[id(rating)]] = ImportFileError(
                f"{where}: the project has no pair {rating.pair_id!r}{of_type}; import the pairs first."
            )
        return None

    def _ratings_of(self, item: NewPair | NewRating, known: _Known, part: _Part) -> list[ImportedRating]:
        name, place, row = _id(item), item.where, part.rows[id(item)]
        ratings = item.ratings if isinstance(item, NewPair) else ((item.rater, item.grade),)
        merged_into = known.external_id if known.fingerprint in self._merged_prints else None
        return [
            ImportedRating(known.id, name, rater, to_quarters(grade), place, row, merged_into)
            for rater, grade in ratings
        ]


def _id(item: NewPair | NewRating) -> str:
    return item.id if isinstance(item, NewPair) else item.pair_id


def _check_item(item: ItemInput, settings: ProjectSettings) -> ItemInput:
    """The item or, where it cannot be used by what it says alone, why."""
    if isinstance(item, ImportFileError):
        return item
    problem = _problem_of(item, settings)
    if not problem:
        return item
    error = ImportFileError(f"{item.where}{problem}")
    error.pair_id = item.id if isinstance(item, NewPair) else None
    return error


def _problem_of(item: NewPair | NewRating, settings: ProjectSettings) -> str:
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


def _parts(items: Iterable[ItemInput]) -> Iterator[list[ItemInput]]:
    part: list[ItemInput] = []
    characters = 0
    for item in items:
        part.append(item)
        characters += len(item.left) + len(item.right) if isinstance(item, NewPair) else 0
        if len(part) == MOST_ITEMS or characters > MOST_CHARACTERS:
            yield part
            part, characters = [], 0
    if part:
        yield part


class ImportService:
    """Brings pairs and ratings into projects. Who is allowed to is for the caller to `require`."""

    def __init__(self, database: Database, *, clock: Clock = utcnow) -> None:
        self._database = database
        self._clock = clock

    def import_pairs(
        self,
        project_id: int,
        items: Iterable[ItemInput],
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
            importer = PairImporter(session, project, self._clock, merges_equal_texts=merges_equal_texts)
            importer.add(items, progress)
            summary = importer.summary()
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
