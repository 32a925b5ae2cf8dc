"""The queue before models in a process of their own; how far their work is, and how it is stopped.

A listener hears what is reported in its own thread, and in the models' process on behalf of this thread.

The program needs neither their libraries nor their memory: it keeps serving while they load or compute, and
when they run out of memory.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import subprocess
import sys
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread, Timer
from typing import Any, BinaryIO

from kpdemo.errors import KpdemoError, ModelStoppedError, StoppedError
from kpdemo.languages import ENGLISH
from kpdemo.pipeline import OWN_RULE, read_with_passages
from kpdemo.types import (
    Document,
    Mapped,
    Prediction,
    PredictionOptions,
    Predictor,
    RetrievalPrediction,
    VectorSpace,
    finds_absent,
    languages_of,
    uses_passages,
)


def usable_cores() -> int:
    """Those that this process may run on, at least 1: a batch system may have given it a few of them."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


ProgressListener = Callable[[float, str], None]
"""Called with the share that is done, 0 to 1, and with what is being done."""

READING = "Reading"


@dataclass(frozen=True, slots=True)
class _Listener:
    heard: ProgressListener
    start: float = 0.0
    width: float = 1.0


_listener: ContextVar[_Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listen_with(heard: ProgressListener | None) -> Iterator[None]:
    """What is reported inside reaches `heard`, and nobody else."""
    token = _listener.set(None if heard is None else _Listener(heard))
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def part(number: int, parts: int) -> Iterator[None]:
    """What is reported inside concerns one of several equal parts, counted from 0."""
    whole = _listener.get()
    if whole is None:
        yield
        return
    width = whole.width / parts
    token = _listener.set(_Listener(whole.heard, whole.start + number * width, width))
    try:
        yield
    finally:
        _listener.reset(token)


def tell(share: float, what: str = READING) -> None:
    listener = _listener.get()
    if listener is not None:
        listener.heard(listener.start + share * listener.width, what)


LOOK = 0.1
"""Seconds between two checks whether a question that waits for its turn was stopped."""

STOPPED = "This was stopped before it was done: try again."


class Stop:
    """A reader's request to stop a question, passed to the thread that works on it.

    `ask` may come from any thread, and at any time.

    Args:
        told: the sentence of the StoppedError.
    """

    def __init__(self, told: str = STOPPED) -> None:
        self._told = told
        self._asked = Event()
        self._change = Lock()
        self._end: Callable[[], None] | None = None

    def ask(self) -> None:
        """End what runs, and let nothing begin from now on."""
        with self._change:
            self._asked.set()
            if self._end is not None:
                self._end()

    @contextmanager
    def turn(self, lock: Lock) -> Iterator[None]:
        """Hold a lock, after waiting for it only as long as nobody asks to stop.

        Raises:
            StoppedError: somebody has asked.
        """
        while not lock.acquire(timeout=LOOK):
            self.check()
        try:
            self.check()
            yield
        finally:
            lock.release()

    @contextmanager
    def ended_by(self, end: Callable[[], None]) -> Iterator[None]:
        """Work in this block is ended by `end`, which another thread calls; it may raise anything then.

        Raises:
            StoppedError: somebody has asked.
        """
        with self._change:
            self.check()
            self._end = end
        try:
            yield
        except Exception:
            self.check()
            raise
        finally:
            with self._change:
                self._end = None

    def check(self) -> None:
        """For work that looks itself, now and then, whether it should go on.

        Raises:
            StoppedError: somebody has asked.
        """
        if self._asked.is_set():
            raise StoppedError(self._told)


Load = Callable[[str], Predictor]
"""Opens a model by name; raises ModelLoadError."""


@dataclass(frozen=True, slots=True)
class Setup:
    """The first message to the process.

    Attributes:
        load: by which the process opens models; pickled by its name.
        first: the model to open before anything is asked.
    """

    load: Load
    first: str | None = None


@dataclass(frozen=True, slots=True)
class Open:
    """Load a model and warm it up, if it is not open; answered by its `Description`."""

    model: str


@dataclass(frozen=True, slots=True)
class Read:
    """Read documents with a model; answered by a `Reading`, whose values are as of `read_with_passages`."""

    model: str
    documents: Sequence[Document | str]
    options: PredictionOptions


@dataclass(frozen=True, slots=True)
class Call:
    """Call a method of a model, which is loaded if it is not; answered by what the method returns."""

    model: str
    method: str
    arguments: tuple[Any, ...]
    options: Mapping[str, Any]


Request = Open | Read | Call


@dataclass(frozen=True, slots=True)
class Reading:
    """What documents gave, and the seconds it took, without any waiting."""

    found: list[RetrievalPrediction]
    seconds: float


@dataclass(frozen=True, slots=True)
class Description:
    """What a loaded predictor says of itself."""

    name: str
    device: str
    finds_absent: bool
    has_vectors: bool
    languages: frozenset[str] = frozenset()
    uses_passages: bool = False


@dataclass(frozen=True, slots=True)
class Told:
    """Before the answer: how far the work is, as `kpdemo.worker` reports it."""

    share: float
    what: str


@dataclass(frozen=True, slots=True)
class Returned:
    """The answer to a request."""

    value: Any


@dataclass(frozen=True, slots=True)
class Raised:
    """The error that a request ended with; the traceback of a bug is among its notes."""

    error: Exception


Answer = Returned | Raised


PATIENT_THREADS = {"OMP_WAIT_POLICY": "PASSIVE"}
"""The threads of PyTorch wait for one another asleep, and do not spin.

Where the cores have other work, spinning takes six times the processor's time for an abstract.
"""

# It finds modules where this program does, and not in the folder that it happens to be in.
_PROGRAM = "import sys; sys.path[:] = sys.argv[1:]; from kpdemo.worker import serve; serve()"


class ModelProcess:
    """One run of the process. It ends when asked to, or when this program does, in whatever way.

    `send` and `receive` belong to one thread at a time; `end` may be called from another meanwhile.
    """

    def __init__(self, setup: Setup) -> None:
        self._popen = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=PATIENT_THREADS | os.environ,
            process_group=0,  # Ctrl+C at the terminal is for this program, which then ends the process
        )
        Thread(target=self._popen.wait, name="models-end", daemon=True).start()  # leaves no zombie
        self.send(setup)

    def send(self, message: Setup | Request) -> bool:
        """Whether the process was there to take the message."""
        pipe = self._popen.stdin
        assert pipe is not None
        pickled = pickle.dumps(message)
        try:
            pipe.write(pickled)
            pipe.flush()
        except OSError:
            return False
        return True

    def receive(self) -> Answer | Told | None:
        """The answer to the request that was sent, or what comes before it; None when the process ended."""
        pipe = self._popen.stdout
        assert pipe is not None
        try:
            answer: Answer | Told = pickle.load(pipe)
        except (EOFError, pickle.UnpicklingError):  # of an answer without an end
            return None
        return answer

    def end(self) -> str:
        """Make sure that the process has ended; returns what of, in a few words."""
        self._popen.kill()
        status = self._popen.wait()
        if status == -signal.SIGKILL:
            return "killed, perhaps because memory ran out"
        return f"{signal.strsignal(-status)}" if status < 0 else f"exit status {status}"

    def close_pipes(self) -> None:
        """To be called after `end`, when nobody sends or receives any more."""
        for pipe in (self._popen.stdin, self._popen.stdout):
            assert pipe is not None
            with suppress(OSError):  # what could not be sent is given up
                pipe.close()


