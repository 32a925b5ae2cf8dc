"""How a phrase of a text is written in an answer, and which phrases are one: acronyms, other word orders."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache

from kpdemo.languages import SEGMENTED
from kpdemo.lines import document_blocks
from kpdemo.text import LONGEST_KEYPHRASE, is_english, phrase_key, stem, words
from kpdemo.types import Document, Keyphrase, Kind, Ranking, Span

_WORD = re.compile(r"[^\W_]+")
_SENTENCE_START = re.compile(r"(?:^|[.!?:;…]|\B[•*–—]|[•*–—]\s)[\s\"'“”‘’«»()\[\]]*$")
"""A dash between two words, as in "Navier–Stokes", begins none."""
_BEFORE = 8
"""Characters before a word that tell whether it begins a sentence."""
_VOWEL = re.compile("[aeiouyäöüáéíóúàèìòùâêîôû]", re.IGNORECASE)
_LONGEST_ACRONYM = 5
_COMPOUND_HYPHENS = "-‐‑"
_TITLE_SHARE = 0.75
_LEAST_TITLE = 3
"""Words of four letters and more."""


_ENDING = 2
"""Letters of an ending that tells number or case, in other languages than English."""
_VERB = re.compile("(?:ed|i[sz]es?|ly)$")
"""Endings that a keyphrase has only where the text writes it in no other way."""


class WrittenForms:
    """A document prepared for many questions of the kind "how is this phrase written?".

    A phrase is written as most often in the text, of equals as the first, and as in the middle of a sentence:
    "Graph kernels" of a title are "graph kernels" where a sentence has them so. Capitals that a sentence has
    in its middle, as in names and acronyms, stay, and so do those after an en dash, which joins names. Where
    the text has a word only at the beginning of sentences, in titles or in capitals, the first letter of the
    phrase stays a capital; of an English word not where the text has another form of it: "Delay propagation"
    of a text with "delays" is "delay propagation".
    """

    def __init__(self, document: Document) -> None:
        self._text = document.text
        self._is_english = is_english(document.language)
        self._keeps_nouns = document.language == "de"  # its nouns have capitals
        self._longest_ending = 0 if self._is_english else _ENDING
        self._starts: list[int] = []
        self._shouts: list[bool] = []
        self._written: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for piece, start in document_blocks(document):
            found = list(_WORD.finditer(piece))
            long = [word[0] for word in found if len(word[0]) > _LEAST_TITLE and word[0].isalpha()]
            shouts = sum(map(str.isupper, long)) > len(long) / 2
            capitals = sum(word[0].isupper() for word in long)
            is_title = not self._keeps_nouns and capitals >= max(_LEAST_TITLE, _TITLE_SHARE * len(long))
            self._starts.append(start)
            self._shouts.append(shouts)
            for number, word in enumerate(() if shouts else found):
                text = word[0]
                first = word.start()
                is_start = _SENTENCE_START.search(piece, max(first - _BEFORE, 0), first) is not None
                if not (
                    (is_title or is_start or number == 0)
                    and text[0].isupper()
                    and text[1:] == text[1:].lower()
                ):
                    self._written[text.casefold()][text] += 1

    def of(self, spans: Sequence[Span]) -> tuple[str, tuple[Span, ...]]:
        """How the phrase at these places is written, and where it is.

        A phrase that is everywhere but the end of a hyphenated compound is the whole compound:
        "experts routing" of "mixture-of-experts routing".
        """
        whole = [self._with_compound(span) for span in spans]
        alone = [span for span, wide in zip(spans, whole, strict=True) if span == wide]
        places = alone or whole
        texts = [" ".join(self._text[start:end].split()) for start, end in places]
        counts = Counter(text.casefold() for text in texts)
        rank = {text: (not _VERB.search(text), count) for text, count in counts.items()}
        most = [text for text in counts if rank[text] == max(rank.values())]
        # Of equals the first, or where nouns have cases one with a shorter ending: "Netz", not "Netzen".
        best = min((text for text in most if 0 <= len(most[0]) - len(text) <= self._longest_ending), key=len)
        chosen = [place for place, text in zip(places, texts, strict=True) if text.casefold() == best]
        quiet = [place for place in chosen if not self._is_shouted(place)]
        span = (quiet or chosen)[0]
        return self._in_a_sentence(span, shouted=not quiet), tuple(spans) if alone else tuple(whole)

    def _with_compound(self, span: Span) -> Span:
        start, end = span
        while start > 1 and self._text[start - 1] in _COMPOUND_HYPHENS and self._text[start - 2].isalnum():
            start -= 1
            while start and self._text[start - 1].isalnum():
                start -= 1
        return (start, end) if end - start <= LONGEST_KEYPHRASE else span

    def _is_shouted(self, span: Span) -> bool:
        piece = bisect_right(self._starts, span[0]) - 1
        return piece >= 0 and self._shouts[piece]

    def _in_a_sentence(self, span: Span, *, shouted: bool) -> str:
        phrase = " ".join(self._text[slice(*span)].split())
        pieces: list[str] = []
        done = 0
        for word in _WORD.finditer(phrase):
            text = word[0]
            pieces.append(phrase[done : word.start()])
            done = word.end()
            is_owner = phrase[done : done + 2] in ("'s", "’s") and text[0].isupper()
            if known := self._written.get(text.casefold()):
                text = known.most_common(1)[0][0]
            elif self._is_english and text == text.capitalize() and stem(text) in self._small_stems:
                text = text.lower()
            elif shouted:
                text = self._from_capitals(text, is_first=word.start() == 0 or is_owner)
            elif (
                pieces[-1] not in ("", "–")
                and not is_owner
                and text[1:] == text[1:].lower()
                and not self._keeps_nouns
            ):
                text = text.lower()
            pieces.append(text)
        return "".join([*pieces, phrase[done:]])

    @cached_property
    def _small_stems(self) -> frozenset[str]:
        """Of the words that the text writes without a capital."""
        return frozenset(stem(word) for word, forms in self._written.items() if word in forms)

    def _from_capitals(self, text: str, *, is_first: bool) -> str:
        """A word that the text has only in capitals: an acronym if nobody could pronounce it."""
        if any(map(str.isdigit, text)) or (len(text) <= _LONGEST_ACRONYM and not _VOWEL.search(text)):
            return text
        return text.capitalize() if is_first or self._keeps_nouns else text.lower()


@lru_cache(maxsize=4)
def written_forms(document: Document) -> WrittenForms:
    """Those of a document, of which many phrases are asked one after the other."""
    return WrittenForms(document)


_SHORT_FORM = re.compile(r"\(\s*([^\W_][\w.&/-]{1,9})\s*\)")
_LONG_FORM = re.compile(r"(?<![\w-])([^\W\d_][\w&/-]{1,9})\s*\(\s*([^()]{5,80}?)\s*\)")
_LONGEST_LONG_FORM = 120
"""Characters before a bracket."""


def find_acronyms(text: str) -> dict[str, str]:
    """Acronyms that the text gives beside their long form, in either order (Schwartz and Hearst 2003).

    An acronym has two capitals; one without must be the initials of the long form's words.

    >>> find_acronyms("We use density functional theory (DFT) and GNNs (graph neural networks).")
    {'DFT': 'density functional theory', 'GNN': 'graph neural networks'}
    """
    found: dict[str, str] = {}
    for match in _SHORT_FORM.finditer(text):
        before = re.split(r"[.;:()\n]", text[max(match.start() - _LONGEST_LONG_FORM, 0) : match.start()])[-1]
        for short in _singular_acronym(match[1]):
            if long := _long_form(short, before.rstrip()):
                found.setdefault(short, long)
    for match in _LONG_FORM.finditer(text):
        for short in _singular_acronym(match[1]):
            long = " ".join(match[2].split())
            if _long_form(short, match[2]) == long:
                found.setdefault(short, long)
    return found


def _singular_acronym(short: str) -> Iterator[str]:
    capitals = sum(map(str.isupper, short))
    if capitals >= 2 or (short.islower() and len(short) > 2 and short.isalpha()):
        is_plural = short.endswith("s") and short[:-1].isupper()
        yield short[:-1] if is_plural else short


def _long_form(short: str, before: str) -> str:
    """The last words of `before` that the letters of the acronym stand for; empty for none."""
    letters = [letter for letter in short.lower() if letter.isalnum()]
    most = min(len(letters) + 5, 2 * len(letters))
    held = before.split()[-most:]
    if short.islower():
        initials = held[-len(letters) :]
        spelt = [word[0].lower() for word in initials] == letters
        return " ".join(initials) if spelt else ""
    text = " ".join(held)
    place = len(text) - 1
    for number in reversed(range(len(letters))):
        while place >= 0 and (
            text[place].lower() != letters[number]
            or (number == 0 and place > 0 and text[place - 1].isalnum())
        ):
            place -= 1
        if place < 0:
            return ""
        place -= 1
    long = text[place + 1 :]
    return long if " " in long or "-" in long else ""


_ARTICLES = frozenset({"the", "a", "an"})
_TURNING = frozenset({"of", "for", "in"})
"""Around these English turns two phrases: "detection of anomalies" is "anomaly detection"."""
_LEAST_TURNED = 3
"""Words of a phrase that may be turned without one of those: "type 1 diabetes", "diabetes type 1"."""
_PLURALS = (
    (re.compile("yses$"), "ysis"),
    (re.compile("(?<=[rtd])(?:ices|ex)$"), "ix"),
    (re.compile("eria$"), "erion"),
    (re.compile("(?<=[^aeiou])ies$"), "y"),
    (re.compile("(?<=s|x|z)es$|(?<=ch|sh)es$"), ""),
    (re.compile("(?<=[^siu])s$"), ""),
)


def plain_stems(phrase: str, language: str) -> list[str]:
    """The stems of the words, marks left out except those that tell C++ and C# from C."""
    stems: list[str] = []
    for word in words(phrase, language):
        if any(map(str.isalnum, word)):
            stems.append(stem(word, language))
        elif word in ("+", "#") and stems:
            stems[-1] += word
    return stems


