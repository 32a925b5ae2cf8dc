"""docs/training.md, "Your own model": its commands lead from a file of documents to models that are used."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

import kpdemo
from kpdemo.cli import main
from kpdemo.identity import CARD
from kpdemo.simckp.calibration import Calibration
from kpdemo.simckp.checkpoint import save_checkpoint
from kpdemo.simckp.encoder import load_backbone
from kpdemo.simckp.extractor import ContrastiveExtractor, ExtractorConfig, Selection
from kpdemo.training.parts import settings_of
from tests.tiny import tiny_bert

ROOT = Path(__file__).parents[2]
DEFAULT = ROOT / "kpdemo" / "assets" / "default"
TOPICS = {
    "graph kernels": "drug discovery",
    "neural networks": "machine learning",
    "boundary methods": "electromagnetism",
    "scalar potential": "physics",
}


def documented_commands() -> list[str]:
    page = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
    [section] = re.findall(r"^## Your own model\n(.*?)^## ", page, re.MULTILINE | re.DOTALL)
    return [
        line
        for block in re.findall(r"```bash\n(.*?)```", section, re.DOTALL)
        for line in block.replace("\\\n", " ").splitlines()
        if not line.startswith(("make", "source"))
    ]


def smaller(part: str, folder: Path) -> list[str]:
    """Options for a tiny encoder and a short run, where the part has them."""
    wanted = {
        "backbone": folder / "backbone",
        "start": folder / "start",
        "loop.documents": 64,
        "device": "cpu",
    }
    if part == "model":
        return []
    known = wanted if part == "all" else settings_of(part).__dataclass_fields__
    return [
        word
        for key, value in wanted.items()
        if key.split(".")[0] in known or part == "all"
        for word in ("--set", f"{key}={value}")
    ]


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """What the commands find: documents, a tiny encoder with an extractor, the files of this repository."""
    topics = list(TOPICS.items())
    rows = [
        {
            "id": str(number),
            "title": f"Case {number}",
            "abstract": f"We compare {phrase} and molecules in case {number}.",
            "keyphrases": [phrase, topic],
        }
        for number in range(80)
        for phrase, topic in [topics[number % len(topics)]]
    ]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    for name in ("configs", "docs", "kpdemo"):
        (tmp_path / name).symlink_to(ROOT / name)
    encoder, tokenizer = load_backbone(str(tiny_bert(tmp_path / "backbone", width=128, positions=256)))
    module = ContrastiveExtractor(encoder, ExtractorConfig(temperature=0.05, prior=True))
    selection = Selection(0.5, Calibration(1.0, 0.0))
    save_checkpoint(tmp_path / "start", module, tokenizer, selection, name="start", card="# Start\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_its_commands_lead_to_models(folder, capsys):
    for line in documented_commands():
        words = shlex.split(line, comments=True)
        if words[:3] != ["python", "-m", "kpdemo"]:
            subprocess.run(line, shell=True, check=True)
            continue
        more = smaller(words[4], folder) if words[3] == "train" else ["--device", "cpu"]
        assert main([*words[3:], *more]) == 0, (line, capsys.readouterr().err)
    counts = [len((folder / f"data/own/{name}.jsonl").read_text().splitlines()) for name in ("train", "test")]
    assert counts == [64, 8]

    text = ["We compare graph kernels and molecules in case 3."]
    for name in ("model", "with_default"):
        [prediction] = kpdemo.load_predictor(folder / "runs/own" / name, device="cpu").predict(text, top_k=4)
        proposed = {one.text for one in (*prediction.absent, *prediction.doubtful)}
        assert proposed
        assert proposed <= {*TOPICS.values(), *TOPICS}
    [theirs] = kpdemo.load_predictor(DEFAULT, device="cpu").predict(text, top_k=4)
    assert prediction.present == theirs.present
    own, with_bank = (
        kpdemo.load_predictor(folder / "runs/own" / name, device="cpu").predict(text, top_k=4)[0]
        for name in ("model", "with_bank")
    )
    assert with_bank.present == own.present
    assert with_bank.absent == theirs.absent
    card = (folder / "runs/own/with_default" / CARD).read_text(encoding="utf-8")
    assert card.startswith("# with_default: the extractor of default with other parts")


def test_a_missing_file_is_named_with_the_form_of_its_lines(folder, capsys):
    assert main(["train", "extractor", "--config", "configs/own.toml", "--set", "data=nowhere"]) == 2
    told = capsys.readouterr().err
    assert "No training data at nowhere/train.jsonl" in told
    assert '{"title": "…", "abstract": "…", "keyphrases": ["…", "…"]}' in told
