"""Signing in and out: limited attempts, sessions of browsers, and changing one's own password.

An attempt is written down before its password is looked at.
Three limits over a quarter of an hour. The narrow one, a name from one address, stops a guesser. The two wide
ones stop a guesser with many names, or many addresses. The wide ones could be used to shut somebody out, so
they do not hold for a browser in which that user had signed in before; it is counted by itself. A refused
attempt is not counted: the limit ends by itself, also while somebody keeps trying.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import math
import secrets
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, CursorResult, bindparam, delete, func, select, update
from sqlalchemy.orm import Session

from annotation.errors import SignedOutError, SignInError, TooManyAttemptsError
from annotation.passwords import Passwords, check_password
from annotation.services.audit import record
from annotation.services.users import (
    as_user,
    end_invitations_of,
    find_user,
    get_user,
    lock_user,
    spoken_language,
)
from annotation.translation import _, mark
from annotation.types import Clock, Role, User, utcnow
from annotation.wording import name_key
from db import Database, models
from db.errors import UnreachableError
from db.models import Membership, SignInAttempt, UserSession
from db.models import User as UserRow

WINDOW = timedelta(minutes=15)
PER_NAME_AND_ADDRESS = 5
PER_ADDRESS = 60
"""A class behind one router has one address."""
PER_NAME = 40

KNOWN_BROWSER = "known browser"
_LOCK_NUMBER = 7_860_003
_IPV6_HOME = 64
_MINUTE = 60


@dataclass(frozen=True, slots=True)
class Attempt:
    """Who wants to come in, from where."""

    name_key: str
    address: str

    @property
    def is_known(self) -> bool:
        return self.address == KNOWN_BROWSER


def attempt_of(key: str, address: str, *, is_known: bool = False) -> Attempt:
    """The attempt as it is counted; neither long nor odd names and addresses reach the table."""
    plain = (
        key
        if key.isprintable() and len(key) <= 80
        else hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()
    )
    return Attempt(plain, KNOWN_BROWSER if is_known else address_key(address))


def address_key(address: str) -> str:
    """The address, or the network of an IPv6 home: one reader has 2⁶⁴ of those."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return hashlib.sha256(address.encode("utf-8", "replace")).hexdigest()
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, _IPV6_HOME), strict=False))


def admit(session: Session, attempt: Attempt, now: datetime) -> None:
    """Count an attempt, or refuse it.

    Raises:
        TooManyAttemptsError: no more attempts are allowed for a while.
    """
    if session.get_bind().dialect.name == "postgresql":  # two attempts at once must not both be the last
        session.execute(select(func.pg_advisory_xact_lock(_LOCK_NUMBER)))
    session.execute(delete(SignInAttempt).where(SignInAttempt.at <= now - WINDOW))
    waits = [_wait(session, limit, now, *which) for limit, which in _limits(attempt)]
    if any(waits):
        raise TooManyAttemptsError(math.ceil(max(waits) / _MINUTE))
    session.add(SignInAttempt(name_key=attempt.name_key, address=attempt.address, at=now))


def forget(session: Session, attempt: Attempt) -> None:
    """The right password was given: what was mistyped before does not count."""
    session.execute(
        delete(SignInAttempt).where(
            SignInAttempt.name_key == attempt.name_key, SignInAttempt.address == attempt.address
        )
    )


def _limits(attempt: Attempt) -> list[tuple[int, tuple[ColumnElement[bool], ...]]]:
    name, address = SignInAttempt.name_key == attempt.name_key, SignInAttempt.address == attempt.address
    narrow: tuple[int, tuple[ColumnElement[bool], ...]] = (PER_NAME_AND_ADDRESS, (name, address))
    if attempt.is_known:
        return [narrow]
    strange = SignInAttempt.address != KNOWN_BROWSER
    return [narrow, (PER_ADDRESS, (address,)), (PER_NAME, (name, strange))]


def _wait(session: Session, limit: int, now: datetime, *which: ColumnElement[bool]) -> float:
    """Seconds until one more attempt may be made; 0 for at once."""
    last = select(SignInAttempt.at).where(*which).order_by(SignInAttempt.at.desc()).offset(limit - 1).limit(1)
    at = session.scalar(last)
    return 0.0 if at is None else (at + WINDOW - now).total_seconds()


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
        UserRow.id,
        UserRow.name,
        UserRow.is_administrator,
        UserRow.disabled_at,
        UserRow.password_hash,
        UserSession.id.label("session_id"),
        UserSession.created_at,
        UserSession.expires_at,
    )
    .join(UserRow, UserRow.id == UserSession.user_id)
    .where(
        UserSession.token_hash == bindparam("token"),
        UserSession.expires_at > bindparam("now"),
        UserRow.disabled_at.is_(None),
    )
)


def find_session(connection: Connection, token: str, now: datetime) -> Any | None:
    """Whose session it is, while it runs and its user is not disabled: a row of user and session."""
    return connection.execute(_FIND, {"token": token_hash(token), "now": now}).first()


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