def variant_key(phrase: str, language: str, acronyms: Mapping[str, Sequence[str]] | None = None) -> str:
    """What variants of a phrase share: its words without plural endings and marks, acronyms written out.

    In English a possessive and articles make no difference, nor does it whether the phrase is turned around
    "of"; nor, in a phrase of three words or more, with which of them it begins.

    Args:
        acronyms: see `acronym_words`.

    >>> variant_key("Diabetes mellitus type 1", "en") == variant_key("type 1 diabetes mellitus", "en")
    True
    >>> variant_key("Dijkstra's algorithm", "en") == variant_key("dijkstra algorithm", "en")
    True
    >>> variant_key("structured data", "en") == variant_key("data structures", "en")
    False
    """
    if language in SEGMENTED:
        return phrase_key(phrase, language).replace(" ", "")
    found = _plain_words(phrase, language)
    if is_english(language):
        found = [word for word in found if word not in _ARTICLES] or found
        turn = next((place for place, word in enumerate(found) if place > 0 and word in _TURNING), None)
        if turn is not None and turn < len(found) - 1:
            found = [*found[turn + 1 :], *found[:turn]]
    if acronyms:
        found = [part for word in found for part in acronyms.get(word, (word,))]
    if len(found) >= _LEAST_TURNED:
        found = min([*found[place:], *found[:place]] for place in range(len(found)))
    return " ".join(found)


