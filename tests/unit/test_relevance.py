"""nDCG against scikit-learn and by hand; precision and F1 as `python -m kpdemo evaluate` counts them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score

from annotation.relevance import Average, Judged, Unjudged, dcg, ndcg, score_model

GRADES = st.integers(0, 16).map(lambda quarters: quarters / 4)


def judged(*grades: float, present: tuple[int, ...] = ()) -> Judged:
    return Judged(dict(enumerate(grades)), frozenset(present))


def test_ndcg_of_a_ranking_worked_out_by_hand():
    """Grades 3, 0, 4 in that order: (3 + 4/2) / (4 + 3/log2(3))."""
    assert ndcg([3, 0, 4], [4, 3, 0], 3) == pytest.approx(5 / (4 + 3 / math.log2(3)))
    assert ndcg([3, 0, 4], [4, 3, 0], 1) == pytest.approx(3 / 4)


@given(st.lists(GRADES, min_size=2, max_size=30), st.integers(1, 12))
def test_ndcg_is_that_of_scikit_learn(grades, k):
    descending = np.arange(len(grades), 0, -1, dtype=float)
    found = ndcg(grades, grades, k)
    if max(grades) == 0:
        assert found is None
    else:
        assert found == pytest.approx(ndcg_score([grades], [descending], k=k))


@given(st.lists(GRADES, min_size=1, max_size=20).filter(any), st.integers(1, 12))
def test_the_best_order_has_an_ndcg_of_one_and_no_order_more(grades, k):
    assert ndcg(sorted(grades, reverse=True), grades, k) == pytest.approx(1)
    assert 0 <= ndcg(grades, grades, k) <= 1 + 1e-12


def test_the_discount_is_the_logarithm_of_the_rank():
    assert dcg([1, 1, 1]) == pytest.approx(1 + 1 / math.log2(3) + 1 / 2)


def test_a_model_is_measured_over_all_that_any_model_predicted():
    """Phrases 0 to 3, of which the model ranked two: precision and recall by hand."""
    found = score_model([(judged(4, 0, 3, 1, present=(0, 1)), [1, 0])], threshold=3, k=2)
    assert found.ndcg.skip_empty == pytest.approx((4 / math.log2(3)) / (4 + 3 / math.log2(3)))
    assert found.precision.skip_empty == pytest.approx(1 / 2)
    assert found.all.precision_5.skip_empty == pytest.approx(1 / 5)
    assert found.all.precision_m.skip_empty == found.all.recall_m.skip_empty == pytest.approx(1 / 2)
    assert found.present.f1_m.skip_empty == pytest.approx(2 * 0.5 * 1 / 1.5)
    assert found.absent.f1_m.skip_empty == 0  # phrase 2 is gold, absent, and was not predicted


def test_phrases_without_a_grade_count_as_not_relevant_or_are_skipped():
    document = (judged(4, 2), [9, 0])
    zero = score_model([document], threshold=3, k=1)
    skipped = score_model([document], threshold=3, k=1, unjudged=Unjudged.SKIP)
    assert (zero.ndcg.skip_empty, zero.precision.skip_empty) == (0, 0)
    assert (skipped.ndcg.skip_empty, skipped.precision.skip_empty) == (1, 1)
    assert zero.judged_at_k == skipped.judged_at_k == 0
    assert (zero.predictions, zero.judged) == (2, 1)


def test_a_document_without_anything_relevant_is_left_out_or_counts_as_zero():
    found = score_model([(judged(4), [0]), (judged(0), [0]), (judged(), [0])], threshold=3, k=1)
    assert found.documents == 2
    assert found.ndcg == found.precision == found.all.f1_m == Average(1, 0.5)


def test_nothing_graded_gives_no_figures():
    found = score_model([(judged(), [0])], threshold=3, k=5)
    assert found.ndcg == found.precision == found.all.f1_5 == Average(None, None)
    assert found.judged_at_k is None
