"""Tables and charts of figures: one value for what is shown and what is saved."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from annotation.agreement import Alpha
from annotation.comparison import comparison_type
from annotation.reliability.raters import Drift
from annotation.scoring import Estimate
from annotation.translation import _, mark, tell
from annotation.ui.wording import figure, grades_text, pairs_text, time_html
from annotation.wording import plain_name, share_text
from kpdemo.io.tables import spreadsheet_csv
from kpdemo.translation import ENGLISH, use_language, write_number
from kpdemo.ui.charts import (
    COLOURS,
    LINE,
    SYMBOLS,
    Chart,
    bar_marker,
    chart_of,
    escape_label,
    in_template,
    plain_layout,
    short,
    titled_axis,
)
from kpdemo.ui.html import escape, group_digits

Cell = str | int | float | datetime | Alpha | None
UNDEFINED = mark("undefined")
SMALLEST_SHOWN = 0.001
"""Of probabilities; the file has them in full."""


@dataclass(frozen=True, slots=True)
class Column:
    """A heading, and how the figures under it are written."""

    name: str
    decimals: int = 2
    signed: bool = False
    percent: bool = False
    probability: bool = False
    text: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    name: str
    """Of the file and in the page, such as "types"."""
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    links: tuple[str, ...] = field(default=())
    """Where the first cell of each row leads."""


def type_label(name: str) -> str:
    return _(comparison_type(name).label)


def table_html(table: Table, *, page: str = "agreement") -> str:
    """The table; its id begins with the page's."""
    links = table.links or ("",) * len(table.rows)
    rows = "".join(_row_html(table, row, link) for row, link in zip(table.rows, links, strict=True))
    return listing_html(
        [column.name for column in table.columns],
        rows,
        numbers=[place for place, column in enumerate(table.columns) if not column.text],
        caption=table.caption,
        label=table.caption,
        elem_id=f"{page}-{table.name}",
    )


def savable_html(build: Callable[[], Table | None], project: str, *, page: str) -> str:
    """The table, and a button that saves it with English words, for programs; nothing where there is none."""
    table = build()
    with use_language(ENGLISH):
        kept = build()
    if table is None or kept is None:
        return ""
    save = save_button(kept, project, called=table.caption)
    return f'{table_html(table, page=page)}<p class="actions">{save}</p>'


def undefined_html(elem_id: str, *tables: Table) -> str:
    """Why some figures of tables are undefined or have no interval: each reason, and of which rows it is."""
    told: dict[str, dict[str, None]] = {}
    for row in (row for table in tables for row in table.rows):
        alphas = [cell for cell in row if isinstance(cell, Alpha)]
        for reason in (alpha.reason or alpha.interval_reason for alpha in alphas):
            if reason:
                told.setdefault(tell(reason), {})[str(row[0])] = None
    return reasons_html(elem_id, [(", ".join(rows), reason) for reason, rows in told.items()])


def reasons_html(elem_id: str, told: Sequence[tuple[str, str]]) -> str:
    """Each place of undefined figures with the reason, folded; nothing where there is none."""
    if not told:
        return ""
    lines = "".join(f"<li><strong>{escape(where)}</strong>: {escape(reason)}</li>" for where, reason in told)
    return (
        f'<details id="{elem_id}"><summary>{_("Why some figures are undefined")}</summary>'
        f'<ul dir="auto">{lines}</ul></details>'
    )


def listing_html(
    heads: Sequence[str],
    rows: str,
    *,
    numbers: Collection[int] = (),
    caption: str = "",
    label: str = "",
    elem_id: str = "",
) -> str:
    """A table of rows that are HTML already; where it is too wide it scrolls sideways.

    Args:
        heads: the headings; none where each row says what it is.
        numbers: the places, from 0, of the headings over figures.
        label: what the table is to those who scroll it with the keyboard; without one they cannot.
    """
    head = "".join(
        f'<th scope="col"{" class=number" if place in numbers else ""}>{escape(text)}</th>'
        for place, text in enumerate(heads)
    )
    region = f' tabindex="0" role="region" aria-label="{escape(label)}"' if label else ""
    named = f' id="{escape(elem_id)}"' if elem_id else ""
    said = f"<caption>{escape(caption)}</caption>" if caption else ""
    top = f"<thead><tr>{head}</tr></thead>" if heads else ""
    return (
        f'<div class="scrolling"{region}><table class="listing"{named}>{said}{top}'
        f"<tbody>{rows}</tbody></table></div>"
    )


