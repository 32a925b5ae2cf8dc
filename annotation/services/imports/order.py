"""The order in which things came into a project."""

from __future__ import annotations

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from db.models import LargerItem, Pair, TrainingPair


def next_order(session: Session, table: type[Pair | LargerItem | TrainingPair], project_id: int) -> int:
    """The number of the next one in a project, from 0; the row of the project is locked."""
    last = session.scalar(select(func.max(table.import_order)).where(table.project_id == project_id))
    return 0 if last is None else last + 1
