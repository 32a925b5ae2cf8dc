"""RAMKG's own generator with an index of passages, on the command line and on the page."""

from __future__ import annotations

import io
import json
import sys
from functools import partial
from pathlib import Path

import pytest
import torch

from kpdemo.cli import main
from kpdemo.errors import ModelLoadError
from kpdemo.training.data import Source
from kpdemo.training.loop import LoopConfig
from kpdemo.training.multilingual.generator import RamkgTraining, train_ramkg, training_inputs
from kpdemo.training.parts import CHECKPOINT
from kpdemo.types import Document, PredictionRequest
from kpdemo.ui.models import ModelShelf
from kpdemo.ui.results import shell_lines, text_html
from kpdemo.ui.start import index_of, open_model
from tests.tiny_multilingual import t5, write_documents
from tests.tiny_ranker import SENTENCE, build_tiny_index, save_tiny_ranker

FRENCH = SENTENCE.format("réseau de neurones")


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> Path:
    return save_tiny_ranker(tmp_path_factory.mktemp("ranker"))


@pytest.fixture(scope="module")
def index(encoder, tmp_path_factory) -> Path:
    return build_tiny_index(tmp_path_factory.mktemp("passages") / "index", encoder)


@pytest.fixture(scope="module")
def train(tmp_path_factory):
    """Trains a generator for a moment and gives the folder of its checkpoint."""

    def trained(**settings: object) -> Path:
        folder = tmp_path_factory.mktemp("generator")
        write_documents(folder / "docs.jsonl")
        source = Source(Path("docs.jsonl"))
        config = RamkgTraining(
            (source,),
            source,
            LoopConfig(documents=3, batch_size=3, precision="fp32"),
            data=folder,
            output=folder / "run",
            backbone=str(t5(folder / "backbone")),
            languages=("fr", "zh", "ko"),
            generated=0,
            selected="log-likelihood",
            window=128,
            longest=12,
            beams=2,
            **settings,
        )
        written = train_ramkg(config, device=torch.device("cpu"))
        written.save(folder / CHECKPOINT, "# Card\n", "fp16")
        return folder / CHECKPOINT

    return trained


@pytest.fixture(scope="module")
def model(train, index) -> Path:
    return train(retrieval="index", index=index, passages=2)


@pytest.fixture
def predict(monkeypatch, capsys):
    def call(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(FRENCH.encode())))
        status = main(["predict", "-", "--language", "fr", "--device", "cpu", *map(str, arguments)])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


def test_it_reads_the_passages_of_an_index(predict, model, index):
    status, out, _ = predict("--model", model, "--index", index, "--json")
    record = json.loads(out)
    assert (status, record["language"], len(record["passages"])) == (0, "fr", 2)
    assert all(passage["helps"] for passage in record["passages"])
    status, out, _ = predict("--model", model, "--json")
    assert (status, "passages" in json.loads(out)) == (0, False)


def test_what_was_found_for_other_documents_or_settings_is_looked_for_anew(index, tmp_path):
    def found(subject: str, passages: int) -> tuple[tuple[str, ...], ...]:
        row = {"text": SENTENCE.format(subject), "keyphrases": [subject], "language": "fr"}
        (tmp_path / "docs.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
        source, loop = Source(Path("docs.jsonl")), LoopConfig(documents=1)
        settings = {"retrieval": "index", "index": index, "passages": passages}
        config = RamkgTraining((source,), source, loop, data=tmp_path, output=tmp_path / "run", **settings)
        [given], _ = training_inputs(config)
        return given.retrieved

    first = found("réseau de neurones", 2)
    path = tmp_path / "run" / "retrieved-train.json"
    stored = path.stat().st_mtime_ns
    assert (found("réseau de neurones", 2), path.stat().st_mtime_ns) == (first, stored)
    assert found("réseau de neurones", 1) == first[:1]
    assert found("droit pénal", 1) != first[:1]


def test_an_index_that_another_encoder_made_is_refused(predict, model, tmp_path):
    other = save_tiny_ranker(tmp_path, seed=1)
    strange = build_tiny_index(tmp_path / "index", other)
    status, out, err = predict("--model", model, "--index", strange)
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert f"was built with the encoder {other}" in err
    assert "rebuild the index with that encoder" in err


def test_an_index_whose_encoder_has_changed_since_is_refused(predict, train, tmp_path):
    encoder = save_tiny_ranker(tmp_path)
    index = build_tiny_index(tmp_path / "index", encoder)
    told_by_file = train(retrieval="file")
    assert predict("--model", told_by_file, "--index", index)[0] == 0
    encoder.rename(tmp_path / "moved")
    status, _, err = predict("--model", told_by_file, "--index", index)
    assert (status, err.count("\n")) == (1, 1)
    (tmp_path / "again").mkdir()
    save_tiny_ranker(tmp_path / "again", seed=1).rename(encoder)
    status, _, err = predict("--model", told_by_file, "--index", index)
    assert (status, err.count("\n")) == (1, 1)
    assert "was built with the encoder" in err


def test_a_generator_that_was_trained_without_passages_takes_no_index(predict, train, index):
    alone = train(retrieval="none")
    status, out, err = predict("--model", alone, "--index", index)
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert "was trained without passages: leave the index out" in err
    assert predict("--model", alone, "--json")[0] == 0


def test_the_page_gives_the_index_to_the_folder_that_it_came_with(model, index):
    given = {"model": str(model), "index": str(index)}
    of = partial(index_of, **given)
    assert (of(str(model)), of("default"), of("multilingual"), of("tfidf")) == (str(index), "", "", "")
    assert index_of("multilingual", model=None, index=str(index)) == str(index)
    shelf = ModelShelf({str(model): "given"}, partial(open_model, device="cpu", **given), index_of=of)
    answer = shelf.answer(PredictionRequest(Document(FRENCH, language="fr"), str(model)))
    assert text_html(answer).count('class="passage"') == 2
    assert f"--index={index}" in shell_lines(answer.question)


def test_the_page_says_why_a_folder_cannot_read_the_index(train, index):
    alone = str(train(retrieval="none"))
    load = partial(open_model, device="cpu", model=alone, index=str(index))
    shelf = ModelShelf({alone: "given"}, load)
    with pytest.raises(ModelLoadError, match="was trained without passages"):
        shelf.answer(PredictionRequest(Document(FRENCH, language="fr"), alone))
