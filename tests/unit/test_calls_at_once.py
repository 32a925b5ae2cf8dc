"""`at_once` of the tests: a call that dies or hangs is no success."""

from __future__ import annotations

import threading

import pytest

from annotation.errors import PairError
from tests.people import at_once


def test_what_is_given_and_our_own_errors_are_answers():
    def refused() -> None:
        raise PairError("No.")

    given, error = at_once([lambda: 3, refused])
    assert given == 3
    assert isinstance(error, PairError)


def test_any_other_error_is_raised_once_all_have_ended():
    ended = threading.Event()
    with pytest.raises(ZeroDivisionError):
        at_once([lambda: 1 / 0, ended.set])
    assert ended.is_set()


def test_a_call_that_does_not_end_is_told():
    held = threading.Event()
    with pytest.raises(AssertionError, match=r"^calls \[1\] had not ended after 0\.2 seconds"):
        at_once([lambda: None, held.wait], seconds=0.2)
    held.set()
