"""Profiles of a browser: each test has one that looks new, but the scripts of the pages are there already."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext

DESKTOP = {"viewport": {"width": 1280, "height": 900}, "accept_downloads": True}
PATIENCE = 60_000
"""Milliseconds until a page must show what is expected, on a busy machine."""


class Profiles:
    """Those of one browser. A page of Gradio brings megabytes of scripts, read anew by every new profile."""

    def __init__(self) -> None:
        self._used: list[tuple[str, BrowserContext]] = []
        """With their options."""
        self._idle: dict[str, list[BrowserContext]] = {}

    def take(self, browser: Browser, **options: Any) -> BrowserContext:
        """A profile that holds nothing that a test could see; a later test may get it, emptied."""
        settings = DESKTOP | options
        kind = repr(sorted(settings.items()))
        idle = self._idle.get(kind)
        context = idle.pop() if idle else _with_blank_page(browser.new_context(**settings))
        context.set_default_timeout(PATIENCE)
        self._used.append((kind, context))
        return context

    def give_back(self) -> None:
        """All that were taken: their pages are closed."""
        while self._used:
            kind, context = self._used.pop()
            if context.pages[0].evaluate("'__pwClock' in window"):  # for good: Playwright cannot take it away
                context.close()
                continue
            _empty(context)
            self._idle.setdefault(kind, []).append(context)

    def close(self) -> None:
        self.give_back()
        while self._idle:
            for context in self._idle.popitem()[1]:
                context.close()


def _with_blank_page(context: BrowserContext) -> BrowserContext:
    """It stays: where the last page closes, the next one costs half as much again of the processor."""
    context.new_page()
    return context


def _empty(context: BrowserContext) -> None:
    """Leave what a browser that has never been anywhere would have, and the scripts that it would load."""
    blank, *others = context.pages
    for page in others:
        page.close()
    stored = {"origin": "*", "storageTypes": "cookies,local_storage,indexeddb,service_workers"}
    session = context.new_cdp_session(blank)
    session.send("Storage.clearDataForOrigin", stored)
    session.detach()
    context.clear_cookies()
    context.clear_permissions()
    context.unroute_all()
    context.set_offline(False)
