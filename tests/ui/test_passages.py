"""What the page shows of retrieval."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace

import pytest

from kpdemo.batch import BatchSummary
from kpdemo.io.tables import BYTE_ORDER_MARK
from kpdemo.passages import passage_rows, used_keyphrases
from kpdemo.pipeline import Pipeline
from kpdemo.types import (
    Document,
    Keyphrase,
    Prediction,
    PredictionRequest,
    RetrievalPrediction,
    RetrievedPassage,
)
from kpdemo.ui.files import FileReport, report_html
from kpdemo.ui.models import ModelShelf
from kpdemo.ui.results import (
    PASSAGES_SHOWN,
    as_json,
    passages_csv,
    passages_html,
    python_lines,
    shell_lines,
    text_html,
)
from tests.fakes import PASSAGES, FakePredictor, FakeRetriever

FRENCH = Document("Cette thèse compare des noyaux de graphes pour des molécules entre elles.")
MODELS = {"default": "SimCKP", "multilingual": "three languages", "indexer": "terms"}


@pytest.fixture
def shelf() -> ModelShelf:
    def load(name: str) -> FakePredictor:
        return FakeRetriever() if name == "multilingual" else FakePredictor(name)

    return ModelShelf(MODELS, load, str, index_of="{}.index".format)


def found(*present: Keyphrase, passages=PASSAGES, language="fr", near=None) -> RetrievalPrediction:
    prediction, without = Prediction(present, (), language), Prediction((), (), language)
    return RetrievalPrediction(passages, prediction, without, near)


@pytest.mark.parametrize(
    ("text", "chosen", "model"),
    [
        (FRENCH.body, "default", "multilingual"),
        ("本文用图核比较分子，并讨论其结构与性质之间的关系。", "default", "multilingual"),
        ("그래프 커널로 분자를 비교하고 그 구조를 살펴본다.", "default", "multilingual"),
        ("We compare molecules with the kernels that this paper has defined.", "default", "default"),
        (
            "Wir vergleichen Moleküle mit Graphen und zeigen, dass sie gut sind.",
            "default",
            "multilingual",
        ),
        (FRENCH.body, "indexer", "indexer"),
    ],
)
def test_the_default_model_leaves_a_language_to_the_one_made_for_it(shelf, text, chosen, model):
    assert shelf.answer(PredictionRequest(Document(text), chosen)).model == model


def test_the_language_chosen_on_the_page_decides(shelf):
    answer = shelf.answer(PredictionRequest(replace(FRENCH, language="en"), "default"))
    assert (answer.model, answer.retrieval) == ("default", None)


def test_mixed_text_is_read_in_the_language_of_most_of_it(shelf):
    mixed = Document(f"{FRENCH.body} " * 4 + "Graph kernels are what the authors of this work have used.")
    answer = shelf.answer(PredictionRequest(mixed, "default"))
    assert (answer.model, answer.prediction.language) == ("multilingual", "fr")


def test_without_the_multilingual_model_all_is_as_before():
    answer = ModelShelf({"default": "SimCKP"}, FakePredictor, str).answer(
        PredictionRequest(FRENCH, "default")
    )
    assert (answer.model, answer.retrieval) == ("default", None)


def test_the_page_shows_passages_their_keyphrases_and_both_lists(shelf):
    html = text_html(shelf.answer(PredictionRequest(FRENCH, "default")))
    assert html.count('class="passage"') == len(PASSAGES)
    assert re.findall(r'used" title="([^"]*)"><bdi>([^<]*)', html) == [
        ("découverte de médicaments", "drug discovery"),
    ]
    assert 'lang="en"' in html
    with_them, without = html.split("Without them")
    assert with_them.count("only here") == 1
    assert "only here" not in without


def test_a_keyphrase_reached_the_output_by_its_words_or_by_the_evidence():
    same, told = Keyphrase("Molecules", 0.5), Keyphrase("noyaux", 0.5, evidence=("graph kernel",))
    assert used_keyphrases(found(same, told, language="en")) == [
        {"graph kernels": ("noyaux",), "molecules": ("Molecules",)},
        {},
    ]


def test_a_passage_below_the_models_least_score_says_that_it_did_not_help():
    told = Keyphrase("emploi du temps", 0.5, evidence=("time use", "graph kernel"))
    html = passages_html(found(told, near=0.5))
    first, second = html.split('class="passage"')[1:3]
    assert "Too far" not in first
    assert "used" in first
    assert "Too far from this text to help: its score 0.400 is below 0.5." in second
    assert "used" not in second.split("</ol>")[0]
    assert "predict-passages-note" not in html
    assert "Too far" not in passages_html(found(told))


def test_when_no_passage_is_near_enough_one_sentence_says_so():
    html = passages_html(found(near=0.9))
    assert html.count("No passage with keyphrases is near enough to help (a score of 0.9 or more)") == 1
    assert html.index("predict-passages-note") < html.index("Too far")
    assert html.count("Too far") == len(PASSAGES)
    assert f"<details><summary>The nearest {len(PASSAGES)} passages</summary><ol" in html
    assert "Without them" not in html
    bare = (replace(PASSAGES[0], keyphrases=()), PASSAGES[1])
    assert "No passage with keyphrases is near enough" in passages_html(found(passages=bare, near=0.5))


def test_passages_no_nearer_than_chance_are_folded_and_said_to_be_on_other_subjects():
    both = passages_html(replace(found(), chance=0.85))
    one = passages_html(replace(found(), chance=0.45))
    assert "with a score of up to 0.85 are mostly on other subjects" in both
    assert "their keyphrases are used all the same" in both
    assert both.index("<summary>2 passages that may be on other subjects") < both.index("Kernels for graphs")
    near, far = one.split("<summary>1 passage that may be on another subject</summary>")
    assert ("Kernels for graphs" in near, "Who does the housework" in far) == (True, True)
    assert one.count('id="predict-passages"') == both.count('id="predict-passages"') == 1
    assert "other subjects" not in passages_html(found())
    assert [row["related"] for row in passage_rows(replace(found(), chance=0.45))] == [True, False]


def test_a_table_of_the_passages_has_their_scores_and_the_used_keyphrases():
    told = Keyphrase("noyaux", 0.5, evidence=("graph kernel", "drug discovery"))
    rows = csv.DictReader(io.StringIO(passages_csv(found(told, near=0.5)).removeprefix(BYTE_ORDER_MARK)))
    assert [tuple(row.values()) for row in rows] == [
        ("nlp-01", "Kernels for graphs", "0.812300", "yes", "yes", "graph kernels; molecules; drug discovery",
         "graph kernels; drug discovery"),
        ("soc-02", "Who does the housework", "0.400000", "yes", "no", "time use", ""),
    ]  # fmt: skip


def test_a_file_of_documents_shows_passages_in_its_table():
    told = Keyphrase("noyaux", 0.5, evidence=("graph kernel",))
    row = {"file": "a.jsonl", "id": "1", "present": [], "absent": []}
    retrieved = {"passages": passage_rows(found(told, near=0.5))}
    html = report_html(FileReport(BatchSummary(done=2), [row | retrieved, row | {"id": "2"}]))
    assert html.count("<details") == 1
    assert "<summary>2 passages, 1 near enough to help</summary>" in html
    assert re.findall(r'<bdi>([^<]*)</bdi> <span class="used-word', html) == ["graph kernels"]
    assert html.count("Too far from this text to help.") == 1
    far = {"passages": passage_rows(found(told, near=0.9))}
    far_html = report_html(FileReport(BatchSummary(done=1), [row | far]))
    assert "<summary>2 passages, none near enough to help</summary>" in far_html


def test_what_comes_from_an_index_cannot_break_the_page():
    odd = RetrievedPassage("1", '<b>"${x}`', "</script>", ("<i>kernel</i>", "مرحبا"), "fa", 2.0)
    html = passages_html(found(passages=(odd,)))
    assert "<b>" not in html
    assert "<i>" not in html
    assert "${" not in html
    assert 'lang="fa"' in html


def test_many_passages_are_folded():
    many = tuple(replace(PASSAGES[0], id=str(number)) for number in range(PASSAGES_SHOWN + 3))
    assert "<summary>3 more</summary>" in passages_html(found(passages=many))


def test_an_empty_index_is_told():
    html = passages_html(found(passages=()))
    assert "the index is empty" in html
    assert "Without them" not in html


def test_passages_without_keyphrases_are_told():
    bare = tuple(replace(passage, keyphrases=()) for passage in PASSAGES)
    assert "None of these passages has keyphrases" in passages_html(found(passages=bare))


def test_files_and_commands_hold_what_was_retrieved(shelf):
    answer = shelf.answer(PredictionRequest(FRENCH, "default"))
    assert json.loads(as_json(answer))["passages"][0] == {
        "id": "nlp-01",
        "title": "Kernels for graphs",
        "keyphrases": ["graph kernels", "molecules", "drug discovery"],
        "score": 0.8123,
        "related": True,
        "helps": True,
        "used": ["drug discovery"],
    }
    assert "--index=default.index" in shell_lines(answer.question)
    assert "load_predictor('default', index='default.index')" in python_lines(answer.question)


def test_english_is_shown_as_ever(shelf):
    answer = shelf.answer(
        PredictionRequest(Document("Graph kernels compare the molecules of this paper."), "default")
    )
    assert "passages" not in json.loads(as_json(answer))
    assert "--index" not in shell_lines(answer.question)
    assert 'class="passage"' not in text_html(answer)


def test_a_text_that_the_routed_default_reads_without_passages_speaks_of_none():
    routed = Pipeline("default", FakePredictor, {"multilingual": FakeRetriever})
    shelf = ModelShelf(MODELS, lambda name: routed, str, index_of="{}.index".format)
    english = shelf.answer(
        PredictionRequest(Document("Graph kernels compare the molecules of this paper."), "default")
    )
    assert "passages" not in json.loads(as_json(english))
    assert "passage" not in text_html(english)
    assert "--index" not in shell_lines(english.question)
    assert len(json.loads(as_json(shelf.answer(PredictionRequest(FRENCH, "default"))))["passages"]) == len(
        PASSAGES
    )
