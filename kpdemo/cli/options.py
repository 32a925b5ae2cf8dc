"""What all commands share: how a call is refused, models, devices, files, progress and JSON."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kpdemo.command import CallError, check_file
from kpdemo.errors import InputError, ModelLoadError
from kpdemo.io.documents import SeeUnnamed, count_documents, folder_files
from kpdemo.io.files import (
    LINE_SUFFIXES,
    RECORD_SUFFIXES,
    TABLE_SUFFIXES,
    UTF8_MARK,
    beside,
    check_place,
    count_lines,
    document_suffix,
    is_whole,
    plain_name,
    read_head,
)
from kpdemo.io.tables import LineError, line_name

if TYPE_CHECKING:
    from kpdemo.pipeline import Pipeline
    from kpdemo.terminal import ProgressLine


PROGRAM = "python -m kpdemo"
STDIN = STDOUT = "-"
PATH_OPTIONS = frozenset(
    {
        *(
            "--candidates",
            "--config",
            "--csv",
            "--details",
            "--gold",
            "--id-column",
            "--index",
            "--input",
            "--model",
        ),
        *("--output", "--predictions", "--queries", "--rounds", "--source", "--target"),
    }
)
_HEAD = 1024  # bytes
_LARGEST_COUNTED = 100_000_000  # bytes of a table, which is read as a whole for that: some seconds
Device = Literal["auto", "cpu", "cuda"]

JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
BatchSizeOption = Annotated[
    int,
    typer.Option(
        min=1,
        metavar="N",
        help="How many texts a Hugging Face encoder reads at once; others have a fixed batch size.",
    ),
]
PredictBatchSizeOption = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Documents per batch; by default 32, on a GPU 512."),
]
DeviceOption = Annotated[Device, typer.Option(help="Where to compute; auto uses a GPU if there is one.")]
ModelOption = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="A model listed by `models`, a checkpoint folder, OWNER/NAME on the Hub, or MODULE:FACTORY for "
        "a Python class of your own.",
    ),
]
IdColumnOption = Annotated[
    str,
    typer.Option(
        metavar="NAME", help="The column of a table, or the field of JSON Lines, with the ids of documents."
    ),
]
LanguageOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The language of the documents, such as French or fr, whatever they say; otherwise their own, "
        "or the detected one.",
    ),
]


def check_input(name: str, suffixes: Sequence[str]) -> Path:
    """The path of a file that is there and ends in one of `suffixes`; else `CallError`."""
    path = check_file(name)
    try:
        suffix = document_suffix(path)
    except InputError as error:
        raise CallError(str(error)) from None
    if suffix not in suffixes:
        raise CallError(f"{name}: {suffix} cannot be used here; use one of {', '.join(suffixes)}.")
    return path


def only_input(files: Sequence[str] | None) -> str | None:
    """The file of --input, which takes one; of several the last would hide the others."""
    if files and len(files) > 1:
        raise CallError(
            f"--input is given {len(files)} times but takes one file: run the command once per file."
        )
    return files[0] if files else None


def quick_count(path: Path) -> int | None:
    """How many documents a file, or a folder of files, holds at most, when that is quick to tell.

    Those that cannot be read count too.
    """
    if path.is_dir():
        counts = [1 if is_whole(file.name) else quick_count(file) for file in folder_files(path)]
        return None if None in counts else sum(filter(None, counts))
    suffix = path.suffix.lower()
    if not path.is_file() or suffix not in (*LINE_SUFFIXES, *TABLE_SUFFIXES):
        return None  # a pipe can be read only once
    if suffix in TABLE_SUFFIXES:
        return count_documents(path) if path.stat().st_size <= _LARGEST_COUNTED else None
    return None if _begins_as_array(path) else count_lines(path)


def _begins_as_array(path: Path) -> bool:
    """Whether the file is one JSON array, which has other lines than documents."""
    return read_head(path, _HEAD).removeprefix(UTF8_MARK).lstrip().startswith(b"[")


@contextmanager
def progress_line(description: str, total: int | None = None) -> Iterator[ProgressLine]:
    """Progress on standard error while the block runs."""
    from kpdemo.terminal import ProgressLine

    with ProgressLine(description, total) as progress:
        yield progress


class Problems:
    """Shows what is wrong with single documents, and counts it."""

    def __init__(self, progress: ProgressLine) -> None:
        self._progress = progress
        self.count = 0

    def __call__(self, problem: LineError) -> None:
        self.count += 1
        self._progress.show_problem(problem.message)


def unnamed_reporter(progress: ProgressLine, column: str) -> SeeUnnamed:
    """Tells of the first row without an id in `column`, of one file or of several, and of no other."""
    told = False

    def tell(file: str, line: int) -> None:
        nonlocal told
        if not told:
            progress.show_problem(
                f'{line_name(file, line)}: no "{column}", so this document and all others without one are '
                "named by line; --id-column can name another column or field."
            )
        told = True

    return tell


def print_json(value: Any) -> None:
    """One line on standard output."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")


