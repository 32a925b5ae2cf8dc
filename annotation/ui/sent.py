"""What the script of a page sends with an event."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import gradio as gr


def bridge(name: str, events: Sequence[str]) -> str:
    """The `js_on_load` of the line that answers the script of a page, which reaches Python only through it.

    The script asks by an event `name` of the document, whose detail has one of `events` as `what` beside the
    values, and is told by `name`-answer when there is an answer.
    """
    return f"""
// Gradio finds the names of events here, in quotes: {json.dumps(events)}
element.addEventListener("{name}", ({{ detail: {{ what, ...asked }} }}) => trigger(what, asked));
watch("value", () => document.dispatchEvent(new CustomEvent("{name}-answer")));
"""


class Sent:
    """The values by name, which may be anything."""

    def __init__(self, event: gr.EventData, longest: int | None = None) -> None:
        self._event = event
        self._longest = longest

    def value(self, name: str) -> Any:
        """What was sent by this name; None where there is nothing."""
        try:
            return getattr(self._event, name)
        except (AttributeError, TypeError):  # no such name, or no names at all: anybody may send anything
            return None

    def text(self, name: str) -> str:
        """A text, cut where it is longer than texts may be; empty where there is none."""
        value = self.value(name)
        return value[: self._longest] if isinstance(value, str) else ""
