"""The JSON of a request, read with a limit and checked value by value; what an error is in HTTP."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from anyio import fail_after
from starlette.requests import Request
from starlette.responses import Response

from kpdemo.errors import BusyError, InputError, KpdemoError, LengthError, ModelLoadError, ModelStoppedError
from kpdemo.io.files import parse_json
from kpdemo.languages import known_language
from kpdemo.text import LONGEST_SHOWN, SURROGATE, shorten
from kpdemo.ui.html import group_digits, join_names
from kpdemo.ui.models import ModelShelf
from kpdemo.ui.requests import LONGEST_TEXT, check_length, document_of_fields
from kpdemo.ui.results import PredictionRequest

AGAIN_SECONDS = 10
"""Seconds after which to ask again if too many others wait, or a model restarts."""


class RequestError(InputError):
    """The request is not what the address takes."""

    def __init__(self, sentence: str, status: int = 422) -> None:
        super().__init__(sentence)
        self.status = status


def json_response(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """JSON as the command line prints it, with half characters, which UTF-8 has none of, as "?"."""
    body = (json.dumps(content, ensure_ascii=False) + "\n").encode("utf-8", "replace")
    return Response(body, status, headers, media_type="application/json")


def error_response(error: KpdemoError) -> Response:
    """The sentence of an error in place of what was asked for."""
    passes = isinstance(error, BusyError | ModelStoppedError)
    headers = {"retry-after": str(AGAIN_SECONDS)} if passes else None
    return json_response({"error": str(error)}, status_of(error), headers)


def status_of(error: KpdemoError) -> int:
    """The HTTP status of an error: 400 to 422 for what the request is to blame for, else 503."""
    if isinstance(error, RequestError):
        return error.status
    if isinstance(error, LengthError):
        return 413
    return 422 if isinstance(error, InputError) else 503


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
        given = f"has the type {shorten(media_type, LONGEST_SHOWN)}" if media_type else "has no type"
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
            f"The request has more than {group_digits(MOST_LISTS)} opening brackets: send fewer documents.",
            413,
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
        raise RequestError(f"The request is {short_json(found)}: send an object such as {EXAMPLE}.")
    return found


def short_json(value: object) -> str:
    """A value of JSON, short enough for a sentence."""
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    return shorten(json.dumps(value, ensure_ascii=False), LONGEST_SHOWN)


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The fields of an object: of two with one name, either may be the one that was meant."""
    fields: dict[str, Any] = {}
    for name, value in pairs:
        if name in fields:
            raise RequestError(f"The request has {short_json(name)} twice in one object: send it once.", 400)
        fields[name] = value
    return fields


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON number")


def _too_large() -> RequestError:
    return RequestError(
        f"The request has more than {group_digits(LARGEST_BODY)} bytes: send fewer documents, or shorter "
        "ones.",
        413,
    )


MOST_DOCUMENTS = 100
LARGEST_TOP_K = 1_000
READER = "this server"

DOCUMENT_FIELDS = ("id", "title", "text", "abstract", "language")
OPTION_FIELDS = ("model", "top_k", "threshold", "nested")
DOCUMENTS = "documents"

Id = str | int | None


@dataclass(frozen=True, slots=True)
class DocumentRequest:
    """A question, and the id that its document came with; None where it had none."""

    question: PredictionRequest
    id: Id = None


@dataclass(frozen=True, slots=True)
class DocumentRequests:
    """What is asked: about one document, or about those of a list."""

    asked: tuple[DocumentRequest, ...]
    is_list: bool


def read_requests(fields: Mapping[str, Any], shelf: ModelShelf) -> DocumentRequests:
    """The questions of a request; whether their texts can be read is checked when they are answered.

    A field that is null is as one that is left out.

    Raises:
        RequestError: a field is missing, unknown or of another type, or a value out of range.
        LengthError: the text is longer than the server reads.
    """
    fields = {name: value for name, value in fields.items() if value is not None}
    if DOCUMENTS not in fields:
        _check_names(fields, (*DOCUMENT_FIELDS, *OPTION_FIELDS), "The request")
        return DocumentRequests((_asked(fields, _options(fields, shelf), ""),), is_list=False)
    _check_names(fields, (DOCUMENTS, *OPTION_FIELDS), f'A request with "{DOCUMENTS}"')
    options = _options(fields, shelf)
    documents = _documents(fields[DOCUMENTS])
    asked = tuple(
        _asked(document, options, f"{DOCUMENTS}[{number}]: ") for number, document in enumerate(documents)
    )
    _check_together(asked)
    return DocumentRequests(asked, is_list=True)


