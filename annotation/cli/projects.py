"""`python -m annotation project`: making, changing, showing and deleting projects, and members."""

from __future__ import annotations

import shlex
from collections.abc import Collection
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import typer

from annotation.changes import describe_changes, detail_words, print_settings
from annotation.cli.options import DatabaseOption, JsonOption, decimal_option, open_database, option_errors
from annotation.consent import describe_renewal
from annotation.predictions import TYPE as TYPE_OF_KEYPHRASES
from annotation.projects import (
    DEFAULTS,
    GroupCounts,
    Member,
    Order,
    ProjectCounts,
    check_same_scale,
    check_settings,
    default_threshold,
    flagged_text,
    project_json,
    wider_range_text,
)
from annotation.scale import (
    CLSS,
    PRESETS,
    earlier_words_text,
    parse_scale,
    read_item_words,
    read_scale_words,
)
from annotation.services.consents import ConsentService
from annotation.services.pairs import PairService, StuckPair, StuckPairs
from annotation.services.projects import ProjectService
from annotation.types import Average, ProjectSettings, Role
from db import DEFAULT_URL
from kpdemo.command import CallError
from kpdemo.terminal import show_json, show_line, show_table
from kpdemo.text import number_of
from kpdemo.translation import ENGLISH, LANGUAGES


def most_text(settings: ProjectSettings) -> str:
    return "no limit" if settings.most_per_rater is None else f"{settings.most_per_rater:,}"


def settings_rows(settings: ProjectSettings) -> list[list[str]]:
    return [
        ["Comparison types", ", ".join(settings.types)],
        ["Raters per pair", str(settings.raters_per_pair)],
        ["Most pairs per rater", most_text(settings)],
        ["Flagged from", "no adjudication" if settings.threshold is None else str(settings.threshold)],
        ["Gold without a decision", settings.average.value],
        ["Repeat pairs", f"{settings.repeat_percent} %" if settings.repeat_percent else "none"],
        *([["Scale", settings.scale.text]] if settings.scale != CLSS else []),
        ["Step", str(settings.step)],
        ["Order", "random" if settings.is_random else "as in the file"],
        ["Seed", str(settings.seed)],
        ["Raters may revise", "yes" if settings.may_revise else "no"],
        ["Lease", f"{settings.lease_minutes} minutes"],
        ["Guidelines", length_text(settings.guidelines)],
        ["Consent text", length_text(settings.consent)],
        ["Words of the scale", whose_words(settings)],
        *([["Raters' language", LANGUAGES[settings.language]]] if settings.language != ENGLISH else []),
    ]


def length_text(text: str) -> str:
    return f"{len(text):,} characters" if text else "none"


def whose_words(settings: ProjectSettings) -> str:
    """Whose words the points of the scale have."""
    points = read_scale_words(settings.scale_words, settings.scale)
    items = read_item_words(settings.scale_words, settings.scale)
    types = [type or "all types" for type in dict.fromkeys((*points, *items))]
    if not types:
        return "of SemEval-2014 Task 3" if settings.scale.range == CLSS.range else "the usual ones"
    return f"own, of {', '.join(types)}"


def totals(counts: ProjectCounts | GroupCounts) -> dict[str, int]:
    return {
        "pairs": counts.pairs,
        "ratings": counts.ratings,
        "finished": counts.finished,
        "flagged": counts.flagged,
    }


def total_cells(counts: ProjectCounts | GroupCounts) -> list[str]:
    return [f"{figure:,}" for figure in totals(counts).values()]


def roles_of(member: Member) -> list[str]:
    return sorted(role.value for role in member.roles)


_LARGEST_FILE = 1_000_000

TypesOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TYPE,…",
        help=f"All comparison types of the project; for a new one by default {', '.join(DEFAULTS.types)}.",
    ),
]
RatersOption = Annotated[
    int | None, typer.Option(metavar="K", help="How many raters grade each pair, 1 to 20.")
]
_NEVER = Decimal("Infinity")
"""The threshold that `none` stands for: no two ratings differ so much."""


def threshold_option(text: str) -> Decimal:
    """The number of grades, or what stands for "none", in capitals or not.

    Raises:
        BadParameter: it is neither.
    """
    if str(text).strip().lower() == "none":  # a default comes as a number
        return _NEVER
    try:
        return decimal_option(text)
    except typer.BadParameter:
        raise typer.BadParameter(f"{text!r} is neither a number, such as 1, nor none") from None


