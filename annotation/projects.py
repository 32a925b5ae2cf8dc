"""What a project is made of: which settings can be used, who works in it, and how far it is."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from typing import Any

from annotation.comparison import types_in_order
from annotation.errors import SettingsError, WrongSettings
from annotation.quality import MOST_REPEATS
from annotation.scale import CLSS, Scale, check_scale, check_scale_words
from annotation.translation import _, mark, ngettext
from annotation.types import Project, ProjectSettings, Role, User
from annotation.wording import UNSTORABLE, name_key, normalise_name, quote_value
from kpdemo.translation import ENGLISH, LANGUAGES

LONGEST_PROJECT_NAME = 120
LONGEST_PROJECT_KEY = 360
"""A few characters grow when they are written out; the database has room for this many."""
LONGEST_TYPE = 80
LONGEST_MARKDOWN = 100_000
"""Of guidelines and of the text to agree to, in characters."""
MOST_TYPES = 50
MOST_RATERS = 20
LONGEST_LEASE = 7 * 24 * 60
LARGEST_SHARE = 1_000_000
STEPS = CLSS.steps
LARGEST_SEED = 2**63 - 1
DEFAULTS = ProjectSettings(name="")

_TYPE = re.compile(r"\w[\w+-]*")


@dataclass(frozen=True, slots=True)
class Member:
    user: User
    roles: frozenset[Role]


@dataclass(frozen=True, slots=True)
class GroupCounts:
    """How far the pairs of one type and genre are."""

    type: str
    genre: str | None
    pairs: int
    ratings: int
    finished: int
    """Pairs with all the ratings that the project asks for, or a decision."""
    flagged: int
    """Pairs whose ratings differ by the threshold or more."""


@dataclass(frozen=True, slots=True)
class ProjectCounts:
    pairs: int
    ratings: int
    finished: int
    flagged: int
    groups: tuple[GroupCounts, ...]
    """In the order of the project's types, then by genre."""
    withdrawn: int = 0
    """Pairs that none of the other figures counts."""
    to_adjudicate: int = 0
    """Flagged pairs without a decision, or with a grade that came after it."""

    @property
    def open(self) -> int:
        """Pairs that lack a rating, and have no decision."""
        return self.pairs - self.finished

    @property
    def is_graded(self) -> bool:
        return all_graded(self.pairs, self.finished)


def flagged_text(before: ProjectCounts, after: ProjectCounts) -> str:
    """What a changed threshold has done: "17 pairs are flagged now (10 before); 7 wait for a decision.".

    Nothing where there are no ratings yet.
    """
    if not after.ratings:
        return ""
    flagged = ngettext(
        "{count} pair is flagged now ({before} before)",
        "{count} pairs are flagged now ({before} before)",
        after.flagged,
        count=f"{after.flagged:,}",
        before=f"{before.flagged:,}",
    )
    waiting = ngettext(
        "{count} waits for a decision.",
        "{count} wait for a decision.",
        after.to_adjudicate,
        count=f"{after.to_adjudicate:,}",
    )
    return f"{flagged}; {waiting}"


def wider_range_text(raters_per_pair: int, threshold: Decimal | None, scale: Scale = CLSS) -> str:
    """That the task's threshold, meant for two raters, flags more pairs with three or more; else nothing."""
    for_two = default_threshold(DEFAULTS.raters_per_pair, scale)
    if raters_per_pair <= DEFAULTS.raters_per_pair or threshold != for_two:
        return ""
    return _(
        "The more raters a pair has, the farther apart are its lowest and highest grade: {raters} raters "
        "reach a difference of {for_two} more often than two, so more pairs are flagged; {usual} flags about "
        "as many as {for_two} with two.",
        raters=raters_per_pair,
        for_two=for_two,
        usual=default_threshold(raters_per_pair, scale),
    )


_FEWEST_RATERS = ((13, "2.5"), (9, "2.25"), (6, "2"), (4, "1.75"), (3, "1.5"))
"""From so many raters on, the threshold that flags about as many pairs as 1 does with two."""
USUAL_THRESHOLDS = (Decimal(1), *(Decimal(threshold) for _raters, threshold in _FEWEST_RATERS))


def usual_thresholds(scale: Scale) -> frozenset[Decimal]:
    """What `default_threshold` gives for some number of raters."""
    return frozenset(_of_range(threshold, scale) for threshold in USUAL_THRESHOLDS)


def _of_range(threshold: Decimal, scale: Scale) -> Decimal:
    """A difference of 0 to 4 as the same share of another range: 1 is a quarter."""
    return scale.share(threshold / CLSS.range)


