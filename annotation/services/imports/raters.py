"""Accounts of raters whose ratings come from files, in the transaction of the import."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import select
from sqlalchemy.orm import Session

from annotation.clock import Clock
from annotation.errors import ImportFileError, SettingsError
from annotation.services.access.users import find_user, new_user
from annotation.services.imports.numbered_raters import free_name, number_in, numbered_account, numbered_name
from annotation.types import Project, Role
from db import models
from db.models import Membership


class ImportedRaters:
    """Finds the accounts of the raters of one import, and makes those that are not there."""

    def __init__(self, session: Session, project: Project, clock: Clock) -> None:
        self.joined: list[str] = []
        """Names of accounts that were there before and became raters of the project."""
        self.new_accounts: list[str] = []
        """Names of those that were made."""
        self._session = session
        self._project = project
        self._clock = clock
        self._accounts: dict[str, int] = {}
        self._names: dict[int, str] = {}
        """Of the accounts that were there before."""
        self._made: set[int] = set()
        self._numbers: dict[str, models.User | None] = {}
        """Accounts of numbered raters, as far as they were looked for."""
        self._members = set(
            session.scalars(
                select(Membership.user_id).where(
                    Membership.project_id == project.id, Membership.role == Role.RATER.value
                )
            )
        )

    def join(self, rater_ids: Iterable[int]) -> None:
        """Make these accounts raters of the project, unless they are."""
        for rater_id in rater_ids:
            if rater_id in self._members:
                continue
            self._members.add(rater_id)
            self._session.add(
                Membership(project_id=self._project.id, user_id=rater_id, role=Role.RATER.value)
            )
            if rater_id in self._names:
                self.joined.append(self._names[rater_id])
        self._session.flush()

    def account(self, name: str, place: str) -> int:
        """The id of the rater's account; a new one cannot sign in until it is invited.

        Raises:
            ImportFileError: no account can have the name; `place` begins the message.
        """
        found = self._accounts.get(name)
        if found is not None:
            return found
        number = number_in(name)
        row = find_user(self._session, name) if number is None else self.numbered(number)
        if row is None:
            row = self._new_account(name, place, number)
        elif row.id not in self._made:  # else it is another spelling of a name of this file
            self._names[row.id] = row.name
        self._accounts[name] = row.id
        return row.id

    def _new_account(self, name: str, place: str, number: str | None) -> models.User:
        free = name if number is None else free_name(self._session, self._project.name, number)
        try:
            row = new_user(self._session, free, self._clock())
        except SettingsError as error:
            raise ImportFileError(f"{place}, rater {name!r}: {error}") from None
        self._made.add(row.id)
        self.new_accounts.append(row.name)
        if number is not None:
            self._numbers[number] = row
        return row

    def numbered(self, number: str) -> models.User | None:
        """The account of a numbered rater, of this project or of this file; None where there is none yet."""
        if number not in self._numbers:
            project = self._project
            row = numbered_account(self._session, project.id, project.name, number)
            named = find_user(self._session, numbered_name(project.name, number)) if row is None else None
            self._numbers[number] = named if named is not None and named.id in self._made else row
        return self._numbers[number]
