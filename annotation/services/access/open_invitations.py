"""Links that nobody has used yet, within a transaction of a service's: whom they are for, and their end."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, and_, or_, select
from sqlalchemy.orm import Session, aliased

from annotation.errors import NotFoundError
from annotation.numbers import is_id
from annotation.services.access.roles import has_administrator
from annotation.types import Role
from db.models import Invitation, Membership, Project, User

_MAKER, _LEADS = aliased(User), aliased(Membership)
_LEADS_PROJECT = and_(
    _LEADS.user_id == _MAKER.id,
    _LEADS.project_id == Invitation.project_id,
    _LEADS.role == Role.ADMINISTRATOR.value,
)
_SETS_NO_PASSWORD = Invitation.user_id.is_(None)
MAKER_MAY: ColumnElement[bool] = or_(
    Invitation.created_by.is_(None),
    select(_MAKER.id)
    .outerjoin(_LEADS, _LEADS_PROJECT)
    .where(
        _MAKER.id == Invitation.created_by,
        _MAKER.disabled_at.is_(None),
        or_(_MAKER.is_administrator, and_(_SETS_NO_PASSWORD, _LEADS.user_id.is_not(None))),
    )
    .exists(),
)
"""Of a link: it comes from the command line, or whoever made it could make it today."""


@dataclass(frozen=True, slots=True)
class OpenInvitation:
    """A link that can be used; of its token only a hash is kept, so that nobody can look it up."""

    id: int
    is_set_up: bool
    user_name: str | None
    """The account that chooses a password with it; None where it makes one, or is for whoever opens it."""
    project: str | None
    role: Role | None
    created_by: str | None
    """None stands for the command line."""
    note: str
    """For whom its maker means it; empty where they said nothing."""
    created_at: datetime
    expires_at: datetime


def is_open(now: datetime) -> ColumnElement[bool]:
    """Of a link: nobody has used it, it has not ended, and its maker stands behind it."""
    return and_(Invitation.used_at.is_(None), Invitation.expires_at > now, MAKER_MAY)


def can_come_in(now: datetime) -> ColumnElement[bool]:
    """Of a user: they can sign in, now or once they have opened their link."""
    link = select(Invitation.id).where(Invitation.user_id == User.id, is_open(now)).exists()
    return and_(User.disabled_at.is_(None), or_(User.password_hash.is_not(None), link))


def open_invitations(session: Session, now: datetime, project_id: int | None = None) -> list[OpenInvitation]:
    """The newest first, without those of no use: for disabled accounts, for a set-up that is done.

    Args:
        project_id: only those that are for its administrators to see: into the project, and for nobody's
            account, whose password they would set.
    """
    invited, maker = aliased(User), aliased(User)
    statement = (
        select(Invitation, invited.name, Project.name, maker.name)
        .outerjoin(invited, invited.id == Invitation.user_id)
        .outerjoin(Project, Project.id == Invitation.project_id)
        .outerjoin(maker, maker.id == Invitation.created_by)
        .where(is_open(now), invited.disabled_at.is_(None), *_of_project(project_id))
        .order_by(Invitation.created_at.desc(), Invitation.id.desc())
    )
    if has_administrator(session):
        statement = statement.where(~Invitation.is_administrator)
    return [
        OpenInvitation(
            row.id,
            row.is_administrator,
            user_name,
            project,
            None if row.role is None else Role(row.role),
            created_by,
            row.note or "",
            row.created_at,
            row.expires_at,
        )
        for row, user_name, project, created_by in session.execute(statement)
    ]


def take_back(
    session: Session, invitation_id: int, now: datetime, project_id: int | None = None
) -> Invitation:
    """Delete the row of an open link, which lets nobody in any more; its row as it was.

    Args:
        project_id: only if it is for the administrators of this project to see.

    Raises:
        NotFoundError: there is none, or it was used or ended meanwhile.
    """
    statement = select(Invitation).where(
        Invitation.id == invitation_id,
        Invitation.used_at.is_(None),
        Invitation.expires_at > now,
        *_of_project(project_id),
    )
    row = session.scalar(statement.with_for_update()) if is_id(invitation_id) else None
    if row is None:
        raise NotFoundError(f"There is no open link with the number {invitation_id}: see the list of them.")
    session.delete(row)
    return row


def _of_project(project_id: int | None) -> tuple[ColumnElement[bool], ...]:
    return () if project_id is None else (Invitation.project_id == project_id, _SETS_NO_PASSWORD)
