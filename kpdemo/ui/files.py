"""The Files page: many documents in, one file of predictions out."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import gradio as gr

from kpdemo.batch import BatchSummary, predict_file
from kpdemo.documents import DOCUMENT_SUFFIXES, WHOLE_SUFFIXES, LineError, document_suffix, read_numbered
from kpdemo.errors import InputError, KpdemoError
from kpdemo.routed import read_with_passages
from kpdemo.types import (
    Document,
    Prediction,
    Predictor,
    RetrievalPrediction,
    languages_of,
    uses_passages,
)
from kpdemo.ui.absent import chip_html
from kpdemo.ui.figures import grouped
from kpdemo.ui.marks import escape
from kpdemo.ui.models import ModelShelf
from kpdemo.ui.questions import check_length
from kpdemo.ui.widgets import empty_html, section_heading, shown_to_user

EMPTY = "No predictions yet. Choose files, then press Predict files."
FORGET = f"() => [{json.dumps(empty_html(EMPTY))}, {{__type__: 'update', value: null, interactive: false}}]"
"""JavaScript: what stands in the place of result and download while the chosen files have none."""

SHOWN_ROWS = 50
SHOWN_ABSENT = 5
SHOWN_PROBLEMS = 20
MOST_FILES = 20
BATCH_SIZE = 16
TURN_CHARACTERS = 100_000
"""So much text is predicted in one go, or one document: then a reader of the other page may go first."""

KEPT_MINUTES = 10
"""Uploads and predictions are deleted when they are so old."""

OUTPUT_NAME = "predictions.jsonl"


@dataclass(slots=True)
class FileReport:
    """What happened to the files so far, for the page."""

    summary: BatchSummary = field(default_factory=BatchSummary)
    rows: list[dict[str, Any]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _InTurns:
    """A predictor that refuses what is too long for the page, and reads no batch of long texts at once."""

    predictor: Predictor

    @property
    def name(self) -> str:
        return self.predictor.name

    @property
    def device(self) -> str:
        return self.predictor.device

    def predict(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[Prediction]:
        return [
            prediction
            for turn in _checked_turns(documents)
            for prediction in self.predictor.predict(turn, top_k=top_k, threshold=threshold)
        ]

    @property
    def uses_passages(self) -> bool:
        return uses_passages(self.predictor)

    @property
    def languages(self) -> frozenset[str]:
        return languages_of(self.predictor)

    def predict_with_passages(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[RetrievalPrediction]:
        return [
            found
            for turn in _checked_turns(documents)
            for found in read_with_passages(self.predictor, turn, top_k=top_k, threshold=threshold)
        ]


def in_turns(predictor: Predictor) -> Predictor:
    """The same predictor, for the texts of readers."""
    return _InTurns(predictor)


@dataclass(frozen=True)
class FilesHandlers:
    shelf: ModelShelf

    def predict_files(
        self,
        paths: list[str] | None,
        model: str,
        progress: gr.Progress = gr.Progress(),  # noqa: B008 - Gradio looks for it in the defaults
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """A table of the first predictions, and a file with all of them."""
        with shown_to_user(KpdemoError), TemporaryDirectory(prefix="kpdemo-") as folder:
            files = own_copies(checked_files(paths), Path(folder))
            output = Path(folder) / OUTPUT_NAME
            report = predict_uploads(in_turns(self.shelf.open(model)), files, output, progress)
            if not report.summary.done:
                raise InputError(
                    report.problems[0] if report.problems else "There is no document in the files."
                )
            # Gradio copies the file when it takes this value, before the folder goes.
            yield report_html(report), gr.update(value=str(output), interactive=True)


def predict_uploads(
    predictor: Predictor, files: Sequence[Path], output: Path, progress: gr.Progress
) -> FileReport:
    """Predict all documents of `files` into `output`, a line each; with several files it names the file."""
    report = FileReport()
    total = sum(_count_documents(path) for path in files)
    with output.open("w", encoding="utf-8") as stream:
        for path in files:
            for row in _predict_upload(predictor, path, report, total, progress):
                named = {"file": path.name, **row} if len(files) > 1 else row
                stream.write(json.dumps(named, ensure_ascii=False) + "\n")
                if len(report.rows) < SHOWN_ROWS:
                    report.rows.append({"file": path.name, **row})
    return report


def report_html(report: FileReport) -> str:
    """How many documents were read, the first predictions, and what could not be used."""
    done, failed = report.summary.done, report.summary.failed
    noun = "document" if done == 1 else "documents"
    parts = [f'<p id="files-summary">{grouped(done)} {noun} predicted.</p>']
    if failed:
        parts.append(_problems_html(report.problems, failed))
    if done > len(report.rows):
        shown = f"Shown are the first {len(report.rows)}; the download has all of them."
        parts.append(f'<p class="small">{shown}</p>')
    parts.append(_table_html(report.rows))
    return "".join(parts)


def _table_html(rows: Sequence[dict[str, Any]]) -> str:
    several = len({row["file"] for row in rows}) > 1
    names = (*(("File",) if several else ()), "Document", "Keyphrases")
    heads = "".join(f'<th scope="col">{name}</th>' for name in names)
    lines = []
    for row in rows:
        file = f'<td dir="auto">{escape(row["file"])}</td>' if several else ""
        document = f'<th scope="row" dir="auto">{escape(row["id"])}</th>'
        lines.append(f'<tr>{file}{document}<td dir="auto">{_phrases_html(row)}</td></tr>')
    return (
        '<table class="keyphrases" id="files-table"><caption>Keyphrases, best first</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
    )


def build_files_tab(handlers: FilesHandlers) -> gr.File:
    """Upload, choose a model, predict, look at the first rows, download; returns the uploads."""
    section_heading("Predict the documents of whole files", "files-heading")
    gr.HTML(
        "<p>A text, Markdown or PDF file is one document. JSON Lines and CSV hold a document a line, "
        "with <code>title</code> and <code>abstract</code> (or <code>text</code>).</p>",
        elem_id="files-help",
    )
    with gr.Row(elem_classes="columns"):
        with gr.Column(scale=5, min_width=320):
            upload = gr.File(
                label="Files",
                file_count="multiple",
                file_types=list(DOCUMENT_SUFFIXES),
                height=200,
                elem_id="files-upload",
            )
            model = gr.Dropdown(
                handlers.shelf.choices,
                value=handlers.shelf.default,
                label="Model",
                elem_id="files-model",
            )
            run = gr.Button("Predict files", variant="primary", elem_id="files-run")
            download = gr.DownloadButton("Download predictions", interactive=False, elem_id="files-download")
            gr.HTML(
                f'<p class="small">Uploads and predictions are deleted after {KEPT_MINUTES} minutes.</p>',
                elem_id="files-kept",
            )
        with gr.Column(scale=6, min_width=320):
            result = gr.HTML(empty_html(EMPTY), elem_id="files-result")
    run.click(
        handlers.predict_files,
        [upload, model],
        [result, download],
        api_name="predict_files",
        concurrency_limit=1,
        concurrency_id="files",
        show_progress_on=result,
        trigger_mode="always_last",  # a click for other files counts while these are read
    )
    # An answer to other files than those shown would mislead. By the browser itself: the server might answer
    # this after the prediction, and take that away.
    upload.change(None, None, [result, download], js=FORGET, api_name="forget_files")
    return upload


def checked_files(paths: Sequence[str] | None) -> list[Path]:
    files = [Path(path) for path in paths or []]
    if not files:
        raise InputError("No file is chosen: choose one or drop it on the box.")
    if len(files) > MOST_FILES:
        raise InputError(f"There are {len(files)} files: give at most {MOST_FILES} at a time.")
    for path in files:
        if path.suffix.lower() not in DOCUMENT_SUFFIXES:  # no compressed ones: a small one may hold gigabytes
            kinds = ", ".join(DOCUMENT_SUFFIXES)
            raise InputError(f"{path.name} cannot be read here: use one of {kinds}.")
    return files


def own_copies(files: Sequence[Path], folder: Path) -> list[Path]:
    """The uploads where nobody deletes them while they are read, each in a folder with its own name."""
    copies = []
    for number, path in enumerate(files):
        copy = folder / str(number) / path.name
        copy.parent.mkdir()
        try:
            shutil.copyfile(path, copy)
        except FileNotFoundError:
            raise InputError(
                f"{path.name} is gone: uploads are deleted after {KEPT_MINUTES} minutes, so choose it again."
            ) from None
        copies.append(copy)
    return copies


def _checked_turns(documents: Sequence[Document | str]) -> Iterator[list[Document]]:
    read = [Document(document) if isinstance(document, str) else document for document in documents]
    for document in read:
        check_length(document)
    return _turns(read)


def _turns(documents: Sequence[Document]) -> Iterator[list[Document]]:
    """Consecutive documents of at most `TURN_CHARACTERS` together; a longer one stands alone."""
    turn: list[Document] = []
    for document in documents:
        if turn and sum(len(other.text) for other in [*turn, document]) > TURN_CHARACTERS:
            yield turn
            turn = []
        turn.append(document)
    if turn:
        yield turn


def _count_documents(path: Path) -> int:
    if document_suffix(path) in WHOLE_SUFFIXES:
        return 1
    try:
        return sum(1 for _ in read_numbered(path, on_error=_ignore))
    except InputError:
        return 0  # the prediction itself reports it


def _ignore(error: LineError) -> None:
    """The first pass only counts; the second reports."""


def _predict_upload(
    predictor: Predictor, path: Path, report: FileReport, total: int, progress: gr.Progress
) -> Iterator[dict[str, Any]]:
    before = report.summary

    def problem(error: LineError) -> None:
        _add_problem(report, path, error.message)

    def advance(counts: BatchSummary) -> None:
        progress((before.seen + counts.seen, max(total, 1)), desc="Reading", unit="documents")

    lines = io.BytesIO()
    try:
        counts = predict_file(
            predictor, path, lines, batch_size=BATCH_SIZE, progress=advance, on_error=problem
        )
    except InputError as error:
        _add_problem(report, path, str(error))
        counts = BatchSummary(failed=1)
    report.summary = BatchSummary(before.done + counts.done, 0, before.failed + counts.failed)
    for line in lines.getvalue().splitlines():
        yield json.loads(line)


def _add_problem(report: FileReport, path: Path, message: str) -> None:
    if len(report.problems) < SHOWN_PROBLEMS:
        named = message.replace(str(path), path.name)
        report.problems.append(named if path.name in named else f"{path.name}: {named}")


def _problems_html(problems: Sequence[str], failed: int) -> str:
    noun = "document" if failed == 1 else "documents"
    items = "".join(f"<li>{escape(problem)}</li>" for problem in problems)
    more = f"<p>And {failed - len(problems)} more.</p>" if failed > len(problems) else ""
    return (
        f'<div class="note" role="alert" id="files-problems"><p>{failed} {noun} could not be used:</p>'
        f"<ul>{items}</ul>{more}</div>"
    )


def _phrases_html(row: dict[str, Any]) -> str:
    """The present ones in a line, the absent ones as chips under it."""
    present = " · ".join(escape(keyphrase["text"]) for keyphrase in row["present"]) or "–"
    chips = "".join(chip_html(keyphrase["text"]) for keyphrase in row["absent"][:SHOWN_ABSENT])
    if not chips:
        return present
    more = len(row["absent"]) - SHOWN_ABSENT
    rest = f"<span>and {more} more</span>" if more > 0 else ""
    return f'{present}<div class="chips"><span>Absent</span>{chips}{rest}</div>'
