"""Handing out pairs: exactly k raters each, whatever happens."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from sqlalchemy import select, update

from annotation.assignment import Progress
from annotation.errors import AccessError, AssignmentError, NotFoundError
from annotation.services.accounts import AccountService
from annotation.services.assignment import AssignmentService
from annotation.services.imports import ImportService
from annotation.services.ratings import RatingService
from annotation.types import NewPair, SkipReason
from db.models import Assignment, Membership, Pair, Rating, Skip, User
from tests.raters import World, check, check_finished, new_world, return_expired_leases

pytestmark = pytest.mark.both_databases

ROOT = Path(__file__).parents[2]
GRADE = Decimal(2)
OTHER = SkipReason.OTHER


class MovingClock:
    """The real time, and what was added to it."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    def move(self, minutes: float) -> None:
        self.ahead += timedelta(minutes=minutes)


@pytest.fixture
def clock() -> MovingClock:
    return MovingClock()


@pytest.fixture
def services(database, clock) -> tuple[AssignmentService, RatingService]:
    assignments = AssignmentService(database, clock)
    return assignments, RatingService(database, clock, assignments)


def ids(queue) -> list[int]:
    return [pair.id for pair in queue.pairs]


def grade_all(world: World, services, rater: int, *, once: Callable[[], object] = lambda: None) -> list[int]:
    """Grade whatever comes, in the order in which it comes."""
    assignments, ratings = services
    queue, graded = assignments.queue(world.project, rater), []
    while queue.pairs:
        graded.append(queue.pairs[0].id)
        queue = ratings.rate(queue.pairs[0].id, rater, GRADE).queue
        once()
    return graded


def test_pairs_come_in_the_order_of_the_seed_two_at_a_time(database, services):
    world = new_world(database, pairs=12, raters=2)
    assignments, _ = services
    assert ids(assignments.queue(world.project, world.raters[0])) == list(world.pairs[:2])
    assert ids(assignments.queue(world.project, world.raters[1])) == list(world.pairs[:2])
    assert grade_all(world, services, world.raters[0]) == list(world.pairs)
    check(world)


def test_without_a_random_order_pairs_come_as_they_were_imported(database, services):
    world = new_world(database, pairs=9, raters=1, is_random=False)
    graded = grade_all(world, services, world.raters[0])
    with database.reading() as session:
        imported = session.scalars(
            select(Pair.id).where(Pair.project_id == world.project).order_by(Pair.import_order)
        ).all()
    assert graded == imported


def test_a_rater_gets_both_of_two_pairs_with_the_same_texts(database, services):
    world = new_world(database, pairs=3, raters=2, k=2)
    with database.reading() as session:
        first = session.scalars(select(Pair).order_by(Pair.import_order)).first()
    again = NewPair("again", first.type, first.left, first.right)
    ImportService(database).import_pairs(world.project, [again])
    for rater in world.raters:
        assert len(grade_all(world, services, rater)) == 4
    with database.reading() as session:
        assert session.scalars(select(Pair.rating_count)).all() == [2, 2, 2, 2]


def test_a_queue_survives_a_restart(database, services):
    world = new_world(database, pairs=6, raters=1)
    [rater] = world.raters
    before = services[0].queue(world.project, rater)
    services[1].rate(before.pairs[0].id, rater, GRADE)
    again = AssignmentService(database).queue(world.project, rater)
    assert ids(again) == [before.pairs[1].id, world.pairs[2]]
    assert again.progress == Progress(rated=1, total=6)


def test_with_more_raters_than_a_pair_takes_the_first_ones_get_it(database, services):
    world = new_world(database, pairs=1, raters=3, k=2)
    assignments, ratings = services
    first, second, third = world.raters
    for rater in (first, second):
        assert ids(assignments.queue(world.project, rater)) == list(world.pairs)
    waiting = assignments.queue(world.project, third)
    assert (waiting.pairs, waiting.is_waiting) == ((), True)
    for rater in (first, second):
        ratings.rate(world.pairs[0], rater, GRADE)
    done = assignments.queue(world.project, third)
    assert (done.pairs, done.is_waiting, done.progress) == ((), False, Progress(0, 0))
    check_finished(world)


def test_with_fewer_raters_than_a_pair_takes_it_stays_open(database, services):
    world = new_world(database, pairs=3, raters=2, k=5)
    for rater in world.raters:
        assert len(grade_all(world, services, rater)) == 3
        done = services[0].queue(world.project, rater)
        assert (done.pairs, done.is_waiting, done.progress) == ((), False, Progress(3, 3))
    check(world)


