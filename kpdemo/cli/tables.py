"""Results on the terminal: marked texts, keyphrases, passages, and figures side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from kpdemo.candidates.mining import Coverage
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
from kpdemo.passages import help_note, passage_rows, unrelated_note
from kpdemo.selection import short_score
from kpdemo.terminal import harmless, open_console
from kpdemo.text import number_of, shorten
from kpdemo.types import Document, Keyphrase, Prediction, RetrievalPrediction, Span

MARK = "black on bright_yellow"
OPEN_MARK, CLOSE_MARK = "[[", "]]"
_EXCERPT = 240  # characters of a passage

_MOST_MEASURES, _MOST_OF_RUNS = 2, 3
"""Further cuts that a table has room for: with P, R and F1, or with F1 of two kinds."""

MEANINGS: dict[Convention, str] = {"skip_empty": "skipped", "count_empty": "count as zero"}


def show_prediction(
    document: Document, prediction: Prediction, footer: str, retrieval: RetrievalPrediction | None = None
) -> None:
    """Print the text with its present keyphrases marked, then the tables, then what was retrieved."""
    console = open_console()
    spans = merge_spans([span for keyphrase in prediction.present for span in keyphrase.spans])
    console.print(marked_text(document.text, spans, colour=console.is_terminal), soft_wrap=True)
    console.print()
    if prediction.present:
        console.print(_present_table(prediction.present))
    else:
        console.print("No present keyphrases.")
    if prediction.absent:
        table = _keyphrase_table("Absent keyphrases")
        console.print(_filled(table, prediction.absent, [()] * len(prediction.absent)))
    elif prediction.absent_candidates:
        console.print("No absent keyphrase is likely enough; --unsure gives the best.")
    if retrieval and retrieval.passages:
        console.print(_passages_table(retrieval))
    for note in (unrelated_note(retrieval), help_note(retrieval)) if retrieval else ():
        if note:
            console.print(Text(note), soft_wrap=True)
    console.print(Text(footer, style="dim"))


def merge_spans(spans: Sequence[Span]) -> list[Span]:
    """The same places with overlaps made one, in order."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def marked_text(text: str, spans: Sequence[Span], *, colour: bool) -> Text:
    """`text` with `spans` coloured, or in brackets where there is no colour; they must not overlap."""
    pieces = Text()
    position = 0
    for start, end in spans:
        pieces.append(harmless(text[position:start]))
        phrase = harmless(text[start:end])
        pieces.append(
            phrase if colour else f"{OPEN_MARK}{phrase}{CLOSE_MARK}", style=MARK if colour else None
        )
        position = end
    pieces.append(harmless(text[position:]))
    return pieces


def show_models(*groups: Mapping[str, str]) -> None:
    """Names with a line on each; long names of one group leave the others narrow."""
    console = open_console()
    for number, models in enumerate(groups):
        table = Table(box=None, show_header=False, pad_edge=False)
        table.add_column(no_wrap=True)
        table.add_column()
        for name, description in models.items():
            table.add_row(Text(name, style="bold"), Text(description))
        if number:
            console.print()
        console.print(table)


def show_coverage(figures: Mapping[str, Coverage]) -> None:
    """One row a file: the share of its present gold keyphrases that are candidates."""
    table = Table(box=None, pad_edge=False)
    for title in ("Dataset", "Documents", "Present gold", "Recall", "Candidates per document"):
        table.add_column(title, justify="left" if title == "Dataset" else "right")
    for name, coverage in figures.items():
        recall, mined = coverage.recall, coverage.candidates_per_document
        table.add_row(
            name,
            f"{coverage.documents:,}",
            f"{coverage.gold:,}",
            "–" if recall is None else f"{recall:.4f}",
            "–" if mined is None else f"{mined:.0f}",
        )
    open_console().print(table)


def show_passages(hits: Sequence[tuple[float, Document]], note: str, footer: str) -> None:
    """Passages with their scores, their keyphrases and the start of their texts; then a note, if any."""
    console = open_console()
    for score, passage in hits:
        heading = Text.assemble(f"{short_score(score, 3)}  ", (passage.title or passage.id, "bold"))
        console.print(Text(harmless(heading.plain), spans=heading.spans), soft_wrap=True)
        if passage.keyphrases:
            console.print(Text(harmless("; ".join(passage.keyphrases))), style="italic", soft_wrap=True)
        text = " ".join(passage.body.split())
        console.print(Text(harmless(shorten(text, _EXCERPT))), style="dim", soft_wrap=True)
        console.print()
    if not hits:
        console.print("No passages.")
    if note:
        console.print(Text(note), soft_wrap=True)
    console.print(Text(footer, style="dim"))


