"""Projects with ratings, as they come from an import, for tests of what is made of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from annotation.services.accounts import AccountService
from annotation.services.gold import stream_pairs
from annotation.services.imports import ImportService
from annotation.services.projects import ProjectService
from annotation.types import NewPair, NewRating, Project, ProjectSettings, RatedPair, Role, User
from db import Database
from db.models import ServerKey


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def move(self, seconds: float = 60) -> None:
        self.now += timedelta(seconds=seconds)


def rated_pairs(database: Database, project_id: int) -> list[RatedPair]:
    """Every pair with its ratings, by account name, in the order of import, as an export reads them."""
    with database.reading() as session:
        return list(stream_pairs(session, project_id))


@dataclass(frozen=True)
class Rated:
    """A project, its pairs and its adjudicator."""

    database: Database
    clock: Clock
    project: Project
    adjudicator: User

    @property
    def id(self) -> int:
        return self.project.id

    def rate(self, pair: str, **grades: str) -> None:
        """Ratings that come later."""
        ratings = [NewRating(pair, rater, Decimal(grade)) for rater, grade in grades.items()]
        ImportService(self.database, clock=self.clock).import_pairs(self.id, ratings)

    def pair_id(self, external_id: str) -> int:
        from sqlalchemy import select

        from db.models import Pair

        with self.database.reading() as session:
            found = session.scalar(
                select(Pair.id).where(Pair.project_id == self.id, Pair.external_id == external_id)
            )
        assert found is not None
        return found


def pair(id: str, *grades: str, type: str = "sentence2phrase", **fields: object) -> NewPair:
    """A pair whose raters are ana, ben, cleo and dora, as many as there are grades."""
    texts = {"left": f"The ferry {id} leaves the old harbour at noon.", "right": f"a noon ferry {id}"}
    ratings = tuple(zip(("ana", "ben", "cleo", "dora"), map(Decimal, grades), strict=False))
    return NewPair(id=id, type=type, **{**texts, "ratings": ratings, **fields})


def rated_project(
    database: Database, pairs: Iterable[NewPair], clock: Clock | None = None, **settings: object
) -> Rated:
    clock = clock or Clock()
    with database.session() as session:  # else raters would have other numbers in each run
        session.merge(ServerKey(name="raters", value="0" * 64, created_at=clock()))
    accounts = AccountService(database, clock=clock)
    projects = ProjectService(database, clock=clock)
    chosen: Mapping[str, object] = {"name": "harbour", "raters_per_pair": 2, "is_random": False, **settings}
    project = projects.create(ProjectSettings(**chosen))
    ImportService(database, clock=clock).import_pairs(project.id, pairs)
    if not any(user.name == "judith" for user in accounts.users()):
        accounts.add_user("judith")
    projects.add_member(project.id, "judith", Role.ADJUDICATOR)
    return Rated(database, clock, project, accounts.user("judith"))
