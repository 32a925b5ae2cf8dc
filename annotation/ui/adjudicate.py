"""The adjudication page: decide on pairs whose raters differ, without knowing who gave which grade.

Python writes the queue and the form; the script fills in what is chosen, keeps drafts in the browser, and
sends three events through the line that tells what became of the last one.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from uuid import uuid4

import gradio as gr

from annotation.adjudication import (
    CAUSES,
    NO_ADJUDICATION,
    NOTE_LENGTH,
    AdjudicationError,
    AdjudicationItem,
    ConflictError,
    Decision,
    QueueEntry,
    QueuePage,
    Which,
    cause_within,
)
from annotation.comparison import ComparisonType, comparison_type
from annotation.errors import AnnotationError
from annotation.senses import item_views
from annotation.services.accounts import AccountService
from annotation.services.adjudication import PAGE_SIZE, AdjudicationService, Neighbours
from annotation.services.gold import GoldCounts, GoldService
from annotation.services.projects import ProjectService
from annotation.translation import _, mark, ngettext
from annotation.types import Cause, Project, ProjectSettings, Role, User
from annotation.ui.rate import (
    digits_of,
    guidelines_html,
    own_items,
    point_html,
    scale_data,
    shape_of,
    step_name,
)
from annotation.ui.widgets import Answer, Parts, ScriptEvent, answer_problems, event_script, require_member
from annotation.ui.wording import (
    all_withdrawn_text,
    grades_text,
    held_back_text,
    meaning_html,
    pairs_text,
    time_html,
    translate_points,
)
from annotation.wording import quote_value, whole_in
from kpdemo.translation import write_decimal as grade_text
from kpdemo.ui.html import escape, group_digits
from kpdemo.ui.widgets import QUIETLY, empty_html

PARTS = {Which.OPEN: mark("Open"), Which.DECIDED: mark("Decided"), Which.ALL: mark("All")}
MOST_SHOWN = 2_000
"""Entries of the queue on one page; a narrower part shows the others."""


@dataclass(frozen=True, slots=True)
class View:
    """The part of the queue that is shown."""

    which: Which = Which.OPEN
    type: str | None = None
    shown: int = 50


def queue_html(page: QueuePage, view: View, current: int | None) -> str:
    """The filters, and the pairs with their spread and state."""
    parts = "".join(_part_html(part, page.counts[part], view) for part in Which)
    entries = "".join(_entry_html(entry, current) for entry in page.entries)
    listed = f"<ol>{entries}</ol>" if entries else f'<p class="small">{escape(_empty_part(view))}</p>'
    more = _more_html(page.counts[view.which] - len(page.entries), view) if page.has_more else ""
    left_out = f'<p class="small">{escape(held_back_text(page.held_back))}</p>' if page.held_back else ""
    return (
        f'<nav class="adj-queue" aria-label="{_("Queue")}" data-which="{view.which}"'
        f' data-shown="{view.shown}"'
        f' data-type="{escape(view.type or "")}">'
        f'<div class="adj-parts" role="group" aria-label="{_("Which pairs")}">{parts}</div>'
        f"{_types_html(page.types, view)}{news_html()}{listed}{more}{left_out}</nav>"
    )


def news_html() -> str:
    """Where the script tells that the queue has changed since."""
    return (
        '<p id="adjudicate-news" class="adj-news"><span role="status"></span> '
        '<button type="button" class="keep" data-adjudicate="refresh" hidden>'
        f"{_('Refresh')}</button></p>"
    )


def _part_html(part: Which, count: int, view: View) -> str:
    pressed = str(part is view.which).lower()
    return (
        f'<button type="button" data-adjudicate="part" data-part="{part}" data-count="{count}"'
        f' aria-pressed="{pressed}">'
        f"{_(PARTS[part])} <span>{group_digits(count)}</span></button>"
    )


def _types_html(types: tuple[str, ...], view: View) -> str:
    if len(types) < 2 and view.type is None:
        return ""
    listed = types if view.type is None or view.type in types else (*types, view.type)
    options = "".join(
        f'<option value="{escape(name)}"{" selected" if name == view.type else ""}>'
        f"{escape(_(comparison_type(name).label))}</option>"
        for name in listed
    )
    return (
        f'<label class="adj-type">{_("Type")} <select id="adjudicate-type">'
        f'<option value="">{_("all types")}</option>{options}</select></label>'
    )


def _more_html(rest: int, view: View) -> str:
    if view.shown < MOST_SHOWN:
        more = _("{count} more", count=group_digits(rest))
        return f'<button type="button" class="keep" data-adjudicate="more">{more}</button>'
    said = _(
        "{count} more not listed: choose a part or a type with fewer pairs, or go on with Next.",
        count=group_digits(rest),
    )
    return f'<p class="small">{said}</p>'


def _empty_part(view: View) -> str:
    return {
        Which.OPEN: _("No pairs await a decision."),
        Which.DECIDED: _("No decisions yet."),
        Which.ALL: _("No pairs have been flagged."),
    }[view.which]


def _entry_html(entry: QueueEntry, current: int | None) -> str:
    here = ' aria-current="true"' if entry.pair_id == current else ""
    state = _("open")
    if entry.decided is not None:
        decided = _("decided {grade}", grade=grade_text(entry.decided))
        state = decided if not entry.is_open else _("open again")
    spread = f"<b>{grade_text(entry.spread)}</b>"
    apart = escape(_("{spread} apart", spread="\0")).replace("\0", spread)
    left, right = item_views(entry.type, entry.left, entry.right, entry.senses)
    return (
        f'<li><button type="button" data-adjudicate="pair" data-pair="{entry.pair_id}"{here}>'
        f'<span class="adj-spread">{apart}</span>'
        f'<span class="adj-kind">{escape(_(comparison_type(entry.type).label))}</span>'
        f'<span class="adj-state" data-open="{str(entry.is_open).lower()}">{state}</span>'
        f'<span class="adj-items"><bdi>{escape(left.text)}</bdi> / <bdi>{escape(right.text)}</bdi></span>'
        "</button></li>"
    )


KEYS = mark(
    "[ and ] go a step down and up, the letter of a cause chooses it, P and N go to the "
    "previous and next pair, Ctrl+Enter saves. On the scale, ← and → always go a step down and up, ↑ and ↓ "
    "to the grade below and above."
)
CAUSE_KEYS = {cause: name[0] for cause, (name, _meaning) in CAUSES.items()}
NO_PAIRS = mark("No pairs yet. Import a file of pairs, then let raters grade them.")


def item_html(item: AdjudicationItem, project: Project, user: User, around: Neighbours) -> str:
    """The pair, its grades and comments, the form of the decision and its history.

    Where there is nothing to decide, the script finds no `adjudicate-form`.
    """
    names, own = comparison_type(item.type), own_items(project.settings).get(item.type)
    headings = (own["larger"], own["smaller"]) if own else (_(names.headings[0]), _(names.headings[1]))
    shown = (
        f"{_head_html(item, names, project)}{_pair_html(item, headings)}{_line_html(item, project.settings)}"
        f"{_comments_html(item)}"
    )
    drawn = f' data-drawn="{uuid4().hex}" data-pair="{item.pair_id}" data-type="{escape(item.type)}"'
    if not item.is_decidable:
        return f'<div class="rate adj"{drawn}>{shown}{_closed_html(item, project, around)}</div>'
    decision, scale = item.decision, project.settings.scale
    settled = "" if decision is None or decision.grade is None else str(scale.to_steps(decision.grade))
    attributes = {
        "project": project.id,
        "user": user.id,
        "version": item.version,
        "step": scale.to_steps(project.settings.step),
        "quarters": settled,
        "cause": decision.cause.value if decision and decision.cause else "",
    }
    data = "".join(f' data-{name}="{escape(str(value))}"' for name, value in attributes.items())
    return (
        f'<div id="adjudicate-form" class="rate adj"{drawn}{data}{scale_data(scale)}>{shown}'
        f"{_decision_html(item, project, around)}"
        f"{_history_html(item.history)}</div>"
    )


def nothing_html(
    counts: GoldCounts, view: View, threshold: Decimal | None, held_back: int = 0, export: str = ""
) -> str:
    """What stands in the place of a pair when none is left.

    Args:
        held_back: how many pairs are held back, as the queue beside it says.
        export: where the viewer exports the gold set; empty for who may not.
    """
    if not counts.pairs:
        return empty_html(all_withdrawn_text(counts.withdrawn) if counts.withdrawn else _(NO_PAIRS))
    if view.which is Which.DECIDED:
        return empty_html(_("No decisions yet. Open pairs are under Open."))
    if threshold is None:
        return empty_html(_(NO_ADJUDICATION))
    apart = grade_text(threshold)
    if held_back:
        nothing = _("Nothing to decide: no other open pair has grades {apart} or more apart.", apart=apart)
    else:
        nothing = _("Nothing to decide: no open pair has grades {apart} or more apart.", apart=apart)
    have = ngettext(
        "{count} of {pairs} has a gold grade.",
        "{count} of {pairs} have a gold grade.",
        counts.with_gold,
        count=group_digits(counts.with_gold),
        pairs=pairs_text(counts.pairs),
    )
    link = (
        f' <a id="adjudicate-export" href="{escape(export)}">{_("Export the gold set")}</a>' if export else ""
    )
    return f"{empty_html(nothing)}<p>{have}{link}</p>"


def answer_html(text: str, kind: str = "note", *, saved: str = "") -> str:
    """The outcome of the last request.

    Args:
        text: the sentence; empty says nothing.
        kind: saved, note or problem.
        saved: what the script numbered the decision that its draft is no longer needed for.
    """
    role = "alert" if kind == "problem" else "status"
    number = f' data-saved="{escape(saved)}"' if saved else ""
    ground = ' class="note"' if kind == "problem" else ' class="adj-said"'
    return (
        f'<p id="adjudicate-said" role="{role}" data-kind="{kind}" data-answer="{uuid4().hex}"'
        f"{number}{ground}>"
        f"{escape(text)}</p>"
    )


def _head_html(item: AdjudicationItem, names: ComparisonType, project: Project) -> str:
    if item.is_withdrawn:
        state = _("Withdrawn: it counts nowhere and needs no decision.")
    elif item.is_changed:
        state = _("Grades changed since the decision.")
    elif item.decision is not None:
        state = _("Decided.")
    elif item.is_flagged:
        state = _("Open.")
    else:
        state = _calm_text(len(item.grades), project.settings)
    note = ' class="adj-changed"' if item.is_changed or item.is_withdrawn else ""
    return (
        f'<div class="adj-head"><h2 id="adjudicate-heading" tabindex="-1">'
        f"{escape(_capital(_(names.label)))} · "
        f"<bdi>{escape(item.external_id)}</bdi></h2><p{note}>{state}</p></div>"
    )


def _calm_text(grades: int, settings: ProjectSettings) -> str:
    if settings.threshold is None:
        return _(NO_ADJUDICATION)
    if grades < settings.raters_per_pair:
        return ngettext(
            "{done} of {count} grade so far: nothing to decide yet.",
            "{done} of {count} grades so far: nothing to decide yet.",
            settings.raters_per_pair,
            count=group_digits(settings.raters_per_pair),
            done=grades,
        )
    return _("The raters agree: the {average} is the gold grade.", average=_(settings.average))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _pair_html(item: AdjudicationItem, headings: tuple[str, str]) -> str:
    left, right = item_views(item.type, item.left, item.right, item.senses)
    sides = zip(("left", "right"), headings, (left, right), strict=True)
    boxes = "".join(
        f'<section class="rate-item"><h3 id="adjudicate-{side}-name">{escape(_capital(name))}</h3>'
        f'<div id="adjudicate-{side}" class="rate-text" dir="auto" lang="" tabindex="0" role="group"'
        f' aria-labelledby="adjudicate-{side}-name">{escape(shown.text)}{meaning_html(shown)}</div></section>'
        for side, name, shown in sides
    )
    return f'<div class="rate-items" role="group" aria-label="{_("Pair")}">{boxes}</div>'


def _line_html(item: AdjudicationItem, settings: ProjectSettings) -> str:
    scale = settings.scale

    def place(grade: Decimal | int) -> str:
        """From 0, the lowest grade, to 1."""
        return f"{float(grade - scale.lowest) / scale.range:.5g}"

    ticks = "".join(
        f'<span class="adj-tick" style="--at:{place(point)}" aria-hidden="true">{point}</span>'
        for point in scale.points
    )
    off = "" if item.is_decidable else " disabled"
    seen: Counter[Decimal] = Counter()
    dots = []
    for grade in item.grades:
        text = grade_text(grade)
        said = (
            _("A rater graded {grade}: take {grade}", grade=text)
            if item.is_decidable
            else _("A rater graded {grade}", grade=text)
        )
        dots.append(
            '<button type="button" class="adj-dot" data-adjudicate="dot"'
            f' data-quarters="{scale.to_steps(grade)}" style="--at:{place(grade)};--level:{seen[grade]}"'
            f' aria-label="{escape(said)}" title="{text}"{off}></button>'
        )
        seen[grade] += 1
    height = max(seen.values(), default=1)
    said = grades_text(len(item.grades))
    if len(item.grades) > 1:
        said += ", " + _("{spread} apart", spread=grade_text(item.spread))
    return (
        '<section class="adj-grades" aria-labelledby="adjudicate-grades-name">'
        f'<h3 id="adjudicate-grades-name">{said}</h3>'
        f'<div class="adj-track" style="--height:{height}">{ticks}{"".join(dots)}'
        '<span id="adjudicate-mark" class="adj-mark" aria-hidden="true" hidden></span></div></section>'
    )


def _comments_html(item: AdjudicationItem) -> str:
    if not item.comments:
        return ""
    problem = f"<b>{_('Problem')}</b> "
    listed = "".join(
        f'<li dir="auto">{problem if comment.is_problem else ""}{escape(comment.text)}</li>'
        for comment in item.comments
    )
    return f'<section class="adj-comments"><h3>{_("Comments of raters")}</h3><ul>{listed}</ul></section>'


def _closed_html(item: AdjudicationItem, project: Project, around: Neighbours) -> str:
    """What stands in the place of the form where a decision would be refused."""
    threshold = project.settings.threshold
    if item.is_withdrawn:
        why = _("A withdrawn pair cannot be adjudicated.")
    elif threshold is None:
        why = _("No pair can be adjudicated until Settings say which difference flags one.")
    else:
        why = _(
            "Only flagged pairs can be adjudicated: those with grades that differ by {threshold} or more.",
            threshold=grade_text(threshold),
        )
    walk = f'<div class="adj-actions">{_walk_html(around)}</div>'
    return f"{empty_html(why)}{walk}{_history_html(item.history)}"


def _walk_html(around: Neighbours) -> str:
    """The buttons that lead to the pairs before and after."""
    ways = (("previous", _("‹ Previous"), "P", around.previous), ("next", _("Next ›"), "N", around.next))
    return "".join(
        f'<button type="button" class="keep" id="adjudicate-{name}" data-adjudicate="pair"'
        f' data-pair="{pair or ""}" aria-keyshortcuts="{key}"{"" if pair else " disabled"}>{said}'
        f' <kbd aria-hidden="true">{key}</kbd></button>'
        for name, said, key, pair in ways
    )


def _decision_html(item: AdjudicationItem, project: Project, around: Neighbours) -> str:
    settings = project.settings
    scale, step = settings.scale, step_name(settings.step)
    words = translate_points(settings, item.type)
    points = "".join(
        point_html(point, f'data-adjudicate="choose" data-quarters="{scale.to_steps(Decimal(point.value))}"')
        for point in words
    )
    digits = digits_of(scale)
    chosen_by = _("{first}–{last} choose a grade,", first=digits[0], last=digits[-1]) + " " if digits else ""
    named = " · ".join(f"{point.value} {point.name}" for point in words if point.name)
    causes = "".join(_cause_html(cause) for cause in Cause)
    down, up = _("{step} down", step=step), _("{step} up", step=step)
    note = item.decision.note if item.decision else ""
    withdraw = (
        f'<button type="button" class="keep" data-adjudicate="withdraw">{_("Withdraw the decision")}</button>'
        if item.decision
        else ""
    )
    return f"""
