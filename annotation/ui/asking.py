"""Who asks for a page of annotation, and for which project."""

from __future__ import annotations

import gradio as gr

from annotation.errors import NotFoundError

_LARGEST_ID = 2**31 - 1


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
    text = str(request.query_params.get("project", ""))
    if not (text.isascii() and text.isdigit()) or len(text) > len(str(_LARGEST_ID)):
        return None
    return int(text) if int(text) <= _LARGEST_ID else None
