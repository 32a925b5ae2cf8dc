"""What is typed into a form outlives a lost connection, after which Gradio loads the page anew."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from annotation.types import ProjectSettings, Role
from tests.browser.conftest import PATIENCE, Site
from tests.writers import TYPE, new_items

NOT_SENT = "The page was loaded anew: what you had typed is back in the form."


@pytest.fixture(scope="module")
def _people(site: Site) -> None:
    for name in ("wim", "eda"):
        site.add_user(name)


@pytest.fixture
def project(site: Site, unused: str, _people: None) -> int:
    """A project with larger items, the writer wim and the editor eda."""
    root = site.services.accounts.user("root")
    project = site.services.projects.create(ProjectSettings(unused, types=(TYPE,)), created_by=root)
    for person, role in {"wim": Role.WRITER, "eda": Role.EDITOR}.items():
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
    page.wait_for_function("!window.isOld", timeout=PATIENCE)


def kept(page: Page) -> list[str]:
    return page.evaluate("Object.keys(sessionStorage).filter((key) => key.startsWith('kpdemo-kept'))")


def test_an_edited_text_is_there_again_and_accepted_as_it_was_edited(site, browser, project):
    write(site, project, "a boat on its way", "gulls at noon")
    page = site.page(browser, "eda", f"/annotate/review?project={project}")
    text, note, said = page.locator("#review-text textarea"), page.locator("#review-note"), "#review-kept"
    expect(text).to_have_value("a boat on its way")
    text.fill("a boat leaving at noon")
    press_while_offline(page, "#review-accept")
    expect(page.locator(said)).to_contain_text(NOT_SENT)
    expect(text).to_have_value("a boat leaving at noon")

    page.get_by_label("Texts awaiting review").click()
    page.get_by_role("option").nth(1).click()
    expect(text).to_have_value("gulls at noon")  # what was typed is of the other text alone
    expect(page.locator(said)).to_be_hidden()
    note.locator("textarea").fill("Three words.")
    page.get_by_label("Texts awaiting review").click()
    page.get_by_role("option").nth(0).click()
    expect(text).to_have_value("a boat leaving at noon")

    page.locator("#review-accept").click()
    expect(page.locator("#review-said")).to_contain_text("Accepted")
    expect(text).to_have_value("gulls at noon")
    expect(note.locator("textarea")).to_have_value("Three words.")
    page.locator("#review-drop").click()
    expect(note.locator("textarea")).to_have_value("")
    expect(page.locator(said)).to_be_hidden()
    assert kept(page) == []
    [pair] = site.services.pair_list.pairs(project).items
    assert pair.right == "a boat leaving at noon"


def test_settings_are_there_again_with_what_they_began_with_until_they_are_saved(site, browser, project):
    page = site.page(browser, "root", f"/annotate/project?project={project}")
    page.get_by_role("tab", name="Settings").click()
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
    expect(page.locator("#project-kept")).to_contain_text(NOT_SENT)
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
    page.reload()
    page.get_by_role("tab", name="Settings").click()
    expect(page.get_by_label("Raters per pair")).to_have_value("3")
    expect(page.locator("#project-kept")).to_be_hidden()


def test_a_new_project_is_there_again_for_who_typed_it_alone(site, browser, project, unused):
    page = site.page(browser, "root")
    page.get_by_role("button", name="New project").click()
    page.get_by_label("Name", exact=True).fill(f"{unused} 2")
    page.get_by_label("sentence to phrase").check()
    press_while_offline(page, "#home-create")
    expect(page.locator("#new-kept")).to_contain_text(NOT_SENT)
    expect(page.get_by_label("Name", exact=True)).to_have_value(f"{unused} 2")
    [key] = kept(page)
    assert key == f"kpdemo-kept:{site.services.accounts.user('root').id}::new"
    page.locator("#home-create").click()
    page.wait_for_url("**/annotate/project?project=*")
    assert kept(page) == []
