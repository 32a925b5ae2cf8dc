"""The pairs of a project: python -m annotation pairs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from annotation.characters import beginning
from annotation.commands.importing import STDIN
from annotation.commands.options import (
    DatabaseOption,
    IdsTypeOption,
    JsonOption,
    ProjectArgument,
    open_project,
)
from annotation.figures import number_of
from annotation.services.pair_list import PairLine, PairListService, PairState
from annotation.services.pair_removal import PairRemovalService
from annotation.services.pair_withdrawal import PairWithdrawalService
from annotation.terminal import show_json, show_line, show_table
from annotation.types import Project
from db import DEFAULT_URL
from db.command import CallError

_SHOWN = 32
_LONGEST_SEARCH = 10_000
"""Characters: SQLite compares with at most 50,000 bytes."""
_EXAMPLES = """
Examples:

\b
  python -m annotation pairs list news
  python -m annotation pairs list news --search ferry --state open --json
  python -m annotation pairs withdraw news p17 --reason "its text is cut off"
  python -m annotation pairs restore news p17
  tail -n +2 wrong.tsv | cut -f1 | python -m annotation pairs remove news -
"""

IdsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="ID…",
        help="Ids of the pairs, as `pairs list` has them; - reads them from standard input, one per line. "
        "Before ids that begin with a hyphen write --.",
    ),
]
ReasonOption = Annotated[str, typer.Option(metavar="TEXT", help="Reason, kept with the project's events.")]

pairs = typer.Typer(help="Pairs that raters grade.", epilog=_EXAMPLES, rich_markup_mode=None)


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.add_typer(pairs, name="pairs")


@pairs.callback()
def _pairs() -> None:
    """Pairs that raters grade."""


@pairs.command("list", epilog=_EXAMPLES)
def list_pairs(
    project: ProjectArgument,
    search: Annotated[
        str, typer.Option(metavar="TEXT", help="Only pairs with this in their id or a text.")
    ] = "",
    state: Annotated[PairState | None, typer.Option(help="Only pairs in this state.")] = None,
    as_json: JsonOption = False,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """List the pairs of a project in the order of import: their texts, grades so far and state."""
    if len(search) > _LONGEST_SEARCH:
        raise CallError(f"--search has {len(search):,} characters: give at most {_LONGEST_SEARCH:,}.")
    database, found = open_project(database_url, project)
    page = PairListService(database).pairs(
        found.id, search=search, state=state, limit=None, has_whole_texts=as_json
    )
    if as_json:
        rows = [_as_json(line) for line in page.items]
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
    show_table(("Id", "Type", "Left item", "Right item", "Grades", "State"), rows_shown)


@pairs.command("remove", epilog=_EXAMPLES)
def remove_pairs(
    project: ProjectArgument,
    ids: IdsArgument,
    type: IdsTypeOption = None,
    as_json: JsonOption = False,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Remove pairs that no rater was given or graded from a project. All of them or none."""
    named = named_ids(ids)
    database, found = open_project(database_url, project)
    count = PairRemovalService(database).remove(found.id, named, type=type)
    _tell(count, found, "removed", as_json=as_json)


@pairs.command("withdraw", epilog=_EXAMPLES)
def withdraw_pairs(
    project: ProjectArgument,
    ids: IdsArgument,
    type: IdsTypeOption = None,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Stop giving pairs to raters and leave them out of all figures; grades are kept. All of them or none."""
    named = named_ids(ids)
    database, found = open_project(database_url, project)
    count = PairWithdrawalService(database).withdraw(found.id, named, type=type, reason=reason)
    _tell(count, found, "withdrawn", as_json=as_json)


@pairs.command("restore", epilog=_EXAMPLES)
def restore_pairs(
    project: ProjectArgument,
    ids: IdsArgument,
    type: IdsTypeOption = None,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Restore withdrawn pairs. All of them or none."""
    named = named_ids(ids)
    database, found = open_project(database_url, project)
    count = PairWithdrawalService(database).restore(found.id, named, type=type, reason=reason)
    _tell(count, found, "restored", as_json=as_json)


def named_ids(arguments: Sequence[str]) -> list[str]:
    """The ids of the call, or for - alone those that standard input has, one per line.

    Raises:
        CallError: - stands beside ids, or standard input has none or is not UTF-8.
    """
    if STDIN not in arguments:
        return list(arguments)
    if len(arguments) > 1:
        raise CallError(
            "Ids are given together with -: give either ids, or - alone and all ids on standard input."
        )
    try:
        text = sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise CallError("The ids on standard input are not UTF-8: save them as UTF-8.") from None
    ids = [id for line in text.split("\n") if (id := line.strip())]
    if not ids:
        raise CallError("Standard input names no pair: write ids to it, one per line.")
    return ids


def _as_json(line: PairLine) -> dict[str, Any]:
    return {
        "id": line.external_id,
        "type": line.type,
        "genre": line.genre,
        "left": line.left,
        "right": line.right,
        "grades": line.grades,
        "state": line.state,
    }


def _tell(count: int, project: Project, done: str, *, as_json: bool) -> None:
    """Say how many pairs of the call were changed."""
    if as_json:
        show_json({"project": project.name, done: count})
    else:
        show_line(f"{number_of(count, 'pair')} of {project.name} {done}.")
