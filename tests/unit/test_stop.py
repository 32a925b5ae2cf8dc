"""Whose question a Stop button stops."""

from __future__ import annotations

import pytest

from kpdemo.errors import StoppedError
from kpdemo.ui import widgets as module
from kpdemo.ui.widgets import Stops


def is_stopped(stop):
    try:
        stop.check()
    except StoppedError:
        return True
    return False


@pytest.fixture
def stops():
    return Stops()


def test_a_stop_is_for_the_page_that_asked_and_has_its_sentence(stops):
    with stops.begun("a", "Nothing was sent.") as mine, stops.begun("b") as other:
        stops.ask("a")
        assert not is_stopped(other)
        with pytest.raises(StoppedError, match=r"Nothing was sent\."):
            mine.check()


def test_callers_without_a_page_are_not_stopped_by_each_other(stops):
    stops.ask("")
    with stops.begun("") as stop:
        stops.ask("")
        assert not is_stopped(stop)


def test_a_stop_before_the_question_began_is_for_that_one_only(stops):
    stops.ask("a")
    for expected in (True, False):
        with stops.begun("a") as stop:
            assert is_stopped(stop) is expected


def test_a_stop_that_comes_just_after_the_answer_does_not_stop_the_next_question(stops):
    with stops.begun("a"):
        pass
    stops.ask("a")
    with stops.begun("a") as stop:
        assert not is_stopped(stop)


def test_a_stop_long_after_an_answer_is_for_the_next_question(stops, monkeypatch):
    monkeypatch.setattr(module, "LATE", 0.0)
    with stops.begun("a"):
        pass
    stops.ask("a")
    with stops.begun("a") as stop:
        assert is_stopped(stop)


def test_only_so_many_early_stops_are_remembered(stops, monkeypatch):
    monkeypatch.setattr(module, "MOST_PAGES", 2)
    for page in "abc":
        stops.ask(page)
    for page, expected in zip("abc", (False, True, True), strict=True):
        with stops.begun(page) as stop:
            assert is_stopped(stop) is expected
