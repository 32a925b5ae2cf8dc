"""Where a model is put together: nothing is replaced but a model, and nothing that it is made from."""

from __future__ import annotations

from pathlib import Path

import pytest

from kpdemo.errors import ConfigError
from kpdemo.training import run
from kpdemo.training.assembly import ModelAssembly, check_assembly


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


def test_an_output_is_refused_before_the_first_part_is_trained(runs):
    (runs / "config.toml").write_text(
        '[model]\nparts = ["extractor"]\n[extractor]\ntrain = [{ path = "none.jsonl" }]\n'
        f'validation = {{ path = "none.jsonl" }}\nloop.documents = 1\noutput = "{runs}/extractor"\n'
    )
    with pytest.raises(ConfigError, match="which it is made from: give another --output"):
        run("all", runs / "config.toml", output=runs, overrides={})
