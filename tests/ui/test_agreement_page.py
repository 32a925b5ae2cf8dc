"""What the agreement page says and draws, and to whom; real services on a real database."""

from __future__ import annotations

import csv
import io
import json
import re
from base64 import b64decode
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from decimal import Decimal
from html import unescape
from types import SimpleNamespace
from zipfile import ZipFile

import gradio as gr
import numpy as np
import pytest
from sqlalchemy import event

from annotation import __version__
from annotation.agreement import MANY_PAIRS, Alpha
from annotation.reliability.planning import DEFAULT_WIDTH
from annotation.reliability.raters import Drift, Window
from annotation.reliability.report import agreement_to_json
from annotation.services.accounts import AccountService
from annotation.services.agreement import AgreementService
from annotation.services.bundle import DamagedError, UnreachableError, open_services
from annotation.services.imports import ImportService
from annotation.services.projects import ProjectService
from annotation.services.ratings import RatingService
from annotation.types import NewRating, Role
from annotation.ui.agreement import (
    CHARTS,
    FIRST_FIGURES,
    FOR_LEADERS,
    NEWER_FIGURES,
    AgreementHandlers,
    bounds_table,
    build_agreement_page,
    charts_of,
    method_html,
    plan_html,
    raters_table,
    tables_of,
    texts_of,
    verdict,
    widest_table,
)
from annotation.ui.figures import (
    Column,
    Series,
    Table,
    alpha_chart,
    bias_chart,
    drift_chart,
    file_name,
    grades_chart,
    savable_html,
    table_csv,
)
from annotation.wording import name_order
from kpdemo.io.tables import BYTE_ORDER_MARK
from kpdemo.translation import use_language
from kpdemo.ui.charts import LONGEST_LABEL
from tests.latex_tables import saved_table
from tests.people import MovableClock
from tests.processes import wait_for
from tests.rated import pair, rated_project
from tests.raters import new_world

EVIL = "<img src=x onerror=alert(1)>${1+1}"
PAIRS = [
    pair("a", "0", "0.25", genre="news"),
    pair("b", "4", "3.5", genre="news"),
    pair("c", "1", "3", genre="fable"),
    pair("d", "2.75", "2", genre="fable", type="phrase2word"),
    pair("e", "1", type="phrase2word"),
]


@pytest.fixture
def rated(sqlite_database):
    rated = rated_project(sqlite_database, PAIRS)
    accounts, projects = AccountService(sqlite_database), ProjectService(sqlite_database)
    accounts.add_user("root", is_administrator=True)
    accounts.add_user("leader")
    projects.add_member(rated.id, "leader", Role.ADMINISTRATOR)
    return rated


@pytest.fixture
def handlers(rated):
    return AgreementHandlers(AccountService(rated.database), AgreementService(rated.database))


def ask(name, project="1"):
    return SimpleNamespace(username=name, query_params={"project": str(project)})


def report_of(database, pairs, **settings):
    rated = rated_project(database, pairs, **settings)
    return AgreementService(database).report(rated.id), rated


def charts(shown):
    return {name: shown[f"{name}-chart"] for name in CHARTS}


def test_how_resamples_of_many_pairs_are_drawn_is_said(sqlite_database):
    report, _ = report_of(sqlite_database, [pair(1, 4, 3), pair(2, 0, 1)])
    assert "normal distribution" not in method_html(report)
    many = replace(report.whole.all, pairs=MANY_PAIRS)
    assert "of 5\u202f000 pairs or more" in method_html(
        replace(report, whole=replace(report.whole, all=many))
    )


@pytest.mark.parametrize("name", ["root", "leader", "judith"])
def test_administrators_and_adjudicators_see_the_page(handlers, rated, name):
    shown = handlers.open(ask(name, rated.id), DEFAULT_WIDTH)
    assert (shown["closed"], shown["body"].visible, shown["timer"].active) == ("", True, True)
    assert "α of all pairs" in shown["figures"]
    assert "Done" in repr(shown)


