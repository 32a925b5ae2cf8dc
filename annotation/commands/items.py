"""The larger items that pairs are written for: python -m annotation items."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from annotation.authoring import ReadLargerItem
from annotation.characters import beginning
from annotation.commands.importing import FilesArgument, FormatOption, file_sizes, opened, summary_text
from annotation.commands.options import (
    DatabaseOption,
    IdsTypeOption,
    JsonOption,
    ProjectArgument,
    open_project,
)
from annotation.exchange import read_larger_items
from annotation.figures import number_of
from annotation.files.formats import FileFormat
from annotation.services.writing.item_withdrawal import ItemWithdrawalService
from annotation.services.writing.items import ItemService
from annotation.sizes import size_of
from annotation.terminal import ProgressLine, show_json, show_line, show_table
from db import DEFAULT_URL

_SHOWN = 56
_EXAMPLES = """
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


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.add_typer(items, name="items")


@items.command("import", epilog=_EXAMPLES)
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
        found = list(_read(files, format, type or into.settings.only_type))
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
    changed = ItemWithdrawalService(database).withdraw(found.id, ids, type=type)
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
    changed = ItemWithdrawalService(database).restore(found.id, ids, type=type)
    show_line(f"{number_of(changed, 'larger item')} of {found.name} given to writers again.")


def _read(files: list[str], format: FileFormat | None, type: str | None) -> Iterator[ReadLargerItem]:
    for name in files:
        with opened(name) as source:
            yield from read_larger_items(source, format=format, type=type)
