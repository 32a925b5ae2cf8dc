"""Drift: the mean distance from the others, window by window."""

from __future__ import annotations

import numpy as np
import pytest

from annotation.agreement import Grades
from annotation.reliability.raters import FEWEST_IN_WINDOW, MOST_WINDOWS, drifts, mean_interval


def rated(first: list[float], second: list[float]) -> Grades:
    """Two raters who both graded pairs 0, 1, 2 and so on."""
    count = len(first)
    pairs = np.tile(np.arange(count), 2)
    raters = np.repeat([0, 1], count)
    return Grades(pairs, raters, np.array([*first, *second], dtype=np.float64))


def moments(count: int) -> np.ndarray:
    return np.tile(np.arange(count, dtype=np.float64) * 60, 2)


def test_the_interval_is_students():
    # Dalgaard, Introductory Statistics with R (2008), section 5.1: daily energy intake of 11 women, in kJ.
    intake = [5260, 5470, 5640, 6180, 6390, 6515, 6805, 7515, 7515, 8230, 8770]
    mean, half = mean_interval(intake)
    assert mean == pytest.approx(6753.636, abs=0.001)
    assert (mean - half, mean + half) == pytest.approx((5986.348, 7520.925), abs=0.001)


def test_a_rater_who_grows_stricter_is_told_and_the_other_mirrors_him():
    count = 40
    steady = [2.0, 3.0] * (count // 2)
    stricter = [
        grade - (1.0 if place >= 20 else 0.0) + 0.25 * (place % 2) for place, grade in enumerate(steady)
    ]
    found = drifts(rated(stricter, steady), moments(count), np.full(count, np.nan), 2)
    assert [len(drift.windows) for drift in found] == [4, 4]
    assert found[0].change == pytest.approx(-1.0)
    assert found[1].change == pytest.approx(1.0)
    assert found[0].is_clear
    assert [window.ratings for window in found[0].windows] == [10] * 4
    assert found[0].windows[0].start == 0
    assert found[0].windows[-1].end == 39 * 60
    assert all(window.low <= window.mean <= window.high for window in found[0].windows)


@pytest.mark.parametrize("others", [(0.25, 0.5, 0.5), (2.0, 2.25, 2.25)])
def test_a_move_of_just_a_step_is_clear_whatever_the_mean_of_the_others(others):
    count = 2 * FEWEST_IN_WINDOW
    moved = [2.0] * FEWEST_IN_WINDOW + [2.25] * FEWEST_IN_WINDOW
    grades = np.concatenate([moved, *([grade] * count for grade in others)])
    four = Grades(np.tile(np.arange(count), 4), np.repeat(np.arange(4), count), grades)
    when = np.tile(np.arange(count, dtype=np.float64), 4)
    assert drifts(four, when, np.full(count, np.nan), 4)[0].is_clear


def test_where_a_pair_was_decided_the_decision_is_the_measure():
    count = FEWEST_IN_WINDOW
    decisions = np.full(count, 3.0)
    [first, second] = drifts(rated([3.0] * count, [1.0] * count), moments(count), decisions, 2)
    assert (first.windows[0].mean, second.windows[0].mean) == (0.0, -2.0)
    assert first.change is None
    assert not second.is_clear


def test_ratings_without_a_moment_count_for_the_others_only():
    count = FEWEST_IN_WINDOW
    when = moments(count)
    when[:count] = np.nan
    [imported, timed] = drifts(rated([3.0] * count, [1.0] * count), when, np.full(count, np.nan), 2)
    assert imported.windows == ()
    assert timed.windows[0].mean == -2.0


def test_nothing_to_compare_and_too_little_of_it_gives_no_window():
    alone = Grades(np.arange(50), np.zeros(50, dtype=np.int64), np.full(50, 2.0))
    [drift] = drifts(alone, np.arange(50.0), np.full(50, np.nan), 1)
    assert (drift.windows, drift.change) == ((), None)
    empty = Grades(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    assert drifts(empty, np.empty(0), np.empty(0), 0) == []
    few = drifts(rated([1.0] * 9, [2.0] * 9), moments(9), np.full(9, np.nan), 2)
    assert [one.windows for one in few] == [(), ()]


def test_many_ratings_make_no_more_windows_than_can_be_read():
    count = 1003
    [drift, _] = drifts(rated([1.0] * count, [1.5] * count), moments(count), np.full(count, np.nan), 2)
    assert len(drift.windows) == MOST_WINDOWS
    assert sum(window.ratings for window in drift.windows) == count
