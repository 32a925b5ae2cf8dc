"""One server with fast stand-ins for the models, and a page that remembers what went wrong on it."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn

import app
from annotation.services.bundle import open_annotation
from annotation.web.responder import COOKIE
from kpdemo.errors import ModelLoadError
from kpdemo.routing import latin_documents
from kpdemo.types import Document, Keyphrase, Prediction, Span
from tests.databases import migrated_file
from tests.fakes import FakePredictor, absent_keyphrases
from tests.people import CHEAP
from tests.profiles import DESKTOP, Profiles

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Locator, Page

    from annotation.services.bundle import Services
    from annotation.types import User

HERE = Path(__file__).parent
PATIENCE = 15_000
"""Milliseconds until a page must show what is expected, on a busy machine."""


@pytest.fixture(scope="session", autouse=True)
def _patient() -> None:
    from playwright.sync_api import expect

    expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="module", autouse=True)
def _accounts_are_made_quickly() -> Iterator[None]:
    """A test makes an account or two, and signs in: at full strength a tenth of what it costs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("annotation.services.bundle.Passwords", lambda: CHEAP)
        yield


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.browser)


@dataclass(frozen=True)
class Nested:
    """Finds a fixed list of phrases, some of them inside others, and gives absent ones to every text."""

    name: str = "default"
    device: str = "cpu"
    phrases: tuple[str, ...] = ("boundary integral equation", "integral equation", "surface current")
    absent: tuple[Keyphrase, ...] = absent_keyphrases(2)
    finds_absent: bool = True
    languages: frozenset[str] = frozenset({"en"})

    def predict(self, documents, *, top_k=None, threshold=None):
        return [self._read(document) for document in documents]

    def _read(self, document: Document) -> Prediction:
        latin_documents([document])
        found = ((phrase, _places(document.text, phrase)) for phrase in self.phrases)
        present = [
            Keyphrase(text, round(0.9 - rank / 10, 2), spans)
            for rank, (text, spans) in enumerate(found)
            if spans
        ]
        return Prediction(tuple(present), self.absent, document.language)


def _places(text: str, phrase: str) -> tuple[Span, ...]:
    return tuple(match.span() for match in re.finditer(re.escape(phrase), text, re.IGNORECASE))


def load(name: str) -> Nested | FakePredictor:
    if name == "damaged":
        raise ModelLoadError("The model at <damaged> is damaged: install it again.")
    return Nested() if name == "default" else FakePredictor(name)


MODELS = {"default": "fixed phrases", "first": "first phrases", "damaged": "cannot be loaded"}


@pytest.fixture(scope="module")
def serve():
    """Start a server for a context; those of a file stop when it ends, since none is quite idle."""
    running: list[tuple[uvicorn.Server, threading.Thread]] = []

    def start(context: app.AppContext) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        server = uvicorn.Server(
            uvicorn.Config(app.build_server(context), log_level="warning", timeout_graceful_shutdown=1)
        )
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


@pytest.fixture(scope="module")
def address(serve) -> str:
    return serve(app.AppContext(MODELS, load))


PASSWORD = "correct horse battery"
"""Of every account that `Site.add_user` makes."""


@dataclass
class Site:
    """A running server with annotation on a database of its own, and accounts to come in with."""

    address: str
    services: Services
    _profiles: Profiles = field(default_factory=Profiles)

    def add_user(self, name: str, *, is_administrator: bool = False) -> User:
        return self.services.accounts.add_user(name, password=PASSWORD, is_administrator=is_administrator)

    def context(self, browser: Browser, name: str | None = None, **options: Any) -> BrowserContext:
        """A browser profile of its own, signed in as `name` as if the form had been sent."""
        context = self._profiles.take(browser, **options)
        context.set_default_timeout(PATIENCE)
        if name is not None:
            token = self.services.sign_ins.sign_in(name, PASSWORD, "127.0.0.1")
            context.add_cookies([{"name": COOKIE, "value": token, "url": self.address}])
        return context

    def page(self, browser: Browser, name: str, path: str = "/annotate/", **options: Any) -> Page:
        """An open page of annotation, in a browser profile of its own."""
        page = self.context(browser, name, **options).new_page()
        open_annotation_page(page, f"{self.address}{path}")
        return page

    def close_pages(self) -> None:
        self._profiles.give_back()

    def close(self) -> None:
        self._profiles.close()