NOT_SIGNED_IN = mark("You are not signed in: sign in and try again.")
WRONG = mark("The name and the password do not fit: check both, or ask your administrator for a new link.")


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A session that runs.

    Attributes:
        runs_until: when it ends now that its browser was heard of; None where the table need not know.
    """

    user: User
    session_id: int
    runs_until: datetime | None


@dataclass(frozen=True, slots=True)
class _Admitted:
    """A user who gave the right password."""

    user_id: int
    password_hash: str
    """The one that it was compared with: it may change before the session begins."""
    attempt: Attempt


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
            TooManyAttemptsError: no more attempts are allowed for a while.
        """
        admitted = self._authenticate(name, password, address, mark)
        renewed = None
        if self._passwords.is_outdated(admitted.password_hash):
            renewed = self._passwords.hash(password)
        with self._database.session() as session:
            user = lock_user(session, admitted.user_id)
            if user.disabled_at is not None or user.password_hash != admitted.password_hash:
                raise SignInError(_(WRONG))  # changed while argon2 was at work
            user.password_hash = renewed or user.password_hash
            forget(session, admitted.attempt)
            return start_session(session, user.id, self._clock())

    def browser_mark(self, name: str) -> str:
        """What a browser that signed in keeps, so that strangers' attempts cannot shut it out."""
        with self._database.reading() as session:
            return _mark_of(get_user(session, name))

    def user_of(self, token: str) -> User | None:
        """Who is signed in with that token; a session in use runs on."""
        found = self.find(token)
        if found is None:
            return None
        self.renew(found)
        return found.user

    @property
    def finds_at_once(self) -> bool:
        """Whether `find` waits for nobody, so that it may be called from the event loop."""
        return self._database.reads_at_once

    def find(self, token: str) -> SignedIn | None:
        """The session of that token, which is not renewed."""
        now = self._clock()
        with self._database.single_read() as connection:
            row = find_session(connection, token, now)
        return None if row is None else SignedIn(as_user(row), row.session_id, renewed_until(row, now))

    def renew(self, found: SignedIn) -> None:
        """Let a session that is in use run on, if that is due."""
        if found.runs_until is not None:
            # A long import may hold the only writer; then the next request tries again.
            with suppress(UnreachableError), self._database.session(wait=0) as session:
                renew_session(session, found.session_id, found.runs_until)

    def only_rated_project(self, user_id: int) -> int | None:
        """The project of a user who rates there and has no other role anywhere; None of all others."""
        with self._database.reading() as session:
            user = session.get(models.User, user_id)
            held = session.execute(
                select(Membership.project_id, Membership.role).where(Membership.user_id == user_id).limit(2)
            ).all()
        if user is None or user.is_administrator or len(held) != 1:
            return None
        [(project_id, role)] = held
        return project_id if role == Role.RATER.value else None

    def language_of(self, user_id: int, project_id: int | None) -> str:
        """As `spoken_language`."""
        with self._database.reading() as session:
            return spoken_language(session, user_id, project_id)

    def language_for(self, name: str, project_id: int | None) -> str:
        """The same of an account by its name; empty where there is none."""
        with self._database.reading() as session:
            user = find_user(session, name)
            return "" if user is None else spoken_language(session, user.id, project_id)

    def sign_out(self, token: str) -> None:
        with self._database.session() as session:
            end_session(session, token)

    def sign_out_everywhere(self, name: str) -> None:
        """End all sessions of an account."""
        with self._database.session() as session:
            user = get_user(session, name)
            ended = end_sessions_of(session, user.id)
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
            raise SignedOutError(_(NOT_SIGNED_IN))
        check_password(new, user.name)
        with self._database.reading() as session:
            mark = _mark_of(get_user(session, user.name))
        admitted = self._authenticate(user.name, current, "", mark)
        password_hash = self._passwords.hash(new)
        now = self._clock()
        with self._database.session() as session:
            end_invitations_of(session, user.id)
            row = lock_user(session, user.id)
            if row.disabled_at is not None or row.password_hash != admitted.password_hash:
                raise SignedOutError(_(NOT_SIGNED_IN))
            row.password_hash = password_hash
            forget(session, admitted.attempt)
            end_sessions_of(session, row.id)
            record(session, now, "password changed", user_id=row.id)
            return start_session(session, row.id, now)

    def _authenticate(self, name: str, password: str, address: str, mark: str | None) -> _Admitted:
        """Whose password it is, as slow for a name that nobody has; the errors are those of `sign_in`."""
        with self._database.reading() as session:
            user = find_user(session, name)
        attempt = attempt_of(name_key(name), address, is_known=_is_marked(user, mark))
        with self._database.session() as session:
            admit(session, attempt, self._clock())
        password_hash = None if user is None or user.disabled_at is not None else user.password_hash
        # Nothing is open meanwhile: argon2 takes its time on purpose.
        if not self._passwords.fits(password_hash, password) or user is None or password_hash is None:
            raise SignInError(_(WRONG))
        return _Admitted(user.id, password_hash, attempt)


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
