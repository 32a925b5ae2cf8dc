"""A worker goes from the shared link to the code; the lead makes links and sees who did how much."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal

import pytest
from playwright.sync_api import Page, expect

from annotation.crowds import CrowdSettings
from annotation.guidelines import starter_guidelines
from annotation.quality import QualitySettings
from annotation.types import KnownPair, NewPair, ProjectSettings, utcnow
from tests.browser.conftest import PASSWORD, Site, Watch, serious_violations
from tests.browser.pressing import press
from tests.browser.test_look import WIDTH
from tests.browser.test_quality_pages import begin_training

TYPE = "sentence2phrase"
FIRST_POINT = "#rate-scale [role=radio] >> nth=0"


@pytest.fixture
def project(site: Site, unused: str) -> int:
    settings = ProjectSettings(unused, types=(TYPE,), raters_per_pair=1, most_per_rater=2, is_random=False)
    project = site.services.projects.create(settings)
    pairs = [NewPair(f"p{n}", TYPE, f"The {n}th train was late.", f"late train {n}") for n in range(4)]
    site.services.importing.import_pairs(project.id, pairs)
    known = KnownPair(NewPair("t1", TYPE, "The cat sleeps.", "a sleeping cat"), Decimal("2.75"))
    site.services.known_pairs.import_training(project.id, [known])
    site.services.quality.change(project.id, QualitySettings(training_tries=2))
    ends = CrowdSettings("DONE-{id}", "SORRY", f"{site.address}/?cc={{code}}", "lab@example.org")
    site.services.crowds.change(project.id, ends)
    return project.id


def share(site: Site, project: int, most: int = 5) -> str:
    token = site.services.crowds.make_link(project, most, utcnow() + timedelta(days=1))
    return f"{site.address}/join/{token}"


def answer_training(page: Page, key: str) -> None:
    expect(page.locator("#rate-right")).to_have_text("a sleeping cat")
    expect(page.locator(FIRST_POINT)).to_be_enabled()
    press(page, key, "Enter")
    expect(page.locator("#rate-feedback")).to_be_visible()


@pytest.mark.parametrize(
    ("scheme", "width"), [("dark", 390), pytest.param("light", 1280, marks=pytest.mark.slow)]
)
def test_a_worker_goes_from_the_link_to_the_code(site, browser, project, scheme, width):
    options = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
    page, watch = site.context(browser, **options).new_page(), Watch()
    watch.over(page, site.address)
    page.goto(f"{share(site, project)}?PROLIFIC_PID=w{width}&STUDY_ID=s1&SESSION_ID=v1")
    expect(page.get_by_role("main")).to_contain_text(f"Your id: w{width}")
    assert serious_violations(page) == []
    page.get_by_role("button", name="Begin").click()
    expect(page.locator("#rate-message")).to_contain_text("You may try 2 times.")
    begin_training(page)
    answer_training(page, "3")
    expected = page.locator("#rate-scale [data-expected]")  # between two points, at both
    expect(expected).to_have_count(2)
    expect(expected.first).to_have_attribute("data-expected", "expected: 2.75")
    assert page.evaluate(WIDTH) <= width
    page.get_by_role("button", name="Go on").click()
    start = page.get_by_role("button", name="Start grading")
    expect(start).not_to_have_attribute("aria-disabled", "true")
    start.click()
    for number in range(2):
        expect(page.locator("#rate-right")).to_have_text(f"late train {number}")
        expect(page.locator("#rate-code")).to_be_hidden()
        press(page, "2", "Enter")
    message = page.locator("#rate-message")
    expect(message).to_contain_text("you have graded your share, 2 pairs. All of it is saved.")
    expect(message).to_contain_text("You can come back to look at your answers and change them.")
    expect(message).to_contain_text("Questions? Ask lab@example.org.")
    code = page.locator("#rate-code code").inner_text()
    assert re.fullmatch("DONE-[a-z2-9]{8}", code)
    assert serious_violations(page) == []
    assert page.evaluate(WIDTH) <= width
    link = page.get_by_role("link", name="Return with your result")
    expect(link).to_have_attribute("href", f"{site.address}/?cc={code}")
    watch.check()

    lead = site.page(browser, "root", f"/annotate/project?project={project}&tab=members", **options)
    lead.get_by_role("button", name="A shared link, for a class or a crowd").click()
    row = lead.locator("#crowd-workers tbody tr")
    expect(row).to_contain_text(f"w{width}")
    expect(row).to_contain_text("finished")
    expect(row).to_contain_text(code)
    assert serious_violations(lead, "#crowd") == []
    assert lead.evaluate(WIDTH) <= width
    with lead.expect_download() as saved:
        lead.get_by_role("link", name="Save this table as CSV").click()
    assert code in saved.value.path().read_text(encoding="utf-8-sig")


@pytest.mark.slow
def test_who_fails_the_training_for_good_gets_the_other_code_and_no_further_try(site, browser, project):
    page = site.context(browser).new_page()
    page.goto(f"{share(site, project)}?workerId=A1&hitId=h&assignmentId=a")
    page.get_by_role("button", name="Begin").click()
    begin_training(page)
    message = page.locator("#rate-message")
    for said in ("You have 1 more try.", "You have used all your tries"):
        answer_training(page, "0")
        page.get_by_role("button", name="Go on").click()
        expect(message).to_contain_text(said)
        again = page.get_by_role("button", name="Try again")
        if said == "You have 1 more try.":
            expect(again).not_to_have_attribute("aria-disabled", "true")
            expect(page.locator("#rate-code")).to_be_hidden()
            again.click()
    expect(again).to_be_hidden()
    expect(page.locator("#rate-code code")).to_have_text("SORRY")
    page.reload()
    expect(message).to_contain_text("You have used all your tries")
    expect(page.locator("#rate-code code")).to_have_text("SORRY")


@pytest.mark.slow
def test_a_class_comes_by_name_and_a_full_link_says_so(site, browser, project):
    address = share(site, project, most=1)
    page = site.context(browser).new_page()
    page.goto(address)
    page.get_by_label("Name").fill("root")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Make the account").click()
    expect(page.get_by_role("alert")).to_contain_text("already exists")
    page.get_by_label("Name").fill("Cleo of the class")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Make the account").click()
    expect(page.locator("#page-user")).to_have_text("Cleo of the class")
    expect(page.locator("#rate-message")).to_contain_text("read the guidelines below first")

    late = site.context(browser).new_page()
    late.goto(address)
    late.get_by_label("Password", exact=True).fill(PASSWORD)
    late.get_by_role("button", name="Make the account").click()
    expect(late.get_by_role("alert")).to_have_text(
        "All places of this link are taken: you have not been signed up."
    )


@pytest.mark.slow
def test_a_lead_makes_many_links_a_shared_one_and_revokes_it(site, browser, project):
    page = site.page(browser, "root", f"/annotate/project?project={project}&tab=members")
    page.get_by_role("button", name="Invite many at once").click()
    names = page.get_by_label("Names or addresses")
    names.fill("Ana\nben@example.org; Ana")
    page.get_by_role("button", name="Make the links").click()
    made = page.locator("#many-made")
    expect(made).to_contain_text(
        "No links were made, as not every name can be used. 3 ('Ana'): The name stands twice."
    )
    expect(names).to_have_value("Ana\nben@example.org; Ana")
    names.fill("Ana\nben@example.org; <b>Cleo</b>")
    page.get_by_role("button", name="Make the links").click()
    expect(made).to_contain_text("3 links made.")
    expect(made.locator("tbody tr")).to_have_count(3)
    with page.expect_download() as saved:
        made.get_by_role("button", name="Save the links as CSV").click()
    lines = saved.value.path().read_text(encoding="utf-8-sig").splitlines()
    assert [line.partition(",")[0] for line in lines] == ["name", "Ana", "ben@example.org", "<b>Cleo</b>"]
    expect(page.locator("#members-links")).to_contain_text("ben@example.org")
    link = lines[1].partition(",")[2]

    page.get_by_role("button", name="A shared link, for a class or a crowd").click()
    end = page.locator("#crowd-end input, #crowd-end textarea")
    expect(end).to_have_value(re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d$"))
    usual = end.input_value()
    end.fill("next week")
    page.get_by_role("button", name="Make a shared link").click()
    shared = page.locator("#crowd-shared")
    expect(shared).to_contain_text("such as 2026-12-31 18:00, not 'next week'")
    end.fill(usual)
    page.get_by_role("button", name="Make a shared link").click()
    expect(shared).to_contain_text("The first 30 people who use this link become raters.")
    address = shared.locator("code").first.inner_text()
    expect(page.locator("#crowd-links")).to_contain_text("0 of 30")
    page.get_by_label("Return address").fill("javascript:alert(1)")
    page.locator("#crowd-save").click()
    expect(page.locator("#crowd-saved")).to_contain_text("begins with https://")
    page.locator("#crowd-link input").click()
    page.get_by_role("option", name="0 of 30 came").click()
    page.locator("#crowd-revoke").click()
    expect(shared).to_contain_text("The shared link is revoked")
    expect(page.locator("#crowd-links")).to_contain_text("revoked")
    other = site.context(browser).new_page()
    other.goto(address)
    expect(other.get_by_role("alert")).to_contain_text("unknown or no longer valid")

    other.goto(link)  # a rater with one project lands in it
    other.get_by_label("Name").fill("Ana by link")
    other.get_by_label("Password", exact=True).fill(PASSWORD)
    other.get_by_role("button", name="Make the account").click()
    other.wait_for_url(f"**/annotate/rate?project={project}")
    other.get_by_role("link", name="My projects").first.click()
    grade = other.get_by_role("link", name="Grade pairs")
    expect(grade).to_have_css("background-color", re.compile("rgb"))
    assert grade.evaluate("link => getComputedStyle(link).backgroundColor") != "rgba(0, 0, 0, 0)"


@pytest.mark.slow
def test_ticking_a_type_fills_in_guidelines_until_somebody_changes_them(site, browser, unused):
    page = site.page(browser, "root", "/annotate/?type=sentence2phrase")
    guidelines = page.locator("#new-guidelines textarea")
    page.get_by_role("checkbox", name="phrase to word").check()
    expect(guidelines).to_have_value(starter_guidelines(["sentence2phrase", "phrase2word"]))
    page.get_by_role("checkbox", name="phrase to word").uncheck()
    expect(guidelines).to_have_value(starter_guidelines(["sentence2phrase"]))
    guidelines.fill("My own.")
    page.get_by_role("checkbox", name="word to sense").check()
    page.locator("#new-name input, #new-name textarea").fill(unused)
    page.get_by_role("button", name="Create project").click()
    page.wait_for_url("**/annotate/project?project=*")
    project = int(page.url.rpartition("=")[2])
    assert site.services.projects.get(project).settings.guidelines == "My own."
