"""Links that let somebody in once: /set-up/TOKEN and /invitation/TOKEN. Only sending the form uses one up."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from annotation.errors import AnnotationError, InvitationError
from annotation.services.access.invitations import Invitation, InvitationService
from annotation.types import User
from annotation.web.addresses import HOME, sign_in_address
from annotation.web.forms import read_form
from annotation.web.responder import Responder


class InvitationPages:
    def __init__(self, responder: Responder, invitations: InvitationService) -> None:
        self._responder = responder
        self._invitations = invitations

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route("/set-up", self.show_set_up, methods=["GET"])
        for path in ("/set-up/{token}", "/invitation/{token}"):
            router.add_api_route(path, self.show, methods=["GET"])
            router.add_api_route(path, self.accept, methods=["POST"])
        router.add_api_route("/invitation/{token}/join", self.join, methods=["POST"])

    async def show_set_up(self, request: Request) -> Response:
        """The link with its token as ?token=."""
        return await self.show(request, request.query_params.get("token", ""))

    async def show(self, request: Request, token: str) -> Response:
        try:
            offer = await self._responder.ask(self._invitations.invitation, token)
        except InvitationError as error:
            return await self._closed(request, error)
        return self._form(token, offer, await self._responder.user_of(request))

    async def accept(self, request: Request, token: str) -> Response:
        form = await read_form(request)
        name, password = form.get("name", ""), form.get("password", "")
        try:
            offer = await self._responder.ask(self._invitations.invitation, token)
            session = await self._responder.ask_slowly(
                self._invitations.accept_invitation, token, name, password
            )
        except InvitationError as error:
            return await self._closed(request, error)
        except AnnotationError as error:
            return self._form(token, offer, None, name=name, error=error)
        return await self._responder.let_in(request, session, HOME)

    async def join(self, request: Request, token: str) -> Response:
        """Take the role with the account that one has."""
        await read_form(request)
        user = await self._responder.user_of(request)
        if user is None:
            return self._responder.go(sign_in_address(f"/invitation/{token}"))
        try:
            await self._responder.ask(self._invitations.join, token, user.name)
        except AnnotationError as error:
            return await self._closed(request, error)
        return self._responder.go(HOME)

    def _form(
        self,
        token: str,
        offer: Invitation,
        user: User | None,
        *,
        name: str = "",
        error: AnnotationError | None = None,
    ) -> Response:
        return self._responder.show(
            "invitation.html",
            status=422 if error else 200,
            error=error,
            user=user,
            offer=offer,
            token=token,
            signed_in=user.name if user and not offer.is_set_up and not offer.user_name else None,
            name=name,
        )

    async def _closed(self, request: Request, error: AnnotationError) -> Response:
        return self._responder.show(
            "closed.html", status=410, error=error, user=await self._responder.user_of(request)
        )
