"""Figures on paper: a JSON object and a Markdown table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

from kpdemo.evaluation.metrics import Convention, MacroFigures, named_metrics, named_pooled
from kpdemo.evaluation.protocol import DatasetFigures, KindFigures, Tally
from kpdemo.evaluation.significance import CONVENTIONS, ByFigure, Estimate, estimates
from kpdemo.languages import language_name

UNDEFINED = "–"

Shown = TypeVar("Shown")

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
INTERVAL_NOTE = (
    "± 95 % interval over the documents, by Student's t; none where fewer than two have gold of the kind, "
    "or all score the same."
)


@dataclass(frozen=True, slots=True)
class Report:
    """The figures of one model on named datasets.

    `model`, `device` and `seconds` are None when predictions came from a file that does not say. `identity`
    is that of `kpdemo.identity`, empty without weights. `without_gold` has the ids of the documents without
    gold keyphrases, of each dataset that has such; `without_prediction` those that counted as empty.
    `released` tells whether phrases were compared by the rule of SimCKP's released code.
    """

    datasets: Mapping[str, DatasetFigures]
    model: str | None = None
    device: str | None = None
    seconds: float | None = None
    identity: str = ""
    without_gold: Mapping[str, Sequence[str]] = field(default_factory=dict)
    without_prediction: Mapping[str, Sequence[str]] = field(default_factory=dict)
    released: bool = False


def report_to_json(report: Report) -> dict[str, Any]:
    """Everything measured, fractions of 1, undefined figures as None."""
    return {
        "datasets": {
            name: dataset_to_json(figures)
            | ({"without_gold": list(ids)} if (ids := report.without_gold.get(name)) else {})
            for name, figures in report.datasets.items()
        },
        "model": report.model,
        "identity": report.identity,
        "device": report.device,
        "seconds": report.seconds,
    } | ({"rule": "released"} if report.released else {})


def report_to_markdown(report: Report) -> str:
    """A table for each convention under a line that names it; a row for each dataset.

    A dataset of several languages has a row for each after it.
    """
    return dataset_tables(list(with_languages(report.datasets)))


def dataset_tables(
    rows: Sequence[tuple[str, DatasetFigures]], *, first: str = "Dataset", about: str = ""
) -> str:
    """Markdown: a table for each convention, its rows named under `first`; `about` begins the line above."""
    at = [f"{kind} @{cut}" for kind in ("Present", "Absent") for cut in rows[0][1].cuts]
    heads = [*at, "Absent R@50", "Pooled @M"]
    tables = []
    for convention, caption in CAPTIONS.items():
        cells = [_dataset_cells(name, figures, convention) for name, figures in rows]
        told = f"{about}{caption} {POOLED_NOTE} {INTERVAL_NOTE}"
        tables.append(f"{told}\n\n{markdown_table([first, 'Documents', *heads], cells)}\n")
    return "\n".join(tables)


def interval_note(datasets: Mapping[str, DatasetFigures]) -> str:
    """What ± is, and where a single document leaves none."""
    alone = [
        f" {name}: 1 document has {kind} gold keyphrases; from one there is no interval."
        for name, figures in datasets.items()
        for kind in ("present", "absent")
        if figures.with_gold[kind] == 1
    ]
    return f"{INTERVAL_NOTE}{''.join(alone)}"


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The first column has names, the others numbers; the last line does not end."""
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
    return "\n".join(f"| {' | '.join(map(_escape_cell, cells))} |" for cells in lines)


def _escape_cell(text: str) -> str:
    """On one line, and whole where a name has a bar in it."""
    return " ".join(text.replace("|", "\\|").split())


def with_languages(datasets: Mapping[str, DatasetFigures]) -> Iterator[tuple[str, DatasetFigures]]:
    """Each dataset, and after one of several languages its parts."""
    for name, figures in datasets.items():
        yield name, figures
        if len(figures.languages) > 1:
            for code, part in figures.languages.items():
                yield f"{name}, {language_name(code)}", part


def trust_note(figures: DatasetFigures) -> str:
    """How often absent keyphrases are right that answers have, and leave out; empty where they have all."""
    if not figures.doubtful.predicted:
        return ""
    given, doubtful = (_tally_text(tally) for tally in (figures.given, figures.doubtful))
    return f"Of the absent keyphrases that are given {given} are right, of the doubtful ones {doubtful}."


def _tally_text(tally: Tally) -> str:
    share = f" ({100 * tally.correct / tally.predicted:.0f} %)" if tally.predicted else ""
    return f"{tally.correct:,} of {tally.predicted:,}{share}"


