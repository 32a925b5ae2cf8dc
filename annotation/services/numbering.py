"""The numbers that stand for raters wherever their names are not shown: the same in files and on pages."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from annotation.clock import Clock, utcnow
from annotation.gold import rater_numbers
from annotation.services.keys import KeyService
from annotation.services.projects import find_project
from annotation.services.raters import rater_ids
from annotation.types import Role
from db import Database
from db.errors import UnreachableError
from db.models import Membership, RaterNumber

_PAGE_WAITS = 1.0
"""Seconds: for grades, which are written in a moment, and not for an import."""


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


def numbers_of(session: Session, project_id: int, key: bytes, raters: Iterable[int] = ()) -> dict[int, int]:
    """The numbers of all raters: those they have, or would be given now.

    All who may grade are numbered together, so that numbers do not tell who began first.

    Args:
        session: in which they are read.
        project_id: which project.
        key: `KeyService.raters` of the project.
        raters: others who need one.
    """
    member = Membership.role == Role.RATER.value
    members = session.scalars(select(Membership.user_id).where(Membership.project_id == project_id, member))
    everybody = {*rater_ids(session, project_id), *members, *raters}
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
