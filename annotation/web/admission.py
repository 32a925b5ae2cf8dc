"""Who may download the files of a project."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fastapi import Request

from annotation.characters import shown
from annotation.errors import NotFoundError
from annotation.numbers import whole_in
from annotation.services.access.accounts import AccountService
from annotation.services.projects import ProjectService
from annotation.types import Project, Role, User


@dataclass(frozen=True, slots=True)
class Admission:
    accounts: AccountService
    projects: ProjectService
    user_of: Callable[[Request], User | None]
    """Who sends a request."""

    def admitted(self, request: Request, project_id: str, *roles: Role) -> tuple[User, Project]:
        """Who sends the request, with one of the roles in the project of its address, and that project.

        Raises:
            NotFoundError: there is no such project.
            AccessError: nobody is signed in, or with none of the roles.
        """
        user = self.user_of(request)
        number = _project_number(project_id)
        admitted = self.accounts.require(user.name if user else None, number, *roles)
        return admitted, self.projects.get(number)


def _project_number(text: str) -> int:
    number = whole_in(text)
    if number is None:
        raise NotFoundError(f"There is no project {shown(text)}: see the list of projects.")
    return number
