"""From predictions to gold and back in a browser: a document, its keyphrases, grades, gold, and a figure."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from annotation.relevance import JudgingOptions
from annotation.types import ProjectSettings, Role
from tests.browser.conftest import PASSWORD, choose_files, open_page
from tests.browser.pressing import press
from tests.browser.test_keyphrases_page import choose_model
from tests.browser.test_languages import assert_no_english
from tests.predicted import GRADES, grade, sent_project

TITLE = "Scattering of waves"
BODY = "A boundary integral equation gives the surface current on the scatterer."
KEYS = {"boundary integral equation": "4", "integral equation": "1"}
"""What the rater types; every other phrase gets a 3."""


@pytest.mark.slow
def test_a_pasted_document_comes_back_as_an_ndcg_figure(site, browser, tmp_path):
    services = site.services
    attempt = len(services.projects.list())
    root = services.accounts.user("root")
    settings = ProjectSettings(f"Judged {attempt}", types=("document2keyphrase",), raters_per_pair=1)
    project = services.projects.create(settings, created_by=root)
    services.projects.create(ProjectSettings(f"Elsewhere {attempt}"), created_by=root)
    ana = site.add_user(f"ana {attempt}").name
    services.projects.add_member(project.id, ana, Role.RATER)

    page = site.context(browser).new_page()
    open_page(page, site.address)
    page.locator("#predict-document textarea").fill(f"{TITLE}\n\n{BODY}")
    page.locator("#send-choose > button").click()
    for model in ("default", "first"):
        page.locator("#send-models").get_by_label(model).check()
    page.locator("#send-run").click()
    page.get_by_role("link", name="Choose the project").click()

    page.get_by_label("Name").fill("root")  # nobody was signed in
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_label("Project", exact=True).select_option(settings.name)
    page.get_by_role("button", name="Choose").click()
    sentence = page.get_by_role("heading", name=f"of 1 document to {settings.name}?")
    pairs = int(sentence.inner_text().split()[1])
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.locator("#predictions-told")).to_contain_text(f"{pairs} new pairs sent")
    expect(page).to_have_url(f"{site.address}/annotate/predictions?project={project.id}")
    expect(page.locator("#predictions-steps-part")).to_contain_text(f"0 of {pairs} pairs")
    expect(page.locator("#predictions-figures-part")).to_contain_text("No figures yet")

    rater = site.page(browser, ana, f"/annotate/rate?project={project.id}")
    for left in reversed(range(pairs)):
        rater.locator("#rate-work").wait_for()
        phrase = rater.locator("#rate-right").inner_text()
        press(rater, KEYS.get(phrase, "3"), "Enter")
        if left:
            expect(rater.locator("#rate-right")).not_to_have_text(phrase)
    rater.locator("#rate-message").get_by_text("You have graded").wait_for()
    shown = rater.content().lower()
    assert "fixed phrases" not in shown
    assert "default" not in rater.locator("main, #rate-form").first.inner_text().lower()

    page.reload()
    expect(page.locator("#predictions-next")).to_contain_text("All pairs have a gold grade")
    expect(page.locator("#predictions-told")).to_be_empty()
    row = page.locator("#predictions-table tbody tr").filter(has_text="default")
    expected = services.judgements.pool(project.id).figures(JudgingOptions())["default"].ndcg.skip_empty
    assert 0 < expected < 1
    expect(row.locator("td").nth(1)).to_have_text(f"{expected:.3f}")
    page.get_by_label("Ranks that count (k)").fill("1")
    page.locator("#predictions-count").click()
    expect(row.locator("td").nth(1)).to_have_text("1.000")
    page.set_viewport_size({"width": 390, "height": 844})
    told = page.locator("#predictions-table caption").bounding_box()
    assert told["x"] + told["width"] <= 390  # read without scrolling the table
    page.set_viewport_size({"width": 1280, "height": 900})
    with page.expect_download() as download:
        page.locator("#predictions-gold").click()
    download.value.save_as(tmp_path / "gold.jsonl")
    [line] = (tmp_path / "gold.jsonl").read_text(encoding="utf-8").splitlines()
    gold = json.loads(line)
    assert (gold["title"], gold["abstract"]) == (TITLE, BODY)
    assert gold["keyphrases"][0] == "boundary integral equation"
    assert "integral equation" not in gold["keyphrases"]


@pytest.mark.slow
def test_the_ticks_follow_the_model_of_the_page_and_the_link_goes_with_what_was_sent(site, browser):
    page = site.context(browser).new_page()
    open_page(page, site.address)
    fold, link = page.locator("#send-choose > button"), page.get_by_role("link", name="Choose the project")
    expect(fold).to_contain_text("Models: default")
    choose_model(page, "first – ")
    expect(fold).to_contain_text("Models: first")
    page.locator("#predict-document textarea").fill(BODY)
    page.locator("#send-run").click()
    expect(link).to_be_visible()
    expect(page.locator("#send-result")).to_contain_text("of 1 document, by first, ready.")
    page.locator("#predict-document textarea").fill("Ferries leave the old harbour.")
    expect(page.locator("#send-result")).to_contain_text("Nothing sent yet.")
    fold.click()
    page.locator("#send-models").get_by_label("damaged").check()  # from now on they are the reader's
    choose_model(page, "default – ")
    expect(page.locator("#predict-about")).to_contain_text("About the model default")
    expect(fold).to_contain_text("Models: first, damaged")
    page.get_by_role("tab", name="Files").click()
    choose_files(page.locator("#files-upload"), ("note.txt", BODY.encode()))
    page.locator("#files-send-run").click()
    expect(link).to_be_visible()
    page.locator("#files-upload").get_by_role("button", name="Clear").click()
    expect(page.locator("#files-send-result")).to_contain_text("Nothing sent yet.")


@pytest.mark.slow
def test_predictions_are_measured_in_the_language_of_the_project(site, browser, unused):
    database = site.services.database
    project = sent_project(database, name=unused, language="de")
    lead = site.add_user(f"{unused} lead")
    for role in (Role.ADMINISTRATOR, Role.RATER):
        site.services.projects.add_member(project.id, lead.name, role)
    page = site.page(browser, lead.name, f"/annotate/predictions?project={project.id}")
    steps, figures = page.locator("#predictions-steps-part"), page.locator("#predictions-figures-part")
    expect(steps).to_contain_text("5 Paare warten auf Bewertungen (1 bewertende Person):")
    expect(figures).to_contain_text("Noch keine Zahlen.")
    assert_no_english(page, "#predictions-page")
    grade(database, project.id, GRADES, rater=lead.name)
    page.locator("#predictions-count").click()
    expect(steps).to_contain_text("Alle Paare haben einen Goldwert:")
    expect(figures).to_contain_text("Bewertet@10 ist der Anteil der ersten 10")
    page.get_by_label("Die unsichersten zuerst").check()
    expect(page.locator("#predictions-order-saved")).to_contain_text("Gespeichert.")
    assert_no_english(page, "#predictions-page")
    page.get_by_label("Ränge, die zählen (k)").fill("0")
    page.locator("#predictions-count").click()
    expect(page.get_by_text("Die Zahl der Ränge, die zählen, ist 1 bis 1,000, nicht 0.")).to_be_visible()
    assert_no_english(page, "header.site")