ThresholdOption = Annotated[
    Decimal | None,
    typer.Option(
        metavar="GRADES",
        parser=threshold_option,
        help="Flag pairs with two ratings that differ by this much or more; “none” for no adjudication. By "
        "default a quarter of the scale's range, 1 of 0 to 4, for two raters, more for more.",
    ),
]
AverageOption = Annotated[
    Average | None,
    typer.Option(help="Gold grade of a pair without a decision: this of its ratings; by default the mean."),
]
StepOption = Annotated[
    Decimal | None,
    typer.Option(
        metavar="GRADES",
        parser=decimal_option,
        help="Step between the grades that raters give: 0.25, 0.5 or 1, or another one of the scale.",
    ),
]
GuidelinesOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Markdown file shown to raters; an empty file for none."),
]
SeedOption = Annotated[int | None, typer.Option(metavar="N", help="Seed of the random order.")]
OrderOption = Annotated[Order | None, typer.Option(help="Order in which raters get the pairs.")]
ReviseOption = Annotated[
    bool | None, typer.Option("--revise/--no-revise", help="Whether raters may change their grades.")
]
LeaseOption = Annotated[
    int | None, typer.Option(metavar="MINUTES", help="Minutes until an abandoned pair goes to others.")
]
MostOption = Annotated[
    int | None, typer.Option(metavar="N", help="The most pairs that a rater is given; 0 for no limit.")
]
RepeatsOption = Annotated[
    int | None,
    typer.Option(
        metavar="PERCENT",
        help="Percentage of a rater's pairs that come back to them, to measure how well they agree with "
        "themselves; 0 to 50.",
    ),
]
ConsentOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Markdown file that raters and writers must agree to before they work; an empty file for none.",
    ),
]
LanguageOption = Annotated[
    str | None,
    typer.Option("--language", metavar="CODE", help=f"Of the raters' pages: {', '.join(LANGUAGES)}."),
]
ScaleOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="File with your own words for the points: lines such as “0 Unrelated: Another topic.”, and for "
        "the “Question:” and the items, “Larger:” and “Smaller:”; after a line [TYPE] for that type only; an "
        "empty file for the usual ones.",
    ),
]
GradesOption = Annotated[
    str | None,
    typer.Option(
        metavar="SCALE",
        help=f"The scale, which cannot change later: {', '.join(PRESETS)}, or lowest, highest and step such "
        "as 1-5/0.5; sts is 0 to 5, clss 0 to 4 in quarters.",
    ),
]


def settings_of_options(
    *,
    types: list[str] | None,
    raters: int | None,
    threshold: Decimal | None,
    average: Average | None,
    step: Decimal | None,
    guidelines: Path | None,
    seed: int | None,
    order: Order | None,
    revise: bool | None,
    lease: int | None,
    most_per_rater: int | None,
    repeats: int | None,
    consent: Path | None,
    scale: Path | None,
    language: str | None,
) -> dict[str, Any]:
    """What the options say, by the fields of `ProjectSettings`; an option that is None says nothing.

    Raises:
        CallError: a file cannot be read.
    """
    said: dict[str, Any] = {
        "types": None
        if types is None
        else tuple(part for text in types for part in text.split(",") if part.strip()),
        "guidelines": None if guidelines is None else _read_text(guidelines),
        "raters_per_pair": raters,
        "threshold": threshold,
        "average": average,
        "step": step,
        "is_random": None if order is None else order is Order.RANDOM,
        "seed": seed,
        "may_revise": revise,
        "lease_minutes": lease,
        "repeat_percent": repeats,
        "consent": None if consent is None else _read_text(consent),
        "scale_words": None if scale is None else _read_text(scale),
        "language": language,
    }
    named = {name: value for name, value in said.items() if value is not None}
    if most_per_rater is not None:
        named["most_per_rater"] = most_per_rater or None
    if threshold == _NEVER:
        named["threshold"] = None
    return named


def _read_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST_FILE + 1)
        if len(content) > _LARGEST_FILE:
            raise CallError(f"{path}: has more than {_LARGEST_FILE:,} bytes; shorten the text.")
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except OSError as error:
        raise CallError(f"{path}: cannot be read ({error.strerror}); check the name.") from None
    except UnicodeDecodeError as error:
        raise CallError(f"{path}: byte {error.start + 1} is not UTF-8; save the text as UTF-8.") from None


