"""What runs in the process of the models: one request after the other, until its program ends."""

from __future__ import annotations

import os
import pickle
import sys
import time
import traceback
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import BinaryIO

from kpdemo.errors import KpdemoError
from kpdemo.progress import heard_by
from kpdemo.types import Mapped, Predictor, finds_absent, languages_of, uses_passages
from kpdemo.worker.messages import (
    Answer,
    Call,
    Description,
    Load,
    Open,
    Raised,
    Request,
    Returned,
    Setup,
    Told,
)

SECONDS_BETWEEN = 0.5
"""So that short texts report nothing."""


def serve() -> None:
    """Read requests from standard input and write answers to standard output, until the input ends."""
    requests, answers = _take_pipes()
    setup: Setup = pickle.load(requests)
    inbox: SimpleQueue[Request] = SimpleQueue()
    Thread(target=_receive, args=(requests, inbox), daemon=True).start()
    models = _Models(setup.load)
    if setup.first is not None:
        with suppress(Exception):  # whoever asks for it gets the error
            models.open(setup.first)
    with suppress(OSError):  # nobody is there to take the answer: the end that `_receive` waits for
        while True:
            request = inbox.get()
            with heard_by(_Teller(answers)):
                answer = models.answer(request)
            answers.write(_pickled(answer))
            answers.flush()
    os._exit(0)


def _take_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Standard input and output for ourselves: what a library prints must not come between the answers."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return sys.stdin.buffer, answers


def _receive(requests: BinaryIO, inbox: SimpleQueue[Request]) -> None:
    """Pass requests on; when their pipe ends, so did the program, however it did: leave off in mid-work."""
    try:
        while True:
            inbox.put(pickle.load(requests))
    finally:
        os._exit(0)


class _Teller:
    """Passes on how far the work is, now and then."""

    def __init__(self, answers: BinaryIO) -> None:
        self._answers = answers
        self._told = time.monotonic()

    def __call__(self, share: float, what: str) -> None:
        if time.monotonic() - self._told > SECONDS_BETWEEN:
            self._answers.write(pickle.dumps(Told(share, what)))
            self._answers.flush()
            self._told = time.monotonic()


class _Models:
    """The models that are loaded, by name."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._loaded: dict[str, Predictor] = {}

    def open(self, name: str) -> Description:
        predictor = self._predictor(name)
        return Description(
            predictor.name,
            predictor.device,
            finds_absent(predictor),
            isinstance(predictor, Mapped),
            languages_of(predictor),
            uses_passages(predictor),
        )

    def answer(self, request: Request) -> Answer:
        try:
            match request:
                case Open(model):
                    return Returned(self.open(model))
                case Call(model, method, arguments, options):
                    return Returned(getattr(self._predictor(model), method)(*arguments, **options))
        except Exception as error:  # noqa: BLE001 - it is raised where the request came from
            return Raised(_portable(error))

    def _predictor(self, name: str) -> Predictor:
        if name not in self._loaded:
            self._loaded[name] = self._load(name)
        return self._loaded[name]


def _portable(error: Exception) -> Exception:
    """An error that can be raised where the models' libraries are missing; a bug's says where it was."""
    if isinstance(error, KpdemoError):
        return error
    known = type(error).__module__ == "builtins"
    told = error if known else RuntimeError(f"{type(error).__name__}: {error}")
    told.add_note("".join(traceback.format_exception(error)))
    return told


def _pickled(answer: Answer) -> bytes:
    try:
        return pickle.dumps(answer)
    except Exception as error:  # noqa: BLE001 - pickle raises nearly anything
        return pickle.dumps(Raised(RuntimeError(f"The answer cannot be sent ({error}).")))
