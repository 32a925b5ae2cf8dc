"""The agreement page: is it good enough, where is it low, who differs, which pairs. It renews itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from annotation.clock import Clock, utcnow
from annotation.errors import AccessError, AnnotationError, SignedOutError
from annotation.latex import LatexTable
from annotation.reliability.planning import DEFAULT_WIDTH
from annotation.reliability.report import AgreementReport
from annotation.services.access.accounts import AccountService
from annotation.services.agreement import AgreementService
from annotation.services.bundle import DamagedError, UnreachableError
from annotation.ui.agreement_charts import CHARTS, charts_of, save_buttons
from annotation.ui.agreement_parts import FOR_LEADERS, plan_html, will_appear
from annotation.ui.agreement_texts import texts_of
from annotation.ui.asking import asked_by_leader
from annotation.ui.number_fields import decimal_field, decimal_of
from annotation.ui.wording import time_html
from kpdemo.ui.charts import show_chart
from kpdemo.ui.widgets import (
    QUIETLY,
    empty_html,
    note_html,
    section_heading,
    shown_to_user,
    unseen_box,
)

SECONDS_BETWEEN_LOOKS = 10

TEXTS = (
    "status",
    "figures",
    "enough",
    "plan",
    "where",
    "grades",
    "raters",
    "drift",
    "rater-pairs",
    "bound",
    "widest",
    "method",
)
"""The parts of the page that are HTML, as `agreement-NAME`."""
ASK_IN_USE = "before => (window.kpdemoParts.isInUse() ? String(Date.now()) : before)"
"""JavaScript: what changes only where somebody may see the figures."""
KEEP_FOLDS = "(...now) => { window.kpdemoParts.keepFolds(); return now; }"
OPEN_FOLDS = "() => { window.kpdemoParts.openFolds(); }"


@dataclass(frozen=True)
class AgreementHandlers:
    accounts: AccountService
    agreement: AgreementService
    latex: LatexTable
    clock: Clock = utcnow

    def open(self, request: gr.Request, width: object) -> tuple[Any, ...]:
        """The whole page, or a sentence for users who may not see it."""
        try:
            shown = self._show(request, width)
        except AccessError as error:
            reason = str(error) if isinstance(error, SignedOutError) else FOR_LEADERS
        except AnnotationError as error:
            reason = str(error)
        except UnreachableError as error:
            reason = error.for_users
        else:
            return "", gr.Column(visible=True), gr.Timer(active=True), *shown
        return empty_html(reason), gr.Column(visible=False), gr.Timer(active=False), *_nothing()

    def refresh(self, request: gr.Request, width: object) -> tuple[Any, ...]:
        """All figures, computed again."""
        with shown_to_user(AnnotationError):
            return self._show(request, width)

    def look(self, request: gr.Request, version: str, width: object) -> tuple[Any, ...]:
        """The same, but only if something happened since, and if that costs little of the server's time."""
        try:
            project_id, *_ = asked_by_leader(request, self.accounts)
            if self.agreement.version(project_id) == version:
                return _nothing()
            if not self.agreement.may_renew(project_id):
                return "<p>There are newer figures. Press Refresh to see them now.</p>", *_nothing()[1:]
            return self._show(request, width)
        except (AnnotationError, UnreachableError, DamagedError):
            return _nothing()  # nobody pressed anything: the next press tells what is the matter

    def plan(self, width: object, request: gr.Request) -> str:
        """How many more pairs make the interval of α so narrow."""
        with shown_to_user(AccessError):
            project_id, *_ = asked_by_leader(request, self.accounts)
            return self._plan(project_id, width)

    def _plan(self, project_id: int, width: object, report: AgreementReport | None = None) -> str:
        """Args:
        report: as it is shown; without it, as of now.
        """
        try:
            wished = float(decimal_of(width, "widest interval of α"))
            if wished != DEFAULT_WIDTH:
                return plan_html(*self.agreement.plan(project_id, wished))
            report = report or self.agreement.report(project_id)
            return plan_html(report.plan, report.whole.pairs - report.whole.all.pairs)
        except AnnotationError as error:
            return note_html(str(error), role="alert")

    def _show(self, request: gr.Request, width: object) -> tuple[Any, ...]:
        project_id, user, named = asked_by_leader(request, self.accounts)
        version = self.agreement.version(project_id)
        report = self.agreement.report(project_id, named=named, viewer=user.id)
        texts = texts_of(report, project_id, self.latex, leads=named)
        texts["status"] = f"<p>Counted {time_html(self.clock())}. {will_appear(report)}</p>"
        texts["plan"] = self._plan(project_id, width, report)
        charts = charts_of(report)
        return (
            *(texts[name] for name in TEXTS),
            *(show_chart(charts[name]) for name in CHARTS),
            *(save_buttons(name, charts[name] is not None, report.project) for name in CHARTS),
            "" if report.unnumbered else version,  # the numbers come with the next look
        )


