"""The meaning of a word or sense as HTML, under the word itself."""

from __future__ import annotations

from annotation.senses.network import SenseText
from annotation.senses.view import SenseGroup, ShownItem
from annotation.ui.wording import grouped
from kpdemo.ui.widgets import escape


def meaning_html(item: ShownItem) -> str:
    """Note, definition, and the senses around; nothing where the text is all there is."""
    if item.is_plain:
        return ""
    note = f'<p class="sense-note">{escape(item.note)}</p>' if item.note else ""
    definition = (
        f'<p class="sense-definition" dir="auto">{escape(item.definition)}</p>' if item.definition else ""
    )
    return f'<div class="sense-more">{note}{definition}{"".join(map(group_html, item.groups))}</div>'


def cell_html(item: ShownItem) -> str:
    """A cell of a table: the text and, of a word or sense, its definition."""
    definition = f"<small>{escape(item.definition)}</small>" if item.definition else ""
    return f'<td dir="auto">{escape(item.text)}{definition}</td>'


def group_html(group: SenseGroup) -> str:
    """Senses around one, each with its definition."""
    more = f"<li>and {grouped(group.more)} more</li>" if group.more else ""
    return (
        f"<details open><summary>{escape(group.title)}</summary>"
        f"<ul>{''.join(map(_text_html, group.texts))}{more}</ul></details>"
    )


def _text_html(text: SenseText) -> str:
    return f'<li dir="auto"><b>{escape(text.words)}</b> {escape(text.definition)}</li>'
