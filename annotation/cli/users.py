"""`python -m annotation user` and `events`: accounts, excluding a rater's grades, and who did what."""

from __future__ import annotations

import sys
from typing import Annotated
from urllib.parse import urlsplit

import typer

from annotation.changes import detail_words
from annotation.cli.options import DatabaseOption, JsonOption, open_database, open_project
from annotation.passwords import LONGEST_PASSWORD
from annotation.services.accounts import LASTS, Account, AccountService, InvitationService, renamed_text
from annotation.services.audit import USUAL_LIMIT, EventService
from annotation.services.excluded_ratings import ExclusionService
from annotation.services.projects import ProjectService
from annotation.services.quality import QualityService
from annotation.services.tokens import Token, TokenService
from annotation.services.users import OpenInvitation
from annotation.types import Role
from db import DEFAULT_URL
from kpdemo.command import CallError
from kpdemo.terminal import show_json, show_line, show_table
from kpdemo.text import number_of

_LONGEST_LINE = 4 * LONGEST_PASSWORD + 2
DEFAULT_ADDRESS = "http://127.0.0.1:7860"
"""Where `python app.py` serves unless it is told otherwise, which no other command learns."""
_USER_EXAMPLES = """
Examples:

\b
  python -m annotation user add Ana --administrator
  echo "correct horse battery" | python -m annotation user add Ben --password-stdin
  python -m annotation user invite --project news --role rater --address https://rate.example.org
  python -m annotation user invite Ana          a link with which Ana chooses a new password
  python -m annotation user rename Bem Ben      a name that was mistyped
  python -m annotation user list --json
  python -m annotation user token Ana --for "nightly export" --days 90
  python -m annotation user invitations         unused links; user revoke NUMBER invalidates one
  python -m annotation user pause Ben --project news    Ben's grades are kept; user resume undoes it
  python -m annotation user set-aside Ben --project news --reason "guessed"    user bring-back undoes it
"""

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The account's name.")]
AddressOption = Annotated[
    str,
    typer.Option(
        "--address",
        envvar="KPDEMO_ADDRESS",
        metavar="URL",
        help="The address of the pages, for the link.",
    ),
]
StdinOption = Annotated[
    bool, typer.Option("--password-stdin", help="Read the password from standard input, one line.")
]

users = typer.Typer(help="Accounts of raters and other users.", epilog=_USER_EXAMPLES, rich_markup_mode=None)


