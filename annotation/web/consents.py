"""Asking for consent on the pages of raters and writers, in place of their work, and taking it."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request

from annotation.services.consents import ConsentService
from annotation.types import User
from annotation.web.bodies import Body
from annotation.web.json_routes import Answer, UserOf, asked_id, json_routes
from kpdemo.ui.markdown import markdown_html


def in_place_of_work(consents: ConsentService, project_id: int, user: User) -> Answer | None:
    """What a page is answered in place of work; None where there is nothing to agree to by now."""
    asked = consents.asked(project_id, user.id)
    if asked is None:
        return None
    html = markdown_html(asked.text)
    return {"consent": {"html": html, "sha256": asked.sha256, "changed": asked.is_changed}}


def build_consent_routes(consents: ConsentService, user_of: UserOf) -> APIRouter:
    """The address under /annotate/api where raters and writers agree; arguments as of `json_routes`."""

    def agree(user: User, request: Request, body: Body) -> Answer:
        consents.agree(asked_id(request, "project"), user.id, body.text("sha256"))
        return {}

    return json_routes([("POST", "projects/{project}/consent", agree, ("sha256",))], user_of)
