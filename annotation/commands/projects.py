"""`python -m annotation project`: making, changing, showing and deleting projects."""

from __future__ import annotations

import shlex
from collections.abc import Collection
from dataclasses import replace
from typing import Annotated

import typer

from annotation.commands.options import (
    DatabaseOption,
    JsonOption,
    open_database,
    options_checked,
)
from annotation.commands.project_views import (
    Order,
    project_json,
    roles_of,
    settings_rows,
    total_cells,
    totals,
)
from annotation.commands.setting_options import (
    ConsentOption,
    GuidelinesOption,
    LeaseOption,
    MostOption,
    OrderOption,
    RatersOption,
    ReviseOption,
    ScaleOption,
    SeedOption,
    StepOption,
    ThresholdOption,
    TypesOption,
    named_settings,
)
from annotation.commands.stuck import show_stuck, stuck_json
from annotation.consent import anew_text
from annotation.event_words import detail_words
from annotation.figures import number_of
from annotation.predictions.pool import TYPE as TYPE_OF_KEYPHRASES
from annotation.projects import DEFAULTS, check_settings, flagged_text, wider_range_text
from annotation.scale_words import earlier_words_text
from annotation.services.consents import ConsentService
from annotation.services.projects import ProjectService
from annotation.services.rating.stuck import StuckService
from annotation.setting_changes import seen_settings, told_changes
from annotation.terminal import show_json, show_line, show_table
from annotation.types import ProjectSettings
from db import DEFAULT_URL
from db.command import CallError

_MOST_STUCK = 20
_EXAMPLES = """
Examples:

\b
  python -m annotation project create news --types sentence2phrase --raters 3 --guidelines news.md
  python -m annotation project add-member news Ana --role rater
  python -m annotation project change news --raters 4 --guidelines news.md --no-revise
  python -m annotation project change news --consent consent.md --scale scale.txt
  python -m annotation project show news
  python -m annotation project list --json
  python -m annotation project delete news --yes
"""


NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The project's name.")]
projects = typer.Typer(help="Projects: pairs to grade, and how.", epilog=_EXAMPLES, rich_markup_mode=None)


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.add_typer(projects, name="project")


@projects.command(epilog=_EXAMPLES)
def create(
    name: NameArgument,
    types: TypesOption = None,
    raters: RatersOption = DEFAULTS.raters_per_pair,
    threshold: ThresholdOption = DEFAULTS.threshold,
    step: StepOption = DEFAULTS.step,
    guidelines: GuidelinesOption = None,
    seed: SeedOption = DEFAULTS.seed,
    order: OrderOption = Order.RANDOM,
    revise: ReviseOption = DEFAULTS.may_revise,
    lease: LeaseOption = DEFAULTS.lease_minutes,
    most_per_rater: MostOption = None,
    consent: ConsentOption = None,
    scale: ScaleOption = None,
    as_json: JsonOption = False,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Create a project; import pairs into it afterwards."""
    named = named_settings(
        types=types,
        raters=raters,
        threshold=threshold,
        step=step,
        guidelines=guidelines,
        seed=seed,
        order=order,
        revise=revise,
        lease=lease,
        most_per_rater=most_per_rater,
        consent=consent,
        scale=scale,
    )
    with options_checked():
        settings = check_settings(ProjectSettings(name, **named))
    project = ProjectService(open_database(database_url, may_make=True)).create(settings)
    if as_json:
        show_json(project_json(project))
    else:
        show_line(f"Created {project.name}. Next: {_next_step(project.settings)}")
        _say_range(project.settings)


def _say_range(settings: ProjectSettings) -> None:
    if said := wider_range_text(settings.raters_per_pair, settings.threshold):
        show_line(said)


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
    new_name: Annotated[str | None, typer.Option("--name", metavar="NEW", help="Its new name.")] = None,
    types: TypesOption = None,
    raters: RatersOption = None,
    threshold: ThresholdOption = None,
    step: StepOption = None,
    guidelines: GuidelinesOption = None,
    seed: SeedOption = None,
    order: OrderOption = None,
    revise: ReviseOption = None,
    lease: LeaseOption = None,
    most_per_rater: MostOption = None,
    consent: ConsentOption = None,
    scale: ScaleOption = None,
    as_json: JsonOption = False,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Change the given settings, all of them or none; the others stay.

    Changes that would falsify existing grades are refused. Raters must agree again to a changed consent text.
    """
    named = named_settings(
        types=types,
        raters=raters,
        threshold=threshold,
        step=step,
        guidelines=guidelines,
        seed=seed,
        order=order,
        revise=revise,
        lease=lease,
        most_per_rater=most_per_rater,
        consent=consent,
        scale=scale,
    )
    if new_name is not None:
        named["name"] = new_name
    if not named:
        raise CallError(
            "Nothing to change: name a setting, such as --raters 3; "
            "`python -m annotation project change --help` lists them."
        )
    database = open_database(database_url)
    service = ProjectService(database)
    before = service.get(name)
    counts = service.counts(before.id)
    with options_checked():
        settings = check_settings(replace(before.settings, **named))
    project = service.update(before.id, settings, seen=seen_settings(before.settings))
    if as_json:
        show_json(project_json(project))
        return
    changes = _change_words(before.settings, project.settings, named)
    if changes:
        show_line(f"Changed {project.name}: {changes}.")
        is_asked = project.settings.consent != before.settings.consent
        if is_asked and (said := anew_text(ConsentService(database).lacking_anew(project.id))):
            show_line(said)
        is_reworded = project.settings.scale_words != before.settings.scale_words
        if is_reworded and (said := earlier_words_text(service.counts(project.id).ratings)):
            show_line(said)
        is_moved = project.settings.threshold != before.settings.threshold
        if is_moved and (said := flagged_text(counts, service.counts(project.id))):
            show_line(said)
        if is_moved or project.settings.raters_per_pair != before.settings.raters_per_pair:
            _say_range(project.settings)
    else:
        show_line(f"Nothing changed: {project.name} has these settings already.")


def _change_words(before: ProjectSettings, after: ProjectSettings, named: Collection[str]) -> str:
    """As events tell it; of settings that are not named, which somebody else may have changed, nothing."""
    kept = {name: getattr(after, name) for name in named}
    return detail_words(told_changes(before, replace(before, **kept)))


@projects.command("list")
def list_projects(as_json: JsonOption = False, database_url: DatabaseOption = DEFAULT_URL) -> None:
    """List the projects and their progress."""
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
    """Show a project: its settings, its members, and the progress of each type and genre."""
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
    """Delete a project with everything in it; accounts are kept."""
    service = ProjectService(open_database(database_url))
    project = service.get(name)
    counts = service.counts(project.id)
    what = f"{project.name} with {counts.pairs:,} pairs and {counts.ratings:,} ratings"
    if not yes:
        raise CallError(f"This would delete {what}: add --yes if that is what you want.")
    service.delete(project.id, project.name)
    show_line(f"Deleted {what}.")
