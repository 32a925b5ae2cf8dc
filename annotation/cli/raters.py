"""`python -m annotation training`, `checks`, `quality`, `raters`, `remarks`: how raters do."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import typer

from annotation.changes import print_settings
from annotation.cli.options import (
    DatabaseOption,
    JsonOption,
    ProjectArgument,
    WordNetOption,
    decimal_option,
    open_project,
    option_errors,
)
from annotation.cli.pairs import TypeOption, summary_text
from annotation.consent import Consent
from annotation.exchange import open_file, read_known_pairs
from annotation.quality import QualitySettings, check_quality_settings
from annotation.sense_pairs import Dictionary, add_senses_to_known
from annotation.services.known_pairs import KnownPairService, KnownSummary
from annotation.services.quality import FORMER, QualityOverview, QualityService, Standing, Work, WorkService
from annotation.services.ratings import Remark, RemarkKind, RemarkService
from annotation.types import KnownPairInput, Project
from annotation.wording import UNKNOWN, beginning, figure_text, share_text
from db import DEFAULT_URL
from kpdemo.command import check_file
from kpdemo.terminal import show_json, show_line, show_table
from kpdemo.text import number_of

_FIELDS = """
Files have the fields id, type, left, right and grade (the known one) and, if wished, explanation.
"""
_TRAINING_EXAMPLES = f"""
Examples:

\b
  python -m annotation training import news training.tsv
  python -m annotation training clear news

\b{_FIELDS}"""
_CHECKS_EXAMPLES = f"""
Examples:

\b
  python -m annotation checks import news checks.jsonl
  python -m annotation quality news --check-every 20

\b{_FIELDS}"""
_QUALITY_EXAMPLES = """
Examples:

\b
  python -m annotation quality news
  python -m annotation quality news --pass-mark 80 --training-distance 0.5
  python -m annotation quality news --check-every 20 --check-distance 1
  python -m annotation quality news --training-tries 2 --block-wrong 2 --block-of 3
  python -m annotation quality news --json
"""
_COLUMNS = ("Rater", "Work", "Training", "Attempts", "Checks", "Accepted")

training = typer.Typer(
    help="Pairs that raters grade before their work.", epilog=_TRAINING_EXAMPLES, rich_markup_mode=None
)
checks = typer.Typer(help="Hidden pairs with known grades.", epilog=_CHECKS_EXAMPLES, rich_markup_mode=None)

FileArgument = Annotated[str, typer.Argument(metavar="FILE", help="TSV, CSV, XLSX, JSON Lines or .gz.")]


def register_quality(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.add_typer(training, name="training")
    app.add_typer(checks, name="checks")
    app.command("quality", epilog=_QUALITY_EXAMPLES)(quality)


@training.command("import", epilog=_TRAINING_EXAMPLES)
def import_training(
    project: ProjectArgument,
    file: FileArgument,
    type: TypeOption = None,
    wordnet: WordNetOption = None,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Import pairs with known grades, which raters grade before they begin: all of them or none."""
    database, into = open_project(database_url, project)
    pairs = _read_pairs(file, into, type, wordnet)
    summary = KnownPairService(database).import_training(into.id, pairs, files=[Path(file).name])
    show_line(_describe_import(summary, "training pair", into))


@training.command("clear")
def clear_training(project: ProjectArgument, database_url: DatabaseOption = DEFAULT_URL) -> None:
    """Stop using the training pairs; raters' grades of them are kept."""
    database, into = open_project(database_url, project)
    retired = KnownPairService(database).retire_training(into.id)
    show_line(f"{number_of(retired, 'training pair')} of {into.name} no longer used.")


