"""What `python app.py` starts before it imports Gradio, and what it asks of models besides predictions."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Self

from kpdemo.errors import KpdemoError
from kpdemo.languages.routing import DEFAULT_MODEL
from kpdemo.predictors import load_predictor, shipped_models, takes_index
from kpdemo.types import Predictor
from kpdemo.ui.settings import Settings
from kpdemo.worker import ModelWorker

PAIRS_AT_ONCE = 64
PAUSE = 0.005
"""Seconds in which a prediction that waits for its turn takes it."""


def open_model(name: str, *, device: str, model: str | None, index: str | None) -> Predictor:
    """A model by name, with the passages of `index_of`; raises as `load_predictor`."""
    return load_predictor(name, device=device, index=index_of(name, model=model, index=index) or None)


def index_of(name: str, *, model: str | None, index: str | None) -> str:
    """The index that a model reads; empty for its own, or none.

    Args:
        model: what was given as --model. A folder whose model retrieves is the only one to read the index,
            because the retriever of those that ship would refuse it.
        index: what was given as --index.
    """
    if not index or not takes_index(name):
        return ""
    has_owner = model is not None and model not in shipped_models() and takes_index(model)
    return "" if has_owner and name != model else index


@dataclass(frozen=True, slots=True)
class Workers:
    """The models twice, each time in a process of its own: a short text does not wait for a long one.

    The process for long texts and files starts with the first of them.
    """

    short: ModelWorker
    long: ModelWorker

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.short.close()
        self.long.close()


def start_models(settings: Settings) -> Workers:
    """Start the process for short texts, which begins with the model that is chosen at first."""
    load = partial(open_model, device=settings.device, model=settings.model, index=settings.index)
    return Workers(ModelWorker(load, first=settings.model or DEFAULT_MODEL), ModelWorker(load))


def check_device(settings: Settings, models: Workers) -> None:
    """Raises:
    ModelLoadError: a GPU is asked for and missing; otherwise only the first reader would learn of it.
    """
    if settings.device == "cuda":
        models.short.open(settings.model or DEFAULT_MODEL)  # it is on its way; only its process knows GPUs


def text_similarities(
    models: ModelWorker, failure: type[Exception]
) -> Callable[[Sequence[tuple[str, str]]], list[float]]:
    """How alike the two texts of each pair are by the default model, 0 to 1; predictions come in between.

    Args:
        models: where the model is.
        failure: what is raised in place of our errors, with their sentence.
    """

    def similarities(pairs: Sequence[tuple[str, str]]) -> list[float]:
        found: list[float] = []
        try:
            for first in range(0, len(pairs), PAIRS_AT_ONCE):
                part = list(pairs[first : first + PAIRS_AT_ONCE])
                found += models.call(DEFAULT_MODEL, "similarities", part)
                time.sleep(PAUSE)
        except KpdemoError as error:
            raise failure(str(error)) from error
        return found

    return similarities
