"""Ratings that come from files, with the accounts of their raters, in the transaction of the import."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

from sqlalchemy import ColumnElement, Table, and_, bindparam, exists, insert, literal_column, select, update
from sqlalchemy.orm import Session

from annotation.errors import ImportFileError, SettingsError
from annotation.services.assignment import TAKES_A_SLOT, refresh_pairs
from annotation.services.audit import FORMER_NAME, NAMES_PROJECT, PROJECT_CREATED
from annotation.services.numbering import exported_numbers
from annotation.services.rater_queue import ASSIGNMENTS, BARRED, CHANGES, EXCLUDED, PAIRS, RATINGS
from annotation.services.transactions import insert_rows
from annotation.services.users import find_user, new_user
from annotation.types import Clock, LeftOutRating, Project, Role, from_quarters
from annotation.wording import LONGEST_NAME, name_key
from db import models
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
    User,
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


def numbered_account(session: Session, project_id: int, project_name: str, number: str) -> User | None:
    """The account that stands for the number in this project, whatever the project was called then.

    It is one whose ratings here came from a file, so that neither another project's account nor a person
    who bears such a name is taken for it. The one named after the project as it is called now goes first.
    """
    imported = (
        exists()
        .where(Assignment.project_id == project_id, Assignment.rater_id == User.id)
        .where(Assignment.state.in_(("rated", EXCLUDED)))
        .where(RatingChange.pair_id == Assignment.pair_id, RatingChange.rater_id == Assignment.rater_id)
        .where(RatingChange.origin == "import")
    )
    usual = name_key(numbered_name(project_name, number))
    found = session.scalars(
        select(User)
        .where(User.name.endswith(f"/{number}"), imported)
        .order_by(User.name_key != usual, User.id)
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
        grades = from_quarters(rating.quarters), from_quarters(kept)
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
        if rating.quarters in (before, aside):
            return False
        if before is not None:
            raise ImportFileError(
                f"{rating.place}: {rating.rater!r} graded the pair {rating.external_id!r} "
                f"{from_quarters(before)} before and {from_quarters(rating.quarters)} here; keep one of them."
            )
        if aside is not None:
            raise ImportFileError(
                f"{rating.place}: {rating.rater!r} graded the pair {rating.external_id!r} "
                f"{from_quarters(aside)}, which was set aside, so others have to grade it; leave the rating "
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
