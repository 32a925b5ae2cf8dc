"""What a public page tells browsers to refuse, and which requests it refuses itself."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
        "proxy, have it pass on the header Host (docs/annotation.md, On a server).\n"
    )
