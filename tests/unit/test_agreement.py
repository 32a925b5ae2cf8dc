"""Krippendorff's α against his published examples, against hand counts, and against another program."""

from __future__ import annotations

import math
import warnings

import krippendorff
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from annotation.agreement import Grades
from tests.grade_tables import grades_of_table, krippendorff_alpha

X = None

# Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), section C and following.
KRIPPENDORFF_2011 = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, X, X, X],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, X, 3],
    [X, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, X],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, X],
]
# The same text, sections A and B: two observers, two values; two observers, five values.
BINARY = [[0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]]
NOMINAL = [[1, 1, 2, 2, 4, 3, 3, 3, 5, 4, 4, 1], [2, 1, 2, 2, 2, 3, 3, 3, 5, 4, 4, 4]]
WIKIPEDIA = [
    [X, X, X, X, X, 3, 4, 1, 2, 1, 1, 3, 3, X, 3],
    [1, X, 2, 1, 3, 3, 4, 3, X, X, X, X, X, X, X],
    [X, X, 2, 1, 3, 4, 4, X, 2, 1, 1, 3, 3, X, 4],
]


@pytest.mark.parametrize(
    ("table", "level", "published"),
    [
        (BINARY, "nominal", 0.095),
        (NOMINAL, "nominal", 0.692),
        (KRIPPENDORFF_2011, "nominal", 0.743),
        (KRIPPENDORFF_2011, "ordinal", 0.815),
        (KRIPPENDORFF_2011, "interval", 0.849),
        (WIKIPEDIA, "nominal", 0.691),
        (WIKIPEDIA, "interval", 0.811),
    ],
)
def test_the_published_examples_come_out_as_published(table, level, published):
    assert krippendorff_alpha(grades_of_table(table), level).value == pytest.approx(published, abs=0.0005)


def test_a_small_case_counted_by_hand():
    # Pairs (0, 1) and (3, 3). Observed: ordered pairs differ by 1, 1, 0, 0, so D_o = 2 / 4.
    # Expected: of the 12 ordered pairs among 0, 1, 3, 3 the squares are 2 × (1 + 9 + 9 + 4 + 4 + 0) = 54.
    assert krippendorff_alpha(grades_of_table([[0, 3], [1, 3]])).value == pytest.approx(
        1 - (2 / 4) / (54 / 12)
    )


def test_agreement_on_every_pair_is_one():
    table = [[0, 1.25, 4, 2], [0, 1.25, 4, 2]]
    assert [
        krippendorff_alpha(grades_of_table(table), level).value
        for level in ("nominal", "ordinal", "interval")
    ] == [1, 1, 1]


def test_raters_who_always_say_the_opposite_are_below_zero():
    assert krippendorff_alpha(grades_of_table([[0, 4, 0, 4], [4, 0, 4, 0]])).value < -0.5


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ([], "No pair has two ratings yet."),
        ([[1, 2, 3]], "No pair has two ratings yet."),
        ([[1, X], [X, 2]], "No pair has two ratings yet."),
        ([[1, 2], [2, X]], "Only one pair has two ratings; it takes two."),
        (
            [[2.75, 2.75], [2.75, 2.75]],
            "All 4 ratings are 2.75: agreement cannot be told from one grade alone.",
        ),
        ([[0, 0, 4], [0, 0, X]], "All 4 ratings are 0: agreement cannot be told from one grade alone."),
    ],
)
@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_undefined_is_said_in_words(table, reason, level):
    figure = krippendorff_alpha(grades_of_table(table), level)
    assert (figure.value, figure.reason) == (None, reason)


def tables(values):
    return st.integers(2, 5).flatmap(
        lambda raters: st.lists(
            st.lists(st.none() | values, min_size=raters, max_size=raters), min_size=1, max_size=12
        )
    )


quarters = st.integers(0, 16).map(lambda quarter: quarter / 4)
reals = st.floats(-1e3, 1e3).map(lambda value: round(value, 6))


def by_another_program(pairs):
    table = np.array([[np.nan if value is None else value for value in pair] for pair in pairs]).T
    with warnings.catch_warnings(action="ignore"):
        return krippendorff.alpha(reliability_data=table, level_of_measurement="interval")


@given(pairs=tables(quarters) | tables(reals) | tables(st.integers(0, 2).map(float)))
def test_random_tables_with_gaps_come_out_as_another_program_has_them(pairs):
    ours = krippendorff_alpha(grades_of_table(list(zip(*pairs, strict=True))))
    # The other program counts a value that only a lone rating has as a value of the scale.
    comparable = [pair for pair in pairs if sum(value is not None for value in pair) > 1]
    if ours.value is None:
        assert len(comparable) < 2 or len({v for pair in comparable for v in pair if v is not None}) == 1
    else:
        assert ours.value == pytest.approx(by_another_program(comparable), abs=1e-9)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
@given(pairs=tables(quarters), order=st.randoms(use_true_random=False))
def test_the_order_of_raters_and_pairs_changes_nothing(level, pairs, order):
    table = list(zip(*pairs, strict=True))
    before = krippendorff_alpha(grades_of_table(table), level)
    order.shuffle(pairs)
    shuffled = [list(row) for row in zip(*pairs, strict=True)]
    order.shuffle(shuffled)
    assert krippendorff_alpha(grades_of_table(shuffled), level) == before


@given(pairs=tables(quarters), shift=st.integers(-100, 100), scale=st.sampled_from([0.5, 2, 10, -1]))
def test_interval_alpha_does_not_hang_on_where_the_scale_begins_or_how_long_it_is(pairs, shift, scale):
    grades = grades_of_table(list(zip(*pairs, strict=True)))
    moved = Grades(grades.pairs, grades.raters, grades.values * scale + shift)
    before, after = krippendorff_alpha(grades).value, krippendorff_alpha(moved).value
    assume(before is not None)
    assert after == pytest.approx(before, abs=1e-9)


@given(pairs=tables(quarters))
def test_a_pair_with_one_rating_changes_nothing(pairs):
    table = [list(row) for row in zip(*pairs, strict=True)]
    before = krippendorff_alpha(grades_of_table(table))
    lonely = [[*row, 3.0 if rater == 0 else None] for rater, row in enumerate(table)]
    assert krippendorff_alpha(grades_of_table(lonely)) == before


@given(pairs=tables(quarters) | tables(reals))
def test_a_value_is_a_number_and_at_most_one(pairs):
    figure = krippendorff_alpha(grades_of_table(list(zip(*pairs, strict=True))))
    if figure.value is None:
        assert figure.reason.endswith(".")
    else:
        assert math.isfinite(figure.value)
        assert figure.value <= 1
        assert figure.reason == ""


def test_values_far_from_zero_and_close_together_keep_their_alpha():
    table = np.array(KRIPPENDORFF_2011, dtype=float)
    far = Grades(*_grades_of(table / 1000 + 1e6))
    near = Grades(*_grades_of(table))
    assert krippendorff_alpha(far).value == pytest.approx(krippendorff_alpha(near).value, abs=1e-5)


def _grades_of(table):
    raters, pairs = np.nonzero(~np.isnan(table))
    return pairs, raters, table[raters, pairs]
