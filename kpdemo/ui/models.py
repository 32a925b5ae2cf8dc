"""The models that the pages offer, each loaded once and warmed up before it is asked for."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from threading import Event, Lock, Thread

from kpdemo.errors import KpdemoError, ModelLoadError
from kpdemo.types import Document, Prediction, Predictor
from kpdemo.ui.results import Answer, Question

WARM_UP = Document("A short sentence warms the model up before the first reader comes.", title="Warm-up")


class ModelShelf:
    """Opens each model once and lets it answer one call at a time, from whatever thread.

    Args:
        models: names with a line on each, the default one first.
        load: opens a model by name; raises ModelLoadError.
    """

    def __init__(self, models: Mapping[str, str], load: Callable[[str], Predictor]) -> None:
        self.models = dict(models)
        self._load = load
        self._opened: dict[str, Predictor] = {}
        self._lock = Lock()
        self._problem = ""
        self._warm = Event()

    @property
    def default(self) -> str:
        return next(iter(self.models))

    @property
    def choices(self) -> list[tuple[str, str]]:
        """What a list of models shows, and the name that it stands for."""
        return [(f"{name} – {line}", name) for name, line in self.models.items()]

    def problem(self, *, patience: float = 0.0) -> str:
        """Why the default model cannot be used, in one sentence; empty while it can.

        Waits for the warm-up, at most `patience` seconds.
        """
        self._warm.wait(patience)
        return self._problem

    def answer(self, question: Question) -> Answer:
        """Ask a model.

        Raises:
            ModelLoadError: the model is unknown, missing or damaged.
            InputError: the document cannot be read.
        """
        if question.model not in self.models:
            known = ", ".join(self.models)
            raise ModelLoadError(f"There is no model “{question.model}”: choose one of {known}.")
        predictor = self.open(question.model)
        started = time.perf_counter()
        [prediction] = predictor.predict(
            [question.document], top_k=question.top_k, threshold=question.threshold
        )
        seconds = time.perf_counter() - started
        return Answer(question, prediction, predictor.name, predictor.device, seconds)

    def open(self, name: str) -> Predictor:
        """A model that may be asked from any thread; the shelf answers one call after the other.

        Raises:
            ModelLoadError: the model is unknown, missing or damaged.
        """
        if name not in self.models:
            known = ", ".join(self.models)
            raise ModelLoadError(f"There is no model “{name}”: choose one of {known}.")
        with self._lock:
            if name not in self._opened:
                predictor = self._load(name)
                predictor.predict([WARM_UP])  # what loads lazily loads now, and counts in no answer's time
                self._opened[name] = _Guarded(predictor, self._lock)
            return self._opened[name]

    @property
    def state(self) -> str:
        """Of the default model, in one word: loading, ready or unavailable."""
        if not self._warm.is_set():
            return "loading"
        return "unavailable" if self._problem else "ready"

    def warm_up(self) -> None:
        """Load the default model and its libraries; keeps the reason when that fails."""
        try:
            self.open(self.default)
        except KpdemoError as error:
            self._problem = str(error)
        finally:
            self._warm.set()

    def warm_up_in_background(self) -> Thread:
        thread = Thread(target=self.warm_up, name="warm-up", daemon=True)
        thread.start()
        return thread


class _Guarded:
    """A predictor that waits for the lock before each call."""

    def __init__(self, predictor: Predictor, lock: Lock) -> None:
        self._predictor = predictor
        self._lock = lock

    @property
    def name(self) -> str:
        return self._predictor.name

    @property
    def device(self) -> str:
        return self._predictor.device

    def predict(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[Prediction]:
        time.sleep(0.001)  # a file of many batches lets a waiting reader go first
        with self._lock:
            return self._predictor.predict(documents, top_k=top_k, threshold=threshold)
