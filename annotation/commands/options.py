"""Options that every command takes, and opening the database they name."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from db import DEFAULT_URL, Database
from db.schema import prepare

DatabaseOption = Annotated[
    str,
    typer.Option(
        "--database-url",
        envvar="KPDEMO_DATABASE_URL",
        metavar="URL",
        help="SQLite file or PostgreSQL server.",
    ),
]
WordNetOption = Annotated[
    Path | None,
    typer.Option(
        "--wordnet",
        metavar="DIR",
        envvar="KPDEMO_WORDNET",
        help="WordNet 3.0's files; by default the system's.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def open_database(url: str = DEFAULT_URL) -> Database:
    """The database with its tables up to date.

    Raises:
        DatabaseError: it cannot be used, or has to be upgraded first.
    """
    database = Database(url)
    prepare(database)
    return database
