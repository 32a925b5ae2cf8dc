"""Signing in and out, and changing one's own password."""

from __future__ import annotations

import hashlib
import hmac
from contextlib import suppress
from dataclasses import dataclass

from annotation.clock import Clock, utcnow
from annotation.errors import SignedOutError, SignInError
from annotation.names import name_key
from annotation.passwords import Passwords, check_password
from annotation.services.access import attempts, sessions
from annotation.services.access.users import as_user, end_invitations_of, find_user, get_user, lock_user
from annotation.services.audit import record
from annotation.types import User
from db import Database, models
from db.errors import UnreachableError

NOT_SIGNED_IN = "You are not signed in: sign in and try again."
WRONG = "The name and the password do not fit: check both, or ask your administrator for a new link."


@dataclass(frozen=True, slots=True)
class _Admitted:
    """A user who gave the right password."""

    user_id: int
    password_hash: str
    """The one that it was compared with: it may change before the session begins."""
    knock: attempts.Knock


class SignInService:
    """Who is signed in, by the token that their browser keeps."""

    def __init__(
        self, database: Database, *, clock: Clock = utcnow, passwords: Passwords | None = None
    ) -> None:
        self._database = database
        self._clock = clock
        self._passwords = passwords or Passwords()

    def sign_in(self, name: str, password: str, address: str, mark: str | None = None) -> str:
        """The token of a new session.

        Args:
            name: as it was typed.
            password: as it was typed.
            address: where the browser is.
            mark: the browser's, from `browser_mark`, if it signed in before.

        Raises:
            SignInError: they do not fit, or the account is disabled or has no password; nothing tells which.
            TooManyAttemptsError: the door is closed for a while.
        """
        admitted = self._admitted(name, password, address, mark)
        renewed = None
        if self._passwords.is_outdated(admitted.password_hash):
            renewed = self._passwords.hash(password)
        with self._database.session() as session:
            user = lock_user(session, admitted.user_id)
            if user.disabled_at is not None or user.password_hash != admitted.password_hash:
                raise SignInError(WRONG)  # changed while argon2 was at work
            user.password_hash = renewed or user.password_hash
            attempts.forget(session, admitted.knock)
            return sessions.start_session(session, user.id, self._clock())

    def browser_mark(self, name: str) -> str:
        """What a browser that signed in keeps, so that strangers' attempts cannot shut it out."""
        with self._database.reading() as session:
            return _mark_of(get_user(session, name))

    def user_of(self, token: str) -> User | None:
        """Who is signed in with that token; a session in use runs on."""
        now = self._clock()
        with self._database.single_read() as session:
            found = sessions.find_session(session, token, now)
            if found is None:
                return None
        until = sessions.renewed_until(found, now)
        if until is not None:
            # A long import may hold the only writer; then the next request tries again.
            with suppress(UnreachableError), self._database.session(wait=0) as session:
                sessions.renew_session(session, found.session_id, until)
        return as_user(found)

    def sign_out(self, token: str) -> None:
        with self._database.session() as session:
            sessions.end_session(session, token)

    def sign_out_everywhere(self, name: str) -> None:
        """End all sessions of an account."""
        with self._database.session() as session:
            user = get_user(session, name)
            ended = sessions.end_sessions_of(session, user.id)
            record(session, self._clock(), "signed out everywhere", user_id=user.id, sessions=ended)

    def change_password(self, token: str, current: str, new: str) -> str:
        """Give oneself another password: all browsers are signed out, and the token is for the present one.

        Raises:
            SignedOutError: the token is of no session.
            SignInError: the current password is another.
            SettingsError: the new one is too easy.
        """
        user = self.user_of(token)
        if user is None:
            raise SignedOutError(NOT_SIGNED_IN)
        check_password(new, user.name)
        with self._database.reading() as session:
            mark = _mark_of(get_user(session, user.name))
        admitted = self._admitted(user.name, current, "", mark)
        password_hash = self._passwords.hash(new)
        now = self._clock()
        with self._database.session() as session:
            end_invitations_of(session, user.id)
            row = lock_user(session, user.id)
            if row.disabled_at is not None or row.password_hash != admitted.password_hash:
                raise SignedOutError(NOT_SIGNED_IN)
            row.password_hash = password_hash
            attempts.forget(session, admitted.knock)
            sessions.end_sessions_of(session, row.id)
            record(session, now, "password changed", user_id=row.id)
            return sessions.start_session(session, row.id, now)

    def _admitted(self, name: str, password: str, address: str, mark: str | None) -> _Admitted:
        """Whose password it is, as slow for a name that nobody has; the errors are those of `sign_in`."""
        with self._database.reading() as session:
            user = find_user(session, name)
        knock = attempts.knock_of(name_key(name), address, is_known=_is_marked(user, mark))
        with self._database.session() as session:
            attempts.admit(session, knock, self._clock())
        password_hash = None if user is None or user.disabled_at is not None else user.password_hash
        # Nothing is open meanwhile: argon2 takes its time on purpose.
        if not self._passwords.fits(password_hash, password) or user is None or password_hash is None:
            raise SignInError(WRONG)
        return _Admitted(user.id, password_hash, knock)


def _mark_of(user: models.User) -> str:
    """What a browser keeps to be known again when this user signs in; it lets nobody in.

    It needs no table: its key is the password hash, which never leaves the server, and a new password makes
    all marks void.
    """
    key = (user.password_hash or "").encode()
    return hmac.new(key, f"browser of {user.id}".encode(), hashlib.sha256).hexdigest()


def _is_marked(user: models.User | None, mark: str | None) -> bool:
    if user is None or user.password_hash is None or mark is None:
        return False
    return hmac.compare_digest(_mark_of(user).encode(), mark.encode("utf-8", "replace"))
