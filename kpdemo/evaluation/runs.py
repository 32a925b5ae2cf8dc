"""Several files of predictions measured against the same gold, side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kpdemo.evaluation.metrics import Convention
from kpdemo.evaluation.protocol import DatasetFigures
from kpdemo.evaluation.report import (
    Report,
    averaged_over,
    by_convention,
    dataset_tables,
    decimals,
    report_to_json,
    with_languages,
)

GROUPS = (
    ("Present", ("F1@5", "F1@M")),
    ("Absent", ("F1@5", "F1@M", "R@50")),
    ("Pooled", ("F1@M",)),
)
"""The heads of the columns, as `shown_shares` fills them."""

WITHOUT_GOLD: dict[Convention, str] = {
    "skip_empty": "documents without gold left out",
    "count_empty": "documents without gold counted as zero",
}


@dataclass(frozen=True, slots=True)
class Run:
    """The figures of a predictions file; `file` is what it is called."""

    file: str
    report: Report


def run_names(runs: Sequence[Run]) -> list[str]:
    """The model of each, else its file; several of the same name are told apart."""
    names = _told_apart([run.report.model or run.file for run in runs], [run.file for run in runs])
    return _told_apart(names, [f"no. {number}" for number in range(1, len(runs) + 1)])


def rows_of_runs(runs: Sequence[Run], dataset: str) -> Iterator[tuple[str, DatasetFigures]]:
    """Each run on a data set under its name, and after one of several languages its parts."""
    for run, name in zip(runs, run_names(runs), strict=True):
        yield from with_languages({name: run.report.datasets[dataset]})


def shown_shares(figures: DatasetFigures, convention: Convention) -> list[str]:
    """The figures in the columns of `GROUPS`."""
    present, absent = by_convention(figures.present, convention), by_convention(figures.absent, convention)
    shares = (present.f1_5, present.f1_m, absent.f1_5, absent.f1_m, absent.recall_50, figures.pooled.f1_m)
    return [decimals(share) for share in shares]


def note_under(figures: DatasetFigures, convention: Convention) -> str:
    """What the column of documents does not tell of a table; mostly nothing."""
    if convention == "count_empty":
        return ""
    return averaged_over(figures.present.with_gold, figures.absent.with_gold, figures.documents)


def run_to_json(run: Run) -> dict[str, Any]:
    """The file and all that `report_to_json` tells of it."""
    return {"predictions": run.file, **report_to_json(run.report)}


def runs_to_json(runs: Sequence[Run]) -> dict[str, Any]:
    return {"runs": [run_to_json(run) for run in runs]}


def runs_to_markdown(runs: Sequence[Run]) -> str:
    """A table for each data set and convention, under a line that names both; a row for each run."""
    datasets = runs[0].report.datasets
    return "\n".join(
        dataset_tables(list(rows_of_runs(runs, name)), first="Model or file", about=f"{name}. ")
        for name in datasets
    )


def _told_apart(names: Sequence[str], by: Sequence[str]) -> list[str]:
    count = Counter(names)
    return [
        f"{name}, {more}" if count[name] > 1 and more != name else name
        for name, more in zip(names, by, strict=True)
    ]
