"""A text to agree to before the work, on both databases: who has not agreed is given and may do nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import replace
from decimal import Decimal
from hashlib import sha256

import pytest
from sqlalchemy import select

from annotation.errors import AccessError, ConsentError, SettingsError, TrainingPairsError
from annotation.gold import ExportOptions, Unfinished
from annotation.services.bundle import Services, open_services
from annotation.services.consents import AGREED
from annotation.services.quality import QualityService
from annotation.services.rater_queue import lock_pair
from annotation.types import KnownPair, NewPair, NewRating, ProjectSettings, Role, SkipReason
from annotation.ui.accounts import events_html
from db.models import Assignment, Comment, Consent, Rating, Skip, TrainingGrade, Writing
from tests.people import at_once, count
from tests.raters import TYPE, World, check, new_world
from tests.writers import open_office

FIRST, SECOND = "We keep *grades* and times.", "We keep grades, times and comments."
MOMENT = 0.3
"""Long enough for somebody to come to a lock, in seconds."""


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def ask_for(services: Services, project: int, text: str) -> None:
    now = services.projects.get(project).settings
    services.projects.update(project, replace(now, consent=text))


def asking() -> AbstractContextManager[object]:
    return pytest.raises(ConsentError, match="has a text to agree to before you go on")


@pytest.fixture
def world(database) -> World:
    return new_world(database, pairs=4, raters=2, k=2)


@pytest.fixture
def services(database) -> Services:
    return open_services(database)


def test_nothing_is_given_to_a_rater_who_has_not_agreed(world, services):
    project, (ana, ben) = world.project, world.raters
    assert services.consents.text_to_agree(project, ana) is None
    assert services.consents.consents(project) is None
    ask_for(services, project, FIRST)
    with asking():
        services.assignment.queue(project, ana)
    assert count(world.database, Assignment) == 0
    asked = services.consents.text_to_agree(project, ana)
    assert asked is not None
    assert (asked.text, asked.sha256, asked.is_changed) == (FIRST, digest(FIRST), False)
    with pytest.raises(ConsentError, match="changed while you read it"):
        services.consents.agree(project, ana, digest("something else"))
    assert services.consents.consents(project) == {}
    services.consents.agree(project, ana, asked.sha256)
    assert len(services.assignment.queue(project, ana).pairs) == 2
    with asking():
        services.assignment.queue(project, ben)
    given = services.consents.consents(project)
    assert given is not None
    assert [(user, each.sha256, each.is_current) for user, each in given.items()] == [
        (ana, digest(FIRST), True)
    ]
    check(world)


def test_a_changed_text_stops_all_work_until_it_is_agreed_to_and_keeps_the_pairs_at_hand(world, services):
    project, ana = world.project, world.raters[0]
    ask_for(services, project, FIRST)
    services.consents.agree(project, ana, digest(FIRST))
    first, second = (pair.id for pair in services.assignment.queue(project, ana).pairs)
    ask_for(services, project, SECOND)
    deeds: tuple[Callable[[], object], ...] = (
        lambda: services.ratings.rate(first, ana, Decimal(2)),
        lambda: services.assignment.skip(first, ana, SkipReason.OTHER),
        lambda: services.ratings.comment(first, ana, "gulls"),
        lambda: services.assignment.queue(project, ana),
    )
    for deed in deeds:
        with asking():
            deed()
    assert [count(world.database, each) for each in (Rating, Skip, Comment)] == [0, 0, 0]
    assert count(world.database, Assignment, Assignment.state == "held") == 2
    asked = services.consents.text_to_agree(project, ana)
    assert asked is not None
    assert (asked.text, asked.is_changed) == (SECOND, True)
    given = services.consents.consents(project)
    assert given is not None
    assert (given[ana].sha256, given[ana].is_current) == (digest(FIRST), False)
    services.consents.agree(project, ana, digest(SECOND))
    saved = services.ratings.rate(first, ana, Decimal(2))
    assert saved.queue.pairs[0].id == second
    ask_for(services, project, FIRST)  # which they know, and agreed to
    services.ratings.rate(second, ana, Decimal(3))
    ask_for(services, project, "")
    assert services.consents.text_to_agree(project, ana) is None
    services.consents.agree(project, world.raters[1], digest(FIRST))  # it ended while they read it
    assert set(services.consents.consents(project) or ()) == {ana}
    assert services.assignment.queue(project, world.raters[1]).pairs
    check(world)


def test_whoever_agreed_to_an_earlier_text_is_counted_and_sees_it_among_their_projects(world, services):
    project, (ana, ben) = world.project, world.raters
    services.projects.create(ProjectSettings("another", consent=SECOND))
    users = {user.id: user for user in services.accounts.users()}

    def told() -> list[int]:
        """The number, and who of the two sees it."""
        lines = {user: services.overview.projects(users[user]) for user in (ana, ben)}
        seen = [user for user in lines if any(line.must_agree_anew for line in lines[user])]
        return [services.consents.count_to_renew(project), *seen]

    ask_for(services, project, FIRST)
    assert told() == [0]
    services.consents.agree(project, ana, digest(FIRST))
    assert told() == [0]
    ask_for(services, project, SECOND)  # ben never agreed
    assert told() == [1, ana]
    services.projects.add_member(project, users[ana].name, Role.WRITER)
    assert told() == [1, ana]  # one person in two roles
    services.consents.agree(project, ben, digest(SECOND))
    assert told() == [1, ana]
    ask_for(services, project, FIRST)  # which ana agreed to already
    assert told() == [1, ben]
    ask_for(services, project, "")
    assert told() == [0]
    ask_for(services, project, FIRST + SECOND)
    assert told() == [2, ana, ben]
    quality = QualityService(world.database)
    quality.pause(project, users[ben].name)  # asked once he is resumed
    assert services.consents.count_to_renew(project) == 1
    services.projects.add_member(project, users[ben].name, Role.WRITER)  # for which he is asked now
    assert services.consents.count_to_renew(project) == 2
    quality.resume(project, users[ben].name)
    services.accounts.disable(users[ben].name)
    for role in (Role.RATER, Role.WRITER):
        services.projects.remove_member(project, users[ana].name, role)
    services.projects.add_member(project, users[ana].name, Role.EDITOR)
    assert told()[0] == 0
    assert ana not in told()


@pytest.mark.both_databases
def test_events_tell_who_agreed_and_what_the_text_was(world, services):
    project, ana = world.project, world.raters[0]
    ask_for(services, project, FIRST)
    at_once([lambda: services.consents.agree(project, ana, digest(FIRST))] * 4)
    ask_for(services, project, SECOND)
    assert count(world.database, Consent) == 1
    events = services.events.recent(project)
    agreed = [event for event in events if event.action == AGREED]
    assert [(event.user, event.detail) for event in agreed] == [("rater 0.0", {"text_sha256": digest(FIRST)})]
    shown = events_html(events)
    assert f"consent text: {len(FIRST)} → {len(SECOND)} characters" in shown
    assert "<summary>Consent text before</summary>" in shown
    assert FIRST in shown


def test_only_raters_and_writers_of_the_project_agree(world, services):
    ask_for(services, world.project, FIRST)
    services.accounts.add_user("eda")
    services.projects.add_member(world.project, "eda", Role.ADJUDICATOR)
    eda = services.accounts.user("eda").id
    for deed in (services.consents.text_to_agree, lambda *who: services.consents.agree(*who, digest(FIRST))):
        with pytest.raises(AccessError, match="role rater or writer"):
            deed(world.project, eda)
    assert count(world.database, Consent) == 0


def test_the_text_comes_before_training_and_a_new_one_stops_it(world, services):
    project, ana = world.project, world.raters[0]
    known = [KnownPair(NewPair(f"t{n}", TYPE, f"Dock {n} is wet.", f"wet {n}"), Decimal(3)) for n in range(2)]
    services.known_pairs.import_training(project, known)
    ask_for(services, project, FIRST)
    with asking():
        services.assignment.queue(project, ana)
    with asking():
        services.training.queue(project, ana)
    services.consents.agree(project, ana, digest(FIRST))
    with pytest.raises(TrainingPairsError):
        services.assignment.queue(project, ana)
    [pair] = services.training.queue(project, ana).pairs
    services.training.grade(pair.id, ana, Decimal(3))
    ask_for(services, project, SECOND)
    for deed in (
        lambda: services.training.grade(pair.id, ana, Decimal(3)),  # again: the next pair would come with it
        lambda: services.training.try_again(project, ana),
    ):
        with asking():
            deed()
    assert count(world.database, TrainingGrade) == 1


def test_writers_are_given_nothing_and_send_nothing_before_they_agree(database):
    office, services = open_office(database, items=2), open_services(database)
    project, wim = office.project.id, office.id("wim")
    ask_for(services, project, FIRST)
    with asking():
        office.writing.desk(project, wim)
    assert count(database, Writing) == 0
    services.consents.agree(project, wim, digest(FIRST))
    task = office.task("wim")
    office.writing.keep(task.id, wim, "a ferry", task.version)
    ask_for(services, project, SECOND)
    deeds: tuple[Callable[[], object], ...] = (
        lambda: office.writing.desk(project, wim),
        lambda: office.writing.task(task.id, wim),
        lambda: office.writing.keep(task.id, wim, "a ferry at noon", task.version + 1),
        lambda: office.writing.submit(task.id, wim, "a ferry at noon", task.version + 1),
        lambda: office.writing.leave_blank(task.id, wim),
    )
    for deed in deeds:
        with asking():
            deed()
    services.consents.agree(project, wim, digest(SECOND))
    kept = office.task("wim")
    assert (kept.id, kept.text, kept.state) == (task.id, "a ferry", "held")
    assert services.assignment.queue(project, wim).pairs == ()  # one agreement, also for rating


def test_work_that_waited_while_the_text_was_changed_is_refused(postgresql_database):
    """On PostgreSQL: SQLite has one transaction that writes at a time."""
    world, services = (
        new_world(postgresql_database, pairs=1, raters=2, k=2),
        open_services(postgresql_database),
    )
    [pair], (ana, ben) = world.pairs, world.raters
    services.assignment.queue(world.project, ana)
    with ThreadPoolExecutor() as pool:
        with postgresql_database.session() as session:
            lock_pair(session.connection(), pair)
            rating = pool.submit(services.ratings.rate, pair, ana, Decimal(2))
            claim = pool.submit(services.assignment.queue, world.project, ben)
            time.sleep(MOMENT)
            pool.submit(ask_for, services, world.project, FIRST).result(timeout=20)
            assert not rating.done()
            assert not claim.done()
        with asking():
            rating.result(timeout=20)
        assert claim.result(timeout=20).pairs == ()
    with postgresql_database.reading() as session:
        assert session.scalars(select(Assignment.rater_id)).all() == [ana]
    check(world)


def test_grades_from_files_bring_no_agreement_and_gold_sets_say_so(world, services, tmp_path):
    project, (ana, ben) = world.project, world.raters
    options = ExportOptions(unfinished=Unfinished.LEAVE_OUT)
    ids = [f"secret id {number}" for number in range(4)]
    services.importing.import_pairs(project, [NewRating(id, "Cleo", Decimal(2)) for id in ids])
    ask_for(services, project, FIRST)
    for rater in (ana, ben):
        services.consents.agree(project, rater, digest(FIRST))
    for rater in (ana, ben):
        queue = services.assignment.queue(project, rater)
        services.ratings.rate(queue.pairs[0].id, rater, Decimal(2))
    ask_for(services, project, SECOND)
    services.consents.agree(project, ben, digest(SECOND))
    by_name = {work.rater: work.consent for work in services.work.work(project)}
    assert by_name["Cleo"] is None
    assert [by_name[f"rater 0.{n}"].is_current for n in (0, 1)] == [False, True]
    written = services.gold.export(project, tmp_path / "gold", options).manifest
    assert written["consent"] == {
        "text": SECOND,
        "sha256": digest(SECOND),
        "raters": {"agreed": 1, "agreed_to_earlier_text": 1, "not_agreed": 1},
    }
    changes = [each for each in written["protocol_changes"] if each["setting"] == "consent"]
    assert [(each["before"], each["after"]) for each in changes] == [
        (digest(""), digest(FIRST)),
        (digest(FIRST), digest(SECOND)),
    ]
    assert written["earlier_consent"][digest(FIRST)] == FIRST
    ask_for(services, project, "")
    told = services.gold.export(project, tmp_path / "without", options).manifest["consent"]
    assert told == {
        "text": None,
        "sha256": None,
        "raters": {"agreed": 0, "agreed_to_earlier_text": 2, "not_agreed": 1},
    }


def test_a_text_saved_again_by_a_browser_or_with_space_around_it_is_the_same(world, services):
    ask_for(services, world.project, "\n One\r\ntwo\rthree \n")
    settings = services.projects.get(world.project).settings
    assert settings.consent == "One\ntwo\nthree"
    services.consents.agree(world.project, world.raters[0], digest("One\ntwo\nthree"))
    ask_for(services, world.project, "One\r\ntwo\r\nthree")
    assert services.consents.text_to_agree(world.project, world.raters[0]) is None
    ask_for(services, world.project, " \n ")
    assert services.projects.get(world.project).settings.consent == ""
    with pytest.raises(SettingsError, match="The consent text has 100,001 characters: give at most 100,000"):
        ask_for(services, world.project, "x" * 100_001)
