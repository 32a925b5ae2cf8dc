"""Recall of the passage that belongs to a query."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kpdemo.evaluation.metrics import CUT_OFFS, rank_of, recall_at


def test_recall_by_hand():
    ranks = [1, 3, None, 20, 2, 21, 10, 6]
    assert recall_at(ranks) == {1: 1 / 8, 2: 2 / 8, 5: 3 / 8, 10: 5 / 8, 20: 6 / 8}


@given(st.lists(st.none() | st.integers(1, 20), min_size=1))
def test_recall_grows_with_the_cut_off(ranks):
    figures = list(recall_at(ranks).values())
    assert figures == sorted(figures)
    assert recall_at(ranks)[20] == sum(rank is not None for rank in ranks) / len(ranks)


def test_a_rank_counts_from_one():
    assert [rank_of(id, ["a", "b", "c"]) for id in "acx"] == [1, 3, None]


def test_no_query_has_no_recall():
    with pytest.raises(ValueError, match="no query"):
        recall_at([])
    assert CUT_OFFS == (1, 2, 5, 10, 20)