def save_button(table: Table, project: str, *, called: str = "") -> str:
    """Saves a table, which is `called` so on the page if not by its caption."""
    file = f"{file_name(project, table.name)}.csv"
    return _save_button(file, "text/csv", table_csv(table), f"“{called or table.caption}”", "CSV")


def latex_button(latex: str, what: str, file: str) -> str:
    """Saves a table for a paper, which is called `what`.

    Args:
        latex: the table.
        file: the name of the saved file, without its ending.
    """
    return _save_button(f"{file}.tex", "application/x-tex", f"{latex}\n", what, "LaTeX")


def template_button(file: str, content: str) -> str:
    """Saves an empty table to fill in."""
    return _save_button(file, "text/csv", content, _("a template"), "CSV", label=_("Template"))


def save_all_button(files: Mapping[str, str], file: str) -> str:
    """Saves several files as one.

    Args:
        files: what is in each, by its name.
        file: the name of the archive, without its ending.
    """
    archive = BytesIO()
    with ZipFile(archive, "w", ZIP_DEFLATED) as kept:
        for name, content in files.items():
            kept.writestr(
                ZipInfo(name), content, ZIP_DEFLATED
            )  # without the time: the same figures, the same bytes
    content = b64encode(archive.getvalue()).decode()
    return (
        f'<button type="button" class="keep" data-save="{escape(file)}.zip" data-type="application/zip" '
        f'data-bytes="{content}">{_("Save all")}</button>'
    )


def csv_button(file: str, content: str, what: str) -> str:
    """Saves what stands in a table of the page, which the server does not keep."""
    return _save_button(file, "text/csv", content, what, "CSV")


def _save_button(file: str, type: str, content: str, what: str, form: str, *, label: str = "") -> str:
    """A button that page.js handles: nothing is asked of the server."""
    name = _("Save {what} as {format}", what=what, format=form)
    return (
        f'<button type="button" class="keep" data-save="{escape(file)}" data-type="{type};charset=utf-8" '
        f'data-content="{escape(content)}" aria-label="{escape(name)}">'
        f"{label or _('Save {format}', format=form)}</button>"
    )


def file_name(project: str, name: str) -> str:
    """Letters, digits and _, . and - only: harbour-types."""
    return f"{plain_name(project)}-{name}"


def _row_html(table: Table, row: tuple[Cell, ...], link: str) -> str:
    first = _cell_html(table.columns[0], row[0])
    if link:
        first = f'<a href="{escape(link)}">{first}</a>'
    cells = "".join(
        f"<td{_attributes(column)}>{_cell_html(column, cell)}</td>"
        for column, cell in zip(table.columns[1:], row[1:], strict=True)
    )
    return f'<tr><th scope="row" dir="auto">{first}</th>{cells}</tr>'


def _attributes(column: Column) -> str:
    return ' dir="auto"' if column.text else ' class="number"'


def _cell_html(column: Column, cell: Cell) -> str:
    if isinstance(cell, Alpha):
        return alpha_html(cell, "+" if column.signed else "")
    if isinstance(cell, str):
        return f"<span>{escape(cell)}</span>"
    if isinstance(cell, datetime):
        return time_html(cell)
    return escape(number_text(column, cell))


def number_text(column: Column, number: float | None) -> str:
    if number is None:
        return "–"
    if isinstance(number, int):
        return group_digits(number)
    if column.probability and number < SMALLEST_SHOWN:
        return f"< {write_number(str(SMALLEST_SHOWN))}"
    if column.percent:
        return share_text(number, column.decimals)
    return figure(number, column.decimals, sign="+" if column.signed else "")


