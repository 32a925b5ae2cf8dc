"""The network that puts a bank's best terms in order, and the floor below which none is given."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from kpdemo.errors import ConfigError, ModelLoadError
from kpdemo.simckp.calibration import Calibration
from kpdemo.simckp.pair_checkpoint import read_bank, write_bank
from kpdemo.simckp.phrase_bank import TERM_FEATURES, BankScore, PhraseBank
from kpdemo.simckp.terms import TextTerms
from kpdemo.training.term_ranker import RankerTraining, learn_floor, train_ranker, typical_cosines

WIDTH = 64
TERMS = [f"term {number}" for number in range(40)]
CONFIG = RankerTraining(train=(), ranked=20, width=8, epochs=20, batch_size=16)


def unit_vectors(count: int, seed: int) -> np.ndarray:
    vectors = np.random.default_rng(seed).normal(size=(count, WIDTH)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def bank() -> PhraseBank:
    """By its score every document is given the last terms first, which are the most frequent."""
    built = PhraseBank.build(
        TERMS, np.arange(40) / 4, torch.from_numpy(unit_vectors(40, 0)), encoder="e" * 64
    )
    return replace(built, score=BankScore(frequency=1.0, scored=40))


@pytest.fixture(scope="module")
def documents(bank) -> tuple[np.ndarray, list[list[str]]]:
    """Each near one of the terms 20 to 29, which is its only keyphrase."""
    own = [20 + number % 10 for number in range(120)]
    vectors = bank.vectors[own] + 0.3 * unit_vectors(120, 1)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True), [[bank.keys[number]] for number in own]


@pytest.fixture(scope="module")
def ranked(bank, documents) -> PhraseBank:
    vectors, gold = documents
    return replace(bank, ranker=train_ranker(bank, vectors, [TextTerms()] * 120, gold, CONFIG))


def first_right(bank: PhraseBank, vectors: np.ndarray, gold: list[list[str]]) -> float:
    found = bank.search(vectors, 1)
    return float(
        np.mean([bank.keys[TERMS.index(row[0].text)] in own for row, own in zip(found, gold, strict=True)])
    )


def test_it_learns_what_the_score_does_not_know(bank, ranked, documents):
    assert first_right(bank, *documents) == 0
    assert first_right(ranked, *documents) > 0.9


def test_terms_come_with_its_logits_best_first_and_only_the_best_by_score_are_ranked(ranked, documents):
    [found] = ranked.search(documents[0][:1], 50)
    assert len(found) == CONFIG.ranked
    scores = [term.score for term in found]
    assert scores == sorted(scores, reverse=True)
    assert {term.text for term in found} == set(TERMS[20:])


def test_the_same_documents_give_the_same_network(bank, ranked, documents):
    state = torch.random.get_rng_state()
    again = train_ranker(bank, documents[0], [TextTerms()] * 120, documents[1], CONFIG)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert np.array_equal(again.network.hidden, ranked.ranker.network.hidden)


def test_it_is_stored_with_the_bank(ranked, documents, tmp_path):
    write_bank(ranked, tmp_path / "one")
    opened = read_bank(tmp_path / "one", encoder=ranked.encoder)
    write_bank(opened, tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert opened.search(documents[0], 5) == ranked.search(documents[0], 5)


def test_one_that_does_not_fit_is_refused(ranked, tmp_path):
    path = tmp_path / "bank"
    write_bank(ranked, path)
    with safe_open(path, "pt") as file:
        metadata = file.metadata()
    save_file(load_file(path) | {"ranker_mean": torch.zeros(3)}, path, metadata)
    with pytest.raises(ModelLoadError, match="ranker does not fit the features"):
        read_bank(path, encoder="e" * 64)


def test_every_feature_has_a_name_and_a_finite_value_in_an_empty_text_too(bank):
    [document] = unit_vectors(1, 3)
    texts = [TextTerms(), TextTerms((1, 2), frozenset({"term", "1"}), {}, (2, 1), (1,), frozenset({"1"}))]
    typical = typical_cosines(bank, unit_vectors(9, 4))
    for text in texts:
        [found] = bank.best_terms(document[None], [text], [""], 20)
        features = bank.features(document, text, found, typical)
        assert features.shape == (len(found.numbers), len(TERM_FEATURES))
        assert np.isfinite(features).all()
    named = dict(zip(TERM_FEATURES, features.T, strict=True))
    assert named["words in the text"].max() == 0.5
    cosine = np.maximum(bank.vectors[found.numbers] @ bank.vectors[1], 0)
    assert named["likeness to the title"] == pytest.approx(cosine, abs=1e-5)


def test_documents_without_a_keyphrase_among_their_terms_teach_nothing(bank):
    with pytest.raises(
        ConfigError, match="No document of the ranker has a keyphrase among its 20 best terms"
    ):
        train_ranker(bank, unit_vectors(2, 0), [TextTerms()] * 2, [["other"]] * 2, CONFIG)


def test_no_term_is_given_below_the_floor_from_which_enough_are_right():
    scores = np.linspace(2, -2, 100, dtype=np.float32)
    right = np.arange(100) < 60  # at the 75th, four fifths are right
    floor = learn_floor([(scores, right)], Calibration(), most=100, precision=0.8)
    assert floor == pytest.approx(Calibration().probability(float(scores[74])))


@pytest.mark.parametrize(("precision", "expected"), [(0.9, 1.0), (0.0, 0.0)])
def test_where_too_few_are_right_none_is_given(precision, expected):
    scored = [(np.array([9.0, -99.0], dtype=np.float32), np.array([True, False]))]
    floor = learn_floor(scored, Calibration(), most=2, precision=precision)
    assert floor == pytest.approx(expected, abs=1e-6)
