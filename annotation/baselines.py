"""Systems that need no training: string similarity of the two items, scaled to the grades 0 to 4.

A word and a sense are compared by their WordNet definitions, examples included: of all senses of the word the
most similar one counts (Jurgens et al. 2014, section 4). A sense that is no sense key is its own definition.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Protocol

from annotation.scale import CLSS_POINTS
from annotation.score_files import GoldPair
from annotation.string_similarity import substring_similarity, tiling_similarity

Similarity = Callable[[str, str], float]
"""Of two texts, 0 to 1."""

BASELINES: dict[str, Similarity] = {"lcs": substring_similarity, "gst": tiling_similarity}
WORD_TO_SENSE = "word2sense"
_HIGHEST = CLSS_POINTS[-1].value
_SENSE_KEY = re.compile(r"[^%\s]+%[1-5]:\d\d:\d\d:[^:]*:\d*")
_WORD = re.compile(r"(.+?)(?:#([nvars])|\s+\((noun|verb|adjective|adverb)\))?")


class UnknownWords(StrEnum):
    """What a pair scores whose word or sense key WordNet does not have."""

    ZERO = "zero"
    """As in the baseline scores that the task published."""
    MEAN = "mean"
    """The mean of all other pairs, as the task's paper says."""


class Senses(Protocol):
    """What the baselines ask WordNet."""

    def of_word(self, word: str, part_of_speech: str | None) -> list[str]:
        """The definition of each sense, with its examples; none of an unknown word."""

    def of_key(self, sense_key: str) -> str | None:
        """The definition of one sense; None of an unknown key."""


def baseline_scores(
    pairs: Sequence[GoldPair],
    similarity: Similarity,
    *,
    senses: Senses | None,
    unknown_words: UnknownWords = UnknownWords.ZERO,
) -> list[float | None]:
    """The score of each pair, 0 to 4; without `senses` None for pairs of a word and a sense."""
    scores: list[float | None] = []
    known: list[float] = []
    for pair in pairs:
        if pair.type != WORD_TO_SENSE:
            scores.append(_HIGHEST * similarity(pair.left, pair.right))
            continue
        found = None if senses is None else _word_to_sense(pair, similarity, senses)
        scores.append(found)
        if found is not None:
            known.append(found)
    if senses is None:
        return scores
    has_mean = unknown_words is UnknownWords.MEAN and known
    instead = sum(known) / len(known) if has_mean else 0.0
    return [instead if score is None else score for score in scores]


def _word_to_sense(pair: GoldPair, similarity: Similarity, senses: Senses) -> float | None:
    sense = senses.of_key(pair.right) if _SENSE_KEY.fullmatch(pair.right) else pair.right
    word, part_of_speech = word_of(pair.left)
    definitions = senses.of_word(word, part_of_speech)
    if sense is None or not definitions:
        return None
    return _HIGHEST * max(similarity(definition, sense) for definition in definitions)


def word_of(item: str) -> tuple[str, str | None]:
    """A word and its part of speech, n, v, a or r: of "mouse#n", "mouse (noun)", or None of "mouse"."""
    found = _WORD.fullmatch(item.strip())
    if found is None:
        return item.strip(), None
    word, letter, name = found.groups()
    named = {"noun": "n", "verb": "v", "adjective": "a", "adverb": "r"}.get(name or "")
    return word, "a" if letter == "s" else letter or named
