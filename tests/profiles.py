"""Profiles of a browser: each test has one that looks new, but the scripts of the pages are there already."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext

DESKTOP = {"viewport": {"width": 1280, "height": 900}, "accept_downloads": True}


class Profiles:
    """Those of one browser. A page of Gradio brings megabytes of scripts, read anew by every new profile."""

    def __init__(self) -> None:
        self._used: list[tuple[str, BrowserContext]] = []
        """With their options; none where they are not kept."""
        self._idle: dict[str, list[BrowserContext]] = {}

    def take(self, browser: Browser, *, is_kept: bool = True, **options: Any) -> BrowserContext:
        """A profile that holds nothing that a test could see.

        Args:
            is_kept: whether a later test may have it, emptied; not where this one stops its clock.
        """
        settings = DESKTOP | options
        kind = repr(sorted(settings.items())) if is_kept else ""
        idle = self._idle.get(kind)
        context = idle.pop() if idle else _with_blank_page(browser.new_context(**settings))
        self._used.append((kind, context))
        return context

    def give_back(self) -> None:
        """All that were taken: their pages are closed."""
        while self._used:
            kind, context = self._used.pop()
            if kind:
                _empty(context)
                self._idle.setdefault(kind, []).append(context)
            else:
                context.close()

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
