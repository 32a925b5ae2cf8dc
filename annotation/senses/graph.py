"""Where the senses of a neighbourhood are drawn: the middle one, and a ring for each edge away from it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from annotation.senses.network import SenseStep

MOST_DRAWN = (1, 24, 30, 30)
"""At each distance; the list has the others."""
RADII = (0.0, 130.0, 225.0, 310.0)
GAP = 10
"""Between the middle of a dot and its name, which stands outwards of it."""
_LETTER = 8.0
_LINE = 14


@dataclass(frozen=True, slots=True)
class Node:
    """A sense in the plane, the middle at 0, 0; and where the one before it is."""

    step: SenseStep
    x: float
    y: float
    before: tuple[float, float] | None


def drawn_nodes(steps: Sequence[SenseStep]) -> tuple[Node, ...]:
    """The senses that are drawn, from the middle outwards; each has a sector as wide as what is behind it.

    Args:
        steps: a neighbourhood.
    """
    children = _children(steps)
    [first] = [step for step in steps if step.distance == 0]
    leaves: dict[str, int] = {}
    for step in reversed(_in_order(first, children)):
        leaves[step.synset] = max(1, sum(leaves[child.synset] for child in children[step.synset]))
    nodes = [Node(first, 0.0, 0.0, None)]
    sectors = {first.synset: (-math.pi / 2, 2 * math.pi)}
    for node in nodes:  # grows meanwhile
        begin, width = sectors[node.step.synset]
        for child in children[node.step.synset]:
            share = width * leaves[child.synset] / leaves[node.step.synset]
            sectors[child.synset] = (begin, share)
            angle, radius = begin + share / 2, RADII[child.distance]
            nodes.append(Node(child, radius * math.cos(angle), radius * math.sin(angle), (node.x, node.y)))
            begin += share
    return tuple(nodes)


def named_nodes(names: Mapping[Node, str]) -> set[Node]:
    """Those that have their name beside them: the inner ones, where it meets no other name and no dot.

    Args:
        names: of each node as they are drawn, from the middle outwards.
    """
    named: list[Node] = []
    for node, name in names.items():
        is_free = all(abs(node.y - other.y) > _LINE or abs(node.x - other.x) > 120 for other in named)
        is_middle = node.step.distance == 0
        if is_middle or (is_free and not any(_lies_on_name(dot, node, name) for dot in names)):
            named.append(node)
    return set(named)


def _lies_on_name(dot: Node, node: Node, name: str) -> bool:
    outwards = dot.x - node.x if node.x >= 0 else node.x - dot.x
    return 0 < outwards < GAP + _LETTER * len(name) and abs(dot.y - node.y) < _LINE / 2


def _children(steps: Sequence[SenseStep]) -> dict[str, list[SenseStep]]:
    """What is drawn behind each: the first ones at each distance whose way there is drawn too."""
    drawn: set[str] = set()
    counts = dict.fromkeys(range(len(MOST_DRAWN)), 0)
    children: dict[str, list[SenseStep]] = defaultdict(list)
    for step in steps:
        has_way = step.via is None or step.via in drawn
        if not has_way or counts[step.distance] == MOST_DRAWN[step.distance]:
            continue
        counts[step.distance] += 1
        drawn.add(step.synset)
        if step.via is not None:
            children[step.via].append(step)
    return children


def _in_order(first: SenseStep, children: dict[str, list[SenseStep]]) -> list[SenseStep]:
    order = [first]
    for step in order:  # grows meanwhile
        order.extend(children[step.synset])
    return order
