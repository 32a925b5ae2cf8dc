"""One server with fast stand-ins for the models, and a page that remembers what went wrong on it."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import uvicorn

import app
from kpdemo.errors import ModelLoadError
from kpdemo.text import check_readable
from kpdemo.types import Document, Keyphrase, Prediction, Span
from tests.fakes import FakePredictor

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.browser)


@dataclass(frozen=True)
class Nested:
    """Finds a fixed list of phrases, some of them inside others."""

    name: str = "default"
    device: str = "cpu"
    phrases: tuple[str, ...] = ("boundary integral equation", "integral equation", "surface current")

    def predict(self, documents, *, top_k=None, threshold=None):
        return [self._read(document) for document in documents]

    def _read(self, document: Document) -> Prediction:
        check_readable(document)
        found = ((phrase, _places(document.text, phrase)) for phrase in self.phrases)
        present = [
            Keyphrase(text, round(0.9 - rank / 10, 2), spans)
            for rank, (text, spans) in enumerate(found)
            if spans
        ]
        return Prediction(tuple(present))


def _places(text: str, phrase: str) -> tuple[Span, ...]:
    return tuple(match.span() for match in re.finditer(re.escape(phrase), text, re.IGNORECASE))


def load(name: str) -> Nested | FakePredictor:
    if name == "damaged":
        raise ModelLoadError("The model at <damaged> is damaged: install it again.")
    return Nested() if name == "default" else FakePredictor(name)


MODELS = {"default": "fixed phrases", "first": "first phrases", "damaged": "cannot be loaded"}


@pytest.fixture(scope="session")
def serve():
    """Start a server for a context; all stop when the tests end."""
    running: list[tuple[uvicorn.Server, threading.Thread]] = []

    def start(context: app.AppContext) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app.build_server(context), log_level="warning"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        running.append((server, thread))
        deadline = time.monotonic() + 30
        while not server.started and time.monotonic() < deadline:
            time.sleep(0.02)
        return f"http://127.0.0.1:{listener.getsockname()[1]}"

    yield start
    for server, _ in running:
        server.should_exit = True
    for _, thread in running:
        thread.join(10)


@pytest.fixture(scope="session")
def address(serve) -> str:
    return serve(app.AppContext(MODELS, load))


@dataclass
class Watch:
    """What a page asked of other hosts, and what it complained about."""

    foreign: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def over(self, page: Page, address: str) -> None:
        page.on("request", lambda request: self._request(request.url, address))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on(
            "console",
            lambda message: message.type == "error" and self.complaints.append(message.text),
        )
        page.on("dialog", lambda dialog: (self.complaints.append(dialog.message), dialog.dismiss()))

    def check(self) -> None:
        foreign, complaints = self.foreign[:], self.complaints[:]
        self.foreign.clear()
        self.complaints.clear()
        assert foreign == []
        assert complaints == []

    def _request(self, url: str, address: str) -> None:
        if not url.startswith((address, "data:", "blob:")):
            self.foreign.append(url)


@pytest.fixture(scope="module")
def shared_page(browser: Browser, address: str) -> Iterator[tuple[Page, Watch]]:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    page, watch = context.new_page(), Watch()
    page.set_default_timeout(15_000)
    watch.over(page, address)
    open_page(page, address)
    yield page, watch
    context.close()


@pytest.fixture
def demo(shared_page: tuple[Page, Watch]) -> Iterator[Page]:
    """A page of the module's, for tests that leave its options as they were.

    Nothing foreign may be asked for, and nothing may complain.
    """
    page, watch = shared_page
    yield page
    watch.check()


@pytest.fixture
def fresh(page: Page, address: str) -> Iterator[Page]:
    """A page of the test's own."""
    watch = Watch()
    page.set_default_timeout(15_000)
    watch.over(page, address)
    open_page(page, address)
    yield page
    watch.check()


def open_page(page: Page, address: str) -> None:
    with page.expect_response(
        lambda response: "/queue/data" in response.url
    ):  # its first event is bound and sent
        page.goto(address)
    page.locator("#predict-run").wait_for()


@pytest.fixture(scope="module")
def narrow(browser: Browser, address: str) -> Iterator[Page]:
    """The page on a phone."""
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    page = context.new_page()
    page.set_default_timeout(15_000)
    open_page(page, address)
    yield page
    context.close()
