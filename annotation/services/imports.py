"""Importing pairs and ratings: one transaction, in parts, so that the memory needed stays the same.

A part is looked up in the database first, then inserted in bulk. Nothing of it is seen before the commit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

from sqlalchemy import (
    ColumnElement,
    Table,
    and_,
    bindparam,
    exists,
    func,
    insert,
    literal_column,
    select,
    text,
    update,
)
from sqlalchemy.orm import Session

from annotation.assignment import position_in
from annotation.comparison import foreign_type_text
from annotation.errors import ImportFileError, SettingsError
from annotation.exchange import WrongLines, fingerprint
from annotation.sense_pairs import is_undescribed, senses_to_json
from annotation.services.assignment import TAKES_A_SLOT, refresh_pairs
from annotation.services.audit import FORMER_NAME, NAMES_PROJECT, PROJECT_CREATED, record, record_account
from annotation.services.known_pairs import training_prints
from annotation.services.numbering import exported_numbers
from annotation.services.project_rows import IN_USE, as_project, checks_project_of, find_project, next_order
from annotation.services.rater_queue import ASSIGNMENTS, BARRED, CHANGES, EXCLUDED, PAIRS, RATINGS
from annotation.services.transactions import insert_rows, is_among
from annotation.services.users import find_user, id_of, new_user
from annotation.types import (
    Clock,
    EqualTexts,
    ImportSummary,
    ItemInput,
    LeftOutRating,
    NewPair,
    NewRating,
    Project,
    ProjectSettings,
    Role,
    User,
    utcnow,
)
from annotation.wording import LONGEST_NAME, name_key
from db import Database, models
from db.models import (
    Assignment,
    AuditEvent,
    Membership,
    Pair,
    RaterState,
    Rating,
    RatingChange,
    SetAside,
    SetAsideRating,
)

_NUMBERED = re.compile(r"(rater )?([0-9]+)")
_MARK = re.compile(r" \([0-9]+\)$")


def number_in(label: str) -> str | None:
    """The digits of a rater who has only a number; None of one with a name."""
    found = _NUMBERED.fullmatch(label)
    return None if found is None else found[2]


def exported_number(label: str) -> int | None:
    """The number of a label as exports write it: "rater 1", not 1 alone."""
    found = _NUMBERED.fullmatch(label)
    return None if found is None or found[1] is None else int(found[2])


def numbered_account(session: Session, project_id: int, project_name: str, number: str) -> models.User | None:
    """The account that stands for the number in this project, whatever the project was called then.

    It is one whose ratings here came from a file, so that neither another project's account nor a person
    who bears such a name is taken for it. The one named after the project as it is called now goes first.
    """
    imported = (
        exists()
        .where(Assignment.project_id == project_id, Assignment.rater_id == models.User.id)
        .where(Assignment.state.in_(("rated", EXCLUDED)))
        .where(RatingChange.pair_id == Assignment.pair_id, RatingChange.rater_id == Assignment.rater_id)
        .where(RatingChange.origin == "import")
    )
    usual = name_key(numbered_name(project_name, number))
    found = session.scalars(
        select(models.User)
        .where(models.User.name.endswith(f"/{number}"), imported)
        .order_by(models.User.name_key != usual, models.User.id)
    ).all()
    names = _names_so_far(session, project_id, project_name) if found else None
    return next((user for user in found if names is None or _is_after(user.name, number, names)), None)


def _names_so_far(session: Session, project_id: int, project_name: str) -> set[str] | None:
    """What the project is and was called; None where an earlier version renamed it and kept no name."""
    names = {project_name}
    events = select(AuditEvent.action, AuditEvent.detail).where(
        AuditEvent.project_id == project_id, AuditEvent.action.in_(NAMES_PROJECT)
    )
    for action, detail in session.execute(events):
        if action == PROJECT_CREATED:
            names.add(detail["name"])
        elif "name" in detail.get("settings", ()):
            if FORMER_NAME not in detail:
                return None
            names.add(detail[FORMER_NAME])
    return names


def _is_after(name: str, number: str, project_names: Iterable[str]) -> bool:
    """Whether an account is named after one of the names, as `free_name` does it."""
    found = _MARK.search(name.removesuffix(f"/{number}"))
    marks = ("",) if found is None else ("", found[0])
    return any(
        name_key(name) == name_key(numbered_name(project, number, mark))
        for project in project_names
        for mark in marks
    )


def free_name(session: Session, project_name: str, number: str) -> str:
    """The name of a new account for the number, which no account has."""
    name, times = numbered_name(project_name, number), 1
    while find_user(session, name) is not None:
        times += 1
        name = numbered_name(project_name, number, f" ({times})")
    return name


def numbered_name(project_name: str, number: str, mark: str = "") -> str:
    """The project's name, shortened where it must be, and the number."""
    end = f"{mark}/{number}"
    room = LONGEST_NAME - len(end)
    return (project_name if len(project_name) <= room else f"{project_name[: room - 1]}…") + end