PAUSE = 0.001
"""Seconds before each request, in which one that waits goes before the next of a file of many batches."""


class ModelQueue(ABC):
    """Models that answer one request after the other, whatever thread it comes from.

    Each method takes a `Stop`, by which the request waits no longer, and raises a StoppedError.
    """

    def __init__(self) -> None:
        self._turn = Lock()

    def open(self, model: str, stop: Stop | None = None) -> RemotePredictor:
        """A model as a predictor, loaded and warm when this returns; `stop` holds for its calls too.

        Raises:
            ModelLoadError: as what loads it.
            ModelStoppedError: its process died.
        """
        description: Description = self._ask(Open(model), stop)
        return RemotePredictor(self, model, description, stop)

    def read(
        self,
        model: str,
        documents: Sequence[Document | str],
        options: PredictionOptions = OWN_RULE,
        stop: Stop | None = None,
    ) -> Reading:
        """See `kpdemo.pipeline.read_with_passages`; besides, raises ModelStoppedError."""
        reading: Reading = self._ask(Read(model, documents, options), stop)
        return reading

    def call(self, model: str, method: str, *arguments: Any, stop: Stop | None = None, **options: Any) -> Any:
        """Call a method of a model, with values that pickle takes, and return what it does.

        Raises:
            ModelStoppedError: its process died.
            Exception: what the method raises; of a type that only the models' libraries have, a RuntimeError.
        """
        return self._ask(Call(model, method, arguments, options), stop)

    def _ask(self, request: Request, stop: Stop | None) -> Any:
        stop = stop or Stop()
        time.sleep(PAUSE)
        with stop.turn(self._turn), stop.ended_by(self.leave_off):
            return self.answer(request)

    @abstractmethod
    def leave_off(self) -> None:
        """End the work at the request whose turn it is, if it can be ended, because of its `Stop`."""

    @abstractmethod
    def answer(self, request: Request) -> Any:
        """What answers a request in its turn, or the error that it ends with."""


