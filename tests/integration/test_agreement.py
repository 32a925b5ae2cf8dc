"""The agreement of a project in a database, and the command that prints it, on both systems."""

from __future__ import annotations

import json
import re
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr
from sqlalchemy import delete, event, select

from annotation.cli.options import open_database
from annotation.comparison import COMPARISON_TYPES
from annotation.errors import NotFoundError
from annotation.gold import ExportOptions, Unfinished
from annotation.services.accounts import AccountService
from annotation.services.adjudication import AdjudicationService
from annotation.services.agreement import AgreementService, keep_report, read_grades
from annotation.services.bundle import open_services
from annotation.services.imports import ImportService
from annotation.services.numbering import NumberService
from annotation.services.project_rows import find_project
from annotation.services.projects import ProjectService
from annotation.services.ratings import RatingService
from annotation.types import Cause, NewPair, ProjectSettings, Role
from annotation.ui.agreement import figures_html, texts_of
from db.models import KeptAgreement, ServerKey
from tests.commands import main
from tests.grade_tables import grades_of_table, krippendorff_alpha
from tests.latex_tables import read_tables
from tests.processes import PATIENCE, wait_for
from tests.rated import pair, rated_project

TOO_FEW = (
    "Too few pairs to tell: 6 pairs with two grades or more, and with fewer than 50 the interval is often "
    "narrower than it should be."
)
PAIRS = [
    pair("a", "0", "0.25", "0", genre="news"),
    pair("b", "4", "3.5", genre="news"),
    pair("c", "1", "3", "2", genre="fable"),
    pair("d", "2.75", "2", genre="fable"),
    pair("e", "1", genre="fable"),
    pair("f", "3", "2.25", "3", type="phrase2word"),
    pair("g", "0", "0", type="phrase2word"),
    pair("h", type="word2sense"),
]
ANA = [0, 4, 1, 2.75, 1, 3, 0]
BEN = [0.25, 3.5, 3, 2, None, 2.25, 0]
CLEO = [0, None, 2, None, None, 3, None]


def alpha_of(*rows):
    return krippendorff_alpha(grades_of_table(rows)).value


def columns(*places):
    return [[row[place] for place in places] for row in (ANA, BEN, CLEO)]


@pytest.fixture
def rated(database):
    return rated_project(database, PAIRS, raters_per_pair=3)


@pytest.fixture
def report(rated):
    return AgreementService(rated.database).report(rated.id)


def test_alpha_of_a_project_is_that_of_its_table(report):
    assert report.project == "harbour"
    assert report.whole.all.value == pytest.approx(alpha_of(ANA, BEN, CLEO))
    assert (report.whole.all.pairs, report.whole.all.ratings) == (6, 15)
    assert report.whole.unadjudicated.value == pytest.approx(alpha_of(*columns(0, 1, 3, 4, 5, 6)))
    assert report.whole.all.low <= report.whole.all.value <= report.whole.all.high


def test_pairs_are_counted(report):
    whole = report.whole
    assert (whole.pairs, whole.ratings, whole.finished, whole.flagged, whole.decided) == (8, 16, 3, 1, 0)


def test_types_stand_in_the_order_of_the_project_with_those_that_have_no_ratings(report):
    by_type = {part.name: part for part in report.by_type}
    assert list(by_type) == list(COMPARISON_TYPES)
    assert by_type["sentence2phrase"].all.value == pytest.approx(alpha_of(*columns(0, 1, 2, 3)))
    assert by_type["phrase2word"].all.value == pytest.approx(alpha_of(*columns(5, 6)))
    assert by_type["word2sense"].pairs == 1
    assert by_type["word2sense"].all.reason == "No pair has two ratings yet."
    assert by_type["phrase2word"].buckets == (2, 0, 1, 2, 0)


def test_genres_are_told_apart_and_a_pair_without_one_too(report):
    by_genre = {part.name: part for part in report.by_genre}
    assert {name: part.pairs for name, part in by_genre.items()} == {"": 3, "fable": 3, "news": 2}
    assert by_genre["news"].all.value == pytest.approx(alpha_of(*columns(0, 1)))


def test_a_project_without_genres_has_no_table_of_them(database):
    rated = rated_project(database, [pair("a", "1", "2"), pair("b", "3", "4")])
    assert AgreementService(database).report(rated.id).by_genre == ()


