"""Options that every command takes, the database they name, and files written whole or not at all."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from annotation.errors import ExportError, SettingsError
from annotation.files.gold_folder import resolve_links
from annotation.services.numbering import KeyService
from annotation.services.projects import ProjectService
from annotation.systems import Similarities
from annotation.types import Project
from db import DEFAULT_URL, Database
from db.migrations import prepare, refuse_missing
from db.sqlite_files import flush
from kpdemo.command import CallError
from kpdemo.io.files import temporary_folder


@dataclass(frozen=True, slots=True)
class Dependencies:
    """What the program that runs the commands hands them; they find it as `typer.Context.obj`."""

    embedding: Similarities | None
    """What the system `embedding` asks; without it there is none."""
    encoder: Callable[[str], Similarities] | None
    """What `embedding:NAME` asks, by the name of the encoder."""


DatabaseOption = Annotated[
    str,
    typer.Option(
        "--database-url",
        envvar="KPDEMO_DATABASE_URL",
        metavar="URL",
        help="SQLite file or PostgreSQL server.",
    ),
]
ProjectArgument = Annotated[str, typer.Argument(metavar="PROJECT", help="The project's name.")]
WordNetOption = Annotated[
    Path | None,
    typer.Option(
        "--wordnet",
        metavar="DIR",
        envvar="KPDEMO_WORDNET",
        help="Folder with the files of WordNet 3.0; by default the system's.",
    ),
]
IdsTypeOption = Annotated[
    str | None,
    typer.Option("--type", metavar="TYPE", help="Their comparison type, if several types have the id."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
LatexOption = Annotated[bool, typer.Option("--latex", help="Print a LaTeX table for a paper.")]
MOST_RESAMPLES = 100_000
ResamplesOption = Annotated[
    int, typer.Option(min=0, max=MOST_RESAMPLES, help="Number of bootstrap resamples.")
]
SeedOption = Annotated[int, typer.Option(min=0, help="Random seed of the resamples.")]


def decimal_option(text: str) -> Decimal:
    """The number that an option gives, as its `parser`.

    Raises:
        BadParameter: it is no number, or infinite.
    """
    with suppress(InvalidOperation):
        number = Decimal(text)
        if number.is_finite():
            return number
    raise typer.BadParameter(f"{text!r} is not a number, such as 0.25")


@contextmanager
def option_errors() -> Iterator[None]:
    """Options that make no sense are a wrong call: `CallError` in place of `SettingsError`."""
    try:
        yield
    except SettingsError as error:
        raise CallError(str(error)) from None


def refuse_two_forms(*, as_json: bool, as_latex: bool, as_csv: bool = False) -> None:
    """A result is printed in one form: `CallError` where two are asked for."""
    forms = {"--json": as_json, "--latex": as_latex, "--csv": as_csv}
    asked = [form for form, is_asked in forms.items() if is_asked]
    if len(asked) > 1:
        raise CallError(f"{' and '.join(asked)} cannot be combined; give one of them.")


@contextmanager
def whole_files(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """The files, each of which can be read again; a pipe, which cannot, is copied, and keeps its name."""
    with TemporaryDirectory(prefix="kpdemo-") as folder:
        yield [
            path if path.is_file() else _copy_whole(path, Path(folder, str(n)))
            for n, path in enumerate(paths)
        ]


def _copy_whole(path: Path, folder: Path) -> Path:
    folder.mkdir()
    copy = folder / path.name
    with path.open("rb") as source, copy.open("wb") as target:
        shutil.copyfileobj(source, target)
    return copy


def open_database(url: str = DEFAULT_URL, *, may_make: bool = False) -> Database:
    """The database with its tables up to date.

    Args:
        url: of the database.
        may_make: whether the command begins something: a missing file is made then, and else refused.

    Raises:
        DatabaseError: there is none, it cannot be used, or has to be upgraded first.
    """
    database = Database(url)
    if not may_make:
        refuse_missing(database)
    prepare(database)
    KeyService(database).make_missing()
    return database


def open_project(url: str, name: str) -> tuple[Database, Project]:
    """The database with its tables up to date, and a project in it.

    Raises:
        DatabaseError: there is no database, it cannot be used, or has to be upgraded first.
        NotFoundError: it has no such project.
    """
    database = open_database(url)
    return database, ProjectService(database).get(name)


_OF_A_DATABASE = ("", "-wal", "-shm", "-journal")
_FULL = (errno.ENOSPC, errno.EDQUOT)


@dataclass(frozen=True, slots=True)
class Output:
    path: Path
    lines: Iterable[str]


@contextmanager
def make_folder(folder: Path) -> Iterator[None]:
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
        parts = [(output.path, _write_part(output, stack)) for output in outputs if output not in devices]
        try:
            for path, part in parts:
                with _disk_errors(path):
                    _publish(part, resolve_links(path), moved)
            for output in devices:
                _write(output.path, "w", output)
        except BaseException:
            for old, new in reversed(moved):
                new.rename(old)
            raise


def _refuse_places(paths: Sequence[Path], database: Database) -> None:
    taken: dict[Path, str] = {}
    if database.path is not None:
        kept = resolve_links(database.path)
        taken = {kept.with_name(kept.name + end): "the database's own file" for end in _OF_A_DATABASE}
    for path in paths:
        if str(path) == "-":
            raise CallError("- is standard output, which has the figures: name a file.")
        if path.is_dir():
            raise CallError(f"{path}: a folder, not a file; name a file in it.")
        with _place_errors(path):
            place = resolve_links(path)
        if place in taken:
            raise CallError(f"{path} is {taken[place]}: give another name.")
        taken[place] = "given for two outputs"


_EARLIER = "earlier"
"""What a file is called that another is about to replace."""


def _write_part(output: Output, stack: ExitStack) -> Path:
    """The file as it will be, in a folder of its own from where it can be renamed to its place."""
    with _place_errors(output.path):
        beside = resolve_links(output.path).parent
        folder = stack.enter_context(temporary_folder(".kpdemo-", beside, unless=_EARLIER))
    part = folder / "part"
    _write(part, "x", output)
    return part


def _write(path: Path, mode: str, output: Output) -> None:
    with _place_errors(output.path):
        stream = path.open(mode, encoding="utf-8", newline="\n")
    with _disk_errors(output.path), stream:
        stream.writelines(output.lines)


def _publish(part: Path, place: Path, moved: list[tuple[Path, Path]]) -> None:
    moves = [(place, part.with_name(_EARLIER))] if place.exists() else []
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
