"""A model that writes all keyphrases of a document as one sequence."""

from __future__ import annotations

import json
import math

import pytest
import torch

from kpdemo.candidates.chunks import CandidateConfig
from kpdemo.predictors import load_predictor
from kpdemo.simckp.beam_search import Beam
from kpdemo.simckp.encoder import load_tokenizer
from kpdemo.simckp.generator import One2SeqPredictor
from kpdemo.training import run
from kpdemo.training.examples import ExampleCache, ExampleSettings, label_document
from kpdemo.training.generator import gold_phrases, target_phrases
from kpdemo.types import Document
from tests.tiny import tiny_bert, tiny_generator

GOLD = {
    "graph kernels": ["graph kernels", "structure"],
    "neural networks": ["neural networks", "representations"],
}


def document(subject: str) -> Document:
    return Document(f"We compare {subject} with methods of documents.", keyphrases=tuple(GOLD[subject]))


def test_present_keyphrases_come_first_by_their_places_each_once(tmp_path):
    tokenizer = load_tokenizer(str(tiny_bert(tmp_path))).backend_tokenizer
    text = "We compare graph kernels. Neural networks and graph kernels use words of documents."
    keyphrases = ("structure", "neural network", "graph kernel", "proteins")
    settings = ExampleSettings("", 64, 16, CandidateConfig())
    labelled = label_document(Document(text, keyphrases=keyphrases), settings, tokenizer)
    phrases = target_phrases(ExampleCache.build([(labelled, 1)])[0])
    written = [tokenizer.decode(phrase.tolist()) for phrase in phrases]
    assert written == ["graph kernels", "neural networks", "structure", "proteins"]
    gold = gold_phrases(Document(text, keyphrases=(*keyphrases, "Graph Kernels")))
    assert gold == ["graph kernel", "neural network", "structure", "proteins"]  # likelihood is of that order


@pytest.mark.slow
def test_what_was_learnt_by_heart_is_written(tmp_path):
    torch.manual_seed(0)
    tiny_bert(tmp_path / "backbone")
    rows = [{"abstract": document(subject).body, "keyphrases": GOLD[subject]} for subject in GOLD]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    config = tmp_path / "config.toml"
    config.write_text(
        f"""[one2seq]
data = "{tmp_path}"
cache = "{tmp_path}/cache"
output = "{tmp_path}/run"
backbone = "{tmp_path}/backbone"
device = "cpu"
learning_rate = 0.02
head_learning_rate = 0.02
dropout = 0.0
train = [{{ path = "docs.jsonl" }}]
validation = {{ path = "docs.jsonl" }}
model = {{ window = 64, overlap = 16 }}
decoder = {{ layers = 1, heads = 2, feed_forward = 32, longest = 16, dropout = 0.0 }}
loop = {{ documents = 800, batch_size = 2, evaluate_every = 400, precision = "fp32" }}
""",
        encoding="utf-8",
    )
    run("one2seq", config, output=None, overrides={})
    log = [json.loads(line) for line in (tmp_path / "run/log.jsonl").read_text(encoding="utf-8").splitlines()]
    assert log[-1]["log-likelihood"] > -0.03  # a guess which subject goes with which costs 0.08
    predictor = load_predictor(tmp_path / "run" / "checkpoint", device="cpu")
    assert predictor.finds_absent
    for prediction, (present, absent) in zip(
        predictor.predict([document(subject) for subject in GOLD]), GOLD.values(), strict=True
    ):
        assert [phrase.text for phrase in prediction.present] == [present]
        assert [phrase.text for phrase in prediction.absent] == [absent]
        assert prediction.present[0].spans == ((11, 11 + len(present)),)
    assert "train one2seq" in (tmp_path / "run/checkpoint/MODEL_CARD.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("part", ["one2seq", "labeller"])
def test_a_validation_document_that_the_model_refuses_is_named_and_counts_without_keyphrases(
    tmp_path, caplog, part
):
    tiny_bert(tmp_path / "backbone")
    rows = [{"text": document(subject).body, "keyphrases": GOLD[subject]} for subject in GOLD]
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    rows.append({"id": "short", "text": "Genomics", "keyphrases": ["genomics"]})
    (tmp_path / "valid.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    settings = {
        "data": f'"{tmp_path}"', "cache": f'"{tmp_path}/cache"', "backbone": f'"{tmp_path}/backbone"',
        "train": '[{ path = "train.jsonl" }]', "validation": '{ path = "valid.jsonl" }',
        "device": '"cpu"', "model": "{ window = 64, overlap = 16 }", "loop": "{ documents = 2 }",
    }  # fmt: skip
    if part == "one2seq":
        settings["decoder"] = "{ layers = 1, heads = 2, feed_forward = 32, longest = 16 }"
    lines = [f"{name} = {value}" for name, value in settings.items()]
    (tmp_path / "config.toml").write_text("\n".join([f"[{part}]", *lines]), encoding="utf-8")
    run(part, tmp_path / "config.toml", output=tmp_path / "run", overrides={})
    assert (tmp_path / "run" / "checkpoint" / "MODEL_CARD.md").is_file()
    assert 'the validation document "short" counts without keyphrases: The text is only one' in caplog.text


def test_a_score_is_the_mean_of_the_probabilities_and_the_first_beam_is_the_answer(tmp_path, monkeypatch):
    generator = tiny_generator(tiny_bert(tmp_path))
    vocabulary, tokenizer = generator.module.decoder.vocabulary, generator.tokenizer
    numbers = {token: number for number, token in enumerate(vocabulary.tokens) if token >= 0}
    graph, words = (
        tuple(numbers[token] for token in tokenizer.encode(text, add_special_tokens=False).ids)
        for text in ("graph", "words")
    )
    halves = (math.log(0.5),) * (len(graph) + 1)
    cut_off = (math.log(0.25),) * len(words)  # no separator and no end behind it
    first = Beam((*graph, vocabulary.separator, *words), halves + cut_off, 0.0)
    second = Beam(words, (*cut_off, math.log(0.25)), -1.0)
    monkeypatch.setattr("kpdemo.simckp.generator.search_together", lambda *_: [[first, second]])
    predictor = One2SeqPredictor(generator)
    text = Document("A graph of words.")
    [own] = predictor.predict([text])
    assert [(phrase.text, pytest.approx(phrase.score)) for phrase in own.present] == [("graph", 0.5)]
    [all_beams] = predictor.predict([text], top_k=5)
    assert [phrase.text for phrase in all_beams.present] == ["graph", "words"]
    assert all_beams.present[1].score == pytest.approx(0.25)
