"""Which of the files that a manifest names hold gold grades."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotation.gold import Format

_UNFINISHED = "unfinished."


def gold_files(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What the manifest says of them; in the layout of SemEval the texts of a type, then its grades."""
    files = [file for file in manifest["files"] if not is_unfinished(file["name"], manifest)]
    return sorted(files, key=lambda file: (stem_of(file["name"]), ".gs." in file["name"]))


def is_unfinished(name: str, manifest: Mapping[str, Any]) -> bool:
    """Whether it lists the pairs without a gold grade; a type may be called "unfinished" too."""
    format = Format(manifest["options"]["format"])
    return name == f"{_UNFINISHED}{'tsv' if format is Format.SEMEVAL else format.value}"


def stem_of(name: str) -> str:
    """What the files of a type have in common: phrase2word of phrase2word.gs.tsv."""
    return name.removesuffix(".input.tsv").removesuffix(".gs.tsv")
