"""How often the passage that belongs to a query is among the first that are found (RAMKG, section 6.1)."""

from __future__ import annotations

from collections.abc import Sequence

CUT_OFFS = (1, 2, 5, 10, 20)
"""Of RAMKG, Table 4."""


def rank_of(wanted: str, found: Sequence[str]) -> int | None:
    """The place of a passage among those found, from 1; None when it is not there."""
    return found.index(wanted) + 1 if wanted in found else None


def recall_at(ranks: Sequence[int | None]) -> dict[int, float]:
    """The share of all queries whose passage is among the first k found, for each k.

    Args:
        ranks: of each query's passage, from 1; None where it was not found.

    Raises:
        ValueError: there is no query.

    >>> recall_at([1, 3, None, 2])
    {1: 0.25, 2: 0.5, 5: 0.75, 10: 0.75, 20: 0.75}
    """
    if not ranks:
        raise ValueError("no query to count")
    return {k: sum(rank is not None and rank <= k for rank in ranks) / len(ranks) for k in CUT_OFFS}
