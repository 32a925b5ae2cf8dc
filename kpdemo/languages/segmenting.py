"""Words of languages without reliable spaces: jieba for Chinese, Kiwi for Korean, scripts for Japanese.

Whether a phrase is present does not depend on them (see `wording`): they say which words a phrase is made
of. Each loads with the first text of its language; Kiwi then takes seconds and 340 MB.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from kpdemo.languages.scripts import HAN, UNSPACED
from kpdemo.languages.wording import word_spans

if TYPE_CHECKING:
    from kiwipiepy import Kiwi

_CHINESE_CONTENT = ("n", "vn", "v", "a", "b", "j", "l", "i", "eng")
_KOREAN_CONTENT = ("NNG", "NNP", "SL", "SH", "XPN", "XSN", "XR")
_JAPANESE = re.compile(rf"[{HAN}]+|[\u30a0-\u30ff\u31f0-\u31ff\uff66-\uff9f]+|[^\W_{UNSPACED}]+|[^\s]")
_JAPANESE_CONTENT = re.compile(rf"[{HAN}\u30a1-\u30fa\uff66-\uff9d]|[^\W\d_{UNSPACED}]")


class Segment(NamedTuple):
    """A word, by its character offsets; `content` when it may be part of a keyphrase."""

    start: int
    end: int
    content: bool


def segments(text: str, language: str) -> list[Segment]:
    """The words of a text in their order; white space belongs to none, and Korean particles are words.

    Args:
        language: one of `SEGMENTED`.
    """
    return list(_SEGMENTERS[language](text))


def _chinese(text: str) -> Iterator[Segment]:
    yield from _joined(text, _jieba(text))


def _joined(text: str, pieces: Iterator[Segment]) -> Iterator[Segment]:
    """The pieces of a segmenter, joined where it cuts a word of other letters.

    jieba knows no "ö" in "Schrödinger", and Kiwi cuts "learning." at the end of a sentence.
    """
    inside = {place for start, end in word_spans(text) for place in range(start + 1, end)}
    joined: Segment | None = None
    for piece in pieces:
        if joined and piece.start in inside:
            joined = Segment(joined.start, piece.end, joined.content or piece.content)
            continue
        if joined:
            yield joined
        joined = piece
    if joined:
        yield joined


def _jieba(text: str) -> Iterator[Segment]:
    import rjieba  # here, as Kiwi below: only for texts of their language

    start = 0
    for word, tag in rjieba.tag(text):
        end = start + len(word)
        if not word.isspace():
            named = tag.startswith(_CHINESE_CONTENT)
            yield Segment(start, end, named and any(map(str.isalpha, word)))
        start = end


def _korean(text: str) -> Iterator[Segment]:
    """The words of Kiwi without the full stop that it takes into "IoT."; "U.S." keeps its own."""
    for word in _joined(text, _kiwi_words(text)):
        stop = text.find(".", word.start + 1, word.end)
        if stop == word.end - 1:
            yield word._replace(end=stop)
            yield Segment(stop, word.end, content=False)
        else:
            yield word


def _kiwi_words(text: str) -> Iterator[Segment]:
    done = 0
    for token in _kiwi().tokenize(text):
        start, end = token.start, token.start + token.len
        if start >= done and end > start:  # "할" is a verb and its ending, both in one syllable
            yield Segment(start, end, token.tag in _KOREAN_CONTENT)
            done = end


def _japanese(text: str) -> Iterator[Segment]:
    for match in _JAPANESE.finditer(text):
        yield Segment(*match.span(), _JAPANESE_CONTENT.match(match.group()) is not None)


_SEGMENTERS: Mapping[str, Callable[[str], Iterator[Segment]]] = MappingProxyType(
    {"zh": _chinese, "ja": _japanese, "ko": _korean}
)
SEGMENTED = frozenset(_SEGMENTERS)


@lru_cache(maxsize=1)
def _kiwi() -> Kiwi:
    from kiwipiepy import Kiwi

    # Without its dictionaries of typing errors and of long names: half the memory.
    return Kiwi(num_workers=1, load_typo_dict=False, load_multi_dict=False)
