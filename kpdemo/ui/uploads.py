"""Files that readers gave: which can be read, copied while they are read, predicted in turns."""

from __future__ import annotations

import io
import json
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import gradio as gr

from kpdemo.batch import BatchSummary, predict_file
from kpdemo.errors import InputError, StoppedError
from kpdemo.io.documents import ID_COLUMN, LocatedDocument, count_documents, read_whole, unnamed_note
from kpdemo.io.files import DOCUMENT_SUFFIXES, is_whole
from kpdemo.io.predictions import write_predictions_table
from kpdemo.io.tables import LineError
from kpdemo.routing import NO_MODEL_HERE, foreign_notes
from kpdemo.types import Predictor, languages_of
from kpdemo.ui.models import ModelShelf
from kpdemo.ui.pdf_process import ReadPdf, is_pdf
from kpdemo.worker import Stop

MOST_FILES = 20

KEPT_MINUTES = 10
"""Uploads and predictions are deleted at this age."""

DELETED_SECONDS = (60, KEPT_MINUTES * 60)
"""For Gradio: how often it looks, and the age at which it deletes."""

PDF_ADVICE = "a PDF of it"


@dataclass(frozen=True, slots=True)
class Uploads:
    """Copies of the files that can be read, and a sentence on each of the others.

    `renamed` tells whether a copy has another name than its file, since an earlier one has that.
    """

    files: Sequence[Path]
    refused: Sequence[str] = ()
    renamed: bool = False


class OwnNames:
    """Gives everything a name of its own: where an earlier one has it, a number follows.

    >>> names = OwnNames()
    >>> [names.of("note"), names.of("note"), names.of("note", ".txt"), names.of("note")]
    ['note', 'note-2', 'note.txt', 'note-3']
    """

    def __init__(self) -> None:
        self._uses: Counter[str] = Counter()

    def of(self, name: str, suffix: str = "") -> str:
        """The name with its suffix, and the number, if any, between them."""
        whole = own = f"{name}{suffix}"
        while own in self._uses:
            self._uses[whole] += 1
            own = f"{name}-{self._uses[whole]}{suffix}"
        self._uses[own] += 1
        return own


def readable_copies(paths: Sequence[str] | None, folder: Path) -> Uploads:
    """Copies of the documents of readers, each under a name of its own; the others are reported apart.

    Raises:
        InputError: there is no file, or there are too many.
    """
    names = OwnNames()
    files: list[Path] = []
    refused: list[str] = []
    renamed = False
    for number, path in enumerate(_chosen_files(paths)):
        try:
            check_kind(path)
            name = names.of(path.stem, path.suffix)
            files.append(_own_copy(path, folder / str(number) / name))
            renamed = renamed or name != path.name
        except InputError as error:
            refused.append(str(error))
    return Uploads(files, refused, renamed)


def unreadable(paths: Sequence[str] | None) -> list[str]:
    """A sentence on each file of a kind that is no document here.

    Raises:
        InputError: there is no file, or there are too many.
    """
    refused = []
    for path in _chosen_files(paths):
        try:
            check_kind(path)
        except InputError as error:
            refused.append(str(error))
    return refused


def checked_files(paths: Sequence[str] | None, *, suffixes: Sequence[str], advice: str) -> list[Path]:
    """The files, all of which have one of the suffixes.

    Raises:
        InputError: one has none of them, there is no file, or there are too many.
    """
    files = _chosen_files(paths)
    for path in files:
        check_kind(path, suffixes=suffixes, advice=advice)
    return files


def check_kind(path: Path, *, suffixes: Sequence[str] = DOCUMENT_SUFFIXES, advice: str = PDF_ADVICE) -> None:
    """Refuse a file of another kind, and compressed ones: a small one may hold gigabytes.

    Raises:
        InputError: the file has none of the suffixes.
    """
    if path.suffix.lower() not in suffixes:
        kinds = ", ".join(suffixes)
        raise InputError(f"{path.name} cannot be read here: use one of {kinds}, such as {advice}.")


def own_copies(files: Sequence[Path], folder: Path) -> list[Path]:
    """The uploads where nobody deletes them while they are read, each in a folder with its own name.

    Raises:
        InputError: one has been deleted before.
    """
    return [_own_copy(path, folder / str(number) / path.name) for number, path in enumerate(files)]


def _chosen_files(paths: Sequence[str] | None) -> list[Path]:
    files = [Path(path) for path in paths or []]
    if not files:
        raise InputError("No file is chosen: choose one or drop it on the box.")
    if len(files) > MOST_FILES:
        raise InputError(f"There are {len(files)} files: give at most {MOST_FILES} at a time.")
    return files


def _own_copy(path: Path, copy: Path) -> Path:
    copy.parent.mkdir()
    try:
        shutil.copyfile(path, copy)
    except FileNotFoundError:
        raise InputError(
            f"{path.name} is gone: uploads are deleted after {KEPT_MINUTES} minutes, so choose it again."
        ) from None
    return copy