def test_a_large_project_says_that_its_figures_are_being_made_and_shows_them_by_itself(
    handlers, rated, monkeypatch
):
    monkeypatch.setattr("annotation.services.agreement.MANY_RATINGS", 3)
    leader = ask("leader", rated.id)
    shown = handlers.open(leader, DEFAULT_WIDTH)
    assert FIRST_FIGURES in shown["status"]
    assert shown["timer"].active
    assert "figures" not in shown

    def looks() -> bool:
        shown.update(handlers.look(leader, shown["version"], DEFAULT_WIDTH))
        return "figures" in shown

    assert wait_for(looks)
    assert "α of all pairs" in shown["figures"]
    rated.rate("e", ben="4")
    assert handlers.look(leader, shown["version"], DEFAULT_WIDTH) == {}, "nothing newer is there yet"
    assert NEWER_FIGURES in handlers.refresh(leader, DEFAULT_WIDTH)["status"]


@pytest.mark.parametrize(
    ("name", "said"),
    [("ana", FOR_LEADERS), ("nobody", "You are not signed in"), (None, "You are not signed in")],
)
def test_others_see_a_sentence_and_no_figure(handlers, rated, name, said):
    shown = handlers.open(ask(name, rated.id), DEFAULT_WIDTH)
    assert said in unescape(shown["closed"])
    assert (shown["body"].visible, shown["timer"].active) == (False, False)
    assert shown.keys() == {"closed", "body", "timer"}


@pytest.mark.parametrize("name", ["ana", "nobody", None])
def test_pressing_refresh_or_waiting_gets_nobody_in(handlers, rated, name):
    with pytest.raises(gr.Error):
        handlers.refresh(ask(name, rated.id), DEFAULT_WIDTH)
    assert handlers.look(ask(name, rated.id), "", DEFAULT_WIDTH) == {}


def test_a_project_that_is_not_there_is_explained(handlers, rated):
    shown = handlers.open(ask("root", 99), DEFAULT_WIDTH)
    assert "There is no project 99" in shown["closed"]
    shown = handlers.open(SimpleNamespace(username="root", query_params={}), DEFAULT_WIDTH)
    assert "No project is chosen" in shown["closed"]


@pytest.mark.both_databases
def test_while_an_import_writes_figures_are_shown_and_numbers_of_raters_follow(handlers, rated, monkeypatch):
    monkeypatch.setattr("annotation.services.numbering._PAGE_WAITS", 0.01)
    judith = ask("judith", rated.id)
    with ThreadPoolExecutor(1) as page, rated.database.session():
        shown = page.submit(handlers.open, judith, DEFAULT_WIDTH).result(60)
    assert (shown["closed"], shown["body"].visible, shown["timer"].active) == ("", True, True)
    assert "α of all pairs" in shown["figures"]
    assert "Rater without number (2)" in shown["raters"]
    assert "So do the numbers of raters who have none yet" in shown["status"]
    assert not re.search(r"Rater \d|\bana\b", repr(shown))
    took(handlers, seconds=0)
    looked = handlers.look(judith, shown["version"], DEFAULT_WIDTH)
    assert "Rater 1" in looked["raters"]
    assert "without number" not in repr(looked)


@pytest.mark.parametrize(
    "error", [UnreachableError("/srv/kpdemo.db"), DamagedError("/srv/kpdemo.db", "torn")]
)
def test_a_page_that_renews_itself_stays_as_it_is_while_the_database_cannot_be_read(
    handlers, rated, monkeypatch, error
):
    def gone(*_, **__):
        raise error

    monkeypatch.setattr(AgreementService, "report", gone)
    with pytest.raises(gr.Error, match=re.escape(error.for_users)):
        handlers.plan(DEFAULT_WIDTH, ask("root", rated.id))
    assert handlers.look(ask("root", rated.id), "", DEFAULT_WIDTH) == {}
    if isinstance(error, UnreachableError):
        shown = handlers.open(ask("root", rated.id), DEFAULT_WIDTH)
        assert "The database is not responding: try again in a moment." in shown["closed"]
        assert (shown["body"].visible, shown["timer"].active) == (False, False)


def test_administrators_read_names_and_adjudicators_numbers(handlers, rated):
    for name in ("root", "leader"):
        shown = repr(handlers.refresh(ask(name, rated.id), DEFAULT_WIDTH))
        assert "ana" in shown
        assert "Rater 1" not in shown
    shown = repr(handlers.refresh(ask("judith", rated.id), DEFAULT_WIDTH))
    assert "Rater 1" in shown
    assert not re.search(r"\b(ana|ben)\b", shown)


