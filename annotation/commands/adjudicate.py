"""The command that takes decisions from a table: python -m annotation adjudicate PROJECT FILE --as NAME."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Annotated

import typer

from annotation.commands.importing import file_sizes, opened
from annotation.commands.options import DatabaseOption, JsonOption, ProjectArgument, open_project
from annotation.exchange import read_decisions
from annotation.figures import number_of
from annotation.services.decision_tables import DecisionTableService
from annotation.terminal import show_json, show_line
from db import DEFAULT_URL

_EXAMPLES = """
Examples:

\b
  python -m annotation adjudications news --output flagged.csv
  python -m annotation adjudicate news flagged.csv --as Judith

\b
A table has the fields id, grade and cause and, if wished, note, type and version_seen. Rows without grade,
cause and note are skipped. All decisions are saved, or none.
"""


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("adjudicate", epilog=_EXAMPLES)(adjudicate)


def adjudicate(
    project: ProjectArgument,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="TSV, CSV, JSON Lines or .gz; - is standard input.")
    ],
    by: Annotated[
        str, typer.Option("--as", metavar="USER", help="The adjudicator or administrator who decides.")
    ],
    replaces: Annotated[
        bool,
        typer.Option("--replace", help="Replace different decisions made since the table was written."),
    ] = False,
    as_json: JsonOption = False,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Decide on flagged pairs from a table that `adjudications --output` wrote: all of them or none."""
    file_sizes([file])
    database, of = open_project(database_url, project)
    with opened(file, sys.stdin.buffer) as source:
        decisions = list(read_decisions(source))
    done = DecisionTableService(database).decide_all(of.id, decisions, by, replaces=replaces)
    if as_json:
        show_json({"project": of.name, **asdict(done)})
        return
    show_line(
        f"{number_of(done.decided, 'pair')} of {of.name} decided, {done.unchanged:,} as before, "
        f"{number_of(done.empty, 'row')} without a grade."
    )
