"""The models that the pages offer, each loaded once and warmed up before it is asked for."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import BoundedSemaphore, Event, Lock, Thread

import kpdemo
from kpdemo.cards import model_card
from kpdemo.errors import BusyError, KpdemoError, LanguageError, ModelLoadError, ModelStoppedError
from kpdemo.languages import identified
from kpdemo.languages.names import ENGLISH
from kpdemo.languages.routing import DEFAULT_MODEL, model_for
from kpdemo.predictors import model_folder
from kpdemo.routed import read_with_passages
from kpdemo.types import (
    Document,
    Mapped,
    Prediction,
    Predictor,
    RetrievalPrediction,
    VectorSpace,
    finds_absent,
    languages_of,
    uses_passages,
)
from kpdemo.ui.results import Answer, Question
from kpdemo.ui.stop import Stop
from kpdemo.worker import RemotePredictor

WARM_UP = Document("A short sentence warms the model up before the first reader comes.", title="Warm-up")
WARM_UP_PATIENCE = 15.0
LONG_TEXT = 20_000
"""Characters that two cores read in about two seconds; longer texts are read apart, where they can be."""

MOST_LONG = 3
"""Long texts that are read or wait at a time: each takes one of the events of `MODEL_QUEUE`."""

OF_ONE_MODEL = (BusyError, LanguageError, ModelLoadError, ModelStoppedError)
"""What one model may say to a text that another one reads."""

INSTALLED_IN = f"{Path(kpdemo.__file__).parent.parent}{os.sep}"

_logger = logging.getLogger(__name__)


def no_index(name: str) -> str:
    """Every model reads its own passages, if any."""
    return ""


class ModelShelf:
    """Opens each model once and lets the models answer one call at a time, from whatever thread.

    Long texts and files wait in a row of their own where `load_apart` is given, so that a short text
    waits for short ones only.

    Args:
        models: names with a line on each, the default one first.
        load: opens a model by name; raises ModelLoadError.
        describe: the card of a model by name, in Markdown.
        index_of: the folder of the passages that a model was opened with; empty for its own.
        load_apart: as `load`, for models that can answer while those of `load` do.
    """

    def __init__(
        self,
        models: Mapping[str, str],
        load: Callable[[str], Predictor],
        describe: Callable[[str], str] = model_card,
        index_of: Callable[[str], str] = no_index,
        load_apart: Callable[[str], Predictor] | None = None,
    ) -> None:
        self.models = dict(models)
        self._describe = describe
        self._index_of = index_of
        self._short = _Row(load)
        self._long = self._short if load_apart is None else _Row(load_apart)
        self._long_turns = BoundedSemaphore(MOST_LONG)
        self._warm = Event()

    @property
    def default(self) -> str:
        return next(iter(self.models))

    @property
    def choices(self) -> list[tuple[str, str]]:
        """What a list of models shows, and the name that it stands for."""
        return [(f"{name} – {line}", name) for name, line in self.models.items()]

    @property
    def state(self) -> str:
        """Of the default model, in one word: loading, ready or unavailable."""
        if self.default in self._short.opened:
            return "ready"
        return "unavailable" if self.default in self._short.problems else "loading"

    @property
    def device(self) -> str:
        """Where the default model computes; empty before it is ready."""
        opened = self._short.opened.get(self.default)
        return opened.device if opened else ""

    def problem(self, *, patience: float = 0.0) -> str:
        """Why the default model cannot be used, in one sentence; empty while it can.

        What keeps long texts from it is told to those who give one.
        Waits for the warm-up, at most `patience` seconds.
        """
        self._warm.wait(patience)
        return self._short.problems.get(self.default, "")

    def answer(self, question: Question, stop: Stop | None = None) -> Answer:
        """Ask a model; the time of the answer counts neither loading nor waiting for others.

        The default model leaves languages that another one of the shelf was made for to that one.

        Args:
            stop: ends the work, if the models are in a process of their own, or else the wait for it.

        Raises:
            StoppedError: by `stop`.
            ModelLoadError: the model is unknown, or cannot be loaded.
            InputError: the document cannot be read.
            BusyError: the text is long, and so are `MOST_LONG` others that wait.
        """
        stop = stop or Stop()
        with self._row_of(question) as row:
            answer = self._reader(question, row, stop).answer(question, stop)
        if answer.retrieval is None:
            return answer
        return replace(answer, question=replace(question, index=self._index_of(question.model)))

    def spaces(self, question: Question) -> list[VectorSpace]:
        """The vectors that a model compares when it answers; none where it compares no vectors.

        Raises:
            ModelLoadError: the model is unknown, or cannot be loaded.
            InputError: the document cannot be read.
            BusyError: as `answer`.
        """
        with self._row_of(question) as row:
            guarded = self._reader(question, row)
            return guarded.vectors(question.read, top_k=question.top_k, threshold=question.threshold)

    def reader_of(self, question: Question) -> str:
        """The name of the model that reads the question's document; see `kpdemo.languages.routing`."""
        name = question.model
        if name == DEFAULT_MODEL:
            name = model_for(identified(question.document).language)
        return name if name in self.models else question.model

    def card(self, name: str) -> str:
        """What a model is, in Markdown; it need not be loaded for that.

        Raises:
            ModelLoadError: the model is unknown.
        """
        self._check_known(name)
        return self._describe(name)

    def open(self, name: str) -> Predictor:
        """A model for much work, such as files, that may be asked from any thread.

        Its calls wait in the row of the long texts.

        Raises:
            ModelLoadError: the model is unknown, or cannot be loaded.
        """
        return self._open(name, self._long)

    def warm_up(self) -> None:
        """Load the default model and its libraries; `problem` tells when that fails."""
        try:
            self._open(self.default, self._short)
        except ModelLoadError:
            pass
        finally:
            self._warm.set()

    def warm_up_in_background(self) -> Thread:
        thread = Thread(target=self.warm_up, name="warm-up", daemon=True)
        thread.start()
        return thread

    @contextmanager
    def _row_of(self, question: Question) -> Iterator[_Row]:
        """Where the question waits; it keeps its place until it is answered."""
        if self._long is self._short or len(question.document.text) < LONG_TEXT:
            yield self._short
            return
        if not self._long_turns.acquire(blocking=False):
            raise BusyError(
                f"{MOST_LONG} other long texts are being read or wait for it: ask again in a minute, or use "
                "the command line (python -m kpdemo predict)."
            )
        try:
            yield self._long
        finally:
            self._long_turns.release()

    def _reader(self, question: Question, row: _Row, stop: Stop | None = None) -> _Guarded:
        return self._open(self.reader_of(question), row, stop)

    def _check_known(self, name: str) -> None:
        if name not in self.models:
            known = ", ".join(self.models)
            raise ModelLoadError(f"There is no model “{name}”: choose one of {known}.")

    def _open(self, name: str, row: _Row, stop: Stop | None = None) -> _Guarded:
        self._check_known(name)
        with (stop or Stop()).turn(row.lock):
            if name not in row.opened:
                row.opened[name] = _Guarded(self._start(name, row), row.lock)
                row.problems.pop(name, None)
            return row.opened[name]

    def _start(self, name: str, row: _Row) -> Predictor:
        try:
            predictor = row.load(name)
            # What loads lazily loads now, and counts in no answer's time.
            predictor.predict([_warm_up_for(predictor)])
        except Exception as error:
            row.problems[name] = _sentence(name, error)
            raise ModelLoadError(row.problems[name]) from error
        return predictor


