"""From predictions to gold and back: python -m annotation send PROJECT and bridge PROJECT."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import asdict
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from annotation.cli.options import (
    DatabaseOption,
    JsonOption,
    Output,
    ProjectArgument,
    decimal_option,
    make_folder,
    open_project,
    option_errors,
    whole_files,
    write_all,
)
from annotation.files.predictions import read_prediction_files
from annotation.predictions import ORDER_NAMES, TYPE, PredictedDocument, QueueOrder
from annotation.projects import ProjectCounts
from annotation.relevance import (
    DEFAULT_RANKS,
    THRESHOLD,
    JudgedPool,
    JudgingOptions,
    ModelFigures,
    Unjudged,
    check_options,
    figures_json,
)
from annotation.services.predictions import JudgementService, SendService, SentSummary
from annotation.services.projects import ProjectService
from annotation.types import Project
from annotation.wording import figure_text, share_text
from db import DEFAULT_URL, Database
from kpdemo.command import check_file
from kpdemo.terminal import ProgressLine, show_json, show_line, show_note, show_table
from kpdemo.text import number_of

_SEND_EXAMPLES = """
Examples:

\b
  python -m kpdemo predict --input docs.jsonl --output default.jsonl
  python -m kpdemo predict --input docs.jsonl --output yake.jsonl --model yake
  python -m annotation send news --documents docs.jsonl --predictions default.jsonl --predictions yake.jsonl

\b
Raters see each phrase once, and never which model predicted it. NAME=FILE names the model of a file.
Another system's file is a line {"id": …, "keyphrases": ["best", "second", …]} for each document.
"""
_POOLED_EXAMPLES = """
Examples:

\b
  python -m annotation bridge news --threshold 3 --k 10
  python -m annotation bridge news --gold gold.jsonl --qrels news.qrels --runs runs/
  python -m kpdemo evaluate --gold gold.jsonl --model default
"""


def register_predictions(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("send", epilog=_SEND_EXAMPLES)(send)
    app.command("bridge", epilog=_POOLED_EXAMPLES)(evaluate_pooled)


def send(
    project: ProjectArgument,
    documents: Annotated[Path, typer.Option(metavar="FILE", help="The documents, as JSON Lines.")],
    predictions: Annotated[
        list[str], typer.Option(metavar="FILE", help="Predictions of a model for them; once for each model.")
    ],
    order: Annotated[
        QueueOrder | None,
        typer.Option(
            help="The order in which raters get the pairs: the project's, most uncertain first, mixed, or "
            "document by document (the default unless something was sent before)."
        ),
    ] = None,
    as_json: JsonOption = False,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Make pairs from predicted keyphrases, pooled over all models: all of them or none."""
    names, files = zip(*map(_parse_named_file, predictions), strict=True)
    for path in (documents, *files):
        check_file(path)
    database, into = open_project(database_url, project)
    with whole_files([documents, *files]) as (texts, *found):
        named = list(zip(names, found, strict=True))
        read = partial(read_prediction_files, texts, named)
        _send(database, into, read, order, as_json=as_json)


def _send(
    database: Database,
    into: Project,
    read: Callable[[], Iterator[PredictedDocument]],
    order: QueueOrder | None,
    *,
    as_json: bool,
) -> None:
    projects = ProjectService(database)
    service = SendService(database)
    if service.lacks_type(into.id):
        show_note(f"{into.name} compares other pairs so far. Sending adds the comparison type {TYPE} to it.")
    chosen = order or service.usual_order(into.id)
    before = projects.counts(into.id)
    if before.is_graded:
        _note_opening(into.name, before.pairs, service.count_new(into.id, read()))
    with ProgressLine("Sending", unit="documents") as line:
        summary = service.send(into.id, read(), order=chosen, progress=line.show)
    counts = projects.counts(into.id)
    if as_json:
        sent = {"project": into.name, **asdict(summary)}
        show_json({**sent, "open": counts.open, "order": chosen.value})
    else:
        _show_sent(into.name, summary, counts, chosen)


def _note_opening(project: str, graded: int, new: int) -> None:
    """Tell that a project whose raters are done opens again, if anything new is sent."""
    if new:
        show_note(
            f"The raters of {project} are done: {number_of(graded, 'pair')}, all graded. "
            f"Sending opens the project again, with {number_of(new, 'pair')} to grade."
        )


