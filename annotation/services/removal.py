"""Pairs that are taken out of a project again, such as those of a wrong import, while nobody has met them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TypeVar

from sqlalchemy import ColumnElement, and_, delete, exists, or_, select
from sqlalchemy.orm import Session

from annotation.clock import Clock, utcnow
from annotation.errors import NotFoundError, RemovalError
from annotation.names import can_be_stored
from annotation.services.audit import record
from annotation.services.bulk import is_among
from annotation.services.desk import repeated_if_undone
from annotation.services.project_changes import lock_pairs
from annotation.services.projects import find_project
from annotation.services.users import id_of
from annotation.types import User
from db import Database
from db.models import AdjudicationChange, Assignment, LargerItem, Pair, RatingChange, SentPhrase

Value = TypeVar("Value")

_AT_ONCE = 500
"""Ids a statement; SQLite limits the parameters of one."""

_MET = {
    "has grades": exists().where(RatingChange.pair_id == Pair.id),
    "was given to a rater": exists().where(Assignment.pair_id == Pair.id),
    "was decided": exists().where(AdjudicationChange.pair_id == Pair.id),
    "was written in this project": exists().where(LargerItem.pair_id == Pair.id),
    "comes from predictions": exists().where(SentPhrase.pair_id == Pair.id),
}
"""Why a pair stays: with it would go what somebody did."""


class RemovalService:
    """Who is allowed to is for the caller to `require`."""

    def __init__(self, database: Database, clock: Clock = utcnow) -> None:
        self._database = database
        self._clock = clock

    def remove(
        self, project_id: int, ids: Sequence[str], *, type: str | None = None, by: User | None = None
    ) -> int:
        """Take the pairs out of the project, all or none; how many they are.

        A check pair is not among the pairs of its project.

        Raises:
            NotFoundError: there is no such project, or no such pair in it.
            RemovalError: somebody has met a pair, or an id is that of pairs of several types.
        """

        def transaction() -> int:
            with self._database.session() as session:
                return _remove(session, project_id, list(dict.fromkeys(ids)), type, by, self._clock())

        return repeated_if_undone(transaction)


def _remove(
    session: Session, project_id: int, ids: Sequence[str], type: str | None, by: User | None, now: datetime
) -> int:
    project = find_project(session, project_id, lock=True)
    lock_pairs(session, project.id, is_deleting=True)  # nobody is given one meanwhile
    of_type = [] if type is None else [Pair.type == type]
    found: dict[str, int] = {}
    for some in _parts([id for id in ids if can_be_stored(id)]):
        among = and_(Pair.project_id == project.id, is_among(session, Pair.external_id, some), *of_type)
        _check_unmet(session, among)
        for id, pair_id in session.execute(select(Pair.external_id, Pair.id).where(among)):
            if id in found:
                raise RemovalError(f"There are pairs {id!r} of several types: say which type, by --type.")
            found[id] = pair_id
    if missing := next((id for id in ids if id not in found), None):
        with_type = "" if type is None else f" of the type {type}"
        raise NotFoundError(f"There is no pair {missing!r}{with_type} in this project: look at the list.")
    for numbers in _parts(list(found.values())):
        gone = delete(Pair).where(Pair.id.in_(numbers))
        session.execute(gone.execution_options(synchronize_session=False))
    if found:
        record(session, now, "pairs removed", user_id=id_of(by), project_id=project.id, pairs=list(ids))
    return len(found)


def _check_unmet(session: Session, among: ColumnElement[bool]) -> None:
    reasons = [condition.label(f"reason{number}") for number, condition in enumerate(_MET.values())]
    met = select(Pair.external_id, *reasons).where(among, or_(*_MET.values())).order_by(Pair.import_order)
    row = session.execute(met.limit(1)).first()
    if row is not None:
        why = next(reason for reason, holds in zip(_MET, row[1:], strict=True) if holds)
        raise RemovalError(f"The pair {row.external_id!r} {why} and stays: leave it out.")


def _parts(values: Sequence[Value]) -> Iterator[Sequence[Value]]:
    return (values[first : first + _AT_ONCE] for first in range(0, len(values), _AT_ONCE))
