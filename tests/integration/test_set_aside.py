"""Grades that are set aside: a project counts, measures and hands out as if the rater had never graded."""

from __future__ import annotations

import json
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal

import pytest
from sqlalchemy import delete, select

from annotation.errors import (
    AccessError,
    AssignmentError,
    ImportFileError,
    NoteError,
    NotFoundError,
    SettingsError,
)
from annotation.files.gold_files import RatingFormat
from annotation.gold import ExportOptions, Format, RaterColumns, Unfinished
from annotation.reliability.report import agreement_to_json
from annotation.services.accounts import AccountService
from annotation.services.adjudication import AdjudicationService
from annotation.services.agreement import AgreementService
from annotation.services.assignment import AssignmentService, refresh_pairs
from annotation.services.audit import GRADES_CHANGED, EventService
from annotation.services.excluded_ratings import ExclusionService, RaterGrades, Restoration
from annotation.services.gold import GoldService, protocol_history
from annotation.services.imports import ImportService
from annotation.services.known_pairs import KnownPairService
from annotation.services.numbering import KeyService, given_numbers
from annotation.services.pairs import PairService
from annotation.services.predictions import JudgementService
from annotation.services.project_rows import find_project
from annotation.services.projects import ProjectService
from annotation.services.quality import QualityService, WorkService
from annotation.services.rater_queue import lock_pair
from annotation.services.ratings import RatingExportService, RatingService
from annotation.types import Cause, KnownPair, NewPair, NewRating, Role, SkipReason
from annotation.ui.agreement import texts_of
from db import Database
from db.models import Assignment, Comment, Pair, Rating, RatingChange, SetAsideRating
from tests import studies
from tests.commands import main
from tests.databases import row_problems
from tests.integration.test_raters_sent_away import MOMENT, until_it_waits
from tests.people import at_once
from tests.predicted import GRADES, grade, sent_project
from tests.rated import Rated, pair, rated_project
from tests.raters import World, check, check_finished, new_world
from tests.studies import build_study, claims, exported, random_study, shown

WHY = "gave 2 to every pair"


def set_aside(rated: Rated, rater: str, why: str = WHY) -> int:
    return ExclusionService(rated.database, rated.clock).exclude(rated.id, rater, why)


def bring_back(rated: Rated, rater: str) -> Restoration:
    return ExclusionService(rated.database, rated.clock).restore(rated.id, rater)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_a_project_without_the_rater_and_one_that_set_the_grades_aside_are_the_same(
    database, tmp_path, monkeypatch, seed
):
    monkeypatch.setattr(KeyService, "raters", lambda self, project_id: b"of both projects")
    study = replace(random_study(seed), decided=())
    decided = random.Random(seed).sample([each.id for each in study.pairs], 12)
    graded = sum((act.rater, act.kind) == ("cleo", "rated") for act in study.acts)
    twin = build_without_comments_of_cleo(database, without_grades_of_cleo(study))
    QualityService(database).pause(twin.id, "cleo")
    studies._decide(twin, decided)
    with of_the_others(monkeypatch):
        wanted, wanted_files = shown(twin), exported(twin, tmp_path / "twin", RaterColumns.ANONYMOUS)
        wanted_claims = claims(twin)
    ProjectService(database).delete(twin.id, "harbour")

    rated = build_without_comments_of_cleo(database, study)
    QualityService(database).pause(rated.id, "cleo")
    before, ratings = shown(rated), rows_of(database, Rating)
    assert set_aside(rated, "cleo") == graded > 4
    assert bring_back(rated, "cleo") == Restoration(graded, 0, is_paused=True)
    assert shown(rated) == before
    assert rows_of(database, Rating) == ratings

    set_aside(rated, "cleo")
    studies._decide(rated, decided)
    with of_the_others(monkeypatch):
        found, files = shown(rated), exported(rated, tmp_path / "aside", RaterColumns.ANONYMOUS)
        [told] = found["agreement"].pop("set_aside")
        assert (told["rater"], told["reason"]) == ("cleo", WHY)
        assert wanted["agreement"].pop("set_aside") == []
        for part, value in wanted.items():
            assert found[part] == value, part
        for name, content in wanted_files.items():
            if name.endswith("manifest.json"):
                manifest = json.loads(files[name])
                assert [each["reason"] for each in manifest.pop("set_aside")] == [WHY]
                assert manifest == json.loads(content)
            else:
                assert files[name] == content
        assert row_problems(database) == []
        assert claims(rated) == wanted_claims
    assert row_problems(database) == []


