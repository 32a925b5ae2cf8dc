"""Who is signed in, and what happens to requests for annotation from others or for what is not there."""

from __future__ import annotations

import json

from anyio import to_thread
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from annotation.services.bundle import DamagedError, UnreachableError
from annotation.services.sign_in import NOT_SIGNED_IN, SignInService
from annotation.services.tokens import TokenService
from annotation.translation import _, mark
from annotation.types import User
from annotation.web.api import RATER_HEADER, USER_IN_SCOPE
from annotation.web.responder import (
    COOKIE,
    DESCRIPTION,
    FOR_PROGRAMS,
    GRADIO,
    NO_STORE,
    PREFIX,
    PROGRAMS,
    failed_answer,
    load_templates,
    read_cookie,
    sign_in_address,
)
from annotation.wording import whole_in
from kpdemo.translation import language_of, set_language, use_language

PUBLIC = (f"{PREFIX}/assets/", f"{PREFIX}/static/", f"{PREFIX}/theme.css")
"""Gradio's own scripts and styles: the same for everybody, and many for each page."""
SPEAKING = frozenset(
    f"{PREFIX}/{page}"
    for page in (
        *("", "rate", "adjudicate", "write", "review", "agreement", "project"),
        *("leaderboard", "predictions", "senses", "users"),
    )
)
"""Pages that are in the reader's language; the others are in English."""


NO_TOKEN = (
    "There is no valid token with this request: make one on your account's page and send it as "
    "“Authorization: Bearer TOKEN”."
)
_SOMEBODY_ELSE = "Somebody else is signed in now: open the page again."
_NO_STORE = "no-store"


class Guard:
    """Tells who sends a request."""

    def __init__(self, sign_ins: SignInService, tokens: TokenService) -> None:
        self._sign_ins = sign_ins
        self._tokens = tokens

    def current_user(self, connection: HTTPConnection) -> str | None:
        """The name of the account that is signed in, or None.

        Behind the middleware this looks nothing up, so that it may be called from the event loop.
        """
        user = self.user_of(connection)
        return None if user is None else user.name

    def user_of(self, connection: HTTPConnection) -> User | None:
        """The account that is signed in, or None; looked up only outside /annotate."""
        if USER_IN_SCOPE in connection.scope:
            user: User | None = connection.scope[USER_IN_SCOPE]
            return user
        return self.look_up(connection)

    def language_of(self, user: User, project_id: int | None) -> str:
        """The language of a project, else of those in which the user rates; empty where there is none."""
        return self._sign_ins.language_of(user.id, project_id)

    async def recognise(self, connection: HTTPConnection) -> User | None:
        """What `look_up` gives; by a thread only where it may wait, for handing it over takes as long."""
        if connection.scope["path"].startswith(PROGRAMS) or not self._sign_ins.finds_at_once:
            return await to_thread.run_sync(self.look_up, connection)
        token = read_cookie(connection, COOKIE)
        found = None if token is None else self._sign_ins.find(token)
        if found is None:
            return None
        if found.runs_until is not None:
            await to_thread.run_sync(self._sign_ins.renew, found)
        return found.user

    def look_up(self, connection: HTTPConnection) -> User | None:
        """Who sends it, from the database; a program by its token alone, a browser by its cookie alone."""
        if connection.scope["path"].startswith(PROGRAMS):
            kind, _space, bearer = connection.headers.get("authorization", "").partition(" ")
            return self._tokens.user_of(bearer.strip()) if kind.lower() == "bearer" else None
        token = read_cookie(connection, COOKIE)
        return None if token is None else self._sign_ins.user_of(token)


