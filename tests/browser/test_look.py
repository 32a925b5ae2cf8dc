"""What everybody needs of the page: any width, any light, keyboard, screen reader."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Route, expect

import app
from annotation.services.bundle import UnreachableError
from annotation.services.projects import OverviewService
from annotation.types import ProjectSettings, Role
from tests.browser.conftest import Nested, open_page
from tests.browser.test_keyphrases_page import BODY, TITLE, new_result, open_options, predict, write

WIDTH = "document.documentElement.scrollWidth"

UNNAMED = """() => [...document.querySelectorAll("button, input, textarea, select, a[href], [role=tab]")]
  .filter(e => e.checkVisibility() && e.type !== "file")
  .filter(e => !(e.ariaLabel || e.innerText?.trim() || e.labels?.[0]?.innerText.trim()
    || e.getAttribute("aria-labelledby") || e.title))
  .map(e => e.outerHTML.slice(0, 200))"""

DOUBLED = """() => {
  const ids = [...document.querySelectorAll("[id]")].map(e => e.id).filter(Boolean);
  return ids.filter((id, at) => ids.indexOf(id) !== at);
}"""

# The contrast of each visible piece of text with the first ground behind it, as WCAG 2 counts it.
PALE = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = colour => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data; return [r, g, b, a / 255];
  };
  const over = (top, under) => [0, 1, 2].map(i => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
  const light = colour => {
    const [r, g, b] = colour.map(v => v / 255)
      .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = element => {
    const grounds = [];
    for (let e = element; e; e = e.parentElement) grounds.push(rgba(getComputedStyle(e).backgroundColor));
    return grounds.reverse().reduce((under, top) => over(top, under), [255, 255, 255, 1]);
  };
  const pale = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const seen = element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
    if (!walker.currentNode.data.trim() || !seen) continue;
    if (element.closest("script, style, [disabled], .hide, [inert], .sr-only")) continue;
    const behind = ground(element), text = over(rgba(getComputedStyle(element).color), behind);
    const [high, low] = [light(text), light(behind)].sort((a, b) => b - a);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < 4.5) pale.push([walker.currentNode.data.trim().slice(0, 40), ratio.toFixed(2)]);
  }
  return pale;
}"""

# Infinite ones, such as those of a busy sign, have no end to wait for.
SETTLED = """() => Promise.allSettled(document.getAnimations()
  .filter(animation => animation.effect.getComputedTiming().endTime < Infinity)
  .map(animation => animation.finished))"""


@pytest.mark.slow
def test_longer_words_of_another_language_stay_on_their_lines_beside_buttons(site, browser):
    options = {"viewport": {"width": 1280, "height": 900}, "locale": "de"}
    page = site.context(browser, **options).new_page()
    open_page(page, site.address)
    predict(page, BODY, TITLE)
    lines = "e => Math.round(e.getBoundingClientRect().height / parseFloat(getComputedStyle(e).lineHeight))"
    assert page.locator("#predict-result .answer-head .small").evaluate(lines) <= 2
    send, compare = page.get_by_role("button", name="An ein Projekt senden"), page.locator("#compare-run")
    assert send.bounding_box()["height"] == compare.bounding_box()["height"]


def test_a_phone_shows_everything_without_scrolling_sideways(narrow):
    predict(narrow, BODY, TITLE)
    narrow.get_by_text("Same in code").click()
    narrow.locator("#compare-run").click()
    expect(narrow.locator("#compare-columns")).to_be_visible()
    assert narrow.evaluate(WIDTH) <= 390
    narrow.get_by_role("tab", name="Files").click()
    expect(narrow.locator("#files-run")).to_be_visible()
    assert narrow.evaluate(WIDTH) <= 390
    narrow.get_by_role("tab", name="Keyphrases").click()


LONG_WORDS = "neurophysiological representationalism"
LINES_OF_WORDS = """root => [...root.querySelectorAll(".phrase")].flatMap(({ firstChild: text }) =>
  [...text.data.matchAll(/\\S+/g)].map(word => {
    const range = document.createRange();
    range.setStart(text, word.index);
    range.setEnd(text, word.index + word[0].length);
    return range.getClientRects().length;
  }))"""


@pytest.mark.slow
def test_compare_breaks_no_word_that_fits(page, serve):
    models = dict.fromkeys(("default", "indexer", "first", "tfidf", "multipartite"), "fixed phrases")
    phrases = (LONG_WORDS, "representationalism")
    open_page(page, serve(app.AppContext(models, lambda name: Nested(name, phrases=phrases, absent=()))))
    write(page, f"{LONG_WORDS} is a view.")
    expect(page.locator("#compare-choose > button")).to_contain_text("default, indexer, tfidf, multipartite")
    page.locator("#compare-run").click()
    columns = page.locator("#compare-columns")
    expect(columns.locator(".votes").first).to_have_text("4 of 4")
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert columns.evaluate(LINES_OF_WORDS) == [1, 1, 1] * 4


