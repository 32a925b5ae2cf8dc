"""The whole of a small study in real browsers, and a server that dies in the middle of one."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from playwright.sync_api import expect

from annotation.services.bundle import open_annotation
from annotation.types import NewPair, ProjectSettings, Role
from annotation.web.responder import COOKIE
from tests.browser.conftest import PASSWORD, open_annotation_page
from tests.browser.pressing import press
from tests.profiles import PATIENCE

ROOT = Path(__file__).parents[2]
RATERS = ("ana", "ben", "cleo")

# The keys that ana, ben and cleo type for each pair, and the gold grade that follows.
STUDY = {
    "The cat sleeps on the warm stove.": (("4", "4", "4"), 4),
    "A train left the station at dawn.": (("0", "0", "0"), 0),
    "Rain fell on the roof all night.": (("3", "3[", "3]"), 3),
    "The baker closes at noon on Sundays.": (("2]", "2", "2["), 2),
    "Snow covered the pass for a week.": (("1", "1]]", "1"), 1.1667),
    "She mends old clocks in her cellar.": (("4[", "3]]", "4"), 3.75),
    "The river rose after the storm.": (("0", "1", "3"), 1.5),
    "Two boys fly a kite on the beach.": (("2", "2]", "1]"), 2),  # just a point apart
}
GOLD_BY_DECISION = {7: "1]]", 8: "2"}


def new_pairs() -> list[NewPair]:
    return [
        NewPair(str(number), "sentence2phrase", left, f"phrase {number}", genre="everyday")
        for number, left in enumerate(STUDY, start=1)
    ]


def shown_sentence(page) -> str:
    return page.locator("#rate-left").inner_text()


def wait_until_saved(page) -> None:
    page.locator("#rate-saved").get_by_text(re.compile(r"^Saved \d")).wait_for()


def grade_next(page, keys: Mapping[str, str]) -> bool:
    """Type the rater's keys for the pair that is shown; false once there is none.

    Args:
        keys: of each larger item.
    """
    page.locator("#rate-work:visible, #rate-message:visible").first.wait_for()
    if not page.locator("#rate-work").is_visible():
        return "none is left" not in page.locator("#rate-message").inner_text()
    press(page, *keys[shown_sentence(page)], "Enter")
    return True


def test_three_raters_grade_at_once_and_their_gold_is_right(empty_site, browser, tmp_path):
    site, services = empty_site, empty_site.services
    project = services.projects.create(
        ProjectSettings("Together", types=("sentence2phrase",), raters_per_pair=3)
    )
    services.importing.import_pairs(project.id, new_pairs())
    for name in RATERS:
        services.projects.add_member(project.id, site.add_user(name).name, Role.RATER)
    services.projects.add_member(project.id, site.add_user("judge").name, Role.ADJUDICATOR)

    pages = {name: site.page(browser, name, f"/annotate/rate?project={project.id}") for name in RATERS}
    keys = {
        name: {left: typed[place] for left, (typed, _) in STUDY.items()} for place, name in enumerate(RATERS)
    }
    grading = list(RATERS)
    deadline = time.monotonic() + 90
    while grading and time.monotonic() < deadline:
        grading = [name for name in grading if grade_next(pages[name], keys[name])]
    assert not grading, f"{grading} never came to an end"
    for page in pages.values():
        wait_until_saved(page)

    judge = site.page(browser, "judge", f"/annotate/adjudicate?project={project.id}")
    for number in (7, 8):  # the largest spread first
        expect(judge.locator("#adjudicate-heading")).to_contain_text(f"· {number}")
        for key in GOLD_BY_DECISION[number]:
            judge.keyboard.press(key)
        judge.get_by_role("radio", name="Overlooked text").check()
        judge.keyboard.press("Control+Enter")
    expect(judge.locator("#adjudicate-item .empty")).to_contain_text("Nothing to decide")

    root = site.page(browser, "root", f"/annotate/project?project={project.id}")
    root.get_by_role("link", name="Gold", exact=True).click()
    with root.expect_download() as download:
        root.locator("#export-download").click()
    download.value.save_as(tmp_path / "gold.zip")
    lines = exported_lines(tmp_path / "gold.zip")
    assert [line["left"] for line in lines] == list(STUDY)
    for number, (line, (keys, gold)) in enumerate(zip(lines, STUDY.values(), strict=True), start=1):
        assert (line["id"], line["type"], line["genre"]) == (str(number), "sentence2phrase", "everyday")
        assert (line["gold"], line["gold_source"]) == (
            gold,
            "adjudicated" if number in GOLD_BY_DECISION else "mean",
        )
        assert sorted(rating["grade"] for rating in line["ratings"]) == sorted(map(grade_of, keys))
        assert {rating["rater"] for rating in line["ratings"]} == {"rater 1", "rater 2", "rater 3"}


def exported_lines(archive: Path) -> list[dict[str, Any]]:
    """The lines of the gold set, whose bytes are those that the manifest names."""
    with ZipFile(archive) as files:
        [folder] = {Path(name).parent for name in files.namelist()}
        manifest = json.loads(files.read(str(folder / "manifest.json")))
        gold = files.read(str(folder / "gold.jsonl"))
    [described] = [file for file in manifest["files"] if file["name"] == "gold.jsonl"]
    assert described["sha256"] == sha256(gold).hexdigest()
    return [json.loads(line) for line in gold.decode().splitlines()]


def grade_of(keys: str) -> float:
    return int(keys[0]) + 0.25 * (keys.count("]") - keys.count("["))


@contextmanager
def running_app(database: Path, port: int) -> Iterator[subprocess.Popen[str]]:
    """app.py in a process of its own."""
    command = [sys.executable, str(ROOT / "app.py"), "--port", str(port), "--model", "first"]
    command += ["--database-url", f"sqlite:///{database}"]
    environment = {**os.environ, "KPDEMO_DATABASE_URL": ""}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment) as process:
        try:
            assert "Serving on" in process.stdout.readline()
            yield process
        finally:
            process.kill()


def free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        return taken.getsockname()[1]


def stored_grades(database: Path) -> dict[str, float]:
    with closing(sqlite3.connect(database)) as connection:
        rows = connection.execute(
            "SELECT pairs.external_id, ratings.quarters FROM ratings JOIN pairs ON pairs.id = ratings.pair_id"
        )
        return {name: quarters / 4 for name, quarters in rows}


@pytest.mark.slow
def test_what_said_saved_survives_a_killed_server_and_the_rest_is_sent_later(browser, tmp_path):
    database, port, pairs = tmp_path / "kpdemo.db", free_port(), 16
    services = open_annotation(f"sqlite:///{database}")
    project = services.projects.create(
        ProjectSettings("Crash", types=("sentence2phrase",), raters_per_pair=1, is_random=False)
    )
    services.importing.import_pairs(
        project.id,
        [NewPair(str(n), "sentence2phrase", f"Sentence {n}.", f"phrase {n}") for n in range(pairs)],
    )
    services.accounts.add_user("ana", password=PASSWORD)
    services.projects.add_member(project.id, "ana", Role.RATER)
    token = services.sign_ins.sign_in("ana", PASSWORD, "127.0.0.1")
    services.database.dispose()
    address = f"http://127.0.0.1:{port}"
    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    context.add_cookies([{"name": COOKIE, "value": token, "url": address}])
    page = context.new_page()
    typed: dict[str, float] = {}

    def grade() -> None:
        page.locator("#rate-work").wait_for()
        number = shown_sentence(page).removeprefix("Sentence ").removesuffix(".")
        typed[number] = float(int(number) % 5)
        press(page, str(int(number) % 5), "Enter")

    with running_app(database, port) as server:
        open_annotation_page(page, f"{address}/annotate/rate?project={project.id}")
        page.locator("#rate-work").wait_for()
        for _ in range(10):
            grade()
        wait_until_saved(page)
        said_saved = dict(typed)
        grade()  # on its way
        os.kill(server.pid, signal.SIGKILL)
        server.wait()
    kept = stored_grades(database)
    assert said_saved.items() <= kept.items() <= typed.items()

    with running_app(database, port):
        wait_until_saved(page)
        while len(typed) < pairs:
            grade()
        page.locator("#rate-message").get_by_text("You have graded").wait_for()
    assert stored_grades(database) == typed
    assert len(typed) == pairs
    context.close()
