"""The report on writing: requested against obtained grades, balance, writers, and the grades of all pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from annotation.comparison import comparison_type
from annotation.errors import AnnotationError
from annotation.services.access.accounts import AccountService
from annotation.services.writing.editing import EDITORS, EditingService
from annotation.services.writing.reports import WritingReportService
from annotation.shares import share_text
from annotation.ui.asking import admitted, asked_by
from annotation.ui.filling import Filling
from annotation.ui.tables import file_name, listing_html
from annotation.ui.wording import counted, figure, grouped
from annotation.writing_report import BINS, GradeGap, WritingReport, cumulative
from kpdemo.ui.charts import (
    COLOURS,
    PATTERNS,
    SYMBOLS,
    Chart,
    chart_buttons,
    chart_of,
    escaped,
    in_template,
    plain_layout,
    short,
    show_chart,
    titled_axis,
)
from kpdemo.ui.widgets import done_html, empty_html, escape, section_heading, shown_to_user

GRADES = ("0", "1", "2", "3", "4")
NO_ITEMS = "No larger items yet: the balance appears once they are imported."
NO_GRADES = "No pair with a requested grade has a gold grade yet: the comparison appears with the first."
CHART = "writing-grades-chart"
REPORT_TAB = "report"
PARTS = 6
RIM = {"color": "#ffffff", "width": 1.5}
"""Around what marks a point, so that it stands out from a bar of its colour."""
SAYS = "Obtained grades by type, and the share of pairs up to each grade"


@dataclass(frozen=True)
class ReportHandlers:
    accounts: AccountService
    reports: WritingReportService
    editing: EditingService

    def open(self, request: gr.Request) -> tuple[Any, ...]:
        """The report where the address opens its tab: making it reads all grades of the project."""
        if request.query_params.get("tab") == REPORT_TAB:
            return self.show(request)
        with shown_to_user(AnnotationError):
            asked_by(request, self.accounts, *EDITORS)
        return tuple(gr.skip() for _ in range(PARTS))

    def show(self, request: gr.Request) -> tuple[Any, ...]:
        """Every part of the report."""
        with admitted(request, self.accounts, *EDITORS) as (project_id, _):
            report = self.reports.report(project_id)
        chart = distribution_chart(report)
        buttons = "" if chart is None else chart_buttons(CHART, SAYS, file_name(report.project, "grades"))
        return (
            balance_html(report),
            matrix_html(report),
            writers_html(report),
            distribution_html(report),
            show_chart(chart),
            buttons,
        )

    def make_zeros(self, request: gr.Request) -> str:
        """Pairs of grade 0 of the items that are reserved."""
        with admitted(request, self.accounts, *EDITORS) as (project_id, user):
            zeros = self.editing.make_zeros(project_id, by=user)
        said = f"Made {counted(zeros.made, 'pair')} of grade 0."
        if zeros.waiting:
            items = counted(zeros.waiting, "item has", "items have")
            said += f" {items} no partner yet: accept more texts of the same type and genre first."
        return done_html(said)


def build_report_section(handlers: ReportHandlers) -> tuple[Filling, Filling]:
    """How it is filled when the page is opened, and at any time after."""
    section_heading("Balance", "writing-balance-heading")
    balance = gr.HTML("", elem_id="writing-balance", js_on_load=None)
    make = gr.Button("Make the pairs of grade 0", elem_id="writing-make-zeros")
    made = gr.HTML("", elem_id="writing-zeros-made")
    section_heading("Requested and obtained grades", "writing-matrix-heading")
    matrix = gr.HTML("", elem_id="writing-matrix", js_on_load=None)
    section_heading("Writers", "writing-writers-heading")
    writers = gr.HTML("", elem_id="writing-writers", js_on_load=None)
    section_heading("Grades of all pairs", "writing-grades-heading")
    chart = gr.Plot(visible=False, show_label=False, container=False, elem_id=CHART)
    buttons = gr.HTML("", elem_id="writing-grades-save", js_on_load=None)
    distribution = gr.HTML("", elem_id="writing-grades", js_on_load=None)
    shown = [balance, matrix, writers, distribution, chart, buttons]
    opening = Filling(handlers.open, shown, "show_writing_report")
    filling = Filling(handlers.show, shown, "show_writing_report_again")
    making = make.click(handlers.make_zeros, outputs=made, api_name="make_zeros")
    filling.after(making, name="show_report_with_zeros")
    return opening, filling


def balance_html(report: WritingReport) -> str:
    """How often each grade was requested, by type and genre."""
    if not report.groups:
        return empty_html(NO_ITEMS)
    rows = [
        (comparison_type(group.type).label, group.genre or "–", *group.counts, group.unwritten)
        for group in report.groups
    ]
    said = (
        f"{counted(report.waiting, 'text')} to review, {counted(report.reserved, 'item')} reserved for "
        f"grade 0, {counted(report.not_understood, 'item')} left blank and not yet written."
    )
    heads = ("Type", "Genre", *GRADES, "Unwritten")
    return f"<p>{escape(said)}</p>{table_html('How often each grade was requested', heads, rows, words=2)}"


def matrix_html(report: WritingReport) -> str:
    """Requested grades in rows, obtained ones in columns, and how far they are apart."""
    if not report.whole.pairs:
        return empty_html(NO_GRADES)
    rows = [
        (str(grade), *counts, *drift_cells(drift))
        for grade, (counts, drift) in enumerate(zip(report.matrix, report.by_grade, strict=True))
    ]
    kinds = [(comparison_type(type).label, *drift_cells(drift)) for type, drift in report.by_type]
    kinds.append(("all", *drift_cells(report.whole)))
    last = ("Pairs", "Mean", "Drift", "Off by")
    heads = ("Requested", *(f"got {grade}" for grade in GRADES), *last)
    return (
        "<p>Drift is the mean of obtained minus requested: above 0, raters found pairs more similar than "
        "requested. All pairs with a requested grade and a gold grade count, imported ones too.</p>"
        + table_html("Pairs by requested and obtained grade", heads, rows)
        + table_html("Drift by type", ("Type", *last), kinds)
    )


def writers_html(report: WritingReport) -> str:
    """What each writer did, and how well they met the grades."""
    if not report.writers:
        return empty_html("Nobody has written yet. Give somebody the role writer on the project's page.")
    rows = []
    for each in report.writers:
        counts, (pairs, _, drift, distance) = each.counts, drift_cells(each.drift)
        seconds = "–" if counts.seconds is None else f"{counts.seconds:.0f} s"
        done = (counts.submitted, counts.accepted, counts.sent_back, counts.blank, counts.handed_on)
        rows.append((counts.writer, *done, seconds, pairs, drift, distance))
    heads = ("To review", "Accepted", "Sent back", "Blank", "Handed on", "Time", "Graded", "Drift", "Off by")
    return table_html("Figures of each writer", ("Writer", *heads), rows)


def distribution_html(report: WritingReport) -> str:
    """The table of the chart: pairs at each half grade, and the share up to there."""
    if not report.distribution:
        return empty_html("No pair has a gold grade yet.")
    rows: list[tuple[object, ...]] = []
    for type, counts in report.distribution:
        label = comparison_type(type).label
        rows.append((label, *counts))
        rows.append((f"{label}, up to here", *map(share_text, cumulative(counts))))
    heads = ("Type", *(f"{float(middle):g}" for middle in BINS))
    return table_html("Pairs by obtained grade, to the nearest half", heads, rows)


def distribution_chart(report: WritingReport) -> Chart | None:
    """Figure 1 of Jurgens et al. (2014): bars of pairs by obtained grade, a line up to each; None of none."""
    if not report.distribution:
        return None
    middles = [float(middle) for middle in BINS]
    traces: list[Chart] = []
    for number, (type, counts) in enumerate(report.distribution):
        label, colour = comparison_type(type).label, COLOURS[number % len(COLOURS)]
        pattern = {"shape": PATTERNS[number % len(PATTERNS)], "fillmode": "overlay"}
        traces.append(
            {
                "type": "bar",
                "name": escaped(short(label)),
                "x": middles,
                "y": list(counts),
                "width": 0.4,
                "opacity": 0.5,  # the lines of the same colours go across
                "marker": {"color": colour, "pattern": pattern},
                "hovertemplate": f"{in_template(label)}, %{{x}}: %{{y}}<extra></extra>",
            }
        )
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": f"{escaped(short(label))}, up to here",
                "x": middles,
                "y": [100 * share for share in cumulative(counts)],
                "customdata": list(map(share_text, cumulative(counts))),
                "yaxis": "y2",
                "line": {"color": colour, "width": 2.5},
                "marker": {"symbol": SYMBOLS[number % len(SYMBOLS)], "size": 9, "line": RIM},
                "hovertemplate": f"{in_template(label)}, up to %{{x}}: %{{customdata}}<extra></extra>",
            }
        )
    layout = plain_layout(360, legend=True)
    layout["barmode"] = "stack"
    layout["xaxis"] = {**titled_axis("obtained grade"), "dtick": 0.5, "range": [-0.3, 4.3]}
    layout["yaxis"] = {**titled_axis("pairs"), "rangemode": "tozero"}
    layout["yaxis2"] = {
        **titled_axis("% up to here"),
        "overlaying": "y",
        "side": "right",
        "range": [0, 103],
        "showgrid": False,
    }
    return chart_of(traces, layout)


def drift_cells(drift: GradeGap) -> tuple[str, str, str, str]:
    """Pairs, mean, drift and distance as they are written."""
    return (
        grouped(drift.pairs),
        "–" if drift.obtained is None else figure(drift.obtained, 2),
        "–" if drift.drift is None else figure(drift.drift, 2, sign="+"),
        "–" if drift.distance is None else figure(drift.distance, 2),
    )


def table_html(
    caption: str, heads: Sequence[str], rows: Sequence[Sequence[object]], *, words: int = 1
) -> str:
    """A table whose first `words` columns are words and the others numbers."""
    body = "".join(
        f'<tr><th scope="row" dir="auto">{escape(str(first))}</th>'
        + "".join(
            f'<td{" class=number" if place >= words else ""} dir="auto">'
            f"{escape(grouped(cell) if isinstance(cell, int) else str(cell))}</td>"
            for place, cell in enumerate(rest, start=1)
        )
        + "</tr>"
        for first, *rest in rows
    )
    return listing_html(heads, body, numbers=range(words, len(heads)), caption=caption, label=caption)
