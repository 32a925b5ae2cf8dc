"""The section that sets a rater's grades aside: what it tells, what can be pressed, who may."""

from __future__ import annotations

from types import SimpleNamespace

import gradio as gr
import pytest

from annotation.services.accounts import AccountService
from annotation.services.excluded_ratings import ExclusionService
from annotation.services.projects import ProjectService
from annotation.types import Role
from annotation.ui.accounts import ExclusionHandlers
from tests.people import CHEAP, PASSWORD
from tests.rated import Rated, pair, rated_project


@pytest.fixture
def rated(sqlite_database) -> Rated:
    """Ana leads; ana, ben and cleo have graded, cleo one pair of two."""
    rated = rated_project(sqlite_database, [pair("a", "0", "4"), pair("b", "1", "1.5")], raters_per_pair=3)
    rated.rate("a", cleo="2")
    accounts = AccountService(sqlite_database, passwords=CHEAP)
    accounts.add_user("Lea", PASSWORD)
    ProjectService(sqlite_database).add_member(rated.id, "Lea", Role.ADMINISTRATOR)
    return rated


@pytest.fixture
def handlers(rated) -> ExclusionHandlers:
    database = rated.database
    return ExclusionHandlers(
        AccountService(database, passwords=CHEAP), ProjectService(database), ExclusionService(database)
    )


@pytest.fixture
def ask(rated):
    return lambda name="Lea": SimpleNamespace(username=name, query_params={"project": str(rated.id)})


def pressable(answer):
    """Whether grades can be set aside and brought back."""
    return [part.interactive for part in answer if isinstance(part, gr.Button)]


def test_the_chosen_rater_tells_what_there_is_and_what_can_be_done(handlers, ask):
    rater, told, *_ = handlers.show(ask())
    assert [name for name, _ in rater.choices] == ["ana", "ben", "cleo"]
    assert (rater.value, told) == (None, "")
    assert pressable(handlers.show(ask())) == [False, False]
    said, told, *rest = handlers.choose(ask(), "cleo")
    assert (said, "cleo: 1 grade of 2 pairs of the project." in told) == ("", True)
    assert pressable(rest) == [True, False]
    for name in ("Lea", "nobody", "", None):
        assert pressable(handlers.choose(ask(), name)) == [False, False]


def test_grades_are_set_aside_with_a_reason_and_brought_back(handlers, ask, rated):
    for name, why, told in ((None, "x", "No rater is chosen"), ("ben", " ", "No reason is given")):
        with pytest.raises(gr.Error, match=told):
            handlers.exclude(ask(), name, why)
    said, _, told, reason, *buttons = handlers.exclude(ask(), "ben", "one grade only")
    assert "2 grades of ben set aside: others are given these pairs." in said
    assert "ben: 0 grades of 2 pairs of the project, and 2 set aside." in told
    assert (reason.value, pressable(buttons)) == ("", [False, True])
    projects = ProjectService(rated.database)
    rated.rate("a", dora="3")
    rated.rate("b", dora="3", emil="3")
    said, _, told, *_, run, back = handlers.restore(ask(), "ben")
    assert "0 grades of ben brought back. 2 grades stay set aside: these pairs have all their raters." in said
    assert "ben stays paused" in said
    assert (run.interactive, back.interactive) == (False, True)
    assert projects.counts(rated.id).ratings == 6


@pytest.mark.parametrize("name", ["judith", "ben"])
def test_nobody_but_administrators_may(handlers, ask, name):
    for deed in (
        lambda request: handlers.show(request),
        lambda request: handlers.choose(request, "ben"),
        lambda request: handlers.exclude(request, "ben", "x"),
        lambda request: handlers.restore(request, "ben"),
    ):
        with pytest.raises(gr.Error, match="administrator"):
            deed(ask(name))
    assert [rater.set_aside for rater in handlers.grades.raters(1)] == [0, 0, 0]
