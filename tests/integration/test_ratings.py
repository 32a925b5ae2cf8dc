"""Grades: what counts, what is remembered, and that both always agree."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from sqlalchemy import select, update
from sqlalchemy.exc import OperationalError

from annotation.assignment import Progress
from annotation.errors import AssignmentError, GradeError, NoteError, NotFoundError
from annotation.scale import CLSS
from annotation.services import projects
from annotation.services.assignment import AssignmentService, refresh_pairs
from annotation.services.projects import ProjectService
from annotation.services.ratings import RatingService
from annotation.types import SkipReason
from db.models import Assignment, Comment, Pair, Project, Rating, RatingChange
from tests.people import at_once
from tests.raters import World, check, new_world, return_expired_leases


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, 14, 2, 11, 123_456, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def move(self, minutes: float = 1) -> None:
        self.now += timedelta(minutes=minutes)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def services(database, clock) -> tuple[AssignmentService, RatingService]:
    assignments = AssignmentService(database, clock)
    return assignments, RatingService(database, clock, assignments)


def one_held(database, services, **settings) -> tuple[World, int, int]:
    """A project, its only rater, and the first pair, which they hold."""
    world = new_world(database, pairs=4, raters=1, **settings)
    services[0].queue(world.project, world.raters[0])
    return world, world.raters[0], world.pairs[0]


def history(world: World) -> list[tuple[int | None, int, float | None]]:
    with world.database.reading() as session:
        rows = session.scalars(
            select(RatingChange).where(RatingChange.project_id == world.project).order_by(RatingChange.id)
        )
        return [(row.previous_quarters, row.quarters, row.seconds) for row in rows]


def rating_of(world: World, pair: int) -> Rating:
    with world.database.reading() as session:
        return session.scalars(select(Rating).where(Rating.pair_id == pair)).one()


def test_a_grade_is_kept_with_its_time_and_the_next_pairs_come_with_the_answer(database, services, clock):
    world, rater, pair = one_held(database, services)
    saved = services[1].rate(pair, rater, Decimal("2.75"), 12.5)
    assert saved.at == clock.now
    assert [each.id for each in saved.queue.pairs] == list(world.pairs[1:3])
    assert saved.queue.progress == Progress(1, 4)
    kept = rating_of(world, pair)
    assert (kept.quarters, kept.seconds, kept.created_at) == (11, 12.5, clock.now)
    assert history(world) == [(None, 11, 12.5)]
    check(world)


def test_zero_is_a_grade_like_any_other(database, services):
    world, rater, pair = one_held(database, services)
    services[1].rate(pair, rater, Decimal(0))
    assert services[1].pair(pair, rater).grade == 0
    assert history(world) == [(None, 0, None)]
    check(world)


@pytest.mark.both_databases
def test_the_same_grade_again_changes_nothing(database, services, clock):
    world, rater, pair = one_held(database, services, may_revise=False)
    first = services[1].rate(pair, rater, Decimal(2), 5)
    before = rating_of(world, pair)
    clock.move()
    again = services[1].rate(pair, rater, Decimal("2.00"), 5)
    assert (again.at, again.queue) == (clock.now, first.queue)
    after = rating_of(world, pair)
    assert (after.seconds, after.updated_at) == (before.seconds, before.updated_at)
    assert history(world) == [(None, 8, 5)]


def test_a_change_of_mind_is_kept_in_the_history_and_its_seconds_added(database, services, clock):
    world, rater, pair = one_held(database, services)
    for quarters, seconds in ((8, 5), (16, 2.5), (0, 1)):
        services[1].rate(pair, rater, CLSS.from_steps(quarters), seconds)
        clock.move()
    assert history(world) == [(None, 8, 5), (8, 16, 2.5), (16, 0, 1)]
    kept = rating_of(world, pair)
    assert (kept.quarters, kept.seconds) == (0, 8.5)
    assert kept.updated_at == clock.now - timedelta(minutes=1)
    check(world)


def test_a_project_may_keep_first_grades(database, services):
    world, rater, pair = one_held(database, services, may_revise=False)
    services[1].rate(pair, rater, Decimal("2.5"))
    with pytest.raises(AssignmentError, match=r"You graded this pair 2\.5, and this project keeps the first"):
        services[1].rate(pair, rater, Decimal(3))
    assert history(world) == [(None, 10, None)]


@pytest.mark.parametrize(
    ("step_quarters", "grade", "said"),
    [
        (1, "2.1", r"0 to 4 in steps of 0\.25, not 2\.1"),
        (1, "4.25", "not 4.25"),
        (1, "-0.25", "not -0.25"),
        (1, "NaN", "not NaN"),
        (2, "2.25", r"in steps of 0\.5, not 2\.25"),
        (4, "2.5", r"in steps of 1, not 2\.5"),
    ],
)
def test_a_grade_off_the_scale_of_the_project_is_refused(database, services, step_quarters, grade, said):
    world, rater, pair = one_held(database, services, step_quarters=step_quarters)
    with pytest.raises(GradeError, match=said):
        services[1].rate(pair, rater, Decimal(grade))
    assert history(world) == []
    check(world)


def test_a_comment_stays_with_the_pair_whatever_becomes_of_it(database, services, clock):
    world, rater, pair = one_held(database, services)
    awkward = "<b>שלום</b> & 短語 🦜\n" * 100
    assert services[1].comment(pair, rater, awkward, is_flagged=True) == clock.now
    [first, _] = services[0].queue(world.project, rater).pairs
    assert (first.comment, first.is_flagged) == (awkward.strip(), True)
    services[1].rate(pair, rater, Decimal(1))
    services[1].comment(pair, rater, "better now")
    [graded] = services[1].recent(world.project, rater)
    assert (graded.comment, graded.is_flagged) == ("better now", False)
    services[1].comment(pair, rater, "", is_flagged=True)
    with database.reading() as session:
        [kept] = session.scalars(select(Comment).where(Comment.project_id == world.project))
    assert (kept.text, kept.is_flagged) == ("", True)


def test_a_comment_that_is_too_long_is_refused_and_the_earlier_one_kept(database, services):
    _, rater, pair = one_held(database, services)
    services[1].comment(pair, rater, "short")
    with pytest.raises(NoteError, match="4,001 characters"):
        services[1].comment(pair, rater, "x" * 4_001)
    assert services[1].pair(pair, rater).comment == "short"


def test_my_last_answers_come_newest_first_with_what_i_skipped(database, services, clock):
    world = new_world(database, pairs=30, raters=2, k=2)
    assignments, ratings = services
    mine, other = world.raters
    for rater in (other, mine):
        queue = assignments.queue(world.project, rater)
        for number in range(25):
            clock.move()
            pair = queue.pairs[0].id
            if rater == mine and number == 20:
                queue = assignments.skip(pair, rater, SkipReason.OTHER).queue
            else:
                queue = ratings.rate(pair, rater, CLSS.from_steps(number % 17)).queue
    recent = ratings.recent(world.project, mine)
    assert [pair.id for pair in recent] == list(reversed(world.pairs[5:25]))
    answers = [None if number == 20 else CLSS.from_steps(number % 17) for number in range(24, 4, -1)]
    assert [pair.grade for pair in recent] == answers
    assert [pair.rated_at is None for pair in recent] == [answer is None for answer in answers]
    assert recent[0].rated_at == clock.now
    clock.move()
    ratings.rate(world.pairs[3], mine, Decimal(4))
    assert ratings.recent(world.project, mine)[0].id == world.pairs[3]
    assert len(ratings.recent(world.project, mine, limit=3)) == 3


def test_progress_is_of_what_this_rater_can_still_have(database, services):
    world = new_world(database, pairs=10, raters=3, k=1)
    assignments, ratings = services
    first, second, third = world.raters
    queue = assignments.queue(world.project, first)
    for _ in range(4):
        queue = ratings.rate(queue.pairs[0].id, first, Decimal(1)).queue
    assert queue.progress == Progress(4, 10)
    assert assignments.queue(world.project, second).progress == Progress(0, 4)
    assert ratings.progress(world.project, third) == Progress(0, 2)
    assert ratings.progress(world.project, first) == Progress(4, 8)


def test_in_a_large_project_the_progress_is_carried_on_for_a_while(database, services, clock, monkeypatch):
    monkeypatch.setattr("annotation.services.assignment.EXACT_UP_TO", 5)
    world = new_world(database, pairs=10, raters=2, k=1)
    assignments, ratings = services
    first, second = world.raters
    monkeypatch.setattr("annotation.services.assignment.SECONDS_A_PAIR", 1_000)
    queue = assignments.queue(world.project, first)
    assignments.queue(world.project, second)
    queue = ratings.rate(queue.pairs[0].id, first, Decimal(1)).queue
    assert queue.progress == Progress(1, 10)  # two of them are the other's by now
    queue = assignments.skip(queue.pairs[0].id, first, SkipReason.OTHER).queue
    ratings.rate(world.pairs[0], first, Decimal(2))
    assert assignments.queue(world.project, first).progress == Progress(1, 9)
    assert ratings.progress(world.project, first) == Progress(1, 7)
    assert AssignmentService(database, clock).queue(world.project, first).progress == Progress(1, 7)


@pytest.mark.both_databases
def test_a_grade_whose_transaction_the_server_undid_is_counted_once(database, services, monkeypatch):
    monkeypatch.setattr("annotation.services.assignment.EXACT_UP_TO", 5)
    monkeypatch.setattr("annotation.services.assignment.SECONDS_A_PAIR", 1_000)
    world = new_world(database, pairs=10, raters=1, k=1)
    assignments, ratings = services
    [rater] = world.raters
    queue = assignments.queue(world.project, rater)
    fill, undone = assignments.fill, []

    def fill_then_lose(*given, **options):
        filled = fill(*given, **options)
        if not undone:
            undone.append(True)
            lost = psycopg.errors.DeadlockDetected("deadlock detected")
            raise OperationalError("COMMIT", {}, lost)
        return filled

    monkeypatch.setattr(assignments, "fill", fill_then_lose)
    saved = ratings.rate(queue.pairs[0].id, rater, Decimal(1))
    assert undone
    assert saved.queue.progress == Progress(1, 10)


@pytest.mark.both_databases
def test_a_comment_and_the_end_of_its_project_do_not_wait_for_each_other(database, services, monkeypatch):
    world, rater, pair = one_held(database, services)
    projects_service = ProjectService(database)
    lock_pairs, is_locked = projects.lock_pairs, threading.Event()

    def wait_for_the_other(*given, **options):
        lock_pairs(*given, **options)
        is_locked.set()
        time.sleep(0.5)

    def comment():
        is_locked.wait(20)
        services[1].comment(pair, rater, "Which ferry?")

    monkeypatch.setattr(projects, "lock_pairs", wait_for_the_other)
    deleted, said = at_once([lambda: projects_service.delete(world.project, "Project 0"), comment])
    assert deleted is None
    assert isinstance(said, NotFoundError)
    with database.reading() as session:
        assert session.get(Project, world.project) is None


@pytest.mark.both_databases
def test_counting_anew_mends_whatever_was_written(database, services):
    world, rater, pair = one_held(database, services, k=3)
    services[1].rate(pair, rater, Decimal(3))
    with database.session() as session:
        session.execute(
            update(Pair).values(open_slots=1, rating_count=7, low_quarters=None, spread_quarters=9)
        )
    with database.session() as session:
        refresh_pairs(session, [*world.pairs, world.pairs[0]])
    check(world)


@pytest.mark.both_databases
def test_counting_anew_sees_what_the_session_has_not_yet_sent(database):
    world = new_world(database, pairs=600, raters=2, k=2)
    now = datetime(2026, 3, 1, tzinfo=UTC)
    with database.session() as session:
        for pair in world.pairs:
            for rater, quarters in zip(world.raters, (pair % 17, 16), strict=True):
                mine = {"project_id": world.project, "pair_id": pair, "rater_id": rater}
                session.add(Assignment(**mine, state="rated", position=0, claimed_at=now))
                session.add(Rating(**mine, quarters=quarters, created_at=now, updated_at=now))
                session.add(RatingChange(**mine, quarters=quarters, origin="import", at=now))
        refresh_pairs(session, iter(world.pairs))
    check(world)


class Model:
    """The rules of handing out pairs, said as plainly as possible."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.state: dict[tuple[int, int], str] = {}
        self.lease: dict[tuple[int, int], datetime] = {}
        self.claimed: dict[tuple[int, int], tuple[datetime, int]] = {}
        self.grade: dict[tuple[int, int], int] = {}
        self.changes = 0
        self.most: int | None = None

    def slots(self, pair: int) -> int:
        return self.world.k - sum(
            self.state.get((pair, rater)) in ("held", "rated") for rater in self.world.raters
        )

    def held(self, rater: int) -> set[int]:
        return {pair for pair in self.world.pairs if self.state.get((pair, rater)) == "held"}

    def graded(self, rater: int) -> int:
        return sum(who == rater for _, who in self.grade)

    def room(self, rater: int) -> int:
        """How many pairs more may be theirs."""
        if self.most is None:
            return len(self.world.pairs)
        return max(0, self.most - self.graded(rater) - len(self.held(rater)))

    def make_room(self, rater: int) -> bool:
        """The pair that was given last goes for one that they grade after all."""
        if self.room(rater):
            return True
        held = self.held(rater)
        if held:
            self.state[max(held, key=lambda pair: self.claimed[pair, rater]), rater] = "returned"
        return bool(held)

    def is_new(self, pair: int, rater: int) -> bool:
        return self.state.get((pair, rater), "returned") == "returned"

    def open_to(self, rater: int) -> set[int]:
        return {pair for pair in self.world.pairs if self.slots(pair) and self.is_new(pair, rater)}

    def expire(self, now: datetime, but: int | None = None) -> None:
        for (pair, rater), state in list(self.state.items()):
            if state == "held" and rater != but and self.lease[pair, rater] <= now:
                self.state[pair, rater] = "returned"

    def check_queue(self, queue, rater: int, now: datetime) -> None:
        """The queue is one that the rules allow; what it claims is held from now on."""
        self.expire(now, but=rater)
        given = [pair.id for pair in queue.pairs]
        held, is_open = self.held(rater), self.open_to(rater)
        assert len(given) == len(set(given)) == min(2, len(held) + min(len(is_open), self.room(rater)))
        assert set(given) <= held | is_open
        assert set(given) >= held or len(held) > 2
        for pair in held:
            if self.lease[pair, rater] - now < timedelta(minutes=15):
                self.lease[pair, rater] = now + timedelta(minutes=30)
        for pair in set(given) - held:
            self.state[pair, rater] = "held"
            self.lease[pair, rater] = now + timedelta(minutes=30)
            self.claimed[pair, rater] = (now, self.world.pairs.index(pair))
        others = {
            pair for pair in self.world.pairs for other in self.world.raters if pair in self.held(other)
        }
        rated, own = self.graded(rater), len(self.held(rater))
        is_done = not given and self.most is not None and rated >= self.most
        assert queue.is_share_graded == is_done
        may_come = any(self.is_new(pair, rater) for pair in others)
        assert queue.is_waiting == (not given and not is_done and may_come)
        total = rated + own + len(self.open_to(rater))
        if self.most is not None:
            total = min(total, max(self.most, rated + own))
        assert queue.progress == Progress(rated, total)


