"""Stand-ins for models in a process of their own: the tests' side of `kpdemo.worker`."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kpdemo.errors import ModelLoadError
from kpdemo.types import Document, Prediction, VectorSpace
from kpdemo.worker import SECONDS_BETWEEN, tell
from tests.fakes import FakePredictor

FILLED = 400_000_000
"""Bytes."""
_kept: list[bytes] = []


class LibraryError(Exception):
    """Of a library that only the models have."""

    __module__ = "library"


@dataclass(frozen=True)
class Obedient(FakePredictor):
    """Does what a document says, and answers with the number of its process."""

    finds_absent: bool = True

    def predict(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[Prediction]:
        for document in documents:
            _obey(document.body if isinstance(document, Document) else document)
        return [Prediction((), absent_candidates=(str(os.getpid()),)) for _ in documents]

    def vectors(
        self, document: Document, *, top_k: int | None = None, threshold: float | None = None
    ) -> list[VectorSpace]:
        return [VectorSpace(document.body, (), np.eye(2, dtype=np.float32))]


def _obey(word: str) -> None:
    match word.split():
        case ["die"]:
            os.kill(os.getpid(), signal.SIGKILL)
        case ["exit"]:
            os._exit(3)
        case ["print"]:
            print("a library has something to say", flush=True)
        case ["overflow"]:
            raise MemoryError
        case ["fail"]:
            raise LibraryError("the kernel is missing")
        case ["compute", path]:
            Path(path).touch()
            while True:  # never lets go by itself
                sum(range(1000))
        case ["tell"]:
            tell(0.25)  # too soon after the question
            time.sleep(SECONDS_BETWEEN + 0.1)
            tell(0.5)
        case ["fill"]:  # with blocks that the C library keeps when they are freed, as the last one stays
            blocks = [b"x" * 100_000 for _ in range(FILLED // 100_000)]
            _kept.append(blocks[-1])
        case ["sleep"]:
            time.sleep(60)


def load(name: str) -> FakePredictor:
    """`obedient`, a plain fake of any other name, or no `missing` one."""
    if name == "missing":
        raise ModelLoadError("There is no model “missing”: choose another.")
    return Obedient(name) if name == "obedient" else FakePredictor(name)


def load_and_note(folder: Path, name: str) -> FakePredictor:
    """As `load`; leaves a file of that name, in which a line is the process that loaded it."""
    with (folder / name).open("a", encoding="utf-8") as note:
        print(os.getpid(), file=note)
    return load(name)
