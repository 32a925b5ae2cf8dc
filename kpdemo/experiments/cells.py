"""The cells of the tables of results, ours and the paper's, and the paragraphs around them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kpdemo.evaluation.report import UNDEFINED
from kpdemo.experiments.published import Pair, Row, published
from kpdemo.experiments.results import Result


def paragraphs(*parts: str) -> str:
    """The parts with blank lines between them; empty ones are left out."""
    return "\n\n".join(filter(None, parts))


def dataset_head(name: str, mains: Iterable[Result]) -> str:
    """The head of a column: the file, its documents, and how many of it were left out."""
    measured = next(main["datasets"][name] for main in mains if name in main["datasets"])
    known = published().dataset(name)
    left = f", without {measured['left_out']:,}" if measured["left_out"] else ""
    return f"{known + ': ' if known else ''}{name} ({size_text(measured)}{left})"


def size_text(measured: Mapping[str, Any]) -> str:
    return f"{measured['documents']:,} documents"


def our_cell(measured: Mapping[str, Any] | None, kind: str) -> str:
    if measured is None:
        return UNDEFINED
    return _pair_of([measured], kind)


def mean_cell(measured: Sequence[Mapping[str, Any]], kind: str = "present") -> str:
    """The mean over seeds."""
    return _pair_of(measured, kind) if measured else UNDEFINED


def _pair_of(measured: Sequence[Mapping[str, Any]], kind: str) -> str:
    cells = []
    for figure in ("F1@5", "F1@M"):
        values = [one[kind]["skip_empty"][figure] for one in measured]
        errors = [one["standard_error"][kind][figure] for one in measured]
        cells.append(_with_error(values, errors))
    return " / ".join(cells)


def recall_cell(measured: Mapping[str, Any] | None) -> str:
    if measured is None:
        return UNDEFINED
    recall, error = measured["absent"]["skip_empty"]["R@50"], measured["standard_error"]["absent"]["R@50"]
    return _with_error([recall], [error])


def _with_error(values: Sequence[float | None], errors: Sequence[float | None]) -> str:
    """Means of both; seeds are measured on the same documents, so the error does not shrink with them."""
    known = [value for value in values if value is not None]
    if not known:
        return UNDEFINED
    spread = [error for error in errors if error is not None]
    text = f"{sum(known) / len(known):.3f}"
    return f"{text} ± {sum(spread) / len(spread):.3f}" if spread else text


def their_cell(row: Row, name: str | None) -> str:
    figures: Pair | None = row.figures.get(name or "")
    return UNDEFINED if figures is None else f"{figures[0]:.3f} / {figures[1]:.3f}"
