"""How much of a keyphrase its document holds: the PRMU kinds of Boudin and Gallina (2021)."""

from __future__ import annotations

from kpdemo.text import StemmedText, stem, words
from kpdemo.types import Document, Kind


class PhraseKinds:
    """A document prepared for many questions of the kind "is this phrase reordered, mixed or unseen?".

    A phrase is present by the rule of `StemmedText`. Of any other, the stems of its words are looked up
    one by one in title and body; punctuation marks are no words here.
    """

    def __init__(self, document: Document) -> None:
        self._text = StemmedText(document)
        self._stems = frozenset(_stems(document.text))

    def __call__(self, phrase: str) -> Kind:
        if self._text.contains(phrase):
            return Kind.PRESENT
        found = [word in self._stems for word in _stems(phrase)]
        if not any(found):
            return Kind.UNSEEN
        return Kind.REORDERED if all(found) else Kind.MIXED


def phrase_kind(phrase: str, document: Document) -> Kind:
    """The kind of one phrase; for many of one document `PhraseKinds` stems the text only once."""
    return PhraseKinds(document)(phrase)


def _stems(text: str) -> list[str]:
    return [stem(word) for word in words(text) if any(map(str.isalnum, word))]
