"""Choices from a list: each asks the server once, and the page shows the answer to the last one.

For what is asked because somebody chose. What follows the list, whoever sets it, listens to `change`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import gradio as gr
from gradio.events import Dependency

from kpdemo.ui.widgets import QUIETLY, unseen_box


def on_choice(
    dropdown: gr.Dropdown,
    handler: Callable[..., Any],
    outputs: Any,
    *,
    api_name: str,
    beside: Sequence[Any] = (),
    js: str = "(...now) => now",
    **options: Any,
) -> Dependency:
    """Ask the server when somebody has chosen something else; `Dropdown.input` would ask more than once.

    Args:
        handler: gets what was chosen, then the values of `beside`.
        js: what the handler's arguments pass through in the browser.
        options: of the question, as of any event.
    """
    name = json.dumps(dropdown.elem_id)
    asked = unseen_box(f"{dropdown.elem_id}-asked")
    look = f"(value) => {{ kpdemoChoice.look({name}, value); }}"
    dropdown.focus(None, dropdown, js=look, api_name=f"look_before_{api_name}", **QUIETLY)
    choose = f"(value) => kpdemoChoice.choose({name}, value)"
    dropdown.input(None, dropdown, asked, js=choose, api_name=f"start_{api_name}", **QUIETLY)
    question: Dependency = asked.change(
        handler,
        [dropdown, *beside],
        outputs,
        js=f"(...now) => ({js})(...kpdemoChoice.ask({name}, now))",
        api_name=api_name,
        trigger_mode="always_last",
        **options,
    )
    go_on = f"() => kpdemoChoice.goOn({name})"
    question.failure(None, None, asked, js=go_on, api_name=f"go_on_to_{api_name}", **QUIETLY)
    return question
