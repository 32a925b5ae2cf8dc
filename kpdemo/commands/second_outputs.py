"""Where a command writes a file besides its main result."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from kpdemo.commands.options import STDOUT, CallError
from kpdemo.storage import beside, check_place


def check_second_output(option: str, name: str, others: Sequence[Path]) -> Path:
    """The path; refused before long work, and where it is one of the files that the command uses.

    Raises:
        CallError: it is standard output, a folder, or one of `others`.
        OSError: it cannot be written.
    """
    path = Path(name)
    if path.is_dir():
        raise CallError(f"{name}: a folder, not a file; name a file in it.")
    if name == STDOUT or _is_standard_output(path):
        raise CallError(f"{option} {name} is standard output: name a file.")
    used = {other.resolve() for other in others}
    for written in (path, beside(path)):
        if written.resolve() in used or (
            written.exists() and any(map(written.samefile, filter(Path.exists, others)))
        ):
            raise CallError(f"{written}: used by another option too; name another file for {option}.")
    check_place(path)
    return path


def _is_standard_output(path: Path) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(1))
    except OSError:  # it is new, or standard output is closed
        return False
