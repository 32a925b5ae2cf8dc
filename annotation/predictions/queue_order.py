"""In which order raters meet the pairs of predicted keyphrases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class QueueOrder(StrEnum):
    PROJECT = "project"
    """As set for the project: random, or as imported."""
    UNCERTAIN = "uncertain"
    """First what the models' scores decide least."""
    MIXED = "mixed"
    """In turns the most uncertain one and the next of the project's order."""
    DOCUMENT = "document"
    """All of a document one after the other, at the document's place in the project's order."""


ORDER_NAMES = {
    QueueOrder.DOCUMENT: "Document by document",
    QueueOrder.PROJECT: "As set for the project",
    QueueOrder.UNCERTAIN: "Most uncertain first",
    QueueOrder.MIXED: "Mixed: an uncertain pair and the project's next, in turn",
}
"""As pages offer them."""


@dataclass(frozen=True, slots=True)
class Moving:
    """A pair that may change places with others."""

    pair_id: int
    position: int
    """Now."""
    own: int
    """Its position in the project's order."""
    uncertainty: float
    """0 to 1."""
    document: int
    """Where its document stands in the project's order; of a pair without one, its own position."""


def positions_by_document(pairs: Sequence[Moving]) -> dict[int, int]:
    """The position of each pair: those of a document follow each other from the document's place on.

    A pair whose place is taken by a document before it moves up, no further than needed. No position is
    above the highest of the pairs' own, so that what is imported later in the order of import comes last;
    only in a random order may the end of a document reach above it, where positions are far apart.
    """
    positions: dict[int, int] = {}
    free = 0
    for pair in sorted(pairs, key=lambda pair: (pair.document, pair.own, pair.pair_id)):
        positions[pair.pair_id] = max(free, pair.document)
        free = positions[pair.pair_id] + 1
    return positions


def new_positions(pairs: Sequence[Moving], order: QueueOrder) -> dict[int, int]:
    """The position of each pair: the pairs take the places that they have together in another order.

    So no pair of theirs meets a place of others', and these stay where they are.

    Args:
        order: any but the one by document, of which `positions_by_document` has the positions.
    """
    own = sorted(pairs, key=lambda pair: (pair.own, pair.pair_id))
    certain_last = sorted(own, key=lambda pair: -pair.uncertainty)  # stable: equal ones in the own order
    if order is QueueOrder.PROJECT:
        chosen = own
    elif order is QueueOrder.UNCERTAIN:
        chosen = certain_last
    else:
        chosen = _in_turns(certain_last, own)
    places = sorted(pair.position for pair in pairs)
    return {pair.pair_id: place for pair, place in zip(chosen, places, strict=True)}


def _in_turns(first: Sequence[Moving], second: Sequence[Moving]) -> list[Moving]:
    """The next of each list that the other has not had yet, in turns."""
    chosen: dict[int, Moving] = {}
    sources = (iter(first), iter(second))
    while len(chosen) < len(first):
        source = sources[len(chosen) % 2]
        pair = next(pair for pair in source if pair.pair_id not in chosen)
        chosen[pair.pair_id] = pair
    return list(chosen.values())
