"""Correlations, their resamples, and the tests of a difference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats
from sklearn.isotonic import IsotonicRegression

from annotation.files.scores import GoldPair
from annotation.scoring import (
    bootstrap_p,
    correlations,
    correlations_between,
    estimate,
    ranking,
    resample,
    why_undefined,
    williams_test,
)
from annotation.system_report import System, score_systems, scores_to_json
from annotation.systems import isotonic

GRADES = st.lists(st.sampled_from([quarters / 4 for quarters in range(17)]), min_size=3, max_size=30)


@st.composite
def grades_and_scores(draw):
    gold = np.array(draw(GRADES))
    scores = np.array(draw(st.lists(st.integers(-5, 5), min_size=len(gold), max_size=len(gold))), float)
    assume(not why_undefined(gold, scores))
    return gold, scores


@given(grades_and_scores())
def test_correlations_are_those_of_scipy_with_ties(columns):
    gold, scores = columns
    found = correlations(gold, scores[None], np.ones((len(gold), 1)))
    assert found.pearson[0, 0] == pytest.approx(stats.pearsonr(*columns).statistic, abs=1e-12)
    assert found.spearman[0, 0] == pytest.approx(stats.spearmanr(*columns).statistic, abs=1e-12)


@given(st.integers(2, 5), st.integers(3, 30), st.integers(0, 2**32 - 1))
def test_systems_correlate_with_each_other_as_in_numpy(systems, pairs, seed):
    rng = np.random.default_rng(seed)
    rows = np.round(rng.normal(size=(systems, pairs)), 1) * 10.0 ** rng.integers(-9, 9, (systems, 1))
    rows[0] = 3.5
    found = correlations_between(rows)
    assert np.isnan(found[0]).all()
    assume(all(row.min() < row.max() for row in rows[1:]))
    assert found[1:, 1:] == pytest.approx(np.atleast_2d(np.corrcoef(rows[1:])), abs=1e-9)


@given(grades_and_scores(), st.integers(0, 2**32 - 1))
def test_a_resample_correlates_as_its_pairs_written_out(columns, seed):
    gold, scores = columns
    drawn = np.random.default_rng(seed).integers(len(gold), size=len(gold))
    counts = np.bincount(drawn, minlength=len(gold)).astype(float)
    found = correlations(gold, scores[None], counts[:, None])
    if why_undefined(gold[drawn], scores[drawn]):
        assert np.isnan([found.pearson, found.spearman]).all()
        return
    assert found.pearson[0, 0] == pytest.approx(stats.pearsonr(gold[drawn], scores[drawn]).statistic)
    assert found.spearman[0, 0] == pytest.approx(stats.spearmanr(gold[drawn], scores[drawn]).statistic)


@pytest.mark.parametrize("factor", [1e-200, 1.0, 1e200])
def test_scores_of_any_size_correlate(factor):
    gold = np.array([0.0, 1, 2, 4])
    assert correlations_between(np.array([gold, gold * factor + 3 * factor])) == pytest.approx(1)


def test_resamples_spread_as_those_drawn_pair_by_pair():
    rng = np.random.default_rng(3)
    gold, scores = rng.integers(0, 17, 40) / 4, rng.normal(size=40)
    drawn = resample(gold, scores[None], resamples=4000, seed=1)
    by_hand = [
        stats.pearsonr(gold[chosen], scores[chosen]).statistic for chosen in rng.integers(40, size=(1000, 40))
    ]
    assert drawn.pearson.mean() == pytest.approx(np.mean(by_hand), abs=0.02)
    assert drawn.pearson.std() == pytest.approx(np.std(by_hand), rel=0.1)


def test_williams_test_gives_the_published_figures():
    silver = williams_test(0.3, 0.4, 0.5, 100)  # Silver, Hittner and May 2006, program depcor
    assert silver is not None
    assert (round(silver.t, 4), silver.degrees, round(silver.p, 4)) == (-1.0767, 97, 0.2843)
    steiger = williams_test(0.4, 0.5, 0.1, 103)  # Steiger 1980, the example of case A
    assert steiger is not None
    assert (round(steiger.t, 2), round(steiger.p, 2)) == (-0.89, 0.37)


def test_two_systems_that_say_the_same_are_not_tested():
    assert williams_test(0.6, 0.6, 1.0, 100) is None
    assert williams_test(0.6, 0.5, 0.2, 3) is None


def test_a_probability_is_never_zero():
    assert bootstrap_p(np.full(999, 0.5)) == pytest.approx(2 / 1000)
    assert bootstrap_p(np.zeros(99)) == 1
    assert bootstrap_p(np.empty(0)) is None


def test_too_many_resamples_of_one_value_give_no_interval():
    found = estimate(0.5, np.array([np.nan] * 6 + [0.5] * 94))
    assert (found.value, found.low) == (0.5, None)
    assert found.interval_reason == "6 of 100 resamples drew one value only: no interval."
    assert bootstrap_p(np.array([np.nan] * 6 + [0.5] * 94)) is None
    assert bootstrap_p(np.array([np.nan] * 5 + [0.5] * 95)) is not None


def test_equal_systems_share_the_better_rank():
    assert ranking([0.5, None, 0.7, 0.5, 0.1]) == [2, None, 1, 2, 4]
    assert ranking([0.1 + 0.2, 0.3, 0.3 - 1e-9]) == [1, 1, 3]


@given(grades_and_scores(), st.lists(st.floats(-6, 6), min_size=1, max_size=9))
def test_calibration_is_isotonic_regression(columns, new):
    gold, scores = columns
    oracle = IsotonicRegression(out_of_bounds="clip").fit(scores, gold)
    assert isotonic(scores, gold, np.array(new)) == pytest.approx(oracle.predict(new), abs=1e-9)


# Reports


def gold_pairs() -> list[GoldPair]:
    rng = np.random.default_rng(5)
    return [
        GoldPair(type, f"{genre}-{number}", "left", "right", float(rng.integers(0, 17)) / 4, genre)
        for type in ("phrase2word", "title2body")
        for genre in ("Travel", "News")
        for number in range(20)
    ]


def systems(gold: list[GoldPair]) -> list[System]:
    rng = np.random.default_rng(6)
    good = tuple(pair.gold + rng.normal() for pair in gold)
    bad = tuple(pair.gold + 4 * rng.normal() for pair in gold)
    half = tuple(score if pair.type == "phrase2word" else None for pair, score in zip(gold, bad, strict=True))
    return [System("bad", bad), System("good", good), System("half", half)]


def test_a_report_ranks_by_the_sum_and_compares_on_common_pairs():
    gold = gold_pairs()
    all_systems = systems(gold)
    half_scores = all_systems[2].scores
    report = score_systems(gold, all_systems, resamples=200)
    assert report.ranks()["sum_pearson"] == [2, 1, 3]
    assert report.ranks()["title2body"] == [2, 1, None]
    bad, good, half = report.systems
    assert good.sum_pearson.value == pytest.approx(sum(part.pearson.value for part in good.types.values()))
    assert half.sum_pearson.value == half.types["phrase2word"].pearson.value
    assert half.types["title2body"].pearson.reason == "The system does not score these pairs."
    first = report.differences[0]
    assert (first.first, first.second) == ("bad", "good")
    assert first.sum_pearson.difference.high < 0
    assert first.sum_pearson.p == pytest.approx(2 / 201)
    same = report.differences[1].types["phrase2word"]  # bad and half are one there
    assert (same.difference.value, same.p, same.williams) == (0, 1, None)
    assert report.differences[1].sum_pearson.difference.reason == "The system does not score these pairs."
    both = [System(name, half_scores) for name in "ab"]
    assert score_systems(gold, both, resamples=0).differences[0].sum_pearson.difference.value == 0
    assert bad.genres["News"].all.pairs == 40
    assert bad.genres["News"].by_type["phrase2word"].pairs == 20


def test_neither_the_order_of_pairs_nor_another_system_changes_a_figure():
    gold = gold_pairs()
    one, two, _ = systems(gold)
    order = np.random.default_rng(7).permutation(len(gold))
    shuffled = System(one.name, tuple(one.scores[place] for place in order))
    report = scores_to_json(score_systems(gold, [one, two], resamples=50))
    again = scores_to_json(score_systems([gold[place] for place in order], [shuffled], resamples=50))
    for key in ("types", "genres", "sum_pearson", "sum_pearson_interval"):
        assert again[key] == report[key]


def test_what_is_undefined_is_said_in_words():
    gold = gold_pairs()
    part = score_systems(gold, [System("flat", (0.0,) * len(gold))]).systems[0].types["phrase2word"]
    assert part.pearson.value is None
    assert part.pearson.reason == "All 40 scores are 0: one value correlates with nothing."