def test_agreement_by_type_is_saved_for_papers_with_the_figures_of_the_page(handlers, rated):
    where = [handlers.refresh(ask(name, rated.id), DEFAULT_WIDTH)["genres"] for name in ("judith", "leader")]
    table, same = (saved_table(html, "harbour-agreement.tex") for html in where)
    assert table == same
    report = handlers.agreement.report(rated.id)
    assert table.heads == ["Type", *["Pairs", "α", "95 %"] * 2]
    assert list(table.rows) == ["sentence2phrase", "phrase2word", "All"]
    parts = {**{part.name: part for part in report.by_type}, "All": report.whole}
    for name, row in table.rows.items():
        for alpha, (pairs, *cells) in ((parts[name].all, row[:3]), (parts[name].unadjudicated, row[3:])):
            numbers = re.findall(r"-?\d*\.\d+", "".join(cells).replace("$", ""))
            known = [number for number in (alpha.value, alpha.low, alpha.high) if number is not None]
            assert int(pairs) == alpha.pairs
            assert [float(number) for number in numbers] == pytest.approx(known, abs=0.0005)
    assert table.rows["All"][0] == "4"
    assert table.comments[0] == f"The page Agreement of kpdemo, version {__version__}, project harbour."
    assert any(comment.startswith("--: phrase2word, all pairs: ") for comment in table.comments)
    assert not any("python -m" in comment for comment in table.comments)


def test_the_page_is_in_the_reader_s_language_and_its_files_stay_in_english(handlers, rated):
    def saved(shown):
        return re.findall(r'data-(?:bytes|content)="([^"]*)"', shown["save"] + shown["genres"])

    english = handlers.open(ask("judith", rated.id), DEFAULT_WIDTH)
    with use_language("de"):
        german = handlers.open(ask("judith", rated.id), DEFAULT_WIDTH)
        reason = handlers.open(ask("ana", rated.id), DEFAULT_WIDTH)["closed"]
    assert len(saved(english)) == 2
    assert saved(german) == saved(english)
    figures = re.compile(r"−?\b\d\.\d{2,3}\b")
    seen = figures.findall(re.sub(r"<[^>]*>", " ", english["where"] + english["raters"]))
    assert seen
    told = re.sub(r"<[^>]*>", " ", german["where"] + german["raters"])
    assert re.findall(figures.pattern.replace(r"\.", ","), told)[: len(seen)] == [
        one.replace(".", ",") for one in seen
    ]
    assert "Bewertende Person 1" in german["raters"]
    # Reasons are kept with the figures, which are counted once for all readers.
    assert "Only one pair has two ratings; it takes two." in english["where"]
    assert "Nur ein Paar hat zwei Bewertungen; es braucht zwei." in german["where"]
    assert "Nur Projektleitung und Adjudikation" in reason
    told = [re.sub(r"<[^>]*>", "\n", text) for text in german.values() if isinstance(text, str)]
    left = re.findall(r"[^\n]*\b(?:the|of|pairs|grades|raters|with|none)\b[^\n]*", "\n".join(told))
    assert [line for line in left if not re.search("python -m annotation|old harbour", line)] == []


def test_without_pairs_there_is_no_table_to_save(sqlite_database):
    report, rated = report_of(sqlite_database, [])
    assert "data-save" not in "".join(texts_of(report, rated.id, leads=True).values())


def test_all_tables_are_saved_as_one_file_which_is_the_same_for_the_same_figures(handlers, rated):
    shown = handlers.refresh(ask("leader", rated.id), DEFAULT_WIDTH)["save"]
    assert 'data-save="harbour-agreement.zip"' in shown
    with ZipFile(io.BytesIO(b64decode(re.search(r'data-bytes="([^"]*)"', shown)[1]))) as archive:
        files = {name: archive.read(name).decode() for name in archive.namelist()}
    report = handlers.agreement.report(rated.id)
    tables = tables_of(report, rated.id)
    assert {table.name for table in tables} == {
        *("types", "genres", "grades", "raters", "rater-pairs", "bound", "widest-pairs")
    }
    assert {name: files[f"{name}.csv"] for name in (table.name for table in tables)} == {
        table.name: table_csv(table) for table in tables
    }
    assert files.keys() - {f"{table.name}.csv" for table in tables} == {"agreement.tex"}
    assert "sentence2phrase" in files["agreement.tex"]
    assert handlers.refresh(ask("leader", rated.id), DEFAULT_WIDTH)["save"] == shown
    assert "ana" not in handlers.refresh(ask("judith", rated.id), DEFAULT_WIDTH)["raters"]


