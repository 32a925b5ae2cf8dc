"""Where the names of points go in a chart, so that none lies over another."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

NARROW, WIDE, LINE_HEIGHT = 7.0, 14.0, 16.0
"""Pixels of a character, of a Chinese one, and of a line, in the font of charts."""

GAP = 10.0  # from the middle of a point to a name beside it
AWAY = (24.0, 38.0, 52.0, 68.0, 84.0, 104.0, 128.0, 156.0, 190.0)
"""Farther from it, where a line leads to the name."""

DIRECTIONS = 16
COVERED = 6.0  # a name goes this many pixels farther away rather than over a point
STEPS = 12  # along a line that leads to a name, to see what it crosses

Point = tuple[float, float]
Points = NDArray[np.float32]
"""(N, 2) in pixels."""

Box = tuple[float, float, float, float]
"""Left, lower, right and upper edge."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a name begins, or ends where it stands on the left of it, at half its height, in pixels."""

    x: float
    y: float
    is_left: bool
    is_away: bool
    """Whether a line leads from the point to it."""


def place_labels(
    labels: Mapping[int, str], places: Points, area: Box, seen: Collection[int] = ()
) -> dict[int, Place]:
    """The place of each name near its point; one for which there is no room has none.

    Args:
        labels: names by the row of their points, those that matter most first. The first has a place in any
            case.
        places: of all points; names lie over as few of them as can be, and over none that has a name.
        area: names stay inside.
        seen: rows of further points that no name lies over.
    """
    chart = _Chart(places, [_around(*places[row]) for row in {*labels, *seen}])
    chosen: dict[int, Place] = {}
    for row, text in labels.items():
        point = (float(places[row][0]), float(places[row][1]))
        width = text_width(text)
        fitting = [place for place in _around_point(point) if _is_inside(_box(place, width), area)]
        best = chart.best(fitting, width, point)
        if best is None and not chosen:
            best = next(iter(fitting), None)
        if best is not None:
            chosen[row] = best
            chart.take(best, width, point)
    return chosen


def text_width(text: str) -> float:
    return sum(WIDE if unicodedata.east_asian_width(letter) in "WF" else NARROW for letter in text)


class _Chart:
    """What is in the chart already: points, and names with the lines that lead to them."""

    def __init__(self, points: Points, markers: list[Box]) -> None:
        self._points = points
        self._markers = markers  # of the points that no name lies over
        self._names: list[Box] = []
        self._lines: list[Points] = []

    def best(self, fitting: Sequence[Place], width: float, point: Point) -> Place | None:
        """The free one that costs least of places in the order of their distance, which is a part of it."""
        found, least = None, math.inf
        for place in fitting:
            if _distance(place, point) >= least:
                break
            if self._is_free(place, width, point) and (cost := self._cost(place, width, point)) < least:
                found, least = place, cost
        return found

    def _is_free(self, place: Place, width: float, point: Point) -> bool:
        box, line = _box(place, width), _line(place, point)
        if any(_overlap(box, other) for other in (*self._markers, *self._names)):
            return False
        return not any(_inside(line, name) for name in self._names) and not any(
            _inside(other, box) for other in self._lines
        )

    def _cost(self, place: Place, width: float, point: Point) -> float:
        """The distance, and more for what it covers and for such points that its line runs through."""
        line = _line(place, point)[STEPS // 4 :]
        crossed = sum(1 for marker in self._markers if _inside(line, marker))
        return _distance(place, point) + COVERED * (_inside(self._points, _box(place, width)) + 2 * crossed)

    def take(self, place: Place, width: float, point: Point) -> None:
        self._names.append(_box(place, width))
        self._lines.append(_line(place, point))


def _around_point(point: Point) -> Iterator[Place]:
    """Beside the point, then farther and farther away on all sides."""
    x, y = point
    yield Place(x + GAP, y, is_left=False, is_away=False)
    yield Place(x - GAP, y, is_left=True, is_away=False)
    for away in AWAY:
        for number in range(DIRECTIONS):
            angle = 2 * math.pi * (number + 0.5) / DIRECTIONS
            right, up = math.cos(angle), math.sin(angle)
            yield Place(x + away * right, y + away * up, is_left=right < 0, is_away=True)


def _distance(place: Place, point: Point) -> float:
    return math.dist((place.x, place.y), point)


def _line(place: Place, point: Point) -> Points:
    """Points of the line that leads to a name; of a name beside its point there is none."""
    if not place.is_away:
        return np.zeros((0, 2), dtype=np.float32)
    steps = np.linspace(0, 1, STEPS, dtype=np.float32)[:, None]
    start, end = np.array([point, (place.x, place.y)], dtype=np.float32)
    line: Points = start + steps * (end - start)
    return line


def _box(place: Place, width: float) -> Box:
    left = place.x - width if place.is_left else place.x
    return left, place.y - LINE_HEIGHT / 2, left + width, place.y + LINE_HEIGHT / 2


def _around(x: float, y: float) -> Box:
    reach = GAP - 1
    return x - reach, y - reach, x + reach, y + reach


def _inside(points: Points, box: Box) -> int:
    """How many of the points."""
    return int(((points > box[:2]) & (points < box[2:])).all(axis=1).sum())


def _is_inside(box: Box, area: Box) -> bool:
    return box[0] >= area[0] and box[1] >= area[1] and box[2] <= area[2] and box[3] <= area[3]


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
