"""Which pairs count: all of a project but those that are withdrawn.

A withdrawn pair keeps its grades, decisions and remarks. Whatever hands out, counts, measures or exports
pairs asks `IN_USE`; what keeps a project whole (settings, imports, ids and texts that are taken) does not, so
that the pair can be restored.
"""

from __future__ import annotations

from typing import Any, cast

from sqlalchemy import ColumnElement, Table, select
from sqlalchemy.orm import Session

from annotation.services.bulk import count_where
from db.models import Pair

_PAIRS = cast(Table, Pair.__table__)
IN_USE: ColumnElement[bool] = _PAIRS.c.withdrawn_at.is_(None)
"""Of a pair; the indexes of what is counted have its column."""


def of_pair_in_use(pair_id: Any, project_id: int) -> ColumnElement[bool]:
    """Of a row of the project that refers to a pair, where the pair itself is not read.

    Args:
        pair_id: its column.
    """
    withdrawn = select(_PAIRS.c.id).where(_PAIRS.c.project_id == project_id, ~IN_USE)
    return cast(ColumnElement[bool], pair_id.not_in(withdrawn))


def count_withdrawn(session: Session, project_id: int) -> int:
    return count_where(session, _PAIRS.c.project_id == project_id, ~IN_USE)
