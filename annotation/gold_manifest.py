"""The manifest of a gold set: what a reader must know of how it came about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from annotation.files.gold_files import task_stems
from annotation.gold import ExportOptions, Format
from annotation.scale import Point
from annotation.scale_words import scale_points
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
        files: name, bytes, SHA-256, rows and lines of each file, as `describe_files` has them.
    """
    return {
        "manifest_format": MANIFEST_FORMAT,
        "software": {"name": "kpdemo", "version": version},
        "project": settings.name,
        "protocol": {
            **_scale(settings),
            "guidelines": settings.guidelines,
            "guidelines_sha256": sha256(settings.guidelines.encode()).hexdigest(),
            "types": list(settings.types),
            "step": float(settings.step),
            "adjudication_threshold": None if settings.threshold is None else float(settings.threshold),
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
        "files": [{**file, **_type_of(str(file["name"]), settings, options)} for file in files],
    }


def _type_of(name: str, settings: ProjectSettings, options: ExportOptions) -> dict[str, str]:
    """The comparison type that a file of the task's layout is of: its name may only resemble it."""
    if options.format is not Format.SEMEVAL:
        return {}
    for type, stem in task_stems(settings.types).items():
        if name in (f"{stem}.input.tsv", f"{stem}.gs.tsv"):
            return {"type": type}
    return {}


def _scale(settings: ProjectSettings) -> dict[str, Any]:
    """The points in the words that raters read; those of types with others than the first under the types."""
    first, *others = settings.types
    common = scale_points(settings.scale_words, first)
    by_type = {type: scale_points(settings.scale_words, type) for type in others}
    different = {type: points for type, points in by_type.items() if points != common}
    words, told = settings.scale_words, {type: _told_points(points) for type, points in different.items()}
    return {
        "scale": _told_points(common),
        **({"scale_by_type": told} if told else {}),
        "scale_sha256": sha256(scale_text(common, different).encode()).hexdigest(),
        **({"scale_words": words, "scale_words_sha256": sha256(words.encode()).hexdigest()} if words else {}),
    }


def _told_points(points: Sequence[Point]) -> list[dict[str, Any]]:
    return [{"value": point.value, "name": point.name, "description": point.description} for point in points]


def scale_text(points: Sequence[Point], by_type: Mapping[str, Sequence[Point]] | None = None) -> str:
    """The scale as text, one point a line, for its hash: the protocol that raters were given.

    Args:
        points: as most types have them.
        by_type: as the others have them, each under a line with the type.
    """
    parts = [("", points), *((f"{type}\n", each) for type, each in (by_type or {}).items())]
    return "".join(
        head + "".join(f"{point.value}\t{point.name}\t{point.description}\n" for point in each)
        for head, each in parts
    )
