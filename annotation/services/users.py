"""Users within a transaction of a service's: their rows, roles, open invitations and consents."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from sqlalchemy import (
    ColumnElement,
    SQLColumnExpression,
    Table,
    and_,
    delete,
    exists,
    literal,
    literal_column,
    or_,
    select,
)
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, aliased

from annotation.consent import Consent
from annotation.errors import ConsentError, NotFoundError, SettingsError
from annotation.translation import _
from annotation.types import Role, User
from annotation.wording import can_be_name, check_name, is_id, name_key
from db import models
from db.models import Invitation, Membership, Project, RaterState
from db.models import User as UserRow
from kpdemo.text import shorten


def find_user(session: Session, name: str, *, lock: bool = False) -> models.User | None:
    """The row of the account of that name, however it is written."""
    if not can_be_name(name):
        return None
    key = name_key(name)
    statement = select(models.User).where(models.User.name_key == key)
    if lock:
        statement = statement.with_for_update().execution_options(populate_existing=True)
    return session.scalar(statement)


def get_user(session: Session, name: str, *, lock: bool = False) -> models.User:
    """The row of the account of that name.

    Raises:
        NotFoundError: there is none.
    """
    row = find_user(session, name, lock=lock)
    if row is None:
        told = repr(shorten(name, 100))
        raise NotFoundError(_("There is no account named {name}: see the list of accounts.", name=told))
    return row


def lock_user(session: Session, user_id: int) -> models.User:
    """The row of an account, whose password and state nobody else changes until the transaction ends.

    An import of the account's grades, which refers to the row until it ends, is not waited for.
    """
    return session.get_one(models.User, user_id, with_for_update={"key_share": True}, populate_existing=True)


def new_user(
    session: Session,
    name: str,
    now: datetime,
    *,
    is_administrator: bool = False,
    password_hash: str | None = None,
) -> models.User:
    """The row of a new account, flushed so that it has its id.

    Raises:
        SettingsError: the name cannot be used, or is taken.
    """
    kept = check_name(name)
    if find_user(session, kept) is not None:
        raise name_is_taken(kept)
    row = models.User(
        name=kept,
        name_key=name_key(kept),
        is_administrator=is_administrator,
        password_hash=password_hash,
        created_at=now,
    )
    session.add(row)
    flush_name(session, kept)
    return row


def flush_name(session: Session, name: str) -> None:
    """Write the row of an account with this name, of which another one may have it, or take it at once.

    Raises:
        SettingsError: the name is taken.
    """
    try:
        session.flush()
    except IntegrityError:
        raise name_is_taken(name) from None


def spoken_language(session: Session, user_id: int, project_id: int | None) -> str:
    """The language of the project, else the one of all projects in which the user rates; empty for none."""
    if project_id is not None:
        row = session.get(Project, project_id)
        return "" if row is None else row.language
    of_user = Membership.user_id == user_id, Membership.role == Role.RATER.value
    joined = select(Project.language).join(Membership, Membership.project_id == Project.id).where(*of_user)
    found = session.scalars(joined.distinct().limit(2)).all()
    return found[0] if len(found) == 1 else ""


def name_is_taken(name: str) -> SettingsError:
    return SettingsError(_("An account named {name} already exists: choose another name.", name=repr(name)))


def as_user(row: Any) -> User:
    """From a row with the columns of a user."""
    return User(
        id=row.id,
        name=row.name,
        is_administrator=row.is_administrator,
        is_disabled=row.disabled_at is not None,
        has_password=row.password_hash is not None,
        created_at=row.created_at,
    )


def id_of(user: User | None) -> int | None:
    """Who does it, as the audit keeps it; None is the command line."""
    return None if user is None else user.id


def end_invitations_of(session: Session, user_id: int) -> None:
    """Make void the unused links that would give an account another password.

    Before the account is locked: who uses a link locks this first, and would be waited for in a circle.
    """
    unused = models.Invitation.used_at.is_(None)
    session.execute(delete(models.Invitation).where(models.Invitation.user_id == user_id, unused))


_ADMINISTERS = (UserRow.is_administrator, UserRow.disabled_at.is_(None), UserRow.password_hash.is_not(None))
_ADMINISTRATORS = select(UserRow).where(*_ADMINISTERS).order_by(UserRow.id)


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
    return session.scalar(select(UserRow.id).where(*_ADMINISTERS).limit(1)) is not None


def lock_administrators(session: Session) -> list[UserRow]:
    """The administrators of the server who can sign in; nobody else changes who they are meanwhile."""
    statement = _ADMINISTRATORS.with_for_update().execution_options(populate_existing=True)
    return list(session.scalars(statement))


def check_not_the_last(session: Session, user: UserRow, refusal: str) -> None:
    """Keep somebody who can administer, until the transaction ends.

    Args:
        refusal: a marked message with a place for the {name}.

    Raises:
        SettingsError: the user is the last administrator who can sign in.
    """
    if [row.id for row in lock_administrators(session)] == [user.id]:
        raise SettingsError(_(refusal, name=user.name))


_MAKER, _LEADS = aliased(UserRow), aliased(Membership)


def maker_may(
    created_by: SQLColumnExpression[int | None],
    project_id: SQLColumnExpression[int] | SQLColumnExpression[int | None],
    also: ColumnElement[bool] | None = None,
) -> ColumnElement[bool]:
    """Of a row of links: nobody made it, or who did administers the server or leads the project today.

    Args:
        also: what has to be true of links that leads make.
    """
    leads_project = and_(
        _LEADS.user_id == _MAKER.id,
        _LEADS.project_id == project_id,
        _LEADS.role == Role.ADMINISTRATOR.value,
    )
    leads = _LEADS.user_id.is_not(None)
    return or_(
        created_by.is_(None),
        select(_MAKER.id)
        .outerjoin(_LEADS, leads_project)
        .where(
            _MAKER.id == created_by,
            _MAKER.disabled_at.is_(None),
            or_(_MAKER.is_administrator, leads if also is None else and_(also, leads)),
        )
        .exists(),
    )


_SETS_NO_PASSWORD = Invitation.user_id.is_(None)
MAKER_MAY: ColumnElement[bool] = maker_may(Invitation.created_by, Invitation.project_id, _SETS_NO_PASSWORD)
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
    link = select(Invitation.id).where(Invitation.user_id == UserRow.id, is_open(now)).exists()
    return and_(UserRow.disabled_at.is_(None), or_(UserRow.password_hash.is_not(None), link))


def open_invitations(session: Session, now: datetime, project_id: int | None = None) -> list[OpenInvitation]:
    """The newest first, without those of no use: for disabled accounts, for a set-up that is done.

    Args:
        project_id: only those that are for its administrators to see: into the project, and for nobody's
            account, whose password they would set.
    """
    invited, maker = aliased(UserRow), aliased(UserRow)
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
        raise NotFoundError(
            _("There is no open link with the number {number}: see the list of them.", number=invitation_id)
        )
    session.delete(row)
    return row


def _of_project(project_id: int | None) -> tuple[ColumnElement[bool], ...]:
    return () if project_id is None else (Invitation.project_id == project_id, _SETS_NO_PASSWORD)


PROJECTS = cast(Table, models.Project.__table__)
CONSENTS = cast(Table, models.Consent.__table__)


def lacks_consent(user: SQLColumnExpression[int]) -> ColumnElement[bool]:
    """Of a row of projects: it has a text that the user has not agreed to as it reads now."""
    agreed = (
        select(literal_column("1"))
        .select_from(CONSENTS)
        .where(
            CONSENTS.c.project_id == PROJECTS.c.id,
            CONSENTS.c.user_id == user,
            CONSENTS.c.text_sha256 == PROJECTS.c.consent_sha256,
        )
        .correlate_except(CONSENTS)
        .exists()
    )
    return and_(PROJECTS.c.consent_sha256.is_not(None), ~agreed)


def agreed_before(user: SQLColumnExpression[int]) -> ColumnElement[bool]:
    """Of a row of projects: the user agreed to an earlier text, and has to agree to the one there is now."""
    before = (
        select(literal_column("1"))
        .select_from(CONSENTS)
        .where(CONSENTS.c.project_id == PROJECTS.c.id, CONSENTS.c.user_id == user)
        .correlate_except(CONSENTS)
        .exists()
    )
    return and_(lacks_consent(user), before)


def consent_lacking(project_name: str) -> str:
    """The sentence for whoever has not agreed."""
    return (
        f"{project_name} has a text to agree to before you go on, and you have not agreed to it as it reads "
        "now: open its page Rate or Write and read it."
    )


def check_consent(session: Session, project_id: int, user_id: int) -> None:
    """Refuse work to whoever has not agreed, at this moment of the transaction.

    Raises:
        ConsentError: the project has a text that they have not agreed to as it reads now.
    """
    asked = select(PROJECTS.c.name).where(PROJECTS.c.id == project_id, lacks_consent(literal(user_id)))
    name = session.scalar(asked)
    if name is not None:
        raise ConsentError(consent_lacking(name))


def consents_of(session: Session, project: models.Project) -> dict[int, Consent]:
    """By user: that they agreed to the text as it reads now, else to which one they agreed last."""
    rows = session.execute(
        select(CONSENTS.c.user_id, CONSENTS.c.at, CONSENTS.c.text_sha256)
        .where(CONSENTS.c.project_id == project.id)
        .order_by(CONSENTS.c.text_sha256 == (project.consent_sha256 or ""), CONSENTS.c.at, CONSENTS.c.id)
    )
    return {user: Consent(at, digest, digest == project.consent_sha256) for user, at, digest in rows}
