"""One's own account: /account."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from starlette.responses import JSONResponse

from annotation.errors import AnnotationError, SignedOutError
from annotation.services.access.sign_ins import SignInService
from annotation.types import User
from annotation.web.addresses import sign_in_address
from annotation.web.cookies import COOKIE, read_cookie
from annotation.web.forms import read_form
from annotation.web.responder import NO_STORE, Responder

USER_PATH = "/account/name"
"""Tells a browser, and nobody else, who is signed in there."""

CHANGED = "The password is changed, and every other browser is signed out."


class AccountPages:
    def __init__(self, responder: Responder, sign_ins: SignInService) -> None:
        self._responder = responder
        self._sign_ins = sign_ins

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route("/account", self.show, methods=["GET"])
        router.add_api_route(USER_PATH, self.tell_user, methods=["GET"])
        router.add_api_route("/account/password", self.change_password, methods=["POST"])
        router.add_api_route("/account/sign-out-everywhere", self.sign_out_everywhere, methods=["POST"])

    async def show(self, request: Request) -> Response:
        user = await self._responder.user_of(request)
        if user is None:
            return self._responder.go(sign_in_address("/account"))
        return self._page(user, note=CHANGED if "changed" in request.query_params else "")

    async def tell_user(self, request: Request) -> Response:
        """The name for the head of a page that all readers share; empty where nobody is signed in."""
        user = await self._responder.user_of(request)
        name = "" if user is None else user.name
        return JSONResponse({"name": name, "address": "/account"}, headers=NO_STORE)

    async def change_password(self, request: Request) -> Response:
        form = await read_form(request)
        user = await self._responder.user_of(request)
        token = read_cookie(request, COOKIE) or ""
        if user is None:
            return self._responder.go(sign_in_address("/account"))
        try:
            new = await self._responder.ask_slowly(
                self._sign_ins.change_password,
                token,
                form.get("current", ""),
                form.get("password", ""),
            )
        except SignedOutError:
            return self._responder.go(sign_in_address("/account"))
        except AnnotationError as error:
            return self._page(user, error=error)
        return await self._responder.let_in(request, new, "/account?changed")

    async def sign_out_everywhere(self, request: Request) -> Response:
        await read_form(request)
        user = await self._responder.user_of(request)
        if user is not None:
            await self._responder.ask(self._sign_ins.sign_out_everywhere, user.name)
        return self._responder.see_off(request)

    def _page(self, user: User, *, note: str = "", error: AnnotationError | None = None) -> Response:
        return self._responder.show(
            "account.html", status=422 if error else 200, error=error, user=user, name=user.name, note=note
        )
