"""The small print of every page: version, model and device, documentation, licence."""

from __future__ import annotations

from dataclasses import dataclass

import gradio as gr

from kpdemo import __version__
from kpdemo.ui.marks import escape
from kpdemo.ui.models import WARM_UP_PATIENCE, ModelShelf
from kpdemo.ui.results import device_name
from kpdemo.ui.widgets import QUIETLY

DOCUMENTATION = "documentation: README.md and docs/ in the folder of this program"
LICENCE = "licence Apache-2.0"


@dataclass(frozen=True)
class FooterHandlers:
    shelf: ModelShelf
    documentation: str = ""
    """Its public address, if it has one."""

    def show_model(self) -> str:
        """The footer, with the device of the default model once it has been loaded."""
        self.shelf.problem(patience=WARM_UP_PATIENCE)
        return footer_html(self.shelf, self.documentation)


def footer_html(shelf: ModelShelf, documentation: str = "") -> str:
    model = f"model {shelf.default}" + (f" on {device_name(shelf.device)}" if shelf.device else "")
    link = f'<a href="{escape(documentation)}">documentation</a>' if documentation else DOCUMENTATION
    facts = (escape(f"kpdemo {__version__}"), escape(model), link, LICENCE)
    return f'<p class="small">{" · ".join(facts)}</p>'


def build_footer(handlers: FooterHandlers, page: gr.Blocks) -> None:
    footer = gr.HTML(footer_html(handlers.shelf, handlers.documentation), elem_id="page-footer")
    page.load(handlers.show_model, outputs=footer, api_name="show_model", **QUIETLY)
