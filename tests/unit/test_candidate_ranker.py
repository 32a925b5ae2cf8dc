"""The network that puts a document's best candidates in order: what it sees, learns and leaves alone."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from itertools import cycle
from pathlib import Path

import numpy as np
import pytest
import torch

from kpdemo.candidates.chunks import Candidate
from kpdemo.errors import ConfigError, ModelLoadError
from kpdemo.identity import CARD, write_sums
from kpdemo.simckp.calibration import Calibration
from kpdemo.simckp.candidate_ranker import (
    CANDIDATE_FEATURES,
    CandidateRanker,
    best_candidates,
    candidate_features,
)
from kpdemo.simckp.checkpoint import RANKER_WEIGHTS, content_hash, open_both, save_checkpoint
from kpdemo.simckp.dual_encoder import DualEncoder, DualEncoderConfig, PairEncoder
from kpdemo.simckp.encoder import load_backbone
from kpdemo.simckp.examples import FEATURES, Example, Rows
from kpdemo.simckp.extractor import ContrastiveExtractor, ExtractorConfig, Selection
from kpdemo.simckp.feature_network import FeatureNetwork
from kpdemo.simckp.pair_checkpoint import save_bank, state_hash, stored_state
from kpdemo.simckp.phrase_bank import TERM_FEATURES, PhraseBank, TermRanker
from kpdemo.simckp.predictor import load_system
from kpdemo.simckp.read_ahead import ReadDocument
from kpdemo.simckp.terms import TextTerms
from kpdemo.training import run
from kpdemo.training.feature_network import NetworkTraining, fit_network
from kpdemo.types import Document, PointKind
from tests.tiny import tiny_bank, tiny_bert

SELECTION = Selection(0.5, Calibration(1.0, 0.0))
DOCUMENT = Document("Fast graph kernels compare trees, and graph kernels win.")
KEYS = {
    "fast graph kernel": [(0, 18)],
    "graph kernel": [(5, 18), (38, 51)],
    "tree": [(27, 32)],
    "kernel": [(11, 18)],
}
SCORES = np.array([0.6, 0.9, 0.5, 0.8], dtype=np.float32)


def network(features: int, **weights: float) -> FeatureNetwork:
    """Its logit is the sum of the weighed features."""
    hidden = np.zeros((features, 2), dtype=np.float32)
    for name, weight in weights.items():
        place = CANDIDATE_FEATURES.index(name.replace("_", " "))
        hidden[place] = weight, -weight
    signs = np.array([1, -1], dtype=np.float32)
    zeros = np.zeros(features, dtype=np.float32)
    return FeatureNetwork(zeros, zeros + 1, hidden, np.zeros(2, np.float32), signs, np.zeros(1, np.float32))


def bank_of(*texts: str) -> PhraseBank:
    vectors = torch.nn.functional.normalize(torch.eye(4)[: len(texts)] + 0.1, dim=1)
    built = PhraseBank.build(texts, np.arange(1, len(texts) + 1), vectors, encoder="e" * 64)
    typical = np.tile(np.array([[0.25, 0.5]], dtype=np.float32), (len(texts), 1))
    return replace(built, ranker=TermRanker(network(len(TERM_FEATURES)), typical, ranked=10))


def read_document() -> ReadDocument:
    own = np.arange(len(KEYS) * len(FEATURES), dtype=np.float32).reshape(len(KEYS), -1)
    candidates = [Candidate(key, tuple(spans)) for key, spans in KEYS.items()]
    rows = Rows.of(np.zeros((3, 0), dtype=np.int64))
    return ReadDocument(candidates, Example([], rows, own), [], TextTerms())


def test_it_sees_the_others_what_the_extractor_saw_the_bank_and_the_nest():
    bank = bank_of("graph kernel", "forest")
    vector = bank.vectors[0]
    best = best_candidates(SCORES, 3)
    assert best.tolist() == [1, 3, 0]
    rows = candidate_features(DOCUMENT, read_document(), SCORES, vector, bank, best)
    seen = dict(zip(CANDIDATE_FEATURES, rows.T, strict=True))
    assert seen["score"] == pytest.approx([0.9, 0.8, 0.6])
    assert seen["score below the best"] == pytest.approx([0, -0.1, -0.3])
    assert seen["score above the fifth"] == pytest.approx([0.3, 0.2, 0])  # of fewer than five, the last
    assert seen["log rank"] == pytest.approx(np.log1p([0, 1, 2]))
    assert seen["log count"].tolist() == [7, 19, 1]
    assert seen["known to the bank"].tolist() == [1, 0, 0]
    assert seen["cosine"] == pytest.approx([1, 0, 0], abs=0.01)
    assert seen["cosine, standardised"] == pytest.approx([1.5, 0, 0], abs=0.02)
    assert seen["log frequency"] == pytest.approx([1, 0, 0])
    assert seen["inside a longer one"].tolist() == [1, 1, 0]
    assert seen["score of the best longer one"] == pytest.approx([-0.3, 0.1, 0])
    assert seen["around a shorter one"].tolist() == [1, 0, 1]
    assert seen["score of the best shorter one"] == pytest.approx([-0.1, 0, 0.3])


def test_the_best_come_in_its_order_and_the_others_behind_them_in_the_extractors():
    bank = bank_of("graph kernel")
    ranker = CandidateRanker(network(len(CANDIDATE_FEATURES), log_rank=3.0), 2, SELECTION)
    rescored = ranker.rescore(DOCUMENT, read_document(), SCORES, bank.vectors[0], bank)
    assert np.argsort(-rescored).tolist() == [3, 1, 0, 2]
    assert rescored[1] - rescored[0] == pytest.approx(0.2)  # the second best: 0.8 of the extractor
    assert rescored[0] - rescored[2] == pytest.approx(0.1)


def test_a_document_without_candidates_has_nothing_to_order():
    bank, none = bank_of("graph kernel"), np.zeros(0, dtype=np.float32)
    ranker = CandidateRanker(network(len(CANDIDATE_FEATURES)), 2, SELECTION)
    assert len(ranker.rescore(DOCUMENT, read_document(), none, bank.vectors[0], bank)) == 0


def test_what_is_visited_more_often_weighs_more():
    """Two kinds of documents that contradict each other: the network follows the one that comes ten times."""
    features = [np.array([[0.0], [1.0]], dtype=np.float32)] * 40
    labels = [np.array([number < 20, number >= 20]) for number in range(40)]
    config = NetworkTraining(width=4, epochs=8, batch_size=16)
    for often, best in ((slice(0, 20), 0), (slice(20, 40), 1)):
        repeats = np.ones(40, dtype=int)
        repeats[often] = 10
        fitted = fit_network(features, labels, config, repeats.tolist())
        assert np.argmax(fitted.logits(features[0])) == best


CONFIG = """
[model]
parts = ["extractor", "bank", "candidate-ranker"]
output = "{folder}/model"

