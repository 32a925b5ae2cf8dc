"""A reader at the Files page: upload, predict, look, download."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

import app
from kpdemo.evaluation.baselines import FirstPhrases
from kpdemo.pipeline import Pipeline
from tests.browser.conftest import choose_files, open_page
from tests.browser.test_keyphrases_page import expect_refusal

TEXT = "The boundary integral equation gives the surface current."


@pytest.fixture
def files(demo):
    demo.get_by_role("tab", name="Files").click()
    expect(demo.locator("#files-run")).to_be_visible()
    clear = demo.locator("#files-upload").get_by_role("button", name="Clear")
    if clear.count():
        clear.click()
    return demo


def upload(page, *paths):
    choose_files(page.locator("#files-upload"), *paths)


def test_no_file_is_a_sentence(files):
    files.locator("#files-run").click()
    expect_refusal(files, "No file is chosen", result="#files-result")


def test_of_many_files_none_is_hidden_or_under_the_buttons(files, tmp_path):
    paths = [tmp_path / f"{number}.txt" for number in range(12)]
    for path in paths:
        path.write_text(TEXT, encoding="utf-8")
    upload(files, *paths)
    place = files.locator("#files-upload")
    assert place.locator(".file-preview-holder").evaluate("e => e.scrollHeight <= e.clientHeight")
    buttons, first = place.locator(".icon-button-wrapper"), place.locator(".file").first
    end = buttons.evaluate("e => e.getBoundingClientRect().bottom")
    assert first.evaluate("e => e.getBoundingClientRect().top") >= end
    expect(place.get_by_role("button", name="Add files", exact=True)).to_be_visible()


def test_a_file_of_a_word_processor_is_refused_in_our_words_as_soon_as_it_is_chosen(files, tmp_path):
    path = tmp_path / "report.pptx"
    path.write_bytes(b"PK")
    upload(files, path)
    expect_refusal(files, "report.pptx cannot be read here: use one of .jsonl", result="#files-result")


def test_a_binary_file_is_a_sentence_without_our_paths(files, tmp_path):
    path = tmp_path / "picture.txt"
    path.write_bytes(b"\x89PNG\x00\x01\x02")
    upload(files, path)
    files.locator("#files-run").click()
    expect_refusal(files, "picture.txt: not a text file", result="#files-result")
    assert "/" not in files.locator("#files-result").inner_text()


def test_documents_are_predicted_shown_and_downloaded(files, tmp_path):
    table, note = tmp_path / "docs.jsonl", tmp_path / "note.txt"
    table.write_text(json.dumps({"id": "a1", "abstract": TEXT}) + "\n{broken\n", encoding="utf-8")
    note.write_text(TEXT, encoding="utf-8")
    upload(files, table, note)
    files.locator("#files-run").click()
    expect(files.locator("#files-summary")).to_have_text("2 documents predicted.")
    expect(files.locator("#files-problems")).to_contain_text("docs.jsonl, line 2: not JSON")
    expect(files.locator("#files-table tbody tr").first).to_contain_text("integral equation")
    with files.expect_download() as download:
        files.locator("#files-download").click()
    assert download.value.suggested_filename == "predictions.jsonl"
    rows = [json.loads(line) for line in Path(download.value.path()).read_text(encoding="utf-8").splitlines()]
    assert [(row["file"], row["id"]) for row in rows] == [("docs.jsonl", "a1"), ("note.txt", "note")]
    assert [item["text"] for item in rows[0]["present"]][:1] == ["boundary integral equation"]
    with files.expect_download() as download:
        files.locator("#files-csv").click()
    assert download.value.suggested_filename == "predictions.csv"
    first, second, *_ = Path(download.value.path()).read_text(encoding="utf-8-sig").splitlines()
    assert first.startswith("file,id,keyphrase,score,")
    assert second.startswith("docs.jsonl,a1,boundary integral equation,")


def test_choosing_other_files_forgets_the_answer(files, tmp_path):
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    one.write_text(TEXT, encoding="utf-8")
    two.write_text(TEXT, encoding="utf-8")
    upload(files, one)
    files.locator("#files-run").click()
    expect(files.locator("#files-summary")).to_have_text("1 document predicted.")
    files.locator("#files-upload input[type=file]").set_input_files(str(two))
    expect(files.locator("#files-result")).to_contain_text("No keyphrases yet.")
    expect(files.locator("#files-downloads")).to_be_hidden()


@pytest.mark.slow
def test_files_are_read_with_the_options_of_the_page_and_others_mark_the_answer_as_old(page, serve, tmp_path):
    open_page(page, serve(app.AppContext({"first": "phrases"}, lambda name: Pipeline(name, FirstPhrases))))
    page.get_by_role("tab", name="Files").click()
    upload(page, ("a.txt", b"Graph kernels compare molecules. Fast graph kernels compare drugs."))
    page.locator("#files-options > button").click()
    page.locator("#files-exclude textarea").fill("kernels")
    page.locator("#files-count").get_by_role("textbox").fill("2")
    page.locator("#files-run").click()
    table, old = page.locator("#files-table"), page.locator("#files-old")
    expect(table).to_contain_text("molecules")
    expect(table).not_to_contain_text("kernels")
    expect(old).to_be_hidden()
    page.locator("#files-longest").get_by_role("textbox").fill("1")
    expect(old).to_have_text("Options have changed since: press Find keyphrases.")
    page.locator("#files-longest").get_by_role("textbox").fill("")
    expect(old).to_be_hidden()
    page.locator("#files-candidates textarea").fill("drugs")
    page.locator("#files-run").click()
    expect(table.locator("tbody td")).to_have_text(["drugs"])
    expect(old).to_be_hidden()
