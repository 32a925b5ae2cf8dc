"""The commands on agreement: python -m annotation agreement PROJECT, and plan PROJECT."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from annotation.adjudication import rule_text
from annotation.agreement import DEFAULT_RESAMPLES, DEFAULT_SEED, Alpha
from annotation.cli.options import (
    MOST_RESAMPLES,
    DatabaseOption,
    JsonOption,
    LatexOption,
    ProjectArgument,
    ResamplesOption,
    SeedOption,
    open_project,
    refuse_two_forms,
)
from annotation.quality import describe_excluded
from annotation.reliability.planning import DEFAULT_WIDTH, NARROWEST, WIDEST, plan_sentences, plan_to_json
from annotation.reliability.report import (
    AgreementReport,
    Part,
    agreement_to_json,
    agreement_to_latex,
    shares,
)
from annotation.reliability.upper_bound import AgainstOthers, UpperBound, mean_of_text
from annotation.scoring import Estimate
from annotation.services.agreement import AgreementService
from annotation.wording import figure_text, name_order, range_text, share_text
from db import DEFAULT_URL
from kpdemo.terminal import show_json, show_line, show_table

_FIGURES = ("With two grades", "α all", "95 %", "α unadjudicated", "95 % ", "Nominal", "Ordinal", "Flagged")
_EXAMPLES = """
Examples:

\b
  python -m annotation agreement news
  python -m annotation agreement news --json | jq .alpha.all
  python -m annotation agreement news --resamples 5000 --seed 7
  python -m annotation agreement news --latex > agreement.tex
"""
_PLAN_EXAMPLES = """
Examples:

\b
  python -m annotation plan news
  python -m annotation plan news --width 0.02 --json | jq .more_pairs
"""


def register_agreement(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("agreement", epilog=_EXAMPLES)(agreement)
    app.command("plan", epilog=_PLAN_EXAMPLES)(plan)


def agreement(
    project: ProjectArgument,
    resamples: ResamplesOption = DEFAULT_RESAMPLES,
    seed: SeedOption = DEFAULT_SEED,
    as_json: JsonOption = False,
    as_latex: LatexOption = False,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Print how well raters agree: Krippendorff's α with 95 % intervals, and which raters and pairs lower it.

    Only pairs with grades of two raters or more count. α is 1 if all agree and 0 if they agree no better than
    by chance; if there is nothing to compare it is undefined, and the reason is given.
    """
    refuse_two_forms(as_json=as_json, as_latex=as_latex)
    database, of = open_project(database_url, project)
    report = AgreementService(database).report(of.id, resamples=resamples, seed=seed)
    if as_json:
        show_json(agreement_to_json(report))
    elif as_latex:
        show_line(agreement_to_latex(report, made_by="python -m annotation agreement --latex"))
    else:
        _show(report)


