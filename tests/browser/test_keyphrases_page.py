"""A reader at the Keyphrases page: paste, press, read the marks, keep the result."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from threading import Event

import pytest
from playwright.sync_api import Page, Route, expect

import app
from kpdemo.errors import ModelLoadError
from kpdemo.evaluation.baselines import FirstPhrases
from kpdemo.pipeline import Pipeline
from kpdemo.types import Keyphrase
from kpdemo.ui.files import BATCH_SIZE
from kpdemo.ui.models import LONG_TEXT
from kpdemo.ui.predict import STOPPED
from kpdemo.ui.requests import LARGEST_COUNT, LONGEST_TEXT
from kpdemo.ui.widgets import EARLIER
from kpdemo.worker import ModelWorker
from tests import remote
from tests.browser.conftest import MODELS, Nested, Watch, choose_files, load, open_page, serious_violations
from tests.fakes import REASON, FakePredictor, absent_keyphrases
from tests.processes import exists

TITLE = "A boundary integral equation"
BODY = "The integral equation gives the surface current. A boundary integral equation is exact."
TEXT = f"{TITLE}\n\n{BODY}"

READ_MARKS = """root => {
  const found = {};
  for (const mark of root.querySelectorAll("mark")) {
    const key = mark.dataset.start + "-" + mark.dataset.end;
    found[key] = (found[key] ?? "") + mark.textContent;
  }
  return found;
}"""


# Gradio leaves a value alone that is what it was, but shows that it waited for it.
NOTE_ANSWER = """() => {
  const result = document.querySelector("#predict-result");
  delete result.dataset.answered;
  new MutationObserver((changes, observer) => {
    const ended = ({ target, oldValue }) =>
      target.matches(".html-container:not(.pending)") && oldValue.split(" ").includes("pending");
    if (!changes.some(ended)) return;
    observer.disconnect();
    result.dataset.answered = "";
  }).observe(result, { subtree: true, attributeFilter: ["class"], attributeOldValue: true });
}"""


def write(page: Page, body: str, title: str = "") -> None:
    page.locator("#predict-document textarea").fill(f"{title}\n\n{body}" if title else body)


def predict(page: Page, body: str, title: str = "") -> None:
    write(page, body, title)
    new_result(page, page.locator("#predict-run").click)


def new_result(page: Page, act: Callable[[], None]) -> None:
    """Do something, and wait until its result has come; it may look like the last one."""
    page.evaluate(NOTE_ANSWER)
    act()
    expect(page.locator("#predict-result[data-answered]")).to_be_attached()
    expect(page.locator("#predict-facts")).to_be_visible()


def open_options(page: Page) -> None:
    if not page.locator("#predict-count").is_visible():
        page.locator("#predict-options > button").click()
    expect(page.locator("#predict-count")).to_be_visible()


def choose_model(page: Page, option: str) -> None:
    open_options(page)
    page.locator("#predict-model input").click()
    page.get_by_role("option", name=option).click()


def expect_refusal(page: Page, text: str, *, result: str = "#predict-result") -> None:
    """The reason stands at the top of the result, in sight, and no toast over the page."""
    refusal = page.locator(result).get_by_role("alert")
    expect(refusal).to_contain_text(text)
    expect(refusal).to_be_in_viewport()
    expect(page.get_by_test_id("toast-body")).to_have_count(0)


def marks(page: Page) -> dict[str, str]:
    return page.locator("#predict-text").evaluate(READ_MARKS)


def test_marks_stand_at_the_offsets_nested_ones_too(demo):
    predict(demo, BODY, TITLE)
    expected = {"2-28": TEXT[2:28], "11-28": TEXT[11:28]}
    for phrase in ("integral equation", "surface current", "boundary integral equation"):
        at = TEXT.find(phrase, 30)
        while at >= 0:
            expected[f"{at}-{at + len(phrase)}"] = phrase
            at = TEXT.find(phrase, at + 1)
    assert marks(demo) == expected
    assert demo.locator("#predict-text").evaluate("element => element.textContent") == TEXT
    outer, inner = demo.locator("#kp-2-28"), demo.locator("#kp-2-28 #kp-11-28")
    lines = [mark.evaluate("m => m.getBoundingClientRect().bottom") for mark in (outer, inner)]
    assert lines[0] >= lines[1] + 3, "the line of the outer keyphrase must be seen under the inner one"


def test_the_language_can_be_chosen_and_the_text_runs_in_its_direction(fresh):
    open_options(fresh)
    fresh.locator("#predict-language input").click()
    fresh.get_by_role("option", name="Hebrew").click()
    predict(fresh, f"מודל: {BODY}")
    expect(fresh.locator("#predict-language-note")).to_have_text(
        "This text is Hebrew; the model 'default' was trained on no such text, so treat its answer with care."
    )
    text = fresh.locator("#predict-text[lang=he]")
    assert text.evaluate("element => getComputedStyle(element).direction") == "rtl"
    expect(fresh.locator("#predict-shell")).to_contain_text("--language=he")


def test_the_text_field_runs_in_the_direction_of_what_is_typed(demo):
    box = demo.locator("#predict-document textarea")
    for text, direction in (("قياس المعلومات", "rtl"), ("Measuring information", "ltr")):
        box.fill(text)
        assert box.evaluate("field => getComputedStyle(field).direction") == direction
    box.fill("")


def test_absent_keyphrases_stand_under_the_others_and_say_why_they_are_there(demo):
    predict(demo, BODY, TITLE)
    chips = demo.locator("#predict-absent .chip")
    expect(chips).to_have_text(["electric currents", "electric scattering"])
    expect(chips.first).to_have_css("border-top-style", "dashed")
    first = demo.locator("#predict-absent > li").first
    expect(first).to_contain_text("5 in 10")
    expect(first.get_by_text(REASON)).to_be_hidden()
    first.get_by_text("Why").click()
    expect(first.get_by_text(f"{REASON} (1 times).")).to_be_visible()
    legend = demo.locator("#predict-result .legend")
    expect(legend.locator("dd").first).to_be_hidden()
    demo.get_by_text("What this shows").click()
    expect(legend).to_contain_text("The papers call it absent.")
    assert serious_violations(demo, "#predict-page") == []


ODD = ("<img src=x onerror=alert(1)>${alert(2)}", "עיבוד שפה", "边界积分方程", "x" * 200)


@pytest.mark.slow
def test_absent_keyphrases_are_shown_whatever_the_model_gives_and_its_card_is_under_its_name(page, serve):
    models = {
        "default": Nested(absent=()),
        "single": Nested(absent=absent_keyphrases(1)),
        "fifty": Nested(absent=absent_keyphrases(50)),
        "odd": Nested(absent=tuple(Keyphrase(text, 0.5, reason=text) for text in ODD)),
        "plain": FakePredictor(absent=(), finds_absent=False),
    }
    cards = {"default": "# The trained one\n\nIt is *trained*. On one. On two. On three.", "single": "# One"}
    context = app.AppContext(
        dict.fromkeys(models, "phrases"), models.get, describe=lambda name: cards.get(name, "")
    )
    watch, address = Watch(), serve(context)
    watch.over(page, address)
    open_page(page, address)
    absent, chips = page.locator("#predict-absent"), page.locator("#predict-absent .chip")
    open_options(page)
    expect(page.locator("#predict-about")).to_have_text(
        "It is trained. On one. On two. About the model default"
    )
    with page.context.expect_page() as card:
        page.get_by_role("link", name="About the model default").click()
    expect(card.value.get_by_role("heading", name="The trained one")).to_be_visible()
    expect(card.value.get_by_text("On three.")).to_be_visible()
    predict(page, BODY, TITLE)
    expect(absent).to_have_text("None was found.")

    choose_model(page, "single –")
    expect(page.get_by_role("link", name="About the model single")).to_be_visible()
    predict(page, BODY, TITLE)
    expect(chips).to_have_count(1)

    choose_model(page, "fifty –")
    predict(page, BODY, TITLE)
    expect(chips).to_have_count(5)
    page.get_by_text("45 more").click()
    expect(page.locator("#predict-result .chip")).to_have_count(50)
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280

    choose_model(page, "odd –")
    predict(page, BODY, TITLE)
    expect(chips).to_have_text(list(ODD))
    for why in page.locator("#predict-absent summary").all():
        why.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280

    choose_model(page, "plain –")
    predict(page, BODY, TITLE)
    expect(absent).to_contain_text("only phrases that are in the text")
    watch.check()


def test_ctrl_enter_in_the_text_predicts(demo):
    write(demo, BODY)
    field = demo.locator("#predict-document textarea")
    new_result(demo, lambda: field.press("Control+Enter"))
    expect(demo.locator("#predict-document textarea")).to_have_value(BODY)


def test_the_count_of_characters_follows_the_typing(demo):
    field = demo.locator("#predict-document textarea")
    field.fill("")
    field.press_sequentially("abc")
    expect(demo.locator("#predict-length")).to_have_text("3 characters")
    field.fill("😀" * 1234)
    expect(demo.locator("#predict-length")).to_have_text("1\u202f234 characters")


def test_a_text_over_the_limit_is_told_before_anything_is_sent(demo):
    write(demo, "x" * LONGEST_TEXT)
    expect(demo.locator("#predict-length")).to_contain_text("This may take 3 minutes.")
    sent = []
    demo.on("request", lambda request: sent.append(request.url))
    write(demo, "x" * (LONGEST_TEXT + 3))
    expect(demo.locator("#predict-length").get_by_role("status")).to_have_text(
        "The text has 250\u202f003 characters and this page reads at most 250\u202f000: remove 3 of them, "
        "or use the command line (python -m kpdemo predict), which has no limit."
    )
    assert sent == []
    write(demo, "")
    expect(demo.locator("#predict-length")).to_have_text("0 characters")


def test_the_list_has_scores_and_counts_and_can_be_kept_as_json_and_csv_and_html(demo):
    predict(demo, BODY, TITLE)
    rows = demo.locator("#predict-phrases > li")
    assert [re.split(r"\s*\n\s*", row) for row in rows.all_inner_texts()] == [
        ["0.90", "boundary integral equation", "2\u202f×", "1 shorter"],
        ["0.70", "surface current", "1\u202f×"],
    ]
    rows.first.get_by_text("1 shorter").click()
    expect(rows.first.locator("li")).to_contain_text("integral equation")
    expect(demo.locator("#predict-facts")).to_contain_text("model default")
    download_menu = demo.locator(".menu > summary", has_text="Download")
    download_menu.click()
    with demo.expect_download() as download:
        demo.get_by_role("button", name="JSON").click()
    assert download.value.suggested_filename == "keyphrases.json"
    record = json.loads(Path(download.value.path()).read_text(encoding="utf-8"))
    assert record["present"][0] == {
        "text": "boundary integral equation",
        "score": 0.9,
        "spans": [[2, 28], [TEXT.rfind("boundary"), TEXT.rfind("boundary") + 26]],
    }
    assert record["absent"][0] == {
        "text": "electric currents", "score": 0.5, "kind": "mixed", "source": "generated",
        "evidence": ["surface current"], "reason": f"{REASON} (1 times).",
    }  # fmt: skip
    download_menu.click()
    with demo.expect_download() as download:
        demo.get_by_role("button", name="CSV").click()
    content = Path(download.value.path()).read_text(encoding="utf-8-sig")  # Excel takes it as UTF-8
    assert [row["keyphrase"] for row in csv.DictReader(io.StringIO(content))] == [
        "boundary integral equation", "integral equation", "surface current",
        "electric currents", "electric scattering",
    ]  # fmt: skip
    download_menu.click()
    with demo.expect_download() as download:
        demo.get_by_role("button", name="Marked text (HTML)").click()
    page = Path(download.value.path()).read_text(encoding="utf-8")
    assert '<li dir="auto">boundary integral equation · 0.90</li>' in page
    assert page.count("<mark") == 6
    demo.keyboard.press("Escape")


PRESS_TWICE = """async (button) => {
  const later = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
  button.click();
  while (button.textContent !== "Copied") await later(20);
  button.click();
  await later(2000);
  return button.textContent;
}"""


@pytest.mark.slow
def test_keyphrases_and_code_can_be_copied_and_the_button_says_so_for_a_moment(demo):
    demo.context.grant_permissions(["clipboard-read", "clipboard-write"])
    predict(demo, BODY)
    button = demo.locator("#predict-copy")
    label = button.inner_text()
    assert label.startswith("Copy")
    button.click()
    expect(button).to_have_text("Copied")
    read = "() => navigator.clipboard.readText()"
    assert demo.evaluate(read) == "boundary integral equation; surface current"
    expect(button).to_have_text(label)
    assert button.evaluate(PRESS_TWICE) == label
    demo.locator(".menu > summary", has_text="Copy as").click()
    demo.get_by_role("button", name="BibTeX").click()
    assert demo.evaluate(read) == "keywords = {boundary integral equation, surface current}"
    expect(demo.locator(".menu[open]")).to_have_count(0)
    demo.get_by_text("Same in code").click()
    demo.get_by_role("button", name="Copy command").click()
    expect(demo.locator("#predict-shell-copy")).to_have_text("Copied")
    command = demo.locator("#predict-shell").inner_text()
    assert command == f"printf %s '{BODY}' | python -m kpdemo predict - --model=default --json"
    assert demo.evaluate("() => navigator.clipboard.readText()") == command


def test_an_example_fills_the_boxes_and_is_predicted(demo):
    for number in (1, 2, 3, 4):
        new_result(demo, demo.locator(f"#predict-example-{number}").click)
        body = demo.locator("#predict-document textarea").input_value()
        assert len(body) > 600
        assert demo.locator("#predict-text").evaluate("e => e.textContent").endswith(body)


def test_a_screen_reader_hears_words(demo):
    predict(demo, BODY, TITLE)
    heard = demo.locator("[role=status].sr-only", has_text=re.compile(r"\S"))
    expect(heard.first).to_be_attached()
    said = re.compile(r"Loading|Done|In queue: \d+ of \d+")  # of what the page asks for beside the answer
    assert all(said.fullmatch(text.strip()) for text in heard.all_text_contents())


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("", "The text is empty"),
        ("Entropy", "The text is only one word, “Entropy”: give a sentence or more."),
        ("深度学习模型在自然语言处理中的应用", "The text is Chinese, which this model does not read"),
        pytest.param("plain words " * 85_000, "this page reads at most 250\u202f000", marks=pytest.mark.slow),
    ],
    ids=["empty", "one word", "Chinese", "a megabyte"],
)
def test_bad_input_is_one_sentence_and_nothing_is_lost(demo, body, sentence):
    predict(demo, BODY, TITLE)
    write(demo, body)
    demo.locator("#predict-run").click()
    expect_refusal(demo, sentence)
    expect(demo.locator("#predict-document textarea")).to_have_value(body)
    expect(demo.locator("#predict-phrases")).to_be_hidden()
    demo.get_by_text(EARLIER).click()
    expect(demo.locator("#predict-phrases")).to_be_visible()  # the last result stays, if it is wanted


@pytest.mark.slow
def test_a_refusal_folds_the_earlier_answer_once_and_goes_with_the_next_one(fresh):
    def ask(body: str, reason: str) -> None:
        write(fresh, body)
        fresh.locator("#predict-run").click()
        expect(refusal).to_have_text(reason)

    refusal = fresh.get_by_role("alert").and_(fresh.locator("#predict-result .refusal"))
    empty, one_word = "The text is empty: give a title or some sentences.", "The text is only one word, “{}”"
    ask(" ", empty)
    expect(fresh.locator("#predict-result p")).to_have_count(1)
    ask("Entropy", f"{one_word.format('Entropy')}: give a sentence or more.")
    predict(fresh, BODY)
    expect(refusal).to_have_count(0)
    ask("<Energy>", f"{one_word.format('<Energy>')}: give a sentence or more.")
    ask("", empty)
    expect(fresh.get_by_text(EARLIER)).to_have_count(1)
    expect(fresh.locator("#predict-text")).to_be_hidden()
    fresh.locator("#compare-run").click()
    expect(fresh.locator("#compare-result p")).to_have_text([empty])
    predict(fresh, BODY)
    expect(refusal).to_have_count(0)
    expect(fresh.locator("#predict-text")).to_be_visible()


@pytest.mark.slow
def test_a_refusal_comes_into_sight_on_a_phone(narrow):
    write(narrow, "Entropy")
    narrow.locator("#predict-run").click()
    expect_refusal(narrow, "The text is only one word")


def test_html_and_scripts_are_shown_and_not_run(demo):
    evil = (
        "boundary <script>alert(1)</script> <img src=x onerror=alert(2)> ${alert(3)} {{7*7}} <b>bold</b> "
        "</div></section> integral equation <iframe src='javascript:alert(4)'></iframe>"
    )
    predict(demo, evil, evil)
    shown = demo.locator("#predict-text")
    assert shown.evaluate("e => e.textContent") == f"{evil}\n\n{evil}"
    assert shown.locator("script, img, b, iframe").count() == 0
    demo.wait_for_timeout(200)  # an alert would be a complaint


@pytest.mark.slow
def test_a_book_is_shown_whole_and_its_last_mark_is_found(demo):
    paragraph = "plain words and a surface current " * 40
    body = f"{paragraph}\n\n" * 180
    write(demo, body)
    expect(demo.locator("#predict-length")).to_contain_text("245\u202f160 characters")
    new_result(demo, demo.locator("#predict-run").click)
    expect(demo.locator("#predict-text mark").last).to_be_attached()
    assert demo.locator("#predict-text").evaluate("e => e.textContent") == body
    last = body.rfind("surface current")
    target = demo.locator(f"#kp-{last}-{last + 15}")
    target.scroll_into_view_if_needed()
    expect(target).to_be_in_viewport()


def test_what_was_not_read_is_folded_or_grey_and_exported_open(demo):
    body = f"{BODY}\n\nReferences\n[1] A. Bee. Boundary integral equation. 2001.\n"
    predict(demo, body, TITLE)
    note, folded = demo.locator("#predict-left-out"), demo.locator("#predict-text details")
    expect(note).to_have_text(
        f"The references (from character {len(TITLE) + len(BODY) + 4}) were left out. "
        "What was left out is folded or grey here."
    )
    cited = "[1] A. Bee."
    expect(folded).not_to_contain_text(cited, use_inner_text=True)
    demo.get_by_text("Download", exact=True).click()
    with demo.expect_download() as download:
        demo.get_by_role("button", name="Marked text (HTML)").click()
    assert '<details class="left-out" open' in Path(download.value.path()).read_text(encoding="utf-8")
    demo.keyboard.press("Escape")
    folded.locator("summary").click()
    expect(folded).to_contain_text(cited, use_inner_text=True)


def test_right_to_left_text_and_emoji_keep_their_marks(demo):
    body = "😀👩‍🔬 The surface current flows well. שלום עולם"
    predict(demo, body)
    assert marks(demo) == {f"{body.find('surface')}-{body.find('surface') + 15}": "surface current"}
    predict(demo, "שלום surface current flows in the shell and more English words here")
    assert demo.locator("#predict-text").evaluate("e => getComputedStyle(e).direction") == "rtl"


def test_each_press_on_the_count_leads_to_the_next_mark(demo):
    words = "surface words " * 400
    predict(demo, f"{words}integral equation", TITLE)
    demo.locator("#predict-phrases").get_by_text("1 shorter").click()
    count, end = demo.locator("#predict-phrases details a"), len(f"{TITLE}\n\n{words}")
    for start in (11, end, 11):
        count.click()
        expect(demo.locator(f"mark#kp-{start}-{start + 17}")).to_be_in_viewport()


def test_options_apply_at_once_and_a_wrong_one_is_named(fresh):
    count, threshold = (
        fresh.locator("#predict-count").get_by_role("textbox"),
        fresh.locator("#predict-threshold").get_by_role("textbox"),
    )
    phrases, old = fresh.locator("#predict-phrases .phrase"), fresh.locator("#predict-old")
    expect(count).to_be_hidden()
    open_options(fresh)
    choose_model(fresh, "first – first phrases")
    count.fill("3")
    expect(old).to_be_hidden()  # there is no answer yet
    predict(fresh, "Neural networks learn many useful features from large corpora.")
    expect(phrases).to_have_count(3)
    expect(fresh.locator("#predict-facts")).to_contain_text("model first")
    assert "--top-k=3" in fresh.locator("#predict-shell").text_content()
    count.fill("1")
    expect(phrases).to_have_count(1)
    count.fill("500")
    expect_refusal(fresh, f"The number of keyphrases is “500”: give a whole number from 1 to {LARGEST_COUNT}")
    expect(count).to_have_value("500")
    expect(fresh.locator("#predict-text")).to_be_hidden()
    count.fill("")
    threshold.fill("high")
    expect_refusal(fresh, "The lowest score is “high”: give a number from 0 to 1")
    threshold.fill("0.5")
    expect(fresh.locator("#predict-code")).to_contain_text("--threshold=0.5")
    expect(old).to_be_hidden()


class Counting(FirstPhrases):
    """Counts what it reads."""

    read = 0

    def predict(self, documents, **options):
        type(self).read += len(documents)
        return super().predict(documents, **options)


@pytest.fixture
def counted(page, serve):
    """A page whose model ranks what it finds."""
    open_page(page, serve(app.AppContext({"first": "phrases"}, lambda name: Pipeline(name, Counting))))
    return page


GRAPHS = "Graph kernels compare molecules. Fast graph kernels compare large molecules of drugs."


@pytest.mark.slow
def test_options_choose_from_what_was_read_also_of_a_long_text(counted):
    page, rows = counted, counted.locator("#predict-phrases > li > .phrase-row > .phrase")
    for text in (GRAPHS, f"{GRAPHS} " * 300):
        predict(page, text)
        open_options(page)
        before = Counting.read
        page.locator("#predict-exclude textarea").fill("kernels")
        expect(rows.filter(has_text="kernels")).to_have_count(0)
        page.locator("#predict-longest").get_by_role("textbox").fill("1")
        expect(rows.filter(has_text=re.compile(r"\S \S"))).to_have_count(0)
        page.get_by_label("A phrase and those inside it take one place").check()
        expect(page.locator("#predict-shell")).to_contain_text("--no-nested")
        page.get_by_label("Also those not in the text that are mostly wrong").check()
        expect(page.locator("#predict-shell")).to_contain_text("--unsure")
        page.locator("#predict-shortest").get_by_role("textbox").fill("2")
        expect_refusal(page, "The shortest number of words is 2, more than the longest, 1")
        page.locator("#predict-longest").get_by_role("textbox").fill("")
        expect(rows.first).to_have_text(re.compile(r"\S \S"))
        expect(page.locator("#predict-old")).to_be_hidden()
        assert Counting.read == before
        page.locator("#predict-shortest").get_by_role("textbox").fill("")
        page.locator("#predict-exclude textarea").fill("")
        page.get_by_label("A phrase and those inside it take one place").uncheck()
        page.get_by_label("Also those not in the text that are mostly wrong").uncheck()
        expect(page.locator("#predict-shell")).not_to_contain_text("--unsure")


@pytest.mark.slow
def test_phrases_of_ones_own_are_ranked_alone_or_first_and_a_long_text_waits_for_its_reader(counted):
    page, rows = counted, counted.locator("#predict-result ol.phrases > li > .phrase-row > .phrase")
    predict(page, GRAPHS)
    open_options(page)
    only = page.locator("#predict-only")
    expect(only).to_be_hidden()
    page.locator("#predict-candidates textarea").fill("drugs\nlarge molecules")
    expect(rows).to_have_count(2)
    expect(page.locator("#predict-result .answer-head")).to_contain_text("The number only ranks the phrases")
    page.get_by_label("These first").check()
    expect(rows.nth(2)).to_be_visible()
    page.locator("#predict-candidates textarea").fill("")
    expect(only).to_be_hidden()
    expect(page.locator("#predict-shell")).not_to_contain_text("--candidates")
    predict(page, f"{GRAPHS} " * 300)
    before = Counting.read
    page.locator("#predict-candidates textarea").fill("drugs")
    expect(page.locator("#predict-old")).to_be_visible()
    page.wait_for_timeout(1000)  # as long as a short text needs to be read again
    assert Counting.read == before


@pytest.mark.slow
def test_a_model_that_has_no_style_and_compares_nothing_says_so(counted):
    predict(counted, GRAPHS)
    open_options(counted)
    counted.locator("#predict-guide textarea").fill("chemistry")
    expect_refusal(counted, "does not compare phrases, so words cannot guide it")
    counted.locator("#predict-guide textarea").fill("")
    expect(counted.locator("#predict-result .refusal")).to_have_count(0)
    counted.locator("#predict-style input").click()
    counted.get_by_role("option", name="An indexer").click()
    expect_refusal(counted, "The style is indexer, but the model 'first' has only one")


@pytest.mark.slow
def test_open_options_push_neither_answer_nor_marked_text_down(fresh):
    predict(fresh, BODY, TITLE)
    places = [fresh.locator(name) for name in ("#predict-result", "#predict-text")]
    before = [place.bounding_box()["y"] for place in places]
    open_options(fresh)
    after = [place.bounding_box()["y"] for place in places]
    assert all(now <= then + 1 for now, then in zip(after, before, strict=True))


def test_an_answer_to_another_text_is_marked_as_old(fresh):
    predict(fresh, BODY)
    old = fresh.locator("#predict-old")
    expect(old).to_be_hidden()
    write(fresh, f"{BODY} More.")
    expect(old).to_have_text("Text or options have changed since: press Find keyphrases.")
    write(fresh, BODY)
    expect(old).to_be_hidden()
    write(fresh, BODY * 300)
    new_result(fresh, fresh.locator("#predict-run").click)
    open_options(fresh)
    fresh.locator("#predict-count").get_by_role("textbox").fill("1")
    expect(old).to_be_visible()  # a long text is read only when its reader says so


def test_predict_is_in_sight_before_anything_is_scrolled_also_under_a_long_text(fresh):
    sizes = [{"width": width, "height": height} for width, height in ((1280, 800), (390, 844))]
    run = fresh.locator("#predict-run")
    for size in sizes:
        fresh.set_viewport_size(size)
        expect(run).to_be_in_viewport(ratio=1)
    write(fresh, BODY * 40, TITLE)
    fresh.locator("#predict-document textarea").blur()
    for size in sizes:
        fresh.set_viewport_size(size)
        fresh.evaluate("scrollTo(0, 0)")
        expect(run).to_be_in_viewport(ratio=1)


def test_compare_shows_columns_and_what_they_agree_on(demo):
    write(demo, "The boundary integral equation has a boundary")
    fold = demo.locator("#compare-choose > button")
    expect(fold).to_have_text(re.compile("Models: default$|Models: default "))
    expect(demo.locator("#compare-models")).to_be_hidden()
    fold.click()
    expect(demo.locator("#compare-models")).to_contain_text("first – first phrases")
    for model in ("damaged", "first"):
        demo.locator("#compare-models").get_by_label(model).check()
    expect(fold).to_contain_text("Models: default, first, damaged")
    demo.locator("#compare-run").click()
    expect(demo.locator(".compare-column h3")).to_have_text(["default", "first", "damaged"])
    expect(demo.locator(".compare-column").last).to_contain_text("<damaged> is damaged")
    expect(demo.locator(".compare-column").first).to_contain_text("boundary integral equation")


def test_compare_needs_a_text(demo):
    write(demo, "")
    demo.locator("#compare-run").click()
    expect_refusal(demo, "The text is empty", result="#compare-result")


@pytest.mark.slow
def test_no_columns_of_an_earlier_text_stay_or_come_late(fresh):
    columns, empty = fresh.locator(".compare-column"), fresh.locator("#compare-result .empty")
    write(fresh, BODY)
    fresh.locator("#compare-run").click()
    expect(columns.first).to_contain_text("surface current")
    predict(fresh, "A boundary integral equation is exact.")
    expect(empty).to_be_visible()
    held: list[Route] = []
    fresh.route(re.compile("/gradio_api/queue/join"), lambda route: held.append(route))
    fresh.locator("#compare-run").click()
    expect(fresh.locator("#compare-result .pending")).to_be_attached()
    write(fresh, "The surface current is exact.")
    for request in held:
        request.continue_()
    fresh.unroute_all()
    expect(fresh.locator("#compare-result .pending")).to_have_count(0)
    expect(empty).to_be_visible()
    fresh.locator("#compare-run").click()
    expect(columns.first).to_contain_text("surface current")


WORDS_BEFORE = "(element) => getComputedStyle(element, '::before').content"


class Waiting(Nested):
    """Reads nothing before it is allowed to."""

    go = Event()

    def predict(self, documents, *, top_k=None, threshold=None):
        assert self.go.wait(60)
        return super().predict(documents, top_k=top_k, threshold=threshold)


@pytest.mark.slow
def test_a_long_text_says_that_it_is_being_read_and_hides_what_was_said_before(page, serve):
    address = serve(app.AppContext(MODELS, load, load_apart=lambda name: Waiting()))
    open_page(page, address)
    Waiting.go.clear()
    run, reading = page.locator("#predict-run"), page.locator("#predict-reading")
    predict(page, BODY)
    expect(reading).to_be_hidden()
    write(page, "Entropy")
    run.click()
    expect(page.locator(".refusal")).to_be_visible()
    write(page, BODY * 300, TITLE)
    run.click()
    count = f"{len(BODY) * 300 + len(TITLE) + 2:,}".replace(",", "\u202f")
    expect(reading.get_by_role("status")).to_have_text(
        f"Reading {count} characters: this may take a minute, or longer if the server is busy."
    )
    expect(reading).to_be_in_viewport()
    expect(page.locator(".refusal")).to_be_hidden()
    expect(page.locator("#predict-result .empty")).to_be_hidden()
    loading = page.locator("#predict-result").get_by_role("progressbar", name="Loading the model default")
    expect(loading).to_be_visible()
    assert loading.evaluate(WORDS_BEFORE) == '"Loading the model default"'
    expect(page.locator("#predict-result").get_by_text("%")).to_be_hidden()
    Waiting.go.set()
    expect(page.locator("#predict-text mark").first).to_be_visible()
    expect(reading).to_be_hidden()


def test_what_takes_longer_than_a_second_shows_its_seconds_from_then_on(page, serve):
    address = serve(app.AppContext(MODELS, lambda name: Waiting()))
    open_page(page, address)
    timer = page.locator("#predict-result .progress-text")
    Waiting.go.clear()
    try:
        write(page, BODY)
        asked = page.evaluate("() => document.timeline.currentTime")
        page.locator("#predict-run").click()
        expect(timer).to_be_visible()
        expect(timer).to_be_in_viewport()
        begun, delay = page.locator("#predict-result [data-testid=status-tracker]").evaluate(
            "e => [e.getAnimations()[0].startTime, e.getAnimations()[0].effect.getTiming().delay]"
        )
        assert begun >= asked, "the second is that of the question, not of the page"
        assert delay == 1000
    finally:
        Waiting.go.set()
    expect(page.locator("#predict-text mark").first).to_be_visible()
    expect(timer).to_be_hidden()


@pytest.mark.slow
def test_leaving_a_page_that_its_server_has_not_answered_is_no_error(page, serve):
    def answer_late(route):
        page.wait_for_timeout(300)
        route.fulfill(body="elsewhere")

    address = serve(app.AppContext(MODELS, lambda name: Waiting()))
    open_page(page, address)
    watch = Watch()
    watch.over(page, address)
    Waiting.go.clear()
    write(page, BODY)
    with page.expect_response("**/gradio_api/queue/data*"):
        page.locator("#predict-run").click()
    page.route("**/elsewhere", answer_late)
    try:
        page.evaluate("location.assign('/elsewhere')")
        page.wait_for_url("**/elsewhere")
    finally:
        Waiting.go.set()
    watch.check()


@pytest.mark.slow
def test_a_long_text_that_is_stopped_is_read_no_more_and_the_next_one_is(page, serve, tmp_path):
    with closing(ModelWorker(partial(remote.load_and_note, tmp_path), may_end=True)) as worker:
        address = serve(app.AppContext({"obedient": "obeys"}, remote.load, load_apart=worker))
        open_page(page, address)
        stop, body = page.get_by_role("button", name="Stop"), f"compute {tmp_path / 'begun'}".ljust(LONG_TEXT)
        predict(page, BODY)
        expect(stop).to_be_hidden()
        write(page, body)
        page.locator("#predict-run").click()
        expect(stop).to_be_in_viewport()
        while not (tmp_path / "begun").is_file():
            page.wait_for_timeout(20)
        [process] = (tmp_path / "obedient").read_text(encoding="utf-8").split()
        assert exists(int(process))
        stop.click()
        expect_refusal(page, STOPPED)
        expect(stop).to_be_hidden()
        expect(page.locator("#predict-facts")).to_be_hidden()
        expect(page.locator("#predict-document textarea")).to_have_value(body)
        while exists(int(process)):
            page.wait_for_timeout(20)
        predict(page, BODY * 300)
        expect(page.locator("#predict-result .refusal")).to_have_count(0)


@pytest.mark.slow
def test_files_and_a_comparison_can_be_stopped_and_keep_what_they_had(page, serve, tmp_path):
    def wait_until_begun():
        while not begun.is_file():
            page.wait_for_timeout(20)
        begun.unlink()

    begun, table = tmp_path / "begun", tmp_path / "docs.jsonl"
    texts = [BODY] * BATCH_SIZE + [f"compute {begun}"]
    lines = [json.dumps({"id": str(number), "text": text}) for number, text in enumerate(texts)]
    table.write_text("\n".join(lines), encoding="utf-8")
    with closing(ModelWorker(remote.load, may_end=True)) as worker:
        models = {"plain": "answers", "obedient": "obeys"}
        open_page(page, serve(app.AppContext(models, remote.load, load_apart=worker)))
        stop = page.get_by_role("button", name="Stop")
        page.locator("#compare-choose > button").click()
        for model in models:
            page.locator("#compare-models").get_by_label(model).check()
        write(page, f"compute {begun}".ljust(LONG_TEXT))
        page.locator("#compare-run").click()
        wait_until_begun()
        stop.click()
        expect(page.locator(".compare-column").first.locator("ol")).not_to_have_count(0)
        expect(page.locator(".compare-column").last).to_contain_text("Stopped before this model had answered")
        expect(stop).to_be_hidden()
        page.get_by_role("tab", name="Files").click()
        choose_files(page.locator("#files-upload"), table)
        page.locator("#files-options > button").click()
        page.locator("#files-model input").click()
        page.get_by_role("option", name="obedient").click()
        page.locator("#files-run").click()
        wait_until_begun()
        stop.click()
        expect(page.locator("#files-result").get_by_role("alert")).to_contain_text(
            f"Stopped: {BATCH_SIZE} of {BATCH_SIZE + 1} documents are predicted"
        )
        with page.expect_download() as download:
            page.locator("#files-download").click()
        assert len(Path(download.value.path()).read_text(encoding="utf-8").splitlines()) == BATCH_SIZE
        expect(stop).to_be_hidden()


@pytest.mark.parametrize("width", [390, pytest.param(1280, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_the_bar_of_files_hides_nothing_that_is_said_beside_it(page, serve, width):
    class Held(Nested):
        def predict(self, documents, **options):
            assert len(documents) == 1 or go.wait(60)
            return super().predict(documents, **options)

    go = Event()
    page.set_viewport_size({"width": width, "height": 900})
    open_page(page, serve(app.AppContext(MODELS, lambda name: Held())))
    page.get_by_role("tab", name="Files").click()
    lines = "".join(f"{json.dumps({'id': str(number), 'text': BODY})}\n" for number in range(1_500))
    choose_files(page.locator("#files-upload"), ("docs.jsonl", lines.encode()))
    page.locator("#files-run").click()
    said = page.locator("#files-result").get_by_text("0/1.5k documents")
    expect(said).to_be_visible()
    bar = page.locator("#files-result").get_by_role("progressbar").bounding_box()
    text = said.bounding_box()
    assert text["y"] + text["height"] <= bar["y"]
    page.locator("#files-stop").click()
    go.set()
    expect(page.locator("#files-result").get_by_role("alert")).to_contain_text("Stopped")


@pytest.mark.slow
def test_a_short_text_is_read_while_others_wait_for_long_ones(browser, serve):
    Waiting.go.clear()
    address = serve(app.AppContext(MODELS, load, load_apart=lambda name: Waiting()))
    pages = [browser.new_page() for _ in range(3)]
    for page in pages:
        open_page(page, address)
    for page in pages[:2]:
        write(page, BODY * 300)
        expect(page.locator("#predict-length")).to_contain_text("This may take a minute.")
        page.locator("#predict-run").click()
    predict(pages[2], BODY)
    expect(pages[2].locator("#predict-length")).not_to_contain_text("long")
    for page in pages[:2]:
        expect(page.locator("#predict-text")).to_have_count(0)
    Waiting.go.set()
    for page in pages[:2]:
        expect(page.locator("#predict-text")).to_be_visible()
        page.close()
    pages[2].close()


@pytest.mark.slow
def test_a_damaged_model_leaves_the_others_usable(page, serve):
    def load(name):
        if name == "default":
            raise ModelLoadError("The model default is damaged (model.safetensors): install it again.")
        return FakePredictor(name)

    address = serve(app.AppContext({"default": "a damaged one", "first": "first phrases"}, load))
    watch = Watch()
    watch.over(page, address)
    open_page(page, address)
    expect(page.get_by_role("alert")).to_contain_text("The model default is damaged")
    write(page, BODY)
    page.locator("#predict-run").click()
    expect_refusal(page, "The model default is damaged")
    choose_model(page, "first – first phrases")
    predict(page, BODY)
    expect(page.locator("#predict-facts")).to_contain_text("model first")
    watch.check()


@pytest.mark.parametrize(("field", "key"), [("model", "Tab"), ("language", "Shift+Tab")])
@pytest.mark.slow
def test_the_list_of_a_field_closes_when_the_keyboard_leaves_it(demo, field, key):
    open_options(demo)
    box = demo.locator(f"#predict-{field} input")
    before = box.input_value()
    box.focus()
    expect(demo.locator("[role=option]").first).to_be_visible()
    demo.keyboard.press(key)
    expect(demo.locator("[role=option]")).to_have_count(0)
    expect(box).to_have_value(before)
    expect(box).not_to_be_focused()
