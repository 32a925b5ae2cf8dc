"""JSON routes under /annotate/api, for pages whose scripts keep what is typed: bodies, routes, refusals.

Every answer is worked out in a thread, a few at a time, and refused in a sentence with a fitting status.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NoReturn

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from annotation.errors import (
    AccessError,
    AnnotationError,
    AssignmentError,
    ConsentError,
    ExportError,
    NotFoundError,
    SignedOutError,
    StaleTextError,
    TextError,
    WritingError,
)
from annotation.services.sign_in import NOT_SIGNED_IN
from annotation.types import User
from annotation.wording import quote_value, shorten, whole_in

LARGEST_BODY = 64 * 1024


class BodyError(AnnotationError, ValueError):
    """The body of a request is not what the address takes."""

    status = 422


class LargeBodyError(BodyError):
    status = 413


@dataclass(frozen=True, slots=True)
class Body:
    """The fields of a JSON object; asking for one checks it."""

    fields: Mapping[str, Any]

    def number(self, name: str) -> Decimal:
        value = self._value(name)
        if isinstance(value, bool) or not isinstance(value, int | Decimal):
            raise BodyError(f"{name!r} is a number, not {_quote(value)}.")
        return Decimal(value)

    def text(self, name: str) -> str:
        value = self._value(name)
        if not isinstance(value, str):
            raise BodyError(f"{name!r} is a text, not {_quote(value)}.")
        return value

    def flag(self, name: str) -> bool:
        value = self._value(name)
        if not isinstance(value, bool):
            raise BodyError(f"{name!r} is true or false, not {_quote(value)}.")
        return value

    def _value(self, name: str) -> object:
        if name not in self.fields:
            raise BodyError(f"The request has no {name!r}: send it too.")
        return self.fields[name]


async def read_body(request: Request, *names: str) -> Body:
    """The JSON object that was sent; a larger one is refused before it is all read.

    Args:
        names: the fields that it may have.

    Raises:
        BodyError: it is not such an object.
    """
    content = bytearray()
    async for piece in request.stream():
        content += piece
        if len(content) > LARGEST_BODY:
            raise LargeBodyError(f"The request is too large: send at most {LARGEST_BODY:,} bytes.")
    try:
        fields = json.loads(content, parse_float=Decimal, parse_constant=_refuse)
    except (ValueError, ArithmeticError, RecursionError):
        raise BodyError("The request is not JSON: send an object.") from None
    if not isinstance(fields, dict):
        raise BodyError(f"The request is {_quote(fields)}: send a JSON object.")
    for name in fields:
        if name not in names:
            raise BodyError(f"The request has an unknown field {_quote(name)}: send {' and '.join(names)}.")
    return Body(fields)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _quote(value: object) -> str:
    return shorten(json.dumps(value, default=str))


_STATUS: tuple[tuple[type[AnnotationError], int], ...] = (
    (SignedOutError, 401),
    (ConsentError, 428),
    (AccessError, 403),
    (NotFoundError, 404),
    (AssignmentError, 409),
    (ExportError, 409),
    (StaleTextError, 412),
    (TextError, 422),
    (WritingError, 409),
)
"""The first that fits counts. 409 is a state in which what was asked cannot be done, 428 one they can end."""
_NOT_USABLE = 422
"""What was asked cannot be used as it is, a grade or a setting for instance."""


def status_of(error: AnnotationError) -> int:
    """The HTTP status of an error, 401 to 422."""
    if isinstance(error, BodyError):
        return error.status
    return next((status for kind, status in _STATUS if isinstance(error, kind)), _NOT_USABLE)


def refusal(error: AnnotationError) -> Response:
    """The sentence of an error in place of what was asked for."""
    return JSONResponse({"error": str(error)}, status_code=status_of(error))


API = "/annotate/api"
AT_ONCE = 8
"""Grades that are written at once; more threads would only wait for each other."""
LONGEST_SECONDS = Decimal(24 * 3600)
"""A page left open reports more; its time is then worthless, but its grade is not."""
RATER_HEADER = "x-rater"
"""The id of the user for whom the page was made: in another tab somebody else may have signed in since."""

UserOf = Callable[[Request], User | None]
Result = dict[str, Any]
Handler = Callable[[User, Request, Body], Result]
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
                return refusal(error)
            return Response(content, media_type="application/json")

        return answer

    router = APIRouter()
    for method, path, work, fields in routes:
        # Plain routes: what FastAPI would add for each request are checks that are made here in sentences.
        router.add_route(f"{API}/{path}", answering(work, *fields), methods=[method], include_in_schema=False)
    return router


def path_id(request: Request, name: str) -> int:
    """The number in the place `name` of the path.

    Raises:
        NotFoundError: it is none.
    """
    text: str = request.path_params[name]
    number = whole_in(text)
    if number is None:
        raise NotFoundError(f"There is no {name} {quote_value(text)}: open your queue again.")
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


def _encoded(answer: Result) -> bytes:
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode()