def test_an_empty_project_has_nothing_to_wait_for(database, services):
    world = new_world(database, pairs=1, raters=1)
    with database.session() as session:
        session.execute(update(Pair).values(open_slots=0))
    queue = services[0].queue(world.project, world.raters[0])
    assert (queue.pairs, queue.is_waiting) == ((), False)


def test_what_is_not_graded_in_time_goes_to_somebody_else(database, services, clock):
    world = new_world(database, pairs=2, raters=2, k=1)
    assignments, ratings = services
    slow, quick = world.raters
    held = ids(assignments.queue(world.project, slow))
    clock.move(29)
    assert assignments.queue(world.project, quick).is_waiting
    clock.move(2)
    assert ids(assignments.queue(world.project, quick)) == held
    with pytest.raises(AssignmentError, match="ran out and others have taken it"):
        ratings.rate(held[0], slow, GRADE)
    assert grade_all(world, services, quick) == held
    check_finished(world)


def test_reading_the_queue_keeps_the_lease_alive(database, services, clock):
    world = new_world(database, pairs=2, raters=2, k=1)
    assignments, _ = services
    for _ in range(5):
        clock.move(20)
        assert ids(assignments.queue(world.project, world.raters[0])) == list(world.pairs)
        assert assignments.queue(world.project, world.raters[1]).is_waiting


def test_a_late_grade_counts_while_nobody_took_the_pair(database, services, clock):
    world = new_world(database, pairs=3, raters=2, k=1)
    assignments, ratings = services
    late, _ = world.raters
    first, second = ids(assignments.queue(world.project, late))
    clock.move(31)
    ratings.rate(first, late, GRADE)  # still marked as held
    clock.move(60)
    assert return_expired_leases(database, world.project, clock()) == 2
    ratings.rate(second, late, GRADE)  # given back, and taken again
    check(world)
    assert grade_all(world, services, late) == [world.pairs[2]]
    check_finished(world)


def test_a_pair_that_came_back_is_offered_again_even_to_who_left_it(database, services, clock):
    world = new_world(database, pairs=1, raters=1, k=1)
    assignments, _ = services
    [rater] = world.raters
    assignments.queue(world.project, rater)
    clock.move(31)
    assert return_expired_leases(database, world.project, clock()) == 1
    assert ids(assignments.queue(world.project, rater)) == list(world.pairs)
    check(world)


def test_giving_back_lets_others_go_on_at_once(database, services):
    world = new_world(database, pairs=3, raters=2, k=1)
    assignments, _ = services
    leaving, staying = world.raters
    assignments.queue(world.project, leaving)
    assert assignments.give_back(world.project, leaving) == 2
    assert assignments.give_back(world.project, leaving) == 0
    assert grade_all(world, services, staying) == list(world.pairs)
    check_finished(world)


def test_what_a_disabled_account_holds_goes_to_others_at_once_in_all_projects(database, services):
    assignments, _ = services
    worlds = [new_world(database, pairs=3, raters=2, k=1) for _ in range(2)]
    leaving, name = worlds[0].raters[0], "rater 0.0"
    with database.session() as session:
        session.add(Membership(project_id=worlds[1].project, user_id=leaving, role="rater"))
    for world in worlds:
        assignments.queue(world.project, leaving)
    AccountService(database).disable(name)
    for world in worlds:
        assert grade_all(world, services, world.raters[1]) == list(world.pairs)
        check_finished(world)


def test_a_skipped_pair_goes_to_somebody_else_and_never_comes_again(database, services):
    world = new_world(database, pairs=4, raters=2, k=1)
    assignments, _ = services
    picky, other = world.raters
    skipped = ids(assignments.queue(world.project, picky))[0]
    after = assignments.skip(skipped, picky, SkipReason.BROKEN_TEXT, " half a \0sentence ").queue
    assert (ids(after), after.progress.total) == (list(world.pairs[1:3]), 3)
    assert skipped not in grade_all(world, services, picky)
    assert grade_all(world, services, other) == [skipped]
    check_finished(world)
    with database.reading() as session:
        [skip] = session.scalars(select(Skip).where(Skip.project_id == world.project))
    assert (skip.pair_id, skip.reason, skip.note) == (skipped, "broken_text", "half a \ufffdsentence")


def test_a_skip_that_is_sent_twice_counts_once(database, services):
    world = new_world(database, pairs=3, raters=1)
    assignments, _ = services
    [rater] = world.raters
    first = ids(assignments.queue(world.project, rater))[0]
    once = assignments.skip(first, rater, OTHER)
    assert assignments.skip(first, rater, OTHER).queue == once.queue
    check(world)
    with database.reading() as session:
        assert len(session.scalars(select(Skip).where(Skip.project_id == world.project)).all()) == 1


