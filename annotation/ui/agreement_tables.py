"""The tables of the agreement page: one value for what is shown and what is saved as CSV. No Gradio here."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from annotation.agreement_report import (
    BUCKET_NAMES,
    SHOWN_CHARACTERS,
    AgreementReport,
    Part,
    shares,
)
from annotation.bootstrap import Alpha
from annotation.comparison import comparison_type
from annotation.spreadsheet import protected
from annotation.ui.wording import figure, grouped
from kpdemo.ui.widgets import escape

Cell = str | int | float | Alpha | None
UNDEFINED = "undefined"
SMALLEST_SHOWN = 0.001
"""Of probabilities; the file has them in full."""
_NOT_IN_FILE_NAMES = re.compile(r"[^\w-]+")


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


def parts_table(name: str, heading: str, parts: Sequence[tuple[str, Part]]) -> Table:
    """α of types or genres, and how far they are."""
    columns = (
        Column(heading, text=True),
        Column("α of all pairs"),
        Column("α of unadjudicated pairs"),
        Column("α ordinal", 3),
        Column("α nominal", 3),
        Column("Pairs"),
        Column("Finished"),
        Column("Grades"),
        Column("Flagged"),
    )
    rows = tuple(
        (
            label,
            part.all,
            part.unadjudicated,
            part.all.ordinal,
            part.all.nominal,
            part.pairs,
            part.finished,
            part.ratings,
            part.flagged,
        )
        for label, part in parts
    )
    return Table(name, f"Agreement by {heading.lower()}", columns, rows)


def type_parts(report: AgreementReport) -> list[tuple[str, Part]]:
    """The types that have pairs, as they are called on the pages."""
    return [(type_label(part.name), part) for part in report.by_type if part.pairs]


def genre_parts(report: AgreementReport) -> list[tuple[str, Part]]:
    return [(part.name or "no genre", part) for part in report.by_genre]


def grades_table(report: AgreementReport) -> Table:
    """What part of the grades of each type is in each bucket, as in the task paper's Figure 1."""
    parts = [*((label, part) for label, part in type_parts(report)), ("all types", report.whole)]
    rows = tuple(
        (label, *(shares(part.buckets) or (None,) * len(BUCKET_NAMES)), part.ratings) for label, part in parts
    )
    columns = (
        Column("Type", text=True),
        *(Column(name, 1, percent=True) for name in BUCKET_NAMES),
        Column("Grades"),
    )
    return Table("grades", "Share of the grades by type", columns, rows)


def raters_table(report: AgreementReport) -> Table:
    """Each rater beside the others, by name."""
    without = {row.rater: row.alpha for row in report.left_out}
    figures = sorted(report.raters, key=lambda row: name_order(report.rater_names[row.rater]))
    rows = tuple(
        (
            report.rater_names[row.rater],
            row.ratings,
            row.mean,
            row.spread,
            row.median_seconds,
            row.bias,
            row.shared,
            without[row.rater],
        )
        for row in figures
    )
    columns = (
        Column("Rater", text=True),
        Column("Grades"),
        Column("Mean"),
        Column("Spread (SD)"),
        Column("Median seconds", 1),
        Column("Above the others", signed=True),
        Column("Shared pairs"),
        Column("α without them"),
    )
    return Table("raters", "The raters", columns, rows)


def drift_table(report: AgreementReport) -> Table:
    """Who moved against the others: the first and the last window of each rater, by name."""
    told = [drift for drift in report.drifts if drift.windows]
    rows = tuple(
        (
            report.rater_names[drift.rater],
            len(drift.windows),
            sum(window.ratings for window in drift.windows),
            drift.windows[0].mean,
            drift.windows[-1].mean,
            drift.change,
            "yes" if drift.is_clear else "no" if drift.change is not None else "",
        )
        for drift in sorted(told, key=lambda drift: name_order(report.rater_names[drift.rater]))
    )
    columns = (
        Column("Rater", text=True),
        Column("Windows"),
        Column("Grades compared"),
        Column("First window", signed=True),
        Column("Last window", signed=True),
        Column("Change", signed=True),
        Column("Clear", text=True),
    )
    return Table("drift", "The raters over time", columns, rows)