def _plain_words(phrase: str, language: str) -> list[str]:
    """Its words for comparison: in English in the singular, elsewhere the stems."""
    if not is_english(language):
        return plain_stems(phrase, language)
    found: list[str] = []
    for word in words(re.sub(r"(?<=\w)['’]s\b", "", phrase), language):
        if any(map(str.isalnum, word)):
            found.append(_singular(word.casefold()))
        elif word in ("+", "#") and found:
            found[-1] += word
    return found


def _singular(word: str) -> str:
    if len(word) > _LEAST_TITLE:
        for pattern, ending in _PLURALS:
            if pattern.search(word):
                return pattern.sub(ending, word)
    return word


def acronym_words(document: Document) -> dict[str, list[str]]:
    """The acronyms of a text as `variant_key` has them, each with the words of its long form."""
    found: dict[str, list[str]] = {}
    for short, long in find_acronyms(document.text).items():
        key = _plain_words(short, document.language)
        if len(key) == 1:
            found[key[0]] = _plain_words(long, document.language)
    return found


def variant_keys(document: Document, keyphrases: Sequence[Keyphrase]) -> list[str]:
    """The `variant_key` of each, with the acronyms of the text."""
    acronyms = acronym_words(document)
    return [variant_key(one.text, document.language, acronyms) for one in keyphrases]


def merge_variants(document: Document, present: Ranking, absent: Ranking) -> tuple[Ranking, Ranking]:
    """The rankings with variants of a phrase merged, among present and absent ones and across the two.

    Of several the best-ranked gives rank and score. A present one is written as most often in the text, and
    out rather than as an acronym; it has the places of all. An absent one that is a variant of a present one
    is of the `Kind` present.
    """
    language = document.language

    def grouped(keyphrases: Sequence[Keyphrase]) -> dict[str, list[Keyphrase]]:
        groups: dict[str, list[Keyphrase]] = {}
        for key, one in zip(variant_keys(document, keyphrases), keyphrases, strict=True):
            groups.setdefault(key, []).append(one)
        return groups

    held, others = grouped(present.keyphrases), grouped(absent.keyphrases)
    merged = [_merged(group, others.get(key, ()), language) for key, group in held.items()]
    left = [
        replace(one, kind=Kind.PRESENT) if key in held else one
        for key, one in ((key, _merged(group, (), language)) for key, group in others.items())
    ]
    return _as_long(present, merged), _as_long(absent, left)


def _as_long(ranking: Ranking, merged: Sequence[Keyphrase]) -> Ranking:
    return replace(
        ranking,
        keyphrases=tuple(merged),
        own=min(ranking.own, len(merged)),
        sure=min(ranking.sure, len(merged)),
    )


def _merged(group: Sequence[Keyphrase], absent: Sequence[Keyphrase], language: str) -> Keyphrase:
    if len(group) == 1 and not absent:
        return group[0]
    stems = [len(plain_stems(one.text, language)) for one in group]
    # Written out rather than short, then as most often: `max` takes the first of equals, the best-ranked.
    order = range(len(group))
    chosen = group[max(order, key=lambda number: (stems[number] > 1, len(group[number].spans)))]
    own = chosen.text.casefold()
    texts = {one.text.casefold(): one.text for one in (*group, *absent)}
    others = tuple(text for key, text in texts.items() if key not in own and own not in key)  # "a map"
    spans = list(chosen.spans)
    for start, end in (span for one in group for span in one.spans):
        if all(end <= first or last <= start for first, last in spans):
            spans.append((start, end))
    return replace(group[0], text=chosen.text, spans=tuple(sorted(spans)), variants=others)
