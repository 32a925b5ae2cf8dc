"""What the command line shows to people: marked text, tables, progress."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from kpdemo.batch import BatchSummary
from kpdemo.candidates.chunks import Coverage
from kpdemo.io.json_lines import LineError
from kpdemo.passages import help_note, passage_rows, unrelated_note
from kpdemo.selection import short_score
from kpdemo.text import shorten
from kpdemo.types import Document, Keyphrase, Prediction, RetrievalPrediction, Span

MARK = "black on bright_yellow"
OPEN_MARK, CLOSE_MARK = "[[", "]]"
_SECONDS_BETWEEN_LINES = 10.0
_PIPE_WIDTH = 120
_EXCERPT = 240  # characters of a passage
# One for one, so that offsets stay true: a text may not move the cursor or recolour the terminal.
_HARMLESS = {code: "\ufffd" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\t\n"} | {
    13: " "
}


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
        pieces.append(text[position:start].translate(_HARMLESS))
        phrase = text[start:end].translate(_HARMLESS)
        pieces.append(
            phrase if colour else f"{OPEN_MARK}{phrase}{CLOSE_MARK}", style=MARK if colour else None
        )
        position = end
    pieces.append(text[position:].translate(_HARMLESS))
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
        console.print(Text(heading.plain.translate(_HARMLESS), spans=heading.spans), soft_wrap=True)
        if passage.keyphrases:
            console.print(harmless("; ".join(passage.keyphrases)), style="italic", soft_wrap=True)
        text = " ".join(passage.body.split())
        console.print(harmless(shorten(text, _EXCERPT)), style="dim", soft_wrap=True)
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
        table.add_row(harmless(name.replace("_", " ")), harmless(_shown(value)))
    open_console().print(table)


class ProgressLine:
    """Progress on standard error: a bar on a terminal, a line now and then elsewhere."""

    def __init__(self, description: str, total: int | None = None, unit: str = "documents") -> None:
        self._description = description
        self._total = total
        self._unit = unit
        self._console = Console(stderr=True)
        self._bar: Progress | None = None
        self._task = TaskID(0)
        self._shown = time.monotonic()
        self._has_lines = False
        self._done = 0
        if self._console.is_terminal:
            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[unit]}"),
                TimeRemainingColumn(),
            )
            self._bar = Progress(*columns, console=self._console, transient=True)
            self._task = self._bar.add_task(description, total=total, unit=unit)

    def __enter__(self) -> ProgressLine:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def set_total(self, total: int) -> None:
        self._total = total
        if self._bar is not None:
            self._bar.update(self._task, total=total)

    def turn_to(self, description: str, total: int, unit: str) -> None:
        """The next part of the work; its first line comes at once where there were lines before."""
        self._description, self._total, self._unit = description, total, unit
        if self._bar is not None:
            self._bar.reset(self._task, description=description, total=total, unit=unit)
        elif self._has_lines:
            self._shown = -math.inf
        self.show(0)

    def advance(self, count: int) -> None:
        """This many more are done."""
        self.show(self._done + count)

    def show(self, done: int) -> None:
        """This many are done in all."""
        self._done = done
        if self._bar is not None:
            self._bar.update(self._task, completed=done)
        elif time.monotonic() - self._shown > _SECONDS_BETWEEN_LINES:
            of_total = "" if self._total is None else f" of {self._total:,}"
            print(f"{self._description}: {done:,}{of_total} {self._unit}", file=sys.stderr, flush=True)
            self._shown = time.monotonic()
            self._has_lines = True

    def show_summary(self, summary: BatchSummary) -> None:
        self.show(summary.seen)

    def show_problem(self, problem: LineError) -> None:
        message = problem.message.translate(_HARMLESS).replace("\n", " ")
        self._console.print(Text(message), soft_wrap=True)


def open_console() -> Console:
    """Standard output, for tables."""
    console = Console()
    # A file or a pipe has no width; tables should not be cut to that of an old terminal.
    return console if console.is_terminal else Console(width=_PIPE_WIDTH)


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
        more = (harmless(values[row]) for values in told.values())
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
        table.add_row(short_score(row["score"], 3), *map(harmless, cells))
    return table


def _keyphrase_table(title: str) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("Score", justify="right")
    table.add_column("Keyphrase")
    return table


def _scored(keyphrase: Keyphrase) -> tuple[str, Text]:
    return short_score(keyphrase.score, 3), harmless(keyphrase.text)


def harmless(text: str) -> Text:
    return Text(text.translate(_HARMLESS))


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_shown(entry)}" for name, entry in value.items() if entry != "")
    return f"{value:,}" if type(value) is int else str(value)