def test_the_widest_pairs_are_in_view_and_the_others_folded(sqlite_database):
    pairs = [pair(f"p{n}", "0", f"{Decimal(n) / 4}") for n in range(8)]
    report, rated = report_of(sqlite_database, pairs)
    first, _, rest = texts_of(report, rated.id, leads=True)["widest"].partition("<details")
    assert re.findall(r"<span>(p\d)</span></a>", first) == ["p7", "p6", "p5", "p4", "p3"]
    assert re.findall(r"<span>(p\d)</span></a>", rest) == ["p2", "p1"]
    assert "<summary>2 further pairs</summary>" in rest


def test_looking_again_changes_nothing_until_something_happened(handlers, rated):
    version = handlers.refresh(ask("root", rated.id), DEFAULT_WIDTH)["version"]
    assert handlers.look(ask("root", rated.id), version, DEFAULT_WIDTH) == {}
    rated.rate("e", ben="1")
    took(handlers, seconds=0)
    shown = handlers.look(ask("root", rated.id), version, DEFAULT_WIDTH)
    assert "10 grades" in unescape(shown["figures"]).replace("\u202f", " ")
    assert shown["version"] != version


def test_a_large_project_is_not_counted_again_and_again_while_it_is_graded(handlers, rated, monkeypatch):
    version = handlers.refresh(ask("root", rated.id), DEFAULT_WIDTH)["version"]
    took(handlers, seconds=60)
    rated.rate("e", ben="1")
    looked = handlers.look(ask("root", rated.id), version, DEFAULT_WIDTH)
    assert "newer figures" in looked["status"]
    assert looked.keys() == {"status"}
    shown = handlers.refresh(ask("root", rated.id), DEFAULT_WIDTH)  # who asks gets it
    assert "10 grades" in shown["figures"]


def took(handlers, *, seconds):
    """As if the last report had taken so long to make."""
    [kept] = handlers.agreement._kept.values()
    kept.seconds = seconds


def test_the_page_has_a_part_for_every_figure(rated, handlers):
    with gr.Blocks() as page:
        build_agreement_page(handlers, page)
    events = {event.api_name: event for event in page.fns.values()}
    plans = {f"plan_pairs_{when}" for when in ("again", "by_enter")}
    looks = {"open_agreement", "refresh_agreement", "ask_for_agreement", "look_at_agreement"}
    assert set(events) == {*looks, "open_folds_1", "open_folds_2", *plans}
    shown = handlers.refresh(ask("root", rated.id), DEFAULT_WIDTH)
    assert len(events["refresh_agreement"].outputs) == len(shown)
    assert len(events["open_agreement"].outputs) == len(handlers.open(ask("root", rated.id), DEFAULT_WIDTH))
    assert events["look_at_agreement"].outputs == events["refresh_agreement"].outputs


def test_every_chart_has_a_table_with_the_same_figures(sqlite_database):
    pairs = [*PAIRS, pair("f", "1", "2", "2.25"), pair("g", "0", "0.5", "4")]
    report, rated = report_of(sqlite_database, pairs, raters_per_pair=3)
    texts, drawn = texts_of(report, rated.id, leads=True), charts_of(report)
    assert all(drawn[name] for name in CHARTS if name != "drift")
    assert (drawn["drift"], texts["drift"]) == (None, "")  # nobody knows when imported grades were given
    texts["where"] += texts["genres"]
    for chart, part in (("where", "where"), ("together", "rater-pairs"), ("without", "raters")):
        values = [x for trace in drawn[chart]["data"] for x in trace["x"] if x is not None]
        assert values
        for value in values:
            assert f"{value:.3f}".replace("-", "−") in texts[part]
    for share in drawn["grades"]["data"][0]["y"]:
        assert f"{share:.1f} %" in texts["grades"]
    for bias in drawn["bias"]["data"][0]["x"]:
        assert f"{bias:+.2f}".replace("-", "−") in texts["raters"]