def show_properties(properties: Mapping[str, Any]) -> None:
    """Names with their values, one a line; a mapping's entries share one line."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column()
    for name, value in properties.items():
        table.add_row(_plain(name.replace("_", " ")), _plain(_value_text(value)))
    open_console().print(table)


def _present_table(keyphrases: Sequence[Keyphrase]) -> Table:
    table = _keyphrase_table("Present keyphrases")
    table.add_column("Count", justify="right")
    table.add_column("First at", justify="right")
    places = [(str(len(keyphrase.spans)), str(keyphrase.spans[0][0])) for keyphrase in keyphrases]
    return _filled(table, keyphrases, places)


def _filled(table: Table, keyphrases: Sequence[Keyphrase], cells: Sequence[tuple[str, ...]]) -> Table:
    """With the rows, and a column for each thing that the predictor says of any of them."""
    columns = {
        "Kind": [keyphrase.kind or "" for keyphrase in keyphrases],
        "Source": [keyphrase.source or "" for keyphrase in keyphrases],
        "Evidence": [", ".join(keyphrase.evidence) for keyphrase in keyphrases],
        "Filler": ["yes" if keyphrase.filler else "" for keyphrase in keyphrases],
    }
    told = {name: values for name, values in columns.items() if any(values)}
    for name in told:
        table.add_column(name)
    for row, keyphrase in enumerate(keyphrases):
        more = (_plain(values[row]) for values in told.values())
        table.add_row(*_scored(keyphrase), *cells[row], *more)
    return table


def _passages_table(retrieval: RetrievalPrediction) -> Table:
    table = Table(title="Retrieved passages", title_justify="left")
    table.add_column("Score", justify="right")
    table.add_column("Passage")
    table.add_column("Keyphrases")
    table.add_column("Used")
    for row in passage_rows(retrieval):
        used = "; ".join(row["used"]) if row["helps"] else "too far from the text to help"
        cells = (row["title"] or row["id"], "; ".join(row["keyphrases"]), used)
        table.add_row(short_score(row["score"], 3), *map(_plain, cells))
    return table


def _keyphrase_table(title: str) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("Score", justify="right")
    table.add_column("Keyphrase")
    return table


def _scored(keyphrase: Keyphrase) -> tuple[str, Text]:
    return short_score(keyphrase.score, 3), _plain(keyphrase.text)


def _plain(text: str) -> Text:
    return Text(harmless(text))


def _value_text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_value_text(entry)}" for name, entry in value.items() if entry != "")
    return f"{value:,}" if type(value) is int else str(value)


def show_report(report: Report) -> None:
    """A table for each dataset; one of several languages has a table for each too."""
    console = open_console()
    for name, figures in with_languages(report.datasets):
        for cuts in _cuts_of_tables(figures, _MOST_MEASURES):
            console.print(_figures_table(name, figures, cuts))
    console.print(_plain(interval_note(report.datasets)))


def _cuts_of_tables(figures: DatasetFigures, most: int) -> Iterator[list[str]]:
    """Those that are always measured in one table, and the others in further ones, so many in each."""
    yield [*map(str, CUTS), str(DEEP_CUT)]
    further = [str(cut) for cut in figures.cuts if cut not in CUTS]
    for first in range(0, len(further), most):
        yield further[first : first + most]


def _is_at(measure: str, cuts: Sequence[str]) -> bool:
    return measure.partition("@")[2] in cuts


def _figures_table(name: str, figures: DatasetFigures, cuts: Sequence[str]) -> Table:
    title = _plain(f"{name}: {number_of(figures.documents, 'document')}")
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
    console.print(_plain(interval_note(runs[0].report.datasets)))
    console.print(_plain(difference_note(runs)))


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
        table.add_row(_plain(label), *_lines(cells[place] for place in shown), f"{of_run.documents:,}")
    yield table
    table = _table(f"Differences from the first: {about}", heads)
    for label, cells in differences_of_runs(runs, dataset, convention):
        table.add_row(_plain(label), *_lines(cells[place] for place in shown))
    yield table


def _table(title: str, heads: Iterable[tuple[str, str]]) -> Table:
    table = Table(title=_plain(title), title_justify="left", caption_justify="left")
    table.add_column("Model or file", overflow="fold")
    for group, name in heads:
        table.add_column(f"{group}\n{name}", justify="right", no_wrap=True)
    return table


def _lines(cells: Iterable[Sequence[str]]) -> list[Text]:
    return [Text("\n".join(lines)) for lines in cells]
