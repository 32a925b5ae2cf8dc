"""A document that the index holds is no passage for itself, and ids have no say in it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kpdemo.ramkg.generator import PassageSource
from kpdemo.ramkg.index_building import build_index
from kpdemo.ramkg.passage_index import PassageIndex
from kpdemo.ramkg.predictor import load_ranking_predictor
from kpdemo.ramkg.retriever import fingerprint, load_encoder, retrieve_others
from kpdemo.ramkg.settings import EncoderConfig, IndexConfig
from kpdemo.types import Document
from tests.passages import SeededEncoder, numbered, passage
from tests.tiny_ranker import PASSAGES, SENTENCE, build_tiny_index, save_tiny_ranker

FRENCH = Document(SENTENCE.format("droit pénal"), "Une étude", "1", ("droit pénal",), "fr")


@pytest.fixture
def index(tmp_path):
    copies = [replace(passage(7), id=f"copy {number}") for number in range(5)]
    rows = [*numbered(40), *enumerate(copies, start=41)]
    build_index(rows, tmp_path / "index", SeededEncoder(), IndexConfig(), name="passages")
    return PassageIndex.open(tmp_path / "index")


def test_all_copies_of_a_document_are_left_out_and_the_next_passages_take_their_places(index):
    nearest = [hit for hit in index.retrieve(SeededEncoder(), [passage(7)], 45)[0] if hit.score < 0.999]
    for asked in (passage(7), replace(passage(7), id="p3", title="TITLE  7:")):
        [hits] = PassageSource(index, SeededEncoder()).hits([asked], 4)
        assert hits == nearest[:4]
    [everything] = retrieve_others(index, SeededEncoder(), [passage(7)], 100)
    assert len(everything) == 39


def test_another_text_with_the_id_of_the_document_is_found(index):
    stranger = replace(passage(7), id="p9", title="Another title")
    [hits] = retrieve_others(index, SeededEncoder(), [replace(stranger, id="copy 0")], 6)
    assert {hit.passage.id for hit in hits} == {"p7", *(f"copy {number}" for number in range(5))}


@pytest.mark.parametrize("id", ["", "1", "whatever"])
def test_keyphrases_are_the_same_before_and_after_the_document_is_added_to_the_index(tmp_path, id):
    model = save_tiny_ranker(tmp_path)
    document = replace(FRENCH, id=id)
    with_it = (FRENCH, *PASSAGES, replace(FRENCH, id="copy"))
    indexes = [
        build_tiny_index(tmp_path / name, model, passages)
        for name, passages in (("before", PASSAGES), ("after", with_it))
    ]
    alone, beside_itself = (
        load_ranking_predictor(model, index=index, device="cpu").predict_with_passages([document])[0]
        for index in indexes
    )
    assert replace(beside_itself, chance=alone.chance) == alone  # chance follows the size of the index
    assert len(alone.passages) == 2
    encoder = load_encoder(EncoderConfig(str(model)), device="cpu")
    [[nearest]] = PassageIndex.open(indexes[1]).retrieve(encoder, [document], 1)
    assert nearest.passage.id == FRENCH.id  # a search finds it


def test_title_and_text_pasted_together_are_the_same_text():
    pasted = Document("Une\u00a0étude\n\n" + FRENCH.body)
    assert fingerprint(pasted) == fingerprint(FRENCH)
    assert fingerprint(replace(FRENCH, title="Étude")) != fingerprint(FRENCH)
