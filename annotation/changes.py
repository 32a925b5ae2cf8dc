"""Changes of settings and what was done, in words; two people who change settings undo nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields, replace
from decimal import Decimal
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeVar

from annotation.errors import SettingsError
from annotation.translation import _
from kpdemo.io.files import parse_json

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


Settings = TypeVar("Settings", bound="DataclassInstance")
"""Those of a form: a frozen dataclass."""

LONG_TEXTS = ("guidelines", "consent", "scale_words")
"""Settings of which an event keeps hash and length, and the text that was replaced."""
SETTING_WORDS = {
    "raters_per_pair": "number of raters per pair",
    "types": "comparison types",
    "average": "gold grade without a decision",
    "repeat_percent": "percentage of repeat pairs",
    "is_random": "order",
    "may_revise": "switch for changing grades",
    "lease_minutes": "minutes for a pair",
    "most_per_rater": "limit of pairs per rater",
    "pass_percent": "pass mark",
    "training_distance": "distance within which a training grade counts as close",
    "check_every": "number of pairs per check pair",
    "check_distance": "distance within which the grade of a check pair is accepted",
    "training_tries": "limit of tries at the training",
    "block_wrong": "wrong check grades that block a rater",
    "block_of": "check grades that are looked at for that",
    "larger_words": "words of the larger item",
    "larger_sentences": "sentences of the larger item",
    "smaller_words": "words of the smaller item",
    "smaller_sentences": "sentences of the smaller item",
    "has_zeros": "switch for pairs of grade 0",
    "consent": "consent text",
    "scale_words": "words of the scale",
    "language": "language of the raters' pages",
}
"""What fields are called where their own name does not say it."""


def print_settings(settings: DataclassInstance) -> str:
    """What a form remembers of the settings that it began with: a short print of each."""
    return json.dumps(_prints(settings))


def renew_prints(seen: str, settings: DataclassInstance, *, but: Collection[str]) -> str:
    """The same of a form that now shows other settings, all but some, which it still shows as it began.

    Raises:
        SettingsError: `seen` is not from `seen_settings`.
    """
    before = _parse_prints(seen)
    return json.dumps({**_prints(settings), **{name: before[name] for name in but if name in before}})


def merge_settings(mine: Settings, now: Settings, seen: str) -> Settings:
    """My settings, but with what somebody else has changed since, where I have not touched it.

    Args:
        mine: what the form holds.
        now: what stands in the database.
        seen: from `seen_settings`, when the form was opened.

    Raises:
        SettingsError: both changed the same setting, to different values.
    """
    before = _parse_prints(seen)
    own, current = _prints(mine), _prints(now)
    theirs: dict[str, Any] = {}
    for name in own:
        if name not in before or current[name] in (before[name], own[name]):
            continue
        if own[name] != before[name]:
            raise SettingsError(
                _(
                    "Somebody else has changed the {setting} in the meantime, so nothing was saved: copy "
                    "what you wrote there, open the settings again, and enter it again.",
                    setting=_(SETTING_WORDS.get(name, name)),
                )
            )
        theirs[name] = getattr(now, name)
    return replace(mine, **theirs)


def describe_changes(before: DataclassInstance, after: DataclassInstance) -> dict[str, Any]:
    """Which settings differ, and what each was and is, as an event keeps it.

    Of texts that may be long both sides have hash and length, and only that before has the text: what stands
    after is the project's, or before in the next event.
    """
    names = [
        field.name for field in fields(before) if getattr(before, field.name) != getattr(after, field.name)
    ]
    told = {
        side: {name: _describe_value(name, getattr(settings, name)) for name in names}
        for side, settings in (("before", before), ("after", after))
    }
    for name in LONG_TEXTS:
        if name in names:
            told["before"][name]["text"] = getattr(before, name)
    return {"settings": names, **told}


def _describe_value(name: str, value: Any) -> Any:
    if name in LONG_TEXTS:
        return {"sha256": sha256(value.encode()).hexdigest(), "characters": len(value)}
    if isinstance(value, Decimal):
        return float(value)
    return list(value) if isinstance(value, tuple) else value


def _prints(settings: DataclassInstance) -> dict[str, str]:
    return {
        field.name: sha256(repr(getattr(settings, field.name)).encode("utf-8", "surrogatepass")).hexdigest()[
            :16
        ]
        for field in fields(settings)
    }


def _parse_prints(seen: str) -> dict[str, str]:
    try:
        prints = parse_json(seen)
    except ValueError:
        prints = None
    if not isinstance(prints, dict):
        raise SettingsError(_("The form is not as it was opened, so nothing was saved: open the page again."))
    return prints


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