class ImportedRaters:
    """Finds the accounts of the raters of one import, and makes those that are not there."""

    def __init__(self, session: Session, project: Project, clock: Clock) -> None:
        self.joined: list[str] = []
        """Names of accounts that were there before and became raters of the project."""
        self.new_accounts: list[str] = []
        """Names of those that were made."""
        self._session = session
        self._project = project
        self._clock = clock
        self._accounts: dict[str, int] = {}
        self._names: dict[int, str] = {}
        """Of the accounts that were there before."""
        self._made: set[int] = set()
        self._numbers: dict[str, models.User | None] = {}
        """Accounts of numbered raters, as far as they were looked for."""
        self._members = set(
            session.scalars(
                select(Membership.user_id).where(
                    Membership.project_id == project.id, Membership.role == Role.RATER.value
                )
            )
        )

    def join(self, rater_ids: Iterable[int]) -> None:
        """Make these accounts raters of the project, unless they are."""
        for rater_id in rater_ids:
            if rater_id in self._members:
                continue
            self._members.add(rater_id)
            self._session.add(
                Membership(project_id=self._project.id, user_id=rater_id, role=Role.RATER.value)
            )
            if rater_id in self._names:
                self.joined.append(self._names[rater_id])
        self._session.flush()

    def find_or_add(self, name: str, place: str) -> int:
        """The id of the rater's account; a new one cannot sign in until it is invited.

        Raises:
            ImportFileError: no account can have the name; `place` begins the message.
        """
        found = self._accounts.get(name)
        if found is not None:
            return found
        number = number_in(name)
        row = find_user(self._session, name) if number is None else self.find_numbered(number)
        if row is None:
            row = self._new_account(name, place, number)
        elif row.id not in self._made:  # else it is another spelling of a name of this file
            self._names[row.id] = row.name
        self._accounts[name] = row.id
        return row.id

    def _new_account(self, name: str, place: str, number: str | None) -> models.User:
        free = name if number is None else free_name(self._session, self._project.name, number)
        try:
            row = new_user(self._session, free, self._clock())
        except SettingsError as error:
            raise ImportFileError(f"{place}, rater {name!r}: {error}") from None
        self._made.add(row.id)
        self.new_accounts.append(row.name)
        if number is not None:
            self._numbers[number] = row
        return row

    def find_numbered(self, number: str) -> models.User | None:
        """The account of a numbered rater, of this project or of this file; None where there is none yet."""
        if number not in self._numbers:
            project = self._project
            row = numbered_account(self._session, project.id, project.name, number)
            named = find_user(self._session, numbered_name(project.name, number)) if row is None else None
            self._numbers[number] = named if named is not None and named.id in self._made else row
        return self._numbers[number]


@dataclass(frozen=True, slots=True)
class ImportedRating:
    pair_id: int
    external_id: str
    rater: str
    quarters: int
    place: str
    """Begins messages."""
    row: int
    """With which item of its part it came."""
    merged_into: str | None = None
    """The id of the pair if the import merges others into it; differs from `external_id` for theirs."""

    @property
    def is_of_another_id(self) -> bool:
        return self.merged_into not in (None, self.external_id)


