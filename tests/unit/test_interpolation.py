"""Weights between those of a start and the trained ones."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file
from torch import nn

from kpdemo.errors import ConfigError, TrainingError
from kpdemo.simckp.checkpoint import WEIGHTS
from kpdemo.training import run
from kpdemo.training.data import Source
from kpdemo.training.fine_tuning import ExtractorTraining, copied_weights, interpolate
from kpdemo.training.loop import LoopConfig
from tests.tiny import tiny_bert


@given(st.floats(0, 1))
def test_the_share_nearest_to_the_optimum_is_kept_with_its_weights(optimum):
    module = nn.Linear(1, 1)
    nn.init.constant_(module.weight, 2.0)
    start = copied_weights(module)
    nn.init.constant_(module.weight, 6.0)
    shares = [0.0, 0.25, 0.5, 0.75, 1.0]
    share = interpolate(module, start, shares, lambda: -abs(module.weight.item() - (2 + 4 * optimum)))
    assert abs(share - optimum) == pytest.approx(min(abs(one - optimum) for one in shares))
    assert module.weight.item() == pytest.approx(2 + 4 * share)
    assert start["weight"].item() == 2  # the start is a copy


def test_a_run_goes_on_from_a_start_and_keeps_a_part_of_it(tmp_path):
    torch.manual_seed(0)
    tiny_bert(tmp_path / "backbone")
    gold = ("graph kernels", "neural networks")
    rows = [
        {"abstract": f"We compare {gold[number % 2]} with words.", "keyphrases": [gold[number % 2]]}
        for number in range(16)
    ]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    config = tmp_path / "config.toml"
    config.write_text(
        f"""[extractor]
data = "{tmp_path}"
cache = "{tmp_path}/cache"
backbone = "{tmp_path}/backbone"
device = "cpu"
train = [{{ path = "docs.jsonl" }}]
validation = {{ path = "docs.jsonl" }}
model = {{ window = 64, overlap = 16 }}
loop = {{ documents = 32, evaluate_every = 32 }}
""",
        encoding="utf-8",
    )
    first, second = tmp_path / "first", tmp_path / "second"
    run("extractor", config, output=first, overrides={})
    overrides = {"start": str(first / "checkpoint"), "shares": "[0.5]", "loop.seed": "7"}
    run("extractor", config, output=second, overrides=overrides)
    trained = torch.load(second / "best.pt", weights_only=True)
    began, mixed = weights(first), weights(second)
    assert began.keys() == mixed.keys()
    for name, value in mixed.items():
        torch.testing.assert_close(value, (began[name] + trained[name]) / 2, atol=2e-3, rtol=2e-3)
    card = (second / "checkpoint" / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert "By SimCKP's own rule, one\nthreshold for all documents, F1@M is" in card
    assert f"0.5 of them and 0.5 of {first / 'checkpoint'}" in card
    run("extractor", config, output=second, overrides=overrides)  # is over already
    shutil.rmtree(first)
    run("extractor", config, output=first, overrides={"loop.seed": "8"})
    with pytest.raises(TrainingError, match="other settings"):  # whose start is another one by now
        run("extractor", config, output=second, overrides=overrides)


def test_shares_without_a_start_are_refused():
    source = Source(Path("docs.jsonl"))
    with pytest.raises(ConfigError, match="shares"):
        ExtractorTraining(train=(source,), validation=source, loop=LoopConfig(8), shares=(0.5,))


def weights(run_folder: Path) -> dict[str, torch.Tensor]:
    return {name: value.float() for name, value in load_file(run_folder / "checkpoint" / WEIGHTS).items()}