def register_users(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.add_typer(users, name="user")


@users.command(epilog=_USER_EXAMPLES)
def add(
    name: NameArgument,
    administrator: Annotated[
        bool, typer.Option("--administrator", help="Of the whole server, not of one project.")
    ] = False,
    password_stdin: StdinOption = False,
    address: AddressOption = DEFAULT_ADDRESS,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Add an account, and print the link for choosing its password."""
    check_address(address)
    password = _read_password() if password_stdin else None
    database = open_database(database_url, may_make=True)
    user = AccountService(database).add_user(name, password, is_administrator=administrator)
    if password is None:
        _print_invitation(address, InvitationService(database).invite(user.name), user.name)
    else:
        print(f"Added {user.name}.")


@users.command("list")
def list_users(as_json: JsonOption = False, database_url: DatabaseOption = DEFAULT_URL) -> None:
    """List the accounts, one per line: what they may do, and in which projects."""
    found = _accounts(database_url).accounts()
    if as_json:
        show_json([_account_json(account) for account in found])
        return
    for account in found:
        show_line("\t".join((account.user.name, account.state, *(f"{p}: {r}" for p, r in account.roles))))


@users.command()
def rename(
    name: NameArgument,
    new_name: Annotated[str, typer.Argument(metavar="NEW", help="The name to sign in with from now on.")],
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Rename an account; its password, roles and grades stay."""
    accounts = _accounts(database_url)
    before = accounts.user(name)
    show_line(renamed_text(before.name, accounts.rename(before.name, new_name).name))


@users.command()
def disable(name: NameArgument, database_url: DatabaseOption = DEFAULT_URL) -> None:
    """Disable an account at once; its ratings are kept."""
    _accounts(database_url).disable(name)


@users.command()
def enable(name: NameArgument, database_url: DatabaseOption = DEFAULT_URL) -> None:
    """Let a disabled account sign in again."""
    _accounts(database_url).enable(name)


@users.command()
def promote(name: NameArgument, database_url: DatabaseOption = DEFAULT_URL) -> None:
    """Make an account administrator of the whole server."""
    _accounts(database_url).set_administrator(name, True)


@users.command()
def demote(name: NameArgument, database_url: DatabaseOption = DEFAULT_URL) -> None:
    """Make an administrator an ordinary user."""
    _accounts(database_url).set_administrator(name, False)


@users.command()
def password(
    name: NameArgument, password_stdin: StdinOption = False, database_url: DatabaseOption = DEFAULT_URL
) -> None:
    """Give an account a password, and sign out all its browsers."""
    if not password_stdin:
        raise CallError("A password on the command line is seen by others: give --password-stdin.")
    _accounts(database_url).set_password(name, _read_password())


ProjectOption = Annotated[
    str, typer.Option("--project", metavar="PROJECT", help="The project in which the account rates.")
]


@users.command()
def pause(name: NameArgument, project: ProjectOption, database_url: DatabaseOption = DEFAULT_URL) -> None:
    """Pause a rater in a project; their grades are kept, and pairs they hold go to others."""
    database, found = open_project(database_url, project)
    QualityService(database).pause(found.id, name)
    show_line(f"{name} is paused in {found.name}.")


@users.command()
def resume(name: NameArgument, project: ProjectOption, database_url: DatabaseOption = DEFAULT_URL) -> None:
    """Let a paused rater continue in a project."""
    database, found = open_project(database_url, project)
    QualityService(database).resume(found.id, name)
    show_line(f"{name} can continue in {found.name}.")


@users.command()
def excuse(name: NameArgument, project: ProjectOption, database_url: DatabaseOption = DEFAULT_URL) -> None:
    """Let a rater work in a project without its training."""
    database, found = open_project(database_url, project)
    QualityService(database).excuse(found.id, name)
    show_line(f"{name} can work in {found.name} without its training.")


@users.command(epilog=_USER_EXAMPLES)
def invite(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="An account that needs a new password.")
    ] = None,
    project: Annotated[
        str | None, typer.Option("--project", metavar="PROJECT", help="Invite to this project.")
    ] = None,
    role: Annotated[
        Role | None, typer.Option("--role", help="Role in --project; rater if not given.")
    ] = None,
    note: Annotated[
        str,
        typer.Option("--note", metavar="TEXT", help="Whom the link is for, as shown in the lists."),
    ] = "",
    address: AddressOption = DEFAULT_ADDRESS,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Print a link that can be used once, within seven days."""
    if role is not None and project is None:
        raise CallError(f"The role {role} in which project? Give --project too.")
    if name is None and project is None:
        raise CallError("Whom to invite? Give the NAME of an account, or --project for a new one.")
    check_address(address)
    database = open_database(database_url)
    project_id = None if project is None else ProjectService(database).get(project).id
    given = None if project is None else (role or Role.RATER)
    token = InvitationService(database).invite(name, project_id=project_id, role=given, note=note)
    _print_invitation(address, token, name or "the first person to open it")


@users.command()
def invitations(as_json: JsonOption = False, database_url: DatabaseOption = DEFAULT_URL) -> None:
    """List the links that can still be used: number, for whom, what they give, and until when."""
    found = _invitations(database_url).open_invitations()
    if as_json:
        show_json([_link_json(link) for link in found])
        return
    for link in found:
        anybody = f"anybody ({link.note})" if link.note else "anybody"
        what = "set-up" if link.is_set_up else link.user_name or anybody
        gives = "" if link.role is None else f"{link.project}: {link.role}"
        show_line("\t".join((str(link.id), what, gives, f"until {link.expires_at:%Y-%m-%d %H:%M} UTC")))


@users.command()
def revoke(
    number: Annotated[
        int, typer.Argument(metavar="NUMBER", help="The number that `user invitations` lists.")
    ],
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Invalidate a link."""
    _invitations(database_url).revoke(number)


@users.command(epilog=_USER_EXAMPLES)
def token(
    name: NameArgument,
    what: Annotated[str, typer.Option("--for", metavar="TEXT", help="What the token is for.")],
    days: Annotated[
        int | None, typer.Option(metavar="N", help="After so many days it ends; without it, never.")
    ] = None,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Print a new token, with which a program may do over HTTP what the account may."""
    made = TokenService(open_database(database_url)).make(name, what, days)
    print(f"For {name}, shown only now:", file=sys.stderr, flush=True)
    print(made)


@users.command()
def tokens(
    name: NameArgument, as_json: JsonOption = False, database_url: DatabaseOption = DEFAULT_URL
) -> None:
    """List the tokens of an account: number, what for, when made, last used and when it ends."""
    found = TokenService(open_database(database_url)).tokens(name)
    if as_json:
        show_json([_token_json(each) for each in found])
        return
    for each in found:
        used = "never" if each.last_used_at is None else f"{each.last_used_at:%Y-%m-%d %H:%M} UTC"
        ends = "" if each.expires_at is None else f"until {each.expires_at:%Y-%m-%d}"
        made = f"made {each.created_at:%Y-%m-%d}"
        show_line("\t".join((str(each.id), each.name, made, f"last used {used}", ends)).rstrip())


@users.command("revoke-token")
def revoke_token(
    name: NameArgument,
    number: Annotated[int, typer.Argument(metavar="NUMBER", help="The number that `user tokens` lists.")],
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Revoke a token at once."""
    TokenService(open_database(database_url)).revoke(name, number)


def _token_json(token: Token) -> dict[str, object]:
    used, ends = token.last_used_at, token.expires_at
    return {
        "number": token.id,
        "name": token.name,
        "created_at": token.created_at.isoformat(),
        "last_used_at": None if used is None else used.isoformat(),
        "expires_at": None if ends is None else ends.isoformat(),
    }


def _accounts(url: str) -> AccountService:
    return AccountService(open_database(url))


def _invitations(url: str) -> InvitationService:
    return InvitationService(open_database(url))


def _read_password() -> str:
    if sys.stdin.isatty():
        print("Password, then Enter:", file=sys.stderr)
    line = sys.stdin.buffer.readline(_LONGEST_LINE)
    try:
        return line.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError:
        raise CallError("The password on standard input is not UTF-8: save or type it as UTF-8.") from None


def check_address(address: str) -> None:
    """Refuse what makes no link that a browser opens, before anything is made that only a link gives."""
    try:
        parts = urlsplit(address)
        is_whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # the port, or brackets around no address
        is_whole = False
    if not is_whole or parts.query or parts.fragment or any(map(str.isspace, address)):
        raise CallError(
            f"--address must be like {DEFAULT_ADDRESS} or https://rate.example.org, not {address!r}."
        )


def print_link(address: str, path: str, said: str) -> None:
    """The bare link on standard output, for scripts; what to know of it on standard error, for people."""
    if address == DEFAULT_ADDRESS:
        said += "; for a server at another address give --address or the variable KPDEMO_ADDRESS"
    print(f"{said}:", file=sys.stderr, flush=True)
    print(f"{address.rstrip('/')}{path}")


def _print_invitation(address: str, token: str, who: str) -> None:
    print_link(address, f"/invitation/{token}", f"For {who}, valid once within {LASTS.days} days")


def _account_json(account: Account) -> dict[str, object]:
    user = account.user
    return {
        "name": user.name,
        "administrator": user.is_administrator,
        "disabled": user.is_disabled,
        "has_password": user.has_password,
        "created_at": account.created_at.isoformat(),
        "roles": [{"project": project, "role": role} for project, role in account.roles],
    }


def _link_json(link: OpenInvitation) -> dict[str, object]:
    return {
        "number": link.id,
        "set_up": link.is_set_up,
        "name": link.user_name,
        "project": link.project,
        "role": link.role,
        "note": link.note,
        "created_by": link.created_by,
        "created_at": link.created_at.isoformat(),
        "expires_at": link.expires_at.isoformat(),
    }


_EXCLUSION_EXAMPLES = """
Examples:

\b
  python -m annotation user set-aside Ben --project news --reason "gave 2 to every pair"
  python -m annotation user bring-back Ben --project news
  python -m annotation agreement news --json | jq .set_aside
"""


def register_exclusion(app: typer.Typer) -> None:
    """Add the commands of this file to those of `user`."""
    users.command("set-aside", epilog=_EXCLUSION_EXAMPLES)(set_aside)
    users.command("bring-back", epilog=_EXCLUSION_EXAMPLES)(bring_back)


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
    grades = ExclusionService(database).exclude(found.id, name, reason)
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
    done = ExclusionService(database).restore(found.id, name)
    if as_json:
        figures = {"grades": done.grades, "left": done.left, "paused": done.is_paused}
        show_json({"project": found.name, "rater": name, **figures})
        return
    show_line(f"{number_of(done.grades, 'grade')} of {name} brought back in {found.name}.")
    if done.left:
        show_line(done.left_text)
    if done.is_paused:
        show_line(f"{name} stays paused.")


COMMAND_LINE = "command line"
_EVENT_HEADERS = ("When (UTC)", "Who", "What", "Details")
_EVENT_EXAMPLES = """
Examples:

\b
  python -m annotation events
  python -m annotation events news --limit 10
  python -m annotation events news --json
"""


def register_events(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("events", epilog=_EVENT_EXAMPLES)(events)


def events(
    project: Annotated[
        str | None,
        typer.Argument(
            metavar="PROJECT", help="The project's name; without it, events of the server are listed."
        ),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="The most events to list.")] = USUAL_LIMIT,
    as_json: JsonOption = False,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """List who did what, newest first: in a project, or with accounts, passwords and whole projects."""
    if project is None:
        name, found = None, EventService(open_database(database_url)).of_server(limit)
    else:
        database, of = open_project(database_url, project)
        name, found = of.name, EventService(database).recent(of.id, limit)
    if as_json:
        events = [
            {"at": event.at.isoformat(), "user": event.user, "action": event.action, "detail": event.detail}
            for event in found
        ]
        show_json({"project": name, "events": events})
    elif found:
        rows = [
            (
                f"{event.at:%Y-%m-%d %H:%M}",
                event.user or COMMAND_LINE,
                event.action,
                detail_words(event.detail),
            )
            for event in found
        ]
        show_table(_EVENT_HEADERS, rows)
    else:
        show_line("No events yet.")
