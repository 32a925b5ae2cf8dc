"""Raters who are being sent away: none of their claims comes between, and none under way is overlooked.

On PostgreSQL a claim shares the lock of the rater's membership, and gets nothing while somebody has it alone:
whoever pauses, removes or disables the rater, or takes back what they hold. A claim of a check pair does not:
one under way is overlooked, and its pair stays held, which keeps it from nobody else.
"""

from __future__ import annotations

from typing import cast

from sqlalchemy import Connection, Table, and_, exists, literal_column, select

from annotation.services.consent_rows import lacks_consent
from annotation.services.rating.desk import IS_RATER_ROLE, MEMBERSHIPS, PROJECT, PROJECTS, RATER, STATES
from db.models import User

_USERS = cast(Table, User.__table__)
_RATES = and_(MEMBERSHIPS.c.user_id == RATER, IS_RATER_ROLE)
_IS_PAUSED = exists(
    select(literal_column("1"))
    .select_from(STATES)
    .where(STATES.c.project_id == PROJECT, STATES.c.user_id == RATER, STATES.c.paused_at.is_not(None))
)
# Here too, for a claim may have waited long since the desk was opened.
_LACKS_CONSENT = exists(
    select(literal_column("1")).select_from(PROJECTS).where(PROJECTS.c.id == PROJECT, lacks_consent(RATER))
)

AT_WORK = (
    select(MEMBERSHIPS.c.user_id)
    .join(_USERS, _USERS.c.id == MEMBERSHIPS.c.user_id)
    .where(_RATES, MEMBERSHIPS.c.project_id == PROJECT, _USERS.c.disabled_at.is_(None))
    .where(~_IS_PAUSED, ~_LACKS_CONSENT)
    .with_for_update(of=(MEMBERSHIPS, _USERS), read=True, key_share=True, skip_locked=True)
)
"""One row for a rater who may be given pairs, who stays one until the transaction ends; for others none."""

_LOCK = select(MEMBERSHIPS.c.project_id).where(_RATES).order_by(MEMBERSHIPS.c.project_id).with_for_update()
_LOCK_HERE = _LOCK.where(MEMBERSHIPS.c.project_id == PROJECT)


def keep_from_claiming(connection: Connection, rater_id: int, project_id: int | None = None) -> None:
    """Wait for the rater's claims that are under way, and let none begin until this transaction ends.

    Args:
        project_id: where; None for everywhere.
    """
    if project_id is None:
        connection.execute(_LOCK, {"rater": rater_id}).close()
    else:
        connection.execute(_LOCK_HERE, {"rater": rater_id, "project": project_id}).close()
