"""A project with larger items, and people who write, edit and rate."""

from __future__ import annotations

from dataclasses import dataclass

from annotation.authoring import NewItem, Task
from annotation.services.accounts import AccountService
from annotation.services.assignment import AssignmentService
from annotation.services.editing import EditingService
from annotation.services.imports import ImportService
from annotation.services.larger_items import ItemService
from annotation.services.projects import ProjectService
from annotation.services.ratings import RatingService
from annotation.services.writing import WritingService
from annotation.types import Project, ProjectSettings, Role, User
from db import Database
from tests.people import MovableClock

TYPE = "sentence2phrase"
PEOPLE = {
    "wim": (Role.WRITER, Role.RATER),
    "wes": (Role.WRITER,),
    "eda": (Role.EDITOR, Role.RATER),
    "ana": (Role.RATER,),
    "ben": (Role.RATER,),
}


def sentence(number: int) -> str:
    return f"Ferry number {number} leaves the old harbour at noon while gulls follow it."


def new_items(count: int, *, genre: str | None = "news", first: int = 0) -> list[NewItem]:
    return [
        NewItem(f"item {number}", TYPE, sentence(number), genre, "harbour log")
        for number in range(first, first + count)
    ]


@dataclass
class Office:
    """The services on one database, with a clock to move, and the people of a project."""

    database: Database
    clock: MovableClock
    project: Project
    users: dict[str, User]

    def __post_init__(self) -> None:
        self.projects = ProjectService(self.database, clock=self.clock)
        self.items = ItemService(self.database, self.clock)
        self.writing = WritingService(self.database, self.clock)
        self.editing = EditingService(self.database, self.clock)
        self.importing = ImportService(self.database, clock=self.clock)
        self.assignment = AssignmentService(self.database, self.clock)
        self.ratings = RatingService(self.database, self.clock, self.assignment)

    def id(self, name: str) -> int:
        return self.users[name].id

    def task(self, name: str) -> Task:
        task = self.writing.desk(self.project.id, self.id(name)).task
        assert task is not None
        return task

    def submit(self, name: str, text: str = "") -> Task:
        """Write for the item that the writer has."""
        task = self.task(name)
        words = text or f"a ferry leaving, told in way {task.id}"
        self.writing.submit(task.id, self.id(name), words, task.version)
        return task

    def accept_all(self, name: str = "eda") -> list[int]:
        return [
            self.editing.accept(self.project.id, each.id, self.id(name), version=each.version)
            for each in self.editing.queue(self.project.id, self.id(name))
        ]

    def queue(self, name: str) -> list[int]:
        return [pair.id for pair in self.assignment.queue(self.project.id, self.id(name), 99).pairs]


def open_office(database: Database, *, items: int = 0, name: str = "ferries", **settings: object) -> Office:
    clock = MovableClock()
    accounts, projects = AccountService(database, clock=clock), ProjectService(database, clock=clock)
    project = projects.create(ProjectSettings(name, types=(TYPE, "phrase2word"), **settings))  # type: ignore[arg-type]
    users = {}
    for person, roles in PEOPLE.items():
        users[person] = accounts.add_user(person)
        for role in roles:
            projects.add_member(project.id, person, role)
    office = Office(database, clock, project, users)
    if items:
        office.items.import_items(project.id, new_items(items))
    return office
