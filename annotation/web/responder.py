"""What the HTML pages share: addresses, cookies, forms, templates, and answers to failures."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, ParamSpec, TypeVar
from urllib.parse import parse_qsl, quote, urlsplit

from anyio import CapacityLimiter, to_thread
from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup, escape
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from annotation.passwords import AT_ONCE, LONGEST_PASSWORD, SHORTEST_PASSWORD
from annotation.services.bundle import DamagedError, UnreachableError, UnwritableError
from annotation.services.sign_in import LONGEST_SESSION, SignInService
from annotation.translation import _, ngettext
from annotation.types import User
from annotation.wording import write_date
from kpdemo.translation import (
    LANGUAGES,
    current_language,
    html_language,
    language_of,
    set_language,
    use_language,
)
from kpdemo.ui.html import group_digits
from kpdemo.ui.serving import cookie_name, is_secure

PREFIX = "/annotate"
HOME = f"{PREFIX}/"
GRADIO = f"{PREFIX}/gradio_api/"
PROGRAMS = "/annotation/api/"
"""Begins the addresses that open with a token, and with nothing else."""
DESCRIPTION = f"{PROGRAMS}openapi.json"
FOR_PROGRAMS = (f"{PREFIX}/api/", GRADIO, PROGRAMS)
_LONGEST = 2000


def local_path(text: str | None) -> str:
    """`text` if it is a path of this site, else the page of projects.

    Browsers read //host and /\\host as another site's address, and drop control characters before they read.
    """
    if not text or len(text) > _LONGEST or not text.isprintable() or "\\" in text:
        return HOME
    if not text.startswith("/") or text.startswith("//"):
        return HOME
    try:
        parts = urlsplit(text)
    except ValueError:
        return HOME
    return HOME if parts.scheme or parts.netloc else text


def sign_in_address(path: str) -> str:
    """The page for signing in, and from there on to `path`."""
    return f"/sign-in?next={quote(path, safe='/')}"


def rate_address(project_id: int) -> str:
    """The page where a rater grades the pairs of a project."""
    return f"{PREFIX}/rate?project={project_id}"


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


FORM_TYPE = "application/x-www-form-urlencoded"
LARGEST_FORM = 64 * 1024
_MOST_FIELDS = 20


async def read_form(request: Request) -> dict[str, str]:
    """The fields of a form; what is no form, or is too large for one, is refused before it is all read."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != FORM_TYPE:
        raise HTTPException(415, "This address takes a form.")
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > LARGEST_FORM:
            raise HTTPException(413, f"A form has at most {LARGEST_FORM} bytes.")
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise HTTPException(400, "The form cannot be read.") from None
    return dict(pairs)


HERE = Path(__file__).parent
ASSETS = HERE.parent / "assets"
NO_STORE = {"cache-control": "no-store"}

P = ParamSpec("P")
T = TypeVar("T")


def load_templates() -> Environment:
    """The pages that are not Gradio's, with what all of them need."""
    templates = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.globals.update(
        style=(ASSETS / "sign-in.css").read_text(encoding="utf-8"),
        script=(ASSETS / "sign-in.js").read_text(encoding="utf-8"),
        shortest=SHORTEST_PASSWORD,
        longest=LONGEST_PASSWORD,
        languages={code: (name, html_language(code)) for code, name in LANGUAGES.items()},
        current_language=current_language,
        html_language=html_language,
        write_date=write_date,
        _=_say,
        ngettext=_count,
    )
    return templates


def _say(message: str, **values: object) -> Markup:
    """A sentence of a template in the reader's language; what is filled in is escaped unless it is markup."""
    return Markup(_(message)).format(**values)


def _count(one: str, more: str, count: int) -> Markup:
    """The same with a number, which stands there as {count}."""
    return escape(ngettext(one, more, count, count=group_digits(count)))


async def speak(request: Request) -> None:
    """A dependency: the answer is in the reader's language."""
    set_language(language_of(request.cookies, request.headers))


class Responder:
    """Answers for one server."""

    def __init__(self, sign_ins: SignInService) -> None:
        self._sign_ins = sign_ins
        # Requests that wait for argon2 must not hold a thread meanwhile: the raters need those.
        self._hashing = CapacityLimiter(AT_ONCE)
        self._templates = load_templates()

    async def ask(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Do what takes a moment of the database."""
        return await to_thread.run_sync(partial(work, *args, **kwargs))

    async def ask_slowly(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Do what looks at a password, a few at a time."""
        return await to_thread.run_sync(partial(work, *args, **kwargs), limiter=self._hashing)

    async def user_of(self, request: Request) -> User | None:
        token = read_cookie(request, COOKIE)
        return None if token is None else await self.ask(self._sign_ins.user_of, token)

    async def let_in(self, request: Request, token: str, path: str | None) -> Response:
        """Go on to `path`, signed in."""
        user = await self.ask(self._sign_ins.user_of, token)
        response = self.go(await self.landing(user, local_path(path)))
        if user is not None:
            keep_session(response, request, token, await self.ask(self._sign_ins.browser_mark, user.name))
        return response

    async def speak_for(self, request: Request, user: User) -> None:
        """Answer in the language of a user, who may be a rater of projects in another one."""
        otherwise = await self.ask(self._sign_ins.language_of, user.id, None)
        set_language(language_of(request.cookies, request.headers, otherwise))

    async def landing(self, user: User | None, path: str) -> str:
        """Where a user lands who goes to `path`: in place of a list of one project, at its pairs."""
        if path != HOME or user is None:
            return path
        project = await self.ask(self._sign_ins.only_rated_project, user.id)
        return path if project is None else rate_address(project)

    def see_off(self, request: Request) -> Response:
        """Go on to the sign-in, signed out."""
        response = self.go("/sign-in?out")
        drop_session(response, request)
        return response

    def go(self, path: str) -> Response:
        return RedirectResponse(path, status_code=303, headers=NO_STORE)

    def show(
        self,
        template: str,
        *,
        status: int = 200,
        error: Exception | None = None,
        user: User | None = None,
        here: str = "",
        headers: dict[str, str] | None = None,
        **values: Any,
    ) -> Response:
        """A page; the sentence of an error stands above its form, the name of a user in its head.

        Args:
            here: the address of the same page in another language; empty for that which it has now.
        """
        shown = self._templates.get_template(template)
        text = shown.render(error=error and str(error), user=user, here=here, **values)
        return HTMLResponse(text, status_code=status, headers={**NO_STORE, **(headers or {})})


_SECONDS_TO_WAIT = 5


def failed_answer(error: UnreachableError | DamagedError, asked: HTTPConnection) -> Response:
    """Instead of an error that names the server's address or files: those are not for everybody."""
    status = 507 if isinstance(error, UnwritableError) else 503
    again = {"retry-after": str(_SECONDS_TO_WAIT)} if isinstance(error, UnreachableError) else {}
    is_for_reader = "text/html" in Headers(scope=asked.scope).get("accept", "")
    if asked.scope["type"] != "http" or asked.scope["path"].startswith(FOR_PROGRAMS) or not is_for_reader:
        return JSONResponse({"error": error.for_users}, status_code=status, headers=again)
    is_form = asked.scope["method"] not in ("GET", "HEAD")
    with use_language(language_of(asked.cookies, asked.headers)):
        page = _page().render(error=_(error.for_users), is_form=is_form)
    return HTMLResponse(page, status, {**NO_STORE, **again})


@cache
def _page() -> Template:
    return load_templates().get_template("failed.html")