class GuardMiddleware:
    """Lets nobody but signed-in users under /annotate; a page that is asked for leads to the sign-in.

    Services still check the role: this only knows that somebody is signed in.
    """

    def __init__(self, app: ASGIApp, *, guard: Guard) -> None:
        self._app = app
        self._guard = guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope.get("path", "")
        inside = path == PREFIX or path.startswith((f"{PREFIX}/", PROGRAMS))
        if scope["type"] not in ("http", "websocket") or not inside or path.startswith(PUBLIC):
            await self._app(scope, receive, send)
            return
        connection = HTTPConnection(scope)
        send = _without_storing(send)
        user: User | None = None
        try:
            user = await self._guard.recognise(connection)
            if user is not None and path in SPEAKING and wants_page(connection):
                project = whole_in(connection.query_params.get("project", ""))
                otherwise = await to_thread.run_sync(self._guard.language_of, user, project)
                set_language(language_of(connection.cookies, connection.headers, otherwise))
            answer = self._answer(connection, user)
        except (UnreachableError, DamagedError) as error:
            answer = failed_answer(error, connection)
        if answer is not None:
            await answer(scope, receive, send)
            return
        await self._app({**scope, USER_IN_SCOPE: user}, receive, send)

    def _answer(self, connection: HTTPConnection, user: User | None) -> Response | None:
        """What is answered in the place of the pages, if they are not to be asked."""
        is_for_reader = wants_page(connection)
        if connection.scope["path"].startswith(PROGRAMS):
            is_open = connection.scope["path"] == DESCRIPTION
            return (
                None
                if is_open or user is not None
                else JSONResponse(
                    {"error": NO_TOKEN}, status_code=401, headers={"www-authenticate": "Bearer"}
                )
            )
        if user is None and not is_for_reader:
            return JSONResponse({"error": _(NOT_SIGNED_IN)}, status_code=401)
        if user is not None and _is_from_page_of_other(connection, user):
            return JSONResponse({"error": _SOMEBODY_ELSE}, status_code=409)
        path = connection.scope["path"]
        if path == PREFIX:
            path = f"{PREFIX}/"
        query = connection.scope.get("query_string", b"").decode("latin-1")
        address = f"{path}?{query}" if query else path
        if user is None:
            return RedirectResponse(sign_in_address(address), status_code=303)
        if path != connection.scope["path"] and is_for_reader:
            return RedirectResponse(address, status_code=308)
        return None


def _is_from_page_of_other(connection: HTTPConnection, user: User) -> bool:
    """Whether the page was made for another user, who was signed in in this browser before."""
    shown = Headers(scope=connection.scope).get(RATER_HEADER, str(user.id))
    return connection.scope["path"].startswith(GRADIO) and shown != str(user.id)


def wants_page(connection: HTTPConnection) -> bool:
    """Whether a reader opens an address, as against a script or a program."""
    scope = connection.scope
    if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD"):
        return False
    return "text/html" in Headers(scope=scope).get("accept", "") and not scope["path"].startswith(
        FOR_PROGRAMS
    )


def _without_storing(send: Send) -> Send:
    """Keep what is behind the sign-in out of every cache: the next reader may be somebody else."""

    async def send_marked(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message)["cache-control"] = _NO_STORE
        await send(message)

    return send_marked


NOTHING = mark("There is nothing at this address: it may be mistyped, or what was here has been removed.")


class MissingPageMiddleware:
    """Turns a 404 in JSON into a page, for readers only; everything else passes as it is."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._page = load_templates().get_template("missing.html")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not wants_page(asked := HTTPConnection(scope)):
            await self._app(scope, receive, send)
            return
        is_missing, body = False, b""

        async def send_or_replace(message: Message) -> None:
            nonlocal is_missing, body
            if message["type"] == "http.response.start":
                is_missing = message["status"] == 404 and _is_json(message)
            if not is_missing:
                await send(message)
            elif message["type"] == "http.response.body":
                body += message.get("body", b"")
                if not message.get("more_body", False):
                    with use_language(language_of(asked.cookies, asked.headers)):
                        text = self._page.render(sentence=_sentence(body))
                    page = HTMLResponse(text, 404, NO_STORE)
                    await page(scope, receive, send)

        await self._app(scope, receive, send_or_replace)


def _is_json(message: Message) -> bool:
    return Headers(raw=message["headers"]).get("content-type", "").startswith("application/json")


def _sentence(body: bytes) -> str:
    """Ours where the answer has one; frameworks only say "Not Found"."""
    try:
        said = json.loads(body)["error"]
    except (ValueError, KeyError, TypeError):
        return _(NOTHING)
    return said if isinstance(said, str) else _(NOTHING)
