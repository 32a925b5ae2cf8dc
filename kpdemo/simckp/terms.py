"""Terms, and the documents that hold them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from kpdemo.text import stem, word_spans
from kpdemo.types import Document, Span

FUNCTION_WORDS = frozenset(
    """
    a an the this that these those such same other another each every either neither both all any some no none
    i me my mine we us our ours you your yours he him his she her hers it its they them their theirs one ones
    myself ourselves yourself himself herself itself themselves who whom whose which what when where why how
    and or but nor so yet if then else than as because since while whereas although though unless
    until whether about above across after against along among amongst around at before behind below beneath
    beside besides between beyond by down during except for from in inside into near of off on onto out
    outside over per through throughout to toward towards under up upon via with within without
    am is are was were be been being do does did done doing has have had having can could may might must shall
    should will would cannot
    not only also too very more most less least much many few several here there thus hence therefore however
    moreover furthermore again once now just even still already often always never ever rather quite well etc
    """.split()  # noqa: SIM905
)


LONGEST_TERM = 6
"""Words of the longest term."""

_JOINT = re.compile(r"[^\S\n]*(?:-?\n[^\S\n]*)?|[-‐‑'’./&]")  # no blank line; one blank is matched one way


@lru_cache(maxsize=50_000)
def term_key(text: str) -> str:
    """What makes two spellings one term: the stems of the words, every punctuation mark left out.

    It merges more than `phrase_key`: "real-time system" and "real time systems" are one term, and so are
    "Alzheimer's disease" and "Alzheimer’s disease".
    """
    return " ".join(word.stem for word in _words(text))


def straight(text: str) -> str:
    """An inverted heading of a catalogue in natural order; any other text as it is.

    >>> straight("arthritis, rheumatoid")
    'rheumatoid arthritis'
    """
    first, comma, rest = text.partition(", ")
    return f"{rest} {first}" if comma and ", " not in rest else text


@dataclass(frozen=True, slots=True)
class TextTerms:
    """What a bank needs to know about a text.

    Attributes:
        numbers: the terms that occur in it, ascending.
        stems: all of its words.
        spelt: those of `numbers` that are evidence, as the text writes them first. The others are not, since
            their words are adjacent only across a full stop, a bracket or the like, or an acronym ("ELF")
            is written as another word ("elf"), or they are function words as it writes them: "and" has the
            stem of "Andes".
    """

    numbers: tuple[int, ...] = ()
    stems: frozenset[str] = frozenset()
    spelt: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of a text; `joined` if only a space, or a mark within a word, is before it."""

    text: str
    stem: str
    span: Span
    joined: bool


def text_stems(document: Document) -> frozenset[str]:
    """What `TermIndex.read` gives as the `stems` of a document, without looking for terms."""
    return frozenset(word.stem for part in (document.title, document.body) for word in _words(part))


class TermIndex:
    """Finds which of many terms occur in a document, by `term_key`.

    Args:
        keys: of the terms; of those with the same key the first is found.
        texts: their spellings, to tell acronyms from words; without them all are words.
    """

    def __init__(self, keys: Sequence[str], texts: Sequence[str] = ()) -> None:
        numbers: dict[str, int] = {}
        for number, key in enumerate(keys):
            numbers.setdefault(key, number)
        self.numbers: Mapping[str, int] = numbers
        self._keys, self._texts = keys, texts

    def read(self, document: Document) -> TextTerms:
        """The terms whose stems occur contiguously in the title or in the body, marks left out."""
        has_capitals = any(map(str.isupper, document.text))
        found: set[int] = set()
        stems: set[str] = set()
        spelt: dict[int, str] = {}
        for part in (document.title, document.body):
            words = _words(part)
            stems.update(word.stem for word in words)
            for number, place in self._in_text(words):
                found.add(number)
                whole = number not in spelt and all(word.joined for word in place[1:])
                if whole and (not has_capitals or self._spells(number, place)) and self._tells(number, place):
                    (start, _), (_, end) = place[0].span, place[-1].span
                    spelt[number] = " ".join(part[start:end].split())
        return TextTerms(tuple(sorted(found)), frozenset(stems), spelt)

    def shares_of_words(self, numbers: NDArray[np.int64], stems: Collection[str]) -> NDArray[np.float32]:
        """(K,) the share of the words of K terms that are among those of a text."""
        rows, lengths = self._words
        held = np.zeros(len(self._stems) + 1, dtype=bool)  # the last one pads short terms
        held[[self._stems[stem] for stem in stems if stem in self._stems]] = True
        shares: NDArray[np.float64] = held[rows[numbers]].sum(axis=1) / lengths[numbers]
        return shares.astype(np.float32)

    @cached_property
    def _stems(self) -> dict[str, int]:
        """The words of all terms, numbered."""
        words = dict.fromkeys(stem for key in self._keys for stem in key.split(" "))
        return {stem: number for number, stem in enumerate(words)}

    @cached_property
    def _words(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The numbers of each term's words, padded, (N, longest), and how many these are, (N,)."""
        words = [[self._stems[stem] for stem in key.split(" ")] for key in self._keys]
        lengths = np.array(list(map(len, words)))
        rows = np.full((len(words), lengths.max()), len(self._stems), dtype=np.int32)
        rows[np.arange(rows.shape[1]) < lengths[:, None]] = list(chain.from_iterable(words))
        return rows, lengths

    def _in_text(self, text: Sequence[_Word]) -> Iterator[tuple[int, Sequence[_Word]]]:
        for first in range(len(text)):
            key = ""
            for end in range(first + 1, min(first + LONGEST_TERM, len(text)) + 1):
                stem = text[end - 1].stem
                key = f"{key} {stem}" if key else stem
                if (number := self.numbers.get(key)) is not None:
                    yield number, text[first:end]

    def _spells(self, number: int, place: Sequence[_Word]) -> bool:
        """Whether the acronyms of the term have two capitals there, too."""
        acronyms = self._acronyms(number, place)
        return all(sum(map(str.isupper, text)) > 1 for text in acronyms)

    def _tells(self, number: int, place: Sequence[_Word]) -> bool:
        """Whether a word there is no function word; "IT" and "WHO" are none where the term is an acronym."""
        acronyms = {text for text in self._acronyms(number, place) if text.isupper()}
        return any(word.text in acronyms or word.text.lower() not in FUNCTION_WORDS for word in place)

    def _acronyms(self, number: int, place: Sequence[_Word]) -> list[str]:
        """What the text writes for the acronyms of the term."""
        term = _words(self._texts[number]) if self._texts else ()
        return [
            word.text
            for own, word in zip(term, place, strict=False)
            if len(own.text) > 1 and own.text.isupper()
        ]


def _words(text: str) -> list[_Word]:
    """Those with a letter or digit."""
    found: list[_Word] = []
    before = 0
    for start, end in _word_spans(text):
        word = text[start:end]
        if any(map(str.isalnum, word)):
            joined = _JOINT.fullmatch(text, before, start) is not None
            found.append(_Word(word, stem(word), (start, end), joined))
            before = end
    return found


def _word_spans(text: str) -> Iterator[Span]:
    """As `word_spans`, but brackets, curved quotation marks and the like part words too."""
    for start, end in word_spans(text):
        if text[start:end].isalnum():
            yield start, end
            continue
        marks = [place for place in range(start, end) if unicodedata.category(text[place])[0] in "PS"]
        for first, behind in zip([start, *(place + 1 for place in marks)], [*marks, end], strict=True):
            if first < behind:
                yield first, behind