def without_grades_of_cleo(study):
    """She gave the pairs back instead, so that the minutes of all others stay."""
    given_back = (
        replace(act, kind="returned") if (act.rater, act.kind) == ("cleo", "rated") else act
        for act in study.acts
    )
    return replace(study, acts=tuple(given_back))


def build_without_comments_of_cleo(database, study) -> Rated:
    rated = build_study(database, study)
    with database.session() as session:
        session.execute(delete(Comment).where(Comment.user_id == id_of(database, "cleo")))
    return rated


@contextmanager
def of_the_others(monkeypatch):
    """Show and hand out as if Cleo were no rater."""
    with monkeypatch.context() as patch:
        patch.setattr(studies, "RATERS", ("ana", "ben", "dora", "emil"))
        yield


def id_of(database, name: str) -> int:
    return AccountService(database).user(name).id


def rows_of(database, table, *where) -> list[tuple[object, ...]]:
    """What the rows say, but for their ids."""
    columns = [column for column in table.__table__.columns if column.name != "id"]
    with database.reading() as session:
        return sorted((tuple(row) for row in session.execute(select(*columns).where(*where))), key=repr)


@pytest.fixture
def rated(database) -> Rated:
    """Ana and Ben graded everything; Cleo may."""
    rated = rated_project(database, [pair("a", "0", "4"), pair("b", "1", "1.5"), pair("c", "3", "3")])
    AccountService(database).add_user("cleo")
    ProjectService(database).add_member(rated.id, "cleo", Role.RATER)
    return rated


def give(rated: Rated, name: str) -> list[str]:
    """The pairs that a rater is given."""
    queue = AssignmentService(rated.database, rated.clock).queue(rated.id, id_of(rated.database, name))
    return [pair.right.removeprefix("a noon ferry ") for pair in queue.pairs]


def grade_as(rated: Rated, name: str, pair: str, grade: str) -> None:
    ratings = RatingService(rated.database, rated.clock)
    ratings.rate(rated.pair_id(pair), id_of(rated.database, name), Decimal(grade), 4.0)


def test_others_grade_the_pairs_anew_and_the_rater_never_does(rated):
    assert give(rated, "cleo") == []
    assert set_aside(rated, "ben") == 3
    with pytest.raises(
        AccessError, match="Some of your grades in harbour are set aside and do not count: ask"
    ):
        give(rated, "ben")
    assert give(rated, "cleo") == ["a", "b"]
    QualityService(rated.database).resume(rated.id, "ben")
    assert give(rated, "ben") == []
    for name in "abc":
        with pytest.raises(AssignmentError, match="grade of this pair was set aside: others grade it"):
            grade_as(rated, "ben", name, "2")
    assert RatingService(rated.database).recent(rated.id, id_of(rated.database, "ben")) == ()
    ImportService(rated.database).import_pairs(rated.id, [pair("d")])
    assert give(rated, "ben") == ["d"]
    grade_as(rated, "ben", "d", "2")
    assert ExclusionService(rated.database).raters(rated.id) == (
        RaterGrades("ana", 3, 0),
        RaterGrades("ben", 1, 3),
    )
    assert row_problems(rated.database) == []


def test_only_pairs_with_room_get_their_grade_back(rated):
    set_aside(rated, "ben")
    assert give(rated, "cleo") == ["a", "b"]
    grade_as(rated, "cleo", "a", "1")  # holds b and c by now
    assert bring_back(rated, "ben") == Restoration(0, 3, is_paused=True)
    AssignmentService(rated.database).give_back(rated.id, id_of(rated.database, "cleo"))
    assert bring_back(rated, "ben") == Restoration(2, 1, is_paused=False)
    report = AgreementService(rated.database).report(rated.id, resamples=10)
    assert [(each.rater, each.grades) for each in report.set_aside] == [("ben", 1)]
    projects = ProjectService(rated.database)
    projects.update(rated.id, replace(projects.get(rated.id).settings, raters_per_pair=3))
    assert bring_back(rated, "ben") == Restoration(1, 0, is_paused=False)
    with pytest.raises(NotFoundError, match="'ben' has no grades set aside in 'harbour'"):
        bring_back(rated, "ben")
    assert row_problems(rated.database) == []


