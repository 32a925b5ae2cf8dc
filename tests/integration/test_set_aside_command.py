"""`python -m annotation user set-aside` and `user bring-back`."""

from __future__ import annotations

import json

import pytest

from annotation.services.quality import QualityService
from db import Database
from tests.commands import main
from tests.rated import Rated, pair, rated_project

HERE = ("--project", "harbour")


@pytest.fixture
def rated(sqlite_database: Database) -> Rated:
    return rated_project(sqlite_database, [pair("a", "0", "4"), pair("b", "1", "1.5")])


@pytest.fixture
def call(rated, capsys):
    """Run a command on the project: its status, output and standard error."""

    def run(*arguments: str) -> tuple[int, str, str]:
        status = main([*arguments, "--database-url", f"sqlite:///{rated.database.url.database}"])
        out, err = capsys.readouterr()
        return status, out, err

    return run


def test_grades_are_set_aside_and_brought_back(call, rated):
    said = "2 grades of ben set aside in harbour: others grade these pairs.\n"
    assert call("user", "set-aside", "ben", *HERE, "--reason", "one grade only") == (0, said, "")
    status, out, _ = call("agreement", "harbour", "--resamples", "10")
    assert status == 0
    assert "Grades that were set aside and count nowhere: 2 of ben (" in out
    assert ": one grade only)." in out
    [told] = json.loads(call("agreement", "harbour", "--resamples", "10", "--json")[1])["set_aside"]
    assert (told["rater"], told["grades"], told["reason"]) == ("ben", 2, "one grade only")
    rated.rate("a", cleo="1")
    back = "1 grade of ben brought back in harbour.\n1 grade stays set aside: the pair has all its raters.\n"
    assert call("user", "bring-back", "ben", *HERE) == (0, back, "")
    assert QualityService(rated.database).paused(rated.id) == frozenset()


def test_what_was_done_is_told_as_json(call, rated):
    QualityService(rated.database).pause(rated.id, "ana")
    figures = call("user", "set-aside", "ana", *HERE, "--reason", "x", "--json")[1]
    assert json.loads(figures) == {"project": "harbour", "rater": "ana", "grades": 2}
    figures = call("user", "bring-back", "ana", *HERE, "--json")[1]
    told = {"project": "harbour", "rater": "ana", "grades": 2, "left": 0, "paused": True}
    assert json.loads(figures) == told


def test_what_cannot_be_done_is_told(call):
    assert call("user", "set-aside", "ben", *HERE)[0] == 2
    for arguments, told in (
        (("set-aside", "ben", *HERE, "--reason", " "), "No reason is given: say why"),
        (("set-aside", "judith", *HERE, "--reason", "x"), "'judith' has no grades that count in 'harbour'"),
        (("bring-back", "ben", *HERE), "'ben' has no grades set aside in 'harbour'"),
    ):
        status, out, err = call("user", *arguments)
        assert (status, out) == (1, "")
        assert told in err
