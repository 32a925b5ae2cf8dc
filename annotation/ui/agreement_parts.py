"""The sentences of the agreement page: what figures say, and what to do where there are none. No Gradio."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from annotation.adjudication import rule_text
from annotation.reliability.bootstrap import Alpha
from annotation.reliability.drift import FEWEST_IN_WINDOW, MOST_WINDOWS
from annotation.reliability.few_pairs import ENOUGH_PAIRS, Compared, few_parts_text, too_few_text
from annotation.reliability.planning import Plan, plan_sentences
from annotation.reliability.report import AgreementReport, Part
from annotation.set_aside import set_aside_text
from annotation.ui.agreement_tables import bounds_table, drift_table
from annotation.ui.charts import CUSTOMARY_LINES
from annotation.ui.tables import UNDEFINED, Table, interval_text, reasons_html, table_html, undefined_html
from annotation.ui.wording import all_withdrawn_text, counted, figure, grouped, regrouped
from kpdemo.ui.widgets import escape

TENTATIVE, FIRM = CUSTOMARY_LINES
FOR_LEADERS = (
    "Only administrators and adjudicators of the project see agreement, so that raters grade independently "
    "of each other. Keep grading, or ask your administrator."
)
CONVENTION = (
    f"{FIRM:.3f} and {TENTATIVE} are Krippendorff's own conventions (2004), not laws: how much agreement is "
    "enough depends on what the grades are for."
)
MOSTLY_HIGHER = (
    "α of unadjudicated pairs leaves out the flagged and the decided ones, which differ most, so it is "
    "usually higher: it shows how clear the rest is, not how well raters agree."
)


def will_appear(report: AgreementReport) -> str:
    """What the page will show by itself."""
    if not report.unnumbered:
        return "New grades appear by themselves."
    return (
        "New grades appear by themselves. So do the numbers of raters who have none yet, once the database "
        "is no longer busy, for example with a long import."
    )


def figures_html(report: AgreementReport, project_id: int) -> str:
    """The three figures on top."""
    whole = report.whole
    share = f" of {counted(whole.pairs, 'pair')}" if whole.pairs else ""
    decided = regrouped(whole.decisions_text)
    link = (
        f' <a href="/annotate/adjudicate?project={project_id}">Adjudicate</a>' if whole.to_adjudicate else ""
    )
    flagged = (
        '<div class="figure" id="agreement-flagged"><h3>Pairs flagged</h3>'
        f'<p class="figure-value">{grouped(whole.flagged)}</p>'
        f"<p>{escape(share.strip())}: {rule_text(report.threshold)}</p>"
        f"<p>{escape(decided)}{link}</p></div>"
        if whole.pairs
        else '<div class="figure" id="agreement-flagged"><h3>Pairs flagged</h3>'
        '<p class="figure-value">0</p><p>There are no pairs yet.</p></div>'
    )
    return (
        '<div class="figures">'
        + _alpha_figure("α of all pairs", "agreement-all", whole.all)
        + _alpha_figure("α of unadjudicated pairs", "agreement-unadjudicated", whole.unadjudicated)
        + f"{flagged}</div>"
        + _conspicuous_html(report)
    )


def _conspicuous_html(report: AgreementReport) -> str:
    """Which raters to look at first, if any stand out."""
    said = "".join(f"<li>{escape(regrouped(sentence))}</li>" for _, sentence in report.conspicuous)
    if not said:
        return ""
    about = 'Raters to look at first (<a href="#agreement-who">their figures</a>)'
    return f'<div class="note" id="agreement-conspicuous">{about}<ul>{said}</ul></div>'


def _alpha_figure(title: str, elem_id: str, alpha: Alpha) -> str:
    head = f'<div class="figure" id="{elem_id}"><h3>{title}</h3>'
    if alpha.value is None:
        return f'{head}<p class="figure-value figure-word">{UNDEFINED}</p><p>{escape(alpha.reason)}</p></div>'
    interval = interval_text(alpha)
    said = (
        f"95 % interval {interval}. {alpha.remark}".rstrip(". ")
        if interval
        else regrouped(alpha.interval_reason)
    )
    counts = f"{counted(alpha.pairs, 'pair')} with two grades or more, {counted(alpha.ratings, 'grade')}"
    value = figure(alpha.value)
    return f'{head}<p class="figure-value">{value}</p><p>{escape(said)}</p><p>{escape(counts)}</p></div>'


def enough_html(report: AgreementReport, project_id: int, *, leads: bool) -> str:
    """Whether the agreement is good enough, and what it would take to know."""
    alpha = report.whole.all
    if alpha.value is None:
        return f"<p>{next_step_html(report, project_id, leads=leads)}</p>"
    levels = (
        f"If only the order of grades counts, α is {_level(alpha.ordinal)} (ordinal); if 3 and 3.25 count as "
        f"being as different as 0 and 4, it is {_level(alpha.nominal)} (nominal)."
    )
    sentences = [verdict(alpha), CONVENTION, levels, MOSTLY_HIGHER]
    return "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences if sentence)


def _level(value: float | None) -> str:
    return UNDEFINED if value is None else figure(value)


def verdict(alpha: Alpha) -> str:
    """Where the interval lies relative to the customary lines; with few pairs it says nothing yet."""
    if alpha.low is None or alpha.high is None:
        return f"There is no interval, so it is unknown how certain α is. {regrouped(alpha.interval_reason)}"
    if alpha.pairs < ENOUGH_PAIRS:
        return too_few_text(alpha.pairs)
    if alpha.low >= FIRM:
        return f"Yes, by convention: the whole interval is at or above {FIRM:.3f}."
    if alpha.high < TENTATIVE:
        return (
            f"No, by convention: the whole interval is below {TENTATIVE}. See below where it is low, and "
            "discuss the widest pairs with the raters."
        )
    if alpha.low < TENTATIVE:
        return f"Too early to tell: the interval crosses {TENTATIVE}. More pairs with two grades would help."
    if alpha.high < FIRM:
        return (
            f"For tentative conclusions, by convention: the interval lies between {TENTATIVE} and {FIRM:.3f}."
        )
    return f"At least for tentative conclusions, by convention: the interval crosses {FIRM:.3f}."


def plan_html(plan: Plan, waiting: int) -> str:
    """How many more pairs an interval of this width takes; an estimate, and called so."""
    return "".join(f"<p>{escape(regrouped(sentence))}</p>" for sentence in plan_sentences(plan, waiting))


def next_step_html(report: AgreementReport, project_id: int, *, leads: bool) -> str:
    """What to do where α is undefined; links for who may follow them."""
    whole, raters = report.whole, sum(row.ratings > 0 for row in report.raters)
    page = f"/annotate/project?project={project_id}"
    invite = f'<a href="{page}&amp;tab=members">Invite raters</a>' if leads else "Ask for more raters"
    if not whole.pairs:
        if report.withdrawn:
            return escape(all_withdrawn_text(report.withdrawn))
        step = f'<a href="{page}">Import pairs</a>' if leads else "Ask the administrator to import pairs"
        return f"No pairs yet. {step}, then invite raters." if leads else f"No pairs yet. {step}."
    if not raters:
        has = escape(counted(whole.pairs, "pair"))
        return f"{has} and no grades yet. {invite}, or wait for the first grades."
    if report.raters_per_pair == 1 and whole.all.pairs < 2:
        change = (
            f'<a href="{page}&amp;tab=settings">Choose two or more</a>' if leads else "It takes two or more"
        )
        return f"Each pair is graded by one rater in this project, so no grades can be compared. {change}."
    if raters == 1:
        graded = escape(counted(whole.ratings, "pair"))
        return (
            f"One rater has graded {graded}; agreement takes two raters on the same pairs. {invite}, or wait "
            "for the second."
        )
    if not whole.all.pairs:
        return f"{escape(whole.all.reason)} So far raters graded different pairs: wait until they overlap."
    if whole.all.pairs == 1:
        return f"{escape(whole.all.reason)} Wait until another pair has two."
    return (
        f"{escape(whole.all.reason)} Import pairs that deserve other grades, or ask the raters whether they "
        "use the whole scale."
    )


def few_pairs_html(parts: Sequence[tuple[str, Part]]) -> str:
    """The types and genres whose intervals are not reliable; nothing if each has enough pairs."""
    said = few_parts_text([Compared(label, part.all.interval_pairs) for label, part in parts])
    if not said:
        return ""
    return f'<p class="small" id="agreement-few" dir="auto">{escape(said)}</p>'


def drift_html(report: AgreementReport) -> str:
    """Who moved relative to the others over time, with what a window is; nothing if it is unknown."""
    if not any(drift.windows for drift in report.drifts):
        return ""
    said = (
        f"Each rater's grades that can be compared, oldest first, in up to {MOST_WINDOWS} windows of at "
        f"least {FEWEST_IN_WINDOW}: how far they are above the decision or, without one, above the mean of "
        "the others. A change is clear when the first and the last window are at least one step of the "
        "scale apart and their 95 % intervals do not overlap. With many raters, one may look clear by "
        "chance."
    )
    return f"<p>{escape(said)}</p>{table_html(drift_table(report), report.project)}"


def bounds_html(report: AgreementReport) -> str:
    """What raters reach as systems are measured; nothing before two have graded the same pair."""
    if not any(bound.raters for bound in report.upper_bounds):
        return ""
    said = (
        "Each rater is measured like a system, against the mean of the other raters' grades of the same "
        "pairs. A system that reaches the mean of these figures fits the raters as well as they fit each "
        "other. It may reach more against the gold grades, which are means of all raters."
    )
    table = bounds_table(report)
    undefined = [(f"{row[0]}, {row[1]}", row[2].reason) for row in table.rows if isinstance(row[2], Alpha)]
    reasons = [(whose, regrouped(reason)) for whose, reason in undefined if reason]
    told = reasons_html("agreement-undefined-bound", reasons)
    return f"<p>{escape(said)}</p>{table_html(table, report.project)}{told}"


def explained_html(table: Table, project: str) -> str:
    """A table, and below it why some of its figures are undefined."""
    return table_html(table, project) + undefined_html(f"agreement-undefined-{table.name}", table)


def set_aside_html(report: AgreementReport) -> str:
    """Whose grades the figures leave out; nothing where they have all."""
    said = set_aside_text(report.set_aside)
    return f'<p id="agreement-set-aside" dir="auto">{escape(regrouped(said))}</p>' if said else ""


def method_html(report: AgreementReport) -> str:
    """How the figures were made, so that others can make them again."""
    text = (
        "Krippendorff's α at the interval level, of pairs with two grades or more. The 95 % intervals are "
        f"percentile bootstraps over pairs: {grouped(report.resamples)} resamples, seed {report.seed}. A "
        "resample in which all grades are equal has no α and is left out; if more than one in twenty are "
        "left out, there is no interval. SVG and PNG are saved dark on white, for print; CSV has the "
        "figures in full; the command line prints the same: "
    )
    command = f"python -m annotation agreement {shlex.quote(report.project)} --json"
    return f'<p class="small">{escape(text)}<code>{escape(command)}</code></p>'