def dataset_to_json(figures: DatasetFigures) -> dict[str, Any]:
    trust = {"given": asdict(figures.given), "doubtful": asdict(figures.doubtful)}
    languages = {code: dataset_to_json(part) for code, part in figures.languages.items()}
    return {
        "documents": figures.documents,
        "not_in_text": figures.not_in_text,
        "with_gold": figures.with_gold,
        **(trust if figures.doubtful.predicted else {}),
        **by_kind({convention: shares(figures, convention) for convention in CONVENTIONS}, lambda one: one),
        "interval": by_kind(
            {convention: estimates(figures.scores, convention) for convention in CONVENTIONS},
            lambda estimate: bounds(estimate, least=0.0),
        ),
        **({"languages": languages} if languages else {}),
    }


def shares(figures: DatasetFigures, convention: Convention) -> dict[str, dict[str, float | None]]:
    """P, R and F1 by kind and name; present ones have no R@50."""
    present, absent = (
        named_metrics(by_convention(kind, convention)) for kind in (figures.present, figures.absent)
    )
    del present["R@50"]
    return {"present": present, "absent": absent, "pooled": named_pooled(figures.pooled)}


def by_kind(
    figures: Mapping[Convention, ByFigure[Shown]], shown: Callable[[Shown], Any]
) -> dict[str, dict[str, Any]]:
    """In the places where a dataset has its figures: those of a kind by convention, pooled ones without."""
    skip_empty = figures["skip_empty"]
    found: dict[str, dict[str, Any]] = {
        kind: {
            convention: {name: shown(value) for name, value in figures[convention][kind].items()}
            for convention in CONVENTIONS
        }
        for kind in skip_empty
        if kind != "pooled"
    }
    return found | {"pooled": {name: shown(value) for name, value in skip_empty["pooled"].items()}}


def bounds(estimate: Estimate, *, least: float) -> list[float] | None:
    """The ends of the interval, between `least` and 1; None where there is none."""
    if estimate.value is None or estimate.margin is None:
        return None
    return [max(least, estimate.value - estimate.margin), min(1.0, estimate.value + estimate.margin)]


def _dataset_cells(name: str, figures: DatasetFigures, convention: Convention) -> list[str]:
    known = estimates(figures.scores, convention)
    kinds = {"present": figures.present, "absent": figures.absent}
    measured = {kind: by_convention(of_kind, convention) for kind, of_kind in kinds.items()}
    pooled = figures.pooled
    return [
        name,
        str(figures.documents),
        *(
            _cell(known[kind][f"F1@{cut}"], *means)
            for kind, of_kind in measured.items()
            for cut, means in of_kind.at.items()
        ),
        _cell(known["absent"]["R@50"], measured["absent"].recall_50),
        _cell(known["pooled"]["F1@M"], pooled.precision_m, pooled.recall_m, pooled.f1_m),
    ]


def by_convention(figures: KindFigures, convention: Convention) -> MacroFigures:
    return figures.skip_empty if convention == "skip_empty" else figures.count_empty


def caption_of_f1(convention: Convention) -> str:
    """As in `CAPTIONS`, of a table that gives F1 and neither precision nor recall."""
    return CAPTIONS[convention].replace(_ALL_MEASURES, _F1_ONLY)


def with_gold_note(figures: DatasetFigures) -> str:
    """A sentence on how many documents have gold of each kind; empty where all have."""
    counts = figures.with_gold
    if set(counts.values()) == {figures.documents}:
        return ""
    of = ", all languages together" if len(figures.languages) > 1 else ""
    told = ", ".join(f"{kind} {number:,}" for kind, number in counts.items())
    return f"Documents with gold of the kind{of}: {told}."


def percent(share: float | None) -> str:
    """A share of 1 in percent, as the papers write it."""
    return UNDEFINED if share is None else f"{100 * share:.1f}"


def decimals(share: float | None) -> str:
    """A share of 1 as tables give it."""
    return UNDEFINED if share is None else f"{share:.3f}"


def plus_minus(margin: float | None) -> list[str]:
    """Half the width of an interval, if there is one."""
    return [] if margin is None else [f"±{margin:.3f}"]


def _cell(last: Estimate, *values: float | None) -> str:
    """The values, and the interval of the last."""
    if all(value is None for value in values):
        return UNDEFINED
    return " ".join([" / ".join(decimals(value) for value in values), *plus_minus(last.margin)])
