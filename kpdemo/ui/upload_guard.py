"""Which files a request may name: those that the same browser uploaded here, and nothing of other servers.

Gradio opens every file that a request names, in whatever input of whatever event: it downloads it if the name
is an address, and reads it if it is an upload, whoever uploaded it.
"""

from __future__ import annotations

import hmac
import json
import secrets
from collections import OrderedDict
from collections.abc import Iterable, Iterator

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kpdemo.text import shorten
from kpdemo.ui.serving import SAFE_METHODS, cookie_name, is_secure

UPLOAD_COOKIE = "kpdemo-uploads"
UPLOAD_ROUTE = "/gradio_api/upload"
MOST_UPLOADS = 50_000
"""Uploads that are remembered, of everybody together, in about 10 MB; the oldest are forgotten first."""
LARGEST_REQUEST = 16 * 1024 * 1024
"""Bytes of a request that is no upload; the longest text and what a page shows of it are far smaller."""

_NO_ADDRESSES = "This server fetches nothing from others: open the address itself."
_TOO_LARGE = f"The request is too large: send at most {LARGEST_REQUEST:,} bytes."
_NOT_JSON = f"The request is not JSON: send an object, and files to {UPLOAD_ROUTE}."


class UploadGuard:
    """Refuses requests for files that their sender did not upload, before Gradio sees them.

    Whose an upload is, is told by a random token in a cookie that scripts cannot read.
    """

    def __init__(self, app: ASGIApp, *, most_uploads: int = MOST_UPLOADS) -> None:
        """Wrap `app`, one application of Gradio's."""
        self._app = app
        self._most_uploads = most_uploads
        self._uploads: OrderedDict[bytes, None] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        connection = HTTPConnection(scope)
        token = connection.cookies.get(cookie_name(connection, UPLOAD_COOKIE))
        if not token:
            token = secrets.token_urlsafe(16)
            send = _with_cookie(send, connection, token)
        route = scope["path"].removeprefix(scope.get("root_path", ""))
        if scope["method"] in SAFE_METHODS:
            if "://" in route:  # such as /gradio_api/file=https://…
                await _refuse(_NO_ADDRESSES, 403)(scope, receive, send)
            else:
                await self._app(scope, receive, send)
        elif route == UPLOAD_ROUTE:
            await self._app(scope, receive, self._remembering(token, send))
        else:
            await self._check(token, scope, receive, send)

    async def _check(self, token: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on if all files in its body are uploads of `token`."""
        body = bytearray()
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > LARGEST_REQUEST:
                await _refuse(_TOO_LARGE, 413)(scope, receive, send)
                return
        try:
            foreign = next(
                (path for path in _named_files(body) if self._key(token, path) not in self._uploads), None
            )
        except (ValueError, RecursionError):
            await _refuse(_NOT_JSON, 400)(scope, receive, send)
            return
        if foreign is not None:
            await _refuse(_not_uploaded(foreign), 403)(scope, receive, send)
            return
        await self._app(scope, _replaying(bytes(body), receive), send)

    def _remembering(self, token: str, send: Send) -> Send:
        """Remember the paths that an answer tells, before its reader can name them."""
        messages: list[Message] = []

        async def send_remembered(message: Message) -> None:
            messages.append(message)
            if message["type"] == "http.response.start" or message.get("more_body", False):
                return
            if messages[0]["status"] == 200:
                self._remember(token, json.loads(b"".join(part.get("body", b"") for part in messages)))
            for held in messages:
                await send(held)

        return send_remembered

    def _remember(self, token: str, paths: Iterable[str]) -> None:
        for path in paths:
            key = self._key(token, path)
            self._uploads[key] = None
            self._uploads.move_to_end(key)
        while len(self._uploads) > self._most_uploads:
            self._uploads.popitem(last=False)

    @staticmethod
    def _key(token: str, path: str) -> bytes:
        """What is remembered of an upload: as long for the longest cookie as for ours."""
        return hmac.digest(token.encode(), path.encode(errors="surrogatepass"), "sha256")


def _named_files(body: bytes | bytearray) -> Iterator[str]:
    """The path of everything in a JSON text that Gradio may take for a file, at any depth.

    Raises:
        ValueError: it is not JSON.
        RecursionError: nor is it nested so deeply that Gradio could read it.
    """
    waiting = [json.loads(body)] if body else []  # Gradio reads bodies with the same function
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            path = value.get("path")
            if isinstance(path, str):
                yield path
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)


def _replaying(body: bytes, receive: Receive) -> Receive:
    """Give a body that has been read once more, and then what comes after it."""
    first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return first.pop() if first else await receive()

    return receive_again


def _with_cookie(send: Send, connection: HTTPConnection, token: str) -> Send:
    """Have the browser keep its token, from the page on, so that two first uploads at once share it."""
    route = connection.scope["path"].removeprefix(connection.scope.get("root_path", ""))
    # Within the frame of a Space's page browsers keep no Lax cookie; and this one allows nothing but to name
    # a file whose path is known.
    kept_by = "Secure; SameSite=None; Partitioned" if is_secure(connection) else "SameSite=Lax"
    cookie = f"{cookie_name(connection, UPLOAD_COOKIE)}={token}; Path=/; HttpOnly; {kept_by}"

    async def send_with_cookie(message: Message) -> None:
        if message["type"] == "http.response.start":
            is_page = Headers(raw=message["headers"]).get("content-type", "").startswith("text/html")
            if is_page or route == UPLOAD_ROUTE:
                headers = MutableHeaders(scope=message)
                headers.append("set-cookie", cookie)
                headers.setdefault("cache-control", "private")  # no proxy may hand it to somebody else
        await send(message)

    return send_with_cookie


def _not_uploaded(path: str) -> str:
    name = shorten(path.rpartition("/")[2] or path, 100)
    return (
        f"{name} is not a file that this browser uploaded here, or was uploaded long ago: choose it again, "
        "and let the browser keep this page's cookie."
    )


def _refuse(reason: str, status: int) -> JSONResponse:
    return JSONResponse({"detail": reason}, status_code=status)  # what Gradio's page shows
