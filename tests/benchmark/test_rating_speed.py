"""Speed of grading on both databases, through the real server, beside a bare FastAPI endpoint.

Prints what it measures; the only assertion is the ratio to the peer, never seconds. As a program it is the
bare endpoint: python -m tests.benchmark.test_rating_speed DATABASE_URL.
"""

from __future__ import annotations

import http.client
import itertools
import json
import os
import random
import re
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel
from sqlalchemy import text

from annotation.services.sign_in import start_session
from annotation.web.responder import COOKIE
from db import Database
from tests.databases import new_database
from tests.raters import World, new_world

pytestmark = pytest.mark.benchmark

ROOT = Path(__file__).parents[2]
PAIRS = 100_000
MOST_RATERS = 50
RATERS_PER_PAIR = 3
SECONDS = 3.0
KEPT_OPEN = 5
"""Seconds after which uvicorn closes a connection that says nothing."""
LEAST_RATIO = 0.5
"""At ten raters."""
ROUNDS = 3
"""Taken in turn with the peer, so that both meet the same other work on the machine."""


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def world(request, tmp_path_factory) -> Iterator[World]:
    with new_database(request.param, tmp_path_factory.mktemp("rating")) as database:
        yield new_world(database, pairs=PAIRS, raters=2 * MOST_RATERS, k=RATERS_PER_PAIR)