def default_threshold(raters_per_pair: int, scale: Scale = CLSS) -> Decimal:
    """The difference from which pairs of a new project are flagged.

    For two raters it is the task's, 1 of 0 to 4, so a quarter of the range of another scale. The lowest and
    highest of more grades lie farther apart: these thresholds keep the share of flagged pairs near that of
    two raters (docs/annotation_gold.md has figures).

    >>> [str(default_threshold(raters)) for raters in (2, 3, 5, 8, 20)]
    ['1', '1.5', '1.75', '2', '2.5']
    """
    usual = next((Decimal(text) for fewest, text in _FEWEST_RATERS if raters_per_pair >= fewest), Decimal(1))
    return _of_range(usual, scale)


def all_graded(pairs: int, finished: int) -> bool:
    """Whether a project's raters are done; one without pairs has not begun."""
    return 0 < pairs == finished


def sum_counts(groups: Iterable[GroupCounts], withdrawn: int = 0, *, to_adjudicate: int = 0) -> ProjectCounts:
    """The counts of all the groups together."""
    kept = tuple(groups)
    return ProjectCounts(
        pairs=sum(group.pairs for group in kept),
        ratings=sum(group.ratings for group in kept),
        finished=sum(group.finished for group in kept),
        flagged=sum(group.flagged for group in kept),
        groups=kept,
        withdrawn=withdrawn,
        to_adjudicate=to_adjudicate,
    )


def check_settings(settings: ProjectSettings) -> ProjectSettings:
    """The settings as they are kept: names composed and without needless space.

    Raises:
        SettingsError: some of them cannot be used; it tells all of these.
    """
    wrong, was = WrongSettings(), settings
    scale = wrong.check(check_scale, was.scale, instead=CLSS)
    name = wrong.check(check_project_name, was.name, instead="")
    types = wrong.check(_check_types, was.types, instead=was.types)
    for check in (
        (mark("number of raters per pair"), was.raters_per_pair, 1, MOST_RATERS),
        (
            mark("limit of pairs per rater"),
            1 if was.most_per_rater is None else was.most_per_rater,
            1,
            LARGEST_SHARE,
        ),
        (mark("percentage of repeat pairs"), was.repeat_percent, 0, MOST_REPEATS),
        (mark("lease"), was.lease_minutes, 1, LONGEST_LEASE, mark("minutes")),
        (mark("seed"), was.seed, 0, LARGEST_SEED),
    ):
        wrong.check(_check_whole, *check, instead=None)
    kept = replace(
        was,
        name=name,
        types=types,
        guidelines=wrong.check(_check_text, mark("guidelines"), was.guidelines, instead=""),
        consent=wrong.check(_check_text, mark("consent text"), _one_way(was.consent), instead=""),
        scale_words=wrong.check(check_scale_words, was.scale_words, types, scale, instead=""),
        threshold=wrong.check(_check_threshold, was.threshold, scale, instead=was.threshold),
        step=wrong.check(_check_step, was.step, scale, instead=was.step),
        scale=scale,
        language=wrong.check(_check_language, was.language, instead=was.language),
    )
    wrong.raise_if_any()
    return kept


def _check_language(code: str) -> str:
    if code not in LANGUAGES:
        raise SettingsError(
            _(
                "There is no language {code}: give one of {codes}.",
                code=repr(code),
                codes=", ".join(LANGUAGES),
            )
        )
    return code


def check_same_scale(before: Scale, after: Scale) -> None:
    """Grades are stored as steps of the scale: it stays.

    Raises:
        SettingsError: it would be another one.
    """
    if before != after:
        raise SettingsError(
            _(
                "The scale of a project, here {low} to {high} in steps of {step}, is chosen when it is made "
                "and cannot change: make another project for other grades.",
                low=before.lowest,
                high=before.highest,
                step=before.step,
            )
        )


def check_project_name(name: str) -> str:
    """The name as it is kept: composed, without space around it, single spaces within.

    Raises:
        SettingsError: it cannot be used.
    """
    kept = normalise_name(name, _("The project's name"))
    if not name_key(kept):
        raise SettingsError(
            _("The project's name is empty: give 1 to {most} characters.", most=LONGEST_PROJECT_NAME)
        )
    if len(kept) > LONGEST_PROJECT_NAME or len(name_key(kept)) > LONGEST_PROJECT_KEY:
        raise SettingsError(
            _(
                "The project's name has {length} characters: give 1 to {most}, without ligatures.",
                length=len(kept),
                most=LONGEST_PROJECT_NAME,
            )
        )
    return kept


