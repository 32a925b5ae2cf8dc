"""Reading which grades of a project are set aside: whose they are, how many, since when and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from annotation.gold import RaterColumns, anonymous_label
from annotation.services.in_use import IN_USE
from annotation.set_aside import SetAsideGrades
from db.models import Pair, SetAside, SetAsideRating, User


@dataclass(frozen=True, slots=True)
class SetAsideLine:
    """Grades of one rater that were set aside together, of pairs that count."""

    rater_id: int
    name: str
    grades: int
    reason: str
    at: datetime

    def told(self, label: str | None) -> SetAsideGrades:
        """As reports and gold sets tell it, with what the rater is called there."""
        at = self.at.astimezone(UTC).isoformat(timespec="seconds")
        return SetAsideGrades(label, self.grades, self.reason, at)


def read_set_aside(session: Session, project_id: int) -> list[SetAsideLine]:
    """What is set aside, the earliest first."""
    rows = session.execute(
        select(SetAside.rater_id, User.name, func.count(), SetAside.reason, SetAside.at)
        .join(User, User.id == SetAside.rater_id)
        .join(SetAsideRating, SetAsideRating.set_aside_id == SetAside.id)
        .join(Pair, Pair.id == SetAsideRating.pair_id)
        .where(SetAside.project_id == project_id, IN_USE)
        .group_by(SetAside.id, User.name)
        .order_by(SetAside.at, SetAside.id)
    )
    return [SetAsideLine(*row) for row in rows]


def told_in_gold(
    lines: Sequence[SetAsideLine], raters: RaterColumns, numbers: Mapping[int, int] | None
) -> list[SetAsideGrades]:
    """What is set aside, for the manifest of a gold set, which names raters as its files do."""
    if numbers is not None:
        return [line.told(anonymous_label(numbers[line.rater_id])) for line in lines]
    return [line.told(line.name if raters is RaterColumns.NAMED else None) for line in lines]
