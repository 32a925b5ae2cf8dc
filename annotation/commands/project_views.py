"""What the commands of projects show of one: its settings and how far it is."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from annotation.projects import GroupCounts, Member, ProjectCounts
from annotation.scale_words import read_scale_words
from annotation.types import Project, ProjectSettings


class Order(StrEnum):
    RANDOM = "random"
    FILE = "file"


def most_text(settings: ProjectSettings) -> str:
    return "no limit" if settings.most_per_rater is None else f"{settings.most_per_rater:,}"


def settings_rows(settings: ProjectSettings) -> list[list[str]]:
    return [
        ["Comparison types", ", ".join(settings.types)],
        ["Raters per pair", str(settings.raters_per_pair)],
        ["Most pairs per rater", most_text(settings)],
        ["Flagged from", "no adjudication" if settings.threshold is None else str(settings.threshold)],
        ["Step", str(settings.step)],
        ["Order", "random" if settings.is_random else "as in the file"],
        ["Seed", str(settings.seed)],
        ["Raters may revise", "yes" if settings.may_revise else "no"],
        ["Lease", f"{settings.lease_minutes} minutes"],
        ["Guidelines", length_text(settings.guidelines)],
        ["Consent text", length_text(settings.consent)],
        ["Words of the scale", whose_words(settings)],
    ]


def length_text(text: str) -> str:
    return f"{len(text):,} characters" if text else "none"


def whose_words(settings: ProjectSettings) -> str:
    """Whose words the points of the scale have."""
    types = [type or "all types" for type in read_scale_words(settings.scale_words)]
    if not types:
        return "of SemEval-2014 Task 3"
    return f"own, of {', '.join(types)}"


def project_json(project: Project) -> dict[str, Any]:
    settings = project.settings
    return {
        "id": project.id,
        "name": project.name,
        "types": list(settings.types),
        "guidelines": settings.guidelines,
        "raters_per_pair": settings.raters_per_pair,
        "threshold": None if settings.threshold is None else float(settings.threshold),
        "step": float(settings.step),
        "order": (Order.RANDOM if settings.is_random else Order.FILE).value,
        "seed": settings.seed,
        "may_revise": settings.may_revise,
        "lease_minutes": settings.lease_minutes,
        "most_per_rater": settings.most_per_rater,
        "consent": settings.consent,
        "scale_words": settings.scale_words,
        "created_at": project.created_at.isoformat(),
    }


def totals(counts: ProjectCounts | GroupCounts) -> dict[str, int]:
    return {
        "pairs": counts.pairs,
        "ratings": counts.ratings,
        "finished": counts.finished,
        "flagged": counts.flagged,
    }


def total_cells(counts: ProjectCounts | GroupCounts) -> list[str]:
    return [f"{figure:,}" for figure in totals(counts).values()]


def roles_of(member: Member) -> list[str]:
    return sorted(role.value for role in member.roles)
