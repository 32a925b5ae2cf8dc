"""The Stop button of a page: which question it ends. No Gradio here."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from kpdemo.worker import STOPPED, Stop

MOST_PAGES = 1_000
"""Pages for which a Stop before the question, and its end, is remembered; the oldest is forgotten first."""

LATE = 2.0
"""Seconds after an answer in which a Stop still means that one: it was pressed before the page had it."""


class Stops:
    """The questions that are being answered, by the page that asked: by its Stop button they are found."""

    def __init__(self) -> None:
        self._change = Lock()
        self._begun: dict[str, Stop] = {}
        self._early: dict[str, float] = {}
        self._ended: dict[str, float] = {}

    @contextmanager
    def begun(self, page: str, told: str = STOPPED) -> Iterator[Stop]:
        """What is asked to stop while the question of a page, which asks one at a time, is answered.

        It begins stopped where the page has asked for that before, while the question waited in a queue.

        Args:
            page: empty for a caller without one, which has no Stop button.
            told: the sentence of the StoppedError.
        """
        stop = Stop(told)
        if not page:
            yield stop
            return
        with self._change:
            self._begun[page] = stop
            if page in self._early:
                del self._early[page]
                stop.ask()
        try:
            yield stop
        finally:
            self._end(page, stop)

    def ask(self, page: str) -> None:
        """Stop the question of a page, or the next one if none has begun."""
        with self._change:
            stop = self._begun.get(page)
            late = time.monotonic() - self._ended.get(page, -LATE) < LATE
            if page and stop is None and not late:
                _remember(self._early, page)
        if stop is not None:
            stop.ask()

    def _end(self, page: str, stop: Stop) -> None:
        with self._change:
            if self._begun.get(page) is stop:
                del self._begun[page]
                _remember(self._ended, page)


def _remember(pages: dict[str, float], page: str) -> None:
    pages.pop(page, None)
    pages[page] = time.monotonic()
    if len(pages) > MOST_PAGES:
        del pages[next(iter(pages))]