def rater_pairs_table(report: AgreementReport) -> Table:
    rows = tuple(
        (pair_label(report, row.first, row.second), row.alpha, row.alpha.pairs) for row in report.rater_pairs
    )
    columns = (Column("Two raters", text=True), Column("α of their common pairs"), Column("Common pairs"))
    return Table("rater-pairs", "Each two raters", columns, rows)


def pair_label(report: AgreementReport, first: int, second: int) -> str:
    names = sorted((report.rater_names[first], report.rater_names[second]), key=name_order)
    return " – ".join(names)


def name_order(name: str) -> list[tuple[int, str]]:
    """Sorts Rater 10 after Rater 9."""
    pieces = re.split(r"(\d+)", name.casefold())
    return [(int(piece), "") if piece.isdecimal() else (0, piece) for piece in pieces]


def widest_table(report: AgreementReport, project_id: int) -> Table:
    """The pairs to look at first; the first cell leads to their adjudication."""
    rows = tuple(
        (
            pair.external_id,
            pair.spread,
            pair.low,
            pair.high,
            pair.ratings,
            type_label(pair.type),
            pair.genre or "",
            beginning(pair.left),
            beginning(pair.right),
            "decided" if pair.decided else "open" if pair.spread >= report.threshold else "",
        )
        for pair in report.widest
    )
    columns = (
        Column("Pair", text=True),
        Column("Spread"),
        Column("Lowest"),
        Column("Highest"),
        Column("Grades"),
        Column("Type", text=True),
        Column("Genre", text=True),
        Column("Larger item", text=True),
        Column("Smaller item", text=True),
        Column("Adjudication", text=True),
    )
    links = tuple(f"/annotate/adjudicate?project={project_id}&pair={pair.id}" for pair in report.widest)
    return Table("widest-pairs", "The pairs whose grades are farthest apart", columns, rows, links)


def beginning(text: str) -> str:
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS].rstrip()}…"


def table_html(table: Table, project: str, *, page: str = "agreement") -> str:
    """The table, and a button that saves it; its id begins with the page's."""
    heads = "".join(
        f'<th scope="col"{"" if column.text else " class=number"}>{escape(column.name)}</th>'
        for column in table.columns
    )
    links = table.links or ("",) * len(table.rows)
    rows = "".join(_row_html(table, row, link) for row, link in zip(table.rows, links, strict=True))
    return (
        f'<div class="scrolling" tabindex="0" role="region" aria-label="{escape(table.caption)}">'
        f'<table class="listing" id="{page}-{table.name}"><caption>{escape(table.caption)}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
        f'<p class="actions">{save_button(table, project)}</p>'
    )


def save_button(table: Table, project: str) -> str:
    return (
        f'<button type="button" class="keep" data-save="{escape(file_name(project, table.name))}.csv" '
        f'data-type="text/csv;charset=utf-8" data-content="{escape(table_csv(table))}" '
        f'aria-label="Save “{escape(table.caption)}” as CSV">Save CSV</button>'
    )


def file_name(project: str, name: str) -> str:
    """Letters, digits, _ and - only: harbour-types."""
    return f"{_NOT_IN_FILE_NAMES.sub('-', project).strip('-')[:60] or 'project'}-{name}"


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
    return escape(number_text(column, cell))


def number_text(column: Column, number: float | None) -> str:
    if number is None:
        return "–"
    if isinstance(number, int):
        return grouped(number)
    if column.probability and number < SMALLEST_SHOWN:
        return f"< {SMALLEST_SHOWN}"
    if column.percent:
        return f"{number * 100:.{column.decimals}f} %"
    return figure(number, column.decimals, sign="+" if column.signed else "")


def alpha_html(alpha: Alpha, sign: str = "") -> str:
    """α with its interval under it, or the word, with the reason for whoever points at it."""
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
    out = io.StringIO()
    writer = csv.writer(out)
    heads: list[str] = []
    for column, is_alpha in zip(table.columns, with_alpha, strict=True):
        heads += [column.name]
        heads += [f"{column.name}: {part}" for part in ("low", "high", "reason")] if is_alpha else []
    writer.writerow(heads)
    for row in table.rows:
        cells: list[str | float | None] = []
        for cell in row:
            if isinstance(cell, Alpha):
                cells += [cell.value, cell.low, cell.high, cell.reason or cell.interval_reason]
            else:
                cells.append(protected(cell) if isinstance(cell, str) else cell)
        writer.writerow(["" if cell is None else cell for cell in cells])
    return out.getvalue()
