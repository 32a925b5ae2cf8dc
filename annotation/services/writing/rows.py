"""What the services of writing share: who may come in, the groups of items and their counts, the history."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, and_, func, select, union
from sqlalchemy.orm import Session

from annotation.authoring import GroupBalance
from annotation.errors import AccessError, WritingError
from annotation.projects import Member
from annotation.services.access.roles import roles_of
from annotation.services.access.users import as_user
from annotation.services.bulk import insert_if_missing
from annotation.services.projects import as_project, find_project
from annotation.types import Project, Role
from db.models import GradeViewer, LargerItem, User, Writing, WritingChange

GRADES = 5


def admit(session: Session, project_id: int, user_id: int, *roles: Role) -> tuple[Project, Member]:
    """The project and the user, if they have one of the roles or administer the server.

    Raises:
        NotFoundError: there is no such project.
        AccessError: they have not.
    """
    project = as_project(find_project(session, project_id))
    user = session.get(User, user_id)
    if user is None or user.disabled_at is not None:
        raise AccessError("This account is disabled: ask your administrator.")
    held = roles_of(session, user_id, project_id)
    if not user.is_administrator and held.isdisjoint(roles):
        listed = " or ".join(roles)
        raise AccessError(  # without the project's name, which is not for everybody
            f"You do not have the role {listed} in this project: ask its administrator for it."
        )
    return project, Member(as_user(user), held)


def refuse_absent(session: Session, project_id: int, writer_id: int) -> None:
    """Raise WritingError when the writer of a text can write no longer, and would never see it sent back."""
    writer = session.get_one(User, writer_id, populate_existing=True)
    may_write = writer.is_administrator or Role.WRITER in roles_of(session, writer_id, project_id)
    if writer.disabled_at is not None or not may_write:
        raise WritingError(
            f"{writer.name} is no longer a writer in this project and would not see it: give the item to "
            "another writer, or edit and accept the text."
        )


def lease_of(project: Project) -> timedelta:
    return timedelta(minutes=project.settings.lease_minutes)


def same_group(project_id: int, type: str, genre: str | None) -> ColumnElement[bool]:
    """Of a larger item: it is of this type and genre."""
    return and_(
        LargerItem.project_id == project_id,
        LargerItem.type == type,
        LargerItem.genre.is_(None) if genre is None else LargerItem.genre == genre,
    )


def taken_of(session: Session, project_id: int, type: str, genre: str | None) -> dict[int, int]:
    """How many items of a group have each grade."""
    rows = session.execute(
        select(LargerItem.grade, func.count())
        .where(
            same_group(project_id, type, genre),
            LargerItem.grade.is_not(None),
        )
        .group_by(LargerItem.grade)
    )
    return {grade: count for grade, count in rows if grade is not None}


def balance_of(session: Session, project_id: int, types: tuple[str, ...]) -> tuple[GroupBalance, ...]:
    """Of every type and genre, in the order of the project's types, then by genre."""
    rows = session.execute(
        select(LargerItem.type, LargerItem.genre, LargerItem.grade, func.count())
        .where(LargerItem.project_id == project_id, LargerItem.withdrawn_at.is_(None))
        .group_by(LargerItem.type, LargerItem.genre, LargerItem.grade)
    )
    groups: dict[tuple[str, str | None], dict[int | None, int]] = {}
    for type, genre, grade, count in rows:
        groups.setdefault((type, genre), {})[grade] = count
    places = {type: place for place, type in enumerate(types)}
    return tuple(
        GroupBalance(type, genre, tuple(counts.get(grade, 0) for grade in range(GRADES)), counts.get(None, 0))
        for (type, genre), counts in sorted(
            groups.items(), key=lambda group: (places.get(group[0][0], len(types)), group[0][1] or "")
        )
    )


def remember(
    session: Session, writing: Writing, action: str, user_id: int, now: datetime, note: str = ""
) -> None:
    """Add to the history what was done with a text, as it reads now."""
    session.add(
        WritingChange(
            project_id=writing.project_id,
            item_id=writing.item_id,
            writer_id=writing.writer_id,
            user_id=user_id,
            action=action,
            grade=writing.grade,
            text=writing.text,
            note=note,
            at=now,
        )
    )


def remember_viewer(session: Session, item_id: int, user_id: int, now: datetime) -> None:
    """Note that the user saw which grade is requested for the item, if that is not known yet."""
    insert_if_missing(session, GradeViewer, {"item_id": item_id, "user_id": user_id, "first_at": now})


def viewers_of(session: Session, *item_ids: int) -> set[int]:
    """Everybody who saw a grade that was requested for an item: writers who had it, editors of its texts.

    Also those who left it blank or let their lease run out: of each item they know what was asked.
    """
    seen = union(
        select(Writing.writer_id).where(Writing.item_id.in_(item_ids)),
        select(WritingChange.user_id).where(WritingChange.item_id.in_(item_ids)),
        select(GradeViewer.user_id).where(GradeViewer.item_id.in_(item_ids)),
    )
    return set(session.scalars(seen))
