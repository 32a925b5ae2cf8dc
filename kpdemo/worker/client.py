"""The models of another process, seen from the program that asks them.

The program needs neither their libraries nor their memory: it keeps serving while they load or compute, and
when they run out of memory. Standard library only.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import Any

from kpdemo.errors import ModelStoppedError
from kpdemo.progress import tell
from kpdemo.types import Document, Prediction, RetrievalPrediction, VectorSpace
from kpdemo.worker.messages import Answer, Call, Description, Load, Open, Raised, Request, Setup, Told
from kpdemo.worker.process import ModelProcess


class ModelWorker:
    """Models in a process of their own, which ends with the program or `close`.

    Its methods may be called from any thread; the process answers one request after the other. When it dies,
    the request that it worked at raises, and another process takes its place.

    Args:
        load: opens a model by name, there; something that pickle takes, such as a function of a module.
        first: the model to load at once; without it the process starts with the first request.
    """

    def __init__(self, load: Load, first: str | None = None) -> None:
        self._setup = Setup(load, first)
        self._turn = Lock()
        self._change = Lock()  # held while a process starts or ends
        self._closed = False
        self._process = None if first is None else ModelProcess(self._setup)

    def open(self, model: str) -> RemotePredictor:
        """A model as a predictor, loaded when this returns.

        Raises:
            ModelLoadError: as `load`.
            ModelStoppedError: the process died.
        """
        return RemotePredictor(self, model, self._ask(Open(model)))

    def call(self, model: str, method: str, *arguments: Any, **options: Any) -> Any:
        """Call a method of a model, with values that pickle takes, and return what it does.

        Raises:
            ModelStoppedError: the process died.
            Exception: what the method raises; of a type that only the models' libraries have, a RuntimeError.
        """
        return self._ask(Call(model, method, arguments, options))

    def interrupt(self) -> None:
        """End the process in mid-work: what it works at raises ModelStoppedError, and another starts."""
        with self._change:
            if self._process is not None:
                self._process.end()

    def close(self) -> None:
        """End the process; who still waits for an answer gets a ModelStoppedError."""
        with self._change:
            self._closed = True
            if self._process is not None:
                self._process.end()
        with self._turn:
            if self._process is not None:
                self._process.close_pipes()

    def _ask(self, request: Request) -> Any:
        with self._turn:
            answer = self._exchange(request)
        if isinstance(answer, Raised):
            raise answer.error
        return answer.value

    def _exchange(self, request: Request) -> Answer:
        process = self._started()
        if not process.send(request):  # it died while nobody asked: nothing is lost
            self._replace(process)
            process = self._started()
            process.send(request)
        try:
            while isinstance(answer := process.receive(), Told):
                tell(answer.share, answer.what)
        except BaseException:
            # What it answers yet would be taken for the answer to the next request.
            with suppress(ModelStoppedError):
                self._replace(process)
            raise
        if answer is None:
            raise ModelStoppedError(
                f"The model stopped before it had answered ({self._replace(process)}), and is starting "
                "again: try again, or use a shorter text."
            )
        return answer

    def _started(self) -> ModelProcess:
        with self._change:
            self._check_open()
            if self._process is None:
                self._process = self._start()
            return self._process

    def _replace(self, dead: ModelProcess) -> str:
        """Another process for the one that died; returns what that one died of."""
        with self._change:
            cause = dead.end()
            self._check_open()
            dead.close_pipes()
            self._process = None  # the next request tries again if none starts now
            self._process = self._start()
        return cause

    def _start(self) -> ModelProcess:
        try:
            return ModelProcess(self._setup)
        except OSError as error:
            raise ModelStoppedError(
                f"The model cannot be started ({error.strerror}): try again in a minute."
            ) from error

    def _check_open(self) -> None:
        if self._closed:
            raise ModelStoppedError("The models have been stopped: start the program again.")


@dataclass(frozen=True)
class RemotePredictor:
    """A predictor of a `ModelWorker`."""

    worker: ModelWorker
    model: str
    description: Description

    @property
    def name(self) -> str:
        return self.description.name

    @property
    def device(self) -> str:
        return self.description.device

    @property
    def finds_absent(self) -> bool:
        return self.description.finds_absent

    @property
    def languages(self) -> frozenset[str]:
        return self.description.languages

    def interrupt(self) -> None:
        """See `ModelWorker.interrupt`: it ends whatever any model of the process works at."""
        self.worker.interrupt()

    def predict(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[Prediction]:
        """See `kpdemo.types.Predictor`; besides, raises ModelStoppedError."""
        found: list[Prediction] = self.worker.call(
            self.model, "predict", documents, top_k=top_k, threshold=threshold
        )
        return found

    @property
    def uses_passages(self) -> bool:
        return self.description.uses_passages

    def predict_with_passages(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[RetrievalPrediction]:
        """See `kpdemo.types.RetrievalPredictor`; besides, raises ModelStoppedError."""
        found: list[RetrievalPrediction] = self.worker.call(
            self.model, "predict_with_passages", documents, top_k=top_k, threshold=threshold
        )
        return found

    def vectors(
        self, document: Document, *, top_k: int | None = None, threshold: float | None = None
    ) -> list[VectorSpace]:
        """See `kpdemo.types.Mapped`; besides, raises ModelStoppedError."""
        if not self.description.has_vectors:
            return []
        found: list[VectorSpace] = self.worker.call(
            self.model, "vectors", document, top_k=top_k, threshold=threshold
        )
        return found
