"""Krippendorff's α against published examples, hand counts and another program; its interval."""

from __future__ import annotations

import math
import warnings

import krippendorff
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from annotation.agreement import (
    MANY_PAIRS,
    Grades,
    are_normal,
    classes_of_pairs,
    draw,
    interval_parts,
    measure,
    resampled_alphas,
    sums_of_pairs,
)
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


def by_another_program(pairs, level="interval"):
    table = np.array([[np.nan if value is None else value for value in pair] for pair in pairs]).T
    with warnings.catch_warnings(action="ignore"):
        return krippendorff.alpha(reliability_data=table, level_of_measurement=level)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
@given(pairs=tables(quarters) | tables(reals) | tables(st.integers(0, 2).map(float)))
def test_random_tables_with_gaps_come_out_as_another_program_has_them(level, pairs):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("annotation.agreement._CELLS_OF_PACKAGE", 0)  # as of many pairs, without it
        ours = krippendorff_alpha(grades_of_table(list(zip(*pairs, strict=True))), level)
    # The other program counts a value that only a lone rating has as a value of the scale.
    comparable = [pair for pair in pairs if sum(value is not None for value in pair) > 1]
    if ours.value is None:
        assert len(comparable) < 2 or len({v for pair in comparable for v in pair if v is not None}) == 1
    else:
        precision = 1e-9 if level == "interval" else 1e-12  # these two are of counts alone
        assert ours.value == pytest.approx(by_another_program(comparable, level), abs=precision)


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


@pytest.mark.parametrize("few", [0, 5_000], ids=["pair by pair", "multinomial"])
@pytest.mark.parametrize("sizes", [[1, 3, 6], [1, 1, 1, 1]])
def test_a_resample_has_as_many_pairs_and_each_pair_comes_equally_often(sizes, few, monkeypatch):
    monkeypatch.setattr("annotation.agreement._FEW_CLASSES", few)
    sizes = np.array(sizes)
    drawn = draw(sizes, 20_000, np.random.default_rng(0))
    assert (drawn.sum(axis=1) == sizes.sum()).all()
    assert drawn.mean(axis=0) == pytest.approx(sizes, rel=0.03)
    assert drawn.var(axis=0) == pytest.approx(sizes * (1 - sizes / sizes.sum()), rel=0.06)


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


def test_of_many_pairs_the_normal_limit_gives_the_interval_of_the_multinomial(monkeypatch):
    grades = random_grades(8000, 3)
    parts, sizes = parts_of(grades)
    assert are_normal(parts, sizes)
    normal = measure(grades, resamples=4000, seed=1)
    monkeypatch.setattr("annotation.agreement.MANY_PAIRS", 10_000)
    drawn = measure(grades, resamples=4000, seed=1)
    width = drawn.high - drawn.low
    assert normal.value == drawn.value
    assert (normal.low, normal.high) == pytest.approx((drawn.low, drawn.high), abs=0.05 * width)


def test_sums_are_normal_only_where_many_pairs_differ():
    many = random_grades(2 * MANY_PAIRS, 3)
    agreed = Grades(many.pairs, many.raters, np.where(many.pairs < 50, many.values, many.pairs % 17 / 4))
    alike = Grades(many.pairs, many.raters, np.where(many.pairs < 50, many.values, (many.raters == 0) * 1.0))
    assert are_normal(*parts_of(many))
    assert not are_normal(*parts_of(agreed))  # 50 pairs alone differ
    assert not are_normal(*parts_of(alike.only(np.isin(alike.pairs, full_pairs(many)))))


def full_pairs(grades):
    """Those that all three raters graded."""
    return np.flatnonzero(np.bincount(grades.pairs) == 3)


def parts_of(grades):
    classes, sizes = classes_of_pairs(sums_of_pairs(grades.comparable()))
    return interval_parts(classes), sizes


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
