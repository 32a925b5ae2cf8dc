"""Writing pairs: the writer's form, texts to review, requested against obtained grades, and larger items."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from annotation.authoring import LONGEST_WRITTEN, GradeGap, WritingReport, cumulative
from annotation.changes import print_settings, renew_prints
from annotation.comparison import (
    Bounds,
    ComparisonType,
    Example,
    PairBounds,
    check_range,
    comparison_type,
    guidance,
    size_of,
)
from annotation.errors import AnnotationError, NotFoundError, SettingsError, WritingError
from annotation.exchange import open_file, read_larger_items
from annotation.scale import CLSS_POINTS, item_names, scale_points, usual_points
from annotation.senses import is_sense_key, item_views
from annotation.services.accounts import AccountService
from annotation.services.bundle import UnreachableError
from annotation.services.editing import (
    EDITORS,
    EditingService,
    WaitingText,
    WritingReportService,
    WritingStep,
)
from annotation.services.larger_items import LISTED, ItemLine, ItemService
from annotation.services.projects import ProjectService
from annotation.services.writing import SENT_BACK_TIME, TypeTerms, WritingTerms, type_terms
from annotation.translation import CATALOGUES, _, mark, ngettext
from annotation.types import Project, Role, User
from annotation.ui.figures import file_name, listing_html
from annotation.ui.pairs import (
    FROM_FILE,
    KEPT_MINUTES,
    checked_upload,
    import_event,
    import_result_html,
    refusal,
)
from annotation.ui.rate import build_form, problem_html, storage_name
from annotation.ui.widgets import (
    PAGE_ERRORS,
    Filling,
    Keeping,
    admit_member,
    answer_event,
    answer_place,
    build_kept_form,
    file_box,
    ids_in,
    on_choice,
    require_member,
    saved_html,
)
from annotation.ui.wording import (
    blank_html,
    consent_html,
    figure,
    meaning_html,
    scale_html,
    time_html,
    translate_point,
    translate_points,
)
from annotation.wording import beginning, share_text, whole_in
from kpdemo.translation import ENGLISH, current_language, html_language, write_number
from kpdemo.ui.charts import (
    COLOURS,
    PATTERNS,
    SYMBOLS,
    Chart,
    chart_buttons,
    chart_of,
    escape_label,
    in_template,
    plain_layout,
    short,
    show_chart,
    titled_axis,
)
from kpdemo.ui.html import escape, group_digits, markdown_html
from kpdemo.ui.widgets import (
    QUIETLY,
    done_html,
    empty_html,
    keep_reason,
    note_html,
    section_heading,
    shown_to_user,
    unseen_box,
)


@dataclass(frozen=True)
class WriteHandlers:
    accounts: AccountService
    projects: ProjectService

    def open(self, request: gr.Request) -> str:
        """The form for the project that the address names, or a sentence with the next step."""
        try:
            project_id, user = require_member(request, self.accounts, Role.WRITER)
            project = self.projects.get(project_id)
        except AnnotationError as error:
            return problem_html(str(error))
        return form_html(project, user)


def build_write_page(handlers: WriteHandlers, page: gr.Blocks) -> None:
    build_form(handlers.open, page, "write-page", "open_writing")


def form_html(project: Project, user: User) -> str:
    """The whole form, empty; nothing in it depends on an item."""
    settings = project.settings
    types = [comparison_type(type) for type in settings.types]
    names = {kind: item_names(settings.scale_words, kind.name, settings.scale) for kind in types}
    own = {kind.name: named for kind, named in names.items() if named != (kind.larger, kind.smaller)}
    code = current_language()
    messages = json.dumps(CATALOGUES.messages(code), ensure_ascii=False)
    return (
        f'<div id="write-form" class="rate write" lang="{html_language(code)}"'
        f' data-messages="{escape(messages)}" data-project="{project.id}" data-user="{user.id}"'
        f' data-storage="{storage_name(project, user)}" data-longest="{LONGEST_WRITTEN}"'
        f' data-points="{list(settings.scale.points)}"'
        f' data-names="{escape(json.dumps(own, ensure_ascii=False))}">'
        f"{_BAR}"
        f'<div id="write-notices"></div>{consent_html("write")}'
        '<div id="write-message" class="empty" role="status" tabindex="-1">'
        f"{_('Loading your item.')}</div>"
        f'<div id="write-work" hidden>{_request_html(types, project)}{_back_html()}{_ITEMS}{_actions_html()}'
        f"</div>{_guidelines_html(project)}{_recent_html()}{blank_html('write')}"
        '<p id="write-live" class="rate-unseen" aria-live="polite"></p></div>'
    )


_BAR = """
<div class="rate-bar">
<p id="write-type"></p>
<p id="write-counts" class="rate-done"></p>
<p id="write-saved" role="status"></p>
</div>
"""


def _request_html(types: list[ComparisonType], project: Project) -> str:
    settings = project.settings
    scale = settings.scale
    points = "".join(
        f'<div data-type="{escape(kind.name)}" data-grade="{point.value}" hidden>'
        f'<span class="write-grade">{point.value}</span><div><p dir="auto"><b>{escape(point.name)}</b></p>'
        f'<p dir="auto">{escape(point.description)}</p></div></div>'
        for kind in types
        for point in translate_points(settings, kind.name)
        if point.value != scale.lowest
    )
    # The examples are English texts: a page in another language goes without them.
    examples = "".join(
        f'<p data-type="{escape(kind.name)}" data-grade="{example.grade}" dir="auto" hidden>'
        f"{_example_text(example)}</p>"
        for kind in types
        for example in kind.examples
        if current_language() == ENGLISH
        and example.grade != scale.lowest
        and usual_points(scale)[0] == CLSS_POINTS[0]
    )
    return (
        '<section id="write-request" aria-labelledby="write-asked"><h2 id="write-asked"></h2>'
        f'<div id="write-points">{points}</div>'
        f'<p id="write-senses" hidden><a href="/annotate/senses?project={project.id}">'
        f"{_('Choose a sense of WordNet for this word')}</a></p>"
        f'<details id="write-examples" open><summary>{_("An example")}</summary>'
        f"{examples}</details></section>"
    )


def _back_html() -> str:
    said = _(
        "It stays yours for {days} days after your last change; then it may be given to others.",
        days=SENT_BACK_TIME.days,
    )
    return f"""
