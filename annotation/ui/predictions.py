"""The page of a project's predictions: how far their grades are, and the figures of each model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from annotation.errors import AnnotationError, SettingsError
from annotation.numbers import whole_in
from annotation.predictions.judgements import CUT, THRESHOLD, JudgingOptions, check_options
from annotation.predictions.queue_order import ORDER_NAMES, QueueOrder
from annotation.predictions.relevance import Unjudged
from annotation.services.access.accounts import AccountService
from annotation.services.judgements import JudgementService
from annotation.services.projects import ProjectService
from annotation.services.sending import SendService
from annotation.types import Role
from annotation.ui.asking import admitted, asked_by
from annotation.ui.number_fields import decimal_field, decimal_of, whole_field, whole_of
from annotation.ui.predictions_html import figures_html, files_html, steps_html
from annotation.ui.wording import counted, grouped
from kpdemo.ui.widgets import QUIETLY, done_html, empty_html, keep_reason, section_heading

ORDERS = [(name, order.value) for order, name in ORDER_NAMES.items()]
FORGET_SENT = """() => {
  const address = new URL(location.href);
  address.searchParams.delete("sent");
  history.replaceState(history.state, "", address);
}"""
"""What was sent is said once, not with every reload or to others who are given the address."""
ORDER_SAVED = "Saved. Pairs are given to raters in this order from now on."


@dataclass(frozen=True)
class PredictionsHandlers:
    accounts: AccountService
    projects: ProjectService
    judgements: JudgementService
    sending: SendService

    def open(self, request: gr.Request) -> tuple[Any, ...]:
        """The whole page, or a sentence for users who may not see it."""
        try:
            project_id, _ = asked_by(request, self.accounts, Role.ADMINISTRATOR)
            steps, figures, files, order = self._show(project_id, JudgingOptions())
            told = self._just_sent(request, project_id)
        except AnnotationError as error:
            return empty_html(str(error)), gr.Column(visible=False), "", "", "", gr.skip()
        return told, gr.Column(visible=True), steps, figures, files, order

    def count(self, threshold: object, k: object, skip: bool, request: gr.Request) -> tuple[str, str, str]:
        """The figures again, with other options."""
        with admitted(request, self.accounts, Role.ADMINISTRATOR) as (project_id, _):
            unjudged = Unjudged.SKIP if skip else Unjudged.ZERO
            options = check_options(
                decimal_of(threshold, "lowest grade of a keyphrase"),
                whole_of(k, "number of ranks"),
                unjudged,
            )
            return self._show(project_id, options)[:3]

    def choose_order(self, order: str, request: gr.Request) -> str:
        """In which order raters meet the pairs."""
        with admitted(request, self.accounts, Role.ADMINISTRATOR) as (project_id, user):
            if order not in set(QueueOrder):
                raise SettingsError(f"There is no order {order!r}: choose one from the list.")
            self.sending.choose_order(project_id, QueueOrder(order), by=user)
        return done_html(ORDER_SAVED)

    def _just_sent(self, request: gr.Request, project_id: int) -> str:
        """What the page of sending has done, on which it leads here, and what is open since."""
        sent = whole_in(str(request.query_params.get("sent", "")))
        if sent is None:
            return ""
        counts = self.projects.counts(project_id)
        now = f"{grouped(counts.open)} of {counted(counts.pairs, 'pair')}"
        return done_html(f"{counted(sent, 'new pair')} sent. Open now: {now}.")

    def _show(self, project_id: int, options: JudgingOptions) -> tuple[str, str, str, str]:
        pool = self.judgements.pool(project_id)
        counts = pool.counts(options.threshold)
        raters = sum(Role.RATER in member.roles for member in self.projects.members(project_id))
        return (
            steps_html(pool, counts, options, project_id, raters),
            figures_html(pool.figures(options), options),
            files_html(pool, project_id, options.threshold),
            pool.order.value,
        )


def build_predictions_page(handlers: PredictionsHandlers, page: gr.Blocks) -> None:
    told = gr.HTML(empty_html("Opening the predictions."), elem_id="predictions-told", js_on_load=None)
    with gr.Column(visible=False, elem_id="predictions-page") as body:
        section_heading("From predictions to gold and back", "predictions-steps")
        steps = gr.HTML("", elem_id="predictions-steps-part", js_on_load=None)
        section_heading("How good is each model?", "predictions-figures")
        with gr.Row(elem_classes="form-row"):
            threshold, k = option_fields()
            run = gr.Button("Count", elem_id="predictions-count", scale=0, min_width=120)
        skip = gr.Checkbox(False, label="Skip keyphrases without a grade", elem_id="predictions-skip")
        figures = gr.HTML("", elem_id="predictions-figures-part", js_on_load=None)
        with gr.Row(elem_classes="columns"):
            with gr.Column(scale=6, min_width=320):
                section_heading("Files", "predictions-files")
                files = gr.HTML("", elem_id="predictions-files-part", js_on_load=None)
            with gr.Column(scale=5, min_width=320):
                section_heading("Order of rating", "predictions-order-heading")
                order = gr.Radio(
                    ORDERS,
                    value=QueueOrder.PROJECT.value,
                    label="Order in which raters see the predicted keyphrases",
                    info="Uncertain pairs are those on which the models' scores say least. "
                    "Raters never see the scores",
                    elem_id="predictions-order",
                )
                saved = gr.HTML("", elem_id="predictions-order-saved")
    outputs = [steps, figures, files]
    opened = page.load(
        handlers.open, outputs=[told, body, *outputs, order], api_name="open_predictions", **QUIETLY
    )
    keep_reason(opened, told)
    opened.then(None, js=FORGET_SENT, api_name="forget_sent")
    run.click(
        handlers.count, [threshold, k, skip], outputs, api_name="count_predictions", show_progress="minimal"
    )
    order.input(
        handlers.choose_order,
        order,
        saved,
        api_name="choose_order",
        trigger_mode="always_last",
        show_progress="hidden",
    )


def option_fields() -> tuple[gr.Textbox, gr.Number]:
    threshold = decimal_field(THRESHOLD, label="Lowest grade of a keyphrase", elem_id="predictions-threshold")
    return threshold, whole_field(CUT, label="Ranks that count (k)", elem_id="predictions-k")