class Raters(RuleBasedStateMachine):
    """Three raters do whatever they like in any order, and time passes."""

    database = None

    mosts = st.none() | st.integers(1, 5)

    @initialize(k=st.integers(1, 4), pairs=st.integers(1, 5), seed=st.integers(0, 9), most=mosts)
    def begin(self, k, pairs, seed, most):
        self.world = new_world(self.database, pairs=pairs, raters=3, k=k, seed=seed, most_per_rater=most)
        self.model = Model(self.world)
        self.model.most = most
        self.clock = Clock()
        self.assignments = AssignmentService(self.database, self.clock)
        self.ratings = RatingService(self.database, self.clock, self.assignments)

    who = st.integers(0, 2)
    which = st.integers(0, 4)

    def chosen(self, who, which):
        rater, pair = self.world.raters[who], self.world.pairs[which % len(self.world.pairs)]
        return rater, pair, self.model.state.get((pair, rater))

    @rule(who=who)
    def claim(self, who):
        rater = self.world.raters[who]
        queue = self.assignments.queue(self.world.project, rater)
        self.model.check_queue(queue, rater, self.clock.now)

    @rule(who=who, which=which, quarters=st.integers(0, 16))
    def rate(self, who, which, quarters):
        rater, pair, state = self.chosen(who, which)
        allowed = state in ("held", "rated") or (state is not None and self.model.slots(pair) > 0)
        if not allowed or (state not in ("held", "rated") and not self.model.make_room(rater)):
            with pytest.raises(AssignmentError):
                self.ratings.rate(pair, rater, CLSS.from_steps(quarters))
            return
        saved = self.ratings.rate(pair, rater, CLSS.from_steps(quarters))
        self.model.changes += self.model.grade.get((pair, rater)) != quarters
        self.model.state[pair, rater] = "rated"
        self.model.grade[pair, rater] = quarters
        self.model.check_queue(saved.queue, rater, self.clock.now)

    @rule(who=who, which=which)
    def skip(self, who, which):
        rater, pair, state = self.chosen(who, which)
        if state in (None, "rated"):
            with pytest.raises(AssignmentError):
                self.assignments.skip(pair, rater, SkipReason.OTHER)
            return
        saved = self.assignments.skip(pair, rater, SkipReason.OTHER)
        self.model.state[pair, rater] = "skipped"
        self.model.check_queue(saved.queue, rater, self.clock.now)

    @rule(who=who)
    def give_back(self, who):
        rater = self.world.raters[who]
        held = self.model.held(rater)
        assert self.assignments.give_back(self.world.project, rater) == len(held)
        for pair in held:
            self.model.state[pair, rater] = "returned"

    @rule(most=mosts)
    def change_limit(self, most):
        with self.database.session() as session:
            session.get(Project, self.world.project).most_per_rater = most
        self.model.most = most

    @rule(minutes=st.sampled_from([1, 14, 16, 30, 31]))
    def time_passes(self, minutes):
        self.clock.move(minutes)

    @rule()
    def expire(self):
        return_expired_leases(self.database, self.world.project, self.clock.now)
        self.model.expire(self.clock.now)

    @rule()
    def restart(self):
        self.assignments = AssignmentService(self.database, self.clock)
        self.ratings = RatingService(self.database, self.clock, self.assignments)

    @invariant()
    def the_database_keeps_the_rules(self):
        if not hasattr(self, "world"):
            return
        check(self.world)
        with self.database.reading() as session:
            assignments = session.scalars(
                select(Assignment).where(Assignment.project_id == self.world.project)
            ).all()
            ratings = session.scalars(select(Rating).where(Rating.project_id == self.world.project)).all()
        assert {(each.pair_id, each.rater_id): each.state for each in assignments} == self.model.state
        assert {(each.pair_id, each.rater_id): each.quarters for each in ratings} == self.model.grade
        assert len(history(self.world)) == self.model.changes


@pytest.mark.both_databases
def test_whatever_raters_do_the_rules_hold(database):
    machine = type("RatersHere", (Raters,), {"database": database})
    examples = 40 if database.is_sqlite else 10
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )
