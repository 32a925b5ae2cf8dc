"""A reader's wish that a question is given up, told to the thread that works at it. No Gradio here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Lock

from kpdemo.errors import StoppedError

LOOK = 0.1
"""Seconds after which whoever waits for its turn looks whether it still should."""


class Stop:
    """For one question; `ask` may come from any thread, and at any time."""

    def __init__(self) -> None:
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
        """What runs here is ended by `end`, which another thread calls and makes it raise whatever it likes.

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
            raise StoppedError("The question was stopped before it was answered: ask it again.")


class Stops:
    """The questions that are being answered, by the page that asked: by its Stop button they are found."""

    def __init__(self) -> None:
        self._begun: dict[str, Stop] = {}

    @contextmanager
    def begun(self, page: str) -> Iterator[Stop]:
        """What is asked to stop while the question of a page, which asks one at a time, is answered."""
        stop = self._begun[page] = Stop()
        try:
            yield stop
        finally:
            if self._begun.get(page) is stop:
                del self._begun[page]

    def ask(self, page: str) -> None:
        """Stop the question of a page, if there is one."""
        if stop := self._begun.get(page):
            stop.ask()
