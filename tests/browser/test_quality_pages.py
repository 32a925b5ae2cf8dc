"""A rater fails the training, tries again, passes and works; an administrator looks after all of it."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest
from playwright.sync_api import Page, expect

from annotation.types import KnownPair, NewPair, ProjectSettings, Role
from annotation.ui.quality import NO_KNOWN
from tests.browser.conftest import Site, Watch, choose_files, serious_violations
from tests.browser.pressing import press
from tests.browser.test_kept_forms import press_while_offline

TYPE = "sentence2phrase"
EVIL = '<img src=x onerror="alert(1)"> الشرح 漢字 🦜'
KNOWN = "id\tleft\tright\tgrade\texplanation\nt1\tThe cat sleeps.\ta sleeping cat\t4\tAll is there.\n"


@pytest.fixture
def project(site: Site, unused: str) -> int:
    project = site.services.projects.create(
        ProjectSettings(unused, types=(TYPE,), raters_per_pair=1, is_random=False)
    )
    pairs = [NewPair(f"p{n}", TYPE, f"The {n}th train was late.", f"late train {n}") for n in range(3)]
    site.services.importing.import_pairs(project.id, pairs)
    if "Tom" not in {user.name for user in site.services.accounts.users()}:
        site.add_user("Tom")
    site.services.projects.add_member(project.id, "Tom", Role.RATER)
    return project.id


def grade(page: Page, key: str) -> None:
    press(page, key, "Enter")


def begin_training(page: Page) -> None:
    page.get_by_role("button", name="I have read the guidelines: begin").click()


@pytest.mark.slow
def test_a_rater_fails_tries_again_passes_and_works(site, browser, project):
    known = [
        KnownPair(NewPair("t1", TYPE, "The cat sleeps.", "a sleeping cat"), Decimal(4), EVIL),
        KnownPair(NewPair("t2", TYPE, "It rains.", "a red car"), Decimal(0)),
    ]
    site.services.known_pairs.import_training(project, known)
    page, watch = site.context(browser, "Tom").new_page(), Watch()
    watch.over(page, site.address)
    page.goto(f"{site.address}/annotate/rate?project={project}")
    expect(page.locator("#rate-message")).to_contain_text("read the guidelines below first")
    expect(page.locator("#rate-guidelines")).to_have_attribute("open", "")
    press(page, "1", "Enter")  # for no pair that is shown
    assert serious_violations(page) == []
    begin_training(page)
    expect(page.locator("#rate-training")).to_contain_text(
        "The actual grading starts when 80 % of your 2 grades are within 0.5"
    )
    expect(page.locator("#rate-right")).to_have_text("a sleeping cat")
    expect(page.locator("#rate-scale [role=radio] >> nth=0")).to_be_enabled()
    grade(page, "1")
    feedback = page.locator("#rate-feedback")
    expect(feedback).to_contain_text("You gave 1; 4 was expected: too far off.")
    expect(page.locator("#rate-scale [data-expected]")).to_have_attribute("data-value", "4")
    expect(feedback).to_contain_text(EVIL)
    expect(page.get_by_role("button", name="Skip")).to_have_count(0)
    assert serious_violations(page) == []
    press(page, "Enter")
    expect(page.locator("#rate-right")).to_have_text("a red car")
    grade(page, "0")
    expect(feedback).to_contain_text("You gave 0, exactly as expected.")
    again, asked = page.get_by_role("button", name="Try again"), []
    page.on("request", lambda request: request.url.endswith("/training") and asked.append(request))
    press(page, "Enter", "Enter")  # the second one is for nothing that has been read
    expect(page.locator("#rate-message")).to_contain_text(
        "1 of your 2 grades was close enough; you need 80 %."
    )
    expect(again).to_be_focused()
    page.keyboard.down("Enter")
    expect(again).to_be_enabled()
    page.keyboard.down("Enter")  # it is still held
    page.keyboard.up("Enter")
    assert not asked
    press(page, "Enter")
    expect(page.locator("#rate-training")).to_contain_text("attempt 2")
    page.reload()  # the attempt is the server's, not the page's
    for _ in range(2):
        right = page.locator("#rate-right")
        expect(right).to_have_text(re.compile("."))
        grade(page, "4" if right.inner_text() == "a sleeping cat" else "0")
        expect(feedback).to_contain_text("exactly as expected")
        page.get_by_role("button", name="Go on").click()
    expect(page.locator("#rate-message")).to_contain_text("You passed: 2 of your 2 grades were close enough.")
    start = page.get_by_role("button", name="Start grading")
    expect(start).to_be_focused()
    expect(start).to_be_enabled()
    press(page, "Enter")
    expect(page.locator("#rate-count")).to_have_text("0 graded, up to 3 left")
    expect(page.locator("#rate-pair")).to_be_focused()
    for number in range(3):
        expect(page.locator("#rate-right")).to_have_text(f"late train {number}")
        grade(page, "2")
    expect(page.locator("#rate-message")).to_contain_text("You have graded 3 pairs,")
    assert site.services.projects.counts(project).ratings == 3
    watch.check()


@pytest.mark.slow
def test_another_attempt_begins_without_the_grades_of_the_last_one(site, browser, project):
    known = KnownPair(NewPair("t1", TYPE, "The cat sleeps.", "a sleeping cat"), Decimal(4))
    site.services.known_pairs.import_training(project, [known])
    page = site.context(browser, "Tom").new_page()
    page.goto(f"{site.address}/annotate/rate?project={project}")
    right, training, value = (page.locator(f"#rate-{part}") for part in ("right", "training", "value"))
    begin_training(page)
    expect(right).to_have_text("a sleeping cat")
    grade(page, "1")
    page.get_by_role("button", name="Go on").click()
    page.get_by_role("button", name="Try again").click()
    expect(training).to_contain_text("attempt 2")
    expect(value).to_contain_text("No grade yet")

    page.route("**/rating", lambda route: route.abort())
    expect(page.locator("#rate-scale [role=radio] >> nth=0")).to_be_enabled()
    grade(page, "1")
    expect(page.locator("#rate-saved")).to_contain_text("Not saved")
    page.unroute("**/rating")
    page.reload()
    page.get_by_role("button", name="Try again").click()
    expect(training).to_contain_text("attempt 3")
    expect(value).to_contain_text("No grade yet")


@pytest.mark.slow
def test_an_administrator_brings_pairs_sets_the_mark_excuses_and_pauses(site, browser, project):
    page = site.page(browser, "root", f"/annotate/project?project={project}&tab=pairs")
    page.get_by_role("tab", name="Quality").click()
    expect(page.locator("#quality-training")).to_contain_text("No training pairs")
    expect(page.locator("#quality-known-none")).to_have_text(NO_KNOWN)
    imports = [page.locator(f"#quality-{kind}-run").bounding_box() for kind in ("training", "checks")]
    assert imports[0]["y"] == imports[1]["y"]
    stop, correct = (page.get_by_role("button", name=name) for name in ("Stop using", "Set this grade"))
    for choice in stop, correct:  # there is nothing to choose yet
        expect(choice).to_be_hidden()
    choose_files(page.locator("#quality-training-file"), ("known.tsv", KNOWN.encode()))
    page.get_by_role("button", name="Import training pairs").click()
    expect(page.locator("#quality-training-result")).to_contain_text("Imported 1 training pair.")
    expect(page.locator("#quality-known-none")).to_have_text("")
    expect(stop).to_be_visible()
    expect(page.locator("#quality-raters")).to_contain_text("not passed yet")
    expect(page.locator("#quality-work")).to_contain_text("Grades an hour")
    expect(page.get_by_label("Known grade", exact=True)).to_have_value("")
    page.get_by_label("Training or check pair").click()
    page.get_by_role("option", name="training t1: a sleeping cat").click()
    expect(page.locator("#quality-known-texts")).to_contain_text("The cat sleeps.")
    expect(page.get_by_label("Known grade", exact=True)).to_have_value("4")
    page.get_by_label("Known grade", exact=True).fill("3.3")
    correct.click()
    refusal = page.locator("#quality-known-said .refusal")
    expect(refusal).to_contain_text("A grade is 0 to 4 in steps of 0.25, not 3.3")
    page.get_by_label("Known grade", exact=True).fill("")
    page.get_by_role("button", name="Set this grade").click()
    expect(refusal).to_contain_text("The known grade is missing: give a number.")
    page.get_by_label("Known grade", exact=True).fill("3,25")
    page.get_by_role("button", name="Set this grade").click()
    expect(page.locator("#quality-known-said")).to_have_text("The known grade of t1 is 3.25; it was 4.")
    page.get_by_label("One pair in", exact=True).fill("1")
    page.get_by_role("button", name="Save these settings").click()
    expect(page.locator("#quality-said .refusal")).to_contain_text(
        "One pair in 2 to 1000 can be a check pair"
    )
    page.get_by_label("One pair in", exact=True).fill("20")
    page.get_by_label("Pass mark, %").fill("70")
    page.get_by_role("tab", name="Members").click()
    with page.expect_response("**/gradio_api/run/*"):
        page.get_by_role("tab", name="Quality").click()
    press_while_offline(page, "#quality-save")
    expect(page.locator("#quality-kept")).to_contain_text("did not save is back")
    page.get_by_role("button", name="Save these settings").click()
    expect(page.locator("#quality-said")).to_contain_text("Saved.")
    settings = site.services.quality.settings(project)
    assert (settings.check_every, settings.pass_percent) == (20, 70)
    page.get_by_label("Rater", exact=True).click()
    page.get_by_role("option", name="Tom").click()
    page.get_by_role("button", name="Excuse from training").click()
    expect(page.locator("#quality-raters")).to_contain_text("excused")
    page.get_by_role("tab", name="Members").click()
    page.get_by_label("Member", exact=True).click()
    page.get_by_role("option", name="Tom – rater").click()
    page.get_by_role("button", name="Pause this rater").click()
    expect(page.locator("#members-list")).to_contain_text("rater (paused)")
    rater = site.context(browser, "Tom").new_page()
    rater.goto(f"{site.address}/annotate/rate?project={project}")
    expect(rater.locator("#rate-message")).to_contain_text("is paused: your grades are kept and count")
