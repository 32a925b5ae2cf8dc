"""The manifest of a gold set: what a reader must know of how it came about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from annotation.gold import ExportOptions
from annotation.scale import CLSS_POINTS
from annotation.types import ProjectSettings

MANIFEST_FORMAT = 1


def manifest(
    settings: ProjectSettings,
    options: ExportOptions,
    *,
    version: str,
    counts: Mapping[str, Any],
    agreement: Mapping[str, Any] | None,
    files: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """What a reader of the gold set must know of how it came about. It holds no time of day.

    Args:
        settings: the project's.
        version: of this software.
        counts: of `Tally`.
        agreement: α with its intervals; None when it was not computed.
        files: name, bytes, SHA-256, rows and lines of each file.
    """
    return {
        "manifest_format": MANIFEST_FORMAT,
        "software": {"name": "kpdemo", "version": version},
        "project": settings.name,
        "protocol": {
            "scale": [
                {"value": point.value, "name": point.name, "description": point.description}
                for point in CLSS_POINTS
            ],
            "scale_sha256": sha256(scale_text().encode()).hexdigest(),
            "guidelines": settings.guidelines,
            "guidelines_sha256": sha256(settings.guidelines.encode()).hexdigest(),
            "types": list(settings.types),
            "step": float(settings.step),
            "adjudication_threshold": float(settings.threshold),
            "raters_per_pair": settings.raters_per_pair,
            "order": "random" if settings.is_random else "import",
            "seed": settings.seed,
            **({"most_per_rater": settings.most_per_rater} if settings.most_per_rater else {}),
            "gold": "the adjudicated grade, else the mean of the ratings, rounded half to even to 4 decimals",
        },
        "options": {
            "format": options.format.value,
            "unfinished": options.unfinished.value,
            "raters": options.raters.value,
            **({"comments": True} if options.comments else {}),
        },
        "counts": dict(counts),
        "agreement": None if agreement is None else dict(agreement),
        "files": [dict(file) for file in files],
    }


def scale_text() -> str:
    """The scale as text, one point a line, for its hash: the protocol that raters were given."""
    return "".join(f"{point.value}\t{point.name}\t{point.description}\n" for point in CLSS_POINTS)