def check_type_of(project: str, types: Sequence[str], type: str) -> str:
    """The comparison type itself.

    Args:
        project: its name, for the message.
        types: those that it has.

    Raises:
        SettingsError: it does not have this one.
    """
    if type not in types:
        raise SettingsError(
            _(
                "{project} has no comparison type {type}: give one of {types}.",
                project=project,
                type=quote_value(type),
                types=", ".join(types),
            )
        )
    return type


def _check_types(types: tuple[str, ...]) -> tuple[str, ...]:
    kept = tuple(types_in_order(unicodedata.normalize("NFC", type.strip()) for type in types))
    if not kept:
        raise SettingsError(
            _("The project has no comparison types: give at least one, such as sentence2phrase.")
        )
    if len(kept) > MOST_TYPES:
        raise SettingsError(
            _(
                "The project has {number} comparison types: give at most {most}.",
                number=len(kept),
                most=MOST_TYPES,
            )
        )
    for type in kept:
        if not _TYPE.fullmatch(type) or len(type) > LONGEST_TYPE:
            raise SettingsError(
                _(
                    "{type} is not a valid name for a comparison type: give letters, digits, _ and -, at "
                    "most {most}, such as abstract2title.",
                    type=quote_value(type),
                    most=LONGEST_TYPE,
                )
            )
    return kept


def _check_text(what: str, text: str) -> str:
    are_many = what.endswith("s")
    if len(text) > LONGEST_MARKDOWN:
        values = {"what": _(what), "length": f"{len(text):,}", "most": f"{LONGEST_MARKDOWN:,}"}
        raise SettingsError(
            _("The {what} have {length} characters: give at most {most}.", **values)
            if are_many
            else _("The {what} has {length} characters: give at most {most}.", **values)
        )
    if UNSTORABLE.search(text):
        raise SettingsError(
            _("The {what} hold a NUL or half a character: save the text as UTF-8.", what=_(what))
            if are_many
            else _("The {what} holds a NUL or half a character: save the text as UTF-8.", what=_(what))
        )
    return text


def _one_way(text: str) -> str:
    """The text with one kind of line end and nothing around it: saved again by a browser, it is the same."""
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def _check_threshold(threshold: Decimal | None, scale: Scale) -> Decimal | None:
    if threshold is None:
        return None
    if not scale.distances.allows(threshold) or threshold <= 0:
        raise SettingsError(
            _(
                "The threshold is {step} to {range} in steps of {step}, or none, not {threshold}.",
                step=scale.step,
                range=scale.range,
                threshold=threshold,
            )
        )
    return threshold


def _check_step(step: Decimal, scale: Scale) -> Decimal:
    steps = scale.steps
    for known in steps:
        if step == known:
            return known
    before = f"{', '.join(map(str, steps[:-1]))}{_(' or ')}" if len(steps) > 1 else ""
    raise SettingsError(_("The step is {steps}, not {step}.", steps=f"{before}{steps[-1]}", step=step))


def _check_whole(what: str, value: int, low: int, high: int, unit: str = "") -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        ends = f"{high} {_(unit)}" if unit else high
        raise SettingsError(
            _(
                "The {what} is a whole number from {low} to {high}, not {value}.",
                what=_(what),
                low=low,
                high=ends,
                value=value,
            )
        )


class Order(StrEnum):
    """In which raters get the pairs."""

    RANDOM = "random"
    FILE = "file"


def project_json(project: Project) -> dict[str, Any]:
    """The project as commands and programs are given it."""
    settings = project.settings
    return {
        "id": project.id,
        "name": project.name,
        "types": list(settings.types),
        "guidelines": settings.guidelines,
        "raters_per_pair": settings.raters_per_pair,
        "threshold": None if settings.threshold is None else float(settings.threshold),
        "average": settings.average.value,
        "step": float(settings.step),
        **({} if settings.scale == CLSS else {"grades": scale_json(settings.scale)}),
        "order": (Order.RANDOM if settings.is_random else Order.FILE).value,
        "seed": settings.seed,
        "may_revise": settings.may_revise,
        "lease_minutes": settings.lease_minutes,
        "most_per_rater": settings.most_per_rater,
        "repeat_percent": settings.repeat_percent,
        "consent": settings.consent,
        "scale_words": settings.scale_words,
        **({} if settings.language == ENGLISH else {"language": settings.language}),
        "created_at": project.created_at.isoformat(),
    }


def scale_json(scale: Scale) -> dict[str, float]:
    """As the manifest of a gold set has it."""
    return {"lowest": scale.lowest, "highest": scale.highest, "step": float(scale.step)}
