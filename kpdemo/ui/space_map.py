"""A space of vectors as a chart and as a table: what lies near the document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kpdemo.evaluation.projection import Plane, unit_rows
from kpdemo.scores import page_score
from kpdemo.text import shortened
from kpdemo.types import PointKind, VectorPoint, VectorSpace
from kpdemo.ui.charts import (
    COLOURS,
    GRID,
    INK,
    LINE,
    Chart,
    chart_of,
    escaped,
    plain_layout,
    titled_axis,
)
from kpdemo.ui.figures import counted, score_html
from kpdemo.ui.marks import escape
from kpdemo.ui.space_names import NAMES, by_weight, name_traces

MOST_POINTS = 500
"""Of a long document: a chart with more is a cloud, and t-SNE would take minutes."""

TABLE_CANDIDATES = 20
LONGEST_HOVER = 80
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
    PointKind.CANDIDATE: Look("Other candidates", COLOURS[5], "circle", 7),
    PointKind.ABSENT: Look("Absent keyphrases", COLOURS[3], "square", 10),
    PointKind.PRESENT: Look("Present keyphrases", COLOURS[0], "diamond", 11),
    PointKind.DOCUMENT: Look("Document", COLOURS[1], "star", 17),
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


def map_chart(space: VectorSpace, plane: Plane, cosines: Sequence[float]) -> Chart:
    """The points where `plane` has them; the document and the best keyphrases with their names."""
    ranges = _ranges(plane.places)
    traces = []
    for kind, look in LOOKS.items():
        rows = [row for row, point in enumerate(space.points) if point.kind is kind]
        if rows:
            hovers = [_hover(space.points[row], cosines[row]) for row in rows]
            traces.append({**_markers(look, plane.places[rows]), "customdata": hovers, "legendgroup": kind})
    for names in NAMES:
        traces += name_traces(space, plane.places, ranges, names)
    return chart_of(traces, _layout(plane, ranges))


def map_table_html(space: VectorSpace, cosines: Sequence[float]) -> str:
    """The keyphrases and the best candidates with their scores and cosines, nearest to the document first."""
    rows = [row for row in by_weight(space.points) if space.points[row].kind is not PointKind.DOCUMENT]
    keyphrases = sum(space.points[row].kind is not PointKind.CANDIDATE for row in rows)
    shown = sorted(rows[: keyphrases + TABLE_CANDIDATES], key=lambda row: -cosines[row])
    lines = "".join(_line(space.points[row], cosines[row]) for row in shown)
    heads = "".join(f'<th scope="col">{name}</th>' for name in ("Phrase", "Kind", "Score"))
    left_out = len(rows) - len(shown)
    told = counted(left_out, "candidate with a lower score is", "candidates with lower scores are")
    note = f'<p class="small">{told} left out.</p>' if left_out else ""
    return (
        '<div class="space-table" tabindex="0" role="region" aria-label="Phrases of the map as a table">'
        '<table class="keyphrases"><caption>Nearest to the document first</caption>'
        f'<thead><tr>{heads}<th scope="col" class="number">Cosine</th></tr></thead>'
        f"<tbody>{lines}</tbody></table>{note}</div>"
    )


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
        "name": look.name,
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
    text = shortened(point.text, LONGEST_HOVER)
    if point.kind is PointKind.DOCUMENT:
        return f"{escaped(text)}<br>document"
    score = "" if point.score is None else f"score {page_score(point.score)}, "
    return f"{escaped(text)}<br>{point.kind}: {score}cosine with the document {cosine:z.2f}"


def _layout(plane: Plane, ranges: NDArray[np.float32]) -> Chart:
    layout = plain_layout(HEIGHT + 80, legend=True)
    titles = ["", ""]
    if plane.shares is not None:
        titles = [
            f"{name} component, {share:.0%} of the variance"
            for name, share in zip(("First", "Second"), plane.shares, strict=True)
        ]
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


def _line(point: VectorPoint, cosine: float) -> str:
    score = "–" if point.score is None else score_html(point.score)
    return (
        f'<tr><th scope="row" dir="auto">{escape(point.text)}</th><td>{point.kind}</td><td>{score}</td>'
        f'<td class="number">{cosine:z.2f}</td></tr>'
    )
