"""The pairs of a project: python -m annotation pairs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from annotation.adjudication import beginning
from annotation.commands.importing import number_of
from annotation.commands.options import DatabaseOption, JsonOption, open_database
from annotation.services.pair_list import PairListService, PairState
from annotation.services.projects import ProjectService
from annotation.services.removal import RemovalService
from annotation.terminal import show_json, show_line, show_table
from db import DEFAULT_URL

_SHOWN = 32
_EXAMPLES = """
Examples:

\b
  python -m annotation pairs list news
  python -m annotation pairs list news --search ferry --state open --json
  python -m annotation pairs remove news p17 p18
  tail -n +2 wrong.tsv | cut -f1 | xargs python -m annotation pairs remove news    all of a wrong import
"""

pairs = typer.Typer(help="Pairs that raters grade.", epilog=_EXAMPLES, rich_markup_mode=None)


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.add_typer(pairs, name="pairs")


@pairs.callback()
def _pairs() -> None:
    """Pairs that raters grade."""


@pairs.command("list", epilog=_EXAMPLES)
def list_pairs(
    project: Annotated[str, typer.Argument(metavar="PROJECT", help="The project's name.")],
    search: Annotated[str, typer.Option(metavar="TEXT", help="A part of the id or of a text.")] = "",
    state: Annotated[PairState | None, typer.Option(help="How far they are.")] = None,
    as_json: JsonOption = False,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """List the pairs of a project in the order of import: their texts, grades so far, and how far each is."""
    database = open_database(database_url)
    found = ProjectService(database).get(project)
    page = PairListService(database).pairs(found.id, search=search, state=state, limit=None)
    if as_json:
        rows = [{name: value for name, value in asdict(line).items() if name != "id"} for line in page.items]
        show_json({"project": found.name, "raters_per_pair": page.raters_per_pair, "pairs": rows})
        return
    if not page.items:
        show_line("There is no such pair; see `python -m annotation project show` for how many there are.")
        return
    rows_shown = [
        (
            line.external_id,
            line.type,
            beginning(line.left, _SHOWN),
            beginning(line.right, _SHOWN),
            f"{line.grades} of {page.raters_per_pair}",
            line.state.value,
        )
        for line in page.items
    ]
    show_table(("Id", "Type", "Larger item", "Smaller item", "Grades", "State"), rows_shown)


@pairs.command("remove", epilog=_EXAMPLES)
def remove_pairs(
    project: Annotated[str, typer.Argument(metavar="PROJECT", help="The project's name.")],
    ids: Annotated[list[str], typer.Argument(metavar="ID…", help="Of the pairs, as the list has them.")],
    type: Annotated[
        str | None, typer.Option(metavar="TYPE", help="Of the pairs, where several have an id.")
    ] = None,
    as_json: JsonOption = False,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Take pairs out of a project again that nobody was given or graded. All of them or none."""
    database = open_database(database_url)
    found = ProjectService(database).get(project)
    removed = RemovalService(database).remove(found.id, ids, type=type)
    if as_json:
        show_json({"project": found.name, "removed": removed})
    else:
        show_line(f"Removed {number_of(removed, 'pair')} of {found.name}.")
