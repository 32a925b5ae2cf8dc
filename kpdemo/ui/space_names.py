"""The names of the best points in the map of a space, beside them or with a line that leads to them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from kpdemo.types import PointKind, VectorPoint, VectorSpace
from kpdemo.ui.charts import LINE, Chart, escaped, short
from kpdemo.ui.label_places import Place, place_labels

MARKER = 7  # pixels from the middle of a point to its edge
LOWEST = 390  # pixels of a frame's height where the legend above it takes several lines


@dataclass(frozen=True, slots=True)
class Names:
    """The names of points as a chart of a certain width has room for them; style.css shows those that fit.

    Attributes:
        narrowest, widest: pixels of the frames of such charts.
        most: this many names at most, that of the document among them.
    """

    size: str
    narrowest: float
    widest: float
    most: int

    def area(self, ranges: NDArray[np.float32]) -> tuple[float, float]:
        """Width and height, in pixels of the narrowest such chart, of what the frames of all of them show.

        A frame that is wider for its height than the ranges shows no more than these from bottom to top.
        """
        width, height = (float(high - low) for low, high in ranges)
        return self.narrowest, self.narrowest * max(height / width, LOWEST / self.widest)


NAMES = (Names("wide", 580, math.inf, 17), Names("middle", 410, math.inf, 12), Names("narrow", 260, 420, 7))


def by_weight(points: Sequence[VectorPoint]) -> list[int]:
    """The rows of the points: the document, present keyphrases, absent ones, candidates, each best first."""
    order = [PointKind.DOCUMENT, PointKind.PRESENT, PointKind.ABSENT, PointKind.CANDIDATE]
    return sorted(
        range(len(points)), key=lambda row: (order.index(points[row].kind), -(points[row].score or 0.0))
    )


def name_traces(
    space: VectorSpace, places: NDArray[np.float32], ranges: NDArray[np.float32], names: Names
) -> Iterator[Chart]:
    """The names of each kind and the lines to them, apart, so that they go where the legend hides a kind."""
    width, height = names.area(ranges)
    scale = width / float(ranges[0, 1] - ranges[0, 0])
    middle = ranges.mean(1)
    pixels = ((places - middle) * scale).astype(np.float32)
    right, upper = width / 2, height / 2
    best = _best_in_turns(space.points)
    labels = {row: _name(space.points[row]) for row in best[: names.most]}
    found = place_labels(labels, pixels, (-right, -upper, right, upper), best)
    for kind in PointKind:
        own = [row for row in found if space.points[row].kind is kind]
        ends = [(found[row].x, found[row].y) for row in own]
        lines = [line for row in own for line in _leader(pixels[row], found[row])]
        if lines:
            yield {
                **_beside(kind, names, "lines"),
                "line": {"color": LINE, "width": 1},
                **_at(lines, scale, middle),
            }
        if own:
            yield {
                **_beside(kind, names, "text"),
                "text": [escaped(labels[row]) for row in own],
                "textposition": ["middle left" if found[row].is_left else "middle right" for row in own],
                **_at(ends, scale, middle),
            }


def _beside(kind: PointKind, names: Names, mode: str) -> Chart:
    return {
        "type": "scatter",
        "mode": mode,
        "uid": f"{kind}-{mode}-{names.size}",  # a class in the page, see style.css
        "legendgroup": kind,
        "showlegend": False,
        "hoverinfo": "skip",
    }


def _leader(point: NDArray[np.float32], place: Place) -> list[tuple[float, float] | None]:
    """From the edge of a point to its name, and a gap; nothing to a name that stands beside its point."""
    if not place.is_away:
        return []
    x, y = point.tolist()
    share = MARKER / math.dist((x, y), (place.x, place.y))
    return [(x + (place.x - x) * share, y + (place.y - y) * share), (place.x, place.y), None]


def _at(
    pixels: Sequence[tuple[float, float] | None], scale: float, middle: NDArray[np.float32]
) -> dict[str, list[float | None]]:
    """Places in pixels from the middle of the chart as the axes have them."""
    return {
        axis: [None if place is None else place[number] / scale + float(middle[number]) for place in pixels]
        for number, axis in enumerate("xy")
    }


def _best_in_turns(points: Sequence[VectorPoint]) -> list[int]:
    """The rows of points that have names: the document, present and absent keyphrases in turns."""
    order = (PointKind.DOCUMENT, PointKind.PRESENT, PointKind.ABSENT)
    kinds = [[row for row in by_weight(points) if points[row].kind is kind] for kind in order]
    turns = zip_longest(*kinds)
    return [row for turn in turns for row in turn if row is not None]


def _name(point: VectorPoint) -> str:
    return "document" if point.kind is PointKind.DOCUMENT else short(point.text)
