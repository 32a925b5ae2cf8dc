"""What a page of annotation is asked for: by whom, and for which project."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import gradio as gr

from annotation.errors import AnnotationError, NotFoundError
from annotation.numbers import whole_in
from annotation.services.access.accounts import AccountService
from annotation.services.bundle import DamagedError, UnreachableError
from annotation.types import Role, User
from kpdemo.ui.widgets import shown_to_user

Told = AnnotationError | UnreachableError | DamagedError
TOLD = (AnnotationError, UnreachableError, DamagedError)
"""What a handler tells on the page in the place of an answer; the database's errors too, which come when
somebody else writes for long, as during an import."""


def reason_of(error: Told) -> str:
    """The sentence for signed-in users: a database's own names files and addresses."""
    return str(error) if isinstance(error, AnnotationError) else error.for_users


def asked_project(request: gr.Request) -> int:
    """The project that the address of the page names.

    Raises:
        NotFoundError: it names none.
    """
    project_id = project_in(request)
    if project_id is None:
        raise NotFoundError("No project is chosen: choose one of your projects.")
    return project_id


def asked_by(request: gr.Request, accounts: AccountService, *roles: Role) -> tuple[int, User]:
    """The project of a page, and who asks: one who has any of the roles in it, or an administrator.

    Raises:
        AnnotationError: no project is named, or the user has none of the roles.
    """
    project_id = asked_project(request)
    return project_id, accounts.require(request.username, project_id, *roles)


@contextmanager
def admitted(request: gr.Request, accounts: AccountService, *roles: Role) -> Iterator[tuple[int, User]]:
    """As `asked_by`, for a handler whose refusals, also those of what it then does, are toasts."""
    with shown_to_user(AnnotationError):
        yield asked_by(request, accounts, *roles)


def asked_by_leader(request: gr.Request, accounts: AccountService) -> tuple[int, User, bool]:
    """The project of a page for adjudicators, who asks, and whether that is an administrator.

    Raises:
        AnnotationError: no project is named, or the user is neither.
    """
    project_id, user = asked_by(request, accounts, Role.ADMINISTRATOR, Role.ADJUDICATOR)
    leads = user.is_administrator or Role.ADMINISTRATOR in accounts.roles(user.name, project_id)
    return project_id, user, leads


def ids_in(text: str | None) -> list[str]:
    """The ids that a field has, one per line."""
    return [id for line in (text or "").splitlines() if (id := line.strip())]


def project_in(request: gr.Request) -> int | None:
    """The project that the address of the page names, if it does."""
    return whole_in(str(request.query_params.get("project", "")))
