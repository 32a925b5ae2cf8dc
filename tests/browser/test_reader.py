"""What belongs to a reader: their text and tab over a reload, and the name of who is signed in."""

from __future__ import annotations

import html

import pytest
from playwright.sync_api import Page, expect

from kpdemo.ui.html import group_digits
from tests.browser.conftest import open_page
from tests.browser.test_keyphrases_page import open_options

TITLE = "Surface currents"
TEXT = "The boundary integral equation gives the surface current.\n\nשלום “world”"
WHOLE = f"{TITLE}\n\n{TEXT}"


def write(page: Page) -> None:
    page.locator("#predict-document textarea").fill(WHOLE)


def expect_text(page: Page, text: str) -> None:
    expect(page.locator("#predict-document textarea")).to_have_value(text)


@pytest.mark.slow
def test_a_reload_a_language_and_back_keep_text_and_tab_and_a_new_tab_shows_nothing_of_them(fresh, address):
    write(fresh)
    fresh.reload()
    expect_text(fresh, WHOLE)
    expect(fresh.locator("#predict-length")).to_contain_text(f"{group_digits(len(WHOLE))} characters")
    menu = fresh.locator("[data-language-menu]")
    menu.select_option("de")
    expect(fresh.get_by_role("tab", name="Schl\u00fcsselbegriffe")).to_be_visible()
    expect_text(fresh, WHOLE)
    expect(fresh.locator("#predict-length")).to_contain_text(f"{group_digits(len(WHOLE))} Zeichen")
    fresh.locator("#predict-run").click()
    expect(fresh.locator("#predict-text-heading")).to_have_text("Im Text")
    menu.select_option("en")
    fresh.locator("#predict-run").click()
    expect(fresh.locator("#predict-phrases")).to_contain_text("boundary integral equation")
    fresh.get_by_role("tab", name="Evaluate").click()
    expect(fresh).to_have_url(f"{address}/#evaluate")
    fresh.goto(f"{address}/healthz")
    fresh.go_back()
    expect(fresh.locator("#evaluate-run")).to_be_visible()
    fresh.get_by_role("tab", name="Keyphrases").click()
    expect(fresh).to_have_url(f"{address}/")
    expect_text(fresh, WHOLE)

    other = fresh.context.new_page()
    open_page(other, address)
    expect_text(other, "")
    assert other.evaluate("localStorage.length") == fresh.evaluate("localStorage.length") == 0


def test_an_answer_and_its_options_survive_a_reload_and_are_old_where_the_text_is_another(fresh):
    write(fresh)
    open_options(fresh)
    fresh.locator("#predict-count").get_by_role("textbox").fill("2")
    fresh.locator("#predict-run").click()
    expect(fresh.locator("#predict-phrases")).to_contain_text("boundary integral equation")
    expect(fresh.locator("#predict-marked mark").first).to_be_visible()
    fresh.reload()
    expect(fresh.locator("#predict-phrases")).to_contain_text("boundary integral equation")
    expect(fresh.locator("#predict-marked mark").first).to_be_visible()
    expect(fresh.locator("#predict-old")).to_be_hidden()
    open_options(fresh)
    expect(fresh.locator("#predict-count").get_by_role("textbox")).to_have_value("2")
    fresh.locator("#predict-document textarea").fill("Another text")
    fresh.reload()
    expect(fresh.locator("#predict-phrases")).to_contain_text("boundary integral equation")
    expect(fresh.locator("#predict-old")).to_be_visible()


@pytest.mark.slow
def test_an_example_is_kept_and_what_was_taken_away_is_not(fresh):
    write(fresh)
    fresh.evaluate(
        "Object.defineProperty(document, 'hidden', { value: true, configurable: true });"
        "document.dispatchEvent(new Event('visibilitychange'));"
        "delete document.hidden;"
    )
    assert TITLE in fresh.evaluate("sessionStorage.getItem('kpdemo-text')")  # the browser may discard the tab
    back = fresh.locator("#predict-text-back")
    for number in (2, 1):
        fresh.locator(f"#predict-example-{number}").click()
        expect(fresh.locator("#predict-document textarea")).not_to_have_value(WHOLE)
        expect(back).to_be_visible()
    back.click()
    expect_text(fresh, WHOLE)
    expect(back).to_be_hidden()
    fresh.locator("#predict-example-1").click()
    expect(fresh.locator("#predict-document textarea")).not_to_have_value(WHOLE)
    expect(fresh.locator("#predict-facts")).to_be_visible()
    example = fresh.locator("#predict-document textarea").input_value()
    fresh.reload()
    expect(fresh.locator("#predict-document textarea")).to_have_value(example)
    fresh.locator("#predict-document textarea").fill("")
    fresh.reload()
    fresh.locator("#predict-run").wait_for()  # a text comes back as soon as its box is there
    expect_text(fresh, "")


@pytest.mark.slow
def test_a_text_that_the_browser_cannot_store_is_no_trouble(fresh):
    write(fresh)
    refuse = "() => { throw new DOMException('', 'QuotaExceededError'); }"
    fresh.evaluate(f"() => {{ Storage.prototype.setItem = {refuse}; }}")
    fresh.reload()
    fresh.locator("#predict-run").wait_for()  # a text comes back as soon as its box is there
    expect_text(fresh, "")


@pytest.mark.parametrize(
    "tab", ["files", *(pytest.param(tab, marks=pytest.mark.slow) for tab in ("space", "evaluate"))]
)
def test_an_address_opens_its_tab_also_on_a_phone(browser, address, tab):
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto(f"{address}/#{tab}")
    expect(page.locator(f"#{tab}-run")).to_be_visible()
    page.close()


@pytest.mark.slow
def test_the_head_names_who_is_signed_in_to_nobody_else(empty_site, browser):
    name = "Ana & <b>Bo</b>"
    site = empty_site
    site.add_user(name)
    known, unknown = (site.context(browser, user).new_page() for user in (name, None))
    for path in ("/set-up/used", "/"):
        known.goto(f"{site.address}{path}")
        expect(known.get_by_role("link", name=name)).to_have_attribute("href", "/account")
    for path in ("/set-up/used", "/"):
        with unknown.expect_response(f"**{'/account/name' if path == '/' else path}"):
            answer = unknown.goto(f"{site.address}{path}")
        assert "<b>Bo" not in html.unescape(answer.text())
        expect(unknown.get_by_role("link", name="Annotate")).to_be_visible()
        assert unknown.locator("a[href='/account']").count() == 0
    told = known.request.get(f"{site.address}/account/name")
    assert (told.json()["name"], told.headers["cache-control"]) == (name, "no-store")
