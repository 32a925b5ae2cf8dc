"""Pairs of a word and a sense: a writer's choice, what WordNet says of them, and the fields of files.

The meaning of the word and the sense in words are what a pair says besides its texts. They are taken
from WordNet once, when the pair is made or imported, and kept with the pair: raters and exports see the same
texts ever after, also where there is no WordNet.

A writer's choice of senses, checked and made into a pair (Jurgens et al. 2014, section 3.3).
The word is associated with the sense that it is meant in; the sense to compare it with is chosen from the
neighbourhood of that one. A word that WordNet does not have, or not in this meaning, has a definition in the
writer's words instead, and the neighbourhood is that of the closest sense.

The fields of files that hold what is known of a word and a sense, for writing and for reading.
word_flag            oov (the word is not in WordNet), oos (the meaning is not), or empty
word_key             sense key of the word's meaning or, with a flag, of the closest sense
word_definition      of the word's meaning; with a flag in the writer's words
sense_words, sense_definition               the sense, whose key is `right`
sense_parents, sense_siblings               lists of {"words", "definition"}, in tables as JSON text
sense_sibling_count                         how many there are; the list has the first of them
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from annotation.errors import AnnotationError, ImportFileError, WordNetError
from annotation.senses import (
    PARTS_OF_SPEECH,
    WORD_TO_SENSE,
    PairSenses,
    Sense,
    SenseStep,
    SenseText,
    WordFlag,
    is_sense_key,
    looks_like_key,
    neighbourhood,
    sense_number,
    word_of,
)
from annotation.translation import _
from annotation.types import ItemInput, KnownPairInput, NewPair
from annotation.wording import UNSTORABLE, quote_value
from kpdemo.io.files import parse_json

if TYPE_CHECKING:
    from annotation.wordnet import WordNet


class Dictionary:
    """Opens the WordNet of one folder once, at the first question."""

    def __init__(self, folder: Path | None = None) -> None:
        """`folder` has WordNet's files; None is where the system keeps them."""
        self._folder = folder
        self._lock = Lock()
        self._wordnet: WordNet | None = None

    def open(self) -> WordNet:
        """WordNet; the first time this takes a few seconds.

        Raises:
            WordNetError: there is none, or it cannot be read; it is looked for again the next time.
        """
        with self._lock:
            if self._wordnet is None:
                from annotation.wordnet import open_wordnet  # NLTK takes a second

                self._wordnet = open_wordnet(self._folder)
            return self._wordnet

    def open_or_none(self) -> WordNet | None:
        """WordNet, or None where there is none."""
        try:
            return self.open()
        except WordNetError:
            return None


MOST_SIBLINGS = 12
"""What is kept and shown of them; some senses have hundreds."""


class SenseSource(Protocol):
    """What is asked of WordNet."""

    def sense(self, key: str) -> Sense | None:
        """The sense with this key; None of an unknown one."""

    def key_of(self, word: str, part_of_speech: str, number: int) -> str | None:
        """The key of a word's sense by its number, from 1; None when it has none."""

    def parents(self, synset: str) -> list[Sense]:
        """What it is a kind of; of an adjective the head of its cluster."""

    def siblings(self, synset: str) -> list[Sense]:
        """The other children of its parents."""


def describe_sense(
    key: str,
    source: SenseSource,
    *,
    flag: WordFlag | None = None,
    word_key: str | None = None,
    word_definition: str = "",
) -> PairSenses | None:
    """What is kept with a pair whose sense has this key; None of an unknown key."""
    sense = source.sense(key)
    if sense is None:
        return None
    siblings = source.siblings(sense.synset)
    intended = source.sense(word_key) if word_key and not word_definition and flag is None else None
    return PairSenses(
        flag,
        word_key,
        word_definition or (intended.definition if intended else ""),
        _sense_text(sense),
        tuple(map(_sense_text, source.parents(sense.synset))),
        tuple(map(_sense_text, siblings[:MOST_SIBLINGS])),
        len(siblings),
    )


def _sense_text(sense: Sense) -> SenseText:
    return SenseText(sense.label, sense.definition)


