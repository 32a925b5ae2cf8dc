"""Ratings that come from files: accounts of their raters, and rows, in the transaction of the import."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from sqlalchemy import (
    ColumnElement,
    Table,
    bindparam,
    exists,
    insert,
    literal_column,
    select,
    update,
)
from sqlalchemy.orm import Session

from annotation.clock import Clock
from annotation.errors import ImportFileError, SettingsError
from annotation.services.bulk import insert_rows
from annotation.services.desk import BARRED
from annotation.services.numbered_raters import (
    exported_number,
    free_name,
    number_in,
    numbered_account,
    numbered_name,
)
from annotation.services.numbering import given_numbers
from annotation.services.tally import TAKES_A_SLOT, refresh_pairs
from annotation.services.users import find_user, new_user
from annotation.types import Project, Role, from_quarters
from db import models
from db.models import Assignment, Membership, Pair, Rating, RatingChange

_PAIRS = cast(Table, Pair.__table__)
_ASSIGNMENTS = cast(Table, Assignment.__table__)
_RATINGS = cast(Table, Rating.__table__)
_HISTORY = cast(Table, RatingChange.__table__)


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


@dataclass(slots=True)
class _Pairs:
    """What there is already of pairs that get more ratings."""

    open_slots: dict[int, int]
    ratings: dict[tuple[int, int], int]
    """Pair and rater: quarters."""
    states: dict[tuple[int, int], str]
    """Pair and rater: of the assignment."""


class RatingWriter:
    """Writes the ratings of one import."""

    def __init__(self, session: Session, project: Project, clock: Clock) -> None:
        self.written = 0
        self.joined: list[str] = []
        """Names of accounts that were there before and became raters of the project."""
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

    def write(self, ratings: Sequence[ImportedRating]) -> dict[int, ImportFileError]:
        """Write the ratings of pairs that have no others; their pairs count them already.

        Returns:
            What is wrong with rows: one rater twice on a pair, or a name that no account can have.
        """
        known: set[tuple[int, int]] = set()
        wrong: dict[int, ImportFileError] = {}
        rows = []
        for rating in ratings:
            with self._told(rating, wrong):
                key = (rating.pair_id, self._account(rating))
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

        Returns:
            Which rows brought a new one, not only such as were there with the same grade. And what is wrong
            with rows: the rater gave another grade, or may not grade the pair, or it has all its raters.
        """
        wrong: dict[int, ImportFileError] = {}
        rows: list[tuple[int, ImportedRating]] = []
        if not ratings:
            return set(), wrong
        pairs = self._pairs(sorted({rating.pair_id for rating in ratings}))
        for rating in ratings:
            with self._told(rating, wrong):
                if self._is_of_export(rating, pairs):
                    continue
                rater_id = self._account(rating)
                if self._is_new(rating, rater_id, pairs):
                    rows.append((rater_id, rating))
        self._insert(rows)
        refresh_pairs(self._session, {rating.pair_id for _, rating in rows})
        return {rating.row for _, rating in rows}, wrong

    @contextmanager
    def _told(self, rating: ImportedRating, wrong: dict[int, ImportFileError]) -> Iterator[None]:
        """Keep what is wrong with the rating for its row; the first of a row is told."""
        try:
            yield
        except ImportFileError as error:
            if not self._session.is_active:  # another import took the name just then
                raise
            wrong.setdefault(rating.row, error)

    def _pairs(self, ids: Sequence[int]) -> _Pairs:
        locked = select(Pair.id, Pair.open_slots).where(Pair.id.in_(ids)).order_by(Pair.id)
        slots = self._session.execute(locked.with_for_update(key_share=True))
        ratings = select(Rating.pair_id, Rating.rater_id, Rating.quarters).where(Rating.pair_id.in_(ids))
        states = select(Assignment.pair_id, Assignment.rater_id, Assignment.state)
        return _Pairs(
            open_slots=dict(slots.all()),
            ratings={(pair, rater): quarters for pair, rater, quarters in self._session.execute(ratings)},
            states={
                (pair, rater): state
                for pair, rater, state in self._session.execute(states.where(Assignment.pair_id.in_(ids)))
            },
        )

    def _is_new(self, rating: ImportedRating, rater_id: int, pairs: _Pairs) -> bool:
        """Whether it is not there yet; the pair has it then.

        Raises:
            ImportFileError: it cannot be added.
        """
        key = (rating.pair_id, rater_id)
        before = pairs.ratings.get(key)
        if before is not None and before != rating.quarters:
            raise ImportFileError(
                f"{rating.place}: {rating.rater!r} graded the pair {rating.external_id!r} "
                f"{from_quarters(before)} before and {from_quarters(rating.quarters)} here; keep one of them."
            )
        if before is not None:
            return False
        if pairs.states.get(key) == BARRED:
            raise ImportFileError(
                f"{rating.place}: {rating.rater!r} wrote the pair {rating.external_id!r} or saw its "
                "requested grade, and others are to grade it; leave the rating out."
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
        known, used = self._given
        if number not in used:
            return False
        exported = next((rater for rater, given in known.items() if given == number), None)
        if pairs.ratings.get((rating.pair_id, exported or 0)) == rating.quarters:
            return True
        own = self._numbered(str(number))
        if own is not None and own.id == exported:
            return False
        if own is not None and pairs.ratings.get((rating.pair_id, own.id)) == rating.quarters:
            return False
        raise ImportFileError(
            f"{rating.place}: {rating.rater!r} is a rater of this project's own gold sets, who did not give "
            f"the pair {rating.external_id!r} this grade; write the rater's name, or {number} alone for one "
            "whom only a file has numbered."
        )

    @cached_property
    def _given(self) -> tuple[dict[int, int], set[int]]:
        return given_numbers(self._session, self._project.id)

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
        self._join(dict.fromkeys(rater_id for rater_id, _ in ratings))
        connection = self._session.connection()
        now = self._clock()  # once the pairs are locked: a decision made meanwhile was made before
        same = {"project_id": self._project.id, "created_at": now, "updated_at": now}
        rows = [
            {**same, "pair_id": rating.pair_id, "rater_id": rater_id, "quarters": rating.quarters}
            for rater_id, rating in ratings
        ]
        insert_rows(self._session, _RATINGS, rows)
        for statement in (_KEEP_HISTORY, _TURN_RATED, _ASSIGN):
            connection.execute(statement, {"ids": list({row["pair_id"] for row in rows}), "now": now})
        self.written += len(rows)

    def _join(self, rater_ids: Iterable[int]) -> None:
        """Make raters of the project of those who are none."""
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

    def _account(self, rating: ImportedRating) -> int:
        """The account of the rater; a new one cannot sign in until it is invited."""
        found = self._accounts.get(rating.rater)
        if found is not None:
            return found
        number = number_in(rating.rater)
        row = find_user(self._session, rating.rater) if number is None else self._numbered(number)
        if row is None:
            row = self._new_account(rating, number)
        elif row.id not in self._made:  # else it is another spelling of a name of this file
            self._names[row.id] = row.name
        self._accounts[rating.rater] = row.id
        return row.id

    def _new_account(self, rating: ImportedRating, number: str | None) -> models.User:
        name = rating.rater if number is None else free_name(self._session, self._project.name, number)
        try:
            row = new_user(self._session, name, self._clock())
        except SettingsError as error:
            raise ImportFileError(f"{rating.place}, rater {rating.rater!r}: {error}") from None
        self._made.add(row.id)
        if number is not None:
            self._numbers[number] = row
        return row

    def _numbered(self, number: str) -> models.User | None:
        """The account of a numbered rater, of this project or of this file; None where there is none yet."""
        if number not in self._numbers:
            project = self._project
            row = numbered_account(self._session, project.id, project.name, number)
            named = find_user(self._session, numbered_name(project.name, number)) if row is None else None
            self._numbers[number] = named if named is not None and named.id in self._made else row
        return self._numbers[number]


_THEIRS = _RATINGS.c.pair_id.in_(bindparam("ids", expanding=True))
_NOW = bindparam("now", type_=_RATINGS.c.created_at.type)
_OF_RATING = (_RATINGS.c.project_id, _RATINGS.c.pair_id, _RATINGS.c.rater_id)


def _has_no(table: Table) -> ColumnElement[bool]:
    """Of a rating: its rater has no row in `table` for the pair. The pairs are locked or new: it stays so."""
    return ~exists().where(table.c.pair_id == _RATINGS.c.pair_id, table.c.rater_id == _RATINGS.c.rater_id)


# Every other rating has its history, so that those without are the ones just inserted.
_KEEP_HISTORY = insert(_HISTORY).from_select(
    ["project_id", "pair_id", "rater_id", "quarters", "origin", "at"],
    select(*_OF_RATING, _RATINGS.c.quarters, literal_column("'import'"), _NOW).where(
        _THEIRS, _has_no(_HISTORY)
    ),
)
_ASSIGN = insert(_ASSIGNMENTS).from_select(
    ["project_id", "pair_id", "rater_id", "state", "position", "claimed_at"],
    select(*_OF_RATING, literal_column("'rated'"), _PAIRS.c.position, _NOW)
    .join(_PAIRS, _PAIRS.c.id == _RATINGS.c.pair_id)
    .where(_THEIRS, _has_no(_ASSIGNMENTS)),
)
_TURN_RATED = (
    update(_ASSIGNMENTS)
    .where(
        _ASSIGNMENTS.c.pair_id.in_(bindparam("ids", expanding=True)),
        _ASSIGNMENTS.c.state != "rated",
        exists().where(
            _RATINGS.c.pair_id == _ASSIGNMENTS.c.pair_id, _RATINGS.c.rater_id == _ASSIGNMENTS.c.rater_id
        ),
    )
    .values(state="rated", lease_expires_at=None)
)