@dataclass(slots=True)
class _Pairs:
    """What there is already of pairs that get more ratings."""

    open_slots: dict[int, int]
    ratings: dict[tuple[int, int], int]
    """Pair and rater: quarters."""
    states: dict[tuple[int, int], str]
    """Pair and rater: of the assignment."""
    set_aside: dict[tuple[int, int], int]
    """As `ratings`, of those that were set aside."""


class RatingWriter:
    """Writes the ratings of one import."""

    def __init__(self, session: Session, project: Project, clock: Clock) -> None:
        self.written = 0
        self.left_out: list[LeftOutRating] = []
        self._session = session
        self._project = project
        self._clock = clock
        self.raters = ImportedRaters(session, project, clock)

    def write(self, ratings: Sequence[ImportedRating]) -> dict[int, ImportFileError]:
        """Write the ratings of pairs that have no others; their pairs count them already.

        Returns:
            What is wrong with rows: one rater twice on a pair, or a name that no account can have.
        """
        known: set[tuple[int, int]] = set()
        wrong: dict[int, ImportFileError] = {}
        rows = []
        for rating in ratings:
            with self._collect_error(rating, wrong):
                key = (rating.pair_id, self.raters.find_or_add(rating.rater, rating.place))
                self._check_counts(rating, key[1])
                if key in known:
                    raise ImportFileError(
                        f"{rating.place}: {rating.rater!r} rated the pair {rating.external_id!r} twice; keep "
                        "one of the grades."
                    )
                known.add(key)
                rows.append((key[1], rating))
        self._insert(rows)
        return wrong

    def merge(self, ratings: Sequence[ImportedRating]) -> tuple[set[int], dict[int, ImportFileError]]:
        """Write ratings of pairs that may have others, and count these anew.

        Of two grades of a rater for a pair that others are merged into, the first is kept, the other listed.

        Returns:
            Which rows brought a new rating, and what is wrong with rows: the rater gave another grade, or may
            not grade the pair, or it has all its raters.
        """
        wrong: dict[int, ImportFileError] = {}
        rows: list[tuple[int, ImportedRating]] = []
        if not ratings:
            return set(), wrong
        pairs = self._lock_pairs(sorted({rating.pair_id for rating in ratings}))
        for rating in ratings:
            with self._collect_error(rating, wrong):
                if self._is_of_export(rating, pairs):
                    if rating.is_of_another_id:
                        self._leave_out(rating, rating.quarters)
                    continue
                rater_id = self.raters.find_or_add(rating.rater, rating.place)
                key = (rating.pair_id, rater_id)
                kept = pairs.ratings.get(key, pairs.set_aside.get(key))
                differs = rating.is_of_another_id or kept != rating.quarters
                if rating.merged_into is not None and kept is not None and differs:
                    self._leave_out(rating, kept)
                elif self._is_new(rating, rater_id, pairs):
                    rows.append((rater_id, rating))
        self._insert(rows)
        refresh_pairs(self._session, {rating.pair_id for _, rating in rows})
        return {rating.row for _, rating in rows}, wrong

    def _leave_out(self, rating: ImportedRating, kept: int) -> None:
        from_steps = self._project.settings.scale.from_steps
        grades = from_steps(rating.quarters), from_steps(kept)
        self.left_out.append(LeftOutRating(rating.external_id, rating.rater, *grades))

    @contextmanager
    def _collect_error(self, rating: ImportedRating, wrong: dict[int, ImportFileError]) -> Iterator[None]:
        """Keep the error of a rating by its row, of which only the first is told."""
        try:
            yield
        except ImportFileError as error:
            if not self._session.is_active:  # another import took the name just then
                raise
            wrong.setdefault(rating.row, error)

    def _lock_pairs(self, ids: Sequence[int]) -> _Pairs:
        locked = select(Pair.id, Pair.open_slots).where(Pair.id.in_(ids)).order_by(Pair.id)
        slots = self._session.execute(locked.with_for_update(key_share=True))
        states = select(Assignment.pair_id, Assignment.rater_id, Assignment.state)
        return _Pairs(
            open_slots=dict(slots.all()),
            ratings=self._grades(Rating, ids),
            states={
                (pair, rater): state
                for pair, rater, state in self._session.execute(states.where(Assignment.pair_id.in_(ids)))
            },
            set_aside=self._grades(SetAsideRating, ids),
        )

    def _grades(self, table: type[Rating | SetAsideRating], ids: Sequence[int]) -> dict[tuple[int, int], int]:
        rows = select(table.pair_id, table.rater_id, table.quarters).where(table.pair_id.in_(ids))
        return {(pair, rater): quarters for pair, rater, quarters in self._session.execute(rows)}

    def _is_new(self, rating: ImportedRating, rater_id: int, pairs: _Pairs) -> bool:
        """Whether it is not there yet; the pair has it then.

        Raises:
            ImportFileError: it cannot be added.
        """
        key = (rating.pair_id, rater_id)
        before, aside = pairs.ratings.get(key), pairs.set_aside.get(key)
        from_steps = self._project.settings.scale.from_steps
        if rating.quarters in (before, aside):
            return False
        if before is not None:
            raise ImportFileError(
                f"{rating.place}: {rating.rater!r} graded the pair {rating.external_id!r} "
                f"{from_steps(before)} before and {from_steps(rating.quarters)} here; keep one of them."
            )
        if aside is not None:
            raise ImportFileError(
                f"{rating.place}: {rating.rater!r} graded the pair {rating.external_id!r} "
                f"{from_steps(aside)}, which was set aside, so others have to grade it; leave the rating "
                "out."
            )
        self._check_counts(rating, rater_id)
        if pairs.states.get(key) == BARRED:
            raise ImportFileError(
                f"{rating.place}: {rating.rater!r} wrote the pair {rating.external_id!r}, saw its requested "
                "grade or decided on it, so others have to grade it; leave the rating out."
            )
        if pairs.states.get(key) not in TAKES_A_SLOT:
            self._take_slot(rating, pairs)
        pairs.ratings[key] = rating.quarters
        return True

    def _is_of_export(self, rating: ImportedRating, pairs: _Pairs) -> bool:
        """Whether it is there under the number that a gold set of this project gave its rater.

        Raises:
            ImportFileError: the number may also be one of another gold set, and nobody can tell.
        """
        number = exported_number(rating.rater)
        if number is None:
            return False
        if number not in self._exported_numbers:
            return False
        exported = self._exported_numbers[number]
        key = (rating.pair_id, exported or 0)
        if rating.quarters in (pairs.ratings.get(key), pairs.set_aside.get(key)):
            return True
        own = self.raters.find_numbered(str(number))
        if own is not None and own.id == exported:
            return False
        if own is not None and pairs.ratings.get((rating.pair_id, own.id)) == rating.quarters:
            return False
        raise ImportFileError(
            f"{rating.place}: {rating.rater!r} is a rater of this project's own gold sets, who did not give "
            f"the pair {rating.external_id!r} this grade; write the rater's name, or {number} alone for one "
            "whom only a file has numbered."
        )

    def _check_counts(self, rating: ImportedRating, rater_id: int) -> None:
        if rater_id in self._excluded_raters:
            raise ImportFileError(
                f"{rating.place}: the grades of {rating.rater!r} are set aside in this project; leave the "
                "rating out, or let the rater continue first."
            )

    @cached_property
    def _excluded_raters(self) -> frozenset[int]:
        """Whose grades are set aside, and who are still paused."""
        here = and_(RaterState.project_id == SetAside.project_id, RaterState.user_id == SetAside.rater_id)
        paused = select(SetAside.rater_id).join(RaterState, here)
        of_project = SetAside.project_id == self._project.id
        return frozenset(self._session.scalars(paused.where(of_project, RaterState.paused_at.is_not(None))))

    @cached_property
    def _exported_numbers(self) -> dict[int, int | None]:
        return exported_numbers(self._session, self._project.id)

    def _take_slot(self, rating: ImportedRating, pairs: _Pairs) -> None:
        if pairs.open_slots[rating.pair_id] == 0:
            raise ImportFileError(
                f"{rating.place}: the pair {rating.external_id!r} has all the "
                f"{self._project.settings.raters_per_pair} raters that the project asks for, without "
                f"{rating.rater!r}; raise that number or leave the rating out."
            )
        pairs.open_slots[rating.pair_id] -= 1

    def _insert(self, ratings: Sequence[tuple[int, ImportedRating]]) -> None:
        """Rows of ratings with their raters; history and assignments follow from them within the database."""
        if not ratings:
            return
        self.raters.join(dict.fromkeys(rater_id for rater_id, _ in ratings))
        connection = self._session.connection()
        now = self._clock()  # once the pairs are locked: a decision made meanwhile was made before
        same = {"project_id": self._project.id, "created_at": now, "updated_at": now}
        rows = [
            {**same, "pair_id": rating.pair_id, "rater_id": rater_id, "quarters": rating.quarters}
            for rater_id, rating in ratings
        ]
        insert_rows(self._session, Rating, rows)
        for statement in (_KEEP_HISTORY, _TURN_RATED, _ASSIGN):
            connection.execute(statement, {"ids": list({row["pair_id"] for row in rows}), "now": now})
        self.written += len(rows)


