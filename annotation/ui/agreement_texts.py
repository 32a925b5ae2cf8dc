"""The HTML of the agreement page: tables and sentences, put together part by part. No Gradio."""

from __future__ import annotations

from annotation.latex import LatexTable
from annotation.reliability.report import AgreementReport
from annotation.reliability.report_latex import agreement_to_latex
from annotation.ui.agreement_parts import (
    bounds_html,
    drift_html,
    enough_html,
    explained_html,
    few_pairs_html,
    figures_html,
    method_html,
    set_aside_html,
)
from annotation.ui.agreement_tables import (
    genre_parts,
    grades_table,
    parts_table,
    rater_pairs_table,
    raters_table,
    type_parts,
    widest_table,
)
from annotation.ui.tables import file_name, latex_button, table_html, undefined_html
from annotation.ui.wording import all_withdrawn_text, held_back_text
from kpdemo.ui.widgets import empty_html, escape

MADE_BY = "The page Agreement of kpdemo"
NO_PAIRS = "No pairs yet. Agreement by type and genre appears here with the first ones."


def texts_of(report: AgreementReport, project_id: int, latex: LatexTable, *, leads: bool) -> dict[str, str]:
    """What stands in the page's HTML, but for the status and the plan."""
    project = report.project
    types, genres = type_parts(report), genre_parts(report)
    where = [(parts_table("types", "Type", types), _latex_button(report, latex))] if types else []
    where += [(parts_table("genres", "Genre", genres), "")] if genres else []
    has_grades = report.whole.ratings > 0
    nobody = empty_html("Nobody has graded yet. The raters' figures appear with the first grades.")
    alone = empty_html("No two raters have graded the same pair yet.")
    agreed = "" if report.held_back else empty_html("No pair has grades that differ.")
    left_out = f"<p>{escape(held_back_text(report.held_back))}</p>" if report.held_back else ""
    return {
        "figures": figures_html(report, project_id),
        "enough": enough_html(report, project_id, leads=leads),
        "where": "".join(table_html(table, project, beside=more) for table, more in where)
        + undefined_html("agreement-undefined", *(table for table, _ in where))
        + few_pairs_html([*types, *genres])
        or empty_html(all_withdrawn_text(report.withdrawn) if report.withdrawn else NO_PAIRS),
        "grades": table_html(grades_table(report), project) if has_grades else "",
        "raters": set_aside_html(report)
        + (explained_html(raters_table(report), project) if has_grades else nobody),
        "drift": drift_html(report),
        "rater-pairs": explained_html(rater_pairs_table(report), project) if report.rater_pairs else alone,
        "bound": bounds_html(report) or alone,
        "widest": (table_html(widest_table(report, project_id), project) if report.widest else agreed)
        + left_out,
        "method": method_html(report),
    }


def _latex_button(report: AgreementReport, latex: LatexTable) -> str:
    table = agreement_to_latex(report, latex, made_by=MADE_BY)
    return latex_button(table, "agreement by type", file_name(report.project, "agreement"))
