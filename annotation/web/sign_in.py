"""Signing in and out: /sign-in and /sign-out."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from annotation.errors import SignInError, TooManyAttemptsError
from annotation.services.access.invitations import InvitationService
from annotation.services.access.sign_ins import SignInService
from annotation.services.bundle import UnreachableError
from annotation.web.addresses import local_path
from annotation.web.cookies import COOKIE, MARK_COOKIE, read_cookie
from annotation.web.forms import read_form
from annotation.web.responder import Responder

ENDED = "Your session ended. Sign in and go on where you were"
KEPT = f"{ENDED}: what you graded and typed is kept."
KEEPING = ("/annotate/rate", "/annotate/write", "/annotate/adjudicate")
"""Pages whose scripts keep in the browser what was not sent yet."""

SIGNED_OUT = "You are signed out."
_MINUTE = 60


class SignInPages:
    def __init__(self, responder: Responder, sign_ins: SignInService, invitations: InvitationService) -> None:
        self._responder = responder
        self._sign_ins = sign_ins
        self._invitations = invitations

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route("/sign-in", self.show, methods=["GET"])
        router.add_api_route("/sign-in", self.sign_in, methods=["POST"])
        router.add_api_route("/sign-out", self.sign_out, methods=["POST"])

    async def show(self, request: Request) -> Response:
        """The form; a user who is already signed in goes on at once."""
        path = request.query_params.get("next")
        if await self._responder.user_of(request) is not None:
            return self._responder.go(local_path(path))
        note = ""
        if "out" in request.query_params:
            note = SIGNED_OUT
        elif path and ("ended" in request.query_params or read_cookie(request, COOKIE) is not None):
            note = KEPT if path.startswith(KEEPING) else f"{ENDED}."
        return await self._form(path=local_path(path), name="", note=note)

    async def sign_in(self, request: Request) -> Response:
        form = await read_form(request)
        name, path = form.get("name", ""), local_path(form.get("next"))
        try:
            token = await self._responder.ask_slowly(
                self._sign_ins.sign_in,
                name,
                form.get("password", ""),
                request.client.host if request.client else "",
                read_cookie(request, MARK_COOKIE),
            )
        except TooManyAttemptsError as error:
            wait = {"retry-after": str(error.minutes * _MINUTE)}
            return await self._form(status=429, error=error, headers=wait, path=path, name=name, note="")
        except SignInError as error:
            return await self._form(status=403, error=error, path=path, name=name, note="")
        except UnreachableError as error:
            told = SignInError(error.for_users)
            return self._responder.show(
                "sign_in.html", status=503, error=told, path=path, name=name, note="", is_new=False
            )
        return await self._responder.let_in(request, token, path)

    async def sign_out(self, request: Request) -> Response:
        token = read_cookie(request, COOKIE)
        if token is not None:
            await self._responder.ask(self._sign_ins.sign_out, token)
        return self._responder.see_off(request)

    async def _form(self, **values: Any) -> Response:
        is_new = not await self._responder.ask(self._invitations.has_administrator)
        return self._responder.show("sign_in.html", is_new=is_new, **values)
