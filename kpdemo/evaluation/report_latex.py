"""The figures of an evaluation as tables of a paper, in LaTeX."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kpdemo import __version__
from kpdemo.evaluation.measuring import missing_message
from kpdemo.evaluation.metrics import Convention
from kpdemo.evaluation.protocol import DatasetFigures
from kpdemo.evaluation.report import caption_of_f1, shares, with_languages
from kpdemo.evaluation.runs import Run, run_names
from kpdemo.evaluation.significance import figure_names
from kpdemo.latex import UNDEFINED_CELL, latex_table

Named = Sequence[tuple[str, DatasetFigures]]

_KINDS = ("present", "absent")


def runs_to_latex(runs: Sequence[Run], convention: Convention, *, made_by: str) -> str:
    """A table of present and one of absent keyphrases, as SimCKP's Tables 2 and 3, the latter with R@50.

    A row for each run; the data sets side by side, each of several languages before its parts. `made_by`
    names what made it, the command or the page, in the comments.
    """
    return "\n\n".join(_table(runs, kind, convention, made_by) for kind in _KINDS)


def _table(runs: Sequence[Run], kind: str, convention: Convention, made_by: str) -> str:
    of_runs = [list(with_languages(run.report.datasets)) for run in runs]
    datasets = of_runs[0]
    heads = list(figure_names(datasets[0][1].cuts)[kind])
    return latex_table(
        (kind.capitalize(), "Model"),
        [(dataset, heads) for dataset, _ in datasets],
        [
            (name, [shares(figures, convention)[kind][head] for _, figures in of_run for head in heads])
            for name, of_run in zip(run_names(runs), of_runs, strict=True)
        ],
        comments=[f"{made_by}, version {__version__}.", *_comments(runs, datasets, kind, convention)],
    )


def _comments(runs: Sequence[Run], datasets: Named, kind: str, convention: Convention) -> Iterator[str]:
    yield f"{kind.capitalize()} keyphrases, macro: {caption_of_f1(convention)}"
    for name, run in zip(run_names(runs), runs, strict=True):
        if run.report.identity:
            yield f"{name}: identity {run.report.identity}."
        for dataset, ids in run.report.without_prediction.items():
            yield f"{name}: {missing_message(dataset, ids)}"
    undefined = []
    for dataset, figures in datasets:
        with_gold = figures.with_gold[kind]
        yield f"{dataset}: documents {figures.documents:,}, with {kind} gold keyphrases {with_gold:,}."
        undefined += [] if with_gold else [dataset]
    if undefined:
        yield f"{UNDEFINED_CELL}: no document of {', '.join(undefined)} has {kind} gold keyphrases."