def test_decisions_stay_and_one_that_did_not_know_the_grade_is_open_again(rated):
    service = AdjudicationService(rated.database, clock=rated.clock)
    rated.clock.move()
    decided, by = rated.pair_id("a"), rated.adjudicator.id
    service.decide(rated.id, decided, by, Decimal(2), Cause.SCALE)
    set_aside(rated, "ben")
    assert service.item(rated.id, decided).decision.grade == 2
    assert service.queue(rated.id).entries == ()
    rated.clock.move()
    bring_back(rated, "ben")
    assert not service.item(rated.id, decided).is_changed
    set_aside(rated, "ben")
    rated.clock.move()
    service.decide(rated.id, decided, by, Decimal(3), Cause.SCALE)
    rated.clock.move()
    bring_back(rated, "ben")
    assert service.item(rated.id, decided).is_changed
    assert service.item(rated.id, decided).decision.grade == 3


def test_what_is_brought_back_was_given_when_its_rater_gave_it(rated, tmp_path):
    rated.clock.move()
    grade_as(rated, "ana", "a", "1")
    adjudication, judith = AdjudicationService(rated.database, clock=rated.clock), rated.adjudicator.id

    def told() -> tuple[object, ...]:
        file = tmp_path / "ratings.jsonl"
        RatingExportService(rated.database).export(rated.id, file, RatingFormat.JSONL, named=True)
        work, *_ = WorkService(rated.database, rated.clock).work(rated.id)
        with rated.database.reading() as session:
            history = protocol_history(session, find_project(session, rated.id))
        return file.read_text(), work.rater, work.first_at, work.last_at, history

    rated.clock.move()
    adjudication.decide(rated.id, rated.pair_id("a"), judith, Decimal(2), Cause.SCALE)
    service = ProjectService(rated.database, clock=rated.clock)
    service.update(rated.id, replace(service.get(rated.id).settings, guidelines="New"))
    before = told()
    set_aside(rated, "ana")
    rated.clock.move()
    adjudication.decide(rated.id, rated.pair_id("a"), judith, Decimal(3), Cause.SCALE)
    rated.clock.move()
    bring_back(rated, "ana")
    assert adjudication.item(rated.id, rated.pair_id("a")).is_changed
    assert told() == before


def test_nothing_is_set_aside_of_nobody_or_without_a_reason(rated):
    for name, why, told in (
        ("cleo", WHY, "'cleo' has no grades that count in 'harbour'"),
        ("nobody", WHY, "no account named 'nobody'"),
        ("ben", "  ", "No reason is given"),
    ):
        with pytest.raises((NotFoundError, NoteError), match=told):
            set_aside(rated, name, why)
    assert QualityService(rated.database).paused_raters(rated.id) == frozenset()
    assert EventService(rated.database).recent(rated.id)[0].action != "grades set aside"


def test_a_rater_who_was_removed_can_be_set_aside_and_stays_out(rated):
    ProjectService(rated.database).remove_member(rated.id, "ben")
    set_aside(rated, "ben")
    ProjectService(rated.database).add_member(rated.id, "ben", Role.RATER)
    with pytest.raises(AccessError, match="are set aside"):
        give(rated, "ben")
    bring_back(rated, "ben")
    assert give(rated, "ben") == []


def test_the_same_file_again_brings_no_grade_back_and_another_grade_is_refused(rated):
    set_aside(rated, "ben")
    again = [pair("a", "0", "4"), pair("b", "1", "1.5")]
    summary = ImportService(rated.database).import_pairs(rated.id, again)
    assert (summary.pairs, summary.ratings) == (0, 0)
    for name, given, told in (
        ("a", "3", "'ben' graded the pair 'a' 4, which was set aside, so others have to grade it"),
        (
            "d",
            "3",
            "'ben' are set aside in this project; leave the rating out, or let the rater continue first",
        ),
    ):
        with pytest.raises(ImportFileError, match=told):
            ImportService(rated.database).import_pairs(rated.id, [pair(name, "0", given)])
    ImportService(rated.database).import_pairs(rated.id, [NewRating("a", "cleo", Decimal("2"))])
    QualityService(rated.database).resume(rated.id, "ben")
    ImportService(rated.database).import_pairs(rated.id, [pair("d", "0", "3")])
    assert bring_back(rated, "ben") == Restoration(2, 1, is_paused=False)


