"""What raters say beside their grades reaches those who lead the project, and nobody of another one."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from annotation.services.accounts import AccountService
from annotation.services.assignment import AssignmentService
from annotation.services.imports import ImportService
from annotation.services.projects import ProjectService
from annotation.services.ratings import RatingService, RemarkKind, RemarkService
from annotation.types import NewPair, ProjectSettings, Role, SkipReason
from annotation.wording import LONG_BEGINNING
from db import Database
from tests.commands import main
from tests.people import MovableClock


@pytest.fixture
def database(sqlite_database):
    return sqlite_database


LONG = "word " * 500
SAID = "Ist das ein Satz? 雪 שלום 🙂"


@dataclass
class Study:
    """A project with three pairs, each rater saying something, a minute after the one before."""

    database: Database
    name: str
    clock: MovableClock = field(default_factory=MovableClock)

    def __post_init__(self) -> None:
        self.projects = ProjectService(self.database)
        settings = ProjectSettings(self.name, types=("sentence2phrase",), raters_per_pair=3, is_random=False)
        self.id = self.projects.create(settings).id
        pairs = [NewPair(f"p{n}", "sentence2phrase", f"left {n} {LONG}", f"right {n}") for n in range(3)]
        ImportService(self.database).import_pairs(self.id, pairs)
        self.assignments = AssignmentService(self.database, clock=self.clock)
        self.ratings = RatingService(self.database, clock=self.clock)

    def pairs_of(self, name: str) -> tuple[int, list[int]]:
        """Makes a rater; their id, and those of the three pairs, all given to them."""
        rater = AccountService(self.database).add_user(name)
        self.projects.add_member(self.id, name, Role.RATER)
        return rater.id, [pair.id for pair in self.assignments.queue(self.id, rater.id, count=3).pairs]

    def comment(self, pair: int, rater: int, text: str, is_flagged: bool = False) -> None:
        self.clock.forward(minutes=1)
        self.ratings.comment(pair, rater, text, is_flagged)

    def skip(self, pair: int, rater: int, reason: SkipReason, note: str = "") -> None:
        self.clock.forward(minutes=1)
        self.assignments.skip(pair, rater, reason, note)


@pytest.fixture
def study(database) -> Study:
    """In this order: Ana flags p1, comments p0, skips p2; Ben flags p0 without a word, comments p1."""
    study = Study(database, "News")
    ana, first = study.pairs_of("Ana")
    ben, second = study.pairs_of("Ben")
    assert first == second
    study.comment(first[1], ana, SAID, is_flagged=True)
    study.comment(first[0], ana, "=plain")
    study.skip(first[2], ana, SkipReason.BROKEN_TEXT, "half of it is missing")
    study.comment(first[0], ben, "", is_flagged=True)
    study.comment(first[1], ben, "later")
    return study


EXPECTED = [
    (RemarkKind.PROBLEM, "p0", "Ben", None, ""),
    (RemarkKind.PROBLEM, "p1", "Ana", None, SAID),
    (RemarkKind.COMMENT, "p1", "Ben", None, "later"),
    (RemarkKind.SKIP, "p2", "Ana", SkipReason.BROKEN_TEXT, "half of it is missing"),
    (RemarkKind.COMMENT, "p0", "Ana", None, "=plain"),
]


def seen(items):
    return [(item.kind, item.external_id, item.rater, item.reason, item.text) for item in items]


def test_flags_come_first_and_then_the_newest_of_comments_and_skips(study):
    page = RemarkService(study.database).remarks(study.id)
    assert seen(page.items) == EXPECTED
    assert page.counts == {RemarkKind.PROBLEM: 2, RemarkKind.COMMENT: 2, RemarkKind.SKIP: 1}
    noon = datetime(2026, 11, 22, 12, tzinfo=UTC)
    assert [(item.at - noon) / timedelta(minutes=1) for item in page.items] == [4, 1, 5, 3, 2]


def test_a_remark_names_its_pair_and_shows_the_beginnings_of_both_items(study):
    [first, *_] = RemarkService(study.database).remarks(study.id).items
    assert first.type == "sentence2phrase"
    assert first.left.startswith("left 0 word word")
    assert LONG_BEGINNING - 5 <= len(first.left) <= LONG_BEGINNING + 1
    assert first.left.endswith("…")
    assert first.right == "right 0"
    ben = AccountService(study.database).user("Ben").id
    assert study.ratings.pair(first.pair_id, ben).right == "right 0"


def test_a_limit_leaves_the_first_and_the_number_of_all(study):
    service = RemarkService(study.database)
    some = service.remarks(study.id, limit=2)
    assert (seen(some.items), some.total) == (EXPECTED[:2], 5)
    assert seen(service.remarks(study.id, limit=None).items) == EXPECTED


def test_what_is_said_in_another_project_is_not_shown(study):
    other = Study(study.database, "Other")
    service = RemarkService(study.database)
    assert service.remarks(other.id).total == 0
    assert service.remarks(other.id).items == ()
    eva, pairs = other.pairs_of("Eva")
    other.comment(pairs[0], eva, "elsewhere", is_flagged=True)
    other.skip(pairs[1], eva, SkipReason.OTHER)
    assert seen(service.remarks(study.id).items) == EXPECTED
    assert [item.rater for item in service.remarks(other.id).items] == ["Eva", "Eva"]


def test_a_comment_that_was_taken_back_is_gone_and_a_reworded_one_is_there_once(study):
    ana = AccountService(study.database).user("Ana").id
    service = RemarkService(study.database)
    pairs = {(item.external_id, item.rater): item.pair_id for item in service.remarks(study.id).items}
    study.comment(pairs["p0", "Ana"], ana, "  ")
    study.comment(pairs["p1", "Ana"], ana, "no longer flagged")
    page = service.remarks(study.id)
    assert seen(page.items)[:2] == [EXPECTED[0], (RemarkKind.COMMENT, "p1", "Ana", None, "no longer flagged")]
    assert page.total == len(page.items) == 4


def test_a_comment_stays_when_its_pair_is_graded(study):
    [first, *_] = RemarkService(study.database).remarks(study.id).items
    study.ratings.rate(first.pair_id, AccountService(study.database).user("Ben").id, Decimal(3))
    assert seen(RemarkService(study.database).remarks(study.id).items) == EXPECTED


ON_SQLITE = pytest.mark.parametrize("database", ["sqlite"], indirect=True)


@pytest.fixture
def url(study) -> str:
    return str(study.database.url)


@ON_SQLITE
def test_the_command_line_lists_them(study, url, capsys):
    assert main(["remarks", "news", "--database-url", url]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:-1]] == ["problem", "problem", "comment", "skip", "comment"]
    assert lines[-1] == "2 problems, 2 other comments, 1 skipped."
    assert main(["remarks", "news", "--json", "--database-url", url]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["project"], found["counts"]) == ("News", {"problem": 2, "comment": 2, "skip": 1})
    keys = ("kind", "id", "rater", "reason", "text")
    assert [tuple(said[key] for key in keys) for said in found["remarks"]] == EXPECTED
    assert found["remarks"][0]["at"] == "2026-11-22T12:04:00+00:00"


@ON_SQLITE
def test_the_command_line_says_when_there_are_none_and_when_there_is_no_such_project(study, url, capsys):
    Study(study.database, "Silent")
    assert main(["remarks", "Silent", "--database-url", url]) == 0
    assert capsys.readouterr().out == "0 problems, 0 other comments, 0 skipped.\n"
    assert main(["remarks", "nothing", "--database-url", url]) == 1
    assert "nothing" in capsys.readouterr().err
