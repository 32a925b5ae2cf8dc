"""Many raters stop for the day while an import has graded what they hold."""

from __future__ import annotations

import asyncio
from datetime import datetime

import httpx
from fastapi import FastAPI

from annotation.services.accounts import InvitationService
from annotation.services.assignment import AssignmentService
from annotation.services.consents import ConsentService
from annotation.services.quality import TrainingService
from annotation.services.rater_queue import lock_pair
from annotation.services.ratings import RatingService
from annotation.services.sign_in import SignInService, start_session
from annotation.web.responder import COOKIE
from annotation.web.routes import PairNames, build_rating_routes
from annotation.web.sign_in import add_account_pages
from tests.raters import World, new_world

API = "http://test/annotate/api"
STOPPING = 45
SOON = 5
"""Seconds; who stops waits for 15."""


def serve(world: World) -> FastAPI:
    server, database = FastAPI(), world.database
    add_account_pages(server, SignInService(database), InvitationService(database))
    assignments = AssignmentService(database)
    ratings = RatingService(database, assignments=assignments)
    names = PairNames(lambda: b"key")
    server.include_router(
        build_rating_routes(
            assignments,
            ratings,
            TrainingService(database),
            ConsentService(database),
            names,
        )
    )
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
