"""Who differs: figures counted by hand, α of every two, whom to look at first, and drift in time."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.agreement import Grades
from annotation.reliability.raters import (
    FEWEST_IN_WINDOW,
    MOST_WINDOWS,
    RaterFigures,
    alphas_of_rater_pairs,
    alphas_without_each,
    bucket_counts,
    conspicuous_raters,
    drifts,
    far_points,
    mean_interval,
    rater_figures,
)
from annotation.scale import Scale
from tests.grade_tables import grades_of_table, krippendorff_alpha

X = None
ANA = [4, 2, 1, X, 3]
BEN = [3, 2, X, X, 1]
EVA = [3, X, 0, X, X]
TABLE = [ANA, BEN, EVA]


def figures(table, seconds=None):
    grades = grades_of_table(table)
    timed = np.full(len(grades), np.nan) if seconds is None else np.array(seconds, dtype=float)
    return rater_figures(grades, timed, len(table))


def test_mean_spread_and_number_are_those_of_the_raters_own_grades():
    ana, ben, eva = figures(TABLE)
    assert [ana.ratings, ben.ratings, eva.ratings] == [4, 3, 2]
    assert [ana.mean, ben.mean, eva.mean] == [2.5, 2.0, 1.5]
    assert ana.spread == pytest.approx((5 / 3) ** 0.5)
    assert [ben.spread, eva.spread] == pytest.approx([1.0, 4.5**0.5])


def test_bias_compares_with_the_others_mean_on_the_same_pairs():
    ana, ben, eva = figures(TABLE)
    assert [ana.shared, ben.shared, eva.shared] == [4, 3, 2]
    assert ana.bias == pytest.approx(((4 - 3) + (2 - 2) + (1 - 0) + (3 - 1)) / 4)
    assert ben.bias == pytest.approx(((3 - 3.5) + (2 - 2) + (1 - 3)) / 3)
    assert eva.bias == pytest.approx(((3 - 3.5) + (0 - 1)) / 2)


def test_the_median_time_leaves_out_what_was_not_timed():
    grades = grades_of_table([[1, 2, 3], [1, 2, X]])
    [first, second] = rater_figures(grades, np.array([10.0, np.nan, 30.0, np.nan, np.nan]), 2)
    assert (first.median_seconds, second.median_seconds) == (20.0, None)


def test_what_cannot_be_told_yet_is_none():
    [first, second, third] = figures([[2, X], [X, 3], [X, X]])
    assert (first.mean, first.spread, first.bias, first.shared) == (2.0, None, None, 0)
    assert (second.mean, second.spread, second.bias) == (3.0, None, None)
    assert (third.ratings, third.mean, third.spread, third.bias) == (0, None, None, None)
    assert figures([]) == []


def test_each_two_raters_are_compared_on_their_common_pairs_lowest_first():
    table = [[0, 1, 2, 3, 4, X], [0, 1, 2, 3, 4, 1], [4, 3, X, 1, 0, 1]]
    pairs = alphas_of_rater_pairs(grades_of_table(table), resamples=50, seed=1)
    assert {(pair.first, pair.second): pair.alpha.pairs for pair in pairs} == {
        (0, 1): 5,
        (0, 2): 4,
        (1, 2): 5,
    }
    assert (pairs[-1].first, pairs[-1].second, pairs[-1].alpha.value) == (0, 1, 1.0)
    assert [pair.alpha.value for pair in pairs] == sorted(pair.alpha.value for pair in pairs)


def test_two_raters_with_one_common_pair_are_listed_last_with_the_reason():
    pairs = alphas_of_rater_pairs(grades_of_table([[0, 4, 1], [0, 4, X], [X, X, 1]]), resamples=10, seed=1)
    assert [(pair.first, pair.second) for pair in pairs] == [(0, 1), (0, 2)]
    assert pairs[-1].alpha.reason == "Only one pair has ratings of both; it takes two."


def test_raters_who_met_nobody_are_in_no_pair():
    assert alphas_of_rater_pairs(grades_of_table([[1, X], [X, 2]]), resamples=10, seed=1) == []
    assert alphas_of_rater_pairs(grades_of_table([]), resamples=10, seed=1) == []


def test_without_the_rater_who_differs_agreement_is_highest():
    table = [[0, 1, 2, 3, 4], [0, 1, 2, 3, 4], [4, 0, 3, 0, 1], [0, 1.25, 2, 3, 4]]
    first, *others = alphas_without_each(grades_of_table(table), 4, resamples=50, seed=1)
    assert first.rater == 2
    assert first.alpha.value > 0.99
    assert max(other.alpha.value for other in others) < 0.5


def test_without_one_of_two_raters_nothing_is_left_to_compare():
    left = alphas_without_each(grades_of_table([[1, 2], [1, 3]]), 2, resamples=10, seed=1)
    assert [row.alpha.reason for row in left] == ["Without this rater no pair has two ratings."] * 2
    nobody_met = alphas_without_each(grades_of_table([[1, X], [X, 3]]), 2, resamples=10, seed=1)
    assert [row.alpha.reason for row in nobody_met] == ["No pair has two ratings yet."] * 2


rows = st.lists(
    st.lists(st.none() | st.integers(0, 16).map(lambda quarter: quarter / 4), min_size=4, max_size=4),
    min_size=1,
    max_size=8,
)


@settings(max_examples=60)
@given(pairs=rows)
def test_pairs_of_raters_and_left_out_raters_are_alpha_of_the_smaller_table(pairs):
    table = [list(row) for row in zip(*pairs, strict=True)]
    grades = grades_of_table(table)
    for pair in alphas_of_rater_pairs(grades, resamples=0, seed=1):
        small = krippendorff_alpha(grades_of_table([table[pair.first], table[pair.second]])).value
        assert pair.alpha.value == (None if small is None else pytest.approx(small, abs=1e-12))
    for left in alphas_without_each(grades, 4, resamples=0, seed=1):
        small = krippendorff_alpha(
            grades_of_table([row for rater, row in enumerate(table) if rater != left.rater])
        ).value
        assert left.alpha.value == (None if small is None else pytest.approx(small, abs=1e-12))


@settings(max_examples=60)
@given(pairs=rows)
def test_bias_is_what_a_loop_over_pairs_finds(pairs):
    table = [list(row) for row in zip(*pairs, strict=True)]
    for rater, row in enumerate(figures(table)):
        others = [
            (pair[rater], [value for other, value in enumerate(pair) if other != rater and value is not None])
            for pair in pairs
            if pair[rater] is not None
        ]
        above = [own - sum(rest) / len(rest) for own, rest in others if rest]
        assert row.shared == len(above)
        assert row.bias == (pytest.approx(sum(above) / len(above), abs=1e-12) if above else None)


def test_a_bucket_is_a_point_and_the_steps_above_it():
    grades = np.arange(17) / 4
    assert bucket_counts(grades) == (4, 4, 4, 4, 1)
    assert bucket_counts(np.array([0.0])) == (1, 0, 0, 0, 0)
    assert bucket_counts(np.array([])) == (0, 0, 0, 0, 0)


def test_a_hundred_raters_are_bounded(monkeypatch):
    monkeypatch.setattr("annotation.reliability.raters.MEASURED_RATER_PAIRS", 3)
    pairs, raters = np.repeat(np.arange(4), 5), np.tile(np.arange(5), 4)
    grades = Grades(pairs[:-1], raters[:-1], (np.arange(19) % 5).astype(float))
    met = alphas_of_rater_pairs(grades, resamples=0, seed=1)
    assert len(met) == 3
    assert all(pair.alpha.pairs == 4 for pair in met)


NAMES = ("Cleo", "Ben", "ana")


def rater_with(rater, **known):
    usual = {"ratings": 18, "mean": 2.0, "spread": 1.1, "median_seconds": 6.0, "bias": 0.1, "shared": 18}
    return RaterFigures(rater, **{**usual, "timed": 18, **known})


def sentences(*changes):
    raters = [rater_with(rater, **known) for rater, known in enumerate(changes)]
    return [said for _, said in conspicuous_raters(raters, NAMES)]


def test_raters_like_one_another_are_not_named():
    assert sentences({}, {}, {"bias": -0.99, "median_seconds": 2.1}) == []
    assert conspicuous_raters([], []) == []


def test_who_gave_one_grade_to_everything_is_named_with_it():
    assert sentences({}, {"spread": 0.0, "mean": 2.75}) == ["Ben gave the same grade, 2.75, to all 18 pairs."]


def test_who_is_three_times_as_fast_is_named_with_both_times():
    assert sentences({"median_seconds": 9.0}, {"median_seconds": 2.0}, {"median_seconds": 3.0}) == [
        "Ben takes 2.0 s for a pair (median), the others 6.0 s."
    ]


@pytest.mark.parametrize(("bias", "side"), [(1.25, "above"), (-1.25, "below")])
def test_who_is_a_point_from_the_others_is_named_with_the_side(bias, side):
    assert sentences({"bias": bias}, {}, {}) == [f"Cleo grades 1.25 {side} the others on average."]


def test_how_far_is_far_goes_by_the_range_of_the_scale():
    raters = [rater_with(0, bias=20.0), rater_with(1, bias=-25.0), rater_with(2)]
    hundred = far_points(Scale(Decimal(1), 0, 100))
    assert [rater for rater, _ in conspicuous_raters(raters, NAMES, hundred)] == [1]


def test_names_are_in_order_and_a_rater_may_stand_out_twice():
    found = sentences({"spread": 0.0}, {}, {"spread": 0.0, "mean": 0.0, "bias": -2.0})
    assert [sentence.split()[0] for sentence in found] == ["ana", "ana", "Cleo"]
    assert "gave the same grade, 0, to all" in found[0]


@pytest.mark.parametrize(
    "few",
    [
        {"ratings": 9, "spread": 0.0},
        {"ratings": 1, "spread": None},
        {"timed": 9, "median_seconds": 0.5},
        {"timed": 0, "median_seconds": None},
        {"shared": 9, "bias": 3.0},
        {"shared": 0, "bias": None},
    ],
)
def test_of_few_grades_nothing_is_said(few):
    assert sentences({}, few, {}) == []


def test_of_two_raters_nobody_is_called_the_fast_or_the_far_one():
    assert sentences({"bias": 2.0, "median_seconds": 0.5}, {"bias": -2.0}) == []


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
