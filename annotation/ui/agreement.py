"""The agreement page: is it good enough, where is it low, who differs, which pairs. It renews itself."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import gradio as gr

from annotation.adjudication import rule_text
from annotation.agreement import ENOUGH_PAIRS, MANY_PAIRS, Alpha, PartSize, few_parts_text, too_few_text
from annotation.errors import AccessError, AnnotationError, SignedOutError
from annotation.quality import describe_excluded
from annotation.reliability.planning import DEFAULT_WIDTH, Plan, plan_sentences
from annotation.reliability.raters import FEWEST_IN_WINDOW, MOST_WINDOWS
from annotation.reliability.report import (
    SHOWN_CHARACTERS,
    AgreementReport,
    Part,
    agreement_to_latex,
    shares,
)
from annotation.reliability.upper_bound import AgainstOthers, UpperBound, mean_of_text
from annotation.services.accounts import AccountService
from annotation.services.agreement import AgreementService
from annotation.services.bundle import DamagedError, UnreachableError
from annotation.translation import _, mark, ngettext, tell
from annotation.types import Clock, utcnow
from annotation.ui.figures import (
    CUSTOMARY_LINES,
    UNDEFINED,
    Cell,
    Column,
    Series,
    Table,
    alpha_chart,
    alpha_of,
    bias_chart,
    bucket_text,
    drift_chart,
    file_name,
    grades_chart,
    interval_text,
    latex_button,
    reasons_html,
    save_all_button,
    table_csv,
    table_html,
    type_label,
    undefined_html,
)
from annotation.ui.widgets import Parts, decimal_field, decimal_of, require_leader
from annotation.ui.wording import (
    all_withdrawn_text,
    figure,
    grades_text,
    held_back_text,
    pairs_text,
    regroup_numbers,
    time_html,
)
from annotation.wording import name_order
from kpdemo.text import shorten
from kpdemo.translation import ENGLISH, use_language
from kpdemo.ui.charts import Chart, chart_buttons, show_chart
from kpdemo.ui.html import escape, group_digits
from kpdemo.ui.widgets import QUIETLY, empty_html, note_html, section_heading, shown_to_user, unseen_box


def types_table(report: AgreementReport) -> Table:
    return _parts_table("types", _("Type"), _("Agreement by type"), type_parts(report))


def genres_table(report: AgreementReport) -> Table:
    return _parts_table("genres", _("Genre"), _("Agreement by genre"), genre_parts(report))


def _parts_table(name: str, heading: str, caption: str, parts: Sequence[tuple[str, Part]]) -> Table:
    """α of types or genres, and how far they are."""
    columns = (
        Column(heading, text=True),
        Column(_("α of all pairs")),
        Column(_("α of unadjudicated pairs")),
        Column(_("α ordinal"), 3),
        Column(_("α nominal"), 3),
        Column(_("Pairs")),
        Column(_("Done")),
        Column(_("Grades")),
        Column(_("Flagged")),
    )
    rows = tuple(
        (
            label,
            part.all,
            part.unadjudicated,
            part.all.ordinal,
            part.all.nominal,
            part.pairs,
            part.finished,
            part.ratings,
            part.flagged,
        )
        for label, part in parts
    )
    return Table(name, caption, columns, rows)


def type_parts(report: AgreementReport) -> list[tuple[str, Part]]:
    """The types that have pairs, as they are called on the pages."""
    return [(type_label(part.name), part) for part in report.by_type if part.pairs]


def genre_parts(report: AgreementReport) -> list[tuple[str, Part]]:
    return [(part.name or _("no genre"), part) for part in report.by_genre]


def grades_table(report: AgreementReport) -> Table:
    """What part of the grades of each type is in each bucket, as in the task paper's Figure 1."""
    parts = [*((label, part) for label, part in type_parts(report)), (_("all types"), report.whole)]
    rows = tuple(
        (label, *(shares(part.buckets) or (None,) * len(report.bucket_names)), part.ratings)
        for label, part in parts
    )
    columns = (
        Column(_("Type"), text=True),
        *(Column(bucket_text(name), 1, percent=True) for name in report.bucket_names),
        Column(_("Grades")),
    )
    return Table("grades", _("Share of the grades by type"), columns, rows)


