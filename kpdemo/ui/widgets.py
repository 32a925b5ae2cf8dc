"""Pieces that several pages are made of."""

from __future__ import annotations

import html
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import gradio as gr

from kpdemo.ui.marks import escape

MODEL_QUEUE = "model"
"""One event of this queue at a time: they share the processor or the accelerator."""


@dataclass(frozen=True, slots=True)
class QuestionFields:
    """The fields of a page that make up a question."""

    title: gr.Textbox
    document: gr.Textbox
    model: gr.Dropdown
    automatic: gr.Checkbox
    count: gr.Slider
    threshold: gr.Textbox


@contextmanager
def shown_to_user(kind: type[Exception]) -> Iterator[None]:
    """Make our errors toasts; any other exception is a bug and stays loud."""
    try:
        yield
    except kind as error:
        raise gr.Error(html.escape(str(error)), print_exception=False) from error


def section_heading(text: str, elem_id: str) -> gr.HTML:
    return gr.HTML(f'<h2 id="{elem_id}-heading">{escape(text)}</h2>', elem_id=elem_id)


def note_html(text: str, *, alert: bool = False) -> str:
    """A sentence in a box; an alert is read out when it appears."""
    role = ' role="alert"' if alert else ""
    return f'<p class="note"{role}>{escape(text)}</p>'


def empty_html(text: str) -> str:
    """What stands where a result will be: the next step."""
    return f'<p class="empty">{escape(text)}</p>'


def page_header(name: str, purpose: str) -> gr.HTML:
    return gr.HTML(
        f'<div class="page-header"><div><h1>{escape(name)}</h1><p>{escape(purpose)}</p></div>'
        '<button type="button" id="page-theme" data-theme>Light / dark</button></div>',
        elem_id="page-header",
    )