def stuck_json(stuck: StuckPairs) -> dict[str, Any]:
    """What `project show --json` has of them."""
    items = [_stuck_pair_json(pair) for pair in stuck.items]
    limit = {"by_limit": stuck.by_limit, "short_by": stuck.short_by} if stuck.most_per_rater else {}
    return {"pairs": stuck.total, **limit, "open_links": stuck.open_links, "items": items}


def _stuck_pair_json(pair: StuckPair) -> dict[str, Any]:
    return {
        "id": pair.external_id,
        "type": pair.type,
        "grades": pair.grades,
        "missing": pair.missing,
        "raters_left": pair.raters_left,
        "skips": pair.skips,
        "broken": pair.broken,
    }


def show_stuck(stuck: StuckPairs) -> None:
    """How many there are or will be, what can be done, and the first of them; else nothing."""
    if stuck.total:
        _show_pairs(stuck)
    if stuck.short_text:
        links = f" {stuck.links_text}" if stuck.open_links and not stuck.total else ""
        either = "" if stuck.paused else "or "
        show_line(
            f"\n{stuck.short_text}: raise it with `project change`, {either}invite another rater"
            f"{_or_resume(stuck)}.{links}"
        )


def _or_resume(stuck: StuckPairs) -> str:
    """How to get somebody back, as the end of a sentence; nothing where nobody is paused."""
    return ", or resume one who is paused" if stuck.paused else ""


def _show_pairs(stuck: StuckPairs) -> None:
    links = f" {stuck.links_text}" if stuck.open_links else ""
    if not stuck.raters:
        said = f"Pairs that lack grades: {stuck.total:,}. No rater can be given them: invite raters."
        show_line(f"\n{said}{links}")
        return
    limit = f"{stuck.limit_text}: raise it with `project change`. Or invite" if stuck.by_limit else "Invite"
    withdraw = "a pair that cannot be graded can be withdrawn with `pairs withdraw`."
    broken = f" {stuck.broken_text}: {withdraw}" if stuck.broken else ""
    lower = ", or lower the number of raters per pair" if stuck.fewer_would_do else ""
    show_line(
        f"\nPairs that lack grades, with too few raters left for them: {stuck.total:,}. "
        f"{limit} another rater{_or_resume(stuck)}{lower}.{broken}{links}"
    )
    figures = ("Grades", "Missing", "Raters left", "Skips", "As broken")
    rows = [
        (pair.external_id, pair.type, pair.grades, pair.missing, pair.raters_left, pair.skips, pair.broken)
        for pair in stuck.items
    ]
    show_table(("Pair", "Type", *figures), rows, right=figures)
    if stuck.total > len(rows):
        show_line(f"The first {len(rows)} are shown; --json lists all.")


_MOST_STUCK = 20
_EXAMPLES = """
Examples:

\b
  python -m annotation project create news --types sentence2phrase --raters 3 --guidelines news.md
  python -m annotation project create relatedness --types word2word --raters 13 --grades 0-10
  python -m annotation project add-member news Ana --role rater
  python -m annotation project change news --raters 4 --guidelines news.md --no-revise
  python -m annotation project change news --consent consent.md --scale scale.txt
  python -m annotation project show news
  python -m annotation project list --json
  python -m annotation project delete news --yes
"""


NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The project's name.")]
projects = typer.Typer(help="Projects: pairs to grade, and how.", epilog=_EXAMPLES, rich_markup_mode=None)


