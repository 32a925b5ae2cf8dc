"""Four people make a graded-similarity data set and measure a system on it, all of it on the pages.

Mia leads: she makes the project, brings the larger items, reviews, decides, exports, and measures. Wim
writes, Ana and Ben grade. The figures of the page are compared with those of SciPy on the exported file.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from scipy.stats import pearsonr, spearmanr

from tests.browser.conftest import Site, choose_files, open_annotation_page
from tests.browser.test_grading_together import exported_lines, grade_next, grade_of, wait_until_saved

# Larger items, five of each genre so that each grade is wanted once, and what Wim writes for them.
STUDY = {
    "harbour": {
        "The ferry leaves the island at noon.": "a midday departure by boat",
        "Gulls steal bread from the market stalls.": "thieving sea birds",
        "Two divers mend the chain of the buoy.": "repairs under water",
        "The lighthouse keeper paints her door every spring.": "fresh colour on an entrance",
        "Fog kept every trawler tied to the quay.": "a fleet held back by weather",
    },
    "kitchen": {
        "The cook salts the soup before she tastes it.": "seasoning too early",
        "Steam from the kettle dims the window.": "clouded glass above a stove",
        "He peels potatoes faster than a machine could.": "quick hands with a knife",
        "Their grandmother bakes rye bread on Saturdays.": "a weekly loaf",
        "The cellar smells of apples all winter long.": "stored fruit in the cold months",
    },
}
PHRASES = {left: phrase for pairs in STUDY.values() for left, phrase in pairs.items()}
APART = "The ferry leaves the island at noon."
"""Ben's grade of it is two points from Ana's, wherever hers stands."""
DECIDED = "2]"
ERRORS = (0.9, -1.2, 0.3, 1.1, -0.4, 0.7, -1.6, 0.2, 1.4, -0.8)
"""By which the system misses the grades of the exported gold set, in its order."""


def items_file() -> bytes:
    rows = [
        f"{genre} {number}\tsentence2phrase\t{left}\t{genre}\tnotebook"
        for genre, pairs in STUDY.items()
        for number, left in enumerate(pairs, 1)
    ]
    return "\n".join(("id\ttype\ttext\tgenre\tsource", *rows, "")).encode()


def make_project(page: Page, name: str, people: Mapping[str, str]) -> str:
    """The project with its people; its part of an address."""
    page.get_by_text("Opening your projects.").wait_for(state="hidden")
    if page.locator("#home-projects .projects").count():  # the form is open where there is no project yet
        page.get_by_role("button", name="New project").click()
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("sentence to phrase").check()
    page.get_by_label("Raters per pair").fill("2")
    page.get_by_role("button", name="Create project").click()
    page.wait_for_url("**/annotate/project?project=*")
    asked = f"project={page.url.partition('project=')[2]}"
    page.get_by_role("tab", name="Members").click()
    for person, role in (("Wim", "writer"), ("Ana", "rater"), ("Ben", "rater")):
        name = people[person]
        page.locator("#members-account input").fill(name)
        page.get_by_role("option", name=name).click()
        page.locator("#members-role input").click()
        page.get_by_role("option", name=role).click()
        page.get_by_role("button", name="Add", exact=True).click()
        expect(page.locator("#members-list tr", has_text=name)).to_contain_text(role)
    return asked


def import_items(page: Page, address: str) -> None:
    open_annotation_page(page, f"{address}&tab=items")
    choose_files(page.locator("#items-file"), ("items.tsv", items_file()))
    page.locator("#items-import").click()
    expect(page.locator("#items-result")).to_contain_text("Imported 10 larger items.")


def write_all(page: Page) -> dict[str, int]:
    """Write for every item; the grade that was requested for each."""
    requested: dict[str, int] = {}
    page.locator("#write-work").wait_for()
    while len(requested) < 8:
        left = page.locator("#write-left").inner_text()
        grade = page.locator("#write-points > :not([hidden])")
        requested[left] = int(grade.get_attribute("data-grade") or "")
        page.locator("#write-text").fill(PHRASES[left])
        page.locator("#write-text").press("Control+Enter")
        expect(page.locator("#write-counts")).to_contain_text(f"You wrote {len(requested)} text")
        if len(requested) < 8:
            expect(page.locator("#write-left")).not_to_have_text(left)
    expect(page.locator("#write-message")).to_contain_text("You have written for every item")
    return requested


def review_all(page: Page, address: str) -> None:
    """Accept what was written, and make the pairs of grade 0 of what was reserved."""
    open_annotation_page(page, address)
    for number in range(8, 0, -1):
        expect(page.locator("#review-tabs")).to_be_visible()
        left = page.locator("#review-item .rate-text").inner_text()
        expect(page.locator("#review-text textarea")).to_have_value(PHRASES[left])
        page.locator("#review-accept").click()
        if number > 1:
            expect(page.locator("#review-item .rate-text")).not_to_have_text(left)
    expect(page.locator("#review-item")).to_contain_text("No texts are awaiting review")
    page.get_by_role("tab", name="Report").click()
    page.locator("#writing-make-zeros").click()
    expect(page.locator("#writing-zeros-made")).to_contain_text("Made 2 pairs of grade 0.")


def grade_all(pages: dict[str, Page], requested: dict[str, int]) -> dict[str, dict[str, str]]:
    """Two people grade at once; the keys that each typed for each larger item."""
    grades = {left: requested.get(left, 0) for left in PHRASES}
    apart = {APART: (grades[APART] + 2) % 4}  # two points away, or more
    keys = {
        "Ana": {left: str(grade) for left, grade in grades.items()},
        "Ben": {left: f"{apart.get(left, grade)}{'[' if grade else ']'}" for left, grade in grades.items()},
    }
    for page in pages.values():
        page.get_by_role("button", name="I have read the guidelines: begin").click()
    grading, deadline = list(pages), time.monotonic() + 60
    while grading and time.monotonic() < deadline:
        grading = [name for name in grading if grade_next(pages[name], keys[name])]
    assert not grading, f"{grading} never came to an end"
    for page in pages.values():
        wait_until_saved(page)
    return keys


def decide_and_export(page: Page, site: Site, asked: str, folder: Path) -> list[dict[str, Any]]:
    """Settle the one pair that is flagged; the lines of the gold set, which cannot be exported before."""
    open_annotation_page(page, f"{site.address}/annotate/project?{asked}")
    page.get_by_role("link", name="Gold", exact=True).click()
    expect(page.locator("#export-result")).to_contain_text("1 of 10 pairs")
    expect(page.locator("#export-download")).to_have_count(0)
    open_annotation_page(page, f"{site.address}/annotate/adjudicate?{asked}")
    expect(page.locator("#adjudicate-item")).to_contain_text(APART)
    for key in DECIDED:
        page.keyboard.press(key)
    page.get_by_role("radio", name="Overlooked text").check()
    page.keyboard.press("Control+Enter")
    expect(page.locator("#adjudicate-item .empty")).to_contain_text("Nothing to decide")
    open_annotation_page(page, f"{site.address}/annotate/project?{asked}")
    page.get_by_role("link", name="Gold", exact=True).click()
    with page.expect_download() as download:
        page.locator("#export-download").click()
    download.value.save_as(folder / "gold.zip")
    return exported_lines(folder / "gold.zip")


def measure(page: Page, address: str, scores: Sequence[float]) -> None:
    """Put a system on the leaderboard, from a file of its scores."""
    open_annotation_page(page, address)
    file = "".join(f"{score}\n" for score in scores).encode()
    choose_files(page.locator("#system-files"), ("tidal.txt", file))
    page.locator("#system-add-run").click()
    expect(page.locator("#system-result .note.done")).to_contain_text("Added tidal on the project's gold (")


@pytest.mark.slow
def test_four_people_write_grade_adjudicate_export_and_score(site, browser, tmp_path):
    attempt = len(site.services.projects.list())
    people = {name: f"{name} {attempt}" for name in ("Mia", "Wim", "Ana", "Ben")}
    for name, account in people.items():
        site.add_user(account, is_administrator=name == "Mia")
    mia = site.page(browser, people["Mia"])
    asked = make_project(mia, f"Harbour and kitchen {attempt}", people)
    import_items(mia, f"{site.address}/annotate/review?{asked}")
    requested = write_all(site.page(browser, people["Wim"], f"/annotate/write?{asked}"))
    assert sorted(requested.values()) == [1, 1, 2, 2, 3, 3, 4, 4]
    review_all(mia, f"{site.address}/annotate/review?{asked}")
    raters = {name: site.page(browser, people[name], f"/annotate/rate?{asked}") for name in ("Ana", "Ben")}
    keys = grade_all(raters, requested)
    lines = decide_and_export(mia, site, asked, tmp_path)

    written = {line["left"]: line["right"] for line in lines}
    assert {left: written[left] for left in requested} == {left: PHRASES[left] for left in requested}
    for left in PHRASES.keys() - requested.keys():  # of grade 0: the phrase of another item, of its genre
        assert written[left] != PHRASES[left]
    assert {line["left"]: line["gold"] for line in lines} == {
        left: 2.25 if left == APART else (grade_of(keys["Ana"][left]) + grade_of(keys["Ben"][left])) / 2
        for left in PHRASES
    }
    scores = [line["gold"] + error for line, error in zip(lines, ERRORS, strict=True)]
    measure(mia, f"{site.address}/annotate/leaderboard?{asked}", scores)
    gold = [line["gold"] for line in lines]
    for measured, table in ((pearsonr, "pearson"), (spearmanr, "spearman")):
        row = mia.locator(f"#leaderboard-{table} tbody tr")
        expect(row).to_have_count(1)
        expect(row).to_contain_text(shown(measured(gold, scores).statistic))
    for genre in STUDY:
        here = [place for place, line in enumerate(lines) if line["genre"] == genre]
        expected = pearsonr([gold[place] for place in here], [scores[place] for place in here]).statistic
        expect(mia.locator("#leaderboard-genres tbody tr")).to_contain_text(shown(expected))


def shown(figure: float) -> str:
    """A figure as the page writes it."""
    return f"{figure:.3f}".replace("-", "\N{MINUS SIGN}")
