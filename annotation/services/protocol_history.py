"""What of a project's protocol was changed, and how many grades there were by then: for the manifest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import exists, func, select
from sqlalchemy.orm import Session

from annotation.services.audit import PROJECT_CHANGED
from annotation.services.in_use import of_pair_in_use
from db.models import AuditEvent, Project, Rating, RatingChange

_NAMES = {
    "guidelines": "guidelines",
    "types": "types",
    "step": "step",
    "threshold": "adjudication_threshold",
    "raters_per_pair": "raters_per_pair",
    "is_random": "order",
    "seed": "seed",
    "may_revise": "may_revise",
    "most_per_rater": "most_per_rater",
}
"""What bears on grades, by what the manifest calls it."""


def protocol_history(session: Session, project: Project) -> dict[str, Any]:
    """`protocol_changes` of a manifest, the first first, with `earlier_guidelines` by their hashes.

    Nothing where none was changed. `ratings_before` are the grades that stand as they were before a change.
    """
    events = session.execute(
        select(AuditEvent.at, AuditEvent.detail)
        .where(AuditEvent.project_id == project.id, AuditEvent.action == PROJECT_CHANGED)
        .order_by(AuditEvent.id)
    )
    changes: list[dict[str, Any]] = []
    texts: dict[str, str] = {}
    for at, detail in events:
        told = list(_changes(detail))
        given = _ratings_before(session, project.id, at) if told else 0
        changes += [{"at": at.isoformat(), **change, "ratings_before": given} for change in told]
        guidelines = detail.get("before", {}).get("guidelines")
        if guidelines and guidelines["text"] != project.guidelines:
            texts[guidelines["sha256"]] = guidelines["text"]
    return {
        **({"protocol_changes": changes} if changes else {}),
        **({"earlier_guidelines": texts} if texts else {}),
    }


def _changes(detail: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Of an event; None stands for values that an earlier version did not keep."""
    sides = {side: detail.get(side) for side in ("before", "after")}
    for name in detail["settings"]:
        if name in _NAMES:
            values = {
                side: None if kept is None else _value(name, kept[name]) for side, kept in sides.items()
            }
            yield {"setting": _NAMES[name], **values}


def _value(name: str, value: Any) -> Any:
    if name == "guidelines":
        return value["sha256"]
    if name == "is_random":
        return "random" if value else "import"
    return value


def _ratings_before(session: Session, project_id: int, at: datetime) -> int:
    was_changed = exists().where(
        RatingChange.pair_id == Rating.pair_id,
        RatingChange.rater_id == Rating.rater_id,
        RatingChange.at >= at,
    )
    counted = select(func.count(Rating.id)).where(
        Rating.project_id == project_id,
        Rating.created_at < at,
        ~was_changed,
        of_pair_in_use(Rating.pair_id, project_id),
    )
    return session.scalar(counted) or 0