def raters_table(report: AgreementReport) -> Table:
    """Each rater beside the others, by name."""
    without = {row.rater: row.alpha for row in report.left_out}
    figures = sorted(report.raters, key=lambda row: name_order(report.rater_names[row.rater]))
    rows = tuple(
        (
            report.rater_names[row.rater],
            row.ratings,
            row.mean,
            row.spread,
            row.median_seconds,
            row.bias,
            row.shared,
            without[row.rater],
        )
        for row in figures
    )
    columns = (
        Column(_("Rater"), text=True),
        Column(_("Grades")),
        Column(_("Mean")),
        Column(_("Spread (SD)")),
        Column(_("Median seconds"), 1),
        Column(_("Above the others"), signed=True),
        Column(_("Shared pairs")),
        Column(_("α without them")),
    )
    return Table("raters", _("The raters"), columns, rows)


def drift_table(report: AgreementReport) -> Table:
    """Who moved against the others: the first and the last window of each rater, by name."""
    told = [drift for drift in report.drifts if drift.windows]
    rows = tuple(
        (
            report.rater_names[drift.rater],
            len(drift.windows),
            sum(window.ratings for window in drift.windows),
            drift.windows[0].mean,
            drift.windows[-1].mean,
            drift.change,
            _("yes") if drift.is_clear else _("no") if drift.change is not None else "",
        )
        for drift in sorted(told, key=lambda drift: name_order(report.rater_names[drift.rater]))
    )
    columns = (
        Column(_("Rater"), text=True),
        Column(_("Windows")),
        Column(_("Grades compared")),
        Column(_("First window"), signed=True),
        Column(_("Last window"), signed=True),
        Column(_("Change"), signed=True),
        Column(_("Clear"), text=True),
    )
    return Table("drift", _("The raters over time"), columns, rows)


def rater_pairs_table(report: AgreementReport) -> Table:
    rows = tuple(
        (pair_label(report, row.first, row.second), row.alpha, row.alpha.pairs) for row in report.rater_pairs
    )
    columns = (
        Column(_("Two raters"), text=True),
        Column(_("α of their common pairs")),
        Column(_("Common pairs")),
    )
    return Table("rater-pairs", _("Each pair of raters"), columns, rows)


def bounds_table(report: AgreementReport) -> Table:
    """Each rater against the mean of the others, and the mean over raters, by type."""
    rows: list[tuple[Cell, ...]] = []
    for bound in (bound for bound in report.upper_bounds if bound.raters):
        named = sorted(bound.raters, key=lambda row: name_order(report.rater_names[row.rater]))
        whose: list[tuple[str, UpperBound | AgainstOthers]] = [
            (regroup_numbers(mean_of_text(bound.counted)), bound)
        ]
        whose += [(report.rater_names[row.rater], row) for row in named]
        rows += [
            (type_label(bound.type), name, alpha_of(found.pearson), alpha_of(found.spearman), found.pairs)
            for name, found in whose
        ]
    columns = (
        Column(_("Type"), text=True),
        Column(_("Rater"), text=True),
        Column(_("Pearson")),
        Column(_("Spearman")),
        Column(_("Pairs")),
    )
    return Table("bound", _("Each rater against the mean of the others"), columns, tuple(rows))


def twice_table(report: AgreementReport) -> Table:
    """Each rater's first and second grades of the pairs that came back to them, and all raters'."""
    named = [(report.rater_names[each.rater or 0], each) for each in report.twice_by_rater]
    rows = [*sorted(named, key=lambda row: name_order(row[0]))]
    if report.twice is not None and report.twice.pairs:
        rows.append((_("all raters"), report.twice))
    columns = (
        Column(_("Rater"), text=True),
        Column(_("Pairs graded twice")),
        Column(_("Mean difference")),
        Column(_("Identical"), 1, percent=True),
        Column(_("α with themselves")),
    )
    return Table(
        "self-agreement",
        _("Raters and themselves"),
        columns,
        tuple((name, each.pairs, each.difference, each.identical, each.alpha) for name, each in rows),
    )


def pair_label(report: AgreementReport, first: int, second: int) -> str:
    names = sorted((report.rater_names[first], report.rater_names[second]), key=name_order)
    return " – ".join(names)


RATER, WITHOUT_NUMBER = mark("Rater {number}"), mark("Rater without number ({number})")


def number_text(name: str) -> str:
    """What stands for a rater who is not named, as gold sets have it."""
    number = name.rpartition(" ")[2]
    return _(WITHOUT_NUMBER if "(" in number else RATER, number=number.strip("()"))


SHOWN_PAIRS = 5
"""Of the widest ones, before the others are unfolded."""