def alpha_html(alpha: Alpha, sign: str = "") -> str:
    """α with its interval under it, or the word, with the reason for those who hover over it."""
    reason = tell(alpha.reason or alpha.interval_reason)
    if alpha.value is None:
        return f'<span title="{escape(reason)}">{_(UNDEFINED)}</span>'
    interval = interval_text(alpha, sign)
    shown = (
        f"<small>{escape(interval)}</small>"
        if interval
        else f'<small title="{escape(reason)}">{_("no interval")}</small>'
    )
    return f"{figure(alpha.value, sign=sign)} {shown}"


def alpha_of(found: Estimate) -> Alpha:
    """The same figure as a cell takes it."""
    return Alpha(
        found.value,
        found.low,
        found.high,
        reason=found.reason,
        interval_reason=found.interval_reason,
    )


def interval_text(alpha: Alpha, sign: str = "") -> str:
    """0.890 to 0.907; empty where there is none."""
    if alpha.low is None or alpha.high is None:
        return ""
    return range_text(figure(alpha.low, sign=sign), figure(alpha.high, sign=sign))


def range_text(low: str, high: str) -> str:
    """0 to 1."""
    return _("{low} to {high}", low=low, high=high)


def bucket_text(name: str) -> str:
    """A part of the scale, as `bucket_names` has it."""
    low, to, high = name.partition(" to ")
    return range_text(low, high) if to else name


def table_csv(table: Table) -> str:
    """The table with the figures in full; an α has its interval and its reason in columns of their own."""
    with_alpha = [
        any(isinstance(row[place], Alpha) for row in table.rows) for place in range(len(table.columns))
    ]
    heads: list[str] = []
    for column, is_alpha in zip(table.columns, with_alpha, strict=True):
        heads += [column.name]
        heads += [f"{column.name}: {part}" for part in ("low", "high", "reason")] if is_alpha else []
    return spreadsheet_csv([heads, *(_csv_cells(row) for row in table.rows)])


def _csv_cells(row: tuple[Cell, ...]) -> list[str | float | None]:
    cells: list[str | float | None] = []
    for cell in row:
        if isinstance(cell, Alpha):
            cells += [cell.value, cell.low, cell.high, cell.reason or cell.interval_reason]
        else:
            cells.append(cell.isoformat() if isinstance(cell, datetime) else cell)
    return cells


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
            "name": escape_label(short(name)),
            "x": list(range(len(systems))),
            "y": list(values),
            "marker": bar_marker(number),
            "customdata": [escape_label(system) for system in systems],
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
        "ticktext": [escape_label(short(system)) for system in systems],
        "showgrid": False,
        "fixedrange": True,
    }
    layout["yaxis"] = {**titled_axis(_("Pearson, summed over genres")), "zeroline": True}
    return chart_of(traces, layout)


CUSTOMARY_LINES = (0.667, 0.8)
ROW_HEIGHT = 34
MOST_ROWS = 40
"""Longer lists are for the table."""


@dataclass(frozen=True, slots=True)
class Series:
    """A set of α, one for each row of a chart."""

    name: str
    alphas: tuple[Alpha, ...]


