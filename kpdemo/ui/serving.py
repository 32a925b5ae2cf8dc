"""Serving the web application: what browsers and requests are refused, a port, a stop without a fuss."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import gettempdir
from time import monotonic

import uvicorn
from fastapi import FastAPI, Response
from fastapi.middleware.cors import CORSMiddleware
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kpdemo.errors import KpdemoError
from kpdemo.io.files import has_room
from kpdemo.ui.html import page_html

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
        in_space: as of `SecurityMiddleware`.
        never_framed: as of `SecurityMiddleware`.
    """
    server.add_middleware(CORSMiddleware, allow_origins=[])  # else Gradio answers every site that asks
    server.add_middleware(
        SecurityMiddleware,
        in_space=in_space,
        never_framed=never_framed,
    )


def add_documentation(server: FastAPI, site: Path) -> str:
    """Serve the site that `make docs` builds at /docs; until it has been built, its pages one by one.

    Returns:
        Its address as seen from the public page; "" without it.
    """
    if not (site / "index.html").is_file():
        _add_pages(server, site.parent / "docs")
        return ""
    server.mount("/docs", StaticFiles(directory=site, html=True))
    return "docs/"


NOT_BUILT = """These are the pages of the documentation one by one. To have them as a site, with a menu and a
search, run `make docs` and start the server again.
"""


def _add_pages(server: FastAPI, folder: Path) -> None:
    """Serve each Markdown file of the documentation, at the address that it has in the site."""

    @server.get("/docs")
    def lead_to_start() -> RedirectResponse:
        return RedirectResponse("docs/")

    @server.get("/docs/")
    def show_start() -> HTMLResponse:
        start = folder / "index.md"
        text = start.read_text(encoding="utf-8") if start.is_file() else ""
        return HTMLResponse(page_html("Documentation – kpdemo", f"{NOT_BUILT}\n{text}"))

    @server.get("/docs/{name}.{suffix}")
    def show_page(name: str, suffix: str) -> HTMLResponse:
        file = folder / f"{name}.md"
        if suffix not in ("html", "md") or file not in folder.glob("*.md"):
            return HTMLResponse(page_html("kpdemo", "There is no such page."), status_code=404)
        return HTMLResponse(page_html(f"{name} – kpdemo", file.read_text(encoding="utf-8")))


class SecurityMiddleware:
    """Adds the security headers, and refuses what another site's page sends in a reader's name."""

    def __init__(self, app: ASGIApp, *, in_space: bool = False, never_framed: Sequence[str] = ()) -> None:
        """Wrap `app`.

        Args:
            app: the web application.
            in_space: whether the page of a Hugging Face Space may show it in a frame. There proxies say in
                X-Forwarded-Host where readers are; elsewhere Host does, and whoever sends the other is not
                believed.
            never_framed: paths, and what is under them, that no site may show in a frame.
        """
        self._app = app
        self._in_space = in_space
        self._never_framed = tuple(never_framed)
        self._framed = self._headers_for(SPACE_ANCESTORS if in_space else "'none'")
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
        if is_secure(HTTPConnection(scope)):
            headers = {**headers, "strict-transport-security": "max-age=31536000"}
        if not self._in_space:
            scope = {**scope, "headers": [row for row in scope["headers"] if row[0] != b"x-forwarded-host"]}
        if is_foreign(scope["method"], request):
            refusal = PlainTextResponse(_refusal(request), status_code=403)
            await refusal(scope, receive, send_with_headers)
            return
        await self._app(scope, receive, send_with_headers)


def is_secure(connection: HTTPConnection) -> bool:
    """Whether the browser speaks HTTPS; behind a proxy the server is told by X-Forwarded-Proto."""
    return connection.scope.get("scheme") in ("https", "wss")


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
STOP_SECONDS = 20
"""How long a stop waits for requests that are being answered; systemd gives 90 seconds, a container 10."""


