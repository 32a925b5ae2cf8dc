"""Files that a command writes together: all of them whole, or none."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from annotation.errors import ExportError
from annotation.links import resolved
from db import Database
from db.command import CallError
from db.sqlite_files import flush

_OF_A_DATABASE = ("", "-wal", "-shm", "-journal")
_FULL = (errno.ENOSPC, errno.EDQUOT)


@dataclass(frozen=True, slots=True)
class Output:
    path: Path
    lines: Iterable[str]


@contextmanager
def folder_made(folder: Path) -> Iterator[None]:
    """The folder is there within the block; what was missing of it goes again if the block fails."""
    made = [each for each in reversed((folder, *folder.parents)) if not each.exists()]
    try:
        for each in made:
            with _place_errors(each):
                each.mkdir()
        yield
    except BaseException:
        for each in reversed(made):
            with suppress(OSError):
                each.rmdir()
        raise


def write_all(outputs: Sequence[Output], database: Database, *, replaces: bool = True) -> None:
    """Write every file beside its place, then put all in place of earlier ones; devices and pipes come last.

    Args:
        outputs: what is written where.
        database: that no place may belong to.
        replaces: whether earlier files may be lost.

    Raises:
        CallError: a place is the database's, another output's, a folder, has an earlier file that may not be
            lost, or takes no file.
        ExportError: the disk failed; every file is as it was before.
    """
    _refuse_places([output.path for output in outputs], database)
    earlier = next((output.path for output in outputs if output.path.is_file()), None)
    if earlier is not None and not replaces:
        raise CallError(f"{earlier} already exists: give another name, or --force to replace it.")
    devices = [output for output in outputs if output.path.exists() and not output.path.is_file()]
    moved: list[tuple[Path, Path]] = []
    with ExitStack() as stack:
        parts = [(output.path, _part(output, stack)) for output in outputs if output not in devices]
        try:
            for path, part in parts:
                with _disk_errors(path):
                    _publish(part, resolved(path), moved)
            for output in devices:
                _write(output.path, "w", output)
        except BaseException:
            for old, new in reversed(moved):
                new.rename(old)
            raise


def _refuse_places(paths: Sequence[Path], database: Database) -> None:
    taken: dict[Path, str] = {}
    if database.path is not None:
        kept = resolved(database.path)
        taken = {kept.with_name(kept.name + end): "the database's own file" for end in _OF_A_DATABASE}
    for path in paths:
        if str(path) == "-":
            raise CallError("- is standard output, which has the figures: name a file.")
        if path.is_dir():
            raise CallError(f"{path}: a folder, not a file; name a file in it.")
        with _place_errors(path):
            place = resolved(path)
        if place in taken:
            raise CallError(f"{path} is {taken[place]}: give another name.")
        taken[place] = "given for two outputs"


def _part(output: Output, stack: ExitStack) -> Path:
    """The file as it will be, in a folder of its own from where it can be renamed to its place."""
    with _place_errors(output.path):
        beside = resolved(output.path).parent
        folder = stack.enter_context(TemporaryDirectory(prefix=".kpdemo-", dir=beside))
    part = Path(folder, "part")
    _write(part, "x", output)
    return part


def _write(path: Path, mode: str, output: Output) -> None:
    with _place_errors(output.path):
        stream = path.open(mode, encoding="utf-8", newline="\n")
    with _disk_errors(output.path), stream:
        stream.writelines(output.lines)


def _publish(part: Path, place: Path, moved: list[tuple[Path, Path]]) -> None:
    moves = [(place, part.with_name("earlier"))] if place.exists() else []
    for old, new in (*moves, (part, place)):
        old.rename(new)
        moved.append((old, new))
    flush(place)


@contextmanager
def _place_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise _failure(path, error) from None
        raise CallError(f"{path} cannot be written ({error.strerror}); give another place.") from None


@contextmanager
def _disk_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:  # whoever reads a pipe had enough
        raise
    except OSError as error:
        raise _failure(path, error) from None


def _failure(path: Path, error: OSError) -> ExportError:
    return ExportError(
        f"{path} cannot be written ({error.strerror}): nothing was changed; fix that and try again."
    )
