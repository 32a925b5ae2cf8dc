"""Training before the work, hidden check pairs, and raters who pause, on both databases."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from itertools import pairwise
from threading import Thread

import pytest
from sqlalchemy import func, select

from annotation.assignment import Progress, TrainingPhase
from annotation.changes import detail_words
from annotation.errors import (
    AccessError,
    AssignmentError,
    GradeError,
    ImportFileError,
    NotFoundError,
    SettingsError,
    TrainingPairsError,
)
from annotation.gold import ExportOptions, Unfinished
from annotation.quality import QualitySettings
from annotation.services.assignment import AssignmentService
from annotation.services.bundle import Services, open_services
from annotation.services.projects import ProjectService
from annotation.services.quality import KnownKind, state_of
from annotation.services.ratings import RatingService
from annotation.types import KnownPair, NewPair, NewRating, SkipReason
from annotation.ui.pairs import remarks_html, remarks_table
from annotation.ui.quality import standings_html
from db.models import Assignment, Pair, Project, RaterState, Rating, TrainingGrade, User
from kpdemo.translation import use_language
from tests.commands import main
from tests.databases import row_problems
from tests.people import at_once
from tests.raters import LONG_AGO, TYPE, World, check, check_finished, new_world

GRADES = {"t1": "4", "t2": "0", "t3": "2"}


def known(id: str, grade: str = "3", explanation: str = "") -> KnownPair:
    texts = (f"The {id} ship is in the dock.", f"a docked {id}")
    pair = NewPair(id, TYPE, *texts, place=f"known.tsv, line {id}")
    return KnownPair(pair, Decimal(grade), explanation)


@dataclass
class Place:
    services: Services
    world: World

    @property
    def project(self) -> int:
        return self.world.project

    def name(self, rater: int) -> str:
        with self.world.database.reading() as session:
            return session.get(User, rater).name

    def settings(self, **changed: object) -> None:
        self.services.quality.change(self.project, QualitySettings(**changed))

    def train(self, rater: int, *grades: str) -> None:
        queue = self.services.training.queue(self.project, rater)
        for grade in grades:
            queue = self.services.training.grade(queue.pairs[0].id, rater, Decimal(grade)).queue

    def work(self, rater: int, grade: str = "2") -> list[str]:
        """Grade whatever comes until nothing does; the smaller items."""
        seen = []
        queue = self.services.assignment.queue(self.project, rater)
        while queue.pairs:
            seen.append(queue.pairs[0].right)
            queue = self.services.ratings.rate(queue.pairs[0].id, rater, Decimal(grade), 1.0).queue
        return seen

    def standing(self, rater: int):
        name = self.name(rater)
        return next(s for s in self.services.quality.overview(self.project).standings if s.user.name == name)


@pytest.fixture
def make(database):
    def make(**given: int) -> Place:
        world = new_world(database, **{"pairs": 5, "raters": 2, "k": 2, **given})
        return Place(open_services(database), world)

    return make


def test_a_change_of_the_settings_is_told_with_what_they_were_and_are(make):
    place = make()
    place.settings(pass_percent=90, check_distance=Decimal("0.75"))
    [event] = place.services.events.recent(place.project, 1)
    distance = "distance within which the grade of a check pair is accepted: 1 → 0.75"
    assert detail_words(event.detail) == f"pass mark: 80 → 90; {distance}"


# Training


def test_the_work_begins_when_the_training_is_passed_and_not_before(make):
    place = make()
    first, second = place.world.raters
    held = place.services.assignment.queue(place.project, first).pairs[0].id
    place.services.known_pairs.import_training(place.project, [known(*each) for each in GRADES.items()])
    place.settings(training_distance=Decimal("0.5"), pass_percent=66)
    for call in (
        lambda: place.services.assignment.queue(place.project, first),
        lambda: place.services.ratings.rate(held, first, Decimal(2)),
        lambda: place.services.assignment.skip(held, first, SkipReason.OTHER),
    ):
        with pytest.raises(TrainingPairsError, match="begins with training pairs"):
            call()
    place.train(first, "3.5", "3", "3")
    failed = place.services.training.queue(place.project, first)
    assert (failed.progress.phase, failed.progress.accepted, failed.pairs) == (TrainingPhase.FAILED, 1, ())
    with pytest.raises(TrainingPairsError):
        place.services.assignment.queue(place.project, first)
    again = place.services.training.try_again(place.project, first)
    assert (again.progress.attempt, again.progress.graded) == (2, 0)
    assert place.services.training.try_again(place.project, first) == again
    shown = []
    while again.pairs:
        [pair] = again.pairs
        grade = GRADES[pair.right.split()[-1]]
        shown.append(pair.right)
        again = place.services.training.grade(pair.id, first, Decimal(grade)).queue
    assert (again.progress.phase, len(set(shown))) == (TrainingPhase.PASSED, 3)
    assert len(place.work(first)) == 5
    with pytest.raises(TrainingPairsError):
        place.services.assignment.queue(place.project, second)
    place.services.quality.excuse(place.project, place.name(second))
    place.work(second)
    check_finished(place.world)
    standing = place.standing(first)
    assert [(a.accepted, a.pairs, a.has_passed) for a in standing.attempts] == [(1, 3, False), (3, 3, True)]
    assert place.standing(second).excused_at is not None
    assert row_problems(place.world.database) == []


def test_who_has_no_tries_left_is_told_so_in_their_language(make):
    place = make()
    rater, _ = place.world.raters
    place.services.known_pairs.import_training(place.project, [known("t1", "4")])
    place.settings(training_tries=1)
    place.train(rater, "0")
    for code, said in (("en", "used all your tries"), ("de", "Sie haben alle Versuche")):
        with use_language(code), pytest.raises(AssignmentError, match=said):
            place.services.training.try_again(place.project, rater)


def test_a_training_grade_is_answered_with_what_is_known_and_stays(make):
    place = make()
    rater, other = place.world.raters
    place.services.known_pairs.import_training(
        place.project, [known("t1", "4", "All is there."), known("t2")]
    )
    [pair] = place.services.training.queue(place.project, rater).pairs
    told = place.services.training.grade(pair.id, rater, Decimal("3.5"), 2.5)
    assert (told.grade, told.known, told.is_accepted) == (Decimal("3.5"), 4, True)
    assert told.explanation == "All is there."
    assert told.queue.progress.graded == 1
    again = place.services.training.grade(pair.id, rater, Decimal("3.5"))
    assert (again.known, again.queue) == (told.known, told.queue)
    with pytest.raises(AssignmentError, match=r"You graded this training pair 3.5"):
        place.services.training.grade(pair.id, rater, Decimal(4))
    with pytest.raises(AssignmentError, match="no training"):  # of another, who has not begun
        place.services.training.grade(pair.id, other, Decimal(4))
    with pytest.raises(NotFoundError):
        place.services.training.grade(pair.id + 99, rater, Decimal(4))
    with place.world.database.reading() as session:
        assert session.scalar(select(func.count()).select_from(TrainingGrade)) == 1
        assert session.scalar(select(func.count()).select_from(Rating)) == 0


def test_a_training_pair_that_was_cleared_while_it_was_open_tells_its_known_grade_no_more(make):
    place = make()
    rater = place.world.raters[0]
    training, pairs = place.services.training, place.services.known_pairs
    pairs.import_training(place.project, [known("t1", "4"), known("t2", "4")])
    [first] = training.queue(place.project, rater).pairs
    [second] = training.grade(first.id, rater, Decimal(4)).queue.pairs
    pairs.retire_training(place.project)
    pairs.import_training(place.project, [known("t3", "4")])
    with pytest.raises(AssignmentError, match="no longer in use"):
        training.grade(second.id, rater, Decimal(4))
    assert training.grade(first.id, rater, Decimal(4)).known == 4  # sent again: it was told before
    assert training.queue(place.project, rater).pairs[0].right.endswith("t3")


@pytest.mark.both_databases
def test_the_last_grades_sent_from_two_tabs_at_once_finish_the_attempt_once(make):
    place = make()
    rater = place.world.raters[0]
    place.services.known_pairs.import_training(place.project, [known("t1"), known("t2")])
    first = place.services.training.queue(place.project, rater).pairs[0]
    with place.world.database.reading() as session:
        from db.models import TrainingPair

        ids = list(session.scalars(select(TrainingPair.id).order_by(TrainingPair.id)))
    assert first.id == ids[0]
    at_once([lambda id=id: place.services.training.grade(id, rater, Decimal(3)) for id in ids])
    [attempt] = place.standing(rater).attempts
    assert (attempt.pairs, attempt.accepted, attempt.has_passed) == (2, 2, True)


def test_a_rater_who_passed_is_not_asked_again_when_pairs_are_added(make):
    place = make()
    rater, other = place.world.raters
    assert place.services.known_pairs.import_training(place.project, [known("t1")]).pairs == 1
    place.train(rater, "3")
    summary = place.services.known_pairs.import_training(place.project, [known("t1"), known("t2")])
    assert (summary.pairs, summary.duplicates) == (1, ("t1",))
    assert len(place.services.assignment.queue(place.project, rater).pairs) == 2
    with pytest.raises(AssignmentError, match="no training"):
        place.services.training.queue(place.project, rater)
    assert place.services.known_pairs.retire_training(place.project) == 2
    assert place.services.assignment.queue(place.project, other).pairs
    assert place.standing(rater).attempts[0].has_passed


# Checks


def test_check_pairs_come_between_the_others_once_each_and_are_counted_nowhere(make):
    place = make(pairs=40, raters=2, k=2)
    services = place.services
    services.known_pairs.import_checks(place.project, [known(f"c{n}", "2") for n in range(6)])
    place.settings(check_every=5, check_distance=Decimal(1))
    totals = set()
    for rater, grade in zip(place.world.raters, ("2", "4"), strict=True):
        progress = services.assignment.queue(place.project, rater).progress
        assert progress == Progress(0, 46)
        seen = place.work(rater, grade)
        checks = [text for text in seen if text.startswith("a docked")]
        assert (len(seen), len(set(seen)), len(checks)) == (46, 46, 6)
        totals.add(tuple(text.startswith("a docked") for text in seen))
        assert services.ratings.progress(place.project, rater) == Progress(46, 46)
        history = services.ratings.recent(place.project, rater, 46)
        assert {pair.right for pair in history} == set(seen)
    assert len(totals) == 2  # each rater has their own places
    check_finished(place.world)
    assert services.projects.counts(place.project).pairs == 40
    assert services.projects.counts(place.project).ratings == 80
    report = services.agreement.report(place.project, resamples=20)
    assert (report.whole.pairs, report.whole.ratings) == (40, 80)
    assert services.gold.counts(place.project).pairs == 40
    assert [place.standing(r).accepted_checks for r in place.world.raters] == [6, 0]
    assert [place.standing(r).checks for r in place.world.raters] == [6, 6]
    assert row_problems(place.world.database) == []
    assert [p.id for p in services.projects.list()] == [place.project]


def test_a_gold_set_tells_training_checks_and_grades_from_files(make, tmp_path):
    place = make(pairs=3, raters=2, k=2)
    services, leave_out = place.services, ExportOptions(unfinished=Unfinished.LEAVE_OUT)

    def told(name):
        written = services.gold.export(place.project, tmp_path / name, leave_out).manifest
        counts = {name: written["counts"].get(name) for name in ("raters", "ratings", "imported_ratings")}
        return counts, {name: written["protocol"].get(name) for name in ("training", "checks")}

    place.settings(check_every=0, pass_percent=60)
    assert told("nothing") == (
        {"raters": 0, "ratings": 0, "imported_ratings": None},
        {"training": None, "checks": None},
    )
    services.known_pairs.import_checks(place.project, [known(f"c{n}", "2") for n in range(2)])
    assert told("no interval")[1]["checks"] is None
    first, second = place.world.raters
    place.work(first)
    with place.world.database.reading() as session:
        pairs = session.scalars(select(Pair.external_id).where(Pair.project_id == place.project)).all()
    ratings = [NewRating(pair, place.name(second), Decimal(2)) for pair in pairs[:2]]
    services.importing.import_pairs(place.project, ratings)
    services.known_pairs.import_training(place.project, [known(*each) for each in GRADES.items()])
    place.settings(check_every=5, check_distance=Decimal("0.75"), pass_percent=60)
    counts, protocol = told("all")
    assert counts == {"raters": 2, "ratings": 5, "imported_ratings": 2}
    assert protocol == {
        "training": {"pairs": 3, "pass_percent": 60, "distance": 0.5},
        "checks": {"pairs": 2, "every": 5, "distance": 0.75},
    }
    services.known_pairs.retire_training(place.project)
    assert told("cleared")[1]["training"] is None


def test_the_total_that_a_rater_sees_does_not_move_when_a_check_comes(make):
    place = make(pairs=30, raters=1, k=1)
    place.services.known_pairs.import_checks(place.project, [known(f"c{n}") for n in range(9)])
    place.settings(check_every=4)
    rater = place.world.raters[0]
    place.services.assignment.queue(place.project, rater)
    queue = place.services.assignment.queue(place.project, rater)
    seen = []
    while queue.pairs:
        seen.append((queue.progress.rated, queue.progress.total))
        queue = place.services.ratings.rate(queue.pairs[0].id, rater, Decimal(1)).queue
    assert {total for _, total in seen} == {seen[0][1]}
    assert [rated for rated, _ in seen] == list(range(seen[0][1]))


def test_checks_that_begin_in_the_middle_do_not_come_all_at_once(make):
    place = make(pairs=40, raters=1, k=1)
    rater = place.world.raters[0]
    queue = place.services.assignment.queue(place.project, rater)
    for _ in range(20):
        queue = place.services.ratings.rate(queue.pairs[0].id, rater, Decimal(1)).queue
    place.services.known_pairs.import_checks(place.project, [known(f"c{n}") for n in range(20)])
    place.settings(check_every=5)
    seen = [text.startswith("a docked") for text in place.work(rater)]
    assert 4 <= sum(seen) <= 5
    assert not any(a and b for a, b in pairwise(seen))


def test_check_pairs_that_are_added_later_do_not_come_all_at_once(make):
    place = make(pairs=60, raters=1, k=1)
    service, rater = place.services.known_pairs, place.world.raters[0]
    service.import_checks(place.project, [known(f"c{n}") for n in range(2)])
    place.settings(check_every=5)
    queue = place.services.assignment.queue(place.project, rater)
    for _ in range(40):
        queue = place.services.ratings.rate(queue.pairs[0].id, rater, Decimal(1)).queue
    assert place.standing(rater).checks == 2
    service.import_checks(place.project, [known(f"c{n}") for n in range(20)])
    seen = [text.startswith("a docked") for text in place.work(rater)]
    assert 4 <= sum(seen) <= 6  # of the 22 pairs that are left
    assert not any(a and b for a, b in pairwise(seen))


def test_check_pairs_go_on_coming_to_a_rater_whose_grades_were_set_aside_and_who_was_resumed(make):
    place = make(pairs=40, raters=1, k=1)
    services, rater = place.services, place.world.raters[0]
    services.known_pairs.import_checks(place.project, [known(f"c{n}") for n in range(20)])
    place.settings(check_every=5)
    queue = services.assignment.queue(place.project, rater)
    for _ in range(25):
        queue = services.ratings.rate(queue.pairs[0].id, rater, Decimal(1)).queue
    graded, checks = services.work.work(place.project)[0].ratings, place.standing(rater).checks
    assert (graded, checks) == (25, 5)
    aside = services.exclusion.exclude(place.project, place.name(rater), "one grade only")
    assert aside == 20
    services.quality.resume(place.project, place.name(rater))
    total = services.ratings.progress(place.project, rater).total
    seen = [text.startswith("a docked") for text in place.work(rater)]
    assert (len(seen), sum(seen)) == (25, 5)
    assert services.ratings.progress(place.project, rater) == Progress(total, total)
    assert total == 20 + 10
    services.exclusion.restore(place.project, place.name(rater))
    assert services.ratings.progress(place.project, rater) == Progress(50, 50)


def test_a_check_can_be_skipped_revised_and_commented_like_any_pair(make):
    place = make(pairs=6, raters=1, k=1)
    services, [rater] = place.services, place.world.raters
    services.known_pairs.import_checks(place.project, [known(f"c{n}") for n in range(4)])
    place.settings(check_every=2)
    graded = skipped = 0
    queue = services.assignment.queue(place.project, rater)
    queue = services.assignment.queue(place.project, rater)
    while queue.pairs:
        pair = queue.pairs[0]
        if pair.right.startswith("a docked") and not skipped:
            skipped = pair.id
            queue = services.assignment.skip(pair.id, rater, SkipReason.BROKEN_TEXT).queue
            continue
        services.ratings.comment(pair.id, rater, f"on {pair.right}", True)
        queue = services.ratings.rate(pair.id, rater, Decimal(1)).queue
        if pair.right.startswith("a docked"):
            graded = pair.id
    services.ratings.rate(graded, rater, Decimal(3))
    assert services.ratings.pair(graded, rater).grade == 3
    assert services.ratings.pair(graded, rater).comment.startswith("on a docked")
    assert services.ratings.pair(skipped, rater).grade is None
    check(place.world)
    assert row_problems(place.world.database) == []


def test_what_is_said_of_a_check_pair_is_among_the_remarks(make):
    place = make(pairs=2, raters=1, k=1)
    services, [rater] = place.services, place.world.raters
    services.known_pairs.import_checks(place.project, [known("c1"), known("c2")])
    place.settings(check_every=2)
    queue = services.assignment.queue(place.project, rater)
    while queue.pairs:
        pair = queue.pairs[0]
        services.ratings.comment(pair.id, rater, f"on {pair.right}", True)
        queue = services.assignment.skip(pair.id, rater, SkipReason.BROKEN_TEXT).queue
    page = services.remarks.remarks(place.project)
    checks = [remark for remark in page.items if remark.is_check]
    assert {remark.external_id for remark in checks} <= {"c1", "c2"}
    assert [remark.kind.value for remark in checks].count("skip") == len(checks) / 2 > 0
    assert len(checks) < len(page.items) == page.total
    shown = remarks_html(page, place.project, "Project 0")
    assert shown.count(", check pair</small>") == len(checks)
    assert shown.count("/annotate/adjudicate?") == len(page.items) - len(checks)
    assert [row[-2] for row in remarks_table(page).rows].count("yes") == len(checks)


@pytest.mark.both_databases
def test_two_first_words_on_a_rater_at_once_make_one_row(make):
    place = make()
    database, [rater, _] = place.world.database, place.world.raters
    done = []

    def pause() -> None:
        with database.session() as session:
            state_of(session, place.project, rater).paused_at = LONG_AGO
        done.append(True)

    other = Thread(target=pause)
    with database.session() as session:
        state_of(session, place.project, rater).passed_at = LONG_AGO
        other.start()
        other.join(0.5)  # it waits for this transaction
        assert not done
    other.join(20)
    assert done
    with database.reading() as session:
        [row] = session.scalars(select(RaterState))
        assert (row.passed_at, row.paused_at) == (LONG_AGO, LONG_AGO)


@pytest.mark.both_databases
def test_two_raters_at_once_get_every_check(make):
    place = make(pairs=24, raters=4, k=4)
    place.services.known_pairs.import_checks(place.project, [known(f"c{n}") for n in range(3)])
    place.settings(check_every=4)
    seen = at_once([lambda rater=rater: place.work(rater) for rater in place.world.raters])
    assert [sum(text.startswith("a docked") for text in each) for each in seen] == [3, 3, 3, 3]
    check_finished(place.world)
    assert row_problems(place.world.database) == []


def test_a_known_grade_is_corrected_for_what_is_not_judged_yet(make):
    place = make(pairs=4, raters=2, k=2)
    services, [rater, other] = place.services, place.world.raters
    services.known_pairs.import_training(place.project, [known("t1", "4"), known("t2", "0")])
    services.known_pairs.import_checks(place.project, [known("c1", "4")])
    place.settings(check_every=2, check_distance=Decimal("0.5"), training_distance=Decimal("0.5"))
    place.train(rater, "4", "0")
    place.work(rater, "2")
    place.train(other, "4")
    lines = {line.external_id: line for line in services.known_pairs.known(place.project)}
    assert [line.kind for line in lines.values()] == ["training", "training", "check"]
    assert place.standing(rater).accepted_checks == 0
    for id, grade, before in (("t1", "2", 4), ("c1", "2", 4)):
        line = lines[id]
        assert services.known_pairs.set_grade(place.project, line.kind, line.id, Decimal(grade)) == before
    assert place.standing(rater).accepted_checks == 1
    assert [a.accepted for a in place.standing(rater).attempts] == [2]  # judged already
    assert services.training.queue(place.project, other).progress.accepted == 0
    [_, event] = services.events.recent(place.project)[:2]
    assert (event.action, event.detail["before"], event.detail["after"]) == ("known grade changed", "4", "2")


def test_only_known_grades_on_the_scale_of_pairs_in_use_are_set(make):
    place, elsewhere = make(), make()
    service = place.services.known_pairs
    service.import_training(place.project, [known("t1")])
    [line] = service.known(place.project)
    with pytest.raises(GradeError, match=r"0 to 4 in steps of 0\.25, not 4\.1"):
        service.set_grade(place.project, line.kind, line.id, Decimal("4.1"))
    for project, kind, pair in (
        (elsewhere.project, line.kind, line.id),
        (place.project, KnownKind.CHECK, place.world.pairs[0]),
    ):
        with pytest.raises(NotFoundError, match="in use here"):
            service.set_grade(project, kind, pair, Decimal(1))
    service.retire_training(place.project)
    with pytest.raises(NotFoundError, match="There is no training pair"):
        service.set_grade(place.project, line.kind, line.id, Decimal(1))


@pytest.mark.both_databases
def test_a_check_whose_lease_ends_is_given_back_and_comes_again_once(make):
    place = make(pairs=8, raters=2, k=2)
    first, second = place.world.raters
    place.services.known_pairs.import_checks(place.project, [known("c1")])
    place.settings(check_every=2)
    clock = [LONG_AGO]
    assignment = AssignmentService(place.world.database, lambda: clock[0])
    ratings = RatingService(place.world.database, lambda: clock[0])

    def held_by(rater: int) -> list[str]:
        with place.world.database.reading() as session:
            held = (
                select(Pair.right)
                .join(Assignment)
                .where(Assignment.rater_id == rater, Assignment.state == "held")
            )
            return sorted(session.scalars(held))

    queue = assignment.queue(place.project, first)
    while "a docked c1" not in held_by(first):
        queue = ratings.rate(queue.pairs[0].id, first, Decimal(2)).queue
    clock[0] += timedelta(minutes=31)
    assert place.work(second).count("a docked c1") == 1  # nobody waits for somebody else's check
    assert assignment.queue(place.project, second).pairs == ()
    assert held_by(first) == []
    assert place.work(first).count("a docked c1") == 1
    assert [place.standing(rater).checks for rater in (first, second)] == [1, 1]
    check_finished(place.world)
    assert row_problems(place.world.database) == []


def test_a_pair_of_the_project_is_refused_as_a_check(make):
    place = make()
    number = 0
    pair = NewPair(
        "x",
        TYPE,
        f"The ferry {number} leaves the old harbour at noon, and the gulls follow it.",
        f"a noon ferry {number}",
        place="checks.tsv, line 2",
    )
    with place.world.database.session() as session:
        from annotation.exchange import fingerprint

        row = session.scalar(select(Pair).where(Pair.right == pair.right))
        row.fingerprint = fingerprint(pair.type, pair.left, pair.right)
        own_id = row.external_id
    told = rf"checks\.tsv, line 2: the pair 'x' is a pair of the project too, there called {own_id!r}, and"
    with pytest.raises(ImportFileError, match=told):
        place.services.known_pairs.import_checks(place.project, [KnownPair(pair, Decimal(2))])
    with pytest.raises(ImportFileError, match="is not a type of the project"):
        place.services.known_pairs.import_training(
            place.project, [KnownPair(NewPair("y", "word2sense", "a", "b"), Decimal(2))]
        )


def test_a_check_is_refused_as_a_pair_of_the_project(make):
    place = make()
    place.services.known_pairs.import_checks(place.project, [known("c1")])
    again = replace(known("c1").pair, id="again", place="pairs.tsv, line 7")
    with pytest.raises(ImportFileError, match=r"pairs\.tsv, line 7: the pair 'again' is a check pair"):
        place.services.importing.import_pairs(place.project, [again])


def test_the_shelf_of_check_pairs_is_no_project_for_anybody_and_goes_with_its_own(make):
    place = make(pairs=4, raters=1, k=1)
    place.services.known_pairs.import_checks(place.project, [known("c0")])
    place.settings(check_every=2)
    place.work(place.world.raters[0])
    with place.world.database.reading() as session:
        shelf = session.scalar(select(Project.id).where(Project.checks_of_id == place.project))
    with pytest.raises(NotFoundError):
        place.services.projects.get(shelf)
    with pytest.raises(NotFoundError):
        place.services.assignment.queue(shelf, place.world.raters[0])
    projects = place.services.projects
    projects.delete(place.project, projects.get(place.project).name)
    with place.world.database.reading() as session:
        assert session.scalar(select(func.count()).select_from(Pair)) == 0
        assert session.scalar(select(func.count()).select_from(Project)) == 0
        assert session.scalar(select(func.count()).select_from(Assignment)) == 0


# Pausing


def test_a_pause_gives_back_what_is_held_and_keeps_what_is_graded(make):
    place = make(pairs=4, raters=2, k=1)
    first, second = place.world.raters
    services = place.services
    queue = services.assignment.queue(place.project, first)
    queue = services.ratings.rate(queue.pairs[0].id, first, Decimal(2)).queue
    assert services.quality.pause(place.project, place.name(first)) == 2
    assert services.quality.pause(place.project, place.name(first)) == 0
    for call in (
        lambda: services.assignment.queue(place.project, first),
        lambda: services.ratings.rate(queue.pairs[0].id, first, Decimal(2)),
    ):
        with pytest.raises(AccessError, match="Your work in Project 0 is paused: your grades are kept"):
            call()
    assert len(services.ratings.recent(place.project, first)) == 1
    assert services.ratings.progress(place.project, first).rated == 1
    assert len(place.work(second)) == 3
    assert services.projects.counts(place.project).ratings == 4
    check_finished(place.world)
    services.quality.resume(place.project, place.name(first))
    assert services.assignment.queue(place.project, first).pairs == ()
    assert [event.action for event in services.events.recent(place.project)][:2] == [
        "rater resumed",
        "rater paused",
    ]


def test_only_raters_of_the_project_can_be_paused(make):
    place = make()
    with pytest.raises(NotFoundError, match="There is no account named 'nobody'"):
        place.services.quality.pause(place.project, "nobody")
    place.services.accounts.add_user("Eva")
    with pytest.raises(NotFoundError, match="'Eva' is not a rater in 'Project 0'"):
        place.services.quality.pause(place.project, "Eva")
    with pytest.raises(SettingsError):
        place.settings(check_every=1)


def test_who_is_no_longer_a_rater_is_listed_with_what_they_did(make):
    place = make(pairs=4, raters=4, k=3)
    trained, checked, rating, idle = place.world.raters
    elsewhere = make(pairs=1, raters=1, k=1)
    elsewhere.work(elsewhere.world.raters[0])
    place.services.known_pairs.import_training(place.project, [known("t1", "4")])
    place.train(trained, "4")
    place.services.known_pairs.retire_training(place.project)
    place.work(rating)
    place.services.known_pairs.import_checks(place.project, [known("c1", "4"), known("c2", "4")])
    place.settings(check_every=2, check_distance=Decimal(1))
    place.work(checked, "3")
    names = [place.name(rater) for rater in (trained, checked, rating, idle)]
    assert [s.user.name for s in place.services.quality.overview(place.project).standings] == names
    for name in (names[0], names[1], names[2]):
        place.services.quality.pause(place.project, name)
        place.services.projects.remove_member(place.project, name)
    overview = place.services.quality.overview(place.project)
    assert [s.user.name for s in overview.standings] == [names[3], *names[:3]]
    assert [s.work for s in overview.standings] == ["not yet: no password", *["no longer a rater"] * 3]
    assert [a.accepted for a in place.standing(trained).attempts] == [1]
    assert (place.standing(checked).checks, place.standing(checked).accepted_checks) == (2, 2)
    assert standings_html(overview).count("<td>no longer a rater</td>") == 3
    place.services.projects.remove_member(place.project, names[3])
    assert len(place.services.quality.overview(place.project).standings) == 3


def test_a_distance_is_given_back_as_it_will_be_read(make):
    place = make()
    service = place.services.quality
    kept = service.change(place.project, QualitySettings(check_distance=Decimal("0.50")))
    assert repr(kept) == repr(service.settings(place.project))


@pytest.fixture
def call(sqlite_database, capsys):
    world = new_world(sqlite_database, pairs=3, raters=1)
    url = f"sqlite:///{sqlite_database.url.database}"

    def run(*arguments: str) -> tuple[int, str, str]:
        status = main([*arguments, "--database-url", url])
        out, err = capsys.readouterr()
        return status, out, err

    run.world = world
    return run


def test_a_project_has_its_own_name_whatever_was_typed(call):
    for command in ("plan", "adjudications", "raters", "agreement"):
        assert json.loads(call(command, "PROJECT 0", "--json")[1])["project"] == "Project 0"
    [rater] = json.loads(call("raters", "Project 0", "--json")[1])["raters"]
    for command in ("pause", "resume", "excuse"):
        assert " in Project 0" in call("user", command, rater["rater"], "--project", "PROJECT 0")[1]


def test_a_rater_has_not_failed_a_training_that_there_is_not(call):
    [rater] = json.loads(call("quality", "Project 0", "--json")[1])["raters"]
    assert (rater["training"], rater["attempts"]) == (None, [])


def test_pairs_are_imported_settings_changed_and_raters_listed(call, tmp_path):
    file = tmp_path / "known.tsv"
    file.write_text(
        "id\tleft\tright\tgrade\texplanation\na\tA ship 🦜.\tship\t3.5\tשלום <b>\nb\tA boat.\tboat\t0\t\n",
        encoding="utf-8",
    )
    assert call("training", "import", "Project 0", str(file)) == (
        0,
        "Imported 2 training pairs into Project 0.\n",
        "",
    )
    again = "2 training pairs were there already and were left out: a, b."
    assert again in call("training", "import", "Project 0", str(file))[1]
    rated = tmp_path / "rated.csv"
    rated.write_text("id,left,right,gold,rating:Ana\nr,A raft.,raft,3.5,2\n", encoding="utf-8")
    left_out = "1 rating in the file was left out: these pairs have one grade, which is known.\n"
    said = f"Imported 1 check pair into Project 0.\n{left_out}"
    assert call("checks", "import", "Project 0", str(rated))[1].startswith(said)
    checks = tmp_path / "checks.tsv"
    checks.write_text("id\tleft\tright\tgrade\nc\tA car.\tcar\t3\nd\tA cart.\tcart\t1\n")
    status, out, _ = call("checks", "import", "Project 0", str(checks))
    assert (status, out.splitlines()[0]) == (0, "Imported 2 check pairs into Project 0.")
    assert "None is given to raters yet" in out
    status, out, _ = call("quality", "Project 0", "--check-every", "20", "--pass-mark", "70", "--json")
    found = json.loads(out)
    assert found["settings"] == {
        "pass_percent": 70,
        "training_distance": 0.5,
        "check_every": 20,
        "check_distance": 1.0,
        "training_tries": 0,
        "block_wrong": 0,
        "block_of": 0,
    }
    assert (found["training_pairs"], found["check_pairs"]) == (2, 3)
    [rater] = found["raters"]
    assert (rater["paused"], rater["training"], rater["check_share"]) == (False, "not passed", None)
    name, here = rater["rater"], ("--project", "Project 0")
    assert call("user", "pause", name, *here)[:2] == (0, f"{name} is paused in Project 0.\n")
    assert call("user", "excuse", name, *here)[:2] == (
        0,
        f"{name} can work in Project 0 without its training.\n",
    )
    out = call("quality", "Project 0")[1]
    assert "paused" in out
    assert "excused" in out
    assert call("user", "resume", name, *here)[:2] == (0, f"{name} can continue in Project 0.\n")
    assert call("training", "clear", "Project 0")[1] == "2 training pairs of Project 0 no longer used.\n"


def test_a_rater_who_was_removed_is_still_told_of(call):
    world = call.world
    pair = AssignmentService(world.database).queue(world.project, world.raters[0]).pairs[0].id
    RatingService(world.database).rate(pair, world.raters[0], Decimal(2), 1.0)
    [before] = json.loads(call("quality", "Project 0", "--json")[1])["raters"]
    ProjectService(world.database).remove_member(world.project, before["rater"])
    [after] = json.loads(call("quality", "Project 0", "--json")[1])["raters"]
    assert after == {**before, "former": True}
    assert "no longer a rater" in call("quality", "Project 0")[1]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("a\tA ship.\tship\t\t", "field 'grade': is empty; write the known grade, 0 to 4, or delete the row"),
        ("a\tA ship.\tship\t4.1\t", "4.1 is not 0 to 4 in steps of 0.25"),
        ("a\t\tship\t4\t", "field 'left': is empty"),
    ],
)
def test_a_row_that_cannot_be_used_is_named_and_nothing_is_imported(call, tmp_path, line, said):
    file = tmp_path / "known.tsv"
    file.write_text(f"id\tleft\tright\tgrade\texplanation\nx\tFine.\tfine\t1\t\n{line}\n", encoding="utf-8")
    status, _, err = call("training", "import", "Project 0", str(file))
    assert status == 1
    assert "known.tsv, line 3, " in err
    assert said in err
    assert json.loads(call("quality", "Project 0", "--json")[1])["training_pairs"] == 0


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--check-every", "1"),
        ("--check-every", "-1"),
        ("--pass-mark", "101"),
        ("--training-distance", "0.3"),
        ("--check-distance", "far"),
    ],
)
def test_a_setting_out_of_its_range_is_a_wrong_call(call, option, value):
    status, out, err = call("quality", "Project 0", option, value)
    assert (status, out, err.count("\n")) == (2, "", 1)
