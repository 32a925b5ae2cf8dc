"""Predictors in other processes of Python's `multiprocessing`."""

import os
import pickle
import subprocess
import sys

import pytest

import kpdemo
from kpdemo.errors import ModelLoadError
from kpdemo.pipeline import Pipeline
from kpdemo.predictors import available_models
from tests.fakes import FakePredictor

TEXT = "Graph kernels compare molecules by their common substructures."
PROGRAM = f"""
import sys
from multiprocessing import get_context

import kpdemo

start, model, nested = sys.argv[1:]
predictor = kpdemo.load_predictor(model, nested=nested == "nested")


def found(predictions):
    return [keyphrase.text for keyphrase in predictions[0].present]


def ask(texts):
    return predictor.predict(texts)


if __name__ == "__main__":
    texts = [{TEXT!r}]
    own = found(predictor.predict(texts))
    with get_context(start).Pool(1) as pool:
        for asked in (ask, predictor.predict):
            assert found(pool.map_async(asked, [texts]).get(50)[0]) == own
"""


@pytest.mark.parametrize(
    ("start", "model", "nested"),
    [
        pytest.param("fork", "english", "nested", marks=pytest.mark.slow),
        pytest.param("spawn", "tfidf", "nested", marks=pytest.mark.slow),
        pytest.param("spawn", "first", "unnested", marks=pytest.mark.slow),
    ],
)
def test_a_worker_answers_as_the_program_that_started_it_does(tmp_path, start, model, nested):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    threads = {"OMP_NUM_THREADS": "2", "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run(
        [sys.executable, program, start, model, nested], env=os.environ | threads, check=True, timeout=150
    )


@pytest.mark.parametrize("nested", [True, False])
@pytest.mark.parametrize("name", available_models())
def test_a_predictor_pickles_without_its_model(name, nested):
    assert pickle.loads(pickle.dumps(kpdemo.load_predictor(name, nested=nested))).name == name


def test_a_loaded_predictor_opens_anew_where_it_is_unpickled():
    predictor = kpdemo.load_predictor("first")
    own = predictor.predict([TEXT])
    assert len(pickle.dumps(predictor)) < 1_000
    received = pickle.loads(pickle.dumps(predictor))
    assert received.predict([TEXT]) == own
    assert pickle.loads(pickle.dumps(predictor)) is received is not predictor  # loaded once


def test_a_model_on_the_gpu_is_refused_in_a_forked_process(monkeypatch):
    predictor = Pipeline("fake", lambda: FakePredictor(device="cuda"))
    predictor.predict([TEXT])
    monkeypatch.setattr(os, "getpid", lambda: 1)
    with pytest.raises(
        ModelLoadError, match=r"'fake' was loaded onto the GPU before .*: start processes with"
    ):
        predictor.predict([TEXT])
