"""Phrases that a text says without their words standing together: "digital and analog filters" has digital
filters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kpdemo.candidates.chunks import HYPHENS, tagged_blocks
from kpdemo.candidates.tagger import Tagger, Token
from kpdemo.types import Document

LONGEST_HEAD = 2
"""Words that two modifiers share; of longer ones it is unclear which belong to the second alone."""

_CONJUNCTIONS = frozenset({"and", "or"})
_NOUN, _MODIFIERS = "NN", ("JJ", "NN", "VBG", "VBN")
_PLURALS = ("NNS", "NNPS")
_PREPOSITIONS = ("IN", "TO")
_COPULAS = frozenset(
    """
    is are was were be been being become becomes became remain remains remained seem seems appear appears
    """.split()  # noqa: SIM905
)
_NO_MODIFIERS = frozenset(
    """
    above different following former further general last latter many more most new next other own particular
    previous related same several similar some such various
    """.split()  # noqa: SIM905
)
"""Adjectives by their tag that say nothing of what they stand before: "data and other resources"."""
_JOINTS = HYPHENS | {"/"}


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
            while end > place + 1 and not tags[end - 1].startswith(_NOUN):
                end -= 1
            head = tokens[place + 2 : end]
            if not 0 < len(head) <= LONGEST_HEAD:
                continue
            if tokens[place + 1].text.lower() in _NO_MODIFIERS or _goes_on(tokens, tags, end):
                continue
            for modifier in _modifiers(tokens, tags, place):
                whole = document.text[modifier.start : head[-1].end]
                text = " ".join(word.text for word in (modifier, *head))
                found.setdefault(text, SharedHead(text, " ".join(whole.split())))
    return list(found.values())


def _modifiers(tokens: Sequence[Token], tags: Sequence[str], conjunction: int) -> list[Token]:
    """The single words that are joined before a conjunction, in their order."""
    place = conjunction - 1
    listed = place > 0 and tokens[place].text == ","  # "digital, hybrid, and analog filters"
    places: list[int] = []
    for word in range(place - 1 if listed else place, -1, -2):
        if _is_predicate(tokens, tags, word):
            return []
        if not _is_modifier(tokens, tags, word):
            break
        if places and (_ends_phrase(tags, word) or _is_noun(tags, word) != _is_noun(tags, places[0])):
            break  # "In this paper, ..."
        places.insert(0, word)
        if word == 0 or tokens[word - 1].text != ",":
            break
    return [] if listed and len(places) < 2 else [tokens[word] for word in places]


def _is_modifier(tokens: Sequence[Token], tags: Sequence[str], word: int) -> bool:
    """Whether a word can stand before a head that it does not have: a single one, no piece of a compound."""
    if not tags[word].startswith(_MODIFIERS) or tags[word] in _PLURALS:
        return False
    if tokens[word].text.lower() in _NO_MODIFIERS:
        return False
    return not word or not (tokens[word - 1].text in _JOINTS or tags[word - 1].startswith(_MODIFIERS))


def _is_predicate(tokens: Sequence[Token], tags: Sequence[str], word: int) -> bool:
    """Whether a word says how something is: "is very fast", "makes it cheap"."""
    before = word - 1
    while before >= 0 and tags[before].startswith("RB"):
        before -= 1
    return before >= 0 and (tags[before] == "PRP" or tokens[before].text.lower() in _COPULAS)


def _goes_on(tokens: Sequence[Token], tags: Sequence[str], end: int) -> bool:
    """Whether the last word of a head is only the beginning of a compound or a possessive."""
    return end < len(tokens) and (tokens[end].text in _JOINTS or tags[end] == "POS")


def _is_noun(tags: Sequence[str], word: int) -> bool:
    return tags[word].startswith(_NOUN)


def _ends_phrase(tags: Sequence[str], word: int) -> bool:
    """Whether a word is the noun of a phrase such as "to this end", behind which the list begins."""
    before = word - 1
    if before >= 0 and tags[before] == "DT":
        before -= 1
    return _is_noun(tags, word) and before >= 0 and tags[before].startswith(_PREPOSITIONS)
