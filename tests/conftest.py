"""What every test shares: the browser, the rule for missing tools, and no calls home."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from functools import cache, partial, wraps
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, NoReturn

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from db import Database
    from kpdemo.types import Predictor
    from tests.profiles import Profiles

# Before gradio or transformers is imported anywhere: both read these at import time.
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

ON_CI = os.environ.get("CI", "").lower() in ("1", "true")
CHROMIUM_NAMES = (
    "chromium-headless-shell",  # without the windows that nobody sees, so faster
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
)

settings.register_profile("kpdemo", deadline=None, derandomize=ON_CI)
settings.load_profile("kpdemo")


def pytest_configure(config: pytest.Config) -> None:
    """What this process and all that it starts begin with."""
    if config.option.markexpr != "benchmark":  # speed is measured with as many threads as there are
        os.environ.setdefault("OMP_NUM_THREADS", "1")  # on tiny tensors several only wait for one another
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's `&` has told us to ignore


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """PostgreSQL is for `make test-all`, except where a test is marked `both_databases`."""
    for item in items:
        values = (
            item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        )
        if values.get("database") == "postgresql" and not item.get_closest_marker("both_databases"):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="module", autouse=True)
def _old_objects_are_left_alone() -> Iterator[None]:
    """What a file leaves is looked through for garbage once: to do so again took a fifth of the time."""
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _commands_are_built_once() -> Iterator[None]:
    """Typer makes all commands of a program anew for each command line: longer than most lines run."""
    from typer import main

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(main, "get_command", cache(main.get_command))
        yield


@pytest.fixture(scope="session", autouse=True)
def _what_is_made_again_and_again_is_made_once() -> Iterator[None]:
    """Of the modules that the tests have imported: a run of one file of them pays for nothing else."""
    with pytest.MonkeyPatch.context() as patch:
        if "db.migrations" in sys.modules:
            _copy_tables(patch)
        if "kpdemo.predictors" in sys.modules:
            _keep_included_models(patch)
        if "gradio" in sys.modules:
            # An application of the server is made after each page, and by `mount_gradio_app` anew.
            unused = SimpleNamespace(create_app=lambda pages, **_: None)
            patch.setattr("gradio.blocks.App", unused)
        yield


def _copy_tables(patch: pytest.MonkeyPatch) -> None:
    """Give a new SQLite database what the migrations made of the first one: a tenth of what they cost."""
    from alembic import command

    from tests.databases import migrated_file, upgrade_by_copying

    migrated_file()
    patch.setattr(command, "upgrade", partial(upgrade_by_copying, command.upgrade))


def _keep_included_models(patch: pytest.MonkeyPatch) -> None:
    """Each command line would read the default model anew: longer than most predictions take."""
    from kpdemo import predictors

    included = predictors.DEFAULT_FOLDER.parent
    read = predictors._load_folder
    kept: dict[tuple[Path, str, Path | None], Predictor] = {}

    @wraps(read)
    def keep(folder: Path, device: str, index: Path | None = None) -> Predictor:
        if any(path is not None and included not in path.parents for path in (folder, index)):
            return read(folder, device, index)
        if (asked := (folder, device, index)) not in kept:
            kept[asked] = read(*asked)
        return kept[asked]

    patch.setattr(predictors, "_load_folder", keep)


def unavailable(reason: str) -> NoReturn:
    """Skip for want of a tool; on CI, where everything must be there, fail."""
    if ON_CI:
        pytest.fail(reason)
    pytest.skip(reason)


def find_chromium() -> str | None:
    """$CHROMIUM, else a browser on the PATH, else the one Playwright downloaded."""
    for name in (os.environ.get("CHROMIUM", ""), *CHROMIUM_NAMES):
        if name and (path := shutil.which(name)):
            return path
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).is_file() else None


@pytest.fixture(scope="session")
def chromium_path() -> str:
    path = find_chromium()
    if path is None:
        unavailable("No Chromium: run `make chromium`, or name one in the variable CHROMIUM.")
    return path


UNTIL_NO_BROWSER = ExitStack()
"""What browser tests share, file after file. Not for the whole session: Playwright's event loop is in the way
of asyncio.run(), and a server is never quite idle."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Generator[None]:
    yield
    if nextitem is None or "chromium_path" not in getattr(nextitem, "fixturenames", ()):
        UNTIL_NO_BROWSER.close()


@cache
def launch_browser(path: str) -> Browser:
    from playwright.sync_api import sync_playwright

    UNTIL_NO_BROWSER.callback(launch_browser.cache_clear)
    browser = UNTIL_NO_BROWSER.enter_context(sync_playwright()).chromium.launch(
        executable_path=path,
        args=[
            *("--no-sandbox", "--disable-dev-shm-usage"),  # containers: root, and a small /dev/shm
            *(
                "--process-per-site",
                "--renderer-process-limit=1",
            ),  # to start one costs as much as a small page
        ],
    )
    UNTIL_NO_BROWSER.callback(browser.close)
    return browser


@pytest.fixture(scope="module")
def browser(chromium_path: str) -> Browser:
    return launch_browser(chromium_path)


@cache
def shared_profiles() -> Profiles:
    """Those of the browser, which end with it."""
    from tests.profiles import Profiles

    UNTIL_NO_BROWSER.callback(shared_profiles.cache_clear)
    return Profiles()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """An empty page, 1280 × 900, in a browser profile of its own."""
    profiles = shared_profiles()
    yield profiles.take(browser).new_page()
    profiles.give_back()


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """An empty database with all tables, once on each of the two systems.

    Unless a test is marked `both_databases`, its run on PostgreSQL is slow: for `make test-all`.
    """
    yield from empty_database(request.param, tmp_path)


@pytest.fixture
def sqlite_database(tmp_path: Path) -> Iterator[Database]:
    """An empty SQLite database, for what does not depend on the system."""
    yield from empty_database("sqlite", tmp_path)


@pytest.fixture
def postgresql_database(tmp_path: Path) -> Iterator[Database]:
    """An empty database on PostgreSQL, for what only it does."""
    yield from empty_database("postgresql", tmp_path)


@pytest.fixture(scope="session", autouse=True)
def _no_schema_is_left() -> Iterator[None]:
    yield
    from tests.databases import drop_idle_schemas

    drop_idle_schemas()


def empty_database(system: str, folder: Path) -> Iterator[Database]:
    """A database of its own: a file, or a new schema on the PostgreSQL server."""
    from tests.databases import new_database

    if system == "postgresql":
        require_postgresql()
    with new_database(system, folder) as database:
        yield database


@cache
def postgresql_problem() -> str | None:
    """Why there is no PostgreSQL server, if there is none."""
    from db import Database, DatabaseError
    from db.migrations import current
    from tests.databases import POSTGRESQL_URL

    database = Database(POSTGRESQL_URL)
    try:
        current(database)
    except DatabaseError as error:
        return f"{error} Or name another server in the variable POSTGRESQL_URL."
    finally:
        database.dispose()
    return None


def require_postgresql() -> None:
    """Skip where there is no PostgreSQL server; on CI, fail."""
    if problem := postgresql_problem():
        unavailable(problem)
