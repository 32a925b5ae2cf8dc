"""The quality of raters: settings, when a hidden gold check is due, and grades that are excluded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from hashlib import sha256
from typing import Any

from annotation.errors import SettingsError
from annotation.scale import CLSS

LONGEST_INTERVAL = 1000
MOST_TRAINING_PAIRS = 500
MOST_CHECK_PAIRS = 2000


@dataclass(frozen=True, slots=True)
class QualitySettings:
    """Distances are in points of the scale, 0 to 4 in steps of 0.25."""

    training_distance: Decimal = Decimal("0.5")
    """A training grade so far from the known one, or nearer, is accepted."""
    pass_percent: int = 80
    """Percentage of training grades that must be accepted; 0 lets everybody pass who grades them all."""
    check_every: int = 0
    """One pair in so many is a check pair; 0 for none."""
    check_distance: Decimal = Decimal(1)
    """A grade of a check pair so far from the known one, or nearer, is accepted."""


def check_quality_settings(settings: QualitySettings) -> QualitySettings:
    """The settings themselves.

    Raises:
        SettingsError: one of them cannot be used.
    """
    for what, distance in (
        ("training", settings.training_distance),
        ("check", settings.check_distance),
    ):
        if not CLSS.allows(distance):
            raise SettingsError(
                f"The accepted distance of {what} grades is 0 to 4 in steps of {CLSS.step}, not {distance}."
            )
    if not 0 <= settings.pass_percent <= 100:
        raise SettingsError(f"The pass mark is 0 to 100 percent, not {settings.pass_percent}.")
    if settings.check_every != 0 and not 2 <= settings.check_every <= LONGEST_INTERVAL:
        raise SettingsError(
            f"One pair in 2 to {LONGEST_INTERVAL} can be a check pair, or none with 0, "
            f"not one in {settings.check_every}."
        )
    return settings


def is_accepted(quarters: int, known: int, distance: int) -> bool:
    """Whether a grade is within the accepted distance of the known one; all in quarters of a point."""
    return abs(quarters - known) <= distance


def has_accepted_grade(known: Decimal, step: Decimal, distance: Decimal) -> bool:
    """Whether a scale in such steps has a grade that is accepted where this one is known."""
    below = known - known % step
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
    listed = "; ".join(f"{each.grades:,} of {each.rater} ({each.at[:10]}: {each.reason})" for each in many)
    return f"Grades that were set aside and count nowhere: {listed}." if many else ""


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
