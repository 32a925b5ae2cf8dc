"""Access tokens: with one of them a program asks in the name of its owner, and may do what they may."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, delete, func, or_, select, update
from sqlalchemy.orm import Session

from annotation.errors import NotFoundError, SettingsError
from annotation.services.audit import record
from annotation.services.sign_in import new_token, token_hash
from annotation.services.users import as_user, get_user, id_of, lock_user
from annotation.translation import _
from annotation.types import Clock, User, utcnow
from annotation.wording import check_name, is_id
from db import Database
from db.errors import UnreachableError
from db.models import AccessToken
from db.models import User as UserRow

MARK = "kpdemo_"
"""Begins every token, so that programs that look for secrets in files know one."""
MOST_OF_USER = 20
LONGEST_DAYS = 3650
_NOTED_AFTER = timedelta(minutes=5)
"""The last use is written down at most so often: every request reads the token."""


@dataclass(frozen=True, slots=True)
class Token:
    """What is known of a token; the token itself nobody knows but who was shown it."""

    id: int
    name: str
    created_at: datetime
    last_used_at: datetime | None
    """To five minutes; None for never."""
    expires_at: datetime | None
    """None for never."""


class TokenService:
    """Makes, lists and revokes tokens, and knows whose one is.

    The argument `by` is who does it, for the audit; without one it is the command line.
    """

    def __init__(self, database: Database, clock: Clock = utcnow) -> None:
        self._database = database
        self._clock = clock

    def make(self, user_name: str, name: str, days: int | None = None, *, by: User | None = None) -> str:
        """A new token of the account, which cannot be shown again.

        Args:
            user_name: whose.
            name: what it is for.
            days: after so many it ends, 1 to 3650; None for never.

        Raises:
            NotFoundError: there is no such account.
            SettingsError: the account is disabled or has 20 tokens, or name or days cannot be used.
        """
        kept = check_name(name)
        if days is not None and not 1 <= days <= LONGEST_DAYS:
            raise SettingsError(
                _(
                    "A token ends after 1 to {most} days, not {days}.",
                    most=f"{LONGEST_DAYS:,}",
                    days=days,
                )
            )
        token = MARK + new_token()
        with self._database.session() as session:
            user = lock_user(session, get_user(session, user_name).id)
            now = self._clock()
            if user.disabled_at is not None:
                raise SettingsError(_("{name} is disabled: enable the account first.", name=user.name))
            session.execute(delete(AccessToken).where(AccessToken.user_id == user.id, ~_runs(now)))
            count = select(func.count()).where(AccessToken.user_id == user.id)
            if (session.scalar(count) or 0) >= MOST_OF_USER:
                raise SettingsError(
                    _(
                        "{name} has {most} tokens: revoke one that is not needed.",
                        name=user.name,
                        most=MOST_OF_USER,
                    )
                )
            expires_at = None if days is None else now + timedelta(days=days)
            session.add(
                AccessToken(
                    user_id=user.id,
                    name=kept,
                    token_hash=token_hash(token),
                    created_at=now,
                    expires_at=expires_at,
                )
            )
            record(session, now, "token made", user_id=id_of(by), name=user.name, token=kept, days=days)
        return token

    def tokens(self, user_name: str) -> list[Token]:
        """Those of an account that have not ended, the oldest first.

        Raises:
            NotFoundError: there is no such account.
        """
        with self._database.reading() as session:
            user = get_user(session, user_name)
            rows = session.scalars(
                select(AccessToken)
                .where(AccessToken.user_id == user.id, _runs(self._clock()))
                .order_by(AccessToken.id)
            )
            return [Token(row.id, row.name, row.created_at, row.last_used_at, row.expires_at) for row in rows]

    def revoke(self, user_name: str, token_id: int, *, by: User | None = None) -> str:
        """End a token at once; its name.

        Raises:
            NotFoundError: the account has no such token.
        """
        with self._database.session() as session:
            user = get_user(session, user_name)
            row = session.get(AccessToken, token_id) if is_id(token_id) else None
            if row is None or row.user_id != user.id:
                raise NotFoundError(
                    _(
                        "{name} has no token {number}: see the list of tokens.",
                        name=user.name,
                        number=token_id,
                    )
                )
            session.delete(row)
            record(session, self._clock(), "token revoked", user_id=id_of(by), name=user.name, token=row.name)
            return row.name

    def user_of(self, token: str) -> User | None:
        """Whose token it is, while it runs and its owner is not disabled."""
        if not token.startswith(MARK):
            return None
        now = self._clock()
        with self._database.single_read() as connection:
            found = connection.execute(
                select(*UserRow.__table__.c, AccessToken.id.label("token_id"), AccessToken.last_used_at)
                .join(AccessToken, AccessToken.user_id == UserRow.id)
                .where(AccessToken.token_hash == token_hash(token), _runs(now), UserRow.disabled_at.is_(None))
            ).one_or_none()
        if found is None:
            return None
        if found.last_used_at is None or now - found.last_used_at >= _NOTED_AFTER:
            # A long import may hold the only writer; then a later request tries again.
            with suppress(UnreachableError), self._database.session(wait=0) as session:
                session.execute(
                    update(AccessToken).where(AccessToken.id == found.token_id).values(last_used_at=now)
                )
        return as_user(found)


def end_tokens_of(session: Session, user_id: int) -> None:
    """Revoke every token of an account."""
    session.execute(delete(AccessToken).where(AccessToken.user_id == user_id))


def _runs(now: datetime) -> ColumnElement[bool]:
    return or_(AccessToken.expires_at.is_(None), AccessToken.expires_at > now)
