"""RAMKG's generator on tiny encoder-decoders: what it reads, what it learns, and what it answers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from kpdemo.errors import ConfigError, LanguageError, ModelLoadError, TrainingError
from kpdemo.predictors import load_predictor
from kpdemo.ramkg.generator import Writer, load_writer
from kpdemo.ramkg.prompt import Ends, Frame, frame
from kpdemo.ramkg.rgit import Augmented
from kpdemo.text import StemmedText
from kpdemo.training import run
from kpdemo.training.data import Source
from kpdemo.training.loop import LoopConfig
from kpdemo.training.multilingual.generator import (
    RamkgTraining,
    retrieved_of,
    text_pair,
    train_ramkg,
    training_inputs,
)
from kpdemo.training.parts import CHECKPOINT
from kpdemo.types import Document
from tests.tiny_multilingual import (
    CHINESE,
    DOCUMENTS,
    FRENCH,
    KOREAN,
    RETRIEVED,
    mbart,
    mbart50,
    t5,
    write_documents,
)

CPU = torch.device("cpu")
BACKBONES = {"mbart": mbart, "mbart50": mbart50, "t5": t5}


def training(folder: Path, backbone: str, **settings) -> RamkgTraining:
    data = folder / "data"
    data.mkdir(exist_ok=True)
    write_documents(data / "docs.jsonl")
    source = Source(Path("docs.jsonl"))
    steps = settings.pop("steps", 1)
    return RamkgTraining(
        (source,),
        source,
        LoopConfig(documents=3 * steps, batch_size=3, precision="fp32", evaluate_every=120, warmup=0.1),
        data=data,
        output=folder / "run",
        backbone=str(BACKBONES[backbone](folder / "backbone")),
        **{
            "retrieval": "file",
            "learning_rate": 1e-2,
            "generated": 3,
            "languages": ("fr", "zh", "ko"),
            "dropout": 0.0,
            "window": 200,
            "longest": 40,
            "beams": 2,
        }
        | settings,
    )


@pytest.fixture(
    scope="module",
    params=["mbart", *(pytest.param(one, marks=pytest.mark.slow) for one in ("mbart50", "t5"))],
)
def taught(request, tmp_path_factory):
    """A model that knows the three documents by heart, and the folder of its checkpoint."""
    folder = tmp_path_factory.mktemp(request.param)
    steps = 400 if request.param == "t5" else 150
    trained = train_ramkg(training(folder, request.param, steps=steps), device=CPU)
    trained.save(folder / CHECKPOINT, "# Card\n", "fp16")
    return request.param, trained, folder / CHECKPOINT


def test_it_learns_to_write_in_the_language_of_each_document(taught):
    _, trained, folder = taught
    assert trained.validation["F1@M"] == 1.0
    predictor = load_predictor(folder)
    inputs = [Augmented(document, RETRIEVED[document.id]) for document in DOCUMENTS]
    assert load_writer(folder).keyphrases(inputs) == [list(document.keyphrases) for document in DOCUMENTS]
    assert predictor.languages == {"fr", "zh", "ko"}
    assert predictor.finds_absent
    for document, prediction in zip(DOCUMENTS, predictor.predict(DOCUMENTS, top_k=5), strict=True):
        assert prediction.language == document.language
        for keyphrase in prediction.present:
            assert StemmedText(document).contains(keyphrase.text)
            assert all(document.text[start:end].strip() for start, end in keyphrase.spans)
        for keyphrase in prediction.absent:
            assert not StemmedText(document).contains(keyphrase.text)
        scores = [keyphrase.score for keyphrase in prediction.present]
        assert scores == sorted(scores, reverse=True)
        assert all(0 <= score <= 1 for score in scores)


def test_what_is_stored_answers_like_what_was_trained(taught):
    _, trained, folder = taught
    inputs = [Augmented(document) for document in DOCUMENTS]
    stored = load_writer(folder)
    assert stored.settings == trained.writer.settings
    for ours, theirs in zip(stored.proposals(inputs), trained.writer.proposals(inputs), strict=True):
        assert [proposal.text for proposal in ours] == [proposal.text for proposal in theirs]
    alone = [stored.proposals([given])[0] for given in inputs]
    for together, single in zip(stored.proposals(inputs), alone, strict=True):
        assert [proposal.text for proposal in together] == [proposal.text for proposal in single]


def test_a_language_token_stands_where_the_form_wants_it(taught):
    form, trained, _ = taught
    writer = trained.writer
    token = {code: writer.tokenizer.token_to_id(name) for code, name in writer.settings.languages.items()}
    end, marks = writer.vocabulary.end, writer.vocabulary.marks
    assert len({None, *token.values()}) == len(token) + 1
    source = writer.source(Augmented(CHINESE, RETRIEVED["zh1"]))
    pair = text_pair(writer, Augmented(CHINESE))
    body = {"mbart": source[:-2], "mbart50": source[1:-1], "t5": source[:-2]}[form]
    assert body[0] == marks.retrieved
    assert marks.context in body
    around = {
        "mbart": (source[-2:], [end, token["zh"]], pair.target[:1], [token["zh"]]),
        "mbart50": ([source[0], source[-1]], [token["zh"], end], pair.target[:2], [end, token["zh"]]),
        "t5": (source[-2:], [token["zh"], end], pair.target[:2], [0, token["zh"]]),
    }[form]
    assert around[0] == around[1]
    assert around[2] == around[3]
    assert pair.target[-1] == end


def test_the_base_model_reads_the_document_alone(taught):
    _, trained, _ = taught
    marks = trained.writer.vocabulary.marks
    assert marks.retrieved not in trained.writer.source(Augmented(KOREAN))
    assert marks.retrieved in trained.writer.source(Augmented(KOREAN, (("x",),)))


def test_a_batch_that_does_not_fit_is_halved(taught, monkeypatch, caplog):
    _, trained, _ = taught
    inputs = [Augmented(document) for document in DOCUMENTS]
    expected = trained.writer.keyphrases(inputs)
    write, sizes = Writer._write, []

    def tight(self, work, every_beam):
        sizes.append(len(work))
        if len(work) > 1:
            raise torch.OutOfMemoryError
        return write(self, work, every_beam)

    monkeypatch.setattr(Writer, "_write", tight)
    assert trained.writer.keyphrases(inputs) == expected
    assert sizes[0] == 3
    assert "out of memory" in caplog.text


def test_a_language_without_a_token_is_refused(tmp_path):
    config = replace(training(tmp_path, "t5"), languages=("fr", "zh"))
    with pytest.raises(LanguageError, match="does not write Korean: give a document in French, Chinese"):
        train_ramkg(config, device=CPU)


def test_a_model_may_tell_no_languages_apart():
    plain = frame("plain", Ends(special=(7, 2), start=2, end=2, padding=1), None)
    assert plain == Frame((7,), (2,), (2, 7))
    assert frame("plain", Ends(special=(1,), start=0, end=1, padding=0), None) == Frame((), (1,), (0,))
    with pytest.raises(ModelLoadError, match="needs a language"):
        frame("mbart", Ends(special=(2, 9), start=2, end=2, padding=1), None)


def test_train_writes_a_checkpoint_with_a_card_and_goes_on_where_it_was(tmp_path):
    config = training(tmp_path, "t5")
    path = tmp_path / "config.toml"
    path.write_text(
        f"""[ramkg-generator]
