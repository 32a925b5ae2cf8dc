"""The Evaluate page: predictions files against the gold of their documents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import gradio as gr

from kpdemo.errors import InputError, KpdemoError
from kpdemo.evaluation.cuts import read_cuts
from kpdemo.evaluation.metrics import CUTS, Convention, Cut, with_further
from kpdemo.evaluation.report_latex import runs_to_latex
from kpdemo.evaluation.runs import run_to_json
from kpdemo.reading.file_kinds import LINE_SUFFIXES, TABLE_SUFFIXES
from kpdemo.ui.chosen import KEPT_MINUTES, MOST_FILES, checked_files, own_copies
from kpdemo.ui.evaluated import MOST_DOCUMENTS, Evaluation, evaluation_html, measure_uploads
from kpdemo.ui.figures import grouped
from kpdemo.ui.models import ModelShelf
from kpdemo.ui.stop import Stop, Stops
from kpdemo.ui.uploads import in_turn_of_files
from kpdemo.ui.widgets import (
    CHOOSE_AGAIN,
    FILES_QUEUE,
    QUIETLY,
    empty_html,
    forget_script,
    keep_reason,
    page_of,
    refusal_html,
    section_heading,
    shown_to_user,
    stop_button,
)

EMPTY = "No figures yet. Choose a gold file and predictions files, then press Evaluate."
HELP = (
    "<p>A gold file is JSON Lines, CSV or TSV, one document per line with its <code>keyphrases</code>, "
    "separated by semicolons in CSV and TSV. To predict these documents, use <em>Download predictions</em> "
    "on the tab Files, or <code>python -m kpdemo predict --input GOLD --output FILE</code>. Predictions of "
    'another system are lines of <code>{"id": …, "keyphrases": […]}</code>, best first.</p>'
)
STOPPED = "Stopped before everything was measured: press Evaluate to start again."
OUTPUT_NAME = "figures.jsonl"
DETAILS_NAME = "details.jsonl"
MADE_BY = "The page Evaluate of kpdemo"
AT = "Also F1 at"
MOST_FURTHER = 10
"""Cuts; each is a column for present and one for absent keyphrases."""
SHOWN_EVERY = 10
"""Documents, between two looks of the reader at the progress."""

CONVENTIONS: list[tuple[str, Convention]] = [
    ("left out: skip_empty", "skip_empty"),
    ("count as zero: count_empty", "count_empty"),
]
DOWNLOADS = {
    "download": "Download JSON",
    "details": "Download each document",
    **{f"latex-{convention}": "Download LaTeX" for _, convention in CONVENTIONS},
}
"""Their buttons, as `evaluate-NAME`; the style sheet shows only those of the chosen convention."""


@dataclass(frozen=True)
class EvaluateHandlers:
    shelf: ModelShelf
    stops: Stops = field(default_factory=Stops)

    def evaluate_files(
        self,
        gold: str | None,
        predictions: list[str] | None,
        at: str | None = "",
        request: gr.Request | None = None,
        progress: gr.Progress = gr.Progress(),  # noqa: B008 - Gradio looks for it in the defaults
    ) -> Iterator[tuple[str | dict[str, Any], ...]]:
        """The figures of each predictions file, and the files of `DOWNLOADS`.

        `at` are further numbers of predictions to measure, as for `evaluate --at`.
        """
        with (
            shown_to_user(KpdemoError),
            self.stops.begun(page_of(request), STOPPED) as stop,
            TemporaryDirectory(prefix="kpdemo-") as folder,
        ):
            cuts = _cuts_of(at)
            gold_file, *files = own_copies(_chosen(gold, predictions), Path(folder))
            with in_turn_of_files(self.shelf, stop, progress):
                evaluation = _until(stop, gold_file, files, Path(folder) / DETAILS_NAME, progress, cuts)
            written = [_written(Path(folder) / OUTPUT_NAME, figures_jsonl(evaluation)), evaluation.details]
            written += [
                _written(Path(folder) / f"figures-{convention}.tex", figures_latex(evaluation, convention))
                for _, convention in CONVENTIONS
            ]
            # Gradio copies the files when it takes these values, before the folder goes.
            yield evaluation_html(evaluation), *map(_offered, written)

    def check_evaluated(self, gold: str | None, predictions: list[str] | None) -> str | dict[str, Any]:
        """Which of the chosen files cannot be read; if all can, the page stays as it is."""
        try:
            _check_kinds(gold, predictions)
        except InputError as error:
            return refusal_html(str(error))
        unchanged: dict[str, Any] = gr.skip()
        return unchanged


def _written(file: Path, text: str) -> Path:
    file.write_text(text, encoding="utf-8")
    return file


def _offered(file: Path | None) -> dict[str, Any]:
    update: dict[str, Any] = gr.update(value=file and str(file), interactive=file is not None)
    return update


def figures_jsonl(evaluation: Evaluation) -> str:
    """A line for each predictions file: its name, and what `evaluate --json` prints of it."""
    rows = [run_to_json(one) for one in evaluation.files]
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def figures_latex(evaluation: Evaluation, convention: Convention) -> str:
    """The tables of `evaluate --latex`."""
    return f"{runs_to_latex(evaluation.files, convention, made_by=MADE_BY)}\n"


def _chosen(gold: str | None, predictions: list[str] | None) -> list[Path]:
    """The gold file, then those of predictions."""
    if not gold:
        raise InputError("No gold file is chosen: choose the documents with their keyphrases.")
    if not predictions:
        raise InputError("No predictions file is chosen: choose one, or make it on the tab Files.")
    return _check_kinds(gold, predictions)


def _cuts_of(at: str | None) -> tuple[Cut, ...]:
    """Those that are always measured, and the ones that are asked for."""
    if not at or not at.strip():
        return CUTS
    try:
        cuts = with_further(read_cuts(at))
    except InputError as error:
        raise InputError(f"{AT} {error}") from None
    if (further := len(cuts) - len(CUTS)) > MOST_FURTHER:
        raise InputError(
            f"{AT} {further} numbers: the page measures at most {MOST_FURTHER} besides 5 and M; give fewer, "
            "or use the command line (python -m kpdemo evaluate --at)."
        )
    return cuts


def _check_kinds(gold: str | None, predictions: list[str] | None) -> list[Path]:
    kinds = (*LINE_SUFFIXES, *TABLE_SUFFIXES)
    golds = checked_files([gold], suffixes=kinds, advice="JSON Lines with keyphrases") if gold else []
    advice = "the download of Files"
    return golds + (checked_files(predictions, suffixes=LINE_SUFFIXES, advice=advice) if predictions else [])


def _until(
    stop: Stop,
    gold: Path,
    files: list[Path],
    details: Path,
    progress: gr.Progress,
    cuts: tuple[Cut, ...],
) -> Evaluation:
    def measuring(done: int, total: int) -> None:
        stop.check()
        if done % SHOWN_EVERY == 0:
            progress((done, total), desc="Measuring", unit="documents")

    def comparing(done: int, total: int) -> None:
        stop.check()
        progress((done, total), desc="Comparing", unit="files")

    return measure_uploads(gold, files, details, measuring, comparing, cuts)


def build_evaluate_tab(handlers: EvaluateHandlers) -> None:
    """Upload gold and predictions, evaluate, compare the rows by one convention or the other, download."""
    section_heading("Measure predictions against gold keyphrases", "evaluate-heading")
    gr.HTML(HELP, elem_id="evaluate-help")
    with gr.Row(elem_classes="columns"):
        with gr.Column(scale=4, min_width=320):
            gold = gr.File(label="Gold file", height=140, elem_id="evaluate-gold")
            predictions = gr.File(
                label="Predictions files", file_count="multiple", height=140, elem_id="evaluate-predictions"
            )
            with gr.Accordion("More figures", open=False, elem_id="evaluate-more"):
                at = gr.Textbox(
                    label=AT,
                    info="How many predicted keyphrases to measure besides 5 and all; O: as many as gold.",
                    placeholder="such as 10, 15, O",
                    max_lines=1,
                    elem_id="evaluate-at",
                )
            run = gr.Button("Evaluate", variant="primary", elem_id="evaluate-run")
            with gr.Row(elem_id="evaluate-downloads"):
                downloads = [
                    gr.DownloadButton(
                        label,
                        interactive=False,
                        size="md",
                        elem_id=f"evaluate-{name}",
                        elem_classes=name.replace("latex-", "by-"),
                    )
                    for name, label in DOWNLOADS.items()
                ]
            gr.HTML(
                f'<p class="small">At most {grouped(MOST_DOCUMENTS)} documents and {MOST_FILES} predictions '
                "files; the command line has no limit. Uploads and figures are deleted after "
                f"{KEPT_MINUTES} minutes.</p>",
                elem_id="evaluate-limits",
            )
        with gr.Column(scale=7, min_width=320):
            gr.Radio(
                CONVENTIONS,
                value="skip_empty",
                label="Documents without present, or absent, gold keyphrases",
                interactive=True,  # no event asks for it: the style sheet shows its table
                elem_id="evaluate-convention",
            )
            stop_button(handlers.stops, "evaluate")
            result = gr.HTML(empty_html(EMPTY), elem_id="evaluate-result")
    asked = gr.on(
        [run.click, at.submit],
        handlers.evaluate_files,
        [gold, predictions, at],
        [result, *downloads],
        api_name="evaluate_files",
        **FILES_QUEUE,
        show_progress_on=result,
        trigger_mode="always_last",  # a click for other files counts while these are measured
    )
    keep_reason(asked, result, CHOOSE_AGAIN)
    forget = forget_script(EMPTY, downloads=len(downloads))
    for kind, upload in (("gold", gold), ("predictions", predictions)):
        # As on Files: by the browser itself, for the server might answer after the figures.
        name = f"forget_figures_of_{kind}"
        forgotten = upload.change(None, None, [result, *downloads], js=forget, api_name=name)
        forgotten.then(
            handlers.check_evaluated,
            [gold, predictions],
            result,
            api_name=f"check_{kind}",
            **QUIETLY,
        )
