"""JSON bodies of requests, read with a limit and checked in sentences."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NoReturn

from starlette.requests import Request

from annotation.characters import shortened
from annotation.errors import AnnotationError

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
            raise BodyError(f"{name!r} is a number, not {_shown(value)}.")
        return Decimal(value)

    def text(self, name: str) -> str:
        value = self._value(name)
        if not isinstance(value, str):
            raise BodyError(f"{name!r} is a text, not {_shown(value)}.")
        return value

    def flag(self, name: str) -> bool:
        value = self._value(name)
        if not isinstance(value, bool):
            raise BodyError(f"{name!r} is true or false, not {_shown(value)}.")
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
        raise BodyError(f"The request is {_shown(fields)}: send a JSON object.")
    for name in fields:
        if name not in names:
            raise BodyError(f"The request has an unknown field {_shown(name)}: send {' and '.join(names)}.")
    return Body(fields)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _shown(value: object) -> str:
    return shortened(json.dumps(value, default=str))
