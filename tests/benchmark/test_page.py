"""Speed of the page with the default model and a real browser: `make bench`.

Prints what it measures; what it asserts is that the page shows the model's own keyphrases.
"""

from __future__ import annotations

import itertools
import json
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import app
import kpdemo
from kpdemo.predictors import DEFAULT_FOLDER
from kpdemo.types import Document
from tests.browser.conftest import open_page

pytestmark = [pytest.mark.benchmark, pytest.mark.browser]

EXAMPLES = Path(kpdemo.__file__).parent / "assets" / "examples.json"
CLICKS = 10

# Measured in the browser, up to the frame in which the new result is drawn.
CLICK_TO_RESULT = """async () => {
  const ended = ({ target, oldValue }) =>
    target.matches(".html-container:not(.pending)") && oldValue.split(" ").includes("pending");
  const started = performance.now();
  await new Promise(resolve => {
    new MutationObserver((changes, observer) => {
      if (!changes.some(ended)) return;
      observer.disconnect();
      resolve();
    }).observe(document.querySelector("#predict-result"), {
      subtree: true, attributeFilter: ["class"], attributeOldValue: true,
    });
    document.querySelector("#predict-run").click();
  });
  await new Promise(resolve => requestAnimationFrame(() => setTimeout(resolve)));
  return performance.now() - started;
}"""


@dataclass(frozen=True)
class RunningApp:
    address: str
    started: float


def new_abstracts() -> Iterator[Document]:
    """The examples with their sentences turned round, so that no text comes twice."""
    rows = json.loads(EXAMPLES.read_text(encoding="utf-8"))
    for turn in itertools.count():
        for row in rows:
            sentences = re.split(r"(?<=[.?]) ", row["text"])
            cut = turn % len(sentences)
            body = " ".join(sentences[cut:] + sentences[:cut])
            yield Document(body, title=f"{row['title']} ({turn + 1})")


@pytest.fixture(scope="module")
def running_app(browser, tmp_path_factory) -> Iterator[RunningApp]:
    """app.py in a process of its own, on the CPU; the browser is there before."""
    assert DEFAULT_FOLDER.is_dir()
    started = time.perf_counter()
    command = [sys.executable, str(Path(app.__file__)), "--port", "0", "--device", "cpu"]
    command += ["--database-url", f"sqlite:///{tmp_path_factory.mktemp('page') / 'kpdemo.db'}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield RunningApp(process.stdout.readline().split()[2], started)
        finally:
            process.terminate()


def write(page, document: Document) -> None:
    page.locator("#predict-document textarea").fill(document.text)


def shown_keyphrases(page) -> list[str]:
    return page.locator("#predict-phrases .phrase").all_inner_texts()


def test_the_page_answers_soon_after_its_start_and_after_each_click(running_app, page, capsys):
    abstracts = new_abstracts()
    page.set_default_timeout(120_000)
    open_page(page, running_app.address)
    write(page, next(abstracts))
    page.evaluate(CLICK_TO_RESULT)
    first = time.perf_counter() - running_app.started
    results = []
    for document in itertools.islice(abstracts, CLICKS):
        write(page, document)
        results.append((page.evaluate(CLICK_TO_RESULT), document, shown_keyphrases(page)))
    median = statistics.median(milliseconds for milliseconds, _, _ in results)
    with capsys.disabled():
        print(f"\npage, default model on the CPU\n  start of app.py to the first result {first:8.1f} s")
        print(f"  click to visible result, median of {CLICKS} {median:6.0f} ms")
    predictor = kpdemo.load_predictor(device="cpu")
    for _, document, shown in results:
        [prediction] = predictor.predict([document])
        assert shown == [keyphrase.text for keyphrase in prediction.present]
