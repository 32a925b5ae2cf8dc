"""`python -m annotation project add-member` and `remove-member`: who works in a project."""

from __future__ import annotations

from typing import Annotated

import typer

from annotation.commands.options import DatabaseOption, open_database
from annotation.commands.project_views import roles_of
from annotation.commands.projects import NameArgument, projects
from annotation.services.projects import ProjectService
from annotation.terminal import show_line
from annotation.types import Role
from db import DEFAULT_URL

UserArgument = Annotated[str, typer.Argument(metavar="USER", help="The account's name.")]


def register(app: typer.Typer) -> None:
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
