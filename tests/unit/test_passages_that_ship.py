"""The passages that ship: what `docs/retrieval.md` says of them holds."""

from __future__ import annotations

import json
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
import torch

from kpdemo.io.documents import read_documents
from kpdemo.languages import identify
from kpdemo.predictors import MULTILINGUAL_FOLDER, PASSAGES_INDEX, load_predictor
from kpdemo.ramkg.ranker import load_ranker
from kpdemo.routing import MULTILINGUAL_MODEL, model_for
from kpdemo.text import StemmedText, phrase_key, words
from kpdemo.types import Document

EXAMPLES = PASSAGES_INDEX.parent.parent / "examples.json"
FEWEST = 420
SHINGLE = 5


@pytest.fixture(scope="module")
def passages():
    return list(read_documents(PASSAGES_INDEX.with_name("passages.jsonl")))


def test_there_are_enough_each_of_its_own(passages):
    assert len(passages) >= FEWEST
    for names in ([p.id for p in passages], [p.title.casefold() for p in passages]):
        assert len(set(names)) == len(passages)
    assert {p.language for p in passages} == {"en"}


def test_each_has_the_length_of_a_short_abstract(passages):
    lengths = {p.id: len(p.body.split()) for p in passages}
    assert {id: length for id, length in lengths.items() if not 60 <= length <= 100} == {}


def test_each_has_four_to_seven_keyphrases_none_twice(passages):
    for passage in passages:
        keys = [phrase_key(phrase) for phrase in passage.keyphrases]
        assert 4 <= len(keys) <= 7, passage.id
        assert len(set(keys)) == len(keys), passage.id


def test_some_keyphrases_stand_in_their_text_and_others_do_not(passages):
    present = [StemmedText(passage).contains(phrase) for passage in passages for phrase in passage.keyphrases]
    assert 0.25 < sum(present) / len(present) < 0.75


def test_no_two_passages_share_their_wording(passages):
    runs = [_runs(passage.body) for passage in passages]
    assert max(len(one & other) for one, other in combinations(runs, 2)) <= 2


@pytest.mark.parametrize("words_of_query", [25, 50])
def test_a_short_text_finds_the_long_passage_that_begins_with_it_among_short_ones(passages, words_of_query):
    """Whatever the length: else all texts of about fifty words were nearest to a text of fifty words."""
    reader = load_ranker(MULTILINGUAL_FOLDER, device=torch.device("cpu")).knowledge.reader
    bodies = [passage.body for passage in passages]
    long = [" ".join(bodies[first : first + 3]) for first in range(0, 120, 3)]
    queries = [" ".join(text.split()[:words_of_query]) for text in long]
    short = [" ".join(body.split()[:words_of_query]) for body in bodies[120:]]
    vectors = [reader.documents([Document(text) for text in texts]) for texts in (queries, [*long, *short])]
    best = (vectors[0] @ vectors[1].T).argmax(axis=1)
    assert np.mean(best == np.arange(len(queries))) >= 0.8


def test_they_are_spread_over_the_sciences(passages):
    fields = Counter(passage.id.split("-")[0] for passage in passages)
    assert len(fields) >= 15
    assert fields["cs"] + fields["nlp"] < 0.3 * len(passages)


def test_the_translation_of_an_example_is_nearest_and_all_that_is_related_is_on_its_subject():
    examples = json.loads(EXAMPLES.read_text(encoding="utf-8"))
    documents = [identify(Document(one["text"], title=one["title"])) for one in examples]
    foreign = [one for one in documents if model_for(one.language) == MULTILINGUAL_MODEL]
    answers = load_predictor(MULTILINGUAL_MODEL, device="cpu").predict_with_passages(foreign)
    related = {
        one.prediction.language: [passage.id for passage in one.passages if one.related(passage)]
        for one in answers
    }
    assert related["zh"] == []
    [first, *others] = related["fr"]
    assert first.startswith("example")
    assert {id.split("-")[0] for id in others} <= {"earth"}


def _runs(text: str) -> set[tuple[str, ...]]:
    """Every `SHINGLE` words in a row."""
    lowered = words(text.lower())
    return set(zip(*(lowered[start:] for start in range(SHINGLE)), strict=False))
