"""Content words: what the candidates of the baselines are made of where there is no tagger.

In Chinese and Korean the segmenters mark them, in Japanese the script. In other languages they are all but
the stop words of YAKE's package.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from kpdemo.languages.segmenting import SEGMENTED, segments
from kpdemo.languages.wording import folded
from kpdemo.text import stem, word_spans

STOP_WORDS = frozenset(
    "ar bg cs da de el en es et fa fi fr hi hr hu id it lt lv nl no pl pt ro ru sk sl sv tr uk".split()  # noqa: SIM905
)
"""Languages with a list in YAKE's package, among those that are detected."""

_OTHER_CODES = {"cs": "cz"}


class Word(NamedTuple):
    """A word by its stem and its character offsets."""

    stem: str
    start: int
    end: int
    content: bool


def language_words(text: str, language: str) -> Iterator[Word]:
    """The words of a text that is not English, punctuation marks too."""
    if language in SEGMENTED:
        for start, end, content in segments(text, language):
            yield Word(folded(text[start:end]), start, end, content)
        return
    stops = stop_words(language)
    for start, end in word_spans(text, language):
        word = text[start:end]
        content = end - start > 1 and any(map(str.isalpha, word)) and folded(word) not in stops
        yield Word(stem(word, language), start, end, content)


def spaced(text: str, language: str) -> str:
    """The text with spaces between all its words where its language has none."""
    if language not in SEGMENTED:
        return text
    return " ".join(text[start:end] for start, end, _ in segments(text, language))


def yake_code(language: str) -> str:
    """The language as YAKE's package calls it."""
    return _OTHER_CODES.get(language, language)


@lru_cache(maxsize=4)
def stop_words(language: str) -> frozenset[str]:
    """In the form of `folded`; none for a language without a list, or where YAKE's package is missing."""
    if language not in STOP_WORDS:
        return frozenset()
    try:
        from yake import KeywordExtractor
    except ImportError:
        return frozenset()
    return frozenset(map(folded, KeywordExtractor(lan=yake_code(language)).stopword_set))
