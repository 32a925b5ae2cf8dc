"""Keys on the rating page, where each is for the pair that was on the screen when it was pressed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page


def press(page: Page, *keys: str) -> None:
    """Each key once what the one before has changed is on the screen."""
    for key in keys:
        page.evaluate("() => new Promise((seen) => requestAnimationFrame(() => setTimeout(seen)))")
        page.keyboard.press(key)


def press_blindly(page: Page, *keys: str) -> None:
    """Without any pause, whatever the screen shows; ⏎ is Enter."""
    for key in keys:
        page.keyboard.press("Enter" if key == "⏎" else key)
