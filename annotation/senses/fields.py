"""The fields of files that hold what is known of a word and a sense, for writing and for reading.

word_flag            oov (the word is not in WordNet), oos (the meaning is not), or empty
word_key             sense key of the word's meaning or, with a flag, of the closest sense
word_definition      of the word's meaning; with a flag in the writer's words
sense_words, sense_definition               the sense, whose key is `right`
sense_parents, sense_siblings               lists of {"words", "definition"}, in tables as JSON text
sense_sibling_count                         how many there are; the list has the first of them
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from decimal import Decimal
from typing import Any, NoReturn

from annotation.characters import UNSTORABLE, shown
from annotation.files.json_text import parse_json
from annotation.senses.network import PairSenses, SenseText, WordFlag
from annotation.senses.pair_senses import MOST_SIBLINGS

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
LONGEST_DEFINITION = 20_000
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
    flag = _text(fields, "word_flag", refuse).lower()
    if flag and flag not in tuple(WordFlag):
        refuse("word_flag", f"{shown(flag)} is not a flag; write oov, oos or nothing")
    definition = _text(fields, "word_definition", refuse)
    if flag and not definition:
        refuse("word_definition", f"is empty; a word with the flag {flag} needs its meaning in words")
    words = _text(fields, "sense_words", refuse)
    sense = SenseText(words, _text(fields, "sense_definition", refuse)) if words else None
    parents, siblings = (_texts(fields, name, refuse) if sense else () for name in LISTS)
    found = PairSenses(
        WordFlag(flag) if flag else None,
        _text(fields, "word_key", refuse) or None,
        definition,
        sense,
        parents,
        siblings[:MOST_SIBLINGS],
        max(_count(fields, refuse), len(siblings)) if sense else 0,
    )
    return None if found == PairSenses() else found


def _text(fields: Mapping[str, Any], name: str, refuse: Refuse) -> str:
    value = fields.get(name)
    if value is None:
        return ""
    return _checked(value, name, refuse)


def _checked(value: object, name: str, refuse: Refuse) -> str:
    if not isinstance(value, str):
        refuse(name, f"{shown(value)} is not text; put it in quotes")
    if len(value) > LONGEST_DEFINITION:
        refuse(name, f"has {len(value):,} characters; shorten it to {LONGEST_DEFINITION:,}")
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
        refuse(name, f'{shown(str(entry))} needs "words" and "definition"')
    return SenseText(_checked(entry["words"], name, refuse), _checked(entry["definition"], name, refuse))


def _count(fields: Mapping[str, Any], refuse: Refuse) -> int:
    value = fields.get("sense_sibling_count")
    if value is None or value == "":
        return 0
    text = str(value)
    if not isinstance(value, int | str | Decimal) or not text.isdecimal() or len(text) > 6:
        refuse("sense_sibling_count", f"{shown(text)} is not a number of senses; write 0 or more")
    return int(text)
