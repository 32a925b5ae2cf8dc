"""Several files of predictions side by side on the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from kpdemo.evaluation.report import CAPTIONS
from kpdemo.evaluation.runs import GROUPS, WITHOUT_GOLD, Run, note_under, rows_of_runs, shown_shares
from kpdemo.terminal import harmless, open_console


def show_runs(runs: Sequence[Run]) -> None:
    """For each data set a table by each convention, with a row for each run."""
    console = open_console()
    for dataset in runs[0].report.datasets:
        for convention in CAPTIONS:
            table = Table(title=harmless(f"{dataset}, {WITHOUT_GOLD[convention]}"), title_justify="left")
            note = note_under(runs[0].report.datasets[dataset], convention)
            table.caption, table.caption_justify = note, "left"
            table.add_column("Model or file", overflow="fold")
            for group, names in GROUPS:
                for name in names:
                    table.add_column(f"{group}\n{name}", justify="right")
            table.add_column("Documents", justify="right")
            for label, figures in rows_of_runs(runs, dataset):
                cells = [*shown_shares(figures, convention), f"{figures.documents:,}"]
                table.add_row(harmless(label), *map(Text, cells))
            console.print(table)
