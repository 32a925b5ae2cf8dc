"""Words, stems, and the rule that tells a present keyphrase from an absent one."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice

from kpdemo.errors import InputError, LanguageError
from kpdemo.types import Document, Span

# The released SimCKP evaluation puts spaces round exactly these; [, ], \ and _ stay in words.
_PUNCTUATION = re.escape("!\"#$%&'()*+,-./:;<=>?@^`{|}~")
_WORD = re.compile(rf"[{_PUNCTUATION}]|[^\s{_PUNCTUATION}]+")

_SURROGATE = re.compile("[\ud800-\udfff]")

LONGEST_SHOWN = 40
LETTERS_SAMPLED = 20_000

SCRIPT_NAMES = {
    "CJK": "Chinese or Japanese",
    "HIRAGANA": "Japanese",
    "KATAKANA": "Japanese",
    "HANGUL": "Korean",
    "ARABIC": "Arabic",
    "HEBREW": "Hebrew",
    "CYRILLIC": "Cyrillic",
    "GREEK": "Greek",
    "DEVANAGARI": "Devanagari",
    "THAI": "Thai",
}


def words(text: str) -> list[str]:
    """The words of `text`; each ASCII punctuation mark is a word of its own."""
    return _WORD.findall(text)


def word_spans(text: str) -> list[Span]:
    """Where each of `words` stands in `text`."""
    return [match.span() for match in _WORD.finditer(text)]


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """The Porter stem of the lower-cased word (NLTK's default mode, as in SimCKP)."""
    return str(_porter().stem(word, to_lowercase=True))


@lru_cache(maxsize=1)
def _porter():  # type: ignore[no-untyped-def]
    from nltk.stem.porter import PorterStemmer  # here, because nltk takes long to import

    return PorterStemmer()


def stems(text: str) -> tuple[str, ...]:
    return tuple(stem(word) for word in words(text))


def phrase_key(text: str) -> str:
    """What makes two phrases the same: their stems, joined by single spaces."""
    return " ".join(stems(text))


class StemmedText:
    """A document prepared for many questions of the kind "is this phrase present?".

    A keyphrase is present when its stemmed words stand contiguously in the stemmed title or in
    the stemmed body; it may not straddle the two.
    """

    def __init__(self, document: Document) -> None:
        self._parts = [f" {phrase_key(part)} " for part in (document.title, document.body) if part]

    def contains(self, phrase: str) -> bool:
        key = phrase_key(phrase)
        return bool(key) and any(f" {key} " in part for part in self._parts)


def check_readable(document: Document) -> None:
    """Refuse what no predictor for English can read.

    Raises:
        InputError: there are not two words with a letter in the text, or it is not text.
        LanguageError: most letters belong to another script than Latin.
    """
    text = document.text
    if not text.strip():
        raise InputError("The text is empty: paste a title or some sentences.")
    if "\x00" in text:
        raise InputError("The text holds a NUL byte, so it is not plain text: save it as UTF-8 text first.")
    if _SURROGATE.search(text):
        raise InputError(
            "The text holds half of a character (a lone surrogate): save it as UTF-8 text first."
        )
    scripts = _scripts(text)
    if not scripts:
        raise InputError("The text holds no letters, so there is nothing to extract: paste some sentences.")
    others = Counter(
        {script: count for script, count in scripts.items() if script not in ("LATIN", "UNKNOWN")}
    )
    if others.total() * 2 > scripts.total():
        script = others.most_common(1)[0][0]
        name = SCRIPT_NAMES.get(script, script.capitalize())
        raise LanguageError(
            f"The text is mostly in {name} script, which is not supported yet: paste English text."
        )
    _check_length(text)


def _scripts(text: str) -> Counter[str]:
    """How many of the first letters belong to each script, by the first word of their Unicode names."""
    letters = islice(filter(str.isalpha, text), LETTERS_SAMPLED)
    return Counter(unicodedata.name(letter, "UNKNOWN").split(" ")[0].split("-")[0] for letter in letters)


def readable_documents(documents: Sequence[Document | str]) -> list[Document]:
    """Documents with plain strings made into ones without a title; errors as in `check_readable`."""
    read = [Document(document) if isinstance(document, str) else document for document in documents]
    for document in read:
        check_readable(document)
    return read


def _check_length(text: str) -> None:
    lettered = (word for word in re.finditer(r"\S+", text) if any(map(str.isalpha, word.group())))
    first = [word.group() for word in islice(lettered, 2)]
    if len(first) == 1:
        word = first[0] if len(first[0]) <= LONGEST_SHOWN else f"{first[0][: LONGEST_SHOWN - 1]}…"
        raise InputError(f"The text is only one word, “{word}”: paste a sentence or more.")
