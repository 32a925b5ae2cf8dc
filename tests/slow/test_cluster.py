"""Ray on this machine: its output is that of one process, whatever is killed meanwhile."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kpdemo.batch import ResumeError, predict_file
from kpdemo.cluster import LOCAL_ENVIRONMENT, PROBLEMS, SETTINGS, encoding_on_ray, predict_on_ray
from kpdemo.errors import KpdemoError
from kpdemo.predictors import load_predictor
from kpdemo.ramkg.index_building import build_index
from kpdemo.ramkg.retriever import load_encoder
from kpdemo.ramkg.settings import EncoderConfig, IndexConfig
from kpdemo.types import Document, PredictionOptions
from tests.conftest import unavailable
from tests.tiny import tiny_bert

pytestmark = [
    pytest.mark.slow,
    # Of Ray, which leaves them to the collector.
    pytest.mark.filterwarnings(
        "ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"
    ),
]

MODEL = "tests.slow.slow_predictor:SlowPredictor"
OPTIONS = PredictionOptions(top_k=3)
DOCUMENTS = 400


@pytest.fixture(scope="module")
def installed():
    try:
        import ray
    except ImportError:
        unavailable("Ray is not installed: pip install 'kpdemo[ray]'")
    return ray


@pytest.fixture(scope="module")
def ray(installed):
    os.environ.update(LOCAL_ENVIRONMENT)
    installed.init(
        address="local",
        num_cpus=2,
        object_store_memory=2**28,
        include_dashboard=False,
        log_to_driver=False,
        runtime_env={"env_vars": {"PYTHONPATH": str(Path(__file__).parents[2])}},
    )
    yield installed
    installed.shutdown()


def rows_of(count: int) -> list[dict[str, str]]:
    return [
        {
            "id": f"d{number}",
            "title": f"Kernel {number}",
            "abstract": f"Graph kernels compare molecule {number}.",
        }
        for number in range(count)
    ]


def write_lines(path: Path, rows: list[dict[str, str]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def parts(folder: Path) -> bytes:
    return b"".join(part.read_bytes() for part in sorted(folder.glob("*.jsonl")))


def predict_alone(source: Path, output: Path, model: str = "first") -> bytes:
    predict_file(load_predictor(model), source, output, top_k=OPTIONS.top_k)
    return output.read_bytes()


def processes_of(actor: str) -> list[int]:
    """Those of Ray that hold an actor of ours, by the title that Ray gives them."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            title = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if title.startswith(b"ray::" + actor.encode()):
            found.append(int(process.name))
    return found


def test_a_worker_that_is_killed_loses_nothing_and_doubles_nothing(ray, tmp_path):
    source = write_lines(tmp_path / "docs.jsonl", rows_of(DOCUMENTS))
    killed = []

    def kill_one(summary):
        if summary.done > 50 and not killed:
            killed.append(processes_of("Worker")[0])
            os.kill(killed[0], signal.SIGKILL)

    summary = predict_on_ray(
        str(source),
        str(tmp_path / "out"),
        model=MODEL,
        options=OPTIONS,
        workers=2,
        piece_bytes=2_000,
        progress=kill_one,
    )
    assert len(killed) == 1
    assert DOCUMENTS - 40 <= summary.done <= DOCUMENTS  # the count of a piece may be lost with its worker
    assert parts(tmp_path / "out") == predict_alone(source, tmp_path / "alone.jsonl", MODEL)
    assert not list((tmp_path / "out").glob(".*"))


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl.gz", "json"])
def test_every_kind_of_file_is_cut_into_pieces_whose_lines_are_those_of_one_process(ray, tmp_path, kind):
    import pandas

    rows = rows_of(50)
    rows[7]["abstract"] = 'Two lines,\nand a "mark".'
    alone = predict_alone(write_lines(tmp_path / "all.jsonl", rows), tmp_path / "alone.jsonl")
    source = tmp_path / f"docs.{kind}"
    table = pandas.DataFrame(rows)
    if kind == "csv":
        table.to_csv(source, index=False)
    elif kind == "parquet":
        table.to_parquet(source, row_group_size=15)
    else:
        table.to_json(source, orient="records", lines=kind == "jsonl.gz")
    summary = predict_on_ray(
        source.as_uri(), str(tmp_path / "out"), model="first", options=OPTIONS, workers=1, piece_rows=20
    )
    assert (summary.done, summary.failed) == (50, 0)
    assert len(list((tmp_path / "out").glob("*.jsonl"))) == 3
    assert parts(tmp_path / "out") == alone


