"""From the fields of the page to a request, with every value checked. No Gradio here."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from kpdemo.errors import InputError, LengthError
from kpdemo.languages import NAMES
from kpdemo.lines import join_cut_words
from kpdemo.locale import _, mark
from kpdemo.markup import without_markup
from kpdemo.selection import check_all
from kpdemo.text import LONGEST_SHOWN, check_readable, shorten
from kpdemo.types import Document, PredictionOptions, PredictionRequest, Style
from kpdemo.ui.html import group_digits

LARGEST_COUNT = 20
MOST_PHRASES, MOST_SEEDS = 2_000, 20
ONLY, FIRST = "only", "first"
"""Of the phrases of one's own: nothing but these, or these before the others."""

_BETWEEN_PHRASES = re.compile(r"[\n;，、；،؛]|(?<!\d),|,(?!\d)")  # "2,4-dinitrophenol" is one
LONGEST_TEXT = 250_000
"""Characters: about 100 pages, which take two cores half a minute, or longer when they have other work."""


def read_request(document: str | None, model: str, *options: Any) -> PredictionRequest:
    """What the fields ask for; the title is the first line of the document, if that reads as one.

    Args:
        options: as of `read_options`.

    Raises:
        InputError: a value is outside its range, or the text cannot be read.
    """
    asked = read_options(*options)
    read = document_of_fields("", document, asked.language)
    check_length(read)
    check_document(read)
    return PredictionRequest(
        read,
        model,
        top_k=asked.top_k,
        threshold=asked.threshold,
        nested=asked.nested,
        further=replace(asked, language=""),
    )


def read_options(
    count: str | None = "",
    threshold: str | None = "",
    language: str | None = "",
    style: str | None = "",
    candidates: str | None = "",
    seed_keywords: str | None = "",
    only_candidates: str | None = ONLY,
    shortest: str | None = "",
    longest: str | None = "",
    exclude: str | None = "",
    apart: bool = False,
    diversity: float = 0.0,
    unsure: bool = False,
) -> PredictionOptions:
    """What the fields say; an empty one leaves it to the model.

    Args:
        language: a code of `kpdemo.languages`; empty to detect it.
        only_candidates: `ONLY` or `FIRST`.
        apart: whether a phrase and those nested with it take one place.

    Raises:
        InputError: a value is outside its range.
    """
    options = PredictionOptions(
        top_k=_read_count(count or "", mark("number of keyphrases"), LARGEST_COUNT),
        threshold=_read_threshold(threshold or ""),
        language=_known_language(language or ""),
        style=Style(style) if style else None,
        candidates=_read_phrases(candidates, mark("phrases of your own"), MOST_PHRASES),
        seed_keywords=_read_phrases(seed_keywords, mark("words that guide"), MOST_SEEDS),
        only_candidates=only_candidates != FIRST,
        shortest=_read_count(shortest or "", mark("shortest number of words"), LARGEST_COUNT),
        longest=_read_count(longest or "", mark("longest number of words"), LARGEST_COUNT),
        exclude=_read_phrases(exclude, mark("words to leave out"), MOST_PHRASES),
        nested=not apart,
        diversity=diversity or 0.0,
        unsure=bool(unsure),
    )
    check_all(options)
    return options


def _read_phrases(text: str | None, name: str, most: int) -> tuple[str, ...]:
    phrases = dict.fromkeys(" ".join(part.split()) for part in _BETWEEN_PHRASES.split(text or ""))
    phrases.pop("", None)
    if len(phrases) > most:
        raise InputError(
            _(
                "The {name} are {number}: give at most {most}.",
                name=_(name),
                number=group_digits(len(phrases)),
                most=group_digits(most),
            )
        )
    return tuple(phrases)


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


def _read_count(text: str, name: str, most: int) -> int | None:
    if not text.strip():
        return None
    if not text.strip().isdecimal() or not 1 <= int(text) <= most:
        named = shorten(text.strip(), LONGEST_SHOWN)
        raise InputError(
            _(
                "The {name} is “{value}”: give a whole number from 1 to {most}, or none.",
                name=_(name),
                value=named,
                most=most,
            )
        )
    return int(text)


def _known_language(code: str) -> str:
    if code and code not in NAMES:
        raise InputError(_("The language is “{code}”: choose one from the list, or Detect.", code=code))
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
        raise InputError(_("The lowest score is “{value}”: give a number from 0 to 1, or none.", value=named))
    return threshold
