"""The tables of the agreement page. No Gradio here."""

from __future__ import annotations

import re
from collections.abc import Sequence

from annotation.characters import shortened
from annotation.reliability.report import (
    BUCKET_NAMES,
    SHOWN_CHARACTERS,
    AgreementReport,
    Part,
    shares,
)
from annotation.reliability.upper_bound import AgainstOthers, UpperBound, mean_of_text
from annotation.ui.tables import Cell, Column, Table, alpha_of, type_label
from annotation.ui.wording import regrouped


def parts_table(name: str, heading: str, parts: Sequence[tuple[str, Part]]) -> Table:
    """α of types or genres, and how far they are."""
    columns = (
        Column(heading, text=True),
        Column("α of all pairs"),
        Column("α of unadjudicated pairs"),
        Column("α ordinal", 3),
        Column("α nominal", 3),
        Column("Pairs"),
        Column("Fully graded"),
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
    return Table("rater-pairs", "Each pair of raters", columns, rows)


def bounds_table(report: AgreementReport) -> Table:
    """Each rater against the mean of the others, and the mean over raters, by type."""
    rows: list[tuple[Cell, ...]] = []
    for bound in (bound for bound in report.upper_bounds if bound.raters):
        named = sorted(bound.raters, key=lambda row: name_order(report.rater_names[row.rater]))
        whose: list[tuple[str, UpperBound | AgainstOthers]] = [
            (regrouped(mean_of_text(bound.counted)), bound)
        ]
        whose += [(report.rater_names[row.rater], row) for row in named]
        rows += [
            (type_label(bound.type), name, alpha_of(found.pearson), alpha_of(found.spearman), found.pairs)
            for name, found in whose
        ]
    columns = (
        Column("Type", text=True),
        Column("Rater", text=True),
        Column("Pearson"),
        Column("Spearman"),
        Column("Pairs"),
    )
    return Table("bound", "Each rater against the mean of the others", columns, tuple(rows))


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
            shortened(pair.left, SHOWN_CHARACTERS),
            shortened(pair.right, SHOWN_CHARACTERS),
            "decided" if pair.decided else "open" if report.flags(pair) else "",
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
        Column("Left item", text=True),
        Column("Right item", text=True),
        Column("Adjudication", text=True),
    )
    links = tuple(f"/annotate/adjudicate?project={project_id}&pair={pair.id}" for pair in report.widest)
    return Table("widest-pairs", "The pairs whose grades are farthest apart", columns, rows, links)
