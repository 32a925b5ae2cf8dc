"""What people see where there is nothing: a page with a way back, in the place of JSON for programs."""

from __future__ import annotations

import json

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from annotation.web.guard import wants_page
from annotation.web.responder import NO_STORE, load_templates

NOTHING = "There is nothing at this address: it may be mistyped, or what was here has been removed."


class MissingPageMiddleware:
    """Turns a 404 in JSON into a page, for readers only; everything else passes as it is."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._page = load_templates().get_template("missing.html")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not wants_page(HTTPConnection(scope)):
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
                    page = HTMLResponse(self._page.render(sentence=_sentence(body)), 404, NO_STORE)
                    await page(scope, receive, send)

        await self._app(scope, receive, send_or_replace)


def _is_json(message: Message) -> bool:
    return Headers(raw=message["headers"]).get("content-type", "").startswith("application/json")


def _sentence(body: bytes) -> str:
    """Ours where the answer has one; frameworks only say "Not Found"."""
    try:
        said = json.loads(body)["error"]
    except (ValueError, KeyError, TypeError):
        return NOTHING
    return said if isinstance(said, str) else NOTHING
