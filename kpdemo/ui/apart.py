"""A reader's PDF, read by a process of its own: a small one can keep a reader busy for hours, and a process
can be ended. No page here."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from kpdemo.errors import InputError
from kpdemo.types import Document
from kpdemo.ui.stop import Stop
from kpdemo.whole_files import read_whole

MOST_SECONDS = 60
"""Of the processor; a paper of twenty pages takes two."""
MOST_MEMORY = 2 * 2**30
"""Bytes of addresses."""

_PROGRAM = "import sys; sys.path[:] = sys.argv[2:]; from kpdemo.ui.apart import tell; tell(sys.argv[1])"


def is_pdf(path: Path) -> bool:
    """Whether a reader's file is to be read apart; the pages take no compressed ones."""
    return path.suffix.lower() == ".pdf"


def read_apart(path: Path, stop: Stop, *, seconds: int = MOST_SECONDS) -> Document:
    """As `read_whole`, for at most `seconds` of the processor's time, or until somebody asks to stop.

    Raises:
        InputError: the file cannot be read, or not in this time.
        StoppedError: by `stop`.
    """
    reading = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, str(path), *sys.path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        process_group=0,  # Ctrl+C at the terminal is for this program
    )
    with reading, stop.ended_by(reading.kill):
        try:
            told, _ = reading.communicate(str(seconds).encode())
        finally:
            reading.kill()
        stop.check()
    if reading.returncode:
        raise InputError(
            f"{path}: reading this PDF takes more than {seconds} seconds; save its text as a .txt file."
        )
    found = json.loads(told)
    if problem := found.get("problem"):
        raise InputError(problem)
    return Document(**{**found, "keyphrases": tuple(found["keyphrases"])})


def tell(path: str) -> None:
    """In the process: print the document of a file, or why it cannot be read, as JSON.

    The seconds that it may take stand on standard input.
    """
    _limit(int(sys.stdin.read()))
    try:
        told = asdict(read_whole(Path(path)))
    except InputError as error:
        told = {"problem": str(error)}
    json.dump(told, sys.stdout)


def _limit(seconds: int) -> None:
    """Let the system end this process, also where nobody else is left to."""
    with suppress(ImportError, OSError, ValueError):  # only Unix has limits, and not every Unix this one
        from resource import RLIMIT_AS, RLIMIT_CPU, setrlimit

        setrlimit(RLIMIT_CPU, (seconds, seconds))
        setrlimit(RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