def alpha_chart(
    labels: Sequence[str], series: Sequence[Series], *, reference: tuple[str, float] | None = None
) -> Chart | None:
    """A row for each label: α as a point, its interval as a line; None where nothing is defined.

    Args:
        labels: the rows, from above.
        series: what has a point in every row.
        reference: a line across all rows to compare with, and its name; else the customary lines.
    """
    rows = min(len(labels), MOST_ROWS)
    shown = [Series(one.name, one.alphas[:rows]) for one in series]
    edges = [alpha.value if alpha.low is None else alpha.low for one in shown for alpha in one.alphas]
    defined = [edge for edge in edges if edge is not None]
    if not defined:
        return None
    customary = [(write_number(str(value)), value) for value in CUSTOMARY_LINES]
    lines = customary if reference is None else [reference]
    left = max(-1.05, min([*defined, *(value for _, value in lines)]) - 0.05)
    step = 0.36 / len(shown) if len(shown) > 1 else 0.0
    traces = [
        _points(one, number, (number - (len(shown) - 1) / 2) * step, labels)
        for number, one in enumerate(shown)
    ]
    layout = plain_layout(90 + ROW_HEIGHT * rows + 24 * (len(shown) > 1), legend=len(shown) > 1)
    layout["xaxis"] = {**titled_axis(_("α, interval level")), "range": [left, 1.03]}
    layout["yaxis"] = _row_axis([short(label) for label in labels[:rows]])
    layout["shapes"] = [_line(value) for _, value in lines]
    sides = ("right", "left") if len(lines) > 1 else ("center",)  # on a phone the lines stand close together
    names = [_line_name(*line, side) for line, side in zip(lines, sides, strict=True)]
    layout["annotations"] = names + [
        _undefined(row, left) for row in range(rows) if all(one.alphas[row].value is None for one in shown)
    ]
    return chart_of(traces, layout)


def bias_chart(labels: Sequence[str], biases: Sequence[float | None]) -> Chart | None:
    """How far above or below the others each rater grades; None where it cannot be told of anybody."""
    rows = min(len(labels), MOST_ROWS)
    known = [bias for bias in biases[:rows] if bias is not None]
    if not known:
        return None
    reach = max(0.25, *(abs(bias) for bias in known)) * 1.15
    trace = {
        "type": "bar",
        "orientation": "h",
        "x": list(biases[:rows]),
        "y": list(range(rows)),
        "width": 0.5,
        "marker": {"color": [COLOURS[0] if (bias or 0) >= 0 else COLOURS[1] for bias in biases[:rows]]},
        "customdata": [
            f"{escape_label(label)}: {figure(bias or 0.0, 2, sign='+')}"
            for label, bias in zip(labels[:rows], biases[:rows], strict=True)
        ],
        "hovertemplate": "%{customdata}<extra></extra>",
        "showlegend": False,
    }
    layout = plain_layout(90 + ROW_HEIGHT * rows)
    layout["xaxis"] = {
        **titled_axis(_("Above (+) or below (−) the others")),
        "range": [-reach, reach],
        "tickformat": ".2~f",
        "zeroline": True,
        "zerolinecolor": LINE,
    }
    layout["yaxis"] = _row_axis([short(label) for label in labels[:rows]])
    return chart_of([trace], layout)


def drift_chart(labels: Sequence[str], drifts: Sequence[Drift]) -> Chart | None:
    """How far above or below the others each rater grades as time goes by; None where it cannot be told.

    Of more raters than there are colours, those who moved most.
    """
    moved = [(label, drift) for label, drift in zip(labels, drifts, strict=True) if drift.change is not None]
    moved.sort(key=lambda pair: -abs(pair[1].change or 0.0))
    if not moved:
        return None
    shown = moved[: len(COLOURS)]
    layout = plain_layout(360, legend=True)
    layout["xaxis"] = {**titled_axis(_("When")), "type": "date"}
    layout["yaxis"] = {
        **titled_axis(_("Above (+) or below (−) the others")),
        "tickformat": ".2~f",
        "zeroline": True,
        "zerolinecolor": LINE,
    }
    return chart_of(
        [_drift_line(label, drift, number) for number, (label, drift) in enumerate(shown)], layout
    )


