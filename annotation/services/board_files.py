"""A leaderboard as files, for the page and the command line."""

from __future__ import annotations

from typing import Any

from annotation.files.leaderboard import board_csv, board_json
from annotation.services.system_rows import GoldVersion
from annotation.services.systems import Board


def gold_as_json(gold: GoldVersion) -> dict[str, Any]:
    """What tells a gold set from others; the project's own has no name."""
    return {
        "name": gold.name or None,
        "pairs": gold.pairs,
        "sha256": gold.sha256,
        "at": gold.at.isoformat(),
    }


def board_as_json(board: Board) -> dict[str, Any]:
    """The gold set, and all figures as `python -m annotation score --json` has them."""
    return board_json(board.report, gold_as_json(board.gold), _about(board))


def board_as_csv(board: Board) -> str:
    """A row for each system and part."""
    return board_csv(board.report, _about(board))


def _about(board: Board) -> list[dict[str, Any]]:
    return [{"origin": entry.origin, "at": entry.at.isoformat(), "by": entry.by} for entry in board.entries]
