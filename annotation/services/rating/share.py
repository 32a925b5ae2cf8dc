"""A rater's share of a project: the most pairs that they hold or have graded, where it has such a limit.

Two requests of one rater wait for each other before either counts what is theirs. A request that holds that
lock waits for no pair, so that one may wait for it with the lock of a pair. Who sends the rater away takes it
too, and does wait for pairs (`rater_lock`): PostgreSQL undoes one of two that wait for each other, and it is
repeated.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, func, select
from sqlalchemy.orm import Session

from annotation.services.in_use import of_pair_in_use
from annotation.services.rating.counting import GRADED, HELD
from annotation.services.rating.desk import ASSIGNMENTS, IS_RATER_ROLE, MEMBERSHIPS, PROJECT, RATER, Desk
from annotation.services.rating.returns import return_last_held
from db.models import Project

_RATERS = (
    select(MEMBERSHIPS.c.user_id)
    .where(MEMBERSHIPS.c.project_id == PROJECT, IS_RATER_ROLE)
    .order_by(MEMBERSHIPS.c.user_id)
)
_LOCK_ALL = _RATERS.with_for_update(key_share=True)
_LOCK_ONE = _LOCK_ALL.where(MEMBERSHIPS.c.user_id == RATER)
_MINE = select(GRADED, HELD)


@dataclass(frozen=True, slots=True)
class Share:
    """What a rater has of the pairs that count."""

    most: int
    graded: int
    held: int

    @property
    def left(self) -> int:
        """How many more they may be given; below zero where the limit was lowered."""
        return self.most - self.graded - self.held

    @property
    def is_graded(self) -> bool:
        return self.graded >= self.most


def read_share(connection: Connection, desk: Desk) -> Share | None:
    """The rater's share, which nobody else changes until the transaction ends; None without a limit."""
    if desk.most_per_rater is None:
        return None
    if connection.dialect.name != "sqlite":  # which has the whole database locked already
        connection.execute(_LOCK_ONE, desk.whose).close()
    graded, held = connection.execute(_MINE, desk.whose).one()
    return Share(desk.most_per_rater, graded, held)


def make_room(connection: Connection, desk: Desk) -> bool:
    """Whether one more pair may be the rater's, if need be in place of the one that they were given last."""
    share = read_share(connection, desk)
    return share is None or share.left > 0 or return_last_held(connection, desk) > 0


def read_shares(session: Session, project: Project, *, lock: bool = False) -> dict[int, Share] | None:
    """The share of each rater of the project; None where there is no limit.

    Args:
        lock: nobody else changes them until the transaction ends.
    """
    if project.most_per_rater is None:
        return None
    raters = session.scalars(_LOCK_ALL if lock else _RATERS, {"project": project.id}).all()
    counted = (
        select(ASSIGNMENTS.c.rater_id, ASSIGNMENTS.c.state, func.count())
        .where(
            ASSIGNMENTS.c.project_id == project.id,
            ASSIGNMENTS.c.state.in_(("held", "rated")),
            of_pair_in_use(ASSIGNMENTS.c.pair_id, project.id),
        )
        .group_by(ASSIGNMENTS.c.rater_id, ASSIGNMENTS.c.state)
    )
    theirs = {(rater, state): count for rater, state, count in session.execute(counted)}
    return {
        rater: Share(project.most_per_rater, theirs.get((rater, "rated"), 0), theirs.get((rater, "held"), 0))
        for rater in raters
    }
