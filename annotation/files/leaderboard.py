"""The leaderboard as files: JSON with everything, CSV with a row for each system and part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from annotation.files.spreadsheet import sheet
from annotation.scoring import Estimate
from annotation.systems.report import Part, ScoreReport, SystemReport
from annotation.systems.report_json import report_to_json

_FIGURES = ("pearson", "pearson_low", "pearson_high", "spearman", "spearman_low", "spearman_high")
_HEADER = ("system", "rank", "origin", "added", "by", "type", "genre", "pairs", *_FIGURES, "reason")


def board_json(
    report: ScoreReport, gold: Mapping[str, Any], about: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """As `python -m annotation score --json`, with what is known of the gold set and of each system.

    Args:
        gold: name, pairs, SHA-256 and time of the gold set.
        about: of each system, in the order of the report.
    """
    told = report_to_json(report)
    systems = [{**dict(more), **system} for more, system in zip(about, told["systems"], strict=True)]
    return {"gold": dict(gold), **told, "systems": systems}


def board_csv(report: ScoreReport, about: Sequence[Mapping[str, Any]]) -> str:
    """Of each system its sum, and a row for each type, each genre, and each type within a genre."""
    ranks = report.ranks()["sum_pearson"]
    rows: list[Sequence[str | float | None]] = [_HEADER]
    for system, rank, more in zip(report.systems, ranks, about, strict=True):
        head = (system.name, rank, more["origin"], more["at"], more["by"])
        rows += ((*head, *row) for row in _rows(system))
    return sheet(rows)


def _rows(system: SystemReport) -> Iterator[Sequence[str | float | None]]:
    sums = (*_cells(system.sum_pearson), *_cells(system.sum_spearman))
    yield ("sum", "", None, *sums, system.sum_pearson.reason)
    for type, part in system.types.items():
        yield _row(type, "", part)
    for genre, whole in system.genres.items():
        yield _row("", genre, whole.all)
        for type, part in whole.by_type.items():
            yield _row(type, genre, part)


def _row(type: str, genre: str, part: Part) -> Sequence[str | float | None]:
    figures = (*_cells(part.pearson), *_cells(part.spearman))
    reason = part.pearson.reason or part.pearson.interval_reason
    return (type, genre, part.pairs, *figures, reason)


def _cells(found: Estimate) -> tuple[float | None, float | None, float | None]:
    return found.value, found.low, found.high
