"""The passage encoder: pooling against Transformers itself, what is read, and what its identity tells."""

import shutil

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from kpdemo.errors import ConfigError, ModelLoadError
from kpdemo.predictors import DEFAULT_FOLDER
from kpdemo.ramkg import retriever as encoders
from kpdemo.ramkg.retriever import load_encoder
from kpdemo.ramkg.settings import EncoderConfig
from kpdemo.simckp.calibration import Calibration
from kpdemo.simckp.dual_encoder import DualEncoder, DualEncoderConfig
from kpdemo.simckp.encoder import load_backbone
from kpdemo.simckp.extractor import Selection
from kpdemo.simckp.pair_checkpoint import load_bank, save_bank, state_hash, stored_state
from kpdemo.simckp.phrase_bank import Associations, PhraseBank
from kpdemo.types import Document
from tests.tiny import tiny_bart, tiny_bert

DOCUMENTS = [
    Document("graph kernels compare molecules", title="Kernels"),
    Document("neural networks learn representations of documents, phrases and words. " * 5),
    Document("words"),
]


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    torch.manual_seed(0)
    return str(tiny_bert(tmp_path_factory.mktemp("encoder") / "bert"))


def reference(folder: str, text: str, pooling: str) -> np.ndarray:
    """What Transformers makes of one text, alone and unpadded."""
    model, tokenizer = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    with torch.inference_mode():
        output = model(**tokenizer(text, truncation=True, max_length=20, return_tensors="pt"))
    states = output.last_hidden_state[0]
    vectors = {"mean": states.mean(0), "first": states[0], "pooler": output.pooler_output[0]}
    return vectors[pooling].numpy()


@pytest.mark.parametrize("pooling", ["mean", "first", "pooler"])
@pytest.mark.parametrize("normalise", [True, False])
def test_vectors_are_those_of_transformers(bert, pooling, normalise):
    config = EncoderConfig(bert, pooling, normalise, length=20, query_prefix="words of ")
    encoder = load_encoder(config, device="cpu", batch_size=2)
    for prefix, encode in (("", encoder.passages), ("words of ", encoder.queries)):
        vectors = encode(DOCUMENTS)
        assert vectors.shape == (3, encoder.width)
        for document, vector in zip(DOCUMENTS, vectors, strict=True):
            title = f"{document.title}. " if document.title else ""
            wanted = reference(bert, f"{prefix}{title}{document.body}", pooling)
            if normalise:
                wanted = wanted / np.linalg.norm(wanted)
            np.testing.assert_allclose(vector, wanted, atol=1e-5)


def test_no_text_has_no_vector(bert):
    assert load_encoder(EncoderConfig(bert), device="cpu").passages([]).shape == (0, 16)


def test_a_text_is_read_no_further_than_the_model_goes(bert):
    encoder = load_encoder(EncoderConfig(bert, length=100_000), device="cpu")
    assert encoder.config.length == 128
    assert np.isfinite(encoder.passages([Document("graph kernels " * 500)])).all()


def test_the_identity_is_that_of_weights_and_settings_and_not_of_the_name(bert, tmp_path):
    def identity(folder, **settings):
        return load_encoder(EncoderConfig(str(folder), **settings), device="cpu").identity

    own = identity(bert)
    copy = shutil.copytree(bert, tmp_path / "copy")
    torch.manual_seed(1)
    others = [
        identity(tiny_bert(tmp_path / "other")),
        identity(bert, length=64),
        identity(bert, pooling="first"),
        identity(bert, pooling="pooler"),
        identity(bert, normalise=False),
        identity(bert, passage_prefix="passage: "),
    ]
    assert identity(copy) == own
    assert len({own, *others}) == 1 + len(others)


def test_the_pair_encoder_of_a_bank_encodes_documents(bert, tmp_path):
    backbone, tokenizer = load_backbone(bert)
    torch.manual_seed(0)
    module = DualEncoder(backbone, DualEncoderConfig(width=8))
    bank = PhraseBank.build(
        ["graph"],
        np.zeros(1),
        torch.ones(1, 8),
        encoder=state_hash(stored_state(module, "fp16")),
        associations=Associations.none(1),
    )
    selection = Selection(0.5, Calibration(1.0, 0.0))
    save_bank(tmp_path / "bank", module, bank, tokenizer, selection, name="tiny", length=30, card="")
    pair = load_bank(tmp_path / "bank", device="cpu").encoder
    for folder in (tmp_path, tmp_path / "bank"):
        (tmp_path / "SHA256SUMS").write_text("")  # as a model's folder has, round that of its bank
        encoder = load_encoder(EncoderConfig(str(folder)), device="cpu")
        np.testing.assert_array_equal(encoder.passages(DOCUMENTS), pair.documents(DOCUMENTS))
        np.testing.assert_array_equal(encoder.queries(DOCUMENTS), pair.documents(DOCUMENTS))
        assert (encoder.width, encoder.config.length) == (8, 30)
    with pytest.raises(ConfigError, match="has its own pooling and prefixes"):
        load_encoder(EncoderConfig(str(tmp_path), "first"), device="cpu")


@pytest.mark.parametrize("name", ["default", "english"])
def test_the_default_is_the_shipped_pair_encoder_by_both_its_names(name, monkeypatch):
    monkeypatch.setattr(encoders, "_load_bank_encoder", lambda folder, *_: folder)
    assert load_encoder(EncoderConfig(name), device="cpu") == DEFAULT_FOLDER / "bank"


def test_a_model_that_ships_without_a_pair_encoder_is_not_looked_for_on_the_hub(monkeypatch):
    monkeypatch.setattr("kpdemo.simckp.encoder.load_backbone", lambda _: pytest.fail("looked for"))
    with pytest.raises(ModelLoadError, match=r"indexer holds a simckp-extractor .* not a simckp-bank"):
        load_encoder(EncoderConfig("indexer"), device="cpu")


def test_what_is_no_encoder_is_explained(tmp_path):
    with pytest.raises(ModelLoadError, match=r"holds no encoder saved by .* with a `model_type`"):
        load_encoder(EncoderConfig(str(tmp_path)), device="cpu")
    with pytest.raises(ModelLoadError, match="has no trained pooler: choose another pooling"):
        load_encoder(EncoderConfig(str(tiny_bart(tmp_path / "bart")), "pooler"), device="cpu")
    with pytest.raises(ConfigError, match="no pooling 'max'"):
        EncoderConfig(pooling="max")