def test_raters_whom_a_file_numbers_are_known_again(database):
    numbered = replace(pair("a"), ratings=(("1", Decimal(0)), ("2", Decimal(4))))
    rated = rated_project(database, [numbered])
    set_aside(rated, "harbour/2")
    assert ImportService(database).import_pairs(rated.id, [numbered]).ratings == 0
    assert [each.name for each in AccountService(database).users()].count("harbour/2 (2)") == 0
    assert rows_of(database, Rating)[0][3] == 0


def test_what_was_graded_is_known_to_settings(rated):
    set_aside(rated, "ana")
    set_aside(rated, "ben")
    projects = ProjectService(rated.database)
    settings = projects.get(rated.id).settings
    with pytest.raises(SettingsError, match=r"There is a grade that is set aside of 1\.5 already"):
        projects.update(rated.id, replace(settings, step=Decimal(1)))
    with pytest.raises(SettingsError, match="The order and its seed stay as they are"):
        projects.update(rated.id, replace(settings, is_random=True))


def test_a_leader_who_could_look_at_grades_may_not_change_their_own_once_these_are_set_aside(rated):
    ProjectService(rated.database).add_member(rated.id, "ana", Role.ADMINISTRATOR)
    set_aside(rated, "ben")
    with pytest.raises(AssignmentError, match="could look at others' grades of it since"):
        grade_as(rated, "ana", "a", "4")


@pytest.mark.parametrize("raters", RaterColumns)
def test_a_gold_set_tells_what_was_set_aside_as_it_names_raters(rated, tmp_path, raters):
    first = exported_manifest(rated, tmp_path / "first", RaterColumns.ANONYMOUS)
    assert "set_aside" not in first
    set_aside(rated, "ben")
    [told] = exported_manifest(rated, tmp_path / "one", raters)["set_aside"]
    assert told == exported_manifest(rated, tmp_path / "two", raters)["set_aside"][0]
    number = number_of(rated, "ben")
    wanted = {"anonymous": f"rater {number}", "named": "ben", "none": None}[raters]
    assert told.pop("rater", None) == wanted
    assert told == {"grades": 3, "reason": WHY, "at": "2026-03-01T09:00:00+00:00"}
    bring_back(rated, "ben")
    assert exported_manifest(rated, tmp_path / "back", RaterColumns.ANONYMOUS) == first


def exported_manifest(rated: Rated, folder, raters: RaterColumns) -> dict[str, object]:
    options = ExportOptions(unfinished=Unfinished.LEAVE_OUT, raters=raters)
    return GoldService(rated.database, clock=rated.clock).export(rated.id, folder, options).manifest


def number_of(rated: Rated, name: str) -> int:
    """As it was shown or exported before."""
    with rated.database.reading() as session:
        return given_numbers(session, rated.id)[id_of(rated.database, name)]


def test_a_rater_of_whom_all_was_set_aside_before_the_first_export_has_a_number_for_good(rated, tmp_path):
    set_aside(rated, "ben")
    [told] = exported_manifest(rated, tmp_path / "one", RaterColumns.ANONYMOUS)["set_aside"]
    bring_back(rated, "ben")
    exported_manifest(rated, tmp_path / "two", RaterColumns.ANONYMOUS)
    rows = [json.loads(line) for line in (tmp_path / "two" / "gold.jsonl").read_text().splitlines()]
    assert {"rater": told["rater"], "grade": 1.5} in rows[0]["ratings"]


