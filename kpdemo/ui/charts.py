"""Charts as plotly.js reads them, which comes with Gradio: plain data, so that Python needs no library.

What is drawn is dark on white, as it is saved; on the page the stylesheet gives the same chart the colours of
the theme. Texts may be anything: plotly.js reads some HTML, so they are escaped.
"""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from typing import Any

import gradio as gr
from gradio.components.plot import PlotData

from kpdemo.locale import _
from kpdemo.text import shorten
from kpdemo.translation import write_number
from kpdemo.ui.html import escape

Chart = dict[str, Any]

# Okabe and Ito's colours; each has a shape or a pattern of its own too.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross", "x", "star")
PATTERNS = ("", "/", "x", ".", "-", "+", "\\")
INK, GRID, LINE = "#0f172a", "#cbd5e1", "#64748b"
LONGEST_LABEL = 26


def chart_of(traces: Sequence[Chart], layout: Chart) -> Chart:
    """What plotly.js draws, from its traces and their layout."""
    # The page has buttons of its own for saving, which a keyboard reaches; plotly's have no names.
    return {"data": list(traces), "layout": layout, "config": {"displayModeBar": False}}


def plain_layout(height: int, *, legend: bool = False) -> Chart:
    """Paper, font and margins of a chart of that many pixels, with its legend on top."""
    layout: Chart = {
        "height": height,
        "margin": {"l": 8, "r": 16, "t": 56 if legend else 28, "b": 8},
        "paper_bgcolor": "#ffffff",
        "plot_bgcolor": "#ffffff",
        "font": {"family": "system-ui, sans-serif", "size": 13, "color": INK},
        "showlegend": legend,
        "dragmode": False,  # on a phone a finger scrolls the page
        "separators": f"{write_number('.')}\N{NARROW NO-BREAK SPACE}",  # decimal mark, then between thousands
    }
    if legend:
        layout["legend"] = {
            "orientation": "h",
            "x": 0,
            "xref": "container",
            "y": 1,
            "yref": "container",
            "yanchor": "top",
        }
    return layout


def titled_axis(title: str) -> Chart:
    return {
        "title": {"text": title, "standoff": 8, "font": {"size": 13}},
        "automargin": True,
        "gridcolor": GRID,
        "linecolor": LINE,
        "zeroline": False,
    }


def bar_marker(number: int) -> Chart:
    """How the bars of one of several series look; with a pattern over the colour no two look the same."""
    pattern = {
        "shape": PATTERNS[(number + number // len(COLOURS)) % len(PATTERNS)],
        "fillmode": "overlay",
        "fgcolor": "#ffffff",
        "fgopacity": 0.7,
        "size": 7,
    }
    return {"color": COLOURS[number % len(COLOURS)], "pattern": pattern}


def escape_label(text: str) -> str:
    return html.escape(text, quote=False)


def in_template(text: str) -> str:
    """`text` for use inside a template, where %{…} would be filled in."""
    return escape_label(short(text)).replace("%{", "% {").replace("{", "(").replace("}", ")")


def short(text: str) -> str:
    """The beginning of a long label; its table has all of it."""
    return shorten(text, LONGEST_LABEL)


def show_chart(chart: Chart | None) -> gr.Plot:
    """The new value of a `gr.Plot`; without a chart it is not seen."""
    if chart is None:
        return gr.Plot(value=None, visible=False)
    return gr.Plot(value=PlotData(type="plotly", plot=json.dumps(chart)), visible=True)


def chart_buttons(chart: str, says: str, file: str) -> str:
    """Under a chart: what it shows, for a screen reader, and buttons that save it; charts.js does the work.

    Args:
        chart: the `elem_id` of its `gr.Plot`.
        says: what it shows; a table on the page must have the same figures.
        file: the name of the saved file, without its ending.
    """
    buttons = "".join(_save_button(chart, says, file, format) for format in ("svg", "png"))
    return (
        f'<p class="actions" data-chart-name="{chart}" '
        f'data-says="{escape(_("{title}; the table has the same figures", title=says))}">{buttons}</p>'
    )


def _save_button(chart: str, says: str, file: str, format: str) -> str:
    name = _("Save the chart “{title}” as {format}", title=says, format=format.upper())
    return (
        f'<button type="button" class="keep" data-chart="{chart}" data-format="{format}" '
        f'data-file="{escape(file)}" aria-label="{escape(name)}">'
        f"{_('Save {format}', format=format.upper())}</button>"
    )
