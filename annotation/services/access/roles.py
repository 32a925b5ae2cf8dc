"""Who holds which role, within a transaction of a service's."""

from __future__ import annotations

from sqlalchemy import ColumnElement, SQLColumnExpression, and_, exists, select
from sqlalchemy.orm import Session

from annotation.errors import SettingsError
from annotation.types import Role
from db.models import Membership, Project, RaterState, User

_ADMINISTERS = (User.is_administrator, User.disabled_at.is_(None), User.password_hash.is_not(None))
_ADMINISTRATORS = select(User).where(*_ADMINISTERS).order_by(User.id)


def roles_of(session: Session, user_id: int, project_id: int) -> frozenset[Role]:
    """The roles of a user in a project."""
    held = select(Membership.role).where(Membership.user_id == user_id, Membership.project_id == project_id)
    return frozenset(Role(role) for role in session.scalars(held))


def is_rater(
    user_id: SQLColumnExpression[int] | SQLColumnExpression[int | None], project_id: int
) -> ColumnElement[bool]:
    """Of a row of memberships: it makes the user in the column a rater of the project."""
    return and_(
        Membership.user_id == user_id,
        Membership.project_id == project_id,
        Membership.role == Role.RATER.value,
    )


def is_paused(user_id: SQLColumnExpression[int], project_id: int) -> ColumnElement[bool]:
    """The user in the column is paused as a rater of the project."""
    return exists().where(
        RaterState.user_id == user_id,
        RaterState.project_id == project_id,
        RaterState.paused_at.is_not(None),
    )


def roles_by_user(session: Session) -> dict[int, list[tuple[str, Role]]]:
    """Project and role, of every user who has one, in the order of projects."""
    rows = session.execute(
        select(Membership.user_id, Project.name, Membership.role)
        .join(Project, Project.id == Membership.project_id)
        .order_by(Project.name_key, Membership.role)
    )
    found: dict[int, list[tuple[str, Role]]] = {}
    for user_id, project, role in rows:
        found.setdefault(user_id, []).append((project, Role(role)))
    return found


def has_administrator(session: Session) -> bool:
    """Whether the server has an administrator who can sign in."""
    return session.scalar(select(User.id).where(*_ADMINISTERS).limit(1)) is not None


def lock_administrators(session: Session) -> list[User]:
    """The administrators of the server who can sign in; nobody else changes who they are meanwhile."""
    statement = _ADMINISTRATORS.with_for_update().execution_options(populate_existing=True)
    return list(session.scalars(statement))


def check_not_the_last(session: Session, user: User, deed: str) -> None:
    """Keep somebody who can administer, until the transaction ends.

    Raises:
        SettingsError: the user is the last administrator who can sign in.
    """
    if [row.id for row in lock_administrators(session)] == [user.id]:
        raise SettingsError(
            f"{user.name} is the last administrator and cannot be {deed}: "
            "make somebody else administrator first."
        )
