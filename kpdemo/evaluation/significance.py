"""Intervals of the main figures, and whether systems differ: from the scores of documents.

The documents are the sample: each figure is of those that it averages over, by its convention.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TypeVar, get_args

from kpdemo.evaluation.metrics import CUTS, DEEP_CUT, Convention, Cut, KindScores, SetScores
from kpdemo.evaluation.protocol import DocumentScores
from kpdemo.statistics import f1_contributions, holm, margin, randomisation_p

_DEEP = f"R@{DEEP_CUT}"


def figure_names(cuts: Sequence[Cut] = CUTS) -> Mapping[str, Mapping[str, Cut]]:
    """Of each kind the figures that have an interval, by name, and the cut that they are at."""
    at: dict[str, Cut] = {f"F1@{cut}": cut for cut in cuts}
    return {"present": at, "absent": at | {_DEEP: DEEP_CUT}, "pooled": {"F1@M": "M"}}


CONVENTIONS: tuple[Convention, ...] = get_args(Convention)

Value = TypeVar("Value")
ByFigure = Mapping[str, Mapping[str, Value]]
"""In the kinds and names of `figure_names`."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure, or a difference of two, with half the width of its 95 % interval.

    `value` is None where no document has gold of the kind, `margin` where fewer than two have (the zeros of
    the others, where they count, are not a sample of it) and where there is no spread.
    """

    value: float | None
    margin: float | None


@dataclass(frozen=True, slots=True)
class Difference(Estimate):
    """The difference of a system from the first, with its p, and p corrected for all systems compared."""

    p: float | None
    p_holm: float | None


def estimates(scores: Sequence[DocumentScores], convention: Convention) -> ByFigure[Estimate]:
    """The figures with their `margin`, at most 1: no two shares are further apart."""

    def estimate(kind: str, name: str) -> Estimate:
        added = f1_contributions(_pairs(scores, kind, name, convention))
        return Estimate(_mean(added), _margin(added, 1.0, _with_gold(scores, kind)))

    return _by_figure(scores, estimate)


def differences(
    runs: Sequence[Sequence[DocumentScores]], before_each: Callable[[], None] = lambda: None
) -> list[Mapping[Convention, ByFigure[Difference]]]:
    """Of each further run from the first, by convention; all are of the same documents in the same order.

    `before_each` is called before each further run.
    """
    first, *others = runs
    ps = []
    for scores in others:
        before_each()
        ps.append(_ps(first, scores))
    by_holm = _by_figure(first, lambda kind, name: _by_holm([of_run[kind][name] for of_run in ps]))

    def of_run(place: int, convention: Convention) -> ByFigure[Difference]:
        def difference(kind: str, name: str) -> Difference:
            taken, added = (
                f1_contributions(_pairs(scores, kind, name, convention)) for scores in (first, others[place])
            )
            apart = [one - other for one, other in zip(added, taken, strict=True)]
            half = _margin(apart, 2.0, _with_gold(first, kind))
            return Difference(_mean(apart), half, ps[place][kind][name], by_holm[kind][name][place])

        return _by_figure(first, difference)

    return [
        {convention: of_run(place, convention) for convention in CONVENTIONS} for place in range(len(others))
    ]


def _ps(first: Sequence[DocumentScores], other: Sequence[DocumentScores]) -> ByFigure[float | None]:
    """By both conventions, for their differences are proportional; None without gold of the kind."""

    def p(kind: str, name: str) -> float | None:
        theirs, ours = (_pairs(scores, kind, name, "skip_empty") for scores in (first, other))
        return randomisation_p(ours, theirs) if theirs else None

    return _by_figure(first, p)


def _by_holm(ps: Sequence[float | None]) -> Sequence[float | None]:
    known = [p for p in ps if p is not None]
    return holm(known) if known else ps  # without gold of the kind there is none of all


def _pairs(
    scores: Sequence[DocumentScores], kind: str, name: str, convention: Convention
) -> list[tuple[float, float]]:
    """What the figure is F1 of, of each document that it averages over."""
    if not _with_gold(scores, kind):
        return []
    cut = figure_names(_cuts(scores))[kind][name]
    found: list[KindScores | SetScores | None] = [getattr(document, kind) for document in scores]
    return [
        _pair(one, name, cut)
        for one in found
        if one is not None and (convention == "count_empty" or _has_gold(one))
    ]


def _pair(one: KindScores | SetScores, name: str, cut: Cut) -> tuple[float, float]:
    """F1 of a mean and itself is that mean."""
    if isinstance(one, SetScores):
        return one.f1, one.f1
    return (one.recall_50, one.recall_50) if name == _DEEP else one.at[cut]


def _cuts(scores: Sequence[DocumentScores]) -> Sequence[Cut]:
    return tuple(scores[0].present.at) if scores else CUTS


def _with_gold(scores: Sequence[DocumentScores], kind: str) -> int:
    """How many documents have gold of the kind."""
    return sum(_has_gold(getattr(document, kind)) for document in scores)


def _has_gold(scores: KindScores | SetScores | None) -> bool:
    return isinstance(scores, SetScores) or (scores is not None and scores.has_gold)


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def _margin(values: Sequence[float], most: float, with_gold: int) -> float | None:
    found = margin(values) if with_gold > 1 else None
    return None if found is None else min(most, found)


def _by_figure(scores: Sequence[DocumentScores], measure: Callable[[str, str], Value]) -> ByFigure[Value]:
    names = figure_names(_cuts(scores))
    return {kind: {name: measure(kind, name) for name in of_kind} for kind, of_kind in names.items()}
