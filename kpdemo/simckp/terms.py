"""Terms, and the documents that hold them."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from kpdemo.languages import ENGLISH
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
LONGEST_TEXT = 80
"""Characters of the longest term: anything longer is a sentence among the keyphrases."""

_LABEL = re.compile(
    r"(?:additional key ?words(?: and phrases)?|(?:index terms?|key ?words?(?: and phrases)?)\s*[—–:-])"
    r"[\s—–:-]*",
    re.IGNORECASE,
)
"""What authors' templates print before a list of keyphrases, often without a blank after it."""
_BEFORE = re.compile(r"(?:\.(?![A-Z]\w)|[\s,;:!?*•·|\\—–-])+")  # ".NET" keeps its full stop
_BEHIND = re.compile(r"[\s.,;:!?|\\&—–-]+$")
_NO_TERM = re.compile(
    r"<[a-z]+>|[$\\{}]"  # "type <digit> diabetes", "Lambert $W$ function"
    r"|\s:|:\s|,\s(?!.*(?:\band\b|&))"  # headings: "galaxies: active", "infant, newborn"
    r"|^[A-K]\.\d(?:\.\d{1,2}|\.m)?(?:\s|$)|^\d\d[A-Za-z]\d\d$|^[EGOego](?!20)\d\d$"  # ACM's, MSC, JEL
    r"|^(?:and|or|of|&)\s|\s(?:and|of|the|for|with|&)$|^[^(]*\)|\([^)]*$|^[^[]*\]|\[[^]]*$"  # pieces
    r"|^(?:[Tt]ype your )?[Kk]ey ?[Ww]ords?(?: here)?$|^[^\W\d_]$|^[\W\d]+\s[^\W\d_]$|^[\W\d_]*$"
    r"|^(?P<half>\S+\s.+)\s(?P=half)$|\w[.?!]\s+\w+\s.*[.?!]"  # the same twice, sentences
)
_BRITISH = re.compile(
    r"(?<=[a-z]{2})(?:is(?=(?:e|ed|es|er|ers|ing|ations?|ational)\b)|our(?=(?:s|al|ed|ing|hood)?\b))"
)

_BETWEEN = re.compile(r"[^\w\n]|_")
_SHORT = 4
_SOLID = "="
"""Before a solid spelling among keys."""
_DIGIT = "<digit>"
"""What KP20k has in place of numbers: no word "digit"."""

_JOINT = re.compile(r"[^\S\n]*(?:-?\n[^\S\n]*)?|[-‐‑'’./&]")  # no blank line; one blank is matched one way


@lru_cache(maxsize=50_000)
def term_key(text: str, language: str = "") -> str:
    """What makes two spellings one term: the stems of the words, every punctuation mark left out.

    It merges more than `phrase_key`: "real-time system" and "real time systems" are one term, and so are
    "Alzheimer's disease" and "Alzheimer’s disease".
    """
    return " ".join(word.stem for word in _words(text, language))


def clean_term(text: str) -> str:
    """A keyphrase as a bank may hold it, or nothing where it is no term that a reader could look up.

    Labels and marks around it are taken off. Headings and codes of classifications, placeholders, pieces of
    lists, LaTeX, sentences, numbers and single letters are no terms.

    >>> clean_term("Index Terms—Deep learning."), clean_term("G.1.1 [Numerical Analysis]: Interpolation")
    ('Deep learning', '')
    """
    bare = " ".join(text.split())
    label = _LABEL.match(bare)
    bare = _BEHIND.sub("", bare[label.end() :] if label else bare)
    marks = _BEFORE.match(bare)
    bare = bare[marks.end() :] if marks else bare
    long = len(bare) > LONGEST_TEXT or term_key(bare).count(" ") >= LONGEST_TERM
    return "" if long or _NO_TERM.search(bare) else bare


def solid_spellings(texts: Sequence[str]) -> list[str]:
    """What spellings of one term share that `term_key` tells apart: letters and digits alone.

    Blanks, hyphens, Unicode's compatible forms, British endings and a plural's s make no difference.

    >>> solid_spellings(["COVID-19", "Covid19", "multi-agent behaviours", "multiagent behavior"])
    ['covid19', 'covid19', 'multiagentbehavior', 'multiagentbehavior']
    """
    return [_singular(line) for line in _letters(texts)]


def _letters(texts: Sequence[str]) -> list[str]:
    folded = unicodedata.normalize("NFKC", "\n".join(" ".join(text.split()) for text in texts)).lower()
    american = _BRITISH.sub(lambda found: "iz" if found[0] == "is" else "or", folded)
    return _BETWEEN.sub("", american).split("\n")


def _singular(letters: str) -> str:
    return letters.rstrip("s") if len(letters) > _SHORT else letters  # "IS" is no plural of "I"


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
        counts: how often each of `numbers` occurs.
        title, title_stems: which of `numbers` and of `stems` are in the title.
    """

    numbers: tuple[int, ...] = ()
    stems: frozenset[str] = frozenset()
    spelt: Mapping[int, str] = field(default_factory=dict)
    counts: tuple[int, ...] = ()
    title: tuple[int, ...] = ()
    title_stems: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of a text; `joined` if only a space, or a mark within a word, is before it."""

    text: str
    stem: str
    span: Span
    joined: bool


