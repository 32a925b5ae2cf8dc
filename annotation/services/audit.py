"""Who did what: one row in the transaction of the change, and reading them with the history of decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby, islice
from typing import Any

from sqlalchemy import ColumnElement, and_, select
from sqlalchemy.orm import Session

from annotation.scale import Scale
from annotation.services.project_rows import find_project, scale_of
from annotation.services.rater_queue import held_back_from
from annotation.translation import _
from annotation.wording import clean_text
from db import Database
from db.models import AdjudicationChange, AuditEvent, Pair, Project, User

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
SENSES_DESCRIBED = "senses described"
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


DECIDED = "pair decided"
DECISION_WITHDRAWN = "decision withdrawn"
MOST_DECISIONS = 500
"""At least so many of the newest are read: those of an adjudicator in a row are one event."""
_NAMED = 5
USUAL_LIMIT = 50
SERVER_ACTIONS = (
    *(ACCOUNT_ADDED, "account renamed", "account disabled", "account enabled"),
    *("token made", "token revoked"),
    *("administrator made", "administrator unmade"),
    *("password set", "password changed", "signed out everywhere", "server set up", "project deleted"),
    *("invitation made", "invitation revoked", "invitation used"),
)
"""What is done outside projects; other events without a project are of one that was deleted."""


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

    def recent(self, project_id: int, limit: int = USUAL_LIMIT, *, viewer: int | None = None) -> list[Event]:
        """What was done in a project, the last thing first; decisions in a row of one adjudicator are one.

        Args:
            viewer: who looks; of pairs that are held back from them neither grade nor cause is told.

        Raises:
            NotFoundError: there is no such project.
        """
        with self._database.reading() as session:
            most = max(MOST_DECISIONS, limit)
            decisions = _read_decisions(session, find_project(session, project_id), viewer, most)
            events = [*_read_recorded(session, AuditEvent.project_id == project_id, limit), *decisions]
        oldest = decisions[-1] if len(decisions) == most else None
        events.sort(key=lambda event: event.at, reverse=True)
        runs = groupby(events, key=lambda event: (event.action, event.user))
        found = (event for (action, _), run in runs for event in _fold_decisions(action, list(run), oldest))
        return list(islice(found, limit))

    def of_server(self, limit: int = USUAL_LIMIT) -> list[Event]:
        """What was done outside projects, the last thing first: accounts, passwords, deleted projects."""
        outside = and_(AuditEvent.project_id.is_(None), AuditEvent.action.in_(SERVER_ACTIONS))
        with self._database.reading() as session:
            return _read_recorded(session, outside, limit)


def _read_recorded(session: Session, which: ColumnElement[bool], limit: int) -> list[Event]:
    statement = (
        select(AuditEvent.at, AuditEvent.action, User.name, AuditEvent.detail)
        .outerjoin(User, User.id == AuditEvent.user_id)
        .where(which)
        .order_by(AuditEvent.at.desc(), AuditEvent.id.desc())
        .limit(limit)
    )
    rows = session.execute(statement)
    return [Event(at, action, user, clean_detail(detail)) for at, action, user, detail in rows]


def _read_decisions(session: Session, project: Project, viewer: int | None, most: int) -> list[Event]:
    change = AdjudicationChange
    held_back = held_back_from(session, project, viewer)
    statement = (
        select(change.at, User.name, Pair.external_id, change.quarters, change.cause, held_back)
        .join(User, User.id == change.adjudicator_id)
        .join(Pair, Pair.id == change.pair_id)
        .where(change.project_id == project.id)
        .order_by(change.at.desc(), change.id.desc())
        .limit(most)
    )
    scale = scale_of(project)
    return [_decision(*row, scale) for row in session.execute(statement)]


def _decision(
    at: datetime,
    user: str,
    pair: str,
    quarters: int | None,
    cause: str | None,
    is_held_back: bool,
    scale: Scale,
) -> Event:
    if quarters is None:
        return Event(at, DECISION_WITHDRAWN, user, {"pair": pair})
    if is_held_back:
        return Event(at, DECIDED, user, {"pair": pair})
    grade = str(scale.from_steps(quarters))
    return Event(at, DECIDED, user, {"pair": pair, "grade": grade, "cause": cause})


def _fold_decisions(action: str, run: Sequence[Event], oldest: Event | None) -> Sequence[Event]:
    """A run of decisions as one event, at the time of the last, which names some of the pairs.

    Args:
        oldest: the first decision that was read, where there may be earlier ones.
    """
    if action not in (DECIDED, DECISION_WITHDRAWN) or len(run) == 1:
        return run
    last = {event.detail["pair"]: event.detail for event in reversed(run)}
    of_pairs = [last[pair] for pair in dict.fromkeys(event.detail["pair"] for event in run)]
    named: list[Any] = of_pairs[:_NAMED] if action == DECIDED else [one["pair"] for one in of_pairs[:_NAMED]]
    named += ["…"] if len(of_pairs) > _NAMED else []
    times = _("{count} or more", count=len(run)) if run[-1] is oldest else len(run)
    told = "decisions" if action == DECIDED else "pairs"
    return [Event(run[0].at, action, run[0].user, {"times": times, told: named})]
