"""The queue of disagreements, and decisions that two cannot take unawares, on both databases."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from decimal import Decimal

import pytest
from sqlalchemy import select

from annotation.adjudication import AdjudicationError, AdjudicationItem, ConflictError, ItemComment, Which
from annotation.cli.options import open_database
from annotation.errors import GradeError, NotFoundError
from annotation.gold import ExportOptions, Unfinished
from annotation.services.accounts import AccountService
from annotation.services.adjudication import AdjudicationService, Neighbours
from annotation.services.agreement import AgreementService
from annotation.services.gold import GoldService
from annotation.services.imports import ImportService
from annotation.services.pairs import PairService, PairState
from annotation.services.projects import ProjectService, to_adjudicate
from annotation.services.ratings import RatingService
from annotation.types import Cause, NewRating, Role
from annotation.ui.adjudicate import item_html
from annotation.ui.agreement import figures_html
from annotation.ui.projects import counts_html
from annotation.ui.projects import export_counts_html as export_html
from db.models import Adjudication, AdjudicationChange
from tests.commands import main
from tests.rated import pair, rated_project

PAIRS = [
    pair("even", "2", "2"),
    pair("near", "2", "2.75"),
    pair("point", "2", "3"),
    pair("far", "0", "4"),
    pair("single", "4"),
    pair("also-far", "4", "0", type="phrase2word"),
    pair("half", "1", "2.5"),
]


@pytest.fixture
def rated(database):
    return rated_project(database, PAIRS)


@pytest.fixture
def service(rated):
    return AdjudicationService(rated.database, clock=rated.clock)


def test_whatever_tells_of_open_and_decided_pairs_tells_the_same(database, tmp_path):
    pairs = [
        pair("calm", "2", "2", "2"),
        pair("again", "0", "2"),
        pair("lacking", "0", "3"),
        pair("done", "0", "4", "4"),
        pair("single", "1"),
    ]
    rated = rated_project(database, pairs, raters_per_pair=3)
    service = AdjudicationService(database, clock=rated.clock)
    for name in ("again", "done"):
        decide(rated, service, name)
    rated.clock.move()
    rated.rate("again", cleo="4")  # after the decision

    assert set(ids(service.queue(rated.id, Which.OPEN))) == {"again", "lacking"}
    assert ids(service.queue(rated.id, Which.DECIDED)) == ["done"]
    states = {line.external_id: line.state for line in PairService(database).pairs(rated.id).items}
    assert states == {
        "calm": PairState.GRADED,
        "again": PairState.FLAGGED,
        "lacking": PairState.FLAGGED,
        "done": PairState.DECIDED,
        "single": PairState.OPEN,
    }
    report = AgreementService(database).report(rated.id)
    whole = report.whole
    assert (whole.flagged, whole.to_adjudicate, whole.decided, whole.reopened) == (3, 2, 1, 1)
    assert "<p>1 decided, 2 to adjudicate <a" in figures_html(report, rated.id)
    assert {pair.external_id: pair.decided for pair in report.widest} == {
        "done": True,
        "again": False,
        "lacking": False,
    }
    gold = GoldService(database, clock=rated.clock)
    counts = gold.counts(rated.id)
    assert (counts.with_gold, counts.too_few_ratings, counts.reopened) == (3, 2, 1)
    assert '<th scope="row">Open again</th><td class="number">1</td>' in export_html(counts)
    options = ExportOptions(unfinished=Unfinished.LEAVE_OUT)
    assert gold.export(rated.id, tmp_path / "gold", options).manifest["counts"]["reopened"] == 1
    decide(rated, service, "again")
    assert gold.counts(rated.id).reopened == 0


def ids(page):
    return [entry.external_id for entry in page.entries]


def decide(rated, service, name, grade="2", **options):
    rated.clock.move()
    return service.decide(
        rated.id, rated.pair_id(name), rated.adjudicator.id, Decimal(grade), Cause.SCALE, **options
    )


def test_the_queue_has_the_flagged_pairs_largest_spread_first_then_in_order(rated, service):
    page = service.queue(rated.id)
    assert ids(page) == ["far", "also-far", "half", "point"]
    assert [entry.spread for entry in page.entries] == [4, 4, Decimal("1.5"), 1]
    assert page.counts == {Which.OPEN: 4, Which.DECIDED: 0, Which.ALL: 4}
    assert page.types == ("phrase2word", "sentence2phrase")


def test_the_project_counts_the_flagged_pairs_that_wait_for_a_decision(rated, service):
    projects = ProjectService(rated.database)

    def told():
        counts = projects.counts(rated.id)
        assert counts.to_adjudicate == service.queue(rated.id).counts[Which.OPEN]
        return counts_html(counts)

    assert "4 flagged, 4 to adjudicate" in told()
    for name in ("far", "also-far", "half", "point"):
        decide(rated, service, name)
    assert "4 flagged, 0 to adjudicate" in told()


@pytest.mark.parametrize(
    ("limit", "entries", "has_more"), [(2, 2, True), (4, 4, False), (5, 4, False), (None, 4, False)]
)
def test_the_queue_is_listed_up_to_a_number_and_tells_whether_more_follows(
    rated, service, limit, entries, has_more
):
    whole = service.queue(rated.id, Which.ALL)
    page = service.queue(rated.id, Which.ALL, limit=limit)
    assert (ids(page), page.has_more) == (ids(whole)[:entries], has_more)


def test_the_queue_of_a_type(rated, service):
    page = service.queue(rated.id, type="phrase2word")
    assert (ids(page), page.counts[Which.ALL]) == (["also-far"], 1)


def test_another_threshold_flags_other_pairs(database):
    rated = rated_project(database, PAIRS, threshold=Decimal("0.75"))
    assert "near" in ids(AdjudicationService(database).queue(rated.id))


def test_without_adjudication_no_pair_is_flagged_and_gold_is_the_mean_but_decisions_stand(
    rated, service, tmp_path
):
    decide(rated, service, "far", "1")
    projects, gold = ProjectService(rated.database), GoldService(rated.database, clock=rated.clock)
    settings = replace(rated.project.settings, threshold=None)
    project = projects.update(rated.id, settings)
    assert projects.get(rated.id).settings.threshold is None
    ana = AccountService(rated.database).user("ana").id
    rated.clock.move()
    RatingService(rated.database, rated.clock).rate(
        rated.pair_id("far"), ana, Decimal("0.5")
    )  # stays decided

    assert (projects.counts(rated.id).flagged, projects.counts(rated.id).to_adjudicate) == (0, 0)
    assert ids(service.queue(rated.id)) == []
    assert ids(service.queue(rated.id, Which.ALL)) == ids(service.queue(rated.id, Which.DECIDED)) == ["far"]
    states = {line.external_id: line.state for line in PairService(rated.database).pairs(rated.id).items}
    assert PairState.FLAGGED not in states.values()
    assert states["far"] is PairState.DECIDED
    assert to_adjudicate_everywhere(rated) == 0
    with pytest.raises(AdjudicationError, match="does without adjudication"):
        decide(rated, service, "also-far")
    item = service.item(rated.id, rated.pair_id("also-far"))
    assert "does without adjudication" in item_html(item, project, rated.adjudicator, Neighbours(None, None))

    report = AgreementService(rated.database).report(rated.id)
    assert (report.whole.flagged, report.whole.decided, report.threshold) == (0, 1, None)
    assert "the project does without adjudication" in figures_html(report, rated.id)
    export = gold.export(rated.id, tmp_path / "gold", ExportOptions(unfinished=Unfinished.LIST))
    assert export.manifest["counts"]["not_adjudicated"] == 0
    assert export.manifest["protocol"]["adjudication_threshold"] is None
    change = {"setting": "adjudication_threshold", "before": 1.0, "after": None}
    assert change.items() <= export.manifest["protocol_changes"][0].items()
    rows = [json.loads(line) for line in (tmp_path / "gold" / "gold.jsonl").read_text("utf-8").splitlines()]
    assert {row["id"]: row["gold"] for row in rows}.items() >= {"far": 1, "also-far": 2, "point": 2.5}.items()

    projects.update(rated.id, rated.project.settings)
    assert set(ids(service.queue(rated.id))) == {"far", "also-far", "half", "point"}


def to_adjudicate_everywhere(rated):
    """As the page of projects counts it, in one query for all."""
    with rated.database.reading() as session:
        return sum(count for _, count in session.execute(to_adjudicate([rated.id])))


def test_a_decision_closes_the_pair_and_a_withdrawal_opens_it(rated, service):
    item = decide(rated, service, "far", "0", note="both read another word")
    assert (item.decision.grade, item.decision.cause, item.decision.by) == (0, Cause.SCALE, "judith")
    assert "far" not in ids(service.queue(rated.id))
    assert ids(service.queue(rated.id, Which.DECIDED)) == ["far"]
    rated.clock.move()
    item = service.withdraw(rated.id, rated.pair_id("far"), rated.adjudicator.id)
    assert item.decision is None
    assert ids(service.queue(rated.id))[0] == "far"
    assert [change.grade for change in item.history] == [None, 0]
    with rated.database.reading() as session:
        assert session.scalars(select(Adjudication)).all() == []


def test_every_decision_stays_in_the_history(rated, service):
    for grade in ("1", "2.25", "3"):
        item = decide(rated, service, "far", grade)
    assert [change.grade for change in item.history] == [3, Decimal("2.25"), 1]
    assert item.decision == item.history[0]


def test_the_same_decision_twice_is_one(rated, service):
    decide(rated, service, "far", "1", note="same")
    item = decide(rated, service, "far", "1", note="same", expected="0-of-before")
    assert len(item.history) == 1


def test_a_later_rating_removes_and_creates_a_disagreement(rated, service, database):
    ratings = RatingService(database, rated.clock)
    ana = AccountService(database).user("ana").id
    rated.clock.move()
    ratings.rate(rated.pair_id("far"), ana, Decimal("3.5"))
    ratings.rate(rated.pair_id("near"), ana, Decimal("0"))
    assert ids(service.queue(rated.id)) == ["also-far", "near", "half", "point"]


def test_a_rating_after_the_decision_opens_the_pair_again(rated, service, database):
    decide(rated, service, "far")
    rated.clock.move()
    ana = AccountService(database).user("ana").id
    RatingService(database, rated.clock).rate(rated.pair_id("far"), ana, Decimal("0.5"))
    [entry] = [entry for entry in service.queue(rated.id).entries if entry.external_id == "far"]
    assert (entry.is_open, entry.is_changed, entry.decided) == (True, True, 2)
    assert service.item(rated.id, rated.pair_id("far")).is_changed
    assert not decide(rated, service, "far").is_changed
    assert "far" not in ids(service.queue(rated.id))


@pytest.mark.both_databases
def test_a_rating_whose_import_waited_for_a_decision_opens_the_pair_again(database, monkeypatch):
    rated = rated_project(database, [pair("far", "0", "4")], raters_per_pair=3)
    service = AdjudicationService(database, clock=rated.clock)

    def session_after_the_decision():
        monkeypatch.undo()
        decide(rated, service, "far")
        rated.clock.move()
        return database.session()

    monkeypatch.setattr(database, "session", session_after_the_decision)
    rated.rate("far", cleo="4")
    item = service.item(rated.id, rated.pair_id("far"))
    assert (item.decision.grade, item.is_changed) == (2, True)


def test_a_rating_whose_file_was_read_during_a_decision_opens_the_pair_again(postgresql_database):
    rated = rated_project(postgresql_database, [pair("far", "0", "4")], raters_per_pair=3)
    service = AdjudicationService(rated.database, clock=rated.clock)

    def lines():
        yield NewRating("far", "cleo", Decimal(4))
        with ThreadPoolExecutor(1) as adjudicator:  # the import's own thread is in its transaction
            adjudicator.submit(decide, rated, service, "far").result()
        rated.clock.move()

    ImportService(rated.database, clock=rated.clock).import_pairs(rated.id, lines())
    item = service.item(rated.id, rated.pair_id("far"))
    assert (item.decision.grade, item.is_changed) == (2, True)


def test_a_rating_that_ends_the_disagreement_leaves_the_decision_standing(rated, service, database):
    decide(rated, service, "point", "2.5")
    rated.clock.move()
    ana = AccountService(database).user("ana").id
    RatingService(database, rated.clock).rate(rated.pair_id("point"), ana, Decimal("2.75"))
    [entry] = service.queue(rated.id, Which.DECIDED).entries
    assert (entry.external_id, entry.is_flagged, entry.is_changed, entry.decided) == (
        "point",
        False,
        True,
        2.5,
    )


def test_the_second_of_two_adjudicators_is_told_what_the_first_decided(rated, service):
    seen = service.item(rated.id, rated.pair_id("far")).version
    decide(rated, service, "far", "1", expected=seen, note="read it twice")
    with pytest.raises(ConflictError, match="judith decided 1, scale, “read it twice” in the meantime"):
        decide(rated, service, "far", "3", expected=seen)
    item = service.item(rated.id, rated.pair_id("far"))
    assert item.decision.grade == 1
    assert decide(rated, service, "far", "3", expected=item.version).decision.grade == 3


def test_a_rating_that_changed_meanwhile_is_told(rated, service, database):
    seen = service.item(rated.id, rated.pair_id("far")).version
    rated.clock.move()
    ana = AccountService(database).user("ana").id
    RatingService(database, rated.clock).rate(rated.pair_id("far"), ana, Decimal("1"))
    with pytest.raises(ConflictError, match="A rating of this pair has changed"):
        decide(rated, service, "far", "3", expected=seen)


@pytest.mark.both_databases
def test_of_many_who_decide_at_once_one_wins_and_all_others_are_told(rated, service):
    pair_id, seen = rated.pair_id("far"), service.item(rated.id, rated.pair_id("far")).version
    together, told, saved = threading.Barrier(8), [], []

    def run(number):
        together.wait()
        try:
            grade = Decimal(number) / 4
            saved.append(
                service.decide(rated.id, pair_id, rated.adjudicator.id, grade, Cause.SCALE, expected=seen)
            )
        except ConflictError as error:
            told.append(str(error))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(saved), len(told)) == (1, 7)
    assert all(f"judith decided {saved[0].decision.grade.normalize():f}" in sentence for sentence in told)
    with rated.database.reading() as session:
        assert len(session.scalars(select(AdjudicationChange)).all()) == 1


def test_an_adjudicator_learns_nothing_of_who_said_what(rated, service, database):
    accounts, projects = AccountService(database), ProjectService(database)
    for name, words, is_flagged in (("ana", "I see a harbour", False), ("ben", "", True)):
        rater = accounts.user(name)
        projects.add_member(rated.id, name, Role.RATER)
        RatingService(database, rated.clock).comment(
            rated.pair_id("far"), rater.id, words, is_flagged=is_flagged
        )
    item = service.item(rated.id, rated.pair_id("far"))
    assert item.grades == (0, 4)
    assert service.item(rated.id, rated.pair_id("also-far")).grades == (0, 4)
    assert sorted(item.comments) == [
        ItemComment("", is_problem=True),
        ItemComment("I see a harbour"),
    ]
    page = item_html(item, rated.project, rated.adjudicator, Neighbours(None, None))
    assert page.count("<b>Problem</b>") == 1
    shown = [getattr(item, field.name) for field in fields(AdjudicationItem)]
    assert not any(name in repr(shown) for name in ("ana'", "ben'"))


def test_a_pair_that_lacks_grades_is_not_said_to_be_agreed_on(rated, service):
    for name, grades in (("single", "1 of 2 grades so far"), ("even", "The raters agree")):
        item = service.item(rated.id, rated.pair_id(name))
        page = item_html(item, rated.project, rated.adjudicator, Neighbours(None, None))
        assert grades in page
        assert "Only flagged pairs can be adjudicated" in page
        assert "adjudicate-save" not in page
        assert ("The raters agree" in page, " apart" in page) == (name == "even", name == "even")
    with pytest.raises(AdjudicationError, match="1 of 2 ratings"):
        decide(rated, service, "single")


def test_neighbours_go_through_the_queue_and_back(rated, service):
    order = [entry.pair_id for entry in service.queue(rated.id).entries]
    there, back, here = [order[0]], [], order[0]
    while (here := service.neighbours(rated.id, here).next) is not None:
        there.append(here)
    assert there == order
    here = order[-1]
    while (here := service.neighbours(rated.id, here).previous) is not None:
        back.append(here)
    assert back == order[-2::-1]


def test_the_next_of_a_decided_pair_is_the_next_open_one(rated, service):
    order = [entry.pair_id for entry in service.queue(rated.id).entries]
    decide(rated, service, "also-far")
    assert service.neighbours(rated.id, order[1]).next == order[2]
    assert service.neighbours(rated.id, order[1]).previous == order[0]


@pytest.mark.parametrize(
    ("name", "grade", "error"),
    [("far", "2.1", GradeError), ("far", "4.25", GradeError), ("even", "2", AdjudicationError)],
)
def test_what_cannot_be_decided_is_explained_and_changes_nothing(rated, service, name, grade, error):
    with pytest.raises(error):
        decide(rated, service, name, grade)
    assert service.item(rated.id, rated.pair_id(name)).history == ()


def test_a_pair_of_another_project_is_not_found(rated, service, database):
    other = rated_project(database, [pair("x", "0", "4")], name="other")
    for call in (service.item, service.neighbours):
        with pytest.raises(NotFoundError):
            call(rated.id, other.pair_id("x"))
    with pytest.raises(NotFoundError):
        service.decide(rated.id, other.pair_id("x"), rated.adjudicator.id, Decimal(1), Cause.SCALE)
    with pytest.raises(NotFoundError):
        service.queue(999)


def test_nothing_to_withdraw_is_said(rated, service):
    with pytest.raises(AdjudicationError, match="nothing to withdraw"):
        service.withdraw(rated.id, rated.pair_id("far"), rated.adjudicator.id)


def test_the_command_lists_the_queue(tmp_path, capsys):
    url = f"sqlite:///{tmp_path / 'a.db'}"
    rated = rated_project(open_database(url, may_make=True), PAIRS)
    service = AdjudicationService(rated.database, clock=rated.clock)
    decide(rated, service, "far", "0.25")
    assert main(["adjudications", "harbour", "--which", "all", "--json", "--database-url", url]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["counts"] == {"open": 3, "decided": 1, "all": 4}
    assert [one["id"] for one in printed["pairs"]] == ["far", "also-far", "half", "point"]
    assert printed["pairs"][0].items() >= {"decision": 0.25, "open": False, "spread": 4.0}.items()
    assert main(["adjudications", "harbour", "--database-url", url]) == 0
    printed = capsys.readouterr().out
    assert "also-far" in printed
    assert "3 open, 1 decided." in printed
    assert main(["adjudications", "nowhere", "--database-url", url]) == 1
    assert "nowhere" in capsys.readouterr().err
    assert main(["adjudications", "harbour", "--type", "word2word", "--database-url", url]) == 1
    assert "harbour has no comparison type 'word2word': give one of " in capsys.readouterr().err


def test_the_command_lists_each_pair_once_while_others_decide(tmp_path, capsys, monkeypatch):
    url = f"sqlite:///{tmp_path / 'a.db'}"
    names = [f"p{number}" for number in range(1_002)]
    rated = rated_project(open_database(url, may_make=True), [pair(name, "0", "4") for name in names])
    queue = AdjudicationService.queue

    def decided_after(service, *args, **options):
        page = queue(service, *args, **options)
        decide(rated, service, page.entries[0].external_id)
        return page

    monkeypatch.setattr(AdjudicationService, "queue", decided_after)
    assert main(["adjudications", "harbour", "--json", "--database-url", url]) == 0
    assert [one["id"] for one in json.loads(capsys.readouterr().out)["pairs"]] == names
