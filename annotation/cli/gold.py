"""`python -m annotation export` and `ratings`: the gold set, and every single rating, as files."""

from __future__ import annotations

import shlex
import shutil
import sys
from enum import StrEnum
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from annotation.cli.options import (
    DatabaseOption,
    JsonOption,
    Output,
    ProjectArgument,
    open_project,
    write_all,
)
from annotation.errors import ExportError, UnfinishedError
from annotation.files.gold_files import RatingFormat, format_of
from annotation.gold import ExportOptions, Format, RaterColumns, Unfinished
from annotation.services.gold import ExportedGold, GoldService
from annotation.services.ratings import RatingExportService
from db import DEFAULT_URL, Database
from kpdemo.command import CallError
from kpdemo.terminal import ProgressLine, show_json, show_line
from kpdemo.text import number_of

_PRINTED = (Format.JSONL, Format.CSV, Format.SPREADSHEET)
_EXPORT_EXAMPLES = """
Examples:

\b
  python -m annotation export news --unfinished leave-out > news.jsonl
  python -m annotation export news --format csv --output news-gold --unfinished list
"""


def register_export(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("export", epilog=_EXPORT_EXAMPLES)(export)


def export(
    project: ProjectArgument,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="A folder that is empty or does not exist yet. Without it, or with -, the gold set itself "
            "is printed, as jsonl, csv or spreadsheet.",
        ),
    ] = None,
    format: Annotated[
        Format,
        typer.Option(help="Format of the files; spreadsheet is CSV in which no text runs as a formula."),
    ] = Format.JSONL,
    unfinished: Annotated[
        Unfinished,
        typer.Option(
            help="Pairs without a gold grade: refuse to export, leave them out, or list them in a file."
        ),
    ] = Unfinished.REFUSE,
    raters: Annotated[
        RaterColumns,
        typer.Option(
            help="Single ratings: left out, by “rater 1” and so on, or by account name; semeval has none."
        ),
    ] = RaterColumns.ANONYMOUS,
    comments: Annotated[
        bool, typer.Option("--comments", help="Include raters' comments on pairs; semeval has none.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier export in DIR.")] = False,
    as_json: JsonOption = False,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Write the gold set (adjudicated grades, otherwise means) with a manifest and a dataset card."""
    options = ExportOptions(format, unfinished, raters, comments)
    if output is None or str(output) == "-":
        if format not in _PRINTED or unfinished is Unfinished.LIST or as_json:
            raise CallError(
                "--format semeval and parquet, --unfinished list and --json need a folder: give --output DIR."
            )
        _print(project, options, database_url)
        return
    exported = _write(project, output, options, database_url, force=force)
    if as_json:
        show_json(exported.manifest | {"manifest_sha256": exported.manifest_sha256, "output": str(output)})
    else:
        _show(exported, output, project)


def _show(exported: ExportedGold, output: Path, project: str) -> None:
    files = exported.manifest["files"]
    for file in files:
        show_line(f"{output / file['name']}: {number_of(file['rows'], 'row')}, SHA-256 {file['sha256']}")
    show_line(f"{output / 'manifest.json'}: SHA-256 {exported.manifest_sha256}")
    show_line(f"{output / 'README.md'}: a dataset card; it says what to add before the files are published.")
    if reopened := exported.manifest["counts"].get("reopened"):
        show_line(
            f"Exported pairs that were graded after their decision and are open again: {reopened:,}; `python "
            f"-m annotation adjudications {shlex.quote(project)}` lists them."
        )
    if marked := exported.manifest["counts"].get("marked_as_problem"):
        show_line(
            f"Exported pairs that a rater marked as a problem: {marked:,}; `python -m annotation remarks "
            f"{shlex.quote(project)}` lists their comments, and `pairs withdraw` takes a pair out."
        )
    if not any(file["rows"] for file in files if not file["name"].startswith("unfinished")):
        show_line("No pair has a gold grade yet: the gold set is empty until raters have graded enough.")


def _print(project: str, options: ExportOptions, database_url: str) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "gold"
        _write(project, path, options, database_url)
        with (path / f"gold.{options.format.ending}").open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)


def _write(
    project: str, output: Path, options: ExportOptions, database_url: str, *, force: bool = False
) -> ExportedGold:
    database, of = open_project(database_url, project)
    service = GoldService(database)
    total = service.counts(of.id).pairs
    try:
        with ProgressLine("Exporting", total=total, unit="pairs") as line:
            return service.export(of.id, output, options, force=force, progress=line.show)
    except UnfinishedError as error:
        ways = f"--unfinished {Unfinished.LEAVE_OUT} or --unfinished {Unfinished.LIST}"
        it = "it" if error.missing == 1 else "them"
        raise ExportError(f"{error.problem}: have {it} graded and adjudicated, or give {ways}.") from None


_RATINGS_EXAMPLES = """
Examples:

\b
  python -m annotation ratings news --output news-ratings.csv
  python -m annotation ratings news --raters named | jq -s 'group_by(.rater) | map(length)'
"""


class _Raters(StrEnum):
    ANONYMOUS = RaterColumns.ANONYMOUS.value
    NAMED = RaterColumns.NAMED.value


def register_ratings(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("ratings", epilog=_RATINGS_EXAMPLES)(ratings)


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
    for_spreadsheets: Annotated[
        bool,
        typer.Option(
            "--for-spreadsheets", help="CSV in which no text runs as a formula when a program opens it."
        ),
    ] = False,
    second: Annotated[
        bool,
        typer.Option("--second", help="First and second grade of the repeat pairs, in place of the ratings."),
    ] = False,
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
    if for_spreadsheets and format is not RatingFormat.CSV:
        raise CallError("--for-spreadsheets is for CSV: give --output a file that ends in .csv.")
    database, of = open_project(database_url, project)
    with TemporaryDirectory(prefix="kpdemo-") as folder:
        file = Path(folder, "ratings")
        service, named = RatingExportService(database), raters is _Raters.NAMED
        if output is None or is_printed:
            service.export(of.id, file, format, named=named, second=second)
            with file.open("rb") as stream:
                shutil.copyfileobj(stream, sys.stdout.buffer)
            return
        place = partial(_publish, file, output, database)
        written = service.export(
            of.id, file, format, named=named, is_safe=for_spreadsheets, second=second, publish=place
        )
    show_line(f"{output}: {number_of(written, 'second grade' if second else 'rating')}.")


def _publish(file: Path, output: Path, database: Database) -> None:
    with file.open(encoding="utf-8", newline="") as lines:
        write_all([Output(output, lines)], database)
