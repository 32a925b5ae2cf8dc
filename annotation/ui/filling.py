"""A part of a page that is filled from the database, now and whenever something has changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from kpdemo.ui.widgets import QUIETLY


@dataclass(frozen=True)
class Filling:
    """How a part of a page is filled, for the page around it."""

    handler: Callable[..., Any]
    outputs: Any
    name: str
    """Of its events in the API; further ones get a number from Gradio."""
    inputs: Sequence[Any] = field(default=())

    def after(self, *events: Any) -> None:
        """Fill it whenever one of the events has succeeded."""
        for event in events:
            event.success(self.handler, list(self.inputs), self.outputs, api_name=self.name, **QUIETLY)

    def when(self, *listeners: Any, name: str = "") -> None:
        """Fill it at events such as the choice of a tab or the opening of the page."""
        for listener in listeners:
            listener(self.handler, list(self.inputs), self.outputs, api_name=name or self.name, **QUIETLY)