@pytest.fixture(scope="module")
def start_site(serve):
    """Start the real server on the database at a URL; everything is there that `python app.py` serves."""

    def start(database_url: str) -> Site:
        services = open_annotation(database_url)
        return Site(serve(app.AppContext(MODELS, load, annotation=services)), services)

    return start


@pytest.fixture(scope="module")
def site(start_site, tmp_path_factory) -> Site:
    """A server for the tests of a file, with the administrator `root` and nothing else."""
    return _empty_site(start_site, tmp_path_factory.mktemp("site"))


@pytest.fixture
def empty_site(start_site, tmp_path) -> Iterator[Site]:
    """A server as `site`, of one test alone."""
    site = _empty_site(start_site, tmp_path)
    yield site
    site.close()


def _empty_site(start_site: Callable[[str], Site], folder: Path) -> Site:
    file = folder / "kpdemo.db"
    file.write_bytes(migrated_file())
    site = start_site(f"sqlite:///{file}")
    site.add_user("root", is_administrator=True)
    return site


@pytest.fixture(autouse=True)
def _no_page_stays_open(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if "site" in request.fixturenames:
        request.getfixturevalue("site").close_pages()


@pytest.fixture
def unused(tmp_path: Path) -> str:
    """A name that nothing on a server has."""
    return tmp_path.name


def choose_files(box: Locator, *files: Path | tuple[str, bytes]) -> None:
    """Choose files, or files of these names and contents, and wait until the server has them."""
    from playwright.sync_api import expect

    contents = [(file.name, file.read_bytes()) if isinstance(file, Path) else file for file in files]
    box.locator("input[type=file]").set_input_files(
        [{"name": name, "mimeType": "text/plain", "buffer": content} for name, content in contents]
    )
    # Those that are on their way are named elsewhere.
    expect(box.locator(".file-preview td.filename")).to_have_count(len(contents))


SCRIPTS_ARE_THERE = "async () => { await kpdemo; }"
"""Nobody presses a key as soon as a page is drawn, as a test does."""


def open_annotation_page(page: Page, address: str) -> None:
    """Open a page of annotation and wait until it can be used: its header has come from the server."""
    page.goto(address)
    page.locator("#page-user").wait_for()
    page.evaluate(SCRIPTS_ARE_THERE)


def serious_violations(page: Page, part: str | None = None, *, rule: str | None = None) -> list[str]:
    """What axe-core finds on a page, or in a part of it, that keeps somebody from using it.

    Args:
        rule: the only one that is looked at; None for all.
    """
    from axe_playwright_python.sync_playwright import Axe

    options: dict[str, Any] = {"resultTypes": ["violations"]} | ({"runOnly": [rule]} if rule else {})
    found = Axe().run(page, context=part, options=options).response["violations"]
    return [
        f"{one['id']}: {node['target']} {node['failureSummary']}"
        for one in found
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]


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
    context = browser.new_context(**DESKTOP)
    page, watch = context.new_page(), Watch()
    page.set_default_timeout(PATIENCE)
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
    page.set_default_timeout(PATIENCE)
    watch.over(page, address)
    open_page(page, address)
    yield page
    watch.check()


def open_page(page: Page, address: str) -> None:
    with page.expect_response(
        lambda response: "/gradio_api/run/" in response.url
    ):  # its first event is bound and sent
        page.goto(address)
    page.locator("#predict-run").wait_for()
    page.evaluate(SCRIPTS_ARE_THERE)


@pytest.fixture(scope="module")
def narrow(browser: Browser, address: str) -> Iterator[Page]:
    """The page on a phone."""
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    open_page(page, address)
    yield page
    context.close()
