"""The queue of programs before the models: questions of several requests are read together, in turns."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Hashable
from dataclasses import dataclass

from anyio import CapacityLimiter, Lock, to_thread

from kpdemo.errors import InputError, KpdemoError
from kpdemo.types import PredictionRequest, PredictionResult
from kpdemo.ui.models import TURN_CHARACTERS, ModelShelf
from kpdemo.worker import Stop

TOGETHER = 8
"""Documents that a model reads together: a reader of the page waits for no more of them."""


@dataclass(eq=False)
class _Waiting:
    """A question, what it may be read together with, and its answer once there is one."""

    question: PredictionRequest
    kind: Hashable
    outcome: PredictionResult | KpdemoError | None = None


class ProgramQueue:
    """Answers the questions of programs in batches, in which requests take turns.

    A batch has questions of one model with the same options: the next one of each request, then another of
    each, until it is full. So who sends one document waits for one batch, whatever the others send. Whoever
    waits longest works for all. Belongs to one event loop.
    """

    def __init__(self, shelf: ModelShelf) -> None:
        self._shelf = shelf
        self._requests: OrderedDict[Hashable, deque[_Waiting]] = OrderedDict()
        self._turn = Lock()
        self._thread = CapacityLimiter(1)

    async def ask(self, question: PredictionRequest, request: Hashable) -> PredictionResult:
        """As `ModelShelf.answer`, of a short text.

        Args:
            request: whose question it is; each has one turn in a round.
        """
        one = _Waiting(question, (self._shelf.reader_of(question), question.options))
        self._requests.setdefault(request, deque()).append(one)
        try:
            async with self._turn:
                while one.outcome is None:
                    await self._answer(self._next_batch())
        finally:
            self._forget(request, one)
        if isinstance(one.outcome, KpdemoError):
            raise one.outcome
        return one.outcome

    def _next_batch(self) -> list[_Waiting]:
        first = next(iter(self._requests))
        rows = [*self._requests.values()]
        self._requests.move_to_end(first)
        kind = rows[0][0].kind
        batch: list[_Waiting] = []
        characters = 0
        for depth in range(TOGETHER):
            for one in (row[depth] for row in rows if depth < len(row)):
                characters += len(one.question.document.text)
                if len(batch) == TOGETHER or (batch and characters > TURN_CHARACTERS):
                    return batch
                if one.kind == kind:
                    batch.append(one)
        return batch

    async def _answer(self, batch: list[_Waiting]) -> None:
        """Give each its outcome; one whose asker has gone meanwhile is answered for nobody."""
        questions = [one.question for one in batch]
        outcomes: list[PredictionResult | InputError] | list[KpdemoError]
        try:
            outcomes = await to_thread.run_sync(
                self._shelf.answer_many, questions, Stop(), limiter=self._thread
            )
        except KpdemoError as error:
            outcomes = [error] * len(batch)
        for one, outcome in zip(batch, outcomes, strict=True):
            one.outcome = outcome
        for request in [*self._requests]:
            for one in batch:
                self._forget(request, one)

    def _forget(self, request: Hashable, one: _Waiting) -> None:
        waiting = self._requests.get(request, deque())
        if one in waiting:
            waiting.remove(one)
        if request in self._requests and not waiting:
            del self._requests[request]
