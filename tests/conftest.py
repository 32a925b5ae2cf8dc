"""What every test shares: the browser, the rule for missing tools, and no calls home."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

# Before gradio or transformers is imported anywhere: both read these at import time.
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

ON_CI = os.environ.get("CI", "").lower() in ("1", "true")
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

settings.register_profile("kpdemo", deadline=None, derandomize=ON_CI)
settings.load_profile("kpdemo")


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


@pytest.fixture(scope="module")
def browser(chromium_path: str) -> Iterator[Browser]:
    # Not for the whole session: while it runs, Playwright's event loop is in the way of asyncio.run().
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium_path,
            args=["--no-sandbox", "--disable-dev-shm-usage"],  # containers: root, and a small /dev/shm
        )
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """An empty page, 1280 × 900, in a browser profile of its own."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    yield context.new_page()
    context.close()
