"""Signing in and out, one's own account, and links that let somebody in once."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from fastapi import APIRouter, Depends, FastAPI, Request, Response
from starlette.middleware import Middleware
from starlette.responses import JSONResponse

from annotation.crowds import Worker, worker_in
from annotation.errors import (
    AnnotationError,
    InvitationError,
    NotFoundError,
    SettingsError,
    SignedOutError,
    SignInError,
    TooManyAttemptsError,
)
from annotation.services.accounts import Invitation, InvitationService
from annotation.services.bundle import UnreachableError
from annotation.services.crowds import CrowdService, SharedOffer
from annotation.services.sign_in import SignInService
from annotation.services.tokens import TokenService
from annotation.translation import _, mark
from annotation.types import User
from annotation.web.api import add_refusals
from annotation.web.guard import Guard, GuardMiddleware
from annotation.web.responder import (
    COOKIE,
    HOME,
    MARK_COOKIE,
    NO_STORE,
    Responder,
    local_path,
    rate_address,
    read_cookie,
    read_form,
    sign_in_address,
    speak,
)
from annotation.wording import quote_value, whole_in
from kpdemo.translation import language_of, set_language


def _speak(request: Request, offer: Invitation | SharedOffer) -> None:
    """Answer in the language of the project that somebody is invited to, unless they chose another."""
    set_language(language_of(request.cookies, request.headers, offer.language))


ENDED = mark("Your session ended. Sign in and go on where you were.")
KEPT = mark("Your session ended. Sign in and go on where you were: what you graded and typed is kept.")
KEEPING = ("/annotate/rate", "/annotate/write", "/annotate/adjudicate")
"""Pages whose scripts keep in the browser what was not sent yet."""

SIGNED_OUT = mark("You are signed out.")
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
        if (user := await self._responder.user_of(request)) is not None:
            return self._responder.go(await self._responder.landing(user, local_path(path)))
        note = ""
        if "out" in request.query_params:
            note = _(SIGNED_OUT)
        elif path and ("ended" in request.query_params or read_cookie(request, COOKIE) is not None):
            note = _(KEPT if path.startswith(KEEPING) else ENDED)
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
            told = SignInError(_(error.for_users))
            return self._show(status=503, error=told, path=path, name=name, note="", is_new=False)
        return await self._responder.let_in(request, token, path)

    async def sign_out(self, request: Request) -> Response:
        token = read_cookie(request, COOKIE)
        if token is not None:
            await self._responder.ask(self._sign_ins.sign_out, token)
        return self._responder.see_off(request)

    async def _form(self, **values: Any) -> Response:
        is_new = not await self._responder.ask(self._invitations.has_administrator)
        return self._show(is_new=is_new, **values)

    def _show(self, *, path: str, **values: Any) -> Response:
        return self._responder.show("sign_in.html", path=path, here=sign_in_address(path), **values)


USER_PATH = "/account/name"
"""Tells a browser, and nobody else, who is signed in there."""

CHANGED = mark("The password is changed, and every other browser is signed out.")
REVOKED = mark("The token is revoked: programs that have it get nothing any more.")
_NOTES = {"changed": CHANGED, "revoked": REVOKED}


class AccountPages:
    def __init__(self, responder: Responder, sign_ins: SignInService, tokens: TokenService) -> None:
        self._responder = responder
        self._sign_ins = sign_ins
        self._tokens = tokens

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route("/account", self.show, methods=["GET"])
        router.add_api_route("/account/tokens", self.make_token, methods=["POST"])
        router.add_api_route("/account/tokens/{number}/revoke", self.revoke_token, methods=["POST"])
        router.add_api_route(USER_PATH, self.tell_user, methods=["GET"])
        router.add_api_route("/account/password", self.change_password, methods=["POST"])
        router.add_api_route("/account/sign-out-everywhere", self.sign_out_everywhere, methods=["POST"])

    async def show(self, request: Request) -> Response:
        user = await self._responder.user_of(request)
        if user is None:
            return self._responder.go(sign_in_address("/account"))
        await self._responder.speak_for(request, user)
        note = next((_(note) for sign, note in _NOTES.items() if sign in request.query_params), "")
        return await self._page(user, note=note)

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
        await self._responder.speak_for(request, user)
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
            return await self._page(user, error=error)
        return await self._responder.let_in(request, new, "/account?changed")

    async def make_token(self, request: Request) -> Response:
        """Shows the new token, this once."""
        form = await read_form(request)
        user = await self._responder.user_of(request)
        if user is None:
            return self._responder.go(sign_in_address("/account"))
        await self._responder.speak_for(request, user)
        name, days = form.get("token_name", ""), form.get("days", "")
        try:
            number = whole_in(days) if days else None
            if days and number is None:
                raise SettingsError(
                    _("The days are a whole number such as 90, not {value}.", value=quote_value(days))
                )
            token = await self._responder.ask(self._tokens.make, user.name, name, number, by=user)
        except AnnotationError as error:
            return await self._page(user, token_error=error, token_name=name, days=days)
        return await self._page(user, new_token=token)

    async def revoke_token(self, request: Request, number: str) -> Response:
        await read_form(request)
        user = await self._responder.user_of(request)
        if user is None:
            return self._responder.go(sign_in_address("/account"))
        with suppress(NotFoundError):  # it was revoked in another window
            await self._responder.ask(self._tokens.revoke, user.name, whole_in(number) or 0, by=user)
        return self._responder.go("/account?revoked")

    async def sign_out_everywhere(self, request: Request) -> Response:
        await read_form(request)
        user = await self._responder.user_of(request)
        if user is not None:
            await self._responder.ask(self._sign_ins.sign_out_everywhere, user.name)
        return self._responder.see_off(request)

    async def _page(
        self,
        user: User,
        *,
        note: str = "",
        error: AnnotationError | None = None,
        token_error: AnnotationError | None = None,
        new_token: str = "",
        token_name: str = "",
        days: str = "",
    ) -> Response:
        return self._responder.show(
            "account.html",
            here="/account",
            status=422 if error or token_error else 200,
            error=error,
            user=user,
            name=user.name,
            note=note,
            tokens=await self._responder.ask(self._tokens.tokens, user.name),
            token_error=token_error,
            new_token=new_token,
            token_name=token_name,
            days=days,
        )


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
            return await self._show_closed(request, error)
        _speak(request, offer)
        return self._form(token, offer, await self._responder.user_of(request))

    async def accept(self, request: Request, token: str) -> Response:
        form = await read_form(request)
        name, password = form.get("name", ""), form.get("password", "")
        try:
            offer = await self._responder.ask(self._invitations.invitation, token)
            _speak(request, offer)
            session = await self._responder.ask_slowly(
                self._invitations.accept_invitation, token, name, password
            )
        except InvitationError as error:
            return await self._show_closed(request, error)
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
            return await self._show_closed(request, error)
        return self._responder.go(await self._responder.landing(user, HOME))

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

    async def _show_closed(self, request: Request, error: AnnotationError) -> Response:
        return self._responder.show(
            "closed.html", status=410, error=error, user=await self._responder.user_of(request)
        )


class SharedLinkPages:
    """What opens a shared link: a form for a name, or one button for who comes from a platform."""

    def __init__(self, responder: Responder, crowds: CrowdService) -> None:
        self._responder = responder
        self._crowds = crowds

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route("/join/{token}", self.show, methods=["GET"])
        router.add_api_route("/join/{token}", self.come, methods=["POST"])
        router.add_api_route("/join/{token}/account", self.join, methods=["POST"])

    async def show(self, request: Request, token: str) -> Response:
        """Nobody comes in by this alone: programs that look at links open them too."""
        user = await self._responder.user_of(request)
        try:
            worker = worker_in(request.query_params)
            offer = await self._responder.ask(self._crowds.offer, token)
        except InvitationError as error:
            return self._responder.show("closed.html", status=410, error=error, user=user)
        _speak(request, offer)
        return self._form(token, offer, worker, user)

    async def come(self, request: Request, token: str) -> Response:
        form = await read_form(request)
        address = request.client.host if request.client else ""
        name, worker, offer = form.get("name", ""), None, None
        try:
            worker = worker_in(form)
            offer = await self._responder.ask(self._crowds.offer, token)
            _speak(request, offer)
            if worker is not None:
                found = await self._responder.ask_slowly(self._crowds.come_as_worker, token, address, worker)
            else:
                found = await self._responder.ask_slowly(
                    self._crowds.come, token, address, name, form.get("password", "")
                )
        except InvitationError as error:
            user = await self._responder.user_of(request)
            return self._responder.show("closed.html", status=410, error=error, user=user)
        except AnnotationError as error:
            assert offer is not None  # only coming in raises others
            return self._form(token, offer, worker, None, name=name, error=error)
        return await self._responder.let_in(request, found.token, rate_address(found.project_id))

    async def join(self, request: Request, token: str) -> Response:
        """Become a rater with the account that one has."""
        await read_form(request)
        user = await self._responder.user_of(request)
        if user is None:
            return self._responder.go(sign_in_address(f"/join/{token}"))
        try:
            project_id = await self._responder.ask(self._crowds.join, token, user.name)
        except AnnotationError as error:
            return self._responder.show("closed.html", status=410, error=error, user=user)
        return self._responder.go(rate_address(project_id))

    def _form(
        self,
        token: str,
        offer: SharedOffer,
        worker: Worker | None,
        user: User | None,
        *,
        name: str = "",
        error: AnnotationError | None = None,
    ) -> Response:
        status, headers = 422 if error else 200, None
        if isinstance(error, TooManyAttemptsError):
            status, headers = 429, {"retry-after": str(error.minutes * _MINUTE)}
        return self._responder.show(
            "join.html",
            status=status,
            headers=headers,
            error=error,
            user=user,
            offer=offer,
            token=token,
            worker=worker,
            signed_in=user.name if user else None,
            name=name,
        )


def add_shared_link_pages(server: FastAPI, sign_ins: SignInService, crowds: CrowdService) -> None:
    """Add /join, where people come by shared links."""
    router = APIRouter(include_in_schema=False, dependencies=[Depends(speak)])
    SharedLinkPages(Responder(sign_ins), crowds).add_to(router)
    server.include_router(router)


def add_account_pages(
    server: FastAPI, sign_ins: SignInService, invitations: InvitationService, tokens: TokenService
) -> Guard:
    """Add /sign-in, /sign-out, /set-up, /invitation and /account, and guard what is under /annotate.

    Returns:
        Who tells the pages and routes under /annotate who is signed in.
    """
    add_refusals(server)
    responder = Responder(sign_ins)
    router = APIRouter(include_in_schema=False, dependencies=[Depends(speak)])
    SignInPages(responder, sign_ins, invitations).add_to(router)
    InvitationPages(responder, invitations).add_to(router)
    AccountPages(responder, sign_ins, tokens).add_to(router)
    server.include_router(router)
    guard = Guard(sign_ins, tokens)
    # Innermost, so that its answers too get the headers that the others add.
    server.user_middleware.append(Middleware(GuardMiddleware, guard=guard))
    return guard