def test_raters_have_their_names_or_numbers(rated, report):
    figures = {report.rater_names[row.rater]: row for row in report.raters}
    assert {name: row.ratings for name, row in figures.items()} == {"ana": 7, "ben": 6, "cleo": 3}
    assert figures["ana"].mean == pytest.approx(sum(ANA) / 7)
    assert figures["ana"].median_seconds is None
    hidden = AgreementService(rated.database).report(rated.id, named=False)
    assert hidden.rater_names == ("Rater 1", "Rater 2", "Rater 3")
    assert "ana" not in repr(hidden)
    assert hidden.raters == report.raters


def test_pairs_of_raters_and_leaving_one_out_are_tables_of_their_own(report):
    names = report.rater_names
    two = {frozenset((names[row.first], names[row.second])): row.alpha for row in report.rater_pairs}
    assert two[frozenset(("ana", "ben"))].value == pytest.approx(alpha_of(ANA, BEN))
    assert two[frozenset(("ben", "cleo"))].value == pytest.approx(alpha_of(BEN, CLEO))
    without = {names[row.rater]: row.alpha.value for row in report.left_out}
    assert without["cleo"] == pytest.approx(alpha_of(ANA, BEN))


def test_raters_are_measured_like_systems_on_the_pairs_of_a_type(report):
    bounds = {bound.type: bound for bound in report.upper_bounds}
    found = bounds["sentence2phrase"]
    others = {
        "ana": ([0, 4, 1, 2.75], [0.125, 3.5, 2.5, 2]),
        "ben": ([0.25, 3.5, 3, 2], [0, 4, 1.5, 2.75]),
    }
    rows = {report.rater_names[row.rater]: row for row in found.raters}
    for name, columns in others.items():
        assert rows[name].pearson.value == pytest.approx(pearsonr(*columns).statistic)
        assert rows[name].spearman.value == pytest.approx(spearmanr(*columns).statistic)
    assert rows["cleo"].pearson.reason == "2 pairs that others graded too: a correlation takes 3 or more."
    assert (found.pairs, found.counted) == (4, 2)
    assert bounds["word2sense"].pearson.reason == "No pair has two ratings yet."


def test_the_widest_pairs_come_first_and_pairs_that_agree_not_at_all(report):
    assert [(pair.external_id, pair.spread) for pair in report.widest] == [
        ("c", 2.0),
        ("d", 0.75),
        ("f", 0.75),
        ("b", 0.5),
        ("a", 0.25),
    ]
    assert report.widest[0].left == "The ferry c leaves the old harbour at noon."
    assert (report.widest[0].low, report.widest[0].high, report.widest[0].ratings) == (1.0, 3.0, 3)


def test_a_decided_pair_is_not_among_the_unadjudicated_even_when_its_grades_draw_near(rated):
    service = AgreementService(rated.database)
    before = service.report(rated.id)
    AdjudicationService(rated.database).decide(
        rated.id, rated.pair_id("c"), rated.adjudicator.id, Decimal("2.5"), Cause.SCALE
    )
    decided = service.report(rated.id)
    assert (decided.whole.all, decided.whole.unadjudicated) == (before.whole.all, before.whole.unadjudicated)
    assert (decided.whole.flagged, decided.whole.decided) == (1, 1)
    assert [pair.external_id for pair in decided.widest if pair.decided] == ["c"]
    regrade(rated, "c", ben="1.5", cleo="1.5")
    later = service.report(rated.id)
    assert (later.whole.flagged, later.whole.decided, later.whole.decided_unflagged) == (0, 1, 1)
    assert later.whole.unadjudicated == before.whole.unadjudicated


def regrade(rated, pair, **grades):
    for rater, grade in grades.items():
        user = AccountService(rated.database).user(rater)
        RatingService(rated.database).rate(rated.pair_id(pair), user.id, Decimal(grade), 4.5)


def test_another_threshold_flags_other_pairs(database):
    rated = rated_project(database, PAIRS, raters_per_pair=3, threshold=Decimal("0.75"))
    whole = AgreementService(database).report(rated.id).whole
    assert (whole.flagged, whole.unadjudicated.pairs) == (3, 3)


