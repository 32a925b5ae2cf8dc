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
from annotation.translation import _, mark, ngettext
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
from annotation.ui.wording import figure, pairs_text, progress_html
from annotation.web.downloads import gold_keyphrases_address, qrels_address, run_address
from annotation.wording import share_text, whole_in
from kpdemo.ui.html import escape, group_digits
from kpdemo.ui.widgets import QUIETLY, done_html, empty_html, keep_reason, section_heading

NO_GRADES = mark("No figures yet. They appear with the first gold grade.")
UNKNOWN = "–"


def no_predictions_html() -> str:
    """Where predictions come from."""
    said = _(
        "No predictions yet. Predict a document on the page {link}, press Send to a project, and choose this "
        "one.",
        link=f'<a href="/">{_("Keyphrases")}</a>',
    )
    return f'<p class="empty">{said}</p>'


def models_text(number: int) -> str:
    """1 model, 2 models."""
    return ngettext("{count} model", "{count} models", number, count=group_digits(number))


def keyphrases_text(number: int) -> str:
    """1 keyphrase, 2 keyphrases."""
    return ngettext("{count} keyphrase", "{count} keyphrases", number, count=group_digits(number))


def raters_text(number: int) -> str:
    """1 rater, 2 raters."""
    return ngettext("{count} rater", "{count} raters", number, count=group_digits(number))


def steps_html(
    pool: JudgedPool,
    counts: PoolCounts,
    options: JudgingOptions,
    project_id: int,
    raters: int,
    *,
    is_short: bool = False,
) -> str:
    """Documents, predictions, grades, gold and figures, each with its counts, and what to do next.

    Args:
        is_short: whether a pair takes more raters than the project has.
    """
    if not counts.documents:
        return no_predictions_html()
    models = models_text(len(pool.models))
    graded = _("{done} of {pairs}", done=group_digits(counts.graded), pairs=pairs_text(counts.phrases))
    steps = (
        (_("Documents"), group_digits(counts.documents), _("sent to this project")),
        (
            _("Predictions"),
            group_digits(counts.predictions),
            _(
                "of {models}, together {keyphrases}",
                models=models,
                keyphrases=keyphrases_text(counts.phrases),
            ),
        ),
        (
            _("Grades"),
            progress_html(counts.graded, counts.phrases, graded),
            _("{count} to adjudicate", count=group_digits(counts.undecided))
            if counts.undecided
            else _("with a gold grade"),
        ),
        (
            _("Gold keyphrases"),
            group_digits(counts.gold),
            ngettext(
                "with {threshold} or more, of {count} document",
                "with {threshold} or more, of {count} documents",
                counts.documents_with_gold,
                count=group_digits(counts.documents_with_gold),
                threshold=options.threshold,
            ),
        ),
        (
            _("Figures"),
            models if counts.graded else UNKNOWN,
            ngettext(
                "{count} document measured",
                "{count} documents measured",
                counts.documents_graded,
                count=group_digits(counts.documents_graded),
            ),
        ),
    )
    items = "".join(
        f'<li><h3>{name}</h3><p class="predictions-count">{value}</p><p class="small">{escape(note)}</p></li>'
        for name, value, note in steps
    )
    return (
        f'<ol class="predictions-steps">{items}</ol>{_next_step_html(counts, project_id, raters, is_short)}'
    )


def _next_step_html(counts: PoolCounts, project_id: int, raters: int, is_short: bool) -> str:
    there = f"project={project_id}"
    invite = f'<a href="/annotate/project?{there}&amp;tab=members">{_("invite raters")}</a>'
    open_pairs = counts.phrases - counts.graded - counts.undecided
    if open_pairs and raters:
        text = ngettext(
            "{count} pair waits for grades of {raters}: {link}",
            "{count} pairs wait for grades of {raters}: {link}",
            open_pairs,
            count=group_digits(open_pairs),
            raters=raters_text(raters),
            link=invite
            if is_short
            else f'<a href="/annotate/project?{there}">{_("see how far they are")}</a>',
        )
    elif open_pairs:
        text = ngettext(
            "{count} pair waits for grades: {link}",
            "{count} pairs wait for grades: {link}",
            open_pairs,
            count=group_digits(open_pairs),
            link=invite,
        )
    elif counts.undecided:
        text = ngettext(
            "{count} pair waits: {link}",
            "{count} pairs wait: {link}",
            counts.undecided,
            count=group_digits(counts.undecided),
            link=f'<a href="/annotate/adjudicate?{there}">{_("adjudicate")}</a>',
        )
    else:
        link = f'<a href="#predictions-files">{_("download the files")}</a>'
        text = _("All pairs have a gold grade: {link}", link=link)
    return f'<p id="predictions-next"><strong>{_("Next")}</strong> · {text}</p>'


