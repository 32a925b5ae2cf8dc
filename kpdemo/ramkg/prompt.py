"""What RAMKG's generator reads and writes (section 4.2), as token ids.

The input is `[ENKPS] k [SEP] k [SEP] … k [TITLE] title [CTX] body`: without retrieved keyphrases it begins at
`[TITLE]`, and for a document without a title it has only `[CTX] body` after them. The output is
`k [SEP] k … k`. The tokens for begin, end and language are the model's own, see `kpdemo.ramkg.frames`.

Retrieved keyphrases are left out whole, from the end, to make room for the document. As in the authors' code
`LEAST_RETRIEVED` tokens are reserved for them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from kpdemo.languages.scripts import HAN, KANA, SOUTHEAST
from kpdemo.text import phrase_key
from kpdemo.types import Document

LEAST_RETRIEVED = 64

Encode = Callable[[str], Sequence[int]]
"""The token ids of a text without special tokens."""

_UNSPACED = f"{HAN}{KANA}{SOUTHEAST}"  # Korean has spaces, though they vary
_NEEDLESS_SPACE = re.compile(rf"(?<=[{_UNSPACED}])\s+(?=[{_UNSPACED}])")
_EDGES = " \t\r\n.,;:|。，、；：．·"


@dataclass(frozen=True, slots=True)
class Marks:
    """The ids of the tokens that were added for the parts of a prompt."""

    retrieved: int
    separator: int
    title: int
    context: int


def flat_phrases(retrieved: Iterable[Sequence[str]], *, deduplicate: bool) -> list[str]:
    """The keyphrases of all passages, the best passage's first.

    Args:
        deduplicate: leave out those whose English stems occurred before.
    """
    phrases = [clean for passage in retrieved for phrase in passage if (clean := " ".join(phrase.split()))]
    if not deduplicate:
        return phrases
    first: dict[str, str] = {}
    for phrase in phrases:
        first.setdefault(phrase_key(phrase), phrase)
    return list(first.values())


def join_phrases(phrases: Iterable[Sequence[int]], separator: int, *, room: int) -> list[int]:
    """As many phrases from the first on as fit into `room` tokens, with separators between them.

    Empty phrases are left out; one that does not fit ends the sequence.
    """
    whole = [phrase for phrase in phrases if len(phrase)]
    lengths = accumulate((len(phrase) + 1 for phrase in whole), initial=-1)
    kept = sum(length <= room for length in list(lengths)[1:])
    joined: list[int] = []
    for phrase in whole[:kept]:
        joined += [separator, *phrase] if joined else phrase
    return joined


def read_document(document: Document, marks: Marks, encode: Encode) -> list[int]:
    """The document's own part of the prompt, as long as it is."""
    title = [marks.title, *encode(document.title)] if document.title.strip() else []
    return [*title, marks.context, *encode(document.body)]


def build_prompt(
    document: Sequence[int], retrieved: Iterable[Sequence[int]], marks: Marks, *, room: int
) -> list[int]:
    """At most `room` tokens, with `LEAST_RETRIEVED` or half, whichever is less, kept for keyphrases.

    Args:
        document: of `read_document`; its end is cut off where it does not fit.
        retrieved: the ids of each retrieved keyphrase; without any the prompt is the document.
    """
    own = min(LEAST_RETRIEVED, room // 2)
    space = max(room - len(document), own) - 1
    phrases = join_phrases(retrieved, marks.separator, room=space)
    before = [marks.retrieved, *phrases] if phrases else []
    return [*before, *document[: room - len(before)]]


def clean_phrase(text: str, language: str) -> str:
    """A phrase as it was written by the model, in the form that people write it; it may be empty.

    Composed letters (NFC), single spaces, no marks of punctuation at its ends; in Chinese and Japanese plain
    instead of full-width forms, and no spaces between two characters of scripts that have none.
    """
    east_asian = language in ("zh", "ja")
    plain = unicodedata.normalize("NFKC" if east_asian else "NFC", text)
    phrase = " ".join(plain.split()).strip(_EDGES)
    return _NEEDLESS_SPACE.sub("", phrase) if east_asian or language == "th" else phrase


def clean_phrases(texts: Iterable[str], language: str) -> list[str]:
    """Clean phrases in their order, each once, by the stems of the language."""
    first: dict[str, str] = {}
    for text in texts:
        phrase = clean_phrase(text, language)
        if any(map(str.isalnum, phrase)):
            first.setdefault(phrase_key(phrase, language), phrase)
    return list(first.values())
