"""Projects: their settings, who works in them, and how far they are."""

from __future__ import annotations

from datetime import datetime
from difflib import get_close_matches

from sqlalchemy import delete, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from annotation.clock import Clock, utcnow
from annotation.errors import NotFoundError, SettingsError
from annotation.names import can_be_name, name_key
from annotation.numbers import is_id
from annotation.projects import Member, ProjectCounts, check_settings
from annotation.services.access.roles import roles_of
from annotation.services.access.users import as_user, get_user, id_of
from annotation.services.audit import FORMER_NAME, PROJECT_CHANGED, PROJECT_CREATED, record
from annotation.services.checks import shelf_of
from annotation.services.project_changes import apply_settings, setting_columns
from annotation.services.project_counts import count_project
from annotation.services.rating.desk import lock_pairs
from annotation.services.rating.returns import return_kept
from annotation.services.transactions import repeated_if_undone
from annotation.services.writing.plan import return_writings
from annotation.setting_changes import merged_settings, told_changes
from annotation.types import Project, ProjectSettings, Role, User, from_quarters
from db import Database, models

_SHOWN = 120


class ProjectService:
    """Projects and their members. Who is allowed to call a method is for the caller to `require`."""

    def __init__(self, database: Database, *, clock: Clock = utcnow) -> None:
        self._database = database
        self._clock = clock

    def create(self, settings: ProjectSettings, created_by: User | None = None) -> Project:
        """A new project, without pairs; the user who made it becomes its administrator.

        Raises:
            SettingsError: a setting cannot be used, or the name is taken.
        """
        kept = check_settings(settings)
        now = self._clock()
        with self._database.session() as session:
            row = models.Project(**setting_columns(kept), created_by=id_of(created_by), created_at=now)
            session.add(row)
            _flush_name(session, kept.name)
            if created_by is not None:
                session.add(
                    models.Membership(project_id=row.id, user_id=created_by.id, role=Role.ADMINISTRATOR.value)
                )
            who = id_of(created_by)
            record(session, now, PROJECT_CREATED, user_id=who, project_id=row.id, name=kept.name)
            return as_project(row)

    def get(self, name_or_id: str | int) -> Project:
        """The project of that name, however it is written, or of that id.

        Raises:
            NotFoundError: there is none.
        """
        with self._database.reading() as session:
            return as_project(find_project(session, name_or_id))

    def list(self) -> list[Project]:
        """All projects, by name."""
        statement = select(models.Project).where(models.Project.checks_of_id.is_(None))
        statement = statement.order_by(models.Project.name_key)
        with self._database.reading() as session:
            return [as_project(row) for row in session.scalars(statement)]

    def update(
        self, project_id: int, settings: ProjectSettings, *, seen: str | None = None, by: User | None = None
    ) -> Project:
        """Change settings, with what follows from them, in one transaction.

        Args:
            seen: the settings that the change began with, from `seen_settings`: what somebody else changed
                since then stays; None puts `settings` in the place of whatever there is.

        Raises:
            NotFoundError: there is no such project.
            SettingsError: a setting cannot be used, would falsify what was graded already, or was changed by
                somebody else too.
        """
        kept = check_settings(settings)
        now = self._clock()
        with self._database.session() as session:
            row = find_project(session, project_id, lock=True)
            before = as_project(row).settings
            if seen is not None:
                kept = check_settings(merged_settings(kept, before, seen))
            detail = told_changes(before, kept)
            if detail["settings"]:
                with session.no_autoflush:  # a name that is taken is found out below, where it is explained
                    apply_settings(session, row, before, kept)
                _flush_name(session, kept.name)
                if kept.name != before.name:
                    detail[FORMER_NAME] = before.name
                record(session, now, PROJECT_CHANGED, user_id=id_of(by), project_id=row.id, **detail)
            return as_project(row)

    def delete(self, project_id: int, name: str, *, by: User | None = None) -> None:
        """Delete a project with its pairs, ratings and decisions; accounts and audit events stay.

        Args:
            project_id: which.
            name: what the project has to be called at that moment.
            by: who deletes it; None stands for the command line.

        Raises:
            NotFoundError: there is no such project.
            SettingsError: it has another name.
        """
        repeated_if_undone(lambda: self._delete(project_id, name, by))

    def _delete(self, project_id: int, name: str, by: User | None) -> None:
        now = self._clock()
        with self._database.session() as session:
            row = find_project(session, project_id, lock=True)
            if name_key(name) != row.name_key:
                raise SettingsError(f"“{name}” is not the name of the project: type {row.name} to delete it.")
            record(session, now, "project deleted", user_id=id_of(by), name=row.name)
            session.flush()
            lock_pairs(session, row.id, is_deleting=True)
            shelf = shelf_of(session, row.id)
            if shelf is not None:  # the histories of check pairs may go only when their own project has gone
                lock_pairs(session, shelf, is_deleting=True)
                session.execute(delete(models.Project).where(models.Project.id == shelf))
            session.execute(delete(models.Project).where(models.Project.id == row.id))

    def members(self, project_id: int) -> tuple[Member, ...]:
        """Who works in the project, by name."""
        statement = (
            select(models.User, models.Membership.role)
            .join(models.Membership, models.Membership.user_id == models.User.id)
            .where(models.Membership.project_id == project_id)
            .order_by(models.User.name_key)
        )
        found: dict[User, set[Role]] = {}
        with self._database.reading() as session:
            for user, role in session.execute(statement):
                found.setdefault(as_user(user), set()).add(Role(role))
        return tuple(Member(user, frozenset(roles)) for user, roles in found.items())

    def add_member(self, project_id: int, user_name: str, role: Role, *, by: User | None = None) -> Member:
        """Give a user a role in the project; giving it twice is giving it once.

        Raises:
            NotFoundError: there is no such project or account.
        """
        now = self._clock()
        with self._database.session() as session:
            project = find_project(session, project_id, lock=True)
            user = get_user(session, user_name)
            roles = roles_of(session, user.id, project.id)
            if role not in roles:
                session.add(models.Membership(project_id=project.id, user_id=user.id, role=role.value))
                _record_member(session, now, "member added", project, user, role, by)
            return Member(as_user(user), roles | {role})

    def remove_member(
        self, project_id: int, user_name: str, role: Role | None = None, *, by: User | None = None
    ) -> None:
        """Take a role of the project from a user, or all of them; what they graded stays.

        Raises:
            NotFoundError: there is no such project or account, or the user does not have the role.
        """
        repeated_if_undone(lambda: self._remove_member(project_id, user_name, role, by))

    def _remove_member(self, project_id: int, user_name: str, role: Role | None, by: User | None) -> None:
        now = self._clock()
        with self._database.session() as session:
            project = find_project(session, project_id, lock=True)
            user = get_user(session, user_name)
            roles = roles_of(session, user.id, project.id)
            taken = roles if role is None else roles & {role}
            if not taken:
                what = "no role" if role is None else f"not the role {role.value}"
                raise NotFoundError(f"{user.name!r} has {what} in {project.name!r}: see the list of members.")
            if Role.RATER in taken:
                return_kept(session.connection(), user.id, project.id)  # others need not wait for the lease
            if Role.WRITER in taken:
                return_writings(session, project.id, user.id, now)
            for gone in sorted(taken):
                membership = session.get(models.Membership, (project.id, user.id, gone.value))
                session.delete(membership)
                _record_member(session, now, "member removed", project, user, gone, by)

    def counts(self, project_id: int, *, viewer: int | None = None) -> ProjectCounts:
        """How far the project is, for each type and genre; see `count_project`.

        Raises:
            NotFoundError: there is no such project.
        """
        with self._database.reading() as session:
            return count_project(session, find_project(session, project_id), viewer)