def add_senses(items: Iterable[ItemInput], source: Callable[[], SenseSource | None]) -> Iterator[ItemInput]:
    """The items of an import; pairs of a word and a sense have their texts, from the file or else WordNet.

    Args:
        items: as they were read.
        source: opens WordNet, when it is needed; where there is none only the form of sense keys is checked.

    Yields:
        The items in their order; in place of a pair whose sense key is malformed or not in WordNet the error,
        whose message begins with the pair's place.
    """
    opened = cache(source)  # once, also where there is none
    for item in items:
        yield _or_error(item, opened) if isinstance(item, NewPair) else item


def add_senses_to_known(
    items: Iterable[KnownPairInput], source: Callable[[], SenseSource | None]
) -> Iterator[KnownPairInput]:
    """The same for pairs whose grade is known: among others of their kind they must not stand out."""
    opened = cache(source)
    for item in items:
        if isinstance(item, ImportFileError):
            yield item
            continue
        pair = _or_error(item.pair, opened)
        yield pair if isinstance(pair, ImportFileError) else replace(item, pair=pair)


def _or_error(pair: NewPair, source: Callable[[], SenseSource | None]) -> NewPair | ImportFileError:
    if pair.type != WORD_TO_SENSE:
        return pair
    try:
        return _add_sense(pair, source())
    except ImportFileError as error:
        return error


def _add_sense(pair: NewPair, source: SenseSource | None) -> NewPair:
    right = pair.right.strip()
    given = pair.senses or PairSenses()
    _check_key(pair, "word_key", given.word_key, source)
    if not looks_like_key(right):
        return pair
    key = right if is_sense_key(right) else _key_of_number(pair, right, source)
    _check_key(pair, "right", key, source)
    if given.sense is not None or source is None:
        return replace(pair, right=key)
    found = describe_sense(
        key, source, flag=given.flag, word_key=given.word_key, word_definition=given.word_definition
    )
    return replace(pair, right=key, senses=found)


def _key_of_number(pair: NewPair, text: str, source: SenseSource | None) -> str:
    number = sense_number(text)
    if number is None:
        raise _error(
            pair,
            "right",
            f"{quote_value(text)} is not a sense key; write one such as top%2:38:04::, or a definition in "
            "words",
        )
    if source is None:
        raise _error(
            pair,
            "right",
            f"{text!r} is a sense number, which needs WordNet, and there is none here; write a sense key",
        )
    key = source.key_of(*number)
    if key is None:
        raise _error(pair, "right", f"WordNet 3.0 has no sense {text!r}; fix the number")
    return key


def _check_key(pair: NewPair, field: str, key: str | None, source: SenseSource | None) -> None:
    if key is None:
        return
    if not is_sense_key(key):
        raise _error(pair, field, f"{quote_value(key)} is not a sense key; write one such as top%2:38:04::")
    if source is not None and source.sense(key) is None:
        raise _error(pair, field, f"WordNet 3.0 has no sense {quote_value(key)}; fix the key")


def _error(pair: NewPair, field: str, problem: str) -> ImportFileError:
    return ImportFileError(f"{pair.where}, field {field!r}: {problem}.")


def is_undescribed(pair: NewPair) -> bool:
    """Whether raters would see a bare sense key: neither the file nor WordNet says what it means."""
    has_none = pair.senses is None or pair.senses.sense is None
    return pair.type == WORD_TO_SENSE and has_none and is_sense_key(pair.right)


def senses_to_json(senses: PairSenses) -> dict[str, Any]:
    """As the database keeps it."""
    return asdict(senses)


def senses_from_json(value: Mapping[str, Any] | None) -> PairSenses | None:
    """What `senses_as_json` wrote; None of nothing."""
    if value is None:
        return None
    return PairSenses(
        WordFlag(value["flag"]) if value["flag"] else None,
        value["word_key"],
        value["word_definition"],
        None if value["sense"] is None else SenseText(**value["sense"]),
        tuple(SenseText(**text) for text in value["parents"]),
        tuple(SenseText(**text) for text in value["siblings"]),
        value["sibling_count"],
    )


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
class LookUp:
    """A word that was looked up."""

    word: str
    senses: tuple[Sense, ...]


