"""Precision, recall and F1 on keys: worked examples, properties, and a plain second implementation."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kpdemo.evaluation.metrics import (
    KindScores,
    MacroFigures,
    PooledFigures,
    macro_average,
    plain_key,
    pooled_average,
    score_kind,
    score_sets,
    with_further,
)
from kpdemo.statistics import harmonic_mean

KEYS = st.text("abcdefgh", min_size=1, max_size=1)
KEY_LISTS = st.lists(KEYS, max_size=12)
COLLECTIONS = st.lists(st.tuples(KEY_LISTS, KEY_LISTS), min_size=1, max_size=8)


def test_three_right_predictions_give_three_fifths_at_5_and_one_at_m():
    # the worked example of ExHiRD's authors: 3 predictions, all right
    scores = score_kind(["a", "b", "c", "d"], ["a", "b", "c"])
    assert scores.at[5].precision == pytest.approx(0.6)
    assert scores.at["M"].precision == 1.0
    assert scores.at[5].recall == scores.at["M"].recall == 0.75


def test_only_the_first_five_count_at_5():
    # hits at ranks 1, 4, 6 of 7; 4 gold: P@5 2/5, R@5 2/4, P@M 3/7, R@M 3/4
    scores = score_kind(["a", "b", "c", "d"], ["a", "x", "y", "b", "z", "c", "w"])
    assert scores.at[5].precision == pytest.approx(2 / 5)
    assert scores.at[5].recall == pytest.approx(2 / 4)
    assert scores.at["M"].precision == pytest.approx(3 / 7)
    assert scores.at["M"].recall == pytest.approx(3 / 4)


def test_a_repeated_prediction_takes_no_second_rank():
    # unique order a, x, y, z, b: b is fifth
    assert score_kind(["a", "b"], ["a", "x", "a", "y", "x", "z", "b"]).at[5].recall == 1.0


def test_no_prediction_scores_zero():
    assert score_kind(["a"], []) == KindScores(has_gold=True)


def test_recall_at_50_reads_fifty_predictions():
    fillers = [f"x{rank}" for rank in range(48)]
    # a is 50th, b 51st: 1 of 2
    assert score_kind(["a", "b"], ["y", *fillers, "a", "b"]).recall_50 == 0.5


def test_recall_at_50_reads_the_candidates_where_there_are_any():
    fillers = [f"x{rank}" for rank in range(47)]
    # of the candidates b is 49th, a again 50th, c 51st: 2 of 3, and M and 5 know of the predictions alone
    scores = score_kind(["a", "b", "c"], ["a"], ["a", *fillers, "b", "a", "y", "c"])
    assert scores.recall_50 == pytest.approx(2 / 3)
    assert (scores.at["M"].precision, scores.at["M"].recall, scores.at[5].recall) == (
        1,
        pytest.approx(1 / 3),
        pytest.approx(1 / 3),
    )
    assert score_kind(["a"], ["a"], []).recall_50 == 0


def test_candidates_stand_in_at_5_for_what_was_not_given_and_not_at_m():
    scores = score_kind(["a", "b"], ["x"], ["x", "a", "y", "z", "v", "b"])
    assert scores.at[5] == (0.2, 0.5)
    assert scores.at["M"] == (0.0, 0.0)
    assert scores.recall_50 == 1


def test_at_ten_and_at_as_many_as_are_gold_it_divides_by_these_even_where_fewer_are_predicted():
    # hits at ranks 1, 4, 6 of 7; 4 gold: at 10 P 3/10, R 3/4; at O, the first four, P = R = 2/4
    further = with_further([10, "O"])
    scores = score_kind(["a", "b", "c", "d"], ["a", "x", "y", "b", "z", "c", "w"], cuts=further)
    assert scores.at[10] == (pytest.approx(3 / 10), pytest.approx(3 / 4))
    assert scores.at["O"] == (0.5, 0.5)
    # of a single prediction that is right P@O is 1/4 too
    assert score_kind(["a", "b", "c", "d"], ["a"], cuts=["O"]).at["O"] == (0.25, 0.25)
    assert score_kind([], ["a"], cuts=further).at == dict.fromkeys(further, (0, 0))


def test_cuts_are_measured_once_each_and_in_order():
    assert with_further([]) == (5, "M")
    assert with_further(["M", 15, "O", 5, 3, 15]) == (3, 5, 15, "O", "M")


def test_macro_f1_is_that_of_the_mean_precision_and_recall():
    # document 1: P@M 1/1, R@M 1/2; document 2: P@M 1/2, R@M 1/1. Means 3/4 and 3/4: F1 3/4,
    # while the mean of the documents' F1 would be 2/3
    scores = [score_kind(["a", "b"], ["a"]), score_kind(["a"], ["a", "x"])]
    figures = macro_average(scores, "skip_empty")
    assert figures.at["M"] == (0.75, 0.75, 0.75)
    # at 5: P 1/5 and 1/5, R 1/2 and 1: F1 = 2 * .2 * .75 / .95
    assert figures.at[5].f1 == pytest.approx(0.3 / 0.95)


def test_the_conventions_differ_by_the_documents_without_gold():
    scores = [score_kind(["a"], ["a"]), score_kind([], ["a"]), score_kind([], []), score_kind(["b"], [])]
    skipping = macro_average(scores, "skip_empty")  # two documents: (1 + 0) / 2
    counting = macro_average(scores, "count_empty")  # four: (1 + 0 + 0 + 0) / 4
    assert (skipping.at["M"].precision, skipping.recall_50) == (0.5, 0.5)
    assert (counting.at["M"].precision, counting.recall_50) == (0.25, 0.25)


@pytest.mark.parametrize("convention", ["skip_empty", "count_empty"])
def test_without_any_gold_nothing_is_defined(convention):
    assert macro_average([score_kind([], ["a"])], convention) == MacroFigures()
    assert macro_average([], convention) == MacroFigures()


@pytest.mark.parametrize(
    ("phrase", "key"),
    [
        ("E-Mail", "email"),
        ("  support   vector machine. ", "support vector machine"),
        ("C++", "c"),
        ("...", ""),
        ("networks", "networks"),  # no stemming
        ("nai\u0308ve", "na\u00efve"),
        ("关键词、抽取", "关键词、抽取"),  # only ASCII punctuation goes
    ],
)
def test_the_plain_key(phrase, key):
    assert plain_key(phrase) == key


def test_pooled_figures_are_means_over_documents():
    # 1: gold {email, spam}, found {email, ham, eggs}: P 1/3, R 1/2, F1 2/5
    # 2: gold {a}, found {a}: all 1. Means 2/3, 3/4, 7/10; the third has no gold and is left out
    scores = [
        score_sets(["E-mail", "email", "spam"], ["email", "EMAIL", "ham", "eggs"]),
        score_sets(["a"], ["A."]),
        score_sets(["...", ""], ["a"]),
    ]
    figures = pooled_average(scores)
    assert figures.precision_m == pytest.approx(2 / 3)
    assert figures.recall_m == pytest.approx(3 / 4)
    assert figures.f1_m == pytest.approx(7 / 10)


def test_pooled_figures_without_gold_are_undefined():
    assert pooled_average([None, score_sets([], ["a"])]) == PooledFigures()


def test_predicting_nothing_scores_zero_in_the_pool():
    assert pooled_average([score_sets(["a"], ["?"])]) == PooledFigures(0.0, 0.0, 0.0)


def test_the_harmonic_mean_of_nothing_is_zero():
    assert harmonic_mean(0.0, 0.0) == 0.0


def plain_figures(documents, convention, cut):
    """The definition, written out slowly with exact fractions."""
    precisions, recalls = [], []
    for gold, predicted in documents:
        unique = []
        for key in predicted:
            if key not in unique:
                unique.append(key)
        answers = sorted(set(gold))
        if not answers:
            if convention == "count_empty":
                precisions.append(Fraction(0))
                recalls.append(Fraction(0))
            continue
        denominator = {"M": len(unique), "O": len(answers)}.get(cut, cut)
        right = sum(1 for key in unique[:denominator] if key in answers)
        precisions.append(Fraction(right, denominator) if denominator else Fraction(0))
        recalls.append(Fraction(right, len(answers)))
    if not any(gold for gold, _ in documents):
        return None, None, None
    precision, recall = sum(precisions) / len(precisions), sum(recalls) / len(recalls)
    both = precision + recall
    return precision, recall, 2 * precision * recall / both if both else Fraction(0)


@pytest.mark.parametrize("convention", ["skip_empty", "count_empty"])
@given(documents=COLLECTIONS)
def test_the_figures_are_those_of_a_plain_implementation(convention, documents):
    cuts = with_further([1, 10, "O"])
    scores = [score_kind(gold, predicted, cuts=cuts) for gold, predicted in documents]
    figures = macro_average(scores, convention)
    assert list(figures.at) == [1, 5, 10, "O", "M"]
    for cut, values in figures.at.items():
        for value, exact in zip(values, plain_figures(documents, convention, cut), strict=True):
            assert (value is None) == (exact is None)
            assert exact is None or value == pytest.approx(float(exact))


@given(documents=COLLECTIONS, seed=st.randoms())
def test_the_order_of_documents_and_of_gold_does_not_matter(documents, seed):
    shuffled = [(seed.sample(gold, len(gold)), predicted) for gold, predicted in documents]
    seed.shuffle(shuffled)
    for convention in ("skip_empty", "count_empty"):
        assert macro_average([score_kind(*pair) for pair in documents], convention) == macro_average(
            [score_kind(*pair) for pair in shuffled], convention
        )


@given(gold=KEY_LISTS, predicted=KEY_LISTS)
def test_every_figure_is_a_fraction(gold, predicted):
    scores = score_kind(gold, predicted)
    numbers = (*scores.at[5], *scores.at["M"], scores.recall_50)
    assert all(0 <= number <= 1 for number in numbers)
    assert scores.at[5].recall <= scores.recall_50 <= scores.at["M"].recall


@given(gold=st.lists(KEYS, min_size=1, max_size=12))
def test_predicting_the_gold_is_perfect_at_m(gold):
    figures = macro_average([score_kind(gold, gold)], "skip_empty")
    assert (*figures.at["M"], figures.recall_50) == (1, 1, 1, 1)


@given(documents=st.lists(st.tuples(st.lists(KEYS, min_size=1, max_size=9), KEY_LISTS), min_size=1))
def test_the_conventions_agree_when_every_document_has_gold(documents):
    scores = [score_kind(gold, predicted) for gold, predicted in documents]
    assert macro_average(scores, "skip_empty") == macro_average(scores, "count_empty")


@given(gold=KEY_LISTS, predicted=KEY_LISTS, data=st.data())
def test_repeating_a_prediction_later_changes_nothing(gold, predicted, data):
    repeated = data.draw(st.lists(st.sampled_from(predicted), max_size=4)) if predicted else []
    assert score_kind(gold, [*predicted, *repeated]) == score_kind(gold, predicted)


@given(gold=KEY_LISTS, predicted=KEY_LISTS, seed=st.randoms())
def test_the_order_of_predictions_does_not_matter_in_the_pool(gold, predicted, seed):
    assert score_sets(gold, predicted) == score_sets(gold, seed.sample(predicted, len(predicted)))
