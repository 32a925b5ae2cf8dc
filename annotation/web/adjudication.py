"""The JSON interface of the adjudication page: how many pairs its queue has by now."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request

from annotation.characters import can_be_stored, shown
from annotation.errors import NotFoundError
from annotation.services.access.accounts import AccountService
from annotation.services.adjudication import AdjudicationService
from annotation.types import Role, User
from annotation.web.bodies import Body
from annotation.web.json_routes import Answer, UserOf, asked_id, json_routes


def build_adjudication_routes(
    accounts: AccountService, adjudication: AdjudicationService, user_of: UserOf
) -> APIRouter:
    """The address under /annotate/api that tells an open page whether it is still up to date.

    Args:
        user_of: who sends a request, None for nobody; called in a thread.
    """

    def count(user: User, request: Request, body: Body) -> Answer:
        """By the names of `Which`; `type` in the address leaves out other comparison types."""
        project_id = asked_id(request, "project")
        accounts.require(user.name, project_id, Role.ADJUDICATOR, Role.ADMINISTRATOR)
        type = request.query_params.get("type") or None
        if type is not None and not can_be_stored(type):
            raise NotFoundError(f"There is no type {shown(type)}: choose one from the list.")
        counts = adjudication.counts(project_id, type, viewer=user.id)
        return {which.value: count for which, count in counts.items()}

    return json_routes([("GET", "projects/{project}/adjudication", count, ())], user_of)
