"""A reader with the model that ships: an example of the page, and where its absent keyphrases come from."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

import app
import kpdemo
from kpdemo.predictors import MULTILINGUAL_FOLDER, available_models
from kpdemo.ui.predict import load_examples
from tests.browser.conftest import open_page


@pytest.fixture(scope="module")
def address(serve) -> str:
    def load(name: str):
        return kpdemo.load_predictor(name, device="cpu")

    return serve(app.AppContext(available_models(), load))


def test_an_example_shows_present_and_absent_keyphrases_with_their_sources_and_their_space(page, address):
    open_page(page, address)
    example = load_examples()[0]
    page.get_by_role("button", name=example.field).click()
    absent = page.locator("#predict-absent > li")
    expect(absent.nth(1)).to_contain_text("1 in ")
    assert page.locator("#predict-text mark").count() >= 5
    read = f"{example.title} {example.text}".lower()
    phrases = page.locator("#predict-absent .chip").all_inner_texts()
    assert not [phrase for phrase in phrases if phrase.lower() in read]
    absent.first.get_by_text("Why").click()
    reason = absent.first.locator("details p").inner_text()
    assert reason.startswith("Authors use it together with “")
    assert [phrase for phrase in re.findall("“(.*?)”", reason) if phrase.lower() not in read] == []

    page.get_by_role("tab", name="Semantic space").click()
    page.locator("#space-run").click()
    for name in ("extractor", "bank"):
        expect(page.locator(f"#space-{name}-table tbody tr").first).to_be_visible()
    expect(page.locator("#space-bank-table")).to_contain_text("not in the text")


@pytest.mark.skipif(not MULTILINGUAL_FOLDER.is_dir(), reason="the multilingual model is not installed")
@pytest.mark.slow
def test_an_example_in_another_language_is_read_with_passages(page, address):
    open_page(page, address)
    passages, facts = page.locator("#predict-passages .passage"), page.locator("#predict-facts")
    for language in ("Chinese", "French"):
        page.get_by_role("button", name=language, exact=True).click()
        expect(facts).to_contain_text(f"{language} · model multilingual")
        assert passages.count() >= 1
        assert page.locator("#predict-text mark").count() >= 3
    expect(passages.first).to_contain_text("Coral bleaching")
    assert passages.first.locator(".used").count() >= 1  # what a near passage does
