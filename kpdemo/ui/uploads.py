"""What readers send to Gradio's applications: whose files and pages they name, and how much they upload."""

from __future__ import annotations

import hmac
import json
import os
import secrets
import shutil
from asyncio import timeout
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Generic, TypeVar

from anyio import to_thread
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, HTTPConnection
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kpdemo.io.files import temporary_folder
from kpdemo.locale import _, mark
from kpdemo.text import shorten
from kpdemo.ui.serving import SAFE_METHODS, cookie_name, is_secure


@contextmanager
def private_uploads(place: Path | None = None) -> Iterator[Path]:
    """A folder for what readers upload, of this process alone, as by `temporary_folder`."""
    with temporary_folder("kpdemo-uploads-", place) as folder:
        os.environ["GRADIO_TEMP_DIR"] = str(folder)
        yield folder


UPLOAD_COOKIE = "kpdemo-uploads"
GRADIO_API = "/gradio_api"
UPLOAD_ROUTE = f"{GRADIO_API}/upload"
FILE_ROUTES = (f"{GRADIO_API}/file=", f"{GRADIO_API}/file/")
USED_ROUTES = (
    *("app_id", "call", "cancel", "config", "heartbeat", "info", "queue", "reset", "startup-events"),
    *("run", "upload", "upload_progress"),
)
"""Of Gradio's addresses those that its pages and its client ask for; the others answer for nobody here."""
UNUSED_CALLS = f"{GRADIO_API}/call/v2/"
MOST_UPLOADS = 50_000
"""Uploads and pages that are remembered, of everybody together, in about 10 MB; the oldest go first."""
LARGEST_REQUEST = 16 * 1024 * 1024
"""Bytes of a request that is no upload; the longest text and what a page shows of it are far smaller."""
LARGEST_UPLOAD = 128 * 1024 * 1024
"""Bytes of the files of one upload together."""
MOST_OF_ADDRESS = 512 * 1024 * 1024
"""Bytes that one address may upload in an hour."""
MOST_STORED = 4 * 1024**3
"""Bytes of all uploads that lie there; Gradio deletes them some time after they were used."""
FREE_SPACE = 512 * 1024 * 1024
"""Bytes of the disk that uploads leave to others, the database for one."""
FILE_COST = 64 * 1024
"""Bytes that a file counts for at least: small ones are work too."""
PATIENCE = 30
"""Seconds between two pieces of a body, before whoever sends it is taken to be gone."""

_NO_ADDRESSES = "This server fetches nothing from others: open the address itself."
_NOTHING_THERE = "There is nothing at this address."
_TOO_LARGE = f"The request is too large: send at most {LARGEST_REQUEST:,} bytes."
_NOT_JSON = f"The request is not JSON: send an object, and files to {UPLOAD_ROUTE}."
_NO_LENGTH = "The upload does not say how long it is: send its Content-Length."
_TOO_SLOW = mark("Nothing came for {seconds} seconds: send it again.")
_FOREIGN_PAGE = mark("This page was opened by somebody else: open it again.")

Key = TypeVar("Key")
Value = TypeVar("Value")


