"""Each rater against the mean of the others, beside scipy on columns written out by hand."""

from __future__ import annotations

from dataclasses import replace
from statistics import mean

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import pearsonr, spearmanr

from annotation.agreement import Grades
from annotation.reliability.upper_bound import upper_bound
from tests.grade_tables import grades_of_table

X = None
ANA = [4, 2, 1, X, 3, 0, 2.25]
BEN = [3, 2.5, X, X, 1, 0, 2.5]
EVA = [3.25, X, 0, 1, X, 1, 2]
TABLE = [ANA, BEN, EVA]
BESIDE = (
    ([4, 2, 1, 3, 0, 2.25], [3.125, 2.5, 0, 1, 0.5, 2.25]),
    ([3, 2.5, 1, 0, 2.5], [3.625, 2, 3, 0.5, 2.125]),
    ([3.25, 0, 1, 2], [3.5, 1, 0, 2.375]),
)
"""Of each rater the grades on pairs that others graded too, and the means of the others there."""


def bound(table, *, resamples=200, seed=1):
    return upper_bound("sentence2phrase", grades_of_table(table), resamples=resamples, seed=seed)


def both(found):
    return found.pearson.value, found.spearman.value


def test_a_rater_is_compared_with_the_mean_of_the_others_of_the_same_pair():
    found = bound(TABLE)
    assert [(row.rater, row.pairs) for row in found.raters] == [(0, 6), (1, 5), (2, 4)]
    assert (found.pairs, found.counted) == (6, 3)
    for row, (own, others) in zip(found.raters, BESIDE, strict=True):
        assert both(row) == pytest.approx(
            (pearsonr(own, others).statistic, spearmanr(own, others).statistic), abs=1e-12
        )


def test_every_rater_counts_the_same_in_the_mean():
    found = bound(TABLE)
    assert found.pearson.value == pytest.approx(mean(pearsonr(*columns).statistic for columns in BESIDE))
    assert found.spearman.value == pytest.approx(mean(spearmanr(*columns).statistic for columns in BESIDE))


def test_it_is_lower_than_against_a_mean_that_has_the_rater_in_it():
    rng = np.random.default_rng(3)
    table = np.clip(np.rint(rng.uniform(0, 16, 60) + rng.normal(0, 5, (3, 60))), 0, 16) / 4
    with_them = mean(pearsonr(row, table.mean(axis=0)).statistic for row in table)
    found = bound(table.tolist())
    assert found.pearson.value < found.pearson.high < with_them


@pytest.mark.slow
def test_the_interval_is_that_of_pairs_drawn_one_by_one():
    rng = np.random.default_rng(4)
    table = np.clip(np.rint(rng.uniform(0, 8, 80) + rng.normal(0, 2, (3, 80))), 0, 8) / 2
    table[2, :40] = np.nan
    drawn = []
    for _ in range(2000):
        some = table[:, rng.integers(80, size=80)]
        each = []
        for rater in range(3):
            kept = ~np.isnan(some[rater])
            others = np.nanmean(np.delete(some, rater, axis=0)[:, kept], axis=0)
            each.append(pearsonr(some[rater, kept], others).statistic)
        drawn.append(mean(each))
    low, high = np.quantile(drawn, [0.025, 0.975])
    rows = [[None if np.isnan(grade) else grade for grade in row] for row in table]
    found = bound(rows, resamples=2000)
    assert (found.pearson.low, found.pearson.high) == pytest.approx((low, high), abs=0.02)


GRADES = [(0, 1), (0, 1, 4), tuple(quarters / 4 for quarters in range(17)), (0.1, 0.7, 1.3)]


@st.composite
def tables(draw):
    grades, raters, pairs = draw(st.sampled_from(GRADES)), draw(st.integers(2, 4)), draw(st.integers(3, 9))
    return [[draw(st.sampled_from([X, *grades])) for _ in range(pairs)] for _ in range(raters)]


@given(tables(), st.integers(0, 99))
def test_neither_the_order_of_ratings_nor_the_numbers_of_raters_change_a_digit(table, seed):
    grades = grades_of_table(table)
    assume(len(grades))
    chance = np.random.default_rng(seed)
    raters = 7 * chance.permutation(grades.raters.max() + 1)
    order = chance.permutation(len(grades))
    renamed = Grades(grades.pairs[order], raters[grades.raters][order], grades.values[order])
    before, after = (upper_bound("t", each, resamples=40, seed=7) for each in (grades, renamed))
    assert replace(after, raters=()) == replace(before, raters=())
    of_rater = {row.rater: row for row in after.raters}
    assert [replace(of_rater[raters[row.rater]], rater=row.rater) for row in before.raters] == [
        *before.raters
    ]


