"""Two administrators who change settings of a project at once: neither undoes what the other did."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from hashlib import sha256
from typing import Any

from annotation.errors import SettingsError
from annotation.types import ProjectSettings

SETTING_WORDS = {
    "raters_per_pair": "number of raters per pair",
    "types": "comparison types",
    "is_random": "order",
    "may_revise": "switch for changing grades",
    "lease_minutes": "minutes for a pair",
    "most_per_rater": "limit of pairs per rater",
}
"""What the fields of `ProjectSettings` are called where their own name does not say it."""


def seen_settings(settings: ProjectSettings) -> str:
    """What a form remembers of the settings that it began with: a short print of each."""
    return json.dumps(_prints(settings))


def merged_settings(mine: ProjectSettings, now: ProjectSettings, seen: str) -> ProjectSettings:
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
                f"Somebody else changed the {SETTING_WORDS.get(name, name)} while this page was open, so "
                "nothing was saved: copy what you wrote there, open the page again, and change it anew."
            )
        theirs[name] = getattr(now, name)
    return replace(mine, **theirs)


def _prints(settings: ProjectSettings) -> dict[str, str]:
    return {
        field.name: sha256(repr(getattr(settings, field.name)).encode("utf-8", "surrogatepass")).hexdigest()[
            :16
        ]
        for field in fields(settings)
    }


def _read(seen: str) -> dict[str, str]:
    try:
        prints = json.loads(seen)
    except ValueError:
        prints = None
    if not isinstance(prints, dict):
        raise SettingsError("The form is not as it was opened, so nothing was saved: open the page again.")
    return prints
