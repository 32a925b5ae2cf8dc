"""A reader at the Semantic space page: draw, point at a phrase, hide a kind, save the picture."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import numpy as np
import pytest
from playwright.sync_api import Page, expect

import app
from kpdemo.types import Keyphrase, PointKind, Prediction, VectorPoint, VectorSpace
from kpdemo.ui.space import STOPPED
from kpdemo.ui.widgets import EARLIER
from kpdemo.worker import tell
from tests.browser.conftest import Watch, open_page, serious_violations
from tests.browser.test_keyphrases_page import BODY, TITLE, choose_model, expect_refusal, write
from tests.browser.test_look import DOUBLED, PALE, UNNAMED, WIDTH, shown_in
from tests.fakes import FakePredictor, MappedPredictor, absent_keyphrases
from tests.profiles import DESKTOP, PATIENCE

if TYPE_CHECKING:
    from playwright.sync_api import Browser

MODELS = {
    "default": "with a reranker",
    "extractor": "without one",
    "words": "without vectors",
    "cornered": "at its edges",
}
CHART = "#space-{}-chart .js-plotly-plot"


OVERLAPPING = """chart => {
  const names = [...chart.querySelectorAll(".textpoint text")].filter(e => e.getClientRects().length);
  const boxes = names.map(e => e.getBoundingClientRect());
  const over = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  return names.filter((_, i) => boxes.some((box, j) => j > i && over(boxes[i], box))).map(e => e.textContent);
}"""

OUTSIDE = """chart => {
  const { l, t, w, h } = chart._fullLayout._size, { left, top } = chart.getBoundingClientRect();
  const names = [...chart.querySelectorAll(".textpoint text")].filter(e => e.getClientRects().length);
  return names.filter(name => {
    const box = name.getBoundingClientRect(), slack = 1;
    return box.left < left + l - slack || box.right > left + l + w + slack
      || box.top < top + t - slack || box.bottom > top + t + h + slack;
  }).map(e => e.textContent);
}"""

HAS_ITS_HEIGHT = """() => {
  const { _fullLayout: shown, layout } = document.querySelector(".js-plotly-plot");
  return shown.yaxis.range.every((end, at) => Math.abs(end - layout.meta["yaxis.range"][at]) < 1e-3);
}"""


@dataclass(frozen=True)
class Cornered(MappedPredictor):
    """Puts the phrases at the corners of the map."""

    def predict(self, documents, *, top_k=None, threshold=None):
        numbers = range(1, 25)
        given = tuple(Keyphrase(f"phrase number {one}", 1 / one, ((0, 1),)) for one in numbers)
        return [Prediction(given, language="en") for _ in documents]

    def vectors(self, document, *, top_k=None, threshold=None):
        [found] = self.predict([document])
        phrases = [VectorPoint(one.text, PointKind.PRESENT, one.score) for one in found.present]
        corners = np.array([[1, 0.6, 0], [1, -0.6, 0], [-1, 0.6, 0], [-1, -0.6, 0]])
        rows = np.vstack([[[1, 0.6, 0]], np.repeat(corners, 6, axis=0)])
        rows += np.random.default_rng(2).normal(size=rows.shape) / 100
        points = (VectorPoint("title", PointKind.DOCUMENT), *phrases)
        return [VectorSpace("extractor", points, rows.astype(np.float32))]


def load(name):
    if name == "words":
        return FakePredictor(name)
    if name == "cornered":
        return Cornered(name)
    return MappedPredictor(name, found=absent_keyphrases(4) if name == "default" else ())


@pytest.fixture(scope="module")
def space_address(serve) -> str:
    return serve(app.AppContext(MODELS, load))


@pytest.fixture
def space(page: Page, space_address: str) -> Iterator[Page]:
    """The page with a text in it, at the tab; nothing foreign may be asked for, nothing may complain."""
    watch = Watch()
    watch.over(page, space_address)
    open_space(page, space_address)
    yield page
    watch.check()


@pytest.fixture(scope="module")
def drawn_page(browser: Browser, space_address: str) -> Iterator[tuple[Page, Watch]]:
    context = browser.new_context(**DESKTOP)
    context.set_default_timeout(PATIENCE)
    page, watch = context.new_page(), Watch()
    watch.over(page, space_address)
    open_space(page, space_address)
    draw(page, "extractor", "reranker")
    yield page, watch
    context.close()


@pytest.fixture
def drawn(drawn_page: tuple[Page, Watch]) -> Iterator[Page]:
    """Both maps, for tests that leave them as they were; nothing may complain."""
    page, watch = drawn_page
    yield page
    watch.check()


def open_space(page: Page, address: str) -> None:
    open_page(page, address)
    write(page, BODY, TITLE)
    open_tab(page)


def open_tab(page: Page) -> None:
    page.get_by_role("tab", name="Semantic space").click()


def draw(page: Page, *names: str) -> None:
    page.locator("#space-run").click()
    for name in names:
        expect(page.locator(f"{CHART.format(name)} .main-svg").first).to_be_visible()


def test_the_text_of_the_first_page_is_drawn_in_both_spaces_and_the_layout_chosen_with_keys(space):
    expect(space.locator("#space-facts")).to_contain_text("No map yet.")
    draw(space, "extractor", "reranker")
    expect(space.locator("#space-facts")).to_contain_text(TITLE)
    points = space.locator(CHART.format("reranker")).evaluate(
        "e => e.data.filter(t => t.name).map(t => [t.name, t.x.length])"
    )
    assert dict(points) == {"Keyphrases not in the text": 4, "Keyphrases in the text": 5, "Document": 1}
    names = space.locator(f"{CHART.format('reranker')} .legendtext").all_text_contents()
    assert names == ["Document", "Keyphrases in the text", "Keyphrases not in the text"]
    rows = space.locator("#space-reranker-table tbody tr")
    expect(rows).to_have_count(9)
    assert "not in the text" in rows.filter(has_text="electric currents").inner_text()

    space.get_by_role("radiogroup", name="Layout").get_by_role("radio", name="PCA").focus()
    space.keyboard.press("ArrowRight")
    expect(space.get_by_role("radio", name="Neighbours (t‑SNE)")).to_be_checked()
    draw(space, "extractor", "reranker")
    expect(space.locator("#space-extractor-about")).to_contain_text("t‑SNE keeps neighbours together")


@pytest.mark.slow
def test_the_best_keyphrases_have_names_that_do_not_overlap(drawn):
    chart = drawn.locator(CHART.format("reranker"))
    best = drawn.locator("#space-reranker-table tbody th").all_inner_texts()
    shown = chart.locator(".textpoint").filter(visible=True).all_text_contents()
    assert set(shown) == {"document", *best}
    assert len(shown) == len(set(shown))
    assert chart.evaluate(OVERLAPPING) == []


@pytest.mark.slow
def test_no_name_leaves_the_frame(page, space_address):
    open_page(page, space_address)
    choose_model(page, "cornered –")
    write(page, BODY, TITLE)
    open_tab(page)
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        draw(page, "extractor")
        chart = page.locator(CHART.format("extractor"))
        assert chart.locator(".textpoint").filter(visible=True).count() > 4
        assert chart.evaluate(OUTSIDE) == []


@pytest.mark.slow
def test_pointing_at_a_phrase_tells_its_score(drawn):
    kinds = drawn.locator(f"{CHART.format('extractor')} .trace", has=drawn.locator(".point"))
    point = kinds.nth(1).locator("path.point").first
    point.scroll_into_view_if_needed()
    box = point.bounding_box()
    drawn.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    hover = drawn.locator(f"{CHART.format('extractor')} .hoverlayer")
    expect(hover).to_contain_text("in the text: score 0.")
    expect(hover).to_contain_text("closeness to the text")


@pytest.mark.slow
def test_groups_are_named_by_their_content_on_the_map_and_beside_it(drawn):
    chart = drawn.locator(CHART.format("extractor"))
    fold = drawn.locator("#space-extractor-table .groups")
    fold.locator("summary").click()
    named = fold.locator("strong").all_inner_texts()
    assert named
    outlines = chart.evaluate("e => e.data.filter(t => t.fill === 'toself').map(t => t.text.split(': ')[0])")
    assert outlines == named
    shown = chart.locator(".textpoint").filter(visible=True).all_text_contents()
    assert set(shown) & set(named)
    expect(chart.locator(".legendtext", has_text="Groups")).to_have_count(1)
    fold.locator("summary").click()


@pytest.mark.slow
def test_the_legend_hides_a_kind_and_shows_it_again(drawn):
    shown = drawn.locator(f"{CHART.format('extractor')} .scatterlayer .trace", has=drawn.locator(".point"))
    name = drawn.locator(f"{CHART.format('extractor')} .textpoint").filter(visible=True, has_text="document")
    entry = drawn.locator(f"{CHART.format('extractor')} .legendtoggle").first
    expect(shown).to_have_count(3)
    expect(name).to_have_count(1)
    entry.click()
    expect(shown).to_have_count(2)
    expect(name).to_have_count(0)
    drawn.wait_for_timeout(500)  # two clicks at once mean "only this one"
    entry.click()
    expect(shown).to_have_count(3)


@pytest.mark.slow
def test_a_model_with_one_space_has_one_map_and_a_model_without_vectors_is_explained(space):
    draw(space, "extractor", "reranker")
    space.get_by_role("tab", name="Keyphrases").click()
    choose_model(space, "extractor –")
    open_tab(space)
    draw(space, "extractor")
    expect(space.locator("#space-reranker")).to_be_hidden()
    space.get_by_role("tab", name="Keyphrases").click()
    choose_model(space, "words –")
    open_tab(space)
    space.locator("#space-run").click()
    expect_refusal(space, "The model “words” does not compare vectors", result="#space-facts")
    expect(space.locator(CHART.format("extractor"))).to_be_hidden()
    space.get_by_text(EARLIER).click()
    expect(space.locator(CHART.format("extractor"))).to_be_visible()  # the last map stays, if it is wanted


@pytest.mark.slow
def test_a_map_that_takes_long_says_how_far_it_is_and_can_be_stopped(page, serve):
    class Held(MappedPredictor):
        def vectors(self, document, **options):
            tell(0.5)
            assert go.wait(60)
            return super().vectors(document, **options)

    go = Event()
    open_space(page, serve(app.AppContext({"default": "held"}, Held)))
    stop = page.locator("#space-stop")
    expect(stop).to_be_hidden()
    page.locator("#space-run").click()
    expect(page.locator("#space-facts").get_by_text("Reading - 50.0%")).to_be_visible()
    stop.click()
    go.set()
    expect_refusal(page, STOPPED, result="#space-facts")
    expect(stop).to_be_hidden()
    draw(page, "extractor")


@pytest.mark.slow
def test_without_a_text_the_page_says_what_to_do_and_markup_in_one_stays_text_in_the_chart(space):
    space.get_by_role("tab", name="Keyphrases").click()
    write(space, "")
    open_tab(space)
    space.locator("#space-run").click()
    expect_refusal(space, "The text is empty", result="#space-facts")
    space.get_by_role("tab", name="Keyphrases").click()
    write(space, "kernels of <b>graphs</b> compare molecules", "<img src=x onerror=alert(1)> ${1+1}")
    open_tab(space)
    draw(space, "extractor", "reranker")
    assert space.locator("#space-extractor img, #space-extractor b").count() == 0
    texts = space.locator(CHART.format("extractor")).evaluate("e => e.data.map(t => t.customdata)")
    assert "&lt;img src=x onerror=alert(1)&gt; ${1+1}" in json.dumps(texts)


@pytest.mark.slow
def test_a_map_is_saved_as_a_picture(drawn):
    drawn.locator("#space-extractor-save").scroll_into_view_if_needed()
    with drawn.expect_download() as download:
        drawn.locator("#space-extractor-save button[data-format=svg]").click()
    assert download.value.suggested_filename == "extractor-space.svg"
    assert Path(download.value.path()).read_text(encoding="utf-8").count(">document</text>") == 1


@pytest.mark.parametrize("scheme", [pytest.param("light", marks=pytest.mark.slow), "dark"])
def test_everybody_can_read_the_map(drawn, scheme):
    expect(drawn.locator(CHART.format("extractor"))).to_have_attribute("role", "img")
    with shown_in(drawn, scheme):
        assert drawn.evaluate(PALE) == []
        assert drawn.evaluate(UNNAMED) == []
        assert [one for one in drawn.evaluate(DOUBLED) if not one.startswith("plotly.js-style")] == []
        assert serious_violations(drawn, "#space-extractor") == []


@pytest.mark.slow
def test_a_phone_shows_the_map_without_scrolling_sideways(browser, space_address):
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    open_page(page, space_address)
    write(page, BODY, TITLE)
    open_tab(page)
    draw(page, "extractor", "reranker")
    assert page.evaluate(WIDTH) <= 390
    chart = page.locator(CHART.format("extractor"))
    shown = chart.locator(".textpoint").filter(visible=True)
    expect(shown.get_by_text("document", exact=True)).to_have_count(1)
    assert 1 < shown.count() <= 7
    assert chart.evaluate(OVERLAPPING) == []
    chart.locator(".trace.scatter", has=page.locator(".point")).nth(-2).locator(".point").first.tap(
        force=True
    )
    expect(chart.locator(".hoverlayer")).to_contain_text("closeness to the text")

    assert not page.evaluate(HAS_ITS_HEIGHT)
    page.set_viewport_size({"width": 844, "height": 390})
    page.wait_for_function(HAS_ITS_HEIGHT)
    assert chart.evaluate(OVERLAPPING) == []
    context.close()