def figures_html(figures: Mapping[str, ModelFigures], options: JudgingOptions) -> str:
    """A row for each model, the best nDCG first."""
    if not any(found.documents for found in figures.values()):
        return empty_html(_(NO_GRADES))
    k = options.k
    judged = _("Judged@{k}", k=k)
    kinds = (_("present"), _("absent"))
    heads = (_("Model"), _("Documents"), f"nDCG@{k}", f"P@{k}", "F1@5", "F1@M", *kinds, judged)
    ranked = sorted(figures.items(), key=lambda item: (-(item[1].ndcg.skip_empty or 0.0), item[0]))
    rows = "".join(_row_html(model, found) for model, found in ranked)
    said = (
        _(
            "Gain: the grade. Relevant: graded {threshold} or more. Present and absent: F1@M of each. Recall "
            "is of the relevant keyphrases that any model predicted.",
            threshold=options.threshold,
        ),
        _("Keyphrases without a gold grade count as not relevant.")
        if options.unjudged is Unjudged.ZERO
        else _("Keyphrases without a gold grade are skipped in every ranking."),
        _("Judged@{k} is the share of the first {k} that have one.", k=k),
    )
    table = listing_html(
        heads,
        rows,
        numbers=range(1, len(heads)),
        caption=_(
            "Figures of each model, means over its documents with a relevant keyphrase; nDCG over those with "
            "a grade above 0"
        ),
        label=_("Figures of each model"),
        elem_id="predictions-table",
    )
    return f'{table}<p class="small">{" ".join(said)}</p>'


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
        return empty_html(_("No files yet. They appear with the first predictions."))
    gold = _(
        "{link}, graded {threshold} or more, as {command} reads them",
        link=f'<a id="predictions-gold" href="{escape(gold_keyphrases_address(project_id, threshold))}" '
        f"download>{_('Gold keyphrases')}</a>",
        threshold=threshold,
        command="<code>python -m kpdemo evaluate</code>",
    )
    qrels = _(
        "{link}, in quarters: 0 to 16",
        link=f'<a id="predictions-qrels" href="{escape(qrels_address(project_id))}" '
        f"download>{_('Grades as TREC qrels')}</a>",
    )
    runs = "".join(
        f'<li><a href="{escape(run_address(project_id, model))}" download>'
        f"{_('Run of {model}', model=f'<bdi>{escape(model)}</bdi>')}</a></li>"
        for model in pool.models
    )
    warning = _("Do not give these files to raters: they show which model predicted what.")
    return (
        f'<ul class="predictions-files"><li>{gold}</li><li>{qrels}</li>{runs}</ul>'
        f'<p class="small">{warning}</p>'
    )


FORGET_SENT = """() => {
  const address = new URL(location.href);
  address.searchParams.delete("sent");
  history.replaceState(history.state, "", address);
}"""
"""What was sent is said once, not with every reload or to others who are given the address."""
ORDER_SAVED = mark("Saved. Pairs are given to raters in this order from now on.")


