"""Reading what was written down by `annotation.services.audit`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select

from db import Database
from db.models import AuditEvent, User


@dataclass(frozen=True, slots=True)
class Event:
    """Something that was done, and by whom; without a user it was done on the command line."""

    at: datetime
    action: str
    user: str | None
    detail: dict[str, Any]


class EventService:
    def __init__(self, database: Database) -> None:
        self._database = database

    def recent(self, project_id: int, limit: int = 50) -> list[Event]:
        """What was done in a project, the last thing first."""
        statement = (
            select(AuditEvent.at, AuditEvent.action, User.name, AuditEvent.detail)
            .outerjoin(User, User.id == AuditEvent.user_id)
            .where(AuditEvent.project_id == project_id)
            .order_by(AuditEvent.at.desc(), AuditEvent.id.desc())
            .limit(limit)
        )
        with self._database.reading() as session:
            return [Event(*row) for row in session.execute(statement)]
