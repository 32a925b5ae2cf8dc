"""`python -m annotation project`: making, showing and deleting projects, and who works in them."""

from __future__ import annotations

import shlex
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Annotated

import typer

from annotation.commands.options import (
    DatabaseOption,
    JsonOption,
    decimal_option,
    open_database,
    options_checked,
)
from annotation.commands.project_views import (
    Order,
    length_text,
    most_text,
    project_json,
    roles_of,
    settings_rows,
    total_cells,
    totals,
)
from annotation.commands.stuck import show_stuck, stuck_json
from annotation.figures import number_of
from annotation.predictions.pool import TYPE as TYPE_OF_KEYPHRASES
from annotation.projects import check_settings
from annotation.services.projects import ProjectService
from annotation.services.rating.stuck import StuckService
from annotation.setting_changes import seen_settings
from annotation.terminal import show_json, show_line, show_table
from annotation.types import ProjectSettings, Role
from db import DEFAULT_URL
from db.command import CallError

_DEFAULTS = ProjectSettings("")
_LARGEST_FILE = 1_000_000
_MOST_STUCK = 20
_EXAMPLES = """
Examples:

\b
  python -m annotation project create news --types sentence2phrase --raters 3 --guidelines news.md
  python -m annotation project add-member news Ana --role rater
  python -m annotation project change news --most-per-rater 40
  python -m annotation project change news --consent consent.md
  python -m annotation project show news
  python -m annotation project list --json
  python -m annotation project delete news --yes
"""


NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The project's name.")]
MostOption = Annotated[
    int | None, typer.Option(metavar="N", help="How many pairs a rater is given at most; 0 for any number.")
]
ConsentOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Markdown that raters and writers must agree to before they work; an empty file for none.",
    ),
]
UserArgument = Annotated[str, typer.Argument(metavar="USER", help="The account's name.")]

projects = typer.Typer(help="Projects: pairs to grade, and how.", epilog=_EXAMPLES, rich_markup_mode=None)


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.add_typer(projects, name="project")


