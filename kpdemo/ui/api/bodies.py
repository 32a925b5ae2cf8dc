"""The JSON of a request: read with a limit, and assumed to be nothing more than bytes."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from anyio import fail_after
from starlette.requests import Request

from kpdemo.json_text import parse_json
from kpdemo.text import LONGEST_SHOWN, shortened
from kpdemo.ui.api.refusals import RequestError
from kpdemo.ui.figures import grouped

LARGEST_BODY = 4 * 1024 * 1024
"""Bytes: the longest text fits, even where each of its characters is written as \\ud83d\\ude00."""

LONGEST_SENDING = 60
"""Seconds: who sends holds one of few places."""

MOST_LISTS = 250_000
"""More than any text has brackets; nothing else gets a turn while millions of them are parsed."""

MEDIA_TYPE = "application/json"
EXAMPLE = '{"text": "…"}'


async def read_body(request: Request) -> bytes:
    """What was sent; a larger body is refused before it is all read.

    Only what says that it is JSON: a page of another site cannot send that without asking first.

    Raises:
        RequestError: it is too large, of another type, or does not come.
        ClientDisconnect: the sender hung up.
    """
    media_type = request.headers.get("content-type", "").partition(";")[0].strip()
    if media_type.lower() != MEDIA_TYPE:
        given = f"has the type {shortened(media_type, LONGEST_SHOWN)}" if media_type else "has no type"
        raise RequestError(
            f"The request {given}: send JSON, with the header Content-Type: {MEDIA_TYPE}.", 415
        )
    told = request.headers.get("content-length", "")
    if told.isdecimal() and int(told) > LARGEST_BODY:
        raise _too_large()
    content = bytearray()
    try:
        with fail_after(LONGEST_SENDING):
            async for piece in request.stream():
                content += piece
                if len(content) > LARGEST_BODY:
                    raise _too_large()
    except TimeoutError:
        raise RequestError(
            f"The request was not sent within {LONGEST_SENDING} seconds: send it again.", 408
        ) from None
    return bytes(content)


def parse_body(content: bytes) -> dict[str, Any]:
    """The object that was sent.

    Raises:
        RequestError: it is no JSON object.
    """
    if not content.strip():
        raise RequestError(f"The request is empty: send an object such as {EXAMPLE}.", 400)
    if content.count(b"[") > MOST_LISTS:
        raise RequestError(
            f"The request has more than {grouped(MOST_LISTS)} opening brackets: send fewer documents.", 413
        )
    try:
        found = parse_json(content.decode("utf-8-sig"), object_pairs_hook=_once_each, parse_constant=_refuse)
    except UnicodeDecodeError as error:
        value = f"byte 0x{content[error.start]:02x} at offset {error.start}"
        raise RequestError(f"The request is not UTF-8 text ({value}): send it in UTF-8.", 400) from None
    except json.JSONDecodeError as error:
        place = f"{error.msg} at line {error.lineno}, column {error.colno}"
        raise RequestError(
            f"The request is not JSON ({place}): send an object such as {EXAMPLE}.", 400
        ) from None
    except RequestError:
        raise
    except ValueError as error:  # a number of thousands of digits, brackets without end
        cause = str(error).partition(" for integer")[0]  # what follows are words for programmers in Python
        raise RequestError(f"The request is not JSON that can be read ({cause}): correct it.", 400) from None
    if not isinstance(found, dict):
        raise RequestError(f"The request is {shown(found)}: send an object such as {EXAMPLE}.")
    return found


def shown(value: object) -> str:
    """A value of JSON, short enough for a sentence."""
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    return shortened(json.dumps(value, ensure_ascii=False), LONGEST_SHOWN)


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The fields of an object: of two with one name, either may be the one that was meant."""
    fields: dict[str, Any] = {}
    for name, value in pairs:
        if name in fields:
            raise RequestError(f"The request has {shown(name)} twice in one object: send it once.", 400)
        fields[name] = value
    return fields


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON number")


def _too_large() -> RequestError:
    return RequestError(
        f"The request has more than {grouped(LARGEST_BODY)} bytes: send fewer documents, or shorter ones.",
        413,
    )