def test_who_skipped_may_think_better_of_it_while_there_is_a_place(database, services):
    world = new_world(database, pairs=2, raters=3, k=1)
    assignments, ratings = services
    wavering, other, _ = world.raters
    first, second = ids(assignments.queue(world.project, wavering))
    assignments.skip(first, wavering, OTHER)
    ratings.rate(first, wavering, GRADE)
    check(world)
    assignments.skip(second, wavering, OTHER)
    assert grade_all(world, services, other) == [second]
    with pytest.raises(AssignmentError, match="skipped this pair and others have taken it"):
        ratings.rate(second, wavering, GRADE)
    check_finished(world)


def test_a_graded_pair_cannot_be_skipped(database, services):
    world = new_world(database, pairs=2, raters=1)
    [rater] = world.raters
    first = ids(services[0].queue(world.project, rater))[0]
    services[1].rate(first, rater, GRADE)
    with pytest.raises(AssignmentError, match="graded this pair already"):
        services[0].skip(first, rater, OTHER)


@pytest.mark.parametrize("act", ["rate", "skip", "comment", "pair"])
def test_nobody_touches_a_pair_that_was_not_given_to_him(database, services, act):
    world = new_world(database, pairs=5, raters=1)
    assignments, ratings = services
    [rater] = world.raters
    actions = {
        "rate": lambda pair: ratings.rate(pair, rater, GRADE),
        "skip": lambda pair: assignments.skip(pair, rater, OTHER),
        "comment": lambda pair: ratings.comment(pair, rater, "mine?"),
        "pair": lambda pair: ratings.pair(pair, rater),
    }
    assignments.queue(world.project, rater)
    with pytest.raises(AssignmentError, match="was not given to you"):
        actions[act](world.pairs[3])
    with pytest.raises(NotFoundError, match=r"There is no such pair"):
        actions[act](999_999)


def test_only_raters_of_the_project_are_given_pairs(database, services):
    world, elsewhere = new_world(database, pairs=2, raters=2), new_world(database, pairs=2, raters=1)
    assignments, ratings = services
    guest, disabled = elsewhere.raters[0], world.raters[1]
    held = ids(assignments.queue(world.project, disabled))
    with database.session() as session:
        session.execute(update(User).where(User.id == disabled).values(disabled_at=datetime.now(UTC)))
        session.add(Membership(project_id=world.project, user_id=guest, role="adjudicator"))
    for user in (guest, disabled):
        with pytest.raises(AccessError, match="You are not a rater in this project: ask"):
            assignments.queue(world.project, user)
    with pytest.raises(AccessError, match="not a rater"):
        ratings.rate(held[0], disabled, GRADE)
    with pytest.raises(NotFoundError, match="no project 999"):
        assignments.queue(999, guest)
    with database.session() as session:
        session.execute(update(User).where(User.id == guest).values(is_administrator=True))
    with pytest.raises(
        AccessError, match="not a rater"
    ):  # administrators of the server rate where they are raters
        assignments.queue(world.project, guest)


def test_the_last_pairs_are_found_behind_the_place_where_a_rater_is(database, services):
    world = new_world(database, pairs=30, raters=2, k=1)
    assignments, _ = services
    early, late = world.raters
    left = ids(assignments.queue(world.project, early))
    graded = []

    def leave_after_ten() -> None:
        graded.append(1)
        if len(graded) == 10:
            assignments.give_back(world.project, early)

    assert set(grade_all(world, services, late, once=leave_after_ten)) == set(world.pairs)
    assert left == list(world.pairs[:2])
    check_finished(world)


# --- many at once


def run_together(*tasks: Callable[[], object]) -> list[object]:
    """All tasks at the same moment, each in a thread; their results, or the first exception."""
    start = threading.Barrier(len(tasks))

    def run(task: Callable[[], object]) -> object:
        start.wait()
        return task()

    with ThreadPoolExecutor(len(tasks)) as pool:
        return [future.result() for future in [pool.submit(run, task) for task in tasks]]


@pytest.mark.parametrize("k", [1, 3])
def test_a_crowd_that_comes_at_once_shares_the_pairs(database, services, k):
    world = new_world(database, pairs=4, raters=12, k=k)
    assignments, _ = services
    queues = run_together(*(lambda r=rater: assignments.queue(world.project, r) for rater in world.raters))
    given = [pair for queue in queues for pair in ids(queue)]
    assert sorted(given) == sorted(list(world.pairs) * k)
    assert all(queue.is_waiting for queue in queues if not queue.pairs)
    check(world)


