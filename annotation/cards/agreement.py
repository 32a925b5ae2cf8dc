"""How far the raters of a gold set agree: that part of its card."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from annotation.cards.markdown import plain, table
from annotation.comparison import types_in_order
from annotation.figures import figure_text, number_of, range_text
from annotation.reliability.few_pairs import Compared, few_pairs_text
from annotation.reliability.upper_bound import mean_of_text


def agreement(manifest: Mapping[str, Any]) -> Iterator[str]:
    """The paragraphs of the card."""
    yield "## Agreement"
    found = manifest["agreement"]
    if found is None:
        yield "It was not computed."
        return
    yield (
        f"{plain(found['coefficient'])}: {found['resamples']:,} resamples, seed {found['seed']}, intervals "
        f"of {found['confidence']:.0%}. It is of all pairs with two ratings or more, also those without a "
        "gold grade; “unadjudicated” leaves out those that are flagged or decided."
    )
    parts = {"all types": found["alpha"]}
    parts |= {plain(type): found["by_type"][type] for type in types_in_order(found["by_type"])}
    rows = (
        [name, *(_alpha(part[among]) for among in ("all", "unadjudicated"))] for name, part in parts.items()
    )
    yield table(("", "α, all pairs", "α, unadjudicated"), rows)
    whole, *others = (_compared(name, part) for name, part in parts.items())
    if said := few_pairs_text(whole, others):
        yield said
    if bounds := found["upper_bound"]:
        yield from _upper_bounds(bounds)


def _upper_bounds(bounds: Mapping[str, Any]) -> Iterator[str]:
    yield (
        "What people reach as systems are measured, to be set beside systems: the correlation of each "
        "rater's grades with the mean of the others' on the same pairs, as a mean over raters; of the same "
        "pairs and from the same number of resamples."
    )
    rows = (
        [
            plain(type),
            *(_figure(bounds[type][name]) for name in ("pearson", "spearman")),
            f"{bounds[type]['pairs']:,}",
            mean_of_text(bounds[type]["raters"]) if bounds[type]["raters"] else "",
        ]
        for type in types_in_order(bounds)
    )
    yield table(("", "Pearson", "Spearman", "pairs", ""), rows, numbers=(3,))


def _compared(name: str, part: Mapping[str, Any]) -> Compared:
    both = (part[among] for among in ("all", "unadjudicated"))
    return Compared(name, *(None if alpha["low"] is None else alpha["pairs"] for alpha in both))


def _alpha(alpha: Mapping[str, Any]) -> str:
    of = f"{number_of(alpha['pairs'], 'pair')}, {number_of(alpha['ratings'], 'rating')}"
    return _figure(alpha, f"; {of}")


def _figure(found: Mapping[str, Any], of: str = "") -> str:
    """A value with its interval, and what these are of; or why there is none."""
    if found["value"] is None:
        return f"undefined. {plain(found['reason'])}"
    low, high = found["low"], found["high"]
    sure = plain(found.get("reason", "no interval").rstrip(".")) if low is None else range_text(low, high)
    return f"{figure_text(found['value'])} ({sure}{of})"
