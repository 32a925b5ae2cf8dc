"""Programs that ask the models stand in a line of their own: readers of the pages wait for one of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from anyio import CapacityLimiter, to_thread

from kpdemo.errors import BusyError
from kpdemo.ui.models import ModelShelf
from kpdemo.ui.results import Answer, Question
from kpdemo.ui.stop import Stop

MOST_REQUESTS = 16
"""That are answered or wait at a time."""


class Line:
    """Asks the models of a shelf one question after the other, in the order in which they came.

    Long texts stand in a line beside it, where the shelf reads them apart. Of the places that the shelf has
    for long texts, programs take one. Belongs to one event loop.
    """

    def __init__(self, shelf: ModelShelf) -> None:
        self._shelf = shelf
        self._short, self._long = CapacityLimiter(1), CapacityLimiter(1)
        self._requests = 0

    @contextmanager
    def place(self) -> Iterator[None]:
        """A place for one request, which asks its questions there.

        Raises:
            BusyError: `MOST_REQUESTS` others have one.
        """
        if self._requests >= MOST_REQUESTS:
            raise BusyError(
                f"{MOST_REQUESTS} other requests are being answered or are waiting: try again in a few "
                "seconds."
            )
        self._requests += 1
        try:
            yield
        finally:
            self._requests -= 1

    async def ask(self, question: Question, stop: Stop) -> Answer:
        """As `ModelShelf.answer`; other requests take their turn between two questions of one."""
        limiter = self._long if self._shelf.reads_apart(question) else self._short
        return await to_thread.run_sync(self._shelf.answer, question, stop, limiter=limiter)
