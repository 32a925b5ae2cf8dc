"""What the page shows of retrieval."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from kpdemo.languages.notes import NO_MODEL, language_note
from kpdemo.types import Document, Keyphrase, Prediction, RetrievalPrediction, RetrievedPassage
from kpdemo.ui.models import ModelShelf
from kpdemo.ui.passages import SHOWN, passages_html, reached
from kpdemo.ui.results import Question, answer_html, as_json, python_lines, shell_lines
from tests.fakes import PASSAGES, FakePredictor, FakeRetriever

FRENCH = Document("Cette thèse compare des noyaux de graphes pour des molécules entre elles.")
MODELS = {"default": "SimCKP", "multilingual": "three languages", "indexer": "terms"}


@pytest.fixture
def shelf() -> ModelShelf:
    def load(name: str) -> FakePredictor:
        return FakeRetriever() if name == "multilingual" else FakePredictor(name)

    return ModelShelf(MODELS, load, str, index="my.index")


def found(*present: Keyphrase, passages=PASSAGES, language="fr") -> RetrievalPrediction:
    return RetrievalPrediction(passages, Prediction(present, (), language), Prediction((), (), language))


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
            "default",
        ),
        (FRENCH.body, "indexer", "indexer"),
    ],
)
def test_the_default_model_leaves_a_language_to_the_one_made_for_it(shelf, text, chosen, model):
    assert shelf.answer(Question(Document(text), chosen)).model == model


def test_the_language_chosen_on_the_page_decides(shelf):
    answer = shelf.answer(Question(replace(FRENCH, language="en"), "default"))
    assert (answer.model, answer.retrieval) == ("default", None)


def test_mixed_text_is_read_in_the_language_of_most_of_it(shelf):
    mixed = Document(f"{FRENCH.body} " * 4 + "Graph kernels are what the authors of this work have used.")
    answer = shelf.answer(Question(mixed, "default"))
    assert (answer.model, answer.prediction.language) == ("multilingual", "fr")


def test_without_the_multilingual_model_all_is_as_before():
    answer = ModelShelf({"default": "SimCKP"}, FakePredictor, str).answer(Question(FRENCH, "default"))
    assert (answer.model, answer.retrieval) == ("default", None)


def test_the_page_shows_passages_their_keyphrases_and_both_lists(shelf):
    html = answer_html(shelf.answer(Question(FRENCH, "default")))
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
    assert reached(PASSAGES, found(same, told, language="en").prediction) == {
        "graph kernels": ("noyaux",),
        "molecules": ("Molecules",),
    }


def test_what_comes_from_an_index_cannot_break_the_page():
    odd = RetrievedPassage("1", '<b>"${x}`', "</script>", ("<i>kernel</i>", "مرحبا"), "fa", 2.0)
    html = passages_html(found(passages=(odd,)))
    assert "<b>" not in html
    assert "<i>" not in html
    assert "${" not in html
    assert 'lang="fa"' in html


def test_many_passages_are_folded():
    many = tuple(replace(PASSAGES[0], id=str(number)) for number in range(SHOWN + 3))
    assert "<summary>3 more</summary>" in passages_html(found(passages=many))


def test_an_empty_index_is_told():
    html = passages_html(found(passages=()))
    assert "the index has none" in html
    assert "Without them" not in html


def test_passages_without_keyphrases_are_told():
    bare = tuple(replace(passage, keyphrases=()) for passage in PASSAGES)
    assert "None of these passages has keyphrases" in passages_html(found(passages=bare))


def test_files_and_commands_hold_what_was_retrieved(shelf):
    answer = shelf.answer(Question(FRENCH, "default"))
    assert json.loads(as_json(answer))["passages"][0] == {
        "id": "nlp-01",
        "title": "Kernels for graphs",
        "keyphrases": ["graph kernels", "molecules", "drug discovery"],
        "score": 0.8123,
    }
    assert "--index=my.index" in shell_lines(answer.question)
    assert "load_predictor('default', index='my.index')" in python_lines(answer.question)


def test_english_is_shown_as_ever(shelf):
    answer = shelf.answer(Question(Document("Graph kernels compare the molecules of this paper."), "default"))
    assert "passages" not in json.loads(as_json(answer))
    assert "--index" not in shell_lines(answer.question)
    assert 'class="passage"' not in answer_html(answer)


@pytest.mark.parametrize(("language", "said"), [("de", True), ("fr", False)])
def test_a_language_that_no_model_was_made_for_is_told(language, said):
    assert (NO_MODEL in language_note(language, "indexer", {"en"})) == said