def test_decisions_are_told_also_once_a_higher_threshold_flags_nothing(tmp_path, capsys):
    url = f"sqlite:///{tmp_path / 'raised.db'}"
    rated = rated_project(open_database(url, may_make=True), PAIRS, raters_per_pair=3)
    adjudication, projects = AdjudicationService(rated.database), ProjectService(rated.database)
    by = rated.adjudicator.id
    adjudication.decide(rated.id, rated.pair_id("c"), by, Decimal("2.5"), Cause.SCALE)
    projects.update(rated.id, replace(rated.project.settings, threshold=Decimal(4)))
    said = "1 decided (1 no longer flagged), 0 to adjudicate"
    report = AgreementService(rated.database).report(rated.id)
    page = figures_html(report, rated.id)
    assert f"<p>{said}</p>" in page
    _, out, _ = run(capsys, "agreement", "harbour", "--database-url", url)
    assert f"0 flagged (grades 4 or more apart), {said}." in out
    _, out, _ = run(capsys, "agreement", "harbour", "--json", "--database-url", url)
    counts = {"flagged": 0, "to_adjudicate": 0, "decided": 1, "decided_unflagged": 1, "reopened": 0}
    found = json.loads(out)
    assert counts.items() <= found.items()
    assert counts.items() <= found["by_type"]["sentence2phrase"].items()


def test_what_happens_is_in_the_next_report(rated):
    """A rating, its change, more pairs, a decision and its withdrawal: no stale figures."""
    service = AgreementService(rated.database)
    seen = [service.version(rated.id)]
    figures = [service.report(rated.id)]

    def now(change):
        change()
        seen.append(service.version(rated.id))
        figures.append(service.report(rated.id))

    now(lambda: rated.rate("e", ben="1"))
    now(lambda: regrade(rated, "e", ben="3"))
    now(lambda: ImportService(rated.database).import_pairs(rated.id, [pair("new", "4", "4")]))
    decisions = AdjudicationService(rated.database)
    now(lambda: decisions.decide(rated.id, rated.pair_id("c"), rated.adjudicator.id, Decimal(2), Cause.SCALE))
    now(lambda: decisions.withdraw(rated.id, rated.pair_id("c"), rated.adjudicator.id))
    assert len(set(seen)) == len(seen)
    assert [report.whole.ratings for report in figures] == [16, 17, 17, 19, 19, 19]
    assert figures[1].whole.all.value != figures[2].whole.all.value
    assert [report.whole.decided for report in figures[-2:]] == [1, 0]


def test_settings_and_a_new_name_of_the_project_are_in_the_next_report(rated):
    service = AgreementService(rated.database)
    assert service.report(rated.id).whole.flagged == 1
    settings = replace(rated.project.settings, threshold=Decimal("0.5"), name="port")
    ProjectService(rated.database).update(rated.id, settings)
    after = service.report(rated.id)
    assert (after.project, after.whole.flagged, after.threshold) == ("port", 4, 0.5)


def test_nothing_is_read_again_while_nothing_changes(rated):
    service = AgreementService(rated.database)
    first = service.report(rated.id)
    read = []
    event.listen(
        rated.database.engine,
        "before_cursor_execute",
        lambda *arguments: read.append(arguments[2]),
    )
    assert service.report(rated.id) == first
    assert not [statement for statement in read if "seconds" in statement or "substr" in statement]
    rated.rate("e", ben="1")
    read.clear()
    assert service.report(rated.id) != first
    assert [statement for statement in read if "seconds" in statement]


def test_another_seed_or_number_of_resamples_is_another_report(rated):
    service = AgreementService(rated.database)
    one, two, three = (
        service.report(rated.id, resamples=resamples, seed=seed).whole.all
        for resamples, seed in ((200, 1), (200, 2), (0, 1))
    )
    assert one.value == two.value == three.value
    assert (one.low, one.high) != (two.low, two.high)
    assert three.interval_reason


