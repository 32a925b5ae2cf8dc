"""Sending predictions to a project: /annotate/send/TOKEN shows what would be sent, and sends it."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import APIRouter, Request, Response

from annotation.errors import AccessError, AnnotationError, HandOverError, NotFoundError
from annotation.predictions import ORDER_NAMES, TYPE, QueueOrder, pool
from annotation.scale import CLSS
from annotation.services.accounts import AccountService
from annotation.services.predictions import PATH, HandOvers, SendService
from annotation.services.projects import OverviewService, ProjectLine
from annotation.services.sign_in import SignInService
from annotation.translation import _
from annotation.types import Role, User
from annotation.web.responder import Responder, read_form, sign_in_address
from annotation.wording import beginning, whole_in
from kpdemo.translation import current_language

NEW = "new"
"""In place of the id of a project: one that is made for what is sent."""
SHOWN_DOCUMENTS = 5
_SHOWN_CHARACTERS = 90


class SendPages:
    """A visitor who is not signed in comes back here after the sign-in; only an administrator can confirm."""

    def __init__(
        self,
        accounts: AccountService,
        sign_ins: SignInService,
        overview: OverviewService,
        sending: SendService,
        handovers: HandOvers,
    ) -> None:
        self._responder = Responder(sign_ins)
        self._accounts = accounts
        self._overview = overview
        self._sending = sending
        self._handovers = handovers

    def router(self) -> APIRouter:
        router = APIRouter(include_in_schema=False)
        router.add_api_route(PATH + "{token}", self.show, methods=["GET"])
        router.add_api_route(PATH + "{token}", self.send, methods=["POST"])
        return router

    async def show(self, request: Request, token: str) -> Response:
        """The projects to choose from, and what would be sent to the one that the address names."""
        user = await self._responder.user_of(request)
        if user is None:
            return self._responder.go(sign_in_address(f"{PATH}{token}"))
        await self._responder.speak_for(request, user)
        return await self._responder.ask(self._page, token, user, request.query_params.get("project", ""))

    async def send(self, request: Request, token: str) -> Response:
        """Send to the project of the form."""
        form = await read_form(request)
        user = await self._responder.user_of(request)
        if user is None:
            return self._responder.go(sign_in_address(f"{PATH}{token}"))
        await self._responder.speak_for(request, user)
        return await self._responder.ask(self._send, token, user, form)

    def _page(
        self, token: str, user: User, asked: str, error: AnnotationError | None = None, name: str = ""
    ) -> Response:
        try:
            documents = self._handovers.documents(token)
        except HandOverError as problem:
            return self._gone(token, user, problem)
        administered = self._projects(user)
        refusals = self._sending.refusals([line.id for line in administered], documents)
        projects = [line for line in administered if line.id not in refusals]
        chosen = next((line for line in projects if str(line.id) == asked), None)
        if chosen is None and len(projects) == 1:
            [chosen] = projects
        new = None if chosen is None else self._sending.count_new(chosen.id, documents)
        return self._responder.show(
            "send.html",
            status=200 if error is None else 422,
            error=error,
            user=user,
            here=_address(token, asked),
            projects=projects,
            refusals=[(line.name, refusals[line.id]) for line in administered if line.id in refusals],
            new_name=(name or self._sending.unused_name(documents)) if user.is_administrator else "",
            other_settings=f"/annotate/?type={TYPE}",
            graded=CLSS.words,
            is_new=asked == NEW,
            chosen=chosen,
            new=new,
            has_all=chosen is not None and not new and self._sending.has_all(chosen.id, documents),
            new_type=TYPE if chosen is not None and self._sending.lacks_type(chosen.id) else "",
            phrases=sum(len(pool(document)) for document in documents),
            orders=ORDER_NAMES,
            order=None if chosen is None else self._sending.usual_order(chosen.id),
            models=sorted({run.model for document in documents for run in document.runs}),
            documents=[
                beginning(one.title or one.body, _SHOWN_CHARACTERS) for one in documents[:SHOWN_DOCUMENTS]
            ],
            count=len(documents),
        )

    def _send(self, token: str, user: User, form: Mapping[str, str]) -> Response:
        asked, name = form.get("project", ""), form.get("name", "")
        order = next((order for order in QueueOrder if order == form.get("order")), None)
        try:
            project_id = None if asked == NEW else _number(asked)  # none: for administrators of the server
            self._accounts.require(user.name, project_id, Role.ADMINISTRATOR)
            documents = self._handovers.documents(token)
            if project_id is None:
                order = order or QueueOrder.DOCUMENT
                project_id, summary = self._sending.send_to_new(
                    name, documents, order=order, by=user, language=current_language()
                )
            else:
                order = order or self._sending.usual_order(project_id)
                summary = self._sending.send(project_id, documents, order=order, by=user)
        except AccessError as error:
            return self._responder.show("closed.html", status=403, error=error, user=user)
        except HandOverError as error:
            return self._gone(token, user, error)
        except AnnotationError as error:
            return self._page(token, user, asked, error, name)
        self._handovers.mark_sent(token, project_id)
        return self._responder.go(f"/annotate/predictions?project={project_id}&sent={summary.pairs}")

    def _gone(self, token: str, user: User, error: HandOverError) -> Response:
        """Why there is nothing to send; after sending, which project has it, for who administers that."""
        project_id = self._handovers.project_of(token)
        project = next((line for line in self._projects(user) if line.id == project_id), None)
        if project_id is None:
            return self._responder.show("closed.html", status=410, error=error, user=user)
        return self._responder.show("sent.html", user=user, here=_address(token), project=project)

    def _projects(self, user: User) -> list[ProjectLine]:
        """The projects that the user administers, by name."""
        lines = self._overview.projects(user)
        return [line for line in lines if user.is_administrator or Role.ADMINISTRATOR in line.roles]


def _address(token: str, asked: str = "") -> str:
    """The page, also where a form of it was refused, with the project that is asked for."""
    number = whole_in(asked)
    return f"{PATH}{token}" if number is None else f"{PATH}{token}?project={number}"


def _number(text: str) -> int:
    number = whole_in(text)
    if number is None:
        raise NotFoundError(_("No project is chosen: choose one of your projects."))
    return number
