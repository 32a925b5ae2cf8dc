"""The queue of adjudication as HTML: its filters, and the pairs with their spread and state."""

from __future__ import annotations

from dataclasses import dataclass

from annotation.adjudication import QueueEntry, QueuePage, Which, grade_text
from annotation.comparison import comparison_type
from annotation.senses.view import shown_items
from annotation.ui.wording import grouped, held_back_text
from kpdemo.ui.widgets import escape

PARTS = {Which.OPEN: "Open", Which.DECIDED: "Decided", Which.ALL: "All"}

NEWS = (
    '<p id="adjudicate-news" class="adj-news"><span role="status"></span> '
    '<button type="button" class="keep" data-adjudicate="refresh" hidden>Refresh</button></p>'
)
"""Where the script tells that the queue has changed since."""
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
        f'<nav class="adj-queue" aria-label="Queue" data-which="{view.which}" data-shown="{view.shown}"'
        f' data-type="{escape(view.type or "")}">'
        f'<div class="adj-parts" role="group" aria-label="Which pairs">{parts}</div>'
        f"{_types_html(page.types, view)}{NEWS}{listed}{more}{left_out}</nav>"
    )


def _part_html(part: Which, count: int, view: View) -> str:
    pressed = str(part is view.which).lower()
    return (
        f'<button type="button" data-adjudicate="part" data-part="{part}" data-count="{count}"'
        f' aria-pressed="{pressed}">'
        f"{PARTS[part]} <span>{grouped(count)}</span></button>"
    )


def _types_html(types: tuple[str, ...], view: View) -> str:
    if len(types) < 2 and view.type is None:
        return ""
    listed = types if view.type is None or view.type in types else (*types, view.type)
    options = "".join(
        f'<option value="{escape(name)}"{" selected" if name == view.type else ""}>'
        f"{escape(comparison_type(name).label)}</option>"
        for name in listed
    )
    return (
        '<label class="adj-type">Type <select id="adjudicate-type">'
        f'<option value="">all types</option>{options}</select></label>'
    )


def _more_html(rest: int, view: View) -> str:
    if view.shown < MOST_SHOWN:
        return f'<button type="button" class="keep" data-adjudicate="more">{grouped(rest)} more</button>'
    return (
        f'<p class="small">{grouped(rest)} more not listed: choose a part or a type with fewer pairs, or go '
        "on with Next.</p>"
    )


def _empty_part(view: View) -> str:
    return {
        Which.OPEN: "No pairs await a decision.",
        Which.DECIDED: "No decisions yet.",
        Which.ALL: "No pairs have been flagged.",
    }[view.which]


def _entry_html(entry: QueueEntry, current: int | None) -> str:
    here = ' aria-current="true"' if entry.pair_id == current else ""
    state = "open"
    if entry.decided is not None:
        state = f"decided {grade_text(entry.decided)}" if not entry.is_open else "open again"
    left, right = shown_items(entry.type, entry.left, entry.right, entry.senses)
    return (
        f'<li><button type="button" data-adjudicate="pair" data-pair="{entry.pair_id}"{here}>'
        f'<span class="adj-spread"><b>{grade_text(entry.spread)}</b> apart</span>'
        f'<span class="adj-kind">{escape(comparison_type(entry.type).label)}</span>'
        f'<span class="adj-state" data-open="{str(entry.is_open).lower()}">{state}</span>'
        f'<span class="adj-items"><bdi>{escape(left.text)}</bdi> / <bdi>{escape(right.text)}</bdi></span>'
        "</button></li>"
    )