@pytest.mark.parametrize(("raters", "format"), [("named", "jsonl"), ("anonymous", "jsonl"), ("named", "csv")])
def test_comments_keep_the_author_whose_grades_are_all_set_aside(rated, tmp_path, raters, format):
    set_aside(rated, "ben")
    rated.rate("a", cleo="0")
    rated.rate("b", cleo="1")
    with rated.database.session() as session:
        whose = {
            "project_id": rated.id,
            "pair_id": rated.pair_id("a"),
            "user_id": id_of(rated.database, "ben"),
        }
        said = {"text": "Which noon?", "is_flagged": False, "updated_at": rated.clock()}
        session.add(Comment(**whose, **said))
    options = ExportOptions(Format(format), Unfinished.LEAVE_OUT, RaterColumns(raters), comments=True)
    manifest = GoldService(rated.database).export(rated.id, tmp_path / "gold", options).manifest
    written = (tmp_path / "gold" / f"gold.{format}").read_text(encoding="utf-8")
    author = manifest["set_aside"][0]["rater"]
    assert author == "ben" if raters == "named" else author.startswith("rater ")
    if format == "csv":
        assert "rating:cleo" in written
        assert "rating:ben" not in written
        assert '""rater"": ""ben""' in written
    else:
        rows = [json.loads(line) for line in written.splitlines()]
        assert [[each["rater"] for each in row["comments"]] for row in rows] == [[author], []]
        assert author not in [each["rater"] for row in rows for each in row["ratings"]]


def test_the_report_names_raters_only_where_it_may_and_leaves_withdrawn_pairs_out(rated):
    service = AgreementService(rated.database)
    assert agreement_to_json(service.report(rated.id, resamples=10))["set_aside"] == []
    set_aside(rated, "ben")
    PairService(rated.database).withdraw(rated.id, ["a"])
    named = agreement_to_json(service.report(rated.id, resamples=10))["set_aside"]
    assert named == [{"rater": "ben", "grades": 2, "reason": WHY, "at": "2026-03-01T09:00:00+00:00"}]
    hidden = service.report(rated.id, resamples=10, named=False)
    assert [each.rater for each in hidden.set_aside] == [f"Rater {number_of(rated, 'ben')}"]
    said = texts_of(hidden, rated.id, leads=False)["raters"]
    assert (
        f"Grades that were set aside and count nowhere: 2 of {hidden.set_aside[0].rater} (2026-03-01: gave 2"
        in said
    )
    assert "ben" not in said


def test_a_report_lists_nobody_of_whom_all_is_set_aside_also_after_a_gold_set(rated, tmp_path):
    exported_manifest(rated, tmp_path / "before", RaterColumns.ANONYMOUS)
    number = number_of(rated, "ana")
    set_aside(rated, "ben")
    service = AgreementService(rated.database)
    assert service.report(rated.id, resamples=10).rater_names == ("ana",)
    assert service.report(rated.id, resamples=10, named=False).rater_names == (f"Rater {number}",)
    bring_back(rated, "ben")
    assert set(service.report(rated.id, resamples=10).rater_names) == {"ana", "ben"}


def test_a_report_is_made_anew_after_each_change(rated):
    service, seen = AgreementService(rated.database), []
    for change in (lambda: None, lambda: set_aside(rated, "ben"), lambda: bring_back(rated, "ben")):
        change()
        seen.append((service.version(rated.id), service.report(rated.id, resamples=10).whole.ratings))
    assert [ratings for _, ratings in seen] == [6, 3, 6]
    assert len({version for version, _ in seen}) == 3


def test_events_tell_who_did_it_and_why(rated):
    judith = rated.adjudicator
    ExclusionService(rated.database, rated.clock).exclude(rated.id, "ben", WHY, by=judith)
    rated.clock.move()
    ExclusionService(rated.database, rated.clock).restore(rated.id, "ben", by=judith)
    events = EventService(rated.database).recent(rated.id)
    back, aside = [event for event in events if event.action in GRADES_CHANGED]
    assert (aside.action, aside.user) == ("grades set aside", "judith")
    assert aside.detail == {"member": "ben", "grades": 3, "reason": WHY}
    assert (back.action, back.detail["grades"]) == ("grades brought back", 3)


