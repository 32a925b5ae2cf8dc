"""Who worked how much, counted by hand; the command and the page that tell it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from hashlib import sha256

import pytest

from annotation.errors import NotFoundError
from annotation.quality import QualitySettings
from annotation.services.assignment import AssignmentService
from annotation.services.bundle import open_services
from annotation.services.imports import ImportService
from annotation.services.quality import Work, WorkService
from annotation.services.ratings import RatingService
from annotation.types import KnownPair, NewPair, NewRating, Role, SkipReason
from annotation.ui.figures import table_csv
from annotation.ui.quality import work_html, work_table
from tests.commands import main
from tests.raters import LONG_AGO, TYPE, new_world


@pytest.fixture
def database(sqlite_database):
    return sqlite_database


DAY, HOUR = timedelta(days=1), timedelta(hours=1)


class Desk:
    """A project whose clock is moved by hand."""

    def __init__(self, database, **given):
        self.world = new_world(database, **{"pairs": 8, "raters": 2, "k": 2, **given})
        self.now = LONG_AGO
        self.services = open_services(database)
        self.assignment = AssignmentService(database, self.clock)
        self.ratings = RatingService(database, self.clock)

    def clock(self):
        return self.now

    def queue(self, rater):
        return self.assignment.queue(self.world.project, rater).pairs

    def grade(self, rater, seconds, after=timedelta(0)):
        self.now += after
        pair = self.queue(rater)[0]
        self.ratings.rate(pair.id, rater, Decimal(2), seconds)
        return pair.id

    def work(self):
        return {
            row.rater: row for row in WorkService(self.world.database, self.clock).work(self.world.project)
        }


@pytest.fixture
def desk(database):
    return Desk(database)


def test_what_a_rater_did_is_counted(desk):
    first = desk.world.raters[0]
    elsewhere = Desk(desk.world.database)
    elsewhere.grade(elsewhere.world.raters[0], 5.0)
    pair = desk.grade(first, 600.0)
    desk.grade(first, 900.0, 4 * DAY)
    desk.grade(first, 1500.0, 2 * DAY + 23 * HOUR)
    desk.ratings.rate(pair, first, Decimal(3), 600.0)  # 23 hours and six days later
    skipped = desk.queue(first)[0].id
    desk.now += HOUR
    desk.assignment.skip(skipped, first, SkipReason.OTHER)
    desk.now += HOUR / 4
    found = desk.work()["rater 0.0"]
    assert found == Work(
        "rater 0.0",
        ratings=3,
        skipped=1,
        held=2,
        last_day=1,
        last_week=2,
        seconds=3600.0,
        first_at=LONG_AGO,
        last_at=LONG_AGO + 6 * DAY + 24 * HOUR,
    )
    assert (found.hours, found.per_hour) == (1.0, 3.0)
    nothing = desk.work()["rater 0.1"]
    assert (nothing, nothing.per_hour) == (Work("rater 0.1"), None)
    assert Work("eva", ratings=5, seconds=14).per_hour is None  # and not 1,286


def test_pairs_whose_lease_ran_out_are_held_no_longer(desk):
    desk.queue(desk.world.raters[0])
    assert desk.work()["rater 0.0"].held == 2
    desk.now += HOUR
    assert desk.work()["rater 0.0"].held == 0


def test_check_pairs_and_withdrawn_ones_were_work_and_imported_grades_are_only_counted(desk):
    first, services, project = desk.world.raters[0], desk.services, desk.world.project
    pair = NewPair("c1", TYPE, "A ship is in the dock.", "a docked ship", place="known.tsv, line 1")
    services.known_pairs.import_checks(project, [KnownPair(pair, Decimal(3))])
    services.quality.change(project, QualitySettings(check_every=2))
    graded = 0
    while desk.queue(first):
        desk.grade(first, 10.0)
        graded += 1
    assert graded == 9
    services.pairs.withdraw(project, ["secret id 3"])
    services.importing.import_pairs(
        project, [NewRating("secret id 1", "eva", Decimal(1), place="a.csv, line 2")]
    )
    found = desk.work()
    assert found["rater 0.0"] == Work(
        "rater 0.0",
        ratings=9,
        checks=1,
        withdrawn=1,
        last_day=9,
        last_week=9,
        seconds=90.0,
        first_at=LONG_AGO,
        last_at=LONG_AGO,
    )
    assert (found["eva"].ratings, found["eva"].imported, found["eva"].last_week) == (1, 1, 0)
    assert (found["eva"].first_at, found["eva"].hours, found["eva"].per_hour) == (None, 0.0, None)


def test_grades_that_were_set_aside_were_work(desk):
    first = desk.world.raters[0]
    desk.grade(first, 600.0)
    before = desk.work()["rater 0.0"]
    desk.services.exclusion.exclude(desk.world.project, "rater 0.0", "one grade for all")
    assert desk.work()["rater 0.0"] == replace(before, set_aside=1, held=0)


def test_an_imported_grade_counts_as_given_when_its_rater_changes_it(desk):
    [first, *_], project = desk.world.raters, desk.world.project
    importing = ImportService(desk.world.database, clock=desk.clock)
    importing.import_pairs(
        project, [NewRating("secret id 1", "rater 0.0", Decimal(1), place="a.csv, line 2")]
    )
    desk.now += 2 * DAY
    [graded] = RatingService(desk.world.database, desk.clock).recent(project, first)
    desk.ratings.rate(graded.id, first, Decimal(2), 30.0)
    found = desk.work()["rater 0.0"]
    assert (found.ratings, found.imported, found.last_day) == (1, 0, 1)
    assert (found.first_at, found.last_at) == (desk.now, desk.now)


def test_who_is_no_longer_a_rater_comes_last_if_they_did_something(desk):
    first, second = desk.world.raters
    desk.grade(first, 10.0)
    desk.queue(second)
    for name in ("rater 0.0", "rater 0.1"):
        desk.services.projects.remove_member(desk.world.project, name)
    assert [(row.rater, row.is_former) for row in desk.work().values()] == [("rater 0.0", True)]
    desk.services.projects.add_member(desk.world.project, "rater 0.1", Role.RATER)
    assert list(desk.work()) == ["rater 0.1", "rater 0.0"]


def test_a_project_that_is_not_there_is_named(database):
    with pytest.raises(NotFoundError):
        WorkService(database).work(99)


def test_the_command_lists_raters_and_json_has_all(sqlite_database, capsys):
    desk = Desk(sqlite_database)
    desk.grade(desk.world.raters[0], 1800.0)
    desk.services.projects.remove_member(desk.world.project, "rater 0.0")
    call = ["raters", "Project 0", "--database-url", f"sqlite:///{sqlite_database.url.database}"]
    assert main(call) == 0
    out = capsys.readouterr().out
    cells = "rater 0.0 (no longer a rater)|1|0|0|0|0|0.5|2.0|2026-03-01 09:00|2026-03-01 09:00"
    assert re.split(" {2,}", out.splitlines()[2].strip()) == cells.split("|")
    assert main([*call, "--json"]) == 0
    idle, worked = json.loads(capsys.readouterr().out)["raters"]
    assert (idle["rater"], idle["ratings"], idle["per_hour"], idle["last_at"]) == ("rater 0.1", 0, None, None)
    assert worked == {
        "rater": "rater 0.0",
        "former": True,
        "ratings": 1,
        "imported": 0,
        "checks": 0,
        "withdrawn": 0,
        "set_aside": 0,
        "last_24_hours": 0,
        "last_7_days": 0,
        "skipped": 0,
        "held": 0,
        "hours": 0.5,
        "per_hour": 2.0,
        "first_at": "2026-03-01T09:00:00+00:00",
        "last_at": "2026-03-01T09:00:00+00:00",
        "consent": None,
    }


def test_the_command_tells_who_agreed_and_to_what_once_there_is_a_text(sqlite_database, capsys):
    desk = Desk(sqlite_database)
    services, project = desk.services, desk.world.project
    call = ["raters", "Project 0", "--database-url", f"sqlite:///{sqlite_database.url.database}"]
    for text in ("Take part?", "Take part still?"):
        settings = services.projects.get(project).settings
        services.projects.update(project, replace(settings, consent=text))
        hashed = sha256(text.encode()).hexdigest()
        for rater in desk.world.raters[: 2 if text == "Take part?" else 1]:
            services.consents.agree(project, rater, hashed)
    assert main([*call, "--json"]) == 0
    told = [rater["consent"] for rater in json.loads(capsys.readouterr().out)["raters"]]
    assert [(each["sha256"] == hashed, each["current"]) for each in told] == [(True, True), (False, False)]
    assert all(datetime.fromisoformat(each["at"]).tzinfo for each in told)
    assert main(call) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].strip().endswith("Agreed (UTC)")
    assert [line.strip().endswith("earlier text") for line in lines[-2:]] == [False, True]
    services.projects.add_member(project, services.accounts.add_user("Zoe").name, Role.RATER)
    moment = f"{datetime.fromisoformat(told[1]['at']):%Y-%m-%d %H:%M}"
    for text, of_earlier, of_none in (("Take part now?", "earlier text", "no"), ("", moment, "–")):
        services.projects.update(project, replace(settings, consent=text))
        assert main(call) == 0
        *_, second, zoe = capsys.readouterr().out.splitlines()
        assert (second.split("  ")[-1].strip(), zoe.split()[-1]) == (of_earlier, of_none)


def test_the_page_has_a_table_that_can_be_saved():
    works = (Work("ana <b>", ratings=3, seconds=5400.0, first_at=LONG_AGO), Work("ben", is_former=True))
    shown = work_html(works, "harbour")
    assert 'data-save="harbour-work.csv"' in shown
    assert "ana &lt;b&gt;" in shown
    assert "no longer a rater" in shown
    lines = table_csv(work_table(works)).splitlines()
    assert lines[1] == "ana <b>,rater,3,0,0,0,0,1.5,2.0,2026-03-01T09:00:00+00:00,"
    assert "No raters yet" in work_html((), "harbour")
