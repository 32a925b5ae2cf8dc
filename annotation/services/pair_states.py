"""How far a pair is: whether it is fully rated, flagged, decided, and open again.

`project` is the row of a project or, in a query that joins it, the class `Project`.
"""

from __future__ import annotations

from typing import overload

from sqlalchemy import ColumnElement, and_, exists, false, or_

from db.models import Adjudication, Pair, Project, Rating

CHANGED = exists().where(Rating.pair_id == Adjudication.pair_id, Rating.updated_at > Adjudication.decided_at)
"""Of a decision: a rating came after it. While the pair is flagged it is open again."""
HAS_DECISION = exists().where(Adjudication.pair_id == Pair.id).correlate(Pair)
"""Of a pair, also of one that is open again."""


@overload
def is_flagged(project: Project, pair: Pair) -> bool: ...
@overload
def is_flagged(project: Project | type[Project]) -> ColumnElement[bool]: ...
def is_flagged(
    project: Project | type[Project], pair: Pair | type[Pair] = Pair
) -> bool | ColumnElement[bool]:
    """Its ratings are so far apart that it needs a decision, or has one; never without adjudication."""
    threshold = project.threshold_quarters
    if threshold is None:
        return false() if pair is Pair else False
    return pair.spread_quarters >= threshold


@overload
def is_fully_rated(project: Project, pair: Pair) -> bool: ...
@overload
def is_fully_rated(project: Project | type[Project]) -> ColumnElement[bool]: ...
def is_fully_rated(
    project: Project | type[Project], pair: Pair | type[Pair] = Pair
) -> bool | ColumnElement[bool]:
    """It has all the ratings that the project asks for."""
    return pair.rating_count >= project.raters_per_pair


def is_reopened(project: Project | type[Project]) -> ColumnElement[bool]:
    """Of a pair with its decision, which a query joins."""
    return and_(is_flagged(project), CHANGED)


def is_open(project: Project | type[Project]) -> ColumnElement[bool]:
    """It waits for a decision; a query joins the decisions, of which most pairs have none."""
    return and_(is_flagged(project), or_(Adjudication.id.is_(None), CHANGED))


def is_decided(project: Project) -> ColumnElement[bool]:
    """It has a decision that stands, where a query joins neither decisions nor projects."""
    return exists().where(Adjudication.pair_id == Pair.id, ~is_reopened(project)).correlate(Pair)
