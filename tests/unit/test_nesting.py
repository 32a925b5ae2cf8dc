"""Answers without nested keyphrases."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kpdemo
from kpdemo.batch import ResumeError, predict_file
from kpdemo.cli import main
from kpdemo.pipeline import Pipeline
from kpdemo.selection import drop_nested, keep
from kpdemo.types import Document, Keyphrase, Prediction, RetrievalPrediction
from tests.fakes import FakePredictor, FakeRetriever

TEXT = "Graph kernels compare molecules. Kernels of graphs learn from support vector machines."
PHRASES = st.lists(
    st.lists(
        st.sampled_from(["graph", "graphs", "kernel", "long-term", "Learning"]), min_size=1, max_size=4
    ).map(" ".join),
    max_size=12,
)


def inside(phrase: str, other: str) -> bool:
    """Whether the stems of one stand in those of the other; only for the words of `PHRASES`."""
    plain = [f" {text.lower()} ".replace("graphs", "graph").replace("-", " ") for text in (phrase, other)]
    return plain[0] in plain[1]


def test_names_that_differ_by_a_mark_do_not_nest():
    assert list(drop_nested(["C++", "C#", "C++ compilers", "F#", "C"])) == [0, 1, 3, 4]


@given(PHRASES)
def test_no_keyphrase_stands_inside_another_and_each_left_out_nests_with_a_better_one(phrases):
    kept = list(drop_nested(phrases))
    assert all(first < second for first, second in pairwise(kept))
    for number, phrase in enumerate(phrases):
        better = [phrases[place] for place in kept if place < number]
        assert (number in kept) != any(inside(phrase, one) or inside(one, phrase) for one in better)


@dataclass(frozen=True)
class Ranked:
    """Gives a list of its own, as every predictor does: by `keep`."""

    phrases: tuple[str, ...]
    own: int
    name: str = "ranked"
    device: str = "cpu"

    def predict(self, documents, *, top_k=None, threshold=None):
        scores = [1 / (place + 1) for place in range(len(self.phrases))]
        kept = keep(scores, top_k=top_k, threshold=threshold, own=self.own)
        present = tuple(
            Keyphrase(self.phrases[place], scores[place], ((place, place + 1),)) for place in kept
        )
        absent = tuple(Keyphrase(f"absent {place}", scores[place]) for place in kept)
        return [Prediction(present, absent, "en") for _ in documents]


@given(PHRASES, st.integers(1, 12), st.none() | st.integers(1, 12), st.none() | st.floats(0, 1))
def test_the_next_keyphrases_take_the_places_of_those_left_out(phrases, own, top_k, threshold):
    predictor = Ranked(tuple(phrases), own)
    [plain] = predictor.predict([TEXT], top_k=top_k, threshold=threshold)
    [found] = Pipeline("unnested", lambda: predictor, nested=False).predict(
        [TEXT], top_k=top_k, threshold=threshold
    )
    [everything] = predictor.predict([TEXT], threshold=threshold or 0.0)
    free = [everything.present[place] for place in drop_nested(one.text for one in everything.present)]
    assert [replace(one, filler=False, family=()) for one in found.present] == free[: len(plain.present)]
    added = [one for one in found.present if one.spans not in {known.spans for known in plain.present}]
    assert all(one.filler == (top_k is None) for one in added)
    assert replace(found, present=(), warnings=()) == replace(plain, present=())


def test_the_stems_of_the_language_decide():
    assert list(drop_nested(["réseaux de neurones", "réseau", "neurone artificiel"], "fr")) == [0, 2]
    assert list(drop_nested(["支持向量机", "向量", "分类"], "zh")) == [0, 2]
    assert list(drop_nested(["long-term memory", "long term memories", "term"])) == [0]


def test_both_answers_of_a_model_that_retrieves_are_without_nested_ones():
    predictor = FakeRetriever(phrases=("noyaux de graphes", "graphes", "molécules"))
    document = Document("Les noyaux de graphes comparent des molécules..", language="fr")
    [found] = Pipeline("unnested", lambda: predictor, nested=False).predict_with_passages([document])
    assert isinstance(found, RetrievalPrediction)
    for answer in (found.prediction, found.without):
        assert [one.text for one in answer.present] == ["noyaux de graphes", "molécules"]
    assert len(found.passages) == 2


def test_a_file_is_not_gone_on_with_otherwise(tmp_path):
    source, output = tmp_path / "docs.jsonl", tmp_path / "predictions.jsonl"
    source.write_text(json.dumps({"id": "a", "text": TEXT}) + "\n")
    predict_file(FakePredictor(), source, output, nested=False)
    texts = [one["text"] for one in json.loads(output.read_text())["present"]]
    assert len(list(drop_nested(texts))) == len(texts) == 5
    with pytest.raises(ResumeError, match="was started with no nested keyphrases;"):
        predict_file(FakePredictor(), source, output)


def test_the_command_line_and_python_give_the_same(tmp_path, capsys):
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    told = []
    for option in ((), ("--no-nested",)):
        assert main(["predict", str(path), "--model", "tfidf", "--top-k", "3", "--json", *option]) == 0
        told.append([one["text"] for one in json.loads(capsys.readouterr().out)["present"]])
    assert list(drop_nested(told[0])) != [0, 1, 2]
    [python] = kpdemo.load_predictor("tfidf", nested=False).predict([TEXT], top_k=3)
    assert told[1] == [one.text for one in python.present]
    assert list(drop_nested(told[1])) == [0, 1, 2]
