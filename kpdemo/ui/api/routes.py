"""The addresses under /api."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar, TypeVarTuple

from anyio import CancelScope, CapacityLimiter, create_task_group, to_thread
from fastapi import FastAPI
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from kpdemo.errors import InputError, KpdemoError
from kpdemo.ui.api.asked import Asked, Questions, read_questions
from kpdemo.ui.api.bodies import parse_body, read_body
from kpdemo.ui.api.line import Line
from kpdemo.ui.api.refusals import RequestError, json_response, refused
from kpdemo.ui.downloads import as_record
from kpdemo.ui.models import ModelShelf
from kpdemo.ui.questions import check_written
from kpdemo.ui.stop import Stop

MODELS, PREDICT = "/api/models", "/api/predict"
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
AT_ONCE = 2
"""Bodies that are parsed, and answers that are written, at once: neither waits for a model."""

GONE = 499
"""Nobody is there to read the answer."""

Given = TypeVarTuple("Given")
Found = TypeVar("Found")

ADVICE = f"GET {MODELS} lists the models, POST {PREDICT} finds keyphrases"


def add_api(server: FastAPI, shelf: ModelShelf) -> None:
    """Let programs ask the models of the pages; to be called before any pages are mounted at /."""
    api = Api(shelf)
    server.add_route(MODELS, api.models, ["GET"], include_in_schema=False)
    server.add_route(PREDICT, api.predict, ["POST"], include_in_schema=False)
    for path in ("/api", "/api/{rest:path}"):
        server.add_route(path, refuse_address, list(METHODS), include_in_schema=False)


class Api:
    """Answers programs; the models are those of the pages, asked in turn with their readers."""

    def __init__(self, shelf: ModelShelf) -> None:
        self._shelf = shelf
        self._line = Line(shelf)
        self._threads = CapacityLimiter(AT_ONCE)

    async def models(self, request: Request) -> Response:
        """The names that a request may give, each with one line on what it is."""
        rows = [
            {"name": name, "description": line, "default": name == self._shelf.default}
            for name, line in self._shelf.models.items()
        ]
        return json_response({"models": rows})

    async def predict(self, request: Request) -> Response:
        """The keyphrases of one document, or of each of a list."""
        try:
            with self._line.place():
                content = await read_body(request)
                questions = await self._in_thread(self._read, content)
                return await while_there(request, partial(self._answer, questions))
        except ClientDisconnect:
            return Response(status_code=GONE)
        except KpdemoError as error:
            return refused(error)

    def _read(self, content: bytes) -> Questions:
        return read_questions(parse_body(content), self._shelf)

    async def _answer(self, questions: Questions, stop: Stop) -> Response:
        try:
            if not questions.is_list:
                return await self._in_thread(json_response, await self._record(questions.asked[0], stop))
            records = [await self._record_or_error(asked, stop) for asked in questions.asked]
            return await self._in_thread(json_response, {"predictions": records})
        except KpdemoError as error:
            return refused(error)

    async def _record(self, asked: Asked, stop: Stop) -> dict[str, Any]:
        """What `predict --json` prints, after the id if there is one."""
        await self._in_thread(check_written, asked.question.document)
        answer = await self._line.ask(asked.question, stop)
        return _named(asked, await self._in_thread(as_record, answer))

    async def _record_or_error(self, asked: Asked, stop: Stop) -> dict[str, Any]:
        """The same; of a document that cannot be read, why: the others are answered."""
        try:
            return await self._record(asked, stop)
        except InputError as error:
            return _named(asked, {"error": str(error)})

    async def _in_thread(self, work: Callable[[*Given], Found], *arguments: *Given) -> Found:
        return await to_thread.run_sync(work, *arguments, limiter=self._threads)


def _named(asked: Asked, record: dict[str, Any]) -> dict[str, Any]:
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
    allowed = {MODELS: "GET", PREDICT: "POST"}.get(path)
    if allowed is None:
        return refused(RequestError(f"There is nothing at this address: {ADVICE}.", 404))
    response = refused(RequestError(f"{path} does not take {method}: {ADVICE}.", 405))
    response.headers["allow"] = allowed
    return response