def plan(
    project: ProjectArgument,
    width: Annotated[
        float, typer.Option(min=NARROWEST, max=WIDEST, help="How wide the 95 % interval of α may be.")
    ] = DEFAULT_WIDTH,
    resamples: Annotated[
        int, typer.Option(min=100, max=MOST_RESAMPLES, help="Bootstrap resamples for each number of pairs.")
    ] = DEFAULT_RESAMPLES,
    seed: SeedOption = DEFAULT_SEED,
    as_json: JsonOption = False,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Estimate how many more pairs are needed to make the interval of α as narrow as you want.

    From the ratings so far, assuming that new pairs are like the old ones, also in their number of ratings.
    The estimate comes with its own interval; with fewer than 50 pairs none is made.
    """
    database, of = open_project(database_url, project)
    found, waiting = AgreementService(database).plan(of.id, width, resamples=resamples, seed=seed)
    if as_json:
        show_json({"project": of.name, **plan_to_json(found), "waiting_pairs": waiting})
        return
    for sentence in plan_sentences(found, waiting):
        show_line(sentence)
    for step in found.steps:
        show_line(f"{step.pairs:,} pairs: {figure_text(step.width)} wide")


def _show(report: AgreementReport) -> None:
    whole = report.whole
    parts = report.named_parts
    show_table(
        ("", *_FIGURES),
        [(name, *_part_cells(part)) for name, part in parts],
        title=report.project,
        right=_FIGURES,
    )
    for label, alpha in (("All", whole.all), ("Unadjudicated", whole.unadjudicated)):
        if remark := alpha.reason or alpha.remark:
            show_line(f"{label}: {remark}")
    for reason, names in _reasons(parts[1:]).items():
        if reason != whole.all.reason:
            show_line(f"{', '.join(names)}: {reason}")
    for note in report.notes:
        show_line(note)
    _show_raters(report)
    _show_twice(report)
    _show_upper_bounds(report)
    _show_grades(report)
    show_line("")
    if report.plan.more_pairs:
        for sentence in plan_sentences(report.plan, whole.pairs - whole.all.pairs):
            show_line(sentence)
    decisions = f", {whole.decisions_text}" if whole.decisions_text else ""
    show_line(
        f"{whole.pairs:,} pairs, {whole.ratings:,} grades, {whole.finished:,} pairs done, "
        f"{whole.flagged:,} flagged ({rule_text(report.threshold)}){decisions}."
    )
    if said := describe_excluded(report.set_aside):
        show_line(said)
    show_line(
        "Krippendorff's α, interval level; unadjudicated: pairs neither flagged nor decided; percentile "
        f"bootstrap over pairs, {report.resamples:,} resamples, seed {report.seed}."
    )


def _reasons(parts: Sequence[tuple[str, Part]]) -> dict[str, list[str]]:
    """Why α is undefined, with the names of the parts where it is."""
    reasons: dict[str, list[str]] = {}
    for name, part in parts:
        if part.all.reason:
            reasons.setdefault(part.all.reason, []).append(name)
    return reasons


def _show_raters(report: AgreementReport) -> None:
    if not report.raters:
        return
    names = report.rater_names
    without = {row.rater: row.alpha for row in report.left_out}
    columns = ("Grades", "Mean", "SD", "Median s", "Above others", "α without", "95 %")
    rows = [
        (
            names[row.rater],
            f"{row.ratings:,}",
            figure_text(row.mean, 2),
            figure_text(row.spread, 2),
            figure_text(row.median_seconds, 1),
            figure_text(row.bias, 2, sign="+"),
            *_alpha_cells(without[row.rater]),
        )
        for row in sorted(report.raters, key=lambda row: name_order(names[row.rater]))
    ]
    show_line("")
    show_table(("Rater", *columns), rows, right=columns)
    for _, sentence in report.conspicuous:
        show_line(sentence)
    for drift in report.drifts:
        if drift.is_clear:
            moved = f"{names[drift.rater]} moved by {figure_text(drift.change, 2, sign='+')}"
            show_line(f"{moved} against the others, from the first grades to the last.")
    if report.rater_pairs:
        pair_columns = ("Pairs", "α", "95 %")
        pairs = [
            (
                " – ".join(sorted((names[row.first], names[row.second]), key=name_order)),
                f"{row.alpha.pairs:,}",
                *_alpha_cells(row.alpha),
            )
            for row in report.rater_pairs
        ]
        show_line("")
        show_table(("Two raters", *pair_columns), pairs, right=pair_columns)


def _show_twice(report: AgreementReport) -> None:
    """How well raters agree with themselves; nothing where no pair came back."""
    whole = report.twice
    if whole is None or not whole.pairs:
        return
    columns = ("Pairs", "Mean difference", "Identical", "α", "95 %")
    named = [(report.rater_names[each.rater or 0], each) for each in report.twice_by_rater]
    rows = [
        (
            name,
            f"{each.pairs:,}",
            figure_text(each.difference, 2),
            "" if each.identical is None else share_text(each.identical, 1),
            *_alpha_cells(each.alpha),
        )
        for name, each in [*sorted(named, key=lambda row: name_order(row[0])), ("all raters", whole)]
    ]
    show_line("")
    show_table(("Graded twice", *columns), rows, right=columns)
    reasons: dict[str, list[str]] = {}
    for name, each in [*named, ("all raters", whole)]:
        if each.alpha.reason:
            reasons.setdefault(each.alpha.reason, []).append(name)
    for reason, names in reasons.items():
        show_line(f"{', '.join(names)}: {reason}")


def _show_upper_bounds(report: AgreementReport) -> None:
    columns = ("Pearson", "95 %", "Spearman", "95 % ", "Pairs")
    rows: list[Sequence[str]] = []
    reasons: dict[str, list[str]] = {}
    for bound in (bound for bound in report.upper_bounds if bound.raters):
        rows.append((bound.type, mean_of_text(bound.counted), *_correlation_cells(bound)))
        named = sorted(bound.raters, key=lambda row: name_order(report.rater_names[row.rater]))
        rows += [("", report.rater_names[row.rater], *_correlation_cells(row)) for row in named]
        for row in (row for row in named if row.pearson.reason):
            name = f"{report.rater_names[row.rater]} ({bound.type})"
            reasons.setdefault(row.pearson.reason, []).append(name)
    if rows:
        show_line("")
        show_table(("Against the others", "Rater", *columns), rows, right=columns)
    for reason, names in reasons.items():
        show_line(f"{', '.join(names)}: {reason}")


def _correlation_cells(found: UpperBound | AgainstOthers) -> Sequence[str]:
    both = (found.pearson, found.spearman)
    cells = (cell for estimate in both for cell in _alpha_cells(estimate))
    return *cells, f"{found.pairs:,}"


def _show_grades(report: AgreementReport) -> None:
    parts = [part for part in report.by_type if part.ratings]
    if parts:
        show_line("")
        rows = [
            (part.name, *(share_text(share, 1) for share in shares(part.buckets) or ())) for part in parts
        ]
        show_table(("Share of grades", *report.bucket_names), rows, right=report.bucket_names)


def _part_cells(part: Part) -> Sequence[str]:
    return (
        f"{part.all.pairs:,}",
        *_alpha_cells(part.all),
        *_alpha_cells(part.unadjudicated),
        figure_text(part.all.nominal),
        figure_text(part.all.ordinal),
        f"{part.flagged:,}",
    )


def _alpha_cells(alpha: Alpha | Estimate) -> tuple[str, str]:
    value = "undefined" if alpha.value is None else figure_text(alpha.value)
    return value, range_text(alpha.low, alpha.high)
