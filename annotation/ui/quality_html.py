"""How many pairs of known grades there are, what was imported, and how each rater does, as HTML."""

from __future__ import annotations

from collections.abc import Sequence

from annotation.characters import beginning
from annotation.import_notes import known_grades_note
from annotation.services.known_pairs import KnownLine, KnownSummary
from annotation.services.quality import QualityOverview
from annotation.services.standings import FORMER, Standing
from annotation.services.work import Work
from annotation.shares import share_text
from annotation.ui.importing import imported_html
from annotation.ui.tables import Column, Table, listing_html, table_html
from annotation.ui.wording import counted, grouped, time_html
from kpdemo.ui.widgets import empty_html, escape, note_html

LABEL = 60
NO_RATERS = "No raters yet. Add one in the tab Members."
NO_KNOWN = "No pairs with a known grade yet. Import training or check pairs above."
WORK_SAYS = (
    "Grades of check pairs are included, and so are those that no longer count because they were set aside "
    "or their pair was withdrawn. Hours are how long the graded pairs were on the rater's screen, in a "
    "visible window; imported grades have no time."
)


def training_html(overview: QualityOverview) -> str:
    """How many training pairs there are, and what that means."""
    if not overview.training_pairs:
        return empty_html("No training pairs: raters start working at once.")
    return f"<p>{escape(counted(overview.training_pairs, 'training pair'))} in use.</p>"


def checks_html(overview: QualityOverview) -> str:
    """How many check pairs there are, and whether they are given out."""
    if not overview.check_pairs:
        return empty_html("No check pairs yet.")
    every = overview.settings.check_every
    rate = (
        f"One pair in {every} is one of them." if every else "None are shown yet: choose how often, and save."
    )
    return f"<p>{escape(counted(overview.check_pairs, 'check pair'))}. {escape(rate)}</p>"


def known_label(line: KnownLine) -> str:
    """A line of the list of pairs: which it is, and how its smaller item begins."""
    return f"{line.kind} {line.external_id}: {beginning(line.right, LABEL)}"


def known_html(line: KnownLine) -> str:
    """Both items of a pair."""
    sides = "".join(
        f'<div class="rate-text" dir="auto">{escape(text)}</div>' for text in (line.left, line.right)
    )
    return f'<div class="rate-items known-pair" role="group" aria-label="The pair">{sides}</div>'


def summary_html(summary: KnownSummary, noun: str) -> str:
    """What was imported, and what was there already."""
    said = f"Imported {counted(summary.pairs, noun)}."
    note = known_grades_note(summary.ratings_left_out)
    imported = imported_html(said, summary.duplicates, has_new=summary.pairs > 0)
    return f"{imported}{note_html(note) if note else ''}"


def standings_html(overview: QualityOverview) -> str:
    """A row for each rater."""
    if not overview.standings:
        return empty_html(NO_RATERS)
    rows = "".join(_standing_html(standing, overview) for standing in overview.standings)
    heads = ("Rater", "Work", "Training", "Attempts", "Check pairs", "Accepted")
    return listing_html(heads, rows, numbers=(4, 5), label="Raters")


def _standing_html(standing: Standing, overview: QualityOverview) -> str:
    share = share_text(standing.accepted_checks / standing.checks) if standing.checks else "–"
    attempts = ", ".join(f"{each.accepted} of {each.pairs}" for each in standing.attempts)
    paused = None if standing.is_former else standing.paused_at
    work = standing.work if paused is None else f"{standing.work} since {time_html(paused)}"
    return (
        f'<tr><th scope="row" dir="auto">{escape(standing.user.name)}</th><td>{work}</td>'
        f"<td>{_training_state(standing, overview)}</td><td>{escape(attempts or '–')}</td>"
        f'<td class="number">{grouped(standing.checks)}</td><td class="number">{share}</td></tr>'
    )


def _training_state(standing: Standing, overview: QualityOverview) -> str:
    if standing.passed_at is not None:
        return f"passed {time_html(standing.passed_at)}"
    if standing.excused_at is not None:
        return "excused"
    return "not passed yet" if overview.training_pairs and not standing.is_former else "–"


def work_table(works: Sequence[Work]) -> Table:
    """A row for each rater, and for each former rater who did something."""
    rows = tuple(
        (
            work.rater,
            FORMER if work.is_former else "rater",
            work.ratings,
            work.last_day,
            work.last_week,
            work.skipped,
            work.held,
            work.hours,
            work.per_hour,
            work.first_at,
            work.last_at,
        )
        for work in works
    )
    columns = (
        Column("Rater", text=True),
        Column("Now", text=True),
        Column("Grades"),
        Column("Last 24 hours"),
        Column("Last 7 days"),
        Column("Skipped"),
        Column("Held now"),
        Column("Hours", 1),
        Column("Grades an hour", 1),
        Column("First", text=True),
        Column("Last", text=True),
    )
    return Table("work", "The work of each rater", columns, rows)


def work_html(works: Sequence[Work], project: str) -> str:
    """The table with what it counts."""
    if not works:
        return empty_html(NO_RATERS)
    return f"<p>{escape(WORK_SAYS)}</p>{table_html(work_table(works), project, page='quality')}"
