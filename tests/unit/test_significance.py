"""Intervals of figures, and p of differences: by hand, by scipy, and by what must hold of any data."""

from __future__ import annotations

import math
import random
from itertools import product
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from kpdemo import statistics
from kpdemo.evaluation.metrics import CUTS, KindScores, SetScores, SharesAt
from kpdemo.evaluation.protocol import DocumentScores, summarise
from kpdemo.evaluation.report import bounds
from kpdemo.evaluation.runs import difference_cells, figure_cells, groups_of
from kpdemo.evaluation.significance import (
    CONVENTIONS,
    Difference,
    Estimate,
    differences,
    estimates,
    figure_names,
)
from kpdemo.statistics import f1_contributions, harmonic_mean, holm, margin, randomisation_p

SHARES = st.sampled_from([0.0, 0.2, 1 / 3, 0.4, 0.5, 2 / 3, 1.0])
TWO_SYSTEMS = st.lists(
    st.tuples(st.tuples(SHARES, SHARES), st.tuples(SHARES, SHARES)), min_size=1, max_size=6
)


def f1(pairs):
    return harmonic_mean(fmean(p for p, _ in pairs), fmean(r for _, r in pairs))


def p_by_hand(first, second):
    """Every document's two results swapped or not, in each of the 2^n ways."""
    found = abs(f1(first) - f1(second))
    as_large = 0
    for swaps in product((False, True), repeat=len(first)):
        pairs = list(zip(first, second, swaps, strict=True))
        one = [b if swap else a for a, b, swap in pairs]
        other = [a if swap else b for a, b, swap in pairs]
        as_large += abs(f1(one) - f1(other)) >= found - 1e-9
    return as_large / 2 ** len(first)


def drawn_systems(count, seed, *, better=0.0):
    chance = random.Random(seed)
    first, second = [], []
    for _ in range(count):
        gold, hits = chance.randint(1, 6), [chance.randint(0, 5) for _ in range(2)]
        hits[1] += chance.random() < better
        for pairs, hit in zip((first, second), hits, strict=True):
            pairs.append((min(hit, gold) / 5, min(hit, gold) / gold))
    return first, second


@given(TWO_SYSTEMS)
def test_p_is_that_of_all_swaps(systems):
    first, second = zip(*systems, strict=True)
    assert randomisation_p(first, second) == p_by_hand(first, second)


def test_p_of_three_documents_by_hand():
    # R@50 .5 more, .5 more, .5 less: a mean of .5 / 3, which no swap falls below
    first, second = [(1.0, 1.0), (1.0, 1.0), (0.0, 0.0)], [(0.5, 0.5), (0.5, 0.5), (0.5, 0.5)]
    assert randomisation_p(first, second) == 1
    # 1 more, 1 more, .5 less: of eight sums, ±2.5, ±1.5 and twice ±.5, four are at least 1.5
    assert randomisation_p([(1, 1), (1, 1), (0, 0)], [(0, 0), (0, 0), (0.5, 0.5)]) == 4 / 8


@pytest.mark.parametrize(("count", "closeness"), [(9, 1e-12), (60, 0.015)])
@pytest.mark.parametrize("better", [0.0, 0.5])
def test_p_is_that_of_scipy(count, closeness, better):
    first, second = drawn_systems(count, seed=count, better=better)
    # scipy permutes numbers: the places of both documents' results stand for them
    results = np.array([*first, *second])

    def statistic(one, other, axis):
        return f1_of(results[one.astype(int)].mean(axis=axis - 1)) - f1_of(
            results[other.astype(int)].mean(axis=axis - 1)
        )

    places = np.arange(count, dtype=float)
    theirs = stats.permutation_test(
        (places, places + count),
        statistic,
        permutation_type="samples",
        n_resamples=9_999,
        vectorized=True,
        rng=np.random.default_rng(1),
    )
    assert randomisation_p(first, second) == pytest.approx(theirs.pvalue, abs=closeness)


def f1_of(means):
    return 2 * means.prod(axis=-1) / np.maximum(means.sum(axis=-1), 1e-300)


@pytest.mark.parametrize("count", [8, 70])
def test_no_order_nor_documents_that_both_miss_change_p(count):
    first, second = drawn_systems(count, seed=3)
    p = randomisation_p(first, second)
    assert 0 < p < 1
    assert randomisation_p(second, first) == p
    assert randomisation_p(first[::-1], second[::-1]) == p
    assert randomisation_p(first, second) == p
    same = [(0.0, 0.0)] * 50
    assert randomisation_p(first + same, second + same) == p


@pytest.mark.parametrize("count", [1, 8, 70])
def test_systems_that_score_the_same_on_each_document_have_p_1(count):
    first, _ = drawn_systems(count, seed=4)
    assert randomisation_p(first, first) == 1