def _documents(given: object) -> Sequence[Mapping[str, Any]]:
    if not isinstance(given, list):
        raise RequestError(f'"{DOCUMENTS}" is {short_json(given)}: send a list of objects such as {EXAMPLE}.')
    if not given:
        raise RequestError(f'"{DOCUMENTS}" is empty: send a list of objects such as {EXAMPLE}.')
    if len(given) > MOST_DOCUMENTS:
        raise RequestError(
            f'"{DOCUMENTS}" has {group_digits(len(given))} of them: send at most {MOST_DOCUMENTS} at a '
            "time, or "
            "use the command line (python -m kpdemo predict --input), which has no limit.",
            413,
        )
    documents = []
    for number, document in enumerate(given):
        where = f"{DOCUMENTS}[{number}]"
        if not isinstance(document, dict):
            raise RequestError(f"{where} is {short_json(document)}: send an object such as {EXAMPLE}.")
        documents.append({name: value for name, value in document.items() if value is not None})
        _check_names(documents[-1], DOCUMENT_FIELDS, where)
    return documents


def _check_names(fields: Mapping[str, Any], known: Sequence[str], what: str) -> None:
    for name in fields:
        if name not in known:
            raise RequestError(
                f"{what} has an unknown field {short_json(name)}: it may have {join_names(known)}."
            )


def _check_together(asked: Sequence[DocumentRequest]) -> None:
    """As many as one text may have, so that no request takes longer than another."""
    together = sum(len(one.question.document.text) for one in asked)
    if together > LONGEST_TEXT:
        raise RequestError(
            f"The documents have {group_digits(together)} characters together and {READER} reads at most "
            f"{group_digits(LONGEST_TEXT)} at a time: send fewer of them in one request.",
            413,
        )


def _options(fields: Mapping[str, Any], shelf: ModelShelf) -> dict[str, Any]:
    """The model, and how many keyphrases, as `Question` takes them."""
    model = _text(fields, "model", "") or shelf.default
    try:
        shelf.check_known(model)
    except ModelLoadError as error:
        raise RequestError(str(error), 404) from None
    nested = fields.get("nested", True)
    if not isinstance(nested, bool):
        raise RequestError(f'"nested" is {short_json(nested)}: give true or false.')
    top_k, threshold = _top_k(fields.get("top_k")), _threshold(fields.get("threshold"))
    return {"model": model, "top_k": top_k, "threshold": threshold, "nested": nested}


def _top_k(given: object) -> int | None:
    if given is None:
        return None
    if type(given) is not int or not 1 <= given <= LARGEST_TOP_K:
        raise RequestError(
            f'"top_k" is {short_json(given)}: give a whole number from 1 to {group_digits(LARGEST_TOP_K)}.'
        )
    return given


def _threshold(given: object) -> float | None:
    if given is None:
        return None
    if not isinstance(given, int | float) or isinstance(given, bool) or not 0 <= given <= 1:
        raise RequestError(f'"threshold" is {short_json(given)}: give a number from 0 to 1.')
    return given


def _asked(fields: Mapping[str, Any], options: Mapping[str, Any], where: str) -> DocumentRequest:
    """The question of one document; `where` begins what is said of it."""
    bodies = [name for name in ("text", "abstract") if name in fields]
    if len(bodies) != 1:
        both, none = '"text" and "abstract": leave one of them out', 'no text: give its "text", or "abstract"'
        raise RequestError(f"{where}The document has {both if bodies else none}.")
    document = document_of_fields(
        _text(fields, "title", where), _text(fields, bodies[0], where), _language(fields, where)
    )
    check_length(document, reader=READER)
    return DocumentRequest(PredictionRequest(document, **options), _id(fields, where))


def _text(fields: Mapping[str, Any], name: str, where: str) -> str:
    value = fields.get(name, "")
    if not isinstance(value, str):
        raise RequestError(f'{where}"{name}" is {short_json(value)}, not text: put it in quotes.')
    return value


def _language(fields: Mapping[str, Any], where: str) -> str:
    written = _text(fields, "language", where)
    try:
        return known_language(shorten(written, LONGEST_SHOWN)) if written.strip() else ""
    except InputError as error:
        raise RequestError(f'{where}"language" {error}') from None


def _id(fields: Mapping[str, Any], where: str) -> Id:
    given: object = fields.get("id")
    if isinstance(given, str) and SURROGATE.search(given):
        raise RequestError(f'{where}"id" holds half of a character (a lone surrogate): send it in UTF-8.')
    if given is None or isinstance(given, str) or type(given) is int:
        return given
    raise RequestError(f'{where}"id" is {short_json(given)}: give a string or a whole number.')
