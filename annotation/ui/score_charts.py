"""The chart of the task paper's Figure 2: how each system does on each genre."""

from __future__ import annotations

from collections.abc import Sequence

from kpdemo.ui.charts import (
    COLOURS,
    PATTERNS,
    Chart,
    escaped,
    figure,
    in_template,
    plain_layout,
    short,
    titled_axis,
)

MOST_SYSTEMS = 40


def genre_chart(systems: Sequence[str], genres: Sequence[tuple[str, Sequence[float | None]]]) -> Chart | None:
    """A bar for each system, made of its Pearson correlations with the genres; negative ones hang below zero.

    Args:
        systems: the names, in the order of their ranks.
        genres: each with its correlation for each system; None where there is none.

    Returns:
        None without a genre that has a correlation.
    """
    known = [(name, values) for name, values in genres if any(value is not None for value in values)]
    if not known:
        return None
    shown = systems[:MOST_SYSTEMS]
    traces = [
        {
            "type": "bar",
            "name": escaped(short(name)),
            "x": list(range(len(shown))),
            "y": list(values[:MOST_SYSTEMS]),
            "marker": {
                "color": COLOURS[number % len(COLOURS)],
                "pattern": {
                    # Another pattern for the second round of colours: no two genres look the same.
                    "shape": PATTERNS[(number + number // len(COLOURS)) % len(PATTERNS)],
                    "fillmode": "overlay",
                    "fgcolor": "#ffffff",
                    "fgopacity": 0.7,
                    "size": 7,
                },
            },
            "customdata": [escaped(system) for system in shown],
            "hovertemplate": f"%{{customdata}}, {in_template(name)}: %{{y:.3f}}<extra></extra>",
        }
        for number, (name, values) in enumerate(known)
    ]
    layout = plain_layout(420 + 22 * (len(known) // 5), legend=True)
    layout["margin"]["t"] += 22 * (len(known) // 5)
    layout["barmode"] = "relative"
    layout["xaxis"] = {
        **titled_axis(""),
        "tickmode": "array",
        "tickvals": list(range(len(shown))),
        "ticktext": [escaped(short(system)) for system in shown],
        "showgrid": False,
        "fixedrange": True,
    }
    layout["yaxis"] = {**titled_axis("Pearson, summed over genres"), "zeroline": True}
    return figure(traces, layout)
