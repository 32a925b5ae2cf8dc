"""The Files page: many documents in, their predictions out as JSON Lines and CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import gradio as gr

from kpdemo.errors import InputError, KpdemoError, StoppedError
from kpdemo.types import Keyphrase
from kpdemo.ui.html import count_noun, escape, filler_note, filler_word, group_digits
from kpdemo.ui.models import ModelShelf
from kpdemo.ui.results import chip_html, passage_list_html
from kpdemo.ui.stop import Stops
from kpdemo.ui.uploads import (
    KEPT_MINUTES,
    FileReport,
    in_turn_of_files,
    predict_uploads,
    readable_copies,
    unreadable,
)
from kpdemo.ui.widgets import (
    CHOOSE_AGAIN,
    FILES_QUEUE,
    QUIETLY,
    empty_html,
    forget_script,
    keep_reason,
    note_html,
    page_of,
    refusal_html,
    section_heading,
    shown_to_user,
    stop_button,
)

EMPTY = "No predictions yet. Choose files, then press Predict files."
STOPPED_EARLY = "Stopped before any document was predicted: press Predict files to start again."

RENAMED = (
    "Some files have the same name, or some documents the same id: the later ones end in -2, -3 and so on, "
    "here and in the download."
)

SHOWN_ABSENT = 5
OUTPUT_NAME = "predictions.jsonl"


@dataclass(frozen=True)
class FilesHandlers:
    shelf: ModelShelf
    stops: Stops = field(default_factory=Stops)

    def predict_files(
        self,
        paths: list[str] | None,
        model: str,
        request: gr.Request | None = None,
        progress: gr.Progress = gr.Progress(),  # noqa: B008 - Gradio looks for it in the defaults
    ) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
        """A table of the first predictions, and all of them in two files."""
        with (
            shown_to_user(KpdemoError),
            self.stops.begun(page_of(request), STOPPED_EARLY) as stop,
            TemporaryDirectory(prefix="kpdemo-") as folder,
        ):
            uploads = readable_copies(paths, Path(folder))
            output = Path(folder) / OUTPUT_NAME
            with in_turn_of_files(self.shelf, stop, progress):
                reader = self.shelf.open(model, stop)
                read_pdf = partial(self.shelf.pdfs.read, stop=stop)
                report = predict_uploads(reader, uploads, output, progress, read_pdf)
            if not report.summary.done:
                if report.stopped:
                    raise StoppedError(STOPPED_EARLY)
                raise InputError(nothing_read(report.problems, report.summary.failed))
            given = [
                gr.update(value=str(path), interactive=True) for path in (output, output.with_suffix(".csv"))
            ]
            yield report_html(report), given[0], given[1]  # Gradio copies them, before the folder goes

    def check_files(self, paths: list[str] | None) -> str | dict[str, Any]:
        """Which of the chosen files cannot be read; if all can, the page stays as it is."""
        try:
            refused = unreadable(paths) if paths else []
        except InputError as error:
            return refusal_html(str(error))
        if paths and refused:
            others = " The other files can be predicted." if len(refused) < len(paths) else ""
            return refusal_html(" ".join(refused) + others)
        unchanged: dict[str, Any] = gr.skip()
        return unchanged


def nothing_read(problems: Sequence[str], failed: int) -> str:
    """Why there is no document that could be used."""
    if not problems:
        return "There is no document in the files."
    others = f" {group_digits(failed - 1)} more could not be used either." if failed > 1 else ""
    return problems[0] + others


def report_html(report: FileReport) -> str:
    """How many documents were read, the first predictions, and what could not be used."""
    done, failed = report.summary.done, report.summary.failed
    parts = [f'<p id="files-summary">{count_noun(done, "document")} predicted.</p>']
    if report.stopped:
        parts.insert(0, note_html(_stopped_text(report), role="alert"))
    if failed:
        parts.append(_problems_html(report.problems, failed, report.failed_files))
    if done > len(report.rows):
        shown = f"The first {len(report.rows)} are shown; the download has all of them."
        parts.append(f'<p class="small">{shown}</p>')
    if report.renamed:
        parts.append(f'<p class="small" id="files-renamed">{RENAMED}</p>')
    notes = [report.unnamed] if report.unnamed else []
    parts += [note_html(note, role="status") for note in [*notes, *report.foreign]]
    parts.append(_table_html(report.rows))
    return "".join(parts)


def _stopped_text(report: FileReport) -> str:
    done, left = report.summary.done, report.total - report.summary.seen
    kept = "it is" if done == 1 else "they are"
    return (
        f"Stopped: {group_digits(done)} of {count_noun(report.total, 'document')} "
        f"{'is' if done == 1 else 'are'} "
        f"predicted, and {kept} in the download; {group_digits(left)} {'was' if left == 1 else 'were'} not "
        "read."
    )


def _table_html(rows: Sequence[dict[str, Any]]) -> str:
    several = len({row["file"] for row in rows}) > 1
    names = (*(("File",) if several else ()), "Document", "Keyphrases")
    heads = "".join(f'<th scope="col">{name}</th>' for name in names)
    lines = []
    shown: list[Keyphrase] = []
    for row in rows:
        present, absent = _keyphrases(row["present"]), _keyphrases(row["absent"])
        shown += [*present, *absent[:SHOWN_ABSENT]]
        phrases = _phrases_html(present, absent) + passage_list_html(row.get("passages", []))
        file = f'<td dir="auto">{escape(row["file"])}</td>' if several else ""
        document = f'<th scope="row" dir="auto">{escape(row["id"])}</th>'
        lines.append(f'<tr>{file}{document}<td dir="auto">{phrases}</td></tr>')
    return (
        '<table class="keyphrases" id="files-table"><caption>Keyphrases, best first</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody></table>{filler_note(shown)}"
    )


def build_files_tab(handlers: FilesHandlers) -> gr.File:
    """Upload, choose a model, predict, look at the first rows, download; returns the uploads."""
    section_heading("Predict the documents of whole files", "files-heading")
    gr.HTML(
        "<p>A text, Markdown or PDF file is one document. JSON Lines, CSV, TSV and XLSX have one document "
        "per line, with <code>title</code> and <code>abstract</code> (or <code>text</code>), "
        "and <code>id</code> if there are ids.</p>",
        elem_id="files-help",
    )
    with gr.Row(elem_classes="columns"):
        with gr.Column(scale=5, min_width=320):
            upload = gr.File(
                label="Files",
                file_count="multiple",
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
            with gr.Row(elem_id="files-downloads"):
                downloads = [
                    gr.DownloadButton(f"Download {label}", interactive=False, elem_id=elem_id)
                    for label, elem_id in (("predictions", "files-download"), ("CSV", "files-csv"))
                ]
            gr.HTML(
                f'<p class="small">Uploads and predictions are deleted after {KEPT_MINUTES} minutes.</p>',
                elem_id="files-kept",
            )
        with gr.Column(scale=6, min_width=320):
            stop_button(handlers.stops, "files")
            result = gr.HTML(empty_html(EMPTY), elem_id="files-result")
    asked = run.click(
        handlers.predict_files,
        [upload, model],
        [result, *downloads],
        api_name="predict_files",
        **FILES_QUEUE,
        show_progress_on=result,
        trigger_mode="always_last",  # a click for other files counts while these are read
    )
    keep_reason(asked, result, CHOOSE_AGAIN)
    # An answer to other files than those shown would mislead. By the browser itself: the server might answer
    # this after the prediction, and take that away.
    forget = forget_script(EMPTY, downloads=len(downloads))
    forgotten = upload.change(None, None, [result, *downloads], js=forget, api_name="forget_files")
    forgotten.then(handlers.check_files, upload, result, api_name="check_files", **QUIETLY)
    return upload


def _problems_html(problems: Sequence[str], failed: int, files: int) -> str:
    items = "".join(f"<li>{escape(problem)}</li>" for problem in problems)
    more = f"<p>And {failed - len(problems)} more.</p>" if failed > len(problems) else ""
    kinds = ((failed - files, "line"), (files, "file"))
    told = " and ".join(count_noun(count, kind) for count, kind in kinds if count)
    return (
        '<div class="note" role="alert" id="files-problems">'
        f"<p>{told} could not be used:</p><ul>{items}</ul>{more}</div>"
    )


def _keyphrases(items: Sequence[dict[str, Any]]) -> list[Keyphrase]:
    return [Keyphrase(one["text"], one["score"], filler=one.get("filler", False)) for one in items]


def _phrases_html(present: Sequence[Keyphrase], absent: Sequence[Keyphrase]) -> str:
    """The present ones in a line, and the absent ones as chips under it."""
    line = " · ".join(_phrase_html(one, escape(one.text)) for one in present) or "–"
    chips = "".join(_phrase_html(one, chip_html(one.text)) for one in absent[:SHOWN_ABSENT])
    if not chips:
        return line
    more = len(absent) - SHOWN_ABSENT
    rest = f"<span>and {more} more</span>" if more > 0 else ""
    return f'{line}<div class="chips"><span>Absent</span>{chips}{rest}</div>'


def _phrase_html(keyphrase: Keyphrase, shown: str) -> str:
    if not keyphrase.filler:
        return shown
    return f'<span class="filler"><span class="phrase">{shown}</span> {filler_word(keyphrase)}</span>'
