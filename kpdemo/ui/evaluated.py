"""Predictions files of a reader measured against a gold file, and the tables of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
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
from kpdemo.evaluation.metrics import Convention
from kpdemo.evaluation.protocol import DatasetFigures
from kpdemo.evaluation.report import CAPTIONS, POOLED_NOTE, caption_of_f1
from kpdemo.evaluation.runs import GROUPS, WITHOUT_GOLD, Run, note_under, rows_of_runs, shown_shares
from kpdemo.file_kinds import plain_name
from kpdemo.types import Document
from kpdemo.ui.figures import counted, grouped
from kpdemo.ui.marks import escape
from kpdemo.ui.widgets import note_html

MOST_DOCUMENTS = 2_000
MEANINGS = {
    "F1@5": "F1 of the first five predicted keyphrases",
    "F1@M": "F1 of all that are predicted",
    "R@50": "the share of the gold keyphrases that are among the first 50",
}


@dataclass(frozen=True, slots=True)
class MeasuredFile(Run):
    """With a sentence on the documents that the file leaves out, if any."""

    missing: str = ""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The files of predictions measured on one data set."""

    dataset: str
    files: Sequence[MeasuredFile]


def measure_uploads(
    gold: Path, predictions: Sequence[Path], advance: Callable[[int, int], None]
) -> Evaluation:
    """Measure each predictions file; `advance` is called before each document, with how many are done of all.

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
        total = len(documents) * len(predictions)
        done = iter(range(total))
        name = plain_name(gold)
        return Evaluation(
            name,
            [_measured(name, documents, path, lambda: advance(next(done), total)) for path in predictions],
        )


def _measured(
    dataset: str, documents: Sequence[Document], path: Path, before_each: Callable[[], None]
) -> MeasuredFile:
    missing: list[str] = []
    report = measure_file(
        {dataset: documents}, path, on_missing=lambda _, ids: missing.extend(ids), before_each=before_each
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
    """A table for each convention, of which the style sheet shows the chosen one, and what was missing."""
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
    meanings = "; ".join(f"{name} is {meaning}" for name, meaning in MEANINGS.items())
    parts += [f'<p class="small">{escape(text)}</p>' for text in (f"{meanings}.", POOLED_NOTE)]
    return "".join(parts)


def _missing_html(file: MeasuredFile) -> str:
    return note_html(f"{file.file}: {file.missing}", role="status")


def _convention_html(evaluation: Evaluation, convention: Convention) -> str:
    heads = "".join(_head_html(group, name, names) for group, names in GROUPS for name in names)
    rows = "".join(
        _row_html(label, figures, convention)
        for label, figures in rows_of_runs(evaluation.files, evaluation.dataset)
    )
    caption = f"{evaluation.dataset}, {WITHOUT_GOLD[convention]}"
    note = note_under(evaluation.files[0].report.datasets[evaluation.dataset], convention)
    return (
        f'<section class="by-{convention}"><div class="scrolling" tabindex="0" role="region" '
        f'aria-label="{escape(caption)}"><table class="keyphrases"><caption>{escape(caption)}</caption>'
        f'<thead><tr><th scope="col">Model or file</th>{heads}'
        '<th scope="col" class="number first">Documents</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
        + (f'<p class="small">{note}</p>' if note else "")
        + f'<p class="small">{_sentence_html(caption_of_f1(convention))}</p></section>'
    )


def _head_html(group: str, name: str, names: Sequence[str]) -> str:
    """With its group in each column: on a phone not all of them are to be seen at once."""
    first = " first" if name == names[0] else ""
    return f'<th scope="col" class="number{first}" title="{escape(MEANINGS[name])}">{group}<br>{name}</th>'


def _row_html(label: str, figures: DatasetFigures, convention: Convention) -> str:
    cells = [*shown_shares(figures, convention), grouped(figures.documents)]
    firsts = set(accumulate((len(names) for _, names in GROUPS), initial=0))
    numbers = "".join(
        f'<td class="number{" first" * (place in firsts)}">{cell}</td>' for place, cell in enumerate(cells)
    )
    return f'<tr><th scope="row" dir="auto">{escape(label)}</th>{numbers}</tr>'


def _sentence_html(text: str) -> str:
    return re.sub(f"{escape('`')}(\\w+){escape('`')}", r"<code>\1</code>", escape(text))
