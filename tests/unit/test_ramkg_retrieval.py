"""RAMKG's generator with an index: what it reads, and what it tells of the passages."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from kpdemo.ramkg import generator
from kpdemo.ramkg.generator import PassageSource, RamkgGenerator, RamkgPredictor, are_alike
from kpdemo.ramkg.passage_index import Hit, Manifest, write_manifest
from kpdemo.ramkg.settings import EncoderConfig, IndexConfig
from kpdemo.training.data import Source
from kpdemo.training.loop import LoopConfig
from kpdemo.training.multilingual.generator import RamkgTraining, train_ramkg
from kpdemo.types import Document, RetrievalPredictor, uses_passages
from tests.tiny_multilingual import DOCUMENTS, FRENCH, t5, write_documents

PASSAGES = [
    Document("We compare graphs.", "Graph kernels", "en1", ("graph kernels", "chemistry"), "en"),
    Document("We compare texts.", "Text kernels", "en2", (), "en"),
]


class TwoPassages:
    """An index that finds `PASSAGES` for every document."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def retrieve(self, encoder, documents, count):
        self.asked.append(len(documents))
        return [[Hit(passage, 0.5) for passage in PASSAGES][:count] for _ in documents]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """One step of training with an index in place of a file."""
    folder = tmp_path_factory.mktemp("retrieval")
    write_documents(folder / "docs.jsonl")
    (folder / "index").mkdir()
    write_manifest(folder / "index", Manifest(EncoderConfig("seeded"), "a" * 64, IndexConfig(), 24))
    index = TwoPassages()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generator.PassageSource, "open", lambda *_, **__: PassageSource(index, None))
        config = RamkgTraining(
            (Source(Path("docs.jsonl")),),
            Source(Path("docs.jsonl")),
            LoopConfig(documents=3, batch_size=3, precision="fp32"),
            data=folder,
            output=folder / "run",
            backbone=str(t5(folder / "backbone")),
            languages=("fr", "zh", "ko"),
            retrieval="index",
            index=folder / "index",
            generated=0,
            selected="log-likelihood",
            window=128,
            longest=16,
            beams=2,
        )
        result = train_ramkg(config, device=torch.device("cpu"))
        train_ramkg(config, device=torch.device("cpu"))  # what was retrieved is kept in the run's folder
    assert index.asked == [3, 3]  # training and validation, once each
    return result


def test_the_keyphrases_of_the_passages_stand_before_the_document(trained):
    predictor = RamkgPredictor(RamkgGenerator(trained.writer), PassageSource(TwoPassages(), None))
    assert isinstance(predictor, RetrievalPredictor)
    assert uses_passages(predictor)
    [found, _, _] = predictor.predict_with_passages(DOCUMENTS)
    assert [(passage.id, passage.keyphrases) for passage in found.passages] == [
        ("en1", ("graph kernels", "chemistry"))
    ]
    assert found.passages[0].text == "We compare graphs."
    assert found.without == RamkgGenerator(trained.writer).predict([FRENCH])[0]


@pytest.mark.parametrize(
    ("keyphrase", "retrieved", "alike"),
    [
        ("diabète gestationnel", "gestational diabetes", True),
        ("Télévision", "television", True),
        ("grippe", "influenza", False),
        ("支持向量机", "support vector machine", False),
    ],
)
def test_a_keyphrase_tells_of_retrieved_ones_that_are_spelt_alike(keyphrase, retrieved, alike):
    assert are_alike(keyphrase, retrieved) is alike