def widest_table(report: AgreementReport, project_id: int) -> Table:
    """The pairs to look at first; the first cell leads to their adjudication."""
    rows = tuple(
        (
            pair.external_id,
            pair.spread,
            pair.low,
            pair.high,
            pair.ratings,
            type_label(pair.type),
            pair.genre or "",
            shorten(pair.left, SHOWN_CHARACTERS),
            shorten(pair.right, SHOWN_CHARACTERS),
            _("decided") if pair.decided else _("open") if report.flags(pair) else "",
        )
        for pair in report.widest
    )
    columns = (
        Column(_("Pair"), text=True),
        Column(_("Spread")),
        Column(_("Lowest")),
        Column(_("Highest")),
        Column(_("Grades")),
        Column(_("Type"), text=True),
        Column(_("Genre"), text=True),
        Column(_("Left item"), text=True),
        Column(_("Right item"), text=True),
        Column(_("Adjudication"), text=True),
    )
    links = tuple(f"/annotate/adjudicate?project={project_id}&pair={pair.id}" for pair in report.widest)
    return Table("widest-pairs", _("The pairs whose grades are farthest apart"), columns, rows, links)


CHARTS = {
    "where": mark("α of each comparison type and genre, with 95 % intervals"),
    "grades": mark("Share of the grades, by type"),
    "bias": mark("How far each rater grades above or below the others"),
    "drift": mark("How far each rater grades above or below the others over time, with 95 % intervals"),
    "without": mark("α without each rater, with 95 % intervals"),
    "together": mark("α of each pair of raters, with 95 % intervals"),
}
"""Name and what each shows; their places in the page are `agreement-NAME-chart`."""


def charts_of(report: AgreementReport) -> dict[str, Chart | None]:
    """The charts by name; None for one that has nothing to show."""
    parts = [*type_parts(report), *genre_parts(report)]
    names = report.rater_names
    by_name = sorted(report.raters, key=lambda row: name_order(names[row.rater]))
    whole = report.whole.all.value
    return {
        "where": alpha_chart(
            [label for label, _part in parts],
            [
                Series(_("all pairs"), tuple(part.all for _label, part in parts)),
                Series(_("unadjudicated pairs"), tuple(part.unadjudicated for _label, part in parts)),
            ],
        ),
        "grades": grades_chart(
            report.bucket_names,
            [(label, found) for label, part in type_parts(report) if (found := shares(part.buckets))],
        ),
        "bias": bias_chart([names[row.rater] for row in by_name], [row.bias for row in by_name]),
        "drift": drift_chart(
            [names[row.rater] for row in by_name],
            [report.drifts[row.rater] for row in by_name],
        ),
        "without": alpha_chart(
            [_("without {name}", name=names[row.rater]) for row in report.left_out],
            [Series(_("without one rater"), tuple(row.alpha for row in report.left_out))],
            reference=None if whole is None else (_("with everybody {alpha}", alpha=figure(whole)), whole),
        ),
        "together": alpha_chart(
            [pair_label(report, row.first, row.second) for row in report.rater_pairs],
            [Series(_("two raters"), tuple(row.alpha for row in report.rater_pairs))],
        ),
    }


def save_buttons(name: str, is_shown: bool, project: str) -> str:
    """What saves a chart as a file; nothing where it is not shown."""
    if not is_shown:
        return ""
    return chart_buttons(f"agreement-{name}-chart", _(CHARTS[name]), file_name(project, name))


TENTATIVE, FIRM = CUSTOMARY_LINES
FOR_LEADERS = mark(
    "Only administrators and adjudicators of the project see agreement, so that raters grade independently "
    "of each other. Keep grading, or ask your administrator."
)
CONVENTION = mark(
    "{firm} and {tentative} are Krippendorff's own conventions (2004), not laws: how much agreement is "
    "enough depends on what the grades are for."
)
MOSTLY_HIGHER = mark(
    "α of unadjudicated pairs leaves out the flagged and the decided ones, which differ most, so it is "
    "usually higher: it shows how clear the rest is, not how well raters agree."
)


def _customary_lines() -> dict[str, str]:
    return {"firm": figure(FIRM), "tentative": figure(TENTATIVE)}


def will_appear(report: AgreementReport) -> str:
    """What the page will show by itself."""
    if not report.unnumbered:
        return _("New grades appear by themselves.")
    return _(
        "New grades appear by themselves. So do the numbers of raters who have none yet, once the database "
        "is no longer busy, for example with a long import."
    )


