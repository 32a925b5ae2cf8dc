"""Figures of an evaluation on the terminal: of one model, or of several files of predictions side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.table import Table
from rich.text import Text

from kpdemo.commands.options import counted
from kpdemo.evaluation.metrics import Convention
from kpdemo.evaluation.protocol import DatasetFigures
from kpdemo.evaluation.report import (
    CAPTIONS,
    Report,
    interval_note,
    plus_minus,
    shares,
    with_gold_note,
    with_languages,
)
from kpdemo.evaluation.runs import (
    GROUPS,
    WITHOUT_GOLD,
    Run,
    difference_note,
    differences_of_runs,
    note_under,
    rows_of_runs,
    shown_figures,
)
from kpdemo.evaluation.significance import CONVENTIONS, FIGURES, estimates
from kpdemo.terminal import harmless, open_console

MEANINGS: dict[Convention, str] = {"skip_empty": "skipped", "count_empty": "count as zero"}


def show_report(report: Report) -> None:
    """A table for each dataset; one of several languages has a table for each too."""
    console = open_console()
    for name, figures in with_languages(report.datasets):
        console.print(_figures_table(name, figures))
    console.print(harmless(interval_note(report.datasets)))


def _figures_table(name: str, figures: DatasetFigures) -> Table:
    title = harmless(f"{name}: {counted(figures.documents, 'document')}")
    table = Table(title=title, title_justify="left")
    table.caption, table.caption_justify = with_gold_note(figures), "left"
    table.add_column("Kind")
    table.add_column("Without gold")
    found = {convention: shares(figures, convention) for convention in CONVENTIONS}
    measures = list(found["skip_empty"]["absent"])
    for measure in measures:
        table.add_column(measure, justify="right")
    known = {convention: estimates(figures.scores, convention) for convention in CONVENTIONS}
    for kind in FIGURES:
        for convention in CONVENTIONS if kind != "pooled" else ("skip_empty",):
            values = found[convention][kind]
            margins = {name: estimate.margin for name, estimate in known[convention][kind].items()}
            cells = [_figure(values.get(measure), margins.get(measure)) for measure in measures]
            table.add_row(kind, MEANINGS[convention], *cells)
    return table


def _figure(value: float | None, margin: float | None) -> str:
    return "" if value is None else "\n".join([f"{value:.3f}", *plus_minus(margin)])


def show_runs(runs: Sequence[Run]) -> None:
    """For each data set and convention a table with a row for each run, and one of the differences."""
    console = open_console()
    for dataset in runs[0].report.datasets:
        for convention in CAPTIONS:
            about = f"{dataset}, {WITHOUT_GOLD[convention]}"
            table = _table(about)
            table.caption = note_under(runs[0].report.datasets[dataset], convention)
            table.add_column("Documents", justify="right", no_wrap=True)
            for label, figures in rows_of_runs(runs, dataset):
                cells = shown_figures(figures, convention)
                table.add_row(harmless(label), *_lines(cells), f"{figures.documents:,}")
            console.print(table)
            table = _table(f"Differences from the first: {about}")
            for label, cells in differences_of_runs(runs, dataset, convention):
                table.add_row(harmless(label), *_lines(cells))
            console.print(table)
    console.print(harmless(interval_note(runs[0].report.datasets)))
    console.print(harmless(difference_note(runs)))


def _table(title: str) -> Table:
    table = Table(title=harmless(title), title_justify="left", caption_justify="left")
    table.add_column("Model or file", overflow="fold")
    for group, names in GROUPS:
        for name in names:
            table.add_column(f"{group}\n{name}", justify="right", no_wrap=True)
    return table


def _lines(cells: Iterable[Sequence[str]]) -> list[Text]:
    return [Text("\n".join(lines)) for lines in cells]
