"""Who differs: figures of raters counted by hand, and α of two against the whole formula on their table."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.agreement import Grades
from annotation.reliability.raters import (
    alphas_of_rater_pairs,
    alphas_without_each,
    bucket_counts,
    rater_figures,
)
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