def figures_html(report: AgreementReport, project_id: int) -> str:
    """The three figures on top."""
    whole = report.whole
    share = _("of {pairs}: {rule}", pairs=pairs_text(whole.pairs), rule=rule_text(report.threshold))
    decided = regroup_numbers(whole.decisions_text)
    link = (
        f' <a href="/annotate/adjudicate?project={project_id}">{_("Adjudicate")}</a>'
        if whole.to_adjudicate
        else ""
    )
    says = (
        f"<p>{escape(share)}</p><p>{escape(decided)}{link}</p>"
        if whole.pairs
        else f"<p>{_('There are no pairs yet.')}</p>"
    )
    flagged = (
        f'<div class="figure" id="agreement-flagged"><h2>{_("Pairs flagged")}</h2>'
        f'<p class="figure-value">{group_digits(whole.flagged)}</p>{says}</div>'
    )
    return (
        '<div class="figures">'
        + _alpha_figure(_("α of all pairs"), "agreement-all", whole.all)
        + _alpha_figure(_("α of unadjudicated pairs"), "agreement-unadjudicated", whole.unadjudicated)
        + f"{flagged}</div>"
        + _conspicuous_html(report)
    )


def _conspicuous_html(report: AgreementReport) -> str:
    """Which raters to look at first, if any stand out."""
    said = "".join(f"<li>{escape(regroup_numbers(sentence))}</li>" for _rater, sentence in report.conspicuous)
    if not said:
        return ""
    link = f'<a href="#agreement-who">{_("their figures")}</a>'
    about = _("Raters to look at first ({link})", link=link)
    return f'<div class="note" id="agreement-conspicuous">{about}<ul>{said}</ul></div>'


def _alpha_figure(title: str, elem_id: str, alpha: Alpha) -> str:
    head = f'<div class="figure" id="{elem_id}"><h2>{title}</h2>'
    if alpha.value is None:
        word = f'<p class="figure-value figure-word">{_(UNDEFINED)}</p>'
        return f"{head}{word}<p>{escape(tell(alpha.reason))}</p></div>"
    interval = interval_text(alpha)
    said = (
        f"{_('95 % interval {interval}', interval=interval)}. {alpha.remark}".rstrip(". ")
        if interval
        else regroup_numbers(tell(alpha.interval_reason))
    )
    counts = _(
        "{pairs} with two grades or more, {grades}",
        pairs=pairs_text(alpha.pairs),
        grades=grades_text(alpha.ratings),
    )
    value = figure(alpha.value)
    return f'{head}<p class="figure-value">{value}</p><p>{escape(said)}</p><p>{escape(counts)}</p></div>'


def enough_html(report: AgreementReport, project_id: int, *, leads: bool) -> str:
    """Whether the agreement is good enough, and what it would take to know."""
    alpha = report.whole.all
    if alpha.value is None:
        return f"<p>{next_step_html(report, project_id, leads=leads)}</p>"
    return f"<p>{escape(verdict(alpha))}</p>"


def meaning_html(report: AgreementReport) -> str:
    """What to make of the figures on top, and how they were made."""
    alpha = report.whole.all
    levels = _(
        "If only the order of grades counts, α is {ordinal} (ordinal); if 3 and 3.25 count as being as "
        "different as 0 and 4, it is {nominal} (nominal).",
        ordinal=_level(alpha.ordinal),
        nominal=_level(alpha.nominal),
    )
    convention, higher = _(CONVENTION, **_customary_lines()), _(MOSTLY_HIGHER)
    sentences = [convention, higher] if alpha.value is None else [convention, levels, higher]
    return "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences) + method_html(report)


def _level(value: float | None) -> str:
    return _(UNDEFINED) if value is None else figure(value)


def verdict(alpha: Alpha) -> str:
    """Where the interval lies relative to the customary lines; with few pairs it says nothing yet."""
    if alpha.low is None or alpha.high is None:
        unknown = _("There is no interval, so it is unknown how certain α is.")
        return f"{unknown} {regroup_numbers(tell(alpha.interval_reason))}"
    if alpha.pairs < ENOUGH_PAIRS:
        return too_few_text(alpha.pairs)
    if alpha.low >= FIRM:
        return _("Yes, by convention: the whole interval is at or above {firm}.", **_customary_lines())
    if alpha.high < TENTATIVE:
        return _(
            "No, by convention: the whole interval is below {tentative}. See below where it is low, and "
            "discuss the widest pairs with the raters.",
            **_customary_lines(),
        )
    if alpha.low < TENTATIVE:
        return _(
            "Too early to tell: the interval crosses {tentative}. More pairs with two grades would help.",
            **_customary_lines(),
        )
    if alpha.high < FIRM:
        return _(
            "For tentative conclusions, by convention: the interval lies between {tentative} and {firm}.",
            **_customary_lines(),
        )
    return _(
        "At least for tentative conclusions, by convention: the interval crosses {firm}.",
        **_customary_lines(),
    )


def plan_html(plan: Plan, waiting: int) -> str:
    """How many more pairs an interval of this width takes; an estimate, and called so."""
    return "".join(
        f"<p>{escape(regroup_numbers(sentence))}</p>" for sentence in plan_sentences(plan, waiting)
    )


