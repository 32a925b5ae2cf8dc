"""Which phrases count, and on which side, when predictions meet a document's own keyphrases."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kpdemo.errors import InputError
from kpdemo.evaluation.measuring import not_in_text_message
from kpdemo.evaluation.protocol import DocumentScores, Tally, compare_document, evaluate, split_phrases
from kpdemo.evaluation.report import dataset_to_json, trust_note
from kpdemo.languages import identify_together
from kpdemo.text import StemmedText
from kpdemo.types import Document, Keyphrase, Prediction

DOCUMENT = Document(
    title="Fast neural networks",
    body="Graph kernels are slow. We train networks of integral equations.",
    id="d1",
    keyphrases=("Neural Network", "graph kernel", "integral equation", "machine learning"),
)


def predict(present=(), absent=()):
    """Ranked lists of phrases as a prediction; the spans of the present ones play no part here."""
    return Prediction(
        present=tuple(Keyphrase(text, 0.5, ((0, 1),)) for text in present),
        absent=tuple(Keyphrase(text, 0.5) for text in absent),
    )


def score_document(gold: Document, prediction: Prediction) -> DocumentScores:
    return compare_document(gold, prediction).scores


def test_gold_is_split_by_its_stems_in_title_or_body():
    keys = split_phrases(DOCUMENT.keyphrases, StemmedText(DOCUMENT))
    assert list(keys.present) == ["neural network", "graph kernel", "integr equat"]
    assert list(keys.absent) == ["machin learn"]


def test_a_phrase_across_title_and_body_is_absent():
    keys = split_phrases(["networks graph", "neural networks"], StemmedText(DOCUMENT))
    assert list(keys.absent) == ["network graph"]
    assert list(keys.present) == ["neural network"]


def test_empty_phrases_disturb_nothing_and_marks_alone_count():
    # the released evaluation misplaces the flags of all phrases after an empty one
    keys = split_phrases(["", "machine learning", " ", "graph kernels", "!?"], StemmedText(DOCUMENT))
    assert list(keys.present) == ["graph kernel"]
    assert list(keys.absent) == ["machin learn", "! ?"]


@pytest.mark.parametrize("language", ["en", "fr"])
def test_predicted_marks_are_wrong_predictions(language):
    gold = replace(DOCUMENT, language=language)
    clean = score_document(gold, predict(absent=["machine learning"]))
    marked = score_document(gold, predict(absent=["???", "—", "machine learning"]))
    assert (clean.absent.at["M"].precision, marked.absent.at["M"].precision) == (1, pytest.approx(1 / 3))


def test_gold_that_differs_only_in_form_counts_once():
    gold = Document(body="Neural networks learn.", keyphrases=("neural network", "Neural Networks", "x y"))
    scores = score_document(gold, predict(["neural networks"]))
    assert scores.present.at["M"].recall == 1.0


def test_every_document_is_measured_in_its_language():
    golds = [
        Document("Les réseaux électriques.", language="fr", keyphrases=("réseau électrique", "énergies")),
        Document("基于图神经网络的方法。", language="zh", keyphrases=("图神经网络", "语音 识别")),
        Document("기계 학습을 이용한다.", language="ko", keyphrases=("기계학습",)),
        Document("Neural networks.", language="en", keyphrases=("neural network",)),
    ]
    found = [
        predict(["réseaux électriques"], ["énergie"]),
        predict(["图神经网络"], ["语音识别"]),
        predict(["기계 학습"]),
        predict(["networks"]),
    ]
    figures = evaluate(golds, found)
    assert list(figures.languages) == ["en", "fr", "ko", "zh"]
    assert [part.documents for part in figures.languages.values()] == [1, 1, 1, 1]
    assert [part.present.skip_empty.at["M"].f1 for part in figures.languages.values()] == [0.0, 1.0, 1.0, 1.0]
    assert figures.present.skip_empty.at["M"].precision == 0.75
    assert [figures.languages[code].absent.skip_empty.at["M"].f1 for code in ("fr", "zh")] == [1.0, 1.0]
    # RAMKG's measure knows neither stems nor varying spaces: only one of two Chinese phrases is the same
    assert [part.pooled.f1_m for part in figures.languages.values()] == [0.0, 0.0, 0.0, 0.5]
    assert figures.pooled.f1_m == pytest.approx(0.125)


def test_the_f1_of_several_languages_is_that_of_their_mean_precision_and_recall():
    golds = [
        Document("Les réseaux.", language="fr", keyphrases=("réseau",)),
        Document("Neural networks and graphs.", language="en", keyphrases=("network", "graph")),
        Document("Nothing of it.", language="en", keyphrases=("optics",)),
    ]
    figures = evaluate(golds, [predict(["réseaux", "les"]), predict(["networks"]), predict()])
    assert {code: part.present.skip_empty.at["M"].f1 for code, part in figures.languages.items()} == {
        "en": pytest.approx(2 / 3),
        "fr": pytest.approx(2 / 3),
    }
    whole = figures.present.skip_empty
    assert (whole.at["M"].precision, whole.at["M"].recall) == (0.75, 0.75)  # by the two with present gold
    assert whole.at["M"].f1 == pytest.approx(0.75)
    assert figures.present.count_empty.at["M"].precision == pytest.approx((2 * 0.5 + 1 * 0.5) / 3)


def test_figures_of_english_do_not_depend_on_whether_the_language_is_told():
    told, silent = replace(DOCUMENT, language="en"), DOCUMENT
    found = predict(["neural networks", "slow", "Integral equation"], ["machine learning", "optics"])
    assert evaluate([told], [found]) == evaluate([silent], [found])
    assert identify_together([silent, Document("Das ist ein deutscher Text über Netze."), silent]) == [
        told,
        Document("Das ist ein deutscher Text über Netze.", language="en"),
        told,
    ]
    assert [d.language for d in identify_together([silent, Document("关键词抽取"), told])] == [
        "en",
        "zh",
        "en",
    ]


@pytest.mark.parametrize("written", ["EN", "en-US", "en_GB", "English", "eng"])
def test_a_language_is_measured_alike_however_it_is_written(written):
    gold = replace(DOCUMENT, keyphrases=("relational operators",), body="A relation is operated on.")
    found = predict(absent=["relate operating"])  # the same by Porter's stems only
    assert evaluate([gold], [found]).absent.skip_empty.at["M"].f1 == 1.0
    assert evaluate([replace(gold, language=written)], [found]) == evaluate([gold], [found])


def test_a_language_that_is_not_known_is_refused_with_its_document():
    gold = replace(DOCUMENT, language="Klingon")
    with pytest.raises(InputError, match='language of the document "d1" is Klingon: not a known language'):
        evaluate([gold], [predict()])


def test_a_worked_example():
    # present: gold 3; predictions kept: neural networks (right), slow (wrong), graph kernel (right).
    #   "deep learning" is not in the text, the second "Neural network" is a repetition: both go.
    #   P@5 2/5, R@5 2/3, P@M 2/3, R@M 2/3
    # absent: gold 1; kept: optimisation (wrong), machine learning (right); "graph kernels" is in the text.
    #   P@5 1/5, R@5 1, P@M 1/2, R@50 1
    scores = score_document(
        DOCUMENT,
        predict(
            ["neural networks", "deep learning", "Neural network", "slow", "graph kernel"],
            ["graph kernels", "optimisation", "Machine Learning"],
        ),
    )
    assert scores.present.at[5].precision == pytest.approx(2 / 5)
    assert scores.present.at[5].recall == pytest.approx(2 / 3)
    assert scores.present.at["M"].precision == pytest.approx(2 / 3)
    assert scores.absent.at[5].precision == pytest.approx(1 / 5)
    assert scores.absent.at["M"].precision == pytest.approx(1 / 2)
    assert scores.absent.recall_50 == 1.0
    # pooled, no stemming: gold 4; found {neural networks, deep learning, neural network, slow,
    #   graph kernel, graph kernels, optimisation, machine learning}: 3 right of 8
    assert scores.pooled.precision == pytest.approx(3 / 8)
    assert scores.pooled.recall == pytest.approx(3 / 4)


def test_predictions_in_the_wrong_list_earn_nothing():
    scores = score_document(DOCUMENT, predict(present=["machine learning"], absent=["neural network"]))
    assert scores.present.at["M"].precision == scores.absent.at["M"].precision == 0.0


def test_documents_and_phrases_are_read_as_models_read_them():
    gold = Document("An eﬃcient net&shy;work for CO<sub>2</sub>.", keyphrases=("eﬃcient network", "CO2"))
    scores = score_document(gold, predict(["efficient network", "CO<sub>2</sub>"]))
    assert scores.present.at["M"] == (1.0, 1.0)
    assert scores.pooled.f1 == 1.0


def test_the_released_rule_compares_texts_and_phrases_as_they_are():
    gold = Document("A naïve net for CO₂ [sic].", keyphrases=("naive net", "CO2", "naïve"))
    predicted = predict(["naïve net", "CO₂"])
    ours, released = (compare_document(gold, predicted, released=rule) for rule in (False, True))
    assert list(ours.wanted.present) == ["naiv net", "co2", "naiv"]
    assert list(released.wanted.absent) == ["naiv net", "co2"]
    assert (ours.scores.present.at["M"].precision, released.scores.present.at["M"].precision) == (1, 0)


def test_what_is_not_in_the_text_is_dropped_before_the_cut_at_five():
    outside = [f"unheard thing {number}" for number in range(5)]
    scores = score_document(DOCUMENT, predict([*outside, "graph kernels"]))
    assert scores.present.at[5].recall == pytest.approx(1 / 3)


def test_predictions_that_are_not_in_the_text_are_counted_and_told():
    gold = Document("We study coding, sparse or not, and graph kernels.", keyphrases=("graph kernels",))
    figures = evaluate([gold], [predict(["sparse coding", "Sparse Coding", "graph kernels"])])
    assert figures.not_in_text == 1
    told = not_in_text_message("gold", figures)
    assert told.startswith(
        "gold: 1 keyphrase that was predicted as present is not in the text by the rule of"
    )
    assert not_in_text_message("gold", evaluate([gold], [predict(["graph kernels"])])) == ""


def test_how_often_absent_keyphrases_are_right_is_told_of_those_given_and_of_doubtful_ones():
    gold = Document("We study coding.", keyphrases=("machine learning", "graph kernels", "coding"))
    absent = [
        Keyphrase(text, 0.5) for text in ("Machine Learning", "soup", "graph kernel", "clove oil", "oil")
    ]
    figures = evaluate([gold], [Prediction((), tuple(absent), doubtful=tuple(absent[2:]))])
    assert (figures.given, figures.doubtful) == (Tally(2, 1), Tally(3, 1))
    assert trust_note(figures) == (
        "Of the absent keyphrases that are given 1 of 2 (50 %) are right, of the doubtful ones 1 of 3 (33 %)."
    )
    assert dataset_to_json(figures)["doubtful"] == {"predicted": 3, "correct": 1}
    assert trust_note(evaluate([gold], [Prediction((), tuple(absent))])) == ""


def test_recall_at_50_is_that_of_the_absent_candidates_that_are_not_in_the_text():
    gold = replace(DOCUMENT, keyphrases=("machine learning", "optimisation"))
    in_text = ["graph kernels", "Neural network"] * 30
    told = replace(
        predict(absent=["optimisation"]),
        absent_candidates=(*in_text, "optimisation", "Machine Learning", "tuning"),
    )
    assert score_document(gold, told).absent.recall_50 == 1.0
    assert score_document(gold, told).absent.at["M"].recall == 0.5
    assert score_document(gold, predict(absent=["optimisation"])).absent.recall_50 == 0.5


def test_documents_without_gold_are_skipped_or_counted():
    golds = [
        Document(body="Neural networks.", id="a", keyphrases=("neural network",)),
        Document(body="Neural networks.", id="b", keyphrases=("biology",)),
        Document(body="Neural networks.", id="c"),
    ]
    figures = evaluate(golds, [predict(["neural networks"])] * 3)
    assert figures.documents == 3
    assert (figures.present.with_gold, figures.absent.with_gold, figures.pooled_with_gold) == (1, 1, 2)
    assert figures.present.skip_empty.at["M"].precision == 1.0
    assert figures.present.count_empty.at["M"].precision == pytest.approx(1 / 3)
    assert figures.absent.skip_empty.at["M"].f1 == 0.0


def test_a_list_too_short_or_too_long_is_refused():
    with pytest.raises(InputError, match="are 2 documents but 0 predictions, the first without one is 'd1'"):
        evaluate([DOCUMENT, DOCUMENT], [])
    with pytest.raises(InputError, match="2 predictions but 1 documents"):
        evaluate([DOCUMENT], [predict(), predict()])


def test_each_document_is_measured_before_the_next_is_asked_for():
    def golds() -> Iterator[Document]:
        for number in range(2):
            asked.append(number)
            yield DOCUMENT

    class Given(list[Prediction]):
        def __getitem__(self, place):
            asked.append(f"prediction {place}")
            return super().__getitem__(place)

    asked: list[object] = []
    evaluate(golds(), Given([predict(), predict()]))
    assert asked == [0, "prediction 0", 1, "prediction 1"]


def test_no_documents_give_undefined_figures():
    figures = evaluate([], [])
    assert figures.documents == 0
    assert figures.present.count_empty.at[5].f1 is None
    assert figures.pooled.f1_m is None


PHRASES = st.lists(
    st.sampled_from(
        ["neural networks", "graph kernel", "machine learning", "optics", "slow", "", "..", "Graph"]
    ),
    max_size=8,
)


@given(gold=PHRASES, present=PHRASES, absent=PHRASES, data=st.data())
def test_repeated_and_empty_predictions_never_help(gold, present, absent, data):
    document = Document(title=DOCUMENT.title, body=DOCUMENT.body, keyphrases=tuple(gold))
    filler = data.draw(st.lists(st.sampled_from([*present, "", " "]), max_size=4))
    plain = score_document(document, predict(present, absent))
    padded = score_document(document, predict([*present, *filler], absent))
    assert padded == plain


@given(gold=PHRASES)
def test_predicting_the_gold_is_perfect(gold):
    document = Document(title=DOCUMENT.title, body=DOCUMENT.body, keyphrases=tuple(gold))
    figures = evaluate([document], [predict(gold, gold)])
    for kind in (figures.present, figures.absent):
        assert kind.skip_empty.at["M"].f1 in (1.0, None)
        assert (kind.skip_empty.at["M"].f1 is None) == (kind.with_gold == 0)
