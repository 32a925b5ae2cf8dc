"""A word and a sense are chosen, made into a pair, and met by a rater and an adjudicator."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, Route, expect

import app
from annotation.authoring import NewItem
from annotation.services.bundle import open_annotation
from annotation.types import NewPair, ProjectSettings, Role
from tests import tiny_wordnet as tiny
from tests.browser.conftest import MODELS, Site, Watch, load, serious_violations
from tests.browser.pressing import press
from tests.browser.test_languages import assert_no_english, german_page
from tests.browser.test_look import PALE, WIDTH

EVIL = '<img src=x onerror="alert(1)">{{value}}'


@pytest.fixture(scope="module")
def senses_site(serve, tmp_path_factory) -> Site:
    """A server with a small WordNet."""
    folder = tmp_path_factory.mktemp("senses")
    wordnet = tiny.write_wordnet(folder / "dict", tiny.NETWORK)
    services = open_annotation(f"sqlite:///{folder / 'kpdemo.db'}", wordnet=wordnet)
    site = Site(serve(app.AppContext(MODELS, load, annotation=services)), services)
    site.add_user("root", is_administrator=True)
    site.add_user("Ana")
    site.add_user("Wim")
    return site


@pytest.fixture
def project(senses_site) -> int:
    made = senses_site.services.projects.create(ProjectSettings("Senses", types=("word2sense",)))
    senses_site.services.projects.add_member(made.id, "Ana", Role.RATER)
    yield made.id
    senses_site.services.projects.delete(made.id, "Senses")
    senses_site.close_pages()


def open_chooser(site: Site, browser, project: int, watch: Watch) -> Page:
    page = site.page(browser, "root", f"/annotate/senses?project={project}")
    watch.over(page, site.address)
    page.get_by_label("Word", exact=True).wait_for()
    return page


def look_up(page: Page, word: str, grade: str) -> None:
    page.get_by_label("Word", exact=True).fill(word)
    page.get_by_label("Grade that the pair should deserve").select_option(grade)
    page.get_by_role("button", name="Look up", exact=True).click()


@pytest.mark.slow
def test_a_chosen_sense_becomes_a_pair_whose_meanings_a_rater_sees(senses_site, browser, project):
    watch = Watch()
    page = open_chooser(senses_site, browser, project, watch)
    look_up(page, "mice", "3")
    page.get_by_label("a device that moves a pointer").check()
    near = page.locator("#senses-around")
    expect(near.locator("fieldset")).to_have_count(4)
    expect(near.get_by_role("radio")).to_have_count(6)
    near.get_by_label("a device with keys").check()
    chosen = page.get_by_role("region", name="Compare with")
    expect(chosen).to_contain_text("device (noun) a thing made for a purpose")
    assert serious_violations(page) == []
    chosen.get_by_role("button", name="Make the pair").click()
    expect(page.locator("#senses-said")).to_have_text("Made pair w2s-1: mice#n and keyboard%1:06:00::.")
    near.get_by_label("Only senses with").fill("printed")
    near.get_by_role("button", name="Filter").click()
    expect(near).to_contain_text("No sense nearby matches.")

    look_up(page, EVIL, "2")
    page.get_by_label("Part of speech").select_option("v")
    page.get_by_label("Its meaning, in your words").fill(f"to do {EVIL}")
    page.get_by_label("A word that comes closest").fill("mouse")
    page.get_by_role("button", name="Look up the closest").click()
    page.locator("#senses-closest").get_by_label("go stealthily").check()
    near.locator(".senses-dot[data-distance='1']").click()
    chosen.get_by_role("button", name="Make the pair").click()
    expect(page.locator("#senses-said")).to_contain_text("Made pair w2s-2: ")

    rater = senses_site.page(browser, "Ana", f"/annotate/rate?project={project}")
    watch.over(rater, senses_site.address)
    seen = rate_both(rater)
    assert "mice (noun) | a device that moves a pointer" in seen[0]
    assert "keyboard (noun) | a device with keys" in seen[0]
    assert "More general | device (noun) a thing made for a purpose" in seen[0]
    assert "Others of the same kind | mouse, computer mouse (noun) a device that moves a pointer" in seen[0]
    assert f"The dictionary does not have this word. It means: | to do {EVIL}" in seen[1]
    assert "%1:" not in "".join(seen)
    watch.check()


@pytest.mark.slow
def test_a_sense_is_chosen_in_the_language_of_the_reader(senses_site, browser, project):
    address = f"/annotate/senses?project={project}"
    page, watch = german_page(senses_site, browser, "root", address), Watch()
    watch.over(page, senses_site.address)
    page.get_by_label("Wort", exact=True).fill("mice")
    page.get_by_role("button", name="Nachschlagen", exact=True).click()
    page.get_by_label("a device that moves a pointer").check()
    near = page.locator("#senses-around")
    expect(near).to_contain_text("Bis zu drei Schritte von „mouse“")
    near.get_by_label("a device with keys").check()
    page.get_by_role("button", name="Paar machen").click()
    said = page.locator("#senses-said")
    expect(said).to_have_text("Keine Bewertung ist gewählt: wählen Sie die, die das Paar bekommen soll.")
    page.get_by_label("Bewertung, die das Paar verdienen soll").select_option("3")
    page.get_by_role("button", name="Paar machen").click()
    expect(said).to_have_text("Paar w2s-1 gemacht: mice#n und keyboard%1:06:00::.")
    assert_no_english(page, "#senses-page", about='a (device|small animal) with |"type on the keyboard"')
    near.get_by_label("Nur Wortbedeutungen mit").fill("printed")
    near.get_by_role("button", name="Filtern").click()
    expect(near).to_contain_text("Keine Wortbedeutung in der Nähe passt.")
    assert_no_english(page, "#senses-around")
    assert_no_english(page, "header.site")
    watch.check()


def rate_both(page: Page) -> list[str]:
    """Grade two pairs; what was read, the one with the keyboard first."""
    seen = []
    for number in (1, 2):
        page.locator("#rate-work").wait_for()
        expect(page.locator("#rate-right")).not_to_be_empty()
        texts = [page.locator(f"#rate-{side}").inner_text() for side in ("left", "right")]
        seen.append(" | ".join(line for text in texts for line in text.splitlines() if line))
        if number == 1:
            assert serious_violations(page, "#rate-form") == []
        press(page, "3", "Enter")
        expect(page.locator("#rate-count")).to_have_text(
            f"{number} graded{(', up to 1 left', '')[number - 1]}"
        )
    return sorted(seen, key=lambda text: "keyboard" not in text)


@pytest.mark.slow
def test_a_writer_chooses_a_sense_for_the_word_that_he_is_given(senses_site, browser, project):
    services, watch = senses_site.services, Watch()
    services.projects.add_member(project, "Wim", Role.WRITER)
    services.items.import_items(project, [NewItem("1", "word2sense", "mouse#n")])
    services.items.change_plan(project, has_zeros=False)
    page = senses_site.page(browser, "Wim", f"/annotate/write?project={project}")
    watch.over(page, senses_site.address)
    expect(page.locator("#write-left")).to_have_text("mouse (noun)")
    page.get_by_role("link", name="Choose a sense of WordNet for this word").click()
    expect(page.locator("#senses-task")).to_contain_text("mouse (noun)")
    expect(page.locator("#senses-task")).to_contain_text("Choose a sense that deserves the grade")
    page.get_by_label("Another meaning").check()
    page.get_by_label("Its meaning, in your words").fill("a shy person")
    page.get_by_role("button", name="I do not understand it").click()
    page.get_by_label("What is hard to understand (optional)").fill("Which mouse?")
    page.get_by_role("button", name="Go on writing").click()
    page.reload()
    expect(page.get_by_label("Its meaning, in your words")).to_have_value("a shy person")
    expect(page.locator("#senses-blank-note")).to_have_value("Which mouse?")
    held: list[Route] = []
    page.route("**/gradio_api/run/*", lambda route: route.continue_() if held else held.append(route))
    page.get_by_label("small animal").check()
    page.get_by_label("a device that moves a pointer").check()  # while the answer to the other one is due
    held[0].continue_()
    page.locator("#senses-around").get_by_label("a device with keys").check()
    page.get_by_role("button", name="Make the pair").click()
    expect(page.locator("#senses-said")).to_have_text("Sent to the editors.")
    assert page.evaluate("Object.keys(sessionStorage).filter((key) => key.startsWith('kpdemo-senses'))") == []
    expect(page.locator("#senses-task")).to_contain_text("There is no word for you at the moment.")
    root = services.accounts.user("root")
    assert [text.text for text in services.editing.queue(project, root.id)] == [tiny.KEYBOARD.key]

    editor = senses_site.page(browser, "root", f"/annotate/review?project={project}")
    watch.over(editor, senses_site.address)
    expect(editor.locator("#review-queue input")).to_have_value(re.compile(r"keyboard \(noun\)$"))
    word, sense = editor.locator("#review-item .rate-text").all()
    expect(word).to_contain_text("mouse (noun)")
    expect(word).to_contain_text("a device that moves a pointer")
    expect(sense).to_contain_text("keyboard (noun)")
    expect(sense).to_contain_text("device (noun) a thing made for a purpose")
    expect(editor.locator("#review-item .small")).to_have_text(re.compile("word to sense$"))
    expect(editor.locator("#review-text textarea")).to_have_value(tiny.KEYBOARD.key)
    watch.check()


@pytest.mark.parametrize("scheme", ["dark", pytest.param("light", marks=pytest.mark.slow)])
@pytest.mark.slow
def test_the_chooser_fits_a_phone(senses_site, browser, project, scheme):
    watch = Watch()
    options = {"viewport": {"width": 390, "height": 844}, "color_scheme": scheme}
    page = senses_site.page(browser, "root", f"/annotate/senses?project={project}", **options)
    watch.over(page, senses_site.address)
    look_up(page, "mouse", "4")
    page.get_by_label("small animal").check()
    page.locator("#senses-around").get_by_label("whatever is").check()
    expect(page.get_by_role("region", name="Compare with")).to_be_visible()
    assert page.evaluate(WIDTH) <= 390
    for box in page.locator("#senses-form select").all():
        expect(box).to_have_css("appearance", "auto")
    assert page.evaluate(PALE) == []
    assert serious_violations(page) == []
    watch.check()


def test_without_wordnet_the_page_says_how_to_get_it(site, browser, unused, monkeypatch, tmp_path):
    monkeypatch.setattr(site.services.dictionary, "_folder", tmp_path)
    project = site.services.projects.create(ProjectSettings(unused, types=("word2sense",)))
    key = NewPair("1", "word2sense", "pot#n", "basket%1:06:00::")
    site.services.importing.import_pairs(project.id, [key])
    page = site.page(browser, "root", f"/annotate/senses?project={project.id}")
    expect(page.locator("#senses-task")).to_contain_text("apt install wordnet-base wordnet-sense-index")
