"""The folder of a gold set: written beside, checked, and put in its place whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from annotation.errors import ExportError
from annotation.files.exported_gold import MANIFEST, read_manifest
from annotation.links import resolved

CARD = "README.md"
_PARTIAL = ".export-"
_EARLIEST = (1980, 1, 1, 0, 0, 0)
"""The time of every file in an archive: the first that ZIP knows."""
_PLAIN_FILE = 0o100644 << 16
_BLOCK = 1 << 20


class GoldFolder:
    """Files are written to `partial`, a folder inside the target, and `publish` moves them up.

    Left without `publish`, or by an exception before or after it, everything is as it was before.
    """

    def __init__(self, target: Path, *, force: bool = False) -> None:
        """Look at the target; nothing is made yet.

        Args:
            target: a folder that is empty or does not exist yet.
            force: an earlier export may stand there, and is replaced.

        Raises:
            ExportError: something else stands there.
            OSError: links lead in a circle.
        """
        self.target = resolved(target)
        self._earlier = _earlier_files(target, self.target, force=force)
        self._made: list[Path] = []
        self._moved: list[tuple[Path, Path]] = []

    def __enter__(self) -> Self:
        missing = [folder for folder in (self.target, *self.target.parents) if not folder.exists()]
        for folder in reversed(missing):
            folder.mkdir()
            self._made.append(folder)
        self.partial = Path(tempfile.mkdtemp(prefix=_PARTIAL, dir=self.target))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._put_back()  # the earlier files are in `partial` until then
        shutil.rmtree(self.partial, ignore_errors=True)
        for folder in reversed(self._made):
            with suppress(OSError):  # not empty: it was published
                folder.rmdir()

    def publish(self) -> None:
        """Put the files in place of the earlier ones, the manifest last."""
        names = sorted(
            (path.name for path in self.partial.iterdir()), key=lambda name: (name == MANIFEST, name)
        )
        for name in names:
            _keep_on_disk(self.partial / name)
        aside = Path(tempfile.mkdtemp(dir=self.partial))
        for name in self._earlier:
            _move(self.target / name, aside / name, self._moved)
        for name in names:
            _move(self.partial / name, self.target / name, self._moved)
        _keep_on_disk(self.target)

    def _put_back(self) -> None:
        if not self._moved:
            return
        for old, new in reversed(self._moved):
            new.rename(old)
        _keep_on_disk(self.target)


def describe_files(
    folder: Path, rows: Mapping[str, int], columns: Mapping[str, Sequence[str]]
) -> list[dict[str, Any]]:
    """Name, bytes, SHA-256, lines (of text), rows and columns of each file, in the order of their names."""
    return [
        {"name": name, **_described(folder / name), "rows": rows[name], "columns": list(columns[name])}
        for name in sorted(rows)
    ]


def write_card(folder: Path, text: str) -> dict[str, Any]:
    """Write README.md; what the manifest says of it. It is for editing, so it is none of the files there."""
    content = text.encode()
    (folder / CARD).write_bytes(content)
    return {"name": CARD, "sha256": hashlib.sha256(content).hexdigest()}


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> str:
    """Write manifest.json; its SHA-256."""
    content = f"{json.dumps(manifest, ensure_ascii=False, indent=2)}\n".encode()
    (folder / MANIFEST).write_bytes(content)
    return hashlib.sha256(content).hexdigest()


def write_archive(folder: Path, archive: Path | IO[bytes], name: str) -> None:
    """Write the files of `folder` to a ZIP archive, under a folder `name`: same files, same bytes."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as written:
        for path in sorted(folder.iterdir()):
            entry = zipfile.ZipInfo(f"{name}/{path.name}", _EARLIEST)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = _PLAIN_FILE
            entry.file_size = path.stat().st_size  # a large file needs ZIP64 from its beginning
            with path.open("rb") as source, written.open(entry, "w") as target:
                shutil.copyfileobj(source, target, _BLOCK)


def _earlier_files(shown: Path, target: Path, *, force: bool) -> Sequence[str]:
    if not target.exists():
        return ()
    if not target.is_dir():
        raise ExportError(f"{shown} is a file: give a folder that is empty or does not exist yet.")
    found = {path.name for path in target.iterdir()}
    if not found:
        return ()
    if not force:
        raise ExportError(
            f"{shown} is not empty: give another folder, or --force to replace an earlier export there."
        )
    manifest = read_manifest(target)
    if _is_changed(target / CARD, manifest):
        raise ExportError(
            f"{shown} has a {CARD} that was changed after the export: --force would replace it, so move it "
            "to another place first, or delete it."
        )
    ours = {MANIFEST, *_names_in(manifest)}
    strange = sorted(name for name in found - ours if not name.startswith(_PARTIAL))
    if strange:
        raise ExportError(
            f"{shown} has a file that no export wrote ({strange[0]}): --force replaces only an earlier "
            "export, so give another folder."
        )
    return sorted(found)


def _is_changed(card: Path, manifest: Mapping[str, Any]) -> bool:
    """Whether an export wrote the card, and somebody else wrote in it."""
    described = manifest.get("card")
    if not isinstance(described, dict) or not card.is_file():
        return False
    return hashlib.sha256(card.read_bytes()).hexdigest() != described.get("sha256")


def _names_in(manifest: Mapping[str, Any]) -> list[str]:
    try:
        files = [*manifest["files"], *([manifest["card"]] if "card" in manifest else [])]
        return [str(file["name"]) for file in files]
    except (LookupError, TypeError):
        return []


def _move(old: Path, new: Path, moved: list[tuple[Path, Path]]) -> None:
    old.rename(new)
    moved.append((old, new))


def _keep_on_disk(path: Path) -> None:
    """Wait until a file or folder would survive a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _described(path: Path) -> dict[str, Any]:
    digest, lines = hashlib.sha256(), 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
            lines += block.count(b"\n")
    is_text = path.suffix != ".parquet"
    return {"bytes": path.stat().st_size, "sha256": digest.hexdigest(), "lines": lines if is_text else None}
