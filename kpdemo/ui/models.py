"""The models that the pages offer, each loaded once, warmed up, and asked in turn. No Gradio here."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from threading import BoundedSemaphore, Event, Lock, Thread

import kpdemo
from kpdemo.batch import ask_each
from kpdemo.cards import model_card
from kpdemo.errors import (
    BusyError,
    InputError,
    KpdemoError,
    LanguageError,
    ModelLoadError,
    ModelStoppedError,
    StoppedError,
)
from kpdemo.file_process import FileProcesses
from kpdemo.languages import identify
from kpdemo.lines import with_title_line
from kpdemo.locale import _
from kpdemo.predictors import model_folder
from kpdemo.routing import DEFAULT_MODEL, model_for
from kpdemo.selection import RANKED, can_choose, choose
from kpdemo.text import LONGEST_SHOWN, shorten
from kpdemo.types import (
    Document,
    Prediction,
    PredictionOptions,
    PredictionRequest,
    PredictionResult,
    RetrievalPrediction,
    VectorSpace,
)
from kpdemo.ui.requests import check_length
from kpdemo.worker import Load, LocalModels, ModelQueue, RemotePredictor, Stop, listen_with, tell


@dataclass
class OpenModels:
    """The models of one queue that were opened, and why others could not be."""

    queue: ModelQueue
    opened: dict[str, RemotePredictor] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, load: Load | ModelQueue) -> OpenModels:
        return cls(load if isinstance(load, ModelQueue) else LocalModels(load))


TURN_CHARACTERS = 100_000
"""Characters predicted in one go, or one document: after them a reader of the other page may go first."""


@dataclass(frozen=True)
class FileReader(RemotePredictor):
    """A model for files: it refuses what is too long for the page, and reads no batch of long texts."""

    def predict(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[Prediction]:
        read = super().predict  # a comprehension knows no super()
        return [
            prediction
            for turn in _checked_turns(documents)
            for prediction in read(turn, top_k=top_k, threshold=threshold)
        ]

    def predict_with_options(
        self, documents: Sequence[Document | str], options: PredictionOptions
    ) -> list[RetrievalPrediction]:
        read = super().predict_with_options  # as in `predict`
        return [found for turn in _checked_turns(documents) for found in read(turn, options)]


def _checked_turns(documents: Sequence[Document | str]) -> Iterator[list[Document]]:
    read = [Document(document) if isinstance(document, str) else document for document in documents]
    for document in read:
        check_length(document)
    return _turns(read)


def _turns(documents: Sequence[Document]) -> Iterator[list[Document]]:
    """Consecutive documents of at most `TURN_CHARACTERS` together; a longer one stands alone."""
    turn: list[Document] = []
    for document in documents:
        if turn and sum(len(other.text) for other in [*turn, document]) > TURN_CHARACTERS:
            yield turn
            turn = []
        turn.append(document)
    if turn:
        yield turn


WARM_UP_PATIENCE = 15.0
LONG_TEXT = 20_000
"""Characters that two cores read in about two seconds; longer texts are read apart, where they can be."""

MOST_LONG = 3
"""Long texts that are read or wait at a time: each takes one of the events of `MODEL_QUEUE`."""

OF_ONE_MODEL = (BusyError, LanguageError, ModelLoadError, ModelStoppedError)
"""What one model may say to a text that another one reads."""

INSTALLED_IN = f"{Path(kpdemo.__file__).parent.parent}{os.sep}"

_logger = logging.getLogger(__name__)


CARDS_AT = "cards/"
"""Where the card of each model is served, from the root of the pages."""


def no_index(name: str) -> str:
    """Every model reads its own passages, if any."""
    return ""


MOST_READINGS = 64


class KeptReadings:
    """The last answers with what was ranked for them, by the hash of what a model reads: no text is kept."""

    def __init__(self) -> None:
        self._answers: dict[bytes, PredictionResult] = {}
        self._change = Lock()

    def keep(self, answer: PredictionResult) -> None:
        if not can_choose(answer.prediction):
            return
        with self._change:
            key = _reading_key(answer.question)
            self._answers.pop(key, None)
            self._answers[key] = replace(answer, question=replace(NO_QUESTION, index=answer.question.index))
            if len(self._answers) > MOST_READINGS:
                del self._answers[next(iter(self._answers))]

    def choose(self, question: PredictionRequest) -> PredictionResult | None:
        """The answer by other options; None where the model has to be asked.

        Raises:
            InputError: as `kpdemo.selection.choose`.
        """
        with self._change:
            kept = self._answers.get(_reading_key(question))
        if kept is None or _reaches_end(kept.prediction, question.options):
            return None
        if question.options.diversity:  # the model tells how alike phrases are
            return None
        prediction, retrieval = choose(kept.prediction, question.options), kept.retrieval
        question = replace(question, index=kept.question.index)
        if retrieval is not None:
            without = choose(retrieval.without, question.options)
            retrieval = replace(retrieval, prediction=prediction, without=without)
        return replace(kept, question=question, prediction=prediction, retrieval=retrieval)


NO_QUESTION = PredictionRequest(Document(""), "")


def _reading_key(question: PredictionRequest) -> bytes:
    further = question.further
    read = (question.document, question.model, further.style, further.candidates, further.seed_keywords)
    return sha256(repr(read).encode()).digest()


def _reaches_end(prediction: Prediction, options: PredictionOptions) -> bool:
    """Whether more may reach the lowest score than were ranked, of which only the best are kept."""
    rankings = (prediction.ranked_present, prediction.ranked_absent)
    return options.threshold is not None and any(
        ranking is not None
        and len(ranking.keyphrases) >= RANKED // 2  # variants of some are one
        and ranking.keyphrases[-1].score >= options.threshold
        for ranking in rankings
    )


class ModelShelf:
    """Opens each model once and lets the models answer one call at a time, from any thread.

    Long texts and files wait in a queue of their own where `load_apart` is given, so that a short text
    waits for short ones only.

    Args:
        models: names with a line on each, the default one first.
        load: opens a model by name, in this process, and raises ModelLoadError; or models in another one.
        describe: the card of a model by name, in Markdown.
        index_of: the folder of the passages that a model was opened with; empty for its own.
        load_apart: as `load`, for models that can answer while those of `load` do.
    """

    def __init__(
        self,
        models: Mapping[str, str],
        load: Load | ModelQueue,
        describe: Callable[[str], str] = model_card,
        index_of: Callable[[str], str] = no_index,
        load_apart: Load | ModelQueue | None = None,
    ) -> None:
        self.models = dict(models)
        self._describe = describe
        self._index_of = index_of
        self._short = OpenModels.of(load)
        self._long = self._short if load_apart is None else OpenModels.of(load_apart)
        self._long_turns = BoundedSemaphore(MOST_LONG)
        self._readings = KeptReadings()
        self._warm = Event()
        self.turn_of_files = Lock()
        """Held while the files of a reader are predicted: those of others come after them."""
        self.files = FileProcesses()

    @property
    def default(self) -> str:
        return next(iter(self.models))

    @property
    def choices(self) -> list[tuple[str, str]]:
        """What a list of models shows, and the name that it stands for."""
        return [(f"{name} – {_(line)}", name) for name, line in self.models.items()]

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

        What was read a while ago is not read again where other options only choose otherwise.
        The default model leaves languages that another one of the shelf was made for to that one.

        Args:
            stop: ends the work on a long text, if its models are in a process of their own, and any wait.

        Raises:
            StoppedError: by `stop`.
            ModelLoadError: the model is unknown, or cannot be loaded.
            InputError: the document cannot be read.
            BusyError: the text is long, and so are `MOST_LONG` others that wait.
        """
        if kept := self._readings.choose(question):
            return kept
        [answer] = self.answer_many([question], stop)
        if isinstance(answer, InputError):
            raise answer
        self._readings.keep(answer)
        return answer

    def answer_many(
        self, questions: Sequence[PredictionRequest], stop: Stop | None = None
    ) -> list[PredictionResult | InputError]:
        """The answers to questions with the same options that one model reads, in one go.

        A document that cannot be read has the reason in place of an answer. The seconds of an answer are its
        share of those of all.

        Args:
            stop: as of `answer`.

        Raises:
            StoppedError, ModelLoadError, BusyError: as `answer`.
        """
        first = questions[0]
        seconds = 0.0
        with self._models_for(first) as models:
            model = self._open(self.reader_of(first), models, stop)

            def read(documents: Sequence[Document]) -> list[RetrievalPrediction]:
                nonlocal seconds
                reading = models.queue.read(model.model, documents, first.options, stop)
                seconds += reading.seconds
                return reading.found

            outcomes = ask_each([with_title_line(one.document) for one in questions], read)
        return [
            outcome
            if isinstance(outcome, InputError)
            else self._result(question, outcome, model, seconds / len(questions))
            for question, outcome in zip(questions, outcomes, strict=True)
        ]

    def _result(
        self, question: PredictionRequest, found: RetrievalPrediction, model: RemotePredictor, seconds: float
    ) -> PredictionResult:
        if found.retrieves:
            question = replace(question, index=self._index_of(question.model))
        return PredictionResult(
            question,
            found.prediction,
            model.name,
            model.device,
            seconds,
            finds_absent=model.finds_absent,
            languages=model.languages,
            retrieval=found if found.retrieves else None,
        )

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
        with self._models_for(question) as models:
            model = self._open(self.reader_of(question), models, stop)
            return model.vectors(
                with_title_line(question.document), top_k=question.top_k, threshold=question.threshold
            )

    def reader_of(self, question: PredictionRequest) -> str:
        """The name of the model that reads the question's document; see `kpdemo.routing`."""
        name = question.model
        if name == DEFAULT_MODEL:
            name = model_for(identify(question.document).language, question.further.style)
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
            raise ModelLoadError(
                _("There is no model “{model}”: choose one of {known}.", model=named, known=known)
            )

    def card(self, name: str) -> str:
        """What a model is, in Markdown; it need not be loaded for that.

        Raises:
            ModelLoadError: the model is unknown.
        """
        self.check_known(name)
        return self._describe(name)

    def open(self, name: str, stop: Stop | None = None) -> FileReader:
        """A model for much work, such as files, that may be asked from any thread.

        Its calls wait in the queue of the long texts.

        Args:
            stop: ends its calls, as in `answer`.

        Raises:
            StoppedError: by `stop`; so do its calls.
            ModelLoadError: the model is unknown, or cannot be loaded.
        """
        model = self._open(name, self._long, stop)
        return FileReader(model.models, name, model.description, stop)

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
    def _models_for(self, question: PredictionRequest) -> Iterator[OpenModels]:
        """Those whose queue the question waits in; it keeps its place until it is answered."""
        if not self.reads_apart(question):
            yield self._short
            return
        if not self._long_turns.acquire(blocking=False):
            raise BusyError(
                _(
                    "{number} other long texts are being read or are waiting: try again in a minute, or use "
                    "the command line (python -m kpdemo predict).",
                    number=MOST_LONG,
                )
            )
        try:
            yield self._long
        finally:
            self._long_turns.release()

    def _open(self, name: str, models: OpenModels, stop: Stop | None = None) -> RemotePredictor:
        self.check_known(name)
        if name not in models.opened:
            tell(0.0, _("Loading the model {model}", model=name))
            try:
                with listen_with(None):
                    models.opened[name] = models.queue.open(name, stop)
            except StoppedError:
                raise
            except Exception as error:
                models.problems[name] = _sentence(name, error)
                raise ModelLoadError(models.problems[name]) from error
            models.problems.pop(name, None)
            tell(0.0)
        return replace(models.opened[name], stop=stop)


def _sentence(name: str, error: Exception) -> str:
    """Why a model cannot be loaded, without the folders of the server; what is a bug goes to the log."""
    if isinstance(error, KpdemoError):
        return str(error).replace(str(model_folder(name)), name).replace(INSTALLED_IN, "")
    _logger.error("The model %r cannot be loaded", name, exc_info=error)
    return f"The model “{name}” cannot be loaded ({type(error).__name__}): see the log of the server."
