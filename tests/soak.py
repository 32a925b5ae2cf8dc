"""Everything at once for minutes: raters, predictions, exports, backups, and a SIGKILL every few seconds.

As a program, python -m tests.soak --minutes 10, it runs on both databases, and then counts: every grade that
was acknowledged is there once, every pair has exactly k, α is that of the library `krippendorff`, gold is the
mean.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

import krippendorff
import numpy as np
from sqlalchemy import select

from annotation.services.assignment import AssignmentService
from annotation.services.bundle import open_services
from annotation.services.ratings import RatingService
from annotation.services.sign_in import start_session
from annotation.web.responder import COOKIE
from annotation.web.routes import PairNames
from db import Database
from db.models import Project, Rating
from tests.databases import new_database
from tests.raters import World, check, check_finished, new_world

ROOT = Path(__file__).parent.parent
RATERS = 6
PAIRS_A_MINUTE = 400
REVISED = 0.1
"""How often a rater changes an earlier grade instead of going on."""
KILL_SECONDS = (8.0, 16.0)
WAIT_SECONDS = 120
"""Until a server that was started answers, on a machine that does much else."""


def url_of(database: Database) -> str:
    return database.url.set(drivername=database.url.get_backend_name()).render_as_string(hide_password=False)


class Server:
    """`python app.py` on one port, which is killed and started again."""

    def __init__(self, url: str, folder: Path, *, port: int = 0) -> None:
        self._command = ["app.py", "--model", "first", "--device", "cpu", "--database-url", url]
        self._log = folder / "server.txt"
        self.port = port
        self.kills = 0
        self.process = self._start()

    def _start(self) -> subprocess.Popen[str]:
        with self._log.open("a") as log:
            command = [sys.executable, *self._command, "--port", str(self.port)]
            process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True)
        assert process.stdout is not None
        said = re.search(r"127\.0\.0\.1:(\d+)", process.stdout.readline())
        assert said is not None, self._log.read_text()
        self.port = int(said[1])
        return process

    def kill(self) -> None:
        self.kills += 1
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()

    def restart(self) -> None:
        self.process = self._start()

    def close(self) -> None:
        self.process.terminate()
        try:
            self.process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()


def ask(
    port: int, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
) -> tuple[int, bytes]:
    """The status and the body of an answer; 0 where none came whole."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        content = None if body is None else json.dumps(body)
        connection.request(method, path, content, {"content-type": "application/json", **(headers or {})})
        response = connection.getresponse()
        return response.status, response.read()
    except (OSError, http.client.HTTPException):
        return 0, b""
    finally:
        connection.close()


def wait_until_served(port: int, stop: threading.Event | None = None) -> None:
    until = time.monotonic() + WAIT_SECONDS
    while ask(port, "GET", "/healthz")[0] != 200:
        if stop is not None and stop.is_set():
            return
        assert time.monotonic() < until, "the server does not answer"
        time.sleep(0.1)


class SoakRater:
    """One rater over HTTP, who sends a grade until it is acknowledged, as the page does."""

    def __init__(self, world: World, rater: int) -> None:
        with world.database.session() as session:
            token = start_session(session, rater, datetime.now(UTC))
        self._headers = {"cookie": f"{COOKIE}={token}; kpdemo-uploads=browser-{rater}"}
        self._queue = f"/annotate/api/projects/{world.project}/queue"
        self._chance = random.Random(rater)
        self.acknowledged: dict[str, int] = {}
        """The last grade in quarters by the pair's name."""
        self.sent = 0
        self.repeated = 0
        self.unexpected: Counter[str] = Counter()

    def run(self, port: Callable[[], int], stop: threading.Event) -> None:
        while not stop.is_set():
            status, body = ask(port(), "GET", self._queue, headers=self._headers)
            if status != 200:
                self._note(status, body)
                stop.wait(0.2)
                continue
            pairs = json.loads(body)["pairs"]
            if not pairs and not self.acknowledged:
                return
            is_revision = not pairs or (self.acknowledged and self._chance.random() < REVISED)
            name = self._chance.choice(list(self.acknowledged)) if is_revision else pairs[0]["id"]
            self._grade(name, port, stop)
            if not pairs:
                stop.wait(0.5)

    def _grade(self, name: str, port: Callable[[], int], stop: threading.Event) -> None:
        truth = int(name, 16) % 17
        noise = self._chance.choice([-6, 6, *([-1, 0, 0, 1] * 5)])
        quarters = min(max(truth + noise, 0), 16)
        body = {"grade": quarters / 4, "seconds": 1.5}
        self.sent += 1
        while True:  # to the end, also after the stop: what was sent may have been saved
            status, answer = ask(
                port(), "PUT", f"/annotate/api/pairs/{name}/rating", body, headers=self._headers
            )
            if status == 200:
                self.acknowledged[name] = quarters
                return
            self._note(status, answer)
            if 400 <= status < 500 and status != 429:
                return
            self.repeated += 1
            time.sleep(0.2)

    def _note(self, status: int, body: bytes) -> None:
        if status not in (0, 502, 503, 504):
            self.unexpected[f"{status} {body[:120].decode(errors='replace')}"] += 1


