"""Readers' PDF files, each read in a process of its own: even a small one can take hours, and a process can
be ended. No page here.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from threading import Lock, Thread, Timer

from kpdemo.errors import InputError, StoppedError
from kpdemo.io.documents import read_whole
from kpdemo.types import Document
from kpdemo.worker import Stop

MOST_SECONDS = 60
"""Of processor time; a paper of twenty pages takes two."""
MOST_MEMORY = 2 * 2**30
"""Bytes of addresses."""
PATIENCE = 10
"""Times the processor seconds, by the clock: other work may use the processor meanwhile."""
TIME_IS_UP = 3
"""Exit status."""

_PROGRAM = "import sys; sys.path[:] = sys.argv[3:]; from kpdemo.pdf_process import tell; tell(*sys.argv[1:3])"

ReadPdf = Callable[[Path], Document]


def is_pdf(path: Path) -> bool:
    """Whether a reader's file is to be read in a process of its own; the pages take no compressed ones."""
    return path.suffix.lower() == ".pdf"


class PdfProcesses:
    """Reads PDF files, from any thread, until it is closed.

    Args:
        seconds: of the processor, for one file.
    """

    def __init__(self, seconds: int = MOST_SECONDS) -> None:
        self._seconds = seconds
        self._change = Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._closed = False

    def read(self, path: Path, stop: Stop) -> Document:
        """As `read_whole`, until somebody asks to stop.

        Raises:
            InputError: the file cannot be read, or not in its time.
            StoppedError: by `stop`, or because the server ends.
        """
        with self._started(path) as reading, stop.ended_by(reading.kill):
            assert reading.stdout is not None
            told = reading.stdout.read()
            reading.wait()
        stop.check()
        if self._closed:
            raise StoppedError("The server was stopped while reading the file: send it again.")
        if reading.returncode:
            raise InputError(f"{path}: {self._reason(reading.returncode)}; save its text as a .txt file.")
        found = json.loads(told)
        if problem := found.get("problem"):
            raise InputError(problem)
        return Document(**{**found, "keyphrases": tuple(found["keyphrases"])})

    def close(self) -> None:
        """End what is being read; nothing is read any more."""
        with self._change:
            self._closed = True
            for reading in self._running:
                reading.kill()

    @contextmanager
    def _started(self, path: Path) -> Iterator[subprocess.Popen[bytes]]:
        command = [sys.executable, "-c", _PROGRAM, str(path), str(self._seconds), *sys.path]
        with self._change:
            try:
                reading = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,  # whose end tells that nobody waits for the answer
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    process_group=0,  # Ctrl+C at the terminal is for this program
                )
            except OSError as error:
                raise InputError(f"{path}: no PDF can be read now ({error.strerror}); try again.") from error
            self._running.add(reading)
        with reading:
            try:
                if self._closed:
                    reading.kill()
                yield reading
            finally:
                reading.kill()
                with self._change:
                    self._running.discard(reading)

    def _reason(self, status: int) -> str:
        if status in (TIME_IS_UP, -getattr(signal, "SIGXCPU", 0)):
            return f"reading this PDF takes more than {self._seconds} seconds"
        return f"reading this PDF ended early (status {status}), perhaps because memory ran out"


def tell(path: str, seconds: str) -> None:
    """In the process: print the document of a file, or why it cannot be read, as JSON."""
    Thread(target=_end_alone, daemon=True).start()
    _limit(int(seconds))
    try:
        told = asdict(read_whole(Path(path)))
    except InputError as error:
        told = {"problem": str(error)}
    json.dump(told, sys.stdout)


def _end_alone() -> None:
    """End this process once the one that asked is gone, for whatever reason."""
    os.read(0, 1)
    os._exit(1)


def _limit(seconds: int) -> None:
    """Have the system end this process, or a timer of its own if the system has no such limits."""
    late = Timer(PATIENCE * seconds, os._exit, (TIME_IS_UP,))
    late.daemon = True
    late.start()
    with suppress(ImportError, OSError, ValueError):  # only Unix has limits, and not every Unix this one
        from resource import RLIMIT_AS, RLIMIT_CPU, setrlimit

        setrlimit(RLIMIT_CPU, (seconds, seconds + 1))  # between the two its signal tells why
        setrlimit(RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
