"""Terms and the documents that hold them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kpdemo.text import phrase_key, stem, words
from kpdemo.types import Document

LONGEST = 6
"""Words of the longest term."""


def term_key(text: str) -> str:
    """What makes two spellings one term: the stems of the words, every punctuation mark left out.

    It merges more than `phrase_key`: "real-time system" and "real time systems" are one term.
    """
    return " ".join(key for key in phrase_key(text).split(" ") if any(map(str.isalnum, key)))


@dataclass(frozen=True, slots=True)
class TextTerms:
    """What a bank needs to know of a text.

    Attributes:
        numbers: the terms that stand in it, ascending.
        stems: all of its words.
    """

    numbers: tuple[int, ...] = ()
    stems: frozenset[str] = frozenset()


class TermIndex:
    """Finds which of many terms stand in a document, by `term_key`."""

    def __init__(self, keys: Sequence[str]) -> None:
        self.numbers: Mapping[str, int] = {key: number for number, key in enumerate(keys)}

    def __len__(self) -> int:
        return len(self.numbers)

    def read(self, document: Document) -> TextTerms:
        """The terms whose stems stand contiguously in the title or in the body."""
        found: set[int] = set()
        parts = [_stems(part) for part in (document.title, document.body)]
        for stems in parts:
            found.update(self._in_text(stems))
        return TextTerms(tuple(sorted(found)), frozenset(stem for stems in parts for stem in stems))

    def _in_text(self, stems: Sequence[str]) -> Iterator[int]:
        for first in range(len(stems)):
            key = ""
            for word in stems[first : first + LONGEST]:
                key = f"{key} {word}" if key else word
                if (number := self.numbers.get(key)) is not None:
                    yield number


def _stems(text: str) -> list[str]:
    return [stem(word) for word in words(text) if any(map(str.isalnum, word))]
