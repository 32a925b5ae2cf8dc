"""Who asks for a page of annotation, and for which project."""

from __future__ import annotations

import gradio as gr

from annotation.errors import NotFoundError
from annotation.numbers import whole_in
from annotation.services.accounts import AccountService
from annotation.types import Role


def asked_project(request: gr.Request) -> int:
    """The project that the address of the page names.

    Raises:
        NotFoundError: it names none.
    """
    project_id = project_in(request)
    if project_id is None:
        raise NotFoundError("No project is chosen: choose one of your projects.")
    return project_id


def asked_by_leader(request: gr.Request, accounts: AccountService) -> tuple[int, bool]:
    """The project of a page for adjudicators, and whether it is an administrator who asks.

    Raises:
        AnnotationError: no project is named, or the user is neither.
    """
    project_id = asked_project(request)
    user = accounts.require(request.username, project_id, Role.ADMINISTRATOR, Role.ADJUDICATOR)
    return project_id, user.is_administrator or Role.ADMINISTRATOR in accounts.roles(user.name, project_id)


def project_in(request: gr.Request) -> int | None:
    """The project that the address of the page names, if it does."""
    return whole_in(str(request.query_params.get("project", "")))
