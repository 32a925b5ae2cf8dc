"""Accounts of raters whom files and anonymous exports only number: each project has its own."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sqlalchemy import exists, select
from sqlalchemy.orm import Session

from annotation.names import LONGEST_NAME, name_key
from annotation.services.access.users import find_user
from annotation.services.audit import FORMER_NAME, NAMES_PROJECT, PROJECT_CREATED
from annotation.services.rating.desk import SET_ASIDE
from db.models import Assignment, AuditEvent, RatingChange, User

_NUMBERED = re.compile(r"(rater )?([0-9]+)")
_MARK = re.compile(r" \([0-9]+\)$")


def number_in(label: str) -> str | None:
    """The digits of a rater who has only a number; None of one with a name."""
    found = _NUMBERED.fullmatch(label)
    return None if found is None else found[2]


def exported_number(label: str) -> int | None:
    """The number of a label as exports write it: "rater 1", not 1 alone."""
    found = _NUMBERED.fullmatch(label)
    return None if found is None or found[1] is None else int(found[2])


def numbered_account(session: Session, project_id: int, project_name: str, number: str) -> User | None:
    """The account that stands for the number in this project, whatever the project was called then.

    It is one whose ratings here came from a file, so that neither another project's account nor a person
    who bears such a name is taken for it. The one named after the project as it is called now goes first.
    """
    imported = (
        exists()
        .where(Assignment.project_id == project_id, Assignment.rater_id == User.id)
        .where(Assignment.state.in_(("rated", SET_ASIDE)))
        .where(RatingChange.pair_id == Assignment.pair_id, RatingChange.rater_id == Assignment.rater_id)
        .where(RatingChange.origin == "import")
    )
    usual = name_key(numbered_name(project_name, number))
    found = session.scalars(
        select(User)
        .where(User.name.endswith(f"/{number}"), imported)
        .order_by(User.name_key != usual, User.id)
    ).all()
    names = _names_so_far(session, project_id, project_name) if found else None
    return next((user for user in found if names is None or _is_after(user.name, number, names)), None)


def _names_so_far(session: Session, project_id: int, project_name: str) -> set[str] | None:
    """What the project is and was called; None where an earlier version renamed it and kept no name."""
    names = {project_name}
    events = select(AuditEvent.action, AuditEvent.detail).where(
        AuditEvent.project_id == project_id, AuditEvent.action.in_(NAMES_PROJECT)
    )
    for action, detail in session.execute(events):
        if action == PROJECT_CREATED:
            names.add(detail["name"])
        elif "name" in detail.get("settings", ()):
            if FORMER_NAME not in detail:
                return None
            names.add(detail[FORMER_NAME])
    return names


def _is_after(name: str, number: str, project_names: Iterable[str]) -> bool:
    """Whether an account is named after one of the names, as `free_name` does it."""
    found = _MARK.search(name.removesuffix(f"/{number}"))
    marks = ("",) if found is None else ("", found[0])
    return any(
        name_key(name) == name_key(numbered_name(project, number, mark))
        for project in project_names
        for mark in marks
    )


def free_name(session: Session, project_name: str, number: str) -> str:
    """The name of a new account for the number, which no account has."""
    name, times = numbered_name(project_name, number), 1
    while find_user(session, name) is not None:
        times += 1
        name = numbered_name(project_name, number, f" ({times})")
    return name


def numbered_name(project_name: str, number: str, mark: str = "") -> str:
    """The project's name, shortened where it must be, and the number."""
    end = f"{mark}/{number}"
    room = LONGEST_NAME - len(end)
    return (project_name if len(project_name) <= room else f"{project_name[: room - 1]}…") + end
