"""The queue of pairs whose raters disagree, as statements: its parts, its order, its counts."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Row, Select, and_, func, select
from sqlalchemy.orm import Session

from annotation.adjudication import QueueEntry, Which
from annotation.characters import beginning
from annotation.senses.pair_senses import senses_from_json
from annotation.services.beginnings import beginning_of
from annotation.services.bulk import count_where
from annotation.services.in_use import IN_USE
from annotation.services.pair_states import CHANGED, is_flagged, is_open, is_reopened
from annotation.types import from_quarters
from db.models import Adjudication, Pair, Project

ORDER: tuple[Any, ...] = (-Pair.spread_quarters, Pair.position, Pair.id)


class AdjudicationQueue:
    """The pairs of a project that are flagged or decided, and the conditions of its parts.

    Args:
        held_back: of a pair, whether it is left out; see `rating.held_back`.
    """

    def __init__(self, project: Project, held_back: ColumnElement[bool]) -> None:
        flagged = is_flagged(project)
        self.open = is_open(project)
        self.decided = and_(Adjudication.id.is_not(None), ~is_reopened(project))
        # Most pairs are neither, and their texts make the table long: both kinds are found by an index.
        of_flagged = select(Pair.id).where(Pair.project_id == project.id, flagged)
        of_decided = select(Adjudication.pair_id).where(Adjudication.project_id == project.id)
        within = and_(Pair.id.in_(of_flagged.union(of_decided)), IN_USE)
        self._within, self._left_out = and_(within, ~held_back), and_(within, held_back)

    def select(self, *columns: Any, which: Which = Which.ALL, type: str | None = None) -> Select[Any]:
        """`columns` of the pairs, with their decisions."""
        statement = (
            select(*columns)
            .select_from(Pair)
            .outerjoin(Adjudication, Adjudication.pair_id == Pair.id)
            .where(self._within)
        )
        if which is not Which.ALL:
            statement = statement.where(self.open if which is Which.OPEN else self.decided)
        return statement if type is None else statement.where(Pair.type == type)

    def entries(self, which: Which, type: str | None) -> Select[Any]:
        """The pairs in order, for `entry_of`."""
        columns = (
            Pair.id,
            Pair.external_id,
            Pair.type,
            beginning_of(Pair.left),
            beginning_of(Pair.right),
            Pair.senses,
            Pair.spread_quarters,
            Pair.rating_count,
            Adjudication.quarters,
            self.open.label("is_open"),
            and_(Adjudication.id.is_not(None), CHANGED).label("is_changed"),
        )
        return self.select(*columns, which=which, type=type).order_by(*ORDER)

    def counts(self, session: Session, type: str | None) -> dict[Which, int]:
        """How many pairs each part has."""
        both = (func.count().filter(part) for part in (self.open, self.decided))
        opened, decided = session.execute(self.select(*both, type=type)).one()
        return {Which.OPEN: opened, Which.DECIDED: decided, Which.ALL: opened + decided}

    def count_held_back(self, session: Session) -> int:
        """How many pairs of all types are left out."""
        return count_where(session, self._left_out)


def entry_of(row: Row[Any], threshold: int | None) -> QueueEntry:
    """A row of `AdjudicationQueue.entries`."""
    return QueueEntry(
        pair_id=row.id,
        external_id=row.external_id,
        type=row.type,
        left=beginning(row.left),
        right=beginning(row.right),
        spread=from_quarters(row.spread_quarters),
        ratings=row.rating_count,
        is_flagged=threshold is not None and row.spread_quarters >= threshold,
        is_open=row.is_open,
        decided=None if row.quarters is None else from_quarters(row.quarters),
        is_changed=row.is_changed,
        senses=senses_from_json(row.senses),
    )
