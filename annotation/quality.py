"""The quality of raters: settings, when a hidden gold check is due, and grades that are excluded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from hashlib import sha256
from typing import Any

from annotation.errors import SettingsError
from annotation.scale import CLSS, Scale
from annotation.translation import _, mark, retell

LONGEST_INTERVAL = 1000
MOST_TRAINING_PAIRS = 500
MOST_CHECK_PAIRS = 2000
MOST_TRIES = 100
MOST_CHECKS_LOOKED_AT = 100
"""Of a rater's check grades, the latest, to decide whether they are blocked."""


@dataclass(frozen=True, slots=True)
class QualitySettings:
    """Distances are in points; the usual ones are an eighth and a quarter of the scale's range, here of 4."""

    training_distance: Decimal = Decimal("0.5")
    """A training grade so far from the known one, or nearer, is accepted."""
    pass_percent: int = 80
    """Percentage of training grades that must be accepted; 0 lets everybody pass who grades them all."""
    check_every: int = 0
    """One pair in so many is a check pair; 0 for none."""
    check_distance: Decimal = Decimal(1)
    """A grade of a check pair so far from the known one, or nearer, is accepted."""
    training_tries: int = 0
    """How often a rater may go through the training pairs; 0 for any number."""
    block_wrong: int = 0
    """A rater with so many grades that are not accepted among their last `block_of` check grades is blocked;
    0 for never."""
    block_of: int = 0


_TRAINING_SHARE, _CHECK_SHARE = Decimal("0.125"), Decimal("0.25")
"""Of the range of the scale: 0.5 and 1 of 0 to 4."""


def usual_quality(scale: Scale) -> QualitySettings:
    """What a project of that scale begins with."""
    return QualitySettings(
        training_distance=scale.share(_TRAINING_SHARE), check_distance=scale.share(_CHECK_SHARE)
    )


_WRONG_TRAINING_DISTANCE = mark(
    "The accepted distance of training grades is {low} to {high} in steps of {step}, not {distance}."
)
_WRONG_CHECK_DISTANCE = mark(
    "The accepted distance of check grades is {low} to {high} in steps of {step}, not {distance}."
)


def check_quality_settings(settings: QualitySettings, scale: Scale = CLSS) -> QualitySettings:
    """The settings themselves; `scale` is the project's.

    Raises:
        SettingsError: one of them cannot be used.
    """
    for said, distance in (
        (_WRONG_TRAINING_DISTANCE, settings.training_distance),
        (_WRONG_CHECK_DISTANCE, settings.check_distance),
    ):
        if not (distances := scale.distances).allows(distance):
            raise SettingsError(
                _(
                    said,
                    low=distances.lowest,
                    high=distances.highest,
                    step=distances.step,
                    distance=distance,
                )
            )
    if not 0 <= settings.pass_percent <= 100:
        raise SettingsError(
            _("The pass mark is 0 to 100 percent, not {percent}.", percent=settings.pass_percent)
        )
    if settings.check_every != 0 and not 2 <= settings.check_every <= LONGEST_INTERVAL:
        raise SettingsError(
            _(
                "One pair in 2 to {most} can be a check pair, or none with 0, not one in {every}.",
                most=LONGEST_INTERVAL,
                every=settings.check_every,
            )
        )
    if not 0 <= settings.training_tries <= MOST_TRIES:
        raise SettingsError(
            _(
                "A rater may try the training 1 to {most} times, or any number with 0, not {tries}.",
                most=MOST_TRIES,
                tries=settings.training_tries,
            )
        )
    if not 0 <= settings.block_of <= MOST_CHECKS_LOOKED_AT:
        raise SettingsError(
            _(
                "Raters are blocked by their last 1 to {most} check grades, or never with 0, not by "
                "{number}.",
                most=MOST_CHECKS_LOOKED_AT,
                number=settings.block_of,
            )
        )
    if not 0 <= settings.block_wrong <= settings.block_of:
        raise SettingsError(
            _(
                "Of the last {last} check grades 0 to {last} may be wrong before a rater is blocked, not "
                "{wrong}.",
                last=settings.block_of,
                wrong=settings.block_wrong,
            )
        )
    return settings


WRONG_CHECKS = mark("{wrong} of the last {checks} check grades were wrong")
"""Why a rater is blocked, as it is kept."""


