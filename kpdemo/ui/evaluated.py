"""Predictions files of a reader measured against a gold file, and the tables of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from kpdemo.errors import InputError
from kpdemo.evaluation.gold import read_gold
from kpdemo.evaluation.measuring import (
    measure_file,
    missing_message,
    not_in_text_message,
    without_gold_message,
)
from kpdemo.evaluation.metrics import CUTS, Convention, Cut
from kpdemo.evaluation.report import CAPTIONS, POOLED_NOTE, caption_of_f1, interval_note
from kpdemo.evaluation.runs import (
    WITHOUT_GOLD,
    Groups,
    Run,
    compared,
    difference_note,
    differences_of_runs,
    groups_of,
    note_under,
    rows_of_runs,
    shown_figures,
)
from kpdemo.reading.file_kinds import plain_name
from kpdemo.types import Document
from kpdemo.ui.evaluated_documents import PageDetails, documents_html
from kpdemo.ui.figures import counted, grouped
from kpdemo.ui.marks import escape
from kpdemo.ui.widgets import note_html

Advance = Callable[[int, int], None]
"""Called with how many are done, and of how many."""

MOST_DOCUMENTS = 2_000
TOO_LARGE = (
    "The page cannot keep what was right, wrong and missed in so many documents: use the command line "
    "(python -m kpdemo evaluate --details FILE)."
)
MEANINGS = {
    "F1@5": "F1 of the first five predicted keyphrases",
    "F1@O": "F1 of as many predicted keyphrases as there are gold ones of that kind",
    "F1@M": "F1 of all predicted keyphrases",
    "R@50": "the share of the gold keyphrases that are among the first 50",
}
"""Of the figures that a sentence under the tables explains."""


@dataclass(frozen=True, slots=True)
class MeasuredFile(Run):
    """With a sentence on the documents that the file leaves out, if any."""

    missing: str = ""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The files of predictions measured on one data set.

    `details` has the lines of `evaluate --details`, unless they are too many.
    """

    dataset: str
    files: Sequence[MeasuredFile]
    details: Path | None


def measure_uploads(
    gold: Path,
    predictions: Sequence[Path],
    details: Path,
    measuring: Advance,
    comparing: Advance,
    cuts: Sequence[Cut] = CUTS,
) -> Evaluation:
    """Measure each predictions file, and compare each further one with the first.

    Args:
        details: where the lines on each document go.
        measuring: called before each document.
        comparing: called before each further file.
        cuts: at how many predictions to measure.

    Raises:
        InputError: a file cannot be read or has a bad line, ids do not fit, or there are too many documents.
    """
    with _by_their_names([gold, *predictions]):
        documents = read_gold(gold)
        if len(documents) > MOST_DOCUMENTS:
            raise InputError(
                f"{gold} has {counted(len(documents), 'document')}, and the page measures at most "
                f"{grouped(MOST_DOCUMENTS)}: give fewer, or use the command line (python -m kpdemo evaluate)."
            )
        before_document = _counting(measuring, len(documents) * len(predictions))
        name = plain_name(gold)
        with details.open("wb") as stream:
            files = [
                _measured(name, documents, path, before_document, PageDetails(stream, path.name), cuts)
                for path in predictions
            ]
            kept = None if PageDetails(stream).is_full else details
        return Evaluation(name, compared(files, _counting(comparing, len(files) - 1)), kept)


def _counting(advance: Advance, total: int) -> Callable[[], None]:
    done = iter(range(total))
    return lambda: advance(next(done), total)


def _measured(
    dataset: str,
    documents: Sequence[Document],
    path: Path,
    before_each: Callable[[], None],
    details: PageDetails,
    cuts: Sequence[Cut],
) -> MeasuredFile:
    missing: list[str] = []
    report = measure_file(
        {dataset: documents},
        path,
        on_missing=lambda _, ids: missing.extend(ids),
        before_each=before_each,
        details=details,
        cuts=cuts,
    )
    return MeasuredFile(path.name, report, missing_message(dataset, missing) if missing else "")


@contextmanager
def _by_their_names(files: Sequence[Path]) -> Iterator[None]:
    """Readers know their files by name, not where they lie here."""
    try:
        yield
    except InputError as error:
        message = str(error)
        for path in files:
            message = message.replace(str(path), path.name)
        raise InputError(message) from None