@dataclass(frozen=True)
class _Row:
    """Models that answer one call after the other, and why others could not be loaded."""

    load: Callable[[str], Predictor]
    opened: dict[str, _Guarded] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)


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

    @property
    def languages(self) -> frozenset[str]:
        return languages_of(self._predictor)

    @property
    def uses_passages(self) -> bool:
        return uses_passages(self._predictor)

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

    def predict_with_passages(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[RetrievalPrediction]:
        time.sleep(0.001)  # as in `predict`
        with self._lock:
            return read_with_passages(self._predictor, documents, top_k=top_k, threshold=threshold)

    def answer(self, question: Question, stop: Stop) -> Answer:
        with stop.turn(self._lock), stop.ended_by(self._interrupt):
            started = time.perf_counter()
            [found] = read_with_passages(
                self._predictor, [question.read], top_k=question.top_k, threshold=question.threshold
            )
            seconds = time.perf_counter() - started
        return Answer(
            question,
            found.prediction,
            self.name,
            self.device,
            seconds,
            finds_absent=finds_absent(self._predictor),
            languages=self.languages,
            retrieval=found if found.retrieves else None,
        )

    def _interrupt(self) -> None:
        """End what the predictor works at, if it is in another process; what runs in this one goes on."""
        if isinstance(self._predictor, RemotePredictor):
            self._predictor.interrupt()

    def vectors(
        self, document: Document, *, top_k: int | None = None, threshold: float | None = None
    ) -> list[VectorSpace]:
        if not isinstance(self._predictor, Mapped):
            return []
        with self._lock:
            return self._predictor.vectors(document, top_k=top_k, threshold=threshold)


def _warm_up_for(predictor: Predictor) -> Document:
    """In a language of the model: some refuse all others."""
    languages = languages_of(predictor)
    return WARM_UP if ENGLISH in languages or not languages else replace(WARM_UP, language=min(languages))


def _sentence(name: str, error: Exception) -> str:
    """Why a model cannot be loaded, without the folders of the server; what is a bug goes to the log."""
    if isinstance(error, KpdemoError):
        return str(error).replace(str(model_folder(name)), name).replace(INSTALLED_IN, "")
    _logger.error("The model %r cannot be loaded", name, exc_info=error)
    return f"The model “{name}” cannot be loaded ({type(error).__name__}): see the log of the server."
