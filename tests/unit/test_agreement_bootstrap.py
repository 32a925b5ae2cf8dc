"""The interval of α: the same as a slow loop gives, reproducible, and honest about what it leaves out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.agreement import Grades, classes_of_pairs, draw, measure, resampled_alphas, sums_of_pairs
from tests.grade_tables import grades_of_table, krippendorff_alpha

BALANCED = [[0, 1, 2, 3, 4, 0.5, 1.5, 2.5], [0, 1.25, 2, 4, 4, 0, 2.5, 2.5]]


def random_grades(pairs, raters, *, seed=1, noise=1.5):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 17, pairs)
    number, rater = np.repeat(np.arange(pairs), raters), np.tile(np.arange(raters), pairs)
    heard = np.clip(np.rint(truth[number] + rng.normal(0, noise, pairs * raters)), 0, 16) / 4
    kept = rng.random(len(heard)) < 0.8
    return Grades(number[kept], rater[kept], heard[kept])


def test_resampled_alphas_are_those_of_a_slow_loop_over_the_same_draws():
    sums = sums_of_pairs(random_grades(60, 4).comparable())
    fast = resampled_alphas(sums, resamples=40, seed=7)
    classes, sizes = classes_of_pairs(sums)
    weights = draw(sizes, 40, np.random.default_rng(7)).astype(int)
    slow = [alpha_one_by_one(classes, row) for row in weights]
    assert fast == pytest.approx(slow, abs=1e-12)
    assert len(set(slow)) > 30


def alpha_one_by_one(classes, times):
    """α as the definition writes it, for each class `times` pairs."""
    n = total = squares = observed = 0.0
    for count, sum_, square, repeats in zip(
        classes.counts, classes.totals, classes.squares, times, strict=True
    ):
        for _ in range(repeats):
            n, total, squares = n + count, total + sum_, squares + square
            observed += 2 * (count * square - sum_ * sum_) / (count - 1)
    expected = 2 * (n * squares - total * total) / (n * (n - 1))
    return 1 - (observed / n) / expected


def test_classes_hold_every_pair_once():
    sums = sums_of_pairs(random_grades(500, 3).comparable())
    classes, sizes = classes_of_pairs(sums)
    assert sizes.sum() == len(sums)
    assert len(classes) < len(sums)
    for column in ("counts", "totals", "squares"):
        assert (getattr(classes, column) * sizes).sum() == getattr(sums, column).sum()
    rows = np.stack([classes.counts, classes.totals, classes.squares], axis=1)
    assert len(np.unique(rows, axis=0)) == len(rows)


def test_a_resample_has_as_many_pairs_and_each_pair_comes_equally_often():
    sizes = np.array([1, 3, 6])
    drawn = draw(sizes, 20_000, np.random.default_rng(0))
    assert (drawn.sum(axis=1) == 10).all()
    assert drawn.mean(axis=0) == pytest.approx(sizes, rel=0.03)


def test_the_same_seed_gives_the_same_interval_and_another_seed_another():
    grades = random_grades(80, 3)
    first, again, other = (measure(grades, resamples=200, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert (first.low, first.high) != (other.low, other.high)
    assert first.value == other.value


def test_the_order_of_pairs_and_raters_and_the_size_of_a_batch_change_no_interval(monkeypatch):
    grades = random_grades(80, 3)
    before = measure(grades, resamples=300, seed=5)
    shuffle = np.random.default_rng(3).permutation(len(grades))
    renamed = np.random.default_rng(4).permutation(80)
    mixed = Grades(renamed[grades.pairs[shuffle]], 2 - grades.raters[shuffle], grades.values[shuffle])
    after = measure(mixed, resamples=300, seed=5)
    assert (after.low, after.high) == pytest.approx((before.low, before.high), abs=1e-12)
    monkeypatch.setattr("annotation.agreement._CELLS_AT_ONCE", 50)
    assert measure(grades, resamples=300, seed=5) == before


def test_the_interval_is_that_of_the_bootstrap_by_hand():
    grades = random_grades(50, 3)
    alphas = resampled_alphas(sums_of_pairs(grades.comparable()), resamples=1000, seed=9)
    alpha = measure(grades, resamples=1000, seed=9)
    ordered = np.sort(alphas)
    assert ordered[24] <= alpha.low <= ordered[25]
    assert ordered[974] <= alpha.high <= ordered[975]
    assert alpha.low < alpha.value < alpha.high


def test_95_of_100_intervals_hold_the_alpha_of_all_pairs():
    population = random_grades(20_000, 2, seed=0)
    truth = krippendorff_alpha(population).value
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(300):
        chosen = rng.choice(20_000, 200, replace=False)
        sample = population.only(np.isin(population.pairs, chosen))
        alpha = measure(sample, resamples=300, seed=1)
        held += alpha.low <= truth <= alpha.high
    assert 0.90 <= held / 300 <= 0.99


def test_more_pairs_of_the_same_kind_make_the_interval_narrow_with_the_square_root():
    def width(pairs):
        measured = [measure(random_grades(pairs, 2, seed=seed), resamples=500) for seed in range(8)]
        return np.mean([alpha.high - alpha.low for alpha in measured])

    assert width(400) / width(6400) == pytest.approx(4, rel=0.1)


def test_alpha_carries_what_it_was_made_from():
    alpha = measure(grades_of_table([[0, 1, 2, 4], [1, 1, None, 3], [0, None, None, 4]]), categories=True)
    assert (alpha.pairs, alpha.ratings) == (3, 8)
    assert None not in (alpha.value, alpha.low, alpha.high, alpha.nominal, alpha.ordinal)
    assert (alpha.reason, alpha.interval_reason) == ("", "")


@pytest.mark.parametrize(
    ("table", "pairs", "ratings"), [([], 0, 0), ([[1, 2], [1, None]], 1, 2), ([[3, 3], [3, 3]], 2, 4)]
)
def test_undefined_alpha_has_a_reason_and_no_figures(table, pairs, ratings):
    alpha = measure(grades_of_table(table), categories=True)
    assert (alpha.value, alpha.low, alpha.high, alpha.nominal, alpha.ordinal) == (None,) * 5
    assert (alpha.pairs, alpha.ratings) == (pairs, ratings)
    assert alpha.reason.endswith(".")


def test_resamples_of_one_grade_only_are_left_out_and_counted():
    # All pairs but one of five say 4: (4/5)^5 = 33 % of the resamples miss it.
    alpha = measure(grades_of_table([[4, 4, 4, 4, 0], [4, 4, 4, 4, 0]]), resamples=1000, seed=1)
    assert alpha.value == 1
    assert 250 < alpha.undefined_resamples < 420
    assert (alpha.low, alpha.high) == (None, None)
    assert alpha.interval_reason == (
        f"{alpha.undefined_resamples} of 1,000 resamples drew one grade only: too few for an interval."
    )


def test_a_few_resamples_of_one_grade_only_do_not_cost_the_interval():
    # Four pairs of 16 say another grade: (3/4)^16 = 1 % of the resamples miss them.
    table = [[4] * 12 + [0] * 4, [4] * 12 + [0] * 4]
    alpha = measure(grades_of_table(table), resamples=1000, seed=1)
    assert 0 < alpha.undefined_resamples < 50
    assert (alpha.low, alpha.high) == (1, 1)
    left_out = f"The interval leaves out {alpha.undefined_resamples} resamples that have one grade only."
    assert alpha.remark == left_out


def test_without_resamples_there_is_a_value_and_a_reason_for_no_interval():
    alpha = measure(grades_of_table(BALANCED), resamples=0)
    assert alpha.value is not None
    assert (alpha.low, alpha.interval_reason) == (None, "No resamples were asked for.")


@settings(max_examples=40)
@given(
    st.lists(st.tuples(*[st.none() | st.integers(0, 16).map(lambda q: q / 4)] * 3), min_size=1, max_size=10)
)
def test_no_figure_is_ever_nan(pairs):
    alpha = measure(grades_of_table(list(zip(*pairs, strict=True))), resamples=30, seed=1, categories=True)
    figures = [alpha.value, alpha.low, alpha.high, alpha.nominal, alpha.ordinal]
    assert all(figure is None or np.isfinite(figure) for figure in figures)
    assert alpha.value is not None or alpha.reason
    assert alpha.value is None or alpha.low is not None or alpha.interval_reason