def test_one_document_tells_nothing_and_a_shift_of_all_is_the_rarest_swap():
    assert randomisation_p([(1.0, 1.0)], [(0.0, 0.0)]) == 1
    recalls = [random.Random(5).random() / 2 for _ in range(40)]
    first, second = [(r, r) for r in recalls], [(r + 0.1, r + 0.1) for r in recalls]
    assert randomisation_p(first[:10], second[:10]) == 2 / 2**10
    assert randomisation_p(first, second) == 1 / (statistics.SHUFFLES + 1)


def test_p_is_below_5_percent_for_one_of_twenty_equal_systems():
    ps = [randomisation_p(*drawn_systems(11, seed)) for seed in range(400)]
    assert 0.02 < fmean(p <= 0.05 for p in ps) < 0.07
    assert fmean(ps) == pytest.approx(0.5, abs=0.06)


@pytest.mark.parametrize("cells", [1, 1_000])
def test_drawn_in_parts_there_are_as_many_swaps_and_either_sign_is_as_likely(monkeypatch, cells):
    # three documents that are alike, and one alone
    monkeypatch.setattr(statistics, "_CELLS_AT_ONCE", cells)
    halves = np.array([[0.5, 0.0]] * 3 + [[0.0, 0.5]])
    shifts = np.concatenate(list(statistics._drawn_shifts(halves)))
    assert shifts.shape == (statistics.SHUFFLES, 2)
    for column, chances in zip(shifts.T, ([1 / 8, 3 / 8, 3 / 8, 1 / 8], [1 / 2, 1 / 2]), strict=True):
        values, counts = np.unique(column, return_counts=True)
        assert values.tolist() == [n - (len(chances) - 1) / 2 for n in range(len(chances))]
        assert counts / len(column) == pytest.approx(chances, abs=0.02)


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.6]) == pytest.approx([1.0, 1.0])
    assert holm([0.2]) == [0.2]
    assert holm([]) == []


def test_the_interval_of_a_mean_is_students():
    recalls = [0.0, 0.2, 0.5, 0.5, 1.0]
    low, high = stats.ttest_1samp(recalls, 0).confidence_interval(0.95)
    half = margin(f1_contributions([(recall, recall) for recall in recalls]))
    assert (fmean(recalls) - half, fmean(recalls) + half) == pytest.approx((low, high))


@pytest.mark.parametrize("values", [[], [0.4], [0.4, 0.4, 0.4], [0.0, 0.0]])
def test_without_spread_there_is_no_interval(values):
    assert margin(f1_contributions([(value, value) for value in values])) is None


@pytest.mark.parametrize(
    ("count", "skill", "least", "most"),
    [(15, (1.8, 2.2), 0.925, 0.975), (15, (0.04, 0.76), 0.65, 0.77), (100, (0.04, 0.76), 0.87, 0.94)],
)
def test_how_many_intervals_hold_the_f1_of_all_documents(count, skill, least, most):
    """Present keyphrases, and absent ones of an F1@5 near .04, as docs/evaluation.md tells."""
    chance = np.random.default_rng(7)

    def draw(count):
        gold = 1 + chance.poisson(3, count)
        hits = chance.binomial(np.minimum(gold, 5), chance.beta(*skill, count))
        return hits / 5, hits / gold

    truth = f1_of(np.array([values.mean() for values in draw(1_000_000)]))
    held = []
    for _ in range(600):
        added = f1_contributions(list(zip(*(values.tolist() for values in draw(count)), strict=True)))
        held.append(abs(fmean(added) - truth) <= (margin(added) or 0))
    assert least < fmean(held) < most


def document(present=None, absent=None, pooled=None):
    """Of P and R, the same at each cut; None where there is no gold of the kind."""

    def kind(pair):
        if pair is None:
            return KindScores(False)
        return KindScores(True, dict.fromkeys(CUTS, SharesAt(*pair)), pair[1])

    return DocumentScores(
        kind(present), kind(absent), None if pooled is None else SetScores(*pooled, harmonic_mean(*pooled))
    )


FIRST = [
    document((0.4, 0.5), (0.2, 1.0), (0.5, 0.5)),
    document((0.2, 1.0), None, (0.25, 1.0)),
    document((0.6, 0.6), (0.0, 0.0), (0.3, 0.2)),
    document(None, (0.2, 0.5), (0.1, 0.1)),
    document(),
]
SECOND = [
    document((0.6, 0.75), (0.2, 1.0), (0.5, 0.5)),
    document((0.2, 1.0), None, (0.5, 1.0)),
    document((0.8, 0.8), (0.2, 0.5), (0.3, 0.4)),
    document(None, (0.0, 0.0), (0.2, 0.1)),
    document(),
]


