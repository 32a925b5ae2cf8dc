"""JSON routes under /annotate/api, for pages whose scripts keep what is typed.

Every answer is worked out in a thread, a few at a time, and refused in a sentence with a fitting status.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable
from decimal import Decimal
from typing import Any

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from annotation.characters import shown
from annotation.errors import AnnotationError, NotFoundError, SignedOutError
from annotation.numbers import whole_in
from annotation.services.access.sign_ins import NOT_SIGNED_IN
from annotation.types import User
from annotation.web.bodies import Body, BodyError, read_body
from annotation.web.refusals import refused

API = "/annotate/api"
AT_ONCE = 8
"""Grades that are written at once; more threads would only wait for each other."""
LONGEST_SECONDS = Decimal(24 * 3600)
"""A page left open reports more; its time is then worthless, but its grade is not."""
RATER_HEADER = "x-rater"
"""The id of the user for whom the page was made: in another tab somebody else may have signed in since."""

UserOf = Callable[[Request], User | None]
Answer = dict[str, Any]
Handler = Callable[[User, Request, Body], Answer]
Route = tuple[str, str, Handler, tuple[str, ...]]
"""Method, path under the prefix, what answers, and the fields of its body."""


def json_routes(routes: Iterable[Route], user_of: UserOf, *, at_once: int = AT_ONCE) -> APIRouter:
    """The addresses under /annotate/api that a page talks to.

    Args:
        user_of: who sends a request, None for nobody; called in a thread.
        at_once: how many of these requests are worked on; those that wait hold no thread and no connection.
    """
    limiter = CapacityLimiter(at_once)

    def answering(work: Handler, *fields: str) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            try:
                body = await read_body(request, *fields) if fields else Body({})
                content = await to_thread.run_sync(_work, work, user_of, request, body, limiter=limiter)
            except AnnotationError as error:
                return refused(error)
            return Response(content, media_type="application/json")

        return answer

    router = APIRouter()
    for method, path, work, fields in routes:
        # Plain routes: what FastAPI would add for each request are checks that are made here in sentences.
        router.add_route(f"{API}/{path}", answering(work, *fields), methods=[method], include_in_schema=False)
    return router


def asked_id(request: Request, name: str) -> int:
    """The number in the place `name` of the path.

    Raises:
        NotFoundError: it is none.
    """
    text: str = request.path_params[name]
    number = whole_in(text)
    if number is None:
        raise NotFoundError(f"There is no {name} {shown(text)}: open your queue again.")
    return number


def read_seconds(body: Body) -> float:
    """How long somebody was at a pair or a text.

    Raises:
        BodyError: the field is not a number, or less than 0.
    """
    seconds = body.number("seconds")
    if seconds < 0:
        raise BodyError(f"'seconds' is 0 or more, not {seconds}.")
    return float(min(seconds, LONGEST_SECONDS))


def _work(work: Handler, user_of: UserOf, request: Request, body: Body) -> bytes:
    user = user_of(request)
    if user is None:
        raise SignedOutError(NOT_SIGNED_IN)
    if request.headers.get(RATER_HEADER, str(user.id)) != str(user.id):
        raise SignedOutError("Somebody else is signed in here now: sign in and go on where you were.")
    return _encoded(work(user, request, body))


def _encoded(answer: Answer) -> bytes:
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode()
