"""Make docs/screenshot.png from the running app: python docs/screenshot.py [http://127.0.0.1:7860]."""

from __future__ import annotations

import argparse
import os
import shutil
from pathlib import Path

from playwright.sync_api import sync_playwright

OUTPUT = Path(__file__).parent / "screenshot.png"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
EXAMPLE = "#predict-example-2"


def find_chromium() -> str | None:
    """$CHROMIUM or a browser on the PATH; None leaves the choice to Playwright."""
    names = (os.environ.get("CHROMIUM", ""), *BROWSERS)
    return next((path for name in names if name and (path := shutil.which(name))), None)


def take(address: str, output: Path, *, width: int, dark: bool) -> None:
    """Predict the second example and take a picture of the fields and the result."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        page = browser.new_page(
            viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light"
        )
        page.goto(address)
        page.locator(EXAMPLE).click()
        page.locator("#predict-facts").wait_for(timeout=60_000)
        page.mouse.move(0, 0)
        page.evaluate("() => { document.activeElement.blur(); scrollTo(0, 0); }")
        page.wait_for_timeout(500)  # the box of the text grows with its content
        height = page.locator("#predict-text").evaluate("e => e.getBoundingClientRect().bottom")
        page.screenshot(
            path=output, full_page=True, clip={"x": 0, "y": 0, "width": width, "height": height + 24}
        )
        browser.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address", nargs="?", default="http://127.0.0.1:7860")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    parser.add_argument("--width", type=int, default=1280)
    parser.add_argument("--dark", action="store_true")
    options = parser.parse_args()
    take(options.address, options.output, width=options.width, dark=options.dark)
