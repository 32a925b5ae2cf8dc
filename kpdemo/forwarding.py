"""Predictors that pass on to another one: loaded on first use, or chosen by the language of a document."""

from __future__ import annotations

import os
import pickle
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from threading import Lock
from typing import ClassVar, TypeVar

from kpdemo.errors import ModelLoadError
from kpdemo.routing import DEFAULT_MODEL, SERVED, model_for
from kpdemo.text import readable_documents
from kpdemo.types import (
    Comparing,
    Document,
    Mapped,
    Prediction,
    Predictor,
    RetrievalPrediction,
    RetrievalPredictor,
    VectorSpace,
    finds_absent,
    languages_of,
    uses_passages,
)


class Forwarding(ABC):
    """A predictor that delegates everything to another; a subclass says which, and overrides what differs.

    It is a `RetrievalPredictor`, `Comparing` and `Mapped`, whatever the other one is.
    """

    @abstractmethod
    def _predictor(self) -> Predictor:
        """The other one."""

    @property
    def name(self) -> str:
        return self._predictor().name

    @property
    def device(self) -> str:
        return self._predictor().device

    @property
    def languages(self) -> frozenset[str]:
        return languages_of(self._predictor())

    @property
    def finds_absent(self) -> bool:
        return finds_absent(self._predictor())

    @property
    def uses_passages(self) -> bool:
        return uses_passages(self._predictor())

    def predict(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[Prediction]:
        """See `kpdemo.types.Predictor`."""
        return self._predictor().predict(documents, top_k=top_k, threshold=threshold)

    def predict_with_passages(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[RetrievalPrediction]:
        """See `kpdemo.types.RetrievalPredictor`."""
        return read_with_passages(self._predictor(), documents, top_k=top_k, threshold=threshold)

    def vectors(
        self, document: Document, *, top_k: int | None = None, threshold: float | None = None
    ) -> list[VectorSpace]:
        """See `kpdemo.types.Mapped`."""
        predictor = self._predictor()
        if not isinstance(predictor, Mapped):
            return []
        return predictor.vectors(document, top_k=top_k, threshold=threshold)

    def similarities(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """See `kpdemo.types.Comparing`."""
        predictor = self._predictor()
        if not isinstance(predictor, Comparing):
            raise ModelLoadError(f"The model {self.name!r} does not compare texts: choose {DEFAULT_MODEL}.")
        return predictor.similarities(pairs)


def read_with_passages(
    predictor: Predictor,
    documents: Sequence[Document | str],
    *,
    top_k: int | None = None,
    threshold: float | None = None,
) -> list[RetrievalPrediction]:
    """As `RetrievalPredictor.predict_with_passages`, for any predictor: most have no passages."""
    if uses_passages(predictor) and isinstance(predictor, RetrievalPredictor):
        return predictor.predict_with_passages(documents, top_k=top_k, threshold=threshold)
    predictions = predictor.predict(documents, top_k=top_k, threshold=threshold)
    return [RetrievalPrediction((), one, one, retrieves=False) for one in predictions]


_THREADS = {"torch": "set_num_threads", "faiss": "omp_set_num_threads"}
"""What says with how many threads a library computes."""


@cache
def keep_forks_going() -> None:
    """Let processes that are forked from now on compute with one thread, as PyTorch's data loaders do.

    The libraries' other threads are not in a forked process: it would wait for them for ever.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_use_one_thread)


def _use_one_thread() -> None:
    for library, setter in _THREADS.items():
        if library in sys.modules:
            getattr(sys.modules[library], setter)(1)


class LazyPredictor(Forwarding):
    """A predictor that is loaded when it is first needed, once, however many threads ask.

    It pickles as what loads it, so `load` must pickle too, and is loaded again where it is unpickled.
    """

    def __init__(self, name: str, load: Callable[[], Predictor]) -> None:
        self._name = name
        self._load = load
        self._loaded: Predictor | None = None
        self._process = 0  # which loaded it
        self._lock = Lock()

    def __reduce__(self) -> tuple[Callable[[bytes], LazyPredictor], tuple[bytes]]:
        return _received, (pickle.dumps((self._name, self._load)),)

    @property
    def name(self) -> str:
        return self._name

    def _predictor(self) -> Predictor:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
                self._process = os.getpid()
                keep_forks_going()
            elif self._process != os.getpid() and _on_gpu(self._loaded):
                raise ModelLoadError(
                    f"The model {self._name!r} was loaded onto the GPU before this process was forked, and a "
                    "forked process cannot use it: start processes with spawn, or before the first "
                    "prediction."
                )
            return self._loaded


@lru_cache(maxsize=4)
def _received(pickled: bytes) -> LazyPredictor:
    """The same object each time: a pool's worker is sent the predictor again with each piece of its work."""
    return LazyPredictor(*pickle.loads(pickled))


def _on_gpu(loaded: Predictor) -> bool:
    """Whether the model itself is on a GPU; one that delegates is not asked: that would load others."""
    return not isinstance(loaded, Forwarding) and loaded.device == "cuda"


Outcome = TypeVar("Outcome")


@dataclass(frozen=True)
class RoutedPredictor(Forwarding):
    """Attributes:
    models: by the names that `model_for` gives; a model loads with the first document that it is asked for.
    """

    uses_passages: ClassVar[bool] = True
    languages: ClassVar[frozenset[str]] = SERVED

    models: Mapping[str, Predictor]
    name: str = DEFAULT_MODEL

    def _predictor(self) -> Predictor:
        return self.models[DEFAULT_MODEL]  # for all that concerns no document

    def reader(self, document: Document) -> Predictor:
        """The model for one document, whose language must be known."""
        return self.models[model_for(document.language)]

    def predict(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[Prediction]:
        """See `kpdemo.types.Predictor`."""
        return self._each(
            documents, lambda model, turn: model.predict(turn, top_k=top_k, threshold=threshold)
        )

    def predict_with_passages(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[RetrievalPrediction]:
        """See `kpdemo.types.RetrievalPredictor`; a document whose model retrieves nothing has no passages."""
        return self._each(
            documents, lambda model, turn: read_with_passages(model, turn, top_k=top_k, threshold=threshold)
        )

    def vectors(
        self, document: Document, *, top_k: int | None = None, threshold: float | None = None
    ) -> list[VectorSpace]:
        """See `kpdemo.types.Mapped`."""
        [read] = readable_documents([document])
        model = self.reader(read)
        return model.vectors(read, top_k=top_k, threshold=threshold) if isinstance(model, Mapped) else []

    def _each(
        self,
        documents: Sequence[Document | str],
        ask: Callable[[Predictor, list[Document]], list[Outcome]],
    ) -> list[Outcome]:
        """Ask each model once, with all documents that are its own; the outcomes in the documents' order."""
        read = readable_documents(documents)
        turns: dict[str, list[int]] = {}
        for number, document in enumerate(read):
            turns.setdefault(model_for(document.language), []).append(number)
        found: dict[int, Outcome] = {}
        for name, numbers in turns.items():
            outcomes = ask(self.models[name], [read[number] for number in numbers])
            found.update(zip(numbers, outcomes, strict=True))
        return [found[number] for number in range(len(read))]
