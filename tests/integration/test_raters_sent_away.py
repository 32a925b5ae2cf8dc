"""Raters who are disabled, removed or paused while they work: nothing stays with them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import UTC, datetime

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import select, text
from sqlalchemy.orm import Session

from annotation.errors import SettingsError
from annotation.services.accounts import AccountService, InvitationService
from annotation.services.assignment import AssignmentService
from annotation.services.bundle import open_services
from annotation.services.project_rows import find_project
from annotation.services.projects import ProjectService
from annotation.services.quality import QualityService
from annotation.services.rater_queue import lock_pair, open_context
from annotation.services.sign_in import SignInService, start_session
from annotation.services.tokens import TokenService
from annotation.web.responder import COOKIE
from annotation.web.routes import PairNames, build_rating_routes
from annotation.web.sign_in import add_account_pages
from db.models import Assignment, Membership, Pair, User
from tests.raters import World, check, new_world

MOMENT = 0.3
"""Long enough for somebody to come to a lock, in seconds."""


@dataclass(frozen=True)
class Work:
    """A rater who holds two pairs, and how they are sent away."""

    world: World
    assignments: AssignmentService
    send_away: Callable[[], object]

    @property
    def rater(self) -> int:
        return self.world.raters[0]

    def held(self) -> list[int]:
        mine = select(Assignment.pair_id).where(Assignment.rater_id == self.rater, Assignment.state == "held")
        with self.world.database.reading() as session:
            return list(session.scalars(mine))


@pytest.fixture(params=["disabled", "removed", "paused"])
def work(request, postgresql_database) -> Work:
    """On PostgreSQL: SQLite has one transaction that writes at a time."""
    database = postgresql_database
    world, assignments = new_world(database, pairs=6, raters=2, k=2), AssignmentService(database)
    ways = {
        "disabled": lambda: AccountService(database).disable("rater 0.0"),
        "removed": lambda: ProjectService(database).remove_member(world.project, "rater 0.0"),
        "paused": lambda: QualityService(database).pause(world.project, "rater 0.0"),
        "stopped": lambda: assignments.give_back(world.project, world.raters[0]),
    }
    for rater in world.raters:
        assert len(assignments.queue(world.project, rater).pairs) == 2
    return Work(world, assignments, ways[request.param])


@pytest.fixture
def meanwhile() -> Iterator[Executor]:
    with ThreadPoolExecutor(1) as executor:
        yield executor


def test_a_pair_that_somebody_else_grades_at_that_moment_goes_back_too(work, meanwhile):
    with work.world.database.session() as session:
        lock_pair(session.connection(), work.world.pairs[0])
        gone = meanwhile.submit(work.send_away)
        wait([gone], MOMENT)
        theirs = select(Membership.role).where(Membership.user_id == work.rater)
        session.execute(theirs.with_for_update(nowait=True))  # which may come after the pair: nobody has it
    gone.result(10)
    assert work.held() == []
    check(work.world)


def test_a_claim_that_is_under_way_is_waited_for(work, meanwhile):
    with work.world.database.session() as session:
        connection, now = session.connection(), datetime.now(UTC)
        desk = open_context(connection, work.world.project, work.rater, now)
        assert len(work.assignments.fill(connection, desk, now, count=3).pairs) == 3
        gone = meanwhile.submit(work.send_away)
        wait([gone], MOMENT)
    gone.result(10)
    assert work.held() == []
    check(work.world)


@pytest.mark.parametrize("work", ["disabled", "removed", "paused", "stopped"], indirect=True)
def test_who_waits_for_an_import_has_no_pair_locked_that_it_comes_to_later(work, meanwhile):
    low, high = sorted(work.held())
    with work.world.database.session() as session:
        find_project(session, work.world.project, lock=True)
        lock_pair(session.connection(), high)
        gone = meanwhile.submit(work.send_away)
        until_it_waits(session)
        session.execute(select(Pair.id).where(Pair.id == low).with_for_update(nowait=True))
    gone.result(10)
    assert work.held() == []
    check(work.world)


@pytest.mark.parametrize("work", ["disabled", "stopped"], indirect=True)
def test_an_import_that_rates_none_of_the_pairs_keeps_nobody_waiting(work, meanwhile):
    with work.world.database.session() as session:
        find_project(session, work.world.project, lock=True)
        meanwhile.submit(work.send_away).result(10)
        assert work.held() == []


@pytest.mark.parametrize("work", ["disabled"], indirect=True)
def test_an_account_is_out_before_an_import_lets_go_of_its_pairs(work, meanwhile):
    with work.world.database.session() as session:
        lock_pair(session.connection(), min(work.held()))
        gone = meanwhile.submit(work.send_away)
        until_it_waits(session)
        assert session.get(User, work.rater).disabled_at is not None
    gone.result(10)
    assert work.held() == []


def until_it_waits(session: Session) -> None:
    """Until somebody waits for what this transaction has locked."""
    waits = text(
        "SELECT count(*) FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))"
    )
    until = time.monotonic() + 10
    while not session.scalar(waits):
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_request_that_began_before_claims_nothing_after(work, meanwhile):
    with work.world.database.session() as session:
        connection, now = session.connection(), datetime.now(UTC)
        desk = open_context(connection, work.world.project, work.rater, now)
        meanwhile.submit(work.send_away).result(10)
        assert work.assignments.fill(connection, desk, now).pairs == ()
    assert work.held() == []
    check(work.world)


def test_the_last_administrator_is_not_disabled_and_keeps_the_pairs(database):
    world = new_world(database, pairs=2, raters=1)
    held = AssignmentService(database).queue(world.project, world.raters[0]).pairs
    accounts = AccountService(database)
    accounts.set_password("rater 0.0", "a long and quiet harbour")
    accounts.set_administrator("rater 0.0", True)
    with pytest.raises(SettingsError, match="the last administrator"):
        accounts.disable("rater 0.0")
    assert AssignmentService(database).queue(world.project, world.raters[0]).pairs == held


API = "http://test/annotate/api"
STOPPING = 45
SOON = 5
"""Seconds; who stops waits for 15."""


def serve(world: World) -> FastAPI:
    server, database = FastAPI(), world.database
    add_account_pages(server, SignInService(database), InvitationService(database), TokenService(database))
    server.include_router(build_rating_routes(open_services(database), PairNames(lambda: b"key")))
    return server


def signed_in(world: World, server: FastAPI, rater: int) -> httpx.AsyncClient:
    with world.database.session() as session:
        token = start_session(session, rater, datetime.now().astimezone())
    transport = httpx.ASGITransport(server)
    return httpx.AsyncClient(transport=transport, base_url=API, cookies={COOKIE: token})


async def grade_while_others_stop(world: World) -> None:
    server = serve(world)
    grader, *stopping = (signed_in(world, server, rater) for rater in world.raters)
    project = f"{API}/projects/{world.project}"
    queues = [(await rater.get(f"{project}/queue")).json() for rater in (*stopping, grader)]
    assert all(queue["pairs"] for queue in queues)
    with world.database.session() as session:
        lock_pair(session.connection(), min(world.pairs))
        stops = [asyncio.create_task(rater.post(f"{project}/stop")) for rater in stopping]
        await asyncio.sleep(1)
        assert not any(stop.done() for stop in stops)
        free = queues[-1]["pairs"][1]["id"]
        graded = grader.put(f"{API}/pairs/{free}/rating", json={"grade": 2, "seconds": 1})
        assert (await asyncio.wait_for(graded, SOON)).status_code == 200
    assert {(await stop).status_code for stop in stops} == {200}


def test_who_grades_does_not_wait_for_those_who_stop(postgresql_database):
    world = new_world(postgresql_database, pairs=3, raters=STOPPING + 1, k=STOPPING + 1, is_random=False)
    asyncio.run(grade_while_others_stop(world))