SHADES = """() => {
  const wide = document.createElement("div");
  wide.className = "scrolling";
  wide.innerHTML = `<table class="listing" style="min-width: 900px"><tr><td>cell</td></tr></table>`;
  document.querySelector("main").append(wide);
  const styles = getComputedStyle(wide);
  const scrolls = wide.scrollWidth > wide.clientWidth;
  const found = [scrolls, styles.backgroundAttachment, getComputedStyle(wide.firstChild).backgroundColor];
  wide.remove();
  return found;
}"""


@pytest.mark.slow
def test_a_wide_table_has_a_shade_where_it_goes_on(site, browser):
    page = site.page(browser, "root", viewport={"width": 390, "height": 844})
    # Two grounds move with the table and cover the two shades, which stay, where it ends.
    assert page.evaluate(SHADES) == [True, "local, local, scroll, scroll", "rgba(0, 0, 0, 0)"]


@pytest.mark.slow
def test_a_page_that_cannot_be_opened_says_why_and_opens_no_more(browser, site, monkeypatch):
    def unreachable(*_):
        raise UnreachableError("The database is locked; try again in a moment.")

    monkeypatch.setattr(OverviewService, "projects", unreachable)
    cards = site.page(browser, "root").locator("#home-projects")
    expect(cards.get_by_role("alert")).to_be_visible()
    expect(cards).not_to_contain_text("Opening")


def test_a_phone_gives_its_width_to_the_text(narrow):
    predict(narrow, BODY, TITLE)
    table, phrase = (
        narrow.locator(f"#predict-phrases{part}").bounding_box() for part in ("", " .phrase >> nth=0")
    )
    assert table["x"] <= 12
    assert phrase["width"] >= 0.4 * table["width"]


@pytest.mark.slow
def test_marks_can_be_read_in_the_colours_of_the_reader_and_on_paper(demo):
    predict(demo, BODY, TITLE)
    text, mark = demo.locator("#predict-text"), demo.locator("#predict-text mark").first
    colour = "e => getComputedStyle(e).color"
    demo.emulate_media(forced_colors="active", color_scheme="dark")
    assert mark.evaluate(colour) == text.evaluate(colour)
    assert mark.evaluate("e => getComputedStyle(e).borderBottomStyle") == "solid"
    demo.get_by_role("tab", name="Semantic space").click()  # a tab is drawn when it is opened
    tick = demo.locator("#space-method input:checked")
    assert tick.evaluate("e => getComputedStyle(e).appearance") == "auto"
    demo.get_by_role("tab", name="Keyphrases").click()
    demo.emulate_media(media="print", forced_colors="none", color_scheme="light")
    assert text.evaluate("e => e.scrollHeight <= e.clientHeight")
    assert mark.evaluate("e => getComputedStyle(e).printColorAdjust") == "exact"
    for hidden in ("#predict-run", "#predict-document", "#predict-copy", "#compare-run", "#compare-heading"):
        expect(demo.locator(hidden)).to_be_hidden()
    demo.emulate_media(media="null")


@pytest.mark.slow
def test_less_motion_and_the_theme_of_the_system_hold_until_another_is_chosen(page, address):
    dark = "document.body.classList.contains('dark')"
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    open_page(page, address)
    assert page.locator("#predict-run").evaluate("e => getComputedStyle(e).transitionProperty") == "none"
    assert page.evaluate(dark) is True
    page.get_by_role("button", name="Light / dark").click()
    assert page.evaluate(dark) is False
    open_page(page, address)
    assert page.evaluate(dark) is False


def test_on_a_phone_the_answer_follows_the_button_and_comes_into_view(narrow):
    for body in (BODY, f"{BODY} Another result."):
        narrow.evaluate("scrollTo(0, 0)")
        run, heading = (narrow.locator(name).bounding_box() for name in ("#predict-run", "#predict-heading"))
        assert 0 < heading["y"] - (run["y"] + run["height"]) < 40
        predict(narrow, body, TITLE)
        expect(narrow.locator("#predict-heading h2")).to_be_in_viewport(ratio=0.9)
        expect(narrow.locator("#predict-phrases")).to_be_in_viewport(ratio=0.9)
    order = ("#predict-run", "#predict-result", "#predict-text", "#predict-options")
    tops = [narrow.locator(name).bounding_box()["y"] for name in order]
    assert tops == sorted(tops)


def test_on_a_wide_screen_the_whole_answer_is_above_the_fold(demo):
    demo.set_viewport_size({"width": 1280, "height": 800})
    predict(demo, BODY, TITLE)
    demo.evaluate("scrollTo(0, 0)")
    for part in ("#predict-phrases", "#predict-absent", "#predict-facts"):
        expect(demo.locator(part)).to_be_in_viewport(ratio=1)


def test_on_a_wide_screen_nothing_jumps(demo):
    write(demo, BODY, TITLE)
    demo.evaluate("scrollTo(0, 0)")
    new_result(demo, lambda: demo.locator("#predict-document textarea").press("Control+Enter"))
    demo.evaluate(SETTLED)
    assert demo.evaluate("scrollY") == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_enough_contrast(demo, scheme):
    predict(demo, BODY, TITLE)
    demo.locator("#predict-code").evaluate("details => { details.open = true; }")
    demo.locator("#compare-run").click()
    expect(demo.locator("#compare-columns")).to_be_visible()
    with shown_in(demo, scheme):
        assert demo.evaluate(PALE) == []
        demo.get_by_role("tab", name="Files").click()
        expect(demo.locator("#files-run")).to_be_visible()
        demo.evaluate(SETTLED)
        assert demo.evaluate(PALE) == []
        demo.get_by_role("tab", name="Keyphrases").click()


