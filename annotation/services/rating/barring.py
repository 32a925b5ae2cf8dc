"""Who may not grade a pair, since they wrote it, saw its requested grade or decided on it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from sqlalchemy import Connection, bindparam
from sqlalchemy.dialects import sqlite

from annotation.services.bulk import per_system
from annotation.services.rating.desk import ASSIGNMENTS, BARRED, in_states
from db.models import Pair


def bar(connection: Connection, pair: Pair, users: Iterable[int], now: datetime) -> None:
    """Keep users from ever grading a pair; whoever has graded or holds it goes on.

    The row of the pair is locked, or new.
    """
    whose = {"project_id": pair.project_id, "pair_id": pair.id, "position": pair.position, "claimed_at": now}
    for user_id in sorted(set(users)):
        connection.execute(_BAR[connection.dialect.name], {**whose, "rater_id": user_id})


def _barring(insert: sqlite.Insert) -> sqlite.Insert:
    names = ("project_id", "pair_id", "rater_id", "position", "claimed_at")
    return insert.values(
        {name: bindparam(name) for name in names} | {"state": BARRED, "lease_expires_at": None}
    ).on_conflict_do_update(
        index_elements=["pair_id", "rater_id"],
        set_={"state": BARRED, "lease_expires_at": None},
        where=in_states("skipped", "returned"),
    )


_BAR = per_system(ASSIGNMENTS, _barring)
