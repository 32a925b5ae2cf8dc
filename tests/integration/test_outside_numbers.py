"""Numbers from outside that no row can have: one sentence on both databases, never a traceback."""

from __future__ import annotations

from datetime import datetime

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from annotation.errors import NotFoundError
from annotation.services.bundle import open_services
from annotation.services.leaderboard import SystemService
from annotation.services.sign_in import start_session
from annotation.types import Role
from annotation.web.mount import add_annotation_routes
from annotation.web.responder import COOKIE
from db.models import User
from tests.raters import new_world

NUMBERS = [2**31, 2**63, 10**30, -1, 0, -(2**63)]


@pytest.mark.parametrize("number", NUMBERS)
def test_no_row_has_such_a_number(invitations, database, project, number):
    services = open_services(database)
    for call in (
        lambda: invitations.revoke(number),
        lambda: invitations.invite(project_id=number, role=Role.RATER),
        lambda: services.projects.get(number),
        lambda: SystemService(database).board(project, number),
        lambda: SystemService(database).remove(project, number),
    ):
        with pytest.raises(NotFoundError, match="There is no "):
            call()


def plain_routes(parts):
    """The routes among them, and those of the routers that are included."""
    for part in parts:
        if router := getattr(part, "original_router", None):
            yield from plain_routes(router.routes)
        else:
            yield part


def test_every_address_with_a_number_answers_in_a_sentence(database):
    world = new_world(database, pairs=1, raters=1, k=1)
    server = FastAPI()
    add_annotation_routes(server, open_services(database))
    client = TestClient(server, headers={"accept": "application/json"})
    with database.session() as session:
        session.get_one(User, world.raters[0]).is_administrator = True
        client.cookies.set(COOKIE, start_session(session, world.raters[0], datetime.now().astimezone()))
    included = [part for part in server.routes if hasattr(part, "original_router")]
    routes = [route for route in plain_routes(included) if "{" in route.path]
    assert len(routes) > 15
    for route in routes:
        for number in NUMBERS:
            path = route.path.format(**dict.fromkeys(route.param_convertors, number))
            for query in ("", f"?gold={number}&threshold={number}&model={number}"):
                for method in route.methods or ():
                    answer = client.request(method, path + query, json={})
                    assert answer.status_code < 500, (method, path, answer.text)


@pytest.mark.parametrize("number", [*NUMBERS[:-2], -(2**63)])
def test_a_grade_or_a_time_of_that_size_is_refused_or_cut(database, number):
    world = new_world(database, pairs=1, raters=1, k=1)
    server = FastAPI()
    add_annotation_routes(server, open_services(database))
    client = TestClient(server, headers={"accept": "application/json"})
    with database.session() as session:
        client.cookies.set(COOKIE, start_session(session, world.raters[0], datetime.now().astimezone()))
    [pair, *_] = client.get(f"/annotate/api/projects/{world.project}/queue").json()["pairs"]
    path = f"/annotate/api/pairs/{pair['id']}/rating"
    refused = client.put(path, json={"grade": number, "seconds": 1})
    assert refused.status_code == 422, refused.text
    kept = client.put(path, json={"grade": 2, "seconds": number})
    assert kept.status_code == (200 if number > 0 else 422), kept.text
