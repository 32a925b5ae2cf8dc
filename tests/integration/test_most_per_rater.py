"""The most pairs per rater: nobody is given more, whatever comes at once, and no grade is lost."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from decimal import Decimal

import pytest
from sqlalchemy import event, func, select

from annotation.assignment import Progress, Queue
from annotation.errors import AssignmentError
from annotation.quality import QualitySettings
from annotation.services.assignment import AssignmentService
from annotation.services.imports import ImportService
from annotation.services.known_pairs import KnownPairService
from annotation.services.pairs import PairService
from annotation.services.projects import ProjectService
from annotation.services.quality import QualityService
from annotation.services.ratings import RatingService
from annotation.types import KnownPair, NewPair, NewRating, SkipReason
from annotation.ui.projects import stuck_html
from db.models import Assignment, Pair, Rating, User
from tests.commands import main
from tests.databases import row_problems
from tests.people import MovableClock, at_once
from tests.raters import TYPE, World, check, check_finished, new_world

GRADE = Decimal(2)
OTHER = SkipReason.OTHER


class Office:
    """A project whose raters may have `most` pairs each, and its services."""

    def __init__(self, database, most: int | None, **settings: object) -> None:
        self.clock = MovableClock()
        self.world = new_world(database, most_per_rater=most, **settings)
        self.assignments = AssignmentService(database, self.clock)
        self.ratings = RatingService(database, self.clock, self.assignments)

    def queue(self, rater: int) -> Queue:
        return self.assignments.queue(self.world.project, rater)

    def rate(self, pair: int, rater: int) -> Queue:
        return self.ratings.rate(pair, rater, GRADE).queue

    def grade_all(self, rater: int) -> tuple[int, Queue]:
        """How many pairs they were given to grade, and the queue that was left."""
        queue, graded = self.queue(rater), 0
        while queue.pairs:
            queue, graded = self.rate(queue.pairs[0].id, rater), graded + 1
        return graded, queue

    def change(self, most: int | None) -> None:
        service = ProjectService(self.world.database)
        settings = service.get(self.world.project).settings
        service.update(self.world.project, replace(settings, most_per_rater=most))

    def withdrawal(self) -> PairService:
        return PairService(self.world.database, self.clock)

    def name(self, pair: int) -> str:
        with self.world.database.reading() as session:
            return session.scalars(select(Pair.external_id).where(Pair.id == pair)).one()


def ids(queue: Queue) -> list[int]:
    return [pair.id for pair in queue.pairs]


def taken(world: World, rater: int, *states: str) -> int:
    states = states or ("held", "rated")
    with world.database.reading() as session:
        statement = select(func.count()).where(
            Assignment.project_id == world.project,
            Assignment.rater_id == rater,
            Assignment.state.in_(states),
        )
        return session.scalar(statement) or 0


@pytest.mark.both_databases
@pytest.mark.parametrize("order", ["in turn", "at once"])
def test_three_raters_with_a_third_each_grade_exactly_a_third(database, order):
    office = Office(database, 7, pairs=21, raters=3, k=1)
    calls = [lambda rater=rater: office.grade_all(rater) for rater in office.world.raters]
    answers = at_once(calls) if order == "at once" else [call() for call in calls]
    for graded, queue in answers:
        assert (graded, queue.progress) == (7, Progress(7, 7))
        assert (queue.pairs, queue.is_waiting, queue.is_share_graded) == ((), False, True)
    check_finished(office.world)


def test_without_a_limit_the_first_rater_may_grade_all(database):
    office = Office(database, None, pairs=9, raters=3, k=1)
    first, second, _ = office.world.raters
    assert office.grade_all(first)[0] == 9
    assert office.queue(second).is_share_graded is False


def test_a_rater_holds_no_more_than_what_is_left_of_the_share(database):
    office = Office(database, 3, pairs=9, raters=2, k=2)
    rater, _ = office.world.raters
    first, second, third = office.world.pairs[:3]
    queue = office.queue(rater)
    assert (ids(queue), queue.progress) == ([first, second], Progress(0, 3))
    queue = office.rate(first, rater)
    assert (ids(queue), queue.progress) == ([second, third], Progress(1, 3))
    queue = office.rate(second, rater)
    assert (ids(queue), queue.progress) == ([third], Progress(2, 3))
    assert not queue.is_share_graded
    assert office.rate(third, rater).is_share_graded


def test_the_share_counts_up_to_what_there_is(database):
    office = Office(database, 5, pairs=4, raters=2, k=1)
    first, second = office.world.raters
    queue = office.queue(first)
    assert queue.progress == Progress(0, 4)
    office.queue(second)
    assert office.ratings.progress(office.world.project, first) == Progress(0, 2)
    office.change(3)
    assert office.ratings.progress(office.world.project, first) == Progress(0, 2)
    office.change(1)  # what is held may be graded
    assert office.ratings.progress(office.world.project, first) == Progress(0, 2)


def test_whose_share_is_graded_does_not_wait_for_what_others_hold(database):
    office = Office(database, 1, pairs=3, raters=2, k=1)
    first, second = office.world.raters
    office.queue(second)
    queue = office.rate(ids(office.queue(first))[0], first)
    assert (queue.pairs, queue.is_waiting, queue.is_share_graded) == ((), False, True)
    again = office.queue(first)
    assert (again.pairs, again.is_waiting, again.is_share_graded) == ((), False, True)


def test_who_has_room_waits_for_what_others_hold(database):
    office = Office(database, 2, pairs=2, raters=2, k=1)
    first, second = office.world.raters
    office.queue(second)
    queue = office.queue(first)
    assert (queue.pairs, queue.is_waiting, queue.is_share_graded) == ((), True, False)
    assert queue.progress == Progress(0, 0)


@pytest.mark.both_databases
@pytest.mark.parametrize("most", [1, 2, 5])
def test_tabs_of_one_rater_at_once_never_have_more_than_the_share(database, most):
    office = Office(database, most, pairs=40, raters=1, k=1)
    [rater] = office.world.raters
    seen = []

    def tab() -> None:
        queue = office.queue(rater)
        while queue.pairs:
            seen.append(taken(office.world, rater))
            queue = office.rate(queue.pairs[0].id, rater)

    at_once([tab] * 6)
    assert max(seen) <= most
    assert taken(office.world, rater, "rated") == taken(office.world, rater) == most
    check(office.world)


def test_two_requests_for_the_last_pair_of_a_share_get_one(postgresql_database, monkeypatch):
    """The second one counts only once the first has claimed: here the first takes its time in between."""
    office = Office(postgresql_database, 1, pairs=9, raters=1, k=1)
    [rater] = office.world.raters
    counted = threading.Event()

    @event.listens_for(postgresql_database.engine, "after_cursor_execute")
    def dawdle(connection, cursor, statement, *_):
        if "FROM memberships" in statement and "FOR NO KEY UPDATE" in statement and not counted.is_set():
            counted.set()
            time.sleep(0.5)

    queues = at_once([lambda: office.queue(rater)] * 2)
    assert counted.is_set()
    assert taken(office.world, rater) == 1
    assert len({pair for queue in queues for pair in ids(queue)}) == 1


def test_who_waits_for_a_pair_that_others_have_locked_gets_no_more_than_the_share(postgresql_database):
    office = Office(postgresql_database, 1, pairs=2, raters=1, k=1)
    [rater] = office.world.raters
    locked, look = threading.Event(), threading.Event()

    def lock_all() -> None:
        with postgresql_database.session() as session:
            session.scalars(select(Pair.id).with_for_update(key_share=True)).all()
            locked.set()
            look.wait(20)

    def ask() -> Queue:
        locked.wait(20)
        threading.Timer(0.5, look.set).start()
        return office.queue(rater)

    _, first, second = at_once([lock_all, ask, ask])
    assert ids(first) == ids(second)
    assert len(ids(first)) == taken(office.world, rater) == 1


@pytest.mark.both_databases
def test_many_raters_in_two_tabs_each_end_with_their_share(database):
    office = Office(database, 10, pairs=20, raters=6, k=3)
    calls = [lambda rater=rater: office.grade_all(rater) for rater in office.world.raters for _ in range(2)]
    at_once(calls)
    for rater in office.world.raters:
        office.grade_all(rater)
        assert taken(office.world, rater, "rated") <= 10
    check(office.world)
    assert row_problems(database) == []


def test_skipped_pairs_do_not_count(database):
    office = Office(database, 2, pairs=6, raters=1, k=1)
    [rater] = office.world.raters
    queue = office.queue(rater)
    for _ in range(3):
        queue = office.assignments.skip(queue.pairs[0].id, rater, OTHER).queue
        assert (len(queue.pairs), queue.progress) == (2, Progress(0, 2))
    assert office.grade_all(rater)[0] == 2


def test_withdrawn_pairs_do_not_count_and_keep_their_grades(database):
    office = Office(database, 2, pairs=6, raters=1, k=1)
    [rater] = office.world.raters
    office.grade_all(rater)
    gone = office.name(office.world.pairs[0])
    office.withdrawal().withdraw(office.world.project, [gone])
    assert office.queue(rater).progress == Progress(1, 2)
    assert office.grade_all(rater)[0] == 1
    office.withdrawal().restore(office.world.project, [gone])
    queue = office.queue(rater)
    assert (queue.pairs, queue.progress, queue.is_share_graded) == ((), Progress(3, 3), True)
    assert row_problems(database) == []


@pytest.mark.parametrize("room", [True, False])
def test_a_restored_pair_is_held_again_where_the_share_has_room(database, room):
    office = Office(database, 1, pairs=2, raters=1, k=1)
    [rater], (first, second) = office.world.raters, office.world.pairs
    assert ids(office.queue(rater)) == [first]
    office.withdrawal().withdraw(office.world.project, [office.name(first)])
    assert ids(office.queue(rater)) == [second]
    if room:
        office.change(2)
    office.withdrawal().restore(office.world.project, [office.name(first)])
    assert ids(office.queue(rater)) == ([first, second] if room else [second])
    assert taken(office.world, rater) == (2 if room else 1)
    check(office.world)


def test_a_higher_limit_and_none_give_more_pairs_at_once(database):
    office = Office(database, 1, pairs=6, raters=1, k=1)
    [rater] = office.world.raters
    assert office.grade_all(rater)[0] == 1
    office.change(3)
    assert office.queue(rater).progress == Progress(1, 3)
    assert office.grade_all(rater)[0] == 2
    office.change(None)
    assert office.queue(rater).progress == Progress(3, 6)
    graded, queue = office.grade_all(rater)
    assert (graded, queue.is_share_graded) == (3, False)


def test_a_lower_limit_takes_nothing_away(database):
    office = Office(database, None, pairs=9, raters=1, k=1)
    [rater] = office.world.raters
    queue = office.queue(rater)
    for _ in range(4):
        queue = office.rate(queue.pairs[0].id, rater)
    office.change(2)
    held = ids(queue)
    queue = office.queue(rater)
    assert (ids(queue), queue.progress, queue.is_share_graded) == (held, Progress(4, 6), False)
    for pair in held:
        queue = office.rate(pair, rater)
    assert (queue.pairs, queue.progress, queue.is_share_graded) == ((), Progress(6, 6), True)
    changed = office.ratings.rate(held[0], rater, Decimal(4))
    assert changed.queue.is_share_graded
    assert office.ratings.pair(held[0], rater).grade == 4
    assert taken(office.world, rater) == 6


def test_who_thinks_better_of_a_skip_grades_it_in_place_of_the_pair_given_last(database):
    office = Office(database, 2, pairs=6, raters=1, k=1)
    [rater], pairs = office.world.raters, office.world.pairs
    office.queue(rater)
    queue = office.assignments.skip(pairs[0], rater, OTHER).queue
    assert ids(queue) == [pairs[1], pairs[2]]
    queue = office.rate(pairs[0], rater)
    assert (ids(queue), queue.progress) == ([pairs[1]], Progress(1, 2))
    assert office.rate(pairs[1], rater).is_share_graded
    assert taken(office.world, rater) == 2
    check(office.world)


def test_a_late_grade_counts_while_the_share_has_room_and_is_refused_after_that(database):
    office = Office(database, 2, pairs=6, raters=2, k=1)
    (rater, other), pairs = office.world.raters, office.world.pairs
    office.queue(rater)
    office.assignments.give_back(office.world.project, rater)
    assert ids(office.rate(pairs[0], rater)) == [pairs[1]]
    office.assignments.give_back(office.world.project, rater)
    office.change(1)
    with pytest.raises(AssignmentError, match="graded your share of the pairs, and no longer hold this"):
        office.rate(pairs[1], rater)
    assert taken(office.world, rater) == 1
    assert ids(office.queue(other)) == [pairs[1]]
    check(office.world)


@pytest.mark.both_databases
def test_a_lease_that_ran_out_leaves_room_for_other_pairs(database):
    office = Office(database, 2, pairs=4, raters=2, k=1)
    (slow, quick), pairs = office.world.raters, office.world.pairs
    office.queue(slow)
    office.clock.forward(minutes=31)
    assert ids(office.queue(quick)) == list(pairs[:2])
    assert ids(office.queue(slow)) == list(pairs[2:])


def test_imported_grades_of_a_rater_count(database):
    office = Office(database, 3, pairs=6, raters=1, k=2)
    [rater] = office.world.raters
    with database.reading() as session:
        name = session.scalars(select(User.name).where(User.id == rater)).one()
    grades = [NewRating(office.name(pair), name, GRADE) for pair in office.world.pairs[:2]]
    ImportService(database).import_pairs(office.world.project, grades)
    assert office.queue(rater).progress == Progress(2, 3)
    assert office.grade_all(rater)[0] == 1


def test_check_pairs_come_beyond_the_share(database):
    office = Office(database, 8, pairs=20, raters=1, k=1)
    project, [rater] = office.world.project, office.world.raters
    known = [KnownPair(NewPair(f"k{n}", TYPE, f"known {n}", f"word {n}"), Decimal(1)) for n in range(9)]
    KnownPairService(database).import_checks(project, known)
    QualityService(database).change(project, QualitySettings(check_every=4))
    total = office.queue(rater).progress.total
    graded, queue = office.grade_all(rater)
    assert graded == total > 8
    assert (queue.progress, queue.is_share_graded) == (Progress(total, total), True)
    assert taken(office.world, rater) == 8
    with database.reading() as session:
        assert session.scalar(select(func.count()).select_from(Rating)) == total


def test_in_a_large_project_the_share_is_exact_while_the_progress_is_carried_on(database, monkeypatch):
    monkeypatch.setattr("annotation.services.assignment.EXACT_UP_TO", 5)
    monkeypatch.setattr("annotation.services.assignment.SECONDS_A_PAIR", 1_000)
    office = Office(database, 4, pairs=20, raters=1, k=1)
    [rater] = office.world.raters
    queue = office.queue(rater)
    queue = office.assignments.skip(queue.pairs[0].id, rater, OTHER).queue
    assert queue.progress == Progress(0, 4)
    for graded in range(1, 5):
        queue = office.rate(queue.pairs[0].id, rater)
        assert queue.progress == Progress(graded, 4)
    assert queue.is_share_graded
    office.change(6)
    assert office.grade_all(rater) == (2, replace(office.queue(rater)))


# What the leader is told


@pytest.fixture
def short(database) -> Office:
    """Five pairs for two raters who may have two each and have graded them."""
    office = Office(database, 2, pairs=5, raters=2, k=1)
    with database.session() as session:
        for rater in office.world.raters:
            session.get(User, rater).password_hash = "$argon2id$x"
    return office


def test_pairs_that_no_share_has_room_for_are_told_with_what_to_do(short, database):
    project, stuck = short.world.project, PairService(database)
    first, second = short.world.raters
    short.grade_all(first)
    assert stuck.stuck(project).total == 0
    short.grade_all(second)
    found = stuck.stuck(project)
    assert (found.total, found.by_limit, found.full, found.raters) == (1, 1, 2, 2)
    assert found.items[0].raters_left == 0
    html = stuck_html(found, project)
    assert "left for it. All raters have reached the limit of 2 pairs per rater: <a" in html
    assert f'project={project}&amp;tab=settings">raise the limit</a>. Or <a' in html
    short.change(3)
    assert stuck.stuck(project).total == 0
    short.change(None)
    assert (stuck.stuck(project).total, stuck.stuck(project).by_limit) == (0, 0)


def test_a_limit_that_is_too_low_for_the_raters_is_told_before_they_reach_it(short, database):
    project, stuck = short.world.project, PairService(database)
    first, second = short.world.raters
    early = stuck.stuck(project)
    assert (early.total, early.room, early.short_by) == (0, 4, 1)
    assert early.short_text == (
        "The limit of 2 pairs per rater leaves the raters room for 4 of the 5 grades "
        "that are still to be given out"
    )
    html = stuck_html(early, project)
    assert f'project={project}&amp;tab=settings">raise the limit</a>, or <a' in html
    assert "not been used" not in html
    assert "1 link for a rater has not been used" in stuck_html(replace(early, open_links=1), project)
    short.queue(first)  # who holds two
    held = stuck.stuck(project)
    assert (held.room, held.short_by) == (2, 1)
    short.grade_all(first)
    assert (stuck.stuck(project).room, stuck.stuck(project).short_by) == (2, 1)
    short.grade_all(second)
    full = stuck.stuck(project)
    assert (full.total, full.room, full.short_by, full.short_text) == (1, 0, 1, "")
    short.change(3)
    assert (stuck.stuck(project).room, stuck.stuck(project).short_by) == (2, 0)
    short.change(None)
    assert (stuck.stuck(project).room, stuck.stuck(project).short_by) == (0, 0)


def test_the_limit_is_not_named_where_a_higher_one_would_not_help(short, database):
    project, stuck = short.world.project, PairService(database)
    skipped = ids(short.queue(short.world.raters[0]))[0]
    for rater in short.world.raters:
        short.queue(rater)
        short.assignments.give_back(project, rater)
    short.change(5)
    for rater in short.world.raters:
        queue = short.queue(rater)
        while queue.pairs and skipped not in ids(queue):
            queue = short.rate(queue.pairs[0].id, rater)
        short.assignments.skip(skipped, rater, OTHER)
        short.assignments.give_back(project, rater)
    short.grade_all(short.world.raters[0])
    short.change(2)
    found = stuck.stuck(project)
    assert (found.total, found.by_limit, found.full, found.raters) == (1, 0, 1, 2)
    assert found.items[0].skips == 2
    assert "limit" not in stuck_html(found, project)


def test_which_raters_have_reached_the_limit_is_said(short, database):
    found = PairService(database).stuck(short.world.project)
    some = replace(found, total=5, by_limit=3, full=1)
    assert some.limit_text == "1 rater has reached the limit of 2 pairs per rater, which keeps 3 of them back"
    most = replace(some, total=3, most_per_rater=1)
    assert most.limit_text == "1 rater has reached the limit of 1 pair per rater"
    assert replace(some, full=2, by_limit=5).limit_text == (
        "All raters have reached the limit of 2 pairs per rater"
    )


def test_a_command_tells_the_pairs_that_no_share_has_room_for(sqlite_database, capsys):
    office = Office(sqlite_database, 1, pairs=3, raters=2, k=1, name="News", name_key="news")
    with sqlite_database.session() as session:
        for rater in office.world.raters:
            session.get(User, rater).password_hash = "$argon2id$x"
    url = str(sqlite_database.engine.url)
    assert main(["project", "show", "News", "--database-url", url]) == 0
    assert "room for 2 of the 3 grades that are still to be given out: raise it" in capsys.readouterr().out
    for rater in office.world.raters:
        office.grade_all(rater)
    assert main(["project", "show", "News", "--database-url", url]) == 0
    assert (
        "too few raters left for them: 1. All raters have reached the limit of 1 pair per rater: raise it "
        "with `project change`. Or invite another rater"
    ) in capsys.readouterr().out
    assert main(["project", "show", "News", "--json", "--database-url", url]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["most_per_rater"], shown["stuck"]["pairs"], shown["stuck"]["by_limit"]) == (1, 1, 1)
    assert shown["stuck"]["short_by"] == 1
