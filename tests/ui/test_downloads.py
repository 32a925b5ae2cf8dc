"""Files that are made for one reader: whoever waits for them keeps nobody else waiting."""

from __future__ import annotations

import asyncio
import threading

import anyio
import httpx
from fastapi import FastAPI, Request
from starlette.responses import Response

from annotation.web.downloads import MADE_AT_ONCE, in_turn

PATIENCE = 20


async def ask_many(
    app: FastAPI, path: str, are_waiting: threading.Event, go_on: threading.Event
) -> list[int]:
    """The statuses of more downloads than the server has threads, another request answered meanwhile."""
    threads = int(anyio.to_thread.current_default_thread_limiter().total_tokens)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://t") as client:
        asked = [asyncio.create_task(client.get(path)) for _ in range(threads + 5)]
        try:
            assert await asyncio.to_thread(are_waiting.wait, PATIENCE)
            other = await asyncio.wait_for(client.get("/other"), PATIENCE)
        finally:
            go_on.set()
        assert other.status_code == 200
        return [answer.status_code for answer in await asyncio.gather(*asked)]


def test_downloads_that_wait_take_no_thread_from_other_pages():
    are_waiting, go_on = threading.Event(), threading.Event()
    at_work: list[str] = []

    app = FastAPI()

    @app.get("/download/{project_id}")
    @in_turn
    def download(request: Request, project_id: str, kind: str = "") -> Response:
        at_work.append(project_id)
        if len(at_work) == MADE_AT_ONCE:
            are_waiting.set()
        go_on.wait(PATIENCE)
        return Response("a file")

    @app.get("/other")
    def other() -> str:
        return "answered"

    statuses = asyncio.run(ask_many(app, "/download/7", are_waiting, go_on))
    assert set(statuses) == {200}
    assert set(at_work) == {"7"}
