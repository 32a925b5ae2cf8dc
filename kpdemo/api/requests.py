"""The JSON of a request, read with a limit and checked value by value; what an error is in HTTP."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NoReturn, TypeVar

from anyio import fail_after
from pydantic import BaseModel, ConfigDict, Field, PlainValidator, ValidationError
from starlette.requests import Request
from starlette.responses import Response

from kpdemo.errors import BusyError, InputError, KpdemoError, LengthError, ModelLoadError, ModelStoppedError
from kpdemo.io.files import parse_json
from kpdemo.languages import known_language
from kpdemo.pipeline import with_fields
from kpdemo.selection import check_all
from kpdemo.text import LONGEST_SHOWN, SURROGATE, shorten
from kpdemo.types import PredictionOptions, PredictionRequest, Style
from kpdemo.ui.html import group_digits, join_names
from kpdemo.ui.models import ModelShelf
from kpdemo.ui.requests import LONGEST_TEXT, MOST_PHRASES, MOST_SEEDS, check_length, document_of_fields

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
"""Seconds: what has been sent is kept until then."""

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

Id = str | int | None


class _Fields(BaseModel):
    """An object of a request; the description of a field ends the sentence on a value it does not take."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


def _check_text(value: object) -> object:
    """Also of half a character, which pydantic refuses: it is told later what that is."""
    if value is not None and not isinstance(value, str):
        raise ValueError
    return value


_Text = Annotated[str | None, PlainValidator(_check_text), Field(description=", not text: put it in quotes")]


def _check_id(value: object) -> object:
    if value is not None and not isinstance(value, str) and type(value) is not int:
        raise ValueError
    return value


class _Document(_Fields):
    id: Annotated[Id, PlainValidator(_check_id)] = Field(
        None, description=": give a string or a whole number"
    )
    title: _Text = None
    text: _Text = None
    abstract: _Text = None
    language: _Text = None


_WORDS = ": give a whole number of words, 1 or more"
_PHRASES = f": give a list of at most {group_digits(MOST_PHRASES)} phrases"
_SEEDS = f": give a list of at most {MOST_SEEDS} words"


class _Options(_Fields):
    model: _Text = None
    top_k: int | None = Field(
        None,
        ge=1,
        le=LARGEST_TOP_K,
        description=f": give a whole number from 1 to {group_digits(LARGEST_TOP_K)}",
    )
    threshold: float | None = Field(None, ge=0, le=1, description=": give a number from 0 to 1")
    nested: bool | None = Field(None, description=": give true or false")
    shortest: int | None = Field(None, ge=1, description=_WORDS)
    longest: int | None = Field(None, ge=1, description=_WORDS)
    exclude: list[str] | None = Field(None, max_length=MOST_PHRASES, description=_PHRASES)
    candidates: list[str] | None = Field(None, max_length=MOST_PHRASES, description=_PHRASES)
    only_candidates: bool | None = Field(None, description=": give true or false")
    seed_keywords: list[str] | None = Field(None, max_length=MOST_SEEDS, description=_SEEDS)
    style: Literal["author", "indexer"] | None = Field(None, description=': give "author" or "indexer"')
    diversity: float | None = Field(None, ge=0, le=1, description=": give a number from 0 to 1")
    unsure: bool | None = Field(None, description=": give true or false")


class _OneDocument(_Options, _Document):
    pass


class _Documents(_Options):
    documents: Any = None


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
    if fields.get("documents") is None:
        one = _read(_OneDocument, fields, "The request")
        return DocumentRequests((_asked(one, one, shelf),), is_list=False)
    listed = _read(_Documents, fields, 'A request with "documents"')
    documents = [
        (_read(_Document, document, f"documents[{number}]", f"documents[{number}]: "), number)
        for number, document in enumerate(_objects(listed.documents))
    ]
    asked = tuple(_asked(document, listed, shelf, f"documents[{number}]: ") for document, number in documents)
    # As many as one text may have, so that no request takes longer than another.
    together = sum(len(one.question.document.text) for one in asked)
    if together > LONGEST_TEXT:
        raise RequestError(
            f"The documents have {group_digits(together)} characters together and {READER} reads at most "
            f"{group_digits(LONGEST_TEXT)} at a time: send fewer of them in one request.",
            413,
        )
    return DocumentRequests(asked, is_list=True)