def test_raters_stand_on_the_page_as_systems_would(sqlite_database):
    pairs = [pair("a", "0", "1"), pair("b", "4", "3"), pair("c", "2", "2"), pair("d", "1", "2", "3")]
    report, rated = report_of(sqlite_database, pairs, raters_per_pair=3)
    shown = texts_of(report, rated.id, leads=True)["bound"]
    [whole, ana, ben, cleo] = bounds_table(report).rows
    assert [row[1] for row in (whole, ana, ben, cleo)] == ["mean of 2 raters", "ana", "ben", "cleo"]
    assert (ana[2].value, ana[4]) == (pytest.approx(np.corrcoef([0, 4, 2, 1], [1, 3, 2, 2.5])[0, 1]), 4)
    assert whole[2].value == pytest.approx((ana[2].value + ben[2].value) / 2)
    assert "sentence to phrase, cleo</strong>: 1 pair that others graded too" in shown
    alone, rated = report_of(sqlite_database, [pair("a", "0")], name="one")
    assert "No two raters have graded the same pair yet" in texts_of(alone, rated.id, leads=True)["bound"]


@pytest.mark.parametrize(("pairs", "said"), [(49, True), (50, False)])
def test_types_with_few_pairs_are_named_below_their_intervals(sqlite_database, pairs, said):
    report, rated = report_of(sqlite_database, [pair(f"p{n}", str(n % 5), str(n % 4)) for n in range(pairs)])
    where = texts_of(report, rated.id, leads=True)["where"]
    assert ("narrower than it should be: sentence to phrase." in where) is said


def test_raters_who_move_are_drawn_over_time_and_stand_in_a_table(sqlite_database):
    world = new_world(sqlite_database, pairs=24, raters=2, k=2)
    services, clock = open_services(sqlite_database), MovableClock()
    ratings = RatingService(sqlite_database, clock)
    for rater, late in zip(world.raters, ("3", "1"), strict=True):
        queue = services.assignment.queue(world.project, rater)
        for number in range(24):
            grade = Decimal(late if number >= 12 else "2") + Decimal("0.25") * (number % 2)
            clock.forward(minutes=1)
            queue = ratings.rate(queue.pairs[0].id, rater, grade, 1.0).queue
    report = services.agreement.report(world.project, resamples=20)
    assert next(drift.change for drift in report.drifts if drift.rater == 0) in (2.0, -2.0)
    drawn, texts = (
        charts_of(report)["drift"],
        texts_of(report, world.project, leads=True)["drift"],
    )
    assert [len(trace["x"]) for trace in drawn["data"]] == [2, 2]
    assert drawn["data"][0]["x"][0] < drawn["data"][0]["x"][1]
    assert {f"{trace['y'][1]:+.2f}".replace("-", "−") for trace in drawn["data"]} == {"+2.00", "−2.00"}
    assert "+2.00" in texts
    assert "<span>yes</span>" in texts
    told = agreement_to_json(report)["drift"]
    assert {(one["clear"], len(one["windows"])) for one in told} == {(True, 2)}
    assert told[0]["windows"][0]["start"].startswith("2026-11-22T12:")


def test_a_pair_leads_to_its_adjudication(sqlite_database):
    report, rated = report_of(sqlite_database, PAIRS)
    widest = texts_of(report, rated.id, leads=True)["widest"]
    assert f"/annotate/adjudicate?project={rated.id}&amp;pair={rated.pair_id('c')}" in widest
    assert widest.index(">c<") < widest.index(">d<") < widest.index(">b<")


def test_of_pairs_that_the_reader_may_still_grade_only_the_number_is_told(sqlite_database):
    rated = rated_project(sqlite_database, PAIRS, raters_per_pair=3)
    projects, agreement = ProjectService(sqlite_database), AgreementService(sqlite_database)
    handlers = AgreementHandlers(AccountService(sqlite_database), agreement)
    shown = handlers.refresh(ask("judith", rated.id), DEFAULT_WIDTH)
    assert "old harbour" in shown["widest"]
    projects.add_member(rated.id, "judith", Role.RATER)
    blind = handlers.refresh(ask("judith", rated.id), DEFAULT_WIDTH)
    assert "4 pairs are held back because you may still grade them" in blind["widest"]
    assert "old harbour" not in blind["widest"]
    assert "No pair has grades that differ" not in blind["widest"]
    assert blind["figures"] == shown["figures"]


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ([], "No pairs yet."),
        ([pair("a"), pair("b")], "2 pairs and no grades yet."),
        ([pair("a", "1"), pair("b", "2")], "One rater has graded 2 pairs; agreement takes two raters"),
        ([pair("a", "1", "2"), pair("b", "3")], "Only one pair has two ratings; it takes two. Wait"),
        ([pair("a", "3", "3"), pair("b", "3", "3")], "All 4 ratings are 3: agreement cannot be told"),
    ],
)
def test_where_alpha_is_undefined_the_page_says_why_and_what_to_do(sqlite_database, pairs, words):
    report, rated = report_of(sqlite_database, pairs)
    texts = texts_of(report, rated.id, leads=True)
    assert words in unescape(texts["enough"])
    assert "undefined" in texts["figures"]
    assert not re.search(r"\bnan\b|None", "".join(texts.values()))
    assert charts_of(report)["where"] is None
    for_adjudicators = texts_of(report, rated.id, leads=False)["enough"]
    assert "/annotate/project" not in for_adjudicators  # they may not go there