def _show_sent(project: str, summary: SentSummary, counts: ProjectCounts, order: QueueOrder) -> None:
    show_line(
        f"Sent {number_of(summary.pairs, 'pair')} of {number_of(summary.documents, 'document')} to "
        f"{project}, from {number_of(len(summary.models), 'model')}: {', '.join(summary.models)}."
    )
    if summary.known:
        show_line(f"{number_of(summary.known, 'phrase')} had pairs already.")
    show_line(f"Open now: {counts.open:,} of {number_of(counts.pairs, 'pair')}.")
    show_line(f"Order of rating: {ORDER_NAMES[order]}.")


def evaluate_pooled(
    project: ProjectArgument,
    threshold: Annotated[
        Decimal,
        typer.Option(metavar="GRADE", parser=decimal_option, help="The lowest grade of a gold keyphrase."),
    ] = THRESHOLD,
    k: Annotated[int, typer.Option(metavar="K", help="The cutoff k of nDCG and precision.")] = DEFAULT_RANKS,
    unjudged: Annotated[
        Unjudged, typer.Option(help="Phrases without a gold grade: not relevant, or skipped.")
    ] = Unjudged.ZERO,
    gold: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the gold keyphrases.")] = None,
    qrels: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the grades as TREC qrels.")
    ] = None,
    runs: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write the ranking of each model as a TREC run.")
    ] = None,
    as_json: JsonOption = False,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Measure each model on the grades of the pooled phrases."""
    with option_errors():
        options = check_options(threshold, k, unjudged)
    database, of = open_project(database_url, project)
    pool = JudgementService(database).pool(of.id)
    _write(pool, options, database, gold=gold, qrels=qrels, runs=runs)
    if as_json:
        show_json(pooled_json(of.name, pool, options))
    else:
        _show(pool, options)


def pooled_json(project: str, pool: JudgedPool, options: JudgingOptions) -> dict[str, object]:
    """What `--json` prints."""
    counts = pool.counts(options.threshold)
    return {
        "project": project,
        "threshold": float(options.threshold),
        "k": options.k,
        "unjudged": options.unjudged.value,
        "documents": counts.documents,
        "predictions": counts.predictions,
        "phrases": counts.phrases,
        "graded": counts.graded,
        "gold": counts.gold,
        "models": {
            model: figures_json(figures, options.k) for model, figures in pool.figures(options).items()
        },
    }


def _show(pool: JudgedPool, options: JudgingOptions) -> None:
    counts = pool.counts(options.threshold)
    show_line(
        f"{number_of(counts.documents, 'document')}, {number_of(counts.phrases, 'phrase')}, "
        f"{counts.graded:,} graded, {counts.gold:,} gold with {options.threshold} or more."
    )
    k = options.k
    headers = [
        "Model",
        "Documents",
        f"nDCG@{k}",
        f"P@{k}",
        "F1@5",
        "F1@M",
        "Present F1@M",
        "Absent F1@M",
        f"Judged@{k}",
    ]
    rows = [[model, *_cells(figures)] for model, figures in pool.figures(options).items()]
    show_table(headers, rows, right=headers[1:])
    counted = "as not relevant" if options.unjudged is Unjudged.ZERO else "not at all: they are skipped"
    show_line(
        "Means over the documents with anything relevant, nDCG over those with any grade above 0 (--json has "
        "those over all too). "
        f"Phrases without a gold grade count {counted}."
    )


def _cells(figures: ModelFigures) -> list[str]:
    averages = (
        *(figures.ndcg, figures.precision, figures.all.f1_5, figures.all.f1_m),
        *(figures.present.f1_m, figures.absent.f1_m),
    )
    share = "–" if figures.judged_at_k is None else share_text(figures.judged_at_k)
    return [f"{figures.documents:,}", *(figure_text(each.skip_empty) for each in averages), share]


def _parse_named_file(text: str) -> tuple[str, Path]:
    """NAME=FILE, or a file alone."""
    name, equals, file = text.partition("=")
    return (name.strip(), Path(file)) if equals and not Path(text).exists() else ("", Path(text))


def _write(
    pool: JudgedPool,
    options: JudgingOptions,
    database: Database,
    *,
    gold: Path | None,
    qrels: Path | None,
    runs: Path | None,
) -> None:
    outputs = []
    if gold is not None:
        outputs.append(Output(gold, pool.gold_lines(options.threshold)))
    if qrels is not None:
        outputs.append(Output(qrels, pool.qrels_lines()))
    with nullcontext() if runs is None else make_folder(runs):
        if runs is not None:
            outputs += [
                Output(runs / f"{number}-{_file_name(model)}.run", pool.run_lines(model))
                for number, model in enumerate(pool.models, start=1)
            ]
        write_all(outputs, database)


def _file_name(model: str) -> str:
    kept = "".join(character if character.isalnum() or character in "-_." else "-" for character in model)
    return kept.strip("-.")[:80] or "model"
