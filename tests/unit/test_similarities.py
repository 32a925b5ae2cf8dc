"""How alike two texts are by a model's vectors."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from kpdemo.errors import ModelLoadError
from kpdemo.pipeline import Pipeline
from kpdemo.predictors import load_predictor
from kpdemo.simckp.dual_encoder import DualEncoder, DualEncoderConfig, PairEncoder
from kpdemo.simckp.encoder import load_backbone
from tests.fakes import FakePredictor
from tests.tiny import tiny_bert


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> PairEncoder:
    torch.manual_seed(0)
    module, tokenizer = load_backbone(str(tiny_bert(tmp_path_factory.mktemp("backbone"))))
    dual = DualEncoder(module, DualEncoderConfig(width=8)).eval()
    return PairEncoder(dual, tokenizer.backend_tokenizer, tokenizer.pad_token_id, 32)


def test_similarity_is_the_cosine_of_what_the_backbone_pools(encoder):
    first, second = "graph kernels compare molecules", "drug discovery"
    [found, same, again] = encoder.similarities([(first, second), (first, first), (second, first)])
    with torch.inference_mode():
        rows = [torch.tensor([encoder.tokenizer.encode(text).ids]) for text in (first, second)]
        vectors = [encoder.module.pooled_phrases(row, torch.ones_like(row))[0] for row in rows]
        expected = torch.cosine_similarity(*vectors, dim=0).clamp(0, 1)
    assert found == again == pytest.approx(float(expected), abs=1e-5)
    assert same == pytest.approx(1)


def test_a_paragraph_is_read_to_its_end_and_nothing_is_nothing(encoder):
    words = "graph kernels " * 20
    [found, far] = encoder.similarities(
        [(words, words + "drug discovery"), (words * 99, words * 99 + "drug")]
    )
    assert found < 1
    assert far == pytest.approx(1)
    assert encoder.similarities([]) == []
    assert encoder.similarities([("", "")]) == pytest.approx([1])


def test_a_lazy_model_compares_once_it_is_open_or_says_that_it_cannot():
    comparing = SimpleNamespace(similarities=lambda pairs: [0.5 for _ in pairs])
    assert Pipeline("lazy", lambda: comparing).similarities([("a", "b")]) == [0.5]
    with pytest.raises(ModelLoadError, match="'first' does not compare texts: choose default"):
        Pipeline("first", FakePredictor).similarities([("a", "b")])


def test_a_model_without_nested_keyphrases_compares_as_the_model_does():
    comparing = SimpleNamespace(similarities=lambda pairs: [0.5 for _ in pairs])
    assert Pipeline("unnested", lambda: comparing, nested=False).similarities([("a", "b")]) == [0.5]
    with pytest.raises(ModelLoadError, match="'first' does not compare texts: choose default"):
        load_predictor("first", nested=False).similarities([("a", "b")])
