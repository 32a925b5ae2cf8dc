"""Phrases that a text says without their words standing together: "digital and analog filters" has digital
filters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kpdemo.candidates.chunks import tagged_blocks
from kpdemo.candidates.tagger import Tagger, Token
from kpdemo.types import Document

LONGEST_HEAD = 2
"""Words that two modifiers share; of longer ones it is unclear which belong to the second alone."""

_CONJUNCTIONS = frozenset({"and", "or"})
_MODIFIERS = ("JJ", "NN", "VBG", "VBN")


@dataclass(frozen=True, slots=True)
class SharedHead:
    """A phrase of a modifier and of the head that follows another one.

    Attributes:
        text: the phrase, as the document writes its words.
        whole: what the document has from the modifier to the head, on one line.
    """

    text: str
    whole: str


def shared_heads(document: Document, tagger: Tagger) -> list[SharedHead]:
    """Those of an English document, in its order, each once.

    Before the conjunction stand single words, with commas between if there are several; behind it at least
    two, of which the first is taken for the last modifier and the others for the head.

    >>> from kpdemo.candidates.tagger import load_tagger
    >>> text = "We design digital, hybrid and analog filters."
    >>> [one.text for one in shared_heads(Document(text), load_tagger())]
    ['digital filters', 'hybrid filters']
    """
    found: dict[str, SharedHead] = {}
    for tokens, _, tags in tagged_blocks(document, tagger):
        for place, token in enumerate(tokens):
            if token.text.lower() not in _CONJUNCTIONS:
                continue
            end = place + 1
            while end < len(tags) and tags[end].startswith(_MODIFIERS):
                end += 1
            while end > place + 1 and not tags[end - 1].startswith("NN"):
                end -= 1
            head = tokens[place + 2 : end]
            if not 0 < len(head) <= LONGEST_HEAD:
                continue
            for modifier in reversed(list(_modifiers(tokens, tags, place))):
                whole = document.text[modifier.start : head[-1].end]
                text = " ".join(word.text for word in (modifier, *head))
                found.setdefault(text, SharedHead(text, " ".join(whole.split())))
    return list(found.values())


def _modifiers(tokens: Sequence[Token], tags: Sequence[str], conjunction: int) -> Iterator[Token]:
    """The single words that are joined before a conjunction, the nearest first."""
    place = conjunction - 1
    if place > 0 and tokens[place].text == ",":
        place -= 1  # "digital, hybrid, and analog filters"
    while place >= 0 and tags[place].startswith(_MODIFIERS):
        if place > 0 and tags[place - 1].startswith(_MODIFIERS):
            return  # the last of several words, which may have a head of their own
        yield tokens[place]
        if place < 2 or tokens[place - 1].text != ",":
            return
        place -= 2
