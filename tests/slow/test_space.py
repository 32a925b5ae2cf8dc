"""The repository as a Hugging Face Space: what would be uploaded, started there as Spaces start it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from tests.processes import PATIENCE

ROOT = Path(__file__).parents[2]
LARGEST_FILE = 95e6
LARGEST_SPACE = 1e9
"""Bytes of a repository that Spaces store for everybody."""


@pytest.fixture(scope="module")
def uploaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what `hf upload` sends: all but what git ignores."""
    if not (ROOT / ".git").exists():
        pytest.skip("the files of a Space are those of git, and this folder is no clone")
    folder = tmp_path_factory.mktemp("space") / "app"
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in filter(None, names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, folder / name)
    return folder


@pytest.mark.slow
def test_every_file_is_small_enough(uploaded):
    sizes = {path: path.stat().st_size for path in uploaded.rglob("*") if path.is_file()}
    assert max(sizes.values()) < LARGEST_FILE
    assert sum(sizes.values()) < LARGEST_SPACE


@pytest.mark.slow
def test_it_starts_and_finds_keyphrases_behind_the_proxy_of_a_space(uploaded, tmp_path):
    environment = {**os.environ, "SPACE_ID": "someone/keyphrases", "SYSTEM": "spaces", "HOME": str(tmp_path)}
    environment.pop("PYTHONPATH", None)
    command = [sys.executable, "app.py", "--port", "0"]
    with subprocess.Popen(
        command, cwd=uploaded, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            line = process.stdout.readline()
            assert line.startswith("Serving on http://0.0.0.0:")
            address = line.split()[2].replace("0.0.0.0", "127.0.0.1")
            outside = {"Host": "someone-keyphrases.hf.space", "X-Forwarded-Proto": "https"}
            with urlopen(Request(address, headers=outside), timeout=PATIENCE) as page:
                assert "kpdemo" in page.read().decode()
                assert "https://huggingface.co" in page.headers["Content-Security-Policy"]
            body = json.dumps({"text": "Graph kernels compare molecules by their common substructures."})
            headers = {**outside, "Content-Type": "application/json"}
            request = Request(f"{address}/api/predict", body.encode(), headers)
            with urlopen(request, timeout=PATIENCE) as answer:
                assert json.load(answer)["present"]
        finally:
            process.terminate()