class _Parts:
    """The parts of the page that `AgreementHandlers` fills, as they are placed on it."""

    def __init__(self) -> None:
        self.version = gr.State("")
        """Which grades the page shows."""
        self._texts: dict[str, gr.HTML] = {}
        self._charts: dict[str, gr.Plot] = {}
        self._buttons: dict[str, gr.HTML] = {}

    def text(self, name: str) -> None:
        self._texts[name] = gr.HTML("", elem_id=f"agreement-{name}-part", js_on_load=None)

    def chart(self, name: str) -> None:
        self._charts[name] = gr.Plot(
            visible=False, show_label=False, container=False, elem_id=f"agreement-{name}-chart"
        )
        self._buttons[name] = gr.HTML("", elem_id=f"agreement-{name}-save", js_on_load=None)

    @property
    def plan(self) -> gr.HTML:
        return self._texts["plan"]

    @property
    def outputs(self) -> list[Any]:
        """In the order in which handlers return them."""
        return [
            *(self._texts[name] for name in TEXTS),
            *(self._charts[name] for name in CHARTS),
            *(self._buttons[name] for name in CHARTS),
            self.version,
        ]


def build_agreement_page(handlers: AgreementHandlers, page: gr.Blocks) -> None:
    closed = gr.HTML(empty_html("Opening the agreement."), elem_id="agreement-closed")
    parts = _Parts()
    with gr.Column(visible=False, elem_id="agreement-page") as body:
        with gr.Row(elem_id="agreement-bar"):
            parts.text("status")
            refresh = gr.Button("Refresh", elem_id="agreement-refresh", size="sm", scale=0, min_width=96)
        parts.text("figures")
        section_heading("Is the agreement good enough?", "agreement-enough")
        parts.text("enough")
        width, ask = _build_plan()
        parts.text("plan")
        _build_details(parts)
    timer = gr.Timer(SECONDS_BETWEEN_LOOKS, active=False)
    outputs = parts.outputs
    page.load(
        handlers.open,
        width,
        [closed, body, timer, *outputs],
        api_name="open_agreement",
        **QUIETLY,
    )
    refreshed = refresh.click(
        handlers.refresh,
        width,
        outputs,
        js=KEEP_FOLDS,
        api_name="refresh_agreement",
        show_progress="minimal",
    )
    for listen, name in ((ask.click, "again"), (width.submit, "by_enter")):
        listen(handlers.plan, width, parts.plan, api_name=f"plan_pairs_{name}", **QUIETLY)
    asked = unseen_box("agreement-asked")
    timer.tick(None, asked, asked, js=ASK_IN_USE, api_name="ask_for_agreement", **QUIETLY)
    looked = asked.change(
        handlers.look, [parts.version, width], outputs, js=KEEP_FOLDS, api_name="look_at_agreement", **QUIETLY
    )
    for number, drawn in enumerate((refreshed, looked), start=1):
        drawn.success(None, js=OPEN_FOLDS, api_name=f"open_folds_{number}", **QUIETLY)


def _build_plan() -> tuple[gr.Textbox, gr.Button]:
    """How many more pairs it takes: the field and its button."""
    section_heading("How many more pairs?", "agreement-more")
    with gr.Row(elem_classes="form-row"):
        width = decimal_field(
            DEFAULT_WIDTH,
            label="Widest interval of α allowed",
            info="From lower to upper end, for all pairs",
            elem_id="agreement-width",
            min_width=200,
        )
        ask = gr.Button("Plan", elem_id="agreement-plan-run", scale=0, min_width=96)
    return width, ask


def _build_details(parts: _Parts) -> None:
    section_heading("Where is it low?", "agreement-where")
    parts.chart("where")
    parts.text("where")
    parts.chart("grades")
    parts.text("grades")
    section_heading("Who differs?", "agreement-who")
    parts.text("raters")
    parts.chart("bias")
    parts.text("drift")
    parts.chart("drift")
    parts.chart("without")
    parts.text("rater-pairs")
    parts.chart("together")
    section_heading("How well could a system do?", "agreement-reach")
    parts.text("bound")
    section_heading("Which pairs?", "agreement-which")
    parts.text("widest")
    parts.text("method")


def _nothing() -> tuple[Any, ...]:
    """Leave every part of the page as it is."""
    return tuple(gr.skip() for _ in range(len(TEXTS) + 2 * len(CHARTS) + 1))
