"""A writer's choice of senses, checked and made into a pair (Jurgens et al. 2014, section 3.3).

The word is associated with the sense that it is meant in; the sense to compare it with is chosen from the
neighbourhood of that one. A word that WordNet does not have, or not in this meaning, has a definition in the
writer's words instead, and the neighbourhood is that of the closest sense.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from annotation.characters import shown
from annotation.errors import AnnotationError
from annotation.senses.network import (
    PARTS_OF_SPEECH,
    WORD_TO_SENSE,
    PairSenses,
    Sense,
    SenseStep,
    WordFlag,
    neighbourhood,
    word_of,
)
from annotation.senses.pair_senses import described
from annotation.types import NewPair

if TYPE_CHECKING:
    from annotation.wordnet import WordNet

LONGEST_WORD = 100
LONGEST_DEFINITION = 1_000


class SenseError(AnnotationError, ValueError):
    """What was chosen makes no pair."""


@dataclass(frozen=True, slots=True)
class SenseChoice:
    """What was typed and chosen."""

    word: str
    """With or without its part of speech: "mouse", "mouse#n", "mouse (noun)"."""
    part_of_speech: str = ""
    """n, v, a or r, where neither the word nor its meaning says it."""
    meaning: str = ""
    """The sense key of the word's meaning or, with `definition`, of the closest sense."""
    definition: str = ""
    """The meaning in the writer's words, when WordNet does not have it."""
    is_own: bool = False
    """Whether the meaning is the writer's, and none of WordNet's."""
    key: str = ""
    """Of the sense to compare with."""


@dataclass(frozen=True, slots=True)
class Looked:
    """A word that was looked up."""

    word: str
    senses: tuple[Sense, ...]


def look_up(text: str, part_of_speech: str, wordnet: WordNet) -> Looked:
    """The senses of a word; none of one that WordNet does not have.

    Raises:
        SenseError: there is no word.
    """
    word, letter = checked_word(text)
    letter = letter or part_of_speech or None
    return Looked(word, tuple(wordnet.senses_of(word, letter)))


def checked_word(text: str) -> tuple[str, str | None]:
    """The word as people write it, and its part of speech where the text says it.

    Raises:
        SenseError: there is none, or it is too long.
    """
    word, letter = word_of(text)
    word = " ".join(word.replace("_", " ").split())
    if not word:
        raise SenseError("No word is given: type one and look it up.")
    if len(word) > LONGEST_WORD:
        raise SenseError(f"The word has {len(word):,} characters: shorten it to {LONGEST_WORD}.")
    return word, letter


def around(key: str, wordnet: WordNet) -> tuple[Sense, tuple[SenseStep, ...]]:
    """The sense with this key, and everything at most three edges from it.

    Raises:
        SenseError: WordNet has no such sense.
    """
    sense = wordnet.sense(key)
    if sense is None:
        raise SenseError(f"WordNet has no sense {shown(key)}: choose one from the list.")
    return sense, neighbourhood(wordnet.edges, sense.synset)


def chosen_senses(choice: SenseChoice, wordnet: WordNet) -> PairSenses:
    """What is kept with the pair.

    Raises:
        SenseError: something is missing, or does not belong together.
    """
    looked = look_up(choice.word, choice.part_of_speech, wordnet)
    definition = " ".join(choice.definition.split()) if choice.is_own else ""
    if choice.is_own and not definition:
        raise SenseError("The word's meaning is missing: write it in your own words.")
    if len(definition) > LONGEST_DEFINITION:
        raise SenseError(
            f"The meaning has {len(definition):,} characters: shorten it to {LONGEST_DEFINITION:,}."
        )
    if not choice.meaning:
        wanted = "closest sense" if choice.is_own else "meaning of the word"
        raise SenseError(f"No {wanted} is chosen: choose one from the list.")
    start, steps = around(choice.meaning, wordnet)
    if not choice.is_own and start.synset not in {sense.synset for sense in looked.senses}:
        raise SenseError(f"“{looked.word}” has no such sense: choose one from the list.")
    if not choice.key:
        raise SenseError("No sense to compare with is chosen: choose one from the list.")
    compared = wordnet.sense(choice.key)
    if compared is None or compared.synset not in {step.synset for step in steps}:
        raise SenseError("That sense is not near the word's meaning: choose one from the list.")
    flag = None
    if choice.is_own:
        flag = WordFlag.OOS if looked.senses else WordFlag.OOV
    senses = described(choice.key, wordnet, flag=flag, word_key=choice.meaning, word_definition=definition)
    assert senses is not None, "the key was found above"
    return senses


def chosen_pair(choice: SenseChoice, grade: Decimal, id: str, wordnet: WordNet) -> NewPair:
    """The pair of a choice, in the form of the task's files: "pot#n" and a sense key.

    Raises:
        SenseError: see `chosen_senses`; or a word that WordNet does not have is without part of speech.
    """
    senses = chosen_senses(choice, wordnet)
    word, letter = checked_word(choice.word)
    letter = letter or choice.part_of_speech
    if not choice.is_own:
        meaning = wordnet.sense(choice.meaning)
        letter = next(
            key for key, name in PARTS_OF_SPEECH.items() if meaning and name == meaning.part_of_speech
        )
    if letter not in PARTS_OF_SPEECH:
        raise SenseError("The part of speech is not known: choose noun, verb, adjective or adverb.")
    return NewPair(
        id=id,
        type=WORD_TO_SENSE,
        left=f"{word.replace(' ', '_')}#{letter}",
        right=choice.key,
        intended=grade,
        source=wordnet.number_of(choice.key),
        senses=senses,
    )
