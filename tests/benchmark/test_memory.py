"""What the process of the models has in memory: at rest, after many documents, after a long text."""

from __future__ import annotations

import os
import time
from functools import partial
from pathlib import Path

import pytest

from kpdemo.routing import DEFAULT_MODEL
from kpdemo.ui.start import open_model
from kpdemo.worker import QUIET, ModelWorker
from tests.measuring import forget_peak, memory

pytestmark = pytest.mark.benchmark

SENTENCE = (
    "Graph kernels of type {} compare molecule {} with {} others by the paths that they have in common. "
)
DOCUMENTS = int(os.environ.get("DOCUMENTS", "300"))
LONGEST = 120_000
"""Characters."""
FRENCH = "Les noyaux de graphes comparent des molécules par les chemins qu'elles ont en commun. "
MOST_GROWTH = 1.25
"""Of the memory at rest, by documents and a long text; it must not grow with use."""
RESTS = 2 * QUIET
"""Seconds after which what was freed is given back to the system."""


def text_of(length: int, start: int) -> str:
    sentences = (SENTENCE.format(start + at, 7 * at, at * at % 97) for at in range(length // 80 + 1))
    return "".join(sentences)[:length]


def child() -> Path:
    """The only process that this one has started, as the system shows it."""
    threads = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    [pid] = [pid for children in threads for pid in children.read_text().split()]
    return Path("/proc") / pid


def rested() -> tuple[float, float]:
    time.sleep(RESTS)
    return memory(child())


def test_memory_of_the_model(capsys):
    worker = ModelWorker(partial(open_model, device="cpu", model=None, index=None), first=DEFAULT_MODEL)
    try:
        worker.open(DEFAULT_MODEL)
        shown = {"at rest": rested()}
        for number in range(DOCUMENTS):
            worker.read(DEFAULT_MODEL, [text_of(200 * (1 + number * 37 % 50), number)])
        shown[f"after {DOCUMENTS} documents of 200 to 10,000 characters"] = rested()
        forget_peak(child())
        worker.read(DEFAULT_MODEL, [text_of(LONGEST, 0)])
        shown[f"after a text of {LONGEST:,} characters"] = rested()
        worker.read(DEFAULT_MODEL, [FRENCH * 12])
        shown["with the multilingual model and its passages too"] = rested()
    finally:
        worker.close()
    with capsys.disabled():
        print("\nthe process of the models, in MB: now, and at most since the line before")
        for name, (now, most) in shown.items():
            print(f"  {name:54} {now:8,.0f} {most:8,.0f}")
    now = [now for now, _ in shown.values()]
    assert max(now[:-1]) <= MOST_GROWTH * now[0]
