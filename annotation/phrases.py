"""When two phrases are the same: their words are, after stemming.

In English these are the words and Porter stems by which the keyphrase pages tell phrases apart. In other
languages words are folded (NFKC, case) and stemmed where NLTK has a Snowball stemmer. That is near to what
the keyphrase pages do, not always the same: `python -m annotation` hands their own function in (`PhraseKey`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache

PhraseKey = Callable[[str, str], str]
"""What makes a phrase the same as another one of its language."""
_PUNCTUATION = re.escape("!\"#$%&'()*+,-./:;<=>?@^`{|}~")
_ENGLISH_WORD = re.compile(rf"[{_PUNCTUATION}]|[^\s{_PUNCTUATION}]+")
_WORD = re.compile(r"\w+|[^\w\s]")
_WITHOUT_SPACES = frozenset({"zh", "ja", "ko", "th", "lo", "my", "km"})
_SNOWBALL = {
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


def phrase_key(text: str, language: str = "") -> str:
    """What makes two phrases the same: their stems, joined by single spaces.

    Args:
        text: the phrase.
        language: ISO 639-1; where none is told it is English. Scripts without spaces are joined without.
    """
    if language in ("", "en"):
        return " ".join(_english_stem(word) for word in _ENGLISH_WORD.findall(text))
    words = _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
    if language in _WITHOUT_SPACES:
        return "".join(words)
    stem = _stemmer(language)
    return " ".join(stem(word) or word for word in words)


@lru_cache(maxsize=100_000)
def _english_stem(word: str) -> str:
    return str(_porter().stem(word, to_lowercase=True))


@lru_cache(maxsize=1)
def _porter():  # type: ignore[no-untyped-def]
    from nltk.stem.porter import PorterStemmer  # here, because nltk takes long to import

    return PorterStemmer()


@lru_cache(maxsize=20)
def _stemmer(language: str) -> Callable[[str], str]:
    if language not in _SNOWBALL:
        return str
    from nltk.stem.snowball import SnowballStemmer

    stemmer = SnowballStemmer(_SNOWBALL[language])
    return lambda word: str(stemmer.stem(word))
