"""Grades of a rater that were set aside, as reports and gold sets tell of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class SetAsideGrades:
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


def set_aside_text(many: Sequence[SetAsideGrades]) -> str:
    """Whose grades count nowhere, how many, since when and why; empty without any."""
    listed = "; ".join(f"{each.grades:,} of {each.rater} ({each.at[:10]}: {each.reason})" for each in many)
    return f"Grades that were set aside and count nowhere: {listed}." if many else ""