_THEIRS = RATINGS.c.pair_id.in_(bindparam("ids", expanding=True))
_NOW = bindparam("now", type_=RATINGS.c.created_at.type)
_OF_RATING = (RATINGS.c.project_id, RATINGS.c.pair_id, RATINGS.c.rater_id)


def _has_no(table: Table) -> ColumnElement[bool]:
    """Of a rating: its rater has no row in `table` for the pair. The pairs are locked or new: it stays so."""
    return ~exists().where(table.c.pair_id == RATINGS.c.pair_id, table.c.rater_id == RATINGS.c.rater_id)


# Every other rating has its history, so that those without are the ones just inserted.
_KEEP_HISTORY = insert(CHANGES).from_select(
    ["project_id", "pair_id", "rater_id", "quarters", "origin", "at"],
    select(*_OF_RATING, RATINGS.c.quarters, literal_column("'import'"), _NOW).where(
        _THEIRS, _has_no(CHANGES)
    ),
)
_ASSIGN = insert(ASSIGNMENTS).from_select(
    ["project_id", "pair_id", "rater_id", "state", "position", "claimed_at"],
    select(*_OF_RATING, literal_column("'rated'"), PAIRS.c.position, _NOW)
    .join(PAIRS, PAIRS.c.id == RATINGS.c.pair_id)
    .where(_THEIRS, _has_no(ASSIGNMENTS)),
)
_TURN_RATED = (
    update(ASSIGNMENTS)
    .where(
        ASSIGNMENTS.c.pair_id.in_(bindparam("ids", expanding=True)),
        ASSIGNMENTS.c.state != "rated",
        exists().where(
            RATINGS.c.pair_id == ASSIGNMENTS.c.pair_id, RATINGS.c.rater_id == ASSIGNMENTS.c.rater_id
        ),
    )
    .values(state="rated", lease_expires_at=None)
)


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
        self._undescribed = 0
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
            undescribed=self._undescribed,
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
        self._undescribed += sum(is_undescribed(pair) for pair, _ in part.new)
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
        to_steps = settings.scale.to_steps
        quarters = [to_steps(grade) for _, grade in pair.ratings]
        return {
            "project_id": self._project.id,
            "external_id": pair.id,
            "type": pair.type,
            "left": pair.left,
            "right": pair.right,
            "genre": pair.genre,
            "intended_quarters": None if pair.intended is None else to_steps(pair.intended),
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
        to_steps = self._project.settings.scale.to_steps
        return [
            ImportedRating(known.id, name, rater, to_steps(grade), place, row, merged_into)
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
    intended = [item.intended] if isinstance(item, NewPair) and item.intended is not None else []
    for grade in (*grades, *intended):
        if not settings.scale.allows(grade):
            return f": the grade {grade} is not {settings.scale.text}, as in this project; fix it."
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
