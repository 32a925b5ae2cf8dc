"""The command that tells who did what: python -m annotation events [PROJECT]."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from annotation.commands.options import DatabaseOption, JsonOption, open_database, open_project
from annotation.event_words import detail_words
from annotation.services.events import USUAL_LIMIT, Event, EventService
from annotation.terminal import show_json, show_line, show_table
from db import DEFAULT_URL

COMMAND_LINE = "command line"
_HEADERS = ("When (UTC)", "Who", "What", "Details")
_EXAMPLES = """
Examples:

\b
  python -m annotation events
  python -m annotation events news --limit 10
  python -m annotation events news --json
"""


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("events", epilog=_EXAMPLES)(events)


def events(
    project: Annotated[
        str | None,
        typer.Argument(
            metavar="PROJECT", help="The project's name; without it, events of the server are listed."
        ),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="The most events to list.")] = USUAL_LIMIT,
    as_json: JsonOption = False,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """List who did what, newest first: in a project, or with accounts, passwords and whole projects."""
    if project is None:
        name, found = None, EventService(open_database(database_url)).of_server(limit)
    else:
        database, of = open_project(database_url, project)
        name, found = of.name, EventService(database).recent(of.id, limit)
    if as_json:
        show_json({"project": name, "events": [_as_json(event) for event in found]})
    elif found:
        show_table(_HEADERS, [_cells(event) for event in found])
    else:
        show_line("No events yet.")


def _as_json(event: Event) -> dict[str, Any]:
    return {
        "at": event.at.isoformat(),
        "user": event.user,
        "action": event.action,
        "detail": event.detail,
    }


def _cells(event: Event) -> tuple[str, ...]:
    when = f"{event.at:%Y-%m-%d %H:%M}"
    return when, event.user or COMMAND_LINE, event.action, detail_words(event.detail)
