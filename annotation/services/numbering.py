"""What raters are called where their names are not shown: numbers, by secrets that the server keeps."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from contextlib import suppress
from hashlib import blake2b

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from annotation.gold import rater_numbers
from annotation.services.project_rows import find_project, of_pair_in_use
from annotation.services.transactions import insert_if_missing
from annotation.types import Clock, Role, utcnow
from db import Database
from db.errors import DamagedError, UnreachableError
from db.models import Membership, RaterNumber, Rating, ServerKey, User


def rater_ids(session: Session, project_id: int) -> list[int]:
    """Everybody who has rated a pair of the project that counts."""
    counts = of_pair_in_use(Rating.pair_id, project_id)
    rated = select(Rating.rater_id).where(Rating.project_id == project_id, counts)
    return list(session.scalars(rated.distinct()))


def names_of(session: Session, user_ids: Sequence[int]) -> dict[int, str]:
    """The names of these accounts, in their order."""
    rows = session.execute(select(User.id, User.name).where(User.id.in_(user_ids)))
    names = {row.id: row.name for row in rows}
    return {id: names[id] for id in user_ids}


_NAMES = ("pairs", "raters")
_BYTES = 32
_PAGE_WAITS = 1.0
"""Seconds: for a write of a moment, such as a grade, and not for an import."""


class KeyService:
    def __init__(self, database: Database, clock: Clock = utcnow) -> None:
        self._database = database
        self._clock = clock

    def make_missing(self) -> None:
        """Make them in advance, so that readers need not wait for a long import.

        Where somebody else writes for long, or nobody can, that is left to whoever first needs one.
        """
        with suppress(UnreachableError, DamagedError), self._database.explain_errors():
            with self._database.reading() as session:
                missing = set(_NAMES) - set(session.scalars(select(ServerKey.name)))
            if missing:
                with self._database.session(wait=_PAGE_WAITS) as session:
                    for name in sorted(missing):
                        self._make(session, name)

    def pairs(self) -> bytes:
        """The key of `PairNames`."""
        return self._key("pairs")

    def raters(self, project_id: int) -> bytes:
        """The key of the numbers of a project's raters."""
        return blake2b(str(project_id).encode(), key=self._key("raters")).digest()

    def _key(self, name: str) -> bytes:
        with self._database.reading() as session:
            row = session.get(ServerKey, name)
            if row is not None:
                return bytes.fromhex(row.value)
        with self._database.session() as session:
            self._make(session, name)
            return bytes.fromhex(session.get_one(ServerKey, name).value)

    def _make(self, session: Session, name: str) -> None:
        """Another process may make it at the same moment."""
        made = {"name": name, "value": secrets.token_hex(_BYTES), "created_at": self._clock()}
        insert_if_missing(session, ServerKey, made)


class NumberService:
    """Gives raters their numbers, when these are first shown or exported."""

    def __init__(self, database: Database, clock: Clock = utcnow) -> None:
        self._database = database
        self._keys = KeyService(database, clock)

    def give(self, project_id: int, raters: Iterable[int], *, wait: float | None = None) -> dict[int, int]:
        """The number of each rater's account, from 1, perhaps with gaps; it never changes.

        Args:
            project_id: which project.
            raters: who needs a number.
            wait: how long to wait for other writers, in seconds; None means as long as any write.

        Raises:
            NotFoundError: there is no such project any more.
            UnreachableError: somebody else writes for too long to give more raters a number.
        """
        needed = set(raters)
        with self._database.reading() as session:
            numbers = given_numbers(session, project_id)
        if needed <= numbers.keys():
            return numbers
        key = self._keys.raters(project_id)
        with self._database.session(wait=wait) as writing:
            find_project(writing, project_id, lock=True)  # two at once give a rater the same number
            before = given_numbers(writing, project_id)
            numbers = numbers_of(writing, project_id, key, needed)
            writing.add_all(
                RaterNumber(project_id=project_id, rater_id=rater, number=number, is_exported=False)
                for rater, number in numbers.items()
                if rater not in before
            )
        return numbers

    def names(self, project_id: int, raters: Iterable[int]) -> tuple[dict[int, str], int]:
        """What a page calls these raters, and how many of them have no number yet.

        A number that could not be written down, as during a long import, is not shown: it might become
        another's.
        """
        needed = list(dict.fromkeys(raters))
        try:
            numbers = self.give(project_id, needed, wait=_PAGE_WAITS)
        except UnreachableError:
            with self._database.reading() as session:
                numbers = given_numbers(session, project_id)
        without = [rater for rater in needed if rater not in numbers]
        names = {rater: f"Rater {number}" for rater, number in numbers.items()}
        names |= {rater: f"Rater without number ({place})" for place, rater in enumerate(without, 1)}
        return names, len(without)


def numbers_of(
    session: Session,
    project_id: int,
    key: bytes,
    raters: Iterable[int] = (),
    *,
    rated: Iterable[int] | None = None,
) -> dict[int, int]:
    """The numbers of all raters: those they have, or would be given now.

    All who may grade are numbered together, so that numbers do not tell who began first.

    Args:
        session: in which they are read.
        project_id: which project.
        key: `KeyService.raters` of the project.
        raters: others who need one.
        rated: `rater_ids`, where they are known: to read them takes a look at each rating.
    """
    if rated is None:
        rated = rater_ids(session, project_id)
    member = Membership.role == Role.RATER.value
    members = session.scalars(select(Membership.user_id).where(Membership.project_id == project_id, member))
    everybody = {*rated, *members, *raters}
    used = session.scalars(select(RaterNumber.number).where(RaterNumber.project_id == project_id))
    return rater_numbers(everybody, key, given_numbers(session, project_id), used)


def given_numbers(session: Session, project_id: int) -> dict[int, int]:
    """The numbers that raters have."""
    rows = session.execute(
        select(RaterNumber.rater_id, RaterNumber.number)
        .where(RaterNumber.project_id == project_id)
        .order_by(RaterNumber.number)
    )
    return {rater: number for rater, number in rows if rater is not None}


def exported_numbers(session: Session, project_id: int) -> dict[int, int | None]:
    """The rater behind each exported number; None where it is nobody's any more."""
    of_files = RaterNumber.project_id == project_id, RaterNumber.is_exported
    return dict(session.execute(select(RaterNumber.number, RaterNumber.rater_id).where(*of_files)).all())


def keep_exported(session: Session, project_id: int, raters: Iterable[int]) -> None:
    """Note that the numbers of these raters were exported."""
    session.execute(
        update(RaterNumber)
        .where(RaterNumber.project_id == project_id, RaterNumber.rater_id.in_(list(raters)))
        .values(is_exported=True)
    )
