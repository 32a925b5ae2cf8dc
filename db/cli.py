"""The command line: `python -m db upgrade`, `current`, `check`, `backup`, `restore`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from db.backup import backup as write_backup
from db.backup import restore as restore_backup
from db.checks import Check
from db.checks import check as check_database
from db.database import DEFAULT_URL, Database
from db.errors import EXPLANATIONS, DatabaseError, UrlError
from db.migrations import MIGRATIONS, refuse_foreign, refuse_missing
from db.migrations import current as current_revision
from db.migrations import upgrade as upgrade_database
from kpdemo.command import CallError, add_start, fail, run_command

PROGRAM = "python -m db"
_EPILOG = f"""
Examples:

\b
  {PROGRAM} check
  {PROGRAM} upgrade --database-url postgresql://kpdemo@localhost/kpdemo
  {PROGRAM} backup backups/monday.db
  {PROGRAM} restore backups/monday.db --force

\b
A backup is an SQLite file, whichever system it was made from, and can be restored to both.
The variable KPDEMO_DATABASE_URL can be used instead of --database-url.
"""

app = typer.Typer(
    help="The database of accounts, projects, ratings and gold sets.",
    epilog=_EPILOG,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
add_start(app)

UrlOption = Annotated[
    str,
    typer.Option(
        "--database-url",
        envvar="KPDEMO_DATABASE_URL",
        metavar="URL",
        help="sqlite:///PATH or postgresql://USER@HOST/NAME.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line, by default this process's own, and return its exit status."""
    return run_command(
        app, PROGRAM, arguments, wrong=(UrlError,), failures=(DatabaseError,), explain=EXPLANATIONS
    )


@app.command()
def upgrade(url: UrlOption = DEFAULT_URL, as_json: JsonOption = False) -> None:
    """Bring the tables up to date. An SQLite file is copied first."""
    with _database(url) as database:
        done = upgrade_database(database)
        if as_json:
            copy = None if done.copy is None else str(done.copy)
            _print_json({"before": done.before, "after": done.after, "copy": copy})
        elif done.before == done.after:
            print(f"{database} is up to date: revision {done.after}.")
        else:
            print(f"{database} is upgraded: revision {done.before or 'none'} to {done.after}.")
            if done.copy is not None:
                print(f"A copy of it before the upgrade is in {done.copy}.")


@app.command()
def current(url: UrlOption = DEFAULT_URL, as_json: JsonOption = False) -> None:
    """Show the revision of the tables, and the one that this version needs."""
    with _database(url) as database:
        refuse_missing(database)
        revision = current_revision(database)
        if revision is None:
            refuse_foreign(database)
        if as_json:
            _print_json({"revision": revision, "newest": MIGRATIONS.head})
        elif revision is None:
            print(f"{database} has no tables yet; this version needs {MIGRATIONS.head}.")
        else:
            print(f"{database} has revision {revision}; this version needs {MIGRATIONS.head}.")


@app.command()
def check(url: UrlOption = DEFAULT_URL, as_json: JsonOption = False) -> None:
    """Check that the tables, the file and the rows are intact. Exit status 1 if not."""
    with _database(url) as database:
        try:
            found = check_database(database)
        except DatabaseError as error:  # there is nothing to look at
            if not as_json:
                raise
            _print_check(Check(None, (str(error),), {}))
            raise typer.Exit(fail(str(error), 1)) from None
        if as_json:
            _print_check(found)
        else:
            rows = _rows(sum(found.rows.values()))
            print("\n".join(found.problems) or f"{database} is intact: revision {found.revision}, {rows}.")
        if found.problems:
            count = "one problem" if len(found.problems) == 1 else f"{len(found.problems)} problems"
            problem = f"{database} has {count}."
            raise typer.Exit(fail(problem, 1)) if as_json else DatabaseError(problem)


@app.command()
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write; usually ends in .db.")],
    force: Annotated[bool, typer.Option("--force", help="Replace FILE.")] = False,
    url: UrlOption = DEFAULT_URL,
    as_json: JsonOption = False,
) -> None:
    """Write everything to one file. The database may be in use at the same time."""
    with _database(url) as database:
        done = write_backup(database, file, overwrite=force)
        if as_json:
            _print_json({"file": str(done.file), "revision": done.revision, "bytes": done.size})
        else:
            print(f"{database} is backed up in {done.file}: revision {done.revision}, {done.size:,} bytes.")


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file written by `backup`.")],
    force: Annotated[bool, typer.Option("--force", help="Replace the contents of the database.")] = False,
    url: UrlOption = DEFAULT_URL,
    as_json: JsonOption = False,
) -> None:
    """Restore a backup, completely or not at all. Everybody has to sign in again."""
    if not file.exists():
        raise CallError(f"{file}: no such file; check the name.")
    with _database(url) as database:
        done = restore_backup(database, file, overwrite=force)
        if as_json:
            _print_json({"file": str(file), "revision": done.revision, "rows": done.rows})
        else:
            print(
                f"{database} now has the contents of {file}: {_rows(done.rows)}. Everybody has to sign in "
                "again."
            )


@contextmanager
def _database(url: str) -> Iterator[Database]:
    database = Database(url)
    try:
        yield database
    finally:
        database.dispose()


def _print_check(found: Check) -> None:
    state = {"ok": not found.problems, "revision": found.revision, "newest": MIGRATIONS.head}
    _print_json({**state, "problems": found.problems, "rows": found.rows})


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


def _print_json(value: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")