def test_a_driver_that_is_killed_goes_on_where_it_stopped(ray, tmp_path):
    source = write_lines(tmp_path / "docs.jsonl", rows_of(DOCUMENTS))
    output = tmp_path / "out"
    code = (
        "from kpdemo.cluster import predict_on_ray\nfrom kpdemo.types import PredictionOptions\n"
        f"predict_on_ray({str(source)!r}, {str(output)!r}, model={MODEL!r}, "
        "options=PredictionOptions(top_k=3), workers=2, piece_bytes=2_000)"
    )
    address = ray.get_runtime_context().gcs_address
    environment = {**os.environ, "RAY_ADDRESS": address, "PYTHONPATH": str(Path(__file__).parents[2])}
    driver = subprocess.Popen([sys.executable, "-c", code], env=environment)
    limit = time.monotonic() + 120
    while len(list(output.glob("*.jsonl"))) < 3 and time.monotonic() < limit:
        assert driver.poll() is None
        time.sleep(0.1)
    driver.kill()
    driver.wait()
    there = {part: part.stat().st_mtime_ns for part in output.glob("*.jsonl")}
    assert len(there) >= 3
    summary = predict_on_ray(str(source), str(output), model=MODEL, options=OPTIONS, workers=2)
    assert 0 < summary.done < DOCUMENTS
    assert {part: part.stat().st_mtime_ns for part in there} == there
    assert parts(output) == predict_alone(source, tmp_path / "alone.jsonl", MODEL)
    with pytest.raises(ResumeError, match="top_k 3, not automatic"):
        predict_on_ray(str(source), str(output), model=MODEL, options=PredictionOptions())
    write_lines(source, rows_of(DOCUMENTS - 1))
    with pytest.raises(ResumeError, match="bytes, not"):
        predict_on_ray(str(source), str(output), model=MODEL, options=OPTIONS)


def test_the_command_starts_ray_by_itself_and_says_what_was_not_used(installed, tmp_path):
    source = write_lines(tmp_path / "docs.jsonl", [*rows_of(5), {"id": "empty", "title": "", "abstract": ""}])
    output = tmp_path / "out"
    command = [sys.executable, "-m", "kpdemo", "predict", "--engine", "ray", "--workers", "1"]
    command += ["--model", "first", "--top-k", "3", "--input", str(source), "--output", output.as_uri()]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 1, ran.stderr  # one was not used
    assert f"in {output.as_uri()}/{PROBLEMS}" in ran.stderr
    assert len(parts(output).splitlines()) == 5
    assert "5 documents predicted, 1 could not be used." in ran.stderr
    refused = subprocess.run([*command, "--csv", "a.csv"], capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "--engine ray reads files and writes a folder" in refused.stderr


def test_what_cannot_be_used_is_kept_and_the_rest_predicted(ray, tmp_path):
    rows = rows_of(4)
    del rows[1]["id"]
    rows[2]["abstract"] = rows[2]["title"] = " "
    source = write_lines(tmp_path / "docs.jsonl", rows)
    with source.open("a", encoding="utf-8") as stream:
        stream.write("{broken\n")
    summary = predict_on_ray(str(source), str(tmp_path / "out"), model="first", options=OPTIONS, workers=1)
    assert (summary.done, summary.failed) == (2, 3)
    [problems] = (tmp_path / "out" / PROBLEMS).iterdir()
    told = [json.loads(line)["message"] for line in problems.read_text("utf-8").splitlines()]
    assert ["line 2: no id" in told[0], "line 5" in told[1], '"d2"' in told[2]] == [True] * 3
    assert (tmp_path / "out" / SETTINGS).is_file()


@pytest.mark.parametrize("kill", [False, True])
def test_an_index_built_by_workers_is_that_of_one_process(ray, tmp_path, kill, monkeypatch):
    monkeypatch.setattr("kpdemo.ramkg.index_building.BATCH", 16)
    passages = [(n, Document(f"Graph kernels compare molecule {n}.", id=f"p{n}")) for n in range(DOCUMENTS)]
    config = EncoderConfig(str(tiny_bert(tmp_path / "encoder")))
    encoder = load_encoder(config, device="cpu")
    build_index(passages, tmp_path / "alone", encoder, IndexConfig(), name="passages")
    killed = []

    def kill_one(done):
        if kill and done > 50 and not killed:
            killed.append(processes_of("PassageWorker")[0])
            os.kill(killed[0], signal.SIGKILL)

    with encoding_on_ray(encoder.config, encoder.identity, workers=2) as encode:
        built = build_index(
            passages,
            tmp_path / "built",
            encoder,
            IndexConfig(),
            name="passages",
            encode=encode,
            progress=kill_one,
        )
    assert len(built) == DOCUMENTS
    assert len(killed) == kill
    assert files_of(tmp_path / "built") == files_of(tmp_path / "alone")


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_workers_with_another_encoder_are_refused(ray, tmp_path):
    encoder = load_encoder(EncoderConfig(str(tiny_bert(tmp_path / "encoder"))), device="cpu")
    with (
        encoding_on_ray(encoder.config, "another", workers=1) as encode,
        pytest.raises(KpdemoError, match="has other weights on a worker: install the same there"),
    ):
        list(encode(iter([[Document("Graph kernels.", id="1")]])))