def _drift_line(label: str, drift: Drift, number: int) -> Chart:
    colour = COLOURS[number]
    windows = drift.windows
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": escape_label(short(label)),
        "x": [_moment((window.start + window.end) / 2) for window in windows],
        "y": [window.mean for window in windows],
        "error_y": {
            "type": "data",
            "array": [window.high - window.mean for window in windows],
            "color": colour,
            "thickness": 1.5,
            "width": 3,
        },
        "line": {"color": colour, "width": 2},
        "marker": {"color": colour, "symbol": SYMBOLS[number], "size": 8},
        "customdata": [
            f"{escape_label(label)}<br>{figure(window.mean, 2, sign='+')} "
            f"({range_text(figure(window.low, 2, sign='+'), figure(window.high, 2, sign='+'))}), "
            f"{grades_text(window.ratings)}"
            for window in windows
        ],
        "hovertemplate": "%{customdata}<extra></extra>",
    }


def _moment(seconds: float) -> str:
    """As plotly.js reads it, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


def grades_chart(buckets: Sequence[str], series: Sequence[tuple[str, Sequence[float]]]) -> Chart | None:
    """The share of the grades in each bucket, a bar for each type; None without grades."""
    if not series:
        return None
    traces = [
        {
            "type": "bar",
            "name": escape_label(short(name)),
            "x": [
                bucket_text(bucket).replace(" ", "<br>", 1) for bucket in buckets
            ],  # a phone has no room beside
            "y": [share * 100 for share in shares],
            "customdata": [share_text(share, 1) for share in shares],
            "marker": bar_marker(number),
            "hovertemplate": f"{in_template(name)}, %{{x}}: %{{customdata}}<extra></extra>",
        }
        for number, (name, shares) in enumerate(series)
    ]
    layout = plain_layout(360, legend=len(series) > 1)
    layout["barmode"] = "group"
    layout["xaxis"] = {**titled_axis(_("Grade")), "type": "category", "showgrid": False}
    layout["yaxis"] = {**titled_axis(_("Share of the grades, %")), "rangemode": "tozero"}
    return chart_of(traces, layout)


def _points(series: Series, number: int, shift: float, labels: Sequence[str]) -> Chart:
    alphas = series.alphas
    colour = COLOURS[number % len(COLOURS)]
    above = [0.0 if a.value is None or a.high is None else a.high - a.value for a in alphas]
    below = [0.0 if a.value is None or a.low is None else a.value - a.low for a in alphas]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": escape_label(series.name),
        "x": [alpha.value for alpha in alphas],
        "y": [row + shift for row in range(len(alphas))],
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": above,
            "arrayminus": below,
            "color": colour,
            "thickness": 2,
            "width": 4,
        },
        "marker": {"color": colour, "symbol": SYMBOLS[number % len(SYMBOLS)], "size": 10},
        "customdata": [
            f"{escape_label(label)}<br>{escape_label(series.name)}: {_alpha_text(alpha)}"
            for label, alpha in zip(labels, alphas, strict=False)
        ],
        "hovertemplate": "%{customdata}<extra></extra>",
    }


def _alpha_text(alpha: Alpha) -> str:
    if alpha.value is None:
        return _(UNDEFINED)
    interval = interval_text(alpha)
    return f"{figure(alpha.value)}{f' ({interval})' if interval else ''}, {pairs_text(alpha.pairs)}"


def _row_axis(labels: Sequence[str]) -> Chart:
    return {
        **titled_axis(""),
        "tickmode": "array",
        "tickvals": list(range(len(labels))),
        "ticktext": [escape_label(label) for label in labels],
        "range": [len(labels) - 0.4, -0.6],
        "showgrid": False,
        "fixedrange": True,
    }


def _line(value: float) -> Chart:
    style = {"color": LINE, "width": 1, "dash": "dash"}
    return {"type": "line", "x0": value, "x1": value, "y0": 0, "y1": 1, "yref": "paper", "line": style}


def _line_name(name: str, value: float, side: str) -> Chart:
    return {
        "text": escape_label(name),
        "x": value,
        "xanchor": side,
        "y": 1,
        "yref": "paper",
        "yanchor": "bottom",
        "showarrow": False,
        "font": {"size": 12},
    }


def _undefined(row: int, left: float) -> Chart:
    return {"text": _(UNDEFINED), "x": left, "y": row, "xanchor": "left", "showarrow": False, "xshift": 4}