def text_stems(document: Document) -> frozenset[str]:
    """What `TermIndex.read` gives as the `stems` of a document, without looking for terms."""
    parts = document.title, document.body
    return frozenset(word.stem for part in parts for word in _words(part, document.language))


class TermIndex:
    """Finds which of many terms occur in a document, by `term_key` and by `solid_spellings`.

    Args:
        keys: of the terms; of those with the same key the first is found.
        texts: their spellings, to tell acronyms from words, and to find "multi-agent" written "multiagent";
            without them all are words.
        languages: the code of each; a document is searched for those of its own language, or of English
            where it has none. Without them it is searched for all.
    """

    def __init__(self, keys: Sequence[str], texts: Sequence[str] = (), languages: Sequence[str] = ()) -> None:
        self.keys = tuple(keys)
        self._texts, self._languages = texts, languages

    @cached_property
    def _names(self) -> Mapping[str, Mapping[str, int]]:
        """The numbers of the terms of each language by key and solid spelling; of all under ""."""
        languages = self._languages or [""] * len(self.keys)
        names: dict[str, dict[str, int]] = {language: {} for language in languages}
        solids = [f"{_SOLID}{solid}" for solid in solid_spellings(self._texts)] if self._texts else []
        for spellings in (self.keys, solids):
            for number, (language, spelling) in enumerate(zip(languages, spellings, strict=False)):
                names[language].setdefault(spelling, number)
        return names

    def _names_in(self, language: str) -> Mapping[str, int]:
        return self._names.get((language or ENGLISH) if self._languages else "", {})

    def number(self, text: str, language: str = "") -> int | None:
        """That of the term which a text as a whole is."""
        names = self._names_in(language)
        by_key = names.get(term_key(text, language))
        return names.get(f"{_SOLID}{solid_spellings([text])[0]}") if by_key is None else by_key

    def read(self, document: Document) -> TextTerms:
        """The terms that occur contiguously in the title or in the body, marks left out."""
        has_capitals = any(map(str.isupper, document.text))
        counts: Counter[int] = Counter()
        stems: list[frozenset[str]] = []
        spelt: dict[int, str] = {}
        title: tuple[int, ...] = ()
        for part in (document.title, document.body):
            words = _words(part, document.language)
            title = tuple(sorted(counts))
            stems.append(frozenset(word.stem for word in words))
            for number, place in self._in_text(words, document.language):
                counts[number] += 1
                whole = number not in spelt and all(word.joined for word in place[1:])
                if whole and (not has_capitals or self._spells(number, place)) and self._tells(number, place):
                    (start, _), (_, end) = place[0].span, place[-1].span
                    spelt[number] = " ".join(part[start:end].split())
        numbers = tuple(sorted(counts))
        occurrences = tuple(counts[number] for number in numbers)
        return TextTerms(numbers, stems[0] | stems[1], spelt, occurrences, title, stems[0])

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(N,) how many words each term has."""
        return self._words[1]

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
        words = dict.fromkeys(stem for key in self.keys for stem in key.split(" "))
        return {stem: number for number, stem in enumerate(words)}

    @cached_property
    def _words(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The numbers of each term's words, padded, (N, longest), and how many these are, (N,)."""
        words = [[self._stems[stem] for stem in key.split(" ")] for key in self.keys]
        lengths = np.array(list(map(len, words)))
        rows = np.full((len(words), lengths.max()), len(self._stems), dtype=np.int32)
        rows[np.arange(rows.shape[1]) < lengths[:, None]] = list(chain.from_iterable(words))
        return rows, lengths

    def _in_text(self, text: Sequence[_Word], language: str) -> Iterator[tuple[int, Sequence[_Word]]]:
        names = self._names_in(language)
        spelt = ["0" if word.stem == _DIGIT else word.text for word in text]
        letters = _letters(spelt) if self._texts else [""] * len(text)
        for first in range(len(text)):
            key, solid = "", ""
            for end in range(first + 1, min(first + LONGEST_TERM, len(text)) + 1):
                stem = text[end - 1].stem
                key = f"{key} {stem}" if key else stem
                solid += letters[end - 1]
                if (number := names.get(key, names.get(f"{_SOLID}{_singular(solid)}"))) is not None:
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
        term = _words(self._texts[number], "") if self._texts else ()
        return [
            word.text
            for own, word in zip(term, place, strict=False)
            if len(own.text) > 1 and own.text.isupper()
        ]


def _words(text: str, language: str) -> list[_Word]:
    """Those with a letter or digit."""
    found: list[_Word] = []
    before = 0
    for start, end in _word_spans(text, language):
        word = text[start:end]
        if any(map(str.isalnum, word)):
            joined = _JOINT.fullmatch(text, before, start) is not None
            is_number = text[max(start - 1, 0) : end + 1] == _DIGIT
            compatible = word if word.isascii() else unicodedata.normalize("NFKC", word)
            stemmed = _DIGIT if is_number else stem(compatible, language)
            found.append(_Word(word, stemmed, (start, end), joined))
            before = end
    return found


def _word_spans(text: str, language: str) -> Iterator[Span]:
    """As `word_spans`, but brackets, curved quotation marks and the like part words too."""
    for start, end in word_spans(text, language):
        if text[start:end].isalnum():
            yield start, end
            continue
        marks = [place for place in range(start, end) if unicodedata.category(text[place])[0] in "PS"]
        for first, behind in zip([start, *(place + 1 for place in marks)], [*marks, end], strict=True):
            if first < behind:
                yield first, behind