<div id="write-back" class="note" hidden><p></p>
<p class="small">{said}</p></div>
"""


def _example_text(example: Example) -> str:
    return _(
        "For {larger} a text of grade {grade} is {smaller}.",
        larger=f"<q>{escape(example.left)}</q>",
        grade=example.grade,
        smaller=f"<q>{escape(example.right)}</q>",
    )


_ITEMS = """
<div class="rate-items">
<section class="rate-item"><h2 id="write-larger"></h2>
<div id="write-left" class="rate-text" dir="auto" lang="" tabindex="0" role="group"
 aria-labelledby="write-larger"></div></section>
<section class="rate-item"><h2 id="write-smaller"></h2>
<div id="write-field"></div>
<p id="write-size"><span></span> <span></span></p>
<div id="write-check" role="status"></div></section>
</div>
"""


def _actions_html() -> str:
    return f"""
<div class="write-actions">
<button type="button" class="keep" data-write="blank">{_("I do not understand it")}</button>
<p id="write-balance"></p>
<button type="button" id="write-submit" class="rate-primary" data-write="submit"
 aria-keyshortcuts="Control+Enter"><span>{_("Submit and next")}</span>
 <kbd aria-hidden="true">Ctrl+Enter</kbd></button>
</div>
"""


def _recent_html() -> str:
    return f"""