def test_one_rater_in_many_tabs_rates_each_pair_once(database, services):
    world = new_world(database, pairs=40, raters=1, k=2)
    [rater] = world.raters
    run_together(*(lambda: grade_all(world, services, rater) for _ in range(6)))
    check(world)
    with database.reading() as session:
        ratings = session.scalars(select(Rating.pair_id).where(Rating.project_id == world.project)).all()
    assert sorted(ratings) == sorted(world.pairs)


class Rater(threading.Thread):
    """Grades to the end; now and then skips, goes for lunch, or comes back too late."""

    def __init__(self, world: World, services, clock: MovingClock, rater: int, until: float) -> None:
        super().__init__()
        self.world, self.services, self.clock = world, services, clock
        self.rater, self.until = rater, until
        self.chance = random.Random(rater)
        self.skips = 0
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.work()
        except BaseException as error:  # noqa: BLE001  # the test shows it
            self.error = error

    def work(self) -> None:
        assignments, _ = self.services
        while time.monotonic() < self.until:
            queue = assignments.queue(self.world.project, self.rater)
            if not queue.pairs and not queue.is_waiting:
                return
            if not queue.pairs:
                self.clock.move(self.chance.uniform(0, 20))
                time.sleep(0.002)
            while queue.pairs and self.chance.random() > 0.05:  # else they leave, holding two
                queue = self.answer(queue.pairs[0].id) or queue
        raise AssertionError(f"rater {self.rater} was not done in time")

    def answer(self, pair: int):
        assignments, ratings = self.services
        try:
            if self.chance.random() < 0.03 and self.skips < 4:
                self.skips += 1
                return assignments.skip(pair, self.rater, OTHER).queue
            if self.chance.random() < 0.02:
                self.clock.move(45)
            return ratings.rate(pair, self.rater, Decimal(self.chance.randrange(17)) / 4, 1.0).queue
        except AssignmentError as error:
            assert "others have taken it" in str(error)  # noqa: PT017
            return assignments.queue(self.world.project, self.rater)


def test_twenty_raters_at_once_end_with_exactly_k_grades_for_every_pair(database, services, clock):
    world = new_world(database, pairs=40, raters=20, k=3)
    until = time.monotonic() + 60
    raters = [Rater(world, services, clock, rater, until) for rater in world.raters]
    for rater in raters:
        rater.start()
    for rater in raters:
        rater.join()
    assert [rater.error for rater in raters if rater.error] == []
    check_finished(world)
    with database.reading() as session:
        assert session.scalars(select(Skip).where(Skip.project_id == world.project)).all()
        states = session.scalars(select(Assignment.state).where(Assignment.project_id == world.project)).all()
    assert "held" not in states


def start_process(world: World, rater: int) -> subprocess.Popen[str]:
    url = world.database.url.render_as_string(hide_password=False)
    command = [sys.executable, "-m", "tests.raters", url, str(world.project), str(rater)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def saved_grades(output: str) -> list[tuple[int, int]]:
    lines = [line.split() for line in output.splitlines(keepends=True) if line.endswith("\n")]
    return [(int(pair), int(quarters)) for pair, quarters in lines]


def test_raters_in_several_processes_share_the_pairs(database, services):
    world = new_world(database, pairs=40, raters=3, k=2)
    processes = [start_process(world, rater) for rater in world.raters]
    said = [saved_grades(process.communicate(timeout=60)[0]) for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    for rater in world.raters:  # who found the last ones held by others went home before the end
        grade_all(world, services, rater)
    check_finished(world)
    assert sum(map(len, said)) > 40


def test_a_process_that_is_killed_loses_no_grade_that_it_said_was_saved(sqlite_database, clock):
    world = new_world(sqlite_database, pairs=120, raters=2, k=1)
    victim, heir = world.raters
    process = start_process(world, victim)
    assert process.stdout is not None
    said = "".join(process.stdout.readline() for _ in range(12))
    process.kill()
    said += process.communicate()[0]
    kept = saved_grades(said)
    with sqlite_database.reading() as session:
        saved = dict(
            session.execute(select(Rating.pair_id, Rating.quarters).where(Rating.rater_id == victim)).all()
        )
    assert 12 <= len(kept) < 120
    assert [saved.get(pair) for pair, _ in kept] == [quarters for _, quarters in kept]
    assert len(saved) <= len(kept) + 1  # one may have been committed and not said
    check(world)
    clock.move(31)
    services = AssignmentService(sqlite_database, clock), RatingService(sqlite_database, clock)
    grade_all(world, services, heir)
    check_finished(world)
