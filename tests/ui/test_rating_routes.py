"""The JSON interface of the rating page: shapes, refusals in sentences, and what raters must not see."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import threading
import time
from contextlib import closing
from dataclasses import replace
from datetime import datetime

import httpx
import pytest
from fastapi import APIRouter, FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import delete, event, select

from annotation.services.accounts import InvitationService
from annotation.services.bundle import open_services
from annotation.services.consents import ConsentService
from annotation.services.imports import ImportService
from annotation.services.sign_in import SignInService, start_session
from annotation.services.tokens import TokenService
from annotation.types import NewPair
from annotation.web.api import LARGEST_BODY, json_route
from annotation.web.mount import add_annotation_routes
from annotation.web.responder import COOKIE
from annotation.web.routes import GradeBody, PairNames, build_consent_routes, build_rating_routes
from annotation.web.sign_in import add_account_pages
from annotation.wording import whole_in
from db.errors import DamagedError, UnreachableError, UnwritableError
from db.models import Membership, Rating
from tests.databases import spoil
from tests.raters import World, new_world

API = "/annotate/api"
CLOCK = re.compile(r"T\d\d:\d\d:\d\d\.\d{6}")
AWKWARD = '<script>alert("1")</script> שלום 短語 🦜 &amp;\u2028\n' + "x" * 300


class PlainNames(PairNames):
    """Names that are the ids, for tests to tell pairs by."""

    def name_of(self, pair_id: int, *, is_repeat: bool = False) -> int:
        return pair_id

    def find(self, name: str) -> tuple[int, bool] | None:
        found = whole_in(name)
        return None if found is None else (found, False)


class Browser:
    """A browser in which one rater is signed in."""

    def __init__(self, server: FastAPI, world: World, rater: int | None) -> None:
        self.world = world
        self.client = TestClient(server, headers={"accept": "application/json"})
        if rater is not None:
            with world.database.session() as session:
                token = start_session(session, rater, datetime.now().astimezone())
            self.client.cookies.set(COOKIE, token)

    def get(self, path: str, **options):
        return self.client.get(f"{API}/{path}", **options)

    def send(self, method: str, path: str, body: object = None, **options):
        return self.client.request(method, f"{API}/{path}", json=body, **options)

    def queue(self) -> dict:
        response = self.get(f"projects/{self.world.project}/queue")
        assert response.status_code == 200, response.text
        return response.json()

    def rate(self, pair: int, grade: object = 2.75, seconds: object = 12.3):
        return self.send("PUT", f"pairs/{pair}/rating", {"grade": grade, "seconds": seconds})


@pytest.fixture
def world(sqlite_database) -> World:
    return new_world(sqlite_database, pairs=5, raters=2, k=2)


@pytest.fixture
def server(world) -> FastAPI:
    server = FastAPI()
    add_account_pages(
        server, SignInService(world.database), InvitationService(world.database), TokenService(world.database)
    )
    server.include_router(build_rating_routes(open_services(world.database), PlainNames(bytes)))
    server.include_router(build_consent_routes(ConsentService(world.database)))
    return server


@pytest.fixture
def browser(server, world) -> Browser:
    return Browser(server, world, world.raters[0])


def test_the_queue_has_the_project_the_progress_and_two_pairs(browser, world):
    assert browser.queue() == {
        "project": {"id": world.project, "name": "Project 0", "step": 0.25, "may_revise": True},
        "progress": {"rated": 0, "total": 5},
        "pairs": [pair_shown(browser, world.pairs[0]), pair_shown(browser, world.pairs[1])],
        "waiting": False,
        "share_graded": False,
    }


def test_a_text_to_agree_to_comes_in_place_of_the_queue_and_again_when_it_changes(browser, world):
    services = open_services(world.database)

    def ask_for(text: str) -> None:
        now = services.projects.get(world.project).settings
        services.projects.update(world.project, replace(now, consent=text))

    agree = f"projects/{world.project}/consent"
    ask_for("Take *part*?")
    first = browser.queue()
    assert set(first) == {"consent"}
    told = first["consent"]
    assert (told["html"], told["changed"]) == ('<p dir="auto">Take <em>part</em>?</p>\n', False)
    assert browser.send("POST", agree, {"sha256": told["sha256"]}).json() == {}
    pair = browser.queue()["pairs"][0]["id"]
    ask_for("<script>alert(1)</script>")
    refused = browser.rate(pair)
    assert (refused.status_code, "text to agree to" in refused.json()["error"]) == (428, True)
    late = browser.send("POST", agree, {"sha256": told["sha256"]})
    assert (late.status_code, "changed while you read it" in late.json()["error"]) == (428, True)
    assert browser.send("POST", agree, {"sha256": 7}).status_code == 422
    told = browser.queue()["consent"]
    assert told["changed"]
    assert "<script" not in told["html"]
    browser.send("POST", agree, {"sha256": told["sha256"]})
    assert browser.rate(pair).status_code == 200


def test_who_stops_for_today_gives_the_pairs_at_hand_to_others_at_once(server, sqlite_database):
    world = new_world(sqlite_database, pairs=2, raters=2, k=1)
    leaving, staying = (Browser(server, world, rater) for rater in world.raters)
    assert len(leaving.queue()["pairs"]) == 2
    assert staying.queue()["waiting"]
    answer = leaving.send("POST", f"projects/{world.project}/stop")
    assert (answer.status_code, answer.json()) == (200, {})
    assert [pair["id"] for pair in staying.queue()["pairs"]] == list(world.pairs)


def test_a_body_where_none_is_taken_is_refused_and_nothing_is_done(server, sqlite_database):
    world = new_world(sqlite_database, pairs=1, raters=2, k=1)
    leaving, staying = (Browser(server, world, rater) for rater in world.raters)
    assert len(leaving.queue()["pairs"]) == 1
    for path in ("stop", "training"):
        answer = leaving.send("POST", f"projects/{world.project}/{path}", {"pair": 1})
        assert (answer.status_code, answer.json()["error"]) == (422, "This address takes no body: send none.")
    assert staying.queue()["pairs"] == []
    assert leaving.send("POST", f"projects/{world.project}/stop", {}).status_code == 200
    assert len(staying.queue()["pairs"]) == 1


def test_who_is_no_rater_in_a_project_has_nothing_to_stop_there(server, world):
    from_elsewhere = Browser(server, world, new_world(world.database, pairs=1, raters=1, k=1).raters[0])
    answer = from_elsewhere.send("POST", f"projects/{world.project}/stop")
    assert (answer.status_code, "not a rater in" in answer.json()["error"]) == (403, True)


def pair_shown(browser: Browser, pair: int, **said: object) -> dict:
    number = browser.get(f"pairs/{pair}").json()["right"].rsplit(" ", 1)[-1]
    return {
        "id": pair,
        "type": "sentence2phrase",
        "type_label": "sentence to phrase",
        "larger_label": "Sentence",
        "smaller_label": "Phrase",
        "question": "How much of the sentence's meaning does the phrase carry?",
        "left": f"The ferry {number} leaves the old harbour at noon, and the gulls follow it.",
        "right": f"a noon ferry {number}",
        "grade": None,
        "comment": "",
        "flagged": False,
        "rated_at": None,
        **said,
    }


def test_a_saved_grade_brings_the_next_pairs(browser, world):
    browser.queue()
    answer = browser.rate(world.pairs[0]).json()
    assert list(answer) == ["saved_at", "progress", "pairs", "waiting", "share_graded"]
    assert datetime.fromisoformat(answer["saved_at"]).tzinfo is not None
    assert answer["progress"] == {"rated": 1, "total": 5}
    assert [pair["id"] for pair in answer["pairs"]] == list(world.pairs[1:3])
    graded = pair_shown(browser, world.pairs[0], grade=2.75, rated_at=answer["saved_at"])
    assert browser.get(f"projects/{world.project}/history").json() == {"pairs": [graded]}
    with world.database.reading() as session:
        [rating] = session.scalars(select(Rating))
    assert (rating.quarters, rating.seconds) == (11, 12.3)


def test_zero_is_saved_as_zero(browser, world):
    browser.queue()
    assert browser.rate(world.pairs[0], 0, 0).status_code == 200
    assert browser.get(f"pairs/{world.pairs[0]}").json()["grade"] == 0


def test_a_skip_answers_like_a_grade(browser, world):
    browser.queue()
    said = {"reason": "not_my_language", "note": AWKWARD}
    answer = browser.send("POST", f"pairs/{world.pairs[0]}/skip", said).json()
    assert list(answer) == ["saved_at", "progress", "pairs", "waiting", "share_graded"]
    assert [pair["id"] for pair in answer["pairs"]] == list(world.pairs[1:3])
    assert answer["progress"] == {"rated": 0, "total": 4}


def test_a_comment_comes_back_letter_by_letter(browser, world):
    browser.queue()
    answer = browser.send("PUT", f"pairs/{world.pairs[0]}/comment", {"text": AWKWARD, "flagged": True})
    assert list(answer.json()) == ["saved_at"]
    first = browser.queue()["pairs"][0]
    assert (first["comment"], first["flagged"]) == (AWKWARD, True)


def test_waiting_is_told(server, browser, world):
    quick = world.raters[1]
    other = Browser(server, world, quick)
    with world.database.session() as session:
        session.execute(delete(Membership).where(Membership.user_id == quick))
    assert other.get(f"projects/{world.project}/queue").status_code == 403
    alone = new_world(world.database, pairs=1, raters=2, k=1)
    first, second = (Browser(server, alone, rater) for rater in alone.raters)
    assert first.queue()["waiting"] is False
    answer = second.queue()
    assert (answer["pairs"], answer["waiting"], answer["progress"]) == ([], True, {"rated": 0, "total": 0})


def test_a_share_that_is_graded_is_told_with_its_last_grade(server, sqlite_database):
    world = new_world(sqlite_database, pairs=3, raters=1, k=1, most_per_rater=1)
    rater = Browser(server, world, world.raters[0])
    assert rater.queue()["share_graded"] is False
    answer = rater.rate(world.pairs[0]).json()
    assert answer["progress"] == {"rated": 1, "total": 1}
    assert (answer["pairs"], answer["waiting"], answer["share_graded"]) == ([], False, True)


def test_texts_come_as_they_were_imported(server, browser, world):
    texts = {"left": AWKWARD, "right": "</textarea>" + AWKWARD}
    own = new_world(world.database, pairs=1, raters=1, k=1)
    ImportService(world.database).import_pairs(own.project, [NewPair("odd", "sentence2phrase", **texts)])
    rater = Browser(server, own, own.raters[0])
    given = {pair["left"]: pair["right"] for pair in rater.queue()["pairs"]}
    assert texts["right"].strip() in {right.strip() for right in given.values()}
    assert texts["left"].strip() in {left.strip() for left in given}


def test_raters_learn_nothing_that_could_sway_them(server, browser, world):
    other = Browser(server, world, world.raters[1])
    other.queue()
    other.rate(world.pairs[0], 3.25, 77)
    other.send("PUT", f"pairs/{world.pairs[0]}/comment", {"text": "a secret opinion", "flagged": True})
    pair = world.pairs[0]
    answers = [
        browser.get(f"projects/{world.project}/queue"),
        browser.get(f"pairs/{pair}"),
        browser.send("PUT", f"pairs/{pair}/comment", {"text": "mine", "flagged": False}),
        browser.rate(pair, 1),
        browser.rate(pair, 2),
        browser.send("POST", f"pairs/{world.pairs[1]}/skip", {"reason": "other", "note": ""}),
        browser.get(f"projects/{world.project}/history"),
        browser.rate(world.pairs[4], 1),
    ]
    text = "".join(f"{answer.text}{dict(answer.headers)}" for answer in answers)
    assert [answer.status_code for answer in answers] == [200] * 7 + [409]
    told = CLOCK.sub("", text)  # at 00:43:53.255598 stands a 3.25
    for hidden in ("secret", "genre", "intended", "source", "external", "rater ", "3.25"):
        assert hidden not in told
    own = {"id", "type", "type_label", "larger_label", "smaller_label", "question", "left", "right"}
    assert set(answers[1].json()) == own | {"grade", "comment", "flagged", "rated_at"}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "projects/{project}/queue"),
        ("GET", "projects/{project}/history"),
        ("GET", "pairs/{pair}"),
        ("PUT", "pairs/{pair}/rating"),
        ("POST", "pairs/{pair}/skip"),
        ("PUT", "pairs/{pair}/comment"),
    ],
)
def test_every_address_asks_who_you_are_and_whether_you_rate_here(server, browser, world, method, path):
    browser.queue()
    path = path.format(project=world.project, pair=world.pairs[0])
    body = {
        "rating": {"grade": 1, "seconds": 1},
        "skip": {"reason": "other", "note": ""},
        "comment": {"text": "", "flagged": False},
    }.get(path.rsplit("/", 1)[-1])
    stranger = Browser(server, world, new_world(world.database, pairs=1, raters=1).raters[0])
    for who, status in ((Browser(server, world, None), 401), (stranger, 403), (browser, 200)):
        response = who.send(method, path, body)
        assert response.status_code == status
        assert (status == 200) != (list(response.json()) == ["error"])


def test_a_page_made_for_somebody_else_saves_nothing(browser, world):
    browser.queue()
    path, body = f"pairs/{world.pairs[0]}/rating", {"grade": 1, "seconds": 1}
    other = browser.send("PUT", path, body, headers={"x-rater": str(world.raters[1])})
    assert other.status_code == 401
    assert "Somebody else is signed in" in other.json()["error"]
    mine = browser.send("PUT", path, body, headers={"x-rater": str(world.raters[0])})
    assert mine.status_code == 200


@pytest.mark.parametrize(
    ("sent", "status", "said"),
    [
        ('{"grade": 2.1, "seconds": 1}', 422, "A grade is 0 to 4 in steps of 0.25, not 2.1."),
        ('{"grade": 2.7500000000000000000000001, "seconds": 1}', 422, "not 2.7500000000000000000000001."),
        ('{"grade": 1e999999999, "seconds": 1}', 422, "A grade is 0 to 4"),
        ('{"grade": 1e-999999, "seconds": 1}', 422, "A grade is 0 to 4"),
        ('{"grade": "2", "seconds": 1}', 422, "'grade' is a number, not \"2\"."),
        ('{"grade": true, "seconds": 1}', 422, "'grade' is a number, not true."),
        ('{"grade": null, "seconds": 1}', 422, "'grade' is a number, not null."),
        ('{"grade": NaN, "seconds": 1}', 422, "not JSON"),
        ('{"grade": 2, "seconds": Infinity}', 422, "not JSON"),
        ('{"grade": 2, "seconds": -1}', 422, "'seconds' is 0 or more, not -1."),
        ('{"grade": 2}', 422, "The request has no 'seconds'"),
        ('{"grade": 2, "seconds": 1, "rater": 2}', 422, 'unknown field "rater"'),
        ("[2]", 422, "The request is [2]: send a JSON object."),
        ("", 422, "not JSON"),
        ("\udcff", 422, "not JSON"),
        ("[" * 60_000, 422, "not JSON"),
        (f'{{"grade": {"9" * 5000}, "seconds": 1}}', 422, "not JSON"),
        (" " * (LARGEST_BODY + 1), 413, "at most 65,536 bytes"),
    ],
)
def test_a_bad_grade_is_refused_in_a_sentence_and_changes_nothing(browser, world, sent, status, said):
    before = browser.queue()
    content = sent.encode("utf-8", "surrogateescape")
    response = browser.client.put(f"{API}/pairs/{world.pairs[0]}/rating", content=content)
    assert response.status_code == status
    error = response.json()["error"]
    assert said in error
    assert len(error) < 200
    assert browser.queue() == before


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("skip", {"reason": "bored", "note": ""}, "'reason' is not_understood, broken_text, not_my"),
        (
            "skip",
            {"reason": "other", "note": "x" * 2_001},
            "The note has 2,001 characters: give at most 2,000",
        ),
        ("skip", {"reason": "other"}, "The request has no 'note'"),
        ("comment", {"text": "x" * 4_001, "flagged": False}, "The comment has 4,001 characters"),
        ("comment", {"text": "x", "flagged": 1}, "'flagged' is true or false, not 1."),
        ("comment", {"text": None, "flagged": True}, "'text' is a text, not null."),
    ],
)
def test_a_bad_skip_or_comment_is_refused_in_a_sentence(browser, world, path, body, said):
    before = browser.queue()
    method = "POST" if path == "skip" else "PUT"
    response = browser.send(method, f"pairs/{world.pairs[0]}/{path}", body)
    assert response.status_code == 422
    assert said in response.json()["error"]
    assert browser.queue() == before


def test_half_a_character_in_a_comment_does_no_harm(browser, world):
    browser.queue()
    content = b'{"text": "a\\ud83d b\\u0000", "flagged": false}'
    assert browser.client.put(f"{API}/pairs/{world.pairs[0]}/comment", content=content).status_code == 200
    assert browser.get(f"pairs/{world.pairs[0]}").json()["comment"] == "a\ufffd b\ufffd"


@pytest.mark.parametrize("name", ["0", "99999999", "9" * 19, "9" * 400, "-1", "1.5", "%F0%9F%A6%9C", "1%00"])
def test_no_such_pair_or_project_is_a_sentence(browser, name):
    for path in (f"pairs/{name}", f"projects/{name}/queue"):
        response = browser.get(path)
        assert response.status_code == 404
        assert response.json()["error"].startswith(("There is no such pair", "There is no project"))


def test_conflicts_are_told_apart_from_mistakes(browser, world):
    browser.queue()
    response = browser.rate(world.pairs[4])
    assert response.status_code == 409
    assert "was not given to you" in response.json()["error"]


def test_the_latest_answers_are_twenty(server, world):
    many = new_world(world.database, pairs=25, raters=1, k=1)
    rater = Browser(server, many, many.raters[0])
    pairs = rater.queue()["pairs"]
    while pairs:
        pairs = rater.rate(pairs[0]["id"]).json()["pairs"]
    answers = rater.get(f"projects/{many.project}/history").json()["pairs"]
    assert [pair["id"] for pair in answers] == list(reversed(many.pairs[5:]))


def test_answers_are_json_and_kept_by_nobody(browser, world):
    response = browser.get(f"projects/{world.project}/queue")
    assert response.headers["content-type"] == "application/json"
    assert response.headers["cache-control"] == "no-store"
    assert json.loads(response.content)["pairs"]


def test_a_database_that_does_not_answer_is_told_without_its_name(world, monkeypatch):
    """The page sends the grade again, so it must learn that this was no refusal."""
    monkeypatch.setattr("db.database.WAIT_SECONDS", 0.05)
    server = FastAPI()
    add_annotation_routes(server, open_services(world.database))
    browser = Browser(server, world, world.raters[0])
    pair = browser.queue()["pairs"][0]["id"]
    world.database.dispose()
    event.listen(world.database.engine, "connect", lambda raw, _: raw.execute("PRAGMA busy_timeout = 50"))
    with closing(sqlite3.connect(world.database.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        locked = browser.rate(pair)
        form = {"name": "<b>ana", "password": "wrong", "next": "/annotate/"}
        signing_in = browser.client.post("/sign-in", data=form, headers={"accept": "text/html"})
    world.database.dispose()
    file = world.database.path
    file.rename(file.with_suffix(".moved"))
    file.mkdir()
    gone = browser.rate(pair)
    opened = browser.client.get("/annotate/rate?project=1", headers={"accept": "text/html"})
    for answer, words in ((signing_in, 'value="&lt;b&gt;ana"'), (opened, "Try again")):
        assert (answer.status_code, answer.headers["content-type"]) == (503, "text/html; charset=utf-8")
        assert UnreachableError.for_users in answer.text
        assert words in answer.text
    for answer in (locked, gone):
        assert (answer.status_code, answer.json()) == (503, {"error": UnreachableError.for_users})
        assert answer.headers["retry-after"] == "5"
    file.rmdir()
    file.with_suffix(".moved").rename(file)
    assert browser.rate(pair).status_code == 200


def test_a_full_disk_is_told_to_who_can_wait_for_room(world):
    server = FastAPI()
    add_annotation_routes(server, open_services(world.database))
    browser = Browser(server, world, world.raters[0])
    pair = browser.queue()["pairs"][0]["id"]
    with sqlite3.connect(world.database.path) as file:  # no page of the upgrades is left to be used
        file.execute("VACUUM")
    pages = [1]

    @event.listens_for(world.database.engine, "checkout")
    def limit(connection, *_) -> None:
        connection.execute(f"PRAGMA max_page_count = {pages[-1]}")  # SQLite raises 1 to what there are

    said = {"text": "🦜" * 4000, "flagged": True}  # four pages
    full = browser.send("PUT", f"pairs/{pair}/comment", said)
    assert (full.status_code, full.json()) == (507, {"error": UnwritableError.for_users})
    pages.append(1_000_000)
    assert browser.send("PUT", f"pairs/{pair}/comment", said).status_code == 200


def test_a_damaged_database_is_told_as_such_and_not_to_be_asked_again(world):
    server = FastAPI()
    add_annotation_routes(server, open_services(world.database))
    browser = Browser(server, world, world.raters[0])
    pair = browser.queue()["pairs"][0]["id"]
    spoil(world.database, "ratings")  # behind the sign-in
    behind = browser.rate(pair)
    spoil(world.database, "user_sessions")  # what the guard reads
    before = browser.rate(pair)
    for answer in (behind, before):
        assert (answer.status_code, answer.json()) == (503, {"error": DamagedError.for_users})
        assert "retry-after" not in answer.headers


def test_who_sends_slowly_keeps_nobody_waiting_and_only_so_many_are_worked_on():
    at_work, most = 0, 0
    busy = threading.Lock()
    router = APIRouter(route_class=json_route(2))

    @router.put("/grade")
    def grade(body: GradeBody) -> dict[str, int]:
        nonlocal at_work, most
        with busy:
            at_work += 1
            most = max(most, at_work)
        time.sleep(0.05)
        with busy:
            at_work -= 1
        return {"grade": int(body.grade)}

    [route] = router.routes
    # As older versions of FastAPI make it again.
    assert type(route)(route.path, route.endpoint).endpoint is route.endpoint
    server = FastAPI()
    server.include_router(router)

    async def ask() -> list[int]:
        others_are_served = asyncio.Event()

        async def slowly():
            yield b'{"grade": 1, '
            await others_are_served.wait()
            yield b'"seconds": 1}'

        async with httpx.AsyncClient(transport=httpx.ASGITransport(server), base_url="http://x") as client:
            slow = [asyncio.create_task(client.put("/grade", content=slowly())) for _ in range(2)]
            await asyncio.sleep(0)
            quick = [client.put("/grade", json={"grade": 2, "seconds": 1}) for _ in range(6)]
            answers = await asyncio.wait_for(asyncio.gather(*quick), 30)
            others_are_served.set()
            return [answer.json()["grade"] for answer in (*answers, *await asyncio.gather(*slow))]

    assert asyncio.run(ask()) == [2] * 6 + [1] * 2
    assert most == 2
