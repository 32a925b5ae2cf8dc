"""Who asks for a page of annotation, and for which project."""

from __future__ import annotations

import gradio as gr

from annotation.errors import NotFoundError
from annotation.numbers import id_in


def asked_project(request: gr.Request) -> int:
    """The project that the address of the page names.

    Raises:
        NotFoundError: it names none.
    """
    project_id = project_in(request)
    if project_id is None:
        raise NotFoundError("No project is chosen: choose one of your projects.")
    return project_id


def project_in(request: gr.Request) -> int | None:
    """The project that the address of the page names, if it does."""
    return id_in(str(request.query_params.get("project", "")))
