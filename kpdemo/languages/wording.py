"""Words and their stems outside of English, to decide whether a phrase occurs in a text.

A word is a run of letters, digits and their marks; each punctuation mark is a word of its own. In Chinese,
Japanese, Korean, Thai, Lao, Burmese and Khmer every letter is one: their texts have no spaces or vary them,
and a segmenter cuts a phrase on its own differently from the same phrase in a sentence. So such a phrase is
present when its letters occur in the text in order, with any spaces between.

Two words are the same when their stems are, after NFKC (full-width forms, composed accents, ligatures), case
folding, and without invisible characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType

from kpdemo.languages.names import language_code
from kpdemo.languages.scripts import UNSPACED

Span = tuple[int, int]

SNOWBALL: Mapping[str, str] = MappingProxyType(
    {
        "ar": "arabic",
        "da": "danish",
        "de": "german",
        "es": "spanish",
        "fi": "finnish",
        "fr": "french",
        "hu": "hungarian",
        "it": "italian",
        "nl": "dutch",
        "no": "norwegian",
        "pt": "portuguese",
        "ro": "romanian",
        "ru": "russian",
        "sv": "swedish",
    }
)
"""Languages with a Snowball stemmer in NLTK, by its name there; in others words are compared unstemmed."""

_PLAIN = str.maketrans("’‘ʼ‐‑‒–—−ـ", "'''------\u00ad")  # the last, the Arabic tatweel, is only length
_BASIC_PLANE = 0x10000
_JAMO = r"[\u1100-\u115f][\u1160-\u11a7]?[\u11a8-\u11ff]?"  # a Hangul syllable taken apart, as in NFD


def word_spans(text: str) -> list[Span]:
    """The span of each word of a text that is not English; invisible characters are not words."""
    return [match.span() for match in _word().finditer(text) if folded(match.group())]


@lru_cache(maxsize=200_000)
def folded(word: str) -> str:
    """The normal form of a word, see above; it may be empty, and has no space."""
    plain = unicodedata.normalize("NFKC", word).casefold().translate(_PLAIN)
    seen = "".join(letter for letter in plain if unicodedata.category(letter)[0] not in "CZ")
    return unicodedata.normalize("NFKC", seen)


@lru_cache(maxsize=200_000)
def stem(word: str, language: str) -> str:
    """The stem of one word; the folded word in a language without a stemmer.

    Args:
        language: as `language_code` reads it.
    """
    plain = folded(word)
    return _stemmer(language_code(language))(plain) or plain


@lru_cache(maxsize=1)
def _word() -> re.Pattern[str]:
    r"""Python's `\w` has no combining marks, without which Hindi, pointed Hebrew and NFD fall apart."""
    marks, hidden = combining_marks(), _class("Cf")
    letter = rf"[^\W_{UNSPACED}]"
    return re.compile(
        rf"{_JAMO}|[{UNSPACED}][{marks}{hidden}\uff9e\uff9f]*|{letter}(?:{letter}|[{marks}{hidden}])*|[^\s{hidden}]"
    )


@lru_cache(maxsize=1)
def combining_marks() -> str:
    """The accents and vowel signs that follow a letter, for a class of a regular expression."""
    return _class("Mn", "Mc", "Me")


def _class(*categories: str) -> str:
    """The characters of some Unicode categories in the basic plane, as ranges of a character class."""
    wanted = [code for code in range(_BASIC_PLANE) if unicodedata.category(chr(code)) in categories]
    runs: list[Span] = []
    for code in wanted:
        if runs and runs[-1][1] == code - 1:
            runs[-1] = (runs[-1][0], code)
        else:
            runs.append((code, code))
    return "".join(f"\\u{first:04x}-\\u{last:04x}" for first, last in runs)


@lru_cache(maxsize=100)
def _stemmer(code: str) -> Callable[[str], str]:
    if code not in SNOWBALL:
        return str
    from nltk.stem.snowball import SnowballStemmer  # here, because only few languages of few texts need it

    # A new one for each word: NLTK's Arabic one remembers the suffix of a word before, of any thread.
    return lambda word: str(SnowballStemmer(SNOWBALL[code]).stem(word))
