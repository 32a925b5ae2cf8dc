"""The page of a project's predictions: how far their grades are, and the figures of each model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import gradio as gr

from annotation.errors import AnnotationError, SettingsError
from annotation.predictions import ORDER_NAMES, QueueOrder
from annotation.relevance import (
    DEFAULT_RANKS,
    THRESHOLD,
    JudgedPool,
    JudgingOptions,
    ModelFigures,
    PoolCounts,
    Unjudged,
    check_options,
)
from annotation.services.accounts import AccountService
from annotation.services.predictions import JudgementService, SendService
from annotation.services.projects import ProjectService
from annotation.types import Role
from annotation.ui.figures import listing_html
from annotation.ui.widgets import (
    admit_member,
    decimal_field,
    decimal_of,
    require_member,
    whole_field,
    whole_of,
)
from annotation.ui.wording import figure, progress_html
from annotation.web.downloads import gold_keyphrases_address, qrels_address, run_address
from annotation.wording import share_text, whole_in
from kpdemo.ui.html import count_noun, escape, group_digits
from kpdemo.ui.widgets import QUIETLY, done_html, empty_html, keep_reason, section_heading

NO_PREDICTIONS_HTML = (
    '<p class="empty">No predictions yet. Predict a document on the page <a href="/">Keyphrases</a>, press '
    "Send to a project, and choose this one.</p>"
)
NO_GRADES = "No figures yet. They appear with the first gold grade."
UNKNOWN = "–"


def steps_html(
    pool: JudgedPool, counts: PoolCounts, options: JudgingOptions, project_id: int, raters: int
) -> str:
    """Documents, predictions, grades, gold and figures, each with its counts, and what to do next."""
    if not counts.documents:
        return NO_PREDICTIONS_HTML
    models = len(pool.models)
    grades = progress_html(
        counts.graded,
        counts.phrases,
        f"{group_digits(counts.graded)} of {count_noun(counts.phrases, 'pair')}",
    )
    waiting = f"{group_digits(counts.undecided)} to adjudicate" if counts.undecided else "with a gold grade"
    known = f"{count_noun(counts.documents_graded, 'document')} measured"
    steps = (
        ("Documents", group_digits(counts.documents), "sent to this project"),
        (
            "Predictions",
            group_digits(counts.predictions),
            f"of {count_noun(models, 'model')}, together {count_noun(counts.phrases, 'keyphrase')}",
        ),
        ("Grades", grades, waiting),
        (
            "Gold keyphrases",
            group_digits(counts.gold),
            f"with {options.threshold} or more, of {count_noun(counts.documents_with_gold, 'document')}",
        ),
        ("Figures", count_noun(models, "model") if counts.graded else UNKNOWN, known),
    )
    items = "".join(
        f'<li><h3>{name}</h3><p class="predictions-count">{value}</p><p class="small">{escape(note)}</p></li>'
        for name, value, note in steps
    )
    return f'<ol class="predictions-steps">{items}</ol>{_next_step_html(counts, project_id, raters)}'


def _next_step_html(counts: PoolCounts, project_id: int, raters: int) -> str:
    there = f"project={project_id}"
    open_pairs = counts.phrases - counts.graded - counts.undecided
    if open_pairs:
        text = f"{count_noun(open_pairs, 'pair')} {'waits' if open_pairs == 1 else 'wait'} for grades"
        text += f" of {count_noun(raters, 'rater')}: " if raters else ": "
        link = f'<a href="/annotate/project?{there}&amp;tab=members">invite raters</a>'
        if raters:
            link = f'<a href="/annotate/project?{there}">see how far they are</a>'
    elif counts.undecided:
        text = f"{count_noun(counts.undecided, 'pair')} {'waits' if counts.undecided == 1 else 'wait'}: "
        link = f'<a href="/annotate/adjudicate?{there}">adjudicate</a>'
    else:
        text, link = "All pairs have a gold grade: ", '<a href="#predictions-files">download the files</a>'
    return f'<p id="predictions-next"><strong>Next</strong> · {text}{link}</p>'


def figures_html(figures: Mapping[str, ModelFigures], options: JudgingOptions) -> str:
    """A row for each model, the best nDCG first."""
    if not any(found.documents for found in figures.values()):
        return empty_html(NO_GRADES)
    k = options.k
    heads = ("Model", "Documents", f"nDCG@{k}", f"P@{k}", "F1@5", "F1@M", "present", "absent", f"Judged@{k}")
    ranked = sorted(figures.items(), key=lambda item: (-(item[1].ndcg.skip_empty or 0.0), item[0]))
    rows = "".join(_row_html(model, found) for model, found in ranked)
    counted_how = (
        "count as not relevant" if options.unjudged is Unjudged.ZERO else "are skipped in every ranking"
    )
    table = listing_html(
        heads,
        rows,
        numbers=range(1, len(heads)),
        caption="Figures of each model, means over its documents with a relevant keyphrase; nDCG over those "
        "with a grade above 0",
        label="Figures of each model",
        elem_id="predictions-table",
    )
    return (
        f'{table}<p class="small">Gain: the grade. Relevant: graded {options.threshold} or more. Present and '
        "absent: F1@M of each. Recall is of the relevant keyphrases that any model predicted. Keyphrases "
        f"without a gold grade {counted_how}; "
        f"Judged@{k} is the share of the first {k} that have one.</p>"
    )


def _row_html(model: str, found: ModelFigures) -> str:
    averages = (found.ndcg, found.precision, found.all.f1_5, found.all.f1_m)
    values = [one.skip_empty for one in (*averages, found.present.f1_m, found.absent.f1_m)]
    cells = [UNKNOWN if value is None else figure(value) for value in values]
    share = UNKNOWN if found.judged_at_k is None else share_text(found.judged_at_k)
    numbers = "".join(
        f'<td class="number">{cell}</td>' for cell in (group_digits(found.documents), *cells, share)
    )
    return f'<tr><th scope="row" dir="auto">{escape(model)}</th>{numbers}</tr>'


def files_html(pool: JudgedPool, project_id: int, threshold: Decimal) -> str:
    """The links of the downloads."""
    if not pool.documents:
        return empty_html("No files yet. They appear with the first predictions.")
    gold = escape(gold_keyphrases_address(project_id, threshold))
    runs = "".join(
        f'<li><a href="{escape(run_address(project_id, model))}" download>'
        f"Run of <bdi>{escape(model)}</bdi></a></li>"
        for model in pool.models
    )
    return (
        f'<ul class="predictions-files"><li><a id="predictions-gold" href="{gold}" download>'
        f"Gold keyphrases</a>, graded {threshold} or more, as <code>python -m kpdemo evaluate</code> "
        "reads them</li>"
        f'<li><a id="predictions-qrels" href="{escape(qrels_address(project_id))}" download>Grades as TREC '
        f"qrels</a>, in quarters: 0 to 16</li>{runs}</ul>"
        '<p class="small">Do not give these files to raters: they show which model predicted what.</p>'
    )


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
            project_id, _ = require_member(request, self.accounts, Role.ADMINISTRATOR)
            steps, figures, files, order = self._show(project_id, JudgingOptions())
            told = self._just_sent(request, project_id)
        except AnnotationError as error:
            return empty_html(str(error)), gr.Column(visible=False), "", "", "", gr.skip()
        return told, gr.Column(visible=True), steps, figures, files, order

    def count(self, threshold: object, k: object, skip: bool, request: gr.Request) -> tuple[str, str, str]:
        """The figures again, with other options."""
        with admit_member(request, self.accounts, Role.ADMINISTRATOR) as (project_id, _):
            unjudged = Unjudged.SKIP if skip else Unjudged.ZERO
            options = check_options(
                decimal_of(threshold, "lowest grade of a keyphrase"),
                whole_of(k, "number of ranks"),
                unjudged,
            )
            return self._show(project_id, options)[:3]

    def choose_order(self, order: str, request: gr.Request) -> str:
        """In which order raters meet the pairs."""
        with admit_member(request, self.accounts, Role.ADMINISTRATOR) as (project_id, user):
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
        now = f"{group_digits(counts.open)} of {count_noun(counts.pairs, 'pair')}"
        return done_html(f"{count_noun(sent, 'new pair')} sent. Open now: {now}.")

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
    return threshold, whole_field(DEFAULT_RANKS, label="Ranks that count (k)", elem_id="predictions-k")
