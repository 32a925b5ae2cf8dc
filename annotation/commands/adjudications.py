"""The command that lists pairs whose raters disagree: python -m annotation adjudications PROJECT."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from annotation.adjudication import QueueEntry, Which, grade_text
from annotation.characters import beginning
from annotation.commands.options import DatabaseOption, JsonOption, ProjectArgument, open_project
from annotation.services.adjudication import AdjudicationService
from annotation.terminal import show_json, show_line, show_table
from db import DEFAULT_URL

_SHOWN = 32
"""Characters of a text in the table."""
_HEADERS = ("Spread", "Ratings", "Type", "Id", "State", "Decision", "Begins")
_EXAMPLES = """
Examples:

\b
  python -m annotation adjudications news
  python -m annotation adjudications news --which all --json
"""


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("adjudications", epilog=_EXAMPLES)(adjudications)


def adjudications(
    project: ProjectArgument,
    which: Annotated[
        Which, typer.Option(help="Pairs that wait for a decision, have one, or both.")
    ] = Which.OPEN,
    type: Annotated[str | None, typer.Option(help="Only this comparison type.")] = None,
    as_json: JsonOption = False,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """List the pairs whose ratings are too far apart, largest spread first."""
    database, of = open_project(database_url, project)
    page = AdjudicationService(database).queue(of.id, which, type, limit=None)
    entries, counts = page.entries, page.counts
    if as_json:
        pairs = [_as_json(entry) for entry in entries]
        show_json({"project": project, "which": which.value, "counts": counts, "pairs": pairs})
        return
    if entries:
        rows = [_cells(entry) for entry in entries]
        show_table(_HEADERS, rows, right=("Spread", "Ratings", "Decision"))
    show_line(f"{counts[Which.OPEN]:,} open, {counts[Which.DECIDED]:,} decided.")


def _as_json(entry: QueueEntry) -> dict[str, Any]:
    return {
        "id": entry.external_id,
        "type": entry.type,
        "spread": float(entry.spread),
        "ratings": entry.ratings,
        "flagged": entry.is_flagged,
        "open": entry.is_open,
        "decision": None if entry.decided is None else float(entry.decided),
        "ratings_changed_since": entry.is_changed,
        "beginning": entry.beginning,
    }


def _cells(entry: QueueEntry) -> tuple[object, ...]:
    decided = "" if entry.decided is None else grade_text(entry.decided)
    return (
        grade_text(entry.spread),
        entry.ratings,
        entry.type,
        entry.external_id,
        state_of(entry),
        decided,
        beginning(entry.beginning, _SHOWN),
    )


def state_of(entry: QueueEntry) -> str:
    """Open, reopened or decided."""
    if not entry.is_open:
        return "decided"
    return "open" if entry.decided is None else "reopened"
