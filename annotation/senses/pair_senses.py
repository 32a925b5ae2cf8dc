"""What a pair of a word and a sense says besides its texts: the word's meaning, and the sense in words.

It is taken from WordNet once, when the pair is made or imported, and kept with the pair: raters and exports
see the same texts ever after, also where there is no WordNet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from functools import cache
from typing import Any, Protocol

from annotation.characters import shown
from annotation.errors import ImportFileError
from annotation.senses.network import (
    WORD_TO_SENSE,
    PairSenses,
    Sense,
    SenseText,
    WordFlag,
    is_meant_as_key,
    is_sense_key,
    sense_number,
)
from annotation.types import NewPair, ReadItem, ReadKnownPair

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


def described(
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
        _text(sense),
        tuple(map(_text, source.parents(sense.synset))),
        tuple(map(_text, siblings[:MOST_SIBLINGS])),
        len(siblings),
    )


def _text(sense: Sense) -> SenseText:
    return SenseText(sense.label, sense.definition)


def with_senses(items: Iterable[ReadItem], source: Callable[[], SenseSource | None]) -> Iterator[ReadItem]:
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


def known_with_senses(
    items: Iterable[ReadKnownPair], source: Callable[[], SenseSource | None]
) -> Iterator[ReadKnownPair]:
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
        return _with_sense(pair, source())
    except ImportFileError as error:
        return error


def _with_sense(pair: NewPair, source: SenseSource | None) -> NewPair:
    right = pair.right.strip()
    given = pair.senses or PairSenses()
    _check_key(pair, "word_key", given.word_key, source)
    if not is_meant_as_key(right):
        return pair
    key = right if is_sense_key(right) else _key_of_number(pair, right, source)
    _check_key(pair, "right", key, source)
    if given.sense is not None or source is None:
        return replace(pair, right=key)
    found = described(
        key, source, flag=given.flag, word_key=given.word_key, word_definition=given.word_definition
    )
    return replace(pair, right=key, senses=found)


def _key_of_number(pair: NewPair, text: str, source: SenseSource | None) -> str:
    number = sense_number(text)
    if number is None:
        raise _error(
            pair,
            "right",
            f"{shown(text)} is not a sense key; write one such as top%2:38:04::, or a definition in words",
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
        raise _error(pair, field, f"{shown(key)} is not a sense key; write one such as top%2:38:04::")
    if source is not None and source.sense(key) is None:
        raise _error(pair, field, f"WordNet 3.0 has no sense {shown(key)}; fix the key")


def _error(pair: NewPair, field: str, problem: str) -> ImportFileError:
    return ImportFileError(f"{pair.where}, field {field!r}: {problem}.")


def senses_as_json(senses: PairSenses) -> dict[str, Any]:
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