def test_judgements_of_predictions_leave_the_grades_out(database):
    project = sent_project(database)
    before = JudgementService(database).pool(project.id)
    grade(database, project.id, GRADES)
    graded = JudgementService(database).pool(project.id)
    assert before != graded
    rater = ExclusionService(database).raters(project.id)[0].name
    ExclusionService(database).exclude(project.id, rater, WHY)
    assert JudgementService(database).pool(project.id) == before
    ExclusionService(database).restore(project.id, rater)
    assert JudgementService(database).pool(project.id) == graded


@pytest.mark.both_databases
def test_a_rater_who_grades_while_set_aside_leaves_no_grade_and_every_pair_has_its_number(database):
    world = new_world(database, pairs=30, raters=4, k=2)
    name, begun, is_out = "rater 0.0", threading.Event(), threading.Event()
    projects, quality = ProjectService(database), QualityService(database)

    def work(rater: int) -> None:
        assignments = AssignmentService(database)
        ratings, is_first = RatingService(database, assignments=assignments), rater == world.raters[0]
        while True:
            try:
                queue = assignments.queue(world.project, rater)
                while queue.pairs:
                    queue = ratings.rate(queue.pairs[0].id, rater, Decimal(rater % 17) / 4).queue
                    if is_first:
                        begun.set()
            except AccessError as error:
                if is_first and "are set aside" in str(error):
                    return
                raise
            if is_out.is_set() and not queue.is_waiting:
                return
            time.sleep(0.01)

    def manage() -> None:
        service = ExclusionService(database)
        begun.wait(10)
        time.sleep(0.05)
        service.exclude(world.project, name, WHY)
        check(world)
        is_out.set()

    assert at_once([manage, *(lambda r=rater: work(r) for rater in world.raters)]) == [None] * 5
    check_finished(world)
    assert row_problems(database) == []
    mine = rows_of(database, Rating, Rating.rater_id == world.raters[0])
    assert mine == []
    assert name in [member.user.name for member in projects.members(world.project)]
    assert quality.paused_raters(world.project) == {world.raters[0]}


@pytest.mark.parametrize("comes_first", ["the grade", "the administrator"])
def test_a_grade_of_a_skipped_pair_that_is_sent_at_that_moment_counts_nowhere(
    postgresql_database, comes_first
):
    database = postgresql_database
    world = new_world(database, pairs=3, raters=1)
    [rater], [skipped, graded, _] = world.raters, world.pairs
    assignments, ratings = AssignmentService(database), RatingService(database)
    assignments.queue(world.project, rater)
    assignments.skip(skipped, rater, SkipReason.OTHER)
    ratings.rate(graded, rater, Decimal(1))
    calls = {
        "the grade": lambda: ratings.rate(skipped, rater, Decimal(2)),
        "the administrator": lambda: ExclusionService(database).exclude(world.project, "rater 0.0", WHY),
    }
    first = calls.pop(comes_first)
    [second] = calls.values()
    with ThreadPoolExecutor(2) as meanwhile:
        with database.session() as session:
            lock_pair(session.connection(), skipped)
            answers = [meanwhile.submit(first)]
            until_it_waits(session)
            answers.append(meanwhile.submit(second))
            wait(answers, MOMENT)
        errors = [answer.exception(20) for answer in answers]
    is_refused = comes_first == "the administrator"
    assert [type(error) for error in errors] == [type(None), AccessError if is_refused else type(None)]
    assert rows_of(database, Rating) == []
    assert len(rows_of(database, SetAsideRating)) == (1 if is_refused else 2)
    check(world)


@pytest.mark.both_databases
def test_setting_aside_and_bringing_back_while_others_grade_never_gives_a_pair_too_many(database):
    world = new_world(database, pairs=24, raters=3, k=2)
    service, done = ExclusionService(database), threading.Event()
    rate_all(world, world.raters[0], 24)

    def work(rater: int) -> None:
        while not done.is_set():
            rate_all(world, rater, 1)

    def manage() -> None:
        try:
            for _ in range(6):
                service.exclude(world.project, "rater 0.0", WHY)
                check(world)
                time.sleep(0.02)
                if not service.restore(world.project, "rater 0.0").grades:
                    break
                check(world)
        finally:
            done.set()

    assert at_once([manage, *(lambda r=rater: work(r) for rater in world.raters[1:])]) == [None] * 3
    for rater in world.raters[1:]:
        rate_all(world, rater, 24)
    check(world)
    assert row_problems(database) == []


