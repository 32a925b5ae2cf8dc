"""A table of a page: one value for what is shown and what is saved as CSV. No Gradio here."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from annotation.agreement import Alpha
from annotation.comparison import comparison_type
from annotation.scoring import Estimate
from annotation.ui.wording import figure, time_html
from annotation.wording import plain_name, share_text
from kpdemo.io.tables import spreadsheet_csv
from kpdemo.ui.html import escape, group_digits

Cell = str | int | float | datetime | Alpha | None
UNDEFINED = "undefined"
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
    return comparison_type(name).label


def table_html(table: Table, project: str, *, page: str = "agreement", beside: str = "") -> str:
    """The table, and a button that saves it; its id begins with the page's.

    Args:
        beside: further buttons, as HTML.
    """
    links = table.links or ("",) * len(table.rows)
    rows = "".join(_row_html(table, row, link) for row, link in zip(table.rows, links, strict=True))
    shown = listing_html(
        [column.name for column in table.columns],
        rows,
        numbers=[place for place, column in enumerate(table.columns) if not column.text],
        caption=table.caption,
        label=table.caption,
        elem_id=f"{page}-{table.name}",
    )
    return f'{shown}<p class="actions">{save_button(table, project)}{beside}</p>'


def undefined_html(elem_id: str, *tables: Table) -> str:
    """Why some figures of tables are undefined or have no interval: each reason, and of which rows it is."""
    told: dict[str, dict[str, None]] = {}
    for row in (row for table in tables for row in table.rows):
        alphas = [cell for cell in row if isinstance(cell, Alpha)]
        for reason in (alpha.reason or alpha.interval_reason for alpha in alphas):
            if reason:
                told.setdefault(reason, {})[str(row[0])] = None
    return reasons_html(elem_id, [(", ".join(rows), reason) for reason, rows in told.items()])


def reasons_html(elem_id: str, told: Sequence[tuple[str, str]]) -> str:
    """Each place of undefined figures with the reason, folded; nothing where there is none."""
    if not told:
        return ""
    lines = "".join(f"<li><strong>{escape(where)}</strong>: {escape(reason)}</li>" for where, reason in told)
    return (
        f'<details id="{elem_id}"><summary>Why some figures are undefined</summary>'
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


def save_button(table: Table, project: str) -> str:
    file = f"{file_name(project, table.name)}.csv"
    return _save_button(file, "text/csv", table_csv(table), f"“{table.caption}”", "CSV")


def latex_button(latex: str, what: str, file: str) -> str:
    """Saves a table for a paper, which is called `what`.

    Args:
        latex: the table.
        file: the name of the saved file, without its ending.
    """
    return _save_button(f"{file}.tex", "application/x-tex", f"{latex}\n", what, "LaTeX")


def _save_button(file: str, type: str, content: str, what: str, form: str) -> str:
    """A button that page.js handles: nothing is asked of the server."""
    return (
        f'<button type="button" class="keep" data-save="{escape(file)}" data-type="{type};charset=utf-8" '
        f'data-content="{escape(content)}" aria-label="Save {escape(what)} as {form}">Save {form}</button>'
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
        return f"< {SMALLEST_SHOWN}"
    if column.percent:
        return share_text(number, column.decimals)
    return figure(number, column.decimals, sign="+" if column.signed else "")


def alpha_html(alpha: Alpha, sign: str = "") -> str:
    """α with its interval under it, or the word, with the reason for those who hover over it."""
    reason = alpha.reason or alpha.interval_reason
    if alpha.value is None:
        return f'<span title="{escape(reason)}">{UNDEFINED}</span>'
    interval = interval_text(alpha, sign)
    shown = (
        f"<small>{escape(interval)}</small>"
        if interval
        else f'<small title="{escape(reason)}">no interval</small>'
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
    return f"{figure(alpha.low, sign=sign)} to {figure(alpha.high, sign=sign)}"


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