def next_step_html(report: AgreementReport, project_id: int, *, leads: bool) -> str:
    """What to do where α is undefined; links for who may follow them."""
    whole, raters = report.whole, sum(row.ratings > 0 for row in report.raters)
    page = f"/annotate/project?project={project_id}"
    invite = (
        f'<a href="{page}&amp;tab=members">{_("Invite raters")}</a>' if leads else _("Ask for more raters")
    )
    if not whole.pairs:
        if report.withdrawn:
            return escape(all_withdrawn_text(report.withdrawn))
        if leads:
            link = f'<a href="{page}">{_("Import pairs")}</a>'
            return _("No pairs yet. {import_pairs}, then invite raters.", import_pairs=link)
        return _("No pairs yet. Ask the administrator to import pairs.")
    if not raters:
        has = escape(pairs_text(whole.pairs))
        return _(
            "{pairs} and no grades yet. {invite}, or wait for the first grades.", pairs=has, invite=invite
        )
    if report.raters_per_pair == 1 and whole.all.pairs < 2:
        change = (
            f'<a href="{page}&amp;tab=settings">{_("Choose two or more")}</a>'
            if leads
            else _("It takes two or more")
        )
        said = _("Each pair is graded by one rater in this project, so no grades can be compared.")
        return f"{said} {change}."
    if raters == 1:
        return _(
            "One rater has graded {pairs}; agreement takes two raters on the same pairs. {invite}, or wait "
            "for the second.",
            pairs=escape(pairs_text(whole.ratings)),
            invite=invite,
        )
    if not whole.all.pairs:
        step = _("So far raters graded different pairs: wait until they overlap.")
    elif whole.all.pairs == 1:
        step = _("Wait until another pair has two.")
    else:
        step = _(
            "Import pairs that deserve other grades, or ask the raters whether they use the whole scale."
        )
    return f"{escape(tell(whole.all.reason))} {step}"


def few_pairs_html(parts: Sequence[tuple[str, Part]]) -> str:
    """The types and genres whose intervals are not reliable; nothing if each has enough pairs."""
    said = few_parts_text([PartSize(label, part.all.interval_pairs) for label, part in parts])
    if not said:
        return ""
    return f'<p class="small" id="agreement-few" dir="auto">{escape(said)}</p>'


def drift_html(report: AgreementReport) -> str:
    """Who moved relative to the others over time, with what a window is; nothing if it is unknown."""
    if not any(drift.windows for drift in report.drifts):
        return ""
    said = _(
        "Each rater's grades that can be compared, oldest first, in up to {windows} windows of at "
        "least {fewest}: how far they are above the decision or, without one, above the mean of "
        "the others. A change is clear when the first and the last window are at least one step of the "
        "scale apart and their 95 % intervals do not overlap. With many raters, one may look clear by "
        "chance.",
        windows=MOST_WINDOWS,
        fewest=FEWEST_IN_WINDOW,
    )
    return f"<p>{escape(said)}</p>{table_html(drift_table(report))}"


def twice_html(report: AgreementReport) -> str:
    """How well raters agree with themselves; nothing where no pair was graded twice."""
    if report.twice is None or not report.twice.pairs:
        return ""
    text = _(
        "Pairs that came back to the same rater, unmarked. Their second grades are in none of the other "
        "figures, and in no gold grade. Raters can hardly agree better with others than with themselves."
    )
    return explained_html(twice_table(report)) + f'<p class="small">{escape(text)}</p>'


def bounds_html(report: AgreementReport) -> str:
    """What raters reach as systems are measured; nothing before two have graded the same pair."""
    if not any(bound.raters for bound in report.upper_bounds):
        return ""
    said = _(
        "Each rater is measured like a system, against the mean of the other raters' grades of the same "
        "pairs. A system that reaches the mean of these figures fits the raters as well as they fit each "
        "other. It may reach more against the gold grades, which are means of all raters."
    )
    table = bounds_table(report)
    undefined = [(f"{row[0]}, {row[1]}", row[2].reason) for row in table.rows if isinstance(row[2], Alpha)]
    reasons = [(whose, regroup_numbers(tell(reason))) for whose, reason in undefined if reason]
    told = reasons_html("agreement-undefined-bound", reasons)
    return f"<p>{escape(said)}</p>{table_html(table)}{told}"


def explained_html(table: Table) -> str:
    """A table, and below it why some of its figures are undefined."""
    return table_html(table) + undefined_html(f"agreement-undefined-{table.name}", table)


