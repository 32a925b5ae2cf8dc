"""`python -m annotation items` and `writing`: larger items, reports, bounds and pairs of grade 0."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from annotation.authoring import GradeGap, LargerItemInput, WritingReport, cumulative, report_json
from annotation.cli.options import (
    DatabaseOption,
    IdsTypeOption,
    JsonOption,
    ProjectArgument,
    open_project,
    option_errors,
)
from annotation.cli.pairs import FilesArgument, FormatOption, file_sizes, open_input, summary_text
from annotation.comparison import Bounds, PairBounds, bounds_json, check_range, guidance, size_of
from annotation.exchange import FileFormat, read_larger_items
from annotation.services.editing import EditingService, WritingReportService
from annotation.services.larger_items import ItemService
from annotation.wording import beginning, figure_text, share_text
from db import DEFAULT_URL
from kpdemo.command import CallError
from kpdemo.terminal import ProgressLine, show_json, show_line, show_table
from kpdemo.text import number_of

_SHOWN = 56
_ITEM_EXAMPLES = """
Examples:

\b
  python -m annotation items import news items.tsv
  python -m annotation items list news --json
  python -m annotation items withdraw news 17 18
  python -m annotation items restore news 18

\b
Larger items have the fields id, type and text and, if wished, genre and source.
"""

items = typer.Typer(help="Larger items, for which writers write smaller ones.", rich_markup_mode=None)

IdsArgument = Annotated[
    list[str], typer.Argument(metavar="ID…", help="Ids of the items, as in `items list`.")
]


def register_items(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.add_typer(items, name="items")


@items.command("import", epilog=_ITEM_EXAMPLES)
def import_items(
    project: ProjectArgument,
    files: FilesArgument,
    type: Annotated[
        str | None, typer.Option(metavar="TYPE", help="The comparison type of items without one in the file.")
    ] = None,
    format: FormatOption = None,
    as_json: JsonOption = False,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Import larger items: all files or nothing. Their size must fit their type."""
    file_sizes(files)
    database, into = open_project(database_url, project)
    with ProgressLine("Importing", unit="rows") as line:
        # All of it before the transaction begins: a slow pipe would keep raters from saving.
        found = list(_read_items(files, format, type or into.settings.only_type))
        summary = ItemService(database).import_items(
            into.id,
            found,
            progress=lambda done: line.show(done, count=done),
            files=[Path(name).name for name in files],
        )
    if as_json:
        show_json({"project": into.name, "items": summary.items, "duplicates": list(summary.duplicates)})
    else:
        show_line(
            summary_text(number_of(summary.items, "larger item"), into.name, summary.duplicates, "item")
        )


@items.command("list")
def list_items(
    project: ProjectArgument, as_json: JsonOption = False, database_url: DatabaseOption = DEFAULT_URL
) -> None:
    """List the larger items of a project and their state."""
    database, found = open_project(database_url, project)
    lines = ItemService(database).items(found.id, limit=None)
    if as_json:
        show_json({"project": found.name, "items": [asdict(line) for line in lines]})
        return
    if not lines:
        show_line("No larger items yet. Import some: python -m annotation items import PROJECT FILE")
        return
    cells = [
        (
            line.type,
            line.id,
            line.genre or "–",
            size_of(line.text).words,
            beginning(line.text, _SHOWN),
            line.state.replace("_", " "),
        )
        for line in lines
    ]
    show_table(("Type", "Id", "Genre", "Words", "Text", "State"), cells, right=("Words",))


