"""The two cookies of a browser: its session, and the mark by which it is known again."""

from __future__ import annotations

from starlette.requests import HTTPConnection
from starlette.responses import Response

from annotation.services.access.sessions import LONGEST_SESSION
from kpdemo.ui.security import cookie_name, is_secure

COOKIE = "kpdemo-session"
MARK_COOKIE = "kpdemo-known"
_MARK_SECONDS = 365 * 24 * 3600


def read_cookie(connection: HTTPConnection, name: str) -> str | None:
    return connection.cookies.get(cookie_name(connection, name)) or None


def keep_session(response: Response, connection: HTTPConnection, token: str, mark: str) -> None:
    """Have the browser keep the token of its session, and the mark."""
    _keep(response, connection, COOKIE, token, int(LONGEST_SESSION.total_seconds()))
    _keep(response, connection, MARK_COOKIE, mark, _MARK_SECONDS)


def drop_session(response: Response, connection: HTTPConnection) -> None:
    """Have the browser forget its session; it stays known."""
    _keep(response, connection, COOKIE, "", 0)


def _keep(response: Response, connection: HTTPConnection, name: str, value: str, seconds: int) -> None:
    response.set_cookie(
        cookie_name(connection, name),
        value,
        max_age=seconds,
        path="/",
        secure=is_secure(connection),
        httponly=True,
        samesite="lax",
    )
