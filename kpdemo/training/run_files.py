"""The files in the folder of a run: one training at a time writes them, each whole or not at all."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import torch

from kpdemo.errors import TrainingError
from kpdemo.json_text import parse_json
from kpdemo.locks import locked_folder
from kpdemo.storage import replacing

LAST = "last.pt"
"""The state of a run: without it the run has not begun."""


def run_lock(folder: Path) -> AbstractContextManager[None]:
    """Keep other trainings out of the folder, which is made where it is not there.

    Raises:
        TrainingError: another one is in it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    busy = f"Another training run is writing to {folder}: wait until it is done, or give another --output."
    return locked_folder(folder, TrainingError(busy))


@contextmanager
def memory_errors() -> Iterator[None]:
    """Raises:
    TrainingError: the memory of the machine or of its GPU was not enough.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        is_of_gpu = isinstance(error, torch.OutOfMemoryError)
        if not (is_of_gpu or isinstance(error, MemoryError) or "allocate memory" in str(error)):
            raise
        raise TrainingError(
            "The training needs more memory than there is: give a smaller `batch_size`, or a smaller model, "
            "and another output."
        ) from error


def save_state(state: Any, path: Path) -> None:
    with replacing(path) as partial, partial.open("wb") as stream:
        torch.save(state, stream)


def load_state(path: Path) -> Any:
    """What `save_state` wrote.

    Raises:
        TrainingError: the file is missing or damaged.
    """
    try:
        return torch.load(path, map_location="cpu", weights_only=True)  # the caller moves it
    except MemoryError:
        raise
    except PermissionError as error:
        raise TrainingError(f"{path} may not be read: fix its permissions and run it again.") from error
    except Exception as error:  # a damaged file makes torch raise nearly anything
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise TrainingError(
            f"{path} cannot be read ({reason}): delete {path.parent} to train from the beginning, or give "
            "another --output."
        ) from error


def log_line(folder: Path, values: Mapping[str, float]) -> None:
    """Add to the log of the run in that folder."""
    with (folder / "log.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(values) + "\n")


def cut_log(folder: Path, step: int) -> None:
    """Remove what a crash left in the log after the checkpoint of that step: later steps are run again.

    A damaged line goes too: the log is for people to read, and no run resumes from it.
    """
    path = folder / "log.jsonl"
    if path.is_file():
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(line for line in lines if _step_of(line) <= step))


def _step_of(line: bytes) -> float:
    """Of a line of the log; infinite where it is damaged, even if only its end is missing."""
    try:
        return float(parse_json(line)["step"]) if line.endswith(b"\n") else math.inf
    except (ValueError, TypeError, LookupError, OverflowError):
        return math.inf
