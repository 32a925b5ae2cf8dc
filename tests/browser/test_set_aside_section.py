"""Setting a rater's grades aside on the page of a project, as an administrator does it."""

from __future__ import annotations

from decimal import Decimal

import pytest
from playwright.sync_api import expect

from annotation.types import NewPair, ProjectSettings
from tests.browser.conftest import serious_violations
from tests.browser.test_look import WIDTH


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "width"), [("dark", 390), ("light", 1280)])
def test_grades_are_set_aside_with_a_reason_and_brought_back(site, browser, scheme, width):
    root = site.services.accounts.user("root")
    settings = ProjectSettings(f"Set aside {width}", types=("sentence2phrase",))
    project = site.services.projects.create(settings, created_by=root)
    given = (("Cleo", Decimal(0)), ("Dora", Decimal(4)))
    pairs = [NewPair(str(n), "sentence2phrase", f"left {n}", f"right {n}", ratings=given) for n in range(3)]
    site.services.importing.import_pairs(project.id, pairs)
    options = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
    page = site.page(browser, "root", f"/annotate/project?project={project.id}&tab=members", **options)
    page.get_by_role("button", name="Set the grades of a rater aside").click()
    run, back = page.locator("#set-aside-run"), page.locator("#set-aside-bring-back")
    said, there = page.locator("#set-aside-said"), page.locator("#set-aside-grades")
    reason = page.get_by_label("Reason")
    for what in (run, back, reason):
        expect(what).to_be_disabled()
    page.locator("#set-aside-rater input").click()
    page.get_by_role("option", name="Cleo").click()
    expect(there).to_have_text("Cleo: 3 grades of 3 pairs of the project.")
    expect(back).to_be_disabled()
    run.click()
    expect(said).to_contain_text("No reason is given")
    reason.fill("the same grade for every pair")
    assert serious_violations(page, "#set-aside") == []
    assert page.evaluate(WIDTH) <= width
    run.click()
    expect(said).to_contain_text("3 grades of Cleo set aside: others are given these pairs.")
    expect(there).to_have_text("Cleo: 0 grades of 3 pairs of the project, and 3 set aside.")
    expect(reason).to_have_value("")
    expect(page.locator("#members-list tr", has_text="Cleo")).to_contain_text("(paused)")
    page.get_by_role("tab", name="Pairs").click()
    expect(page.locator("#project-counts")).to_contain_text("0 of 3 pairs done")
    listed = page.locator("#pair-list tbody tr")
    expect(listed.filter(has_text=f"1 of {settings.raters_per_pair}")).to_have_count(3)
    page.get_by_role("tab", name="Members").click()
    back.click()
    expect(said).to_contain_text("3 grades of Cleo brought back.")
    expect(page.locator("#members-list tr", has_text="Cleo")).not_to_contain_text("paused")
    page.get_by_role("tab", name="Pairs").click()
    expect(listed.filter(has_text=f"2 of {settings.raters_per_pair}")).to_have_count(3)
    page.get_by_role("tab", name="Events").click()
    expect(page.locator("#project-events")).to_contain_text("reason: the same grade for every pair")


@pytest.mark.slow
def test_who_comes_second_is_told_why_beside_what_there_is_by_now(site, browser):
    root = site.services.accounts.user("root")
    settings = ProjectSettings("Set aside by two", types=("sentence2phrase",))
    project = site.services.projects.create(settings, created_by=root)
    given = (("Cleo", Decimal(0)), ("Dora", Decimal(4)))
    site.services.importing.import_pairs(
        project.id, [NewPair("1", "sentence2phrase", "left", "right", ratings=given)]
    )
    page = site.page(browser, "root", f"/annotate/project?project={project.id}&tab=members")
    page.get_by_role("button", name="Set the grades of a rater aside").click()
    page.locator("#set-aside-rater input").click()
    page.get_by_role("option", name="Cleo").click()
    reason, run = page.get_by_label("Reason"), page.locator("#set-aside-run")
    reason.fill("the same grade for every pair")
    expect(run).to_be_enabled()
    site.services.exclusion.exclude(project.id, "Cleo", "quicker")
    run.click()
    said, there = page.locator("#set-aside-said"), page.locator("#set-aside-grades")
    expect(said).to_contain_text("'Cleo' has no grades that count")
    expect(there).to_have_text("Cleo: 0 grades of 1 pair of the project, and 1 set aside.")
    expect(run).to_be_disabled()
    back = page.locator("#set-aside-bring-back")
    expect(back).to_be_enabled()
    site.services.exclusion.restore(project.id, "Cleo")
    back.click()
    expect(said).to_contain_text("'Cleo' has no grades set aside")
    expect(there).to_have_text("Cleo: 1 grade of 1 pair of the project.")
    expect(back).to_be_disabled()
    expect(run).to_be_enabled()
    expect(reason).to_have_value("the same grade for every pair")