def is_blocked(wrong: Sequence[bool], settings: QualitySettings) -> bool:
    """Whether check grades, the latest first, keep their rater from going on.

    >>> is_blocked([True, False, True], QualitySettings(block_wrong=2, block_of=3))
    True
    >>> is_blocked([True, False, False, True], QualitySettings(block_wrong=2, block_of=3))
    False
    """
    return settings.block_wrong > 0 and sum(wrong[: settings.block_of]) >= settings.block_wrong


def is_accepted(quarters: int, known: int, distance: int) -> bool:
    """Whether a grade is within the accepted distance of the known one; all in quarters of a point."""
    return abs(quarters - known) <= distance


def has_accepted_grade(known: Decimal, step: Decimal, distance: Decimal) -> bool:
    """Whether a scale in such steps has a grade that is accepted where this one is known."""
    below = (known / step).to_integral_value(ROUND_FLOOR) * step  # of -1.25 in whole steps -2, not -1
    return known - below <= distance or below + step - known <= distance


def has_passed(accepted: int, pairs: int, percent: int) -> bool:
    """Whether the share of accepted grades reaches the pass mark."""
    return 100 * accepted >= percent * pairs


def checks_due(key: str, pairs: int, every: int) -> int:
    """How many check pairs have become due once a rater has been given `pairs` pairs.

    Of each run of `every` pairs one is a check, at a place that only the key tells: nobody can count a way
    to it, and how many there will be in the end is known from the start.

    Args:
        key: of the rater in the project.
        pairs: without the check pairs themselves.
        every: 2 or more; 0 for no checks.
    """
    if not every:
        return 0
    length = every - 1
    runs, rest = divmod(pairs, length)
    place = int.from_bytes(sha256(f"{key}:{runs}".encode()).digest()[:8], "big") % length
    return runs + (rest > place)


def check_order(key: str, pair_id: int) -> bytes:
    """Sorts the check pairs of a project into an order of this rater's own."""
    return sha256(f"{key}:pair:{pair_id}".encode()).digest()


@dataclass(frozen=True, slots=True)
class ExcludedGrades:
    """Grades of one rater that were set aside together and count nowhere."""

    rater: str | None
    """What the rater is called; None where raters are left out."""
    grades: int
    """Of pairs that count."""
    reason: str
    at: str
    """In ISO 8601, in UTC."""

    def as_json(self) -> dict[str, Any]:
        named = {} if self.rater is None else {"rater": self.rater}
        return {**named, "grades": self.grades, "reason": self.reason, "at": self.at}


def describe_excluded(many: Sequence[ExcludedGrades]) -> str:
    """Whose grades count nowhere, how many, since when and why; empty without any."""
    listed = "; ".join(
        _(
            "{count} of {rater} ({day}: {reason})",
            count=f"{each.grades:,}",
            rater=each.rater,
            day=each.at[:10],
            reason=retell(each.reason, WRONG_CHECKS),
        )
        for each in many
    )
    return _("Grades that were set aside and count nowhere: {listed}.", listed=listed) if many else ""


MOST_REPEATS = 50
"""Percent."""
LEAST_APART = 20
"""As many as the rating page opens again: before that a rater could look up the first grade."""


def repeats_apart(graded: int) -> int:
    """How many other pairs a rater grades at least before one comes back to them.

    At least 20, which the rating page lists with their grades, and a quarter of what they graded, so that
    they do not remember it in long work either.

    >>> [repeats_apart(graded) for graded in (10, 80, 100, 1000)]
    [20, 20, 25, 250]
    """
    return max(LEAST_APART, -(-graded // 4))


def repeats_due(graded: int, percent: int) -> int:
    """How many pairs will have come back to a rater who graded so many.

    >>> [repeats_due(graded, 10) for graded in (20, 22, 100, 400)]
    [0, 2, 10, 40]
    """
    return min(graded * percent // 100, max(0, graded - repeats_apart(graded)))


def repeat_order(seed: int, rater: int, type: str, external_id: str) -> bytes:
    """Sorts the pairs of a rater into the order in which they come back."""
    return sha256(f"{seed}:{rater}:repeat:{type}:{external_id}".encode("utf-8", "surrogatepass")).digest()
