"""Progress of long work: the worker reports it, and whoever waits may listen. Standard library only.

A listener hears what is reported in its own thread, and in the models' process on behalf of this thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

Heard = Callable[[float, str], None]
"""Called with the share that is done, 0 to 1, and with what is being done."""

READING = "Reading"


@dataclass(frozen=True, slots=True)
class _Listener:
    heard: Heard
    start: float = 0.0
    width: float = 1.0


_listener: ContextVar[_Listener | None] = ContextVar("listener", default=None)


@contextmanager
def heard_by(heard: Heard | None) -> Iterator[None]:
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
