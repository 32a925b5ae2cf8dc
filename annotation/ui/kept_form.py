"""A form whose fields outlive a reload: the browser's tab keeps what is typed until it is saved."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr
from gradio.events import Dependency

from kpdemo.ui.widgets import QUIETLY, note_html, unseen_box

IS_BACK = "What you typed but did not save is back in the form."


@dataclass(frozen=True)
class KeptForm:
    """Keeps the fields of a form; to be made where its note is to stand, above them.

    Gradio loads the page again when a request has not reached the server, and the fields with it.
    """

    name: str
    """Begins its element ids; no other form of the page has it."""
    row: gr.Row
    drop: gr.Button

    @property
    def sends(self) -> str:
        """The `js` of an event that saves what began and the fields, where they can be changed meanwhile."""
        return f"(...now) => kpdemoKept.send({self._named}, now)"

    @property
    def pauses(self) -> str:
        """The `js` of an event that fills the fields, maybe with what they began with; see `resume_after`."""
        return f"(...now) => {{ kpdemoKept.pause({self._named}); return now; }}"

    def resume_after(self, failed: Dependency) -> None:
        """Keep on what is typed when an event has not filled the fields."""
        script = f"() => {{ kpdemoKept.resume({self._named}); }}"
        failed.failure(None, js=script, api_name=f"resume_{self.name}", **QUIETLY)

    @property
    def _named(self) -> str:
        return json.dumps({"name": self.name})

    def keep(
        self,
        fields: Sequence[Any],
        began: gr.Textbox | gr.Dropdown | None = None,
        *,
        is_of_began: bool = False,
        around: Sequence[tuple[Any, dict[str, Any]]] = (),
        asked: Any = None,
        shown: Sequence[Dependency],
        saved: Sequence[Dependency],
    ) -> None:
        """Keep what is typed into the fields.

        Args:
            began: what the server reads with the fields, such as the version that they are of.
            is_of_began: whether what is kept belongs to that alone; else it brings that back too.
            around: what the form lies in, and how that has to change for the form to be seen.
            asked: that of the fields in which the address ticks a choice; it stays ticked.
            shown: the events that fill the fields.
            saved: those of the server taking them, which may fill them with others.
        """
        whole = [unseen_box(f"{self.name}-began") if began is None else began, *fields]
        changes = [change for _, change in around]
        place = None if asked is None else list(fields).index(asked)
        facts = {"name": self.name, "isOfBegan": is_of_began, "around": changes, "asked": place}
        form = json.dumps(facts)
        restored = [self.row, *whole, *(part for part, _ in around)]
        for deed, events in {"restore": shown, "settle": saved}.items():
            script = f"(...now) => kpdemoKept.{deed}({form}, now)"
            for number, event in enumerate(events, start=1):
                name = f"{deed}_{self.name}_{number}"
                event.success(None, whole, restored, js=script, api_name=name, **QUIETLY)
        keep = f"(...now) => {{ kpdemoKept.keep({form}, now); }}"
        changed = [field.change for field in fields]  # of a Textbox, `input` tells only of keys
        gr.on(changed, None, whole, js=keep, api_name=f"keep_{self.name}", **QUIETLY)
        drop = f"() => kpdemoKept.drop({form})"
        self.drop.click(None, outputs=[self.row, *whole], js=drop, api_name=f"drop_{self.name}", **QUIETLY)


@dataclass(frozen=True)
class Keeping:
    """What a form is to keep, for the page around it, which knows when the fields are filled."""

    form: KeptForm
    fields: Sequence[Any]
    saved: Sequence[Dependency]
    around: Sequence[tuple[Any, dict[str, Any]]] = ()
    began: gr.Textbox | None = None
    is_of_began: bool = False
    shown: Sequence[Dependency] = ()
    """Events of the form itself that fill the fields again."""

    def start(self, tabs: gr.Tabs, tab: str, *shown: Dependency) -> None:
        """Keep what is typed in that tab of the page, from the events on that fill the fields."""
        self.form.keep(
            self.fields,
            self.began,
            is_of_began=self.is_of_began,
            around=[(tabs, {"selected": tab}), *self.around],
            shown=[*shown, *self.shown],
            saved=self.saved,
        )


def build_kept_form(name: str) -> KeptForm:
    """The note that what was typed is back, unseen until it is."""
    with gr.Row(visible=False, elem_id=f"{name}-kept", elem_classes="kept-form") as row:
        gr.HTML(note_html(IS_BACK, role="status"), apply_default_css=False)
        drop = gr.Button("Drop it", size="sm", min_width=80, elem_id=f"{name}-drop")
    return KeptForm(name, row, drop)