def widest_html(report: AgreementReport, project_id: int) -> str:
    """The widest pairs, the others of them folded, and how many are held back from the reader."""
    left_out = f"<p>{escape(held_back_text(report.held_back))}</p>" if report.held_back else ""
    if not report.widest:
        return left_out or empty_html(_("No pair has grades that differ."))
    whole = widest_table(report, project_id)
    first = replace(whole, rows=whole.rows[:SHOWN_PAIRS], links=whole.links[:SHOWN_PAIRS])
    rest = replace(
        whole,
        name="further-pairs",
        caption=_("Further pairs whose grades are far apart"),
        rows=whole.rows[SHOWN_PAIRS:],
        links=whole.links[SHOWN_PAIRS:],
    )
    further = (
        f'<details id="agreement-further"><summary>{escape(further_text(len(rest.rows)))}</summary>'
        f"{table_html(rest)}</details>"
        if rest.rows
        else ""
    )
    return f"{table_html(first)}{further}{left_out}"


def further_text(pairs: int) -> str:
    count = group_digits(pairs)
    return ngettext("{count} further pair", "{count} further pairs", pairs, count=count)


def tables_of(report: AgreementReport, project_id: int) -> list[Table]:
    """All that the page has, of those that have rows."""
    tables = [
        types_table(report),
        genres_table(report),
        grades_table(report),
        raters_table(report),
        drift_table(report),
        rater_pairs_table(report),
        twice_table(report),
        bounds_table(report),
        widest_table(report, project_id),
    ]
    return [table for table in tables if table.rows]


def save_all_html(report: AgreementReport, project_id: int) -> str:
    """The button that saves all tables as one file; nothing before there is a pair."""
    if not report.whole.pairs:
        return ""
    with use_language(ENGLISH):  # the files are for programs, and for papers
        files = {f"{table.name}.csv": table_csv(table) for table in tables_of(report, project_id)}
    files["agreement.tex"] = f"{_latex(report)}\n"
    return save_all_button(files, file_name(report.project, "agreement"))


def excluded_html(report: AgreementReport) -> str:
    """Whose grades the figures leave out; nothing where they have all."""
    said = describe_excluded(report.set_aside)
    return f'<p id="agreement-set-aside" dir="auto">{escape(regroup_numbers(said))}</p>' if said else ""


def method_html(report: AgreementReport) -> str:
    """How the figures were made, so that others can make them again."""
    text = _(
        "Krippendorff's α at the interval level, of pairs with two grades or more. The 95 % intervals are "
        "percentile bootstraps over pairs: {resamples} resamples, seed {seed}. A resample in which all "
        "grades are equal has no α and is left out; if more than one in twenty are left out, there is no "
        "interval. SVG and PNG are saved dark on white, for print; CSV has the figures in full; the command "
        "line prints the same:",
        resamples=group_digits(report.resamples),
        seed=report.seed,
    )
    command = f"python -m annotation agreement {shlex.quote(report.project)} --json"
    made = f"{escape(text)} <code>{escape(command)}</code>"
    if report.whole.all.pairs >= MANY_PAIRS:
        limit = _(
            "Where the grades of {many} pairs or more differ, the sums of a resample are drawn from the "
            "normal distribution that they have in the limit.",
            many=group_digits(MANY_PAIRS),
        )
        made += f". {escape(limit)}"
    return f'<p class="small">{made}</p>'


MADE_BY = "The page Agreement of kpdemo"
NO_PAIRS = mark("No pairs yet. Agreement by type and genre appears here with the first ones.")


def texts_of(report: AgreementReport, project_id: int, *, leads: bool) -> dict[str, str]:
    """What stands in the page's HTML, but for the status, the plan and the files."""
    types, genres = type_parts(report), genre_parts(report)
    by_type, by_genre = types_table(report), genres_table(report)
    has_grades = report.whole.ratings > 0
    nobody = empty_html(_("Nobody has graded yet. The raters' figures appear with the first grades."))
    alone = empty_html(_("No two raters have graded the same pair yet."))
    return {
        "figures": figures_html(report, project_id),
        "enough": enough_html(report, project_id, leads=leads),
        "meaning": meaning_html(report),
        "where": explained_html(by_type) + few_pairs_html([*types, *genres])
        if types
        else empty_html(all_withdrawn_text(report.withdrawn) if report.withdrawn else _(NO_PAIRS)),
        "genres": (explained_html(by_genre) if genres else "") + (_latex_button(report) if types else ""),
        "grades": table_html(grades_table(report)) if has_grades else "",
        "raters": excluded_html(report) + (explained_html(raters_table(report)) if has_grades else nobody),
        "drift": drift_html(report),
        "rater-pairs": explained_html(rater_pairs_table(report)) if report.rater_pairs else alone,
        "twice": twice_html(report),
        "bound": bounds_html(report) or alone,
        "widest": widest_html(report, project_id),
    }


