"""Who did what: one row in the same transaction as the change."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from annotation.wording import clean_text
from db.models import AuditEvent

PROJECT_CREATED, PROJECT_CHANGED = NAMES_PROJECT = ("project created", "project changed")
"""What gives a project a name."""
FORMER_NAME = "former_name"
"""Where events keep what a project or an account was called before."""
ACCOUNT_ADDED = "account added"
PAIRS_REMOVED, PAIRS_WITHDRAWN, PAIRS_RESTORED = PAIRS_CHANGED = (
    "pairs removed",
    "pairs withdrawn",
    "pairs restored",
)
"""What changes which pairs count."""
GRADES_EXCLUDED, GRADES_RESTORED = GRADES_CHANGED = ("grades set aside", "grades brought back")
"""What changes which grades count, but for single ones."""


def record(
    session: Session,
    at: datetime,
    action: str,
    *,
    user_id: int | None = None,
    project_id: int | None = None,
    **detail: Any,
) -> None:
    """Write down that `action`, such as "project created", was done.

    Args:
        session: the transaction of the change itself.
        at: when.
        action: what, at most 40 characters.
        user_id: who; None stands for the command line.
        project_id: where; None stands for the server.
        detail: what JSON can hold; there is a sign for what UTF-8 cannot, as in names of files.
    """
    kept = clean_detail(detail)
    session.add(AuditEvent(at=at, user_id=user_id, project_id=project_id, action=action, detail=kept))


def record_account(
    session: Session, at: datetime, name: str, *, by: int | None, is_administrator: bool = False
) -> None:
    """Write down that an account was made, which is the server's, also where a project needed it."""
    record(session, at, ACCOUNT_ADDED, user_id=by, name=name, is_administrator=is_administrator)


def clean_detail(detail: Any) -> Any:
    """The same with every text as `clean_text` has it."""
    if isinstance(detail, str):
        return clean_text(detail)
    if isinstance(detail, dict):
        return {name: clean_detail(value) for name, value in detail.items()}
    return [clean_detail(value) for value in detail] if isinstance(detail, list | tuple) else detail