<h3 id="adjudicate-decision-name">{_("Decision")}</h3>
<div id="adjudicate-scale"{shape_of(scale)} role="radiogroup"
 aria-labelledby="adjudicate-decision-name">{points}</div>
<p class="rate-names small" dir="auto">{escape(named)}</p>
<div class="rate-steps">
<button type="button" data-adjudicate="down" aria-label="{down}" aria-keyshortcuts="[">−{step}
 <kbd aria-hidden="true">[</kbd></button>
<button type="button" data-adjudicate="up" aria-label="{up}" aria-keyshortcuts="]">+{step}
 <kbd aria-hidden="true">]</kbd></button>
<output id="adjudicate-value" aria-live="polite"><b></b> <span></span></output>
</div>
<fieldset class="adj-causes"><legend>{_("Cause of the disagreement (required)")}</legend>{causes}</fieldset>
<label for="adjudicate-note" class="adj-label">{_("Note (optional)")}</label>
<textarea id="adjudicate-note" rows="2" dir="auto" maxlength="{NOTE_LENGTH}">{escape(note)}</textarea>
<p id="adjudicate-draft" class="small" hidden>{_("Your draft, not saved yet.")}
 <button type="button" class="keep" data-adjudicate="discard">{_("Drop it")}</button></p>
<div class="adj-actions">
{_walk_html(around)}
{withdraw}
<button type="button" id="adjudicate-save" class="rate-primary" data-adjudicate="save"
 aria-keyshortcuts="Control+Enter" disabled><span>{_("Save and next")}</span>
 <kbd aria-hidden="true">Ctrl+Enter</kbd></button>
