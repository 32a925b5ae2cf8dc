"""Two people who change settings of a project at once: neither undoes what the other did."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import fields, replace
from decimal import Decimal
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeVar

from annotation.errors import SettingsError
from annotation.files.json_text import parse_json

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Settings = TypeVar("Settings", bound="DataclassInstance")
"""Those of a form: a frozen dataclass."""

LONG_TEXTS = ("guidelines", "consent", "scale_words")
"""Settings of which an event keeps hash and length, and the text that was replaced."""
SETTING_WORDS = {
    "raters_per_pair": "number of raters per pair",
    "types": "comparison types",
    "is_random": "order",
    "may_revise": "switch for changing grades",
    "lease_minutes": "minutes for a pair",
    "most_per_rater": "limit of pairs per rater",
    "pass_percent": "pass mark",
    "training_distance": "distance within which a training grade counts as close",
    "check_every": "number of pairs per check pair",
    "check_distance": "distance within which the grade of a check pair is accepted",
    "larger_words": "words of the larger item",
    "larger_sentences": "sentences of the larger item",
    "smaller_words": "words of the smaller item",
    "smaller_sentences": "sentences of the smaller item",
    "has_zeros": "switch for pairs of grade 0",
    "consent": "consent text",
    "scale_words": "words of the scale",
}
"""What fields are called where their own name does not say it."""


def seen_settings(settings: DataclassInstance) -> str:
    """What a form remembers of the settings that it began with: a short print of each."""
    return json.dumps(_prints(settings))


def seen_again(seen: str, settings: DataclassInstance, *, but: Collection[str]) -> str:
    """The same of a form that now shows other settings, all but some, which it still shows as it began.

    Raises:
        SettingsError: `seen` is not from `seen_settings`.
    """
    before = _read(seen)
    return json.dumps({**_prints(settings), **{name: before[name] for name in but if name in before}})


def merged_settings(mine: Settings, now: Settings, seen: str) -> Settings:
    """My settings, but with what somebody else has changed since, where I have not touched it.

    Args:
        mine: what the form holds.
        now: what stands in the database.
        seen: from `seen_settings`, when the form was opened.

    Raises:
        SettingsError: both changed the same setting, to different values.
    """
    before = _read(seen)
    own, current = _prints(mine), _prints(now)
    theirs: dict[str, Any] = {}
    for name in own:
        if name not in before or current[name] in (before[name], own[name]):
            continue
        if own[name] != before[name]:
            raise SettingsError(
                f"Somebody else has changed the {SETTING_WORDS.get(name, name)} in the meantime, so nothing "
                "was saved: copy what you wrote there, open the settings again, and enter it again."
            )
        theirs[name] = getattr(now, name)
    return replace(mine, **theirs)


def told_changes(before: DataclassInstance, after: DataclassInstance) -> dict[str, Any]:
    """Which settings differ, and what each was and is, as an event keeps it.

    Of texts that may be long both sides have hash and length, and only that before has the text: what stands
    after is the project's, or before in the next event.
    """
    names = [
        field.name for field in fields(before) if getattr(before, field.name) != getattr(after, field.name)
    ]
    told = {
        side: {name: _told(name, getattr(settings, name)) for name in names}
        for side, settings in (("before", before), ("after", after))
    }
    for name in LONG_TEXTS:
        if name in names:
            told["before"][name]["text"] = getattr(before, name)
    return {"settings": names, **told}


def _told(name: str, value: Any) -> Any:
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


def _read(seen: str) -> dict[str, str]:
    try:
        prints = parse_json(seen)
    except ValueError:
        prints = None
    if not isinstance(prints, dict):
        raise SettingsError("The form is not as it was opened, so nothing was saved: open the page again.")
    return prints
