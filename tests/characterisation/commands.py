"""The commands as a shell runs them, in this process: the one place that knows how a program is started."""

from __future__ import annotations

import io
import os
import runpy
import sys
import warnings
from collections.abc import Mapping
from contextlib import ExitStack, chdir
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).parents[2]
UNSET = ("KPDEMO_DATABASE_URL", "KPDEMO_DOCUMENTATION", "SPACE_ID", "FORCE_COLOR")
WITHOUT_WORDNET = {"KPDEMO_WORDNET": "no-wordnet"}
"""Whether the machine has WordNet must not show."""


@dataclass(frozen=True)
class Outcome:
    status: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()


def workplace(folder: Path) -> Path:
    """A folder in which `docs/examples` is where the documentation has it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "docs").symlink_to(ROOT / "docs")
    return folder


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """This process's, without what would change an outcome."""
    kept = {name: value for name, value in os.environ.items() if name not in UNSET}
    return kept | {"COLUMNS": "120"} | WITHOUT_WORDNET | dict(given)


def run(
    folder: Path, line: str | list[str], stdin: bytes = b"", given: Mapping[str, str] | None = None
) -> Outcome:
    """Run `python -m` with a command line in a folder, such as "kpdemo models --json".

    Args:
        line: with blanks between words, or the words.
        given: variables of the environment.
    """
    program, *arguments = line.split() if isinstance(line, str) else line
    streams = [io.TextIOWrapper(io.BytesIO(content), encoding="utf-8") for content in (stdin, b"", b"")]
    status: object = 0
    with ExitStack() as stack:
        stack.enter_context(chdir(folder))
        stack.enter_context(mock.patch.dict(os.environ, environment(given or {}), clear=True))
        for name, value in zip(("stdin", "stdout", "stderr"), streams, strict=True):
            stack.enter_context(mock.patch.object(sys, name, value))
        stack.enter_context(mock.patch.object(sys, "argv", [program, *arguments]))
        stack.enter_context(warnings.catch_warnings())
        # Another test may have imported the main module; that is no matter here.
        warnings.filterwarnings("ignore", "'.*' found in sys.modules", RuntimeWarning)
        try:
            runpy.run_module(program, run_name="__main__")
        except SystemExit as end:
            status = end.code
        for stream in streams[1:]:
            stream.flush()
        out, err = (stream.buffer.getvalue() for stream in streams[1:])
    return Outcome(status if isinstance(status, int) else int(status is not None), out, err.decode())


def done(folder: Path, line: str | list[str], stdin: bytes = b"", **given: str) -> Outcome:
    """The same of a command line that must succeed."""
    outcome = run(folder, line, stdin, given)
    assert outcome.status == 0, f"{line}: status {outcome.status}, {outcome.err}"
    return outcome
