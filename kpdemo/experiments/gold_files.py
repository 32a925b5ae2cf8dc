"""Figures of a model on several gold files, measured by one call or by many."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from kpdemo.experiments.results import Result
from kpdemo.reading.file_kinds import plain_name
from kpdemo.sums import sha256_of

_DECISIVE = ("model", "identity", "passages", "index")
"""What figures on other files must share with the new ones to be kept beside them."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class GoldFile:
    """The identity of a gold file.

    Attributes:
        folder: the name of its folder, without those above it.
        name: of the file.
        sha256: of its content. Figures of earlier versions lack it ("") and, but for files that shared a
            name, the folder.
    """

    folder: str
    name: str
    sha256: str

    @classmethod
    def of(cls, path: Path) -> GoldFile:
        return cls(path.resolve().parent.name, path.name, sha256_of(path))

    @property
    def dataset(self) -> str:
        return plain_name(Path(self.name))

    def replaces(self, stored: GoldFile) -> bool:
        """Whether what is stored of the other file gives way to figures on this one.

        It does where both have the same content, and where the other was here, or may have been.
        """
        if stored.sha256 and self.sha256 == stored.sha256:
            return True
        told_folder = stored.folder or (self.folder if not stored.sha256 else "")
        return (self.folder, self.dataset) == (told_folder, stored.dataset)


def command_files(files: Sequence[GoldFile]) -> list[str]:
    """The files as a command names them: with their folders where they share a name."""
    return _told_apart(files, [file.name for file in files])


def joined(result: Result, stored: Result | None) -> Result:
    """The figures with those on other files that were stored for the same model and passages.

    All are renamed, as if one call had measured them.
    """
    if stored is None or any(stored.get(key) != result.get(key) for key in _DECISIVE):
        return result
    entries = _entries(_gold(stored), _gold(result))
    files = [file for file, _, _ in entries]
    names = _told_apart(files, [file.dataset for file in files])

    def named(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
        chosen = [
            (name, now if new else before, key) for name, (_, key, new) in zip(names, entries, strict=True)
        ]
        return {name: figures[key] for name, figures, key in chosen if key in figures}

    found: Result = {
        kind: named(stored.get(kind, {}), result[kind]) for kind in ("datasets", "spaces") if kind in result
    }
    if "sources" in result:
        before, now = stored.get("sources", {}), result["sources"]
        found["sources"] = {
            source: named(before.get(source, {}), now.get(source, {}))
            for source in dict.fromkeys([*before, *now])
        }
    machines = dict.fromkeys([*stored.get("machine", "").split(" and "), result["machine"]])
    told = {
        "files": command_files(files),
        "gold": {name: asdict(file) for name, file in zip(names, files, strict=True)},
        "machine": " and ".join(filter(None, machines)),
    }
    return result | found | told


def _entries(before: Mapping[str, GoldFile], now: Mapping[str, GoldFile]) -> list[tuple[GoldFile, str, bool]]:
    """Each file, the name that its figures have, and whether they are new.

    New ones take the place of what they replace.
    """
    entries: dict[GoldFile, tuple[str, bool]] = {}
    for name, stored in before.items():
        own = next(((new, file) for new, file in now.items() if file.replaces(stored)), None)
        if own is None:
            entries[stored] = name, False
            continue
        entries[own[1]] = own[0], True
        if own[1].sha256 != stored.sha256:
            logger.warning("%s", _replaced(name, stored))
    entries |= {file: (name, True) for name, file in now.items()}
    return [(file, name, new) for file, (name, new) in entries.items()]


def _told_apart(files: Sequence[GoldFile], names: Sequence[str]) -> list[str]:
    """The names, with their folders where several files are of one dataset's name."""
    times = Counter(file.dataset for file in files)
    return [
        f"{file.folder}/{name}" if times[file.dataset] > 1 and file.folder else name
        for file, name in zip(files, names, strict=True)
    ]


def _gold(result: Result) -> dict[str, GoldFile]:
    """The file of each dataset; of earlier versions what their commands tell."""
    if "gold" in result:
        return {name: GoldFile(**file) for name, file in result["gold"].items()}
    paths = map(PurePosixPath, result.get("files", ()))
    files = [GoldFile(path.parent.name, path.name, "") for path in paths]
    return {f"{file.folder}/{file.dataset}" if file.folder else file.dataset: file for file in files}


def _replaced(name: str, file: GoldFile) -> str:
    whose = "another file of that name and folder" if file.sha256 else "a file whose content was not stored"
    return f"The stored figures of {name} are from {whose}: they are replaced."
