"""Candidates for present keyphrases in any language but English: runs of words between content words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

from kpdemo.candidates.chunks import HYPHENS, Candidate
from kpdemo.candidates.noun_phrases import ADJECTIVE_ENDINGS, NOUN_CAPITALS, Word, language_words
from kpdemo.languages import SEGMENTED
from kpdemo.lines import document_blocks
from kpdemo.text import LONGEST_KEYPHRASE
from kpdemo.types import Document

LONGEST_RUN = 6
"""Words of a candidate, marks within it apart; a hyphenated compound counts as one."""

PARTICLES = frozenset({"ko"})
"""Languages whose function words end a phrase: Korean attaches its particles to the words."""

_MOST_TOKENS = 12
_COMPOUND_MARKS = HYPHENS | frozenset("·/")
_INNER_MARKS = _COMPOUND_MARKS | frozenset("'’")
_SIGNS = ("+", "#")


def mine_runs(document: Document) -> list[Candidate]:
    """All candidates of title and body, by first occurrence; spans count in `document.text`.

    None runs across the end of a title, heading, list item, paragraph or cell of a table, see `kpdemo.lines`;
    none is longer than `LONGEST_KEYPHRASE`.

    A candidate begins and ends with a content word, or with a compound that has one ("sous-traitance",
    "interleukine-7"). After a content word it may also end with a number or a capital letter ("Industrie
    4.0", "vitamine D", "C++"). Function words may occur inside ("système de gestion"), except in languages of
    `PARTICLES`; so may hyphens and apostrophes, but no other marks.
    `Candidate.key` is that of `run_key`.
    """
    found: dict[str, list[tuple[int, int]]] = {}
    language = document.language
    for text, offset in document_blocks(document):
        words = _labels_joined(list(language_words(text, language)))
        compounds = _compounds(words)
        begins, ends = _bounds(words, compounds)
        stops: frozenset[int] = frozenset()
        if language in NOUN_CAPITALS and any(map(str.isupper, text)):
            ends = [end and not text[word.start].islower() for word, end in zip(words, ends, strict=True)]
            stops = _before_verbs(text, words)
        for first, begin in enumerate(begins):
            for last in _last_words(words, compounds, first, language) if begin else ():
                if last in stops and last > first:
                    break
                if ends[last] and (last > first or words[first].edge or not words[first].stem.isalnum()):
                    span = (words[first].start + offset, words[last].end + offset)
                    found.setdefault(_key(words[first : last + 1], language), []).append(span)
    return [Candidate(key, tuple(spans)) for key, spans in found.items()]


def _before_verbs(text: str, words: Sequence[Word]) -> frozenset[int]:
    """The places of German nouns right after a word that is no adjective of theirs: "kostet Gemeinden"."""
    return frozenset(
        place
        for place, (word, noun) in enumerate(pairwise(words), start=1)
        if word.edge
        and text[word.start].islower()
        and text[noun.start].isupper()
        and not text[word.start : word.end].endswith(ADJECTIVE_ENDINGS)
    )


def run_key(phrase: str, language: str) -> str:
    """The key under which a phrase would be mined.

    It is the stems of its words joined by spaces; in Chinese, Japanese and Korean, where a segmenter may cut
    a phrase in another way than the same phrase in a sentence, joined by nothing.
    """
    return _key(_labels_joined(list(language_words(phrase, language))), language)


def _key(words: Sequence[Word], language: str) -> str:
    stems = (word.stem for word in words if word.stem not in _INNER_MARKS)
    return ("" if language in SEGMENTED else " ").join(stems)


def _labels_joined(words: Sequence[Word]) -> list[Word]:
    """The words with "4.0" and "C++" as one each."""
    joined: list[Word] = []
    for place, word in enumerate(words):
        before = joined[-1] if joined and joined[-1].end == word.start else None
        following = words[place + 1] if place + 1 < len(words) else word
        decimal = word.stem in (".", ",") and following.start == word.end and following.stem.isdecimal()
        if before and (
            (before.stem[-1:].isdecimal() and decimal)
            or (before.stem[-1:] in (".", ",") and len(before.stem) > 1 and word.stem.isdecimal())
            or (word.stem in _SIGNS and before.label and not before.stem.isdecimal())
        ):
            joined[-1] = before._replace(
                stem=before.stem + word.stem, end=word.end, content=False, edge=False, label=True
            )
        else:
            joined.append(word)
    return joined


def _compounds(words: Sequence[Word]) -> list[int]:
    """For each word the number of the compound that it stands in; a word on its own is one too."""
    numbers: list[int] = []
    for place, word in enumerate(words):
        joins = place > 0 and words[place - 1].end == word.start
        if joins and _COMPOUND_MARKS & {word.stem, words[place - 1].stem}:
            numbers.append(numbers[-1])
        else:
            numbers.append(place)
    return numbers


def _bounds(words: Sequence[Word], compounds: Sequence[int]) -> tuple[list[bool], list[bool]]:
    """Which words a candidate may begin with, and which it may end with."""
    edges: list[bool] = []
    for _, places in groupby(range(len(words)), key=compounds.__getitem__):
        group = [words[place] for place in places]
        edge = any(word.edge for word in group)
        edges += [edge and any(map(str.isalnum, word.stem)) for word in group]
    begins, ends = [], []
    for place, (word, edge) in enumerate(zip(words, edges, strict=True)):
        sign = word.label and word.stem[-1] in _SIGNS
        begins.append(sign or (edge and (not word.label or compounds[place] == place)))
        ends.append(sign or edge or (word.label and place > 0 and edges[place - 1]))
    return begins, ends


def _last_words(words: Sequence[Word], compounds: Sequence[int], first: int, language: str) -> Iterator[int]:
    """The places up to which a run from `first` on may go."""
    count = 0
    for place in range(first, min(first + _MOST_TOKENS, len(words))):
        word = words[place]
        is_word = word.label or any(map(str.isalnum, word.stem))
        if not is_word and word.stem not in _INNER_MARKS:
            return
        if is_word and (place == first or compounds[place] != compounds[place - 1]):
            count += 1
        if count > LONGEST_RUN or word.end - words[first].start > LONGEST_KEYPHRASE:
            return
        if language in PARTICLES and is_word and not (word.edge or word.label):
            return
        yield place
