"""Imported ratings of raters whose grades were set aside: what is known stays aside, and no more come."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import and_, select
from sqlalchemy.orm import Session

from annotation.errors import ImportFileError
from annotation.types import from_quarters
from db.models import RaterState, SetAside

if TYPE_CHECKING:
    from annotation.services.imports.ratings import ImportedRating


def raters_sent_away(session: Session, project_id: int) -> frozenset[int]:
    """Whose grades are set aside, and who are still paused."""
    here = and_(RaterState.project_id == SetAside.project_id, RaterState.user_id == SetAside.rater_id)
    paused = (
        select(SetAside.rater_id)
        .join(RaterState, here)
        .where(SetAside.project_id == project_id, RaterState.paused_at.is_not(None))
    )
    return frozenset(session.scalars(paused))


def is_known_set_aside(rating: ImportedRating, before: int | None) -> bool:
    """Whether the rating is there already, set aside.

    Args:
        before: what the rater gave the pair, where that was set aside.

    Raises:
        ImportFileError: it was another grade.
    """
    if before is None or before == rating.quarters:
        return before is not None
    raise ImportFileError(
        f"{rating.place}: {rating.rater!r} graded the pair {rating.external_id!r} {from_quarters(before)}, "
        "which was set aside, and others are to grade it; leave the rating out."
    )


def sent_away(rating: ImportedRating) -> ImportFileError:
    """Why no more grades of the rater are imported."""
    return ImportFileError(
        f"{rating.place}: the grades of {rating.rater!r} are set aside in this project; leave the rating "
        "out, or let the rater go on first."
    )
