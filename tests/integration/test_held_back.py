"""A rater who adjudicates too sees no grades of pairs that they may still grade."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from types import SimpleNamespace

import pytest

from annotation.adjudication import AdjudicationError, Which
from annotation.changes import detail_words
from annotation.errors import AssignmentError, ImportFileError
from annotation.services.accounts import AccountService
from annotation.services.adjudication import AdjudicationService
from annotation.services.agreement import AgreementService
from annotation.services.assignment import AssignmentService
from annotation.services.audit import DECIDED, EventService
from annotation.services.consents import ConsentService
from annotation.services.imports import ImportService
from annotation.services.pairs import PairService, PairState
from annotation.services.projects import OverviewService, ProjectService
from annotation.services.quality import QualityService
from annotation.services.ratings import RatingService, RemarkService
from annotation.types import Cause, Role, SkipReason
from annotation.ui.pairs import PairListHandlers, RemarksHandlers
from annotation.ui.projects import ProjectHandlers
from tests.databases import row_problems
from tests.rated import pair, rated_project


@pytest.fixture
def database(sqlite_database):
    return sqlite_database


PAIRS = [
    pair("done", "0", "4", "4"),
    pair("lacking", "0", "3"),
    pair("calm", "2", "2.5"),
    pair("single", "1"),
]


class Study:
    """Three raters a pair; Judith adjudicates, and is a rater too where a test makes her one."""

    def __init__(self, database):
        self.rated = rated_project(database, PAIRS, raters_per_pair=3)
        self.projects = ProjectService(database, clock=self.rated.clock)
        self.adjudication = AdjudicationService(database, clock=self.rated.clock)
        self.agreement = AgreementService(database)
        self.quality = QualityService(database, clock=self.rated.clock)
        self.assignments = AssignmentService(database, self.rated.clock)
        self.ratings = RatingService(database, self.rated.clock, self.assignments)
        self.id, self.judith = self.rated.id, self.rated.adjudicator.id
        accounts = AccountService(database, clock=self.rated.clock)
        self.ben, self.cleo = accounts.user("ben").id, accounts.user("cleo").id

    def join(self):
        self.projects.add_member(self.id, "judith", Role.RATER)

    def decide(self, name, by=None):
        self.adjudication.decide(
            self.id, self.rated.pair_id(name), by or self.judith, Decimal(2), Cause.SCALE
        )

    def ask_more_raters(self, number):
        settings = self.projects.get(self.id).settings
        self.projects.update(self.id, replace(settings, raters_per_pair=number))

    def given(self, rater):
        """Ids of the pairs that a rater is given."""
        numbers = {self.rated.pair_id(row.id): row.id for row in PAIRS}
        return [numbers[row.id] for row in self.assignments.queue(self.id, rater, 4).pairs]

    def seen(self, viewer=None):
        """Ids in the queue, how many are held back, and ids among the widest pairs."""
        viewer = viewer or self.judith
        page = self.adjudication.queue(self.id, Which.ALL, viewer=viewer)
        report = self.agreement.report(self.id, resamples=0, viewer=viewer)
        widest = [row.external_id for row in report.widest]
        return [entry.external_id for entry in page.entries], page.held_back, widest, report.held_back


ALL = (["done", "lacking"], 0, ["done", "lacking", "calm"], 0)
BLIND = (["done"], 1, ["done"], 2)


@pytest.fixture
def study(database):
    return Study(database)


def test_only_from_a_rater_pairs_that_lack_grades_are_held_back(study):
    assert study.seen() == ALL
    study.join()
    assert study.seen() == BLIND
    assert study.adjudication.queue(study.id).held_back == 0  # the command line
    assert study.agreement.report(study.id, resamples=0).whole.ratings == 8
    study.projects.remove_member(study.id, "judith", Role.RATER)
    assert study.seen() == ALL


def test_my_projects_count_what_is_there_to_adjudicate(study):
    def told(name):
        user = AccountService(study.rated.database).user(name)
        [line] = OverviewService(study.rated.database).projects(user)
        return line.to_adjudicate

    assert told("judith") == 2
    study.join()
    assert told("judith") == 1
    study.projects.add_member(study.id, "cleo", Role.ADJUDICATOR)
    study.projects.remove_member(study.id, "cleo", Role.RATER)
    assert told("cleo") == 2


def test_counts_neighbours_and_the_first_pair_know_nothing_of_a_pair_that_is_held_back(study):
    study.join()
    page = study.adjudication.queue(study.id, viewer=study.judith)
    assert page.counts[Which.OPEN] == 1
    assert study.adjudication.first(study.id, viewer=study.judith) == study.rated.pair_id("done")
    around = study.adjudication.neighbours(study.id, study.rated.pair_id("done"), viewer=study.judith)
    assert around == (None, None)


@pytest.mark.parametrize("name", ["lacking", "calm", "single"])
def test_by_its_number_such_a_pair_is_neither_shown_nor_decided_on(study, name):
    study.join()
    pair_id = study.rated.pair_id(name)
    for ask in (
        lambda: study.adjudication.item(study.id, pair_id, viewer=study.judith),
        lambda: study.adjudication.decide(study.id, pair_id, study.judith, Decimal(2), Cause.SCALE),
        lambda: study.adjudication.withdraw(study.id, pair_id, study.judith),
    ):
        with pytest.raises(AdjudicationError, match=f"You may still grade the pair '{name}'"):
            ask()
    assert study.adjudication.item(study.id, pair_id).history == ()


def test_a_decided_pair_that_lacks_grades_is_held_back_too(study):
    study.decide("lacking", study.ben)
    study.join()
    assert study.seen() == BLIND


def test_a_pair_is_held_back_while_anybody_has_it_before_them(study):
    study.join()
    study.projects.add_member(study.id, "cleo", Role.RATER)
    for rater in (study.judith, study.cleo):  # in her own hands, then in those of another
        study.assignments.queue(study.id, rater, 4)
        assert study.seen() == BLIND
        study.assignments.give_back(study.id, rater)
    assert study.seen() == BLIND
    study.rated.rate("lacking", cleo="2")
    assert study.seen()[:2] == (["done", "lacking"], 0)


def test_who_has_graded_the_pair_sees_it(study):
    study.join()
    study.assignments.queue(study.id, study.judith, 4)
    study.ratings.rate(study.rated.pair_id("calm"), study.judith, Decimal(2))
    assert study.seen() == (["done"], 1, ["done", "calm"], 1)
    study.ratings.rate(study.rated.pair_id("lacking"), study.judith, Decimal(2))
    assert study.seen() == ALL


def test_whoever_is_kept_off_for_a_time_only_still_sees_nothing(study):
    study.join()
    study.quality.pause(study.id, "judith")
    assert study.seen() == BLIND
    study.quality.resume(study.id, "judith")
    study.assignments.queue(study.id, study.judith, 4)
    study.rated.clock.move(3600)  # the lease is over
    assert study.seen() == BLIND


def test_a_skipped_pair_is_shown_and_no_longer_graded_where_others_have(study):
    study.join()
    study.assignments.queue(study.id, study.judith, 4)
    lacking = study.rated.pair_id("lacking")
    study.assignments.skip(lacking, study.judith, SkipReason.OTHER, "too long")
    assert study.seen() == (["done", "lacking"], 0, ["done", "lacking"], 1)
    with pytest.raises(AssignmentError, match="could look at others' grades"):
        study.ratings.rate(lacking, study.judith, Decimal(2))


def test_nor_while_it_is_withdrawn_as_it_may_be_restored(study):
    study.join()
    study.assignments.queue(study.id, study.judith, 4)
    lacking = study.rated.pair_id("lacking")
    study.assignments.skip(lacking, study.judith, SkipReason.OTHER, "too long")
    PairService(study.rated.database, study.rated.clock).withdraw(study.id, ["lacking"])
    with pytest.raises(AssignmentError, match="could look at others' grades"):
        study.ratings.rate(lacking, study.judith, Decimal(2))


def test_who_only_rates_may_grade_a_skipped_pair_as_before(study):
    study.projects.add_member(study.id, "cleo", Role.RATER)
    study.assignments.queue(study.id, study.cleo, 4)
    lacking = study.rated.pair_id("lacking")
    study.assignments.skip(lacking, study.cleo, SkipReason.OTHER, "too long")
    study.ratings.rate(lacking, study.cleo, Decimal(2))
    assert len(study.adjudication.item(study.id, lacking).grades) == 3


def test_more_raters_for_a_pair_make_finished_pairs_open_again(study):
    study.rated.rate("lacking", cleo="2")
    study.join()
    assert study.seen()[:2] == (["done", "lacking"], 0)
    study.ask_more_raters(4)
    assert study.seen()[:2] == ([], 2)


def test_a_grade_is_changed_no_more_once_others_could_be_looked_at(study):
    study.join()
    study.assignments.queue(study.id, study.judith, 4)
    single, calm = study.rated.pair_id("single"), study.rated.pair_id("calm")
    study.ratings.rate(calm, study.judith, Decimal(2))
    with pytest.raises(AssignmentError, match="You graded this pair 2, and could look at others' grades"):
        study.ratings.rate(calm, study.judith, Decimal("2.5"))
    assert study.ratings.pair(calm, study.judith).grade == 2
    study.ratings.rate(calm, study.judith, Decimal(2))  # the same again, as a browser may send it
    study.ratings.comment(calm, study.judith, "I meant more.")
    study.projects.remove_member(study.id, "judith", Role.ADJUDICATOR)
    study.ratings.rate(single, study.judith, Decimal(2))
    study.ratings.rate(single, study.judith, Decimal(3))  # she only rates
    assert study.ratings.pair(single, study.judith).grade == 3


def test_a_grade_that_is_the_only_one_of_its_pair_can_be_changed(study):
    ImportService(study.rated.database, clock=study.rated.clock).import_pairs(study.id, [pair("new")])
    study.join()
    study.assignments.queue(study.id, study.judith, 4)
    new = study.rated.pair_id("new")
    for grade in (1, 2):
        study.ratings.rate(new, study.judith, Decimal(grade))
    study.rated.rate("new", ana="4")
    with pytest.raises(AssignmentError, match="You graded this pair 2, and could look at others' grades"):
        study.ratings.rate(new, study.judith, Decimal(3))


def test_who_has_decided_on_a_pair_is_never_given_it(study):
    study.decide("lacking")
    study.adjudication.withdraw(study.id, study.rated.pair_id("lacking"), study.ben)
    study.join()
    assert study.given(study.judith) == ["calm", "single"]
    assert "lacking" in study.seen()[0]
    with pytest.raises(AssignmentError, match="saw its requested grade or decided on it"):
        study.ratings.rate(study.rated.pair_id("lacking"), study.judith, Decimal(2))
    with pytest.raises(ImportFileError, match="'judith' wrote the pair 'lacking', saw its"):
        study.rated.rate("lacking", judith="2")
    assert row_problems(study.rated.database) == []


def test_a_decision_keeps_its_adjudicator_off_also_when_more_raters_are_asked_for(study):
    study.join()
    study.decide("done")
    study.ask_more_raters(4)
    assert study.given(study.judith) == ["lacking", "calm", "single"]


def test_who_takes_a_decision_back_has_seen_the_grades_too(study):
    study.decide("done")
    dora = AccountService(study.rated.database).add_user("dora").id
    study.projects.add_member(study.id, "dora", Role.RATER)
    study.adjudication.withdraw(study.id, study.rated.pair_id("done"), dora)
    study.ask_more_raters(4)
    assert study.given(dora) == ["lacking", "calm", "single"]


def test_a_grade_given_before_the_decision_stays(study):
    study.decide("done", study.ben)
    assert study.ratings.pair(study.rated.pair_id("done"), study.ben).grade == 4
    assert study.projects.counts(study.id).finished == 1
    assert row_problems(study.rated.database) == []


@pytest.mark.parametrize("is_skipped", [True, False])
def test_a_pair_that_was_skipped_or_given_back_is_barred_by_a_decision(study, is_skipped):
    study.join()
    assert "lacking" in study.given(study.judith)
    if is_skipped:
        study.assignments.skip(study.rated.pair_id("lacking"), study.judith, SkipReason.OTHER, "too long")
    study.assignments.give_back(study.id, study.judith)
    study.rated.rate("lacking", cleo="2")
    study.decide("lacking")
    study.projects.remove_member(study.id, "judith", Role.ADJUDICATOR)
    study.ask_more_raters(4)
    assert study.given(study.judith) == ["done", "calm", "single"]
    with pytest.raises(AssignmentError, match="decided on it"):
        study.ratings.rate(study.rated.pair_id("lacking"), study.judith, Decimal(2))


def test_events_tell_no_grade_and_cause_of_a_pair_that_is_held_back(study):
    def told(viewer):
        found = EventService(study.rated.database).recent(study.id, viewer=viewer)
        return [event.detail for event in found if event.action == DECIDED]

    for name in ("done", "lacking"):
        study.rated.clock.move()
        study.decide(name, study.ben)
        study.rated.clock.move()
        study.projects.add_member(study.id, "ana", Role.EDITOR if name == "done" else Role.WRITER)
    whole = [{"pair": name, "grade": "2", "cause": "scale"} for name in ("lacking", "done")]
    assert told(None) == told(study.judith) == whole
    study.join()
    assert told(study.judith) == [{"pair": "lacking"}, whole[1]]
    assert told(None) == whole


def test_nor_do_they_where_decisions_in_a_row_are_one_event(study):
    for name in ("done", "lacking"):
        study.rated.clock.move()
        study.decide(name, study.ben)
    study.join()
    events = EventService(study.rated.database)
    decided = {"grade": "2", "cause": "scale"}
    for viewer, of_lacking, words in (
        (study.judith, {}, "lacking, done (2, scale)"),
        (None, decided, "lacking (2, scale), done (2, scale)"),
    ):
        [event] = [one for one in events.recent(study.id, viewer=viewer) if one.action == DECIDED]
        told = [{"pair": "lacking", **of_lacking}, {"pair": "done", **decided}]
        assert event.detail == {"times": 2, "decisions": told}
        assert detail_words(event.detail) == f"times: 2; decisions: {words}"


def test_lists_and_counts_of_the_project_do_not_tell_that_such_a_pair_is_flagged(study):
    listing = PairService(study.rated.database)

    def flagged(viewer):
        page = listing.pairs(study.id, state=PairState.FLAGGED, viewer=viewer)
        all_pairs = listing.pairs(study.id, viewer=viewer).items
        named = [line.external_id for line in page.items]
        assert named == [line.external_id for line in all_pairs if line.state is PairState.FLAGGED]
        assert study.projects.counts(study.id, viewer=viewer).to_adjudicate == page.total == len(named)
        return named

    assert flagged(study.judith) == ["done", "lacking"]
    study.join()
    assert flagged(study.judith) == ["done"]
    opened = listing.pairs(study.id, state=PairState.OPEN, viewer=study.judith).items
    assert [line.external_id for line in opened] == ["lacking", "calm", "single"]
    assert flagged(None) == ["done", "lacking"]


def test_nor_that_it_is_decided(study):
    study.decide("lacking", study.ben)
    study.join()

    def told(viewer):
        lines = PairService(study.rated.database).pairs(study.id, viewer=viewer).items
        [lacking] = [line for line in lines if line.external_id == "lacking"]
        return lacking.state, study.projects.counts(study.id, viewer=viewer).flagged

    assert told(study.judith) == (PairState.OPEN, 1)
    assert told(None) == (PairState.DECIDED, 2)


def test_comments_and_skips_leave_out_what_was_said_of_such_a_pair(study):
    study.projects.add_member(study.id, "ana", Role.RATER)
    ana = AccountService(study.rated.database).user("ana").id
    for name in ("done", "lacking"):
        study.ratings.comment(study.rated.pair_id(name), ana, "a 4 at least", is_flagged=name == "lacking")

    study.ratings.comment(study.rated.pair_id("lacking"), study.ben, "a 0 at most")

    def said(viewer):
        page = RemarkService(study.rated.database).remarks(study.id, viewer=viewer)
        assert page.total == len(page.items)
        return {remark.external_id for remark in page.items}, page.held_back

    assert said(study.judith) == ({"lacking", "done"}, 0)
    study.join()
    assert said(study.judith) == ({"done"}, 1)
    assert said(None) == ({"lacking", "done"}, 0)


def test_the_page_of_the_project_shows_its_leader_no_more_than_that(study):
    database, projects = study.rated.database, study.projects
    accounts, events = AccountService(database), EventService(database)
    stuck, consents = PairService(database, clock=study.rated.clock), ConsentService(database)
    page = ProjectHandlers(accounts, projects, events, stuck, consents)
    listing = PairListHandlers(accounts, PairService(database), None)
    remarks = RemarksHandlers(accounts, projects, RemarkService(database))
    request = SimpleNamespace(username="judith", query_params={"project": str(study.id)}, headers={})
    projects.add_member(study.id, "judith", Role.ADMINISTRATOR)
    projects.add_member(study.id, "ana", Role.RATER)
    study.ratings.comment(study.rated.pair_id("lacking"), accounts.user("ana").id, "a 4 at least")
    study.rated.clock.move()
    study.decide("lacking", study.ben)
    study.rated.rate("single", ben="4")

    def shown():
        counts, done = page.show_counts(request)
        flagged = listing.first("", "flagged", request)[0]
        told = (", 2 to adjudicate" in counts, "grade: 2; cause: scale" in done)
        said = remarks.show(request)
        assert ("1 pair is held back" in said) is not ("a 4 at least" in said)
        return *told, ">single<" in flagged, "a 4 at least" in said

    assert shown() == (True, True, True, True)
    study.join()
    assert shown() == (False, False, False, False)
