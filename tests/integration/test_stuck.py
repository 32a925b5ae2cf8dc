"""Pairs that will never have all their grades, and what administrators are told of them."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal

import pytest

from annotation.services.accounts import AccountService, InvitationService
from annotation.services.bundle import Services, open_services
from annotation.services.pairs import StuckPair
from annotation.types import NewPair, ProjectSettings, Role, SkipReason
from annotation.ui.projects import next_steps, stuck_html
from db import Database
from tests.commands import main
from tests.people import CHEAP, PASSWORD


@pytest.fixture
def database(sqlite_database):
    return sqlite_database


TYPE = "sentence2phrase"


@pytest.fixture
def services(database) -> Services:
    return two_pairs(database)


def two_pairs(database: Database) -> Services:
    """Two pairs, two raters a pair, and Ana and Ben to grade them."""
    services = open_services(database)
    accounts = AccountService(database, passwords=CHEAP)
    project = services.projects.create(ProjectSettings("News", types=(TYPE,), is_random=False))
    for name in ("Ana", "Ben"):
        accounts.add_user(name, PASSWORD)
        services.projects.add_member(project.id, name, Role.RATER)
    services.importing.import_pairs(
        project.id, [NewPair(id, TYPE, f"left {id}", f"right {id}") for id in ("a", "b")]
    )
    return services


def work(services: Services, name: str, *, skips: str) -> None:
    """Grade everything but the pair of that id."""
    rater = services.accounts.user(name).id
    while pairs := services.assignment.queue(1, rater).pairs:
        if pairs[0].left == f"left {skips}":
            services.assignment.skip(pairs[0].id, rater, SkipReason.NOT_UNDERSTOOD)
        else:
            services.ratings.rate(pairs[0].id, rater, Decimal(2))


def test_raters_who_cannot_sign_in_are_no_raters_of_the_list_and_not_at_work(services):
    root = replace(services.accounts.user("Ana"), is_administrator=True)
    services.accounts.add_user("Old One")
    services.projects.add_member(1, "Old One", Role.RATER)
    services.accounts.disable("Ana")
    assert [line.raters for line in services.overview.projects(root)] == [1]
    services.accounts.disable("Ben")
    [line] = services.overview.projects(root)
    assert [step.text for step in next_steps(line, root, None)] == ["Invite raters"]
    standings = services.quality.overview(1).standings
    assert [standing.work for standing in standings] == ["disabled", "disabled", "not yet: no password"]
    services.invitations.invite("Old One")
    assert [line.raters for line in services.overview.projects(root)] == [1]


def test_a_pair_that_everybody_graded_or_skipped_is_told_until_somebody_can_grade_it(services, database):
    work(services, "Ana", skips="a")
    assert services.pairs.stuck(1).items == (
        StuckPair("a", TYPE, 0, missing=2, raters_left=1, skips=1, broken=0),
    )
    work(services, "Ben", skips="")
    stuck = services.pairs.stuck(1)
    assert stuck.items == (StuckPair("a", TYPE, 1, missing=1, raters_left=0, skips=1, broken=0),)
    assert not stuck.fewer_would_do  # the other pair has two grades
    assert "1 pair lacks grades" in stuck_html(stuck, 1)
    assert "lower" not in stuck_html(stuck, 1)
    assert "paused" not in stuck_html(stuck, 1)
    assert "lower" in stuck_html(replace(stuck, lowest_raters=1), 1)

    for name in ("Ana", "Ben"):
        services.quality.pause(1, name)
    nobody = stuck_html(services.pairs.stuck(1), 1)
    assert "1 pair lacks grades, and no rater can be given pairs. <a" in nobody
    for name in ("Ana", "Ben"):
        services.quality.resume(1, name)

    accounts = AccountService(database, passwords=CHEAP)
    accounts.add_user("Cleo")
    services.projects.add_member(1, "Cleo", Role.RATER)
    assert services.pairs.stuck(1).total == 1  # nobody has sent her a link
    InvitationService(database).invite("Cleo")
    assert services.pairs.stuck(1).total == 0
    services.quality.pause(1, "Cleo")
    assert services.pairs.stuck(1).total == 1
    assert "rater</a>, or resume one who is paused." in stuck_html(services.pairs.stuck(1), 1)


def test_a_rater_whose_grades_were_set_aside_is_not_advised_to_go_on(services):
    for name in ("Ana", "Ben"):
        work(services, name, skips="")
    services.exclusion.exclude(1, "Ben", "one grade only")
    stuck = services.pairs.stuck(1)
    assert (stuck.total, stuck.paused) == (2, 0)
    assert "rater</a>." in stuck_html(stuck, 1)
    services.quality.pause(1, "Ana")
    assert services.pairs.stuck(1).paused == 1
    services.exclusion.restore(1, "Ben")
    services.quality.pause(1, "Ben")
    assert services.pairs.stuck(1).paused == 2


def test_pairs_that_raters_found_broken_are_told_to_be_withdrawn(services):
    for name, reason in (("Ana", SkipReason.BROKEN_TEXT), ("Ben", SkipReason.OTHER)):
        rater = services.accounts.user(name).id
        for pair in services.assignment.queue(1, rater).pairs:
            services.assignment.skip(pair.id, rater, reason)
    stuck = services.pairs.stuck(1)
    assert [(pair.skips, pair.broken) for pair in stuck.items] == [(2, 1), (2, 1)]
    assert "2 of them were skipped for a broken text" in stuck_html(stuck, 1)


def test_a_command_lists_the_pairs_that_nobody_is_left_for(sqlite_database, capsys):
    services = two_pairs(sqlite_database)
    for name in ("Ana", "Ben"):
        work(services, name, skips="b")
    url = str(sqlite_database.engine.url)
    assert main(["project", "show", "News", "--json", "--database-url", url]) == 0
    assert json.loads(capsys.readouterr().out)["stuck"] == {
        "pairs": 1,
        "open_links": 0,
        "items": [
            {
                "id": "b",
                "type": TYPE,
                "grades": 0,
                "missing": 2,
                "raters_left": 0,
                "skips": 2,
                "broken": 0,
            }
        ],
    }
    assert main(["project", "show", "News", "--database-url", url]) == 0
    assert "too few raters left for them: 1. Invite another rater.\n" in capsys.readouterr().out
    for _ in range(2):
        services.invitations.invite(project_id=1, role=Role.RATER)
    services.quality.pause(1, "Ana")
    assert main(["project", "show", "News", "--database-url", url]) == 0
    said = capsys.readouterr().out
    assert (
        "paused. 2 links for raters have not been used: the people who open them may grade these pairs too.\n"
        in said
    )


def test_open_links_for_raters_are_told_beside_pairs_that_nobody_is_left_for(services, database):
    for name in ("Ana", "Ben"):
        work(services, name, skips="b")
    accounts, invitations = AccountService(database, passwords=CHEAP), InvitationService(database)
    for name in ("Cleo", "Dora"):
        accounts.add_user(name)
    invitations.invite("Ana", project_id=1, role=Role.RATER)  # who is one already
    invitations.invite(project_id=1, role=Role.EDITOR)
    invitations.invite(project_id=1, role=Role.RATER, by=accounts.user("Dora"))  # who may not make it
    assert "not been used" not in stuck_html(services.pairs.stuck(1), 1)
    invitations.invite("Cleo", project_id=1, role=Role.RATER)
    invitations.invite("Dora", project_id=1, role=Role.RATER)
    accounts.disable("Dora")
    stuck = services.pairs.stuck(1)
    assert (stuck.total, stuck.open_links) == (1, 1)
    assert (
        "1 link for a rater has not been used: the person who opens it may grade these pairs too."
        in stuck_html(stuck, 1)
    )
    for name in ("Ana", "Ben"):
        services.quality.pause(1, name)
    assert "1 link for a rater has not been used" in stuck_html(services.pairs.stuck(1), 1)
