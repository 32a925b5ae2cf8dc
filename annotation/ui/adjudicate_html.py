"""A pair of the adjudication page as HTML: its anonymous grades, and the decision."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from uuid import uuid4

from annotation.adjudication import (
    CAUSES,
    NO_ADJUDICATION,
    NOTE_LENGTH,
    AdjudicationItem,
    Decision,
    Which,
    grade_text,
)
from annotation.comparison import ComparisonType, comparison_type
from annotation.scale import CLSS_POINTS
from annotation.scale_words import scale_points
from annotation.senses.view import shown_items
from annotation.services.adjudication import Neighbours
from annotation.services.gold_counts import GoldCounts
from annotation.types import QUARTERS_PER_POINT, Cause, Project, ProjectSettings, User, to_quarters
from annotation.ui.adjudicate_queue_html import View
from annotation.ui.rate import STEP_NAMES, point_html
from annotation.ui.sense_html import meaning_html
from annotation.ui.wording import all_withdrawn_text, counted, time_html
from kpdemo.ui.widgets import empty_html, escape

KEYS = (
    "0–4 choose a grade, [ and ] go a step down and up, P and N to the previous and next pair, Ctrl+Enter "
    "saves. On the scale, ← and → always go a step down and up, ↑ and ↓ to the grade below and above."
)
NO_PAIRS = "No pairs yet. Import a file of pairs, then let raters grade them."


def item_html(item: AdjudicationItem, project: Project, user: User, around: Neighbours) -> str:
    """The pair, its grades and comments, the form of the decision and its history.

    Where there is nothing to decide, the script finds no `adjudicate-form`.
    """
    names = comparison_type(item.type)
    shown = (
        f"{_head_html(item, names, project)}{_pair_html(item, names)}{_line_html(item)}{_comments_html(item)}"
    )
    drawn = f' data-drawn="{uuid4().hex}" data-pair="{item.pair_id}"'
    if not item.is_decidable:
        return f'<div class="rate adj"{drawn}>{shown}{_closed_html(item, project, around)}</div>'
    decision = item.decision
    settled = "" if decision is None or decision.grade is None else str(to_quarters(decision.grade))
    attributes = {
        "project": project.id,
        "user": user.id,
        "version": item.version,
        "step": to_quarters(project.settings.step),
        "quarters": settled,
        "cause": decision.cause.value if decision and decision.cause else "",
    }
    data = "".join(f' data-{name}="{escape(str(value))}"' for name, value in attributes.items())
    return (
        f'<div id="adjudicate-form" class="rate adj"{drawn}{data}>{shown}'
        f"{_decision_html(item, project, around)}"
        f"{_history_html(item.history)}</div>"
    )


def nothing_html(counts: GoldCounts, view: View, threshold: Decimal | None, held_back: int = 0) -> str:
    """What stands in the place of a pair when none is left.

    Args:
        held_back: how many pairs are held back, as the queue beside it says.
    """
    if not counts.pairs:
        return empty_html(all_withdrawn_text(counts.withdrawn) if counts.withdrawn else NO_PAIRS)
    if view.which is Which.DECIDED:
        return empty_html("No decisions yet. Open pairs are under Open.")
    if threshold is None:
        return empty_html(NO_ADJUDICATION)
    other = "other " if held_back else ""
    apart = f"{grade_text(threshold)} or more apart"
    return empty_html(f"Nothing to decide: no {other}open pair has grades {apart}.")


def answer_html(text: str, kind: str = "note", *, saved: str = "") -> str:
    """The outcome of the last request.

    Args:
        text: the sentence; empty says nothing.
        kind: saved, note or problem.
        saved: what the script numbered the decision that its draft is no longer needed for.
    """
    role = "alert" if kind == "problem" else "status"
    mark = f' data-saved="{escape(saved)}"' if saved else ""
    ground = ' class="note"' if kind == "problem" else ' class="adj-said"'
    return (
        f'<p id="adjudicate-said" role="{role}" data-kind="{kind}" data-answer="{uuid4().hex}"{mark}{ground}>'
        f"{escape(text)}</p>"
    )


def _head_html(item: AdjudicationItem, names: ComparisonType, project: Project) -> str:
    if item.is_withdrawn:
        state = "Withdrawn: it counts nowhere and needs no decision."
    elif item.is_changed:
        state = "Grades changed since the decision."
    elif item.decision is not None:
        state = "Decided."
    elif item.is_flagged:
        state = "Open."
    else:
        state = _calm_text(len(item.grades), project.settings)
    note = ' class="adj-changed"' if item.is_changed or item.is_withdrawn else ""
    return (
        f'<div class="adj-head"><h2 id="adjudicate-heading" tabindex="-1">{escape(_capital(names.label))} · '
        f"<bdi>{escape(item.external_id)}</bdi></h2><p{note}>{state}</p></div>"
    )


def _calm_text(grades: int, settings: ProjectSettings) -> str:
    if settings.threshold is None:
        return NO_ADJUDICATION
    if grades < settings.raters_per_pair:
        return f"{grades} of {counted(settings.raters_per_pair, 'grade')} so far: nothing to decide yet."
    return "The raters agree: the mean is the gold grade."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _pair_html(item: AdjudicationItem, names: ComparisonType) -> str:
    left, right = shown_items(item.type, item.left, item.right, item.senses)
    sides = zip(("left", "right"), names.headings, (left, right), strict=True)
    boxes = "".join(
        f'<section class="rate-item"><h3 id="adjudicate-{side}-name">{escape(_capital(name))}</h3>'
        f'<div id="adjudicate-{side}" class="rate-text" dir="auto" lang="" tabindex="0" role="group"'
        f' aria-labelledby="adjudicate-{side}-name">{escape(shown.text)}{meaning_html(shown)}</div></section>'
        for side, name, shown in sides
    )
    return f'<div class="rate-items" role="group" aria-label="Pair">{boxes}</div>'


def _line_html(item: AdjudicationItem) -> str:
    ticks = "".join(
        f'<span class="adj-tick" style="--at:{point.value}" aria-hidden="true">{point.value}</span>'
        for point in CLSS_POINTS
    )
    take, off = (": take {}", "") if item.is_decidable else ("", " disabled")
    seen: Counter[Decimal] = Counter()
    dots = []
    for grade in item.grades:
        text = grade_text(grade)
        dots.append(
            '<button type="button" class="adj-dot" data-adjudicate="dot"'
            f' data-quarters="{to_quarters(grade)}" style="--at:{text};--level:{seen[grade]}"'
            f' aria-label="A rater graded {text}{take.format(text)}" title="{text}"{off}></button>'
        )
        seen[grade] += 1
    height = max(seen.values(), default=1)
    said = counted(len(item.grades), "grade")
    if len(item.grades) > 1:
        said += f", {grade_text(item.spread)} apart"
    return (
        '<section class="adj-grades" aria-labelledby="adjudicate-grades-name">'
        f'<h3 id="adjudicate-grades-name">{said}</h3>'
        f'<div class="adj-track" style="--height:{height}">{ticks}{"".join(dots)}'
        '<span id="adjudicate-mark" class="adj-mark" aria-hidden="true" hidden></span></div></section>'
    )


def _comments_html(item: AdjudicationItem) -> str:
    if not item.comments:
        return ""
    listed = "".join(
        f'<li dir="auto">{"<b>Problem</b> " if comment.is_problem else ""}{escape(comment.text)}</li>'
        for comment in item.comments
    )
    return f'<section class="adj-comments"><h3>Comments of raters</h3><ul>{listed}</ul></section>'


def _closed_html(item: AdjudicationItem, project: Project, around: Neighbours) -> str:
    """What stands in the place of the form where a decision would be refused."""
    threshold = project.settings.threshold
    if item.is_withdrawn:
        why = "A withdrawn pair cannot be adjudicated."
    elif threshold is None:
        why = "No pair can be adjudicated until Settings say which difference flags one."
    else:
        why = (
            "Only flagged pairs can be adjudicated: those with grades that differ by "
            f"{grade_text(threshold)} or more."
        )
    walk = f'<div class="adj-actions">{_walk_html(around)}</div>'
    return f"{empty_html(why)}{walk}{_history_html(item.history)}"


def _walk_html(around: Neighbours) -> str:
    """The buttons that lead to the pairs before and after."""
    ways = (("previous", "‹ Previous", "P", around.previous), ("next", "Next ›", "N", around.next))
    return "".join(
        f'<button type="button" class="keep" id="adjudicate-{name}" data-adjudicate="pair"'
        f' data-pair="{pair or ""}" aria-keyshortcuts="{key}"{"" if pair else " disabled"}>{said}'
        f' <kbd aria-hidden="true">{key}</kbd></button>'
        for name, said, key, pair in ways
    )


def _decision_html(item: AdjudicationItem, project: Project, around: Neighbours) -> str:
    step = STEP_NAMES[to_quarters(project.settings.step)]
    points = "".join(
        point_html(point, f'data-adjudicate="choose" data-quarters="{QUARTERS_PER_POINT * point.value}"')
        for point in scale_points(project.settings.scale_words, item.type)
    )
    causes = "".join(_cause_html(cause) for cause in Cause)
    note = item.decision.note if item.decision else ""
    withdraw = (
        '<button type="button" class="keep" data-adjudicate="withdraw">Withdraw the decision</button>'
        if item.decision
        else ""
    )
    return f"""
