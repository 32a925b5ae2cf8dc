"""Serving the web application: what browsers and requests are refused, a port, a stop without a fuss."""

from __future__ import annotations

import errno
import hmac
import json
import logging
import os
import secrets
import socket
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import uvicorn
from fastapi import FastAPI, Response
from fastapi.middleware.cors import CORSMiddleware
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kpdemo.errors import KpdemoError
from kpdemo.text import shorten

SPACE_ANCESTORS = "https://huggingface.co https://*.hf.space"
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}

# Gradio's pages start with inline scripts and its HTML components build functions from templates;
# handlers in attributes are not needed and stay forbidden.
CONTENT_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; script-src-attr 'none'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
    "connect-src 'self'; worker-src 'self' blob:; frame-src 'none'; object-src 'none'; "
    "form-action 'self'; base-uri 'self'; frame-ancestors {ancestors}"
)


def add_security(server: FastAPI, *, in_space: bool, never_framed: Sequence[str]) -> None:
    """Keep other sites' pages from asking for anything, and from showing the pages in a frame.

    Args:
        server: the web application.
        in_space: whether the page of a Hugging Face Space may show it.
        never_framed: as of `SecurityMiddleware`.
    """
    server.add_middleware(CORSMiddleware, allow_origins=[])  # else Gradio answers every site that asks
    server.add_middleware(
        SecurityMiddleware,
        frame_ancestors=SPACE_ANCESTORS if in_space else "'none'",
        never_framed=never_framed,
    )


def add_documentation(server: FastAPI, site: Path) -> str:
    """Serve the site that `make docs` builds at /docs, if it has been built.

    Returns:
        Its address as seen from the public page; "" without it.
    """
    if not (site / "index.html").is_file():
        return ""
    server.mount("/docs", StaticFiles(directory=site, html=True))
    return "docs/"


