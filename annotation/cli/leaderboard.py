"""The systems measured on a project's gold: python -m annotation leaderboard."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from annotation.cli.options import (
    DatabaseOption,
    JsonOption,
    LatexOption,
    ProjectArgument,
    WordNetOption,
    open_project,
    refuse_two_forms,
)
from annotation.cli.scoring import (
    GOLD_HELP,
    CalibrateOption,
    SystemOption,
    TrainingScoresOption,
    parse_systems,
    score_requests,
    senses_of,
    show_remarks,
    show_report,
)
from annotation.cli.users import COMMAND_LINE
from annotation.errors import NotFoundError
from annotation.files.scores import gold_digest, read_gold_with_changes, read_ungraded
from annotation.services.leaderboard import (
    UPLOADED,
    Board,
    Gold,
    GoldVersion,
    OwnGold,
    SystemService,
    board_as_csv,
    board_as_json,
    board_as_latex,
    check_gold,
    check_training,
    coverage_json,
    digits_of,
    gold_as_json,
    gold_name,
    gold_text,
)
from annotation.system_report import People
from annotation.systems import BuiltInSystem, scores_text
from annotation.types import Project
from annotation.wording import check_name, name_key
from db import DEFAULT_URL
from kpdemo.command import CallError
from kpdemo.terminal import show_json, show_line, show_table

_EXAMPLES = """
Examples:

\b
  python -m annotation leaderboard show news
  python -m annotation leaderboard show news --json | jq '.systems[] | {system, by, ranks}'
  python -m annotation leaderboard show news --csv > leaderboard.csv
  python -m annotation leaderboard add news --system ours=run.jsonl --system lcs
  python -m annotation leaderboard add news --system run.jsonl --calibrate-on train.jsonl \\
      --training-scores run-on-train.jsonl
  python -m annotation leaderboard remove news ours
"""

GoldSetOption = Annotated[
    str | None,
    typer.Option(
        "--gold-set", metavar="SHA256", help="A gold set of the leaderboard, by the beginning of its SHA-256."
    ),
]

leaderboard = typer.Typer(
    help="Systems measured on a project's gold.", epilog=_EXAMPLES, rich_markup_mode=None
)


def register_leaderboard(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.add_typer(leaderboard, name="leaderboard")


@leaderboard.command(epilog=_EXAMPLES)
def show(
    project: ProjectArgument,
    gold_set: GoldSetOption = None,
    as_json: JsonOption = False,
    as_latex: LatexOption = False,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="Print all figures as CSV, in the form that the page saves.")
    ] = False,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Show the systems on a gold set: ranks, figures and differences.

    Without --gold-set, it is the project's current gold set, or else the newest.
    """
    refuse_two_forms(as_json=as_json, as_latex=as_latex, as_csv=as_csv)
    database, found = open_project(database_url, project)
    service = SystemService(database)
    golds = service.golds(found.id)
    if not golds and gold_set is None and not (as_latex or as_csv):
        _show_nothing(found, service, as_json=as_json)
        return
    chosen = _choose_gold(golds, gold_set, found)
    board = service.board(found.id, chosen.id)
    if as_json:
        show_json({**_about_golds(found, golds, service), **board_as_json(board)})
    elif as_latex:
        made_by = f"python -m annotation leaderboard show --latex, project {found.name}"
        show_line(board_as_latex(board, service.own_version(found.id), made_by=made_by))
    elif as_csv:
        sys.stdout.buffer.write(board_as_csv(board).encode())
    else:
        _show(board, golds, service.own_version(found.id))