@pytest.mark.both_databases
def test_readers_at_once_get_one_report(rated):
    service = AgreementService(rated.database)
    found = []
    threads = [threading.Thread(target=lambda: found.append(service.report(rated.id))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    assert all(report == found[0] for report in found)
    assert all(report.whole is found[0].whole for report in found)


@pytest.mark.both_databases
def test_of_a_large_project_the_last_report_is_shown_while_a_process_makes_the_next(rated, monkeypatch):
    monkeypatch.setattr("annotation.services.agreement.MANY_RATINGS", 3)
    service = AgreementService(rated.database)

    def is_of_now() -> bool:
        latest = service.latest(rated.id)
        return latest is not None and not latest.is_old

    assert service.latest(rated.id) is None
    assert wait_for(is_of_now)
    first = service.latest(rated.id)
    assert first.report == service.report(rated.id)
    assert first.version == service.version(rated.id)
    rated.rate("e", ben="4")
    shown = service.latest(rated.id)
    assert (shown.report, shown.version, shown.made_at) == (first.report, first.version, first.made_at)
    assert shown.is_old
    assert wait_for(is_of_now)
    rated.rate("e", cleo="3")
    unasked = service.latest(rated.id, is_asked=False)
    assert (unasked.is_old, unasked.is_renewed) == (True, False), "it would take too much of the time"
    assert service.latest(rated.id).is_renewed
    assert wait_for(is_of_now)
    assert service.latest(rated.id).report == service.report(rated.id) != first.report


def test_a_report_that_an_earlier_version_kept_is_made_anew(rated, monkeypatch):
    monkeypatch.setattr("annotation.services.agreement.MANY_RATINGS", 3)
    keep_report(rated.database.url.render_as_string(), rated.id)
    service = AgreementService(rated.database)
    assert service.latest(rated.id).report == service.report(rated.id)
    with rated.database.session() as session:
        session.get_one(KeptAgreement, rated.id).content = '{"report": {"alpha": 0.5}}'
    assert service.latest(rated.id) is None
    assert wait_for(lambda: service.latest(rated.id) is not None)


@pytest.mark.both_databases
def test_who_waits_for_numbers_of_raters_keeps_no_other_reader_waiting(rated, monkeypatch):
    service, waiting, given = AgreementService(rated.database), threading.Event(), threading.Event()
    give, found = NumberService.give, []

    def late(*asked, **how):
        waiting.set()
        assert given.wait(PATIENCE)
        return give(*asked, **how)

    monkeypatch.setattr(NumberService, "give", late)
    anonymous = threading.Thread(target=lambda: service.report(rated.id, named=False))
    anonymous.start()
    assert waiting.wait(PATIENCE)
    other = threading.Thread(target=lambda: found.append(service.report(rated.id)), daemon=True)
    other.start()
    other.join(10)
    got = list(found)
    given.set()
    anonymous.join(PATIENCE)
    assert [sorted(report.rater_names) for report in got] == [["ana", "ben", "cleo"]]


def test_an_empty_project_has_reasons_and_no_figures(database):
    rated = rated_project(database, [])
    report = AgreementService(database).report(rated.id)
    assert (report.whole.pairs, report.whole.all.value) == (0, None)
    assert report.whole.all.reason == "No pair has two ratings yet."
    assert (report.raters, report.rater_pairs, report.left_out, report.widest) == ((), (), (), ())
    assert (report.plan.more_pairs, report.plan.reason) == (None, "No pair has two ratings yet.")


FLAGGED = "Every pair with two ratings is flagged or decided."


@pytest.mark.parametrize(
    ("pairs", "whole", "unadjudicated"),
    [
        ([pair("a", "0", "2"), pair("b", "1", "3")], "", FLAGGED),
        ([pair("a", "0", "2")], "Only one pair has two ratings; it takes two.", FLAGGED),
        ([pair("a"), pair("b", "2")], "No pair has two ratings yet.", "No pair has two ratings yet."),
        (
            [pair("a", "0", "2"), pair("b", "1", "1"), pair("c", "2")],
            "",
            "Only one pair with two ratings is neither flagged nor decided; it takes two.",
        ),
        (
            [pair("a", "0", "2"), pair("b", "1", "1"), pair("c", "1", "1")],
            "",
            "All 4 ratings of pairs that are neither flagged nor decided are 1: agreement cannot be told "
            "from one grade alone.",
        ),
        ([pair("a", "0", "0.5"), pair("b", "3", "3"), pair("c", "0", "4")], "", ""),
    ],
)
def test_why_there_is_no_alpha_is_told_of_the_pairs_that_it_would_be_of(
    database, pairs, whole, unadjudicated
):
    rated = rated_project(database, pairs)
    report = AgreementService(database).report(rated.id)
    parts = [report.whole, next(part for part in report.by_type if part.name == "sentence2phrase")]
    for part in parts:
        assert (part.all.reason, part.unadjudicated.reason) == (whole, unadjudicated)


def test_who_gave_one_grade_to_everything_is_named_by_the_command_and_in_json(tmp_path, capsys):
    url = f"sqlite:///{tmp_path / 'dull.db'}"
    database = open_database(url, may_make=True)
    rated_project(database, [pair(f"p{at}", str(at % 5), "2") for at in range(18)])
    database.dispose()
    said = "ben gave the same grade, 2, to all 18 pairs."
    _, out, _ = run(capsys, "agreement", "harbour", "--database-url", url)
    assert said in out
    _, out, _ = run(capsys, "agreement", "harbour", "--json", "--database-url", url)
    assert json.loads(out)["conspicuous"] == [{"rater": "ben", "said": said}]


def test_why_a_genre_has_no_alpha_is_told_by_the_command_and_the_page(tmp_path, capsys):
    url = f"sqlite:///{tmp_path / 'few.db'}"
    database = open_database(url, may_make=True)
    pairs = [pair(f"p{at}", str(at % 5), "2", genre=f"genre {at // 17}") for at in range(18)]
    rated = rated_project(database, pairs)
    said = "Only one pair has two ratings; it takes two."
    texts = texts_of(AgreementService(database).report(rated.id), rated.id, leads=True)
    assert f"<strong>genre 1</strong>: {said}</li>" in texts["genres"]
    assert "<strong>ana, ben</strong>: Without this rater no pair has two" in texts["raters"]
    database.dispose()
    _, out, _ = run(capsys, "agreement", "harbour", "--database-url", url)
    assert f"\ngenre genre 1: {said}\n" in out


def test_an_imported_grade_that_was_revised_is_of_the_moment_of_its_first_revision(database):
    rated = rated_project(database, [pair("a", "1", "2"), pair("b", "3", "4")])
    ratings = RatingService(database, clock=rated.clock)
    ana = AccountService(database).user("ana").id
    ProjectService(database).add_member(rated.id, "ana", Role.RATER)
    for grade in ("1.25", "1.5"):
        rated.clock.move(86_400)
        ratings.rate(rated.pair_id("a"), ana, Decimal(grade), seconds=3)
    with database.reading() as session:
        read = read_grades(session, find_project(session, rated.id), b"key")
    known = read.data.moments[~np.isnan(read.data.moments)]
    assert known.tolist() == [rated.clock.now.timestamp() - 86_400]


def test_another_projects_ratings_do_not_count(database):
    first = rated_project(database, PAIRS, raters_per_pair=3)
    rated_project(database, [pair("x", "0", "4", type="phrase2word")], name="other")
    assert AgreementService(database).report(first.id).whole.ratings == 16


def test_a_project_that_is_not_there_is_named(database):
    service = AgreementService(database)
    for ask in (service.report, service.version):
        with pytest.raises(NotFoundError, match="There is no project 99"):
            ask(99)


@pytest.fixture
def url(tmp_path):
    address = f"sqlite:///{tmp_path / 'ratings.db'}"
    database = open_database(address, may_make=True)
    rated_project(database, PAIRS, raters_per_pair=3)
    database.dispose()
    return address


def run(capsys, *arguments):
    status = main(arguments)
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_the_command_prints_json_as_promised(url, capsys):
    status, out, _ = run(capsys, "agreement", "harbour", "--json", "--seed", "7", "--database-url", url)
    figures = json.loads(out)
    assert status == 0
    assert set(figures["alpha"]) == {"all", "unadjudicated"}
    assert {"value", "low", "high", "pairs", "ratings"} <= set(figures["alpha"]["all"])
    assert figures["alpha"]["all"]["value"] == pytest.approx(alpha_of(ANA, BEN, CLEO))
    assert figures["notes"] == [TOO_FEW]
    assert {"all", "unadjudicated"} <= set(figures["by_type"]["phrase2word"])
    assert (figures["flagged"], figures["seed"], figures["resamples"]) == (1, 7, 1000)
    assert figures["by_type"]["word2sense"]["all"]["value"] is None
    assert figures["by_type"]["word2sense"]["all"]["reason"] == "No pair has two ratings yet."
    assert figures["by_genre"]["news"]["pairs"] == 2
    assert [pair["id"] for pair in figures["widest"]] == ["c", "d", "f", "b", "a"]
    assert "external_id" not in out
    assert [row["rater"] for row in sorted(figures["raters"], key=lambda row: -row["ratings"])] == [
        "ana",
        "ben",
        "cleo",
    ]
    assert figures["histogram"]["by_type"]["phrase2word"] == [2, 0, 1, 2, 0]
    assert "NaN" not in out
    bound = figures["upper_bound"]["sentence2phrase"]
    raters = {row["rater"]: row for row in bound["raters"]}
    assert (bound["pairs"], set(raters)) == (4, {"ana", "ben", "cleo"})
    both = [raters[name]["pearson"]["value"] for name in ("ana", "ben")]
    assert bound["pearson"]["value"] == pytest.approx(sum(both) / 2)
    reason = "2 pairs that others graded too: a correlation takes 3 or more."
    nothing = {"value": None, "low": None, "high": None, "reason": reason}
    assert raters["cleo"] == {"rater": "cleo", "pearson": nothing, "spearman": nothing, "pairs": 2}
    assert figures["upper_bound"]["word2sense"]["raters"] == []


def test_the_command_prints_the_same_twice_and_other_intervals_with_another_seed(url, capsys):
    outputs = [
        run(capsys, "agreement", "harbour", "--json", "--seed", seed, "--database-url", url)[1]
        for seed in ("1", "1", "2")
    ]
    assert outputs[0] == outputs[1] != outputs[2]


def test_the_command_prints_tables_for_people(url, capsys):
    status, out, err = run(capsys, "agreement", "harbour", "--database-url", url)
    assert (status, err) == (0, "")
    for words in (
        "sentence2phrase",
        "genre news",
        "ana – ben",
        "8 pairs, 16 grades, 3 pairs done",
        "seed 2014",
        "undefined",
        "mean of 2 raters",
        "cleo (sentence2phrase), ana (phrase2word), ben (phrase2word): 2 pairs that others graded too",
        TOO_FEW,
    ):
        assert words in out
    assert f"{alpha_of(ANA, BEN, CLEO):.3f}" in out
    assert "nan" not in out


def test_the_command_prints_a_table_for_papers(url, capsys):
    call = ["agreement", "harbour", "--seed", "7", "--database-url", url]
    found = json.loads(run(capsys, *call, "--json")[1])
    status, out, err = run(capsys, *call, "--latex")
    assert (status, err) == (0, "")
    [table] = read_tables(out)
    assert table.groups == [("", 1), ("All pairs", 3), ("Unadjudicated", 3)]
    assert table.heads == ["Type", *["Pairs", "α", "95 %"] * 2]
    parts = {**{type: found["by_type"][type] for type in list(table.rows)[:-1]}, "All": found["alpha"]}
    assert list(table.rows) == ["sentence2phrase", "phrase2word", "word2sense", "All"]
    for name, row in table.rows.items():
        for among, (pairs, *figures) in (("all", row[:3]), ("unadjudicated", row[3:])):
            alpha = parts[name][among]
            numbers = re.findall(r"-?\d*\.\d+", "".join(figures).replace("$", ""))
            known = [alpha[of] for of in ("value", "low", "high") if alpha[of] is not None]
            assert int(pairs) == alpha["pairs"]
            assert [float(number) for number in numbers] == pytest.approx(known, abs=0.0005)
    assert table.rows["word2sense"] == ["0", "--", "--"] * 2
    assert table.rows["All"][1] == f"{alpha_of(ANA, BEN, CLEO):.3f}".removeprefix("0")
    assert table.rows["All"][3:5] == ["5", f"{alpha_of(*columns(0, 1, 3, 4, 5, 6)):.3f}".removeprefix("0")]
    assert table.comments[0].endswith("project harbour.")
    assert "--: word2sense, all pairs: No pair has two ratings yet." in table.comments
    assert TOO_FEW in table.comments
    assert any(comment.endswith("1,000 resamples, seed 7.") for comment in table.comments)


def test_a_project_without_grades_has_a_table_of_dashes_with_the_reason(tmp_path, capsys):
    url = f"sqlite:///{tmp_path / 'empty.db'}"
    database = open_database(url, may_make=True)
    rated_project(database, [])
    database.dispose()
    [table] = read_tables(run(capsys, "agreement", "harbour", "--latex", "--database-url", url)[1])
    assert table.rows == {"All": ["0", "--", "--"] * 2}
    assert "--: All, unadjudicated: No pair has two ratings yet." in table.comments


def test_the_command_says_why_there_is_no_figure(tmp_path, capsys):
    url = f"sqlite:///{tmp_path / 'empty.db'}"
    database = open_database(url, may_make=True)
    rated_project(database, [])
    database.dispose()
    status, out, _ = run(capsys, "agreement", "harbour", "--database-url", url)
    assert status == 0
    assert "All: No pair has two ratings yet." in out


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["agreement", "nowhere"], 1, "There is no project 'nowhere'"),
        (["agreement", "harbour", "--resamples", "-1"], 2, "resamples"),
        (["agreement", "harbour", "--seed", "x"], 2, "seed"),
        (["agreement", "harbour", "--json", "--latex"], 2, "--json and --latex cannot be combined;"),
    ],
)
def test_a_wrong_call_is_one_sentence(url, capsys, arguments, status, said):
    found, out, err = run(capsys, *arguments, "--database-url", url)
    assert (found, out) == (
        status,
        json.dumps({"error": err.rstrip("\n")}) + "\n" if "--json" in arguments else "",
    )
    assert said in err
    assert len(err.splitlines()) == 1