def test_pairs_with_the_same_grades_by_the_same_raters_are_drawn_as_one_class():
    once = bound(TABLE)
    thrice = bound([row * 3 for row in TABLE])
    assert thrice.pairs == 3 * once.pairs
    assert thrice.pearson.value == pytest.approx(once.pearson.value)
    assert thrice.pearson.high - thrice.pearson.low < once.pearson.high - once.pearson.low


@pytest.mark.parametrize(
    ("table", "reasons"),
    [
        (
            [[1, 2, 3, 3], [1, 2, X, X]],
            ["2 pairs that others graded too: a correlation takes 3 or more."] * 2,
        ),
        ([[1, X], [1, 2]], ["1 pair that others graded too: a correlation takes 3 or more."] * 2),
        (
            [[1, 2, 3], [2, 2, 2]],
            [
                "All 3 means of the others are 2: one value correlates with nothing.",
                "All 3 grades are 2: one value correlates with nothing.",
            ],
        ),
    ],
)
def test_it_is_said_why_there_is_no_correlation(table, reasons):
    found = bound(table)
    assert [row.pearson.reason for row in found.raters] == reasons
    assert [both(row) for row in found.raters] == [(None, None)] * 2
    assert (both(found), found.counted) == ((None, None), 0)
    assert found.pearson.reason == f"No rater has a correlation. {reasons[0]}"


@pytest.mark.parametrize("table", [[], [[1, 2, 3]], [[1, X], [X, 2]]])
def test_without_a_pair_of_two_ratings_there_is_nothing_to_tell(table):
    found = bound(table)
    assert (found.raters, found.pairs) == ((), 0)
    assert found.pearson.reason == found.spearman.reason == "No pair has two ratings yet."


def test_who_has_no_correlation_is_left_out_of_the_mean():
    found = bound([*TABLE, [X, X, X, 1, X, X, X]])
    assert found.counted == 3
    assert found.raters[3].pearson.reason.startswith("1 pair that others")
    assert found.pearson.value == pytest.approx(mean(row.pearson.value for row in found.raters[:3]))


def test_without_resamples_there_is_no_interval():
    found = bound(TABLE, resamples=0)
    assert found.pearson.value is not None
    assert (found.pearson.low, found.pearson.interval_reason) == (None, "No resamples were asked for.")


def large(pairs, *, raters=3, seed=5, step=1):
    """A project of which each pair has two of three raters."""
    rng = np.random.default_rng(seed)
    truth = rng.uniform(0, 16, pairs)
    table = np.clip(np.rint((truth[:, None] + rng.normal(0, 3, (pairs, raters))) / step) * step, 0, 16) / 4
    left_out = np.arange(pairs) % (raters + 1)
    pair, rater = np.nonzero(left_out[:, None] != np.arange(raters))
    return Grades(pair, rater, table[pair, rater])


@pytest.mark.parametrize("step", [1, 4])
def test_of_many_pairs_the_normal_limit_gives_the_interval_of_the_bootstrap(step, monkeypatch):
    grades = large(1500, step=step)
    drawn = upper_bound("t", grades, resamples=4000, seed=1)
    monkeypatch.setattr("annotation.reliability.upper_bound.MANY_PAIRS", 500)
    normal = upper_bound("t", grades, resamples=4000, seed=1)
    assert [row.rater for row in normal.raters] == [0, 1, 2]
    for one, other in zip([normal, *normal.raters], [drawn, *drawn.raters], strict=True):
        assert both(one) == pytest.approx(both(other), abs=1e-12)
        for figure, beside in ((one.pearson, other.pearson), (one.spearman, other.spearman)):
            width = beside.high - beside.low
            assert (figure.low, figure.high) == pytest.approx((beside.low, beside.high), abs=0.07 * width)


def test_of_many_pairs_neither_order_nor_numbers_matter_and_without_resamples_there_is_no_interval(
    monkeypatch,
):
    monkeypatch.setattr("annotation.reliability.upper_bound.MANY_PAIRS", 200)
    grades = large(400)
    order = np.random.default_rng(2).permutation(len(grades))
    renamed = Grades(grades.pairs[order], 2 - grades.raters[order], grades.values[order])
    before, after = (upper_bound("t", each, resamples=40, seed=7) for each in (grades, renamed))
    assert (after.pearson.low, after.spearman.high) == pytest.approx(
        (before.pearson.low, before.spearman.high), abs=1e-12
    )
    assert [replace(row, rater=0) for row in reversed(after.raters)] == [
        replace(row, rater=0) for row in before.raters
    ]
    none = upper_bound("t", grades, resamples=0, seed=7)
    assert none.pearson.value == before.pearson.value
    assert (none.pearson.low, none.pearson.interval_reason) == (None, "No resamples were asked for.")
