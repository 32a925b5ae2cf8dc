"""What a server keeps of each open page."""

from __future__ import annotations

import gradio as gr
from fastapi import FastAPI
from fastapi.testclient import TestClient

from kpdemo.ui.page import CLOSED_DOCS, Pages, mount_pages


def pages() -> Pages:
    """A counter of each page's own."""
    with Pages() as blocks:
        pressed = gr.State(0)
        shown = gr.Textbox("none")
        gr.Button().click(
            lambda number, text: (number + 1, gr.update(value=f"{text} {number + 1}", visible=False)),
            [pressed, shown],
            [pressed, shown],
            queue=False,
        )
    return blocks


def client_of_pages() -> TestClient:
    server = FastAPI(**CLOSED_DOCS)
    mount_pages(server, pages, "/", max_file_size="1mb", scripts=["main.js"])
    return TestClient(server)


def press(client: TestClient, session: str, text: str = "pressed") -> str:
    body = {"data": [None, text], "fn_index": 0, "session_hash": session}
    answer = client.post("/gradio_api/run/predict", json=body)
    return answer.json()["data"][1]["value"]


def test_each_open_page_has_a_state_of_its_own():
    client = client_of_pages()
    assert [press(client, "one") for _ in range(3)] == ["pressed 1", "pressed 2", "pressed 3"]
    assert press(client, "other") == "pressed 1"
    assert press(client, "one") == "pressed 4"


def test_the_state_of_the_page_that_was_used_least_recently_goes(monkeypatch):
    monkeypatch.setattr("kpdemo.ui.page.OPEN_PAGES", 2)
    client = client_of_pages()
    for session in ("one", "other", "one"):
        press(client, session)
    press(client, "third")
    assert press(client, "one") == "pressed 3"
    assert press(client, "other") == "pressed 1"