def forget_the_keys(database):
    with database.session() as session:
        session.execute(delete(ServerKey))


@pytest.mark.parametrize("opened", [open_services, lambda database: open_database(str(database.engine.url))])
def test_agreement_is_read_while_an_import_writes_also_for_the_first_time(
    sqlite_database, monkeypatch, opened
):
    project = rated_project(sqlite_database, PAIRS, raters_per_pair=3)
    forget_the_keys(sqlite_database)
    monkeypatch.setattr("db.database.WAIT_SECONDS", 0.01)
    opened(sqlite_database)
    agreement = AgreementService(sqlite_database)
    with ThreadPoolExecutor(1) as page, sqlite_database.session():
        assert page.submit(agreement.report, project.id).result(60).whole.ratings == 16
        assert page.submit(agreement.plan, project.id, 0.5).result(60)


@pytest.mark.parametrize("opened", [open_services, lambda database: open_database(str(database.engine.url))])
def test_a_grade_saved_just_then_does_not_leave_the_keys_to_the_first_page(sqlite_database, opened):
    forget_the_keys(sqlite_database)
    with closing(
        sqlite3.connect(sqlite_database.path, isolation_level=None, check_same_thread=False)
    ) as other:
        other.execute("BEGIN IMMEDIATE")
        threading.Timer(0.2, other.execute, ["COMMIT"]).start()
        opened(sqlite_database)
    with sqlite_database.reading() as session:
        assert set(session.scalars(select(ServerKey.name))) == {"pairs", "raters"}


