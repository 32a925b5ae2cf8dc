"""What the script of a page sends with an event."""

from __future__ import annotations

from typing import Any

import gradio as gr


class Sent:
    """The values by name, which may be anything."""

    def __init__(self, event: gr.EventData, longest: int | None = None) -> None:
        data = event._data
        self.data: dict[str, Any] = data if isinstance(data, dict) else {}
        self._longest = longest

    def text(self, name: str) -> str:
        """A text, cut where it is longer than texts may be; empty where there is none."""
        value = self.data.get(name)
        return value[: self._longest] if isinstance(value, str) else ""
