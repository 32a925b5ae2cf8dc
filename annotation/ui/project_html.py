"""What the page of a project says of its pairs and of what was done. No Gradio here."""

from __future__ import annotations

from collections.abc import Sequence

from annotation.comparison import comparison_type
from annotation.event_words import detail_words, earlier_texts
from annotation.projects import ProjectCounts
from annotation.services.events import Event
from annotation.ui.tables import listing_html
from annotation.ui.wording import all_withdrawn_text, counted, grouped, progress_html, time_html
from kpdemo.ui.widgets import empty_html, escape

NO_PAIRS = "No pairs yet. Import a file of pairs, then invite raters."
NO_EVENTS = "Nothing has been done yet."
LONGEST_SHOWN = 10_000
"""Characters of a text that was replaced."""
LONG_TEXT = "The text before: python -m annotation events PROJECT --json, and the manifest of gold sets."


def counts_html(counts: ProjectCounts) -> str:
    """How far the project is, for each type and genre."""
    if not counts.pairs:
        return empty_html(all_withdrawn_text(counts.withdrawn) if counts.withdrawn else NO_PAIRS)
    done = f"{grouped(counts.finished)} of {counted(counts.pairs, 'pair')} fully graded"
    said = f"{counted(counts.ratings, 'grade')} · {grouped(counts.flagged)} flagged"
    said += f", {grouped(counts.to_adjudicate)} to adjudicate" if counts.flagged else ""
    said += f" · {counted(counts.withdrawn, 'pair')} withdrawn" if counts.withdrawn else ""
    rows = "".join(
        f'<tr><th scope="row" dir="auto">{escape(comparison_type(group.type).label)}</th>'
        f'<td dir="auto">{escape(group.genre or "–")}</td>'
        + "".join(
            f'<td class="number">{grouped(figure)}</td>'
            for figure in (group.pairs, group.finished, group.ratings, group.flagged)
        )
        + "</tr>"
        for group in counts.groups
    )
    heads = ("Type", "Genre", "Pairs", "Fully graded", "Grades", "Flagged")
    return (
        f"<p>{progress_html(counts.finished, counts.pairs, done)}</p><p>{escape(said)}</p>"
        f"{listing_html(heads, rows, numbers=range(2, len(heads)), label='Pairs by type')}"
    )


def events_html(events: Sequence[Event]) -> str:
    """What was done, the last thing first."""
    if not events:
        return empty_html(NO_EVENTS)
    rows = "".join(
        f"<tr><td>{time_html(event.at)}</td>"
        f'<td dir="auto">{escape(event.user or "command line")}</td><td>{escape(event.action)}</td>'
        f'<td dir="auto">{_detail_html(event)}</td></tr>'
        for event in events
    )
    return listing_html(("When", "Who", "What", "Details"), rows, label="Events")


def _detail_html(event: Event) -> str:
    """In words; texts that were replaced can be read where they are not too long for a table."""
    words = escape(detail_words(event.detail, grouped))
    return words + "".join(_earlier_html(*earlier) for earlier in earlier_texts(event.detail).items())


def _earlier_html(name: str, text: str) -> str:
    if len(text) > LONGEST_SHOWN:
        return f"<br>{LONG_TEXT}"
    return (
        f"<details><summary>{escape(name.capitalize())} before</summary>"
        f'<p class="earlier-text" dir="auto">{escape(text)}</p></details>'
    )
