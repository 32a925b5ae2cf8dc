"""Rows of users within a transaction of a service's: finding, adding, turning into plain values."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import delete, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from annotation.characters import shortened
from annotation.errors import NotFoundError, SettingsError
from annotation.names import can_be_name, check_name, name_key
from annotation.types import User
from db import models


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
        raise NotFoundError(f"There is no account named {shortened(name, 100)!r}: see the list of accounts.")
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


def name_is_taken(name: str) -> SettingsError:
    return SettingsError(f"An account named {name!r} already exists: choose another name.")


def as_user(row: models.User) -> User:
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
