"""The section of a project's page that exports the gold set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from annotation.errors import AnnotationError, ExportError
from annotation.gold import ExportOptions, Format, RaterColumns, Unfinished
from annotation.services.access.accounts import AccountService
from annotation.services.gold import ExportRecord, GoldService
from annotation.services.gold_counts import GoldCounts
from annotation.types import Role
from annotation.ui.asking import asked_by
from annotation.ui.filling import Filling
from annotation.ui.tables import listing_html
from annotation.ui.wording import all_withdrawn_text, counted, grouped, regrouped, time_html
from annotation.web.downloads import gold_address, read_options
from kpdemo.ui.widgets import empty_html, escape, note_html, section_heading

FORMATS = [
    ("JSON Lines", Format.JSONL.value),
    ("CSV, for spreadsheets", Format.CSV.value),
    ("Parquet", Format.PARQUET.value),
    ("SemEval-2014 Task 3: input and gold files", Format.SEMEVAL.value),
]
UNFINISHED = [
    ("Export only when there are none", Unfinished.REFUSE.value),
    ("Leave them out", Unfinished.LEAVE_OUT.value),
    ("List them in a separate file", Unfinished.LIST.value),
]
RATERS = [
    ("Without individual grades", RaterColumns.NONE.value),
    ("With grades of “rater 1” and so on", RaterColumns.ANONYMOUS.value),
    ("With grades and account names", RaterColumns.NAMED.value),
]
NO_PAIRS = "No pairs yet. Import a file of pairs; the gold set grows with their grades."


@dataclass(frozen=True)
class ExportHandlers:
    accounts: AccountService
    gold: GoldService

    def show(
        self,
        format: str | None,
        unfinished: str | None,
        raters: str | None,
        comments: bool | None,
        request: gr.Request,
    ) -> tuple[str, str]:
        """What would be written, with the link that writes it, and the exports before."""
        try:
            project_id, _ = asked_by(request, self.accounts, Role.ADMINISTRATOR)
            options = read_options(format or "", unfinished or "", raters or "", "yes" if comments else "")
            earlier = exports_html(self.gold.exports(project_id))
            counts = self.gold.counts(project_id)
            if not counts.pairs:
                said = all_withdrawn_text(counts.withdrawn) if counts.withdrawn else NO_PAIRS
                return empty_html(said), earlier
            try:
                self.gold.check(project_id, options)
            except ExportError as error:
                return counts_html(counts) + closed_html(str(error)), earlier
        except AnnotationError as error:
            return note_html(str(error), role="alert"), ""
        return counts_html(counts) + link_html(project_id, options, counts), earlier


def build_export_section(handlers: ExportHandlers) -> Filling:
    default = ExportOptions()
    with gr.Row(elem_classes="columns"):
        with gr.Column(scale=5, min_width=320):
            section_heading("Export the gold set", "export-heading")
            format = gr.Radio(FORMATS, value=default.format.value, label="Format", elem_id="export-format")
            unfinished = gr.Radio(
                UNFINISHED,
                value=default.unfinished.value,
                label="Pairs without a gold grade",
                elem_id="export-unfinished",
            )
            raters = gr.Radio(RATERS, value=default.raters.value, label="Raters", elem_id="export-raters")
            comments = gr.Checkbox(
                default.comments, label="Include raters' comments", elem_id="export-comments"
            )
        with gr.Column(scale=6, min_width=320):
            section_heading("What is written", "export-result-heading")
            result = gr.HTML("", elem_id="export-result", js_on_load=None)
            section_heading("Earlier exports", "export-earlier-heading")
            earlier = gr.HTML("", elem_id="export-earlier", js_on_load=None)
            again = gr.Button("Refresh", elem_id="export-again", size="sm")
    fields: list[Any] = [format, unfinished, raters, comments]
    filling = Filling(handlers.show, [result, earlier], "show_export", fields)
    for number, field in enumerate(fields, 1):
        filling.when(field.change, name=f"show_export_{number}")
    filling.when(again.click, name="show_export_again")
    return filling


def counts_html(counts: GoldCounts) -> str:
    """How many pairs have a gold grade, and what the others lack."""
    rows: tuple[tuple[str, int, str], ...] = (
        ("With a gold grade", counts.with_gold, "adjudicated, or the mean of grades that are close enough"),
        ("Too few grades", counts.too_few_ratings, "fewer than the project asks for"),
        ("Not adjudicated", counts.not_adjudicated, "flagged, without a decision"),
    )
    if counts.reopened:
        meaning = "of those with a gold grade: graded after the decision, which counts until changed"
        rows = (*rows, ("Open again", counts.reopened, meaning))
    if counts.problems:
        meaning = "of those with a gold grade: see Comments and skips; withdraw those that should not count"
        rows = (*rows, ("Marked as a problem", counts.problems, meaning))
    body = "".join(
        f'<tr><th scope="row">{name}</th><td class="number">{grouped(number)}</td><td>{meaning}</td></tr>'
        for name, number, meaning in rows
    )
    return listing_html((), body, caption=counted(counts.pairs, "pair"), label="Pairs of the gold set")


def link_html(project_id: int, options: ExportOptions, counts: GoldCounts) -> str:
    """The link that downloads the gold set, and what is in it."""
    missing = counts.pairs - counts.with_gold
    rest = ""
    if missing:
        listed = options.unfinished is Unfinished.LIST
        rest = f", {counted(missing, 'other')} {'in a separate file' if listed else 'left out'}"
    without = (
        " This layout holds no genres, no raters' grades and no comments."
        if options.format is Format.SEMEVAL
        else ""
    )
    address = escape(gold_address(project_id, options))
    return (
        f'<p><a id="export-download" href="{address}" download>Export gold</a></p>'
        '<p id="export-told" class="small" role="status"></p>'
        f'<p class="small">A ZIP archive: {counted(counts.with_gold, "pair")} with a gold grade{rest}, a '
        "manifest with the protocol, counts, α and the SHA-256 of each file, and README.md, a dataset card "
        f"for publishing it.{without}</p>"
    )


def closed_html(reason: str) -> str:
    """The button while these options cannot be exported, and why."""
    return (
        '<p><button type="button" id="export-closed" disabled aria-describedby="export-reason">Export gold'
        f'</button></p><div id="export-reason">{note_html(regrouped(reason))}</div>'
    )


def exports_html(records: list[ExportRecord]) -> str:
    """The exports before, the last first."""
    if not records:
        return empty_html("Nothing has been exported yet.")
    body = "".join(
        f"<tr><td>{time_html(record.at)}</td><td>{record.options.format}</td>"
        f'<td class="number">{grouped(record.pairs)}</td>'
        f"<td><bdi>{escape(record.by or 'command line')}</bdi></td>"
        f'<td><code title="{record.manifest_sha256}">{record.manifest_sha256[:12]}</code></td></tr>'
        for record in records
    )
    return listing_html(("When", "Format", "Pairs", "By", "Manifest"), body, numbers=(2,), label="Exports")
