"""Results as JSON files in a folder, one for each thing that was measured, by one call or by many."""

from __future__ import annotations

import json
import logging
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, NoReturn

from kpdemo.errors import ConfigError, InputError
from kpdemo.identity import sha256_of
from kpdemo.io.files import parse_json, plain_name, replace_file

Result = dict[str, Any]
_ODD = re.compile(r"[^\w.-]+")


@dataclass(frozen=True)
class Results:
    """Attributes:
    folder: is made when the first result is written.
    """

    folder: Path

    @property
    def page(self) -> Path:
        """The Markdown page that is written from them, next to the folder."""
        return self.folder.with_name(f"{self.folder.name}.md")

    def read(self, name: str, identity: str) -> Result | None:
        """What was stored under a name; None when there is nothing.

        Raises:
            ConfigError: it was made with other settings, by its `identity`.
        """
        result = self.stored(name)
        if result is not None and result.get("identity") != identity:
            raise ConfigError(
                f"{self._path(name)} was measured with other settings: give another --output, or delete it."
            )
        return result

    def stored(self, name: str) -> Result | None:
        """What was stored under a name, with whatever settings; None when there is nothing."""
        path = self._path(name)
        return _load(path) if path.is_file() else None

    def write(self, name: str, result: Result) -> None:
        text = json.dumps(result, indent=1, ensure_ascii=False) + "\n"
        replace_file(self._path(name), text.encode())

    def of_kind(self, kind: str) -> Iterator[Result]:
        """All results of a kind, by name of file."""
        for path in sorted(self.folder.glob("*.json")):
            result = _load(path)
            if result.get("kind") == kind:
                yield result

    def _path(self, name: str) -> Path:
        return self.folder / f"{_ODD.sub('-', name)}.json"


class _Stored(Result):
    """An object of a result file; a missing key is an `InputError`."""

    def __init__(self, values: Result, path: Path) -> None:
        super().__init__(values)
        self._path = path

    def __missing__(self, key: str) -> NoReturn:
        raise InputError(f'{self._path} has no "{key}": delete it, and run its experiment again.')


def _load(path: Path) -> Result:
    try:
        result = parse_json(path.read_text(encoding="utf-8"), object_hook=partial(_Stored, path=path))
    except ValueError as error:
        raise InputError(f"{path} is not JSON ({error}): delete it to have it measured again.") from error
    return result if isinstance(result, dict) else {}


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
    return _unique_names(files, [file.name for file in files])


def join_figures(result: Result, stored: Result | None) -> Result:
    """The figures with those on other files that were stored for the same model and passages.

    All are renamed, as if one call had measured them.
    """
    if stored is None or any(stored.get(key) != result.get(key) for key in _DECISIVE):
        return result
    entries = _entries(_gold(stored), _gold(result))
    files = [file for file, _, _ in entries]
    names = _unique_names(files, [file.dataset for file in files])

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
            logger.warning("%s", _describe_replacement(name, stored))
    entries |= {file: (name, True) for name, file in now.items()}
    return [(file, name, new) for file, (name, new) in entries.items()]


def _unique_names(files: Sequence[GoldFile], names: Sequence[str]) -> list[str]:
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


def _describe_replacement(name: str, file: GoldFile) -> str:
    whose = "another file of that name and folder" if file.sha256 else "a file whose content was not stored"
    return f"The stored figures of {name} are from {whose}: they are replaced."