def _latex(report: AgreementReport) -> str:
    with use_language(ENGLISH):
        return agreement_to_latex(report, made_by=MADE_BY)


def _latex_button(report: AgreementReport) -> str:
    button = latex_button(_latex(report), _("agreement by type"), file_name(report.project, "agreement"))
    return f'<p class="actions">{button}</p>'


SECONDS_BETWEEN_LOOKS = 10
FIRST_FIGURES = mark(
    "There are so many grades that the figures take a minute or more: they appear here by themselves."
)
PRESS_REFRESH = mark("There are newer figures. Press Refresh to see them now.")
NEWER_FIGURES = mark("Newer figures are being made, and appear here by themselves.")

ASK_IN_USE = "async (before) => ((await kpdemo).isInUse() ? String(Date.now()) : before)"
"""JavaScript: what changes only where somebody may see the figures."""
KEEP_FOLDS = "async (...now) => { (await kpdemo).keepFolds(); return now; }"
OPEN_FOLDS = "async () => { (await kpdemo).openFolds(); }"


@dataclass(frozen=True)
class AgreementHandlers:
    accounts: AccountService
    agreement: AgreementService

    clock: Clock = utcnow

    def open(self, request: gr.Request, width: object) -> dict[str, Any]:
        """The whole page, or a sentence for users who may not see it."""
        try:
            shown = self._show(request, width)
        except AccessError as error:
            reason = str(error) if isinstance(error, SignedOutError) else _(FOR_LEADERS)
        except AnnotationError as error:
            reason = str(error)
        except UnreachableError as error:
            reason = error.for_users
        else:
            return {"closed": "", "body": gr.Column(visible=True), "timer": gr.Timer(active=True), **shown}
        hidden = {"body": gr.Column(visible=False), "timer": gr.Timer(active=False)}
        return {"closed": empty_html(reason), **hidden}

    def refresh(self, request: gr.Request, width: object) -> dict[str, Any]:
        """All figures, computed again."""
        with shown_to_user(AnnotationError):
            return self._show(request, width)

    def look(self, request: gr.Request, version: str, width: object) -> dict[str, Any]:
        """The same, but only if something happened since, and if that costs little of the server's time."""
        try:
            project_id, *_others = require_leader(request, self.accounts)
            if self.agreement.version(project_id) == version:
                return {}
            if not self.agreement.may_renew(project_id):
                return {"status": f"<p>{_(PRESS_REFRESH)}</p>"}
            shown = self._show(request, width, is_asked=False)
            return {} if shown["version"] == version else shown
        except (AnnotationError, UnreachableError, DamagedError):
            return {}  # nobody pressed anything: the next press tells what is the matter

    def plan(self, width: object, request: gr.Request) -> str:
        """How many more pairs make the interval of α so narrow."""
        with shown_to_user(AccessError):
            project_id, *_others = require_leader(request, self.accounts)
            return self._plan(project_id, width)

    def _plan(self, project_id: int, width: object, report: AgreementReport | None = None) -> str:
        """Args:
        report: as it is shown; without it, as of now, or the last one of a large project.
        """
        try:
            wished = float(decimal_of(width, mark("widest interval of α")))
            if report is None:
                latest = self.agreement.latest(project_id, is_asked=False)
                if latest is None:
                    return note_html(_(FIRST_FIGURES))
                report = latest.report
            return plan_html(report.plan.for_width(wished), report.whole.pairs - report.whole.all.pairs)
        except AnnotationError as error:
            return note_html(str(error), role="alert")

    def _show(self, request: gr.Request, width: object, *, is_asked: bool = True) -> dict[str, Any]:
        project_id, user, named = require_leader(request, self.accounts)
        latest = self.agreement.latest(project_id, named=named, viewer=user.id, is_asked=is_asked)
        if latest is None:
            return {"status": f"<p>{_(FIRST_FIGURES)}</p>", "version": ""}
        report = latest.report
        saved = save_all_html(report, project_id)
        if not named:
            report = replace(report, rater_names=tuple(map(number_text, report.rater_names)))
        counted = _("Counted {time}.", time=time_html(latest.made_at or self.clock()))
        newer = _(NEWER_FIGURES) if latest.is_renewed else _(PRESS_REFRESH) if latest.is_old else ""
        said = filter(None, [counted, newer, will_appear(report)])
        shown: dict[str, Any] = {
            **texts_of(report, project_id, leads=named),
            "save": saved,
            "status": f"<p>{' '.join(said)}</p>",
            "plan": self._plan(project_id, width, report),
            "version": "" if report.unnumbered else latest.version,  # the numbers come with the next look
        }
        for name, chart in charts_of(report).items():
            shown[f"{name}-chart"] = show_chart(chart)
            shown[f"{name}-save"] = save_buttons(name, chart is not None, report.project)
        return shown


