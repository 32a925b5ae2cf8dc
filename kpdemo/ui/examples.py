"""Texts to try: a button for each, and the way back to what was typed before."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import gradio as gr
from gradio.events import Dependency

from kpdemo.ui.theme import ASSETS

_SHOW = """(...typed) => {
  const page = (window.kpdemoTyped ??= { examples: new Set(), mine: null });
  if (typed.some((text) => text?.trim()) && !page.examples.has(JSON.stringify(typed))) page.mine = typed;
  const shown = SHOWN;
  page.examples.add(JSON.stringify(shown));
  return [...shown, { __type__: "update", visible: page.mine !== null }];
}"""
_BACK = """() => {
  const { mine } = window.kpdemoTyped;
  window.kpdemoTyped.mine = null;
  return [...mine, { __type__: "update", visible: false }];
}"""


@dataclass(frozen=True, slots=True)
class Example:
    """A text to try; `field` is the one word on its button."""

    field: str
    title: str
    text: str

    @property
    def script(self) -> str:
        """Fills the boxes in the browser, title and text at once; what was typed there can be restored."""
        return _SHOW.replace("SHOWN", json.dumps([self.title, self.text]))


def load_examples() -> list[Example]:
    rows = json.loads((ASSETS / "examples.json").read_text(encoding="utf-8"))
    return [Example(row["field"], row["title"], row["text"]) for row in rows]


def build_examples(examples: Sequence[Example], title: gr.Textbox, document: gr.Textbox) -> list[Dependency]:
    """The events that have filled the boxes: with an example, and last with what was typed before."""
    with gr.Row(elem_id="predict-examples"):
        gr.HTML('<p class="row-label">Examples</p>', elem_id="predict-examples-label")
        buttons = [
            gr.Button(example.field, size="sm", min_width=80, elem_id=f"predict-example-{number}")
            for number, example in enumerate(examples, start=1)
        ]
        back = gr.Button(
            "Your text back", size="sm", min_width=80, visible=False, elem_id="predict-text-back"
        )
    boxes = [title, document]
    shown = [
        button.click(None, boxes, [*boxes, back], js=example.script, api_name=f"show_example_{number}")
        for number, (example, button) in enumerate(zip(examples, buttons, strict=True), start=1)
    ]
    return [*shown, back.click(None, None, [*boxes, back], js=_BACK, api_name="show_typed_text")]
