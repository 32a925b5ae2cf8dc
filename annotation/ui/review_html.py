"""A text that waits for an editor, as HTML."""

from __future__ import annotations

from annotation.characters import beginning
from annotation.comparison import comparison_type
from annotation.scale_words import scale_points
from annotation.senses.network import is_sense_key
from annotation.senses.view import shown_items
from annotation.services.writing.waiting_texts import Submitted, WritingStep
from annotation.ui.sense_html import meaning_html
from annotation.ui.wording import counted, time_html
from kpdemo.ui.widgets import escape, note_html

NOTHING = "No texts are awaiting review. They appear here as writers submit them."
BUSY = (
    "No text can be shown now, because something else is being saved, such as a long import: wait a moment, "
    "then choose one from the list."
)
ACTIONS = {
    "submitted": "submitted",
    "blank": "left blank",
    "sent_back": "sent back",
    "handed_on": "gave to another writer",
    "edited": "edited",
    "accepted": "accepted",
}
_LABEL = 70


def queue_label(place: int, text: Submitted) -> str:
    """A line of the queue, without the requested grade: editors who see that never grade the pair."""
    _, right = shown_items(text.type, text.left, text.text, text.senses)
    return f"{place}. {comparison_type(text.type).label}: {beginning(right.text, _LABEL)}"


def text_html(text: Submitted) -> str:
    """The requested grade, the larger item, what is to be said of the text, and what was done with it."""
    kind, point = comparison_type(text.type), scale_points(text.scale_words, text.type)[text.grade]
    genre = f", {text.genre}" if text.genre else ""
    warnings = [text.no_meaning, *((text.check.problem, *text.check.warnings) if text.check else ())]
    notes = "".join(note_html(warning) for warning in warnings if warning)
    return (
        f'<div class="write-head"><span class="write-grade">{point.value}</span><div>'
        f"<p><b>Requested: <bdi>{escape(point.name)}</bdi></b></p>"
        f'<p dir="auto">{escape(point.description)}</p></div></div>'
        f"{_items_html(text)}"
        f'<p class="small">By <bdi>{escape(text.writer)}</bdi> {time_html(text.at)} · {escape(kind.label)}'
        f"<bdi>{escape(genre)}</bdi>{_size_text(text)}</p>{notes}{_steps_html(text.steps)}"
    )


def _items_html(text: Submitted) -> str:
    """The larger item; of a word and a sense both, as raters will see them."""
    kind = comparison_type(text.type)
    left, right = shown_items(text.type, text.left, text.text, text.senses)
    sides = [(kind.larger, left)]
    if not right.is_plain:  # else it stands in the field below
        sides.append((kind.smaller, right))
    return "".join(
        f'<h3>{escape(name)}</h3><div class="rate-text" dir="auto" tabindex="0" role="group"'
        f' aria-label="{escape(name)}">{escape(shown.text)}{meaning_html(shown)}</div>'
        for name, shown in sides
    )


def _size_text(text: Submitted) -> str:
    if text.check is None or is_sense_key(text.text):
        return ""
    size = text.check.size
    return escape(f" · {counted(size.words, 'word')}, {counted(size.sentences, 'sentence')}")


def _steps_html(steps: tuple[WritingStep, ...]) -> str:
    """What was done before, if there was more than submitting it."""
    if len(steps) < 2:
        return ""
    lines = "".join(
        f"<li>{time_html(step.at)} <bdi>{escape(step.by)}</bdi> {ACTIONS.get(step.action, step.action)}: "
        f'<q dir="auto">{escape(step.text)}</q>'
        + (f' <span dir="auto">– {escape(step.note)}</span>' if step.note else "")
        + "</li>"
        for step in steps
    )
    return f'<details id="review-steps"><summary>History</summary><ol>{lines}</ol></details>'
