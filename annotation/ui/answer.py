"""The place where a form says what was done or why not, and the events that put it there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradio as gr
from gradio.events import Dependency

from kpdemo.ui.widgets import keep_reason


def answer_place(elem_id: str) -> gr.HTML:
    """Where the answers of events of a form stand; see `answered`."""
    return gr.HTML("", elem_id=elem_id, elem_classes="answer", js_on_load=None)


def answered(
    listen: Callable[..., Dependency], handler: Callable[..., Any], inputs: Any, outputs: Any, **options: Any
) -> Dependency:
    """An event with an answer or, after a refusal, its reason; the form stays in view until it comes.

    Args:
        listen: of a component, such as `click` of a button.
        outputs: an `answer_place`, or one and what changes beside it.
        options: of the event, with its `api_name`.
    """
    place = outputs[0] if isinstance(outputs, list) else outputs
    # Without a place of its own, progress is shown on each output: it would hide the fields.
    event = listen(handler, inputs, outputs, show_progress_on=place, **options)
    keep_reason(event, place)
    return event
