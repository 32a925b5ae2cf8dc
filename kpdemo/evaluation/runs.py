"""Several files of predictions measured against the same gold, side by side; also as tables of a paper."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from kpdemo import __version__
from kpdemo.evaluation.measuring import missing_message
from kpdemo.evaluation.metrics import Convention
from kpdemo.evaluation.protocol import DatasetFigures
from kpdemo.evaluation.report import (
    UNDEFINED,
    Report,
    bounds,
    by_kind,
    caption_of_f1,
    dataset_tables,
    decimals,
    markdown_table,
    plus_minus,
    report_to_json,
    shares,
    with_gold_note,
    with_languages,
)
from kpdemo.evaluation.significance import ByFigure, Difference, differences, estimates, figure_names
from kpdemo.io.latex import UNDEFINED_CELL, latex_table
from kpdemo.statistics import SEED

Groups = Sequence[tuple[str, Sequence[str]]]
"""The heads of the columns, as `shown_figures` and `shown_differences` fill them."""

WITHOUT_GOLD: dict[Convention, str] = {
    "skip_empty": "documents without gold left out",
    "count_empty": "documents without gold counted as zero",
}
NO_FIGURE = f"Where no document has gold of the kind, there is no figure: {UNDEFINED}."


@dataclass(frozen=True, slots=True)
class Run:
    """The figures of a predictions file; `file` is what it is called.

    `differences` has what `compared` finds on each data set, and nothing for the first file.
    """

    file: str
    report: Report
    differences: Mapping[str, Mapping[Convention, ByFigure[Difference]]] = field(
        default_factory=dict, kw_only=True
    )


AnyRun = TypeVar("AnyRun", bound=Run)


def compare_runs(runs: Sequence[AnyRun], before_each: Callable[[], None] = lambda: None) -> list[AnyRun]:
    """The same, each further run with its differences from the first.

    `before_each` is called before each further run on each data set.
    """
    found: list[dict[str, Mapping[Convention, ByFigure[Difference]]]] = [{} for _ in runs]
    for dataset in runs[0].report.datasets:
        scores = [run.report.datasets[dataset].scores for run in runs]
        for place, difference in enumerate(differences(scores, before_each), start=1):
            found[place][dataset] = difference
    return [replace(run, differences=of_run) for run, of_run in zip(runs, found, strict=True)]


def run_names(runs: Sequence[Run]) -> list[str]:
    """The model of each, else its file; several of the same name are told apart."""
    names = _unique_names([run.report.model or run.file for run in runs], [run.file for run in runs])
    return _unique_names(names, [f"no. {number}" for number in range(1, len(runs) + 1)])


def rows_of_runs(runs: Sequence[Run], dataset: str) -> Iterator[tuple[str, DatasetFigures]]:
    """Each run on a data set under its name, and after one of several languages its parts."""
    for run, name in zip(runs, run_names(runs), strict=True):
        yield from with_languages({name: run.report.datasets[dataset]})


def groups_of(figures: DatasetFigures) -> Groups:
    return [(kind.capitalize(), list(names)) for kind, names in figure_names(figures.cuts).items()]


def figure_cells(figures: DatasetFigures, convention: Convention) -> list[list[str]]:
    """In the columns of `groups_of`: a figure, and under it its interval, if any."""
    values, known = shares(figures, convention), estimates(figures.scores, convention)
    return [
        [decimals(values[kind][name]), *plus_minus(estimate.margin)]
        for kind, of_kind in known.items()
        for name, estimate in of_kind.items()
    ]


def difference_cells(found: ByFigure[Difference]) -> list[list[str]]:
    """In the columns of `groups_of`: a difference, its interval, if any, and p, in lines of a cell."""
    return [_difference_lines(one) for of_kind in found.values() for one in of_kind.values()]


def difference_note(runs: Sequence[Run]) -> str:
    """What the differences and p are."""
    note = (
        f"Difference from {run_names(runs)[0]}, paired by document, with its 95 % interval; "
        f"p by paired randomisation, two-sided, seed {SEED}"
    )
    others = len(runs) - 1
    corrected = f", raised by Holm's method for the {others} comparisons in each column" if others > 1 else ""
    return f"{note}{corrected}."


def note_under(figures: DatasetFigures, convention: Convention) -> str:
    """What a table's column of documents leaves unsaid; mostly nothing."""
    if convention == "skip_empty":
        return with_gold_note(figures)
    lacks_a_kind = any(0 in part.with_gold.values() for part in (figures, *figures.languages.values()))
    return NO_FIGURE if lacks_a_kind else ""


def run_to_json(run: Run) -> dict[str, Any]:
    """The file and its `report_to_json`; its datasets with their differences, if any."""
    written = {"predictions": run.file, **report_to_json(run.report)}
    for name, difference in run.differences.items():
        written["datasets"][name]["difference"] = by_kind(difference, _difference_to_json)
    return written


def runs_to_json(runs: Sequence[Run]) -> dict[str, Any]:
    return {"runs": [run_to_json(run) for run in runs]}


def runs_to_markdown(runs: Sequence[Run]) -> str:
    """A table for each data set and convention, under a line that names both; a row for each run.

    Then one for each of the differences from the first run.
    """
    parts = []
    for name in runs[0].report.datasets:
        parts.append(dataset_tables(list(rows_of_runs(runs, name)), first="Model or file", about=f"{name}. "))
        for convention in WITHOUT_GOLD if len(runs) > 1 else ():
            about = f"{name}, {WITHOUT_GOLD[convention]} (`{convention}`). {difference_note(runs)}"
            parts.append(f"{about}\n\n{_differences_to_markdown(runs, name, convention)}\n")
    return "\n".join(parts)


def differences_of_runs(
    runs: Sequence[Run], dataset: str, convention: Convention
) -> Iterator[tuple[str, list[list[str]]]]:
    """Each further run under its name, with its `shown_differences`."""
    for run, name in list(zip(runs, run_names(runs), strict=True))[1:]:
        yield name, difference_cells(run.differences[dataset][convention])


def _differences_to_markdown(runs: Sequence[Run], dataset: str, convention: Convention) -> str:
    groups = groups_of(runs[0].report.datasets[dataset])
    heads = [f"{group} {name}" for group, names in groups for name in names]
    rows = [[name, *map(" ".join, cells)] for name, cells in differences_of_runs(runs, dataset, convention)]
    return markdown_table(["Model or file", *heads], rows)


def _difference_lines(difference: Difference) -> list[str]:
    if difference.value is None or difference.p_holm is None:
        return [UNDEFINED]
    value = f"{difference.value:+.3f}"
    p = "p<0.001" if difference.p_holm < 0.001 else f"p={difference.p_holm:.3f}"
    return ["0.000" if value in ("+0.000", "-0.000") else value, *plus_minus(difference.margin), p]


def _difference_to_json(difference: Difference) -> dict[str, Any]:
    return {
        "value": difference.value,
        "interval": bounds(difference, least=-1.0),
        "p": difference.p,
        "p_holm": difference.p_holm,
    }


def _unique_names(names: Sequence[str], by: Sequence[str]) -> list[str]:
    count = Counter(names)
    return [
        f"{name}, {more}" if count[name] > 1 and more != name else name
        for name, more in zip(names, by, strict=True)
    ]


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
