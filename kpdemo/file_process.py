"""Files of readers that are no plain text, each read in a process of its own: even a small PDF can take
hours, and a process can be ended. No page here.
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
from typing import Any

from kpdemo.errors import InputError, StoppedError
from kpdemo.io.documents import FileDocuments, LocatedDocument, read_file
from kpdemo.io.files import ARCHIVE_SUFFIX, RECORD_SUFFIXES, WHOLE_SUFFIXES
from kpdemo.io.tables import LineError
from kpdemo.types import Document
from kpdemo.worker import Stop

MOST_SECONDS = 60
"""Of processor time; a paper of twenty pages takes two."""
MOST_SECONDS_OF_ARCHIVE = 5 * MOST_SECONDS
"""For a zip file, which may hold many."""
MOST_MEMORY = 2 * 2**30
"""Bytes of addresses."""
PATIENCE = 10
"""Times the processor seconds, by the clock: other work may use the processor meanwhile."""
TIME_IS_UP = 3
"""Exit status."""

_PROGRAM = (
    "import sys; sys.path[:] = sys.argv[3:]; from kpdemo.file_process import tell; tell(*sys.argv[1:3])"
)

ReadFile = Callable[[Path], FileDocuments]

_PLAIN_SUFFIXES = (".txt", ".md")


def needs_process(path: Path) -> bool:
    """Whether a reader's file is to be read in a process of its own; the pages take no compressed ones."""
    suffix = path.suffix.lower()
    return suffix in (*WHOLE_SUFFIXES, *RECORD_SUFFIXES, ARCHIVE_SUFFIX) and suffix not in _PLAIN_SUFFIXES


class FileProcesses:
    """Reads files, from any thread, until it is closed.

    Args:
        seconds: of the processor, for one file that is no zip file.
    """

    def __init__(self, seconds: int = MOST_SECONDS) -> None:
        self._seconds = seconds
        self._change = Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._closed = False

    def read(self, path: Path, stop: Stop) -> FileDocuments:
        """As `read_file`, until somebody asks to stop.

        Raises:
            InputError: the file cannot be read, or not in its time.
            StoppedError: by `stop`, or because the server ends.
        """
        is_archive = path.suffix.lower() == ARCHIVE_SUFFIX
        seconds = max(self._seconds, MOST_SECONDS_OF_ARCHIVE) if is_archive else self._seconds
        with self._started(path, seconds) as reading, stop.ended_by(reading.kill):
            assert reading.stdout is not None
            told = reading.stdout.read()
            reading.wait()
        stop.check()
        if self._closed:
            raise StoppedError("The server was stopped while reading the file: send it again.")
        if reading.returncode:
            reason = _reason(reading.returncode, seconds)
            raise InputError(f"{path}: {reason}; save its text as a .txt file.")
        rows = [json.loads(line) for line in told.splitlines()]
        if rows and (problem := rows[0].get("problem")):
            raise InputError(problem)
        return FileDocuments(str(path), [_found(row) for row in rows])

    def close(self) -> None:
        """End what is being read; nothing is read any more."""
        with self._change:
            self._closed = True
            for reading in self._running:
                reading.kill()

    @contextmanager
    def _started(self, path: Path, seconds: int) -> Iterator[subprocess.Popen[bytes]]:
        command = [sys.executable, "-c", _PROGRAM, str(path), str(seconds), *sys.path]
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
                raise InputError(f"{path}: cannot be read now ({error.strerror}); try again.") from error
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


def _reason(status: int, seconds: int) -> str:
    if status in (TIME_IS_UP, -getattr(signal, "SIGXCPU", 0)):
        return f"reading this file takes more than {seconds} seconds"
    return f"reading this file ended early (status {status}), perhaps because memory ran out"


def _found(row: dict[str, Any]) -> LocatedDocument | LineError:
    if "message" in row:
        return LineError(row["line"], row["message"])
    told = row["document"]
    tuples = {name: tuple(told[name]) for name in ("keyphrases", "warnings")}
    return LocatedDocument(Document(**{**told, **tuples}), row["file"], row["line"])


def tell(path: str, seconds: str) -> None:
    """In the process: print what is in a file, or why it cannot be read, as lines of JSON."""
    Thread(target=_end_alone, daemon=True).start()
    _limit(int(seconds))
    try:
        rows = [asdict(one) for one in read_file(Path(path)).found]
    except InputError as error:
        rows = [{"problem": str(error)}]
    for row in rows:
        print(json.dumps(row))


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