@contextmanager
def server(*command: str) -> Iterator[int]:
    """A server in a process of its own; the port that it says it has."""
    process = subprocess.Popen(
        [sys.executable, *command], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdout is not None
        said = re.search(r"127\.0\.0\.1:(\d+)", process.stdout.readline())
        assert said is not None
        port = int(said[1])
        wait_for(port)
        yield port
    finally:
        process.terminate()
        process.communicate(timeout=20)


def wait_for(port: int) -> None:
    for _ in range(600):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/healthz")
            connection.getresponse().read()
            connection.close()
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the server did not answer within a minute")


class Rater:
    """A browser's connection, and one grade after another over it."""

    def __init__(self, port: int, cookie: str = "") -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.headers = {"content-type": "application/json", "cookie": cookie}
        self.times: list[float] = []
        self.number = 0
        self.used = time.perf_counter()

    def send(self, method: str, path: str, body: object = None) -> dict:
        if time.perf_counter() - self.used > KEPT_OPEN / 2:
            self.connection.close()  # the server may have done so; the next request opens it again
        content = None if body is None else json.dumps(body)
        self.connection.request(method, path, content, self.headers)
        response = self.connection.getresponse()
        answer = response.read()
        self.used = time.perf_counter()
        assert response.status == 200, (response.status, answer[:300])
        return json.loads(answer)

    def grade(self, path: str) -> dict:
        self.number += 1
        started = time.perf_counter()
        answer = self.send("PUT", path, {"grade": self.number % 17 / 4, "seconds": 1.5})
        self.times.append(time.perf_counter() - started)
        return answer


def rate_together(
    raters: list[Rater], step: Callable[[Rater], None], *, pause: float = 0, seconds: float = SECONDS
) -> float:
    """Grades a second of all raters at once, each sending the next `pause` after the last was answered."""
    start = threading.Barrier(len(raters) + 1)
    failures: list[BaseException] = []

    def run(rater: Rater) -> None:
        start.wait()
        try:
            time.sleep(random.uniform(0, pause))
            while time.perf_counter() < until:
                step(rater)
                time.sleep(random.uniform(0.5, 1.5) * pause)
        except BaseException as failure:  # noqa: BLE001  # the test shows it
            failures.append(failure)

    threads = [threading.Thread(target=run, args=[rater]) for rater in raters]
    before = sum(rater.number for rater in raters)
    for thread in threads:
        thread.start()
    began = time.perf_counter()
    until = began + seconds
    start.wait()
    for thread in threads:
        thread.join()
    assert failures == []
    return (sum(rater.number for rater in raters) - before) / (time.perf_counter() - began)


class Page:
    """What the rating page does: grade the pair that is there, take the next from the answer."""

    def __init__(self, world: World, port: int) -> None:
        now = datetime.now(UTC)
        with world.database.session() as session:
            tokens = [start_session(session, rater, now) for rater in world.raters[:MOST_RATERS]]
        self.raters = [Rater(port, f"{COOKIE}={token}") for token in tokens]
        self.queue = f"/annotate/api/projects/{world.project}/queue"
        self.next: dict[Rater, int] = {}

    def open(self, count: int) -> list[Rater]:
        for rater in self.raters[:count]:
            self.next[rater] = rater.send("GET", self.queue)["pairs"][0]["id"]
        return self.raters[:count]

    def step(self, rater: Rater) -> None:
        answer = rater.grade(f"/annotate/api/pairs/{self.next[rater]}/rating")
        self.next[rater] = answer["pairs"][0]["id"]


class Bare:
    """The peer: no sign-in, no next pair; its raters, in groups, take the pairs from the end."""

    def __init__(self, world: World, port: int) -> None:
        self.ids = world.raters[MOST_RATERS:]
        self.raters = [Rater(port) for _ in self.ids]
        self.places = {rater: place for place, rater in enumerate(self.raters)}
        self.unused = reversed(world.pairs)
        self.pairs: dict[tuple[int, int], int] = {}
        self.choosing = threading.Lock()

    def step(self, rater: Rater) -> None:
        place = self.places[rater]
        turn = (place // RATERS_PER_PAIR, rater.number)
        with self.choosing:
            if turn not in self.pairs:
                self.pairs[turn] = next(self.unused)
        rater.grade(f"/pairs/{self.pairs[turn]}/raters/{self.ids[place]}")


def test_the_next_pair_of_a_hundred_thousand_comes_at_once(world, capsys):
    with server("app.py", "--port", "0", "--database-url", url_of(world.database)) as port:
        page = Page(world, port)
        ahead = page.open(1)
        rate_together(ahead, page.step)
        raters = page.open(20)
        rows = []
        for pause, seconds in ((1.0, 10.0), (0.0, SECONDS)):
            for rater in raters:
                rater.times.clear()
            speed = rate_together(raters, page.step, pause=pause, seconds=seconds)
            rows.append(f"  {pause:.0f} s between grades: {latency(raters)}, {speed:.0f} grades/s")
    with capsys.disabled():
        print(f"\ngrade saved and next pair there, {PAIRS:,} pairs, 20 raters, {surroundings(world)}")
        print(*rows, sep="\n")


def test_grades_a_second_beside_a_bare_endpoint(world, capsys):
    url = url_of(world.database)
    rows, ratios = [], {}
    with (
        server("app.py", "--port", "0", "--database-url", url) as port,
        server("-m", "tests.benchmark.test_rating_speed", url) as bare_port,
    ):
        page, bare = Page(world, port), Bare(world, bare_port)
        for count in (1, 10, MOST_RATERS):
            ours, peers = [], []
            for _ in range(ROUNDS):
                peers.append(rate_together(bare.raters[:count], bare.step))
                ours.append(rate_together(page.open(count), page.step))
            mine, peer = statistics.median(ours), statistics.median(peers)
            ratios[count] = mine / peer
            rows.append(
                f"  {count:3} raters  {mine:6.0f} grades/s  bare {peer:6.0f}/s  ratio {mine / peer:5.2f}"
                f"   {latency(page.raters[:count])}"
            )
            for rater in page.raters:
                rater.times.clear()
        with predictor(port):
            speed = rate_together(page.open(10), page.step)
        rows.append(f"   10 raters beside a predictor  {speed:.0f} grades/s   {latency(page.raters[:10])}")
    with capsys.disabled():
        print(f"\ngrades a second through app.py, {surroundings(world)}")
        print(*rows, sep="\n")
    assert ratios[10] >= LEAST_RATIO


@contextmanager
def predictor(port: int) -> Iterator[None]:
    """One that asks the default model for the keyphrases of one text after another."""
    asker, ended = Rater(port), threading.Event()

    def ask(number: int) -> None:
        asker.send("POST", "/api/predict", {"text": f"Graph kernels compare {number} molecules. " * 40})

    def ask_on() -> None:
        for number in itertools.takewhile(lambda _: not ended.is_set(), itertools.count(1)):
            ask(number)

    ask(0)  # the model is open from then on
    thread = threading.Thread(target=ask_on)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def latency(raters: list[Rater]) -> str:
    times = sorted(time for rater in raters for time in rater.times)
    p50, p95 = times[len(times) // 2], times[len(times) * 95 // 100]
    return f"p50 {p50 * 1000:.0f} ms, p95 {p95 * 1000:.0f} ms"


def surroundings(world: World) -> str:
    system = "SQLite" if world.database.is_sqlite else "PostgreSQL"
    return f"{system}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"


def url_of(database: Database) -> str:
    return database.url.set(drivername=database.url.get_backend_name()).render_as_string(hide_password=False)


# --- the peer: the statements of a rating, and nothing else

WRITES = tuple(
    text(statement)
    for statement in (
        "INSERT INTO assignments (project_id, pair_id, rater_id, state, position, claimed_at) "
        "SELECT project_id, id, :rater, 'rated', position, :now FROM pairs WHERE id = :pair",
        "INSERT INTO ratings (project_id, pair_id, rater_id, quarters, seconds, created_at, updated_at) "
        "SELECT project_id, id, :rater, :quarters, :seconds, :now, :now FROM pairs WHERE id = :pair",
        "INSERT INTO rating_history (project_id, pair_id, rater_id, quarters, seconds, origin, at) "
        "SELECT project_id, id, :rater, :quarters, :seconds, 'page', :now FROM pairs WHERE id = :pair",
        "UPDATE pairs SET open_slots = open_slots - 1, rating_count = rating_count + 1, "
        "low_quarters = (SELECT min(quarters) FROM ratings WHERE pair_id = :pair), "
        "high_quarters = (SELECT max(quarters) FROM ratings WHERE pair_id = :pair), "
        "spread_quarters = (SELECT max(quarters) - min(quarters) FROM ratings WHERE pair_id = :pair) "
        "WHERE id = :pair",
    )
)


class Grade(BaseModel):
    grade: float
    seconds: float


def serve_bare(url: str) -> None:
    database = Database(url)
    app = FastAPI()

    @app.put("/pairs/{pair}/raters/{rater}")
    def save(pair: int, rater: int, body: Grade) -> dict[str, str]:
        now = datetime.now(UTC).replace(tzinfo=None) if database.is_sqlite else datetime.now(UTC)
        values = {"pair": pair, "rater": rater, "quarters": int(body.grade * 4), "seconds": body.seconds}
        with database.session() as session:
            for write in WRITES:
                session.execute(write, {**values, "now": now.isoformat(" ") if database.is_sqlite else now})
        return {"saved_at": now.isoformat()}

    listener = socket.create_server(("127.0.0.1", 0))
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    print(f"127.0.0.1:{listener.getsockname()[1]}", flush=True)
    config = uvicorn.Config(app, log_level="warning", access_log=False)
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    serve_bare(sys.argv[1])
