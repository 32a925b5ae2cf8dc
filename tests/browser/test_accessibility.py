"""axe-core on every page of annotation, in light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import pytest
from playwright.sync_api import Page, expect

from annotation.files.scores import GoldPair, gold_digest
from annotation.services.leaderboard import Gold
from annotation.system_report import System
from annotation.types import NewPair, ProjectSettings, Role
from annotation.web.responder import COOKIE
from tests.browser.conftest import PASSWORD, Site, serious_violations, unfold
from tests.predicted import GRADES as SENT
from tests.predicted import grade, sent_project
from tests.profiles import PATIENCE
from tests.writers import new_items

GRADES = ("0", "1.25", "4", "2.5", "3", "0.5", "3.75")
PROJECT = "/annotate/project?project={project}&tab="
PAGES = {
    "home": ("/annotate/", "#home-projects li.project"),
    "rate": ("/annotate/rate?project={project}", "#rate-scale"),
    "write": ("/annotate/write?project={project}", "#write-text"),
    "review": ("/annotate/review?project={project}", "#review-accept"),
    "writing report": (
        "/annotate/review?project={project}&tab=report",
        "#writing-grades-chart .main-svg .xaxislayer-above",
    ),
    "larger items": ("/annotate/review?project={project}&tab=items", "#items-list table"),
    "agreement": (
        "/annotate/agreement?project={project}",
        "#agreement-widest-pairs",
    ),
    "adjudicate": ("/annotate/adjudicate?project={project}", "#adjudicate-form"),
    "leaderboard": (
        "/annotate/leaderboard?project={project}",
        "#leaderboard-chart .main-svg .xaxislayer-above",
    ),
    "predictions": ("/annotate/predictions?project={pool}", "#predictions-table"),
    "send": ("/annotate/send/{sent}", "form"),
    "pairs": (f"{PROJECT}pairs", "#project-counts table"),
    "members": (f"{PROJECT}members", "#members-list table"),
    "quality": (f"{PROJECT}quality", "#quality-raters table"),
    "settings": (f"{PROJECT}settings", "#project-save"),
    "gold": (f"{PROJECT}gold", "#export-result .note"),
    "events": (f"{PROJECT}events", "#project-events table"),
    "accounts": ("/annotate/users", "#users-list table"),
    "closed": ("/annotate/agreement?project=999999", "#agreement-closed .empty"),
    "my account": ("/account", "form"),
    "sign-in": ("/sign-in", "form"),
    "invitation": ("/invitation/{token}", "form"),
    "used link": ("/invitation/not-a-link", "main"),
    "nothing": ("/nothing", "main"),
}
"""Where each page is, and what is there once it is drawn."""
WITHOUT_SESSION = ("sign-in", "invitation", "used link")
MOST_SEEN = ("home", "invitation")
"""Looked at by `make test` too."""


def pairs() -> Iterator[NewPair]:
    for number in range(21):
        grade = Decimal(GRADES[number % 7])
        far = Decimal(4) - grade if number % 5 == 0 else grade
        yield NewPair(
            f"pair-{number}",
            ("sentence2phrase", "phrase2word")[number % 2],
            f"{number} boats lie in the old harbour 漢字",
            f"{number} boats",
            genre=("everyday conversation", "fables")[number % 2],
            ratings=(("ana", grade), ("ben", far), ("cleo", min(Decimal(4), grade + Decimal("0.25")))),
        )


@pytest.fixture(scope="module")
def places(site: Site) -> dict[str, object]:
    """A project with something on every page, and a link that makes an account."""
    root = site.services.accounts.user("root")
    settings = ProjectSettings(
        "harbour", raters_per_pair=3, guidelines="# Read\n\n[twice](https://example.org)"
    )
    project = site.services.projects.create(settings, created_by=root)
    ungraded = NewPair("pair-21", "phrase2word", "21 boats lie in the old harbour", "boats")  # root's to rate
    site.services.importing.import_pairs(project.id, [*pairs(), ungraded], by=root)
    for role in Role:
        site.services.projects.add_member(project.id, "root", role, by=root)
    graded = tuple(
        GoldPair(one.type, one.id, one.left, one.right, float(one.ratings[0][1]), one.genre)
        for one in pairs()
    )
    gold = Gold("gold.jsonl", gold_digest(graded), graded)
    for slope in (1, -1):
        scores = tuple(slope * pair.gold + number % 3 for number, pair in enumerate(gold.pairs))
        site.services.systems.add(project.id, gold, System(f"slope {slope}", scores), by=root)
    services = site.services
    services.items.import_items(project.id, new_items(9), by=root)
    task = services.writing.desk(project.id, root.id).task
    services.writing.submit(task.id, root.id, "a ferry at noon", task.version)
    token = site.services.invitations.invite(project_id=project.id, role=Role.RATER, by=root)
    pool = sent_project(site.services.database)
    grade(site.services.database, pool.id, SENT)
    found = {"text": "boats", "score": 0.5, "key": "boat"}
    rows = [{"text": "Boats in a harbour.", "runs": [{"model": "one", "present": [found], "absent": []}]}]
    address = site.services.handovers.keep({"documents": rows})
    return {"project": project.id, "pool": pool.id, "token": token, "sent": address.rsplit("/", 1)[-1]}


@pytest.fixture(scope="module")
def tabs(site: Site, browser) -> Iterator[tuple[Page, Page]]:
    """A tab with the administrator's session, and one without any; they keep the scripts that they loaded."""
    contexts = [browser.new_context(color_scheme="light", reduced_motion="reduce") for _ in range(2)]
    token = site.services.sign_ins.sign_in("root", PASSWORD, "127.0.0.1")
    contexts[0].add_cookies([{"name": COOKIE, "value": token, "url": site.address}])
    for context in contexts:
        context.set_default_timeout(PATIENCE)
    yield contexts[0].new_page(), contexts[1].new_page()
    for context in contexts:
        context.close()