@leaderboard.command(epilog=_EXAMPLES)
def add(
    context: typer.Context,
    project: ProjectArgument,
    system: SystemOption,
    gold: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE", exists=True, help=f"{GOLD_HELP} Without it, the project's current gold."
        ),
    ] = None,
    gold_set: GoldSetOption = None,
    calibrate_on: CalibrateOption = None,
    training_scores: TrainingScoresOption = None,
    wordnet: WordNetOption = None,
    as_json: JsonOption = False,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Measure systems and add them to the leaderboard of their gold set. All of them or none."""
    if gold and gold_set is not None:
        raise CallError("--gold and --gold-set cannot be combined; give one of them.")
    database, found = open_project(database_url, project)
    scale = found.settings.scale
    requests = parse_systems(
        context, system, training_scores or [], calibrates=bool(calibrate_on), scale=scale
    )
    service = SystemService(database)
    changed: list[Path] = []
    if gold:
        measured_on, changed = _from_files(gold)
    elif gold_set is not None:
        measured_on = service.gold(found.id, _choose_gold(service.golds(found.id), gold_set, found).id)
    else:
        measured_on = service.own_gold(found.id)
    check_gold(measured_on)
    training, changed_training = read_gold_with_changes(calibrate_on) if calibrate_on else ([], [])
    check_training(len(training))
    ungraded = measured_on.ungraded | read_ungraded(calibrate_on or ())
    systems = score_requests(requests, measured_on.pairs, training, ungraded, senses_of(context, wordnet))
    told_changed = [str(file) for file in (*changed, *changed_training)]
    show_remarks(told_changed, systems)
    origins = [request.baseline if isinstance(request, BuiltInSystem) else UPLOADED for request in requests]
    kept = service.add_all(found.id, measured_on, list(zip(systems, origins, strict=True)))
    if as_json:
        told = {"pairs": len(measured_on.pairs), "sha256": measured_on.sha256}
        added = [coverage_json(one, measured_on) for one in systems]
        show_json({"project": found.name, "gold": told, "added": added, "changed_gold": told_changed})
        return
    golds = service.golds(found.id)
    on = next(gold for gold in golds if gold.id == kept)
    for one in systems:
        where = f"on {gold_name(on)} to the leaderboard of {found.name}"
        show_line(f"Added {check_name(one.name)} {where}: {scores_text(one, measured_on.pairs)}")
    _show_how_to_see(on, golds, found)


@leaderboard.command(epilog=_EXAMPLES)
def remove(
    project: ProjectArgument,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the system, as `show` lists it.")],
    gold_set: GoldSetOption = None,
    as_json: JsonOption = False,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Remove a system from the gold set that `show` shows, or another, and a gold set without systems."""
    database, found = open_project(database_url, project)
    service = SystemService(database)
    chosen = _choose_gold(service.golds(found.id), gold_set, found)
    entries = service.entries(found.id, chosen.id)
    entry = next((one for one in entries if name_key(one.name) == name_key(name)), None)
    if entry is None:
        raise NotFoundError(
            f"There is no system {name!r} on the gold set {digits_of(chosen)}: "
            f"`python -m annotation leaderboard show {shlex.quote(found.name)}` lists systems and gold sets."
        )
    service.remove(found.id, entry.id)
    if as_json:
        show_json({"project": found.name, "gold": gold_as_json(chosen), "removed": entry.name})
    else:
        show_line(f"Removed {entry.name} on {gold_name(chosen)} from the leaderboard of {found.name}.")
        _show_how_to_see(chosen, service.golds(found.id), found)


def _show_how_to_see(changed: GoldVersion, golds: Sequence[GoldVersion], project: Project) -> None:
    """A hint where `show` has another of the gold sets than the one that was changed."""
    if changed in golds[1:]:
        show = f"python -m annotation leaderboard show {shlex.quote(project.name)}"
        show_line(
            f"`{show}` shows another gold set, {gold_name(golds[0])}; to see this one: "
            f"{show} --gold-set {digits_of(changed)}"
        )


def _choose_gold(golds: Sequence[GoldVersion], digits: str | None, project: Project) -> GoldVersion:
    """The project's gold of now, else the newest gold set, or the one whose SHA-256 begins so.

    Raises:
        NotFoundError: there is none, or several begin so.
    """
    if not golds:
        raise NotFoundError(
            "No system has been measured yet: "
            f"`python -m annotation leaderboard add {shlex.quote(project.name)}` adds one."
        )
    if digits is None:
        return golds[0]
    found = [gold for gold in golds if digits and gold.sha256.startswith(digits.lower())]
    if len(found) == 1:
        return found[0]
    raise NotFoundError(
        f"{len(found) or 'No'} gold sets of the leaderboard begin with {digits!r}: "
        f"`python -m annotation leaderboard show {shlex.quote(project.name)}` lists them."
    )


def _from_files(files: Sequence[Path]) -> tuple[Gold, list[Path]]:
    """The gold set, and the files of it that were changed after their export."""
    pairs, changed = read_gold_with_changes(files)
    names = ", ".join(file.resolve().name if file.is_dir() else file.name for file in files)
    return Gold(names, gold_digest(pairs), tuple(pairs), read_ungraded(files)), changed


def _about_golds(project: Project, golds: Sequence[GoldVersion], service: SystemService) -> dict[str, Any]:
    own = service.own_version(project.id)
    return {
        "project": project.name,
        "project_gold": {"pairs": own.pairs, "sha256": own.sha256},
        "gold_sets": [gold_as_json(gold) for gold in golds],
    }


def _show_nothing(project: Project, service: SystemService, *, as_json: bool) -> None:
    if as_json:
        show_json({**_about_golds(project, [], service), "gold": None, "systems": []})
        return
    show_line(
        "No system has been measured yet. Its scores are compared with the gold grades of pairs that have "
        "one."
    )
    show_line(f"Next: python -m annotation leaderboard add {shlex.quote(project.name)} --system lcs")


def _show(board: Board, golds: Sequence[GoldVersion], own: OwnGold) -> None:
    """What the page shows: which gold, who added what, the report; other gold sets."""
    show_line(gold_text(board.gold, own))
    show_line("")
    entries = [
        (entry.name, entry.origin, f"{entry.at:%Y-%m-%d %H:%M}", entry.by or COMMAND_LINE)
        for entry in board.entries
    ]
    show_table(("System", "Scores", "Added (UTC)", "By"), entries)
    show_line("")
    show_report(board.report, People((), ()))
    if len(golds) > 1:
        rows = [
            (digits_of(gold), gold.name or "the project", f"{gold.pairs:,}", f"{gold.at:%Y-%m-%d %H:%M}")
            for gold in golds
        ]
        columns = ("Gold set", "From", "Pairs", "Of (UTC)")
        show_line("")
        show_table(columns, rows, title="Gold sets", right=("Pairs",))
