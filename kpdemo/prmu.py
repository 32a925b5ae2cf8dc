"""How much of a keyphrase its document holds: the PRMU kinds of Boudin and Gallina (2021)."""

from __future__ import annotations

from kpdemo.languages.segmenting import SEGMENTED, segments
from kpdemo.text import StemmedText, words
from kpdemo.types import Document, Kind


class PhraseKinds:
    """A document prepared for many questions of the kind "is this phrase reordered, mixed or unseen?".

    A phrase is present by the rule of `StemmedText`. Of any other, the stems of its words are looked up
    one by one in title and body; punctuation marks do not count as words. In languages without spaces the
    words are those of a segmenter, and each is looked up as a phrase.
    """

    def __init__(self, document: Document) -> None:
        self._text = StemmedText(document)
        self._language = document.language

    def __call__(self, phrase: str) -> Kind:
        if self._text.contains(phrase):
            return Kind.PRESENT
        found = [self._text.contains(word) for word in _words(phrase, self._language)]
        if not any(found):
            return Kind.UNSEEN
        return Kind.REORDERED if all(found) else Kind.MIXED


def _words(phrase: str, language: str) -> list[str]:
    if language in SEGMENTED:
        found = [phrase[start:end] for start, end, _ in segments(phrase, language)]
    else:
        found = words(phrase, language)
    return [word for word in found if any(map(str.isalnum, word))]
