"""Checkpoints of kpdemo on the Hugging Face Hub: tiny ones in its cache, without a network."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from huggingface_hub import HfApi, constants
from safetensors.torch import load_file

from kpdemo.cards import model_card
from kpdemo.errors import ConfigError, ModelLoadError
from kpdemo.identity import write_sums
from kpdemo.io.files import json_gz
from kpdemo.predictors import load_predictor, model_folder, model_identity, takes_index
from kpdemo.simckp.calibration import Calibration
from kpdemo.simckp.checkpoint import (
    KIND,
    _made_for,
    open_folder,
    save_checkpoint,
    save_ensemble,
    store_as_change,
    write_tensors,
)
from kpdemo.simckp.dual_encoder import DualEncoder, DualEncoderConfig, PairEncoder
from kpdemo.simckp.encoder import load_backbone
from kpdemo.simckp.extractor import ContrastiveExtractor, ExtractorConfig, Selection
from kpdemo.simckp.hub import download
from kpdemo.simckp.hub.download import fetch, on_this_machine
from kpdemo.simckp.labeller import LabellerConfig, SequenceLabeller, save_labeller
from kpdemo.simckp.pair_checkpoint import save_bank, state_hash, stored_state
from kpdemo.simckp.storage import pack_differences
from kpdemo.types import Document, PredictionRequest
from kpdemo.ui.models import ModelShelf
from tests.hub_cache import publish
from tests.tiny import tiny_bank, tiny_bert
from tests.tiny_hub import DOCUMENT as TAUGHT
from tests.tiny_hub import bart_generator
from tests.tiny_ranker import build_tiny_index, save_tiny_ranker

NAME = "somebody/keyphrases"
DOCUMENT = Document("Graph kernels compare molecules and proteins by their structure.", title="Kernels")
FRENCH = Document("Une étude des réseaux de neurones.", language="fr")
SELECTION = Selection(0.0, Calibration(1.0, 0.0))
CONFIG = ExtractorConfig(window=32, overlap=8)


@pytest.fixture(scope="module")
def parts(tmp_path_factory) -> Path:
    """Checkpoints of several kinds; `model` has two extractors and a bank."""
    torch.manual_seed(0)
    root = tmp_path_factory.mktemp("parts")
    backbone = str(tiny_bert(root / "backbone"))
    for name in ("first", "second"):
        encoder, tokenizer = load_backbone(backbone)
        module = ContrastiveExtractor(encoder, CONFIG)
        save_checkpoint(root / name, module, tokenizer, SELECTION, name=name, card=f"# {name}\n")
    with open_folder(root / "first", KIND) as first, open_folder(root / "second", KIND) as second:
        differences = pack_differences(second.weights, first.weights)
    kept = {"share": 0.25, "name": "both", "card": "# both of them\n"}
    save_ensemble(root / "model", root / "first", differences, CONFIG, SELECTION, **kept)
    dual = DualEncoder(load_backbone(backbone)[0], DualEncoderConfig(width=8)).eval()
    reader = PairEncoder(dual, tokenizer.backend_tokenizer, tokenizer.pad_token_id, CONFIG.window)
    bank = tiny_bank(reader, "drug discovery", "graphs", name=state_hash(stored_state(dual, "fp16")))
    kept = {"name": "bank", "length": CONFIG.window, "card": "# bank\n"}
    save_bank(root / "model" / "bank", dual, bank, tokenizer, SELECTION, **kept)
    labeller = SequenceLabeller(load_backbone(backbone)[0], LabellerConfig(4, CONFIG.window, CONFIG.overlap))
    save_labeller(root / "labeller", labeller, tokenizer, name="labeller", card="# labeller\n")
    save_tiny_ranker(root / "ranking").rename(root / "ranker")
    return root


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


@pytest.fixture
def copy(parts, tmp_path) -> Path:
    return shutil.copytree(parts / "model", tmp_path / "copy")


def change(path: Path, **values: object) -> None:
    content = json.loads(path.read_text(encoding="utf-8")) | values
    path.write_text(json.dumps(content), encoding="utf-8")
    write_sums(path.parent)


@pytest.mark.parametrize("kind", ["first", "model", "labeller", "ranker"])
def test_a_checkpoint_answers_by_its_name_as_from_its_folder(parts, cache, kind):
    publish(cache, NAME, parts / kind)
    document = FRENCH if kind == "ranker" else DOCUMENT
    by_name = load_predictor(NAME, device="cpu")
    assert by_name.name == NAME
    answers = by_name.predict([document], top_k=5)
    assert answers == load_predictor(parts / kind, device="cpu").predict([document], top_k=5)
    assert model_identity(NAME) == model_identity(str(parts / kind)) != ""
    assert model_card(NAME) == model_card(parts / kind)


def test_the_bank_comes_along(parts, cache):
    publish(cache, NAME, parts / "model")
    predictor = load_predictor(NAME, device="cpu")
    assert predictor.finds_absent
    [prediction] = predictor.predict([DOCUMENT], top_k=5, unsure=True)
    assert [one.text for one in prediction.absent] == ["drug discovery"]


def test_passages_are_read_as_by_the_same_folder(parts, cache, tmp_path):
    publish(cache, NAME, parts / "ranker")
    index = build_tiny_index(tmp_path / "by-name", Path(NAME))  # whose encoder is that of the model
    assert takes_index(NAME)
    answers = load_predictor(NAME, device="cpu", index=index).predict_with_passages([FRENCH])
    folder = load_predictor(parts / "ranker", device="cpu", index=index)
    assert answers == folder.predict_with_passages([FRENCH])
    assert answers[0].passages


def test_a_model_that_reads_no_passages_refuses_an_index(parts, cache, tmp_path):
    publish(cache, NAME, parts / "model")
    with pytest.raises(ModelLoadError, match=f"'{NAME}' does not use passages"):
        load_predictor(NAME, index=tmp_path)
    with pytest.raises(ModelLoadError, match=r"no folder 'some/other' nor .* HF_HUB_OFFLINE"):
        load_predictor("some/other", index=tmp_path)  # its configuration cannot be had


def test_the_page_offers_it_with_its_card(parts, cache):
    shelf = ModelShelf({NAME: "given with --model"}, lambda name: load_predictor(name, device="cpu"))
    assert shelf.card(NAME).startswith("This model has not been downloaded yet")
    publish(cache, NAME, parts / "model")
    assert shelf.choices == [(f"{NAME} – given with --model", NAME)]
    assert shelf.answer(PredictionRequest(DOCUMENT, NAME)).prediction.present
    assert shelf.card(NAME).startswith("# both of them")


@pytest.mark.parametrize("file", ["model.safetensors", "second.safetensors", "bank/bank.safetensors"])
def test_a_damaged_file_is_named_with_what_to_delete(parts, cache, file):
    path = publish(cache, NAME, parts / "model") / file
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(
        ModelLoadError, match=rf"'{NAME}' is damaged \({file} is not .*run `hf cache rm model/{NAME}`"
    ):
        load_predictor(NAME, device="cpu").predict([DOCUMENT])


@pytest.mark.parametrize("file", ["SHA256SUMS", "bank/SHA256SUMS", "second.safetensors"])
def test_a_file_that_the_owner_left_out_is_named(copy, cache, file):
    (copy / file).unlink()
    publish(cache, NAME, copy)
    with pytest.raises(ModelLoadError, match=rf"'{NAME}' is damaged \({file} is missing"):
        load_predictor(NAME, device="cpu").predict([DOCUMENT])


def test_a_download_that_was_broken_off_is_no_model_yet(parts, cache):
    publish(cache, NAME, parts / "model", lacking=["bank/bank.safetensors"])
    assert on_this_machine(NAME) is None
    with pytest.raises(ModelLoadError, match="HF_HUB_OFFLINE forbids"):
        load_predictor(NAME).predict([DOCUMENT])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"format": 2}, "of format 2, from a newer kpdemo: update kpdemo"),
        ({"kind": "mind-reader"}, "a 'mind-reader' of format 1, which this version of kpdemo cannot open"),
        ({"kind": "simckp-bank"}, "a 'simckp-bank' of format 1, which this version of kpdemo cannot open"),
        ({"kind": ["simckp-extractor"]}, "which this version of kpdemo cannot open"),
        ({"base": {"folder": "../../secret", "weights": "0"}}, "only its differences from another"),
        ({"backbone": {"attn_implementation": "somebody/kernel"}}, "needs code from the Hub"),
        ({"backbone": [{"text": {"_attn_implementation": "somebody/kernel"}}]}, "needs code from the Hub"),
        (
            {"backbone": {"model_type": "detr", "backbone": "other/secret"}},
            "a 'detr', which is not a text encoder",
        ),
        (
            {"backbone": {"model_type": "encoder-decoder", "encoder": {"model_type": []}}},
            "not a text encoder",
        ),
    ],
)
def test_what_this_version_does_not_open_is_explained(copy, cache, values, message):
    change(copy / "config.json", **values)
    publish(cache, NAME, copy)
    with pytest.raises(ModelLoadError, match=message):
        load_predictor(NAME, device="cpu").predict([DOCUMENT])


@pytest.mark.parametrize("file", ["/dev/zero", "../model.safetensors", "bank/config.json"])
def test_no_file_elsewhere_is_read(copy, cache, file):
    with (copy / "bank" / "SHA256SUMS").open("a", encoding="utf-8") as sums:
        sums.write(f"0000  {file}\n")
    publish(cache, NAME, copy)
    with pytest.raises(ModelLoadError, match="points outside its own folder"):
        load_predictor(NAME, device="cpu").predict([DOCUMENT])


def test_a_tokenizer_is_that_of_the_folder_whatever_its_settings_name(parts, cache, tmp_path):
    labeller = shutil.copytree(parts / "labeller", tmp_path / "labeller")
    (tmp_path / "tokenizer.4.0.json").write_text("{}", encoding="utf-8")
    files = ["tokenizer.json", "../../../../tokenizer.4.0.json"]  # as seen from the cache
    change(labeller / "tokenizer_config.json", fast_tokenizer_files=files)
    assert (publish(cache, NAME, labeller) / files[1]).is_file()
    answers = load_predictor(NAME, device="cpu").predict([DOCUMENT])
    assert answers == load_predictor(parts / "labeller", device="cpu").predict([DOCUMENT])


def nested(deep: int) -> dict:
    return {"a": nested(deep - 1)} if deep else {}


@pytest.mark.parametrize(
    ("kind", "changed", "values"),
    [
        ("first", "selection", {"threshold": "x"}),
        ("first", "selection", {"calibration": {"slope": "x", "intercept": 0.0}}),
        ("first", "backbone", {"pad_token_id": None}),
        ("first", "backbone", {"num_attention_heads": 0}),
        ("first", "backbone", []),
        ("model/bank", "selection", {"threshold": "x"}),
        ("labeller", "backbone", {"hidden_size": "x"}),
        ("labeller", "backbone", {"pad_token_id": 100_000}),
    ],
)
def test_wrong_settings_are_one_sentence(parts, cache, tmp_path, kind, changed, values):
    folder = shutil.copytree(parts / kind.partition("/")[0], tmp_path / kind.partition("/")[0])
    part = tmp_path / kind
    config = json.loads((part / "config.json").read_text(encoding="utf-8"))
    config[changed] = config[changed] | values if isinstance(values, dict) else values
    weights = part / "model.safetensors"
    write_tensors(weights, load_file(weights), _made_for(config))  # as whoever means it would
    change(part / "config.json", **config)
    publish(cache, NAME, folder)
    with pytest.raises(ModelLoadError, match="cannot be read"):
        load_predictor(NAME, device="cpu").predict([DOCUMENT])


def test_settings_that_nothing_reads_may_be_nested_deeply(copy, cache):
    change(copy / "config.json", more=nested(800))
    publish(cache, NAME, copy)
    assert load_predictor(NAME, device="cpu").predict([DOCUMENT])


def test_a_wrong_lexicon_is_one_sentence(parts, cache, tmp_path):
    folder = shutil.copytree(parts / "ranker", tmp_path / "ranker")
    (folder / "lexicon.json.gz").write_bytes(json_gz({"terms": 1}))
    write_sums(folder)
    publish(cache, NAME, folder)
    with pytest.raises(ModelLoadError, match="cannot be read"):
        load_predictor(NAME, device="cpu").predict([FRENCH])


def test_a_name_that_no_file_can_have_is_a_missing_file(copy, cache):
    with (copy / "SHA256SUMS").open("a", encoding="utf-8") as sums:
        sums.write(f"0000  {'x' * 5000}\n")
    publish(cache, NAME, copy)
    with pytest.raises(ModelLoadError, match=r"is damaged .x+… is missing") as caught:
        load_predictor(NAME, device="cpu").predict([DOCUMENT])
    assert len(str(caught.value)) < 300
    with pytest.raises(ModelLoadError, match="is missing; restore it"):
        load_predictor(copy, device="cpu").predict([DOCUMENT])


@pytest.mark.parametrize("base", [{"folder": "../elsewhere", "weights": "0"}, {"folder": "/"}, "..", None])
def test_a_bank_changes_its_own_model_only(copy, cache, base):
    change(copy / "bank" / "config.json", base=base)
    publish(cache, NAME, copy)
    with pytest.raises(ModelLoadError, match="points outside its own folder"):
        load_predictor(NAME, device="cpu").predict([DOCUMENT])


def test_a_model_stored_as_a_change_of_another_is_no_whole_one(parts, cache, tmp_path):
    for name in ("first", "second"):
        shutil.copytree(parts / name, tmp_path / name)
    store_as_change(tmp_path / "second", tmp_path / "first")
    publish(cache, NAME, tmp_path / "second")
    with pytest.raises(ModelLoadError, match="only its differences from another model"):
        load_predictor(NAME, device="cpu").predict([DOCUMENT])


def test_a_checkpoint_is_downloaded_whole_and_another_model_in_part(monkeypatch, cache):
    own = ["SHA256SUMS", "bank/SHA256SUMS", "bank/bank.safetensors", "config.json", "second.safetensors"]
    part = ["config.json", "kpdemo.toml", "model.safetensors"]
    foreign = [*part, "README.md", "onnx/config.json"]
    asked = []
    cache.mkdir()

    def downloaded(name, *, allow_patterns, local_files_only=False, **_):
        if local_files_only:
            raise download.EntryNotFoundError(name)
        asked.append(allow_patterns)
        return str(cache)

    monkeypatch.setattr(download, "snapshot_download", downloaded)
    for files, config in (
        (own, '{"kind": "simckp-extractor"}'),
        (foreign, '{"model_type": "bart"}'),
        ([*foreign, "SHA256SUMS"], '{"model_type": "bart"}'),
    ):
        (cache / "config.json").write_text(config, encoding="utf-8")
        siblings = [SimpleNamespace(rfilename=file) for file in files]
        monkeypatch.setattr(HfApi, "model_info", lambda *_, s=siblings, **__: SimpleNamespace(siblings=s))
        fetch(NAME)
    assert asked == [["config.json"], own, part, ["config.json"], part]


@pytest.fixture
def foreign(tmp_path) -> Path:
    """A model of Transformers with a file that is never downloaded."""
    folder = bart_generator(tmp_path / "bart", ", ")
    (folder / "onnx").mkdir()
    (folder / "onnx" / "config.json").write_text("{}", encoding="utf-8")
    (folder / "README.md").write_text("# bart", encoding="utf-8")
    return folder


def test_the_profile_of_a_model_of_the_hub_is_heeded(foreign, cache):
    (foreign / "kpdemo.toml").write_text('[profile]\ntask = "generation"\nseparators = [","]\n')
    publish(cache, NAME, foreign, lacking=["onnx/config.json", "README.md"])
    [prediction] = load_predictor(NAME, device="cpu").predict([TAUGHT])
    assert "drug discovery" in {one.text for one in prediction.absent}
    (model_folder(NAME) / "kpdemo.toml").write_text('[profile]\ntask = "guessing"\n')
    with pytest.raises(ConfigError, match=r"kpdemo\.toml"):
        load_predictor(NAME, device="cpu").predict([TAUGHT])


def test_the_sums_of_a_foreign_model_are_not_read(foreign, cache):
    (foreign / "SHA256SUMS").write_bytes(b"\xff\xfe")
    publish(cache, NAME, foreign, lacking=["onnx/config.json", "README.md"])
    assert load_predictor(NAME, device="cpu").predict([TAUGHT])
    assert model_identity(NAME) == model_identity(str(foreign)) == ""


def test_a_copy_without_its_profile_is_not_whole(foreign, cache):
    (foreign / "kpdemo.toml").write_text('[profile]\ntask = "generation"\nseparators = [","]\n')
    publish(cache, NAME, foreign, lacking=["onnx/config.json", "README.md", "kpdemo.toml"])
    assert on_this_machine(NAME) is None


def test_no_code_of_a_model_is_run_and_nobody_asked_for_it(foreign, cache, monkeypatch):
    (foreign / "code.py").write_text("raise SystemExit('run')", encoding="utf-8")
    config = {"model_type": "of its own", "auto_map": {"AutoConfig": "code.Config"}}
    (foreign / "config.json").write_text(json.dumps(config), encoding="utf-8")
    publish(cache, NAME, foreign)
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    with pytest.raises(ModelLoadError, match=f"'{NAME}' cannot be loaded"):
        load_predictor(NAME, device="cpu").predict([TAUGHT])