@checks.command("import", epilog=_CHECKS_EXAMPLES)
def import_checks(
    project: ProjectArgument,
    file: FileArgument,
    type: TypeOption = None,
    wordnet: WordNetOption = None,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Import hidden check pairs with known grades: all of them or none."""
    database, into = open_project(database_url, project)
    pairs = _read_pairs(file, into, type, wordnet)
    summary = KnownPairService(database).import_checks(into.id, pairs, files=[Path(file).name])
    show_line(_describe_import(summary, "check pair", into))
    if not QualityService(database).settings(into.id).check_every:
        show_line("None is given to raters yet: set how often with `python -m annotation quality`.")


def quality(
    project: ProjectArgument,
    pass_mark: Annotated[
        int | None, typer.Option(help="Percentage of training grades that must be accepted to pass.")
    ] = None,
    training_distance: Annotated[
        Decimal | None,
        typer.Option(
            metavar="POINTS", parser=decimal_option, help="How far an accepted training grade may be off."
        ),
    ] = None,
    check_every: Annotated[
        int | None, typer.Option(help="Make one pair in this many a check pair; 0 for none.")
    ] = None,
    check_distance: Annotated[
        Decimal | None,
        typer.Option(
            metavar="POINTS", parser=decimal_option, help="How far an accepted check grade may be off."
        ),
    ] = None,
    training_tries: Annotated[
        int | None, typer.Option(help="How often a rater may try the training; 0 for any number.")
    ] = None,
    block_wrong: Annotated[
        int | None,
        typer.Option(help="Block raters with this many wrong grades among --block-of; 0 for never."),
    ] = None,
    block_of: Annotated[
        int | None, typer.Option(help="How many of a rater's latest check grades --block-wrong looks at.")
    ] = None,
    as_json: JsonOption = False,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Show how the raters of a project do in training and with check pairs; options change its settings."""
    database, found = open_project(database_url, project)
    service = QualityService(database)
    chosen: dict[str, Any] = {
        "pass_percent": pass_mark,
        "training_distance": training_distance,
        "check_every": check_every,
        "check_distance": check_distance,
        "training_tries": training_tries,
        "block_wrong": block_wrong,
        "block_of": block_of,
    }
    changed = {name: value for name, value in chosen.items() if value is not None}
    if changed:
        before = service.settings(found.id)
        with option_errors():
            settings = check_quality_settings(replace(before, **changed), found.settings.scale)
        service.change(found.id, settings, seen=print_settings(before))
    overview = service.overview(found.id)
    if as_json:
        show_json(overview_json(found, overview))
    else:
        _show(overview)


def _read_pairs(file: str, project: Project, type: str | None, wordnet: Path | None) -> list[KnownPairInput]:
    with open_file(check_file(file)) as source:
        settings = project.settings
        pairs = read_known_pairs(source, type=type, only_type=settings.only_type, scale=settings.scale)
        return list(add_senses_to_known(pairs, Dictionary(wordnet).open_or_none))


def _describe_import(summary: KnownSummary, noun: str, project: Project) -> str:
    said = summary_text(number_of(summary.pairs, noun), project.name, summary.duplicates, noun)
    return "\n".join([said, *summary.notes])


def overview_json(project: Project, overview: QualityOverview) -> dict[str, Any]:
    """What `--json` prints."""
    return {
        "project": project.name,
        "settings": settings_json(overview.settings),
        "training_pairs": overview.training_pairs,
        "check_pairs": overview.check_pairs,
        "raters": [_standing_json(standing, overview) for standing in overview.standings],
    }


def settings_json(settings: QualitySettings) -> dict[str, Any]:
    return {
        "pass_percent": settings.pass_percent,
        "training_distance": float(settings.training_distance),
        "check_every": settings.check_every,
        "check_distance": float(settings.check_distance),
        "training_tries": settings.training_tries,
        "block_wrong": settings.block_wrong,
        "block_of": settings.block_of,
    }


def _standing_json(standing: Standing, overview: QualityOverview) -> dict[str, Any]:
    return {
        "rater": standing.user.name,
        "former": standing.is_former,
        "paused": standing.paused_at is not None,
        "blocked": standing.blocked_at is not None,
        "training": training_word(standing, overview),
        "attempts": [
            {
                "number": attempt.number,
                "pairs": attempt.pairs,
                "accepted": attempt.accepted,
                "passed": attempt.has_passed,
                "finished_at": attempt.finished_at.isoformat(),
            }
            for attempt in standing.attempts
        ],
        "checks": standing.checks,
        "accepted_checks": standing.accepted_checks,
        "check_share": standing.accepted_checks / standing.checks if standing.checks else None,
    }


def training_word(standing: Standing, overview: QualityOverview) -> str | None:
    """How a rater stands in the training; None who is not asked for it and never tried."""
    is_asked = overview.training_pairs > 0 and not standing.is_former
    if not is_asked and not standing.attempts:
        return None
    if standing.passed_at is not None:
        return "passed"
    return "not passed" if standing.excused_at is None else "excused"


def _show(overview: QualityOverview) -> None:
    settings = overview.settings
    rows = [
        (
            standing.user.name,
            standing.work,
            training_word(standing, overview) or "–",
            ", ".join(f"{attempt.accepted}/{attempt.pairs}" for attempt in standing.attempts) or "–",
            f"{standing.checks:,}",
            share_text(standing.accepted_checks / standing.checks) if standing.checks else "–",
        )
        for standing in overview.standings
    ]
    if rows:
        show_table(_COLUMNS, rows, right=_COLUMNS[4:])
    show_line(
        f"{number_of(overview.training_pairs, 'training pair')}; the pass mark is {settings.pass_percent} % "
        f"within {settings.training_distance}."
    )
    rate = f"one pair in {settings.check_every} is one" if settings.check_every else "none is given to raters"
    show_line(
        f"{number_of(overview.check_pairs, 'check pair')}; {rate}, and a grade within "
        f"{settings.check_distance} is accepted."
    )


_COUNTS = ("Grades", "24 h", "7 days", "Skipped", "Held", "Hours", "Per hour")
_MOMENTS = ("First (UTC)", "Last (UTC)")
_AGREED = "Agreed (UTC)"
_RATERS_EXAMPLES = """
Examples:

\b
  python -m annotation raters news
  python -m annotation raters news --json | jq '.raters[] | [.rater, .last_7_days, .hours]'
"""


def register_raters(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("raters", epilog=_RATERS_EXAMPLES)(raters)


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
        show_json({"project": found.name, "raters": [_work_json(work) for work in works]})
        return
    if not works:
        show_line("No raters yet. Add one with `python -m annotation project add-member`.")
        return
    is_asked = bool(found.settings.consent)
    ever_asked = is_asked or any(work.consent for work in works)
    heads = ("Rater", *_COUNTS, *_MOMENTS, *([_AGREED] if ever_asked else []))
    rows = [
        (*_work_cells(work), *([_consent_cell(work.consent, is_asked=is_asked)] if ever_asked else []))
        for work in works
    ]
    show_table(heads, rows, right=_COUNTS)


def _work_json(work: Work) -> dict[str, Any]:
    consent = work.consent
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
        "consent": None
        if consent is None
        else {"at": consent.at.isoformat(), "sha256": consent.sha256, "current": consent.is_current},
    }


def _work_cells(work: Work) -> tuple[str, ...]:
    counts = (work.ratings, work.last_day, work.last_week, work.skipped, work.held)
    return (
        f"{work.rater} ({FORMER})" if work.is_former else work.rater,
        *(f"{count:,}" for count in counts),
        figure_text(work.hours, 1),
        figure_text(work.per_hour, 1),
        _moment(work.first_at),
        _moment(work.last_at),
    )


def _consent_cell(consent: Consent | None, *, is_asked: bool) -> str:
    """When; whether somebody did not, or to an earlier text, is told where there is a text now."""
    if consent is None:
        return "no" if is_asked else UNKNOWN
    return "earlier text" if is_asked and not consent.is_current else _moment(consent.at)


def _moment(at: datetime | None) -> str:
    return UNKNOWN if at is None else f"{at:%Y-%m-%d %H:%M}"


_SHOWN = 48
"""Characters of a text in the table."""
_HEADERS = ("Kind", "Type", "Id", "Rater", "Reason", "Text", "When (UTC)")
_REMARKS_EXAMPLES = """
Examples:

\b
  python -m annotation remarks news
  python -m annotation remarks news --json
"""


def register_remarks(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("remarks", epilog=_REMARKS_EXAMPLES)(remarks)


def remarks(
    project: ProjectArgument,
    as_json: JsonOption = False,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """List the comments and skips of the raters, problems first, then the newest."""
    database, found = open_project(database_url, project)
    page = RemarkService(database).remarks(found.id, limit=None)
    if as_json:
        said = [_remark_json(remark) for remark in page.items]
        show_json({"project": found.name, "counts": page.counts, "remarks": said})
        return
    if page.items:
        show_table(_HEADERS, [_remark_cells(remark) for remark in page.items])
    problems, comments, skips = (page.counts[kind] for kind in RemarkKind)
    show_line(f"{problems:,} problems, {comments:,} other comments, {skips:,} skipped.")


def _remark_json(remark: Remark) -> dict[str, Any]:
    return {
        "kind": remark.kind,
        "id": remark.external_id,
        "type": remark.type,
        "left": remark.left,
        "right": remark.right,
        "rater": remark.rater,
        "reason": remark.reason,
        "text": remark.text,
        "at": remark.at.isoformat(),
        "check": remark.is_check,
        "withdrawn": remark.is_withdrawn,
    }


def _remark_cells(remark: Remark) -> tuple[object, ...]:
    marks = [" (check)"] * remark.is_check + [" (withdrawn)"] * remark.is_withdrawn
    return (
        remark.kind,
        "".join([remark.type, *marks]),
        remark.external_id,
        remark.rater,
        remark.reason or "",
        beginning(remark.text, _SHOWN),
        f"{remark.at:%Y-%m-%d %H:%M}",
    )
