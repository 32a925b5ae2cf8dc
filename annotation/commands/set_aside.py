"""`python -m annotation user set-aside` and `bring-back`: the grades of a rater, as if never given."""

from __future__ import annotations

from typing import Annotated

import typer

from annotation.commands.options import DatabaseOption, JsonOption, open_project
from annotation.commands.users import NameArgument, ProjectOption, users
from annotation.figures import number_of
from annotation.services.set_aside import SetAsideService
from annotation.terminal import show_json, show_line
from db import DEFAULT_URL

_EXAMPLES = """
Examples:

\b
  python -m annotation user set-aside Ben --project news --reason "gave 2 to every pair"
  python -m annotation user bring-back Ben --project news
  python -m annotation agreement news --json | jq .set_aside
"""


def register(app: typer.Typer) -> None:
    """Add the commands of this file to those of `user`."""
    users.command("set-aside", epilog=_EXAMPLES)(set_aside)
    users.command("bring-back", epilog=_EXAMPLES)(bring_back)


def set_aside(
    name: NameArgument,
    project: ProjectOption,
    reason: Annotated[
        str, typer.Option(metavar="TEXT", help="Reason, stated with agreement and in gold sets.")
    ],
    as_json: JsonOption = False,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Exclude a rater's grades in a project, pause the rater, and let others grade the pairs."""
    database, found = open_project(database_url, project)
    grades = SetAsideService(database).set_aside(found.id, name, reason)
    if as_json:
        show_json({"project": found.name, "rater": name, "grades": grades})
        return
    show_line(f"{number_of(grades, 'grade')} of {name} set aside in {found.name}: others grade these pairs.")


def bring_back(
    name: NameArgument,
    project: ProjectOption,
    as_json: JsonOption = False,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Count grades that were set aside again, if their pairs do not have all their raters by now."""
    database, found = open_project(database_url, project)
    done = SetAsideService(database).bring_back(found.id, name)
    if as_json:
        figures = {"grades": done.grades, "left": done.left, "paused": done.is_paused}
        show_json({"project": found.name, "rater": name, **figures})
        return
    show_line(f"{number_of(done.grades, 'grade')} of {name} brought back in {found.name}.")
    if done.left:
        show_line(done.left_text)
    if done.is_paused:
        show_line(f"{name} stays paused.")
