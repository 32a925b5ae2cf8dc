"""Settings given on the command line: which part takes them, and which are refused before training begins."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import get_type_hints

import pytest
import torch
from huggingface_hub import HfApi
from huggingface_hub.errors import LocalEntryNotFoundError

from kpdemo.cli.options import parse_setting
from kpdemo.cli.train import EXAMPLES, train
from kpdemo.config import DEFAULT_CONFIG, load_section
from kpdemo.errors import ConfigError, ModelLoadError
from kpdemo.simckp import encoder as backbone
from kpdemo.simckp.encoder import check_reading, load_backbone
from kpdemo.simckp.hub import download as hub_download
from kpdemo.training import PARTS as ALL_PARTS
from kpdemo.training import run
from kpdemo.training.data import Source
from kpdemo.training.frequency import FrequencyConfig
from kpdemo.training.parts import RECIPES, settings_of, shared_overrides
from tests.tiny import tiny_bert, tiny_t5

PARTS = ("tagger", "frequency", "extractor", "bank")


def test_each_part_takes_the_settings_that_it_has():
    taken = shared_overrides(DEFAULT_CONFIG, PARTS, {"data": "/texts", "loop.seed": "7", "passes": "2"})
    both = {"data": "/texts", "loop.seed": "7"}
    assert taken == {
        "tagger": {"passes": "2"},
        "frequency": {"data": "/texts"},
        "extractor": both,
        "bank": both,
    }


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            {"sed": "7"},
            "None of the parts tagger, frequency, extractor, ensemble, bank, profiles, candidate-ranker has "
            "a setting 'sed'",
        ),
        ({"loop.sed": "7"}, r"\[extractor\] has no setting 'loop.sed'"),
        ({"minimum": "many"}, r"\[bank\] minimum"),
        ({"output": "x"}, "its own folder"),
    ],
)
def test_a_wrong_setting_is_refused_before_the_first_part_is_trained(monkeypatch, overrides, message):
    monkeypatch.setattr("kpdemo.training._RUNS", {})
    with pytest.raises(ConfigError, match=message):
        run("all", DEFAULT_CONFIG, output=None, overrides=overrides)


def test_a_source_whose_documents_are_taken_once_is_not_repeated():
    told = r"each document once, not 3 times: leave out `repeat` of docs\.jsonl"
    with pytest.raises(ConfigError, match=told):
        FrequencyConfig(train=(Source(Path("docs.jsonl"), repeat=3),))


def test_a_checkpoint_that_no_part_makes_is_missed_before_the_first_part_is_trained(monkeypatch, tmp_path):
    trained = []
    runs = {
        part: lambda path, overrides, part=part: trained.append(part)
        for part in (*PARTS, "ensemble", "profiles", "candidate-ranker")
    }
    monkeypatch.setattr("kpdemo.training._RUNS", runs)
    monkeypatch.setattr(backbone, "check_backbone", lambda name: None)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"The card configs/default_card\.md cannot be read"):
        run("all", DEFAULT_CONFIG, output=None, overrides={})
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "default_card.md").write_text("# A card")
    with pytest.raises(ConfigError, match="ensemble needs the checkpoint runs/second/checkpoint"):
        run("all", DEFAULT_CONFIG, output=None, overrides={})
    assert trained == []
    (tmp_path / "there").mkdir()
    with pytest.raises(
        ConfigError, match="No checkpoint at runs/candidate-ranker/checkpoint"
    ):  # all went before
        run("all", DEFAULT_CONFIG, output=None, overrides={"second": str(tmp_path / "there")})
    assert trained == ["tagger", "frequency", "extractor", "ensemble", "bank", "profiles", "candidate-ranker"]


def test_an_encoder_that_is_missing_is_told_before_the_first_part_is_trained(monkeypatch, tmp_path):
    trained = []
    parts = ("extractor", "bank", "reranker")
    runs = {part: lambda path, overrides, part=part: trained.append(part) for part in parts}
    monkeypatch.setattr("kpdemo.training._RUNS", runs)
    monkeypatch.setattr(backbone, "find_spec", lambda package: None)
    folder = tiny_bert(tmp_path / "encoder")

    def train(bank: str, *, shared: str = "true") -> None:
        source = 'train = []\nvalidation = { path = "docs.jsonl" }\nloop = { documents = 8 }\n'
        (tmp_path / "config.toml").write_text(
            f'[model]\nparts = {list(parts)}\n[extractor]\n{source}backbone = "{folder}"\n'
            f'[bank]\n{source}terms = []\noutput = "{tmp_path}/bank"\nbackbone = "{bank}"\n'
            f'[reranker]\n{source}bank = "{tmp_path}/bank/checkpoint"\nshare_encoder = {shared}\n',
            encoding="utf-8",
        )
        run("all", tmp_path / "config.toml", output=None, overrides={})

    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelLoadError, match="no folder 'nobody/nothing' nor a model of that name"):
        train("nobody/nothing")
    for own in ({"bank": "all-MiniLM-L6-v2"}, {"bank": str(folder), "shared": "false"}):
        with pytest.raises(ModelLoadError, match="'all-MiniLM-L6-v2' is not installed: run `make"):
            train(**own)
    assert trained == []
    with pytest.raises(ConfigError, match="No checkpoint at runs/extractor"):  # all parts went before
        train(str(folder))
    assert trained == [*parts]


def test_an_encoder_of_the_hub_is_looked_up_and_not_fetched(monkeypatch):
    def here(name, *, local_files_only=False, **_):
        assert local_files_only
        raise LocalEntryNotFoundError(name)

    monkeypatch.setattr(hub_download, "snapshot_download", here)
    monkeypatch.setattr(HfApi, "model_info", lambda *_, **__: None)
    backbone.check_backbone("somebody/something")


def test_the_examples_of_the_help_name_settings_that_exist():
    calls = re.findall(r"train (\w+) --config (\S+)(.*)", EXAMPLES)
    assert [part for part, _, _ in calls] == ["all", "extractor"]
    for part, config, options in calls:
        settings = dict(parse_setting(text) for text in re.findall(r"--set (\S+)", options))
        path = DEFAULT_CONFIG.parents[1] / Path(config)
        if part == "all":
            shared_overrides(path, PARTS, settings)
        else:
            load_section(path, part, settings_of(part), settings)


DOCUMENT = '{"text": "We compare graph kernels.", "keyphrases": ["graph kernels", "molecules"]}\n'


@pytest.mark.parametrize(
    ("part", "setting"),
    [
        ("extractor", "model.window"),
        ("labeller", "model.window"),
        ("generator", "model.window"),
        ("one2seq", "model.window"),
        ("bank", "length"),
    ],
)
def test_more_tokens_than_the_encoder_has_places_for_are_refused(tmp_path, part, setting):
    tiny_bert(tmp_path / "backbone")
    (tmp_path / "docs.jsonl").write_text(DOCUMENT, encoding="utf-8")
    source = '{ path = "docs.jsonl" }'
    terms = f"terms = [{source}]\nminimum = 1\n" if part == "bank" else ""
    (tmp_path / "config.toml").write_text(
        f'[{part}]\ndata = "{tmp_path}"\ncache = "{tmp_path}/cache"\nbackbone = "{tmp_path}/backbone"\n'
        f'device = "cpu"\ntrain = [{source}]\nvalidation = {source}\nloop = {{ documents = 8 }}\n{terms}',
        encoding="utf-8",
    )
    with pytest.raises(ConfigError, match=f"at most 128 tokens: lower `{setting}`, which is 129"):
        run(part, tmp_path / "config.toml", output=tmp_path / "run", overrides={setting: "129"})


def test_a_labeller_trains_the_layers_that_it_is_told_to(tmp_path):
    encoder, _ = load_backbone(str(tiny_bert(tmp_path / "backbone")))
    rows = [
        {"text": f"We compare graph kernels with words {n}.", "keyphrases": ["graph kernels"]}
        for n in range(8)
    ]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (tmp_path / "config.toml").write_text(
        f'[labeller]\ndata = "{tmp_path}"\ncache = "{tmp_path}/cache"\nbackbone = "{tmp_path}/backbone"\n'
        'device = "cpu"\ntrain = [{ path = "docs.jsonl" }]\nvalidation = { path = "docs.jsonl" }\n'
        "loop = { documents = 8, batch_size = 8 }\nmodel = { window = 64, overlap = 16 }\n"
        "learning_rate = 0.1\n",
        encoding="utf-8",
    )
    moved = {}
    for layers in ("0", "1"):
        run("labeller", tmp_path / "config.toml", output=tmp_path / layers, overrides={"top_layers": layers})
        trained = torch.load(tmp_path / layers / "best.pt", weights_only=True)
        moved[layers] = [
            name
            for name, value in encoder.state_dict().items()
            if not torch.equal(value, trained[f"encoder.{name}"])
        ]
    assert moved["0"] == []
    assert moved["1"]
    assert all(name.startswith("encoder.layer.0.") for name in moved["1"])


def test_relative_positions_have_no_end(tmp_path):
    check_reading(load_backbone(str(tiny_t5(tmp_path)))[0], 100_000, "model.window")


def test_the_help_names_every_part():
    told = re.findall(r"[\w-]+", get_type_hints(train, include_extras=True)["part"].__metadata__[0].help)
    assert set(RECIPES) < set(ALL_PARTS) <= set(told)


@dataclass(frozen=True)
class Section:
    train: str
    seeds: tuple[int, ...] = ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"\[it\] has no setting 'train': add it\.$"),
        ("train = 'x'\nseeds = 1", "seeds: .*a valid list, not 1"),
    ],
)
def test_a_missing_setting_and_one_that_is_no_list_are_explained(tmp_path, text, message):
    (tmp_path / "own.toml").write_text(f"[it]\n{text}\n")
    with pytest.raises(ConfigError, match=message):
        load_section(tmp_path / "own.toml", "it", Section)
