"""Sessions of browsers within a transaction of a service's. A browser has the token, the table its hash."""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import CursorResult, bindparam, delete, select, update
from sqlalchemy.orm import Session

from db.models import User, UserSession

IDLE = timedelta(hours=12)
"""A session ends when its browser has asked for nothing for so long."""

LONGEST_SESSION = timedelta(days=14)
"""After so long a session ends, whatever its browser does."""

RENEWED_AFTER = timedelta(minutes=5)
"""A session is written to at most so often: every request reads it."""

_TOKEN_BYTES = 32
_LONGEST_TOKEN = 200


def new_token() -> str:
    """256 random bits, for a cookie or a link."""
    return secrets.token_urlsafe(_TOKEN_BYTES)


def token_hash(token: str) -> str:
    """What the database keeps of a token: who reads the table cannot sign in with it."""
    return hashlib.sha256(token[:_LONGEST_TOKEN].encode("utf-8", "surrogatepass")).hexdigest()


def start_session(session: Session, user_id: int, now: datetime) -> str:
    """Sign a browser in, and clear away the sessions that have run out."""
    session.execute(delete(UserSession).where(UserSession.expires_at <= now))
    token = new_token()
    session.add(
        UserSession(user_id=user_id, token_hash=token_hash(token), created_at=now, expires_at=now + IDLE)
    )
    return token


# Every request asks this: columns, for whole rows take twice as long to make.
_FIND = (
    select(
        User.id,
        User.name,
        User.is_administrator,
        User.disabled_at,
        User.password_hash,
        UserSession.id.label("session_id"),
        UserSession.created_at,
        UserSession.expires_at,
    )
    .join(User, User.id == UserSession.user_id)
    .where(
        UserSession.token_hash == bindparam("token"),
        UserSession.expires_at > bindparam("now"),
        User.disabled_at.is_(None),
    )
)


def find_session(session: Session, token: str, now: datetime) -> Any | None:
    """Whose session it is, while it runs and its user is not disabled: a row of user and session."""
    return session.connection().execute(_FIND, {"token": token_hash(token), "now": now}).first()


def renewed_until(row: Any, now: datetime) -> datetime | None:
    """When the session ends now that its browser was heard of; None where the table need not know."""
    until = min(now + IDLE, row.created_at + LONGEST_SESSION)
    return until if until - row.expires_at >= RENEWED_AFTER else None


def renew_session(session: Session, session_id: int, until: datetime) -> None:
    """Let a session run on; one that was ended meanwhile stays ended."""
    session.execute(
        update(UserSession)
        .where(UserSession.id == session_id, UserSession.expires_at < until)
        .values(expires_at=until)
    )


def end_session(session: Session, token: str) -> None:
    session.execute(delete(UserSession).where(UserSession.token_hash == token_hash(token)))


def end_sessions_of(session: Session, user_id: int) -> int:
    """Sign out every browser of a user; how many there were."""
    result = session.execute(delete(UserSession).where(UserSession.user_id == user_id))
    return result.rowcount if isinstance(result, CursorResult) else 0