def run_now_and_then(command: Sequence[str], stop: threading.Event, done: Counter[str], name: str) -> None:
    """A command again and again, of which every third is killed in the middle."""
    chance = random.Random(name)
    while not stop.is_set():
        process = subprocess.Popen(
            [sys.executable, "-m", *command], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        if chance.random() < 0.33:
            stop.wait(chance.uniform(1, 4))
            process.kill()
        _, errors = process.communicate()
        if process.returncode == 0:
            done[name] += 1
        elif process.returncode == -signal.SIGKILL:
            done[f"{name}, killed"] += 1
        else:
            done[f"{name} failed: {errors.decode(errors='replace').strip()[:160]}"] += 1
        stop.wait(2)


def predict_now_and_then(port: Callable[[], int], stop: threading.Event, done: Counter[str]) -> None:
    body = {"text": "Graph kernels compare molecules by their common substructures. " * 5, "model": "first"}
    while not stop.is_set():
        status, answer = ask(port(), "POST", "/api/predict", body)
        if status == 200:
            assert json.loads(answer)["present"], "a prediction without keyphrases"
        done["predictions" if status == 200 else f"predictions answered by {status}"] += 1
        stop.wait(0.3)


def soak(database: Database, folder: Path, seconds: float) -> Counter[str]:
    """Do everything at once, and then check; what was done, counted.

    Raises:
        AssertionError: something acknowledged is not there, or a sum is wrong.
    """
    world = new_world(database, pairs=max(60, int(PAIRS_A_MINUTE * seconds / 60)), raters=RATERS, k=3)
    with database.reading() as session:
        name = session.get_one(Project, world.project).name
    url, done, stop = url_of(database), Counter[str](), threading.Event()
    server = Server(url, folder)
    raters = [SoakRater(world, rater) for rater in world.raters]
    backup, gold = folder / "backup.db", folder / "gold"
    commands = {
        "backups": ("db", "backup", str(backup), "--force", "--database-url", url),
        "exports": (
            *("annotation", "export", name, "--unfinished", "leave-out"),
            *("--output", str(gold), "--force", "--database-url", url),
        ),
    }
    work: list[tuple[Callable[..., object], tuple[object, ...]]] = [
        (rater.run, (lambda: server.port, stop)) for rater in raters
    ]
    work += [(run_now_and_then, (command, stop, done, what)) for what, command in commands.items()]
    work += [(predict_now_and_then, (lambda: server.port, stop, done))]
    failures: list[BaseException] = []

    def run(what: Callable[..., object], given: tuple[object, ...]) -> None:
        try:
            what(*given)
        except BaseException as failure:  # noqa: BLE001 - it is raised below
            failures.append(failure)

    threads = [threading.Thread(target=run, args=each) for each in work]
    chance = random.Random(1)
    try:
        wait_until_served(server.port)
        until = time.monotonic() + seconds
        for thread in threads:
            thread.start()
        while time.monotonic() < until:
            time.sleep(min(chance.uniform(*KILL_SECONDS), max(until - time.monotonic(), 0)))
            server.kill()
            check(world)  # also at a moment that nobody has chosen
            server.restart()
            wait_until_served(server.port)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        server.close()
    assert failures == [], failures
    done["kills of the server"] = server.kills
    for rater in raters:
        done["grades acknowledged"] += rater.sent - sum(rater.unexpected.values())
        done["grades sent again"] += rater.repeated
        for what, count in rater.unexpected.items():
            done[f"unexpected: {what}"] += count
    check_acknowledged(world, raters)
    if backup.exists():
        command = ["db", "check", "--database-url", f"sqlite:///{backup}"]
        subprocess.run([sys.executable, "-m", *command], cwd=ROOT, check=True, capture_output=True)
    left = sorted(path.name for path in folder.iterdir() if path.name.startswith("."))
    done["hidden files left by what was killed"] = len(left)
    finish(world)
    check_finished(world)
    check_figures(world, name, url)
    return done


def check_acknowledged(world: World, raters: Sequence[SoakRater]) -> None:
    """Every grade that a rater was told is saved is there, once, as it was given last."""
    check(world)
    names = PairNames(open_services(world.database).keys.pairs)
    with world.database.reading() as session:
        rows = session.execute(
            select(Rating.pair_id, Rating.rater_id, Rating.quarters).where(Rating.project_id == world.project)
        ).all()
    assert len({(row.pair_id, row.rater_id) for row in rows}) == len(rows)
    found = {(row.pair_id, row.rater_id): row.quarters for row in rows}
    told = {
        (names.find(name)[0], number): quarters
        for rater, number in zip(raters, world.raters, strict=True)
        for name, quarters in rater.acknowledged.items()
    }
    assert told == found, (len(told), len(found))


def finish(world: World) -> None:
    """Grade what is left, so that every pair has its k."""
    service, assignments = RatingService(world.database), AssignmentService(world.database)
    for rater in world.raters:
        queue = assignments.queue(world.project, rater)
        while queue.pairs:
            pair = queue.pairs[0].id
            queue = service.rate(pair, rater, Decimal((pair + rater % 2) % 17) / 4, 1.5).queue


def check_figures(world: World, project: str, url: str) -> None:
    """α by the library `krippendorff`, and gold by hand, against what the commands print."""
    with world.database.reading() as session:
        rows = session.execute(
            select(Rating.pair_id, Rating.rater_id, Rating.quarters).where(Rating.project_id == world.project)
        ).all()
    columns = {pair: place for place, pair in enumerate(world.pairs)}
    table = np.full((len(world.raters), len(world.pairs)), np.nan)
    grades: dict[int, list[int]] = defaultdict(list)
    for row in rows:
        table[world.raters.index(row.rater_id), columns[row.pair_id]] = row.quarters / 4
        grades[row.pair_id].append(row.quarters)
    given = ["--database-url", url]
    agreement = json.loads(_print_of("agreement", project, "--json", *given))["alpha"]["all"]["value"]
    expected = krippendorff.alpha(reliability_data=table, level_of_measurement="interval")
    assert abs(agreement - expected) < 1e-3, (agreement, expected)
    lines = _print_of("export", project, "--unfinished", "leave-out", *given).splitlines()
    gold = Counter(round(float(json.loads(line)["gold"]), 3) for line in lines)
    means = Counter(
        round(round(sum(own) / len(own) / 4, 4), 3) for own in grades.values() if max(own) - min(own) < 4
    )
    assert gold == means


def _print_of(*words: str) -> str:
    command = [sys.executable, "-m", "annotation", *words]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tests.soak", description="Everything at once, and then the sums.")
    parser.add_argument("--minutes", type=float, default=10, help="on each database; default: %(default)s")
    parser.add_argument("--database", choices=("sqlite", "postgresql"), action="append")
    given = parser.parse_args(arguments)
    for system in given.database or ("sqlite", "postgresql"):
        with TemporaryDirectory() as folder, new_database(system, Path(folder)) as database:
            started = time.monotonic()
            done = soak(database, Path(folder), given.minutes * 60)
        print(f"{system}, {time.monotonic() - started:.0f} s, all sums are right:")
        for what, count in sorted(done.items()):
            print(f"  {count:7,} {what}")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
