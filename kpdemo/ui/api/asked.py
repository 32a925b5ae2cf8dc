"""From the JSON of a request to questions, with every value checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kpdemo.errors import InputError, ModelLoadError
from kpdemo.languages.names import known_language
from kpdemo.text import LONGEST_SHOWN, SURROGATE, shortened
from kpdemo.ui.api.bodies import EXAMPLE, shown
from kpdemo.ui.api.refusals import RequestError
from kpdemo.ui.figures import grouped, listed
from kpdemo.ui.models import ModelShelf
from kpdemo.ui.questions import LONGEST_TEXT, check_length, written_document
from kpdemo.ui.results import Question

MOST_DOCUMENTS = 100
LARGEST_TOP_K = 1_000
READER = "this server"

DOCUMENT_FIELDS = ("id", "title", "text", "abstract", "language")
OPTION_FIELDS = ("model", "top_k", "threshold", "nested")
DOCUMENTS = "documents"

Id = str | int | None


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and the id that its document came with; None where it had none."""

    question: Question
    id: Id = None


@dataclass(frozen=True, slots=True)
class Questions:
    """What is asked: about one document, or about those of a list."""

    asked: tuple[Asked, ...]
    is_list: bool


def read_questions(fields: Mapping[str, Any], shelf: ModelShelf) -> Questions:
    """The questions of a request; whether their texts can be read is checked when they are answered.

    A field that is null is as one that is left out.

    Raises:
        RequestError: a field is missing, unknown or of another type, or a value out of range.
        LengthError: the text is longer than the server reads.
    """
    fields = {name: value for name, value in fields.items() if value is not None}
    if DOCUMENTS not in fields:
        _check_names(fields, (*DOCUMENT_FIELDS, *OPTION_FIELDS), "The request")
        return Questions((_asked(fields, _options(fields, shelf), ""),), is_list=False)
    _check_names(fields, (DOCUMENTS, *OPTION_FIELDS), f'A request with "{DOCUMENTS}"')
    options = _options(fields, shelf)
    documents = _documents(fields[DOCUMENTS])
    asked = tuple(
        _asked(document, options, f"{DOCUMENTS}[{number}]: ") for number, document in enumerate(documents)
    )
    _check_together(asked)
    return Questions(asked, is_list=True)


def _documents(given: object) -> Sequence[Mapping[str, Any]]:
    if not isinstance(given, list):
        raise RequestError(f'"{DOCUMENTS}" is {shown(given)}: send a list of objects such as {EXAMPLE}.')
    if not given:
        raise RequestError(f'"{DOCUMENTS}" is empty: send a list of objects such as {EXAMPLE}.')
    if len(given) > MOST_DOCUMENTS:
        raise RequestError(
            f'"{DOCUMENTS}" has {grouped(len(given))} of them: send at most {MOST_DOCUMENTS} at a time, or '
            "use the command line (python -m kpdemo predict --input), which has no limit.",
            413,
        )
    documents = []
    for number, document in enumerate(given):
        where = f"{DOCUMENTS}[{number}]"
        if not isinstance(document, dict):
            raise RequestError(f"{where} is {shown(document)}: send an object such as {EXAMPLE}.")
        documents.append({name: value for name, value in document.items() if value is not None})
        _check_names(documents[-1], DOCUMENT_FIELDS, where)
    return documents


def _check_names(fields: Mapping[str, Any], known: Sequence[str], what: str) -> None:
    for name in fields:
        if name not in known:
            raise RequestError(f"{what} has an unknown field {shown(name)}: it may have {listed(known)}.")


def _check_together(asked: Sequence[Asked]) -> None:
    """As many as one text may have, so that no request takes longer than another."""
    together = sum(len(one.question.document.text) for one in asked)
    if together > LONGEST_TEXT:
        raise RequestError(
            f"The documents have {grouped(together)} characters together and {READER} reads at most "
            f"{grouped(LONGEST_TEXT)} at a time: send fewer of them in one request.",
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
        raise RequestError(f'"nested" is {shown(nested)}: give true or false.')
    top_k, threshold = _top_k(fields.get("top_k")), _threshold(fields.get("threshold"))
    return {"model": model, "top_k": top_k, "threshold": threshold, "nested": nested}


def _top_k(given: object) -> int | None:
    if given is None:
        return None
    if type(given) is not int or not 1 <= given <= LARGEST_TOP_K:
        raise RequestError(
            f'"top_k" is {shown(given)}: give a whole number from 1 to {grouped(LARGEST_TOP_K)}.'
        )
    return given


def _threshold(given: object) -> float | None:
    if given is None:
        return None
    if not isinstance(given, int | float) or isinstance(given, bool) or not 0 <= given <= 1:
        raise RequestError(f'"threshold" is {shown(given)}: give a number from 0 to 1.')
    return given


def _asked(fields: Mapping[str, Any], options: Mapping[str, Any], where: str) -> Asked:
    """The question of one document; `where` begins what is said of it."""
    bodies = [name for name in ("text", "abstract") if name in fields]
    if len(bodies) != 1:
        both, none = '"text" and "abstract": leave one of them out', 'no text: give its "text", or "abstract"'
        raise RequestError(f"{where}The document has {both if bodies else none}.")
    document = written_document(
        _text(fields, "title", where), _text(fields, bodies[0], where), _language(fields, where)
    )
    check_length(document, reader=READER)
    return Asked(Question(document, **options), _id(fields, where))


def _text(fields: Mapping[str, Any], name: str, where: str) -> str:
    value = fields.get(name, "")
    if not isinstance(value, str):
        raise RequestError(f'{where}"{name}" is {shown(value)}, not text: put it in quotes.')
    return value


def _language(fields: Mapping[str, Any], where: str) -> str:
    written = _text(fields, "language", where)
    try:
        return known_language(shortened(written, LONGEST_SHOWN)) if written.strip() else ""
    except InputError as error:
        raise RequestError(f'{where}"language" {error}') from None


def _id(fields: Mapping[str, Any], where: str) -> Id:
    given: object = fields.get("id")
    if isinstance(given, str) and SURROGATE.search(given):
        raise RequestError(f'{where}"id" holds half of a character (a lone surrogate): send it in UTF-8.')
    if given is None or isinstance(given, str) or type(given) is int:
        return given
    raise RequestError(f'{where}"id" is {shown(given)}: give a string or a whole number.')