class _Parts(Parts):
    """The parts that `AgreementHandlers` fills, as they are placed on the page."""

    def text(self, name: str) -> None:
        self[name] = gr.HTML("", elem_id=f"agreement-{name}-part", js_on_load=None)

    def chart(self, name: str) -> None:
        self[f"{name}-chart"] = gr.Plot(
            visible=False, show_label=False, container=False, elem_id=f"agreement-{name}-chart"
        )
        self[f"{name}-save"] = gr.HTML("", elem_id=f"agreement-{name}-save", js_on_load=None)


def build_agreement_page(handlers: AgreementHandlers, page: gr.Blocks) -> None:
    closed = gr.HTML(empty_html(_("Opening the agreement.")), elem_id="agreement-closed")
    parts = _Parts(version=gr.State(""))  # which grades the page shows
    with gr.Column(visible=False, elem_id="agreement-page") as body:
        with gr.Row(elem_id="agreement-bar"):
            parts.text("status")
            parts.text("save")
            refresh = gr.Button(_("Refresh"), elem_id="agreement-refresh", size="sm", scale=0, min_width=96)
        parts.text("figures")
        section_heading(_("Is the agreement good enough?"), "agreement-enough")
        parts.text("enough")
        with _fold(_("What the figures mean"), "meaning"):
            parts.text("meaning")
        with _fold(_("How many more pairs it takes"), "more"):
            width, ask = _build_plan()
            parts.text("plan")
        _build_details(parts)
    timer = gr.Timer(SECONDS_BETWEEN_LOOKS, active=False)
    whole = Parts(closed=closed, body=body, timer=timer, **parts)
    page.load(whole.fill(handlers.open), width, whole.outputs, api_name="open_agreement", **QUIETLY)
    refreshed = refresh.click(
        parts.fill(handlers.refresh),
        width,
        parts.outputs,
        js=KEEP_FOLDS,
        api_name="refresh_agreement",
        show_progress="minimal",
        show_progress_on=parts["status"],
    )
    for listen, name in ((ask.click, "again"), (width.submit, "by_enter")):
        listen(handlers.plan, width, parts["plan"], api_name=f"plan_pairs_{name}", **QUIETLY)
    asked = unseen_box("agreement-asked")
    timer.tick(None, asked, asked, js=ASK_IN_USE, api_name="ask_for_agreement", **QUIETLY)
    looked = asked.change(
        parts.fill(handlers.look),
        [parts["version"], width],
        parts.outputs,
        js=KEEP_FOLDS,
        api_name="look_at_agreement",
        **QUIETLY,
    )
    for number, drawn in enumerate((refreshed, looked), start=1):
        drawn.success(None, js=OPEN_FOLDS, api_name=f"open_folds_{number}", **QUIETLY)


def _fold(heading: str, name: str) -> gr.Accordion:
    return gr.Accordion(heading, open=False, elem_id=f"agreement-{name}-fold")


def _build_plan() -> tuple[gr.Textbox, gr.Button]:
    """How many more pairs it takes: the field and its button."""
    with gr.Row(elem_classes="form-row"):
        width = decimal_field(
            DEFAULT_WIDTH,
            label=_("Widest interval of α allowed"),
            info=_("From lower to upper end, for all pairs"),
            elem_id="agreement-width",
            min_width=200,
        )
        ask = gr.Button(_("Plan"), elem_id="agreement-plan-run", scale=0, min_width=96)
    return width, ask


def _build_details(parts: _Parts) -> None:
    section_heading(_("Where is it low?"), "agreement-where")
    parts.text("where")
    with _fold(_("By genre, by grade, and as charts"), "parts"):
        parts.chart("where")
        parts.text("genres")
        parts.chart("grades")
        parts.text("grades")
    section_heading(_("Who differs?"), "agreement-who")
    parts.text("raters")
    with _fold(_("Raters over time, in pairs, and as charts"), "raters"):
        parts.chart("bias")
        parts.text("drift")
        parts.chart("drift")
        parts.chart("without")
        parts.text("rater-pairs")
        parts.chart("together")
        parts.text("twice")
    with _fold(_("How well a system could do"), "reach"):
        parts.text("bound")
    section_heading(_("Which pairs?"), "agreement-which")
    parts.text("widest")
