"""From documents to keyphrases: a model opened on first use, chosen by language, nested phrases left out."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import cache, lru_cache
from itertools import islice
from threading import Lock
from types import MappingProxyType
from typing import Any, TypeVar

from kpdemo.errors import ModelLoadError
from kpdemo.markup import reading_warnings, without_markup
from kpdemo.routing import DEFAULT_MODEL, SERVED, model_for
from kpdemo.selection import check_options, drop_nested
from kpdemo.text import readable_documents
from kpdemo.types import (
    Comparing,
    Document,
    Keyphrase,
    Mapped,
    PointKind,
    Prediction,
    Predictor,
    RetrievalPrediction,
    RetrievalPredictor,
    VectorPoint,
    VectorSpace,
    finds_absent,
    languages_of,
    uses_passages,
)

Found = TypeVar("Found", Prediction, RetrievalPrediction)


class Pipeline:
    """A model by name, opened when it is first needed, once, however many threads ask.

    It is a `RetrievalPredictor`, `Comparing` and `Mapped`, whatever the model is. It pickles as its
    arguments, which must pickle too, and opens the model again where it is unpickled.

    Args:
        load: opens the model.
        routes: what opens the models that read other languages, by the names that `model_for` gives; each is
            opened with the first document in its language.
        nested: whether a present keyphrase may be nested in another, see `read_with_passages`.
    """

    def __init__(
        self,
        name: str,
        load: Callable[[], Predictor],
        routes: Mapping[str, Callable[[], Predictor]] = MappingProxyType({}),
        *,
        nested: bool = True,
    ) -> None:
        self._name = name
        self._loaders = {**routes, DEFAULT_MODEL: load}
        self._nested = nested
        self._opened: dict[str, tuple[Predictor, int]] = {}  # each with the process that opened it
        self._lock = Lock()

    def __reduce__(self) -> tuple[Callable[[bytes], Pipeline], tuple[bytes]]:
        return _received, (pickle.dumps((self._name, self._loaders, self._nested)),)

    @property
    def name(self) -> str:
        return self._name

    @property
    def device(self) -> str:
        return self._model().device

    @property
    def languages(self) -> frozenset[str]:
        return SERVED if self._is_routed else languages_of(self._model())

    @property
    def finds_absent(self) -> bool:
        return finds_absent(self._model())

    @property
    def uses_passages(self) -> bool:
        return self._is_routed or uses_passages(self._model())

    def predict(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[Prediction]:
        """See `kpdemo.types.Predictor`."""
        if self._nested:
            return self._each(
                documents, lambda model, own: model.predict(own, top_k=top_k, threshold=threshold)
            )
        found = self.predict_with_passages(documents, top_k=top_k, threshold=threshold)
        return [one.prediction for one in found]

    def predict_with_passages(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[RetrievalPrediction]:
        """See `kpdemo.types.RetrievalPredictor`; a document whose model retrieves nothing has no passages."""

        def read(model: Predictor, own: Sequence[Document | str]) -> list[RetrievalPrediction]:
            return read_with_passages(model, own, top_k=top_k, threshold=threshold, nested=self._nested)

        return self._each(documents, read)

    def vectors(
        self, document: Document, *, top_k: int | None = None, threshold: float | None = None
    ) -> list[VectorSpace]:
        """See `kpdemo.types.Mapped`."""
        if self._is_routed:
            [document] = readable_documents([document])
        model = self._model(document.language)
        spaces = (
            model.vectors(document, top_k=top_k, threshold=threshold) if isinstance(model, Mapped) else []
        )
        if self._nested or not spaces:
            return spaces
        [prediction] = self.predict([document], top_k=top_k, threshold=threshold)
        present = {one.text for one in prediction.present}
        return [
            replace(space, points=tuple(_chosen(point, present) for point in space.points))
            for space in spaces
        ]

    def similarities(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """See `kpdemo.types.Comparing`."""
        model = self._model()
        if not isinstance(model, Comparing):
            raise ModelLoadError(f"The model {self.name!r} does not compare texts: choose {DEFAULT_MODEL}.")
        return model.similarities(pairs)

    @property
    def _is_routed(self) -> bool:
        return len(self._loaders) > 1

    def _each(
        self,
        documents: Sequence[Document | str],
        ask: Callable[[Predictor, Sequence[Document | str]], list[Found]],
    ) -> list[Found]:
        """Ask each model once, with all documents that are its own; the answers in the documents' order."""
        if not self._is_routed:
            own = list(documents) if isinstance(documents, Iterator) else documents
            answers = ask(self._model(), own)
            return [_with_warnings(*one) for one in zip(answers, own, strict=True)]
        read = readable_documents(documents)
        numbers_of: dict[str, list[int]] = {}
        for number, document in enumerate(read):
            numbers_of.setdefault(self._route(document.language), []).append(number)
        found: dict[int, Found] = {}
        for route, numbers in numbers_of.items():
            answers = ask(self._open(route), [read[number] for number in numbers])
            found.update(zip(numbers, answers, strict=True))
        return [_with_warnings(found[number], document) for number, document in enumerate(read)]

    def _model(self, language: str = "") -> Predictor:
        return self._open(self._route(language))

    def _route(self, language: str) -> str:
        route = model_for(language)
        return route if route in self._loaders else DEFAULT_MODEL

    def _open(self, route: str) -> Predictor:
        with self._lock:
            if route not in self._opened:
                self._opened[route] = self._loaders[route](), os.getpid()
                keep_forks_going()
            model, process = self._opened[route]
            # A pipeline in this one knows for itself where its model is: to ask it would open that one.
            if process != os.getpid() and not isinstance(model, Pipeline) and model.device == "cuda":
                raise ModelLoadError(
                    f"The model {self._name!r} was loaded onto the GPU before this process was forked, and a "
                    "forked process cannot use it: start processes with spawn, or before the first "
                    "prediction."
                )
            return model


