"""How far a project is from a gold set, and whether it can be exported."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.orm import Session

from annotation.errors import ExportError, UnfinishedError
from annotation.gold import ExportOptions, Unfinished
from annotation.services.gold_rows import count_unfinished, first_unfinished
from annotation.services.in_use import count_withdrawn
from db.models import Project


@dataclass(frozen=True, slots=True)
class GoldCounts:
    """How far a project is from a gold set."""

    pairs: int
    too_few_ratings: int
    not_adjudicated: int
    withdrawn: int = 0
    """Pairs that none of the other figures counts."""
    problems: int = 0
    """Pairs with a gold grade that a rater has marked as a problem."""
    reopened: int = 0
    """Pairs with a gold grade that are to be adjudicated again, a grade being younger than their decision."""

    @property
    def with_gold(self) -> int:
        return self.pairs - self.too_few_ratings - self.not_adjudicated


def checked_counts(session: Session, project: Project, options: ExportOptions) -> GoldCounts:
    """What an export would find.

    Raises:
        ExportError: it would be refused.
    """
    counts = GoldCounts(*count_unfinished(session, project))
    if not counts.pairs and (withdrawn := count_withdrawn(session, project.id)):
        raise ExportError(
            f"Project {project.name!r} has only withdrawn pairs ({withdrawn:,}): restore those that should "
            "count first."
        )
    if not counts.pairs:
        raise ExportError(f"Project {project.name!r} has no pairs yet: import some first.")
    missing = counts.pairs - counts.with_gold
    if missing and options.unfinished is Unfinished.REFUSE:
        raise UnfinishedError(_missing_text(counts, first_unfinished(session, project)))
    return counts


def _missing_text(counts: GoldCounts, first: tuple[str, str] | None) -> str:
    """How many pairs have no gold grade, the type and id of the first, and what they lack."""
    missing = counts.pairs - counts.with_gold
    have, it_is = ("has", "it is") if missing == 1 else ("have", "the first is")
    where = f", {it_is} {first[1]!r} ({first[0]})" if first else ""
    needs = ((counts.too_few_ratings, "ratings"), (counts.not_adjudicated, "a decision"))
    lacks = " and ".join(
        f"{count:,} {'lacks' if count == 1 else 'lack'} {what}" for count, what in needs if count
    )
    return f"{missing:,} of {counts.pairs:,} pairs {have} no gold grade yet{where}; {lacks}"
