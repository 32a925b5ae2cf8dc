"""The command that lists pairs whose raters disagree: python -m annotation adjudications PROJECT."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from annotation.adjudication import (
    NO_ADJUDICATION,
    AdjudicationItem,
    QueueEntry,
    QueuePage,
    Which,
    grade_text,
)
from annotation.characters import beginning
from annotation.commands.options import DatabaseOption, JsonOption, ProjectArgument, open_project
from annotation.commands.outputs import Output, write_all
from annotation.figures import number_of
from annotation.files.decision_tables import DELIMITERS, decision_lines, delimiter_of
from annotation.services.adjudication import AdjudicationService
from annotation.services.decision_tables import DecisionTableService
from annotation.terminal import show_json, show_line, show_table
from db import DEFAULT_URL, Database
from db.command import CallError

_SHOWN = 32
"""Characters of a text in the table."""
_HEADERS = ("Spread", "Ratings", "Type", "Id", "State", "Decision", "Begins")
_EXAMPLES = """
Examples:

\b
  python -m annotation adjudications news --which all --json
  python -m annotation adjudications news --output flagged.csv
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
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a table to fill in, which `adjudicate` reads: a file that ends in .csv or .tsv.",
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace FILE, including what was filled in there.")
    ] = False,
    viewer: Annotated[
        str | None,
        typer.Option("--as", metavar="USER", help="Leave out pairs that this adjudicator may still grade."),
    ] = None,
    as_json: JsonOption = False,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """List the pairs whose ratings are too far apart, largest spread first."""
    delimiter = None if output is None else _delimiter(output, as_json=as_json)
    database, of = open_project(database_url, project)
    tables = DecisionTableService(database)
    viewer_id = None if viewer is None else tables.adjudicator(of.id, viewer)
    if output is not None and delimiter is not None:
        items = tables.items(of.id, which, type, viewer=viewer_id)
        written = f"{output}: {number_of(_write(output, delimiter, items, database, force=force), 'pair')}."
        page = AdjudicationService(database).queue(of.id, limit=0, viewer=viewer_id)
        show_line(f"{written}{_held_back(page, viewer)}")
        return
    page = AdjudicationService(database).queue(of.id, which, type, limit=None, viewer=viewer_id)
    entries, counts = page.entries, page.counts
    if as_json:
        pairs = [_as_json(entry) for entry in entries]
        left_out = {} if viewer is None else {"held_back": page.held_back}
        show_json({"project": of.name, "which": which.value, "counts": counts, **left_out, "pairs": pairs})
        return
    if entries:
        rows = [_cells(entry) for entry in entries]
        show_table(_HEADERS, rows, right=("Spread", "Ratings", "Decision"))
    told = f"{counts[Which.OPEN]:,} open, {counts[Which.DECIDED]:,} decided."
    show_line(f"{told}{_held_back(page, viewer)}")
    if of.settings.threshold is None:
        show_line(NO_ADJUDICATION)


def _delimiter(output: Path, *, as_json: bool) -> str:
    if as_json:
        raise CallError("A table is not JSON: give either --output or --json.")
    delimiter = delimiter_of(output)
    if delimiter is None:
        endings = " or ".join(DELIMITERS)
        raise CallError(f"{output}: the format is chosen by the name of the file; end it in {endings}.")
    return delimiter


def _write(
    output: Path, delimiter: str, items: Iterable[AdjudicationItem], database: Database, *, force: bool
) -> int:
    """How many pairs the table has."""
    count = 0

    def counted() -> Iterator[AdjudicationItem]:
        nonlocal count
        for item in items:
            count += 1
            yield item

    write_all([Output(output, decision_lines(counted(), delimiter))], database, replaces=force)
    return count


def _held_back(page: QueuePage, viewer: str | None) -> str:
    """A sentence after others; nothing where none is."""
    if not page.held_back:
        return ""
    return f" {number_of(page.held_back, 'pair')} held back, which {viewer} may still grade."


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
        "beginning": entry.left,
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
        beginning(entry.left, _SHOWN),
    )


def state_of(entry: QueueEntry) -> str:
    """Open, reopened or decided."""
    if not entry.is_open:
        return "decided"
    return "open" if entry.decided is None else "reopened"
