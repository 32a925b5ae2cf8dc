"""The options that every predictor shares."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kpdemo.errors import InputError
from kpdemo.predictors import available_models, load_predictor
from kpdemo.selection import check_options, choose, keep, reaches, short_score
from kpdemo.types import Keyphrase, Prediction, PredictionOptions, Ranking

SCORES = st.lists(st.floats(0, 1), max_size=12)


def test_by_hand():
    scores = [0.1, 0.9, 0.5, 0.9]
    assert keep(scores, top_k=None, threshold=None, own=3) == [1, 3, 2]
    assert keep(scores, top_k=2, threshold=None, own=3) == [1, 3]
    assert keep(scores, top_k=None, threshold=0.5, own=1) == [1, 3, 2]
    assert keep(scores, top_k=3, threshold=0.6, own=1) == [1, 3]


@given(SCORES, st.none() | st.integers(1, 15), st.none() | st.floats(0, 1), st.integers(0, 15))
def test_what_is_kept_is_the_best_of_what_may_be_kept(scores, top_k, threshold, own):
    kept = keep(scores, top_k=top_k, threshold=threshold, own=own)
    most = own if top_k is None and threshold is None else len(scores) if top_k is None else top_k
    allowed = [score for score in scores if threshold is None or reaches(score, threshold)]
    assert [scores[index] for index in kept] == sorted(allowed, reverse=True)[:most]


@given(st.floats(0, 1), st.integers(0, 100))
def test_a_score_reaches_a_threshold_of_two_decimals_exactly_where_it_is_shown_to(score, hundredths):
    threshold = float(f"0.{hundredths:02}") if hundredths < 100 else 1.0
    shown = float(short_score(score))
    assert (keep([score], top_k=None, threshold=threshold, own=1) == [0]) == (shown >= threshold)
    assert reaches(score, round(score, 6))  # as JSON tells it


@given(st.floats(-1, 1), st.integers(1, 6))
def test_a_score_is_shown_rounded_down(score, digits):
    shown = short_score(score, digits)
    assert len(shown.partition(".")[2]) == digits
    assert not (float(shown) == 0 and shown.startswith("-"))
    assert float(shown) - 1e-9 <= round(score, 6) < float(shown) + 10**-digits


@pytest.mark.parametrize(
    ("top_k", "threshold"), [(0, None), (-3, None), (None, 1.01), (None, -0.1), (5, float("nan"))]
)
def test_options_out_of_range_are_refused(top_k, threshold):
    with pytest.raises(InputError, match="must be"):
        check_options(top_k, threshold)


@pytest.mark.parametrize(
    ("top_k", "threshold"), [("3", None), (2.5, None), (True, None), (None, "0.1"), (None, False)]
)
def test_options_of_a_wrong_type_are_refused(top_k, threshold):
    with pytest.raises(InputError, match=r"must be a (whole )?number, not .*: give one"):
        check_options(top_k, threshold)
    with pytest.raises(InputError, match=r"must be a (whole )?number"):
        load_predictor("first").predict(["Graph kernels compare."], top_k=top_k, threshold=threshold)


def test_options_may_be_numbers_of_numpy():
    check_options(np.int64(3), np.float32(0.5))
    check_options(3, 1)


@pytest.mark.parametrize(
    "name", [name for name in available_models() if name not in ("default", "embedding")]
)
def test_every_baseline_follows_the_same_rule(name):
    text = "Graph kernels compare molecules. Neural networks learn graph kernels of proteins and molecules."
    predictor = load_predictor(name)
    [best] = predictor.predict([text], threshold=1.0)
    assert all(keyphrase.score == 1.0 for keyphrase in best.present)
    [two] = predictor.predict([text], top_k=2)
    assert len(two.present) == 2
    with pytest.raises(InputError):
        predictor.predict([text], threshold=7)


def test_what_only_the_least_number_gives_is_a_filler_and_what_was_asked_for_is_not():
    ranked = (Keyphrase("graph kernel", 0.4, ((0, 12),)), Keyphrase("molecule", 0.03, ((20, 28),)))

    def fillers(sure, **options):
        ranking = Ranking(ranked, 2, sure)
        found = Prediction(ranked, (), "en", ranked_present=ranking, ranked_absent=Ranking((), 0, 0))
        return [one.filler for one in choose(found, PredictionOptions(**options)).present]

    assert [fillers(0), fillers(1), fillers(2)] == [[True, True], [False, True], [False, False]]
    assert fillers(0, top_k=2) == fillers(0, threshold=0.0) == [False, False]