WARM_UP = Document("A short sentence warms the model up before the first reader comes.", title="Warm-up")


class LocalModels(ModelQueue):
    """Models in this process, each loaded once."""

    def __init__(self, load: Load) -> None:
        super().__init__()
        self._load = load
        self._loaded: dict[str, Predictor] = {}
        self._warm: set[str] = set()

    def leave_off(self) -> None:
        """Nothing here can be ended: the work goes on."""

    def answer(self, request: Request) -> Any:
        match request:
            case Open(name):
                return self._open(name)
            case Read(name, documents, options):
                model = self._model(name)
                started = time.perf_counter()
                found = read_with_passages(model, documents, options)
                return Reading(found, time.perf_counter() - started)
            case Call(name, method, arguments, options):
                return getattr(self._model(name), method)(*arguments, **options)

    def _open(self, name: str) -> Description:
        model = self._model(name)
        if name not in self._warm:
            with listen_with(None):  # what loads lazily loads now, and counts in no answer's time
                model.predict([_warm_up_for(model)])
            self._warm.add(name)
        return Description(
            model.name,
            model.device,
            finds_absent(model),
            isinstance(model, Mapped),
            languages_of(model),
            uses_passages(model),
        )

    def _model(self, name: str) -> Predictor:
        if name not in self._loaded:
            self._loaded[name] = self._load(name)
        return self._loaded[name]


def _warm_up_for(model: Predictor) -> Document:
    """In a language of the model: some refuse all others."""
    languages = languages_of(model)
    return WARM_UP if ENGLISH in languages or not languages else replace(WARM_UP, language=min(languages))


