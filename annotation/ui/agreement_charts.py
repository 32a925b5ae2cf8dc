"""The charts of the agreement page."""

from __future__ import annotations

from annotation.reliability.report import BUCKET_NAMES, AgreementReport, shares
from annotation.ui.agreement_tables import genre_parts, name_order, pair_label, type_parts
from annotation.ui.charts import Series, alpha_chart, bias_chart, drift_chart, grades_chart
from annotation.ui.tables import file_name
from annotation.ui.wording import figure
from kpdemo.ui.charts import Chart, chart_buttons

CHARTS = {
    "where": "α of each comparison type and genre, with 95 % intervals",
    "grades": "Share of the grades, by type",
    "bias": "How far each rater grades above or below the others",
    "drift": "How far each rater grades above or below the others over time, with 95 % intervals",
    "without": "α without each rater, with 95 % intervals",
    "together": "α of each pair of raters, with 95 % intervals",
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
            [label for label, _ in parts],
            [
                Series("all pairs", tuple(part.all for _, part in parts)),
                Series("unadjudicated pairs", tuple(part.unadjudicated for _, part in parts)),
            ],
        ),
        "grades": grades_chart(
            BUCKET_NAMES,
            [(label, found) for label, part in type_parts(report) if (found := shares(part.buckets))],
        ),
        "bias": bias_chart([names[row.rater] for row in by_name], [row.bias for row in by_name]),
        "drift": drift_chart(
            [names[row.rater] for row in by_name],
            [report.drifts[row.rater] for row in by_name],
        ),
        "without": alpha_chart(
            [f"without {names[row.rater]}" for row in report.left_out],
            [Series("without one rater", tuple(row.alpha for row in report.left_out))],
            reference=None if whole is None else (f"with everybody {figure(whole)}", whole),
        ),
        "together": alpha_chart(
            [pair_label(report, row.first, row.second) for row in report.rater_pairs],
            [Series("two raters", tuple(row.alpha for row in report.rater_pairs))],
        ),
    }


def save_buttons(name: str, is_shown: bool, project: str) -> str:
    """What saves a chart as a file; nothing where it is not shown."""
    if not is_shown:
        return ""
    return chart_buttons(f"agreement-{name}-chart", CHARTS[name], file_name(project, name))