def find_project(session: Session, name_or_id: str | int, *, lock: bool = False) -> models.Project:
    """The row of a project; locked, nobody else can change its settings or import into it.

    Raises:
        NotFoundError: there is none.
    """
    statement = select(models.Project).where(models.Project.checks_of_id.is_(None))
    if isinstance(name_or_id, int):
        statement = statement.where(models.Project.id == name_or_id)
    else:
        key = name_key(name_or_id) if can_be_name(name_or_id) else ""
        statement = statement.where(models.Project.name_key == key)
    if lock:  # raters go on: their rows only refer to this one
        statement = statement.with_for_update(key_share=True)
    can_be = isinstance(name_or_id, str) or is_id(name_or_id)
    row = session.scalar(statement) if can_be else None
    if row is None:
        raise NotFoundError(_no_project(session, name_or_id))
    return row


def _no_project(session: Session, asked: str | int) -> str:
    if isinstance(asked, int):
        return f"There is no project {asked}: see the list of projects."
    kept = select(models.Project.name).where(models.Project.checks_of_id.is_(None))
    names = {name.casefold(): name for name in session.scalars(kept)}
    alike = get_close_matches(asked[:_SHOWN].casefold(), names, n=1)
    way = f"use {names[alike[0]]!r}, or another of" if alike else "see"
    return f"There is no project {asked[:_SHOWN]!r}: {way} `python -m annotation project list`."


def as_project(row: models.Project) -> Project:
    settings = ProjectSettings(
        name=row.name,
        types=tuple(row.types),
        guidelines=row.guidelines,
        raters_per_pair=row.raters_per_pair,
        threshold=None if row.threshold_quarters is None else from_quarters(row.threshold_quarters),
        step=from_quarters(row.step_quarters),
        is_random=row.is_random,
        seed=row.seed,
        may_revise=row.may_revise,
        lease_minutes=row.lease_minutes,
        most_per_rater=row.most_per_rater,
        consent=row.consent or "",
        scale_words=row.scale_words or "",
    )
    return Project(id=row.id, settings=settings, created_at=row.created_at)


def _flush_name(session: Session, name: str) -> None:
    try:
        session.flush()
    except IntegrityError as error:
        if "name_key" not in str(error.orig):
            raise
        raise SettingsError(f"A project named {name!r} already exists: choose another name.") from None


def _record_member(
    session: Session,
    now: datetime,
    action: str,
    project: models.Project,
    user: models.User,
    role: Role,
    by: User | None,
) -> None:
    who = id_of(by)
    record(session, now, action, user_id=who, project_id=project.id, member=user.name, role=role.value)
