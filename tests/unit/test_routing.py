"""Which model reads which document, and what goes with it."""

from __future__ import annotations

import io
import json

import pytest

from kpdemo import predictors
from kpdemo.batch import predict_file
from kpdemo.errors import InputError, ModelLoadError
from kpdemo.pipeline import Pipeline, read_with_passages
from kpdemo.predictors import load_predictor, takes_index
from kpdemo.routing import SERVED
from kpdemo.types import Document, uses_passages
from tests.fakes import PASSAGES, FakePredictor, FakeRetriever, MappedPredictor

FRENCH = Document("Cette thèse compare des noyaux de graphes pour des molécules entre elles.", id="fr")
ENGLISH = Document("We compare molecules with the kernels that this paper has defined.", id="en")
CHINESE = Document("本文用图核比较分子，并讨论其结构与性质之间的关系。", id="zh")


@pytest.fixture
def routed() -> Pipeline:
    return Pipeline("default", MappedPredictor, {"multilingual": FakeRetriever})


def test_each_document_is_read_by_its_model_and_they_keep_their_order(routed):
    predictions = routed.predict([CHINESE, ENGLISH, FRENCH])
    assert [prediction.language for prediction in predictions] == ["zh", "en", "fr"]
    assert [keyphrase.text for keyphrase in predictions[2].present] == ["noyaux de graphes", "molécules"]
    assert routed.languages == SERVED


def test_only_those_read_with_passages_have_any(routed):
    english, french = read_with_passages(routed, [ENGLISH, FRENCH])
    assert (english.passages, french.passages) == ((), PASSAGES)
    assert english.without is english.prediction


def test_a_file_of_several_languages_holds_the_passages_of_each(routed):
    lines = "".join(
        json.dumps({"id": document.id, "text": document.body}) + "\n" for document in (ENGLISH, FRENCH)
    )
    output = io.BytesIO()
    assert predict_file(routed, io.BytesIO(lines.encode()), output).done == 2
    english, french = map(json.loads, output.getvalue().splitlines())
    assert "passages" not in english
    assert [passage["id"] for passage in french["passages"]] == ["nlp-01", "soc-02"]
    assert french["absent"][0]["evidence"] == ["drug discovery"]


def test_vectors_are_those_of_the_model_that_reads_the_document(routed):
    assert routed.vectors(ENGLISH)
    assert routed.vectors(FRENCH) == []


def test_a_predictor_says_whether_it_retrieves():
    assert uses_passages(FakeRetriever())
    assert not uses_passages(FakePredictor())
    assert uses_passages(Pipeline("lazy", FakeRetriever))


def test_nothing_to_read_is_refused_in_a_sentence(routed):
    with pytest.raises(InputError, match="no letters"):
        routed.predict_with_passages([FRENCH, "123 !"])


@pytest.fixture
def shipped(tmp_path, monkeypatch):
    """A folder where the multilingual model ships; opening it is a fake."""
    folder = tmp_path / "multilingual"
    folder.mkdir()
    (folder / "config.json").write_text('{"kind": "ramkg-ranker"}')
    opened = []

    def load(folder, device, index=None):
        opened.append((folder.name, index))
        return FakeRetriever() if folder.name == "multilingual" else FakePredictor("default")

    monkeypatch.setattr(predictors, "MULTILINGUAL_FOLDER", folder)
    monkeypatch.setattr(predictors, "_load_folder", load)
    predictors._multilingual.cache_clear()
    yield opened
    predictors._multilingual.cache_clear()


def test_by_itself_and_behind_the_default_name_the_model_is_loaded_once(shipped, tmp_path):
    for name in ("default", "multilingual"):
        load_predictor(name, index=tmp_path).predict([FRENCH])
    assert shipped == [("multilingual", tmp_path)]


def test_a_name_forces_a_model(shipped):
    [prediction] = load_predictor("english").predict([FRENCH])
    assert shipped == [("default", None)]
    assert prediction.absent[0].text == "keyphrase prediction"


def test_a_model_that_reads_no_passages_takes_no_index(shipped, tmp_path):
    assert list(filter(takes_index, predictors.available_models())) == [
        "default",
        "multilingual",
    ]
    with pytest.raises(ModelLoadError, match="'tfidf' does not use passages: leave the index out"):
        load_predictor("tfidf", index=tmp_path)