def register_projects(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.add_typer(projects, name="project")


@projects.command(epilog=_EXAMPLES)
def create(
    name: NameArgument,
    types: TypesOption = None,
    raters: RatersOption = DEFAULTS.raters_per_pair,
    threshold: ThresholdOption = None,
    average: AverageOption = None,
    grades: GradesOption = "clss",
    step: StepOption = None,
    guidelines: GuidelinesOption = None,
    seed: SeedOption = DEFAULTS.seed,
    order: OrderOption = Order.RANDOM,
    revise: ReviseOption = DEFAULTS.may_revise,
    lease: LeaseOption = DEFAULTS.lease_minutes,
    most_per_rater: MostOption = None,
    repeats: RepeatsOption = None,
    consent: ConsentOption = None,
    scale: ScaleOption = None,
    language: LanguageOption = None,
    as_json: JsonOption = False,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Create a project; import pairs into it afterwards."""
    named = settings_of_options(
        types=types,
        raters=raters,
        threshold=threshold,
        average=average,
        step=step,
        guidelines=guidelines,
        seed=seed,
        order=order,
        revise=revise,
        lease=lease,
        most_per_rater=most_per_rater,
        repeats=repeats,
        consent=consent,
        scale=scale,
        language=language,
    )
    with option_errors():
        named["scale"], usual_step = parse_scale(grades or "clss")
        named.setdefault("step", usual_step)
        named.setdefault("threshold", default_threshold(named["raters_per_pair"], named["scale"]))
        settings = check_settings(ProjectSettings(name, **named))
    project = ProjectService(open_database(database_url, may_make=True)).create(settings)
    if as_json:
        show_json(project_json(project))
    else:
        show_line(f"Created {project.name}. Next: {_next_step(project.settings)}")
        _say_range(project.settings)


def _say_range(settings: ProjectSettings) -> None:
    if said := wider_range_text(settings.raters_per_pair, settings.threshold, settings.scale):
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
    average: AverageOption = None,
    grades: GradesOption = None,
    step: StepOption = None,
    guidelines: GuidelinesOption = None,
    seed: SeedOption = None,
    order: OrderOption = None,
    revise: ReviseOption = None,
    lease: LeaseOption = None,
    most_per_rater: MostOption = None,
    repeats: RepeatsOption = None,
    consent: ConsentOption = None,
    scale: ScaleOption = None,
    language: LanguageOption = None,
    as_json: JsonOption = False,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Change the given settings, all of them or none; the others stay.

    Changes that would falsify existing grades are refused. Raters must agree again to a changed consent text.
    """
    named = settings_of_options(
        types=types,
        raters=raters,
        threshold=threshold,
        average=average,
        step=step,
        guidelines=guidelines,
        seed=seed,
        order=order,
        revise=revise,
        lease=lease,
        most_per_rater=most_per_rater,
        repeats=repeats,
        consent=consent,
        scale=scale,
        language=language,
    )
    if new_name is not None:
        named["name"] = new_name
    if grades is not None:
        with option_errors():
            named["scale"], _ = parse_scale(grades)
    if not named:
        raise CallError(
            "Nothing to change: name a setting, such as --raters 3; "
            "`python -m annotation project change --help` lists them."
        )
    database = open_database(database_url)
    service = ProjectService(database)
    before = service.get(name)
    counts = service.counts(before.id)
    with option_errors():
        check_same_scale(before.settings.scale, named.get("scale", before.settings.scale))
        settings = check_settings(replace(before.settings, **named))
    project = service.update(before.id, settings, seen=print_settings(before.settings))
    if as_json:
        show_json(project_json(project))
        return
    changes = _change_words(before.settings, project.settings, named)
    if changes:
        show_line(f"Changed {project.name}: {changes}.")
        is_asked = project.settings.consent != before.settings.consent
        if is_asked and (said := describe_renewal(ConsentService(database).count_to_renew(project.id))):
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
    return detail_words(describe_changes(before, replace(before, **kept)))


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
    figures = ("Raters", "Pairs", "Ratings", "Done", "Flagged")
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
    stuck = PairService(database).stuck(project.id, limit=None if as_json else _MOST_STUCK)
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
    figures = ("Pairs", "Ratings", "Done", "Flagged")
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


UserArgument = Annotated[str, typer.Argument(metavar="USER", help="The account's name.")]


def register_members(app: typer.Typer) -> None:
    """Add the commands of this file to those of `project`."""
    projects.command("add-member")(add_member)
    projects.command("remove-member")(remove_member)


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


def remove_member(
    name: NameArgument,
    user: UserArgument,
    role: Annotated[Role | None, typer.Option(help="Only this role; by default all.")] = None,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Take a role in a project away from an account; its grades are kept."""
    service = ProjectService(open_database(database_url))
    project = service.get(name)
    service.remove_member(project.id, user, role)
    show_line(f"{user} is no longer {role or 'a member'} in {project.name}.")