class Recent(OrderedDict[Key, Value], Generic[Key, Value]):
    """A dict that forgets the oldest when there are more than so many."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def keep(self, key: Key, value: Value) -> None:
        self[key] = value
        self.move_to_end(key)
        while len(self) > self._most:
            self.popitem(last=False)


class UploadQuota:
    """How much may be uploaded: in a request, by an address in an hour, and in the folder as a whole."""

    def __init__(
        self,
        folder: Path,
        *,
        of_address: int = MOST_OF_ADDRESS,
        stored: int = MOST_STORED,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._folder = folder
        self._of_address = of_address
        self._stored = stored
        self._clock = clock
        self._used: Recent[str, tuple[float, float]] = Recent(MOST_UPLOADS)
        self._coming = 0
        self._lock = Lock()

    def refusal(self, address: str, size: int) -> JSONResponse | None:
        """Why an upload of so many bytes is not taken now; None when it is, and counts as coming."""
        if size > LARGEST_UPLOAD:
            most = f"{LARGEST_UPLOAD:,}"
            return _refuse(
                _("An upload has at most {bytes} bytes: send fewer files at once.", bytes=most), 413
            )
        wait = (self._level(address) + size - self._of_address) / self._of_address * 3600
        if wait > 0:
            answer = _refuse(_("You have uploaded much in the last hour: try again later."), 429)
            answer.headers["retry-after"] = str(max(1, round(wait)))
            return answer
        with self._lock:
            stored = sum(file.stat().st_size for file in self._folder.rglob("*") if file.is_file())
            room = min(self._stored - stored, shutil.disk_usage(self._folder).free - FREE_SPACE)
            if self._coming + size > room:
                return _refuse(_("There is no room for uploads at the moment: try again in an hour."), 507)
            self._coming += size
        return None

    def count(self, address: str, size: int, files: int) -> None:
        """An upload that was taken has come, or has been given up with no file."""
        with self._lock:
            self._coming -= size
        self._used.keep(address, (self._clock(), self._level(address) + max(size, files * FILE_COST)))

    def _level(self, address: str) -> float:
        """What counts of what an address has uploaded: after an hour nothing."""
        since, level = self._used.get(address, (0.0, 0.0))
        return max(0.0, level - (self._clock() - since) / 3600 * self._of_address)


class UploadGuard:
    """Refuses requests for files and pages that are not their sender's, before Gradio sees them.

    Gradio opens every file that a request names, in whatever input of whatever event: it downloads it if the
    name is an address, and reads it if it is an upload, whoever uploaded it. It also sends what happens on a
    page to everybody who names the page's `session_hash`.
    Whose an upload is, is told by a random token in a cookie that scripts cannot read, and by the account.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        folder: Path,
        user_of: Callable[[HTTPConnection], str | None] | None = None,
        most_uploads: int = MOST_UPLOADS,
        quota: UploadQuota | None = None,
    ) -> None:
        """Wrap `app`, one application of Gradio's.

        Args:
            app: the application.
            folder: where it keeps its uploads.
            user_of: who is signed in. With it, pages and files belong to accounts: what is served of the
                folder is served to who uploaded it. Without it everybody may read what they can name.
            most_uploads: that are remembered.
            quota: how much may be uploaded.
        """
        self._app = app
        self._user_of = user_of
        self._uploads: Recent[bytes, None] = Recent(most_uploads)
        self._pages: Recent[str, str] = Recent(most_uploads)
        self._quota = quota or UploadQuota(folder)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        connection = HTTPConnection(scope)
        token = connection.cookies.get(cookie_name(connection, UPLOAD_COOKIE))
        if not token:
            token = secrets.token_urlsafe(16)
            send = _with_cookie(send, connection, token)
        user = (self._user_of(connection) or "") if self._user_of else ""
        owner = f"{token}\n{user}"
        route = scope["path"].removeprefix(scope.get("root_path", ""))
        reading = scope["method"] in SAFE_METHODS
        if "://" in route:  # such as /gradio_api/file=https://…
            await _refuse(_NO_ADDRESSES, 403)(scope, receive, send)
        elif not is_used(route):
            await _refuse(_NOTHING_THERE, 404)(scope, receive, send)
        elif not reading and route == UPLOAD_ROUTE:
            await self._take(owner, scope, receive, send)
        elif not reading:
            await self._check(owner, user, scope, receive, send)
        elif not self._may_read(route, owner):
            await _refuse(_not_uploaded(route), 403)(scope, receive, send)
        elif not self._may_follow(_page_named_in(connection, route), user):
            await _refuse(_(_FOREIGN_PAGE), 403)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _may_read(self, route: str, owner: str) -> bool:
        if self._user_of is None or not route.startswith(FILE_ROUTES):
            return True
        path = route[len(FILE_ROUTES[0]) :]
        return self._key(owner, path) in self._uploads

    def _may_follow(self, page: str | None, user: str) -> bool:
        """Whether a page is the user's; it is that of the first who names it."""
        if self._user_of is None or page is None:
            return True
        whose = self._pages.get(page, user)
        self._pages.keep(page, whose)
        return whose == user

    async def _take(self, owner: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass an upload on if there is room for it, which is told before it is read."""
        length = Headers(scope=scope).get("content-length", "")
        if not length.isdecimal():
            await _refuse(_NO_LENGTH, 411)(scope, receive, send)
            return
        address, size = network_of(scope), int(length)
        refusal = await to_thread.run_sync(self._quota.refusal, address, size)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        paths: list[str] = []
        try:
            await self._app(scope, _impatient(receive), self._remembering(owner, paths, send))
        except ClientDisconnect:
            await _refuse(_(_TOO_SLOW, seconds=PATIENCE), 408)(scope, receive, send)
        finally:
            self._quota.count(address, size, len(paths))

    async def _check(self, owner: str, user: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on if all files in its body are uploads of `owner`, and its page is the user's."""
        body = bytearray()
        more = True
        waiting = _impatient(receive)
        while more:
            message = await waiting()
            if message["type"] == "http.disconnect":
                await _refuse(_(_TOO_SLOW, seconds=PATIENCE), 408)(scope, receive, send)
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > LARGEST_REQUEST:
                await _refuse(_TOO_LARGE, 413)(scope, receive, send)
                return
        try:
            value = json.loads(body) if body else None  # Gradio reads bodies with the same function
            foreign = next(
                (path for path in _named_files(value) if self._key(owner, path) not in self._uploads), None
            )
        except (ValueError, RecursionError):
            await _refuse(_NOT_JSON, 400)(scope, receive, send)
            return
        page = value.get("session_hash") if isinstance(value, dict) else None
        if foreign is not None:
            await _refuse(_not_uploaded(foreign), 403)(scope, receive, send)
        elif not self._may_follow(page if isinstance(page, str) else None, user):
            await _refuse(_(_FOREIGN_PAGE), 403)(scope, receive, send)
        else:
            await self._app(scope, _replaying(bytes(body), receive), send)

    def _remembering(self, owner: str, paths: list[str], send: Send) -> Send:
        """Remember the paths that an answer tells, before its reader can name them."""
        messages: list[Message] = []

        async def send_remembered(message: Message) -> None:
            messages.append(message)
            if message["type"] == "http.response.start" or message.get("more_body", False):
                return
            if messages[0]["status"] == 200:
                paths.extend(json.loads(b"".join(part.get("body", b"") for part in messages)))
                for path in paths:
                    self._uploads.keep(self._key(owner, path), None)
            for held in messages:
                await send(held)

        return send_remembered

    @staticmethod
    def _key(owner: str, path: str) -> bytes:
        """What is remembered of an upload: as long for the longest cookie as for ours."""
        return hmac.digest(owner.encode(), path.encode(errors="surrogatepass"), "sha256")


def is_used(route: str) -> bool:
    """Whether Gradio's pages or its client ask for an address; all outside `/gradio_api` count as such."""
    if not route.startswith(f"{GRADIO_API}/") or route.startswith(FILE_ROUTES):
        return True
    first = route[len(GRADIO_API) + 1 :].partition("/")[0]
    return first in USED_ROUTES and not route.startswith(UNUSED_CALLS)


def network_of(scope: Scope) -> str:
    """Who sends, as limits count: an address, or the network of 64 bits that one subscriber of IPv6 has."""
    host = (scope.get("client") or ("", 0))[0]
    try:
        address = ip_address(host)
    except ValueError:
        return str(host)
    return str(int(address) >> 64) if isinstance(address, IPv6Address) else host


def _page_named_in(connection: HTTPConnection, route: str) -> str | None:
    """The page that a GET names: /queue/data?session_hash=…, /heartbeat/…"""
    named = connection.query_params.get("session_hash")
    if named is not None:
        return named
    heartbeat = f"{GRADIO_API}/heartbeat/"
    return route.removeprefix(heartbeat) if route.startswith(heartbeat) else None


def _named_files(value: object) -> Iterator[str]:
    """The path of everything in a JSON value that Gradio may take for a file, at any depth."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            path = value.get("path")
            if isinstance(path, str):
                yield path
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)


def _impatient(receive: Receive) -> Receive:
    """Take who sends nothing for `PATIENCE` seconds to be gone."""

    async def receive_in_time() -> Message:
        try:
            async with timeout(PATIENCE):
                return await receive()
        except TimeoutError:
            return {"type": "http.disconnect"}

    return receive_in_time


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
    return _(
        "{file} is not a file that this browser uploaded here, or was uploaded long ago: choose it again, "
        "and let the browser keep this page's cookie.",
        file=name,
    )


def _refuse(reason: str, status: int) -> JSONResponse:
    return JSONResponse({"detail": reason}, status_code=status)  # what Gradio's page shows
