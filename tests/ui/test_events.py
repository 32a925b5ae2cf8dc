"""Which events wait in a queue, and which answer the request that asks."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import gradio as gr
from fastapi import FastAPI

import app
from annotation.services.bundle import open_services
from annotation.ui.pages import build_annotation_pages
from kpdemo.latex import latex_table
from kpdemo.ui.models import ModelShelf
from kpdemo.ui.mounting import mount_pages
from tests.fakes import FakePredictor


def opening_events(pages: gr.Blocks) -> dict[str, set[str]]:
    """By page, the queued events that all begin when it is opened."""
    found: dict[str, set[str]] = {}
    for event in pages.fns.values():
        if event.queue and any(trigger == "load" for _, trigger in event.targets):
            found.setdefault(event.page, set()).add(event.api_name)
    return found


def test_no_two_events_of_an_opened_page_wait_on_one_stream(sqlite_database):
    """Gradio loses an answer when one begins just as the server closes the stream after another."""
    public = app.build_app(ModelShelf({"default": "a fake"}, FakePredictor))
    annotation = build_annotation_pages(open_services(sqlite_database), latex_table)
    assert len({event.page for event in annotation.fns.values()}) > 5
    for pages in (public, annotation):
        assert all(len(names) < 2 for names in opening_events(pages).values())


def test_an_idle_server_does_not_look_a_thousand_times_a_second_for_events(monkeypatch):
    with gr.Blocks() as pages:
        gr.Textbox().submit(lambda text: text)
    mount_pages(FastAPI(), lambda: pages, "/", max_file_size="1mb")
    looks = []
    monkeypatch.setattr(type(pages._queue), "__len__", lambda queue: looks.append(queue) or 0)

    async def half_a_second() -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(pages._queue.start_processing(), 0.5)

    asyncio.run(half_a_second())
    assert 1 < len(looks) <= 51
