"""`python app.py` with the model that ships: the pages and the model begin and end together."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from urllib.request import Request, urlopen

import pytest

import app
from kpdemo.ui.predict import load_examples
from tests.processes import PATIENCE


@pytest.fixture
def running(tmp_path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The program, and the address that it has printed."""
    command = [sys.executable, app.__file__, "--port", "0", "--device", "cpu"]
    command += ["--database-url", f"sqlite:///{tmp_path / 'kpdemo.db'}"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=tmp_path, **pipes) as process:
        try:
            yield process, process.stdout.readline().split()[2]
        finally:
            process.kill()


def predict(address: str, title: str, text: str, model: str) -> str:
    """What the button Predict answers."""
    call = f"{address}/gradio_api/call/predict"
    body = json.dumps({"data": [title, text, model, "own", 10, "", ""]}).encode()
    with urlopen(Request(call, body, {"Content-Type": "application/json"}), timeout=PATIENCE) as answer:
        event = json.load(answer)["event_id"]
    with urlopen(f"{call}/{event}", timeout=PATIENCE) as answer:
        return answer.read().decode()


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_the_app_answers_with_the_default_model_which_ends_with_it(running, end):
    process, address = running
    example = load_examples()[0]
    assert "<mark " in predict(address, example.title, example.text, "default")
    assert "<mark " in predict(address, example.title, example.text, "first")
    with urlopen(f"{address}/healthz", timeout=PATIENCE) as answer:
        assert json.load(answer)["model"] == "ready"
    process.send_signal(end)
    _, errors = process.communicate(timeout=PATIENCE)  # both processes hold the pipes: waits for both
    assert errors == ""
