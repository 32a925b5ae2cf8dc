"""What the pages for accounts share: who is signed in, templates, and letting a browser in."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from anyio import CapacityLimiter, to_thread
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from annotation.passwords import AT_ONCE, LONGEST_PASSWORD, SHORTEST_PASSWORD
from annotation.services.access.sign_ins import SignInService
from annotation.types import User
from annotation.web.addresses import local_path
from annotation.web.cookies import COOKIE, drop_session, keep_session, read_cookie

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
    )
    return templates


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
        response = self.go(local_path(path))
        if user is not None:
            keep_session(response, request, token, await self.ask(self._sign_ins.browser_mark, user.name))
        return response

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
        headers: dict[str, str] | None = None,
        **values: Any,
    ) -> Response:
        """A page; the sentence of an error stands above its form, the name of a user in its head."""
        text = self._templates.get_template(template).render(error=error and str(error), user=user, **values)
        return HTMLResponse(text, status_code=status, headers={**NO_STORE, **(headers or {})})
