"""Changes of settings and what was done, in words; two people who change settings undo nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields, replace
from decimal import Decimal
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeVar

from annotation.adjudication import cause_within
from annotation.errors import SettingsError
from annotation.quality import WRONG_CHECKS
from annotation.translation import _, mark, retell
from annotation.types import Cause
from kpdemo.io.files import parse_json

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


Settings = TypeVar("Settings", bound="DataclassInstance")
"""Those of a form: a frozen dataclass."""

LONG_TEXTS = ("guidelines", "consent", "scale_words")
"""Settings of which an event keeps hash and length, and the text that was replaced."""
SETTING_WORDS = {
    "raters_per_pair": mark("number of raters per pair"),
    "types": mark("comparison types"),
    "average": mark("gold grade without a decision"),
    "repeat_percent": mark("percentage of repeat pairs"),
    "is_random": mark("order"),
    "may_revise": mark("switch for changing grades"),
    "lease_minutes": mark("minutes for a pair"),
    "most_per_rater": mark("limit of pairs per rater"),
    "pass_percent": mark("pass mark"),
    "training_distance": mark("distance within which a training grade counts as close"),
    "check_every": mark("number of pairs per check pair"),
    "check_distance": mark("distance within which the grade of a check pair is accepted"),
    "training_tries": mark("limit of tries at the training"),
    "block_wrong": mark("wrong check grades that block a rater"),
    "block_of": mark("check grades that are looked at for that"),
    "larger_words": mark("words of the larger item"),
    "larger_sentences": mark("sentences of the larger item"),
    "smaller_words": mark("words of the smaller item"),
    "smaller_sentences": mark("sentences of the smaller item"),
    "has_zeros": mark("switch for pairs of grade 0"),
    "consent": mark("consent text"),
    "scale_words": mark("words of the scale"),
    "language": mark("language of the raters' pages"),
    "completion_code": mark("completion code"),
    "screen_out_code": mark("code for others"),
    "return_address": mark("return address"),
    "contact": mark("line on whom to ask"),
}
"""What fields are called where their own name does not say it."""


def print_settings(settings: DataclassInstance) -> str:
    """What a form remembers of the settings that it began with: a short print of each."""
    return json.dumps(_prints(settings))


def renew_prints(seen: str, settings: DataclassInstance, *, but: Collection[str]) -> str:
    """The same of a form that now shows other settings, all but some, which it still shows as it began.

    Raises:
        SettingsError: `seen` is not from `print_settings`.
    """
    before = _parse_prints(seen)
    return json.dumps({**_prints(settings), **{name: before[name] for name in but if name in before}})


def merge_settings(mine: Settings, now: Settings, seen: str) -> Settings:
    """My settings, but with what somebody else has changed since, where I have not touched it.

    Args:
        mine: what the form holds.
        now: what stands in the database.
        seen: from `print_settings`, when the form was opened.

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


ACTIONS = (
    *(mark("account added"), mark("account renamed"), mark("account disabled"), mark("account enabled")),
    *(mark("administrator made"), mark("administrator unmade")),
    *(mark("password set"), mark("password changed"), mark("signed out everywhere")),
    *(mark("token made"), mark("token revoked"), mark("server set up")),
    *(mark("invitation made"), mark("invitations made"), mark("invitation revoked"), mark("invitation used")),
    *(mark("shared link made"), mark("shared link revoked"), mark("came by a shared link")),
    *(mark("project created"), mark("project changed"), mark("project deleted")),
    *(mark("member added"), mark("member removed"), mark("consent given")),
    *(mark("quality settings changed"), mark("writing changed"), mark("end page changed")),
    *(mark("rater paused"), mark("rater resumed"), mark("rater blocked")),
    *(mark("rater excused from training"), mark("grades set aside"), mark("grades brought back")),
    *(mark("pairs imported"), mark("pairs removed"), mark("pairs withdrawn"), mark("pairs restored")),
    *(mark("training pairs imported"), mark("training pairs retired"), mark("check pairs imported")),
    *(mark("check pairs retired"), mark("known grade changed"), mark("zero pairs made")),
    *(mark("items imported"), mark("items withdrawn"), mark("items restored")),
    *(mark("pair decided"), mark("decision withdrawn"), mark("senses described")),
    *(mark("predictions sent"), mark("order chosen"), mark("system added"), mark("system removed")),
    *(mark("gold exported"), mark("ratings exported")),
)
"""What events tell, as the database has it."""
DETAILS = (
    *(mark("name"), mark("former name"), mark("role"), mark("member"), mark("reason"), mark("number")),
    *(mark("links"), mark("token"), mark("days"), mark("sessions"), mark("people"), mark("until")),
    *(mark("text sha256"), mark("gold sha256"), mark("manifest sha256"), mark("sha256"), mark("settings")),
    *(mark("type"), mark("kind"), mark("pair"), mark("pairs"), mark("items"), mark("files"), mark("joined")),
    *(mark("grade"), mark("grades"), mark("graded"), mark("still set aside"), mark("before"), mark("after")),
    *(mark("ratings"), mark("raters"), mark("second"), mark("duplicates"), mark("without partner")),
    *(mark("documents"), mark("known"), mark("models"), mark("order"), mark("origin"), mark("cause")),
    *(mark("times"), mark("decisions")),
)
"""What their details are called, where no setting is."""
MOST_NAMED = 5
"""Of the pairs, files or settings of an event."""
DIGEST_LENGTH = 12
"""Letters of a SHA-256 that tell files apart."""
_TOLD_APART = frozenset({"settings", "before", "after", "former_name"})
"""Fields of a change of settings."""
_RIGHT, _RIGHT_WORDS = "is_administrator", mark("administrator of the server")
"""A field of a new account: what it says where it is true; else there is nothing to tell."""


