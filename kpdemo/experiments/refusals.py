"""Documents that a model refuses count as having no keyphrases; figures and pages tell how many, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kpdemo.errors import InputError

MOST_REASONS = 3
"""Of one model and dataset, on the page: a sentence may hold a value of its document."""

Refusals = dict[str, Any]
"""`refused`: how many documents were; `reasons`: how many of them for which sentence, the commonest first."""


def told_refusals(outcomes: Iterable[object]) -> Refusals:
    """The refusals, each an `InputError`, among what a model gave."""
    reasons = Counter(str(outcome) for outcome in outcomes if isinstance(outcome, InputError))
    return {"refused": reasons.total(), "reasons": dict(reasons.most_common())}


def all_refused(figures: Mapping[str, Any]) -> bool:
    """Whether nothing was measured: the model refused every document."""
    return bool(figures.get("refused")) and figures["refused"] == figures["documents"]


def refusal_notes(measured: Sequence[tuple[str, str, Mapping[str, Any]]]) -> str:
    """A line for each model and dataset with refusals; empty where there are none.

    Args:
        measured: a model, a dataset, and the figures; old ones lack refusals.
    """
    return "\n\n".join(
        f"`{model}` refused {figures['refused']:,} of the {figures['documents']:,} documents of {dataset}, "
        f"which count as having no keyphrases{_reasons(figures.get('reasons', {}))}"
        for model, dataset, figures in measured
        if figures.get("refused")
    )


def _reasons(reasons: Mapping[str, int]) -> str:
    told = [f"{count:,} × “{reason}”" for reason, count in list(reasons.items())[:MOST_REASONS]]
    if len(reasons) > MOST_REASONS:
        told.append(f"and {len(reasons) - MOST_REASONS:,} more")
    return f": {'; '.join(told)}" if told else "."