def rate_all(world: World, rater: int, most: int) -> None:
    assignments = AssignmentService(world.database)
    ratings = RatingService(world.database, assignments=assignments)
    queue = assignments.queue(world.project, rater)
    for _ in range(most):
        if not queue.pairs:
            return
        queue = ratings.rate(queue.pairs[0].id, rater, Decimal(rater % 17) / 4).queue


def test_check_pairs_are_no_part_of_it(database):
    rated = rated_project(database, [pair("a", "0", "4")])
    known = KnownPair(NewPair("k", "sentence2phrase", "A boat leaves.", "boat"), Decimal(2))
    KnownPairService(database).import_checks(rated.id, [known])
    with database.session() as session:
        check_pair = session.scalars(select(Pair).where(Pair.project_id != rated.id)).one()
        whose = {"project_id": check_pair.project_id, "pair_id": check_pair.id}
        whose |= {"rater_id": id_of(database, "ben"), "quarters": 8}
        at = rated.clock()
        session.add(Rating(**whose, created_at=at, updated_at=at))
        session.add(RatingChange(**whose, origin="page", at=at))
        del whose["quarters"]
        session.add(Assignment(**whose, state="rated", position=check_pair.position, claimed_at=at))
        refresh_pairs(session, [check_pair.id])
    assert set_aside(rated, "ben") == 1
    standings = QualityService(database).overview(rated.id).standings
    assert {each.user.name: each.checks for each in standings} == {"ana": 0, "ben": 1}
    assert row_problems(database) == []


HERE = ("--project", "harbour")


@pytest.fixture
def two_pairs(sqlite_database: Database) -> Rated:
    return rated_project(sqlite_database, [pair("a", "0", "4"), pair("b", "1", "1.5")])


@pytest.fixture
def call(two_pairs, capsys):
    """Run a command on the project: its status, output and standard error."""

    def run(*arguments: str) -> tuple[int, str, str]:
        status = main([*arguments, "--database-url", f"sqlite:///{two_pairs.database.url.database}"])
        out, err = capsys.readouterr()
        return status, out, err

    return run


def test_grades_are_set_aside_and_brought_back(call, two_pairs):
    said = "2 grades of ben set aside in harbour: others grade these pairs.\n"
    assert call("user", "set-aside", "ben", *HERE, "--reason", "one grade only") == (0, said, "")
    status, out, _ = call("agreement", "harbour", "--resamples", "10")
    assert status == 0
    assert "Grades that were set aside and count nowhere: 2 of ben (" in out
    assert ": one grade only)." in out
    [told] = json.loads(call("agreement", "harbour", "--resamples", "10", "--json")[1])["set_aside"]
    assert (told["rater"], told["grades"], told["reason"]) == ("ben", 2, "one grade only")
    two_pairs.rate("a", cleo="1")
    back = "1 grade of ben brought back in harbour.\n1 grade stays set aside: the pair has all its raters.\n"
    assert call("user", "bring-back", "ben", *HERE) == (0, back, "")
    assert QualityService(two_pairs.database).paused_raters(two_pairs.id) == frozenset()


def test_what_was_done_is_told_as_json(call, two_pairs):
    QualityService(two_pairs.database).pause(two_pairs.id, "ana")
    figures = call("user", "set-aside", "ana", *HERE, "--reason", "x", "--json")[1]
    assert json.loads(figures) == {"project": "harbour", "rater": "ana", "grades": 2}
    figures = call("user", "bring-back", "ana", *HERE, "--json")[1]
    told = {"project": "harbour", "rater": "ana", "grades": 2, "left": 0, "paused": True}
    assert json.loads(figures) == told


def test_what_cannot_be_done_is_told(call):
    assert call("user", "set-aside", "ben", *HERE)[0] == 2
    for arguments, told in (
        (("set-aside", "ben", *HERE, "--reason", " "), "No reason is given: say why"),
        (("set-aside", "judith", *HERE, "--reason", "x"), "'judith' has no grades that count in 'harbour'"),
        (("bring-back", "ben", *HERE), "'ben' has no grades set aside in 'harbour'"),
    ):
        status, out, err = call("user", *arguments)
        assert (status, out) == (1, "")
        assert told in err