def is_dark(page: Page) -> bool:
    return page.evaluate("!!document.querySelector('body.dark, [data-theme=dark]')")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in MOST_SEEN else pytest.mark.slow) for name in PAGES]
)
def test_axe_finds_nothing_serious_in_light_and_dark(site, places, tabs, name):
    page = tabs[name in WITHOUT_SESSION]
    path, shown = PAGES[name]
    page.goto(site.address + path.format(**places))
    if name == "rate":
        page.locator("[data-rate=begin]").click()
    page.locator(shown).first.wait_for()
    if path.startswith("/annotate") and name != "send":
        page.locator("#page-user").wait_for()
    if name == "agreement":
        unfold(page, "#agreement-page")
        page.locator("#agreement-together-chart .main-svg .xaxislayer-above").first.wait_for()
    assert not is_dark(page)
    assert serious_violations(page) == []
    button = page.get_by_role("button", name="Light / dark")
    button.click()
    assert is_dark(page)
    found = serious_violations(page, rule="color-contrast")  # all that the colours can change
    button.click()
    assert found == []


CUT_WORDS = """() => [...document.querySelectorAll("table :is(td, th)")]
  .filter(cell => cell.checkVisibility())
  .flatMap(cell => {
    const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), cut = [];
    for (let text; (text = walker.nextNode());) {
      for (const word of text.data.matchAll(/[^\\s-]+/g)) {
        const range = document.createRange();
        range.setStart(text, word.index);
        range.setEnd(text, word.index + word[0].length);
        const lines = [...range.getClientRects()].map(({ top }) => Math.round(top));
        if (new Set(lines).size > 1) cut.push(word[0]);
      }
    }
    return cut;
  })"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pairs", "agreement"])
def test_tables_cut_no_word_that_fits_on_a_phone(site, places, tabs, name):
    page, (path, shown) = tabs[0], PAGES[name]
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(site.address + path.format(**places))
    page.locator(shown).first.wait_for()
    if name == "agreement":
        unfold(page, "#agreement-page")
    expect(page.get_by_role("cell", name="everyday conversation").first).to_be_visible()
    assert page.evaluate(CUT_WORDS) == []
    page.set_viewport_size({"width": 1280, "height": 720})
