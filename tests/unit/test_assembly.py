"""Where a model is put together: nothing is replaced but a model, and nothing that it is made from."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from kpdemo.errors import ConfigError
from kpdemo.identity import CARD
from kpdemo.simckp.calibration import Calibration
from kpdemo.simckp.checkpoint import save_checkpoint
from kpdemo.simckp.encoder import load_backbone
from kpdemo.simckp.extractor import ContrastiveExtractor, ExtractorConfig, Selection
from kpdemo.simckp.predictor import load_system
from kpdemo.training import run
from kpdemo.training.assembly import ModelAssembly, assemble, check_assembly
from kpdemo.training.data import Source
from kpdemo.training.fine_tuning import ExtractorTraining
from kpdemo.training.loop import LoopConfig, note_training
from tests.tiny import tiny_bert


@pytest.fixture
def runs(tmp_path) -> Path:
    """A folder with two runs, the checkpoint of one, and a model."""
    for name in ("extractor/checkpoint", "model", "empty"):
        (tmp_path / "runs" / name).mkdir(parents=True)
    for name in ("extractor/checkpoint", "model"):
        stored = '{"kind": "simckp-extractor", "name": "papers"}'
        (tmp_path / "runs" / name / "config.json").write_text(stored)
    (tmp_path / "runs" / "notes.txt").write_text("mine")
    return tmp_path / "runs"


def check(output: Path, runs: Path, **given: Path) -> None:
    config = ModelAssembly(("extractor",), output=output, **given)
    check_assembly(config, {"extractor": runs / "extractor" / "checkpoint"})


@pytest.mark.parametrize("output", [".", "..", "extractor", "extractor/checkpoint"])
def test_an_output_that_holds_a_part_is_refused(runs, monkeypatch, output):
    monkeypatch.chdir(runs)
    with pytest.raises(ConfigError, match="including extractor/checkpoint, which it is made from: give"):
        check(Path(output), Path())


def test_an_output_that_is_the_base_is_refused(runs):
    with pytest.raises(ConfigError, match=r"including .*model, which it is made from: give another"):
        check(runs / "model", runs, base=runs / "model")


def test_an_output_that_holds_the_opening_of_the_card_is_refused(runs):
    (runs / "model" / "opening.md").write_text("# Mine")
    with pytest.raises(ConfigError, match=r"including .*opening\.md, which it is made from: give another"):
        check(runs / "model", runs, card=runs / "model" / "opening.md")


@pytest.mark.parametrize("output", ["other", "other/notes.txt", "link"])
def test_what_is_no_model_is_not_replaced(runs, output):
    (runs / "other").mkdir()
    (runs / "other" / "notes.txt").write_text("mine")
    (runs / "other" / "SHA256SUMS").write_text("of what was downloaded")
    (runs / "link").symlink_to("other")
    with pytest.raises(ConfigError, match=f"{output}, which is neither a model nor an empty folder: give"):
        check(runs / output, runs)


@pytest.mark.parametrize("output", ["model", "empty", "new"])
def test_a_model_may_be_replaced_and_another_folder_be_filled(runs, output):
    check(runs / output, runs)


def test_a_model_of_another_name_is_not_replaced(runs):
    (runs / "model" / "config.json").write_text('{"kind": "simckp-extractor", "name": "theses"}')
    refusal = r"The model 'papers' would replace the model 'theses' in .*model: give another --output, or"
    with pytest.raises(ConfigError, match=refusal):
        check(runs / "model", runs)
    section = '[extractor]\nname = "papers"\ntrain = [{ path = "none.jsonl" }]\nloop.documents = 1\n'
    (runs / "config.toml").write_text(
        f'[model]\nparts = ["extractor"]\n{section}validation = {{ path = "none.jsonl" }}\n'
    )
    with pytest.raises(ConfigError, match=refusal):  # before the part is trained
        run("all", runs / "config.toml", output=runs / "model", overrides={})


def stored(folder: Path, training: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    described = {"kind": "simckp-extractor", "name": "papers", "training": training}
    (folder / "config.json").write_text(json.dumps(described))
    return folder


def test_a_model_of_the_same_name_but_of_another_training_is_not_replaced(tmp_path):
    model = stored(tmp_path / "model", "first")
    stored(model / "bank", "second")
    parts = {"extractor": stored(tmp_path / "one", "first"), "bank": stored(tmp_path / "two", "second")}
    config = ModelAssembly(tuple(parts), output=model)
    check_assembly(config, parts)
    check_assembly(config, parts | {"bank": tmp_path / "still to be trained"})
    with pytest.raises(ConfigError, match=r"model, whose extractor is of another training: give another"):
        check_assembly(config, parts | {"extractor": parts["bank"]})
    with pytest.raises(ConfigError, match=r"model, whose bank is of another training: give another"):
        check_assembly(config, parts | {"bank": parts["extractor"]})
    with pytest.raises(ConfigError, match=r"model, whose bank is of another training: give another"):
        check_assembly(config, {"extractor": parts["extractor"]})  # the bank would be lost


def test_a_longer_run_is_the_same_training_and_one_on_other_data_another(tmp_path):
    (tmp_path / "docs.jsonl").write_text("one\n")
    source, loop = Source(Path("docs.jsonl")), LoopConfig(documents=8)
    settings = ExtractorTraining((source,), source, loop, data=tmp_path)

    def noted(settings: ExtractorTraining, name: str = "checkpoint") -> str:
        note_training(stored(tmp_path / name, ""), settings)
        return json.loads((tmp_path / name / "config.json").read_text())["training"]

    first = noted(settings)
    assert noted(replace(settings, name="b", loop=replace(loop, documents=9, patience=2))) == first
    assert noted(replace(settings, loop=replace(loop, seed=1))) != first
    assert noted(replace(settings, learning_rate=1.0)) != first
    on = replace(settings, start=tmp_path / "checkpoint")
    builds_on_it = noted(on, "another")
    (tmp_path / "docs.jsonl").write_text("two\n")
    assert noted(settings) != first
    (tmp_path / "docs.jsonl").write_text("one\n")
    assert noted(on, "another") != builds_on_it


def test_a_model_with_the_extractor_of_another_has_a_name_of_its_own(tmp_path):
    encoder, tokenizer = load_backbone(str(tiny_bert(tmp_path / "backbone")))
    module = ContrastiveExtractor(encoder, ExtractorConfig(window=32, overlap=8))
    theirs, selection = tmp_path / "theirs", Selection(0.5, Calibration(1.0, 0.0))
    save_checkpoint(theirs, module, tokenizer, selection, name="theirs", card="# theirs: made long ago\n")
    for config, name in (
        (ModelAssembly((), tmp_path / "mine", extractor=theirs), "mine"),
        (ModelAssembly((), tmp_path / "folder", extractor=theirs, name="named"), "named"),
        (ModelAssembly((), tmp_path / "trained"), "theirs"),
        (ModelAssembly((), tmp_path / "renamed", name="own"), "own"),
    ):
        assemble(config, {"extractor": theirs})
        assemble(config, {"extractor": theirs})  # replaces what has its name
        assert load_system(config.output, device="cpu").name == name
    card = (tmp_path / "mine" / CARD).read_text(encoding="utf-8")
    assert card.startswith("# mine: the extractor of theirs with other parts\n")
    assert "\n## theirs: made long ago\n" in card
    renamed = (tmp_path / "renamed" / CARD).read_text(encoding="utf-8")
    assert renamed == "# own: keyphrases of English texts\n\n## theirs: made long ago\n"
    assert (tmp_path / "trained" / CARD).read_text(encoding="utf-8") == "# theirs: made long ago\n"
    other = ModelAssembly((), tmp_path / "mine", extractor=theirs, name="other")
    with pytest.raises(ConfigError, match="The model 'other' would replace the model 'mine' in"):
        assemble(other, {"extractor": theirs})


@pytest.mark.parametrize("given", ["default", "runs/own/extractor", "bank"])
def test_an_extractor_that_is_none_is_named_with_its_setting(tmp_path, monkeypatch, given):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bank").mkdir()
    (tmp_path / "bank" / "config.json").write_text('{"kind": "simckp-bank", "name": "papers"}')
    (tmp_path / "config.toml").write_text(f'[model]\nparts = []\nextractor = "{given}"\n')
    told = f"The `extractor` of [model], {given}, is not a model with an extractor or generator that `train`"
    with pytest.raises(ConfigError, match=re.escape(told)):
        run("model", Path("config.toml"), output=None, overrides={})


def test_a_bank_that_is_none_is_named_with_its_setting(runs):
    (runs / "config.toml").write_text(
        f'[model]\nparts = ["bank"]\noutput = "{runs}/new"\n'
        f'extractor = "{runs}/model"\nbank = "{runs}/model"\n'
    )
    with pytest.raises(
        ConfigError, match=r"The `bank` of \[model\], .*model, is not a model with a bank that"
    ):
        run("model", runs / "config.toml", output=None, overrides={})


def test_an_output_is_refused_before_the_first_part_is_trained(runs):
    (runs / "config.toml").write_text(
        '[model]\nparts = ["extractor"]\n[extractor]\ntrain = [{ path = "none.jsonl" }]\n'
        f'validation = {{ path = "none.jsonl" }}\nloop.documents = 1\noutput = "{runs}/extractor"\n'
    )
    with pytest.raises(ConfigError, match="which it is made from: give another --output"):
        run("all", runs / "config.toml", output=runs, overrides={})
