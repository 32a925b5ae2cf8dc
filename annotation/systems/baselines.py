"""Systems that need no training here: the similarity of the two items, scaled to the grades 0 to 4.

A word and a sense are compared by their WordNet definitions, examples included: of all senses of the word the
most similar one counts (Jurgens et al. 2014, section 4). A sense that is no sense key is its own definition.
A similarity that knows words compares the word itself with the definition, without the examples, which may
hold the word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Protocol

from annotation.files.gold_pairs import GoldPair
from annotation.scale import CLSS_POINTS
from annotation.senses.network import WORD_TO_SENSE, is_sense_key, word_of
from annotation.systems.string_similarity import substring_similarity, tiling_similarity

Similarities = Callable[[Sequence[tuple[str, str]]], Sequence[float]]
"""How alike the two texts of each pair are, 0 to 1."""


def one_by_one(similarity: Callable[[str, str], float]) -> Similarities:
    """A similarity of two texts, for many pairs."""

    def similarities(pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [similarity(first, second) for first, second in pairs]

    return similarities


BASELINES: dict[str, Similarities] = {
    "lcs": one_by_one(substring_similarity),
    "gst": one_by_one(tiling_similarity),
}
EMBEDDING = "embedding"
"""The system that compares vectors. Its similarities come from the models, which annotation does not know."""
_HIGHEST = CLSS_POINTS[-1].value
_EXAMPLES = re.compile(r';\s*"')


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
    similarities: Similarities,
    *,
    senses: Senses | None,
    unknown_words: UnknownWords = UnknownWords.ZERO,
    knows_words: bool = False,
) -> list[float | None]:
    """The score of each pair, 0 to 4; without `senses` None for pairs of a word and a sense.

    Args:
        similarities: is asked once, for all texts that are compared.
        knows_words: whether it is to compare words rather than their definitions with senses.
    """
    compared = [_compared(pair, senses, knows_words=knows_words) for pair in pairs]
    found = iter(similarities([texts for several in compared for texts in several]))
    scores = [_HIGHEST * max(next(found) for _ in several) if several else None for several in compared]
    if senses is None:
        return scores
    is_sense = [pair.type == WORD_TO_SENSE for pair in pairs]
    known = [
        score for score, of_sense in zip(scores, is_sense, strict=True) if of_sense and score is not None
    ]
    has_mean = unknown_words is UnknownWords.MEAN and known
    instead = sum(known) / len(known) if has_mean else 0.0
    return [instead if score is None else score for score in scores]


def _compared(pair: GoldPair, senses: Senses | None, *, knows_words: bool) -> list[tuple[str, str]]:
    """The texts to compare, of which the two most similar count; none where a word or sense is unknown."""
    if pair.type != WORD_TO_SENSE:
        return [(pair.left, pair.right)]
    if senses is None:
        return []
    sense = senses.of_key(pair.right) if is_sense_key(pair.right) else pair.right
    if sense is None:
        return []
    word, part_of_speech = word_of(pair.left)
    if knows_words:
        return [(word, _EXAMPLES.split(sense, maxsplit=1)[0])]
    return [(definition, sense) for definition in senses.of_word(word, part_of_speech)]
