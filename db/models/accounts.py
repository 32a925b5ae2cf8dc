"""Accounts, sessions, invitations, what was done by whom, and the server's keys."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from db.models.base import ROLES, Base, one_of


class User(Base):
    """An account. Without a password hash it cannot sign in: it was invited, or its ratings were imported."""

    __tablename__ = "users"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(80))
    name_key: Mapped[str] = mapped_column(String(240), unique=True)
    """The name case-folded and NFKC: Ana and ANA are one account."""
    password_hash: Mapped[str | None]
    is_administrator: Mapped[bool] = mapped_column(default=False)
    disabled_at: Mapped[datetime | None]
    created_at: Mapped[datetime]


class UserSession(Base):
    """A browser that is signed in. The cookie holds the token, the table only its SHA-256."""

    __tablename__ = "user_sessions"

    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    token_hash: Mapped[str] = mapped_column(String(64), unique=True)
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime] = mapped_column(index=True)


class AccessToken(Base):
    """With it a program of the user's asks in their name. The table holds only the token's SHA-256."""

    __tablename__ = "access_tokens"

    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    name: Mapped[str] = mapped_column(String(80))
    token_hash: Mapped[str] = mapped_column(String(64), unique=True)
    created_at: Mapped[datetime]
    last_used_at: Mapped[datetime | None]
    """Written down every few minutes, not at each request."""
    expires_at: Mapped[datetime | None]


class SignInAttempt(Base):
    """A try to sign in, written before its password is looked at; many of them close the door for a while.

    The right password deletes those of its name from the same address; the others go once they are old.
    """

    __tablename__ = "sign_in_attempts"

    id: Mapped[int] = mapped_column(primary_key=True)
    name_key: Mapped[str] = mapped_column(String(240))
    address: Mapped[str] = mapped_column(String(80))
    at: Mapped[datetime] = mapped_column(index=True)


class Invitation(Base):
    """A link that lets somebody in, once: to a new account, or to choose the password of one that exists.

    With `is_administrator` it is the set-up link.
    """

    __tablename__ = "invitations"

    id: Mapped[int] = mapped_column(primary_key=True)
    token_hash: Mapped[str] = mapped_column(String(64), unique=True)
    is_administrator: Mapped[bool] = mapped_column(default=False)
    user_id: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    """The account that chooses a password, its first or another one; null for a new account."""
    project_id: Mapped[int | None] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), index=True)
    role: Mapped[str | None] = mapped_column(String(16))
    created_by: Mapped[int | None] = mapped_column(ForeignKey("users.id"))
    note: Mapped[str | None] = mapped_column(String(120))
    """For whom its maker means it, to tell open links apart; it decides nothing."""
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]

    __table_args__ = (one_of("role", *ROLES),)


class ServerKey(Base):
    """A secret of this server, made when the database is opened or, failing that, first needed."""

    __tablename__ = "server_keys"

    name: Mapped[str] = mapped_column(String(40), primary_key=True)
    value: Mapped[str] = mapped_column(String(64))
    """Of 32 random bytes, in hexadecimal."""
    created_at: Mapped[datetime]


class AuditEvent(Base):
    """Who did what: accounts, roles, settings, imports, exports. Append-only: a trigger refuses changes."""

    __tablename__ = "audit_events"

    id: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[datetime] = mapped_column(index=True)
    user_id: Mapped[int | None] = mapped_column(ForeignKey("users.id"))
    """Null for the command line."""
    project_id: Mapped[int | None] = mapped_column(ForeignKey("projects.id", ondelete="SET NULL"), index=True)
    action: Mapped[str] = mapped_column(String(40))
    detail: Mapped[dict[str, Any]]
