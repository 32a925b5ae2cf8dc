"""How large a text is, in words and sentences, and how large the items of a comparison type may be.

Words are what stands between white space and has a letter or digit; where a script writes no spaces, two
characters are taken as a word. A sentence ends at a full stop, question or exclamation mark before white
space, but not after an initial, a title or an abbreviation with a dot within; a rest without an end is one
too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from annotation.characters import shown
from annotation.comparison import comparison_type
from annotation.errors import SettingsError
from annotation.figures import number_of

MOST = 100_000
"""The largest bound that can be set."""

_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
_END = re.compile(  # a run of marks is looked at once, from its first
    r"(?<![.!?…؟۔।])[.!?…؟۔।]++[\"'”’»)\]]*+(?=\s+[^\sa-z]|\s*$)|[。！？]++[”’」』）]*"
)
_NO_END = re.compile(r"(?:\b(?:[^\W\d_]|Mrs?|Ms|Dr|St|Prof|Jr|Sr|vs|cf|Fig)|\.[^\W\d_]+)\.$")
_RANGE = re.compile(r"\s*(\d{1,6})\s*(?:[-–—]|to)\s*(\d{1,6})\s*")


@dataclass(frozen=True, slots=True)
class Size:
    words: int
    sentences: int


@dataclass(frozen=True, slots=True)
class Bounds:
    """Fewest and most, both allowed."""

    words: tuple[int, int]
    sentences: tuple[int, int]

    def problem(self, size: Size) -> str:
        """Why a text of that size does not fit, as "has 3 words, not 4 to 80"; empty when it does."""
        for name, count, (low, high) in (
            ("word", size.words, self.words),
            ("sentence", size.sentences, self.sentences),
        ):
            if not low <= count <= high:
                return f"has {number_of(count, name)}, not {range_text((low, high))}"
        return ""


@dataclass(frozen=True, slots=True)
class PairBounds:
    larger: Bounds
    smaller: Bounds


ANY = Bounds((1, 20_000), (1, 2_000))
DEFAULTS: Mapping[str, Bounds] = {
    "document": Bounds((20, 20_000), (1, 2_000)),
    "paragraph": Bounds((20, 400), (2, 30)),
    "sentence": Bounds((4, 80), (1, 3)),
    "phrase": Bounds((2, 15), (1, 1)),
    "keyphrase": Bounds((1, 8), (1, 1)),
    "word": Bounds((1, 2), (1, 1)),
    "sense": Bounds((1, 80), (1, 6)),
}
"""By the name of the size; a paragraph of SemEval-2014 Task 3 has 3.8 sentences on average (section 3.1)."""


def size_of(text: str) -> Size:
    """Words and sentences of a text."""
    words = sum(_words(chunk) for chunk in text.split())
    return Size(words, _sentences(text) if words else 0)


def bounds_of(type: str, changed: Mapping[str, Any]) -> PairBounds:
    """How large the items of a type may be.

    Args:
        type: its name, such as sentence2phrase.
        changed: what a project has of its own, as `check_bounds` gives it.
    """
    kind, own = comparison_type(type), changed.get(type, {})
    return PairBounds(
        _with(DEFAULTS.get(kind.larger.lower(), ANY), own.get("larger", {})),
        _with(DEFAULTS.get(kind.smaller.lower(), ANY), own.get("smaller", {})),
    )


def bounds_json(bounds: PairBounds) -> dict[str, dict[str, list[int]]]:
    """Bounds as they are kept and printed."""
    return {
        side: {"words": list(each.words), "sentences": list(each.sentences)}
        for side, each in (("larger", bounds.larger), ("smaller", bounds.smaller))
    }


def check_range(text: str, what: str) -> tuple[int, int]:
    """The fewest and most in a text such as "4-80".

    Args:
        what: begins the sentence: "Words of the paragraph".

    Raises:
        SettingsError: it is not such a range.
    """
    found = _RANGE.fullmatch(text)
    low, high = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= low <= high <= MOST:
        raise SettingsError(
            f"{what}: {shown(text)} is not a range from 1 to {MOST:,}, give one such as 4-80."
        )
    return low, high


def range_text(bounds: tuple[int, int]) -> str:
    """1 to 3, or 1."""
    low, high = bounds
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def guidance(bounds: Bounds) -> str:
    """What to write, in words: "4 to 80 words, 1 to 3 sentences"."""
    words = f"{range_text(bounds.words)} {'word' if bounds.words == (1, 1) else 'words'}"
    if bounds.sentences[1] == 1:
        return words
    return f"{words}, {range_text(bounds.sentences)} sentences"


def _with(usual: Bounds, own: Mapping[str, Iterable[int]]) -> Bounds:
    words, sentences = (
        tuple(own.get(name, kept)) for name, kept in (("words", usual.words), ("sentences", usual.sentences))
    )
    return Bounds((words[0], words[1]), (sentences[0], sentences[1]))


def _words(chunk: str) -> int:
    unspaced = len(_UNSPACED.findall(chunk))
    rest = _UNSPACED.sub("", chunk) if unspaced else chunk
    return (unspaced + 1) // 2 + any(character.isalnum() for character in rest)


def _sentences(text: str) -> int:
    ends, last = 0, 0
    for match in _END.finditer(text):
        is_last = not text[match.end() :].strip()
        if is_last or not _NO_END.search(text[max(0, match.start() - 24) : match.start() + 1]):
            ends, last = ends + 1, match.end()
    rest = text[last:]
    return ends + any(character.isalnum() for character in rest)
