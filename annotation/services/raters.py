"""Who has graded in a project, and what accounts are called."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from annotation.services.in_use import of_pair_in_use
from db.models import Rating, User


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
