"""PDF files of readers, read by a process that can be ended."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from threading import Timer

import pytest

from kpdemo.errors import InputError, StoppedError
from kpdemo.file_process import FileProcesses
from kpdemo.io.documents import LocatedDocument, read_whole
from kpdemo.io.tables import LineError
from kpdemo.worker import Stop
from tests.pdfs import make_pdf, make_slow_pdf

SERVER = """
import sys, time
from pathlib import Path
from threading import Thread
import anyio
from fastapi import FastAPI
from kpdemo.file_process import FileProcesses
from kpdemo.ui.page import ending_with
from kpdemo.ui.serving import listen, serve
from kpdemo.worker import Stop

pdfs = FileProcesses()
server = FastAPI(lifespan=ending_with(pdfs.close))

@server.get("/")
def read():
    pdfs.read(Path(sys.argv[1]), Stop())

def ask():
    from urllib.request import urlopen
    urlopen(f"http://127.0.0.1:{listener.getsockname()[1]}/", timeout=60)

def tell():
    while not pdfs._running:
        time.sleep(0.05)
    [child] = pdfs._running
    time.sleep(0.3)
    print(child.pid, flush=True)

listener = listen("127.0.0.1", 0)
for work in (ask, tell):
    Thread(target=work, daemon=True).start()
sys.stdout, out = sys.stderr, sys.stdout
print = lambda *values, flush: out.write(f"{values[0]}\\n") and out.flush()
serve(server, listener)
"""


@pytest.fixture
def pdfs():
    processes = FileProcesses()
    yield processes
    processes.close()
    assert processes._running == set()


def test_the_document_is_the_one_that_is_read_here(pdfs, tmp_path):
    path = make_pdf(tmp_path / "पत्र 🦜.pdf", ["We train neural net-", "works."], title="Deep Nets")
    document = read_whole(path)
    assert pdfs.read(path, Stop()).found == [LocatedDocument(document, str(path), 1)]
    assert document.title == "Deep Nets"


def test_all_documents_of_a_file_come_with_what_is_wrong_with_others(pdfs, tmp_path):
    path = tmp_path / "papers.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "Le café est fermé.".encode("cp1252"))
        archive.writestr("b.ris", "TY  - JOUR\nTI  - No abstract\nER  - \n")
    first, second = pdfs.read(path, Stop()).found
    assert (first.document.body, first.file) == ("Le café est fermé.", f"{path}/a.txt")
    assert first.document.warnings[0].startswith(f"{path}/a.txt: read as Windows-1252 (Latin-1)")
    assert second == LineError(
        1, f"{path}/b.ris, record 1: no abstract, so there is nothing to read; add one or leave it out."
    )


@pytest.mark.parametrize("content", [b"no pdf", None], ids=["damaged", "locked"])
def test_what_cannot_be_read_is_said_in_the_same_sentence(pdfs, tmp_path, content):
    path = make_pdf(tmp_path / "a.pdf", ["Words."], password="secret")
    if content:
        path.write_bytes(content)
    with pytest.raises(InputError) as here:
        read_whole(path)
    with pytest.raises(InputError) as apart:
        pdfs.read(path, Stop())
    assert str(apart.value) == str(here.value)


def test_a_stop_ends_the_reading_at_once(pdfs, tmp_path):
    path, stop = make_slow_pdf(tmp_path / "slow.pdf"), Stop("Given up.")
    assert path.stat().st_size < 20_000
    began = time.monotonic()
    asking = Timer(0.5, stop.ask)
    asking.start()
    with pytest.raises(StoppedError, match=r"Given up\."):
        pdfs.read(path, stop)
    assert time.monotonic() - began < 60  # to read it whole takes minutes
    with pytest.raises(StoppedError):  # and nothing begins afterwards
        pdfs.read(path, stop)


def test_a_file_that_takes_too_long_is_given_up(tmp_path):
    path = make_slow_pdf(tmp_path / "slow.pdf")
    with pytest.raises(InputError, match=r"slow\.pdf: reading this file takes more than 1 seconds; save"):
        FileProcesses(seconds=1).read(path, Stop())


def test_a_process_that_ended_otherwise_is_not_said_to_have_taken_too_long(pdfs, tmp_path):
    path = make_slow_pdf(tmp_path / "slow.pdf")
    Timer(0.5, lambda: [process.kill() for process in pdfs._running]).start()
    with pytest.raises(InputError, match=r"slow\.pdf: reading this file ended early \(status -9\)"):
        pdfs.read(path, Stop())


@pytest.mark.parametrize(
    "way",
    [*(pytest.param(way, marks=pytest.mark.slow) for way in (signal.SIGINT, signal.SIGTERM)), signal.SIGKILL],
)
def test_the_process_ends_with_its_program_in_whatever_way(tmp_path, way):
    """As a server does it: the thread that waits for the answer keeps nobody waiting."""
    make_slow_pdf(tmp_path / "slow.pdf")
    program = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(tmp_path / "slow.pdf")], stdout=subprocess.PIPE, text=True
    )
    with program:
        child = int(program.stdout.readline())
        program.send_signal(way)
        program.wait(20)
    deadline = time.monotonic() + 20
    while is_running(child) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_running(child)


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
