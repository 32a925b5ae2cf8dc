"""Figures of an evaluation on the terminal: of one model, or of several files of predictions side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.table import Table
from rich.text import Text

from kpdemo.cli.options import count_noun
from kpdemo.evaluation.metrics import CUTS, DEEP_CUT, Convention
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
    WITHOUT_GOLD,
    Run,
    difference_note,
    differences_of_runs,
    figure_cells,
    groups_of,
    note_under,
    rows_of_runs,
)
from kpdemo.evaluation.significance import CONVENTIONS, estimates
from kpdemo.terminal import harmless, open_console

_MOST_MEASURES, _MOST_OF_RUNS = 2, 3
"""Further cuts that a table has room for: with P, R and F1, or with F1 of two kinds."""

MEANINGS: dict[Convention, str] = {"skip_empty": "skipped", "count_empty": "count as zero"}


def show_report(report: Report) -> None:
    """A table for each dataset; one of several languages has a table for each too."""
    console = open_console()
    for name, figures in with_languages(report.datasets):
        for cuts in _cuts_of_tables(figures, _MOST_MEASURES):
            console.print(_figures_table(name, figures, cuts))
    console.print(harmless(interval_note(report.datasets)))


def _cuts_of_tables(figures: DatasetFigures, most: int) -> Iterator[list[str]]:
    """Those that are always measured in one table, and the others in further ones, so many in each."""
    yield [*map(str, CUTS), str(DEEP_CUT)]
    further = [str(cut) for cut in figures.cuts if cut not in CUTS]
    for first in range(0, len(further), most):
        yield further[first : first + most]


def _is_at(measure: str, cuts: Sequence[str]) -> bool:
    return measure.partition("@")[2] in cuts


def _figures_table(name: str, figures: DatasetFigures, cuts: Sequence[str]) -> Table:
    title = harmless(f"{name}: {count_noun(figures.documents, 'document')}")
    table = Table(title=title, title_justify="left")
    table.caption, table.caption_justify = with_gold_note(figures), "left"
    table.add_column("Kind")
    table.add_column("Without gold")
    found = {convention: shares(figures, convention) for convention in CONVENTIONS}
    measures = [measure for measure in found["skip_empty"]["absent"] if _is_at(measure, cuts)]
    for measure in measures:
        table.add_column(measure, justify="right")
    known = {convention: estimates(figures.scores, convention) for convention in CONVENTIONS}
    for kind in known["skip_empty"]:
        if not any(_is_at(name, cuts) for name in known["skip_empty"][kind]):
            continue
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
    for dataset, figures in runs[0].report.datasets.items():
        for convention in CAPTIONS:
            for cuts in _cuts_of_tables(figures, _MOST_OF_RUNS):
                for table in _tables_of_runs(runs, dataset, convention, cuts):
                    console.print(table)
    console.print(harmless(interval_note(runs[0].report.datasets)))
    console.print(harmless(difference_note(runs)))


def _tables_of_runs(
    runs: Sequence[Run], dataset: str, convention: Convention, cuts: Sequence[str]
) -> Iterator[Table]:
    """The figures at these cuts, and the differences from the first run."""
    figures = runs[0].report.datasets[dataset]
    columns = [(group, name) for group, names in groups_of(figures) for name in names]
    shown = [place for place, (_, name) in enumerate(columns) if _is_at(name, cuts)]
    heads = [columns[place] for place in shown]
    about = f"{dataset}, {WITHOUT_GOLD[convention]}"
    table = _table(about, heads)
    table.caption = note_under(figures, convention)
    table.add_column("Documents", justify="right", no_wrap=True)
    for label, of_run in rows_of_runs(runs, dataset):
        cells = figure_cells(of_run, convention)
        table.add_row(harmless(label), *_lines(cells[place] for place in shown), f"{of_run.documents:,}")
    yield table
    table = _table(f"Differences from the first: {about}", heads)
    for label, cells in differences_of_runs(runs, dataset, convention):
        table.add_row(harmless(label), *_lines(cells[place] for place in shown))
    yield table


def _table(title: str, heads: Iterable[tuple[str, str]]) -> Table:
    table = Table(title=harmless(title), title_justify="left", caption_justify="left")
    table.add_column("Model or file", overflow="fold")
    for group, name in heads:
        table.add_column(f"{group}\n{name}", justify="right", no_wrap=True)
    return table


def _lines(cells: Iterable[Sequence[str]]) -> list[Text]:
    return [Text("\n".join(lines)) for lines in cells]
