"""Looking at a name and a password: as slow for a name that nobody has, and only so often."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass

from annotation.clock import Clock
from annotation.errors import SignInError
from annotation.names import name_key
from annotation.passwords import Passwords
from annotation.services.access.attempts import Knock, admit, knock_of
from annotation.services.access.users import find_user
from db import Database, models

WRONG = "The name and the password do not fit: check both, or ask your administrator for a new link."


@dataclass(frozen=True, slots=True)
class Admitted:
    """A user who gave the right password."""

    user_id: int
    password_hash: str
    """The one that it was compared with: it may change before the session begins."""
    knock: Knock


class Door:
    def __init__(self, database: Database, clock: Clock, passwords: Passwords) -> None:
        self._database = database
        self._clock = clock
        self._passwords = passwords

    def check(self, name: str, password: str, address: str, mark: str | None = None) -> Admitted:
        """Compare a password with that of an account.

        Args:
            name: as it was typed.
            password: as it was typed.
            address: where the browser is.
            mark: what `browser_mark` gave this browser when it signed in before.

        Raises:
            SignInError: they do not fit, or the account is disabled or has no password; nothing tells which.
            TooManyAttemptsError: the door is closed for a while.
        """
        with self._database.reading() as session:
            user = find_user(session, name)
        knock = knock_of(name_key(name), address, is_known=_is_marked(user, mark))
        with self._database.session() as session:
            admit(session, knock, self._clock())
        password_hash = None if user is None or user.disabled_at is not None else user.password_hash
        # Nothing is open meanwhile: argon2 takes its time on purpose.
        if not self._passwords.fits(password_hash, password) or user is None or password_hash is None:
            raise SignInError(WRONG)
        return Admitted(user.id, password_hash, knock)


def browser_mark(user: models.User) -> str:
    """What a browser keeps to be known again when this user signs in; it lets nobody in.

    It needs no table: its key is the password hash, which never leaves the server, and a new password makes
    all marks void.
    """
    key = (user.password_hash or "").encode()
    return hmac.new(key, f"browser of {user.id}".encode(), hashlib.sha256).hexdigest()


def _is_marked(user: models.User | None, mark: str | None) -> bool:
    if user is None or user.password_hash is None or mark is None:
        return False
    return hmac.compare_digest(browser_mark(user).encode(), mark.encode("utf-8", "replace"))