@projects.command(epilog=_EXAMPLES)
def create(
    name: NameArgument,
    types: Annotated[
        list[str] | None,
        typer.Option(metavar="TYPE,…", help=f"Comparison types; by default {', '.join(_DEFAULTS.types)}."),
    ] = None,
    raters: Annotated[
        int, typer.Option(metavar="K", help="How many raters grade each pair, 1 to 20.")
    ] = _DEFAULTS.raters_per_pair,
    threshold: Annotated[
        Decimal,
        typer.Option(
            metavar="GRADES",
            parser=decimal_option,
            help="A pair is flagged when two ratings differ by so much or more, 0.25 to 4.",
        ),
    ] = _DEFAULTS.threshold,
    step: Annotated[
        Decimal, typer.Option(metavar="GRADES", parser=decimal_option, help="Between grades: 0.25, 0.5 or 1.")
    ] = _DEFAULTS.step,
    guidelines: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Markdown that raters are shown.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Of the random order.")] = _DEFAULTS.seed,
    order: Annotated[Order, typer.Option(help="In which raters meet the pairs.")] = Order.RANDOM,
    revise: Annotated[
        bool, typer.Option("--revise/--no-revise", help="Whether raters may change their grades.")
    ] = True,
    lease: Annotated[
        int, typer.Option(metavar="MINUTES", help="After so long an abandoned pair goes to others.")
    ] = _DEFAULTS.lease_minutes,
    most_per_rater: MostOption = None,
    consent: ConsentOption = None,
    as_json: JsonOption = False,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Make a project; pairs are imported into it afterwards."""
    settings = ProjectSettings(
        name=name,
        types=_DEFAULTS.types if types is None else tuple(part for text in types for part in text.split(",")),
        guidelines="" if guidelines is None else _read(guidelines),
        raters_per_pair=raters,
        threshold=threshold,
        step=step,
        is_random=order is Order.RANDOM,
        seed=seed,
        may_revise=revise,
        lease_minutes=lease,
        most_per_rater=most_per_rater or None,
        consent="" if consent is None else _read(consent),
    )
    with options_checked():
        checked = check_settings(settings)
    project = ProjectService(open_database(database_url, may_make=True)).create(checked)
    if as_json:
        show_json(project_json(project))
    else:
        show_line(f"Created {project.name}. Next: {_next_step(project.settings)}")


def _next_step(settings: ProjectSettings) -> str:
    called = shlex.quote(settings.name)
    if settings.only_type == TYPE_OF_KEYPHRASES:
        return f"python -m annotation send {called} with documents and what models predicted for them."
    return (
        f"python -m annotation import {called} FILE with its pairs, "
        f"or python -m annotation items import {called} FILE with what writers begin from."
    )


@projects.command(epilog=_EXAMPLES)
def change(
    name: NameArgument,
    most_per_rater: MostOption = None,
    consent: ConsentOption = None,
    as_json: JsonOption = False,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Change how many pairs a rater is given, or the consent text, which all are then asked to agree to.

    The page of the project changes all its settings.
    """
    if most_per_rater is None and consent is None:
        raise CallError("Nothing to change: give --most-per-rater or --consent.")
    service = ProjectService(open_database(database_url))
    before = service.get(name)
    with options_checked():
        settings = before.settings
        if most_per_rater is not None:
            settings = replace(settings, most_per_rater=most_per_rater or None)
        if consent is not None:
            settings = replace(settings, consent=_read(consent))
        settings = check_settings(settings)
    project = service.update(before.id, settings, seen=seen_settings(before.settings))
    if as_json:
        show_json(project_json(project))
        return
    if most_per_rater is not None:
        show_line(f"Most pairs per rater in {project.name}: {most_text(project.settings)}.")
    if consent is not None:
        show_line(f"Consent text of {project.name}: {length_text(project.settings.consent)}.")


@projects.command("list")
def list_projects(as_json: JsonOption = False, database_url: DatabaseOption = DEFAULT_URL) -> None:
    """List the projects, and how far they are."""
    service = ProjectService(open_database(database_url))
    found = [(project, service.counts(project.id)) for project in service.list()]
    if as_json:
        show_json([{**project_json(project), "counts": totals(counts)} for project, counts in found])
        return
    if not found:
        show_line("No projects yet. Make one: python -m annotation project create NAME")
        return
    figures = ("Raters", "Pairs", "Ratings", "Fully graded", "Flagged")
    rows = [
        [project.name, project.settings.raters_per_pair, *total_cells(counts)] for project, counts in found
    ]
    show_table(("Project", *figures), rows, right=figures)


@projects.command()
def show(name: NameArgument, as_json: JsonOption = False, database_url: DatabaseOption = DEFAULT_URL) -> None:
    """Show a project: its settings, who works in it, and how far each type and genre is."""
    database = open_database(database_url)
    service = ProjectService(database)
    project = service.get(name)
    members, counts = service.members(project.id), service.counts(project.id)
    stuck = StuckService(database).stuck(project.id, limit=None if as_json else _MOST_STUCK)
    if as_json:
        more = {"to_adjudicate": counts.to_adjudicate}
        if counts.withdrawn:
            more["withdrawn"] = counts.withdrawn
        groups = [{"type": group.type, "genre": group.genre, **totals(group)} for group in counts.groups]
        show_json(
            {
                **project_json(project),
                "counts": {**totals(counts), **more, "groups": groups},
                "stuck": stuck_json(stuck),
                "members": [{"user": member.user.name, "roles": roles_of(member)} for member in members],
            }
        )
        return
    show_table(("Setting", "Value"), settings_rows(project.settings), title=project.name)
    show_line("")
    if members:
        rows = [[member.user.name, ", ".join(roles_of(member))] for member in members]
        show_table(("Member", "Roles"), rows)
        show_line("")
    figures = ("Pairs", "Ratings", "Fully graded", "Flagged")
    rows = [[group.type, group.genre or "–", *total_cells(group)] for group in counts.groups]
    rows.append(["all", "", *total_cells(counts)])
    show_table(("Type", "Genre", *figures), rows, right=figures)
    if counts.flagged:
        waits = "waits" if counts.to_adjudicate == 1 else "wait"
        show_line(f"Of the flagged pairs {counts.to_adjudicate:,} {waits} to be adjudicated.")
    if counts.withdrawn:
        them = "it" if counts.withdrawn == 1 else "them"
        show_line(f"{number_of(counts.withdrawn, 'pair')} withdrawn, not counted above; see {them} with")
        show_line(f"  python -m annotation pairs list {shlex.quote(project.name)} --state withdrawn")
    show_stuck(stuck)


@projects.command()
def delete(
    name: NameArgument,
    yes: Annotated[bool, typer.Option("--yes", help="Delete it, with its pairs and ratings.")] = False,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Delete a project with everything in it; accounts stay."""
    service = ProjectService(open_database(database_url))
    project = service.get(name)
    counts = service.counts(project.id)
    what = f"{project.name} with {counts.pairs:,} pairs and {counts.ratings:,} ratings"
    if not yes:
        raise CallError(f"This would delete {what}: add --yes if that is what you want.")
    service.delete(project.id, project.name)
    show_line(f"Deleted {what}.")


@projects.command("add-member")
def add_member(
    name: NameArgument,
    user: UserArgument,
    role: Annotated[Role, typer.Option(help="What the user may do.")] = Role.RATER,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Give an account a role in a project."""
    service = ProjectService(open_database(database_url))
    project = service.get(name)
    member = service.add_member(project.id, user, role)
    show_line(f"{member.user.name} is now {', '.join(roles_of(member))} in {project.name}.")


@projects.command("remove-member")
def remove_member(
    name: NameArgument,
    user: UserArgument,
    role: Annotated[Role | None, typer.Option(help="This role only; all if not given.")] = None,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Take a role in a project from an account; what it graded stays."""
    service = ProjectService(open_database(database_url))
    project = service.get(name)
    service.remove_member(project.id, user, role)
    show_line(f"{user} is no longer {role or 'a member'} in {project.name}.")


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST_FILE)
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except OSError as error:
        raise CallError(f"{path}: cannot be read ({error.strerror}); check the name.") from None
    except UnicodeDecodeError as error:
        raise CallError(f"{path}: byte {error.start + 1} is no UTF-8; save the text as UTF-8.") from None
