"""Models in a process of their own: what they answer, what becomes of errors, and how the process ends."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from ctypes import CDLL
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from kpdemo import worker as client
from kpdemo.errors import InputError, ModelLoadError, ModelStoppedError
from kpdemo.types import Document
from kpdemo.worker import READING, ModelProcess, ModelWorker, listen_with
from tests.fakes import FakePredictor
from tests.measuring import memory
from tests.processes import PATIENCE, exists, wait_for
from tests.remote import FILLED, load, load_and_note

ROOT = Path(__file__).parents[2]
TEXT = Document("Neural networks learn from many examples of language.", title="Networks")


@pytest.fixture(scope="module")
def worker() -> Iterator[ModelWorker]:
    with closing(ModelWorker(load)) as worker:
        yield worker


@pytest.fixture
def own_worker() -> Iterator[ModelWorker]:
    """One that a test may break."""
    with closing(ModelWorker(load)) as worker:
        yield worker


def process_of(worker: ModelWorker) -> int:
    [prediction] = worker.open("obedient").predict(["process"])
    return int(prediction.absent_candidates[0])


def test_a_prediction_is_the_same_as_without_a_process_between(worker):
    remote = worker.open("first")
    assert remote.predict([TEXT, TEXT.body], top_k=3) == FakePredictor("first").predict(
        [TEXT, TEXT.body], top_k=3
    )
    assert remote.predict([TEXT], threshold=0.4) == FakePredictor("first").predict([TEXT], threshold=0.4)
    assert (remote.name, remote.device) == ("first", "cpu")


def test_one_string_is_explained_as_without_a_process_between(worker):
    with pytest.raises(InputError, match="must be a list, not one string"):
        worker.open("first").predict(TEXT.body)


def test_how_far_a_long_work_is_comes_before_its_answer(worker):
    heard = []
    with listen_with(lambda share, what: heard.append((share, what))):
        [prediction] = worker.open("obedient").predict(["tell"])
    assert prediction.absent_candidates
    assert heard == [(0.5, READING)]


def test_a_listener_that_breaks_off_leaves_no_answer_for_the_next_request(own_worker):
    remote = own_worker.open("obedient")
    process = process_of(own_worker)

    def break_off(share, what):
        raise KeyboardInterrupt

    with listen_with(break_off), pytest.raises(KeyboardInterrupt):
        remote.predict(["tell"])
    assert remote.predict([TEXT, TEXT, TEXT])[2].absent_candidates != (str(process),)


def test_a_model_shows_its_vectors_if_it_has_any(worker):
    [space] = worker.open("obedient").vectors(Document("space"))
    assert space.name == "space"
    assert np.array_equal(space.vectors, np.eye(2))
    assert worker.open("obedient").finds_absent
    assert worker.open("first").vectors(TEXT) == []


def test_the_first_model_loads_before_anybody_asks_and_the_others_when_they_are_asked(tmp_path):
    with closing(ModelWorker(partial(load_and_note, tmp_path), first="obedient")) as worker:
        assert wait_for((tmp_path / "obedient").is_file)
        process = process_of(worker)
        assert [path.name for path in tmp_path.iterdir()] == ["obedient"]
        worker.open("other").predict([TEXT])
        worker.open("other").predict([TEXT])
    loaded = {path.name: path.read_text().split() for path in tmp_path.iterdir()}
    assert loaded == {"obedient": [str(process)], "other": [str(process)]}


def test_without_a_first_model_the_process_starts_when_it_is_asked(tmp_path, monkeypatch):
    started = []
    monkeypatch.setattr(client, "ModelProcess", lambda setup: started.append(setup) or ModelProcess(setup))
    with closing(ModelWorker(load)) as worker:
        assert started == []
        worker.open("first")
        worker.open("obedient")
        assert len(started) == 1
    with closing(ModelWorker(load)) as never_asked:
        pass
    with pytest.raises(ModelStoppedError, match="have been stopped"):
        never_asked.open("first")


def test_a_process_that_nobody_asks_gives_its_memory_back_and_another_answers_later():
    with closing(ModelWorker(load, idle=0.2)) as worker:
        process = process_of(worker)
        assert wait_for(lambda: not exists(process))
        assert process_of(worker) != process


@pytest.mark.skipif(not hasattr(CDLL(None), "malloc_trim"), reason="The C library is not glibc.")
def test_memory_that_was_freed_is_given_back_when_nobody_asks(own_worker):
    process = Path("/proc") / str(process_of(own_worker))
    own_worker.open("obedient").predict(["fill"])
    assert wait_for(lambda: memory(process)[0] * 1e6 < FILLED / 2)
    assert memory(process)[1] * 1e6 > FILLED / 2


def test_the_threads_of_a_process_wait_without_spinning(worker):
    environment = Path(f"/proc/{process_of(worker)}/environ").read_bytes().split(b"\0")
    assert b"OMP_WAIT_POLICY=PASSIVE" in environment


def test_our_errors_come_as_themselves(worker):
    with pytest.raises(ModelLoadError, match=r"^There is no model “missing”: choose another\.$"):
        worker.open("missing")
    with pytest.raises(InputError, match="The text is empty"):
        worker.open("first").predict([" "])


def test_an_error_tells_where_it_was_raised(worker):
    with pytest.raises(MemoryError) as caught:
        worker.open("obedient").predict(["overflow"])
    assert "raise MemoryError" in caught.value.__notes__[0]


def test_an_error_of_a_library_can_be_raised_where_the_library_is_not(worker):
    with pytest.raises(RuntimeError, match="LibraryError: the kernel is missing"):
        worker.open("obedient").predict(["fail"])


def test_what_a_library_prints_does_not_come_between_the_answers(capfd):
    with closing(ModelWorker(load)) as worker:
        worker.open("obedient").predict(["print"])
    output = capfd.readouterr()
    assert (output.out, output.err) == ("", "a library has something to say\n")


@pytest.mark.parametrize(
    ("end", "cause"), [("die", "killed, perhaps because memory ran out"), ("exit", "exit status 3")]
)
def test_a_model_that_dies_loses_one_question_in_a_sentence(own_worker, end, cause):
    predictor, before = own_worker.open("obedient"), process_of(own_worker)
    with pytest.raises(ModelStoppedError) as caught:
        predictor.predict([end])
    assert str(caught.value) == (
        f"The model stopped before it had answered ({cause}), and is starting again: "
        "try again, or use a shorter text."
    )
    [prediction] = predictor.predict(["tell"])
    assert int(prediction.absent_candidates[0]) != before
    assert not exists(before)


def test_an_interrupted_model_leaves_off_in_mid_work_and_answers_the_next_question(own_worker, tmp_path):
    predictor, before = own_worker.open("obedient"), process_of(own_worker)
    with ThreadPoolExecutor(1) as pool:
        question = pool.submit(predictor.predict, [f"compute {tmp_path / 'begun'}"])
        assert wait_for((tmp_path / "begun").is_file)
        own_worker.interrupt()
        with pytest.raises(ModelStoppedError):
            question.result(PATIENCE)
    assert not exists(before)
    assert process_of(own_worker) != before


def test_a_model_that_dies_while_nobody_asks_leaves_no_zombie_and_loses_nothing(own_worker):
    before = process_of(own_worker)
    os.kill(before, signal.SIGKILL)
    assert wait_for(lambda: not exists(before))
    assert process_of(own_worker) != before


def test_where_no_other_process_can_take_the_place_of_a_dead_one_the_next_question_tries_again(
    own_worker, monkeypatch
):
    def no_memory(setup):
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    predictor = own_worker.open("obedient")
    with monkeypatch.context() as patch:
        patch.setattr(client, "ModelProcess", no_memory)
        for question in ("die", "tell"):
            with pytest.raises(ModelStoppedError, match=r"cannot be started \(Cannot allocate memory\)"):
                predictor.predict([question])
    assert predictor.predict(["tell"])


def test_whoever_waits_when_the_models_are_closed_is_told(own_worker, tmp_path):
    predictor, process = own_worker.open("obedient"), process_of(own_worker)
    with ThreadPoolExecutor(1) as pool:
        question = pool.submit(predictor.predict, [f"compute {tmp_path / 'begun'}"])
        assert wait_for((tmp_path / "begun").is_file)
        own_worker.close()
        with pytest.raises(ModelStoppedError, match="have been stopped"):
            question.result(PATIENCE)
    assert not exists(process)
    with pytest.raises(ModelStoppedError, match="have been stopped"):
        predictor.predict(["tell"])


PROGRAM = """
    import sys, time
    from contextlib import closing
    from kpdemo.worker import ModelWorker
    from tests.remote import load

    with closing(ModelWorker(load)) as worker:
        predictor = worker.open("obedient")
        try:
            print("ready", flush=True)
            {asking}
        except KeyboardInterrupt:
            pass
"""
WAITING = "while True: time.sleep(0.1)"
"""Not one long wait: Python sees no signal that comes right before the call that waits."""


@pytest.mark.parametrize("asking", [WAITING, "predictor.predict(['compute ' + sys.argv[1]])"])
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_process_ends_with_its_program_and_says_nothing(end, asking, tmp_path):
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM).format(asking=asking), str(tmp_path / "begun")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=ROOT, start_new_session=True, **pipes) as program:
        try:
            assert program.stdout.readline() == "ready\n"
            assert "compute" not in asking or wait_for((tmp_path / "begun").is_file)
            os.killpg(program.pid, end)  # as Ctrl+C at the terminal does
            program.wait(PATIENCE)
            _, errors = program.communicate(timeout=PATIENCE)  # both processes hold the pipe: waits for both
            assert errors == ""
        finally:
            program.kill()
