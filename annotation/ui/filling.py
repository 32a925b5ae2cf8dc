"""A part of a page that is filled from the database, now and whenever something has changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kpdemo.ui.widgets import QUIETLY


@dataclass(frozen=True)
class Filling:
    """How a part of a page is filled, for the page around it."""

    handler: Callable[..., Any]
    outputs: Any
    name: str
    """Of its events in the API, where they get no other; further ones of a name get a number from Gradio."""
    inputs: Sequence[Any] = ()

    def after(self, *events: Any, name: str = "") -> None:
        """Fill it whenever one of the events has succeeded."""
        for event in events:
            self.when(event.success, name=name)

    def when(self, listener: Callable[..., Any], *, name: str = "") -> None:
        """Fill it whenever the listener calls, such as `tab.select`."""
        listener(self.handler, list(self.inputs), self.outputs, api_name=name or self.name, **QUIETLY)
