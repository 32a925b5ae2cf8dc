"""Which raters stand out, and which do not."""

from __future__ import annotations

import pytest

from annotation.reliability.raters import RaterFigures, conspicuous_raters

NAMES = ("Cleo", "Ben", "ana")


def figures(rater, **known):
    usual = {"ratings": 18, "mean": 2.0, "spread": 1.1, "median_seconds": 6.0, "bias": 0.1, "shared": 18}
    return RaterFigures(rater, **{**usual, "timed": 18, **known})


def sentences(*changes):
    raters = [figures(rater, **known) for rater, known in enumerate(changes)]
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
