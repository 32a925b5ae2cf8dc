"""The chart of the task paper's Figure 2: how each system does on each genre."""

from __future__ import annotations

from collections.abc import Sequence

from kpdemo.ui.charts import (
    Chart,
    bar_marker,
    chart_of,
    escaped,
    in_template,
    plain_layout,
    short,
    titled_axis,
)


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
    traces = [
        {
            "type": "bar",
            "name": escaped(short(name)),
            "x": list(range(len(systems))),
            "y": list(values),
            "marker": bar_marker(number),
            "customdata": [escaped(system) for system in systems],
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
        "tickvals": list(range(len(systems))),
        "ticktext": [escaped(short(system)) for system in systems],
        "showgrid": False,
        "fixedrange": True,
    }
    layout["yaxis"] = {**titled_axis("Pearson, summed over genres"), "zeroline": True}
    return chart_of(traces, layout)
