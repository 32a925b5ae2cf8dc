"""A leaderboard as files, for the page and the command line: JSON, CSV and LaTeX."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from annotation.figures import number_of
from annotation.files.spreadsheet import sheet
from annotation.latex import LatexTable
from annotation.scoring import Estimate
from annotation.services.system_rows import Gold, GoldVersion
from annotation.services.systems import Board
from annotation.systems.report import Correlations, SystemReport
from annotation.systems.report_json import scores_to_json
from annotation.systems.report_latex import scores_to_latex

_FIGURES = ("pearson", "pearson_low", "pearson_high", "spearman", "spearman_low", "spearman_high")
_HEADER = ("system", "rank", "origin", "added", "by", "type", "genre", "pairs", *_FIGURES, "reason")
_Row: TypeAlias = Sequence[str | float | None]
_SHOWN_DIGITS = 12
"""Of the SHA-256 of a gold set."""


def digits_of(gold: GoldVersion) -> str:
    """How its SHA-256 begins, which tells it from others."""
    return gold.sha256[:_SHOWN_DIGITS]


def gold_name(gold: GoldVersion) -> str:
    """What a sentence calls it: "the project's gold (8e3cd24a1f0b)"."""
    name = "the project's gold" if gold.is_own else f"gold from {gold.name}"
    return f"{name} ({digits_of(gold)})"


def gold_text(gold: GoldVersion, own: Gold) -> str:
    """Which gold the figures are of, and whether the project's, which is `own` now, has changed since."""
    pairs, digits = number_of(gold.pairs, "pair"), digits_of(gold)
    if gold.sha256 == own.sha256:
        return f"On the project's gold as it is now: {pairs}, version {digits}."
    when = f"of {gold.at:%Y-%m-%d %H:%M} UTC"
    if not gold.is_own:
        return f"On gold from {gold.name}, {when}: {pairs}, version {digits}."
    have = "has" if len(own.pairs) == 1 else "have"
    return (
        f"On the project's gold {when}: {pairs}, version {digits}. The gold has changed since: "
        f"{number_of(len(own.pairs), 'pair')} {have} a grade now, {gold.pairs:,} then. These figures are of "
        "the older gold; to measure a system on the new one, add it again."
    )


def gold_as_json(gold: GoldVersion) -> dict[str, Any]:
    """What tells a gold set from others; the project's own has no name."""
    return {
        "name": gold.name or None,
        "pairs": gold.pairs,
        "sha256": gold.sha256,
        "at": gold.at.isoformat(),
    }


def board_as_json(board: Board) -> dict[str, Any]:
    """As `python -m annotation score --json`, with what is known of the gold set and of each system."""
    told = scores_to_json(board.report)
    systems = [
        {"origin": entry.origin, "at": entry.at.isoformat(), "by": entry.by, **system}
        for entry, system in zip(board.entries, told["systems"], strict=True)
    ]
    return {"gold": gold_as_json(board.gold), **told, "systems": systems}


def board_as_csv(board: Board) -> str:
    """Of each system its sum, and a row for each type, each genre, and each type within a genre."""
    rows: list[_Row] = [_HEADER]
    ranks = board.report.ranks()["sum_pearson"]
    for system, rank, entry in zip(board.report.systems, ranks, board.entries, strict=True):
        head = (system.name, rank, entry.origin, entry.at.isoformat(), entry.by)
        rows += ((*head, *row) for row in _rows(system))
    return sheet(rows)


def board_as_latex(board: Board, own: Gold, table: LatexTable, *, made_by: str) -> str:
    """The ranking as a table of a paper; a comment says so where the project's gold has changed since.

    Args:
        own: the project's gold now.
        made_by: the command or the page, and the project.
    """
    gold = board.gold
    named = f"gold from {gold.name or 'the project'}, SHA-256 of its pairs {gold.sha256}"
    is_older = gold.is_own and gold.sha256 != own.sha256
    remarks = [gold_text(gold, own)] if is_older else []
    return scores_to_latex(board.report, table, made_by=f"{made_by}, {named}", remarks=remarks)


def _rows(system: SystemReport) -> Iterator[_Row]:
    sums = (*_cells(system.sum_pearson), *_cells(system.sum_spearman))
    yield ("sum", "", None, *sums, system.sum_pearson.reason)
    for type, part in system.types.items():
        yield _row(type, "", part)
    for genre, whole in system.genres.items():
        yield _row("", genre, whole.all)
        for type, part in whole.by_type.items():
            yield _row(type, genre, part)


def _row(type: str, genre: str, part: Correlations) -> _Row:
    figures = (*_cells(part.pearson), *_cells(part.spearman))
    return (type, genre, part.pairs, *figures, part.pearson.reason or part.pearson.interval_reason)


def _cells(found: Estimate) -> tuple[float | None, float | None, float | None]:
    return found.value, found.low, found.high
