"""Speed of the page with the default model and a real browser: `make bench`.

Prints what it measures; what it asserts is that the page shows the model's own keyphrases.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import statistics
import subprocess
import sys
import time
import timeit
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import httpx
import pytest

import app
import kpdemo
from kpdemo.predictors import DEFAULT_FOLDER
from kpdemo.types import Document
from tests.browser.conftest import open_page
from tests.measuring import report_speeds

pytestmark = [pytest.mark.benchmark, pytest.mark.browser]

EXAMPLES = Path(kpdemo.__file__).parent / "assets" / "examples.json"
CLICKS = 20
PAUSE = 0.5
"""Seconds between typing and the click, as of a person, and before the same document is read in Python."""
CALLERS = (1, 8, 32)
REQUESTS = 64
"""Of all callers together, an abstract each."""
LONG = 120_000
"""Characters."""

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
    process: int

    def processes(self) -> list[int]:
        """The server and what it started, the oldest first."""
        found = [self.process]
        for process in found:
            for children in Path(f"/proc/{process}/task").glob("*/children"):
                found += [int(child) for child in children.read_text().split()]
        return found

    def memory(self) -> int:
        """Megabytes that all processes hold, what they share counted once."""
        rolled_up = (Path(f"/proc/{process}/smaps_rollup").read_text() for process in self.processes())
        return sum(int(re.search(r"^Pss:\s+(\d+)", text, re.MULTILINE)[1]) for text in rolled_up) // 1024

    def processor_seconds(self) -> float:
        """What the processes that still run have used."""
        stats = (Path(f"/proc/{process}/stat").read_text().rpartition(")")[2] for process in self.processes())
        ticks = sum(int(used) for line in stats for used in line.split()[11:13])
        return ticks / os.sysconf("SC_CLK_TCK")

    def ask(self, text: str) -> dict:
        answer = httpx.post(f"{self.address}/api/predict", json={"text": text}, timeout=600)
        while answer.status_code == 503:
            time.sleep(float(answer.headers["Retry-After"]))
            answer = httpx.post(f"{self.address}/api/predict", json={"text": text}, timeout=600)
        answer.raise_for_status()
        return answer.json()


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
            yield RunningApp(process.stdout.readline().split()[2], started, process.pid)
        finally:
            process.terminate()


def write(page, document: Document) -> None:
    page.locator("#predict-document textarea").fill(document.text)


def shown_keyphrases(page) -> list[str]:
    """Those in sight: the others are folded beneath the best of their family."""
    return [text for text in page.locator("#predict-phrases .phrase").all_inner_texts() if text]


def test_the_page_answers_soon_after_its_start_and_after_each_click(running_app, page, capsys):
    abstracts = new_abstracts()
    page.set_default_timeout(120_000)
    open_page(page, running_app.address)
    write(page, next(abstracts))
    page.evaluate(CLICK_TO_RESULT)
    first = time.perf_counter() - running_app.started
    predictor = kpdemo.load_predictor(device="cpu")
    predictor.predict([next(abstracts)])
    clicks, calls = [], []
    for document in itertools.islice(abstracts, CLICKS):  # in turn, so that both meet the same other work
        write(page, document)
        time.sleep(PAUSE)
        clicks.append(page.evaluate(CLICK_TO_RESULT))
        shown = shown_keyphrases(page)
        time.sleep(PAUSE)
        began = time.perf_counter()
        [prediction] = predictor.predict([document])
        calls.append((time.perf_counter() - began) * 1000)
        present = [keyphrase.text for keyphrase in prediction.present]
        assert shown == [text for text in present if text in shown]
        assert present[0] in shown
    with capsys.disabled():
        print(f"\npage, default model on the CPU\n  start of app.py to the first result {first:8.1f} s")
        print(f"  click to visible result, median of {CLICKS} {statistics.median(clicks):6.0f} ms")
        print(f"  the same documents in Python          {statistics.median(calls):6.0f} ms")


def test_callers_share_the_model(running_app, tmp_path, capsys):
    texts = [document.text for document in itertools.islice(new_abstracts(), REQUESTS)]
    documents, predictions = tmp_path / "docs.jsonl", tmp_path / "predictions.jsonl"
    documents.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
    seconds = {}
    for callers in CALLERS:
        began = time.perf_counter()
        with ThreadPoolExecutor(callers) as pool:
            list(pool.map(running_app.ask, [f"{text} ({callers})" for text in texts]))
        seconds[f"{callers} callers"] = (time.perf_counter() - began) / REQUESTS
    command = [sys.executable, "-m", "kpdemo", "predict", "--device", "cpu"]
    command += ["--input", str(documents), "--output", str(predictions)]
    seconds["command"] = timeit.timeit(partial(subprocess.run, command, check=True), number=1) / REQUESTS
    report_speeds(capsys, f"{REQUESTS} abstracts through the API, beside the command with its start", seconds)
    assert len(predictions.read_text(encoding="utf-8").splitlines()) == REQUESTS


def test_a_long_text_and_the_memory_after_it(running_app, capsys):
    body = " ".join(document.body for document in itertools.islice(new_abstracts(), 400))[:LONG]
    running_app.ask("Neural networks learn from examples.")
    before, used = running_app.memory(), running_app.processor_seconds()
    began = time.perf_counter()
    answer = running_app.ask(body)
    taken = time.perf_counter() - began
    used = running_app.processor_seconds() - used
    after = running_app.memory()
    time.sleep(15)
    with capsys.disabled():
        print(f"\n{LONG} characters through the API: {taken:.1f} s, {used:.1f} processor seconds")
        print(f"  memory before {before} MB, after the answer {after}, 15 s later {running_app.memory()}")
    assert answer["present"]
