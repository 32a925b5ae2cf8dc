"""Which events wait in a queue, and which answer the request that asks."""

from __future__ import annotations

import gradio as gr
from gradio.components import FormComponent

import app
from annotation.services.bundle import open_services
from annotation.ui.pages import build_annotation_pages
from kpdemo.ui.models import ModelShelf
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
    annotation = build_annotation_pages(open_services(sqlite_database))
    assert len({event.page for event in annotation.fns.values()}) > 5
    for pages in (public, annotation):
        assert all(len(names) < 2 for names in opening_events(pages).values())


def test_a_choice_asks_the_server_once_and_the_last_one_always(sqlite_database):
    """A list does by `on_choice`: its `input` tells of a choice by mouse twice, and of leaving it as well."""
    pages = build_annotation_pages(open_services(sqlite_database))
    chosen = [
        (event, pages.blocks[block])
        for event in pages.fns.values()
        for block, trigger in event.targets
        if trigger in ("input", "select") and not isinstance(pages.blocks[block], gr.Tab)
    ]
    asking = [(event, block) for event, block in chosen if event.fn is not None]
    assert [event.api_name for event, block in asking if isinstance(block, gr.Dropdown)] == []
    modes = {event.api_name: event.trigger_mode for event, _ in asking}
    assert modes == dict.fromkeys(("choose_order", "follow_raters"), "always_last")
    assert sum(isinstance(block, gr.Dropdown) for _, block in chosen) >= 8


def test_no_event_hides_a_field_until_it_is_answered(sqlite_database):
    """Gradio covers every part that an event fills, or the one that it is told to cover."""
    pages = build_annotation_pages(open_services(sqlite_database))
    covering = {
        event.api_name: event.show_progress_on or [block._id for block in event.outputs]
        for event in pages.fns.values()
        if event.fn is not None and event.show_progress == "full"
    }
    hidden = {
        name: field.elem_id
        for name, covered in covering.items()
        for field in map(pages.blocks.get, covered)
        if isinstance(field, FormComponent) and field.visible != "hidden"
    }
    assert len(covering) > 30
    assert hidden == {}


def test_an_event_that_is_waited_for_shows_one_timer(sqlite_database):
    """Gradio runs one on every part that an event fills, unless it is told where."""
    public = app.build_app(ModelShelf({"default": "a fake"}, FakePredictor))
    for pages in (public, build_annotation_pages(open_services(sqlite_database))):
        several = [
            event.api_name
            for event in pages.fns.values()
            if event.fn is not None
            and event.show_progress != "hidden"
            and len(event.show_progress_on or event.outputs) > 1
        ]
        assert several == []
