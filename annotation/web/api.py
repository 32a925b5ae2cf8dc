"""What the routes share: who asks, bodies as pydantic models, how many at once, and refusals in a sentence.

A route raises errors of ours; `add_refusals` has the server answer them with a fitting status.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from functools import wraps
from inspect import iscoroutinefunction
from typing import Annotated, Any, NoReturn, TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import Depends, FastAPI, Request
from fastapi.routing import APIRoute
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, WithJsonSchema
from starlette.requests import HTTPConnection
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
from annotation.translation import _
from annotation.types import User
from annotation.wording import MOST_SHOWN, quote_value, whole_in
from kpdemo.text import shorten
from kpdemo.translation import ENGLISH, set_language

API = "/annotate/api"
LARGEST_BODY = 64 * 1024
RATER_HEADER = "x-rater"
"""The id of the user for whom the page was made: in another tab somebody else may have signed in since."""
USER_IN_SCOPE = "kpdemo.user"
"""Where the guard before the routes keeps who is signed in."""


class BodyError(AnnotationError, ValueError):
    """The body of a request is not what the address takes."""


class LargeBodyError(BodyError):
    """It is too large to be read."""


class BusyError(AnnotationError):
    """Too many requests of the account are being answered."""


_STATUS: tuple[tuple[type[AnnotationError], int], ...] = (
    (SignedOutError, 401),
    (ConsentError, 428),
    (AccessError, 403),
    (NotFoundError, 404),
    (AssignmentError, 409),
    (ExportError, 409),
    (StaleTextError, 412),
    (LargeBodyError, 413),
    (BusyError, 429),
    (TextError, 422),
    (WritingError, 409),
)
"""The first that fits counts. 409 is a state in which what was asked cannot be done, 428 one they can end."""
_NOT_USABLE = 422
"""What was asked cannot be used as it is, a grade or a setting for instance."""


def status_of(error: AnnotationError) -> int:
    """The HTTP status of an error, 401 to 429."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), _NOT_USABLE)


def refusal(error: AnnotationError) -> Response:
    """The sentence of an error in place of what was asked for."""
    again = {"retry-after": "1"} if isinstance(error, BusyError) else None
    return JSONResponse({"error": str(error)}, status_code=status_of(error), headers=again)


def add_refusals(server: FastAPI) -> None:
    """Have the server answer every error of ours that a route raises."""

    async def refuse(request: Request, error: Exception) -> Response:
        assert isinstance(error, AnnotationError)
        return refusal(error)

    server.add_exception_handler(AnnotationError, refuse)


def user_in(connection: HTTPConnection) -> User | None:
    """Who is signed in, as the guard has looked it up; None too where no guard stands before the route."""
    user: User | None = connection.scope.get(USER_IN_SCOPE)
    return user


async def _account(request: Request) -> User:
    set_language(request.headers.get("accept-language", ENGLISH))  # that of the page
    user = user_in(request)
    if user is None:
        raise SignedOutError(_(NOT_SIGNED_IN))
    if request.headers.get(RATER_HEADER, str(user.id)) != str(user.id):
        raise SignedOutError(_("Somebody else is signed in here now: sign in and go on where you were."))
    return user


async def read_content(request: Request) -> bytes:
    """What was sent; too much is refused before it is all read."""
    content = bytearray()
    async for piece in request.stream():
        content += piece
        if len(content) > LARGEST_BODY:
            raise LargeBodyError(f"The request is too large: send at most {LARGEST_BODY:,} bytes.")
    return bytes(content)


Account = Annotated[User, Depends(_account)]


def json_route(at_once: int) -> type[APIRoute]:
    """A class of routes: of their requests so many are worked on, each in a thread, and the others wait.

    They wait without a thread. Their body is read before and their answer sent after: whoever sends or reads
    slowly keeps nobody waiting. What an endpoint returns is sent as JSON as it is.
    """
    limiter = CapacityLimiter(at_once)

    class JsonRoute(APIRoute):
        def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
            @wraps(endpoint)
            async def answer(**given: Any) -> Response:
                return await to_thread.run_sync(lambda: JSONResponse(endpoint(**given)), limiter=limiter)

            # FastAPI before 0.137 makes the routes of a router anew where it is included.
            made = endpoint if iscoroutinefunction(endpoint) else answer
            super().__init__(path, made, **options | {"response_model": None})

    return JsonRoute


def path_id(name: str) -> Callable[[Request], Any]:
    """A dependency: the number in the place `name` of the path."""

    async def number(request: Request) -> int:
        text: str = request.path_params[name]
        found = whole_in(text)
        if found is None:
            raise NotFoundError(
                _("There is no {name} {value}: open your queue again.", name=_(name), value=quote_value(text))
            )
        return found

    return number


ProjectId = Annotated[int, Depends(path_id("project"))]


def _check_number(value: object) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise ValueError
    return Decimal(value)


Number = Annotated[
    Decimal,
    BeforeValidator(_check_number),
    Field(description="a number"),
    WithJsonSchema({"type": "number"}),
]
"""Exactly as it was written: 2.7500000000000000000000001 is no grade."""


class Body(BaseModel):
    """A JSON object; the description of a field says in the sentence of a refusal what it is."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


_Model = TypeVar("_Model", bound=Body)


def json_body(model: type[_Model]) -> Callable[..., Any]:
    """A dependency: the body of the request as a `model`."""

    async def read(request: Request) -> _Model:
        content = await read_content(request)
        try:
            fields = json.loads(content, parse_float=Decimal, parse_constant=_refuse)
        except (ValueError, ArithmeticError, RecursionError):
            raise BodyError("The request is not JSON: send an object.") from None
        if not isinstance(fields, dict):
            raise BodyError(f"The request is {_quote(fields)}: send a JSON object.")
        try:
            return model.model_validate(fields)
        except ValidationError as error:
            raise BodyError(_sentence(model, error)) from None

    return read


async def _no_body(request: Request) -> None:
    if (await read_content(request)).strip() not in (b"", b"{}"):
        raise BodyError("This address takes no body: send none.")


NoBody = Annotated[None, Depends(_no_body)]
"""For routes that take none: what is sent there was meant for another."""


def answers(model: type[BaseModel], status: int = 200) -> dict[int | str, dict[str, Any]]:
    """What the description of a route says of its answer."""
    return {status: {"model": model, "description": model.__doc__ or "As asked for."}}


def describe_body(model: type[Body]) -> dict[str, Any]:
    """What the description of a route says of its body, which `json_body` reads."""
    schema = model.model_json_schema()
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def _sentence(model: type[Body], error: ValidationError) -> str:
    """What is wrong with the first wrong field."""
    problem = error.errors(include_url=False)[0]
    [name, *_] = [*problem["loc"], problem["input"]]  # the name itself may be half a character
    if problem["type"] == "missing":
        return f"The request has no {name!r}: send it too."
    if problem["type"] == "extra_forbidden" or not problem["loc"]:
        return f"The request has an unknown field {_quote(name)}: send {' and '.join(model.model_fields)}."
    own = problem.get("ctx", {}).get("error")
    if isinstance(own, BodyError):
        return str(own)  # a validator that knows better
    return f"{name!r} is {model.model_fields[str(name)].description}, not {_quote(problem['input'])}."


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _quote(value: object) -> str:
    return shorten(str(value) if isinstance(value, Decimal) else json.dumps(value, default=str), MOST_SHOWN)