<details id="write-recent"><summary>{_("What I wrote")}</summary><ol></ol></details>
"""


def _guidelines_html(project: Project) -> str:
    settings = project.settings
    written = markdown_html(settings.guidelines) if settings.guidelines.strip() else ""
    scale = scale_html(settings)
    return (
        '<details id="write-guidelines"><summary>'
        f"<h2>{_('Guidelines and the whole scale')}</h2></summary>"
        f'<div class="rate-guidelines">{written}{scale}</div></details>'
    )


NO_GRADES = mark(
    "No pair with a requested grade has a gold grade yet: the comparison appears with the first."
)
CHART = "writing-grades-chart"
REPORT_TAB = "report"
PARTS = 6
RIM = {"color": "#ffffff", "width": 1.5}
"""Around what marks a point, so that it stands out from a bar of its colour."""
SAYS = mark("Obtained grades by type, and the share of pairs up to each grade")


@dataclass(frozen=True)
class ReportHandlers:
    accounts: AccountService
    reports: WritingReportService
    editing: EditingService

    def open(self, request: gr.Request) -> tuple[Any, ...]:
        """The report where the address opens its tab: making it reads all grades of the project."""
        if request.query_params.get("tab") == REPORT_TAB:
            return self.show(request)
        with shown_to_user(AnnotationError):
            require_member(request, self.accounts, *EDITORS)
        return tuple(gr.skip() for _part in range(PARTS))

    def show(self, request: gr.Request) -> tuple[Any, ...]:
        """Every part of the report."""
        with admit_member(request, self.accounts, *EDITORS) as (project_id, _user):
            report = self.reports.report(project_id)
        chart = distribution_chart(report)
        buttons = "" if chart is None else chart_buttons(CHART, _(SAYS), file_name(report.project, "grades"))
        return (
            balance_html(report),
            matrix_html(report),
            writers_html(report),
            distribution_html(report),
            show_chart(chart),
            buttons,
        )

    def make_zeros(self, request: gr.Request) -> str:
        """Pairs of grade 0 of the items that are reserved."""
        with admit_member(request, self.accounts, *EDITORS) as (project_id, user):
            zeros = self.editing.make_zeros(project_id, by=user)
        said = ngettext(
            "Made {count} pair of grade 0.",
            "Made {count} pairs of grade 0.",
            zeros.made,
            count=group_digits(zeros.made),
        )
        if zeros.waiting:
            said += " " + ngettext(
                "{count} item has no partner yet: accept more texts of the same type and genre first.",
                "{count} items have no partner yet: accept more texts of the same type and genre first.",
                zeros.waiting,
                count=group_digits(zeros.waiting),
            )
        return done_html(said)


def build_report_section(handlers: ReportHandlers) -> tuple[Filling, Filling]:
    """How it is filled when the page is opened, and at any time after."""
    section_heading(_("Balance"), "writing-balance-heading")
    balance = gr.HTML("", elem_id="writing-balance", js_on_load=None)
    make = gr.Button(_("Make the pairs of grade 0"), elem_id="writing-make-zeros")
    made = gr.HTML("", elem_id="writing-zeros-made")
    section_heading(_("Requested and obtained grades"), "writing-matrix-heading")
    matrix = gr.HTML("", elem_id="writing-matrix", js_on_load=None)
    section_heading(_("Writers"), "writing-writers-heading")
    writers = gr.HTML("", elem_id="writing-writers", js_on_load=None)
    section_heading(_("Grades of all pairs"), "writing-grades-heading")
    chart = gr.Plot(visible=False, show_label=False, container=False, elem_id=CHART)
    buttons = gr.HTML("", elem_id="writing-grades-save", js_on_load=None)
    distribution = gr.HTML("", elem_id="writing-grades", js_on_load=None)
    shown = [balance, matrix, writers, distribution, chart, buttons]
    opening = Filling(handlers.open, shown, "show_writing_report")
    filling = Filling(handlers.show, shown, "show_writing_report_again")
    making = make.click(handlers.make_zeros, outputs=made, api_name="make_zeros")
    filling.after(making, name="show_report_with_zeros")
    return opening, filling


def balance_html(report: WritingReport) -> str:
    """How often each grade was requested, by type and genre."""
    if not report.groups:
        return empty_html(_(NO_ITEMS))
    rows = [
        (_(comparison_type(group.type).label), group.genre or "–", *group.counts, group.unwritten)
        for group in report.groups
    ]
    waiting = ngettext(
        "{count} text to review",
        "{count} texts to review",
        report.waiting,
        count=group_digits(report.waiting),
    )
    reserved = ngettext(
        "{count} item reserved for grade {grade}",
        "{count} items reserved for grade {grade}",
        report.reserved,
        count=group_digits(report.reserved),
        grade=report.points[0],
    )
    blank = ngettext(
        "{count} item left blank and not yet written",
        "{count} items left blank and not yet written",
        report.not_understood,
        count=group_digits(report.not_understood),
    )
    heads = (_("Type"), _("Genre"), *map(str, report.points), _("Unwritten"))
    table = table_html(_("How often each grade was requested"), heads, rows, words=2)
    return f"<p>{escape(', '.join((waiting, reserved, blank)))}.</p>{table}"


def matrix_html(report: WritingReport) -> str:
    """Requested grades in rows, obtained ones in columns, and how far they are apart."""
    if not report.whole.pairs:
        return empty_html(_(NO_GRADES))
    rows = [
        (str(grade), *counts, *drift_cells(drift))
        for grade, counts, drift in zip(report.points, report.matrix, report.by_grade, strict=True)
    ]
    kinds = [(_(comparison_type(type).label), *drift_cells(drift)) for type, drift in report.by_type]
    kinds.append((_("all"), *drift_cells(report.whole)))
    last = (_("Pairs"), _("Mean"), _("Drift"), _("Off by"))
    heads = (_("Requested"), *(_("got {grade}", grade=grade) for grade in report.points), *last)
    meaning = _(
        "Drift is the mean of obtained minus requested: above 0, raters found pairs more similar than "
        "requested. All pairs with a requested grade and a gold grade count, imported ones too."
    )
    return (
        f"<p>{meaning}</p>"
        + table_html(_("Pairs by requested and obtained grade"), heads, rows)
        + table_html(_("Drift by type"), (_("Type"), *last), kinds)
    )


def writers_html(report: WritingReport) -> str:
    """What each writer did, and how well they met the grades."""
    if not report.writers:
        said = _("Nobody has written yet. Give somebody the role writer on the project's page.")
        return empty_html(said)
    rows = []
    for each in report.writers:
        counts, (pairs, _mean, drift, distance) = each.counts, drift_cells(each.drift)
        seconds = "–" if counts.seconds is None else f"{counts.seconds:.0f} s"
        done = (counts.submitted, counts.accepted, counts.sent_back, counts.blank, counts.handed_on)
        rows.append((counts.writer, *done, seconds, pairs, drift, distance))
    heads = (
        *(_("Writer"), _("To review"), _("Accepted"), _("Sent back"), _("Blank"), _("Handed on")),
        *(_("Time"), _("Graded"), _("Drift"), _("Off by")),
    )
    return table_html(_("Figures of each writer"), heads, rows)


def distribution_html(report: WritingReport) -> str:
    """The table of the chart: pairs at each half grade, and the share up to there."""
    if not report.distribution:
        return empty_html(_("No pair has a gold grade yet."))
    rows: list[tuple[object, ...]] = []
    for type, counts in report.distribution:
        label = _(comparison_type(type).label)
        rows.append((label, *counts))
        rows.append((_("{type}, up to here", type=label), *map(share_text, cumulative(counts))))
    heads = (_("Type"), *(write_number(f"{float(middle):g}") for middle in report.bins))
    return table_html(_("Pairs by obtained grade, to the nearest half"), heads, rows)


def distribution_chart(report: WritingReport) -> Chart | None:
    """Figure 1 of Jurgens et al. (2014): bars of pairs by obtained grade, a line up to each; None of none."""
    if not report.distribution:
        return None
    middles = [float(middle) for middle in report.bins]
    traces: list[Chart] = []
    for number, (type, counts) in enumerate(report.distribution):
        label, colour = _(comparison_type(type).label), COLOURS[number % len(COLOURS)]
        pattern = {"shape": PATTERNS[number % len(PATTERNS)], "fillmode": "overlay"}
        traces.append(
            {
                "type": "bar",
                "name": escape_label(short(label)),
                "x": middles,
                "y": list(counts),
                "width": 0.4,
                "opacity": 0.5,  # the lines of the same colours go across
                "marker": {"color": colour, "pattern": pattern},
                "hovertemplate": f"{in_template(label)}, %{{x}}: %{{y}}<extra></extra>",
            }
        )
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": _("{type}, up to here", type=escape_label(short(label))),
                "x": middles,
                "y": [100 * share for share in cumulative(counts)],
                "customdata": list(map(share_text, cumulative(counts))),
                "yaxis": "y2",
                "line": {"color": colour, "width": 2.5},
                "marker": {"symbol": SYMBOLS[number % len(SYMBOLS)], "size": 9, "line": RIM},
                "hovertemplate": _("{type}, up to {grade}", type=in_template(label), grade="%{x}")
                + ": %{customdata}<extra></extra>",
            }
        )
    layout = plain_layout(360, legend=True)
    layout["barmode"] = "stack"
    layout["xaxis"] = {**titled_axis(_("obtained grade")), "dtick": 0.5, "range": [-0.3, 4.3]}
    layout["yaxis"] = {**titled_axis(_("pairs")), "rangemode": "tozero"}
    layout["yaxis2"] = {
        **titled_axis(_("% up to here")),
        "overlaying": "y",
        "side": "right",
        "range": [0, 103],
        "showgrid": False,
    }
    return chart_of(traces, layout)


def drift_cells(drift: GradeGap) -> tuple[str, str, str, str]:
    """Pairs, mean, drift and distance as they are written."""
    return (
        group_digits(drift.pairs),
        "–" if drift.obtained is None else figure(drift.obtained, 2),
        "–" if drift.drift is None else figure(drift.drift, 2, sign="+"),
        "–" if drift.distance is None else figure(drift.distance, 2),
    )


def table_html(
    caption: str, heads: Sequence[str], rows: Sequence[Sequence[object]], *, words: int = 1
) -> str:
    """A table whose first `words` columns are words and the others numbers."""
    body = "".join(
        f'<tr><th scope="row" dir="auto">{escape(str(first))}</th>'
        + "".join(
            f'<td{" class=number" if place >= words else ""} dir="auto">'
            f"{escape(group_digits(cell) if isinstance(cell, int) else str(cell))}</td>"
            for place, cell in enumerate(rest, start=1)
        )
        + "</tr>"
        for first, *rest in rows
    )
    return listing_html(heads, body, numbers=range(words, len(heads)), caption=caption, label=caption)


NOTHING = mark("No texts are awaiting review. They appear here as writers submit them.")
BUSY = mark(
    "No text can be shown now, because something else is being saved, such as a long import: wait a moment, "
    "then choose one from the list."
)
ACTIONS = {
    "submitted": mark("submitted"),
    "blank": mark("left blank"),
    "sent_back": mark("sent back"),
    "handed_on": mark("gave to another writer"),
    "edited": mark("edited"),
    "accepted": mark("accepted"),
}
_LABEL = 70


def queue_label(place: int, text: WaitingText) -> str:
    """A line of the queue, without the requested grade: editors who see that never grade the pair."""
    _left, right = item_views(text.type, text.left, text.text, text.senses)
    return f"{place}. {_(comparison_type(text.type).label)}: {beginning(right.text, _LABEL)}"


def text_html(text: WaitingText) -> str:
    """The requested grade, the larger item, what is to be said of the text, and what was done with it."""
    kind, point = (
        comparison_type(text.type),
        translate_point(scale_points(text.scale_words, text.type, text.scale)[text.grade]),
    )
    genre = f", {text.genre}" if text.genre else ""
    requested = _("Requested: {name}", name=f"<bdi>{escape(point.name)}</bdi>")
    by = _("By {name}", name=f"<bdi>{escape(text.writer)}</bdi>")
    warnings = [text.no_meaning, *((text.check.problem, *text.check.warnings) if text.check else ())]
    notes = "".join(note_html(warning) for warning in warnings if warning)
    return (
        f'<div class="write-head"><span class="write-grade">{point.value}</span><div>'
        f"<p><b>{requested}</b></p>"
        f'<p dir="auto">{escape(point.description)}</p></div></div>'
        f"{_items_html(text)}"
        f'<p class="small">{by} {time_html(text.at)} · {escape(_(kind.label))}'
        f"<bdi>{escape(genre)}</bdi>{_size_text(text)}</p>{notes}{_steps_html(text.steps)}"
    )


def _items_html(text: WaitingText) -> str:
    """The larger item; of a word and a sense both, as raters will see them."""
    larger, smaller = map(_, item_names(text.scale_words, text.type, text.scale))
    left, right = item_views(text.type, text.left, text.text, text.senses)
    sides = [(larger, left)]
    if not right.is_plain:  # else it stands in the field below
        sides.append((smaller, right))
    return "".join(
        f'<h2>{escape(name)}</h2><div class="rate-text" dir="auto" tabindex="0" role="group"'
        f' aria-label="{escape(name)}">{escape(shown.text)}{meaning_html(shown)}</div>'
        for name, shown in sides
    )


def _size_text(text: WaitingText) -> str:
    if text.check is None or is_sense_key(text.text):
        return ""
    size = text.check.size
    words = ngettext("{count} word", "{count} words", size.words, count=group_digits(size.words))
    sentences = ngettext(
        "{count} sentence", "{count} sentences", size.sentences, count=group_digits(size.sentences)
    )
    return escape(f" · {words}, {sentences}")


def _steps_html(steps: tuple[WritingStep, ...]) -> str:
    """What was done before, if there was more than submitting it."""
    if len(steps) < 2:
        return ""
    lines = "".join(
        f"<li>{time_html(step.at)} <bdi>{escape(step.by)}</bdi> {_(ACTIONS.get(step.action, step.action))}: "
        f'<q dir="auto">{escape(step.text)}</q>'
        + (f' <span dir="auto">– {escape(step.note)}</span>' if step.note else "")
        + "</li>"
        for step in steps
    )
    return f'<details id="review-steps"><summary>{_("History")}</summary><ol>{lines}</ol></details>'


TABS = ("review", REPORT_TAB, "items")


@dataclass(frozen=True)
class ReviewHandlers:
    accounts: AccountService
    editing: EditingService

    def open(self, request: gr.Request) -> tuple[Any, ...]:
        """The tab that the address names, with the first text that waits; for others than editors nothing."""
        try:
            project_id, user = require_member(request, self.accounts, *EDITORS)
        except AnnotationError as error:  # `explain` shows it on the page, where it stays
            raise gr.Error(escape(str(error)), visible=False, print_exception=False) from error
        asked = request.query_params.get("tab", "")
        tabs = gr.Tabs(visible=True, selected=asked if asked in TABS else TABS[0])
        with shown_to_user(AnnotationError):
            return "", tabs, *self._fill(project_id, user)

    def explain(self, request: gr.Request) -> str:
        """Why the page stays closed."""
        try:
            require_member(request, self.accounts, *EDITORS)
        except AnnotationError as error:
            return empty_html(str(error))
        return ""

    def show(self, request: gr.Request, chosen: int | None) -> tuple[Any, ...]:
        """Another text of the queue."""
        with admit_member(request, self.accounts, *EDITORS) as (project_id, user):
            return self._fill(project_id, user, chosen)

    def accept(self, request: gr.Request, text: str, token: str) -> tuple[Any, ...]:
        """Make a pair of the text as it stands in the field."""
        with admit_member(request, self.accounts, *EDITORS) as (project_id, user):
            writing_id, version = _read_token(token)
            self.editing.accept(project_id, writing_id, user.id, version=version, text=text)
            said = done_html(_("Accepted: it is now a pair to be graded."))
            return said, *self._fill(project_id, user)

    def send_back(self, request: gr.Request, note: str, token: str) -> tuple[Any, ...]:
        """Have its writer rewrite it."""
        with admit_member(request, self.accounts, *EDITORS) as (project_id, user):
            writing_id, version = _read_token(token)
            self.editing.send_back(project_id, writing_id, user.id, note, version=version)
            return done_html(_("Sent back with your note.")), *self._fill(project_id, user)

    def hand_on(self, request: gr.Request, note: str, token: str) -> tuple[Any, ...]:
        """Have another writer write for the item."""
        with admit_member(request, self.accounts, *EDITORS) as (project_id, user):
            writing_id, version = _read_token(token)
            self.editing.hand_on(project_id, writing_id, user.id, note, version=version)
            return done_html(_("The item goes to another writer.")), *self._fill(project_id, user)

    def _fill(self, project_id: int, user: User, chosen: int | None = None) -> tuple[Any, ...]:
        """Queue, item, text, note, token and the row of buttons."""
        queue, text = self._read(project_id, user, chosen)
        choices = [(queue_label(place, each), each.id) for place, each in enumerate(queue, start=1)]
        dropdown = gr.Dropdown(choices=choices, value=None if text is None else text.id, visible=bool(queue))
        if text is None:
            hidden = gr.Textbox(value="", visible=False)
            why = note_html(_(BUSY)) if queue else empty_html(_(NOTHING))
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
    ) -> tuple[tuple[WaitingText, ...], WaitingText | None]:
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
    closed = gr.HTML(empty_html(_("Opening the texts.")), elem_id="review-closed")
    with gr.Tabs(visible=False, elem_id="review-tabs", overflow_behavior="wrap") as tabs:
        with gr.Tab(_("Review"), id="review"):
            queue = gr.Dropdown([], label=_("Texts awaiting review"), elem_id="review-queue")
            said = answer_place("review-said")
            item = gr.HTML("", elem_id="review-item", apply_default_css=False, js_on_load=None)
            kept = build_kept_form("review")
            text = gr.Textbox(
                label=_("The text; edit it if you like"), lines=3, max_lines=12, elem_id="review-text"
            )
            note = gr.Textbox(
                label=_("Note to the writer, for sending back"), lines=1, max_lines=6, elem_id="review-note"
            )
            token = unseen_box("review-token")
            with gr.Row(elem_classes="form-row") as buttons:
                accept = gr.Button(_("Accept"), variant="primary", elem_id="review-accept", min_width=120)
                send_back = gr.Button(_("Send back"), elem_id="review-send-back", min_width=120)
                hand_on = gr.Button(_("Give to another writer"), elem_id="review-hand-on", min_width=160)
        with gr.Tab(_("Report"), id=REPORT_TAB) as report_tab:
            opening_report, filling_report = build_report_section(report)
        with gr.Tab(_("Larger items"), id="items") as items_tab:
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
        answer_event(accept.click, handlers.accept, [text, token], [said, *shown], api_name="accept_text"),
        answer_event(
            send_back.click, handlers.send_back, [note, token], [said, *shown], api_name="send_text_back"
        ),
        answer_event(hand_on.click, handlers.hand_on, [note, token], [said, *shown], api_name="hand_item_on"),
    ]
    kept.keep([text, note], token, is_of_began=True, shown=[opened, chosen], saved=settled)
    opening_report.after(opened)
    filling_report.when(report_tab.select)
    for filling in (filling_items, items_bounds):
        filling.keep_in(tabs, "items", *filling.after(opened))
    filling_items.when(items_tab.select, name="show_items_again")


def _read_token(token: str | None) -> tuple[int, int]:
    first, _colon, second = (token or "").partition(":")
    writing, version = whole_in(first), whole_in(second)
    if writing is None or version is None:
        raise WritingError(_("No text is chosen: choose one that awaits review."))
    return writing, version


NO_ITEMS = mark("No larger items yet. Import a file, then invite writers on the project's page.")
_SHOWN = 90


def items_html(lines: list[ItemLine], count: int) -> str:
    """The first items, and how far each is."""
    if not lines:
        return empty_html(_(NO_ITEMS))
    rows = "".join(
        f'<tr><th scope="row" dir="auto">{escape(line.id)}</th>'
        f'<td dir="auto">{escape(_(comparison_type(line.type).label))}</td>'
        f'<td dir="auto">{escape(line.genre or "–")}</td>'
        f'<td dir="auto">{escape(beginning(line.text, _SHOWN))}</td>'
        "<td "
        f'class="number">{group_digits(size_of(line.text).words)}</td><td>{escape(_state(line))}</td></tr>'
        for line in lines
    )
    heads = (_("Id"), _("Type"), _("Genre"), _("Text"), _("Words"), _("State"))
    items = ngettext("{count} larger item", "{count} larger items", count, count=group_digits(count))
    more = _(", the first {number} below", number=LISTED) if count > len(lines) else ""
    listing = listing_html(heads, rows, numbers=(4,), label=_("Larger items"))
    return f"<p>{escape(items)}{more}</p>{listing}"


def bounds_html(plan: WritingTerms, types: tuple[str, ...]) -> str:
    """The bounds of every type."""
    lines = "".join(
        f"<li><bdi>{escape(_(comparison_type(type).label))}</bdi>: {escape(guidance(plan.of(type).larger))}; "
        f"{escape(guidance(plan.of(type).smaller))}</li>"
        for type in types
    )
    return f'<ul class="small">{lines}</ul>'


def _state(line: ItemLine) -> str:
    """How far it is. Nothing shows that its grade is 0: a person who knows that must not grade its pair."""
    said = _({"reserved": "unwritten", "paired": "accepted"}.get(line.state, line.state.replace("_", " ")))
    return _("{state}, left blank {count} ×", state=said, count=line.blanks) if line.blanks else said


FORMATS = mark(
    "TSV, CSV, XLSX or JSON Lines with {names} and, if you wish, {others}. An upload is deleted after "
    "{minutes} minutes."
)
WITHDRAWING = mark(
    "A withdrawn item is no longer given to writers. Drafts are kept, and a writer at work on it is told. "
    "Items that are already pairs stay."
)
ANY_TYPE = mark("any type")
RANGES = (
    ("larger-words", mark("Words of the larger item")),
    ("larger-sentences", mark("Sentences of the larger item")),
    ("smaller-words", mark("Words of the smaller item")),
    ("smaller-sentences", mark("Sentences of the smaller item")),
)


def formats_html() -> str:
    names, others = "<code>id, type, text</code>", "<code>genre, source</code>"
    said = _(FORMATS, names=names, others=others, minutes=KEPT_MINUTES)
    return f'<p class="small">{said}</p>'


@dataclass(frozen=True)
class ItemsHandlers:
    accounts: AccountService
    projects: ProjectService
    items: ItemService

    def open(self, request: gr.Request) -> tuple[Any, ...]:
        """The bounds of the first type."""
        with admit_member(request, self.accounts, *EDITORS) as (project_id, _user):
            types = self.projects.get(project_id).settings.types
            plan = self.items.plan(project_id)
        terms = plan.of_type(types[0])
        of_type = gr.Dropdown(choices=_type_choices(types), value=types[0])
        return of_type, plan.has_zeros, *_ranges(terms), _of_type(types[0], print_settings(terms))

    def show(self, request: gr.Request) -> tuple[Any, ...]:
        """The lists of items, types and bounds; what is chosen and typed stays."""
        with admit_member(request, self.accounts, *EDITORS) as (project_id, _user):
            types = self.projects.get(project_id).settings.types
            lines, count = self.items.items(project_id), self.items.count(project_id)
            plan = self.items.plan(project_id)
        named = _type_choices(types)
        return (
            items_html(lines, count),
            gr.Dropdown(choices=[(_(FROM_FILE), ""), *named]),
            gr.Dropdown(choices=[(_(ANY_TYPE), ""), *named]),
            gr.Dropdown(choices=named),
            bounds_html(plan, types),
        )

    def import_file(self, request: gr.Request, upload: str | None, type: str | None) -> tuple[str, Any]:
        """All rows of the file, or how many cannot be used and why."""
        try:
            project_id, user = require_member(request, self.accounts, *EDITORS)
            path = checked_upload(upload)
            with open_file(path, name=path.name) as source:
                only = self.projects.get(project_id).settings.only_type
                found = list(read_larger_items(source, type=type or only))
            summary = self.items.import_items(project_id, found, by=user, files=[path.name])
        except PAGE_ERRORS as error:
            return refusal(error, upload)
        path.unlink(missing_ok=True)
        said = ngettext(
            "Imported {count} larger item.",
            "Imported {count} larger items.",
            summary.items,
            count=group_digits(summary.items),
        )
        result = import_result_html(said, summary.duplicates, has_new=summary.items > 0, noun="item")
        return result, gr.File(value=None)

    def withdraw(self, request: gr.Request, ids: str, type: str | None) -> str:
        """Give items to nobody any more."""
        changed = self._change(request, ids, type, self.items.withdraw)
        said = ngettext("{count} larger item withdrawn.", "{count} larger items withdrawn.", changed)
        return done_html(said)

    def restore(self, request: gr.Request, ids: str, type: str | None) -> str:
        """Give withdrawn items to writers again."""
        changed = self._change(request, ids, type, self.items.restore)
        said = ngettext(
            "{count} larger item with the writers again.",
            "{count} larger items with the writers again.",
            changed,
        )
        return done_html(said)

    def _change(self, request: gr.Request, text: str, type: str | None, change: Callable[..., int]) -> int:
        with admit_member(request, self.accounts, *EDITORS) as (project_id, user):
            ids = ids_in(text)
            if not ids:
                raise WritingError(_("No item is named: write ids from the list, one per line."))
            return change(project_id, ids, type=type or None, by=user)

    def show_bounds(self, request: gr.Request, type: str, seen: str) -> tuple[str, ...]:
        """The bounds of another type."""
        with admit_member(request, self.accounts, *EDITORS) as (project_id, _user):
            terms = self.items.plan(project_id).of_type(type)
            return *_ranges(terms), _of_type(type, renew_prints(seen, terms, but=("has_zeros",)))

    def save_bounds(
        self, request: gr.Request, type: str, seen: str, has_zeros: bool, *texts: str
    ) -> tuple[Any, ...]:
        """Set the bounds of the type, and whether items are reserved for grade 0.

        What somebody else changed meanwhile comes into the fields.
        """
        with admit_member(request, self.accounts, *EDITORS) as (project_id, user):
            if not type:
                raise SettingsError(_("No comparison type is chosen: choose the one whose bounds to set."))
            named = zip(texts, RANGES, strict=True)
            ranges = [check_range(text or "", _(label)) for text, (_name, label) in named]
            bounds = PairBounds(Bounds(ranges[0], ranges[1]), Bounds(ranges[2], ranges[3]))
            plan = self.items.change_plan(
                project_id, type=type, bounds=bounds, has_zeros=bool(has_zeros), seen=seen, by=user
            )
            types = self.projects.get(project_id).settings.types
        kept = plan.of_type(type)
        is_alone = kept == type_terms(bounds, bool(has_zeros))
        fields = (
            [gr.skip() for _field in (has_zeros, *texts)] if is_alone else [kept.has_zeros, *_ranges(kept)]
        )
        said = saved_html(_("Saved. Items and texts that are already there stay."), is_alone=is_alone)
        return said, bounds_html(plan, types), *fields, _of_type(type, print_settings(kept))


def build_items_section(handlers: ItemsHandlers) -> tuple[Filling, Filling]:
    """How the fields of the bounds are filled, and how the lists are."""
    with gr.Row(elem_classes="columns"):
        with gr.Column(scale=6, min_width=320):
            section_heading(_("Larger items"), "items-heading")
            listed = gr.HTML("", elem_id="items-list", js_on_load=None)
        with gr.Column(scale=5, min_width=320):
            type, imported = _build_import(handlers)
            among, named = _build_withdrawal(handlers)
            settings, of_type, bounds = _build_bounds(handlers)
    shown = [listed, type, among, of_type, bounds]
    filling = Filling(handlers.show, shown, "show_items", keeping=named)
    for event in (imported, *named.saved):
        filling.after(event, name=f"show_after_{event['api_name']}")
    return settings, filling


def _build_import(handlers: ItemsHandlers) -> tuple[gr.Dropdown, Any]:
    """The choice of a type, and the event of an import."""
    section_heading(_("Import"), "items-import-heading")
    upload = file_box(_("A file of larger items"), "items-file")
    gr.HTML(formats_html(), elem_id="items-formats")
    with gr.Row(elem_classes="form-row"):
        type = gr.Dropdown(
            [(_(FROM_FILE), "")], value="", label=_("Comparison type"), elem_id="items-type", scale=3
        )
        run = gr.Button(_("Import"), variant="primary", elem_id="items-import", scale=1, min_width=120)
    result = gr.HTML("", elem_id="items-result")
    imported = import_event(run, handlers.import_file, [upload, type], [result, upload], "import_items")
    return type, imported


def _build_withdrawal(handlers: ItemsHandlers) -> tuple[gr.Dropdown, Keeping]:
    """The choice of a type, and what is kept until items are withdrawn or given out again."""
    with gr.Accordion(_("Withdraw items"), open=False, elem_id="items-withdrawal") as part:
        gr.HTML(f'<p class="small">{_(WITHDRAWING)}</p>', elem_id="items-withdrawing")
        kept = build_kept_form("items-named")
        ids = gr.Textbox(label=_("Ids, one per line"), lines=3, max_lines=12, elem_id="items-ids")
        among = gr.Dropdown(
            [(_(ANY_TYPE), "")], value="", label=_("Comparison type"), elem_id="items-ids-type"
        )
        with gr.Row(elem_classes="form-row"):
            withdraw = gr.Button(_("Withdraw"), elem_id="items-withdraw", min_width=120)
            restore = gr.Button(_("Give out again"), elem_id="items-restore", min_width=120)
        changed = answer_place("items-changed")
    asked: list[Any] = [ids, among]
    events = [
        answer_event(withdraw.click, handlers.withdraw, asked, changed, api_name="withdraw_items"),
        answer_event(restore.click, handlers.restore, asked, changed, api_name="restore_items"),
    ]
    return among, Keeping(kept, asked, events, around=[(part, {"open": True})])


def _build_bounds(handlers: ItemsHandlers) -> tuple[Filling, gr.Dropdown, gr.HTML]:
    """How the fields are filled; the choice of a type, and the list."""
    with gr.Accordion(_("How large items may be"), open=False, elem_id="items-bounds") as part:
        bounds = gr.HTML("", elem_id="items-bounds-list", js_on_load=None)
        of_type = gr.Dropdown([], label=_("Comparison type"), elem_id="items-bounds-type")
        kept = build_kept_form("items-bounds")
        fields = [gr.Textbox(label=_(label), elem_id=f"items-{name}") for name, label in RANGES]
        zeros = gr.Checkbox(
            label=_("Set a share of the items aside for pairs of grade 0"), elem_id="items-zeros"
        )
        save = gr.Button(_("Save the bounds"), elem_id="items-save")
        saved = answer_place("items-saved")
    seen = unseen_box("items-seen")
    chosen = on_choice(
        of_type,
        handlers.show_bounds,
        [*fields, seen],
        beside=[seen],
        js=kept.pauses,
        api_name="show_bounds",
        **QUIETLY,
    )
    kept.resume_after(chosen)
    saving = answer_event(
        save.click,
        handlers.save_bounds,
        [of_type, seen, zeros, *fields],
        [saved, bounds, zeros, *fields, seen],
        api_name="save_bounds",
    )
    around = [(part, {"open": True})]
    kept_fields = [zeros, *fields]
    keeping = Keeping(kept, kept_fields, [saving], around, began=seen, is_of_began=True, shown=[chosen])
    filling = Filling(handlers.open, [of_type, *kept_fields, seen], "open_bounds", keeping=keeping)
    return filling, of_type, bounds


def _type_choices(types: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(_(comparison_type(name).label), name) for name in types]


def _of_type(type: str, seen: str) -> str:
    """What the form began with, told apart from that of another type with the same bounds."""
    return json.dumps({**json.loads(seen), "type": type})


def _ranges(terms: TypeTerms) -> tuple[str, ...]:
    pairs = (terms.larger_words, terms.larger_sentences, terms.smaller_words, terms.smaller_sentences)
    return tuple(f"{low}-{high}" for low, high in pairs)