def detail_words(detail: Mapping[str, Any], grouped: Callable[[int], str] = "{:,}".format) -> str:
    """The details of an event: "number of raters per pair: 2 → 3".

    Args:
        grouped: writes a large number.
    """
    is_of_settings = isinstance(detail.get("before"), dict)  # else it is of a known grade
    changes = _change_words(detail, grouped) if is_of_settings else []
    others = [
        _detail(name.replace("_", " "), _value(name, value, grouped))
        for name, value in detail.items()
        if value not in (None, "", [], {}) and name != _RIGHT and not (changes and name in _TOLD_APART)
    ]
    right = [_(_RIGHT_WORDS)] if detail.get(_RIGHT) else []
    return "; ".join([*changes, *others, *right])


def _detail(name: str, value: str) -> str:
    return _("{name}: {value}", name=_(name), value=value)


def earlier_texts(detail: Mapping[str, Any]) -> dict[str, str]:
    """The texts that an event replaced, by what they are called, such as guidelines; without empty ones."""
    before = detail.get("before")
    told = before if isinstance(before, dict) else {}
    texts = {name: told[name].get("text") for name in LONG_TEXTS if isinstance(told.get(name), dict)}
    return {_(SETTING_WORDS.get(name, name)): str(text) for name, text in texts.items() if text}


def _change_words(detail: Mapping[str, Any], grouped: Callable[[int], str]) -> list[str]:
    before, after = detail["before"], detail["after"]
    words = []
    for name in detail["settings"]:
        if name in LONG_TEXTS:
            sizes = [grouped(side[name]["characters"]) for side in (before, after)]
            told = _("{sizes} characters", sizes=" → ".join(sizes))
        else:
            told = " → ".join(_setting(name, side[name]) for side in (before, after))
        words.append(_detail(SETTING_WORDS.get(name, name), told))
    return words


def _setting(name: str, value: object) -> str:
    if name == "is_random":
        return _("random") if value else _("as imported")
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if name == "average":
        return _(str(value))
    return _("none") if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _value(name: str, value: object, grouped: Callable[[int], str]) -> str:
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, list):
        if name == "settings":
            value = [_(SETTING_WORDS.get(str(setting), str(setting))) for setting in value]
        if name == "decisions":
            value = [_decision(one) if isinstance(one, dict) else one for one in value]
        if len(value) <= MOST_NAMED or value[MOST_NAMED:] == ["…"]:
            return ", ".join(map(str, value))
        first = ", ".join(map(str, value[:MOST_NAMED]))
        return _("{first} and {more} more", first=first, more=grouped(len(value) - MOST_NAMED))
    if name == "cause":
        return cause_within(Cause(str(value)))
    if name == "role":
        return _(str(value))
    if name == "reason":
        return retell(str(value), WRONG_CHECKS)
    return str(value)[:DIGEST_LENGTH] if name.endswith("sha256") else str(value)


def _decision(told: Mapping[str, str]) -> str:
    """One of several in an event: "p1 (2.5, scale)"; of a pair that is held back its id alone."""
    if "grade" not in told:
        return told["pair"]
    return f"{told['pair']} ({told['grade']}, {cause_within(Cause(told['cause']))})"