def evaluation_html(evaluation: Evaluation) -> str:
    """A table for each convention (the style sheet shows the chosen one), and what was missing."""
    name, report = evaluation.dataset, evaluation.files[0].report
    number = report.datasets[name].documents
    measured = f"Measured on {counted(number, 'document')} of {escape(name)}."
    parts = [f'<p id="evaluate-summary">{measured}</p>']
    if ids := report.without_gold.get(name):
        parts.append(note_html(without_gold_message(name, ids, number), role="status"))
    parts += [_missing_html(file) for file in evaluation.files if file.missing]
    told = [not_in_text_message(file.file, file.report.datasets[name]) for file in evaluation.files]
    parts += [note_html(said, role="status") for said in told if said]
    parts += [_convention_html(evaluation, convention) for convention in CAPTIONS]
    shown = {name for _, names in groups_of(report.datasets[name]) for name in names}
    meanings = "; ".join(f"{of} is {meaning}" for of, meaning in MEANINGS.items() if of in shown)
    notes = [interval_note(report.datasets), f"{meanings}.", POOLED_NOTE]
    parts += [f'<p class="small">{escape(text)}</p>' for text in notes]
    parts.append(
        documents_html(evaluation.files, name, evaluation.details)
        if evaluation.details
        else note_html(TOO_LARGE, role="status")
    )
    return "".join(parts)


def _missing_html(file: MeasuredFile) -> str:
    return note_html(f"{file.file}: {file.missing}", role="status")


def _convention_html(evaluation: Evaluation, convention: Convention) -> str:
    files, name = evaluation.files, evaluation.dataset
    groups = groups_of(files[0].report.datasets[name])
    rows = [
        (label, [*shown_figures(figures, convention), [grouped(figures.documents)]])
        for label, figures in rows_of_runs(files, name)
    ]
    caption = f"{name}, {WITHOUT_GOLD[convention]}"
    about = note_under(files[0].report.datasets[name], convention), caption_of_f1(convention)
    parts = [
        _table_html(caption, groups, rows, '<th scope="col" class="number first">Documents</th>'),
        f'<p class="small">{_sentence_html(" ".join(filter(None, about)))}</p>',
    ]
    if len(files) > 1:
        parts += [
            _table_html(
                f"Differences from the first: {caption}",
                groups,
                differences_of_runs(files, name, convention),
            ),
            f'<p class="small">{escape(difference_note(files))}</p>',
        ]
    return f'<section class="by-{convention}">{"".join(parts)}</section>'


def _table_html(
    caption: str, groups: Groups, rows: Iterable[tuple[str, list[list[str]]]], last_head: str = ""
) -> str:
    heads = "".join(_head_html(group, name, names) for group, names in groups for name in names)
    firsts = set(accumulate((len(names) for _, names in groups), initial=0))
    return (
        f'<div class="scrolling" tabindex="0" role="region" aria-label="{escape(caption)}">'
        f'<table class="keyphrases"><caption>{escape(caption)}</caption>'
        f'<thead><tr><th scope="col">Model or file</th>{heads}{last_head}</tr></thead>'
        f"<tbody>{''.join(_row_html(label, cells, firsts) for label, cells in rows)}</tbody></table></div>"
    )


def _head_html(group: str, name: str, names: Sequence[str]) -> str:
    """With its group in each column: on a phone not all of them are to be seen at once."""
    first = " first" if name == names[0] else ""
    return f'<th scope="col" class="number{first}" title="{escape(_meaning(name))}">{group}<br>{name}</th>'


def _meaning(name: str) -> str:
    return MEANINGS.get(name) or f"F1 of the predicted keyphrases up to rank {name.removeprefix('F1@')}"


def _row_html(label: str, cells: Sequence[Sequence[str]], firsts: Collection[int]) -> str:
    """The lines of a cell under one another, the first of them the figure."""
    numbers = "".join(
        f'<td class="number{" first" * (place in firsts)}">{figure}{_more_html(more)}</td>'
        for place, (figure, *more) in enumerate(cells)
    )
    name = escape(label).replace("_", "_<wbr>")  # names of files are long, and have no spaces
    return f'<tr><th scope="row" dir="auto">{name}</th>{numbers}</tr>'


def _more_html(lines: Sequence[str]) -> str:
    return "".join(f"<br><small>{escape(line)}</small>" for line in lines)


def _sentence_html(text: str) -> str:
    return re.sub(f"{escape('`')}(\\w+){escape('`')}", r"<code>\1</code>", escape(text))
