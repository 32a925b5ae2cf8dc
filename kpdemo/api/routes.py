"""The addresses under /api, where programs ask the models in turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Hashable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar, TypeVarTuple

from anyio import CancelScope, CapacityLimiter, create_task_group, to_thread
from fastapi import FastAPI
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from kpdemo.api.openapi import openapi_description
from kpdemo.api.queue import ProgramQueue
from kpdemo.api.requests import (
    DocumentRequest,
    DocumentRequests,
    RequestError,
    error_response,
    json_response,
    parse_body,
    read_body,
    read_requests,
)
from kpdemo.errors import BusyError, InputError, KpdemoError
from kpdemo.types import PredictionRequest, PredictionResult
from kpdemo.ui.models import ModelShelf
from kpdemo.ui.requests import check_document
from kpdemo.ui.results import as_record
from kpdemo.ui.uploads import network_of
from kpdemo.worker import Stop

MOST_REQUESTS = 64
"""That are answered or wait at a time."""
MOST_OF_ADDRESS = MOST_REQUESTS // 2
"""Of them, from one address."""
MOST_SENDING = 256
"""Requests that are being sent; of one address as many as it may have answered."""
BUSY = "{} other requests{} are being answered or are waiting: try again in a few seconds."


MODELS, PREDICT, DESCRIPTION = "/api/models", "/api/predict", "/api/openapi.json"
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
AT_ONCE = 2
"""Bodies that are parsed, and answers that are written, at once: neither waits for a model."""

GONE = 499
"""Nobody is there to read the answer."""

Given = TypeVarTuple("Given")
Found = TypeVar("Found")

ADVICE = f"GET {MODELS} lists the models, POST {PREDICT} finds keyphrases, GET {DESCRIPTION} describes both"


def add_api(server: FastAPI, shelf: ModelShelf) -> None:
    """Let programs ask the models of the pages; to be called before any pages are mounted at /."""
    api = Api(shelf)
    server.add_route(MODELS, api.models, ["GET"], include_in_schema=False)
    server.add_route(PREDICT, api.predict, ["POST"], include_in_schema=False)
    server.add_route(DESCRIPTION, api.describe, ["GET"], include_in_schema=False)
    for path in ("/api", "/api/{rest:path}"):
        server.add_route(path, refuse_address, list(METHODS), include_in_schema=False)


class Places:
    """So many requests at a time, and so many of each address."""

    def __init__(self, most: int, of_address: int) -> None:
        self._most = most
        self._of_address = of_address
        self._taken: Counter[str] = Counter()

    @contextmanager
    def taken(self, address: str) -> Iterator[None]:
        """Raises:
        BusyError: there is none left.
        """
        if self._taken.total() >= self._most:
            raise BusyError(BUSY.format(self._most, ""))
        if self._taken[address] >= self._of_address:
            raise BusyError(BUSY.format(self._of_address, " from your address"))
        self._taken[address] += 1
        try:
            yield
        finally:
            self._taken[address] -= 1
            self._taken += Counter()  # forgets those without any


class Api:
    """Answers programs; the models are those of the pages, asked in turn with their readers.

    Of the places that the shelf has for short texts, and of those for long ones, programs take one.
    Belongs to one event loop.
    """

    def __init__(self, shelf: ModelShelf) -> None:
        self._shelf = shelf
        self._short, self._long = ProgramQueue(shelf), CapacityLimiter(1)
        self._threads = CapacityLimiter(AT_ONCE)
        self._sending = Places(MOST_SENDING, MOST_OF_ADDRESS)
        self._answering = Places(MOST_REQUESTS, MOST_OF_ADDRESS)

    async def models(self, request: Request) -> Response:
        """The names that a request may give, each with one line on what it is."""
        rows = [
            {"name": name, "description": line, "default": name == self._shelf.default}
            for name, line in self._shelf.models.items()
        ]
        return json_response({"models": rows})

    async def describe(self, request: Request) -> Response:
        """What the addresses take and give, as OpenAPI."""
        return json_response(openapi_description())

    async def predict(self, request: Request) -> Response:
        """The keyphrases of one document, or of each of a list."""
        address = network_of(request.scope)
        try:
            with self._sending.taken(address):
                content = await read_body(request)
            with self._answering.taken(address):
                questions = await self._in_thread(self._read, content)
                return await while_there(request, partial(self._answer, questions))
        except ClientDisconnect:
            return Response(status_code=GONE)
        except KpdemoError as error:
            return error_response(error)

    async def ask(
        self, question: PredictionRequest, stop: Stop, request: Hashable = None
    ) -> PredictionResult:
        """As `ModelShelf.answer`; short texts are read together with those of other requests.

        Args:
            request: whose question it is, see `ProgramQueue`.
        """
        if self._shelf.reads_apart(question):
            return await to_thread.run_sync(self._shelf.answer, question, stop, limiter=self._long)
        return await self._short.ask(question, stop if request is None else request)

    def _read(self, content: bytes) -> DocumentRequests:
        return read_requests(parse_body(content), self._shelf)

    async def _answer(self, questions: DocumentRequests, stop: Stop) -> Response:
        try:
            if not questions.is_list:
                return await self._in_thread(json_response, await self._record(questions.asked[0], stop))
            records: list[dict[str, Any]] = [{} for _ in questions.asked]

            async def add(number: int) -> None:
                records[number] = await self._record_or_error(questions.asked[number], stop, number)

            await _each(add, len(records))
            return await self._in_thread(json_response, {"predictions": records})
        except KpdemoError as error:
            return error_response(error)

    async def _record(self, asked: DocumentRequest, stop: Stop) -> dict[str, Any]:
        """What `predict --json` prints, after the id if there is one."""
        await self._in_thread(check_document, asked.question.document)
        answer = await self.ask(asked.question, stop)
        return _named(asked, await self._in_thread(as_record, answer))

    async def _record_or_error(self, asked: DocumentRequest, stop: Stop, number: int) -> dict[str, Any]:
        """The same; of a document that cannot be read, why: the others are answered."""
        try:
            return await self._record(asked, stop)
        except InputError as error:
            return _named(asked, {"error": f"documents[{number}]: {error}"})

    async def _in_thread(self, work: Callable[[*Given], Found], *arguments: *Given) -> Found:
        return await to_thread.run_sync(work, *arguments, limiter=self._threads)


async def _each(work: Callable[[int], Awaitable[None]], count: int) -> None:
    """The work of each number, all at once; the first error of any is raised as it is."""
    problems: list[KpdemoError] = []

    async def one(number: int) -> None:
        try:
            await work(number)
        except KpdemoError as error:
            problems.append(error)

    async with create_task_group() as group:
        for number in range(count):
            group.start_soon(one, number)
    if problems:
        raise problems[0]


def _named(asked: DocumentRequest, record: dict[str, Any]) -> dict[str, Any]:
    return record if asked.id is None else {"id": asked.id, **record}


async def while_there(request: Request, work: Callable[[Stop], Awaitable[Response]]) -> Response:
    """The response that `work` gives, as long as somebody waits for it: it is stopped when they hang up."""
    stop, response = Stop(), Response(status_code=GONE)

    async def watch(scope: CancelScope) -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        stop.ask()
        scope.cancel()

    try:
        async with create_task_group() as group:
            group.start_soon(watch, group.cancel_scope)
            response = await work(stop)
            group.cancel_scope.cancel()
    finally:
        stop.ask()  # when the server stops, a thread would work on for nobody
    return response


async def refuse_address(request: Request) -> Response:
    """There is nothing here, or nothing for this method."""
    path, method = request.url.path, request.method
    allowed = {MODELS: "GET", PREDICT: "POST", DESCRIPTION: "GET"}.get(path)
    if allowed is None:
        return error_response(RequestError(f"There is nothing at this address: {ADVICE}.", 404))
    response = error_response(RequestError(f"{path} does not take {method}: {ADVICE}.", 405))
    response.headers["allow"] = allowed
    return response
