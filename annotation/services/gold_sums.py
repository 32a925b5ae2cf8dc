"""All that gold grades depend on, pair by pair, summed by the database: no single rating is read."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row, Select, func, select

from annotation.gold import GoldStanding
from annotation.services.bulk import AT_ONCE
from annotation.services.in_use import IN_USE
from annotation.types import from_quarters
from db.models import Adjudication, Pair, Rating


def pairs_with_sums(project_id: int, *columns: Any) -> Select[*tuple[Any, ...]]:
    """These columns of every pair that is not withdrawn, in the order of import; of each row there is a
    `standing_in`."""
    # For each pair by itself: before PostgreSQL has counted new rows it would go through all sums for each.
    summed = (
        select(func.sum(Rating.quarters)).where(Rating.pair_id == Pair.id).correlate(Pair).scalar_subquery()
    )
    return (
        select(
            *columns,
            Pair.rating_count,
            Pair.spread_quarters,
            summed.label("sum"),
            Adjudication.quarters.label("decided"),
        )
        .select_from(Pair)
        .outerjoin(Adjudication, Adjudication.pair_id == Pair.id)
        .where(Pair.project_id == project_id, IN_USE)
        .order_by(Pair.import_order)
        .execution_options(yield_per=AT_ONCE)
    )


def standing_in(row: Row[Any]) -> GoldStanding:
    """Of a row with `rating_count`, `spread_quarters`, `sum` and `decided`."""
    return GoldStanding(
        decided=None if row.decided is None else from_quarters(row.decided),
        ratings=row.rating_count,
        total=from_quarters(int(row.sum or 0)),
        spread=from_quarters(row.spread_quarters),
    )
