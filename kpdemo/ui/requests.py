"""From the fields of the page to a request, with every value checked. No Gradio here."""

from __future__ import annotations

from kpdemo.errors import InputError, LengthError
from kpdemo.languages import NAMES
from kpdemo.lines import join_cut_words
from kpdemo.markup import without_markup
from kpdemo.text import LONGEST_SHOWN, check_readable, shorten
from kpdemo.types import Document, PredictionOptions, PredictionRequest
from kpdemo.ui.html import group_digits

LARGEST_COUNT = 20
LONGEST_TEXT = 250_000
"""Characters: about 100 pages, which take two cores half a minute, or longer when they have other work."""


def read_request(
    document: str | None,
    model: str,
    count: str | None = "",
    threshold: str | None = "",
    language: str | None = "",
) -> PredictionRequest:
    """What the fields ask for.

    Without `count` and `threshold` the model decides how many there are. Without a `language`, a code of
    `kpdemo.languages`, it is detected. The title is the first line of the document, if that reads as one.

    Raises:
        InputError: a value is outside its range, or the text cannot be read.
    """
    options = read_options(count, threshold, language)
    read = document_of_fields("", document, options.language)
    check_length(read)
    check_document(read)
    return PredictionRequest(read, model, top_k=options.top_k, threshold=options.threshold)


def read_options(count: str | None, threshold: str | None, language: str | None) -> PredictionOptions:
    """What the fields say of number, lowest score and language; empty ones leave it to the model.

    Raises:
        InputError: a value is outside its range.
    """
    return PredictionOptions(
        top_k=_read_count(count or ""),
        threshold=_read_threshold(threshold or ""),
        language=_known_language(language or ""),
    )


def document_of_fields(title: str | None, body: str | None, language: str) -> Document:
    """A title and a text as somebody typed, pasted or sent them, read as `predict -` reads its input."""
    return Document(join_cut_words(_plain(body)), title=_plain(title).strip(), language=language)


def check_document(document: Document) -> None:
    """Refuse what no model reads; each says itself which scripts it does not read.

    Raises:
        InputError: as `check_readable`, of the text without its markup, as models read it.
    """
    check_readable(without_markup(document))


def check_length(document: Document, *, reader: str = "this page") -> None:
    """Refuse a text that would keep the model from other long ones for minutes.

    Args:
        reader: who has the limit.

    Raises:
        LengthError: it is longer than `LONGEST_TEXT`.
    """
    length = len(document.text)
    if length > LONGEST_TEXT:
        raise LengthError(
            f"The text has {group_digits(length)} characters and {reader} reads at most "
            f"{group_digits(LONGEST_TEXT)}: "
            "shorten it, or use the command line (python -m kpdemo predict), which has no limit."
        )


def _read_count(text: str) -> int | None:
    if not text.strip():
        return None
    if not text.strip().isdecimal() or not 1 <= int(text) <= LARGEST_COUNT:
        named = shorten(text.strip(), LONGEST_SHOWN)
        raise InputError(
            f"The number of keyphrases is “{named}”: give a whole number from 1 to {LARGEST_COUNT}, or none."
        )
    return int(text)


def _known_language(code: str) -> str:
    if code and code not in NAMES:
        raise InputError(f"The language is “{code}”: choose one from the list, or Detect.")
    return code


def _plain(text: str | None) -> str:
    """Without the byte order mark, which the command line skips too, and with plain line ends."""
    return (text or "").removeprefix("\ufeff").replace("\r\n", "\n")


def _read_threshold(text: str) -> float | None:
    if not text.strip():
        return None
    try:
        threshold = float(text.strip().replace(",", "."))
    except ValueError:
        threshold = -1.0
    if not 0 <= threshold <= 1:
        named = shorten(text.strip(), LONGEST_SHOWN)
        raise InputError(f"The lowest score is “{named}”: give a number from 0 to 1, or none.")
    return threshold
