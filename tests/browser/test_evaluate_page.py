"""A researcher at the Evaluate page: choose gold and predictions, read the table, download the figures."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import choose_files, open_page, serious_violations
from tests.browser.test_files_page import upload as upload_files
from tests.browser.test_keyphrases_page import expect_refusal
from tests.browser.test_look import WIDTH
from tests.latex_tables import read_tables
from tests.ui.test_evaluate_tab import FIGURES, FOUND, GOLD


@pytest.fixture
def chosen(tmp_path):
    """A gold file and two predictions files, one of which says which model it is of."""
    files = {
        "gold.jsonl": GOLD,
        "found.jsonl": FOUND,
        "other.jsonl": [{**row, "present": [], "model": "a-model-with-a-long-name"} for row in FOUND],
        "stray.jsonl": [{"id": "x", "present": []}],
    }
    for name, rows in files.items():
        (tmp_path / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return tmp_path


def open_tab(page):
    page.get_by_role("tab", name="Evaluate").click()
    expect(page.locator("#evaluate-run")).to_be_visible()


def upload(page, part, *paths):
    choose_files(page.locator(f"#evaluate-{part}"), *paths)


def starting(figures):
    """With an interval under them, or none."""
    return [re.compile(f"^{re.escape(figure)}(±|$)") for figure in figures]


def table(page):
    """Of the figures; the one of the differences stands under it."""
    return page.locator("#evaluate-result table:visible").first


def test_the_next_step_is_said_first_and_a_refusal_leaves_the_files_chosen_until_others_are(fresh, chosen):
    open_tab(fresh)
    expect(fresh.locator("#evaluate-result")).to_contain_text("Choose a gold file and predictions files")
    for box in ("Gold file", "Predictions files"):
        expect(
            fresh.get_by_role("button", name=f"{box}: Drop File Here - or - Click to Upload")
        ).to_be_visible()
    fresh.locator("#evaluate-run").click()
    expect_refusal(fresh, "No gold file is chosen", result="#evaluate-result")

    upload(fresh, "gold", chosen / "gold.jsonl")
    upload(fresh, "predictions", chosen / "stray.jsonl")
    fresh.locator("#evaluate-run").click()
    expect_refusal(fresh, 'stray.jsonl: "x" is not the id of a gold document', result="#evaluate-result")
    expect(fresh.locator("#evaluate-predictions")).to_contain_text("stray")
    expect(fresh.locator("#evaluate-gold")).to_contain_text("gold")
    fresh.locator("#evaluate-predictions input[type=file]").first.set_input_files(str(chosen / "found.jsonl"))
    expect(fresh.locator("#evaluate-result")).to_contain_text("No figures yet.")
    for name in ("download", "details", "latex-skip_empty"):
        expect(fresh.locator(f"#evaluate-{name}")).to_be_hidden()


@pytest.mark.slow
def test_the_convention_chooses_the_table_and_the_figures_can_be_kept(fresh, chosen):
    open_tab(fresh)
    upload(fresh, "gold", chosen / "gold.jsonl")
    upload(fresh, "predictions", chosen / "found.jsonl", chosen / "other.jsonl")
    latex = fresh.get_by_role("button", name="Download LaTeX")
    expect(latex).to_have_count(0)
    fresh.locator("#evaluate-run").click()
    expect(fresh.locator("#evaluate-summary")).to_have_text("Measured on 2 documents of gold.")
    expect(latex).to_have_count(1)  # that of the other convention is not there
    rows = table(fresh).locator("tbody tr")
    expect(rows.get_by_role("rowheader")).to_have_text(["found.jsonl", "a-model-with-a-long-name"])
    expect(rows.first.get_by_role("cell")).to_have_text(starting(FIGURES["skip_empty"]))
    fresh.get_by_role("radio", name="count_empty").check()
    expect(rows.first.get_by_role("cell")).to_have_text(starting(FIGURES["count_empty"]))
    differences = fresh.get_by_role(
        "table", name="Differences from the first: gold, documents without gold counted"
    )
    expect(differences.get_by_role("rowheader")).to_have_text(["a-model-with-a-long-name"])
    expect(differences.get_by_role("cell").first).to_have_text("-0.286p=1.000")
    expect(fresh.locator("#evaluate-result")).to_contain_text(
        "those without gold of the kind counted as zero"
    )
    with fresh.expect_download() as download:
        fresh.locator("#evaluate-download").click()
    assert download.value.suggested_filename == "figures.jsonl"
    lines = Path(download.value.path()).read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["predictions"] for line in lines] == ["found.jsonl", "other.jsonl"]
    with fresh.expect_download() as download:
        latex.click()
    assert download.value.suggested_filename == "figures-count_empty.tex"
    [present, absent] = read_tables(Path(download.value.path()).read_text(encoding="utf-8"))
    assert list(present.rows) == list(absent.rows) == ["found.jsonl", "a-model-with-a-long-name"]
    assert [f"0{cell}" for cell in present.rows["found.jsonl"]] == FIGURES["count_empty"][:2]
    assert present.comments[0].startswith("The page Evaluate of kpdemo, version ")
    with fresh.expect_download() as download:
        fresh.locator("#evaluate-details").click()
    assert download.value.suggested_filename == "details.jsonl"
    lines = Path(download.value.path()).read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["a", "b", "a", "b"]
    fresh.get_by_text("Documents where a-model-with-a-long-name differs most from found.jsonl").click()
    row = fresh.get_by_role("row", name="Graph kernels a")
    expect(row.get_by_role("cell").first).to_have_text("-0.571")
    expect(row.locator("mark")).to_have_text(["graph kernels", "kernel machine"])
    assert serious_violations(fresh, "#evaluate-result") == []


@pytest.mark.slow
def test_other_numbers_of_predictions_are_asked_for_in_a_fold_and_a_wrong_one_keeps_the_figures(
    fresh, chosen
):
    open_tab(fresh)
    upload(fresh, "gold", chosen / "gold.jsonl")
    upload(fresh, "predictions", chosen / "found.jsonl")
    at = fresh.get_by_label("Also F1 at")
    expect(at).to_be_hidden()
    fresh.get_by_role("button", name="More figures").click()
    at.fill("O, 1")
    at.press("Enter")
    heads = table(fresh).get_by_role("columnheader")
    cuts = ["F1@1", "F1@5", "F1@O", "F1@M"]
    shown = [f"{kind}{cut}" for kind in ("Present", "Absent") for cut in cuts]
    expect(heads).to_have_text(["Model or file", *shown, "AbsentR@50", "PooledF1@M", "Documents"])
    at.fill("1, 50")
    fresh.locator("#evaluate-run").click()
    expect_refusal(fresh, "Also F1 at 50: R@50 is computed on the candidates", result="#evaluate-result")
    fresh.get_by_text("Earlier answer").click()
    expect(heads.nth(3)).to_have_text("PresentF1@O")
    with fresh.expect_download() as download:
        fresh.locator("#evaluate-latex-skip_empty").click()
    [found, _] = read_tables(Path(download.value.path()).read_text(encoding="utf-8"))
    assert found.heads == ["Model", *cuts]


@pytest.mark.slow
def test_what_the_files_page_downloads_is_measured_on_a_phone_by_its_width(narrow, chosen):
    open_page(narrow, narrow.url.partition("#")[0])  # another test may have chosen files
    narrow.get_by_role("tab", name="Files").click()
    upload_files(narrow, chosen / "gold.jsonl")
    narrow.locator("#files-run").click()
    expect(narrow.locator("#files-summary")).to_have_text("2 documents predicted.")
    predicted = narrow.locator("#files-table")
    room = predicted.bounding_box()["width"]
    assert predicted.locator("thead th").last.bounding_box()["width"] > 0.7 * room
    with narrow.expect_download() as download:
        narrow.locator("#files-download").click()
    predictions = chosen / "predictions.jsonl"
    download.value.save_as(predictions)
    open_tab(narrow)
    upload(narrow, "gold", chosen / "gold.jsonl")
    upload(narrow, "predictions", predictions, chosen / "found.jsonl")
    narrow.locator("#evaluate-run").click()
    expect(table(narrow).get_by_role("rowheader")).to_have_text(["default", "found.jsonl"])
    assert narrow.evaluate(WIDTH) <= 390
    part = narrow.locator("#evaluate-result .scrolling:visible").last
    part.focus()
    expect(part).to_be_focused()
    assert part.evaluate("e => e.scrollWidth > e.clientWidth")
    ground = part.locator("table").evaluate("e => getComputedStyle(e).backgroundColor")
    assert ground == "rgba(0, 0, 0, 0)"  # the shade at the edge is seen through it
    narrow.keyboard.press("ArrowRight")
    narrow.wait_for_function("() => document.activeElement.scrollLeft > 0")
    caption, frame = part.locator("caption").bounding_box(), part.bounding_box()
    assert frame["x"] <= caption["x"]
    assert caption["x"] + caption["width"] <= frame["x"] + frame["width"]
