"""Accounts: who there is, and who may do what."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select

from annotation.clock import Clock, utcnow
from annotation.errors import AccessError, SignedOutError
from annotation.names import check_name, name_key
from annotation.passwords import Passwords
from annotation.services.access import sessions
from annotation.services.access.roles import check_not_the_last, roles_by_user, roles_of
from annotation.services.access.sign_ins import NOT_SIGNED_IN
from annotation.services.access.users import (
    as_user,
    end_invitations_of,
    find_user,
    flush_name,
    get_user,
    id_of,
    lock_user,
    new_user,
)
from annotation.services.audit import FORMER_NAME, record, record_account
from annotation.services.rating.returns import give_back
from annotation.services.transactions import repeated_if_undone
from annotation.services.writing.plan import return_all_writings
from annotation.types import Role, User
from db import Database, models


@dataclass(frozen=True, slots=True)
class Account:
    """An account as the administrator sees it."""

    user: User
    created_at: datetime
    roles: tuple[tuple[str, Role], ...] = ()
    """Project and role."""

    @property
    def state(self) -> str:
        """In words."""
        if self.user.is_disabled:
            return "disabled"
        words = ["administrator"] if self.user.is_administrator else []
        if not self.user.has_password:
            words.append("no password yet")
        return ", ".join(words) or "user"


def renamed_text(before: str, name: str) -> str:
    """What has changed for the owner of an account, on the page and on the command line."""
    if name == before:
        return f"{before} is called that already: nothing has changed."
    return f"{before} is now called {name}, and signs in with that name."


class AccountService:
    """The accounts and their roles. Whether the caller may do it is for the caller to `require` first.

    The argument `by` is who does it, for the audit; without one it is the command line.
    """

    def __init__(
        self, database: Database, *, clock: Clock = utcnow, passwords: Passwords | None = None
    ) -> None:
        self._database = database
        self._clock = clock
        self._passwords = passwords or Passwords()

    def require(self, user_name: str | None, project_id: int | None, *roles: Role) -> User:
        """The user, if they may do this; an administrator of the server may do everything.

        Args:
            user_name: who asks; None is nobody.
            project_id: where; None is for administrators of the server only.
            roles: any of these will do; without any, every role will.

        Raises:
            SignedOutError: nobody is signed in.
            AccessError: the user does not have the role.
        """
        with self._database.reading() as session:
            user = find_user(session, user_name or "")
            if user is None or user.disabled_at is not None:
                raise SignedOutError(NOT_SIGNED_IN)
            if user.is_administrator:
                return as_user(user)
            if project_id is None:
                raise AccessError("This is for administrators of the server: ask one of them.")
            wanted = roles or tuple(Role)
            if roles_of(session, user.id, project_id).isdisjoint(wanted):
                listed = " or ".join(wanted)
                raise AccessError(f"This needs the role {listed} in the project: ask its administrator.")
            return as_user(user)

    def roles(self, user_name: str, project_id: int) -> frozenset[Role]:
        """The roles of a user in a project; none for whoever is no member."""
        with self._database.reading() as session:
            user = find_user(session, user_name)
            return frozenset() if user is None else roles_of(session, user.id, project_id)

    def user(self, name: str) -> User:
        """The account of that name, however it is written.

        Raises:
            NotFoundError: there is none.
        """
        with self._database.reading() as session:
            return as_user(get_user(session, name))

    def users(self) -> list[User]:
        """All accounts, by name."""
        return [account.user for account in self.accounts()]

    def accounts(self) -> list[Account]:
        """All accounts with their roles, by name."""
        with self._database.reading() as session:
            roles = roles_by_user(session)
            rows = session.scalars(select(models.User).order_by(models.User.name_key))
            return [Account(as_user(row), row.created_at, tuple(roles.get(row.id, ()))) for row in rows]

    def add_user(
        self,
        name: str,
        password: str | None = None,
        *,
        is_administrator: bool = False,
        by: User | None = None,
    ) -> User:
        """A new account. Without a password nobody can sign in to it until an invitation is used.

        Raises:
            SettingsError: the name is taken, or it or the password cannot be used.
        """
        kept = check_name(name)
        password_hash = None if password is None else self._passwords.checked_hash(password, kept)
        now = self._clock()
        with self._database.session() as session:
            row = new_user(session, kept, now, is_administrator=is_administrator, password_hash=password_hash)
            record_account(session, now, kept, by=id_of(by), is_administrator=is_administrator)
            return as_user(row)

    def rename(self, name: str, to: str, *, by: User | None = None) -> User:
        """Call an account by another name, with which its owner signs in from now on; all else stays.

        Raises:
            NotFoundError: there is no such account.
            SettingsError: the new name is taken, or cannot be used.
        """
        kept = check_name(to)
        with self._database.session() as session:
            row = get_user(session, name, lock=True)
            if row.name != kept:
                former, row.name, row.name_key = row.name, kept, name_key(kept)
                flush_name(session, kept)
                told: dict[str, Any] = {FORMER_NAME: former, "name": kept}
                record(session, self._clock(), "account renamed", user_id=id_of(by), **told)
            return as_user(row)

    def set_password(self, name: str, password: str, *, by: User | None = None) -> None:
        """Give an account a password, sign out all its browsers, and make its unused links void.

        Raises:
            NotFoundError: there is no such account.
            SettingsError: the password is too easy.
        """
        password_hash = self._passwords.checked_hash(password, self.user(name).name)
        with self._database.session() as session:
            user_id = get_user(session, name).id
            end_invitations_of(session, user_id)
            row = lock_user(session, user_id)
            row.password_hash = password_hash
            sessions.end_sessions_of(session, row.id)
            record(session, self._clock(), "password set", user_id=id_of(by), name=row.name)

    def disable(self, name: str, *, by: User | None = None) -> None:
        """Shut an account out, at once; what it rated stays, what it had to rate or write goes to others.

        Raises:
            NotFoundError: there is no such account.
            SettingsError: it is the last administrator.
            UnreachableError: an import brings grades of the account, which stays as it is; or it has locked
                what it held: the account is disabled then, and the pairs go to others once their leases end.
        """

        def shut_out() -> int:
            with self._database.session() as session:
                check_not_the_last(session, get_user(session, name), "disabled")
                row = get_user(session, name, lock=True)
                sessions.end_sessions_of(session, row.id)
                if row.disabled_at is None:
                    row.disabled_at = self._clock()
                    record(session, row.disabled_at, "account disabled", user_id=id_of(by), name=row.name)
                return row.id

        def return_texts(user_id: int) -> None:
            with self._database.session() as session:
                return_all_writings(session, user_id, self._clock())

        user_id = repeated_if_undone(shut_out)
        repeated_if_undone(lambda: return_texts(user_id))
        give_back(self._database, user_id)

    def enable(self, name: str, *, by: User | None = None) -> None:
        """Let a disabled account sign in again.

        Raises:
            NotFoundError: there is no such account.
        """
        with self._database.session() as session:
            row = get_user(session, name, lock=True)
            if row.disabled_at is not None:
                row.disabled_at = None
                record(session, self._clock(), "account enabled", user_id=id_of(by), name=row.name)

    def set_administrator(self, name: str, is_administrator: bool, *, by: User | None = None) -> None:
        """Make somebody an administrator of the server, or no longer one.

        Raises:
            NotFoundError: there is no such account.
            SettingsError: it is the last administrator.
        """
        with self._database.session() as session:
            if not is_administrator:
                check_not_the_last(session, get_user(session, name), "made an ordinary user")
            row = get_user(session, name, lock=True)
            if row.is_administrator is not is_administrator:
                row.is_administrator = is_administrator
                action = "administrator made" if is_administrator else "administrator unmade"
                record(session, self._clock(), action, user_id=id_of(by), name=row.name)
