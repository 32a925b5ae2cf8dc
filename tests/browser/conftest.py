"""One server with fast stand-ins for the models, and a page that remembers what went wrong on it."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn

import app
from annotation.services.bundle import open_annotation
from annotation.web.responder import COOKIE
from kpdemo.errors import ModelLoadError
from kpdemo.routing import latin_documents
from kpdemo.types import Document, Keyphrase, Prediction, Span
from tests.conftest import UNTIL_NO_BROWSER
from tests.databases import migrated_file
from tests.fakes import FakePredictor, absent_keyphrases
from tests.people import CHEAP
from tests.profiles import DESKTOP, PATIENCE, Profiles

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Locator, Page

    from annotation.services.bundle import Services
    from annotation.types import User

HERE = Path(__file__).parent


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


def start_server(context: app.AppContext, running: ExitStack) -> str:
    """The address of a server that stops when `running` is closed."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(
        uvicorn.Config(app.build_server(context), log_level="warning", timeout_graceful_shutdown=1)
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    running.callback(thread.join, 10)
    running.callback(setattr, server, "should_exit", True)
    deadline = time.monotonic() + 30
    while not server.started and time.monotonic() < deadline:
        time.sleep(0.02)
    return f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture(scope="module")
def serve() -> Iterator[Callable[[app.AppContext], str]]:
    """Start a server for a context; those of a file stop when it ends."""
    with ExitStack() as running:
        yield partial(start_server, running=running)


@cache
def start_public_server() -> str:
    UNTIL_NO_BROWSER.callback(start_public_server.cache_clear)
    return start_server(app.AppContext(MODELS, load), UNTIL_NO_BROWSER)


@pytest.fixture(scope="module")
def address() -> str:
    return start_public_server()


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
        if name is not None:
            token = self.services.sign_ins.sign_in(name, PASSWORD, "127.0.0.1")
            context.add_cookies([{"name": COOKIE, "value": token, "url": self.address}])
        return context

    def page(self, browser: Browser, name: str, path: str = "/annotate/", **options: Any) -> Page:
        """An open page of annotation, in a browser profile of its own."""
        page = self.context(browser, name, **options).new_page()
        page.add_init_script(NOTES_KEPT_FORMS)
        open_annotation_page(page, f"{self.address}{path}")
        return page

    def close_pages(self) -> None:
        self._profiles.give_back()

    def empty(self, *, has_root: bool = True) -> None:
        """Begin anew, with the administrator `root` and nothing else, or with nothing at all."""
        database = self.services.database
        assert database.path is not None
        database.dispose()
        for log in ("-wal", "-shm"):
            Path(f"{database.path}{log}").unlink(missing_ok=True)
        new = database.path.with_suffix(".new")
        new.write_bytes(migrated_file())
        new.replace(database.path)  # what is still being answered to a closed page writes to the old file
        if has_root:
            self.add_user("root", is_administrator=True)


def start_site(database_url: str, running: ExitStack) -> Site:
    """The real server on the database at a URL; everything is there that `python app.py` serves."""
    services = open_annotation(database_url)
    return Site(start_server(app.AppContext(MODELS, load, annotation=services), running), services)


@cache
def start_shared_site() -> Site:
    UNTIL_NO_BROWSER.callback(start_shared_site.cache_clear)
    folder = UNTIL_NO_BROWSER.enter_context(TemporaryDirectory())
    return start_site(f"sqlite:///{folder}/kpdemo.db", UNTIL_NO_BROWSER)


@pytest.fixture(scope="module")
def site() -> Site:
    """A server that is empty when the tests of a file begin, but for the administrator `root`."""
    site = start_shared_site()
    site.empty()
    return site


@pytest.fixture
def empty_site(site: Site) -> Site:
    """The server as it is when the tests of a file begin."""
    site.empty()
    return site


@pytest.fixture
def new_site(site: Site) -> Iterator[Site]:
    """The server as it is when nobody has set it up."""
    site.empty(has_root=False)
    yield site
    site.close_pages()
    site.empty()


@pytest.fixture(autouse=True)
def _no_page_stays_open(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if "site" in request.fixturenames:
        request.getfixturevalue("site").close_pages()


@pytest.fixture
def unused(tmp_path: Path) -> str:
    """A name that nothing on a server has."""
    return tmp_path.name


NOTES_KEPT_FORMS = """(() => {
  let scripts;
  window.keptForms = {};  // of each: how often the browser began to keep what is typed into it
  const noting = (kept) => ({ ...kept, restore: async (form, ...now) => {
    const fields = await kept.restore(form, ...now);
    window.keptForms[form.name] = (window.keptForms[form.name] ?? 0) + 1;
    return fields;
  } });
  Object.defineProperty(window, "kpdemo", {
    get: () => scripts,
    set: (imported) => { scripts = imported.then((all) => ({ ...all, kept: noting(all.kept) })); },
  });
})()"""


def wait_until_kept(page: Page, form: str) -> None:
    """Until what is typed into a form is kept in the browser: nobody types so soon."""
    page.wait_for_function("(form) => window.keptForms[form]", arg=form)


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
    page.locator("#page-user").wait_for(state="attached")  # on a phone it is folded
    page.evaluate(SCRIPTS_ARE_THERE)


def unfold(page: Page, place: str) -> None:
    """Open every part of a place that Gradio has folded."""
    for fold in page.locator(f"{place} .label-wrap").all():
        if "open" not in (fold.get_attribute("class") or "").split():
            fold.click()


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
    context.set_default_timeout(PATIENCE)
    page, watch = context.new_page(), Watch()
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
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    open_page(page, address)
    yield page
    context.close()
