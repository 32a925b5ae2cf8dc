"""Gold sets of ours that hold no grade: exported before raters had graded enough."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from annotation.errors import ScoreFileError
from annotation.json_text import parse_json

_MANIFEST = "manifest.json"


def refuse_empty_export(path: Path) -> None:
    """Say of an exported folder, or of a file in one, that it was empty from the start.

    Raises:
        ScoreFileError: its manifest counts no gold grade.
    """
    folder = path if path.is_dir() else path.parent
    counts = _counts(folder / _MANIFEST)
    if counts.get("adjudicated") == 0 and counts.get("mean") == 0:
        raise ScoreFileError(
            f"{path}: an empty gold set, since no pair had a gold grade when it was exported; export it "
            "again once raters have graded enough."
        )


def _counts(manifest: Path) -> dict[str, Any]:
    try:
        found = parse_json(manifest.read_bytes())
    except (OSError, ValueError):
        return {}
    counts = found.get("counts") if isinstance(found, dict) and "manifest_format" in found else None
    return counts if isinstance(counts, dict) else {}