class SecurityMiddleware:
    """Adds the security headers, and refuses what another site's page sends in a reader's name."""

    def __init__(
        self, app: ASGIApp, *, frame_ancestors: str = "'none'", never_framed: Sequence[str] = ()
    ) -> None:
        """Wrap `app`.

        Args:
            app: the web application.
            frame_ancestors: the sites that may show it in a frame.
            never_framed: paths, and what is under them, that no site may show in a frame.
        """
        self._app = app
        self._never_framed = tuple(never_framed)
        self._framed = self._headers_for(frame_ancestors)
        self._unframed = self._headers_for("'none'")

    @staticmethod
    def _headers_for(frame_ancestors: str) -> dict[str, str]:
        return {
            "content-security-policy": CONTENT_POLICY.format(ancestors=frame_ancestors),
            "x-content-type-options": "nosniff",
            "referrer-policy": "same-origin",
            "permissions-policy": "camera=(), geolocation=(), microphone=()",
            "cross-origin-opener-policy": "same-origin",
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        path = scope["path"]
        closed = any(path == root or path.startswith(f"{root}/") for root in self._never_framed)
        headers = self._unframed if closed else self._framed

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(headers)
            await send(message)

        request = Headers(scope=scope)
        if is_foreign(scope["method"], request):
            refusal = PlainTextResponse(_refusal(request), status_code=403)
            await refusal(scope, receive, send_with_headers)
            return
        await self._app(scope, receive, send_with_headers)


def is_secure(connection: HTTPConnection) -> bool:
    """Whether the browser speaks HTTPS; behind a proxy the server is told by X-Forwarded-Proto."""
    return connection.url.scheme in ("https", "wss")


def cookie_name(connection: HTTPConnection, name: str) -> str:
    """With the prefix __Host- no other site of the domain can plant the cookie; it needs HTTPS."""
    return f"__Host-{name}" if is_secure(connection) else name


def is_foreign(method: str, headers: Headers) -> bool:
    """Whether a request that may change something was sent by the page of another site.

    Programs send no Origin; browsers always do, and name the page that sends.
    """
    origin = headers.get("origin")
    if method in SAFE_METHODS or origin is None:
        return False
    scheme, _, host = origin.partition("://")
    return not host or _without_port(host, scheme) != _without_port(headers.get("host", ""), scheme)


def _without_port(host: str, scheme: str) -> str:
    """`host` without the port that `scheme` has anyway: browsers leave it out, some proxies name it."""
    return host.removesuffix(_DEFAULT_PORTS.get(scheme, ""))


def _refusal(headers: Headers) -> str:
    origin, host = headers["origin"], headers.get("host", "without a name")
    return (
        f"A page of {origin} sent this to the host {host}: open the page at that host's address; behind a "
        "proxy, have it pass on the header Host (docs/operations.md, On a server).\n"
    )


GOODBYE_SECONDS = 1
"""An open page keeps a connection for as long as it is open: do not wait for its reader."""


INSIDE = "10.0.0.0/8,100.64.0.0/10,127.0.0.0/8,172.16.0.0/12,192.168.0.0/16,::1,fc00::/7"
"""The addresses of a Space's proxies. Trusting everybody would let readers forge their own address."""


class ServeError(KpdemoError):
    """The pages cannot be served there."""


class PageServer(uvicorn.Server):
    """Stops without a word, also while pages are open: each would be a traceback."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        await super().shutdown(sockets)


def listen(host: str, port: int) -> socket.socket:
    """Take the port, before anything heavy is loaded.

    Raises:
        ServeError: it cannot be taken.
    """
    try:
        listener = socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET
        )
        # asyncio sets it only for sockets that it makes: without it each answer would wait 40 ms for an ACK.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listener
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            message = f"Port {port} is in use: stop what uses it, or give another --port."
        else:
            cause = str(error.strerror).partition(" (while attempting")[0]
            message = f"Cannot serve on {host}, port {port} ({cause}): give another --host or --port."
        raise ServeError(message) from error


def address_of(listener: socket.socket) -> str:
    """Where a browser on this machine finds what is served there."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve(
    pages: FastAPI, listener: socket.socket, notes: Sequence[str] = (), *, behind_proxy: bool = False
) -> None:
    """Print the address and then the `notes`, and serve until Ctrl+C.

    Args:
        pages: the web application.
        listener: the port, taken.
        notes: what else there is to say at the start, a sentence each.
        behind_proxy: whether everybody comes through a proxy that says who asks, and how.
    """
    config = server_config(pages, behind_proxy=behind_proxy)
    print(f"Serving on {address_of(listener)} – Ctrl+C stops.", *notes, sep="\n", flush=True)
    with suppress(KeyboardInterrupt):
        PageServer(config).run(sockets=[listener])


def server_config(pages: FastAPI, *, behind_proxy: bool) -> uvicorn.Config:
    """How `pages` are served; who asks is the last address of X-Forwarded-For that no trusted proxy has.

    The variable FORWARDED_ALLOW_IPS names the proxies; else they are on this machine, or `INSIDE`.
    """
    proxies = os.environ.get("FORWARDED_ALLOW_IPS", INSIDE) if behind_proxy else None
    return uvicorn.Config(
        pages,
        log_level="warning",
        timeout_graceful_shutdown=GOODBYE_SECONDS,
        forwarded_allow_ips=proxies,
    )


def add_health(server: FastAPI, model: Callable[[], str], answers: Callable[[], bool]) -> None:
    """Add /healthz: 200 while the database answers, else 503.

    Args:
        server: the web application.
        model: the state of the default model, in a word.
        answers: whether the database does.
    """

    @server.get("/healthz")
    def health(response: Response) -> dict[str, str]:
        is_well = answers()
        response.status_code = 200 if is_well else 503
        return {
            "status": "ok" if is_well else "failing",
            "model": model(),
            "database": "ok" if is_well else "unavailable",
        }


@contextmanager
def private_uploads() -> Iterator[Path]:
    """A folder for what readers upload, of this process alone; it goes when the pages stop."""
    with TemporaryDirectory(prefix="kpdemo-", ignore_cleanup_errors=True) as folder:
        os.environ["GRADIO_TEMP_DIR"] = folder
        yield Path(folder)


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

    Gradio opens every file that a request names, in whatever input of whatever event: it downloads it if the
    name is an address, and reads it if it is an upload, whoever uploaded it.
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
