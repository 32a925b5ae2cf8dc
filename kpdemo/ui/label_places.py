"""Where the names of points go in a chart, so that none lies over another."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

NARROW, WIDE, LINE_HEIGHT = 7.0, 14.0, 16.0
"""Pixels of a character, of a Chinese one, and of a line, in the font of charts."""

NARROWER = 2
"""A phone's chart is so many times as narrow, with letters of the same size."""

GAP = 10.0  # from the middle of a point to its name

Box = tuple[float, float, float, float]
"""Left, lower, right and upper edge."""


def place_labels(labels: Mapping[int, str], places: NDArray[np.float32], area: Box) -> dict[int, str]:
    """The side of its point on which each name goes, as plotly.js calls it; with no free side there is none.

    Args:
        labels: names by the row of their points, those that matter most first. The first has a side in any
            case, the one towards the middle if it can, and room in a chart `NARROWER` times as narrow.
        places: (N, 2) in pixels.
        area: names stay inside.
    """
    taken = [_around(*places[row]) for row in labels]  # the named points themselves
    chosen: dict[int, str] = {}
    for row, text in labels.items():
        shown = text if chosen else NARROWER * text  # that of the first is seen in a narrow chart too
        fitting = [(side, box) for side, box in _boxes(shown, *places[row]) if _inside(box, area)]
        if not chosen and places[row][0] > (area[0] + area[2]) / 2:
            fitting.sort(key=lambda place: "right" in place[0])
        free = [place for place in fitting if not any(_overlap(place[1], other) for other in taken)]
        if not free and not chosen:
            free = fitting
        for side, box in free[:1]:
            chosen[row] = side
            taken.append(box)
    return chosen


def text_width(text: str) -> float:
    return sum(WIDE if unicodedata.east_asian_width(letter) in "WF" else NARROW for letter in text)


def _boxes(text: str, x: float, y: float) -> Iterable[tuple[str, Box]]:
    width, half = text_width(text), LINE_HEIGHT / 2
    return (
        ("middle right", (x + GAP, y - half, x + GAP + width, y + half)),
        ("middle left", (x - GAP - width, y - half, x - GAP, y + half)),
        ("top center", (x - width / 2, y + GAP, x + width / 2, y + GAP + LINE_HEIGHT)),
        ("bottom center", (x - width / 2, y - GAP - LINE_HEIGHT, x + width / 2, y - GAP)),
        ("top right", (x + GAP, y + GAP, x + GAP + width, y + GAP + LINE_HEIGHT)),
        ("top left", (x - GAP - width, y + GAP, x - GAP, y + GAP + LINE_HEIGHT)),
        ("bottom right", (x + GAP, y - GAP - LINE_HEIGHT, x + GAP + width, y - GAP)),
        ("bottom left", (x - GAP - width, y - GAP - LINE_HEIGHT, x - GAP, y - GAP)),
    )


def _around(x: float, y: float) -> Box:
    reach = GAP - 1
    return x - reach, y - reach, x + reach, y + reach


def _inside(box: Box, area: Box) -> bool:
    return box[0] >= area[0] and box[1] >= area[1] and box[2] <= area[2] and box[3] <= area[3]


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