@dataclass(frozen=True)
class PredictionsHandlers:
    accounts: AccountService
    projects: ProjectService
    judgements: JudgementService
    sending: SendService

    def open(self, request: gr.Request) -> tuple[Any, ...]:
        """The whole page, or a sentence for users who may not see it."""
        try:
            project_id, _user = require_member(request, self.accounts, Role.ADMINISTRATOR)
            steps, figures, files, order = self._show(project_id, JudgingOptions())
            told = self._just_sent(request, project_id)
        except AnnotationError as error:
            return empty_html(str(error)), gr.Column(visible=False), "", "", "", gr.skip()
        return told, gr.Column(visible=True), steps, figures, files, order

    def count(self, threshold: object, k: object, skip: bool, request: gr.Request) -> tuple[str, str, str]:
        """The figures again, with other options."""
        with admit_member(request, self.accounts, Role.ADMINISTRATOR) as (project_id, _user):
            unjudged = Unjudged.SKIP if skip else Unjudged.ZERO
            options = check_options(
                decimal_of(threshold, mark("lowest grade of a keyphrase")),
                whole_of(k, mark("number of ranks")),
                unjudged,
            )
            return self._show(project_id, options)[:3]

    def choose_order(self, order: str, request: gr.Request) -> str:
        """In which order raters meet the pairs."""
        with admit_member(request, self.accounts, Role.ADMINISTRATOR) as (project_id, user):
            if order not in set(QueueOrder):
                raise SettingsError(
                    _("There is no order {order}: choose one from the list.", order=repr(order))
                )
            self.sending.choose_order(project_id, QueueOrder(order), by=user)
        return done_html(_(ORDER_SAVED))

    def _just_sent(self, request: gr.Request, project_id: int) -> str:
        """What the page of sending has done, on which it leads here, and what is open since."""
        sent = whole_in(str(request.query_params.get("sent", "")))
        if sent is None:
            return ""
        counts = self.projects.counts(project_id)
        said = ngettext("{count} new pair sent.", "{count} new pairs sent.", sent, count=group_digits(sent))
        now = _("{done} of {pairs}", done=group_digits(counts.open), pairs=pairs_text(counts.pairs))
        return done_html(f"{said} {_('Open now: {count}.', count=now)}")

    def _show(self, project_id: int, options: JudgingOptions) -> tuple[str, str, str, str]:
        pool = self.judgements.pool(project_id)
        counts = pool.counts(options.threshold)
        raters = sum(Role.RATER in member.roles for member in self.projects.members(project_id))
        needed = self.projects.get(project_id).settings.raters_per_pair
        return (
            steps_html(pool, counts, options, project_id, raters, is_short=raters < needed),
            figures_html(pool.figures(options), options),
            files_html(pool, project_id, options.threshold),
            pool.order.value,
        )


def build_predictions_page(handlers: PredictionsHandlers, page: gr.Blocks) -> None:
    told = gr.HTML(empty_html(_("Opening the predictions.")), elem_id="predictions-told", js_on_load=None)
    with gr.Column(visible=False, elem_id="predictions-page") as body:
        section_heading(_("From predictions to gold and back"), "predictions-steps")
        steps = gr.HTML("", elem_id="predictions-steps-part", js_on_load=None)
        section_heading(_("How good is each model?"), "predictions-figures")
        with gr.Row(elem_classes="form-row"):
            threshold, k = option_fields()
            run = gr.Button(_("Count"), elem_id="predictions-count", scale=0, min_width=120)
        skip = gr.Checkbox(False, label=_("Skip keyphrases without a grade"), elem_id="predictions-skip")
        figures = gr.HTML("", elem_id="predictions-figures-part", js_on_load=None)
        with gr.Row(elem_classes="columns"):
            with gr.Column(scale=6, min_width=320):
                section_heading(_("Files"), "predictions-files")
                files = gr.HTML("", elem_id="predictions-files-part", js_on_load=None)
            with gr.Column(scale=5, min_width=320):
                section_heading(_("Order of rating"), "predictions-order-heading")
                order = gr.Radio(
                    [(_(name), order.value) for order, name in ORDER_NAMES.items()],
                    value=QueueOrder.PROJECT.value,
                    label=_("Order in which raters see the predicted keyphrases"),
                    info=_(
                        "Uncertain pairs are those on which the models' scores say least. Raters never see "
                        "the scores"
                    ),
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
        handlers.count,
        [threshold, k, skip],
        outputs,
        api_name="count_predictions",
        show_progress="minimal",
        show_progress_on=figures,
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
    threshold = decimal_field(
        THRESHOLD, label=_("Lowest grade of a keyphrase"), elem_id="predictions-threshold"
    )
    return threshold, whole_field(DEFAULT_RANKS, label=_("Ranks that count (k)"), elem_id="predictions-k")
