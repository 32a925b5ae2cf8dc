"""The models that the pages offer, each loaded once, warmed up, and asked in turn. No Gradio here."""

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
from kpdemo.forwarding import Forwarding, read_with_passages
from kpdemo.languages import ENGLISH, identify
from kpdemo.predictors import model_folder
from kpdemo.routing import DEFAULT_MODEL, model_for
from kpdemo.selection import UnnestedPredictor
from kpdemo.text import LONGEST_SHOWN, shorten
from kpdemo.types import (
    Document,
    Mapped,
    Prediction,
    Predictor,
    RetrievalPrediction,
    VectorSpace,
    languages_of,
)
from kpdemo.ui.pdf_process import PdfProcesses
from kpdemo.ui.results import PredictionRequest, PredictionResult
from kpdemo.ui.stop import Stop
from kpdemo.worker import RemotePredictor, listen_with, tell

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

    def answer(self, question: PredictionRequest) -> PredictionResult:
        with self._turn():
            started = time.perf_counter()
            predictor = self.predictor if question.nested else UnnestedPredictor(self.predictor)
            [found] = read_with_passages(
                predictor, [question.read], top_k=question.top_k, threshold=question.threshold
            )
            seconds = time.perf_counter() - started
        return PredictionResult(
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
    """Opens each model once and lets the models answer one call at a time, from any thread.

    Long texts and files wait in a queue of their own where `load_apart` is given, so that a short text
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
        self._short = ModelQueue(load)
        self._long = self._short if load_apart is None else ModelQueue(load_apart, may_end=True)
        self._long_turns = BoundedSemaphore(MOST_LONG)
        self._warm = Event()
        self.turn_of_files = Lock()
        """Held while the files of a reader are predicted: those of others come after them."""
        self.pdfs = PdfProcesses()

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

        Problems with long texts only are reported to those who send one.
        Waits for the warm-up, at most `patience` seconds.
        """
        self._warm.wait(patience)
        return self._short.problems.get(self.default, "")

    def answer(self, question: PredictionRequest, stop: Stop | None = None) -> PredictionResult:
        """Ask a model; the time of the answer counts neither loading nor waiting for others.

        The default model leaves languages that another one of the shelf was made for to that one.

        Args:
            stop: ends the work on a long text, if its models are in a process of their own, and any wait.

        Raises:
            StoppedError: by `stop`.
            ModelLoadError: the model is unknown, or cannot be loaded.
            InputError: the document cannot be read.
            BusyError: the text is long, and so are `MOST_LONG` others that wait.
        """
        stop = stop or Stop()
        with self._queue_of(question) as queue:
            answer = self._reader(question, queue, stop).until(stop).answer(question)
        if answer.retrieval is None:
            return answer
        return replace(answer, question=replace(question, index=self._index_of(question.model)))

    def spaces(self, question: PredictionRequest, stop: Stop | None = None) -> list[VectorSpace]:
        """The vectors that a model compares when it answers; none where it compares no vectors.

        Args:
            stop: as of `answer`.

        Raises:
            StoppedError: by `stop`.
            ModelLoadError: the model is unknown, or cannot be loaded.
            InputError: the document cannot be read.
            BusyError: as `answer`.
        """
        stop = stop or Stop()
        with self._queue_of(question) as queue:
            guarded = self._reader(question, queue, stop).until(stop)
            return guarded.vectors(question.read, top_k=question.top_k, threshold=question.threshold)

    def reader_of(self, question: PredictionRequest) -> str:
        """The name of the model that reads the question's document; see `kpdemo.routing`."""
        name = question.model
        if name == DEFAULT_MODEL:
            name = model_for(identify(question.document).language)
        return name if name in self.models else question.model

    def reads_apart(self, question: PredictionRequest) -> bool:
        """Whether a question waits in the queue of the long texts."""
        return self._long is not self._short and len(question.document.text) >= LONG_TEXT

    def check_known(self, name: str) -> None:
        """Raises:
        ModelLoadError: no model of the shelf has this name.
        """
        if name not in self.models:
            known = ", ".join(self.models)
            named = shorten(name, LONGEST_SHOWN)
            raise ModelLoadError(f"There is no model “{named}”: choose one of {known}.")

    def card(self, name: str) -> str:
        """What a model is, in Markdown; it need not be loaded for that.

        Raises:
            ModelLoadError: the model is unknown.
        """
        self.check_known(name)
        return self._describe(name)

    def open(self, name: str, stop: Stop | None = None) -> Predictor:
        """A model for much work, such as files, that may be asked from any thread.

        Its calls wait in the queue of the long texts.

        Args:
            stop: ends its calls, as in `answer`.

        Raises:
            StoppedError: by `stop`; so do its calls.
            ModelLoadError: the model is unknown, or cannot be loaded.
        """
        stop = stop or Stop()
        return self._open(name, self._long, stop).until(stop)

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
    def _queue_of(self, question: PredictionRequest) -> Iterator[ModelQueue]:
        """Where the question waits; it keeps its place until it is answered."""
        if not self.reads_apart(question):
            yield self._short
            return
        if not self._long_turns.acquire(blocking=False):
            raise BusyError(
                f"{MOST_LONG} other long texts are being read or are waiting: try again in a minute, or use "
                "the command line (python -m kpdemo predict)."
            )
        try:
            yield self._long
        finally:
            self._long_turns.release()

    def _reader(self, question: PredictionRequest, queue: ModelQueue, stop: Stop) -> Guarded:
        return self._open(self.reader_of(question), queue, stop)

    def _open(self, name: str, queue: ModelQueue, stop: Stop | None = None) -> Guarded:
        self.check_known(name)
        with (stop or Stop()).turn(queue.lock):
            if name not in queue.opened:
                queue.opened[name] = Guarded(self._start(name, queue), queue.lock, may_end=queue.may_end)
                queue.problems.pop(name, None)
            return queue.opened[name]

    def _start(self, name: str, queue: ModelQueue) -> Predictor:
        tell(0.0, f"Loading the model {name}")
        try:
            with listen_with(None):
                predictor = queue.load(name)
                # What loads lazily loads now, and counts in no answer's time.
                predictor.predict([warm_up_for(predictor)])
        except Exception as error:
            queue.problems[name] = _sentence(name, error)
            raise ModelLoadError(queue.problems[name]) from error
        return predictor


def _sentence(name: str, error: Exception) -> str:
    """Why a model cannot be loaded, without the folders of the server; what is a bug goes to the log."""
    if isinstance(error, KpdemoError):
        return str(error).replace(str(model_folder(name)), name).replace(INSTALLED_IN, "")
    _logger.error("The model %r cannot be loaded", name, exc_info=error)
    return f"The model “{name}” cannot be loaded ({type(error).__name__}): see the log of the server."
