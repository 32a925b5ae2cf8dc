"""The folder of a gold set with its manifest: written beside, checked, put in place whole or not at all."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from hashlib import file_digest, sha256
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from annotation.errors import ExportError, ScoreFileError
from annotation.files.gold_files import task_stems
from annotation.gold import ExportOptions, Format, GoldSource
from annotation.scale import CLSS, Point, item_words, read_item_words, scale_points
from annotation.types import Average, ProjectSettings
from kpdemo.io.files import parse_json


def resolve_links(path: Path) -> Path:
    """Where the path leads.

    Raises:
        OSError: links lead in a circle, for which Python before 3.13 has a RuntimeError.
    """
    try:
        return path.resolve()
    except RuntimeError:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path)) from None


MANIFEST = "manifest.json"


def refuse_empty_export(path: Path) -> None:
    """Refuse an exported folder, or a file in one, that was empty from the start.

    Raises:
        ScoreFileError: its manifest counts no gold grade, since it was exported before there were any.
    """
    counts = read_manifest(path if path.is_dir() else path.parent).get("counts")
    if (
        isinstance(counts, dict)
        and "adjudicated" in counts
        and not any(counts.get(source) for source in GoldSource)
    ):
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
    return _manifest_entry(file) is not None


def exported_type(file: Path) -> str | None:
    """The comparison type that the manifest beside a file gives it; None where it gives none."""
    type = (_manifest_entry(file) or {}).get("type")
    return type if isinstance(type, str) else None


def is_changed(file: Path) -> bool:
    """Whether a file no longer has the hash in the manifest beside it."""
    described = _manifest_entry(file)
    if described is None or "sha256" not in described:
        return False
    with file.open("rb") as stream:
        return file_digest(stream, "sha256").hexdigest() != str(described["sha256"])


def _manifest_entry(file: Path) -> dict[str, Any] | None:
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
            **({"repeat_percent": settings.repeat_percent} if settings.repeat_percent else {}),
            **({"average": settings.average.value} if settings.average is not Average.MEAN else {}),
            "gold": f"the adjudicated grade, else the {settings.average} of the ratings, rounded half to "
            "even to 4 decimals",
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
    common = scale_points(settings.scale_words, first, settings.scale)
    by_type = {type: scale_points(settings.scale_words, type, settings.scale) for type in others}
    different = {type: points for type, points in by_type.items() if points != common}
    words, told = settings.scale_words, {type: _point_words(points) for type, points in different.items()}
    scale, asked = settings.scale, read_item_words(settings.scale_words, settings.scale)
    in_grades = {"lowest": scale.lowest, "highest": scale.highest, "step": float(scale.step)}
    items = {type: asdict(item_words(words, type, scale)) for type in settings.types} if asked else {}
    return {
        **({"grades": in_grades} if scale != CLSS else {}),
        **({"items": items} if items else {}),
        "scale": _point_words(common),
        **({"scale_by_type": told} if told else {}),
        "scale_sha256": sha256(scale_text(common, different).encode()).hexdigest(),
        **({"scale_words": words, "scale_words_sha256": sha256(words.encode()).hexdigest()} if words else {}),
    }


def _point_words(points: Sequence[Point]) -> list[dict[str, Any]]:
    return [
        {"value": point.value, "name": point.name, "description": point.description}
        for point in points
        if point.name
    ]


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
        self.target = resolve_links(target)
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
        {"name": name, **_file_entry(folder / name), "rows": rows[name], "columns": list(columns[name])}
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


def _file_entry(path: Path) -> dict[str, Any]:
    digest, lines = hashlib.sha256(), 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
            lines += block.count(b"\n")
    is_text = path.suffix != ".parquet"
    return {"bytes": path.stat().st_size, "sha256": digest.hexdigest(), "lines": lines if is_text else None}
