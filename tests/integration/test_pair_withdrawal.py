"""Withdrawn pairs: a project counts, measures, hands out and exports as if it had never had them."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from decimal import Decimal

import pytest
from sqlalchemy import select

from annotation.adjudication import AdjudicationError
from annotation.assignment import Progress
from annotation.errors import AssignmentError, ExportError, NoteError, NotFoundError, PairError
from annotation.gold import ExportOptions, RaterColumns, Unfinished
from annotation.quality import QualitySettings
from annotation.relevance import JudgingOptions
from annotation.reliability.report import agreement_to_json
from annotation.services.accounts import AccountService
from annotation.services.adjudication import AdjudicationService
from annotation.services.agreement import AgreementService
from annotation.services.assignment import AssignmentService, CheckProgress, read_checks
from annotation.services.audit import PAIRS_CHANGED
from annotation.services.bundle import open_services
from annotation.services.gold import GoldService
from annotation.services.imports import ImportService
from annotation.services.numbering import KeyService
from annotation.services.pairs import PairService, PairState
from annotation.services.predictions import JudgementService
from annotation.services.projects import OverviewService, ProjectService
from annotation.services.rater_queue import open_context
from annotation.services.ratings import RatingService, RemarkService
from annotation.types import Cause, KnownPair, NewPair, Role, SkipReason, User, utcnow
from annotation.ui.adjudicate import View, item_html, nothing_html
from annotation.ui.agreement import raters_table, texts_of
from annotation.ui.projects import counts_html, project_html
from annotation.wording import LONGEST_NOTE
from db.models import Assignment, AuditEvent, Pair, Rating, RatingChange
from tests.databases import row_problems
from tests.people import MovableClock, at_once
from tests.predicted import GRADES, grade, pairs_of, sent_project
from tests.rated import Rated, pair, rated_project
from tests.raters import new_world
from tests.studies import build_study, claims, exported, random_study, shown


def withdraw(rated: Rated, *ids: str, **asked: object) -> int:
    return PairService(rated.database, rated.clock).withdraw(rated.id, ids, **asked)


def restore(rated: Rated, *ids: str, **asked: object) -> int:
    return PairService(rated.database, rated.clock).restore(rated.id, ids, **asked)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_a_project_without_the_pairs_and_one_that_withdrew_them_are_the_same(
    database, tmp_path, monkeypatch, seed
):
    monkeypatch.setattr(KeyService, "raters", lambda self, project_id: b"of both projects")
    study = random_study(seed)
    twin = build_study(database, study, without=study.withdrawn)
    wanted = shown(twin)
    wanted_files = exported(twin, tmp_path / "twin", RaterColumns.ANONYMOUS)
    wanted_claims = claims(twin)
    ProjectService(database).delete(twin.id, "harbour")

    rated = build_study(database, study)
    before, files_before = shown(rated), exported(rated, tmp_path / "before", RaterColumns.NAMED)
    assert before != wanted
    assert withdraw(rated, *study.withdrawn) == len(study.withdrawn)
    found = shown(rated)
    for part, value in wanted.items():
        assert found[part] == value, part
    assert restore(rated, *study.withdrawn) == len(study.withdrawn)
    assert shown(rated) == before

    withdraw(rated, *study.withdrawn)
    assert exported(rated, tmp_path / "withdrawn", RaterColumns.ANONYMOUS) == wanted_files
    restore(rated, *study.withdrawn)
    assert exported(rated, tmp_path / "restored", RaterColumns.NAMED) == files_before
    assert row_problems(database) == []

    withdraw(rated, *study.withdrawn)
    assert claims(rated) == wanted_claims
    assert row_problems(database) == []


def test_what_was_held_is_held_again_after_restoring(database):
    world = new_world(database, pairs=3, raters=2, k=1)
    assignments, service = AssignmentService(database), PairService(database)
    first, second = (names_of(database, world.pairs)[pair] for pair in world.pairs[:2])
    rater, other = world.raters
    assert [each.id for each in assignments.queue(world.project, rater).pairs] == list(world.pairs[:2])
    assert service.withdraw(world.project, [first, second, first]) == 2
    queue = assignments.queue(world.project, rater)
    assert ([each.id for each in queue.pairs], queue.progress.total) == ([world.pairs[2]], 1)
    assert service.withdraw(world.project, [first]) == 0
    assert service.restore(world.project, [first, names_of(database, world.pairs)[world.pairs[2]]]) == 1
    assert assignments.queue(world.project, other).pairs == ()
    saved = RatingService(database, assignments=assignments).rate(world.pairs[0], rater, Decimal(1))
    assert ([each.id for each in saved.queue.pairs], saved.queue.progress.total) == ([world.pairs[2]], 2)
    assert row_problems(database) == []


@pytest.mark.both_databases
@pytest.mark.parametrize(
    "why", ["the lease ran out", "who held it stopped", "who held it was disabled", "another graded it"]
)
def test_what_was_held_goes_to_others_after_restoring_where(database, why):
    world, clock = new_world(database, pairs=1, raters=3, k=1), MovableClock()
    assignments, service = AssignmentService(database, clock), PairService(database, clock)
    ratings, [name] = RatingService(database, clock, assignments), names_of(database, world.pairs).values()
    [pair_id], [first, second, third] = world.pairs, world.raters
    assignments.queue(world.project, second)
    assignments.skip(pair_id, second, SkipReason.OTHER)
    assert assignments.queue(world.project, first).pairs
    service.withdraw(world.project, [name])
    if why == "the lease ran out":
        clock.forward(minutes=31)
    elif why == "who held it stopped":
        assignments.give_back(world.project, first)
    elif why == "who held it was disabled":
        AccountService(database).disable("rater 0.0")
        AccountService(database).enable("rater 0.0")
    else:
        ratings.rate(pair_id, second, Decimal(2))
    service.restore(world.project, [name])
    assert row_problems(database) == []
    is_graded = why == "another graded it"
    assert [each.id for each in assignments.queue(world.project, third).pairs] == (
        [] if is_graded else [pair_id]
    )
    with pytest.raises(AssignmentError, match="others have taken it"):
        ratings.rate(pair_id, first, Decimal(1))
    assert row_problems(database) == []


def names_of(database, pairs) -> dict[int, str]:
    with database.reading() as session:
        return dict(session.execute(select(Pair.id, Pair.external_id).where(Pair.id.in_(pairs))).all())


def test_who_has_the_pair_on_the_screen_loses_nothing(database):
    world = new_world(database, pairs=3, raters=3)
    ratings, [shown_pair, next_pair, last] = RatingService(database), world.pairs
    service, names = PairService(database), names_of(database, world.pairs)
    first, second, _ = world.raters
    for rater in (first, second):
        AssignmentService(database).queue(world.project, rater)
    service.withdraw(world.project, [names[shown_pair]])
    saved = ratings.rate(shown_pair, first, Decimal("2.5"), 3.0)
    assert [each.id for each in saved.queue.pairs] == [next_pair, last]
    assert (saved.queue.progress.rated, saved.queue.progress.total) == (0, 2)
    assert ratings.comment(shown_pair, first, "It is cut off.", True)
    assert ratings.rate(shown_pair, first, Decimal(3)).queue.progress.rated == 0
    skipped = AssignmentService(database).skip(shown_pair, second, SkipReason.BROKEN_TEXT)
    assert skipped.queue.progress.total == 2
    assert ratings.recent(world.project, first) == ()
    assert AgreementService(database).report(world.project, resamples=10).whole.ratings == 0
    assert row_problems(database) == []
    service.restore(world.project, [names[shown_pair]])
    assert [(each.id, each.grade) for each in ratings.recent(world.project, first)] == [
        (shown_pair, Decimal(3))
    ]
    assert ratings.progress(world.project, first).rated == 1
    assert row_problems(database) == []


@pytest.mark.both_databases
def test_withdrawing_while_raters_grade_gives_no_error_and_loses_no_grade(database):
    world = new_world(database, pairs=30, raters=4, k=3)
    names, stop = names_of(database, world.pairs), threading.Event()
    said: dict[tuple[int, int], Decimal] = {}

    def work(rater: int) -> None:
        assignments = AssignmentService(database)
        ratings = RatingService(database, assignments=assignments)
        queue = assignments.queue(world.project, rater)
        while queue.pairs or not stop.is_set():
            if not queue.pairs:
                time.sleep(0.01)
                queue = assignments.queue(world.project, rater)
                continue
            given = queue.pairs[0].id
            graded = Decimal((given + rater) % 17) / 4
            queue = ratings.rate(given, rater, graded).queue
            said[given, rater] = graded

    def manage() -> None:
        service = PairService(database)
        try:
            for turn in range(12):
                chosen = [names[each] for each in world.pairs[turn % 3 :: 3]]
                (service.withdraw if turn % 2 == 0 else service.restore)(world.project, chosen)
                assert row_problems(database) == []
                time.sleep(0.02)
            service.restore(world.project, list(names.values()))
        finally:
            stop.set()

    answers = at_once([manage, *(lambda r=rater: work(r) for rater in world.raters)])
    assert answers == [None] * 5
    assert stop.is_set()
    with database.reading() as session:
        kept = {
            (row.pair_id, row.rater_id): Decimal(row.quarters) / 4 for row in session.scalars(select(Rating))
        }
        assert len(session.scalars(select(RatingChange.id)).all()) == len(kept)
    assert kept == said
    assert len(kept) == 90
    assert row_problems(database) == []


@pytest.mark.both_databases
def test_a_rater_who_submits_at_that_moment_is_never_refused(database):
    world = new_world(database, pairs=12, raters=2, k=2)
    names, service = names_of(database, world.pairs), PairService(database)
    rater = world.raters[0]
    assignments = AssignmentService(database)
    ratings = RatingService(database, assignments=assignments)
    for number in range(6):
        given = assignments.queue(world.project, rater).pairs[0].id
        saved, withdrawn = at_once(
            [
                lambda pair=given: ratings.rate(pair, rater, Decimal(1)),
                lambda pair=given: service.withdraw(world.project, [names[pair]]),
            ]
        )
        assert withdrawn == 1
        assert given not in [each.id for each in assignments.queue(world.project, rater).pairs]
        with database.reading() as session:
            assert len(session.scalars(select(Rating.id)).all()) == number + 1
        assert not isinstance(saved, Exception)
    assert row_problems(database) == []


@pytest.fixture
def rated(database) -> Rated:
    return rated_project(database, [pair("a", "0", "4"), pair("b", "1", "1.5"), pair("c", "1"), pair("d")])


def test_who_and_why_is_written_down_once(rated):
    asked = {"by": rated.adjudicator, "reason": " cut off\x00 "}
    assert withdraw(rated, "a", "b", "a", **asked) == 2
    assert withdraw(rated, "a", "c", **asked) == 1
    assert withdraw(rated, "a") == restore(rated, "d") == 0
    assert restore(rated, "a", "d", reason="mended") == 1
    with rated.database.reading() as session:
        changes = select(AuditEvent).where(AuditEvent.action.in_(PAIRS_CHANGED))
        events = session.scalars(changes.order_by(AuditEvent.id)).all()
    found = [(each.action, each.user_id, each.detail["pairs"], each.detail["reason"]) for each in events]
    by = rated.adjudicator.id
    assert found == [
        ("pairs withdrawn", by, ["a", "b"], "cut off�"),
        ("pairs withdrawn", by, ["c"], "cut off�"),
        ("pairs restored", None, ["a"], "mended"),
    ]


def test_one_that_is_not_there_or_not_told_apart_keeps_all(rated):
    with pytest.raises(NotFoundError, match=r"^There is no pair 'x' in this project: look at the list\.$"):
        withdraw(rated, "a", "x")
    with pytest.raises(NotFoundError, match="There is no pair ''"):
        withdraw(rated, "")
    with pytest.raises(NoteError, match="The reason has 2,001 characters"):
        withdraw(rated, "a", reason="x" * (LONGEST_NOTE + 1))
    ImportService(rated.database).import_pairs(
        rated.id, [NewPair("a", "phrase2word", "a fast ship", "ferry")]
    )
    with pytest.raises(PairError, match=r"several types \(phrase2word, sentence2phrase\): say which type\.$"):
        withdraw(rated, "b", "a")
    assert states(rated) == ["flagged", "fully graded", "open", "open", "open"]
    assert withdraw(rated, "a", type="phrase2word") == 1
    assert states(rated) == ["flagged", "fully graded", "open", "open", "withdrawn"]


def states(rated: Rated) -> list[str]:
    return [line.state.value for line in PairService(rated.database).pairs(rated.id).items]


def test_it_is_listed_as_withdrawn_with_its_grades_and_remarks(rated):
    with rated.database.session() as session:
        rater = session.scalars(select(Rating.rater_id)).first()
    RatingService(rated.database).comment(rated.pair_id("a"), rater, "broken", True)
    withdraw(rated, "a")
    page = PairService(rated.database).pairs(rated.id, state=PairState.WITHDRAWN)
    assert [(line.external_id, line.grades) for line in page.items] == [("a", 2)]
    [remark] = RemarkService(rated.database).remarks(rated.id).items
    assert (remark.text, remark.is_withdrawn) == ("broken", True)
    restore(rated, "a")
    assert not RemarkService(rated.database).remarks(rated.id).items[0].is_withdrawn


def test_nobody_decides_on_it_and_its_decision_comes_back(rated):
    service, by = AdjudicationService(rated.database, clock=rated.clock), rated.adjudicator.id
    chosen = rated.pair_id("a")
    service.decide(rated.id, chosen, by, Decimal(3), Cause.SCALE)
    withdraw(rated, "a")
    item, project = service.item(rated.id, chosen), ProjectService(rated.database).get(rated.id)
    said = item_html(item, project, rated.adjudicator, service.neighbours(rated.id, chosen))
    assert "Withdrawn: it counts nowhere and needs no decision." in said
    assert service.first(rated.id) is None
    said = r"^The pair 'a' is withdrawn and needs no decision: go on with the next"
    with pytest.raises(AdjudicationError, match=said):
        service.decide(rated.id, chosen, by, Decimal(2), Cause.SCALE)
    with pytest.raises(AdjudicationError, match=said):
        service.withdraw(rated.id, chosen, by)
    restore(rated, "a")
    assert service.item(rated.id, chosen).decision.grade == 3


def test_the_manifest_tells_how_many_and_an_earlier_export_stays(rated, tmp_path):
    service = GoldService(rated.database, clock=rated.clock)
    restore(rated, "a")
    withdraw(rated, "a", "c", "d")
    written = service.export(rated.id, tmp_path / "g", ExportOptions()).manifest
    assert (written["counts"]["pairs"], written["counts"]["withdrawn"]) == (1, 3)
    withdraw(rated, "b")
    told = r"has only withdrawn pairs \(4\): restore those that should count first\.$"
    with pytest.raises(ExportError, match=told):
        service.export(rated.id, tmp_path / "h", ExportOptions())
    assert [record.pairs for record in service.exports(rated.id)] == [1]
    assert json.loads((tmp_path / "g" / "manifest.json").read_text()) == written


def test_a_project_tells_how_many_are_withdrawn_and_where_all_are(rated):
    project, gold = ProjectService(rated.database), GoldService(rated.database)
    withdraw(rated, "a")
    assert (project.counts(rated.id).pairs, project.counts(rated.id).withdrawn) == (3, 1)
    assert "· 1 pair withdrawn</p>" in counts_html(project.counts(rated.id))
    withdraw(rated, "b", "c", "d")
    said = "All 4 pairs are withdrawn: restore what should count"
    assert said in counts_html(project.counts(rated.id))
    assert said in nothing_html(gold.counts(rated.id), View(), Decimal(1))
    agreement = AgreementService(rated.database).report(rated.id, resamples=10)
    texts = texts_of(agreement, rated.id, leads=True)
    assert said in texts["enough"]
    assert said in texts["where"]
    assert agreement_to_json(agreement)["withdrawn"] == 4
    root = User(1, "root", is_administrator=True)
    line = OverviewService(rated.database).projects(root)[0]
    assert (line.pairs, line.withdrawn) == (0, 4)
    assert said in project_html(line, root, None)
    rater = replace(root, is_administrator=False)
    assert "No pairs at the moment" in project_html(replace(line, roles=frozenset({Role.RATER})), rater, None)


def test_a_report_is_made_anew_after_each_change_of_the_pairs(rated):
    service, seen = AgreementService(rated.database), []
    changes = (
        lambda: withdraw(rated, "a"),
        lambda: (withdraw(rated, "b"), restore(rated, "a")),
        lambda: restore(rated, "b"),
        lambda: PairService(rated.database).remove(rated.id, ["d"]),
    )
    for change in (lambda: None, *changes):
        change()
        report = service.report(rated.id, resamples=10)
        seen.append((report.whole.pairs, report.whole.ratings, report.whole.flagged))
    assert seen == [(4, 5, 1), (3, 3, 0), (3, 3, 1), (4, 5, 1), (3, 5, 1)]


def test_numbers_of_raters_stay_when_all_they_graded_is_withdrawn(rated, tmp_path):
    rated.rate("d", zoe="2")
    service = GoldService(rated.database, clock=rated.clock)
    options = ExportOptions(unfinished=Unfinished.LEAVE_OUT, raters=RaterColumns.ANONYMOUS)
    service.export(rated.id, tmp_path / "one", options)
    withdraw(rated, "d")
    report = AgreementService(rated.database).report(rated.id, resamples=10, named=True)
    assert sorted(report.rater_names) == ["ana", "ben"], "who has no grades that count is in no table"
    assert len(raters_table(report).rows) == 2
    service.export(rated.id, tmp_path / "two", options)
    one, two = ((tmp_path / name / "gold.jsonl").read_bytes() for name in ("one", "two"))
    assert one == two


def test_predicted_keyphrases_are_judged_without_a_withdrawn_pair(database):
    project = sent_project(database)
    grade(database, project.id, GRADES)
    before = JudgementService(database).pool(project.id)
    name = pairs_of(database, project.id)["old harbour"].external_id
    PairService(database).withdraw(project.id, [name])
    pool = JudgementService(database).pool(project.id)
    counts = pool.counts(Decimal(3))
    assert (counts.phrases, counts.predictions, counts.graded) == (4, 5, 4)
    assert name not in "".join([*pool.qrels_lines(), *pool.run_lines("north")])
    options = JudgingOptions(Decimal(3), 2)
    assert pool.figures(options)["north"].precision.skip_empty == pytest.approx(0.75)
    assert before.figures(options)["north"].precision.skip_empty == pytest.approx(0.5)
    PairService(database).restore(project.id, [name])
    assert JudgementService(database).pool(project.id) == before


def test_what_is_withdrawn_is_known_to_imports_and_settings(rated):
    withdraw(rated, "a")
    summary = ImportService(rated.database).import_pairs(rated.id, [pair("a", "0", "4"), pair("e")])
    assert (summary.pairs, summary.ratings, summary.duplicates) == (1, 0, ("a",))
    projects = ProjectService(rated.database)
    settings = projects.get(rated.id).settings
    projects.update(rated.id, replace(settings, raters_per_pair=3))
    restore(rated, "a")
    assert row_problems(rated.database) == []
    with rated.database.reading() as session:
        assert session.scalars(select(Assignment.state).where(Assignment.state != "rated")).all() == []


def test_in_a_large_project_a_grade_that_does_not_count_does_not_add_to_the_progress(database, monkeypatch):
    monkeypatch.setattr("annotation.services.assignment.EXACT_UP_TO", 0)
    monkeypatch.setattr("annotation.services.assignment.NEAR_THE_END", -1)
    monkeypatch.setattr("annotation.services.assignment.SECONDS_A_PAIR", 100.0)
    world = new_world(database, pairs=5, raters=1)
    [rater], assignments = world.raters, AssignmentService(database)
    ratings = RatingService(database, assignments=assignments)
    assert assignments.queue(world.project, rater).progress == Progress(0, 5)
    PairService(database).withdraw(world.project, [names_of(database, world.pairs)[world.pairs[0]]])
    assert ratings.rate(world.pairs[0], rater, Decimal(2)).queue.progress.rated == 0
    assert ratings.rate(world.pairs[1], rater, Decimal(2)).queue.progress.rated == 1
    assert ratings.progress(world.project, rater) == Progress(1, 4)


def test_in_a_large_project_who_seems_done_is_given_what_was_restored(database, monkeypatch):
    monkeypatch.setattr("annotation.services.assignment.EXACT_UP_TO", 0)
    monkeypatch.setattr("annotation.services.assignment.SECONDS_A_PAIR", 10_000.0)
    world = new_world(database, pairs=3, raters=1)
    [rater], assignments = world.raters, AssignmentService(database)
    ratings, service = RatingService(database, assignments=assignments), PairService(database)
    last = names_of(database, world.pairs)[world.pairs[2]]
    service.withdraw(world.project, [last])
    assignments.queue(world.project, rater)
    ratings.rate(world.pairs[0], rater, Decimal(2))
    service.restore(world.project, [last])
    saved = ratings.rate(world.pairs[1], rater, Decimal(2))
    assert [each.id for each in saved.queue.pairs] == [world.pairs[2]]
    assert saved.queue.progress == Progress(2, 3)
    assert ratings.rate(world.pairs[2], rater, Decimal(2)).queue.progress == Progress(3, 3)


def test_when_a_check_pair_is_due_hangs_on_the_pairs_that_count(database):
    world = new_world(database, pairs=8, raters=1)
    services, [rater] = open_services(database), world.raters
    known = [NewPair(f"c{n}", "sentence2phrase", f"The ship {n} docks.", f"docked {n}") for n in range(4)]
    services.known_pairs.import_checks(world.project, [KnownPair(each, Decimal(3), "") for each in known])
    services.quality.change(world.project, QualitySettings(check_every=2))
    queue, graded = services.assignment.queue(world.project, rater), []
    while len(graded) < 4:
        chosen = queue.pairs[0].id
        graded += [chosen] if chosen in world.pairs else []
        queue = services.ratings.rate(chosen, rater, Decimal(2)).queue
    names = names_of(database, world.pairs)
    before = checks_of(database, world.project, rater)
    services.pairs.withdraw(world.project, [names[each] for each in graded[:3]])
    after = checks_of(database, world.project, rater)
    assert (before.worked - after.worked, before.given) == (3, after.given)
    assert services.ratings.progress(world.project, rater).total <= 5 + len(known)
    services.pairs.restore(world.project, [names[each] for each in graded[:3]])
    assert checks_of(database, world.project, rater) == before


def checks_of(database, project: int, rater: int) -> CheckProgress:
    with database.reading() as session:
        desk = open_context(session.connection(), project, rater, utcnow())
        found = read_checks(session.connection(), desk)
    assert found is not None
    return found


def test_a_skip_of_a_withdrawn_pair_is_not_among_the_last_answers(database):
    world = new_world(database, pairs=2, raters=1)
    services, [rater] = open_services(database), world.raters
    services.assignment.queue(world.project, rater)
    services.assignment.skip(world.pairs[0], rater, SkipReason.OTHER)
    assert [each.id for each in services.ratings.recent(world.project, rater)] == [world.pairs[0]]
    services.pairs.withdraw(world.project, [names_of(database, world.pairs)[world.pairs[0]]])
    assert services.ratings.recent(world.project, rater) == ()
