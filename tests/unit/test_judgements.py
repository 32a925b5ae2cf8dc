"""The numbers in TREC's files: relevance in whole quarters, and scores that 32 bits tell apart."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise
from urllib.parse import unquote

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from annotation.gold import standing_of
from annotation.relevance import relevance, run_scores, trec_id

QUARTERS = [Decimal(quarters) / 4 for quarters in range(17)]
SCORES = st.sampled_from([0.0, 1e-12, 1e-9, 0.25, 0.5, 1 - 1e-12, 1.0]) | st.floats(0, 1)


def as_trec_eval_reads(scores: list[float]) -> list[np.float32]:
    return [np.float32(float(written)) for written in run_scores(scores)]


@given(st.lists(SCORES, max_size=50), st.integers(1, 100))
def test_scores_of_a_run_fall_with_the_rank_also_as_numbers_of_32_bits(scores, times):
    read = as_trec_eval_reads(sorted(scores * times, reverse=True))
    assert all(lower < higher for higher, lower in pairwise(read))


def test_scores_that_differ_are_those_of_the_model():
    assert list(run_scores([0.75, 0.7, 0.7, 0.61, 0.0])) == ["0.75", "0.7", "0.6999999", "0.61", "0.0"]


@given(st.lists(st.sampled_from(QUARTERS), min_size=1, max_size=9), st.sampled_from(QUARTERS))
def test_a_mean_reaches_a_threshold_in_the_qrels_only_if_it_does_here(grades, threshold):
    mean = standing_of(grades).mean
    assert (relevance(mean) >= relevance(threshold)) is (mean >= threshold)


@given(st.text(st.sampled_from("a %2059\u2003/é"), max_size=12))
def test_ids_are_one_word_in_the_files_and_can_be_told_apart(id):
    assert not any(map(str.isspace, trec_id(id)))
    assert unquote(trec_id(id)) == id
