"""Numbers and apostrophes as pages and messages write them."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import pytest

from annotation.authoring import JudgedPair, bins_of, writing_report
from annotation.errors import UnfinishedError
from annotation.relevance import Average, JudgingOptions
from annotation.reliability.planning import Plan, PlannedWidth
from annotation.scale import CLSS
from annotation.services.gold import GoldCounts, _missing_text
from annotation.services.quality import Standing
from annotation.types import User
from annotation.ui.agreement import plan_html
from annotation.ui.figures import grades_chart
from annotation.ui.predictions import figures_html
from annotation.ui.projects import closed_html
from annotation.ui.quality import standings_html
from annotation.ui.wording import figure, regroup_numbers
from annotation.ui.writing import ReportHandlers, distribution_chart, distribution_html, matrix_html
from annotation.wording import share_text
from kpdemo.translation import use_language

BINS = bins_of(CLSS)


@pytest.mark.parametrize(
    ("number", "sign", "written"),
    [
        (0.8994, "", "0.899"),
        (-0.12, "", "−0.120"),
        (-0.0004, "", "0.000"),
        (-0.0, "+", "+0.000"),
        (0.5, "+", "+0.500"),
    ],
)
def test_a_figure_has_a_long_minus_and_no_negative_zero(number, sign, written):
    assert figure(number, sign=sign) == written


@pytest.mark.parametrize(
    ("share", "decimals", "written"),
    [
        (0.0, 0, "0 %"),
        (0.004, 0, "1 %"),
        (0.5, 0, "50 %"),
        (0.996, 0, "99 %"),
        (0.9996, 1, "99.9 %"),
        (1.0, 0, "100 %"),
    ],
)
def test_a_share_of_nearly_all_is_not_100_percent_nor_one_of_nearly_none_0(share, decimals, written):
    assert share_text(share, decimals) == written


def test_the_pages_say_100_percent_of_all_only():
    standing = Standing(User(1, "ana"), None, None, None, (), checks=300, accepted_checks=299)
    assert "99 %" in standings_html(SimpleNamespace(standings=(standing,), training_pairs=0))
    one = Average(1.0, 1.0)
    kind = SimpleNamespace(f1_5=one, f1_m=one)
    model = dict.fromkeys(("all", "present", "absent"), kind) | dict.fromkeys(("ndcg", "precision"), one)
    assert "99 %" in figures_html(
        {"m": SimpleNamespace(documents=1, judged_at_k=299 / 300, **model)}, JudgingOptions()
    )
    report = SimpleNamespace(bins=BINS, distribution=(("sentence2phrase", (299, *[0] * (len(BINS) - 2), 1)),))
    assert distribution_html(report).count("100 %") == 1
    assert distribution_chart(report)["data"][1]["customdata"][-2:] == ["99 %", "100 %"]
    chart = grades_chart(("0", "1"), [("a", (0.0001, 0.9999))])
    assert chart["data"][0]["customdata"] == ["0.1 %", "99.9 %"]


def test_a_line_is_told_from_the_bars_of_its_colour():
    report = SimpleNamespace(bins=BINS, distribution=(("sentence2phrase", (1,) * len(BINS)),))
    bars, line = distribution_chart(report)["data"]
    assert bars["marker"]["color"] == line["line"]["color"]
    assert bars["opacity"] == 0.5
    assert line["marker"]["line"]["width"] > 0


def test_requested_grades_of_imported_pairs_are_said_to_count():
    imported = JudgedPair("sentence2phrase", Decimal(3), Decimal(2))
    report = writing_report(
        "p", ("sentence2phrase",), [imported], [], [], reserved=0, waiting=0, not_understood=0
    )
    shown = matrix_html(report)
    assert "−1.00" in shown
    assert "All pairs with a requested grade and a gold grade count, imported ones too." in shown


def test_the_chart_of_the_writing_report_is_saved_under_a_harmless_name():
    pairs = [JudgedPair("sentence2phrase", Decimal(4), Decimal(3), "wim")]
    report = writing_report(
        "../news: a/b", ("sentence2phrase",), pairs, (), (), reserved=0, waiting=0, not_understood=0
    )
    accounts = SimpleNamespace(require=lambda *_: User(1, "ed"))
    handlers = ReportHandlers(accounts, SimpleNamespace(report=lambda _: report), None)
    shown = handlers.show(SimpleNamespace(username="ed", query_params={"project": "1"}))
    assert 'data-file="news-a-b-grades"' in shown[-1]


def test_a_sentence_of_the_command_line_has_its_numbers_as_pages_write_them():
    counts = GoldCounts(2_000, 817, 0)
    html = closed_html(str(UnfinishedError(_missing_text(counts, ("sentence2phrase", "p-1,000")), 817)))
    assert "817 of 2\u202f000 pairs have no gold grade yet, the first is" in html
    assert "pair &#x27;p-1,000&#x27; (" in html
    assert regroup_numbers("12,345,678 pairs, 1,2 or 1,2345") == "12\u202f345\u202f678 pairs, 1,2 or 1,2345"
    assert regroup_numbers("0.250 in 1,183 pairs") == "0.250 in 1\u202f183 pairs"
    with use_language("de"):
        said = "1,183 Paare, von 0.250 auf -0.50, “0.25” und '1.5' in v1.2.3 und v1.2"
        assert regroup_numbers(said) == said.replace("1,183", "1\u202f183").replace("0.250", "0,250").replace(
            "-0.50", "-0,50"
        )


def test_a_plan_of_more_pairs_has_its_decimals_as_the_language_writes_them():
    steps = (PlannedWidth(20, 0.56), PlannedWidth(100, 1.25))
    plan = Plan(0.5, 100, 2.5, 1.25, steps=steps, exponent=-0.52, spread=(0.8, 1.2)).for_width(0.5)
    with use_language("de"):
        told = plan_html(plan, 3)
    assert "im Mittel 2,5 Bewertungen" in told
    assert "von 1,250 auf 0,5" in told
    assert re.findall(r"\d\.\d", told) == []


def test_a_single_pair_without_a_gold_grade_is_spoken_of_as_one():
    counts = GoldCounts(5, 1, 0)
    assert str(UnfinishedError(_missing_text(counts, ("sentence2phrase", "3")), 1)) == (
        "1 of 5 pairs has no gold grade yet, it is pair 3 (sentence2phrase); 1 lacks ratings: have it graded "
        "and adjudicated, leave it out, or list it in a separate file."
    )


ROOT = Path(__file__).parents[2]
TYPOGRAPHIC = re.compile(r"(?<=[\w}])(?:\u2019|\\u2019|&rsquo;|&#8217;)")
READ_AS_WELL = "Alzheimer\u2019s disease"
"""How somebody else's text may spell it, as a docstring tells."""


def test_our_own_sentences_have_straight_apostrophes_alone():
    folders = (ROOT / name for name in ("annotation", "db", "docs", "kpdemo"))
    files = [
        file for folder in folders for file in folder.rglob("*.*") if file.suffix in {".py", ".js", ".md"}
    ]
    files += [ROOT / "app.py", ROOT / "README.md", ROOT / "CHANGELOG.md"]
    texts = {file: file.read_text("utf-8").replace(READ_AS_WELL, "") for file in files}
    found = [
        f"{file.relative_to(ROOT)}: {line.strip()}"
        for file, text in texts.items()
        for line in text.splitlines()
        if TYPOGRAPHIC.search(line)
    ]
    assert len(files) > 300
    assert found == []