def look_up(text: str, part_of_speech: str, wordnet: WordNet) -> LookUp:
    """The senses of a word; none of one that WordNet does not have.

    Raises:
        SenseError: there is no word.
    """
    word, letter = checked_word(text)
    letter = letter or part_of_speech or None
    return LookUp(word, tuple(wordnet.senses_of(word, letter)))


def checked_word(text: str) -> tuple[str, str | None]:
    """The word as people write it, and its part of speech where the text says it.

    Raises:
        SenseError: there is none, or it is too long.
    """
    word, letter = word_of(text)
    word = " ".join(word.replace("_", " ").split())
    if not word:
        raise SenseError(_("No word is given: type one and look it up."))
    if len(word) > LONGEST_WORD:
        raise SenseError(
            _(
                "The word has {length} characters: shorten it to {most}.",
                length=f"{len(word):,}",
                most=LONGEST_WORD,
            )
        )
    return word, letter


def neighbourhood_around(key: str, wordnet: WordNet) -> tuple[Sense, tuple[SenseStep, ...]]:
    """The sense with this key, and everything at most three edges from it.

    Raises:
        SenseError: WordNet has no such sense.
    """
    sense = wordnet.sense(key)
    if sense is None:
        raise unknown_sense(key)
    return sense, neighbourhood(wordnet.edges, sense.synset)


def unknown_sense(key: str) -> SenseError:
    return SenseError(_("WordNet has no sense {key}: choose one from the list.", key=quote_value(key)))


def senses_of_choice(choice: SenseChoice, wordnet: WordNet) -> PairSenses:
    """What is kept with the pair.

    Raises:
        SenseError: something is missing, or does not belong together.
    """
    looked = look_up(choice.word, choice.part_of_speech, wordnet)
    definition = " ".join(choice.definition.split()) if choice.is_own else ""
    if choice.is_own and not definition:
        raise SenseError(_("The word's meaning is missing: write it in your own words."))
    if len(definition) > LONGEST_DEFINITION:
        raise SenseError(
            _(
                "The meaning has {length} characters: shorten it to {most}.",
                length=f"{len(definition):,}",
                most=f"{LONGEST_DEFINITION:,}",
            )
        )
    if not choice.meaning:
        raise SenseError(
            _("No closest sense is chosen: choose one from the list.")
            if choice.is_own
            else _("No meaning of the word is chosen: choose one from the list.")
        )
    start, steps = neighbourhood_around(choice.meaning, wordnet)
    if not choice.is_own and start.synset not in {sense.synset for sense in looked.senses}:
        raise SenseError(_("“{word}” has no such sense: choose one from the list.", word=looked.word))
    if not choice.key:
        raise SenseError(_("No sense to compare with is chosen: choose one from the list."))
    compared = wordnet.sense(choice.key)
    if compared is None or compared.synset not in {step.synset for step in steps}:
        raise SenseError(_("That sense is not near the word's meaning: choose one from the list."))
    flag = None
    if choice.is_own:
        flag = WordFlag.OOS if looked.senses else WordFlag.OOV
    senses = describe_sense(
        choice.key, wordnet, flag=flag, word_key=choice.meaning, word_definition=definition
    )
    assert senses is not None, "the key was found above"
    return senses


def pair_of_choice(choice: SenseChoice, grade: Decimal, id: str, wordnet: WordNet) -> NewPair:
    """The pair of a choice, in the form of the task's files: "pot#n" and a sense key.

    Raises:
        SenseError: see `chosen_senses`; or a word that WordNet does not have is without part of speech.
    """
    senses = senses_of_choice(choice, wordnet)
    word, letter = checked_word(choice.word)
    letter = letter or choice.part_of_speech
    if not choice.is_own:
        meaning = wordnet.sense(choice.meaning)
        letter = next(
            key for key, name in PARTS_OF_SPEECH.items() if meaning and name == meaning.part_of_speech
        )
    if letter not in PARTS_OF_SPEECH:
        raise SenseError(_("The part of speech is not known: choose noun, verb, adjective or adverb."))
    return NewPair(
        id=id,
        type=WORD_TO_SENSE,
        left=f"{word.replace(' ', '_')}#{letter}",
        right=choice.key,
        intended=grade,
        source=wordnet.number_of(choice.key),
        senses=senses,
    )


