"""RAMKG as published, from files to a generator that predicts with an index."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kpdemo.config import DEFAULT_CONFIG, load_section
from kpdemo.errors import PassageIndexError, TrainingError
from kpdemo.predictors import load_predictor
from kpdemo.ramkg.index_building import build_index
from kpdemo.ramkg.retriever import load_encoder
from kpdemo.ramkg.rgit import Augmented
from kpdemo.ramkg.settings import EncoderConfig, IndexConfig
from kpdemo.training import run
from kpdemo.training.multilingual import generator_rounds as ramkg_rounds
from kpdemo.training.multilingual import rounds
from kpdemo.training.multilingual.generator_rounds import RETRIEVER, RamkgRounds
from kpdemo.training.multilingual.rounds import Corpus
from kpdemo.training.parts import CHECKPOINT
from kpdemo.types import Document
from tests.tiny import tiny_bert
from tests.tiny_multilingual import t5
from tests.tiny_ranker import SENTENCE, SUBJECTS

CONFIG = """
[ramkg-rounds]
parallel = 8
rounds = {{ rounds = 1, passages = 2, tau = -1.0 }}
translations = [{{ path = "theses.jsonl", language = "fr" }}]
validation = [{{ path = "valid.jsonl", language = "fr" }}]
passages = [{{ path = "passages.jsonl" }}]

[ramkg-rounds.retriever]
backbone = "{folder}/bert"
encoder = {{ pooling = "first", normalise = false, length = 40 }}
learning_rate = 1e-3
epochs = 2
batch_size = 4
precision = "fp32"

[ramkg-rounds.generator]
name = "tiny-rounds"
backbone = "{folder}/t5"
languages = ["fr"]
window = 96
longest = 12
beams = 1
generated = 0
selected = "log-likelihood"
epochs = 1
precision = "fp32"
"""
RETRIEVES = EncoderConfig(pooling="first", normalise=False, length=40)


def row(number: int) -> dict[str, object]:
    french, english = list(SUBJECTS.items())[number % len(SUBJECTS)]
    return {
        "id": f"t{number}",
        "fr": f"{SENTENCE.format(french)} {number}",
        "fr_keyphrases": [french],
        "en": f"A thesis on {english}, number {number}.",
        "en_keyphrases": [english],
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """With the finished run in `run`."""
    folder = tmp_path_factory.mktemp("rounds")
    rows = [row(number) for number in range(20)]
    english = [{"id": one["id"], "text": one["en"], "keyphrases": one["en_keyphrases"]} for one in rows]
    for name, lines in {"theses": rows[:15], "valid": rows[15:], "passages": english}.items():
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    tiny_bert(folder / "bert")
    t5(folder / "t5")
    (folder / "config.toml").write_text(CONFIG.format(folder=folder), encoding="utf-8")
    train(folder)
    return folder


def train(folder: Path, **overrides: str) -> None:
    settings = {"data": str(folder), "device": "cpu"} | overrides
    run("ramkg-rounds", folder / "config.toml", output=folder / "run", overrides=settings)


def index_of(folder: Path, into: Path, encoder: EncoderConfig = RETRIEVES) -> Path:
    passages = [Document(str(row(number)["en"]), id=str(number), keyphrases=("a",)) for number in range(5)]
    opened = load_encoder(replace(encoder, model=str(folder / "run" / RETRIEVER)), device="cpu")
    build_index(enumerate(passages, start=1), into, opened, IndexConfig(), name="passages")
    return into


def test_the_generator_predicts_with_an_index_of_its_retriever_alone(folder, tmp_path):
    model = folder / "run" / CHECKPOINT
    index = index_of(folder, tmp_path / "index")
    [found] = load_predictor(model, device="cpu", index=index).predict_with_passages(
        [Document(SENTENCE.format("droit pénal"), language="fr")]
    )
    assert len(found.passages) == 2
    strange = index_of(folder, tmp_path / "strange", replace(RETRIEVES, pooling="mean"))
    with pytest.raises(PassageIndexError, match="rebuild the index with that encoder"):
        load_predictor(model, device="cpu", index=strange).predict(["Cette thèse étudie le droit."])


def test_the_card_tells_the_rounds(folder):
    card = (folder / "run" / CHECKPOINT / "MODEL_CARD.md").read_text(encoding="utf-8")
    figures = json.loads((folder / "run" / "rgit.json").read_text(encoding="utf-8"))
    first, second = figures["rounds"]
    assert (first["trained_on"], first["pseudo_pairs"], first["checked"]) == (0, 7, 7)
    assert second["trained_on"] == 7  # all that were not told, by so low a tau
    assert "| documents, French | 15 |\n| told which passage is theirs | 8 |" in card
    kept = f"that of round {figures['best']} was kept"
    assert f"| rounds at most | 1 |\n| retrievers | 2, the last after all rounds; {kept} |" in card
    assert f"| Round 2 | {100 * second['recall']['1']:.1f} |" in card


def test_a_finished_run_goes_through_without_training_and_another_is_refused(folder, monkeypatch):
    def fails(*_: object, **__: object) -> None:
        raise AssertionError("trained again")

    monkeypatch.setattr(ramkg_rounds, "train_writer", fails)
    monkeypatch.setattr(rounds, "train", fails)
    train(folder)
    with pytest.raises(TrainingError, match="other data or settings"):
        train(folder, **{"generator.epochs": "2"})


def test_the_generator_reads_as_many_passages_as_the_rounds_find(folder):
    from kpdemo.ramkg.generator import load_writer

    writer = load_writer(folder / "run" / CHECKPOINT, device="cpu")
    assert (writer.settings.passages, writer.settings.retrieves) == (2, True)
    base = load_writer(folder / "run" / "base" / CHECKPOINT, device="cpu")
    assert not base.settings.retrieves
    assert len(writer.keyphrases([Augmented(Document("Un texte.", language="fr"), (("law",),))])) == 1


def test_rounds_go_on_in_another_style_and_in_no_other_precision():
    config = load_section(DEFAULT_CONFIG.parent / "ramkg_rounds.toml", "ramkg-rounds", RamkgRounds)
    assert config.generator.precision == "auto"

    def identity(**changed: str) -> str:
        return ramkg_rounds._identity(config, replace(config.generator, **changed), Corpus([]))

    assert identity() == identity(style="topics of tests") != identity(precision="fp32")


def test_the_paper_s_configuration_is_one():
    path = Path(__file__).parents[2] / "configs" / "ramkg_rounds.toml"
    config = load_section(path, "ramkg-rounds", RamkgRounds)
    assert (config.rounds.rounds, config.rounds.tau, config.rounds.passages) == (3, 0.05, 1)
    assert config.retriever.temperature == 1
