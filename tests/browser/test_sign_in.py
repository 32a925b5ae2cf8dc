"""From the set-up link to a disabled account, as people in their browsers go through it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("playwright")
from playwright.sync_api import Page, expect

from annotation.client import Client, ClientError
from annotation.types import ProjectSettings, Role
from tests.browser.conftest import choose_files, serious_violations, wait_until_kept

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.browser.conftest import Site

PASSWORD = "correct horse battery"
OTHER = "staple on the hill"
IS_ON_TOP = """button => {
  const { left, right, top, bottom } = button.getBoundingClientRect();
  return [top + 1, bottom - 1].every(y => button.contains(document.elementFromPoint((left + right) / 2, y)));
}"""
NOTES_401 = """() => {
  const look = () => { window.told401 ||= document.body.innerText.includes("401"); };
  new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
}"""
SIGN_IN = re.compile(r"/sign-in\?next=")


def choose_password(page: Page, password: str = PASSWORD) -> None:
    page.locator("#password").fill(password)
    page.keyboard.press("Enter")


def sign_in(page: Page, name: str, password: str = PASSWORD) -> None:
    page.get_by_label("Name").fill(name)
    choose_password(page, password)


def expect_user(page: Page, name: str) -> None:
    expect(page.locator("#page-user")).to_have_text(name)


def choose(page: Page, elem_id: str, option: str) -> None:
    page.locator(f"#{elem_id} input").click()
    page.get_by_role("option", name=option, exact=True).click()


def shown_link(page: Page, elem_id: str) -> str:
    """The link that the page shows, from what its Copy button would copy."""
    button = page.locator(f"#{elem_id}").get_by_role("button", name="Copy")
    return button.get_attribute("data-content") or ""


@pytest.mark.slow
def test_from_the_set_up_to_a_disabled_account(browser: Browser, new_site: Site):
    site = new_site
    root = site.context(browser).new_page()
    root.goto(f"{site.address}/set-up/{site.services.invitations.setup_token()}")
    root.get_by_label("Name").fill("Ana")
    choose_password(root)
    expect_user(root, "Ana")

    root.goto(f"{site.address}/annotate/users")
    root.get_by_label("Name", exact=True).fill("Ben <b>")
    root.get_by_role("button", name="Add and make a link").click()
    expect(root.locator("#users-list")).to_contain_text("Ben <b>")
    link = shown_link(root, "users-added")
    assert link.startswith(f"{site.address}/invitation/")

    ben = site.context(browser).new_page()
    ben.goto(link)
    expect(ben.get_by_label("Name")).to_have_value("Ben <b>")
    expect(ben.locator("#password")).to_be_focused()
    choose_password(ben)
    expect_user(ben, "Ben <b>")
    ben.goto(link)
    expect(ben.get_by_role("alert")).to_contain_text("used already")
    ben.goto(f"{site.address}/annotate/users")
    expect(ben.get_by_text("for administrators of the server")).to_be_visible()
    expect(ben.locator("#users-list")).to_be_hidden()
    ben.goto(f"{site.address}/annotate/")
    expect_user(ben, "Ben <b>")

    root.goto(f"{site.address}/annotate/users")
    expect(root.locator("#users-disable")).to_be_disabled()
    choose(root, "users-chosen", "Ana")
    root.locator("#users-disable").click()
    expect(root.locator("#users-changed .refusal")).to_contain_text("your own account")
    choose(root, "users-chosen", "Ben <b>")
    root.locator("#users-disable").click()
    expect(root.locator("#users-changed")).to_contain_text("Ben <b> is disabled")
    assert not site.services.accounts.user("Ana").is_disabled
    ben.reload()
    expect(ben).to_have_url(SIGN_IN)
    expect(ben.get_by_role("status")).to_contain_text("Your session ended.")
    sign_in(ben, "Ben <b>")
    expect(ben.get_by_role("alert")).to_contain_text("do not fit")

    root.locator("#users-enable").click()
    expect(root.locator("#users-changed")).to_contain_text("can sign in again")
    sign_in(ben, "Ben <b>")
    expect_user(ben, "Ben <b>")

    root.get_by_label("New name").fill("Ben")
    root.get_by_role("button", name="Rename").click()
    expect(root.locator("#users-changed")).to_contain_text("Ben <b> is now called Ben")
    expect(root.get_by_label("New name")).to_have_value("")
    ben.reload()  # still signed in
    expect_user(ben, "Ben")


@pytest.mark.slow
def test_a_new_password_ends_the_other_browser(browser: Browser, site: Site, unused: str):
    name = site.add_user(unused).name
    here, there = (site.page(browser, name) for _ in range(2))
    here.goto(f"{site.address}/account")
    here.get_by_label("Current password").fill(PASSWORD)
    here.get_by_label("New password").fill(OTHER)
    here.keyboard.press("Enter")
    expect(here.get_by_role("status")).to_contain_text("The password is changed")
    there.reload()
    expect(there).to_have_url(SIGN_IN)
    here.goto(f"{site.address}/annotate/")
    expect_user(here, name)
    here.get_by_role("button", name="Sign out").click()
    expect(here.get_by_role("status")).to_have_text("You are signed out.")
    here.go_back()
    expect(here).to_have_url(SIGN_IN)  # the page of before is not in any store


@pytest.mark.slow
def test_a_lost_session_leads_back_to_the_same_place(browser: Browser, site: Site, unused: str):
    name, typed = site.add_user(unused.capitalize()).name, unused.lower()
    page = site.page(browser, name, "/annotate/?from=here")
    site.services.sign_ins.sign_out_everywhere(name)
    page.reload()
    expect(page.get_by_role("status")).to_contain_text("Your session ended. Sign in and go on")
    sign_in(page, typed, "a wild guess")
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_label("Name")).to_have_value(typed)
    expect(page.locator("#password")).to_be_focused()
    expect(page.locator("#password")).to_have_value("")
    choose_password(page)
    expect_user(page, name)
    assert page.url == f"{site.address}/annotate/?from=here"


@pytest.mark.slow
def test_what_was_typed_into_a_form_outlives_the_session(browser: Browser, site: Site, unused: str):
    name = site.add_user(unused, is_administrator=True).name
    other = site.add_user(f"other {unused}", is_administrator=True).name
    project = site.services.projects.create(ProjectSettings(unused, types=("sentence2phrase",))).id
    path = f"/annotate/project?project={project}&tab=settings"
    page = site.page(browser, name, path, viewport={"width": 390, "height": 844})
    guidelines, save = page.get_by_label("Guidelines in Markdown"), page.locator("#project-save")
    notice, said = page.locator("#session-ended"), page.locator("#project-saved")

    def sign_in_elsewhere() -> None:
        with page.context.expect_page() as opened:
            notice.get_by_role("link").click()
        sign_in(opened.value, name)
        expect_user(opened.value, name)
        opened.value.close()

    wait_until_kept(page, "project")
    site.services.sign_ins.sign_out_everywhere(name)
    guidelines.fill("Be kind.")
    save.evaluate("it => scrollBy(0, it.getBoundingClientRect().bottom - innerHeight)")
    save.click()
    expect(notice).to_be_in_viewport()
    expect(notice).to_contain_text("what you typed is still here")
    expect(said).to_contain_text("You are not signed in")  # it moves the button
    page.wait_for_function(IS_ON_TOP, arg=save.element_handle())
    last = page.get_by_role("button", name="Delete the project")
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    page.wait_for_function(IS_ON_TOP, arg=last.element_handle())
    sign_in_elsewhere()
    expect(guidelines).to_have_value("Be kind.")
    save.click()
    expect(notice).to_have_count(0)
    expect(said).to_contain_text("Saved")
    assert site.services.projects.get(project).settings.guidelines == "Be kind."

    page.context.add_cookies(site.context(browser, other).cookies())  # somebody else signs in
    guidelines.fill("Be brief.")
    save.click()
    expect(notice).to_contain_text("Somebody else is signed in now")
    assert site.services.projects.get(project).settings.guidelines == "Be kind."
    expect(guidelines).to_have_value("Be brief.")
    page.reload()
    expect_user(page, other)
    wait_until_kept(page, "project")
    guidelines.fill("Be quick.")
    save.click()
    expect(said).to_contain_text("Saved")


@pytest.mark.slow
def test_the_end_of_a_session_is_told_of_a_file_too(browser: Browser, site: Site, unused: str):
    name = site.add_user(unused, is_administrator=True).name
    project = site.services.projects.create(ProjectSettings(unused))
    page = site.page(
        browser, name, f"/annotate/project?project={project.id}", viewport={"width": 390, "height": 844}
    )
    expect(page.locator("#import-file")).to_be_visible()
    site.services.sign_ins.sign_out_everywhere(name)
    page.evaluate(NOTES_401)
    page.locator("#import-file input[type=file]").set_input_files(
        {"name": "a.tsv", "mimeType": "text/plain", "buffer": b"a"}
    )
    notice = page.locator("#session-ended")
    expect(notice).to_contain_text("choose the file again")
    with page.context.expect_page() as opened:
        notice.get_by_role("link").click()
    sign_in(opened.value, name)
    expect_user(opened.value, name)
    choose_files(page.locator("#import-file"), ("b.tsv", b"b"))
    expect(notice).to_have_count(0)
    assert not page.evaluate("window.told401")


@pytest.mark.slow
def test_an_account_of_ones_own_joins_by_a_link(browser: Browser, site: Site, unused: str):
    name = site.add_user(f"Emil {unused}").name
    project = site.services.projects.create(ProjectSettings(unused))
    root = site.page(browser, "root", "/annotate/users")
    choose(root, "users-project", unused)
    root.locator("#users-invite").click()
    link = shown_link(root, "users-invited")
    page = site.context(browser).new_page()
    page.goto(link)
    page.get_by_role("main").get_by_role("link", name="Sign in").click()
    sign_in(page, name)
    page.get_by_role("button", name="Join the project").click()
    expect_user(page, name)
    assert site.services.accounts.roles(name, project.id) == {Role.RATER}


def test_what_is_typed_can_be_looked_at_and_is_hidden_when_sent(browser: Browser, site: Site):
    page = site.context(browser).new_page()
    page.clock.install()
    page.goto(f"{site.address}/sign-in")
    expect(page.get_by_label("Name")).to_be_focused()
    password = page.get_by_label("Password", exact=True)
    password.fill("a wild guess")
    expect(password).to_have_attribute("type", "password")
    page.get_by_label("Show what I type").check()
    expect(password).to_have_attribute("type", "text")
    page.get_by_label("Name").fill("root")
    page.evaluate("addEventListener('submit', (event) => event.preventDefault())")  # as after a Stop
    form = page.locator("form")
    page.get_by_role("button", name="Sign in").click()
    expect(form).to_have_attribute("data-sent", "yes")
    expect(password).to_have_attribute("type", "password")
    page.clock.fast_forward(3000)
    expect(form).not_to_have_attribute("data-sent", "yes")  # it can be sent again


def test_light_or_dark_is_remembered_from_the_other_pages(browser: Browser, site: Site):
    page = site.context(browser, color_scheme="light").new_page()
    page.goto(f"{site.address}/sign-in")

    def ground() -> str:
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    assert ground() == "rgb(248, 250, 252)"
    page.get_by_role("button", name="Light / dark").click()
    assert ground() == "rgb(2, 6, 23)"
    assert page.evaluate("localStorage.getItem('kpdemo-theme')") == "dark"
    page.reload()
    assert ground() == "rgb(2, 6, 23)"


@pytest.mark.parametrize("path", ["/sign-in", "/account", "/annotate/users"])
@pytest.mark.slow
def test_a_page_fits_a_phone(browser: Browser, site: Site, path):
    context = site.context(browser, "root", viewport={"width": 390, "height": 844}, has_touch=True)
    if path == "/sign-in":
        context.clear_cookies()
    page = context.new_page()
    page.goto(f"{site.address}{path}")
    page.locator("h2:visible, h1:visible").last.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_token_for_programs_is_made_shown_once_used_and_revoked_on_the_account_page(browser, new_site):
    site = new_site
    site.add_user("Mira")
    page = site.context(browser, "Mira").new_page()
    page.goto(f"{site.address}/account")
    page.get_by_label("What the token is for").fill("<b>export</b> of the night")
    page.get_by_label("Days until it ends").fill("many")
    page.get_by_role("button", name="Make a token").click()
    expect(page.get_by_role("alert")).to_contain_text("a whole number such as 90, not 'many'")
    expect(page.get_by_label("What the token is for")).to_have_value("<b>export</b> of the night")
    page.get_by_label("Days until it ends").fill("90")
    page.get_by_role("button", name="Make a token").click()
    token = page.locator("#new-token").inner_text()
    assert Client(site.address, token).projects() == []
    page.goto(f"{site.address}/account")
    assert token not in page.content()
    expect(page.locator(".tokens li")).to_contain_text("<b>export</b> of the night, made ")
    expect(page.locator(".tokens li")).to_contain_text("last used ")
    assert serious_violations(page) == []
    page.get_by_role("button", name="Revoke <b>export</b> of the night").click()
    expect(page.get_by_role("status")).to_contain_text("The token is revoked")
    expect(page.locator(".tokens")).to_have_count(0)
    with pytest.raises(ClientError, match="no valid token"):
        Client(site.address, token).projects()
