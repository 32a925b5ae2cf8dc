"""The command that writes every single rating: python -m annotation ratings PROJECT --output FILE."""

from __future__ import annotations

import shutil
import sys
from enum import StrEnum
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from annotation.commands.options import DatabaseOption, ProjectArgument, open_project
from annotation.commands.outputs import Output, write_all
from annotation.figures import number_of
from annotation.files.rating_files import RatingFormat, format_of
from annotation.gold import RaterColumns
from annotation.services.rating_export import RatingExportService
from annotation.terminal import show_line
from db import DEFAULT_URL, Database
from db.command import CallError

_EXAMPLES = """
Examples:

\b
  python -m annotation ratings news --output news-ratings.csv
  python -m annotation ratings news --raters named | jq -s 'group_by(.rater) | map(length)'
"""


class _Raters(StrEnum):
    ANONYMOUS = RaterColumns.ANONYMOUS.value
    NAMED = RaterColumns.NAMED.value


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("ratings", epilog=_EXAMPLES)(ratings)


def ratings(
    project: ProjectArgument,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A file that ends in .jsonl, .csv or .tsv. Without it, or with -, JSON Lines are printed.",
        ),
    ] = None,
    raters: Annotated[
        _Raters, typer.Option(help="“rater 1” and so on, as in gold sets, or the names of accounts.")
    ] = _Raters.ANONYMOUS,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Write all single ratings, one per row, also of pairs without a gold grade.

    Each has id and type of its pair, rater, grade, the seconds the pair was looked at, when the grade was
    given, and how often it was changed before. The file can be imported again.
    """
    is_printed = output is None or str(output) == "-"
    format = RatingFormat.JSONL if output is None or is_printed else format_of(output)
    if format is None:
        raise CallError(
            f"{output}: the format is chosen by the name of the file; end it in .jsonl, .csv or .tsv."
        )
    database, of = open_project(database_url, project)
    with TemporaryDirectory(prefix="kpdemo-") as folder:
        file = Path(folder, "ratings")
        service, named = RatingExportService(database), raters is _Raters.NAMED
        if output is None or is_printed:
            service.export(of.id, file, format, named=named)
            with file.open("rb") as stream:
                shutil.copyfileobj(stream, sys.stdout.buffer)
            return
        place = partial(_publish, file, output, database)
        written = service.export(of.id, file, format, named=named, publish=place)
    show_line(f"{output}: {number_of(written, 'rating')}.")


def _publish(file: Path, output: Path, database: Database) -> None:
    with file.open(encoding="utf-8", newline="") as lines:
        write_all([Output(output, lines)], database)
