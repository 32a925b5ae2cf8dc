"""The Semantic space tab: how a model sees a text, the document among its phrases in the plane."""

from __future__ import annotations

import math
import time
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import zip_longest
from typing import Any

import gradio as gr
import numpy as np
from numpy.typing import NDArray

from kpdemo.errors import InputError, KpdemoError, LanguageError
from kpdemo.lines import with_title_line
from kpdemo.locale import _, mark, ngettext
from kpdemo.routing import map_advice
from kpdemo.selection import page_score
from kpdemo.text import phrase_key, shorten, stem, words
from kpdemo.translation import write_number
from kpdemo.types import PointKind, Prediction, PredictionRequest, VectorPoint, VectorSpace
from kpdemo.ui.charts import (
    COLOURS,
    GRID,
    INK,
    LINE,
    Chart,
    chart_buttons,
    chart_of,
    escape_label,
    plain_layout,
    short,
    show_chart,
    titled_axis,
)
from kpdemo.ui.html import escape, group_digits, score_html
from kpdemo.ui.models import ModelShelf
from kpdemo.ui.requests import read_request
from kpdemo.ui.results import with_families
from kpdemo.ui.widgets import (
    MODEL_QUEUE,
    QuestionFields,
    Stops,
    empty_html,
    keep_reason,
    page_of,
    section_heading,
    show_share,
    shown_to_user,
    stop_button,
)
from kpdemo.vectors import Method, Plane, project, unit_rows
from kpdemo.worker import Stop, listen_with

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
        box, line = _box(place, width), _leader_points(place, point)
        if any(_overlap(box, other) for other in (*self._markers, *self._names)):
            return False
        return not any(_inside(line, name) for name in self._names) and not any(
            _inside(other, box) for other in self._lines
        )

    def _cost(self, place: Place, width: float, point: Point) -> float:
        """The distance, and more for what it covers and for such points that its line runs through."""
        line = _leader_points(place, point)[STEPS // 4 :]
        crossed = sum(1 for marker in self._markers if _inside(line, marker))
        return _distance(place, point) + COVERED * (_inside(self._points, _box(place, width)) + 2 * crossed)

    def take(self, place: Place, width: float, point: Point) -> None:
        self._names.append(_box(place, width))
        self._lines.append(_leader_points(place, point))


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


def _leader_points(place: Place, point: Point) -> Points:
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


MARKER = 7  # pixels from the middle of a point to its edge
LOWEST = 390  # pixels of a frame's height where the legend above it takes several lines


@dataclass(frozen=True, slots=True)
class Names:
    """The names of points as a chart of a certain width has room for them; style.css shows those that fit.

    Attributes:
        narrowest, widest: pixels of the frames of such charts.
        most: this many names at most, that of the document among them.
        groups: names of groups besides, at most.
    """

    size: str
    narrowest: float
    widest: float
    most: int
    groups: int

    def area(self, ranges: NDArray[np.float32]) -> tuple[float, float]:
        """Width and height, in pixels of the narrowest such chart, of what the frames of all of them show.

        A frame that is wider for its height than the ranges shows no more than these from bottom to top.
        """
        width, height = (float(high - low) for low, high in ranges)
        return self.narrowest, self.narrowest * max(height / width, LOWEST / self.widest)


NAMES = (
    Names("wide", 580, math.inf, 17, 6),
    Names("middle", 410, math.inf, 12, 3),
    Names("narrow", 260, 420, 7, 0),
)


def by_weight(points: Sequence[VectorPoint]) -> list[int]:
    """The rows of the points: the document, present keyphrases, absent ones, candidates, each best first."""
    order = [PointKind.DOCUMENT, PointKind.PRESENT, PointKind.ABSENT, PointKind.CANDIDATE]
    return sorted(
        range(len(points)), key=lambda row: (order.index(points[row].kind), -(points[row].score or 0.0))
    )


FEWEST_GROUPED, MOST_GROUPED, PER_GROUP, MOST_GROUPS = 12, 48, 8, 6
"""Of the phrases only the best are grouped: the many others are close to nothing that matters."""
GROUP = "group"
"""The legend's name for what belongs to groups, beside the kinds of points."""


@dataclass(frozen=True, slots=True)
class Group:
    """Phrases that lie together, by their rows, the best first; named by the words that the best share."""

    name: str
    rows: tuple[int, ...]


def group_points(space: VectorSpace, places: NDArray[np.float32], language: str = "") -> list[Group]:
    """Of the best phrases, the largest group first; none of a map with few points.

    Groups are made of places on the map (Ward 1963), so that an outline holds nothing but its group.
    """
    best = [row for row in by_weight(space.points) if space.points[row].kind is not PointKind.DOCUMENT]
    rows = sorted(best[:MOST_GROUPED])
    if len(rows) < FEWEST_GROUPED:
        return []
    from scipy.cluster.hierarchy import fcluster, ward  # 0.2 s, when the first map is drawn

    most = min(MOST_GROUPS, max(2, len(rows) // PER_GROUP))
    numbers = fcluster(ward(places[rows].astype(np.float64)), most, criterion="maxclust").tolist()
    members = [[row for row, own in zip(rows, numbers, strict=True) if own == one] for one in set(numbers)]
    weights = {row: max(space.points[row].score or 0.0, LEAST_WEIGHT) for row in rows}
    stems = {row: _stems(space.points[row].text, language) for row in rows}
    everywhere = _weights_of_stems(rows, stems, weights)
    found: list[Group] = []
    taken: set[str] = set()
    for own in sorted(members, key=lambda own: -sum(weights[row] for row in own)):
        if len(own) < FEWEST_TOGETHER:
            continue
        own.sort(key=lambda row: -weights[row])
        written = {stem: word for row in reversed(own) for stem, word in stems[row].items()}
        here = _weights_of_stems(own, stems, weights)
        shared = [one for one in here if one not in taken and sum(one in stems[row] for row in own) > 1]
        telling = sorted(shared, key=lambda one: -(here[one] ** 2) / everywhere[one])[:2]
        taken.update(telling)
        name = ", ".join(written[one] for one in telling) or space.points[own[0]].text
        found.append(Group(name, tuple(own)))
    return sorted(found, key=lambda group: -len(group.rows))


LEAST_WEIGHT, FEWEST_TOGETHER = 0.001, 3


def _stems(text: str, language: str) -> dict[str, str]:
    """The words of a phrase that say something, by their stems."""
    return {
        stem(word, language): word.lower()
        for word in words(text, language)
        if (len(word) > 3 or not word.isascii()) and any(map(str.isalpha, word))
    }


def _weights_of_stems(
    rows: Sequence[int], stems: Mapping[int, Mapping[str, str]], weights: Mapping[int, float]
) -> dict[str, float]:
    found: defaultdict[str, float] = defaultdict(float)
    for row in rows:
        for one in stems[row]:
            found[one] += weights[row]
    return found


def group_traces(groups: Sequence[Group], places: NDArray[np.float32]) -> Iterator[Chart]:
    """An outline around each group, which tells its name under the pointer."""
    for number, group in enumerate(groups):
        outline = _outline(places[list(group.rows)])
        yield {
            "type": "scatter",
            "mode": "lines",
            "name": _("Groups"),
            "legendgroup": GROUP,
            "showlegend": number == 0,
            "x": outline[:, 0].tolist(),
            "y": outline[:, 1].tolist(),
            "fill": "toself",
            "fillcolor": "rgba(148, 163, 184, 0.14)",
            "line": {"color": LINE, "width": 1, "dash": "dot"},
            "hoveron": "fills",
            "hoverinfo": "text",
            "text": f"{escape_label(short(group.name))}: {_count_phrases(len(group.rows))}",
        }


def _outline(places: NDArray[np.float32]) -> NDArray[np.float32]:
    """The corners of the convex hull of some points, the first again at the end."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        corners = ConvexHull(places.astype(np.float64)).vertices
    except QhullError:  # all on one line
        corners = np.array([places[:, 0].argmin(), places[:, 0].argmax()])
    closed: NDArray[np.float32] = places[[*corners, corners[0]]]
    return closed


def name_traces(
    space: VectorSpace,
    places: NDArray[np.float32],
    ranges: NDArray[np.float32],
    names: Names,
    groups: Sequence[Group] = (),
) -> Iterator[Chart]:
    """The names of each kind and the lines to them, apart, so that they go where the legend hides a kind.

    Those of groups stand at the upper end of their outlines.
    """
    named = groups[: names.groups]
    tops = [places[max(group.rows, key=lambda row: places[row, 1])] for group in named]
    places = np.concatenate([places, np.reshape(tops, (-1, 2)).astype(np.float32)])
    width, height = names.area(ranges)
    scale = width / float(ranges[0, 1] - ranges[0, 0])
    middle = ranges.mean(1)
    pixels = ((places - middle) * scale).astype(np.float32)
    right, upper = width / 2, height / 2
    best = _best_in_turns(space.points)
    of_points = {row: _name(space.points[row]) for row in best[: names.most]}
    of_groups = {len(space.points) + at: short(group.name) for at, group in enumerate(named)}
    labels = of_points | of_groups
    found = place_labels(labels, pixels, (-right, -upper, right, upper), best)
    kinds = [point.kind.value for point in space.points] + [GROUP] * len(named)
    for kind in (*PointKind, GROUP):
        own = [row for row in found if kinds[row] == kind]
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
                "text": [
                    f"<i>{escape_label(labels[row])}</i>" if kind == GROUP else escape_label(labels[row])
                    for row in own
                ],
                "textposition": ["middle left" if found[row].is_left else "middle right" for row in own],
                **_at(ends, scale, middle),
            }


def _beside(kind: str, names: Names, mode: str) -> Chart:
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
    return _("document") if point.kind is PointKind.DOCUMENT else short(point.text)


MOST_POINTS = 500
"""Of a long document: a chart with more is a cloud, and t-SNE would take minutes."""

TABLE_CANDIDATES = 20
LONGEST_HOVER = 80
SHOWN_OF_GROUP = 5
WIDTH, HEIGHT = 640, 440  # pixels of the frame that the axes are made for; a chart may be narrower, or wider
MARGINS = (0.12, 0.06)  # of the extent, beside the outermost points, where a name has room, and above them


@dataclass(frozen=True, slots=True)
class Look:
    """How the points of a kind are drawn, and called in the legend."""

    name: str
    colour: str
    symbol: str
    size: int


# In the order they are drawn in: the many lie under the few.
LOOKS = {
    PointKind.CANDIDATE: Look(mark("Other phrases"), COLOURS[5], "circle", 7),
    PointKind.ABSENT: Look(mark("Keyphrases not in the text"), COLOURS[3], "square", 10),
    PointKind.PRESENT: Look(mark("Keyphrases in the text"), COLOURS[0], "diamond", 11),
    PointKind.DOCUMENT: Look(mark("Document"), COLOURS[1], "star", 17),
}


def most_telling(space: VectorSpace) -> VectorSpace:
    """The space with at most `MOST_POINTS` points: the document, the keyphrases, then the best candidates."""
    if len(space.points) <= MOST_POINTS:
        return space
    kept = sorted(by_weight(space.points)[:MOST_POINTS])
    return VectorSpace(space.name, tuple(space.points[row] for row in kept), space.vectors[kept])


def document_cosines(space: VectorSpace) -> list[float]:
    """Of every point with the document, which is the first."""
    rows = unit_rows(space.vectors)
    cosines: list[float] = (rows @ rows[0]).tolist()
    return cosines


def map_chart(
    space: VectorSpace, plane: Plane, cosines: Sequence[float], groups: Sequence[Group] = ()
) -> Chart:
    """The points where `plane` has them; the document, the best keyphrases and groups with their names."""
    ranges = _ranges(plane.places)
    traces = list(group_traces(groups, plane.places))
    for kind, look in LOOKS.items():
        rows = [row for row, point in enumerate(space.points) if point.kind is kind]
        if rows:
            hovers = [_hover(space.points[row], cosines[row]) for row in rows]
            traces.append({**_markers(look, plane.places[rows]), "customdata": hovers, "legendgroup": kind})
    for names in NAMES:
        traces += name_traces(space, plane.places, ranges, names, groups)
    return chart_of(traces, _layout(plane, ranges))


def map_table_html(space: VectorSpace, cosines: Sequence[float]) -> str:
    """The keyphrases and the best candidates with their scores and cosines, nearest to the document first."""
    rows = [row for row in by_weight(space.points) if space.points[row].kind is not PointKind.DOCUMENT]
    keyphrases = sum(space.points[row].kind is not PointKind.CANDIDATE for row in rows)
    shown = sorted(rows[: keyphrases + TABLE_CANDIDATES], key=lambda row: -cosines[row])
    lines = "".join(_point_row_html(space.points[row], cosines[row]) for row in shown)
    heads = "".join(f'<th scope="col">{name}</th>' for name in (_("Phrase"), _("Kind"), _("Score")))
    left_out = len(rows) - len(shown)
    told = ngettext(
        "{count} phrase with a lower score is left out.",
        "{count} phrases with lower scores are left out.",
        left_out,
        count=group_digits(left_out),
    )
    note = f'<p class="small">{told}</p>' if left_out else ""
    return (
        '<div class="space-table" tabindex="0" role="region" '
        f'aria-label="{_("Phrases of the map as a table")}">'
        f'<table class="keyphrases"><caption>{_("Nearest to the document first")}</caption>'
        f'<thead><tr>{heads}<th scope="col" class="number" title="{_("cosine")}">{_("Closeness")}</th>'
        "</tr></thead>"
        f"<tbody>{lines}</tbody></table>{note}</div>"
    )


def groups_html(space: VectorSpace, groups: Sequence[Group]) -> str:
    """The groups of a map by their names, each with its best phrases."""
    items = ""
    for group in groups:
        best = group.rows[:SHOWN_OF_GROUP]
        phrases = " · ".join(f"<bdi>{escape(space.points[row].text)}</bdi>" for row in best)
        more = len(group.rows) - len(best)
        rest = f" {_('and {number} more', number=more)}" if more else ""
        items += f'<li><strong dir="auto">{escape(group.name)}</strong>: {phrases}{rest}</li>'
    if not items:
        return ""
    told = ngettext("{count} group on the map", "{count} groups on the map", len(groups))
    summary = f"<summary>{told}</summary>"
    return f'<details class="groups">{summary}<ol>{items}</ol></details>'


def _ranges(places: NDArray[np.float32]) -> NDArray[np.float32]:
    """What the axes show, (2, 2) lowest and highest of each.

    One unit is as long on both axes: a distance must look the same in every direction.
    """
    low, high = places.min(0), places.max(0)
    extent = np.maximum((high - low) * (1 + 2 * np.array(MARGINS)), 1e-3)
    scale = float(min(WIDTH / extent[0], HEIGHT / extent[1]))
    half = np.array([WIDTH, HEIGHT]) / scale / 2
    middle = (low + high) / 2
    ranges: NDArray[np.float32] = np.stack([middle - half, middle + half], axis=1).astype(np.float32)
    return ranges


def _markers(look: Look, places: NDArray[np.float32]) -> Chart:
    edge = COLOURS[0] if look.symbol == "circle" else "#ffffff"  # small and pale, or over others
    return {
        "type": "scatter",
        "mode": "markers",
        "name": _(look.name),
        "x": places[:, 0].tolist(),
        "y": places[:, 1].tolist(),
        "marker": {
            "color": look.colour,
            "symbol": look.symbol,
            "size": look.size,
            "line": {"color": edge, "width": 1},
        },
        "hovertemplate": "%{customdata}<extra></extra>",
    }


def _hover(point: VectorPoint, cosine: float) -> str:
    text = shorten(point.text, LONGEST_HOVER)
    if point.kind is PointKind.DOCUMENT:
        return f"{escape_label(text)}<br>{_('the whole text')}"
    closeness = _("closeness to the text {closeness}", closeness=write_number(f"{cosine:z.2f}"))
    parts = (
        [closeness]
        if point.score is None
        else [_("score {score}", score=write_number(page_score(point.score))), closeness]
    )
    return f"{escape_label(text)}<br>{_(KINDS[point.kind])}: {', '.join(parts)}"


def _layout(plane: Plane, ranges: NDArray[np.float32]) -> Chart:
    layout = plain_layout(HEIGHT + 80, legend=True)
    titles = ["", ""]
    if plane.shares is not None:
        titles = [_(name, share=f"{share:.0%}") for name, share in zip(COMPONENTS, plane.shares, strict=True)]
    for name, title, shown in zip(("xaxis", "yaxis"), titles, ranges.tolist(), strict=True):
        frame = {"showline": True, "mirror": True, "linecolor": GRID, "showticklabels": False}
        layout[name] = {**titled_axis(title), **frame, "range": shown, "showgrid": False, "fixedrange": True}
    layout["yaxis"]["scaleanchor"] = "x"
    # Plotly widens a range where the chart is narrow; charts.js sets them again when its width changes.
    layout["meta"] = {f"{name}.range": layout[name]["range"] for name in ("xaxis", "yaxis")}
    layout["legend"]["traceorder"] = "reversed"
    layout["hoverlabel"] = {
        "bgcolor": "#ffffff",
        "bordercolor": LINE,
        "font": {"color": INK},
        "align": "left",
    }
    return layout


def _point_row_html(point: VectorPoint, cosine: float) -> str:
    score = "–" if point.score is None else score_html(point.score)
    kind = _(KINDS[point.kind])
    return (
        f'<tr><th scope="row" dir="auto">{escape(point.text)}</th><td>{kind}</td><td>{score}</td>'
        f'<td class="number">{write_number(f"{cosine:z.2f}")}</td></tr>'
    )


EMPTY = mark(
    "No map yet. Enter a text on the Keyphrases page, then press Draw here: the map uses that text and "
    "its options."
)
SPACES = ("extractor", "reranker", "bank")
"""The spaces that have a place on the page, by their names."""

METHODS = [
    (mark("Overview (PCA), at once"), Method.PCA.value),
    (mark("Neighbours (t‑SNE), some seconds"), Method.TSNE.value),
]
KINDS = {
    PointKind.PRESENT: mark("in the text"),
    PointKind.ABSENT: mark("not in the text"),
    PointKind.CANDIDATE: mark("other phrase"),
    PointKind.DOCUMENT: mark("document"),
}
TITLES = {
    "extractor": mark("Phrases of the text"),
    "reranker": mark("Phrases in the text and others"),
    "bank": mark("Phrases that are not in the text"),
}
INTRODUCTION = mark(
    "Each point is a phrase, and the star is the whole text. What the model takes to be alike in meaning "
    "lies close together: a phrase near the star says what the text is about. Point at a phrase, or tap it, "
    "to see its name; a dotted outline holds phrases that lie together, and is named by the words that they "
    "share. Press a kind above the map to hide it."
)
MEANINGS = {
    "extractor": mark("By this the model chooses keyphrases among the phrases of the text."),
    "reranker": mark("By this the model chooses phrases whether or not they occur in the text."),
    "bank": mark(
        "By this the model chooses those that are not in the text, from the keyphrases of other documents; "
        "those in the text are there for orientation."
    ),
}
READINGS = {
    Method.PCA: mark(
        "Points far apart here differ in meaning for the model; points close together may still differ in "
        "ways that two dimensions do not show."
    ),
    Method.TSNE: mark(
        "t‑SNE keeps neighbours together: only who is next to whom counts, not the size of a group or how "
        "far apart groups are."
    ),
}
NAMES_NOTE = mark("The text and the best keyphrases have their names beside them where there is room.")
TOO_FEW = mark("There are too few points for t‑SNE, so they are laid out by PCA.")
STOPPED = mark("Stopped before the map was drawn: press Draw to start again.")
SHOWN_TITLE = 80
COMPONENTS = (
    mark("First component, {share} of the variance"),
    mark("Second component, {share} of the variance"),
)


@dataclass(frozen=True)
class SpaceHandlers:
    shelf: ModelShelf
    stops: Stops = field(default_factory=Stops)

    def draw(
        self,
        document: str,
        model: str,
        count: str = "",
        threshold: str = "",
        language: str = "",
        method: str = Method.PCA.value,
        request: gr.Request | None = None,
        progress: gr.Progress = gr.Progress(),  # noqa: B008 - Gradio looks for it in the defaults
        *further: Any,
    ) -> tuple[Any, ...]:
        """What was drawn; then for each of `SPACES` its place, what it is, its chart, buttons and table."""
        with shown_to_user(KpdemoError), self.stops.begun(page_of(request), _(STOPPED)) as stop:
            question = read_request(document, model, count, threshold, language, *further)
            started = time.perf_counter()
            with listen_with(partial(show_share, progress)):
                spaces, language = self._spaces(question, stop)
            parts: list[Any] = []
            told: set[str] = set()
            for name in SPACES:
                stop.check()
                parts += _parts(name, spaces.get(name), Method(method), told, language)
            return _facts_html(question, time.perf_counter() - started), *parts

    def _spaces(self, question: PredictionRequest, stop: Stop) -> tuple[dict[str, VectorSpace], str]:
        """By their names, at least one, with the keyphrases of the answer; and the language of the text.

        Raises:
            InputError: there is none, or the document cannot be read.
        """
        try:
            spaces = self.shelf.spaces(question, stop)
            answer = self.shelf.answer(question, stop).prediction if spaces else None
        except LanguageError as error:
            raise InputError(map_advice(str(error))) from error
        if answer is None:
            raise InputError(self._nothing_drawn(question))
        return {space.name: as_answered(space, answer) for space in spaces}, answer.language

    def _nothing_drawn(self, question: PredictionRequest) -> str:
        """Why, in one sentence."""
        return _(
            "The model “{model}” does not compare vectors, so there is nothing to draw: choose another one "
            "on the Keyphrases page.",
            model=self.shelf.reader_of(question),
        )


def as_answered(space: VectorSpace, answer: Prediction) -> VectorSpace:
    """The space with the keyphrases of an answer, and without the absent ones that it leaves out."""
    present, absent = (
        {phrase_key(one.text, answer.language) for one in group}
        for group in (with_families(answer.present), answer.absent)
    )
    points: list[VectorPoint] = []
    rows: list[int] = []
    for row, point in enumerate(space.points):
        key = phrase_key(point.text, answer.language)
        if point.kind is PointKind.ABSENT and key not in absent:
            continue
        if point.kind in (PointKind.PRESENT, PointKind.CANDIDATE):
            point = replace(point, kind=PointKind.PRESENT if key in present else PointKind.CANDIDATE)
        points.append(point)
        rows.append(row)
    return VectorSpace(space.name, tuple(points), space.vectors[rows])


def build_space_tab(handlers: SpaceHandlers, fields: QuestionFields) -> None:
    """The layout to choose and a button, and under them a place for each space."""
    section_heading(_("Semantic space"), "space-heading")
    gr.HTML(f"<p>{_(INTRODUCTION)}</p>", elem_id="space-help")
    with gr.Row(elem_id="space-controls", elem_classes="controls"):
        method = gr.Radio(
            [(_(name), method) for name, method in METHODS],
            value=Method.PCA.value,
            label=_("Layout"),
            elem_id="space-method",
            scale=4,
        )
        run = gr.Button(_("Draw"), variant="primary", elem_id="space-run", scale=0, min_width=140)
    stop_button(handlers.stops, "space")
    facts = gr.HTML(empty_html(_(EMPTY)), elem_id="space-facts")
    parts = [part for name in SPACES for part in _build_place(name)]
    asked = run.click(
        handlers.draw,
        [*fields.all[:5], method, *fields.all[5:]],
        [facts, *parts],
        api_name="draw_space",
        **MODEL_QUEUE,
        show_progress_on=facts,
        trigger_mode="always_last",
    )
    keep_reason(asked, facts)


def _build_place(name: str) -> tuple[gr.Column, gr.HTML, gr.Plot, gr.HTML, gr.HTML]:
    """The chart of a space with its table beside it, out of sight until there is something to draw."""
    with gr.Column(visible=False, elem_id=f"space-{name}") as place:
        about = gr.HTML("", elem_id=f"space-{name}-about")
        with gr.Row(elem_classes="columns"):
            with gr.Column(scale=7, min_width=480):
                chart = gr.Plot(visible=False, show_label=False, container=False, elem_id=_chart_id(name))
                buttons = gr.HTML("", elem_id=f"space-{name}-save")
            with gr.Column(scale=4, min_width=340):
                table = gr.HTML("", elem_id=f"space-{name}-table")
    return place, about, chart, buttons, table


def _parts(
    name: str, space: VectorSpace | None, method: Method, told: set[str], language: str
) -> tuple[Any, ...]:
    """The place of a space filled, or put out of sight when the model has no such space.

    Args:
        told: what was said of the spaces before, which is not said again.
    """
    if space is None:
        return gr.Column(visible=False), "", show_chart(None), "", ""
    shown = most_telling(space)
    plane = project(shown.vectors, method)
    cosines = document_cosines(shown)
    groups = group_points(shown, plane.places, language)
    sentences = [each for each in (MEANINGS[name], READINGS[plane.method], NAMES_NOTE) if each not in told]
    told.update(sentences)
    if plane.method is not method:
        sentences.append(TOO_FEW)
    if len(shown.points) < len(space.points):
        whole, drawn = group_digits(len(space.points) - 1), group_digits(len(shown.points) - 1)
        sentences.append(_("The map shows the best {drawn} of {all} phrases.", drawn=drawn, all=whole))
    about = f'<h3>{_(TITLES[name])}</h3><p class="small">{escape(" ".join(map(_, sentences)))}</p>'
    says = _("The text among its phrases: {title}", title=_(TITLES[name]).lower())
    return (
        gr.Column(visible=True),
        about,
        show_chart(map_chart(shown, plane, cosines, groups)),
        chart_buttons(_chart_id(name), says, f"{name}-space"),
        groups_html(shown, groups) + map_table_html(shown, cosines),
    )


def _count_phrases(number: int) -> str:
    return ngettext("{count} phrase", "{count} phrases", number, count=group_digits(number))


def _chart_id(name: str) -> str:
    return f"space-{name}-chart"


def _facts_html(question: PredictionRequest, seconds: float) -> str:
    document = with_title_line(question.document)
    first = " ".join((document.title or document.body).split())
    beginning = shorten(first, SHOWN_TITLE)
    took = f"{write_number(f'{seconds:.2f}')}\N{NO-BREAK SPACE}s"
    return (
        f'<p><q dir="auto">{escape(beginning)}</q> <span class="small">'
        f"{_('model {model}', model=escape(question.model))} · {took}</span></p>"
    )
