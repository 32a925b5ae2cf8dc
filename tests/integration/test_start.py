"""`python app.py` with the model that ships: the pages and the model begin and end together, and quietly."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

import app
from kpdemo.ui.predict import load_examples
from tests.fakes import USUAL_OPTIONS
from tests.processes import PATIENCE


@pytest.fixture
def running(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The program, and the address that it has printed."""
    command = [sys.executable, app.__file__, "--port", "0", "--device", "cpu"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, **pipes) as process:
        try:
            line = process.stdout.readline()
            assert line.startswith("Serving on http://127.0.0.1:")
            assert line.endswith(" – Ctrl+C stops.\n")
            yield process, line.split()[2]
        finally:
            process.kill()


def predict(address: str, text: str, model: str) -> str:
    """What the button answers."""
    call = f"{address}/gradio_api/call/predict"
    body = json.dumps({"data": [text, model, *USUAL_OPTIONS]}).encode()
    with urlopen(Request(call, body, {"Content-Type": "application/json"}), timeout=PATIENCE) as answer:
        event = json.load(answer)["event_id"]
    with urlopen(f"{call}/{event}", timeout=PATIENCE) as answer:
        return answer.read().decode()


@pytest.mark.parametrize(
    "end",
    [
        signal.SIGINT,
        *(pytest.param(end, marks=pytest.mark.slow) for end in (signal.SIGKILL, signal.SIGTERM)),
    ],
)
def test_the_app_answers_with_the_default_model_which_ends_with_it(running, tmp_path, end):
    process, address = running
    set_up = process.stdout.readline().split()[-1]
    assert set_up.startswith(f"{address}/set-up/")
    with urlopen(set_up, timeout=PATIENCE) as page:
        assert "administrator" in page.read().decode()
    example = load_examples()[0]
    assert "<mark " in predict(address, example.text, "default")
    assert "<mark " in predict(address, example.text, "first")
    with urlopen(f"{address}/healthz", timeout=PATIENCE) as answer:
        health = json.load(answer)
    assert (health["status"], health["model"]) == ("ok", "ready")
    assert (tmp_path / "data" / "kpdemo.db").is_file()
    with urlopen(f"{address}/gradio_api/heartbeat/reader", timeout=PATIENCE):  # as an open page does
        process.send_signal(end)
        output, errors = process.communicate(timeout=PATIENCE)
    assert (output, errors) == ("", "")
    if end is not signal.SIGKILL:
        assert process.returncode == 0
        assert list(tmp_path.glob("kpdemo-*")) == [], "what was uploaded is gone"
        assert list((tmp_path / "data").glob("kpdemo.db-*")) == [], "the file is whole by itself"
