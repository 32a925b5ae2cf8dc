"""What is answered while the database cannot be reached: a page to a reader, JSON to a script."""

from __future__ import annotations

from functools import cache

from jinja2 import Template
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, JSONResponse, Response

from annotation.services.bundle import DamagedError, UnreachableError
from annotation.web.addresses import FOR_PROGRAMS
from annotation.web.responder import NO_STORE, load_templates

_SECONDS_TO_WAIT = 5


def failed_answer(error: UnreachableError | DamagedError, asked: HTTPConnection) -> Response:
    """Instead of an error that names the server's address or files: those are not for everybody."""
    again = {"retry-after": str(_SECONDS_TO_WAIT)} if isinstance(error, UnreachableError) else {}
    is_for_reader = "text/html" in Headers(scope=asked.scope).get("accept", "")
    if asked.scope["type"] != "http" or asked.scope["path"].startswith(FOR_PROGRAMS) or not is_for_reader:
        return JSONResponse({"error": error.for_users}, status_code=503, headers=again)
    is_form = asked.scope["method"] not in ("GET", "HEAD")
    page = _page().render(error=error.for_users, is_form=is_form)
    return HTMLResponse(page, 503, {**NO_STORE, **again})


@cache
def _page() -> Template:
    return load_templates().get_template("failed.html")
