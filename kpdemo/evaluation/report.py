"""Figures on paper: a JSON object and a Markdown table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kpdemo.evaluation.metrics import Convention, MacroFigures, named_metrics
from kpdemo.evaluation.protocol import DatasetFigures, KindFigures
from kpdemo.languages.names import language_name

UNDEFINED = "–"

CAPTIONS: dict[Convention, str] = {
    "skip_empty": (
        "Macro precision / recall / F1 (F1 of the means) over the documents that have gold of the kind, "
        "as in SimCKP (`skip_empty`)."
    ),
    "count_empty": (
        "Macro precision / recall / F1 (F1 of the means) over all documents, those without gold of the kind "
        "counted as zero, as in Chan et al. (`count_empty`)."
    ),
}
_ALL_MEASURES = "Macro precision / recall / F1 (F1 of the means)"
_F1_ONLY = "F1 of the mean precision and the mean recall"
POOLED_NOTE = (
    "Pooled: present and absent in one set, no stemming, mean of the documents' F1 over those with gold, "
    "as in RAMKG."
)
COLUMNS = (
    "Dataset",
    "Documents",
    "Present @5",
    "Present @M",
    "Absent @5",
    "Absent @M",
    "Absent R@50",
    "Pooled @M",
)


@dataclass(frozen=True, slots=True)
class Report:
    """The figures of one model on named datasets.

    `model`, `device` and `seconds` are None when predictions came from a file that does not say. `identity`
    is that of `kpdemo.identity`, empty without weights. `without_gold` has the ids of the documents without
    gold keyphrases, of each dataset that has such.
    """

    datasets: Mapping[str, DatasetFigures]
    model: str | None = None
    device: str | None = None
    seconds: float | None = None
    identity: str = ""
    without_gold: Mapping[str, Sequence[str]] = field(default_factory=dict)


def report_to_json(report: Report) -> dict[str, Any]:
    """Everything measured, fractions of 1, undefined figures as None."""
    return {
        "datasets": {
            name: _dataset_to_json(figures) | _without_gold_to_json(report.without_gold.get(name, ()))
            for name, figures in report.datasets.items()
        },
        "model": report.model,
        "identity": report.identity,
        "device": report.device,
        "seconds": report.seconds,
    }


def report_to_markdown(report: Report) -> str:
    """A table for each convention under a line that names it; a row for each dataset.

    A dataset of several languages has a row for each after it.
    """
    return dataset_tables(list(with_languages(report.datasets)))


def dataset_tables(
    rows: Sequence[tuple[str, DatasetFigures]], *, first: str = COLUMNS[0], about: str = ""
) -> str:
    """Markdown: a table for each convention, its rows named under `first`; `about` begins the line above."""
    tables = []
    for convention, caption in CAPTIONS.items():
        lines = [
            f"{about}{caption} {POOLED_NOTE}",
            "",
            _row([first, *COLUMNS[1:]]),
            _row(["---", *["---:"] * (len(COLUMNS) - 1)]),
            *(_dataset_row(name, figures, convention) for name, figures in rows),
        ]
        tables.append("\n".join(lines))
    return "\n\n".join(tables) + "\n"


def with_languages(datasets: Mapping[str, DatasetFigures]) -> Iterator[tuple[str, DatasetFigures]]:
    """Each dataset, and after one of several languages its parts."""
    for name, figures in datasets.items():
        yield name, figures
        if len(figures.languages) > 1:
            for code, part in figures.languages.items():
                yield f"{name}, {language_name(code)}", part


def _without_gold_to_json(ids: Sequence[str]) -> dict[str, list[str]]:
    return {"without_gold": list(ids)} if ids else {}


def _dataset_to_json(figures: DatasetFigures) -> dict[str, Any]:
    pooled = figures.pooled
    languages = {code: _dataset_to_json(part) for code, part in figures.languages.items()}
    return {
        "documents": figures.documents,
        "not_in_text": figures.not_in_text,
        "with_gold": {
            "present": figures.present.with_gold,
            "absent": figures.absent.with_gold,
            "pooled": figures.pooled_with_gold,
        },
        "present": {
            "skip_empty": _present_to_json(figures.present.skip_empty),
            "count_empty": _present_to_json(figures.present.count_empty),
        },
        "absent": {
            "skip_empty": named_metrics(figures.absent.skip_empty),
            "count_empty": named_metrics(figures.absent.count_empty),
        },
        "pooled": {"P@M": pooled.precision_m, "R@M": pooled.recall_m, "F1@M": pooled.f1_m},
        **({"languages": languages} if languages else {}),
    }


def _present_to_json(figures: MacroFigures) -> dict[str, float | None]:
    return {name: value for name, value in named_metrics(figures).items() if name != "R@50"}


def _dataset_row(name: str, figures: DatasetFigures, convention: Convention) -> str:
    present, absent = by_convention(figures.present, convention), by_convention(figures.absent, convention)
    pooled = figures.pooled
    return _row(
        [
            " ".join(name.replace("|", "\\|").split()),
            str(figures.documents),
            _cell(present.precision_5, present.recall_5, present.f1_5),
            _cell(present.precision_m, present.recall_m, present.f1_m),
            _cell(absent.precision_5, absent.recall_5, absent.f1_5),
            _cell(absent.precision_m, absent.recall_m, absent.f1_m),
            _cell(absent.recall_50),
            _cell(pooled.precision_m, pooled.recall_m, pooled.f1_m),
        ]
    )


def by_convention(figures: KindFigures, convention: Convention) -> MacroFigures:
    return figures.skip_empty if convention == "skip_empty" else figures.count_empty


def caption_of_f1(convention: Convention) -> str:
    """As in `CAPTIONS`, of a table that gives F1 and neither precision nor recall."""
    return CAPTIONS[convention].replace(_ALL_MEASURES, _F1_ONLY)


def averaged_over(present: int, absent: int, documents: int) -> str:
    """A sentence on how many documents the kinds are averaged over (`skip_empty`); empty where it is all."""
    if present == absent == documents:
        return ""
    return f"Present over {present:,}, absent over {absent:,} documents: those with gold of the kind."


def percent(share: float | None) -> str:
    """A share of 1 in percent, as the papers write it."""
    return UNDEFINED if share is None else f"{100 * share:.1f}"


def decimals(share: float | None) -> str:
    """A share of 1 as tables give it."""
    return UNDEFINED if share is None else f"{share:.3f}"


def _cell(*values: float | None) -> str:
    if all(value is None for value in values):
        return UNDEFINED
    return " / ".join(decimals(value) for value in values)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
