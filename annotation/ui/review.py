"""The page for editors: what was written is reviewed, counted, and the larger items are imported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from annotation.errors import AnnotationError, NotFoundError, WritingError
from annotation.numbers import whole_in
from annotation.services.access.accounts import AccountService
from annotation.services.bundle import UnreachableError
from annotation.services.writing.editing import EDITORS, EditingService
from annotation.services.writing.waiting_texts import Submitted
from annotation.types import User
from annotation.ui.answer import answer_place, answered
from annotation.ui.asking import admitted, asked_by
from annotation.ui.choice import on_choice
from annotation.ui.items import ItemsHandlers, build_items_section
from annotation.ui.kept_form import build_kept_form
from annotation.ui.review_html import BUSY, NOTHING, queue_label, text_html
from annotation.ui.writing_report import REPORT_TAB, ReportHandlers, build_report_section
from kpdemo.ui.widgets import (
    QUIETLY,
    done_html,
    empty_html,
    escape,
    keep_reason,
    note_html,
    shown_to_user,
    unseen_box,
)

TABS = ("review", REPORT_TAB, "items")


@dataclass(frozen=True)
class ReviewHandlers:
    accounts: AccountService
    editing: EditingService

    def open(self, request: gr.Request) -> tuple[Any, ...]:
        """The tab that the address names, with the first text that waits; for others than editors nothing."""
        try:
            project_id, user = asked_by(request, self.accounts, *EDITORS)
        except AnnotationError as error:  # `explain` shows it on the page, where it stays
            raise gr.Error(escape(str(error)), visible=False, print_exception=False) from error
        asked = request.query_params.get("tab", "")
        tabs = gr.Tabs(visible=True, selected=asked if asked in TABS else TABS[0])
        with shown_to_user(AnnotationError):
            return "", tabs, *self._shown(project_id, user)

    def explain(self, request: gr.Request) -> str:
        """Why the page stays closed."""
        try:
            asked_by(request, self.accounts, *EDITORS)
        except AnnotationError as error:
            return empty_html(str(error))
        return ""

    def show(self, request: gr.Request, chosen: int | None) -> tuple[Any, ...]:
        """Another text of the queue."""
        with admitted(request, self.accounts, *EDITORS) as (project_id, user):
            return self._shown(project_id, user, chosen)

    def accept(self, request: gr.Request, text: str, token: str) -> tuple[Any, ...]:
        """Make a pair of the text as it stands in the field."""
        with admitted(request, self.accounts, *EDITORS) as (project_id, user):
            writing_id, version = _read_token(token)
            self.editing.accept(project_id, writing_id, user.id, version=version, text=text)
            said = done_html("Accepted: it is now a pair to be graded.")
            return said, *self._shown(project_id, user)

    def send_back(self, request: gr.Request, note: str, token: str) -> tuple[Any, ...]:
        """Have its writer rewrite it."""
        with admitted(request, self.accounts, *EDITORS) as (project_id, user):
            writing_id, version = _read_token(token)
            self.editing.send_back(project_id, writing_id, user.id, note, version=version)
            return done_html("Sent back with your note."), *self._shown(project_id, user)

    def hand_on(self, request: gr.Request, note: str, token: str) -> tuple[Any, ...]:
        """Have another writer write for the item."""
        with admitted(request, self.accounts, *EDITORS) as (project_id, user):
            writing_id, version = _read_token(token)
            self.editing.hand_on(project_id, writing_id, user.id, note, version=version)
            return done_html("The item goes to another writer."), *self._shown(project_id, user)

    def _shown(self, project_id: int, user: User, chosen: int | None = None) -> tuple[Any, ...]:
        """Queue, item, text, note, token and the row of buttons."""
        queue, text = self._read(project_id, user, chosen)
        choices = [(queue_label(place, each), each.id) for place, each in enumerate(queue, start=1)]
        dropdown = gr.Dropdown(choices=choices, value=None if text is None else text.id, visible=bool(queue))
        if text is None:
            hidden = gr.Textbox(value="", visible=False)
            why = note_html(BUSY) if queue else empty_html(NOTHING)
            return dropdown, why, hidden, hidden, "", gr.Row(visible=False)
        return (
            dropdown,
            text_html(text),
            gr.Textbox(value=text.text, visible=True),
            gr.Textbox(value="", visible=True),
            f"{text.id}:{text.version}",
            gr.Row(visible=True),
        )

    def _read(
        self, project_id: int, user: User, chosen: int | None
    ) -> tuple[tuple[Submitted, ...], Submitted | None]:
        """The queue with the chosen or first text of it; None when it is empty or none can be shown."""
        while queue := self.editing.queue(project_id, user.id):
            current = chosen if chosen in [each.id for each in queue] else queue[0].id
            try:
                return queue, self.editing.text(project_id, current, user.id)
            except NotFoundError:  # another editor took it meanwhile, and others are next
                continue
            except UnreachableError:  # who sees a text is written down, and an import may be writing
                return queue, None
        return (), None


def build_review_page(
    handlers: ReviewHandlers, report: ReportHandlers, items: ItemsHandlers, page: gr.Blocks
) -> None:
    closed = gr.HTML(empty_html("Opening the texts."), elem_id="review-closed")
    with gr.Tabs(visible=False, elem_id="review-tabs", overflow_behavior="wrap") as tabs:
        with gr.Tab("Review", id="review"):
            queue = gr.Dropdown([], label="Texts awaiting review", elem_id="review-queue")
            said = answer_place("review-said")
            item = gr.HTML("", elem_id="review-item", apply_default_css=False, js_on_load=None)
            kept = build_kept_form("review")
            text = gr.Textbox(
                label="The text; edit it if you like", lines=3, max_lines=12, elem_id="review-text"
            )
            note = gr.Textbox(
                label="Note to the writer, for sending back", lines=1, max_lines=6, elem_id="review-note"
            )
            token = unseen_box("review-token")
            with gr.Row(elem_classes="form-row") as buttons:
                accept = gr.Button("Accept", variant="primary", elem_id="review-accept", min_width=120)
                send_back = gr.Button("Send back", elem_id="review-send-back", min_width=120)
                hand_on = gr.Button("Give to another writer", elem_id="review-hand-on", min_width=160)
        with gr.Tab("Report", id=REPORT_TAB) as report_tab:
            opening_report, filling_report = build_report_section(report)
        with gr.Tab("Larger items", id="items") as items_tab:
            items_bounds, filling_items = build_items_section(items)
    shown = [queue, item, text, note, token, buttons]
    opened = page.load(
        handlers.open, outputs=[closed, tabs, *shown], api_name="open_review", show_progress="hidden"
    )
    explained = opened.failure(handlers.explain, outputs=closed, api_name="explain_review", **QUIETLY)
    keep_reason(explained, closed)
    chosen = on_choice(
        queue, handlers.show, shown, js=kept.pauses, api_name="show_text", show_progress="hidden"
    )
    kept.resume_after(chosen)
    settled = [
        answered(accept.click, handlers.accept, [text, token], [said, *shown], api_name="accept_text"),
        answered(
            send_back.click, handlers.send_back, [note, token], [said, *shown], api_name="send_text_back"
        ),
        answered(hand_on.click, handlers.hand_on, [note, token], [said, *shown], api_name="hand_item_on"),
    ]
    kept.keep([text, note], token, is_of_began=True, shown=[opened, chosen], saved=settled)
    opening_report.after(opened)
    filling_report.when(report_tab.select)
    for filling in (filling_items, items_bounds):
        filling.keep_in(tabs, "items", *filling.after(opened))
    filling_items.when(items_tab.select, name="show_items_again")


def _read_token(token: str | None) -> tuple[int, int]:
    first, _, second = (token or "").partition(":")
    writing, version = whole_in(first), whole_in(second)
    if writing is None or version is None:
        raise WritingError("No text is chosen: choose one that awaits review.")
    return writing, version