data = "{config.data}"
output = "{config.output}"
window = 96
longest = 24
beams = 2
generated = 2
languages = ["fr", "zh", "ko"]
train = [{{ path = "docs.jsonl" }}]
validation = {{ path = "docs.jsonl" }}
backbone = "{config.backbone}"
loop = {{ documents = 6, batch_size = 2, evaluate_every = 2, log_every = 1 }}
""",
        encoding="utf-8",
    )
    run("ramkg-generator", path, output=None, overrides={})
    folder = config.output / CHECKPOINT
    card = (folder / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert "keyphrases written in French and Korean and Chinese" in card
    weights = (folder / "model.safetensors").read_bytes()
    lines = [json.loads(line) for line in (config.output / "log.jsonl").read_text().splitlines()]
    assert any("F1@M" in line for line in lines)
    run("ramkg-generator", path, output=None, overrides={})  # done already: the same comes out
    assert (folder / "model.safetensors").read_bytes() == weights
    [prediction] = load_predictor(folder).predict([FRENCH])
    assert prediction.language == "fr"


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, ()), ([], ()), (["a", "b"], (("a", "b"),)), ([["a"], []], (("a",), ()))],
)
def test_retrieved_keyphrases_are_read_from_a_row(value, expected):
    assert retrieved_of({"retrieved": value}, "d1") == expected


@pytest.mark.parametrize("value", ["a;b", [["a"], "b"], [[1]]])
def test_odd_retrieved_keyphrases_are_explained(value):
    with pytest.raises(ConfigError, match="'d1'"):
        retrieved_of({"retrieved": value}, "d1")


def test_a_run_does_not_go_on_with_other_retrieved_keyphrases(tmp_path):
    config = training(tmp_path, "t5", generated=0, selected="log-likelihood")
    train_ramkg(config, device=CPU)
    train_ramkg(config, device=CPU)  # is over already
    path = config.data / "docs.jsonl"
    path.write_text(path.read_text(encoding="utf-8").replace("graph kernels", "noise"), encoding="utf-8")
    with pytest.raises(TrainingError, match="other settings"):
        train_ramkg(config, device=CPU)


def test_settings_that_exclude_each_other_are_refused(tmp_path):
    config = training(tmp_path, "t5")
    with pytest.raises(ConfigError, match="go together"):
        replace(config, retrieval="index")
    with pytest.raises(ConfigError, match="`generated`"):
        replace(config, generated=0)


def test_a_document_may_be_very_long_and_its_language_be_detected(taught):
    *_, folder = taught
    text = "Nous comparons des molécules avec un noyau de graphes pour la chimie. " * 200
    [prediction] = load_predictor(folder).predict([Document(text)])
    assert prediction.language == "fr"


def test_as_many_documents_are_drawn_as_the_pool_says_wherever_their_passages_come_from(tmp_path):
    config = training(tmp_path, "t5")
    for retrieval in ("file", "none"):
        drawn = replace(config, pool=2, retrieval=retrieval)
        examples, repeats = training_inputs(drawn)
        assert (len(examples), repeats) == (2, [1, 1])
    [more] = training_inputs(replace(config, pool=1, train=(replace(config.train[0], repeat=2),)))[1:]
    assert more == [2, 2, 2]  # such a source is taken whole
    given, _ = training_inputs(config)
    assert {one.document.id: one.retrieved for one in given} == RETRIEVED