INSIDE = "10.0.0.0/8,100.64.0.0/10,127.0.0.0/8,172.16.0.0/12,192.168.0.0/16,::1,fc00::/7"
"""The addresses of a Space's proxies. Trusting everybody would let readers forge their own address."""


class ServeError(KpdemoError):
    """The pages cannot be served there."""


class PageServer(uvicorn.Server):
    """Stops without a word, also while pages are open: each would be a traceback."""

    def __init__(
        self, config: uvicorn.Config, work: Callable[[], int] = lambda: 0, patience: float = STOP_SECONDS
    ) -> None:
        """Serve as `config` says.

        Args:
            work: how many requests are to be answered before a stop.
            patience: for so many seconds; a second Ctrl+C waits no longer.
        """
        super().__init__(config)
        self._work = work
        self._patience = patience

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        until = monotonic() + self._patience
        for server in self.servers:
            server.close()
        for each in sockets or []:
            each.close()
        while self._work() and monotonic() < until and not self.force_exit:
            for connection in list(self.server_state.connections):
                connection.shutdown()  # once what is asked on it now has been answered
            await asyncio.sleep(0.05)
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
    pages: FastAPI,
    listener: socket.socket,
    notes: Sequence[str] = (),
    *,
    work: Callable[[], int] = lambda: 0,
    behind_proxy: bool = False,
) -> None:
    """Print the address and then the `notes`, and serve until Ctrl+C or SIGTERM.

    Args:
        pages: the web application.
        listener: the port, taken.
        notes: what else there is to say at the start, a sentence each.
        work: as of `PageServer`.
        behind_proxy: whether everybody comes through a proxy that says who asks, and how.
    """
    config = server_config(pages, behind_proxy=behind_proxy)
    print(f"Serving on {address_of(listener)} – Ctrl+C stops.", *notes, sep="\n", flush=True)
    if threading.current_thread() is threading.main_thread():
        # uvicorn raises the signal once more when it has stopped: let the caller close what it has opened.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt):
        PageServer(config, work).run(sockets=[listener])


def server_config(pages: FastAPI, *, behind_proxy: bool) -> uvicorn.Config:
    """How `pages` are served; who asks is the last address of X-Forwarded-For that no trusted proxy has.

    The variable FORWARDED_ALLOW_IPS names the proxies; else they are on this machine, or `INSIDE`.
    """
    proxies = os.environ.get("FORWARDED_ALLOW_IPS", INSIDE) if behind_proxy else None
    return uvicorn.Config(
        pages,
        log_config=None,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=GOODBYE_SECONDS,
        forwarded_allow_ips=proxies,
    )


def add_health(
    server: FastAPI, model: Callable[[], str], database: Callable[[], str]
) -> Callable[[], dict[str, str]]:
    """Add /healthz, 200 while everything works that people's data needs, and /readyz: also the model.

    Else 503; both tell the state of each part in a word.

    Args:
        server: the web application.
        model: the state of the default model: "loading", "ready" or "unavailable".
        database: that of the database: "ok", "unavailable" or "read-only".

    Returns:
        What tells the state of each part, and in "status" that of all.
    """

    def state() -> dict[str, str]:
        folder = Path(os.environ.get("GRADIO_TEMP_DIR") or gettempdir())
        disk = "ok" if has_room(folder if folder.is_dir() else Path(gettempdir())) else "full"
        parts = {"model": model(), "database": database(), "disk": disk}
        is_well = parts["database"] == parts["disk"] == "ok"
        return {"status": "ok" if is_well else "failing", **parts}

    @server.get("/healthz")
    def health(response: Response) -> dict[str, str]:
        found = state()
        response.status_code = 200 if found["status"] == "ok" else 503
        return found

    @server.get("/readyz")
    def ready(response: Response) -> dict[str, str]:
        found = state()
        response.status_code = 200 if (found["status"], found["model"]) == ("ok", "ready") else 503
        return found

    return state
