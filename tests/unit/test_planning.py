"""How many more pairs an interval of a width takes: right where the answer is known, and honest elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from annotation.agreement import Grades, measure
from annotation.errors import SettingsError
from annotation.reliability.planning import plan_pairs, plan_sentences, plan_to_json

NOBODY = Grades(np.array([], dtype=np.int64), np.array([], dtype=np.int64), np.array([]))


def two_raters(pairs: int, *, seed: int, noise: float = 1.5) -> Grades:
    rng = np.random.default_rng(seed)
    truth = np.repeat(rng.integers(0, 17, pairs), 2)
    heard = np.clip(np.rint(truth + rng.normal(0, noise, 2 * pairs)), 0, 16) / 4
    return Grades(np.repeat(np.arange(pairs), 2), np.tile([0, 1], pairs), heard)


def same(pairs: int, *grades: float) -> Grades:
    many = len(grades)
    return Grades(np.repeat(np.arange(pairs), many), np.tile(np.arange(many), pairs), np.tile(grades, pairs))


def width_of(grades):
    alpha = measure(grades)
    return alpha.high - alpha.low


def test_a_plan_that_was_followed_arrives():
    plan = plan_pairs(two_raters(200, seed=1), 0.02)
    assert plan.width == width_of(two_raters(200, seed=1))
    assert plan.low < plan.more_pairs < plan.high
    arrived = width_of(two_raters(200 + plan.more_pairs, seed=2))
    assert arrived == pytest.approx(0.02, rel=0.3)


def test_with_many_pairs_the_widths_are_those_of_drawn_resamples(monkeypatch):
    grades = two_raters(1000, seed=1)
    drawn = plan_pairs(grades, 0.01, resamples=2000)
    monkeypatch.setattr("annotation.agreement.MANY_PAIRS", 500)
    normal = plan_pairs(grades, 0.01, resamples=2000)
    assert [step.width for step in normal.steps] == pytest.approx(
        [step.width for step in drawn.steps], rel=0.1
    )
    assert normal.steps != drawn.steps
    assert normal.more_pairs == pytest.approx(drawn.more_pairs, rel=0.2)


@pytest.mark.parametrize("seed", range(5))
def test_an_interval_that_is_as_narrow_as_wished_takes_no_more_pairs(seed):
    grades = two_raters(300, seed=seed)
    width = width_of(grades)
    assert plan_pairs(grades, width).more_pairs == 0
    assert plan_pairs(grades, width * 0.99).more_pairs > 0


def test_the_width_shrinks_with_the_square_root_and_half_of_it_takes_four_times_as_many():
    plan = plan_pairs(two_raters(300, seed=3), 0.02)
    assert plan.exponent == pytest.approx(-0.5, abs=0.05)
    assert [step.pairs for step in plan.steps] == [150, 300, 600, 1200]
    half = plan_pairs(two_raters(300, seed=3), 0.01)
    assert half.more_pairs + 300 == pytest.approx(4 * (plan.more_pairs + 300), abs=4)


@pytest.mark.parametrize("grades", [two_raters(300, seed=3), two_raters(30, seed=3)])
@pytest.mark.parametrize("width", [0.001, 0.02, 2.0])
def test_the_plan_for_another_width_is_that_which_the_grades_would_give(grades, width):
    assert plan_pairs(grades).for_width(width) == plan_pairs(grades, width)
    with pytest.raises(SettingsError):
        plan_pairs(grades).for_width(width + 2)


def test_what_is_said_of_the_sureness_holds():
    needed = 20_000 * (width_of(two_raters(20_000, seed=0)) / 0.02) ** 2
    plans = [plan_pairs(two_raters(150, seed=100 + seed), 0.02, resamples=400) for seed in range(40)]
    covered = sum(plan.low <= needed - 150 <= plan.high for plan in plans)
    assert covered >= 34


@pytest.mark.parametrize(
    ("grades", "reason"),
    [
        (NOBODY, "No pair has two ratings yet."),
        (two_raters(49, seed=1), "49 pairs have two ratings, and with fewer than 50"),
        (same(60, 2.0, 2.0), "All 120 ratings are 2"),
        (
            Grades(np.repeat(np.arange(60), 2), np.tile([0, 1], 60), np.repeat(np.arange(60) % 5, 2) / 1.0),
            "No two raters have differed yet",
        ),
        (
            Grades(np.repeat(np.arange(60), 2), np.tile([0, 1], 60), np.r_[4.0, np.zeros(119)]),
            "Nearly all ratings are the same grade",
        ),
    ],
)
def test_what_cannot_be_told_is_said_in_words(grades, reason):
    plan = plan_pairs(grades)
    assert plan.reason.startswith(reason)
    assert (plan.more_pairs, plan.low, plan.high, plan.width) == (None, None, None, None)
    assert plan_sentences(plan, 3) == [plan.reason]
    assert plan_to_json(plan)["reason"] == plan.reason


def test_without_resamples_nothing_is_said_of_the_grades():
    plan = plan_pairs(two_raters(60, seed=1), resamples=0)
    assert (plan.reason, plan.more_pairs) == ("No resamples were asked for.", None)


@pytest.mark.parametrize("width", [0, -1, 2.5, float("nan"), float("inf")])
def test_a_width_that_no_interval_has_is_refused(width):
    with pytest.raises(SettingsError, match=r"0\.001 to 2, not"):
        plan_pairs(NOBODY, width)


def test_a_wide_wish_is_fulfilled_already_and_neither_order_nor_names_of_raters_matter():
    grades = two_raters(120, seed=5)
    plan = plan_pairs(grades, 1.0)
    assert (plan.more_pairs, plan.low, plan.high) == (0, 0, 0)
    assert "narrow enough (at most 1)" in plan_sentences(plan, 0)[0]
    turned = Grades(119 - grades.pairs[::-1], 1 - grades.raters[::-1], grades.values[::-1])
    assert plan_pairs(turned, 1.0) == plan