@contextmanager
def shown_in(page, scheme: str) -> Iterator[None]:
    """The page in light or dark, once no colour is on its way to another; light again after that."""
    if scheme == "dark":
        page.get_by_role("button", name="Light / dark").click()
    try:
        assert page.evaluate("document.body.classList.contains('dark')") is (scheme == "dark")
        page.evaluate(SETTLED)
        yield
    finally:
        if scheme == "dark":
            page.get_by_role("button", name="Light / dark").click()


def test_the_page_has_a_language_a_heading_order_and_a_main_part(demo):
    predict(demo, BODY, TITLE)
    assert demo.evaluate("document.documentElement.lang") == "en"
    assert demo.title() == "kpdemo – keyphrases of documents"
    expect(demo.get_by_role("main")).to_have_count(1)
    expect(demo.get_by_role("heading", level=1)).to_have_text(["kpdemo"])
    assert demo.get_by_role("heading", level=2).all_inner_texts() == ["Keyphrases", "In the text", "Compare"]


def test_every_control_has_a_name_and_no_id_comes_twice(demo):
    predict(demo, BODY, TITLE)
    demo.get_by_text("Same in code").click()
    demo.locator("#compare-run").click()
    expect(demo.locator("#compare-columns")).to_be_visible()
    assert demo.evaluate(UNNAMED) == []
    assert demo.evaluate(DOUBLED) == []


def test_the_keyboard_alone_is_enough(demo):
    write(demo, "")
    demo.locator("#predict-document textarea").focus()
    demo.keyboard.type(BODY)
    for _ in range(20):
        demo.keyboard.press("Tab")
        if demo.evaluate("document.activeElement.id") == "predict-run":
            break
    assert demo.locator("#predict-run").evaluate("e => getComputedStyle(e).outlineStyle") == "solid"
    new_result(demo, lambda: demo.keyboard.press("Enter"))
    expect(demo.locator("#predict-phrases")).to_be_visible()


BROKEN_WORDS = """root => {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT), broken = [];
  while (walker.nextNode()) {
    for (const word of walker.currentNode.data.matchAll(/\\S+/g)) {
      const range = document.createRange();
      range.setStart(walker.currentNode, word.index);
      range.setEnd(walker.currentNode, word.index + word[0].length);
      const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
      if (lines.size > 1) broken.push(word[0]);
    }
  }
  return broken;
}"""


@pytest.mark.slow
def test_beside_long_names_no_word_of_ours_is_broken(site, browser, unused):
    project = site.services.projects.create(
        ProjectSettings(unused, types=("sentence2phrase",), consent="Yes?")
    )
    for role, name in ((Role.ADJUDICATOR, "Judith"), (Role.RATER, LONG_WORDS)):
        site.services.projects.add_member(project.id, site.add_user(f"{name} {unused}").name, role)
    path = f"/annotate/project?project={project.id}&tab=members"
    page = site.page(browser, "root", path, viewport={"width": 1440, "height": 900})
    members = page.locator("#members-list table")
    expect(members).to_contain_text("adjudicator")
    assert members.evaluate(BROKEN_WORDS) == []
    page.get_by_role("tab", name="Quality").click()
    work = page.locator("#quality-work")
    expect(work).to_contain_text(LONG_WORDS)
    assert work.evaluate(BROKEN_WORDS) == []


def test_a_list_to_choose_from_is_edged_as_a_text_field_is(demo):
    edge = "e => getComputedStyle(e).borderTopColor"
    open_options(demo)
    text = demo.locator("#predict-document textarea").evaluate(edge)
    assert demo.locator(".wrap:has(> .wrap-inner):visible").first.evaluate(edge) == text


WAITING = {
    "": "your projects",
    "users": "the accounts",
    "agreement?project={}": "the agreement",
    "leaderboard?project={}": "the leaderboard",
    "predictions?project={}": "the predictions",
    "project?project={}": "the project",
    "review?project={}": "the texts",
}


@pytest.mark.parametrize(
    "path",
    [path if not path else pytest.param(path, marks=pytest.mark.slow) for path in WAITING],
)
def test_a_page_says_that_it_opens_until_it_is_filled(site, browser, unused, path):
    project = site.services.projects.create(ProjectSettings(unused, types=("sentence2phrase",)))
    held: list[Route] = []  # and never answered
    page = site.context(browser, "root").new_page()
    page.route(re.compile("/gradio_api/(run|queue)/"), lambda route: held.append(route))
    page.goto(f"{site.address}/annotate/{path.format(project.id)}", wait_until="domcontentloaded")
    said = page.get_by_text(f"Opening {WAITING[path]}.")
    expect(said).to_be_visible()
    page.unroute_all()
    page.reload()
    page.locator("#page-user").wait_for()
    expect(said).to_have_count(0)