[extractor]
output = "{folder}/extractor"
train = []
validation = {{ path = "valid.jsonl" }}
loop = {{ documents = 8 }}

[bank]
output = "{folder}/bank"
terms = []
train = []
validation = {{ path = "valid.jsonl" }}
loop = {{ documents = 8 }}

[candidate-ranker]
name = "ranked"
data = "{folder}"
output = "{folder}/ranked"
extractor = "{folder}/extractor/checkpoint"
bank = "{folder}/bank/checkpoint"
device = "cpu"
ranked = 30
width = 8
epochs = 100
batch_size = 8
train = [{{ path = "train.jsonl" }}]
validation = {{ path = "valid.jsonl" }}
"""


NAMES = "graph", "neural", "boundary", "word"


def write_documents(path: Path, count: int) -> None:
    """The keyphrase is always what stands inside a longer phrase, and again by itself."""
    texts = [(name, f"Fast {name} kernels solve case 7. The {name} kernels are good.") for name in NAMES]
    rows = [
        {"id": str(number), "text": text, "keyphrases": [f"{name} kernels"]}
        for number, (name, text) in zip(range(count), cycle(texts), strict=False)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """An extractor and a bank that know nothing, a ranker on them, and models with and without it."""
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("order")
    backbone = str(tiny_bert(folder / "backbone", width=64))
    encoder, tokenizer = load_backbone(backbone)
    extractor = ContrastiveExtractor(encoder, ExtractorConfig(window=32, overlap=8))
    told = {"name": "tiny", "storage": "int8"}
    checkpoint = folder / "extractor" / "checkpoint"
    save_checkpoint(checkpoint, extractor, tokenizer, SELECTION, card="# tiny\n", **told)
    dual = DualEncoder(load_backbone(backbone)[0], DualEncoderConfig(width=8)).eval()
    reader = PairEncoder(dual, tokenizer.backend_tokenizer, tokenizer.pad_token_id, 32)
    own = state_hash(stored_state(dual, "int8"))
    plain = tiny_bank(reader, "drug discovery", "machine learning", name=own)
    typical = np.ones((len(plain), 2), dtype=np.float32)
    ranking = replace(plain, ranker=TermRanker(network(len(TERM_FEATURES)), typical, ranked=10))
    for place, bank in ((folder / "bank" / "checkpoint", ranking), (folder / "plain_bank", plain)):
        save_bank(place, dual, bank, tokenizer, SELECTION, length=32, card="# tiny bank\n", **told)
    write_documents(folder / "train.jsonl", 32)
    write_documents(folder / "valid.jsonl", 8)
    (folder / "config.toml").write_text(CONFIG.format(folder=folder), encoding="utf-8")
    run("candidate-ranker", folder / "config.toml", output=None, overrides={})
    run("model", folder / "config.toml", output=None, overrides={})
    parts = '["extractor", "bank"]'
    run("model", folder / "config.toml", output=folder / "plain", overrides={"parts": parts})
    return folder


def documents() -> list[Document]:
    texts = ("Fast tensor kernels solve case 9. The tensor kernels are good.", "Good methods solve fields.")
    return [Document(text, language="en") for text in texts]


def test_a_model_answers_by_it(folder):
    before, after = (load_system(path, device="cpu") for path in (folder / "plain", folder / "model"))
    firsts = [model.predict(documents()[:1])[0].present[0].text for model in (before, after)]
    assert firsts[0] != "tensor kernels"
    assert firsts[1] == "tensor kernels"
    card = (folder / "model" / CARD).read_text(encoding="utf-8")
    assert "\n## ranked: present keyphrases, the best candidates compared with one another\n" in card
    assert card.endswith("\n### tiny\n")
    assert "| by the network's | 0.333 |" in card  # one of five is gold


def test_documents_together_and_one_by_one_have_the_same_answers(folder):
    model = load_system(folder / "model", device="cpu")
    together, singly = model.predict(documents()), [model.predict([one])[0] for one in documents()]
    for one, other in zip(together, singly, strict=True):
        assert [keyphrase.text for keyphrase in one.present] == [
            keyphrase.text for keyphrase in other.present
        ]
        scores = [keyphrase.score for keyphrase in other.present]
        assert [keyphrase.score for keyphrase in one.present] == pytest.approx(scores, abs=1e-5)


def test_the_map_shows_the_keyphrases_of_the_answer(folder):
    model = load_system(folder / "model", device="cpu")
    [answer] = model.predict(documents()[:1], top_k=1)
    [space, *_] = model.vectors(documents()[0], top_k=1)
    chosen = [(point.text, point.score) for point in space.points if point.kind is PointKind.PRESENT]
    assert chosen == [(one.text, one.score) for one in answer.present]


def test_beside_a_bank_that_does_not_know_what_is_typical_the_extractors_order_stays(folder, tmp_path):
    changed = tmp_path / "changed"
    shutil.copytree(folder / "model", changed)
    shutil.rmtree(changed / "bank")
    shutil.copytree(folder / "plain_bank", changed / "bank")
    answers = [load_system(path, device="cpu").predict(documents()) for path in (folder / "plain", changed)]
    before, after = ([[one.text for one in answer.present] for answer in found] for found in answers)
    assert before == after


def test_training_that_starts_from_it_does_not_see_it_and_two_extractors_do_not_take_it(folder):
    known, ranked = folder / "extractor" / "checkpoint", folder / "ranked" / "checkpoint"
    assert content_hash(known) == content_hash(ranked)
    with pytest.raises(ModelLoadError, match="a ranker of candidates, or only differences"):
        open_both(ranked, known)


def test_a_model_without_its_bank_is_refused(folder):
    parts = '["extractor", "candidate-ranker"]'
    with pytest.raises(ConfigError, match="needs the bank that it was trained with"):
        run("model", folder / "config.toml", output=folder / "none", overrides={"parts": parts})


def test_a_damaged_one_is_refused(folder, tmp_path):
    shutil.copytree(folder / "model", tmp_path / "model")
    (tmp_path / "model" / RANKER_WEIGHTS).write_bytes(b"nothing")
    with pytest.raises(ModelLoadError, match=r"ranker.safetensors is damaged \(its SHA-256 differs\)"):
        load_system(tmp_path / "model", device="cpu")
    write_sums(tmp_path / "model")
    with pytest.raises(ModelLoadError, match="cannot be read"):
        load_system(tmp_path / "model", device="cpu")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"train": "[{path = 'train.jsonl', skip = 99}]"}, "No document of the ranker has a keyphrase among"),
        ({"train": "[{path = 'none.jsonl'}]"}, "No training data at"),
        ({"extractor": "nowhere"}, "No model at nowhere"),
        ({"bank": "plain_bank"}, "has no ranker, whose typical cosines are needed"),
    ],
)
def test_what_cannot_be_trained_is_said(folder, tmp_path, monkeypatch, change, message):
    monkeypatch.chdir(folder)
    with pytest.raises((ConfigError, ModelLoadError), match=message):
        run("candidate-ranker", folder / "config.toml", output=tmp_path, overrides=change)
