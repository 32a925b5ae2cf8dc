"""Options that every command takes, and opening the database they name."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from annotation.errors import SettingsError
from annotation.latex import LatexTable
from annotation.predictions.phrases import PhraseRules
from annotation.services.keys import KeyService
from annotation.services.projects import ProjectService
from annotation.systems.baselines import Similarities
from annotation.types import Project
from db import DEFAULT_URL, Database
from db.command import CallError
from db.migrations import prepare, refuse_missing


@dataclass(frozen=True, slots=True)
class HandedIn:
    """What the program that runs the commands hands them; they find it as `typer.Context.obj`."""

    embedding: Similarities | None
    """What the system `embedding` asks; without it there is none."""
    encoder: Callable[[str], Similarities] | None
    """What `embedding:NAME` asks, by the name of the encoder."""
    phrases: PhraseRules
    latex: LatexTable


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
def options_checked() -> Iterator[None]:
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


def check_file(name: str | Path) -> Path:
    """The path of a file, or a pipe, that is there.

    Raises:
        CallError: there is none, or it is a folder.
    """
    path = Path(name)
    if path.is_dir():
        raise CallError(f"{name}: a folder, not a file; name the files in it.")
    if not path.exists():
        raise CallError(f"{name}: no such file; check the name.")
    return path


@contextmanager
def whole_files(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """The files, each of which can be read again; a pipe, which cannot, is copied, and keeps its name."""
    with TemporaryDirectory(prefix="kpdemo-") as folder:
        yield [
            path if path.is_file() else _copied(path, Path(folder, str(n))) for n, path in enumerate(paths)
        ]


def _copied(path: Path, folder: Path) -> Path:
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
