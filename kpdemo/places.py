"""Where phrases occur in a document."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from kpdemo.text import stem, stems, word_spans
from kpdemo.types import Document, Span


class PhrasePlaces:
    """A document prepared for many questions of the kind "where does this phrase occur?".

    The rule is that of `kpdemo.text.StemmedText`: a phrase occurs where its stemmed words do,
    contiguously, in the title or in the body. Spans count in `Document.text`.
    """

    def __init__(self, document: Document) -> None:
        self._language = document.language
        parts = ((document.title, 0), (document.body, document.body_start))
        self._spans = [
            [(start + offset, end + offset) for start, end in word_spans(part, self._language)]
            for part, offset in parts
        ]
        text = document.text
        self._stems = [
            tuple(stem(text[start:end], self._language) for start, end in spans) for spans in self._spans
        ]
        self._firsts: dict[str, list[tuple[int, int]]] = {}
        for part, words in enumerate(self._stems):
            for position, word in enumerate(words):
                self._firsts.setdefault(word, []).append((part, position))

    def of(self, phrase: str) -> tuple[Span, ...]:
        """All places of the phrase, in order; none when it is absent."""
        wanted = stems(phrase, self._language)
        return tuple(
            (self._spans[part][first][0], self._spans[part][first + len(wanted) - 1][1])
            for part, first in (self._firsts.get(wanted[0], ()) if wanted else ())
            if self._stems[part][first : first + len(wanted)] == wanted
        )

    def widened(self, span: Span) -> Span:
        """The span with the words whole that it begins and ends in."""
        start, end = span
        for words in self._spans:
            first = bisect_right(words, start, key=lambda word: word[1])
            last = bisect_left(words, end, key=lambda word: word[0]) - 1
            if first <= last:
                return words[first][0], words[last][1]
        return span