def already_there(number: int) -> str:
    """What follows how many were done now: ", 3 were there already"."""
    return f", {number:,} {'was' if number == 1 else 'were'} there already" if number else ""


def say(message: str) -> None:
    """A line on standard error."""
    print(message, file=sys.stderr)


def exit_with(problems: Problems) -> None:
    """End with status 1 when something could not be used."""
    if problems.count:
        raise typer.Exit(1)


def open_predictor(model: str, device: Device, index_folder: Path | None = None) -> Pipeline:
    """The model of that name or folder; its weights load with the first prediction."""
    from kpdemo.predictors import available_models, load_predictor

    try:
        return load_predictor(model, device=device, index=index_folder)
    except ModelLoadError as error:
        if model in available_models() or Path(model).exists():
            raise
        raise CallError(str(error)) from None


def check_index(model: str, index_folder: Path | None) -> None:
    """Raises:
    CallError: there is an index, but the model reads no passages.
    PassageIndexError: there is no index in the folder, or it is damaged.
    """
    if index_folder is None:
        return
    from kpdemo.predictors import takes_index
    from kpdemo.ramkg.passage_index import read_manifest

    if not takes_index(model):
        raise CallError(
            f"The model {model!r} does not use passages: leave --index out, or give another --model."
        )
    read_manifest(index_folder)


def read_language(written: str) -> str:
    """The code of the language that an option names."""
    from kpdemo.languages import known_language

    try:
        return known_language(written)
    except InputError as error:
        raise CallError(f"--language {error}") from None


def parse_setting(text: str) -> tuple[str, str]:
    """Key and value of an option --set."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise CallError(f"--set {text}: not KEY=VALUE; write it as in --set loop.seed=7.")
    return key.strip(), value


def dataset_names(paths: Sequence[str]) -> dict[str, str]:
    """What each file is called: by its own name, or where several share that by its folder's too.

    Raises:
        CallError: a file is not there or cannot be read, or is given twice.
    """
    files = {path: check_input(path, (*LINE_SUFFIXES, *TABLE_SUFFIXES, *RECORD_SUFFIXES)) for path in paths}
    names = {path: plain_name(file) for path, file in files.items()}
    times = Counter(names.values())
    told = {
        path: f"{files[path].resolve().parent.name}/{name}" if times[name] > 1 else name
        for path, name in names.items()
    }
    repeated = next((name for name, count in Counter(told.values()).items() if count > 1), None)
    if repeated is not None or len(names) < len(paths):
        raise CallError(
            f"Two --gold files are called {repeated or 'the same'}; give each once, under its own name."
        )
    return told


def check_second_output(option: str, name: str, others: Sequence[Path]) -> Path:
    """The path; refused before long work, and where it is one of the files that the command uses.

    Raises:
        CallError: it is standard output, a folder, or one of `others`.
        OSError: it cannot be written.
    """
    path = Path(name)
    if path.is_dir():
        raise CallError(f"{name}: a folder, not a file; name a file in it.")
    if name == STDOUT or _is_standard_output(path):
        raise CallError(f"{option} {name} is standard output: name a file.")
    used = {other.resolve() for other in others}
    for written in (path, beside(path)):
        if written.resolve() in used or (
            written.exists() and any(map(written.samefile, filter(Path.exists, others)))
        ):
            raise CallError(f"{written}: used by another option too; name another file for {option}.")
    check_place(path)
    return path


def _is_standard_output(path: Path) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(1))
    except OSError:  # it is new, or standard output is closed
        return False


class Engine(StrEnum):
    """What computes for many documents."""

    LOCAL = "local"
    RAY = "ray"


WorkersOption = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="N", help="Workers of --engine ray; by default one for each GPU, or for each CPU."
    ),
]
GpusOption = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        metavar="N",
        help="GPUs of a worker of --engine ray; by default 1 if the cluster has any. With 0.5 two share one.",
    ),
]