def test_where_a_pair_takes_one_rater_the_page_says_that_nothing_can_be_compared(sqlite_database):
    report, rated = report_of(sqlite_database, [pair("a", "1"), pair("b", "2")], raters_per_pair=1)
    for leads in (True, False):
        assert "graded by one rater in this project" in texts_of(report, rated.id, leads=leads)["enough"]


def test_whom_to_look_at_stands_on_top_and_names_are_text(sqlite_database):
    report, rated = report_of(sqlite_database, [pair(f"p{at}", str(at % 5), "2") for at in range(18)])
    names = tuple(EVIL if name == "ben" else name for name in report.rater_names)
    report = replace(report, rater_names=names)
    top = texts_of(report, rated.id, leads=True)["figures"]
    assert f"{EVIL} gave the same grade, 2, to all 18 pairs." in unescape(top)
    assert "<img" not in top
    report, rated = report_of(sqlite_database, PAIRS, name="another")
    assert "agreement-conspicuous" not in texts_of(report, rated.id, leads=True)["figures"]


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.80, 0.9, "Yes, by convention: the whole interval is at or above 0.800."),
        (0.7, 0.85, "At least for tentative conclusions, by convention: the interval crosses 0.800."),
        (0.667, 0.79, "For tentative conclusions, by convention: the interval lies between 0.667 and 0.800."),
        (0.6, 0.7, "Too early to tell: the interval crosses 0.667."),
        (0.5, 0.9, "Too early to tell: the interval crosses 0.667."),
        (-0.2, 0.6, "No, by convention: the whole interval is below 0.667."),
        (None, None, "There is no interval"),
    ],
)
def test_the_verdict_goes_by_the_whole_interval(low, high, words):
    assert verdict(Alpha(0.75, low, high, 50, 100)).startswith(words)
    if low is not None:
        assert verdict(Alpha(0.75, low, high, 49, 98)).startswith("Too few pairs to tell: 49 pairs with two")


def test_the_plan_is_called_an_estimate_and_says_whether_the_project_has_the_pairs(handlers, rated):
    grades = [("0", "3"), ("1", "1.5"), ("2", "2"), ("4", "1"), ("3", "3.25")] * 10
    graded = [pair(f"g{n}", *both, *(["2"] if n < 15 else [])) for n, both in enumerate(grades)]
    more = [pair(f"x{n}") for n in range(4)]
    many = rated_project(rated.database, [*graded, *more], name="many", raters_per_pair=3)
    said = unescape(handlers.plan(0.05, ask("judith", many.id)))
    assert "This estimate assumes" in said
    assert "more pairs, graded as those so far (2.3 grades a pair on average), would bring" in said
    assert "4 pairs of the project lack two grades, so that more would have to be imported" in said
    assert "narrow enough (at most 2)" in handlers.plan(2, ask("judith", many.id))
    assert "is 0.001 to 2, not 0: choose one such as 0.05" in handlers.plan(0, ask("root", many.id))


@pytest.mark.parametrize("width", [DEFAULT_WIDTH, 0.01, 0.9])
def test_the_plan_of_any_width_comes_from_the_report(handlers, rated, width):
    grades = [("0", "3"), ("1", "1.5"), ("2", "2"), ("4", "1"), ("3", "3.25")] * 10
    graded = [*(pair(f"g{n}", *both) for n, both in enumerate(grades)), pair("x")]
    many = rated_project(rated.database, graded, name="many")
    expected = plan_html(*handlers.agreement.plan(many.id, width))
    handlers.open(ask("judith", many.id), DEFAULT_WIDTH)
    read: list[str] = []
    event.listen(rated.database.engine, "before_cursor_execute", lambda *given: read.append(given[2]))
    assert handlers.refresh(ask("judith", many.id), width)["plan"] == expected
    assert handlers.plan(width, ask("judith", many.id)) == expected
    assert read
    assert not [statement for statement in read if "seconds" in statement]  # no ratings