SHOWN_ROWS = 50
SHOWN_PROBLEMS = 20
BATCH_SIZE = 16
ADVICE = "if another column or field has the ids, call it “id”."


@dataclass(slots=True)
class FileReport:
    """What happened to the files so far, for the page."""

    summary: BatchSummary = field(default_factory=BatchSummary)
    rows: list[dict[str, Any]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    failed_files: int = 0
    """How many of the failures were whole files; the rest were lines of a file."""
    total: int = 0
    """Documents of all files, those that could not be used included."""
    stopped: bool = False
    """Before all documents were read."""
    renamed: bool = False
    """Whether a document has another id, or a file another name, than it came with."""
    unnamed: str = ""
    """The sentence on the first document that has no id."""
    foreign: list[str] = field(default_factory=list)
    """Sentences on the documents in languages that the model was not made for."""


@contextmanager
def in_turn_of_files(shelf: ModelShelf, stop: Stop, progress: gr.Progress) -> Iterator[None]:
    """Read files when those of others have been read.

    Raises:
        StoppedError: by `stop`, while others' were.
    """
    if shelf.turn_of_files.locked():
        progress((0, 1), desc="Other files are read first")
    with stop.turn(shelf.turn_of_files):
        yield


def predict_uploads(
    predictor: Predictor,
    uploads: Uploads,
    output: Path,
    progress: gr.Progress,
    read_pdf: ReadPdf = read_whole,
) -> FileReport:
    """Predict all documents of the files into `output`, a line each, and of several with its file.

    The same stands next to it as a table in CSV.

    What had been predicted before predictor or `read_pdf` were stopped stays. An id that a document of an
    earlier file has gets a number, so that each stands there once.
    """
    refused, ids = len(uploads.refused), OwnNames()
    report = FileReport(
        BatchSummary(failed=refused),
        problems=list(uploads.refused),
        failed_files=refused,
        total=refused + sum(count_documents(path) for path in uploads.files),
        renamed=uploads.renamed,
    )
    several = refused + len(uploads.files) > 1
    with output.open("w", encoding="utf-8") as stream:
        for path in uploads.files:
            if report.stopped:
                break
            for row in _predict_upload(predictor, path, report, progress, read_pdf):
                named = row | {"id": ids.of(row["id"])}
                report.renamed |= named["id"] != row["id"]
                line = {**({"file": path.name} if several else {}), **named}
                stream.write(json.dumps(line, ensure_ascii=False) + "\n")
                if len(report.rows) < SHOWN_ROWS:
                    report.rows.append({"file": path.name, **named})
    places = ("file", "id") if several else ("id",)
    write_predictions_table(output, output.with_suffix(".csv"), places=places)
    if foreign := report.summary.foreign:
        languages = languages_of(predictor)
        report.foreign = foreign_notes(foreign, predictor.name, languages, advice=NO_MODEL_HERE)
    return report


def _predict_upload(
    predictor: Predictor, path: Path, report: FileReport, progress: gr.Progress, read_pdf: ReadPdf
) -> Iterator[dict[str, Any]]:
    before, counts, is_unreadable = report.summary, BatchSummary(), False

    def problem(error: LineError) -> None:
        nonlocal counts
        counts = replace(counts, failed=counts.failed + 1)  # a stop may come before its batch is counted
        _add_problem(report, path, error.message)

    def advance(now: BatchSummary) -> None:
        nonlocal counts
        counts = now
        unit = "documents" if report.total > 1 else "document"
        progress((before.seen + now.seen, max(report.total, 1)), desc="Reading", unit=unit)

    def tell_unnamed(where: str) -> None:
        report.unnamed = report.unnamed or unnamed_note(
            where.replace(str(path), path.name), ID_COLUMN, ADVICE
        )

    advance(counts)
    lines = io.BytesIO()
    try:
        source = LocatedDocument(read_pdf(path), str(path), 1) if is_pdf(path) else path
        counts = predict_file(
            predictor,
            source,
            lines,
            batch_size=BATCH_SIZE,
            progress=advance,
            on_error=problem,
            on_unnamed=tell_unnamed,
        )
    except InputError as error:
        _add_problem(report, path, str(error))
        counts, is_unreadable = replace(counts, failed=counts.failed + 1), True
    except StoppedError:
        report.stopped = True
    report.summary = BatchSummary(
        before.done + counts.done,
        failed=before.failed + counts.failed,
        foreign=Counter(before.foreign) + Counter(counts.foreign),
    )
    report.failed_files += counts.failed if is_whole(path.name) else is_unreadable
    for line in lines.getvalue().splitlines():
        yield json.loads(line)


def _add_problem(report: FileReport, path: Path, message: str) -> None:
    if len(report.problems) < SHOWN_PROBLEMS:
        named = message.replace(str(path), path.name)
        report.problems.append(named if path.name in named else f"{path.name}: {named}")
