"""The leaderboard in a browser: upload a system, run another, see who is ahead, save it, remove one."""

from __future__ import annotations

import csv
import json
import re
import threading
from decimal import Decimal

import pytest
from playwright.sync_api import expect

from annotation.services.leaderboard import Gold
from annotation.system_report import System
from annotation.systems import CALIBRATED
from annotation.types import NewPair, ProjectSettings, Role
from annotation.ui.wording import time_in
from tests.browser.conftest import choose_files
from tests.browser.test_languages import assert_no_english, german_page
from tests.latex_tables import read_tables

GRADES = ("0", "1.25", "4", "2.5", "3", "0.5", "3.75")
GENRES = ("news", "fables", "<b>very</b> long-winded name of a genre")


def pairs():
    for number in range(28):
        grade = Decimal(GRADES[number % 7])
        yield NewPair(
            f"pair-{number}",
            ("sentence2phrase", "phrase2word")[number % 2],
            f"{number} boats lie in the old harbour <script>alert(1)</script> 漢字",
            "x" * int(20 - 4 * grade) + " boats lie in"[: int(3 * grade)],
            genre=GENRES[number % 3],
            ratings=(("ana", grade), ("ben", grade)),
        )


@pytest.fixture(scope="module")
def project(site):
    root = site.services.accounts.user("root")
    made = site.services.projects.create(ProjectSettings(name="harbour"), created_by=root)
    site.services.importing.import_pairs(made.id, pairs())
    site.add_user("judith")
    site.services.projects.add_member(made.id, "judith", Role.ADJUDICATOR)
    return made


@pytest.fixture(autouse=True)
def _no_system_stays(site, project):
    yield
    for version in site.services.systems.golds(project.id):
        for entry in site.services.systems.board(project.id, version.id).entries:
            site.services.systems.remove(project.id, entry.id)