def figure(scores, kind, name, convention):
    figures = summarise(scores)
    if kind == "pooled":
        return figures.pooled.f1_m
    macro = getattr(getattr(figures, kind), convention)
    return {"F1@5": macro.at[5].f1, "F1@M": macro.at["M"].f1, "R@50": macro.recall_50}[name]


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_intervals_and_differences_are_of_the_figures_that_are_reported(convention):
    known = estimates(FIRST, convention)
    [found] = differences([FIRST, SECOND])
    for kind, names in figure_names().items():
        for name in names:
            ours, theirs = (figure(scores, kind, name, convention) for scores in (SECOND, FIRST))
            assert known[kind][name].value == pytest.approx(theirs)
            assert found[convention][kind][name].value == pytest.approx(ours - theirs)
    assert [line[0] for line in figure_cells(summarise(FIRST), convention)] == [
        f"{figure(FIRST, kind, name, convention):.3f}"
        for kind, names in figure_names().items()
        for name in names
    ]


def test_the_interval_of_a_difference_is_that_of_a_paired_t_test():
    [found] = differences([FIRST, SECOND])
    ours, theirs = (
        [one.absent.recall_50 for one in scores if one.absent.has_gold] for scores in (SECOND, FIRST)
    )
    low, high = stats.ttest_rel(ours, theirs).confidence_interval(0.95)
    recall = found["skip_empty"]["absent"]["R@50"]
    assert (recall.value - recall.margin, recall.value + recall.margin) == pytest.approx((low, high))


def test_p_is_of_the_documents_with_gold_by_either_convention():
    [found] = differences([FIRST, SECOND])
    present = [[one.present.at[5] for one in of] for of in (FIRST, SECOND)]
    assert all(pairs[3:] == [(0, 0), (0, 0)] for pairs in present)
    assert found["skip_empty"]["present"]["F1@5"].p == p_by_hand(*(pairs[:3] for pairs in present)) == 0.5
    assert found["count_empty"]["present"]["F1@5"].p == p_by_hand(*present)


def test_what_is_compared_with_the_first_alone_is_not_corrected_and_of_several_by_holm():
    chance = random.Random(8)
    systems = [
        [document((chance.random() * better, chance.random() * better)) for _ in range(12)]
        for better in (0.5, 0.8, 0.6, 0.5)
    ]
    found = [one["skip_empty"]["present"]["F1@5"] for one in differences(systems)]
    assert [one.p_holm for one in found] == holm([one.p for one in found])
    assert found[0].p_holm > found[0].p
    [alone] = differences(systems[:2])
    assert alone["skip_empty"]["present"]["F1@5"].p_holm == found[0].p


def test_before_each_comparison_it_can_be_given_up():
    calls = []

    def before_each():
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        differences([FIRST, SECOND, FIRST], before_each)
    differences([FIRST, SECOND, FIRST, SECOND], lambda: calls.append(1))
    assert len(calls) == 2 + 3


def test_where_no_document_or_one_has_gold_there_is_no_interval():
    nothing = estimates([document()], "count_empty")["present"]["F1@5"]
    assert (nothing.value, nothing.margin) == (None, None)
    [found] = differences([[document()], [document()]])
    assert found["skip_empty"]["absent"]["R@50"] == Difference(None, None, None, None)
    for convention, value in (("skip_empty", 4 / 9), ("count_empty", 2 / 9)):
        alone = [document((0.4, 0.5)), document()]
        assert estimates(alone, convention)["present"]["F1@5"] == Estimate(pytest.approx(value), None)
        [found] = differences([alone, [document((0.2, 0.5)), document()]])
        assert found[convention]["present"]["F1@5"].margin is None
    assert differences([FIRST]) == []


def test_ends_of_an_interval_are_shares():
    two = [document((0.0, 0.0)), document((1.0, 1.0))]
    widest = estimates(two, "skip_empty")["present"]["F1@5"]
    assert (widest.value, widest.margin) == (0.5, 1.0)  # by t it is ±6.4
    assert bounds(widest, least=0.0) == [0.0, 1.0]
    [found] = differences([two, two[::-1]])
    assert bounds(found["skip_empty"]["present"]["F1@5"], least=-1.0) == [-1.0, 1.0]


def test_cells_show_a_sign_an_interval_and_p():
    shown = {
        "present": {
            "F1@5": Difference(0.0154, 0.07, 0.5, 0.684),
            "F1@M": Difference(-0.0001, None, 1.0, 1.0),
        },
        "absent": {
            "F1@5": Difference(None, None, None, None),
            "F1@M": Difference(-0.25, 0.1, 0.0001, 0.0002),
            "R@50": Difference(0.0, None, 1.0, 1.0),
        },
        "pooled": {"F1@M": Difference(0.0, None, 1.0, 1.0)},
    }
    assert difference_cells(shown)[:4] == [
        ["+0.015", "±0.070", "p=0.684"],
        ["0.000", "p=1.000"],
        ["–"],
        ["-0.250", "±0.100", "p<0.001"],
    ]
    assert groups_of(summarise(FIRST))[1] == ("Absent", ["F1@5", "F1@M", "R@50"])


def test_each_difference_is_a_number_and_no_p_is_0():
    [found] = differences([FIRST, SECOND])
    values = [one for of_kind in found["count_empty"].values() for one in of_kind.values()]
    assert all(math.isfinite(one.value) and 0 < one.p <= one.p_holm <= 1 for one in values)
