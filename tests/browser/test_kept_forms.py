"""What is typed into a form outlives a lost connection, after which Gradio loads the page anew."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal

import pytest
from playwright.sync_api import Page, Route, expect

from annotation.types import KnownPair, NewPair, ProjectSettings, Role
from tests.browser.conftest import PASSWORD, Site, wait_until_kept
from tests.writers import TYPE, new_items

IS_BACK = "What you typed but did not save is back in the form."


@pytest.fixture(scope="module")
def _people(site: Site) -> None:
    for name in ("wim", "eda"):
        site.add_user(name)
    site.add_user("rosa", is_administrator=True)


@pytest.fixture
def project(site: Site, unused: str, _people: None) -> int:
    """A project with larger items, the writer wim and the editor eda."""
    root = site.services.accounts.user("root")
    project = site.services.projects.create(ProjectSettings(unused, types=(TYPE,)), created_by=root)
    for person, role in (("wim", Role.WRITER), ("eda", Role.EDITOR), ("rosa", Role.EDITOR)):
        site.services.projects.add_member(project.id, person, role, by=root)
    site.services.items.import_items(project.id, new_items(4), by=root)
    return project.id


def write(site: Site, project: int, *texts: str) -> None:
    wim = site.services.accounts.user("wim").id
    for text in texts:
        task = site.services.writing.desk(project, wim).task
        site.services.writing.submit(task.id, wim, text, task.version)


def press_while_offline(page: Page, button: str) -> None:
    """Press, then wait until Gradio has loaded the page anew."""
    page.context.set_offline(True)
    page.locator(button).click()
    expect(page.get_by_text("Connection to the server was lost")).to_be_visible()
    page.evaluate("window.isOld = true")
    page.context.set_offline(False)
    page.wait_for_function("!window.isOld")


@contextmanager
def saving_slowly(page: Page) -> Iterator[None]:
    """Save the settings, for as long as the block takes."""
    held: list[Route] = []
    page.route("**/gradio_api/queue/join*", lambda route: held.append(route))
    with page.expect_request("**/gradio_api/queue/join*"):
        page.locator("#project-save").click()
    yield
    [saving] = held
    saving.continue_()
    page.unroute("**/gradio_api/queue/join*")


ANSWERS_LATE = """() => {
  const fetch = window.fetch;
  window.fetch = async (...asked) => {
    const isRun = String(asked[0].url ?? asked[0]).includes("/run/");
    await new Promise((done) => setTimeout(done, isRun ? 600 : 0));
    return fetch(...asked);
  };
}"""


def kept(page: Page) -> list[str]:
    return page.evaluate("Object.keys(sessionStorage).filter((key) => key.startsWith('kpdemo-kept'))")


@pytest.mark.slow
def test_an_edited_text_is_there_again_and_accepted_as_it_was_edited(site, browser, project):
    write(site, project, "a boat on its way", "gulls at noon")
    page = site.page(browser, "eda", f"/annotate/review?project={project}")
    text, note, said = page.locator("#review-text textarea"), page.locator("#review-note"), "#review-kept"
    expect(text).to_have_value("a boat on its way")
    wait_until_kept(page, "review")
    text.fill("a boat leaving at noon")
    press_while_offline(page, "#review-accept")
    expect(page.locator(said)).to_contain_text(IS_BACK)
    expect(text).to_have_value("a boat leaving at noon")

    page.get_by_label("Texts awaiting review").click()
    page.locator("[role=option]").nth(1).click()
    expect(text).to_have_value("gulls at noon")  # what was typed is of the other text alone
    expect(page.locator(said)).to_be_hidden()
    note.locator("textarea").fill("Three words.")
    page.get_by_label("Texts awaiting review").click()
    page.locator("[role=option]").nth(0).click()
    expect(text).to_have_value("a boat leaving at noon")

    page.locator("#review-accept").click()
    expect(page.locator("#review-said")).to_contain_text("Accepted")
    expect(text).to_have_value("gulls at noon")
    expect(note.locator("textarea")).to_have_value("Three words.")
    page.locator("#review-drop").click()
    expect(note.locator("textarea")).to_have_value("")
    expect(page.locator(said)).to_be_hidden()
    assert kept(page) == []
    [pair] = site.services.pairs.pairs(project).items
    assert pair.right == "a boat leaving at noon"


@pytest.mark.slow
def test_settings_are_there_again_with_what_they_began_with_until_they_are_saved(site, browser, project):
    page = site.page(browser, "root", f"/annotate/project?project={project}")
    page.get_by_role("tab", name="Settings").click()
    wait_until_kept(page, "project")
    page.get_by_label("Guidelines in Markdown").fill("Be *kind*.")
    page.get_by_label("Raters per pair").fill("3")
    page.get_by_label("phrase to word").check()
    page.get_by_label("Pairs in random order").uncheck()
    page.locator("#project-step").get_by_label("0.5").check()
    press_while_offline(page, "#project-save")
    services = site.services
    services.projects.update(
        project, ProjectSettings(services.projects.get(project).name, types=(TYPE,), lease_minutes=77)
    )
    expect(page.locator("#project-kept")).to_contain_text(IS_BACK)
    expect(page.get_by_label("Guidelines in Markdown")).to_have_value("Be *kind*.")
    page.locator("#project-save").click()
    expect(page.locator("#project-saved")).to_contain_text("Saved")
    expect(page.locator("#project-kept")).to_be_hidden()
    settings = services.projects.get(project).settings
    assert (settings.guidelines, settings.raters_per_pair, settings.types) == (
        "Be *kind*.",
        3,
        (TYPE, "phrase2word"),
    )
    assert (str(settings.step), settings.is_random, settings.lease_minutes) == ("0.5", False, 77)
    assert kept(page) == []
    page.get_by_role("tab", name="Pairs").click()
    page.locator("#import-type input").click()
    expect(page.get_by_role("option", name="phrase to word")).to_be_visible()
    page.reload()
    page.get_by_role("tab", name="Settings").click()
    expect(page.get_by_label("Raters per pair")).to_have_value("3")
    expect(page.locator("#project-kept")).to_be_hidden()


@pytest.mark.slow
def test_a_new_project_is_there_again_until_it_is_made(site, browser, project, unused):
    page = site.page(browser, "root")
    page.get_by_role("button", name="New project").click()
    wait_until_kept(page, "new")
    page.get_by_label("Name", exact=True).fill(f"{unused} 2")
    page.get_by_label("sentence to phrase").check()
    press_while_offline(page, "#home-create")
    expect(page.locator("#new-kept")).to_contain_text(IS_BACK)
    expect(page.get_by_label("Name", exact=True)).to_have_value(f"{unused} 2")
    [key] = kept(page)
    assert key == f"kpdemo-kept:{site.services.accounts.user('root').id}::new"
    page.locator("#home-create").click()
    page.wait_for_url("**/annotate/project?project=*")
    assert kept(page) == []


@pytest.mark.slow
def test_what_is_typed_while_settings_are_saved_is_not_taken_for_saved(site, browser, project):
    page = site.page(browser, "root", f"/annotate/project?project={project}&tab=settings")
    guidelines, services = page.get_by_label("Guidelines in Markdown"), site.services
    wait_until_kept(page, "project")
    guidelines.fill("Be kind.")
    with saving_slowly(page):
        guidelines.fill("Be kind, and quick.")
    expect(page.locator("#project-saved")).to_contain_text("Saved")
    assert services.projects.get(project).settings.guidelines == "Be kind."
    press_while_offline(page, "#project-save")
    expect(page.locator("#project-kept")).to_contain_text(IS_BACK)
    expect(guidelines).to_have_value("Be kind, and quick.")

    page.locator("#project-drop").click()
    expect(guidelines).to_have_value("Be kind.")
    guidelines.fill("Be brief.")
    services.projects.update(project, replace(services.projects.get(project).settings, lease_minutes=77))
    with saving_slowly(page):
        guidelines.fill("Be brief, and quick.")
    expect(page.locator("#project-kept")).to_contain_text(IS_BACK)
    expect(guidelines).to_have_value("Be brief, and quick.")  # over what somebody else changed
    expect(page.get_by_label("Time limit per pair (minutes)")).to_have_value("77")


@pytest.mark.slow
def test_an_edit_outlives_choosing_from_the_queue_itself_or_one_that_is_settled(site, browser, project):
    write(site, project, "a boat on its way", "gulls at noon")
    page = site.page(browser, "eda", f"/annotate/review?project={project}")
    text = page.locator("#review-text textarea")
    expect(text).to_have_value("a boat on its way")
    wait_until_kept(page, "review")
    text.fill("a boat leaving at noon")
    page.get_by_label("Texts awaiting review").click()
    page.locator("[role=option]").nth(0).click()
    expect(text).to_have_value("a boat leaving at noon")
    rosa = site.services.accounts.user("rosa").id
    other = site.services.editing.queue(project, rosa)[1]
    version = site.services.editing.text(project, other.id, rosa).version
    site.services.editing.accept(project, other.id, rosa, version=version, text="gulls at noon")
    page.get_by_label("Texts awaiting review").click()
    page.locator("[role=option]").nth(1).click()
    expect(page.locator("#review-kept")).to_contain_text(IS_BACK)
    expect(text).to_have_value("a boat leaving at noon")


@pytest.mark.slow
def test_an_edit_is_kept_on_when_another_text_could_not_be_shown(site, browser, project, monkeypatch):
    write(site, project, "a boat on its way", "gulls at noon")
    page = site.page(browser, "eda", f"/annotate/review?project={project}")
    text = page.locator("#review-text textarea")
    expect(text).to_have_value("a boat on its way")
    wait_until_kept(page, "review")
    root = site.services.accounts.user("root")
    site.services.projects.remove_member(project, "eda", Role.EDITOR, by=root)
    page.get_by_label("Texts awaiting review").click()
    page.locator("[role=option]").nth(1).click()
    expect(page.locator(".toast-body.error")).to_be_visible()
    text.fill("a boat leaving at noon")
    page.wait_for_function("Object.keys(sessionStorage).some((key) => key.startsWith('kpdemo-kept'))")


@pytest.mark.slow
def test_a_link_leads_to_its_tab_and_its_type_though_something_is_kept(site, browser, project):
    there = f"{site.address}/annotate/project?project={project}"
    page = site.page(browser, "root", f"/annotate/project?project={project}&tab=settings")
    wait_until_kept(page, "project")
    page.get_by_label("Raters per pair").fill("3")
    page.goto(f"{there}&tab=members")
    wait_until_kept(page, "project")
    page.wait_for_timeout(100)  # and drawn
    expect(page.get_by_role("tab", name="Members")).to_have_attribute("aria-selected", "true")
    page.get_by_role("tab", name="Settings").click()
    expect(page.get_by_label("Raters per pair")).to_have_value("3")
    expect(page.locator("#project-kept")).to_contain_text(IS_BACK)

    page.goto(f"{site.address}/annotate/")
    page.get_by_role("button", name="New project").click()
    wait_until_kept(page, "new")
    page.get_by_label("Name", exact=True).fill("Boats")
    page.get_by_label("sentence to phrase").check()
    page.goto(f"{site.address}/annotate/?type=phrase2word")
    expect(page.get_by_label("Name", exact=True)).to_have_value("Boats")
    expect(page.get_by_label("sentence to phrase")).to_be_checked()
    expect(page.get_by_label("phrase to word")).to_be_checked()


@pytest.mark.slow
def test_signing_out_leaves_nothing_typed_to_the_next_one(site, browser):
    page = site.page(browser, "root")
    page.get_by_role("button", name="New project").click()
    wait_until_kept(page, "new")
    page.get_by_label("Name", exact=True).fill("Boats")
    page.wait_for_function("Object.keys(sessionStorage).some((key) => key.startsWith('kpdemo-kept'))")
    for kept_by in ("adjudicate", "senses"):
        page.evaluate(f"sessionStorage.setItem('kpdemo-{kept_by}:1:2:3', '{{}}')")
    page.goto(f"{site.address}/sign-in?next=/annotate/&ended")  # signed in still: goes on at once
    assert len(kept(page)) == 1
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/sign-in?out")
    left = "Object.keys(sessionStorage).filter((key) => /kept|adjudicate|senses/.test(key))"
    assert page.evaluate(left) == []
    page.get_by_label("Name").fill("rosa")
    page.locator("#password").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url("**/annotate/")
    page.get_by_role("button", name="New project").click()
    expect(page.get_by_label("Name", exact=True)).to_have_value("")
    expect(page.locator("#new-kept")).to_be_hidden()


@pytest.mark.slow
def test_a_known_grade_is_there_again_when_its_pair_is_chosen_again(site, browser, project):
    known = KnownPair(NewPair("t1", TYPE, "The cat sleeps.", "a sleeping cat"), Decimal(4))
    other = KnownPair(NewPair("t2", TYPE, "The dog sleeps.", "a sleeping dog"), Decimal(1))
    site.services.known_pairs.import_training(project, [known, other])
    page = site.page(browser, "root", f"/annotate/project?project={project}&tab=quality")
    pair, grade, note = (
        page.locator(f"#quality-known{part}") for part in (" input", "-grade input", "-kept")
    )

    def choose(name: str) -> None:
        pair.click()
        page.get_by_role("option", name=name).click()

    choose("t1")
    expect(grade).to_have_value("4")
    wait_until_kept(page, "quality-known")
    grade.fill("3.25")
    press_while_offline(page, "#quality-known-set")
    choose("t2")
    expect(grade).to_have_value("1")
    expect(note).to_be_hidden()
    page.evaluate(ANSWERS_LATE)
    for name in ("t1", "t2", "t1"):  # each before the last one is answered
        choose(name)
    expect(note).to_contain_text(IS_BACK)
    page.wait_for_timeout(1000)  # all are answered
    expect(page.locator("#quality-known-texts")).to_contain_text("a sleeping cat")
    expect(grade).to_have_value("3.25")
    page.locator("#quality-known-set").click()
    expect(page.locator("#quality-known-said")).to_have_text("The known grade of t1 is 3.25; it was 4.")
    expect(note).to_be_hidden()
    assert kept(page) == []
