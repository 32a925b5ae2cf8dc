"""Accounts: who there is, who may do what, and the links that let somebody in, once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import delete, or_, select
from sqlalchemy.orm import Session

from annotation.crowds import MOST_INVITED, PSEUDONYM
from annotation.errors import AccessError, AnnotationError, InvitationError, SettingsError, SignedOutError
from annotation.passwords import Passwords
from annotation.services import sign_in
from annotation.services.assignment import give_back
from annotation.services.audit import FORMER_NAME, record, record_account
from annotation.services.project_rows import find_project
from annotation.services.sign_in import NOT_SIGNED_IN, new_token, token_hash
from annotation.services.tokens import end_tokens_of
from annotation.services.users import (
    MAKER_MAY,
    OpenInvitation,
    as_user,
    check_not_the_last,
    end_invitations_of,
    find_user,
    flush_name,
    get_user,
    has_administrator,
    id_of,
    lock_administrators,
    lock_user,
    name_is_taken,
    new_user,
    open_invitations,
    roles_by_user,
    roles_of,
    take_back,
)
from annotation.services.writing import return_all_writings
from annotation.translation import _, mark
from annotation.types import Clock, Role, User, utcnow
from annotation.wording import (
    LONGEST_NOTE_OF_LINK,
    check_name,
    name_key,
    normalise_name,
    normalise_note,
    quote_value,
    write_day,
)
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
        """In words of the command line."""
        if self.user.is_disabled:
            return "disabled"
        words = ["administrator"] if self.user.is_administrator else []
        if not self.user.has_password:
            words.append("no password yet")
        return ", ".join(words) or "user"


def renamed_text(before: str, name: str) -> str:
    """What has changed for the owner of an account, on the page and on the command line."""
    if name == before:
        return _("{name} is called that already: nothing has changed.", name=before)
    return _("{before} is now called {name}, and signs in with that name.", before=before, name=name)


_LAST_ENABLED = mark(
    "{name} is the last administrator and cannot be disabled: make somebody else administrator first."
)
_LAST_IN_CHARGE = mark(
    "{name} is the last administrator and cannot be made an ordinary user: make somebody else administrator "
    "first."
)


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
                raise SignedOutError(_(NOT_SIGNED_IN))
            if user.is_administrator:
                return as_user(user)
            if project_id is None:
                raise AccessError(_("This is for administrators of the server: ask one of them."))
            wanted = roles or tuple(Role)
            if roles_of(session, user.id, project_id).isdisjoint(wanted):
                listed = _(" or ").join(_(role) for role in wanted)
                raise AccessError(
                    _("This needs the role {roles} in the project: ask its administrator.", roles=listed)
                )
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

    def users_to_add(self, project_id: int) -> list[User]:
        """Who may be made a member of the project, by name.

        Disabled accounts are left out, and those made up for who came to other projects by a shared link.
        """
        arrival, user = models.Arrival, models.User
        is_made_up = or_(arrival.worker_id.is_not(None), user.name_key.startswith(PSEUDONYM))
        made_up = select(arrival.user_id).join(user, user.id == arrival.user_id).where(is_made_up)
        here = select(models.Membership.user_id).where(models.Membership.project_id == project_id)
        is_known = or_(user.id.not_in(made_up), user.id.in_(here))
        statement = select(user).where(user.disabled_at.is_(None), is_known)
        with self._database.reading() as session:
            return [as_user(row) for row in session.scalars(statement.order_by(user.name_key))]

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
            sign_in.end_sessions_of(session, row.id)
            record(session, self._clock(), "password set", user_id=id_of(by), name=row.name)

    def disable(self, name: str, *, by: User | None = None) -> None:
        """Shut an account out, at once; what it rated stays, what it had to rate or write goes to others.

        Raises:
            NotFoundError: there is no such account.
            SettingsError: it is the last administrator.
            UnreachableError: an import brings grades of the account, which stays as it is; or it has locked
                what it held: the account is disabled then, and the pairs go to others once their leases end.
        """

        def shut_out(session: Session) -> int:
            check_not_the_last(session, get_user(session, name), _LAST_ENABLED)
            row = get_user(session, name, lock=True)
            sign_in.end_sessions_of(session, row.id)
            end_tokens_of(session, row.id)
            if row.disabled_at is None:
                row.disabled_at = self._clock()
                record(session, row.disabled_at, "account disabled", user_id=id_of(by), name=row.name)
            return row.id

        user_id = self._database.transact(shut_out)
        self._database.transact(lambda session: return_all_writings(session, user_id, self._clock()))
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
                check_not_the_last(session, get_user(session, name), _LAST_IN_CHARGE)
            row = get_user(session, name, lock=True)
            if row.is_administrator is not is_administrator:
                row.is_administrator = is_administrator
                action = "administrator made" if is_administrator else "administrator unmade"
                record(session, self._clock(), action, user_id=id_of(by), name=row.name)


MOST_NAMED = 5
"""Of the names that cannot be used."""
LASTS = timedelta(days=7)
SET_UP_LASTS = timedelta(days=1)
"""The set-up link stands in a terminal, perhaps in its log; a new start prints a new one."""

_UNKNOWN = mark(
    "This link is unknown or no longer valid: use the newest one, or ask your administrator for a new one."
)


@dataclass(frozen=True, slots=True)
class Invitation:
    """What a link offers to whoever opens it."""

    number: int
    """By which it is known among the open ones."""
    expires_at: datetime
    is_set_up: bool = False
    """Makes the first administrator."""
    user_name: str | None = None
    """The account that is to choose a password; None for a new one."""
    has_password: bool = False
    """The account has one already, which the new one replaces."""
    project: str | None = None
    role: Role | None = None
    language: str = ""
    """Of the project."""


def add_invitation(
    session: Session,
    now: datetime,
    *,
    user_id: int | None = None,
    project_id: int | None = None,
    role: Role | None = None,
    created_by: int | None = None,
    note: str = "",
    is_set_up: bool = False,
) -> str:
    """The token of a new link. It replaces the unused ones of the same account, and of the set-up."""
    replaced = models.Invitation.is_administrator if is_set_up else models.Invitation.user_id == user_id
    if is_set_up or user_id is not None:
        session.execute(delete(models.Invitation).where(replaced, models.Invitation.used_at.is_(None)))
    token = new_token()
    session.add(
        models.Invitation(
            token_hash=token_hash(token),
            is_administrator=is_set_up,
            user_id=user_id,
            project_id=project_id,
            role=role,
            created_by=created_by,
            note=note or None,
            created_at=now,
            expires_at=now + (SET_UP_LASTS if is_set_up else LASTS),
        )
    )
    return token


def find_invitation(session: Session, token: str, now: datetime, *, lock: bool = False) -> models.Invitation:
    """The link of that token while it can be used; locked, nobody else uses it meanwhile.

    Raises:
        InvitationError: it was used, it ended, its maker may no longer make it, or there is none.
    """
    statement = select(models.Invitation).where(models.Invitation.token_hash == token_hash(token))
    row = session.scalar(statement.with_for_update() if lock else statement)
    if row is None:
        raise InvitationError(_(_UNKNOWN))
    if row.used_at is not None:
        raise InvitationError(
            _("This link was used already: sign in, or ask your administrator for a new one.")
        )
    if row.expires_at <= now:
        raise InvitationError(
            _(
                "This link expired on {day}: ask your administrator for a new one.",
                day=write_day(row.expires_at),
            )
        )
    if not session.scalar(select(MAKER_MAY).where(models.Invitation.id == row.id)):
        raise InvitationError(
            _(
                "The person who made this link may no longer invite people: ask your administrator for a "
                "new one."
            )
        )
    return row


def as_invitation(session: Session, row: models.Invitation) -> Invitation:
    user = None if row.user_id is None else session.get_one(models.User, row.user_id)
    project = None if row.project_id is None else session.get_one(models.Project, row.project_id)
    return Invitation(
        number=row.id,
        expires_at=row.expires_at,
        is_set_up=row.is_administrator,
        user_name=None if user is None else user.name,
        has_password=user is not None and user.password_hash is not None,
        project=None if project is None else project.name,
        role=None if row.role is None else Role(row.role),
        language="" if project is None else project.language,
    )


def use_invitation(session: Session, row: models.Invitation, user_id: int, now: datetime) -> None:
    """Give the role that the link promises, and let nobody use it again."""
    row.used_at = now
    if row.project_id is None or row.role is None:
        return
    key = (row.project_id, user_id, row.role)
    if session.get(models.Membership, key) is None:
        session.add(models.Membership(project_id=row.project_id, user_id=user_id, role=row.role))


class InvitationService:
    """Making, listing, revoking and using links. The argument `by` is as of `AccountService`."""

    def __init__(
        self, database: Database, *, clock: Clock = utcnow, passwords: Passwords | None = None
    ) -> None:
        self._database = database
        self._clock = clock
        self._passwords = passwords or Passwords()

    def has_administrator(self) -> bool:
        """Whether somebody can administer the server; until then there is only the set-up link."""
        with self._database.reading() as session:
            return has_administrator(session)

    def setup_token(self) -> str | None:
        """The token of a new set-up link, in place of an older one; None where somebody can administer."""
        now = self._clock()
        with self._database.session() as session:
            if lock_administrators(session):
                return None
            return add_invitation(session, now, is_set_up=True)

    def invite(
        self,
        name: str | None = None,
        *,
        project_id: int | None = None,
        role: Role | None = None,
        note: str = "",
        by: User | None = None,
    ) -> str:
        """The token of a link that can be used once.

        Args:
            name: an account that is to choose a password, whether it has one or not; None invites somebody
                who has no account yet.
            project_id: the project whose `role` the link gives.
            role: given with `project_id`.
            note: for whom it is meant, to tell open links apart; whoever opens it first may use it.
            by: who invites.

        Raises:
            NotFoundError: there is no such account or project.
            SettingsError: the account is disabled, or nothing is offered.
            NoteError: the note is too long.
        """
        if (project_id is None) is not (role is None) or (name is None and role is None):
            raise SettingsError(_("The invitation offers nothing: name an account, or a project and a role."))
        note = normalise_note(
            normalise_name(" ".join(note.split()), _("The note")), "note", LONGEST_NOTE_OF_LINK
        )
        now = self._clock()
        with self._database.session() as session:
            user = None if name is None else get_user(session, name)
            if user is not None and user.disabled_at is not None:
                raise SettingsError(
                    _("The account {name} is disabled: enable it before you invite.", name=user.name)
                )
            if project_id is not None:
                find_project(session, project_id)
            token = add_invitation(
                session,
                now,
                user_id=None if user is None else user.id,
                project_id=project_id,
                role=role,
                created_by=id_of(by),
                note=note,
            )
            detail = {"name": None if user is None else user.name, "role": role}
            record(session, now, "invitation made", user_id=id_of(by), project_id=project_id, **detail)
            return token

    def invite_many(
        self, project_id: int, role: Role, names: Sequence[str], *, by: User | None = None
    ) -> list[str]:
        """The tokens of links for many people, one for each name, in their order: all are made, or none.

        Args:
            names: for whom each link is meant, as `note` of `invite`.

        Raises:
            NotFoundError: there is no such project.
            SettingsError: there are no names or too many, or some cannot be used; it tells which.
        """
        notes = _check_names(names)
        now = self._clock()
        with self._database.session() as session:
            find_project(session, project_id)
            tokens = [
                add_invitation(
                    session, now, project_id=project_id, role=role, created_by=id_of(by), note=note
                )
                for note in notes
            ]
            detail = {"links": len(tokens), "role": role}
            record(session, now, "invitations made", user_id=id_of(by), project_id=project_id, **detail)
        return tokens

    def open_invitations(self, project_id: int | None = None) -> list[OpenInvitation]:
        """The links that can still be used, the newest first.

        Args:
            project_id: only those that its administrators may see.
        """
        with self._database.reading() as session:
            return open_invitations(session, self._clock(), project_id)

    def revoke(self, invitation_id: int, project_id: int | None = None, *, by: User | None = None) -> None:
        """Let nobody in by an open link any more.

        Args:
            project_id: the link is one that the administrators of this project may see.

        Raises:
            NotFoundError: there is no such open link with that number.
        """
        now = self._clock()
        with self._database.session() as session:
            row = take_back(session, invitation_id, now, project_id)
            user = None if row.user_id is None else session.get_one(models.User, row.user_id)
            detail = {"name": None if user is None else user.name, "role": row.role}
            record(session, now, "invitation revoked", user_id=id_of(by), project_id=row.project_id, **detail)

    def invitation(self, token: str) -> Invitation:
        """What a link offers.

        Raises:
            InvitationError: it cannot be used, or no longer.
        """
        with self._database.reading() as session:
            return as_invitation(session, find_invitation(session, token, self._clock()))

    def accept_invitation(self, token: str, name: str, password: str) -> str:
        """Use a link: the account is made, or gets its password, and the answer is a session's token.

        Args:
            token: the link's.
            name: of the new account; a link for an existing account has its own.
            password: the one that was chosen.

        Raises:
            InvitationError: the link cannot be used, or somebody was quicker.
            SettingsError: the name is taken, or it or the password cannot be used.
        """
        with self._database.reading() as session:
            offered = as_invitation(session, find_invitation(session, token, self._clock()))
            kept = offered.user_name or check_name(name)
            if offered.user_name is None and find_user(session, kept) is not None:
                raise name_is_taken(kept)
        password_hash = self._passwords.checked_hash(password, kept)
        now = self._clock()
        with self._database.session() as session:
            row = find_invitation(session, token, now, lock=True)
            user = _invited_user(session, row, kept, now)
            user.password_hash = password_hash
            sign_in.end_sessions_of(session, user.id)
            use_invitation(session, row, user.id, now)
            if row.user_id is None and not row.is_administrator:
                record_account(session, now, user.name, by=user.id)
            action = "server set up" if row.is_administrator else "invitation used"
            record(session, now, action, user_id=user.id, project_id=row.project_id, role=row.role)
            return sign_in.start_session(session, user.id, now)

    def join(self, token: str, user_name: str) -> None:
        """Use a link for a project with the account that one is signed in to.

        Raises:
            InvitationError: the link cannot be used, or is for another account.
        """
        now = self._clock()
        with self._database.session() as session:
            row = find_invitation(session, token, now, lock=True)
            user = lock_user(session, get_user(session, user_name).id)  # they may join by two links at once
            if row.is_administrator or row.user_id not in (None, user.id) or row.role is None:
                raise InvitationError(
                    _("This link is not for the account {name}: sign out to use it.", name=user.name)
                )
            use_invitation(session, row, user.id, now)
            record(session, now, "invitation used", user_id=user.id, project_id=row.project_id, role=row.role)


def _check_names(names: Sequence[str]) -> list[str]:
    """The names as notes of links.

    Raises:
        SettingsError: there are none or too many, or some cannot be used.
    """
    if not 1 <= len(names) <= MOST_INVITED:
        raise SettingsError(
            _(
                "Give 1 to {most} names, one a line, not {count}.",
                most=f"{MOST_INVITED:,}",
                count=f"{len(names):,}",
            )
        )
    notes: list[str] = []
    problems: list[str] = []
    seen: set[str] = set()
    for number, name in enumerate(names, 1):
        try:
            note = normalise_note(normalise_name(name, _("The name")), "name", LONGEST_NOTE_OF_LINK)
            reason = (
                _("The name stands twice")
                if name_key(note) in seen
                else ""
                if note
                else _("The name is empty")
            )
        except AnnotationError as error:
            note, reason = "", str(error).rstrip(".。")
        notes.append(note)
        seen.add(name_key(note))
        if reason:
            problems.append(f"{number} ({quote_value(name)}): {reason}")
    if problems:
        more = len(problems) - MOST_NAMED
        named = [*problems[:MOST_NAMED], *([_("and {more} more", more=f"{more:,}")] if more > 0 else [])]
        raise SettingsError(
            _("No links were made, as not every name can be used. {problems}.", problems="; ".join(named))
        )
    return notes


def _invited_user(session: Session, row: models.Invitation, name: str, now: datetime) -> models.User:
    """The account that a locked link is for: a new one, or the one that it names."""
    if row.is_administrator:
        if lock_administrators(session):
            raise InvitationError(
                _("The server is set up already: sign in, or ask its administrator for a link.")
            )
        return new_user(session, name, now, is_administrator=True)
    if row.user_id is None:
        return new_user(session, name, now)
    user = lock_user(session, row.user_id)
    if user.disabled_at is not None:
        raise InvitationError(
            _("The account {name} is disabled: ask your administrator for a new one.", name=user.name)
        )
    return user
