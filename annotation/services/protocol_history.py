"""What of a project's protocol was changed, and how many grades there were by then: for the manifest."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import and_, func, select
from sqlalchemy.orm import Session

from annotation.services.audit import PROJECT_CHANGED
from annotation.services.in_use import of_pair_in_use
from annotation.setting_changes import LONG_TEXTS
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
    "consent": "consent",
    "scale_words": "scale_words",
}
"""Settings that bear on grades, or on who gives them, and what the manifest calls them."""


def protocol_history(session: Session, project: Project) -> dict[str, Any]:
    """`protocol_changes` of a manifest, the earliest first, and the texts before them by their hashes.

    The texts are `earlier_guidelines`, `earlier_consent` and `earlier_scale_words`. Nothing where none was
    changed. `ratings_before` are the grades that stand as they were before a change.
    """
    events = session.execute(
        select(AuditEvent.at, AuditEvent.detail)
        .where(AuditEvent.project_id == project.id, AuditEvent.action == PROJECT_CHANGED)
        .order_by(AuditEvent.id)
    )
    changes: list[dict[str, Any]] = []
    earlier: dict[str, dict[str, str]] = {name: {} for name in LONG_TEXTS}
    moments: list[datetime] | None = None
    for at, detail in events:
        told = list(_changes(detail))
        if told and moments is None:
            moments = _moments(session, project.id)
        given = bisect_left(moments or (), at)
        changes += [{"at": at.isoformat(), **change, "ratings_before": given} for change in told]
        for name, texts in earlier.items():
            told = detail.get("before", {}).get(name)
            if told and told["text"] != (getattr(project, name) or ""):
                texts[told["sha256"]] = told["text"]
    return {
        **({"protocol_changes": changes} if changes else {}),
        **{f"earlier_{name}": texts for name, texts in earlier.items() if texts},
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
    if name in LONG_TEXTS:
        return value["sha256"]
    if name == "is_random":
        return "random" if value else "import"
    return value


def _moments(session: Session, project_id: int) -> list[datetime]:
    """When each grade in force was given, or last changed, the earliest first."""
    change = and_(RatingChange.pair_id == Rating.pair_id, RatingChange.rater_id == Rating.rater_id)
    rows = session.execute(
        select(Rating.created_at, func.max(RatingChange.at))
        .outerjoin(RatingChange, change)
        .where(Rating.project_id == project_id, of_pair_in_use(Rating.pair_id, project_id))
        .group_by(Rating.id)
    )
    return sorted(max(given, changed or given) for given, changed in rows)