@items.command("withdraw")
def withdraw_items(
    project: ProjectArgument,
    ids: IdsArgument,
    type: IdsTypeOption = None,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Stop giving larger items to writers; drafts are kept. All of them or none."""
    database, found = open_project(database_url, project)
    changed = ItemService(database).withdraw(found.id, ids, type=type)
    show_line(f"{number_of(changed, 'larger item')} of {found.name} withdrawn.")


@items.command("restore")
def restore_items(
    project: ProjectArgument,
    ids: IdsArgument,
    type: IdsTypeOption = None,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Give withdrawn items to writers again."""
    database, found = open_project(database_url, project)
    changed = ItemService(database).restore(found.id, ids, type=type)
    show_line(f"{number_of(changed, 'larger item')} of {found.name} given to writers again.")


def _read_items(files: list[str], format: FileFormat | None, type: str | None) -> Iterator[LargerItemInput]:
    for name in files:
        with open_input(name) as source:
            yield from read_larger_items(source, format=format, type=type)


_WRITING_EXAMPLES = """
Examples:

\b
  python -m annotation writing report news
  python -m annotation writing bounds news --type phrase2word --larger-words 2-8
  python -m annotation writing bounds news --no-zeros
  python -m annotation writing zeros news
"""

writing = typer.Typer(
    help="Writing pairs: report, bounds on the size of items, pairs of grade 0.",
    epilog=_WRITING_EXAMPLES,
    rich_markup_mode=None,
)
RangeOption = Annotated[str | None, typer.Option(metavar="LOW-HIGH")]


def register_writing(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.add_typer(writing, name="writing")


@writing.command(epilog=_WRITING_EXAMPLES)
def report(
    project: ProjectArgument, as_json: JsonOption = False, database_url: DatabaseOption = DEFAULT_URL
) -> None:
    """Show requested and obtained grades, balance, figures of each writer, and the distribution of grades."""
    database, of = open_project(database_url, project)
    found = WritingReportService(database).report(of.id)
    if as_json:
        show_json(report_json(found))
        return
    _show_balance(found)
    _show_matrix(found)
    _show_writers(found)
    _show_distribution(found)


@writing.command(epilog=_WRITING_EXAMPLES)
def bounds(
    project: ProjectArgument,
    type: Annotated[
        str | None, typer.Option(metavar="TYPE", help="The comparison type to set bounds for.")
    ] = None,
    larger_words: RangeOption = None,
    larger_sentences: RangeOption = None,
    smaller_words: RangeOption = None,
    smaller_sentences: RangeOption = None,
    zeros: Annotated[
        bool | None,
        typer.Option("--zeros/--no-zeros", help="Whether to reserve items for pairs of grade 0."),
    ] = None,
    as_json: JsonOption = False,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Show how large items may be, or change it."""
    database, found = open_project(database_url, project)
    service = ItemService(database)
    given = (larger_words, larger_sentences, smaller_words, smaller_sentences)
    changed = None
    if any(text is not None for text in given):
        if type is None:
            raise CallError("Bounds belong to a comparison type: name it with --type.")
        changed = _merge_range(service.plan(found.id).of(type), given)
    if changed is not None or zeros is not None:
        service.change_plan(found.id, type=type, bounds=changed, has_zeros=zeros)
    plan = service.plan(found.id)
    if as_json:
        types = {each: bounds_json(plan.of(each)) for each in found.settings.types}
        show_json({"project": found.name, "zeros": plan.has_zeros, "bounds": types})
        return
    rows = [
        (each, guidance(plan.of(each).larger), guidance(plan.of(each).smaller))
        for each in found.settings.types
    ]
    show_table(("Type", "Larger item", "Smaller item"), rows)
    show_line(f"Items are {'' if plan.has_zeros else 'not '}reserved for pairs of grade 0.")


@writing.command(epilog=_WRITING_EXAMPLES)
def zeros(
    project: ProjectArgument, as_json: JsonOption = False, database_url: DatabaseOption = DEFAULT_URL
) -> None:
    """Make pairs of grade 0 from the items reserved for them."""
    database, found = open_project(database_url, project)
    made = EditingService(database).make_zeros(found.id)
    if as_json:
        show_json({"project": found.name, "made": made.made, "waiting": made.waiting})
        return
    show_line(
        f"Made {number_of(made.made, 'pair')} of grade 0 in {found.name}; "
        f"{number_of(made.waiting, 'item')} without a partner yet."
    )


def _merge_range(before: PairBounds, given: tuple[str | None, ...]) -> PairBounds:
    usual = (before.larger.words, before.larger.sentences, before.smaller.words, before.smaller.sentences)
    names = ("--larger-words", "--larger-sentences", "--smaller-words", "--smaller-sentences")
    with option_errors():
        ranges = [
            kept if text is None else check_range(text, name)
            for text, kept, name in zip(given, usual, names, strict=True)
        ]
    return PairBounds(Bounds(ranges[0], ranges[1]), Bounds(ranges[2], ranges[3]))


def _show_balance(report: WritingReport) -> None:
    heads = tuple(map(str, report.points))
    rows = [(group.type, group.genre or "–", *group.counts, group.unwritten) for group in report.groups]
    right = (*heads, "Unwritten")
    show_table(("Type", "Genre", *heads, "Unwritten"), rows, title="Requested grades", right=right)
    show_line(
        f"{number_of(report.waiting, 'text')} to review, {number_of(report.reserved, 'item')} reserved for "
        f"grade {report.points[0]}, {number_of(report.not_understood, 'item')} left blank.\n"
    )


def _show_matrix(report: WritingReport) -> None:
    heads = tuple(f"got {grade}" for grade in report.points)
    rows = [
        (grade, *row, *_drift_cells(drift))
        for grade, row, drift in zip(report.points, report.matrix, report.by_grade, strict=True)
    ]
    rows += [(type, *[""] * len(heads), *_drift_cells(drift)) for type, drift in report.by_type]
    rows.append(("all", *[""] * len(heads), *_drift_cells(report.whole)))
    last = ("Pairs", "Mean", "Drift", "Off by")
    show_table(("Requested", *heads, *last), rows, title="Requested and obtained", right=(*heads, *last))
    show_line("")


def _show_writers(report: WritingReport) -> None:
    heads = (
        "To review",
        "Accepted",
        "Sent back",
        "Blank",
        "Handed on",
        "Seconds",
        "Graded",
        "Drift",
        "Off by",
    )
    rows = []
    for each in report.writers:
        counts, (pairs, _, drift, distance) = each.counts, _drift_cells(each.drift)
        done = (counts.submitted, counts.accepted, counts.sent_back, counts.blank, counts.handed_on)
        rows.append((counts.writer, *done, figure_text(counts.seconds, 0), pairs, drift, distance))
    if rows:
        show_table(("Writer", *heads), rows, title="Writers", right=heads)
        show_line("")


def _show_distribution(report: WritingReport) -> None:
    if not report.distribution:
        show_line("No pair has a gold grade yet: the distribution of grades appears with the first.")
        return
    heads = tuple(f"{middle:g}" for middle in map(float, report.bins))
    rows = []
    for type, counts in report.distribution:
        rows.append((type, *counts))
        rows.append(("  up to here", *map(share_text, cumulative(counts))))
    show_table(("Type", *heads), rows, title="Obtained grades", right=heads)


def _drift_cells(drift: GradeGap) -> tuple[object, str, str, str]:
    return (
        drift.pairs,
        figure_text(drift.obtained, 2),
        figure_text(drift.drift, 2, sign="+"),
        figure_text(drift.distance, 2),
    )