LISTS = ("sense_parents", "sense_siblings")
SENSE_COLUMNS = (
    "word_flag",
    "word_key",
    "word_definition",
    "sense_words",
    "sense_definition",
    *LISTS,
    "sense_sibling_count",
)
MOST_TEXTS = 100
LONGEST_SENSE_TEXT = 20_000
"""Characters; WordNet's longest gloss has about 400."""

Refuse = Callable[[str, str], NoReturn]
"""Raises the error of a field: its name, and what is wrong with it."""


def sense_values(senses: PairSenses | None) -> dict[str, Any]:
    """The fields of a pair; all empty where nothing is known."""
    found = senses or PairSenses()
    return {
        "word_flag": None if found.flag is None else found.flag.value,
        "word_key": found.word_key,
        "word_definition": found.word_definition or None,
        "sense_words": None if found.sense is None else found.sense.words,
        "sense_definition": None if found.sense is None else found.sense.definition,
        "sense_parents": [asdict(text) for text in found.parents],
        "sense_siblings": [asdict(text) for text in found.siblings],
        "sense_sibling_count": found.sibling_count,
    }


def read_senses(fields: Mapping[str, Any], refuse: Refuse) -> PairSenses | None:
    """What a row says of a word and a sense; None when it says nothing.

    Args:
        fields: of the row, by name.
        refuse: called with the first field that cannot be used.
    """
    flag = _text_field(fields, "word_flag", refuse).lower()
    if flag and flag not in tuple(WordFlag):
        refuse("word_flag", f"{quote_value(flag)} is not a flag; write oov, oos or nothing")
    definition = _text_field(fields, "word_definition", refuse)
    if flag and not definition:
        refuse("word_definition", f"is empty; a word with the flag {flag} needs its meaning in words")
    words = _text_field(fields, "sense_words", refuse)
    sense = SenseText(words, _text_field(fields, "sense_definition", refuse)) if words else None
    parents, siblings = (_texts(fields, name, refuse) if sense else () for name in LISTS)
    found = PairSenses(
        WordFlag(flag) if flag else None,
        _text_field(fields, "word_key", refuse) or None,
        definition,
        sense,
        parents,
        siblings[:MOST_SIBLINGS],
        max(_count(fields, refuse), len(siblings)) if sense else 0,
    )
    return None if found == PairSenses() else found


def _text_field(fields: Mapping[str, Any], name: str, refuse: Refuse) -> str:
    value = fields.get(name)
    if value is None:
        return ""
    return _check_field(value, name, refuse)


def _check_field(value: object, name: str, refuse: Refuse) -> str:
    if not isinstance(value, str):
        refuse(name, f"{quote_value(value)} is not text; put it in quotes")
    if len(value) > LONGEST_SENSE_TEXT:
        refuse(name, f"has {len(value):,} characters; shorten it to {LONGEST_SENSE_TEXT:,}")
    if UNSTORABLE.search(value):
        refuse(name, "holds a character that is not text; delete it")
    return value.strip()


def _texts(fields: Mapping[str, Any], name: str, refuse: Refuse) -> tuple[SenseText, ...]:
    value = fields.get(name)
    if value is None or value == "":
        return ()
    if isinstance(value, str):
        try:
            value = parse_json(value)
        except ValueError:
            value = None
    if not isinstance(value, list) or len(value) > MOST_TEXTS:
        refuse(name, f'is not a list of at most {MOST_TEXTS}; write [{{"words": "…", "definition": "…"}}]')
    return tuple(_pair(entry, name, refuse) for entry in value)


def _pair(entry: object, name: str, refuse: Refuse) -> SenseText:
    if not isinstance(entry, dict) or not {"words", "definition"} <= set(entry):
        refuse(name, f'{quote_value(str(entry))} needs "words" and "definition"')
    return SenseText(
        _check_field(entry["words"], name, refuse), _check_field(entry["definition"], name, refuse)
    )


def _count(fields: Mapping[str, Any], refuse: Refuse) -> int:
    value = fields.get("sense_sibling_count")
    if value is None or value == "":
        return 0
    text = str(value)
    if not isinstance(value, int | str | Decimal) or not text.isdecimal() or len(text) > 6:
        refuse("sense_sibling_count", f"{quote_value(text)} is not a number of senses; write 0 or more")
    return int(text)