@lru_cache(maxsize=4)
def _received(pickled: bytes) -> Pipeline:
    """The same object each time: a pool's worker is sent the pipeline again with each piece of its work."""
    name, loaders, nested = pickle.loads(pickled)
    return Pipeline(name, loaders[DEFAULT_MODEL], loaders, nested=nested)


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


def _with_warnings(found: Found, document: Document | str) -> Found:
    """With what a reader should know about how the document was read."""
    read = without_markup(Document(document) if isinstance(document, str) else document)
    said = reading_warnings(read)
    if isinstance(found, RetrievalPrediction):
        prediction, without = _warned(found.prediction, said), _warned(found.without, said)
        return replace(found, prediction=prediction, without=without)
    return _warned(found, said)


def _warned(prediction: Prediction, said: tuple[str, ...]) -> Prediction:
    return replace(prediction, warnings=(*said, *prediction.warnings)) if said else prediction


_AT_FIRST = 4  # times as many as wanted are asked for: mostly enough, and one call


def read_with_passages(
    predictor: Predictor,
    documents: Sequence[Document | str],
    *,
    top_k: int | None = None,
    threshold: float | None = None,
    nested: bool = True,
) -> list[RetrievalPrediction]:
    """As `RetrievalPredictor.predict_with_passages`, for any predictor: most have no passages.

    Args:
        nested: whether a present keyphrase may be nested in another. Where not, the answer keeps its length
            if possible: each keyphrase left out is replaced by the next best, which is marked as a filler
            unless a number was asked for. With a threshold alone nothing is replaced. Absent keyphrases stay.
    """
    options: dict[str, Any] = {"top_k": top_k, "threshold": threshold}
    if nested:
        if uses_passages(predictor) and isinstance(predictor, RetrievalPredictor):
            return predictor.predict_with_passages(documents, **options)
        predictions = predictor.predict(documents, **options)
        return [RetrievalPrediction((), one, one, retrieves=False) for one in predictions]
    check_options(top_k, threshold)
    documents = readable_documents(documents)
    own = read_with_passages(predictor, documents, **options)
    fills = top_k is None
    found = [_thinned(one, one, fills=fills) for one in own]
    if top_k is None and threshold is not None:
        return found
    waiting = [number for number, one in enumerate(own) if found[number] != one]
    asked = _AT_FIRST * max((_longest(own[number]) for number in waiting), default=0)
    while waiting:
        more = read_with_passages(
            predictor, [documents[number] for number in waiting], top_k=asked, threshold=threshold
        )
        for number, one in zip(waiting, more, strict=True):
            found[number] = _thinned(own[number], one, fills=fills)
        waiting = [
            number
            for number, one in zip(waiting, more, strict=True)
            if _is_short(found[number], own[number]) and _longest(one) >= asked
        ]
        asked *= 2
    return found


def _thinned(own: RetrievalPrediction, longer: RetrievalPrediction, *, fills: bool) -> RetrievalPrediction:
    """`own` with the first keyphrases of `longer` that do not nest, as many as it has.

    Args:
        fills: whether those that `own` does not have are fillers.
    """
    return replace(
        own,
        prediction=_replaced(own.prediction, longer.prediction.present, fills=fills),
        without=_replaced(own.without, longer.without.present, fills=fills),
    )


def _replaced(own: Prediction, ranked: Sequence[Keyphrase], *, fills: bool) -> Prediction:
    known = {one.spans: one for one in own.present}
    places = islice(drop_nested((one.text for one in ranked), own.language), len(own.present))
    chosen = (ranked[place] for place in places)
    present = (known.get(one.spans) or replace(one, filler=fills) for one in chosen)
    return replace(own, present=tuple(present))


def _is_short(found: RetrievalPrediction, own: RetrievalPrediction) -> bool:
    pairs = ((found.prediction, own.prediction), (found.without, own.without))
    return any(len(now.present) < len(before.present) for now, before in pairs)


def _longest(found: RetrievalPrediction) -> int:
    return max(len(found.prediction.present), len(found.without.present))


def _chosen(point: VectorPoint, present: Set[str]) -> VectorPoint:
    if point.kind not in (PointKind.PRESENT, PointKind.CANDIDATE):
        return point
    kind = PointKind.PRESENT if point.text in present else PointKind.CANDIDATE
    return replace(point, kind=kind)