def test_the_plan_of_a_large_project_is_made_of_the_last_report_and_not_in_the_server(
    handlers, rated, monkeypatch
):
    grades = [("0", "3"), ("1", "1.5"), ("2", "2"), ("4", "1"), ("3", "3.25")] * 10
    graded = [pair(f"g{n}", *both) for n, both in enumerate(grades)]
    many = rated_project(rated.database, graded, name="many", raters_per_pair=3)
    expected = plan_html(*handlers.agreement.plan(many.id, 0.02))
    monkeypatch.setattr("annotation.services.agreement.MANY_RATINGS", 3)
    judith = ask("judith", many.id)
    assert FIRST_FIGURES in handlers.plan(0.02, judith)
    assert wait_for(lambda: handlers.agreement.latest(many.id) is not None)
    many.rate("g0", cleo="3")
    monkeypatch.setattr("annotation.services.agreement.read_grades", None)
    assert handlers.plan(0.02, judith) == expected, "of the last report, which has no such grade yet"
    assert "is 0.001 to 2, not 3" in handlers.plan(3, judith)


def test_the_plan_is_of_the_very_grades_that_the_figures_are_of(handlers, rated, monkeypatch):
    def shown_late(*given, **how):
        rated.rate("e", ben="1")
        return texts_of(*given, **how)

    monkeypatch.setattr("annotation.ui.agreement.texts_of", shown_late)
    shown = handlers.refresh(ask("root", rated.id), DEFAULT_WIDTH)
    assert "4 pairs have two ratings" in shown["plan"]
    assert "10 grades" not in shown["figures"]


def test_of_few_pairs_no_plan_is_made_and_raters_are_refused(handlers, rated):
    judith = ask("judith", rated.id)
    assert "4 pairs have two ratings, and with fewer than 50" in handlers.plan("0,05", judith)
    assert "widest interval of α is missing: give a number" in handlers.plan("", judith)
    with pytest.raises(gr.Error, match="This needs the role"):
        handlers.plan(0.05, ask("ana", rated.id))


def test_texts_of_others_are_shown_and_not_run(sqlite_database):
    pairs = [
        pair("<b>id</b>", "0", "4", genre=EVIL, left=EVIL * 20, right="漢字 \u202eנקה"),
        pair("y", "4", "0", genre="plain"),
    ]
    report, rated = report_of(sqlite_database, pairs, name="=harbour & <i>co</i>")
    texts = texts_of(report, rated.id, leads=True)
    assert not re.search(r"<(img|b|i)\b|\$\{", "".join(texts.values()))
    assert EVIL in unescape(texts["genres"])
    assert "…" in texts["widest"]
    drawn = json.dumps(charts_of(report))
    assert "<img" not in drawn
    assert "&lt;img" in drawn


def test_names_in_a_template_of_a_chart_fill_nothing_in():
    chart = grades_chart(("0", "1"), [("%{y} <b>", (0.5, 0.5))])
    assert chart["data"][0]["hovertemplate"].startswith("% (y) &lt;b&gt;, %{x}")


def saved_rows(table):
    return list(csv.DictReader(io.StringIO(table_csv(table).removeprefix(BYTE_ORDER_MARK))))


def test_saved_tables_hold_figures_in_full_and_no_formula(sqlite_database):
    report, _ = report_of(
        sqlite_database, [pair("=1+1", "0", "0.25"), pair("b", "4", "3.5"), pair("c", "1", "3")]
    )
    widest = list(
        csv.DictReader(io.StringIO(table_csv(widest_table(report, 1)).removeprefix(BYTE_ORDER_MARK)))
    )
    assert [row["Pair"] for row in widest] == ["c", "b", "'=1+1"]
    assert float(widest[1]["Spread"]) == 0.5
    raters = saved_rows(raters_table(report))
    by_name = {row["Rater"]: row for row in raters}
    assert float(by_name["ana"]["Above the others"]) == pytest.approx(-1.75 / 3)
    assert by_name["ana"]["α without them"] == ""
    assert by_name["ana"]["α without them: reason"] == "Without this rater no pair has two ratings."


