"""What goes over the pipes between a program and the process of its models, as pickles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kpdemo.types import Predictor

Load = Callable[[str], Predictor]
"""Opens a model by name; raises ModelLoadError."""


@dataclass(frozen=True, slots=True)
class Setup:
    """The first message to the process.

    Attributes:
        load: by which the process opens models; pickled by its name.
        first: the model to load before anything is asked.
    """

    load: Load
    first: str | None = None


@dataclass(frozen=True, slots=True)
class Open:
    """Load a model, if it is not loaded; answered by its `Description`."""

    model: str


@dataclass(frozen=True, slots=True)
class Call:
    """Call a method of a model, which is loaded if it is not; answered by what the method returns."""

    model: str
    method: str
    arguments: tuple[Any, ...]
    options: Mapping[str, Any]


Request = Open | Call


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
    """Before the answer: how far the work is, as `kpdemo.progress` reports it."""

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
