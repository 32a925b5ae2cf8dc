"""The whole of `train extractor`, on a tiny encoder and made-up documents."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import kpdemo
from kpdemo.cli import main
from tests.tiny import tiny_bart, tiny_bert

pytestmark = pytest.mark.slow

CONFIG = """
[extractor]
name = "tiny"
data = "{folder}"
cache = "{folder}/cache"
output = "{folder}/run"
backbone = "{folder}/backbone"
device = "cpu"
learning_rate = 1e-3
head_learning_rate = 1e-2
freeze_embeddings = false

[extractor.model]
window = 64
overlap = 16

[extractor.loop]
documents = 400
batch_size = 8
evaluate_every = 200
log_every = 10

[[extractor.train]]
path = "train.jsonl"
where = {{ kind = "good" }}
skip_ids = "skip"

[extractor.validation]
path = "valid.jsonl"
"""


def write_documents(path: Path, count: int) -> None:
    """Documents whose keyphrases are always the graph and molecule phrases, never the rest."""
    gold = ["graph kernels", "neural networks", "boundary integral equation", "scalar potential"]
    rows = []
    for number in range(count):
        one, two = gold[number % 4], gold[(number + 1) % 4]
        text = f"We compare {one} in case {number}. The methods use {two} and several words of documents."
        row = {"id": str(number), "title": "", "abstract": text, "keyphrases": [one, two], "kind": "good"}
        rows += [row, row | {"id": f"skip{number}", "keyphrases": ["documents"]}, row | {"kind": "bad"}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def in_a_process(arguments: list[str]) -> int:
    """As `main`, in a process that has loaded nothing before."""
    return subprocess.run([sys.executable, "-m", "kpdemo", *arguments], check=False).returncode


@pytest.mark.parametrize(("backbone", "run"), [(tiny_bert, in_a_process), (tiny_bart, main)])
def test_a_model_is_trained_stored_and_used(tmp_path, backbone, run):
    backbone(tmp_path / "backbone")
    write_documents(tmp_path / "train.jsonl", 100)
    write_documents(tmp_path / "valid.jsonl", 12)
    (tmp_path / "config.toml").write_text(CONFIG.format(folder=tmp_path), encoding="utf-8")
    assert run(["train", "extractor", "--config", str(tmp_path / "config.toml")]) == 0

    folder = tmp_path / "run" / "checkpoint"
    assert "400 in 52 steps of 8" in (folder / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert "100 |" in (folder / "MODEL_CARD.md").read_text(encoding="utf-8")  # neither "bad" nor skipped ones
    losses = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    losses = [line["loss"] for line in losses if "loss" in line]
    assert losses[-1] < losses[0] / 2

    [prediction] = kpdemo.load_predictor(folder, device="cpu").predict(
        ["We compare scalar potential in case 7. The methods use graph kernels and several words."],
        top_k=2,
    )
    assert {keyphrase.text for keyphrase in prediction.present} == {"scalar potential", "graph kernels"}


def test_a_wrong_setting_is_named(tmp_path, capsys):
    (tmp_path / "config.toml").write_text(CONFIG.format(folder=tmp_path), encoding="utf-8")
    options = ["--config", str(tmp_path / "config.toml"), "--set", "loop.stepps=3"]
    assert main(["train", "extractor", *options]) == 2
    assert "loop.stepps" in capsys.readouterr().err


def trained_by(processes: int, folder: Path, *more: str) -> int:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    command += ["-m", "kpdemo", "train", "extractor", "--config", str(folder / "config.toml"), *more]
    return subprocess.run(command, check=False).returncode


def logged(folder: Path, name: str) -> list[float]:
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    return [line[name] for line in lines if name in line]


def test_two_processes_train_what_one_does(tmp_path):
    tiny_bert(tmp_path / "backbone")
    write_documents(tmp_path / "train.jsonl", 100)
    write_documents(tmp_path / "valid.jsonl", 12)
    (tmp_path / "config.toml").write_text(CONFIG.format(folder=tmp_path), encoding="utf-8")
    slowly = ["--set", "learning_rate=1e-4", "--set", "head_learning_rate=1e-3"]
    for processes in (1, 2):
        assert trained_by(processes, tmp_path, *slowly, "--output", str(tmp_path / f"by{processes}")) == 0
    one, two = tmp_path / "by1", tmp_path / "by2"
    losses = logged(one, "loss")
    assert losses[-1] < losses[0]
    assert logged(two, "loss") == pytest.approx(losses, rel=0.02)
    assert logged(two, "F1@M") == pytest.approx(logged(one, "F1@M"), abs=0.02)
    assert (two / "checkpoint" / "SHA256SUMS").is_file()
    assert " 2 × 1 " in (two / "checkpoint" / "MODEL_CARD.md").read_text(encoding="utf-8")
    # A run of two goes on in one, and the other way round.
    for processes, folder in ((1, two), (2, one)):
        more = ["--set", "loop.documents=480", "--output", str(folder)]
        assert trained_by(processes, tmp_path, *slowly, *more) == 0
    assert logged(two, "loss") == pytest.approx(logged(one, "loss"), rel=0.05)


def test_several_processes_train_only_what_they_can_share(tmp_path, capfd):
    (tmp_path / "config.toml").write_text("", encoding="utf-8")
    environment = os.environ | {"WORLD_SIZE": "2"}
    command = [sys.executable, "-m", "kpdemo", "train", "tagger", "--config", str(tmp_path / "config.toml")]
    assert subprocess.run(command, env=environment, check=False).returncode == 1
    assert "One process trains 'tagger': start it without torchrun" in capfd.readouterr().err
