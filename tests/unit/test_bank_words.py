"""A bank whose word embeddings are stored as what tells them from those of the model around it."""

from __future__ import annotations

import shutil
import stat
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from kpdemo.errors import ConfigError, ModelLoadError
from kpdemo.simckp.calibration import Calibration
from kpdemo.simckp.checkpoint import WEIGHTS, WORDS, open_folder, save_checkpoint
from kpdemo.simckp.dual_encoder import DualEncoder, DualEncoderConfig, PairEncoder
from kpdemo.simckp.encoder import load_backbone
from kpdemo.simckp.extractor import ContrastiveExtractor, ExtractorConfig, Selection
from kpdemo.simckp.pair_checkpoint import BANK_KIND, load_bank, save_bank, state_hash, stored_state
from kpdemo.simckp.predictor import BANK, load_system
from kpdemo.simckp.storage import STEP
from kpdemo.training.assembly import ModelAssembly, assemble
from kpdemo.types import Document
from tests.tiny import tiny_bank, tiny_bert

TERMS = ("graph kernels", "drug discovery", "kernels of graphs", "molecule mining")
DOCUMENT = Document("Graph kernels compare molecules and proteins by their structure.")
SELECTION = Selection(0.5, Calibration(1.0, 0.0))
LENGTH = 32


@pytest.fixture(scope="module", params=[1, 2], ids=["one tower", "two towers"])
def parts(request, tmp_path_factory) -> dict[str, Path]:
    """An extractor, and a bank that was trained a little away from the same backbone."""
    torch.manual_seed(0)
    root = tmp_path_factory.mktemp("parts")
    backbone = str(tiny_bert(root / "backbone", width=64))
    encoder, tokenizer = load_backbone(backbone)
    extractor = ContrastiveExtractor(encoder, ExtractorConfig(window=LENGTH, overlap=8))
    save_checkpoint(
        root / "extractor", extractor, tokenizer, SELECTION, name="tiny", card="# tiny", storage="int8"
    )
    towers = [load_backbone(backbone)[0] for _ in range(request.param)]
    dual = DualEncoder(towers[0], DualEncoderConfig(width=8), phrases=towers[1] if towers[1:] else None)
    with torch.no_grad():
        for weight in dual.parameters():
            weight.add_(torch.randn_like(weight), alpha=0.1 * float(weight.abs().mean()))
    reader = PairEncoder(dual.eval(), tokenizer.backend_tokenizer, tokenizer.pad_token_id, LENGTH)
    bank = tiny_bank(reader, *TERMS, name=state_hash(stored_state(dual, "int8")))
    kept = {"name": "tiny", "length": LENGTH, "card": "# tiny"}
    save_bank(root / "bank", dual, bank, tokenizer, SELECTION, **kept, storage="int8")
    return {"extractor": root / "extractor", "bank": root / "bank"}


@pytest.fixture
def model(parts, tmp_path) -> Path:
    config = ModelAssembly(("extractor", "bank"), tmp_path / "model", bank_words_as_differences=True)
    assemble(config, parts)
    return config.output


def weights(folder: Path) -> dict[str, torch.Tensor]:
    with open_folder(folder, BANK_KIND) as stored:
        return stored.weights


def test_the_embeddings_are_off_by_half_a_step_at_most_and_all_else_is_as_it_was(parts, model):
    tensors, whole, read = load_file(model / BANK / WEIGHTS), weights(parts["bank"]), weights(model / BANK)
    assert read.keys() == whole.keys()
    words = f"{WORDS}weight"
    assert tensors[words].nbytes == whole[words].numel() // 2
    for name, value in whole.items():
        step = tensors.get(f"{name}{STEP}")
        assert (step is not None) == name.startswith(WORDS)
        if step is None:
            assert torch.equal(read[name], value)
        else:
            bound = step.float().unsqueeze(1) * 0.51 + 1e-6
            assert bool(((read[name] - value).abs() <= bound).all())


def test_it_finds_what_the_whole_bank_finds(parts, model):
    whole, changed = load_bank(parts["bank"], device="cpu"), load_bank(model / BANK, device="cpu")
    exact, near = (retriever.encoder.documents([DOCUMENT]) for retriever in (whole, changed))
    assert near == pytest.approx(exact, abs=0.02)
    assert (near != exact).any()
    assert (changed.bank.vectors == whole.bank.vectors).all()
    [prediction] = load_system(model, device="cpu").predict([DOCUMENT])
    assert len(prediction.absent) == len(TERMS) - 1  # the first stands in the text


def test_beside_another_extractor_it_is_refused(parts, model, tmp_path):
    other = shutil.copytree(model, tmp_path / "other")
    with open_folder(parts["extractor"], "simckp-extractor") as stored:
        half = {name: value / 2 for name, value in stored.weights.items()}
    encoder, tokenizer = load_backbone(str(parts["extractor"].parent / "backbone"))
    extractor = ContrastiveExtractor(encoder, ExtractorConfig(window=LENGTH, overlap=8))
    extractor.load_state_dict(half)
    save_checkpoint(other, extractor, tokenizer, SELECTION, name="other", card="# other")
    with pytest.raises(ModelLoadError, match="stores differences from another version of"):
        load_system(other, device="cpu")


@pytest.mark.parametrize("names", [{"extractor"}, {"extractor", "bank", "reranker"}])
def test_without_a_bank_or_with_a_reranker_it_is_refused(parts, tmp_path, names):
    config = ModelAssembly(tuple(names), tmp_path / "model", bank_words_as_differences=True)
    with pytest.raises(ConfigError, match="needs a bank, no reranker and no base"):
        assemble(config, {name: parts.get(name, parts["bank"]) for name in names})
    assert not config.output.exists()


def test_beside_a_base_it_is_refused(parts, tmp_path):
    base = tmp_path / "base"
    assemble(ModelAssembly(("extractor", "bank"), base), parts)
    config = ModelAssembly(
        ("extractor", "bank"), tmp_path / "model", base=base, bank_words_as_differences=True
    )
    with pytest.raises(ConfigError, match="needs a bank, no reranker and no base"):
        assemble(config, parts)


def test_a_bank_on_another_backbone_is_refused_in_a_sentence(parts, tmp_path):
    encoder, tokenizer = load_backbone(str(tiny_bert(tmp_path / "wide", width=128)))
    extractor = ContrastiveExtractor(encoder, ExtractorConfig(window=LENGTH, overlap=8))
    save_checkpoint(tmp_path / "extractor", extractor, tokenizer, SELECTION, name="wide", card="# wide")
    config = ModelAssembly(("extractor", "bank"), tmp_path / "model", bank_words_as_differences=True)
    with pytest.raises(ModelLoadError, match="other names or shapes"):
        assemble(config, parts | {"extractor": tmp_path / "extractor"})
    assert not config.output.exists()


def test_others_may_read_the_weights_as_they_may_read_the_configuration(model):
    modes = {stat.S_IMODE(path.stat().st_mode) for path in model.iterdir() if path.is_file()}
    assert len(modes) == 1
