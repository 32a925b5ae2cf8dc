"""The command that tells who worked how much: python -m annotation raters PROJECT."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import typer

from annotation.commands.options import DatabaseOption, JsonOption, ProjectArgument, open_project
from annotation.consent import Consent
from annotation.figures import UNKNOWN, figure_text
from annotation.services.standings import FORMER
from annotation.services.work import Work, WorkService
from annotation.terminal import show_json, show_line, show_table
from db import DEFAULT_URL

_COUNTS = ("Grades", "24 h", "7 days", "Skipped", "Held", "Hours", "Per hour")
_MOMENTS = ("First (UTC)", "Last (UTC)")
_AGREED = "Agreed (UTC)"
_EXAMPLES = """
Examples:

\b
  python -m annotation raters news
  python -m annotation raters news --json | jq '.raters[] | [.rater, .last_7_days, .hours]'
"""


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("raters", epilog=_EXAMPLES)(raters)


def raters(
    project: ProjectArgument,
    as_json: JsonOption = False,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """List how much each rater has worked: grades, skips, hours, first and last activity.

    Grades of check pairs are counted too, and so are grades that no longer count because they were set aside
    or their pair was withdrawn. Hours are the time that graded pairs were looked at; imported grades have no
    time. If the project has or had a consent text, the list says when each rater agreed to it.
    """
    database, found = open_project(database_url, project)
    works = WorkService(database).work(found.id)
    if as_json:
        show_json({"project": found.name, "raters": [_as_json(work) for work in works]})
        return
    if not works:
        show_line("No raters yet. Add one with `python -m annotation project add-member`.")
        return
    is_asked = bool(found.settings.consent)
    ever_asked = is_asked or any(work.consent for work in works)
    heads = ("Rater", *_COUNTS, *_MOMENTS, *([_AGREED] if ever_asked else []))
    rows = [
        (*_cells(work), *([_agreed(work.consent, is_asked=is_asked)] if ever_asked else [])) for work in works
    ]
    show_table(heads, rows, right=_COUNTS)


def _as_json(work: Work) -> dict[str, Any]:
    return {
        "rater": work.rater,
        "former": work.is_former,
        "ratings": work.ratings,
        "imported": work.imported,
        "checks": work.checks,
        "withdrawn": work.withdrawn,
        "set_aside": work.set_aside,
        "last_24_hours": work.last_day,
        "last_7_days": work.last_week,
        "skipped": work.skipped,
        "held": work.held,
        "hours": work.hours,
        "per_hour": work.per_hour,
        "first_at": None if work.first_at is None else work.first_at.isoformat(),
        "last_at": None if work.last_at is None else work.last_at.isoformat(),
        "consent": None if work.consent is None else _consent_json(work.consent),
    }


def _consent_json(consent: Consent) -> dict[str, Any]:
    return {"at": consent.at.isoformat(), "sha256": consent.sha256, "current": consent.is_current}


def _cells(work: Work) -> tuple[str, ...]:
    counts = (work.ratings, work.last_day, work.last_week, work.skipped, work.held)
    return (
        f"{work.rater} ({FORMER})" if work.is_former else work.rater,
        *(f"{count:,}" for count in counts),
        figure_text(work.hours, 1),
        figure_text(work.per_hour, 1),
        _moment(work.first_at),
        _moment(work.last_at),
    )


def _agreed(consent: Consent | None, *, is_asked: bool) -> str:
    """When; whether somebody did not, or to an earlier text, is told where there is a text now."""
    if consent is None:
        return "no" if is_asked else UNKNOWN
    return "earlier text" if is_asked and not consent.is_current else _moment(consent.at)


def _moment(at: datetime | None) -> str:
    return UNKNOWN if at is None else f"{at:%Y-%m-%d %H:%M}"