class ModelWorker(ModelQueue):
    """Models in a process of their own, which ends with the program or `close`.

    Its methods may be called from any thread; the process answers one request after the other. When it dies,
    the request that it worked at raises, and another process takes its place.

    Args:
        load: opens a model by name, there; something that pickle takes, such as a function of a module.
        first: the model to open at once; without it the process starts with the first request.
        may_end: whether a `Stop` may end the process, which others then wait for while it loads again.
        idle: seconds without a request after which the process ends and its memory is given back; the next
            request starts another. None keeps it.
    """

    def __init__(
        self, load: Load, first: str | None = None, *, may_end: bool = False, idle: float | None = None
    ) -> None:
        super().__init__()
        self._setup = Setup(load, first)
        self._may_end = may_end
        self._idle = idle
        self._rest: Timer | None = None
        self._change = Lock()  # held while a process starts or ends
        self._closed = False
        self._process = None if first is None else ModelProcess(self._setup)

    def leave_off(self) -> None:
        if self._may_end:
            self.interrupt()

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

    def answer(self, request: Request) -> Any:
        if self._rest is not None:
            self._rest.cancel()
        try:
            answer = self._exchange(request)
        finally:
            if self._idle is not None:
                self._rest = Timer(self._idle, self._end_idle)
                self._rest.daemon = True
                self._rest.start()
        if isinstance(answer, Raised):
            raise answer.error
        return answer.value

    def _end_idle(self) -> None:
        """End the process unless a request has come meanwhile."""
        if not self._turn.acquire(blocking=False):
            return
        try:
            with self._change:
                if self._process is not None and not self._closed:
                    self._process.end()
                    self._process.close_pipes()
                    self._process = None
        finally:
            self._turn.release()

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
    """A predictor whose calls wait in a `ModelQueue`."""

    models: ModelQueue
    model: str
    description: Description
    stop: Stop | None = None

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

    @property
    def uses_passages(self) -> bool:
        return self.description.uses_passages

    def predict(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[Prediction]:
        """See `kpdemo.types.Predictor`; besides, raises ModelStoppedError."""
        found: list[Prediction] = self.models.call(
            self.model, "predict", documents, top_k=top_k, threshold=threshold, stop=self.stop
        )
        return found

    def predict_with_passages(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[RetrievalPrediction]:
        """See `kpdemo.types.RetrievalPredictor`; besides, raises ModelStoppedError."""
        return self.predict_with_options(documents, PredictionOptions(top_k=top_k, threshold=threshold))

    def predict_with_options(
        self, documents: Sequence[Document | str], options: PredictionOptions
    ) -> list[RetrievalPrediction]:
        """See `kpdemo.pipeline.read_with_passages`; besides, raises ModelStoppedError."""
        return self.models.read(self.model, documents, options, stop=self.stop).found

    def vectors(
        self, document: Document, *, top_k: int | None = None, threshold: float | None = None
    ) -> list[VectorSpace]:
        """See `kpdemo.types.Mapped`; besides, raises ModelStoppedError."""
        if not self.description.has_vectors:
            return []
        found: list[VectorSpace] = self.models.call(
            self.model, "vectors", document, top_k=top_k, threshold=threshold, stop=self.stop
        )
        return found


SECONDS_BETWEEN = 0.5
"""So that short texts report nothing."""
QUIET = 1.0
"""Seconds without a request after which memory is given back: to take it anew would slow down a text."""


def serve() -> None:
    """Read requests from standard input and write answers to standard output, until the input ends."""
    requests, answers = _take_pipes()
    setup: Setup = pickle.load(requests)
    inbox: SimpleQueue[Request] = SimpleQueue()
    Thread(target=_receive, args=(requests, inbox), daemon=True).start()
    models = LocalModels(setup.load)
    if setup.first is not None:
        with suppress(Exception):  # whoever asks for it gets the error
            models.open(setup.first)
    with suppress(OSError):  # nobody is there to take the answer: the end that `_receive` waits for
        while True:
            request = _next(inbox)
            with listen_with(_Teller(answers)):
                answer = _answer(models, request)
            answers.write(_pickled(answer))
            answers.flush()
            del request, answer
    os._exit(0)


def _next(inbox: SimpleQueue[Request]) -> Request:
    try:
        return inbox.get(timeout=QUIET)
    except Empty:
        give_memory_back()
        return inbox.get()


def give_memory_back() -> None:
    """Return what was freed to the system, where the C library can; else it keeps that for later."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


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


def _answer(models: LocalModels, request: Request) -> Answer:
    try:
        return Returned(models.answer(request))
    except Exception as error:  # noqa: BLE001 - it is raised where the request came from
        return Raised(_portable(error))


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
