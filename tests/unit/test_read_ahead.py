"""Documents read by other processes: in order, the same, with the same errors, and no process left behind."""

import gc
import os
import pickle
import signal
import subprocess
import sys
import time
from dataclasses import dataclass

import numpy as np
import pytest

from kpdemo.candidates.chunks import Candidate, CandidateConfig
from kpdemo.candidates.tagger import load_tagger
from kpdemo.errors import InputError
from kpdemo.simckp.examples import Example, Rows
from kpdemo.simckp.read_ahead import CHUNK, DocumentReader, ReadAhead, ReadDocument, processes_for
from kpdemo.simckp.terms import TermIndex, TextTerms
from kpdemo.types import Document
from tests.processes import PATIENCE, exists, wait_for

DOCUMENTS = [Document(f"Graph kernels compare {number} molecules.", id=str(number)) for number in range(70)]


@dataclass(frozen=True)
class TellsProcess:
    def read(self, documents):
        time.sleep(0.02)  # long enough for others to take their turn
        return [os.getpid() for _ in documents]


@dataclass(frozen=True)
class DiesElsewhere:
    home: int

    def read(self, documents):
        if os.getpid() != self.home:
            os.kill(os.getpid(), signal.SIGKILL)
        return [document.id for document in documents]


@dataclass(frozen=True)
class Refuses:
    def read(self, documents):
        if any(document.id == "40" for document in documents):
            raise InputError("The document 40 is refused.")
        return [document.id for document in documents]


def has_ended(process: int) -> bool:
    return wait_for(lambda: not exists(process))


@pytest.mark.slow
def test_what_others_read_is_what_is_read_here():
    from tests.tiny import tiny_tokenizer  # here: the processes import this file, and need no models

    terms = TermIndex(["graph kernel", "molecul"])
    tokenizer = tiny_tokenizer()
    reader = DocumentReader(load_tagger(), tokenizer, CandidateConfig(), 16, 4, tokenizer, 8, terms)
    for there, here in zip(ReadAhead(reader, 2).read(DOCUMENTS), reader.read(DOCUMENTS), strict=True):
        assert (there.candidates, there.tokens, there.terms) == (here.candidates, here.tokens, here.terms)
        assert repr(there.example) == repr(here.example)


def test_a_read_document_survives_its_pickle():
    windows = [np.array([0, 5, 6, 2]), np.array([0, 6, 2])]
    rows = Rows.of(np.array([[0, 0, 0, 1], [0, 0, 1, 1], [1, 2, 2, 1]]))
    candidates = [Candidate("graph kernel", ((0, 13), (20, 33))), Candidate("kernel", ((6, 13),))]
    example = Example(windows, rows, np.ones((2, 6), dtype=np.float32))
    terms = TextTerms((3,), frozenset(["graph"]), {3: "graphs"})
    for document in (
        ReadDocument(candidates, example, [0, 5, 2], terms),
        ReadDocument(
            [],
            Example(windows, Rows.of(np.zeros((3, 0), dtype=np.int64)), np.zeros((0, 6), dtype=np.float32)),
            [],
            TextTerms(),
        ),
    ):
        again = pickle.loads(pickle.dumps(document))
        assert (again.candidates, again.tokens, again.terms) == (
            document.candidates,
            document.tokens,
            document.terms,
        )
        assert repr(again.example) == repr(document.example)


def test_several_processes_read_and_end_when_nothing_refers_to_them():
    ahead = ReadAhead(TellsProcess(), 3)
    processes = set(ahead.read(DOCUMENTS)) | set(ahead.read(DOCUMENTS))
    assert 2 <= len(processes) <= 3  # the same ones for both calls
    assert os.getpid() not in processes
    del ahead
    gc.collect()
    assert all(map(has_ended, processes))


def test_where_a_process_is_killed_its_documents_are_read_here(caplog):
    read = ReadAhead(DiesElsewhere(os.getpid()), 2).read(DOCUMENTS)
    assert list(read) == [document.id for document in DOCUMENTS]
    assert "a process that reads documents ahead stopped" in caplog.text


def test_an_error_elsewhere_is_raised_here_and_what_comes_next_is_read():
    ahead = ReadAhead(Refuses(), 2)
    with pytest.raises(InputError, match=r"^The document 40 is refused\.$"):
        list(ahead.read(DOCUMENTS))
    assert list(ahead.read(DOCUMENTS[:CHUNK])) == [document.id for document in DOCUMENTS[:CHUNK]]


PROGRAM = """
import select, sys
from tests.unit.test_read_ahead import DOCUMENTS, ReadAhead, TellsProcess
ahead = ReadAhead(TellsProcess(), 2)
print(*set(ahead.read(DOCUMENTS)), flush=True)
while not select.select([sys.stdin], [], [], 0.1)[0]:
    pass
"""
"""It waits in short turns: Python sees no signal that comes right before the call that waits."""


@pytest.mark.parametrize("end", [None, signal.SIGINT, signal.SIGKILL])
def test_no_process_outlives_the_program(end):
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    with program:
        processes = [int(number) for number in program.stdout.readline().split()]
        assert processes
        assert all(map(exists, processes))
        if end is None:
            program.stdin.write(b"\n")
            program.stdin.flush()
        else:
            program.send_signal(end)
        program.wait(PATIENCE)
    assert all(map(has_ended, processes))


def test_other_processes_read_for_a_gpu_where_there_are_cores(monkeypatch):
    monkeypatch.setattr("kpdemo.simckp.read_ahead.usable_cores", lambda: 16)
    assert (processes_for("cuda"), processes_for("cpu")) == (15, 0)
    monkeypatch.setattr("kpdemo.simckp.read_ahead.usable_cores", lambda: 2)
    assert processes_for("cuda") == 0
