"""How far a project is from a gold set, and whether it can be exported."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import ColumnElement, and_, exists, func, or_, select
from sqlalchemy.orm import Session

from annotation.errors import ExportError, UnfinishedError
from annotation.gold import ExportOptions, Unfinished
from annotation.services.bulk import count_where
from annotation.services.in_use import IN_USE, count_withdrawn
from annotation.services.pair_states import HAS_DECISION, is_flagged, is_fully_rated, is_reopened
from db.models import Adjudication, Comment, Pair, Project


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


def count_gold(session: Session, project: Project) -> GoldCounts:
    """How many pairs have a gold grade, and what the others lack."""
    return GoldCounts(
        *_count_unfinished(session, project),
        count_withdrawn(session, project.id),
        count_problems(session, project),
        count_reopened(session, project),
    )


def checked_counts(session: Session, project: Project, options: ExportOptions) -> GoldCounts:
    """What an export would find.

    Raises:
        ExportError: it would be refused.
    """
    counts = GoldCounts(*_count_unfinished(session, project))
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


def count_problems(session: Session, project: Project) -> int:
    """How many pairs with a gold grade a rater has marked as a problem."""
    few, flagged = _lacks(project)
    marked = exists().where(Comment.pair_id == Pair.id, Comment.is_flagged)
    return count_where(session, Pair.project_id == project.id, IN_USE, ~few, ~flagged, marked)


def count_reopened(session: Session, project: Project) -> int:
    """How many flagged pairs have a decision that is older than one of their ratings."""
    counted = (
        select(func.count(Pair.id))
        .join(Adjudication, Adjudication.pair_id == Pair.id)
        .where(Pair.project_id == project.id, IN_USE, is_reopened(project))
    )
    return session.scalar(counted) or 0


def _count_unfinished(session: Session, project: Project) -> tuple[int, int, int]:
    """How many pairs there are, how many have too few ratings, how many are flagged and undecided."""
    few, flagged = _lacks(project)
    counted = select(func.count(), func.count().filter(few), func.count().filter(flagged))
    of_project = counted.where(Pair.project_id == project.id, IN_USE)
    pairs, without_ratings, without_decision = session.execute(of_project).one()
    return pairs, without_ratings, without_decision


def first_unfinished(session: Session, project: Project) -> tuple[str, str] | None:
    """Type and id of the first pair, in the order of import, without a gold grade."""
    row = session.execute(
        select(Pair.type, Pair.external_id)
        .where(Pair.project_id == project.id, IN_USE, or_(*_lacks(project)))
        .order_by(Pair.import_order)
        .limit(1)
    ).first()
    return None if row is None else (row.type, row.external_id)


def _lacks(project: Project) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """`annotation.gold.GoldStanding.reason` for a query: an unfinished pair meets one of the two."""
    few, enough = ~is_fully_rated(project), is_fully_rated(project)
    return and_(~HAS_DECISION, few), and_(~HAS_DECISION, enough, is_flagged(project))
