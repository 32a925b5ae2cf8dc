"""A part of a page that is filled from the database, now and whenever something has changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr
from gradio.events import Dependency

from annotation.ui.kept_form import Keeping
from kpdemo.ui.widgets import QUIETLY


@dataclass(frozen=True)
class Filling:
    """How a part of a page is filled, for the page around it."""

    handler: Callable[..., Any]
    outputs: Any
    name: str
    """Of its events in the API, where they get no other; further ones of a name get a number from Gradio."""
    inputs: Sequence[Any] = ()
    keeping: Keeping | None = None
    """Its fields that a person types into, if the browser is to keep these."""

    def after(self, *events: Any, name: str = "") -> list[Dependency]:
        """Fill it whenever one of the events has succeeded."""
        return [self.when(event.success, name=name) for event in events]

    def keep_in(self, tabs: gr.Tabs, tab: str, *filled: Dependency) -> None:
        """Have the browser keep its fields, which are in that tab, once the events have filled them."""
        if self.keeping is not None:
            self.keeping.start(tabs, tab, *filled)

    def when(self, listener: Callable[..., Any], *, name: str = "") -> Dependency:
        """Fill it whenever the listener calls, such as `tab.select`."""
        filled: Dependency = listener(
            self.handler, list(self.inputs), self.outputs, api_name=name or self.name, **QUIETLY
        )
        return filled
