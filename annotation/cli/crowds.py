"""`python -m annotation crowd`: shared links, what is told at the end, and who did how much."""

from __future__ import annotations

import sys
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from annotation.changes import print_settings
from annotation.cli.options import DatabaseOption, JsonOption, ProjectArgument, open_project, option_errors
from annotation.cli.users import DEFAULT_ADDRESS, AddressOption, check_address, print_link
from annotation.crowds import WorkerLine, check_crowd_settings, line_as_json, lines_as_csv, read_names
from annotation.services.accounts import LASTS, InvitationService
from annotation.services.crowds import CrowdService, SharedLinkLine
from annotation.types import Role
from db import DEFAULT_URL
from kpdemo.command import CallError, check_file
from kpdemo.io.tables import spreadsheet_csv
from kpdemo.terminal import show_json, show_line, show_table

_EXAMPLES = """
Examples:

\b
  python -m annotation crowd link news --people 30 --until "2026-12-31 18:00"
  python -m annotation crowd links news         revoke NUMBER closes one
  python -m annotation crowd end news --completion-code C1A2B3 --screen-out-code C9Z8
  python -m annotation crowd end news --return-address "https://app.prolific.com/submissions/complete?cc={code}"
  python -m annotation crowd workers news --csv > payments.csv
  python -m annotation crowd invite news names.txt > links.csv
"""
_COLUMNS = ("Worker", "Started (UTC)", "Finished (UTC)", "Pairs", "Minutes", "Checks", "State", "Code")

crowd = typer.Typer(
    help="Many raters at once: shared links, completion codes, and who did how much.",
    epilog=_EXAMPLES,
    rich_markup_mode=None,
)


def register_crowds(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.add_typer(crowd, name="crowd")


@crowd.command(epilog=_EXAMPLES)
def link(
    project: ProjectArgument,
    people: Annotated[int, typer.Option(min=1, help="How many people may come in by it.")],
    until: Annotated[
        datetime,
        typer.Option(
            formats=["%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M", "%Y-%m-%d"],
            help="When it ends, in UTC, such as 2026-12-31 18:00.",
        ),
    ],
    note: Annotated[str, typer.Option(metavar="TEXT", help="Whom it is for, as shown in the lists.")] = "",
    address: AddressOption = DEFAULT_ADDRESS,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Print a shared link, by which many people become raters of the project and nothing else."""
    check_address(address)
    database, found = open_project(database_url, project)
    with option_errors():
        token = CrowdService(database).make_link(found.id, people, until.replace(tzinfo=UTC), note=note)
    print_link(address, f"/join/{token}", f"For {people:,} people until {until:%Y-%m-%d %H:%M} UTC")


@crowd.command()
def links(
    project: ProjectArgument, as_json: JsonOption = False, database_url: DatabaseOption = DEFAULT_URL
) -> None:
    """List the shared links of a project: how many came by each, and until when it is open."""
    database, found = open_project(database_url, project)
    lines = CrowdService(database).links(found.id)
    if as_json:
        show_json([_link_json(line) for line in lines])
        return
    for line in lines:
        came = f"{line.came} of {line.most} came"
        until = f"until {line.expires_at:%Y-%m-%d %H:%M} UTC"
        show_line("\t".join((str(line.number), line.note, came, line.state, until)))


@crowd.command()
def revoke(
    project: ProjectArgument,
    number: Annotated[int, typer.Argument(metavar="NUMBER", help="The number that `crowd links` lists.")],
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Let nobody in by a shared link any more; who came stays a rater."""
    database, found = open_project(database_url, project)
    CrowdService(database).revoke_link(found.id, number)


@crowd.command(epilog=_EXAMPLES)
def end(
    project: ProjectArgument,
    completion_code: Annotated[
        str | None, typer.Option(metavar="CODE", help="For who is finished; {id} differs by worker.")
    ] = None,
    screen_out_code: Annotated[
        str | None, typer.Option(metavar="CODE", help="For who fails the training or finds no pairs left.")
    ] = None,
    return_address: Annotated[
        str | None, typer.Option(metavar="URL", help="Where they go then; {code} becomes the code.")
    ] = None,
    contact: Annotated[str | None, typer.Option(metavar="TEXT", help="Whom to ask.")] = None,
    as_json: JsonOption = False,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Show or change what is told at the end to who came by a shared link; "" takes a value away."""
    database, found = open_project(database_url, project)
    service = CrowdService(database)
    given: dict[str, Any] = {
        "completion_code": completion_code,
        "screen_out_code": screen_out_code,
        "return_address": return_address,
        "contact": contact,
    }
    settings = service.settings(found.id)
    changed = {name: value for name, value in given.items() if value is not None}
    if changed:
        with option_errors():
            wanted = check_crowd_settings(replace(settings, **changed))
        settings = service.change(found.id, wanted, seen=print_settings(settings))
    if as_json:
        show_json({"project": found.name, **asdict(settings)})
        return
    for name, value in asdict(settings).items():
        show_line(f"{name.replace('_', ' ')}: {value or '–'}")


@crowd.command(epilog=_EXAMPLES)
def workers(
    project: ProjectArgument,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print a CSV table.")] = False,
    as_json: JsonOption = False,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """List what everybody did who came by a shared link, to approve payments by.

    Pairs are those that they graded, without check pairs, set aside or not; minutes are the time that graded
    pairs were looked at.
    """
    if as_csv and as_json:
        raise CallError("--csv and --json cannot be combined; give one of them.")
    database, found = open_project(database_url, project)
    lines = CrowdService(database).workers(found.id)
    if as_json:
        show_json({"project": found.name, "workers": [line_as_json(line) for line in lines]})
    elif as_csv:
        print(lines_as_csv(lines), end="")
    elif lines:
        show_table(_COLUMNS, [_cells(line) for line in lines], right=("Pairs", "Minutes", "Checks"))
    else:
        show_line("Nobody has come by a shared link yet.")


@crowd.command(epilog=_EXAMPLES)
def invite(
    project: ProjectArgument,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Names or addresses, UTF-8; - reads from input.")
    ],
    role: Annotated[Role, typer.Option(help="Their role.")] = Role.RATER,
    address: AddressOption = DEFAULT_ADDRESS,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Print a CSV table with a personal link for each name; none is made if a name cannot be used."""
    check_address(address)
    text = sys.stdin.read() if file == "-" else check_file(file).read_text(encoding="utf-8-sig")
    names = read_names(text)
    database, found = open_project(database_url, project)
    tokens = InvitationService(database).invite_many(found.id, role, names)
    rows = [
        (name, f"{address.rstrip('/')}/invitation/{token}") for name, token in zip(names, tokens, strict=True)
    ]
    print(f"Each link can be used once within {LASTS.days} days.", file=sys.stderr, flush=True)
    print(spreadsheet_csv([("name", "link"), *rows]), end="")


def _link_json(line: SharedLinkLine) -> dict[str, object]:
    return {
        "number": line.number,
        "people": line.most,
        "came": line.came,
        "state": line.state,
        "note": line.note,
        "created_by": line.created_by,
        "created_at": line.created_at.isoformat(),
        "expires_at": line.expires_at.isoformat(),
    }


def _cells(line: WorkerLine) -> tuple[object, ...]:
    ended = "–" if line.ended_at is None else f"{line.ended_at:%Y-%m-%d %H:%M}"
    return (
        line.worker or line.account,
        f"{line.started_at:%Y-%m-%d %H:%M}",
        ended,
        f"{line.pairs:,}",
        f"{line.minutes:.1f}",
        f"{line.checks_passed}/{line.checks}",
        line.state,
        line.code or "–",
    )