<h3 id="adjudicate-decision-name">Decision</h3>
<div id="adjudicate-scale" role="radiogroup" aria-labelledby="adjudicate-decision-name">{points}</div>
<div class="rate-steps">
<button type="button" data-adjudicate="down" aria-label="{step} down" aria-keyshortcuts="[">−{step}
 <kbd aria-hidden="true">[</kbd></button>
<button type="button" data-adjudicate="up" aria-label="{step} up" aria-keyshortcuts="]">+{step}
 <kbd aria-hidden="true">]</kbd></button>
<output id="adjudicate-value" aria-live="polite"><b></b> <span></span></output>
</div>
<fieldset class="adj-causes"><legend>Cause of the disagreement (required)</legend>{causes}</fieldset>
<label for="adjudicate-note" class="adj-label">Note (optional)</label>
<textarea id="adjudicate-note" rows="2" dir="auto" maxlength="{NOTE_LENGTH}">{escape(note)}</textarea>
<p id="adjudicate-draft" class="small" hidden>Your draft, not saved yet.
 <button type="button" class="keep" data-adjudicate="discard">Drop it</button></p>
<div class="adj-actions">
{_walk_html(around)}
{withdraw}
<button type="button" id="adjudicate-save" class="rate-primary" data-adjudicate="save"
 aria-keyshortcuts="Control+Enter" disabled><span>Save and next</span>
 <kbd aria-hidden="true">Ctrl+Enter</kbd></button>
</div>
<p class="rate-row"><label><input type="checkbox" id="adjudicate-keys" checked> Use keys</label>
 <span class="small">{KEYS}</span></p>"""


def _cause_html(cause: Cause) -> str:
    name, meaning = CAUSES[cause]
    return (
        f'<label><input type="radio" name="adjudicate-cause" value="{cause.value}">'
        f"<span><b>{escape(name)}</b> {escape(meaning)}</span></label>"
    )


def _history_html(history: tuple[Decision, ...]) -> str:
    if not history:
        return ""
    rows = "".join(
        f"<li><b>{'withdrawn' if one.grade is None else grade_text(one.grade)}</b> "
        f"{escape(CAUSES[one.cause][0].lower() if one.cause else '')} <bdi>{escape(one.by)}</bdi> "
        f"{time_html(one.at)}{_note_html(one.note)}</li>"
        for one in history
    )
    count = counted(len(history), "entry", "entries")
    return f'<details id="adjudicate-history"><summary>History, {count}</summary><ol>{rows}</ol></details>'


def _note_html(note: str) -> str:
    return f'<p dir="auto">{escape(note)}</p>' if note else ""
