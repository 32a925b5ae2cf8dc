"""How raters stand in a project: pauses, attempts at the training, and checks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from annotation.quality import QualitySettings
from annotation.services.access.roles import is_rater
from annotation.services.access.users import as_user
from annotation.services.raters import rater_ids
from annotation.types import User, to_quarters
from db import models
from db.models import Membership, Pair, RaterState, Rating, TrainingAttempt

FORMER = "no longer a rater"


@dataclass(frozen=True, slots=True)
class Attempt:
    """A finished way through the training pairs."""

    number: int
    pairs: int
    accepted: int
    has_passed: bool
    finished_at: datetime


@dataclass(frozen=True, slots=True)
class Standing:
    """How a rater stands in a project."""

    user: User
    paused_at: datetime | None
    passed_at: datetime | None
    excused_at: datetime | None
    attempts: tuple[Attempt, ...]
    """The first one first."""
    checks: int
    """Check pairs that they graded."""
    accepted_checks: int
    """Those of them whose grade is accepted by the settings of today."""
    is_former: bool = False
    """They are a rater no longer; what they graded still counts."""

    @property
    def work(self) -> str:
        """Whether they can grade, in words."""
        if self.is_former:
            return FORMER
        if self.paused_at is not None:
            return "paused"
        if self.user.is_disabled:
            return "disabled"
        return "at work" if self.user.has_password else "not yet: no password"


def standings_of(
    session: Session, project_id: int, shelf: int | None, settings: QualitySettings
) -> tuple[Standing, ...]:
    """Of the raters, by name, and then of whoever was one and has attempts, grades or check grades.

    Args:
        shelf: the project of the check pairs, where there is one.
    """
    attempts = _attempts(session, project_id)
    checks = {} if shelf is None else _checked(session, shelf, to_quarters(settings.check_distance))
    known = {*attempts, *checks, *rater_ids(session, project_id)}
    users: Any = session.execute(
        select(models.User, RaterState, Membership.user_id)
        .outerjoin(Membership, is_rater(models.User.id, project_id))
        .outerjoin(RaterState, (RaterState.user_id == models.User.id) & (RaterState.project_id == project_id))
        .where(or_(Membership.user_id.is_not(None), models.User.id.in_(known)))
        .order_by(Membership.user_id.is_(None), models.User.name_key)
    )
    return tuple(
        Standing(
            as_user(user),
            state.paused_at if state else None,
            state.passed_at if state else None,
            state.excused_at if state else None,
            tuple(attempts.get(user.id, ())),
            *checks.get(user.id, (0, 0)),
            is_former=member is None,
        )
        for user, state, member in users
    )


def _attempts(session: Session, project_id: int) -> dict[int, list[Attempt]]:
    rows: Iterable[TrainingAttempt] = session.scalars(
        select(TrainingAttempt)
        .where(TrainingAttempt.project_id == project_id, TrainingAttempt.finished_at.is_not(None))
        .order_by(TrainingAttempt.number)
    )
    found: dict[int, list[Attempt]] = {}
    for row in rows:
        assert row.finished_at is not None
        attempt = Attempt(row.number, row.pairs, row.accepted, row.has_passed, row.finished_at)
        found.setdefault(row.user_id, []).append(attempt)
    return found


def _checked(session: Session, shelf: int, distance: int) -> dict[int, tuple[int, int]]:
    """How many check pairs each rater graded, and how many of the grades are accepted."""
    is_near = func.abs(Rating.quarters - Pair.intended_quarters) <= distance
    rows: Any = session.execute(
        select(Rating.rater_id, func.count(), func.count().filter(is_near))
        .join(Pair, Pair.id == Rating.pair_id)
        .where(Rating.project_id == shelf)
        .group_by(Rating.rater_id)
    )
    return {rater: (graded, accepted) for rater, graded, accepted in rows}