</div>
<p class="rate-row"><label><input type="checkbox" id="adjudicate-keys" checked> {_("Use keys")}</label>
 <span class="small">{chosen_by}{_(KEYS)}</span></p>"""


def _cause_html(cause: Cause) -> str:
    (name, meaning), key = CAUSES[cause], CAUSE_KEYS[cause]
    return (
        f'<label><input type="radio" name="adjudicate-cause" value="{cause.value}" aria-keyshortcuts="{key}">'
        f'<span><b>{escape(_(name))} <kbd aria-hidden="true">{key}</kbd></b> '
        f"{escape(_(meaning))}</span></label>"
    )


def _history_html(history: tuple[Decision, ...]) -> str:
    if not history:
        return ""
    rows = "".join(
        f"<li><b>{_('withdrawn') if one.grade is None else grade_text(one.grade)}</b> "
        f"{escape(cause_within(one.cause) if one.cause else '')} <bdi>{escape(one.by)}</bdi> "
        f"{time_html(one.at)}{_note_html(one.note)}</li>"
        for one in history
    )
    count = ngettext(
        "History, {count} entry",
        "History, {count} entries",
        len(history),
        count=group_digits(len(history)),
    )
    return f'<details id="adjudicate-history"><summary>{count}</summary><ol>{rows}</ol></details>'


def _note_html(note: str) -> str:
    return f'<p dir="auto">{escape(note)}</p>' if note else ""


@dataclass(frozen=True)
class AdjudicateHandlers:
    """Each answer is of the parts of the page by name, see `build_adjudicate_page`."""

    accounts: AccountService
    projects: ProjectService
    adjudication: AdjudicationService
    gold: GoldService

    def open(self, request: gr.Request) -> Answer:
        """The queue, and the pair that the address names or the first."""
        try:
            user, project = self._admit(request)
        except AnnotationError as error:
            return {"item": empty_html(str(error))}
        asked = str(request.query_params.get("pair", ""))
        try:
            pair_id = _number(asked) if asked else self._first(user, project, View())
            opened = self._fill(user, project, View(), pair_id, answer_html(""))
        except AnnotationError as error:
            first = self._first(user, project, View())
            opened = self._fill(user, project, View(), first, answer_html(str(error), "problem"))
        return {**opened, "guidelines": guidelines_html(project, "adjudicate-guidelines", may_open=False)}

    @answer_problems(answer_html)
    def show(self, event: gr.EventData, request: gr.Request) -> Answer:
        """Another pair or another part of the queue, or only the queue as it is now."""
        user, project = self._admit(request)
        asked = _Request(event)
        view = asked.view()
        pair_id = asked.pair_or_none() or self._first(user, project, view)
        shown = self._fill(user, project, view, pair_id, answer_html(""))
        if asked.keeps_pair():
            del shown["item"]
        return shown

    @answer_problems(answer_html)
    def save(self, event: gr.EventData, request: gr.Request) -> Answer:
        """Keep a decision, and show the next pair; after a conflict the same pair as it is now."""
        user, project = self._admit(request)
        asked = _Request(event)
        view, pair_id = asked.view(), asked.pair()
        grade, cause = asked.grade(), asked.cause()
        try:
            item = self.adjudication.decide(
                project.id, pair_id, user.id, grade, cause, asked.text("note"), expected=asked.version()
            )
        except ConflictError as error:
            return self._fill(user, project, view, pair_id, answer_html(str(error), "problem"))
        after = self._around(user, project, view, pair_id).next
        if after is None and view.which is Which.OPEN:
            after = self._first(user, project, view)
        elif after is None:
            after = pair_id
        done = _("Saved {pair}: {grade}.", pair=item.external_id, grade=grade_text(grade))
        said = answer_html(done, "saved", saved=asked.sent())
        return self._fill(user, project, view, after, said)

    @answer_problems(answer_html)
    def withdraw(self, event: gr.EventData, request: gr.Request) -> Answer:
        """Take a decision back; the pair stays where it is."""
        user, project = self._admit(request)
        asked = _Request(event)
        view, pair_id = asked.view(), asked.pair()
        try:
            self.adjudication.withdraw(project.id, pair_id, user.id, expected=asked.version())
        except ConflictError as error:
            return self._fill(user, project, view, pair_id, answer_html(str(error), "problem"))
        said = answer_html(_("Withdrawn: the pair is open again."), "saved", saved=asked.sent())
        return self._fill(user, project, view, pair_id, said)

    def _admit(self, request: gr.Request) -> tuple[User, Project]:
        project_id, user = require_member(request, self.accounts, Role.ADJUDICATOR, Role.ADMINISTRATOR)
        return user, self.projects.get(project_id)

    def _fill(self, user: User, project: Project, view: View, pair_id: int | None, said: str) -> Answer:
        page = self.adjudication.queue(project.id, view.which, view.type, limit=view.shown, viewer=user.id)
        queue = queue_html(page, view, pair_id)
        if pair_id is None:
            counts = self.gold.counts(project.id)
            leads = user.is_administrator or Role.ADMINISTRATOR in self.accounts.roles(user.name, project.id)
            export = f"/annotate/project?project={project.id}&tab=gold" if leads else ""
            item = nothing_html(counts, view, project.settings.threshold, page.held_back, export)
            return {"queue": queue, "item": item, "said": said}
        pair = self.adjudication.item(project.id, pair_id, viewer=user.id)
        around = self._around(user, project, view, pair_id)
        return {"queue": queue, "item": item_html(pair, project, user, around), "said": said}

    def _first(self, user: User, project: Project, view: View) -> int | None:
        return self.adjudication.first(project.id, view.which, view.type, viewer=user.id)

    def _around(self, user: User, project: Project, view: View, pair_id: int) -> Neighbours:
        return self.adjudication.neighbours(project.id, pair_id, view.which, view.type, viewer=user.id)


def build_adjudicate_page(handlers: AdjudicateHandlers, page: gr.Blocks) -> None:
    """The queue on the left, the pair in the middle; both come when the page is opened."""
    with gr.Row(elem_id="adjudicate-page", elem_classes="columns"):
        with gr.Column(scale=1, min_width=260, elem_id="adjudicate-side"):
            queue = gr.HTML("", elem_id="adjudicate-queue", apply_default_css=False, js_on_load=None)
            guidelines = gr.HTML("", elem_id="adjudicate-beside", apply_default_css=False, js_on_load=None)
        with gr.Column(scale=3, min_width=320):
            said = gr.HTML(
                answer_html(""),
                elem_id="adjudicate-answer",
                apply_default_css=False,
                js_on_load=event_script("adjudicate", ("show", "save", "withdraw")),
            )
            item = gr.HTML(
                empty_html(_("Opening the queue.")),
                elem_id="adjudicate-item",
                apply_default_css=False,
                js_on_load=None,
            )
    parts = Parts(queue=queue, guidelines=guidelines, item=item, said=said)
    page.load(parts.fill(handlers.open), outputs=parts.outputs, api_name="open_adjudication", **QUIETLY)
    for name, event, handler in (
        ("show_pair", said.show, handlers.show),
        ("decide", said.save, handlers.save),
        ("withdraw_decision", said.withdraw, handlers.withdraw),
    ):
        event(parts.fill(handler), outputs=parts.outputs, api_name=name, **QUIETLY, trigger_mode="multiple")


class _Request(ScriptEvent):
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
            raise AdjudicationError(_("No grade is chosen: choose one, or a dot on the line.")) from None

    def cause(self) -> Cause:
        cause = self.text("cause")
        if cause not in set(Cause):
            raise AdjudicationError(_("No cause is chosen: choose why the raters differ."))
        return Cause(cause)


def _number(text: str) -> int:
    number = whole_in(text)
    if number is None:
        raise AdjudicationError(
            _("{value} is not a pair: choose one from the queue.", value=quote_value(text))
        )
    return number
