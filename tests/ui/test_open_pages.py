"""What a server keeps of each open page."""

from __future__ import annotations

import tracemalloc

import gradio as gr
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from kpdemo.ui.page import CLOSED_DOCS, mount_pages

COMPONENTS = 100


def pages() -> gr.Blocks:
    """A counter of each page's own, among components that nothing changes."""
    with gr.Blocks() as blocks:
        pressed = gr.State(0)
        shown = gr.Textbox("none")
        for number in range(COMPONENTS):
            gr.HTML(f"<p>{number}</p>")
        gr.Button().click(
            lambda number, text: (number + 1, gr.update(value=f"{text} {number + 1}", visible=False)),
            [pressed, shown],
            [pressed, shown],
            queue=False,
        )
    return blocks


@pytest.fixture
def mounted() -> tuple[TestClient, gr.Blocks]:
    server, made = FastAPI(**CLOSED_DOCS), []
    mount_pages(server, lambda: made.append(pages()) or made[0], "/", max_file_size="1mb")
    return TestClient(server), made[0]


def press(client: TestClient, session: str, text: str = "pressed") -> str:
    body = {"data": [None, text], "fn_index": 0, "session_hash": session}
    answer = client.post("/gradio_api/run/predict", json=body)
    return answer.json()["data"][1]["value"]


def test_each_open_page_has_a_state_of_its_own(mounted):
    client, _ = mounted
    assert [press(client, "one") for _ in range(3)] == ["pressed 1", "pressed 2", "pressed 3"]
    assert press(client, "other") == "pressed 1"
    assert press(client, "one") == "pressed 4"


def test_opening_a_page_describes_no_component_and_keeps_little(mounted, monkeypatch):
    client, blocks = mounted
    press(client, "first")  # imports, and what is made once
    described = []
    usual = gr.HTML.get_config
    monkeypatch.setattr(
        gr.HTML, "get_config", lambda self, *rest: described.append(self) or usual(self, *rest)
    )
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for number in range(20):
            blocks.state_holder[f"page {number}"]
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    press(client, "page 0")
    assert described == []
    assert (after - before) / 20 < 30_000  # bytes; Gradio's own take 400,000
