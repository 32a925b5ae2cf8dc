"""What a pair counts of its ratings and assignments, kept in the transaction that changes them."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import ColumnElement, Connection, Update, bindparam, func, select, update
from sqlalchemy.orm import Session

from annotation.services.bulk import parts
from annotation.services.rating.desk import ASSIGNMENTS, PAIRS, PROJECTS, RATINGS, in_states

TAKES_A_SLOT = ("held", "rated")


def refresh_pairs(session: Session, pair_ids: Iterable[int]) -> None:
    """Count ratings, lowest, highest, spread and open slots of these pairs anew.

    Call it after the ratings and assignments are flushed, with the row of the project locked: an import
    calls it for one part after another, and only within one are pairs locked in the order of their ids. Who
    does not lock the project locks one pair at a time. A pair with more raters than its project has for a
    pair breaks a CHECK: refuse it before.
    """
    ids = sorted(set(pair_ids))
    session.flush()
    connection = session.connection()
    for part in parts(ids):
        chosen = {"ids": part}
        connection.execute(_LOCK, chosen)
        connection.execute(_COUNT, chosen)


def recount(connection: Connection, pair_id: int) -> None:
    """The same for one pair whose row is locked already."""
    connection.execute(_COUNT_ONE, {"pair": pair_id})


def _count_anew(chosen: ColumnElement[bool]) -> Update:
    low, high = func.min(RATINGS.c.quarters), func.max(RATINGS.c.quarters)

    def of_its_ratings(value: ColumnElement[int]) -> ColumnElement[int]:
        return select(value).where(RATINGS.c.pair_id == PAIRS.c.id).correlate(PAIRS).scalar_subquery()

    taken = (
        select(func.count())
        .where(ASSIGNMENTS.c.pair_id == PAIRS.c.id, in_states(*TAKES_A_SLOT))
        .correlate(PAIRS)
        .scalar_subquery()
    )
    raters = select(PROJECTS.c.raters_per_pair).where(PROJECTS.c.id == PAIRS.c.project_id)
    return (
        update(PAIRS)
        .where(chosen)
        .values(
            rating_count=of_its_ratings(func.count()),
            low_quarters=of_its_ratings(low),
            high_quarters=of_its_ratings(high),
            spread_quarters=of_its_ratings(func.coalesce(high - low, 0)),
            open_slots=raters.correlate(PAIRS).scalar_subquery() - taken,
        )
    )


_CHOSEN = PAIRS.c.id.in_(bindparam("ids", expanding=True))
_LOCK = select(PAIRS.c.id).where(_CHOSEN).order_by(PAIRS.c.id).with_for_update(key_share=True)
_COUNT = _count_anew(_CHOSEN)
_COUNT_ONE = _count_anew(PAIRS.c.id == bindparam("pair"))
