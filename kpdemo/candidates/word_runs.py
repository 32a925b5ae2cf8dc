"""Candidates for present keyphrases in any language: runs of words that begin and end with a content word."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kpdemo.candidates.chunks import Candidate
from kpdemo.candidates.noun_phrases import Word, language_words
from kpdemo.lines import document_blocks
from kpdemo.text import LONGEST_KEYPHRASE
from kpdemo.types import Document

LONGEST_CANDIDATE = 5
"""Words of a candidate, marks within it apart."""

PARTICLES = frozenset({"ko"})
"""Languages whose function words end a phrase: Korean attaches its particles to the words."""

_MOST_TOKENS = 10
_JOINERS = frozenset("-'’‐‑–·/")


def mine_phrases(document: Document) -> list[Candidate]:
    """All candidates of title and body, by first occurrence; spans count in `document.text`.

    None runs across the end of a title, heading, list item, paragraph or cell of a table, see `kpdemo.lines`;
    none is longer than `LONGEST_KEYPHRASE`.

    Function words may occur inside ("système de gestion"), except in languages of `PARTICLES`; so may hyphens
    and apostrophes, but no other marks.
    `Candidate.key` is the stems of the language joined by spaces.
    """
    found: dict[str, list[tuple[int, int]]] = {}
    for text, offset in document_blocks(document):
        words = list(language_words(text, document.language))
        small = document.language not in PARTICLES
        for first, word in enumerate(words):
            if word.content:
                for key, end in _runs(words[first : first + _MOST_TOKENS], small=small):
                    found.setdefault(key, []).append((word.start + offset, end + offset))
    return [Candidate(key, tuple(spans)) for key, spans in found.items()]


def mined_key(phrase: str, language: str) -> str:
    """The key under which a phrase would be mined."""
    return _key(language_words(phrase, language))


def _runs(words: Sequence[Word], *, small: bool) -> Iterator[tuple[str, int]]:
    """The key and the end of each run from the first of `words` on that ends with a content word.

    Args:
        small: whether function words may occur inside.
    """
    count = 0
    for place, word in enumerate(words):
        if not any(map(str.isalnum, word.stem)):
            if word.stem not in _JOINERS:
                return
            continue
        count += 1
        is_long = count > LONGEST_CANDIDATE or word.end - words[0].start > LONGEST_KEYPHRASE
        if is_long or not (small or word.content):
            return
        if word.content:
            yield _key(words[: place + 1]), word.end


def _key(words: Sequence[Word] | Iterator[Word]) -> str:
    return " ".join(word.stem for word in words if word.stem not in _JOINERS)
