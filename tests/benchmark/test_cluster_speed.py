"""Files of documents by Ray on this machine beside a single process: `make bench ARGS="-k cluster -s"`.

Both need their time to start, which is left out: a rate is of the documents that a longer file has more.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.benchmark.test_gpu_speed import different_texts
from tests.conftest import unavailable
from tests.measuring import report_speeds

pytestmark = pytest.mark.benchmark

ROOT = Path(__file__).parents[2]
FEW, MANY = 32, 256
ROUNDS = 2
ENGINES = {
    "process": (),
    "1 worker": ("--engine", "ray", "--workers", "1"),
    "2 workers": ("--engine", "ray", "--workers", "2"),
}


def predict(documents: Path, output: Path, *options: str) -> float:
    """Seconds that it took."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "kpdemo", "predict", "--device", "cpu", *options]
    command += ["--input", str(documents), "--output", str(output)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run(command, check=True, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL)
    return time.perf_counter() - began


def test_documents_a_second_of_one_and_two_workers(tmp_path, capsys):
    if importlib.util.find_spec("ray") is None:
        unavailable("Ray is not installed: pip install 'kpdemo[ray]'")
    files = {}
    for count in (FEW, MANY):
        rows = [{"id": one.id, "title": one.title, "text": one.body} for one in different_texts(count)]
        files[count] = tmp_path / f"{count}.jsonl"
        files[count].write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    seconds: dict[str, list[float]] = {engine: [] for engine in ENGINES}
    for turn in range(ROUNDS):
        for engine, options in ENGINES.items():
            few, many = (
                predict(file, tmp_path / f"{engine}-{turn}-{count}.jsonl", *options)
                for count, file in files.items()
            )
            seconds[engine].append((many - few) / (MANY - FEW))
    report_speeds(
        capsys,
        f"{MANY} abstracts, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}",
        {engine: min(found) for engine, found in seconds.items()},
    )
    for engine in ENGINES:
        assert ids_in(tmp_path / f"{engine}-0-{MANY}.jsonl") == [str(number) for number in range(MANY)]


def ids_in(output: Path) -> list[str]:
    """Of the predictions in a file, or in the files of a folder in their order."""
    files = sorted(output.glob("*.jsonl")) if output.is_dir() else [output]
    return [
        json.loads(line)["id"] for file in files for line in file.read_text(encoding="utf-8").splitlines()
    ]