def test_a_saved_table_is_unicode_and_its_headings_are_no_formulas():
    table = Table("board", "Board", (Column("System", text=True), Column("=HYPERLINK(1)")), (("lcs", 0.5),))
    assert table_csv(table) == "\ufeffSystem,'=HYPERLINK(1)\r\nlcs,0.5\r\n"


def test_the_button_saves_what_the_table_is(sqlite_database):
    report, _ = report_of(sqlite_database, PAIRS, name="my “news” / 2026")
    table = raters_table(report)
    page = savable_html(lambda: table, report.project, page="agreement")
    assert unescape(re.search(r'data-content="([^"]*)"', page)[1]) == table_csv(table)
    assert 'data-save="my-news-2026-raters.csv"' in page


@pytest.mark.parametrize(
    ("project", "name"),
    [("news", "news-x"), ("../..", "project-x"), ("漢字", "漢字-x"), ("字" * 120, "字" * 60 + "-x")],
)
def test_file_names_are_harmless(project, name):
    assert file_name(project, "x") == name


def test_rater_10_comes_after_rater_9():
    assert sorted(["Rater 10", "rater 2", "Rater 1"], key=name_order) == ["Rater 1", "rater 2", "Rater 10"]


def test_a_chart_leaves_out_what_is_undefined_and_says_so():
    undefined = Alpha(None, reason="No pair has two ratings yet.")
    chart = alpha_chart(["one", "two"], [Series("all", (Alpha(0.5, 0.4, 0.7, 9, 18), undefined))])
    [trace] = chart["data"]
    assert trace["x"] == [0.5, None]
    assert trace["error_x"]["array"] == pytest.approx([0.2, 0])
    assert trace["error_x"]["arrayminus"] == pytest.approx([0.1, 0])
    assert [note["text"] for note in chart["layout"]["annotations"]] == ["0.667", "0.8", "undefined"]
    assert chart["layout"]["xaxis"]["range"][0] <= 0.4
    assert alpha_chart(["two"], [Series("all", (undefined,))]) is None
    assert bias_chart(["ana"], [None]) is None
    assert grades_chart(("0",), []) is None
    assert "NaN" not in json.dumps(chart)


def test_pointing_at_next_to_nothing_below_zero_tells_no_minus_zero():
    none = -0.0001
    windows = (Window(0, 1, 1, none, none, none), Window(2, 3, 2, -0.5, -0.75, none))
    charts = (
        alpha_chart(["one"], [Series("all", (Alpha(none, -0.25, none, 9, 18),))]),
        bias_chart(["ana", "ben"], [none, -0.5]),
        drift_chart(["ana"], [Drift(1, windows)]),
    )
    told = [chart["data"][0]["customdata"] for chart in charts]
    assert told == [
        ["one<br>all: 0.000 (−0.250 to 0.000), 9 pairs"],
        ["ana: +0.00", "ben: −0.50"],
        ["ana<br>+0.00 (+0.00 to +0.00), 1 grade", "ana<br>−0.50 (−0.75 to +0.00), 2 grades"],
    ]


def test_long_labels_are_cut_and_long_lists_end():
    alphas = tuple(Alpha(0.5, 0.4, 0.6, 9, 18) for _ in range(500))
    chart = alpha_chart(["x" * 300] * 500, [Series("all", alphas)])
    assert len(chart["data"][0]["x"]) < 100
    assert all(len(text) <= LONGEST_LABEL for text in chart["layout"]["yaxis"]["ticktext"])
    assert chart["layout"]["height"] < 3000


def test_an_imported_project_with_many_raters_is_drawn(sqlite_database):
    rated = rated_project(sqlite_database, [pair(str(n)) for n in range(6)], raters_per_pair=12)
    ratings = [
        NewRating(str(n), f"rater {rater}", Decimal((n + rater) % 5)) for n in range(6) for rater in range(12)
    ]
    ImportService(sqlite_database).import_pairs(rated.id, ratings)
    report = AgreementService(sqlite_database).report(rated.id)
    assert len(report.rater_pairs) == 66
    assert texts_of(report, rated.id, leads=True)["rater-pairs"].count("<tr>") == 67
    assert charts_of(report)["together"] is not None
