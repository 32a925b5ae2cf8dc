"""A decision on a pair, within a transaction that has locked it: what stands in its way, what is written."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from sqlalchemy import select
from sqlalchemy.orm import Session

from annotation.adjudication import (
    NO_ADJUDICATION,
    AdjudicationError,
    ConflictError,
    HeldBackError,
    check_decision,
    conflict_sentence,
)
from annotation.clock import Clock
from annotation.services.adjudication_items import PairRecord
from annotation.services.pair_states import is_flagged, is_fully_rated
from annotation.services.rating.barring import bar
from annotation.services.rating.held_back import held_back_from
from annotation.types import Cause, from_quarters, to_quarters
from db.models import Adjudication, AdjudicationChange, Pair, Project


def decide_within(
    session: Session,
    pair: Pair,
    project: Project,
    record: PairRecord,
    by: int,
    grade: Decimal,
    cause: Cause,
    note: str,
    *,
    expected: str | None,
    clock: Clock,
) -> None:
    """Make `grade` the gold grade of a pair; `AdjudicationService.decide` has the arguments and errors.

    Args:
        record: of the pair, read since it was locked. Whether it is held back was asked before.
    """
    note = check_decision(grade, note, from_quarters(project.step_quarters))
    standing = record.standing
    wanted = (by, to_quarters(grade), cause.value, note)
    if standing is not None and _same(standing, wanted) and not record.is_changed:
        return  # the first click's answer was lost: saved already
    _refuse_withdrawn_pair(pair)
    _check_version(record, expected)
    if standing is None and (problem := unflagged_text(pair, project)):
        raise AdjudicationError(problem)
    at = _now(record, clock)
    if standing is None:
        standing = Adjudication(project_id=pair.project_id, pair_id=pair.id)
        session.add(standing)
    standing.adjudicator_id, standing.quarters, standing.cause, standing.note = wanted
    standing.decided_at = at
    session.add(_change(pair, at, *wanted))
    bar(session.connection(), pair, [by], at)


def undo_within(
    session: Session, pair: Pair, record: PairRecord, by: int, *, expected: str | None, clock: Clock
) -> None:
    """Take the decision on a pair back; `AdjudicationService.withdraw` has the arguments and errors."""
    _refuse_withdrawn_pair(pair)
    _check_version(record, expected)
    if record.standing is None:
        raise AdjudicationError("Nobody has decided on this pair: there is nothing to withdraw.")
    session.delete(record.standing)
    at = _now(record, clock)
    session.add(_change(pair, at, by, None, None, ""))
    bar(session.connection(), pair, [by], at)


def refuse_held_back(session: Session, pair: Pair, project: Project, viewer: int | None) -> None:
    if session.scalar(select(held_back_from(session, project, viewer)).where(Pair.id == pair.id)):
        raise HeldBackError(
            f"You may still grade the pair {pair.external_id!r}, so others' grades of it are hidden from you "
            "until then: go on with the next pair, or leave this one to another adjudicator."
        )


def _refuse_withdrawn_pair(pair: Pair) -> None:
    if pair.withdrawn_at is not None:
        raise AdjudicationError(
            f"The pair {pair.external_id!r} is withdrawn and needs no decision: go on with the next, or have "
            "an administrator restore it."
        )


def _check_version(record: PairRecord, expected: str | None) -> None:
    if expected is not None and expected != record.version:
        raise ConflictError(conflict_sentence(expected, record.version, record.last))


def unflagged_text(pair: Pair, project: Project) -> str:
    """Why the pair needs no decision; nothing where its ratings are far apart."""
    if is_flagged(project, pair):
        return ""
    if not is_fully_rated(project, pair):
        return (
            f"The pair {pair.external_id!r} has {pair.rating_count} of {project.raters_per_pair} ratings, "
            "none far apart: wait for the others."
        )
    if project.threshold_quarters is None:
        return NO_ADJUDICATION
    return (
        f"The ratings of this pair are {from_quarters(pair.spread_quarters)} apart, less than "
        f"{from_quarters(project.threshold_quarters)}: their mean is its gold grade."
    )


def _now(record: PairRecord, clock: Clock) -> datetime:
    """This moment, but not before the ratings that the decision is about: clocks differ."""
    return max(clock(), record.last_rated_at) if record.last_rated_at else clock()


def _same(standing: Adjudication, wanted: tuple[int, int, str, str]) -> bool:
    return wanted == (standing.adjudicator_id, standing.quarters, standing.cause, standing.note)


def _change(
    pair: Pair, at: datetime, by: int, quarters: int | None, cause: str | None, note: str
) -> AdjudicationChange:
    return AdjudicationChange(
        project_id=pair.project_id,
        pair_id=pair.id,
        adjudicator_id=by,
        quarters=quarters,
        cause=cause,
        note=note,
        at=at,
    )
