"""Results as JSON files in a folder, one for each thing that was measured."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from kpdemo.errors import ConfigError, InputError
from kpdemo.json_text import parse_json
from kpdemo.storage import replace_file

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
