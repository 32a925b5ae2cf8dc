"""Pairs that are taken out of a project again, such as those of a wrong import, while nobody has met them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import delete, exists, or_, select
from sqlalchemy.orm import Session

from annotation.clock import Clock, utcnow
from annotation.errors import PairError
from annotation.services.access.users import id_of
from annotation.services.audit import PAIRS_REMOVED, record
from annotation.services.bulk import parts
from annotation.services.named import find_named
from annotation.services.projects import find_project
from annotation.services.rating.desk import BARRED, lock_pairs
from annotation.services.transactions import in_transaction
from annotation.types import User
from db import Database
from db.models import AdjudicationChange, Assignment, LargerItem, Pair, RatingChange, SentPhrase

_MET = {
    "has grades": exists().where(RatingChange.pair_id == Pair.id),
    "was given to a rater": exists().where(Assignment.pair_id == Pair.id, Assignment.state != BARRED),
    "was decided": exists().where(AdjudicationChange.pair_id == Pair.id),
    "was written in this project": exists().where(LargerItem.pair_id == Pair.id),
    "comes from predictions": exists().where(SentPhrase.pair_id == Pair.id),
}
"""Why a pair stays: with it would go what somebody did."""


class PairRemovalService:
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
            PairError: somebody has met a pair, or an id is that of pairs of several types.
        """

        def remove(session: Session, now: datetime) -> int:
            project = find_project(session, project_id, lock=True)
            lock_pairs(session, project.id, is_deleting=True)  # nobody is given one meanwhile
            found = find_named(session, Pair, project.id, ids, type)
            for numbers in parts(found.values()):
                _check_unmet(session, numbers)
            for numbers in parts(found.values()):
                session.execute(delete(Pair).where(Pair.id.in_(numbers)))
            if found:
                record(
                    session, now, PAIRS_REMOVED, user_id=id_of(by), project_id=project.id, pairs=list(found)
                )
            return len(found)

        return in_transaction(self._database, self._clock, remove)


def _check_unmet(session: Session, numbers: Sequence[int]) -> None:
    reasons = [condition.label(f"reason{number}") for number, condition in enumerate(_MET.values())]
    met = select(Pair.external_id, *reasons).where(Pair.id.in_(numbers), or_(*_MET.values()))
    row = session.execute(met.order_by(Pair.import_order).limit(1)).first()
    if row is not None:
        why = next(reason for reason, holds in zip(_MET, row[1:], strict=True) if holds)
        raise PairError(f"The pair {row.external_id!r} {why} and stays: leave it out, or withdraw it.")