def test_services_open_while_another_program_writes_and_make_their_keys_later(sqlite_database, monkeypatch):
    monkeypatch.setattr("db.database._PRAGMAS", ("PRAGMA busy_timeout = 3600000",))
    monkeypatch.setattr("db.database.WAIT_SECONDS", 3600)
    project = rated_project(sqlite_database, PAIRS, raters_per_pair=3)
    forget_the_keys(sqlite_database)
    sqlite_database.dispose()
    with (
        ThreadPoolExecutor(1) as start,
        closing(sqlite3.connect(sqlite_database.path, isolation_level=None)) as other,
    ):
        other.execute("BEGIN IMMEDIATE")
        services = start.submit(open_services, sqlite_database).result(60)
        assert [each.id for each in services.projects.list()] == [project.id]
    assert services.agreement.report(project.id, resamples=0).whole.ratings == 16


def test_a_number_that_a_gold_set_has_used_stays_on_the_page(database, tmp_path):
    services = open_services(database)
    project = services.projects.create(
        ProjectSettings("Numbers", types=("sentence2phrase",), raters_per_pair=6)
    )

    def graded(pair: str, raters: str) -> NewPair:
        ratings = tuple((name, Decimal(number) / 4) for number, name in enumerate(raters))
        return NewPair(pair, "sentence2phrase", f"left {pair}", f"right {pair}", ratings=ratings)

    def means() -> list[float]:
        report = services.agreement.report(project.id, named=False)
        return [figures.mean for figures in report.raters]

    services.importing.import_pairs(project.id, [graded("1", "abc")])
    services.gold.export(project.id, tmp_path / "gold", ExportOptions(unfinished=Unfinished.LIST))
    before = means()
    services.importing.import_pairs(project.id, [graded("2", "defghi")])
    assert means()[: len(before)] == before
