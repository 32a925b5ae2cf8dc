"""A reader with a French and a Chinese document: the passages that were found, and what they changed."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import app
from tests.browser.conftest import load, serious_violations
from tests.browser.test_keyphrases_page import open_options
from tests.fakes import PASSAGES, FakeRetriever

MODELS = {"default": "by language", "multilingual": "other languages", "first": "first phrases"}
FRENCH = (
    "Cette thèse compare des noyaux de graphes pour des molécules, et montre ce que les noyaux y gagnent."
)
CHINESE = "本文用图核比较分子，并讨论分子的结构与性质之间的关系。"


@pytest.fixture(scope="module")
def address(serve) -> str:
    return serve(
        app.AppContext(MODELS, lambda name: FakeRetriever() if name == "multilingual" else load(name))
    )


def predict(page: Page, text: str) -> None:
    page.locator("#predict-document textarea").fill(text)
    page.locator("#predict-run").click()


def test_a_french_document_shows_its_passages_and_a_chinese_one_is_marked(fresh):
    predict(fresh, FRENCH)
    passages = fresh.locator("#predict-passages .passage")
    expect(passages).to_have_count(len(PASSAGES))
    expect(fresh.locator("#predict-facts")).to_contain_text("French · model multilingual")
    assert fresh.locator("#predict-text mark").all_inner_texts() == ["noyaux de graphes", "molécules"]
    used = fresh.locator("#predict-passages .used")
    assert used.all_inner_texts() == ["drug discovery used"]
    assert used.get_attribute("title") == "découverte de médicaments"
    far = fresh.locator("#predict-passages .passage-far")
    assert far.all_inner_texts() == ["Too far from this text to help: its score 0.400 is below 0.5."]
    columns = fresh.locator("#predict-comparison .compare-column")
    expect(columns.nth(0)).to_contain_text("découverte de médicaments")
    expect(columns.nth(1)).not_to_contain_text("découverte de médicaments")
    passages.first.get_by_text("Text").click()
    expect(passages.first).to_contain_text("A kernel compares two graphs.")
    with fresh.expect_download() as download:
        fresh.locator(".menu > summary", has_text="Download").click()
        fresh.locator("#predict-json").click()
    kept = json.loads(Path(download.value.path()).read_text(encoding="utf-8"))
    assert [passage["id"] for passage in kept["passages"]] == [passage.id for passage in PASSAGES]
    with fresh.expect_download() as download:
        fresh.locator(".menu > summary", has_text="Download").click()
        fresh.get_by_role("button", name="Passages (CSV)").click()
    assert download.value.suggested_filename == "passages.csv"
    with Path(download.value.path()).open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["passage"], row["helps"], row["used"]) for row in rows] == [
        ("nlp-01", "yes", "drug discovery"),
        ("soc-02", "no", ""),
    ]
    assert serious_violations(fresh, "#predict-result") == []

    predict(fresh, CHINESE)
    expect(fresh.locator("#predict-facts")).to_contain_text("Chinese")
    text = fresh.locator("#predict-text")
    assert (text.get_attribute("lang"), text.get_attribute("dir")) == ("zh", "auto")
    assert text.locator("mark").all_inner_texts() == ["图核", "分子", "分子"]
    expect(passages).to_have_count(len(PASSAGES))
    open_options(fresh)
    fresh.locator("#predict-language input").click()  # the reader can choose otherwise
    fresh.get_by_role("option", name="French", exact=True).click()
    fresh.locator("#predict-run").click()
    expect(fresh.locator("#predict-facts")).to_contain_text("French")
