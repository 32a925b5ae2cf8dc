"""What was done, in words, for pages and terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from annotation.setting_changes import LONG_TEXTS, SETTING_WORDS

MOST_NAMED = 5
"""Of the pairs, files or settings of an event."""
DIGEST_LENGTH = 12
"""Letters of a SHA-256 that tell files apart."""
_TOLD_APART = frozenset({"settings", "before", "after", "former_name"})
"""Fields of a change of settings."""
_RIGHT, _RIGHT_WORDS = "is_administrator", "administrator of the server"
"""A field of a new account: what it says where it is true; else there is nothing to tell."""


def detail_words(detail: Mapping[str, Any], grouped: Callable[[int], str] = "{:,}".format) -> str:
    """The details of an event: "number of raters per pair: 2 → 3".

    Args:
        grouped: writes a large number.
    """
    is_of_settings = isinstance(detail.get("before"), dict)  # else it is of a known grade
    changes = _change_words(detail, grouped) if is_of_settings else []
    others = [
        f"{name.replace('_', ' ')}: {_value(name, value, grouped)}"
        for name, value in detail.items()
        if value not in (None, "", [], {}) and name != _RIGHT and not (changes and name in _TOLD_APART)
    ]
    right = [_RIGHT_WORDS] if detail.get(_RIGHT) else []
    return "; ".join([*changes, *others, *right])


def earlier_texts(detail: Mapping[str, Any]) -> dict[str, str]:
    """The texts that an event replaced, by what they are called, such as guidelines; without empty ones."""
    before = detail.get("before")
    told = before if isinstance(before, dict) else {}
    texts = {name: told[name].get("text") for name in LONG_TEXTS if isinstance(told.get(name), dict)}
    return {SETTING_WORDS.get(name, name): str(text) for name, text in texts.items() if text}


def _change_words(detail: Mapping[str, Any], grouped: Callable[[int], str]) -> list[str]:
    before, after = detail["before"], detail["after"]
    words = []
    for name in detail["settings"]:
        if name in LONG_TEXTS:
            sizes = [grouped(side[name]["characters"]) for side in (before, after)]
            words.append(f"{SETTING_WORDS.get(name, name)}: {' → '.join(sizes)} characters")
        else:
            values = [_setting(name, side[name]) for side in (before, after)]
            words.append(f"{SETTING_WORDS.get(name, name)}: {' → '.join(values)}")
    return words


def _setting(name: str, value: object) -> str:
    if name == "is_random":
        return "random" if value else "as imported"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _value(name: str, value: object, grouped: Callable[[int], str]) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        if name == "settings":
            value = [SETTING_WORDS.get(setting, setting) for setting in value]
        if name == "decisions":
            value = [_decision(one) if isinstance(one, dict) else one for one in value]
        first = ", ".join(map(str, value[:MOST_NAMED]))
        is_told = len(value) <= MOST_NAMED or value[MOST_NAMED:] == ["…"]
        return (
            ", ".join(map(str, value)) if is_told else f"{first} and {grouped(len(value) - MOST_NAMED)} more"
        )
    if name == "cause":
        return str(value).replace("_", " ")
    return str(value)[:DIGEST_LENGTH] if name.endswith("sha256") else str(value)


def _decision(told: Mapping[str, str]) -> str:
    """One of several in an event: "p1 (2.5, scale)"; of a pair that is held back its id alone."""
    if "grade" not in told:
        return told["pair"]
    return f"{told['pair']} ({told['grade']}, {told['cause'].replace('_', ' ')})"
