"""What the page of a project says of pairs that will never have all their grades. No Gradio here."""

from __future__ import annotations

from annotation.comparison import comparison_type
from annotation.services.rating.stuck import StuckPair, StuckPairs
from annotation.ui.wording import counted, grouped, regrouped
from kpdemo.ui.widgets import escape

MOST_SHOWN = 20


def stuck_html(stuck: StuckPairs, project_id: int) -> str:
    """How many there are or will be, what to do, and the first of them; nothing where there are none."""
    return _stuck_html(stuck, project_id) + _short_html(stuck, project_id)


def _short_html(stuck: StuckPairs, project_id: int) -> str:
    if not stuck.short_text:
        return ""
    there = f"/annotate/project?project={project_id}"
    links = escape(f" {regrouped(stuck.links_text)}") if stuck.open_links and not stuck.total else ""
    either = "" if stuck.paused else "or "
    return (
        f'<p class="note" role="status" id="project-short">{escape(regrouped(stuck.short_text))}: '
        f'<a href="{there}&amp;tab=settings">raise the limit</a>, '
        f'{either}<a href="{there}&amp;tab=members">invite another rater</a>{stuck.paused_text}.{links}</p>'
    )


def _stuck_html(stuck: StuckPairs, project_id: int) -> str:
    if not stuck.total:
        return ""
    links = escape(f" {regrouped(stuck.links_text)}") if stuck.open_links else ""
    there = f"/annotate/project?project={project_id}"
    if not stuck.raters:
        lack = "lacks" if stuck.total == 1 else "lack"
        said = f"{counted(stuck.total, 'pair')} {lack} grades, and no rater can be given pairs."
        invite = f'<a href="{there}&amp;tab=members">Invite raters, or grade them yourself</a>'
        return f'<p class="note" role="status" id="project-stuck">{escape(said)} {invite}.{links}</p>'
    verbs = ("lacks", "it") if stuck.total == 1 else ("lack", "them")
    said = f"{counted(stuck.total, 'pair')} {verbs[0]} grades, and too few raters are left for {verbs[1]}"
    raised = f': <a href="{there}&amp;tab=settings">raise the limit</a>'
    limit = f"{escape(regrouped(stuck.limit_text))}{raised}. Or " if stuck.by_limit else ""
    invite = "invite another rater" if stuck.by_limit else "Invite another rater"
    lower = f' Or <a href="{there}&amp;tab=settings">lower the number of raters per pair</a>.'
    broken = escape(f" {regrouped(stuck.broken_text)} under All pairs.") if stuck.broken else ""
    items = "".join(f'<li dir="auto">{escape(stuck_text(pair))}</li>' for pair in stuck.items[:MOST_SHOWN])
    rest = stuck.total - min(stuck.total, MOST_SHOWN)
    more = f'<p class="small">And {grouped(rest)} more.</p>' if rest else ""
    return (
        f'<div class="note" role="status" id="project-stuck"><p>{escape(said)}. '
        f'{limit}<a href="{there}&amp;tab=members">{invite}</a>{stuck.paused_text}.'
        f"{lower if stuck.fewer_would_do else ''}{broken}{links}</p>"
        f"<details><summary>Which pairs</summary><ul>{items}</ul>{more}</details></div>"
    )


def stuck_text(pair: StuckPair) -> str:
    """p-17, Sentence to phrase: 1 grade, 1 more needed, 0 raters left, 2 skips, 1 as broken"""
    broken = f", {pair.broken} as broken" if pair.broken else ""
    return (
        f"{pair.external_id}, {comparison_type(pair.type).label}: {counted(pair.grades, 'grade')}, "
        f"{pair.missing} more needed, {counted(pair.raters_left, 'rater')} left, "
        f"{counted(pair.skips, 'skip')}{broken}"
    )
