"""One training at a time is in a folder, from its first batch until its checkpoint is written."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from kpdemo.errors import TrainingError
from kpdemo.training import run
from kpdemo.training.loop import memory_errors
from kpdemo.training.parts import Recipe


@dataclass(frozen=True)
class Settings:
    output: Path
    data: Path = Path()
    device: str = "cpu"


def test_a_second_training_is_refused_until_the_first_has_written_its_checkpoint(tmp_path, monkeypatch):
    config = tmp_path / "config.toml"
    config.write_text(f'[one2seq]\noutput = "{tmp_path}/run"\n', encoding="utf-8")
    passed = []
    busy = f"^Another training run is writing to {tmp_path}/run: wait until"

    def second(at: str) -> None:
        with pytest.raises(TrainingError, match=busy):
            run("one2seq", config, output=None, overrides={})
        passed.append(at)

    recipe = Recipe(
        Settings,
        train=lambda config, device: second("train"),
        card=lambda config, trained: second("card"),
        save=lambda folder, config, trained, card: second("save"),
    )
    monkeypatch.setattr("kpdemo.training.RECIPES", {"one2seq": lambda: recipe})
    for _ in range(2):  # the second time nobody is in it any more
        run("one2seq", config, output=None, overrides={})
    assert passed == ["train", "card", "save"] * 2


@pytest.mark.parametrize("part", ["tagger", "frequency", "extractor"])
def test_an_output_that_cannot_be_written_is_told_before_the_training(tmp_path, part):
    (tmp_path / "docs.jsonl").write_text("no document, and no sentence either\n", encoding="utf-8")
    source = f'"{tmp_path}/docs.jsonl"' if part == "tagger" else f'{{ path = "{tmp_path}/docs.jsonl" }}'
    more = f"validation = {source}\nloop.documents = 1\n" if part == "extractor" else ""
    (tmp_path / "config.toml").write_text(f"[{part}]\ntrain = [{source}]\n{more}", encoding="utf-8")
    with pytest.raises(OSError, match=r"docs\.jsonl"):
        run(part, tmp_path / "config.toml", output=tmp_path / "docs.jsonl" / "below", overrides={})


def test_too_little_memory_is_a_sentence_and_another_error_stays_as_it_is():
    with pytest.raises(TrainingError, match="needs more memory than there is"), memory_errors():
        torch.empty(2**55)
    with pytest.raises(RuntimeError, match="shapes"), memory_errors():
        torch.ones(2, 3) @ torch.ones(2, 3)


LOGGED = """
import logging
from pathlib import Path

from kpdemo.errors import ConfigError
from kpdemo.training import run

try:
    run("nothing", Path(), output=None, overrides={})
except ConfigError:
    for name in ("kpdemo.training.loop", "faiss.loader"):
        logging.getLogger(name).info("told by %s", name)
        logging.getLogger(name).warning("a warning of %s", name)
"""


def test_of_other_libraries_training_shows_warnings_alone():
    call = [sys.executable, "-c", LOGGED]
    shown = subprocess.run(call, capture_output=True, check=True, text=True).stderr.splitlines()
    assert shown == [
        "told by kpdemo.training.loop",
        "a warning of kpdemo.training.loop",
        "a warning of faiss.loader",
    ]
