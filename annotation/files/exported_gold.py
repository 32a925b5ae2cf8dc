"""What the manifest of an exported gold set says of its files."""

from __future__ import annotations

from hashlib import file_digest
from pathlib import Path
from typing import Any

from annotation.errors import ScoreFileError
from annotation.files.json_text import parse_json

MANIFEST = "manifest.json"


def refuse_empty_export(path: Path) -> None:
    """Refuse an exported folder, or a file in one, that was empty from the start.

    Raises:
        ScoreFileError: its manifest counts no gold grade, since it was exported before there were any.
    """
    counts = read_manifest(path if path.is_dir() else path.parent).get("counts")
    if isinstance(counts, dict) and counts.get("adjudicated") == 0 and counts.get("mean") == 0:
        raise ScoreFileError(
            f"{path}: an empty gold set, since no pair had a gold grade when it was exported; export it "
            "again once raters have graded enough."
        )


def undecided_pairs(folder: Path) -> int:
    """How many flagged pairs without a decision an export into the folder left out of its gold grades."""
    counts = read_manifest(folder).get("counts")
    undecided = counts.get("not_adjudicated") if isinstance(counts, dict) else None
    return undecided if isinstance(undecided, int) else 0


def is_exported(file: Path) -> bool:
    """Whether the manifest beside a file names it."""
    return _described(file) is not None


def exported_type(file: Path) -> str | None:
    """The comparison type that the manifest beside a file gives it; None where it gives none."""
    type = (_described(file) or {}).get("type")
    return type if isinstance(type, str) else None


def is_changed(file: Path) -> bool:
    """Whether a file no longer has the hash in the manifest beside it."""
    described = _described(file)
    if described is None or "sha256" not in described:
        return False
    with file.open("rb") as stream:
        return file_digest(stream, "sha256").hexdigest() != str(described["sha256"])


def _described(file: Path) -> dict[str, Any] | None:
    """What the manifest beside a file says of it; None where it does not name it."""
    files = read_manifest(file.parent).get("files")
    for one in files if isinstance(files, list) else ():
        if isinstance(one, dict) and one.get("name") == file.name:
            return one
    return None


def read_manifest(folder: Path) -> dict[str, Any]:
    """What the manifest in the folder says; empty where there is none of ours."""
    try:
        found = parse_json((folder / MANIFEST).read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) and "manifest_format" in found else {}
