"""The adjudication page: decide on pairs whose raters differ, without knowing who gave which grade.

Python writes the queue and the form; the script fills in what is chosen, keeps drafts in the browser, and
sends three events through the line that tells what became of the last one.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

import gradio as gr

from annotation.adjudication import AdjudicationError, ConflictError, Which, grade_text
from annotation.characters import shown
from annotation.errors import AnnotationError
from annotation.numbers import whole_in
from annotation.services.access.accounts import AccountService
from annotation.services.adjudication import PAGE_SIZE, AdjudicationService, Neighbours
from annotation.services.gold import GoldService
from annotation.services.projects import ProjectService
from annotation.types import Cause, Project, Role, User
from annotation.ui.adjudicate_html import answer_html, item_html, nothing_html
from annotation.ui.adjudicate_queue_html import MOST_SHOWN, View, queue_html
from annotation.ui.asking import TOLD, Told, asked_by, reason_of
from annotation.ui.sent import Sent, bridge
from kpdemo.ui.widgets import QUIETLY, empty_html

Shown = tuple[Any, Any, str]
"""The queue, the pair, and the answer."""


@dataclass(frozen=True)
class AdjudicateHandlers:
    accounts: AccountService
    projects: ProjectService
    adjudication: AdjudicationService
    gold: GoldService

    def open(self, request: gr.Request) -> Shown:
        """The queue, and the pair that the address names or the first."""
        try:
            user, project = self._admitted(request)
        except AnnotationError as error:
            return "", empty_html(str(error)), answer_html("")
        asked = str(request.query_params.get("pair", ""))
        try:
            pair_id = _number(asked) if asked else self._first(user, project, View())
            return self._shown(user, project, View(), pair_id, answer_html(""))
        except AnnotationError as error:
            first = self._first(user, project, View())
            return self._shown(user, project, View(), first, answer_html(str(error), "problem"))

    def show(self, event: gr.EventData, request: gr.Request) -> Shown:
        """Another pair or another part of the queue, or only the queue as it is now."""
        try:
            user, project = self._admitted(request)
            asked = _Asked(event)
            view = asked.view()
            pair_id = asked.pair_or_none() or self._first(user, project, view)
            queue, item, said = self._shown(user, project, view, pair_id, answer_html(""))
            return queue, gr.skip() if asked.keeps_pair() else item, said
        except TOLD as error:
            return _problem(error)

    def save(self, event: gr.EventData, request: gr.Request) -> Shown:
        """Keep a decision, and show the next pair; after a conflict the same pair as it is now."""
        try:
            user, project = self._admitted(request)
            asked = _Asked(event)
            view, pair_id = asked.view(), asked.pair()
            grade, cause = asked.grade(), asked.cause()
            try:
                item = self.adjudication.decide(
                    project.id, pair_id, user.id, grade, cause, asked.text("note"), expected=asked.version()
                )
            except ConflictError as error:
                return self._shown(user, project, view, pair_id, answer_html(str(error), "problem"))
            after = self._around(user, project, view, pair_id).next
            if after is None and view.which is Which.OPEN:
                after = self._first(user, project, view)
            elif after is None:
                after = pair_id
            said = answer_html(f"Saved {item.external_id}: {grade_text(grade)}.", "saved", saved=asked.sent())
            return self._shown(user, project, view, after, said)
        except TOLD as error:
            return _problem(error)

    def withdraw(self, event: gr.EventData, request: gr.Request) -> Shown:
        """Take a decision back; the pair stays where it is."""
        try:
            user, project = self._admitted(request)
            asked = _Asked(event)
            view, pair_id = asked.view(), asked.pair()
            try:
                self.adjudication.withdraw(project.id, pair_id, user.id, expected=asked.version())
            except ConflictError as error:
                return self._shown(user, project, view, pair_id, answer_html(str(error), "problem"))
            said = answer_html("Withdrawn: the pair is open again.", "saved", saved=asked.sent())
            return self._shown(user, project, view, pair_id, said)
        except TOLD as error:
            return _problem(error)

    def _admitted(self, request: gr.Request) -> tuple[User, Project]:
        project_id, user = asked_by(request, self.accounts, Role.ADJUDICATOR, Role.ADMINISTRATOR)
        return user, self.projects.get(project_id)

    def _shown(self, user: User, project: Project, view: View, pair_id: int | None, said: str) -> Shown:
        page = self.adjudication.queue(project.id, view.which, view.type, limit=view.shown, viewer=user.id)
        queue = queue_html(page, view, pair_id)
        if pair_id is None:
            counts = self.gold.counts(project.id)
            return queue, nothing_html(counts, view, project.settings.threshold, page.held_back), said
        item = self.adjudication.item(project.id, pair_id, viewer=user.id)
        around = self._around(user, project, view, pair_id)
        return queue, item_html(item, project, user, around), said

    def _first(self, user: User, project: Project, view: View) -> int | None:
        return self.adjudication.first(project.id, view.which, view.type, viewer=user.id)

    def _around(self, user: User, project: Project, view: View, pair_id: int) -> Neighbours:
        return self.adjudication.neighbours(project.id, pair_id, view.which, view.type, viewer=user.id)


def build_adjudicate_page(handlers: AdjudicateHandlers, page: gr.Blocks) -> None:
    """The queue on the left, the pair in the middle; both come when the page is opened."""
    with gr.Row(elem_id="adjudicate-page", elem_classes="columns"):
        with gr.Column(scale=1, min_width=260, elem_id="adjudicate-side"):
            queue = gr.HTML("", elem_id="adjudicate-queue", apply_default_css=False, js_on_load=None)
        with gr.Column(scale=3, min_width=320):
            said = gr.HTML(
                answer_html(""),
                elem_id="adjudicate-answer",
                apply_default_css=False,
                js_on_load=bridge("adjudicate", ("show", "save", "withdraw")),
            )
            item = gr.HTML(
                empty_html("Opening the queue."),
                elem_id="adjudicate-item",
                apply_default_css=False,
                js_on_load=None,
            )
    outputs = [queue, item, said]
    page.load(handlers.open, outputs=outputs, api_name="open_adjudication", **QUIETLY)
    for name, event, handler in (
        ("show_pair", said.show, handlers.show),
        ("decide", said.save, handlers.save),
        ("withdraw_decision", said.withdraw, handlers.withdraw),
    ):
        event(handler, outputs=outputs, api_name=name, **QUIETLY, trigger_mode="multiple")


class _Asked(Sent):
    """What the script sent: a pair, what to show, and a decision."""

    def sent(self) -> str:
        """The number of the decision, by which the script knows its draft again."""
        return self.text("sent")

    def version(self) -> str:
        return self.text("version")

    def pair(self) -> int:
        return _number(self.text("pair"))

    def pair_or_none(self) -> int | None:
        return self.pair() if self.text("pair") else None

    def keeps_pair(self) -> bool:
        """Whether the pair stays on the page as it is, as somebody may be deciding on it."""
        return self.text("keeps") != ""

    def view(self) -> View:
        which, shown = self.text("which"), self.text("shown")
        return View(
            Which(which) if which in set(Which) else Which.OPEN,
            self.text("type") or None,
            min(_number(shown), MOST_SHOWN) if shown else PAGE_SIZE,
        )

    def grade(self) -> Decimal:
        try:
            return Decimal(self.text("grade"))
        except InvalidOperation:
            raise AdjudicationError("No grade is chosen: choose one, or a dot on the line.") from None

    def cause(self) -> Cause:
        cause = self.text("cause")
        if cause not in set(Cause):
            raise AdjudicationError("No cause is chosen: choose why the raters differ.")
        return Cause(cause)


def _number(text: str) -> int:
    number = whole_in(text)
    if number is None:
        raise AdjudicationError(f"{shown(text)} is not a pair: choose one from the queue.")
    return number


def _problem(error: Told) -> Shown:
    """Only the answer changes: what was chosen and typed stays."""
    return gr.skip(), gr.skip(), answer_html(reason_of(error), "problem")