def training(path):
    """Graded pairs of both types that the project does not have."""
    rows = [
        {
            "id": f"{type} {n}",
            "type": type,
            "left": f"{n} gulls in fog",
            "right": "gulls in fog"[: 3 * n],
            "gold": n,
        }
        for type in ("sentence2phrase", "phrase2word")
        for n in range(1, 6)
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def add_system(page, told):
    """Press, and wait until the form is ready for the next one."""
    page.locator("#system-add-run").click()
    expect(page.locator("#system-result")).to_contain_text(told)
    expect(page.locator("#system-add-run")).to_be_enabled()
    expect(page.locator("#system-name input")).to_have_value("")


@pytest.mark.slow
def test_while_a_system_is_measured_no_other_is_asked_for_in_vain(site, browser, project, monkeypatch):
    page = site.page(browser, "root", f"/annotate/leaderboard?project={project.id}")
    go_on, own_gold = threading.Event(), site.services.systems.own_gold

    def slowly(project_id: int) -> Gold:
        assert go_on.wait(30)
        return own_gold(project_id)

    monkeypatch.setattr(site.services.systems, "own_gold", slowly)
    name, add = page.locator("#system-name input"), page.locator("#system-add-run")
    page.get_by_label("Greedy String Tiling (gst)").check()
    name.fill("tiles")
    add.click()
    expect(page.locator("#system-result")).to_contain_text("Measuring the system…")
    expect(add).to_be_disabled()
    expect(name).to_be_disabled()
    go_on.set()
    expect(page.locator("#system-result")).to_contain_text("Added tiles on the project's gold (")
    expect(add).to_be_enabled()
    expect(name).to_have_value("")


@pytest.mark.slow
def test_another_gold_set_brings_its_systems_to_compare_and_to_remove(site, browser, project):
    systems = site.services.systems
    own = systems.own_gold(project.id)
    scores = tuple(float(number % 5) for number in range(len(own.pairs)))
    systems.add(project.id, own, System("on ours", scores))
    systems.add(project.id, Gold("theirs", "e" * 64, own.pairs), System("on theirs", scores))
    page = site.page(browser, "root", f"/annotate/leaderboard?project={project.id}")
    page.get_by_role("button", name="Remove a system").click()
    for number, name in ((1, "on theirs"), (0, "on ours")):
        page.locator("#leaderboard-gold input").click()
        page.locator("[role=option]").nth(number).click()
        expect(page.locator("#leaderboard-pearson tbody th")).to_have_text(name)
        page.locator("#system-held input").click()
        expect(page.locator("[role=option]")).to_have_text(re.compile(f"{name}$"))
        page.keyboard.press("Escape")


@pytest.mark.slow
def test_systems_are_compared_in_the_language_of_the_reader(site, browser, project, tmp_path):
    systems = site.services.systems
    own = systems.own_gold(project.id)
    for name, step in (("Anna", 5), ("Bela", 4)):
        scores = tuple(float(number % step) for number in range(len(own.pairs)))
        systems.add(project.id, own, System(name, scores, CALIBRATED.format(name=name, count=10)))
    page = german_page(site, browser, "root", f"/annotate/leaderboard?project={project.id}")
    expect(page.locator("#leaderboard-difference caption")).to_contain_text(" minus ")
    expect(page.locator("#leaderboard-method-part")).to_contain_text("Bewertungen von 10 anderen Paaren")
    scores = tmp_path / "ours.txt"
    scores.write_text("1\n" * 28)
    page.locator("#system-name input").fill("Anna")
    choose_files(page.locator("#system-files"), scores)
    page.locator("#system-add-run").click()
    expect(page.locator("#system-result")).to_contain_text("Ein System namens 'Anna' gibt es schon")
    page.locator("#system-name input").fill("Cleo")
    page.locator("#system-add-run").click()
    expect(page.locator("#system-result")).to_contain_text("Cleo ist hinzugefügt, gemessen am Goldstandard")
    expect(page.locator("#leaderboard-pearson tbody tr")).to_have_count(3)
    for part in ("status", "pearson", "spearman", "ranks", "save", "difference", "method"):
        assert_no_english(page, f"#leaderboard-{part}-part")
    assert_no_english(page, "#system-form")
    assert_no_english(page, "header.site")


@pytest.mark.slow
def test_a_system_is_uploaded_ranked_compared_saved_and_removed(site, browser, project, tmp_path):
    address = f"/annotate/leaderboard?project={project.id}"
    page = site.page(browser, "root", address, timezone_id="Asia/Kathmandu")
    expect(page.locator("#leaderboard-status-part")).to_contain_text("No system has been measured yet")
    scores = tmp_path / "ours.txt"
    scores.write_text("1\n" * 27)
    page.locator("#system-name input").fill("Ours 🦜 <b>")
    choose_files(page.locator("#system-files"), scores)
    page.locator("#system-add-run").click()
    expect(page.locator("#system-result")).to_contain_text("ours.txt, line 28: no score")
    expect(page.locator("#system-result")).to_contain_text("The file is still chosen")
    expect(page.locator("#system-files")).to_contain_text("ours")
    page.locator("#system-files").get_by_label("Clear").click()
    expect(page.locator("#system-files")).not_to_contain_text("ours")
    expect(page.locator("#system-name input")).to_have_value("Ours 🦜 <b>")
    scores.write_text("".join(f"{float(GRADES[number % 7]) + number % 2}\n" for number in range(28)))
    choose_files(page.locator("#system-files"), scores)
    add_system(page, "Added Ours 🦜 <b> on")
    rows = page.locator("#leaderboard-pearson tbody tr")
    expect(rows).to_have_count(1)
    page.get_by_label("Longest common substring (lcs)").check()
    expect(page.locator("#system-files")).to_be_hidden()
    add_system(page, "Added lcs on")
    expect(rows).to_have_count(2)
    expect(page.locator("#leaderboard-zone")).to_be_hidden()
    expect(rows.nth(0)).to_contain_text("Ours 🦜 <b>")
    expect(rows.nth(0).locator("td").nth(0)).to_have_text("1")
    expect(rows.nth(1).locator("th")).to_have_text("lcs")
    expect(page.locator("#leaderboard-chart .main-svg .xaxislayer-above")).to_have_count(1)
    expect(page.locator("#leaderboard-difference caption")).to_have_text("Ours 🦜 <b> minus lcs")
    made = time_in(site.services.systems.golds(project.id)[0].at, "Asia/Kathmandu")
    opened = site.page(browser, "root", address, timezone_id="Asia/Kathmandu")
    for place in (page, opened):
        expect(place.locator("#leaderboard-gold input")).to_have_value(re.compile(f" · {made} · "))
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.get_by_label("Calibrate its scores on training grades").check()
    choose_files(page.locator("#system-training"), training(tmp_path / "train.jsonl"))
    add_system(page, "Added lcs (calibrated) on")
    expect(rows).to_have_count(3)
    expect(page.locator("#leaderboard-pearson")).to_contain_text("lcs (calibrated)")
    expect(page.locator("#leaderboard-method-part")).to_contain_text("the grades of 10 other pairs")
    with page.expect_download() as download:
        page.locator("#leaderboard-csv").click()
    with open(download.value.path(), encoding="utf-8-sig", newline="") as file:
        saved = list(csv.DictReader(file))
    assert download.value.suggested_filename == "harbour-leaderboard.csv"
    assert {row["system"]: row["rank"] for row in saved}["Ours 🦜 <b>"] == "1"
    assert {row["system"] for row in saved} == {"Ours 🦜 <b>", "lcs", "lcs (calibrated)"}
    with page.expect_download() as download:
        page.locator("#leaderboard-json").click()
    told = json.loads(download.value.path().read_text(encoding="utf-8"))
    assert (told["gold"]["pairs"], len(told["systems"]), len(told["differences"])) == (28, 3, 3)
    with page.expect_download() as download:
        page.get_by_role("button", name="Save the ranking as LaTeX").click()
    assert download.value.suggested_filename == "harbour-leaderboard.tex"
    [table] = read_tables(download.value.path().read_text(encoding="utf-8"))
    assert list(table.rows) == rows.locator("th").all_inner_texts()
    page.get_by_role("button", name="Remove a system").click()
    page.locator("#system-held input").click()
    page.get_by_role("option", name="lcs", exact=True).click()
    page.locator("#system-remove").click()
    expect(rows).to_have_count(2)
    other = site.page(browser, "judith", f"/annotate/leaderboard?project={project.id}")
    expect(other.locator("#leaderboard-pearson tbody tr")).to_have_count(2)
    expect(other.locator("#system-form")).to_be_hidden()
