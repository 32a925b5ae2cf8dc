"""Larger items as HTML: the list, how large they may be, and what an import did."""

from __future__ import annotations

from annotation.authoring import ItemSummary
from annotation.characters import beginning
from annotation.comparison import comparison_type
from annotation.services.writing.items import LISTED, ItemLine
from annotation.services.writing.plan import WritingTerms
from annotation.sizes import guidance, size_of
from annotation.ui.importing import imported_html
from annotation.ui.tables import listing_html
from annotation.ui.wording import counted, grouped
from kpdemo.ui.widgets import empty_html, escape

NO_ITEMS = "No larger items yet. Import a file, then invite writers on the project's page."
_SHOWN = 90


def items_html(lines: list[ItemLine], count: int) -> str:
    """The first items, and how far each is."""
    if not lines:
        return empty_html(NO_ITEMS)
    rows = "".join(
        f'<tr><th scope="row" dir="auto">{escape(line.id)}</th>'
        f'<td dir="auto">{escape(comparison_type(line.type).label)}</td>'
        f'<td dir="auto">{escape(line.genre or "–")}</td>'
        f'<td dir="auto">{escape(beginning(line.text, _SHOWN))}</td>'
        f'<td class="number">{grouped(size_of(line.text).words)}</td><td>{escape(_state(line))}</td></tr>'
        for line in lines
    )
    heads = ("Id", "Type", "Genre", "Text", "Words", "State")
    more = f", the first {LISTED} below" if count > len(lines) else ""
    listing = listing_html(heads, rows, numbers=(4,), label="Larger items")
    return f"<p>{escape(counted(count, 'larger item'))}{more}</p>{listing}"


def bounds_html(plan: WritingTerms, types: tuple[str, ...]) -> str:
    """The bounds of every type."""
    lines = "".join(
        f"<li><bdi>{escape(comparison_type(type).label)}</bdi>: {escape(guidance(plan.of(type).larger))}; "
        f"{escape(guidance(plan.of(type).smaller))}</li>"
        for type in types
    )
    return f'<ul class="small">{lines}</ul>'


def summary_html(summary: ItemSummary) -> str:
    """What was imported, and what was there already."""
    said = f"Imported {counted(summary.items, 'larger item')}."
    return imported_html(said, summary.duplicates, has_new=summary.items > 0, noun="item")


def _state(line: ItemLine) -> str:
    """How far it is. Nothing shows that its grade is 0: a person who knows that must not grade its pair."""
    said = {"reserved": "unwritten", "paired": "accepted"}.get(line.state, line.state.replace("_", " "))
    return f"{said}, left blank {line.blanks} ×" if line.blanks else said
