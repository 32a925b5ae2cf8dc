"""The warning that intervals from few pairs are too narrow, in the same words everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from annotation.figures import number_of

ENOUGH_PAIRS = 50
"""With fewer, a bootstrap interval is often too narrow, and its width too uncertain to plan with."""
_NARROW = "the interval is often narrower than it should be"


class Compared(NamedTuple):
    """How many pairs with two grades or more a part has; None where α has no interval."""

    name: str
    all: int | None
    unadjudicated: int | None = None


def too_few_text(pairs: int) -> str:
    return (
        f"Too few pairs to tell: {number_of(pairs, 'pair')} with two grades or more, and with fewer than "
        f"{ENOUGH_PAIRS} {_NARROW}."
    )


def few_parts_text(parts: Sequence[Compared]) -> str:
    """Which parts have too few pairs to trust their intervals; empty where none has."""
    few = [
        part.name if _is_few(part.all) else f"{part.name} (unadjudicated)"
        for part in parts
        if _is_few(part.all) or _is_few(part.unadjudicated)
    ]
    if not few:
        return ""
    return f"Fewer than {ENOUGH_PAIRS} pairs with two grades, so that {_NARROW}: {', '.join(few)}."


def few_pairs_text(whole: Compared, parts: Sequence[Compared]) -> str:
    """The warning for all pairs or, where these are enough, for the parts."""
    if whole.all is not None and _is_few(whole.all):
        return too_few_text(whole.all)
    return few_parts_text([whole, *parts])


def _is_few(pairs: int | None) -> bool:
    return pairs is not None and pairs < ENOUGH_PAIRS