_Model = TypeVar("_Model", bound=_Fields)


def _read(model: type[_Model], fields: Mapping[str, Any], what: str, where: str = "") -> _Model:
    """The fields as a `model`, or what is wrong with one of them.

    Args:
        what: the object, in the sentence on an unknown field.
        where: begins any other sentence.
    """
    try:
        return model.model_validate({name: value for name, value in fields.items() if value is not None})
    except ValidationError as error:
        problems = error.errors(include_url=False)
        for problem in problems:
            if problem["type"] in ("extra_forbidden", "string_unicode"):  # the name is no text
                name = [*problem["loc"], problem["input"]][0]
                known = join_names([*model.model_fields])
                raise RequestError(
                    f"{what} has an unknown field {short_json(name)}: it may have {known}."
                ) from None
        name, value = str(problems[0]["loc"][0]), problems[0]["input"]
        said = model.model_fields[name].description
        raise RequestError(f'{where}"{name}" is {short_json(value)}{said}.') from None


def _objects(given: object) -> Sequence[Mapping[str, Any]]:
    if not isinstance(given, list):
        raise RequestError(f'"documents" is {short_json(given)}: send a list of objects such as {EXAMPLE}.')
    if not given:
        raise RequestError(f'"documents" is empty: send a list of objects such as {EXAMPLE}.')
    if len(given) > MOST_DOCUMENTS:
        raise RequestError(
            f'"documents" has {group_digits(len(given))} of them: send at most {MOST_DOCUMENTS} at a '
            "time, or use the command line (python -m kpdemo predict --input), which has no limit.",
            413,
        )
    for number, document in enumerate(given):
        if not isinstance(document, dict):
            raise RequestError(
                f"documents[{number}] is {short_json(document)}: send an object such as {EXAMPLE}."
            )
    return given


def _further(options: _Options) -> PredictionOptions:
    """The options that a `PredictionRequest` has no fields of its own for.

    Raises:
        RequestError: they do not fit together.
    """
    names = ("shortest", "longest", "exclude", "candidates", "only_candidates", "seed_keywords")
    given = {name: getattr(options, name) for name in (*names, "diversity", "unsure")}
    style = None if options.style is None else Style(options.style)
    read = with_fields(PredictionOptions(), given | {"style": style})
    try:
        check_all(read)
    except InputError as error:
        raise RequestError(str(error)) from None
    return read


def _asked(document: _Document, options: _Options, shelf: ModelShelf, where: str = "") -> DocumentRequest:
    """The question of one document; `where` begins what is said of it."""
    model = options.model or shelf.default
    try:
        shelf.check_known(model)
    except ModelLoadError as error:
        raise RequestError(str(error), 404) from None
    bodies = [body for body in (document.text, document.abstract) if body is not None]
    if len(bodies) != 1:
        both, none = '"text" and "abstract": leave one of them out', 'no text: give its "text", or "abstract"'
        raise RequestError(f"{where}The document has {both if bodies else none}.")
    if isinstance(document.id, str) and SURROGATE.search(document.id):
        raise RequestError(f'{where}"id" holds half of a character (a lone surrogate): send it in UTF-8.')
    written = document.language or ""
    try:
        language = known_language(shorten(written, LONGEST_SHOWN)) if written.strip() else ""
    except InputError as error:
        raise RequestError(f'{where}"language" {error}') from None
    read = document_of_fields(document.title, bodies[0], language)
    check_length(read, reader=READER)
    question = PredictionRequest(
        read,
        model,
        top_k=options.top_k,
        threshold=options.threshold,
        nested=options.nested is not False,
        further=_further(options),
    )
    return DocumentRequest(question, document.id)
