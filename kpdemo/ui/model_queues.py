"""Models that wait for each other: one call after the other, each of which can be stopped. No Gradio here."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import Lock

from kpdemo.forwarding import Forwarding, read_with_passages
from kpdemo.languages.names import ENGLISH
from kpdemo.nesting import Unnested
from kpdemo.types import (
    Document,
    Mapped,
    Prediction,
    Predictor,
    RetrievalPrediction,
    VectorSpace,
    languages_of,
)
from kpdemo.ui.results import Answer, Question
from kpdemo.ui.stop import Stop
from kpdemo.worker import RemotePredictor

WARM_UP = Document("A short sentence warms the model up before the first reader comes.", title="Warm-up")


@dataclass(frozen=True)
class ModelQueue:
    """Models that answer one call after the other, and why others could not be loaded."""

    load: Callable[[str], Predictor]
    may_end: bool = False
    """Whether a Stop may end the process of these models, which then load again."""
    opened: dict[str, Guarded] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)


@dataclass(frozen=True)
class Guarded(Forwarding):
    """A predictor that waits for the lock before each call, only as long as nobody asks to stop."""

    predictor: Predictor
    lock: Lock
    may_end: bool = False
    stop: Stop = field(default_factory=Stop)

    def until(self, stop: Stop) -> Guarded:
        """The same for one question; its calls raise StoppedError once `stop` was asked."""
        return replace(self, stop=stop)

    def _predictor(self) -> Predictor:
        return self.predictor

    def predict(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[Prediction]:
        time.sleep(0.001)  # a file of many batches lets a waiting reader go first
        with self._turn():
            return super().predict(documents, top_k=top_k, threshold=threshold)

    def predict_with_passages(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[RetrievalPrediction]:
        time.sleep(0.001)  # as in `predict`
        with self._turn():
            return super().predict_with_passages(documents, top_k=top_k, threshold=threshold)

    def answer(self, question: Question) -> Answer:
        with self._turn():
            started = time.perf_counter()
            predictor = self.predictor if question.nested else Unnested(self.predictor)
            [found] = read_with_passages(
                predictor, [question.read], top_k=question.top_k, threshold=question.threshold
            )
            seconds = time.perf_counter() - started
        return Answer(
            question,
            found.prediction,
            self.name,
            self.device,
            seconds,
            finds_absent=self.finds_absent,
            languages=self.languages,
            retrieval=found if found.retrieves else None,
        )

    def vectors(
        self, document: Document, *, top_k: int | None = None, threshold: float | None = None
    ) -> list[VectorSpace]:
        if not isinstance(self.predictor, Mapped):
            return []
        with self._turn():
            return super().vectors(document, top_k=top_k, threshold=threshold)

    def similarities(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        with self._turn():
            return super().similarities(pairs)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        with self.stop.turn(self.lock), self.stop.ended_by(self._interrupt):
            yield

    def _interrupt(self) -> None:
        """End the predictor's work if it runs in another process; work in this one goes on.

        Never the process of the short texts, which others ask besides, and which are soon read.
        """
        if self.may_end and isinstance(self.predictor, RemotePredictor):
            self.predictor.interrupt()


def warm_up_for(predictor: Predictor) -> Document:
    """In a language of the model: some refuse all others."""
    languages = languages_of(predictor)
    return WARM_UP if ENGLISH in languages or not languages else replace(WARM_UP, language=min(languages))
