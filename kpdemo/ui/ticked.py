"""Models to tick, each with its line, folded under the names of the ticked ones."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import gradio as gr

from kpdemo.errors import InputError
from kpdemo.ui.models import ModelShelf

NONE = "Models: none ticked"

# In the browser, so that ticking sends nothing. Gradio gives the ticked ones in the order of the clicks.
_NAME_THEM = """(ticked) => {
  const names = ORDER.filter((name) => ticked.includes(name));
  return { __type__: "update", label: names.length ? `Models: ${names.join(", ")}` : NONE };
}"""


# Gradio tells a tick of the reader (input) from one of a script (change), and keeps neither.
_REMEMBER = """() => { document.querySelector("#PREFIX-choose").dataset.ticked = ""; }"""
_FOLLOW = """(model, ticked) =>
  ["ticked" in document.querySelector("#PREFIX-choose").dataset ? ticked : [model]]"""


def ticked_models(shelf: ModelShelf, ticked: Sequence[str], prefix: str) -> gr.CheckboxGroup:
    """The field `prefix`-models, in the fold `prefix`-choose."""
    with gr.Accordion(fold_label(ticked), open=False, elem_id=f"{prefix}-choose") as fold:
        models = gr.CheckboxGroup(
            shelf.choices,
            value=list(ticked),
            label="Models",
            container=False,
            elem_id=f"{prefix}-models",
            elem_classes="models",
        )
    script = _NAME_THEM.replace("ORDER", json.dumps(list(shelf.models))).replace("NONE", json.dumps(NONE))
    models.change(None, models, fold, js=script, api_name=f"name_models_of_{prefix.replace('-', '_')}")
    return models


def follow_model(models: gr.CheckboxGroup, model: gr.Dropdown, prefix: str) -> None:
    """Tick the model of the page, and no other, until the reader ticks one."""
    remember, follow = (script.replace("PREFIX", prefix) for script in (_REMEMBER, _FOLLOW))
    models.input(None, js=remember, api_name=f"remember_ticks_of_{prefix}")
    model.change(None, [model, models], models, js=follow, api_name=f"follow_model_in_{prefix}")


def chosen_models(shelf: ModelShelf, ticked: Sequence[str]) -> list[str]:
    """The ticked ones in the order of the page.

    Raises:
        InputError: none is ticked.
    """
    chosen = [model for model in shelf.models if model in ticked]
    if not chosen:
        raise InputError("No model is ticked: tick at least one.")
    return chosen


def told_in(progress: gr.Progress, models: Sequence[str]) -> Iterator[str]:
    """The models one after the other, each announced to the waiting reader before its turn."""
    for done, model in enumerate(models):
        progress((done, len(models)), desc=model, unit="models" if len(models) > 1 else "model")
        yield model


def fold_label(ticked: Sequence[str]) -> str:
    return f"Models: {', '.join(ticked)}" if ticked else NONE
