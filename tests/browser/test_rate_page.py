"""A rater at the rating page: keys, slow and lost networks, lost sessions, two tabs, any text, any width."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from hashlib import sha256
from itertools import count
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Page, expect

from annotation.scale import CLSS, LONGEST_DESCRIPTION, LONGEST_POINT_NAME, PRESETS, Scale, parse_scale
from annotation.types import KnownPair, NewPair, NewRating, Project, ProjectSettings, Role, User
from annotation.web.responder import COOKIE
from tests.browser.conftest import PASSWORD, Site, Watch, serious_violations, unfold
from tests.browser.pressing import press, press_blindly
from tests.browser.test_quality_pages import begin_training

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Locator

NUMBERS = count(1)
SAVED = re.compile(r"^Saved \d\d:\d\d:\d\d$")
LATENCY = 2000
PHONE = {"width": 390, "height": 844}
# As if nothing was heard of the tab for ten minutes: the next one sends its answers.
ASLEEP = "() => { const { now } = Date; Date.now = () => now() - 600_000; }"


HOLD = """async (milliseconds) => {
  const loaded = performance.getEntriesByType("resource");
  const { name } = loaded.find(({ name }) => name.endsWith("/rate/keys.js"));
  (await import(name)).timing.hold = milliseconds;
}"""
"""Sets how long no key counts for a pair that came without the rater's doing."""


def phrases(number: int) -> list[NewPair]:
    return [
        NewPair(f"p{at}", "sentence2phrase", f"The {at}th train was late.", f"late train {at}")
        for at in range(1, number + 1)
    ]


@dataclass
class Desk:
    """A project of the test's own, and its rater in a browser profile of their own."""

    site: Site
    browser: Browser
    project: Project
    rater: User
    watch: Watch = field(default_factory=Watch)
    context: BrowserContext | None = None

    def open(self, **options: object) -> Page:
        self.context = self.site.context(self.browser, self.rater.name, **options)
        return self.another_tab()

    def another_tab(self, script: str = "", *, begins: bool = True) -> Page:
        """Another page of the rater's, with a script that runs before its own.

        Args:
            begins: whether the rater goes on from the guidelines, where they have to be read first.
        """
        page = self.context.new_page()
        page.add_init_script(script)
        self.watch.over(page, self.site.address)
        page.goto(self.path)
        expect(page.locator("#rate-form:not([data-phase=loading])")).to_be_attached()
        begin = page.get_by_role("button", name="I have read the guidelines: begin")
        if begins and begin.is_visible():
            begin.click()
        return page

    @property
    def path(self) -> str:
        return f"{self.site.address}/annotate/rate?project={self.project.id}"

    def grades(self, rater: User | None = None) -> dict[str, Decimal]:
        """What is committed: the smaller item of each pair and its grade."""
        pairs = self.site.services.ratings.recent(self.project.id, (rater or self.rater).id)
        return {pair.right: pair.grade for pair in pairs if pair.grade is not None}

    def comments(self) -> dict[str, str]:
        pairs = self.site.services.ratings.recent(self.project.id, self.rater.id)
        return {pair.right: pair.comment for pair in pairs if pair.comment}

    def add_rater(self) -> User:
        user = self.site.add_user(f"rater {next(NUMBERS)}")
        self.site.services.projects.add_member(self.project.id, user.name, Role.RATER)
        return user

    def end_session(self) -> None:
        self.site.services.sign_ins.sign_out_everywhere(self.rater.name)


@pytest.fixture
def open_desk(site: Site, browser: Browser) -> Iterator:
    desks: list[Desk] = []

    def open_desk(pairs: Sequence[NewPair] | int = 5, **settings: object) -> Desk:
        chosen = {"name": f"Project {next(NUMBERS)}", "is_random": False, "raters_per_pair": 1, **settings}
        project = site.services.projects.create(ProjectSettings(**chosen))
        site.services.importing.import_pairs(project.id, phrases(pairs) if isinstance(pairs, int) else pairs)
        rater = site.add_user(f"rater {next(NUMBERS)}")
        site.services.projects.add_member(project.id, rater.name, Role.RATER)
        desks.append(Desk(site, browser, project, rater))
        return desks[-1]

    yield open_desk
    for desk in desks:
        assert desk.watch.foreign == []
        # A browser notes every answer that is an error; the scripts must not fail of it.
        assert [said for said in desk.watch.complaints if "Failed to load resource" not in said] == []


def slow_down(page: Page, latency: int = LATENCY) -> None:
    conditions = {"offline": False, "latency": latency, "downloadThroughput": -1, "uploadThroughput": -1}
    page.context.new_cdp_session(page).send("Network.emulateNetworkConditions", conditions)


def whole_text(page: Page, side: str, wanted: str) -> str:
    """What a box holds once it holds as much as it should; of a long text the end comes a moment later."""
    box = page.locator(f"#rate-{side}")
    length = len(wanted.encode("utf-16-le")) // 2
    page.wait_for_function(
        "([e, length]) => e.textContent.length >= length", arg=[box.element_handle(), length]
    )
    return box.text_content() or ""


def sign_in(page: Page, user: User) -> None:
    page.get_by_label("Name").fill(user.name)
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")


@pytest.mark.slow
def test_keys_typed_while_no_pair_is_shown_grade_none_that_comes_later(open_desk):
    desk = open_desk(8)
    page = desk.open()
    desk.context.set_offline(True)
    press(page, "0", "Enter", "1", "Enter")
    expect(page.locator("#rate-message")).to_contain_text("Keys do nothing until it is shown.")
    press_blindly(page, *"2⏎3⏎4⏎")
    expect(page.locator("#rate-live")).to_have_text("No pair is shown: the key was not used.")
    desk.context.set_offline(False)
    press_blindly(page, *"2⏎3⏎4⏎")
    expect(page.locator("#rate-right")).to_have_text("late train 3")
    expect(page.locator("#rate-value")).to_contain_text("No grade yet")
    expect(page.locator("#rate-saved")).to_have_text(SAVED)
    assert desk.grades() == {"late train 1": 0, "late train 2": 1}
    press(page, "4", "Enter")
    expect(page.locator("#rate-count")).to_have_text("3 graded, up to 5 left")
    expect(page.locator("#rate-saved")).to_have_text(SAVED)
    assert desk.grades() == {"late train 1": 0, "late train 2": 1, "late train 3": 4}


WITNESS = """() => {
  window.seen = [];
  const right = document.getElementById("rate-right");
  const work = document.getElementById("rate-work");
  const look = () => window.seen.push([work.hidden ? "" : right.textContent, performance.now()]);
  new MutationObserver(look).observe(work, { childList: true, subtree: true, attributes: true });
  look();
  addEventListener("keydown", ({ key, timeStamp }) => window.seen.push([Number(key), timeStamp]), true);
}"""
"""Notes which pair the page holds and which keys are pressed, each with its moment."""


@pytest.mark.parametrize(
    ("latency", "pause"),
    [
        (60, 40),
        pytest.param(600, 0, marks=pytest.mark.slow),
        pytest.param(60, 0, marks=pytest.mark.slow),
        pytest.param(600, 40, marks=pytest.mark.slow),
    ],
)
def test_each_grade_is_of_the_pair_that_was_on_the_page_when_its_key_was_pressed(open_desk, latency, pause):
    desk = open_desk(400)
    page = desk.open()
    page.evaluate(WITNESS)
    page.evaluate(HOLD, 100)  # else most keys would be dropped, and little tested
    slow_down(page, latency)
    stop_at = time.monotonic() + 3
    for number in count():
        press_blindly(page, str(number * 7 % 5), "⏎")
        page.wait_for_timeout(pause)
        if time.monotonic() > stop_at:
            break
    expect(page.locator("#rate-saved")).to_have_text(SAVED)
    pair, last = "", {}
    for what, _ in sorted(page.evaluate("seen"), key=lambda note: note[1]):
        if isinstance(what, str):
            pair = what
        elif what == what:  # a digit: of Enter it is no number
            last[pair] = what
    grades = desk.grades()
    assert len(grades) >= 3
    assert grades == {text: last[text] for text in grades}


def test_twenty_pairs_are_graded_as_fast_as_they_can_be_shown(open_desk):
    desk = open_desk(20)
    page = desk.open()
    typed = [number * 7 % 5 for number in range(20)]
    for at, grade in enumerate(typed, start=1):
        expect(page.locator("#rate-right")).to_have_text(f"late train {at}")
        expect(page.locator("#rate-scale [role=radio] >> nth=0")).to_be_enabled()
        press(page, str(grade), "Enter")
    expect(page.locator("#rate-message")).to_contain_text("You have graded 20 pairs,")
    expect(page.locator("#rate-message").get_by_role("link", name="My projects")).to_be_visible()
    bar, saved = page.locator(".rate-bar").bounding_box(), page.locator("#rate-saved").bounding_box()
    assert abs(bar["x"] + bar["width"] - saved["x"] - saved["width"]) < 1
    assert desk.grades() == {f"late train {at + 1}": grade for at, grade in enumerate(typed)}
    assert desk.watch.complaints == []


@pytest.mark.slow
def test_a_pair_comes_back_unmarked_and_agreement_tells_how_the_rater_agrees_with_themselves(open_desk):
    desk = open_desk(24, repeat_percent=50)
    page = desk.open()
    seen: list[str] = []
    for at in range(28):
        expect(page.locator("#rate-count")).to_have_text(re.compile(rf"^{at} graded, .*\b{28 - at} left"))
        expect(page.locator("#rate-scale [role=radio] >> nth=0")).to_be_enabled()
        expect(page.locator("#rate-scale [aria-checked=true]")).to_have_count(0)
        text = page.locator("#rate-right").inner_text()
        press(page, "3" if text in seen else "2", "Enter")
        seen.append(text)
    expect(page.locator("#rate-message")).to_contain_text("You have graded 28 pairs,")
    assert len(set(seen)) == 24
    assert set(seen[:22]) == {f"late train {at}" for at in range(1, 23)}
    page = desk.site.page(desk.browser, "root", f"/annotate/agreement?project={desk.project.id}")
    expect(page.locator("#agreement-figures-part")).to_be_visible()
    unfold(page, "#agreement-page")
    row = page.locator("#agreement-page").get_by_role("row").filter(has_text="all raters").first
    row.wait_for()
    assert [cell.strip() for cell in row.locator("td, th").all_text_contents()][:4] == [
        "all raters",
        "4",
        "1.00",
        "0.0 %",
    ]


@pytest.mark.slow
def test_the_next_pair_is_there_long_before_the_network_answers_also_when_it_is_long(open_desk):
    long = "A long sentence with many words in it. " * 2600
    desk = open_desk([*phrases(1), NewPair("long", "paragraph2sentence", long, long)])
    page = desk.open()
    slow_down(page)
    page.keyboard.press("2")
    milliseconds, shown = page.evaluate("""() => {
      const start = performance.now();
      document.querySelector("#rate-submit").click();
      document.body.offsetHeight;
      return [performance.now() - start, document.querySelector("#rate-left").textContent];
    }""")
    assert long.startswith(shown)
    assert len(shown) > 1000
    assert whole_text(page, "left", long) == long
    assert milliseconds < LATENCY / 2


def test_nothing_is_chosen_at_first_and_saved_means_that_the_server_has_committed_it(open_desk):
    desk = open_desk()
    page = desk.open()
    scale = page.get_by_role("radiogroup", name="How much of the sentence's meaning does the phrase carry?")
    chosen, saved = scale.get_by_role("radio", checked=True), page.locator("#rate-saved")
    expect(chosen).to_have_count(0)
    expect(page.locator("#rate-submit")).to_be_disabled()
    expect(saved).to_have_text("")
    press(page, "Enter", "]")
    expect(page.locator("#rate-live")).to_have_text("Choose a grade from 0 to 4 first.")
    page.keyboard.press("3")
    expect(chosen).to_have_count(1)
    press(page, "[", "ArrowLeft", "]")
    expect(page.get_by_role("status").filter(has_text="2.75")).to_have_text(
        "2.75 between 2 Somewhat related but not similar and 3 Somewhat similar"
    )
    expect(chosen).to_have_count(0)
    slow_down(page, 700)
    press(page, "Enter")
    expect(saved).to_have_text("Saving…")
    expect(saved).to_have_text(SAVED)
    assert desk.grades() == {"late train 1": Decimal("2.75")}

    slow_down(page, 0)
    press(page, "0", "Enter")
    expect(page.locator("#rate-count")).to_have_text("2 graded, up to 3 left")
    expect(saved).to_have_text(SAVED)
    assert desk.grades()["late train 2"] == 0
    press(page, "Backspace")
    expect(chosen).to_contain_text("Unrelated")
    press(page, "Escape", "3", "[")
    page.locator("#rate-page").evaluate("e => { e.innerHTML = e.innerHTML; }")  # as Gradio draws it anew
    expect(page.locator("#rate-value b")).to_have_text("2.75")
    expect(page.locator("#rate-right")).to_have_text("late train 3")
    press(page, "[", "Enter", "1")
    expect(page.locator("#rate-value b")).to_have_text("1")
    expect(saved).to_have_text(SAVED)
    assert desk.grades()["late train 3"] == Decimal("2.5")


# A session that is lost


def test_who_loses_the_session_signs_in_and_finds_the_same_pair_with_the_comment(open_desk):
    desk = open_desk()
    page = desk.open()
    comment, value = page.locator("#rate-comment-text"), page.locator("#rate-value b")
    press(page, "2", "c")
    page.keyboard.type("Is 3 meant? 🤔")
    desk.end_session()
    page.locator("#rate-submit").click()
    page.wait_for_url("**/sign-in?next=*")
    sign_in(page, desk.rater)
    expect(page.locator("#rate-notices")).to_contain_text("You are signed in again.")
    expect(page.locator("#rate-right")).to_have_text("late train 1")
    expect(comment).to_have_value("Is 3 meant? 🤔")
    expect(value).to_have_text("2")
    assert desk.grades() == {"late train 1": 2}
    assert desk.comments() == {"late train 1": "Is 3 meant? 🤔"}
    assert page.url == desk.path

    page.locator("#rate-submit").click()
    expect(page.locator("#rate-right")).to_have_text("late train 2")
    press(page, "4", "[", "c")
    comment.fill("typed")
    expect(page.locator("#rate-saved")).to_have_text(SAVED)
    desk.end_session()
    page.get_by_role("button", name="Save comment").click()  # the grade is not submitted, and kept too
    page.wait_for_url("**/sign-in?next=*")
    sign_in(page, desk.rater)
    expect(page.locator("#rate-right")).to_have_text("late train 2")
    expect(comment).to_have_value("typed")
    expect(value).to_have_text("3.75")
    assert desk.grades() == {"late train 1": 2}


@pytest.mark.slow
def test_another_user_of_the_same_browser_gets_no_draft_and_no_grade_of_the_former_one(open_desk):
    desk = open_desk(raters_per_pair=3)
    other = desk.add_rater()
    page = desk.open()
    press(page, "2", "c")
    page.keyboard.type("private")
    desk.end_session()
    page.locator("#rate-submit").click()
    page.wait_for_url("**/sign-in?next=*")
    sign_in(page, other)
    expect(page.locator("#rate-right")).to_have_text("late train 1")
    expect(page.locator("#rate-comment-text")).to_have_value("")
    expect(page.get_by_role("radio", checked=True)).to_have_count(0)
    expect(page.locator("#rate-saved")).to_have_text("")
    assert desk.grades(other) == {}
    assert desk.grades() == {}

    third = desk.add_rater()
    token = desk.site.services.sign_ins.sign_in(third.name, PASSWORD, "127.0.0.1")
    desk.context.add_cookies([{"name": COOKIE, "value": token, "url": desk.site.address}])
    press(page, "4", "Enter")
    expect(page.locator("#page-user")).to_have_text(third.name)
    expect(page.locator("#rate-right")).to_have_text("late train 1")
    assert desk.grades(third) == {}


# A network that is lost


def test_answers_wait_for_the_network_also_across_a_reload_and_a_failing_server_is_asked_again(open_desk):
    desk = open_desk()
    page = desk.open()
    desk.context.route("**/annotate/api/**", lambda route: route.abort())
    press(page, "3", "Enter", "1", "Enter")
    expect(page.locator("#rate-saved")).to_have_text(
        "Not saved: trying again. 2 answers kept in this browser."
    )
    page.reload()
    expect(page.locator("#rate-saved")).to_contain_text("Not saved: trying again. 2 answers")
    assert desk.grades() == {}
    desk.context.unroute_all()
    page.evaluate("dispatchEvent(new Event('online'))")
    expect(page.locator("#rate-saved")).to_have_text(SAVED)
    expect(page.locator("#rate-right")).to_have_text("late train 3")
    assert desk.grades() == {"late train 1": 3, "late train 2": 1}

    answers = iter([503, 500])

    def fail_twice(route):
        status = next(answers, None)
        if status is None:
            route.continue_()
        else:
            route.fulfill(status=status, body="<h1>no</h1>")

    page.route("**/rating", fail_twice)
    expect(page.locator("#rate-scale [role=radio] >> nth=0")).to_be_enabled()
    press(page, "2", "Enter")
    expect(page.locator("#rate-saved")).to_contain_text("Not saved")
    expect(page.locator("#rate-saved")).to_have_text(SAVED)
    assert desk.grades()["late train 3"] == 2


LOOKS_OFTEN = "const set = setInterval; window.setInterval = (look, wait) => set(look, Math.min(wait, 300));"
SILENT_FOR_LONG = """() => {
  for (const key of Object.keys(localStorage).filter((key) => key.includes(":outbox:"))) {
    localStorage.setItem(key, JSON.stringify({ ...JSON.parse(localStorage.getItem(key)), seen: 1 }));
  }
}"""


@pytest.mark.slow
def test_answers_of_a_closed_tab_are_sent_by_the_next_one(open_desk):
    desk = open_desk()
    page = desk.open()
    desk.context.route("**/annotate/api/**", lambda route: route.abort())
    press(page, "3", "Enter")
    expect(page.locator("#rate-saved")).to_contain_text("Not saved")
    with page.expect_event("close"):  # a close with this option returns before the page has gone
        page.close(run_before_unload=True)
    desk.context.unroute("**/annotate/api/**")
    another = desk.another_tab()
    expect(another.locator("#rate-saved")).to_have_text(SAVED)
    assert desk.grades() == {"late train 1": 3}

    # A browser that dies leaves its answers to nobody: they are taken once it was silent for three minutes.
    desk.context.route("**/annotate/api/**/rating", lambda route: route.abort())
    press(another, "2", "Enter")
    expect(another.locator("#rate-saved")).to_contain_text("Not saved")
    third = desk.another_tab(LOOKS_OFTEN)
    expect(third.locator("#rate-scale")).to_be_visible()
    another.close()
    desk.context.unroute("**/annotate/api/**/rating")
    third.evaluate(SILENT_FOR_LONG)
    expect(third.locator("#rate-saved")).to_have_text(SAVED)
    assert desk.grades() == {"late train 1": 3, "late train 2": 2}


# Tabs, other raters, and Gradio


@pytest.mark.slow
def test_two_tabs_of_one_rater_show_the_same_pair_and_grade_each_once(open_desk):
    desk = open_desk(5)
    first, second = desk.open(), desk.another_tab()
    notices, first_point = second.locator("#rate-notices .note"), "#rate-scale [role=radio] >> nth=0"
    for number in (2, 3, 4):
        press(first, "1", "Enter")
        expect(second.locator("#rate-right")).to_have_text(f"late train {number}")
        expect(notices).to_have_count(1)  # told once, however many pairs it were
    expect(notices).to_contain_text("The pair that was shown here was answered in another tab.")
    expect(second.locator(first_point)).to_be_enabled()
    press(second, "2", "Enter")
    expect(second.locator("#rate-notices")).to_be_empty()
    expect(first.locator("#rate-right")).to_have_text("late train 5")
    expect(first.locator(first_point)).to_be_enabled()
    press(first, "3", "Enter")
    for tab in (first, second):
        expect(tab.locator("#rate-message")).to_contain_text(
            "You have graded 5 pairs, and none is left for you"
        )
    assert desk.grades() == {f"late train {at}": grade for at, grade in enumerate((1, 1, 1, 2, 3), 1)}


@pytest.mark.parametrize("is_asleep", [False, True])
@pytest.mark.slow
def test_a_grade_that_a_tab_could_not_send_gives_way_to_a_newer_one(open_desk, is_asleep):
    desk = open_desk()
    first = desk.open()
    if is_asleep:
        first.evaluate(ASLEEP)
    first.route("**/annotate/api/**", lambda route: route.abort())
    press(first, "1", "Enter")
    expect(first.locator("#rate-saved")).to_contain_text("Not saved")
    first.get_by_text("My last 20 answers").click()
    expect(first.get_by_role("button", name="1 The 1th train was late. / late train 1")).to_be_visible()
    second = desk.another_tab()
    if not is_asleep:
        press(second, "4", "Enter")
    expect(second.locator("#rate-saved")).to_have_text(SAVED)
    if is_asleep:
        ratings = desk.site.services.ratings
        [pair] = ratings.recent(desk.project.id, desk.rater.id)
        assert pair.grade == 1
        ratings.rate(pair.id, desk.rater.id, Decimal(4))
    first.unroute_all()
    first.evaluate("dispatchEvent(new Event('online'))")
    expect(first.locator("#rate-saved")).not_to_contain_text("Not saved")
    expect(first.locator("#rate-right")).to_have_text("late train 2")
    expect(first.get_by_role("button", name="4 The 1th train was late. / late train 1")).to_be_visible()
    press(first, "Backspace")
    expect(first.locator("#rate-right")).to_have_text("late train 1")
    expect(first.locator("#rate-value b")).to_have_text("4")
    first.locator("#rate-submit").click()
    expect(first.locator("#rate-right")).to_have_text("late train 2")
    expect(first.locator("#rate-saved")).to_have_text(SAVED)
    assert desk.grades() == {"late train 1": 4}


@pytest.mark.slow
def test_an_answer_that_is_looked_at_while_another_tab_gives_a_newer_one_goes_from_the_page(open_desk):
    desk = open_desk()
    first = desk.open()
    first.route("**/annotate/api/**", lambda route: route.abort())
    press(first, "1", "Enter", "Backspace")
    expect(first.locator("#rate-right")).to_have_text("late train 1")
    second = desk.another_tab()
    press(second, "4", "Enter")
    expect(second.locator("#rate-saved")).to_have_text(SAVED)
    first.unroute_all()
    first.evaluate("dispatchEvent(new Event('online'))")
    expect(first.locator("#rate-notices")).to_contain_text("was changed in another tab")
    expect(first.locator("#rate-right")).to_have_text("late train 2")
    expect(first.locator("#rate-scale [role=radio] >> nth=0")).to_be_enabled()
    press(first, "2", "Enter")
    expect(first.locator("#rate-count")).to_have_text("2 graded, up to 3 left")
    expect(first.locator("#rate-saved")).to_have_text(SAVED)
    assert desk.grades() == {"late train 1": 4, "late train 2": 2}


@pytest.mark.slow
def test_training_goes_on_in_a_tab_whose_answer_another_one_sent(open_desk):
    desk = open_desk()
    known = [
        KnownPair(NewPair("t1", "sentence2phrase", "The cat sleeps.", "a sleeping cat"), Decimal(4)),
        KnownPair(NewPair("t2", "sentence2phrase", "It rains.", "a red car"), Decimal(0)),
    ]
    desk.site.services.known_pairs.import_training(desk.project.id, known)
    first = desk.open()
    expect(first.locator("#rate-right")).to_have_text("a sleeping cat")
    first.evaluate(ASLEEP)
    first.route("**/annotate/api/**", lambda route: route.abort())
    press(first, "1", "Enter")
    expect(first.locator("#rate-saved")).to_contain_text("Not saved")
    second = desk.another_tab()
    expect(second.locator("#rate-notices")).to_contain_text("You gave 1; 4 was expected")
    expect(second.locator("#rate-right")).to_have_text("a red car")
    first.unroute_all()
    first.evaluate("dispatchEvent(new Event('online'))")
    expect(first.locator("#rate-right")).to_have_text("a red car")
    expect(first.locator("#rate-scale [role=radio] >> nth=0")).to_be_enabled()
    press(first, "0", "Enter")
    expect(first.locator("#rate-feedback")).to_contain_text("You gave 0, exactly as expected.")


@pytest.mark.slow
def test_keys_for_a_pair_that_another_tab_took_away_grade_no_other_and_the_count_follows(open_desk):
    desk = open_desk(6)
    first = desk.open()
    first.evaluate(HOLD, 4000)  # so that the keys below are in time on a slow machine
    press(first, "4")
    second = desk.another_tab()
    second.route("**/rating", lambda route: (time.sleep(0.5), route.continue_()))  # asked before it is saved
    press(second, "1", "Enter")
    expect(first.locator("#rate-right")).to_have_text("late train 2")
    press(first, "4", "Enter")
    expect(first.locator("#rate-count")).to_have_text("1 graded, up to 5 left")
    expect(first.locator("#rate-scale [role=radio] >> nth=0")).to_be_enabled()
    expect(first.locator("#rate-value")).to_contain_text("No grade yet")
    assert desk.grades() == {"late train 1": 1}


SEEN_AGAIN = "document.dispatchEvent(new Event('visibilitychange'))"


@pytest.mark.slow
def test_keys_for_a_pair_that_went_to_others_or_that_training_comes_before_grade_no_other(open_desk):
    desk = open_desk(8)
    other = desk.add_rater()
    page = desk.open()
    page.evaluate(HOLD, 4000)
    first_point, assignment = page.locator("#rate-scale [role=radio] >> nth=0"), desk.site.services.assignment
    assignment.give_back(desk.project.id, desk.rater.id)  # as when the lease has run out
    assignment.queue(desk.project.id, other.id)
    page.evaluate(SEEN_AGAIN)
    expect(page.locator("#rate-right")).to_have_text("late train 3")
    press(page, "2", "Enter")
    expect(page.locator("#rate-value")).to_contain_text("Another pair: read it first")
    expect(page.locator("#rate-notices")).to_contain_text("no longer yours to grade")
    expect(first_point).to_be_enabled()
    page.evaluate(HOLD, 100)
    press(page, "1", "Enter")
    expect(page.locator("#rate-notices")).to_be_empty()
    expect(page.locator("#rate-saved")).to_have_text(SAVED)
    assert desk.grades() == {"late train 3": 1}

    expect(page.locator("#rate-right")).to_have_text("late train 4")
    expect(first_point).to_be_enabled()
    page.evaluate(HOLD, 4000)
    press(page, "2")
    known = KnownPair(NewPair("t1", "sentence2phrase", "The cat sleeps.", "a sleeping cat"), Decimal(4))
    desk.site.services.known_pairs.import_training(desk.project.id, [known])
    page.evaluate(SEEN_AGAIN)
    expect(page.locator("#rate-message")).to_contain_text("read the guidelines below first")
    press(page, "2", "Enter")
    begin_training(page)
    expect(page.locator("#rate-right")).to_have_text("a sleeping cat")
    press(page, "2", "Enter")
    expect(first_point).to_be_enabled()
    expect(page.locator("#rate-feedback")).to_be_hidden()
    press(page, "4", "Enter")
    expect(page.locator("#rate-feedback")).to_contain_text("You gave 4, exactly as expected.")
    assert desk.grades() == {"late train 3": 1}


@pytest.mark.slow
def test_a_pair_that_went_to_others_meanwhile_is_told_and_the_comment_offered(open_desk):
    desk = open_desk(4)
    other = desk.add_rater()
    page = desk.open()
    press(page, "4", "c")
    page.keyboard.type("my thoughts")
    assignment = desk.site.services.assignment
    assignment.give_back(desk.project.id, desk.rater.id)
    for pair in assignment.queue(desk.project.id, other.id).pairs:
        desk.site.services.ratings.rate(pair.id, other.id, Decimal(1), 1)
    page.locator("#rate-submit").click()
    notice = page.get_by_role("alert").filter(has_text="Your grade 4 for “late train 1” was refused.")
    expect(notice).to_contain_text("my thoughts")
    expect(notice.get_by_role("button", name="Copy the comment")).to_be_visible()
    notice.get_by_role("button", name="Close").click()
    expect(notice).to_have_count(0)
    assert desk.grades() == {}


def test_who_has_to_wait_is_told_and_gets_a_pair_as_soon_as_one_comes_back(open_desk):
    desk = open_desk(2)
    other = desk.add_rater()
    desk.site.services.assignment.queue(desk.project.id, other.id)
    desk.context = desk.site.context(desk.browser, desk.rater.name)
    page = desk.context.new_page()
    page.clock.install()
    page.goto(desk.path)
    expect(page.locator("#rate-message")).to_contain_text("Nothing to grade at the moment")
    desk.site.services.assignment.give_back(desk.project.id, other.id)
    page.clock.fast_forward(20_000)
    expect(page.locator("#rate-right")).to_have_text("late train 1")


@pytest.mark.slow
def test_time_counts_while_the_page_is_looked_at_and_whose_share_is_graded_is_thanked(open_desk):
    desk = open_desk(5, most_per_rater=2)
    other = desk.add_rater()
    desk.site.services.assignment.queue(desk.project.id, other.id)  # holds the first two
    desk.context = desk.site.context(desk.browser, desk.rater.name)
    page = desk.context.new_page()
    page.clock.install()
    page.goto(desk.path)
    expect(page.locator("#rate-right")).to_have_text("late train 3")
    expect(page.locator("#rate-count")).to_have_text("0 graded, up to 2 left")
    hide = """hidden => {
      Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }"""
    page.clock.fast_forward(3000)
    page.evaluate(hide, True)
    page.clock.fast_forward(60_000)
    page.evaluate(hide, False)
    page.clock.fast_forward(2000)
    with page.expect_request("**/rating") as request:
        press(page, "1", "Enter")
    assert 5 <= request.value.post_data_json["seconds"] < 60

    press(page, "2", "Enter")
    message = page.locator("#rate-message")
    expect(message).to_contain_text("Thank you: you have graded your share, 2 pairs.")
    expect(page.locator("#rate-count")).to_have_text("2 graded")
    expect(message.get_by_role("link", name="My projects")).to_be_visible()
    expect(page.locator("#rate-history li")).to_have_count(2)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.clock.fast_forward(120_000)
    expect(page.locator("#rate-form")).to_have_attribute("data-phase", "share")
    assert [url for url in asked if url.endswith("/queue")] == []
    settings = desk.site.services.projects.get(desk.project.id).settings
    desk.site.services.projects.update(desk.project.id, replace(settings, most_per_rater=3))
    page.reload()
    expect(page.locator("#rate-right")).to_have_text("late train 5")
    expect(page.locator("#rate-count")).to_have_text("2 graded, up to 1 left")


@pytest.mark.slow
def test_who_stops_for_today_frees_the_open_pairs_and_finds_the_draft_when_going_on(open_desk):
    desk = open_desk(2, guidelines="Be kind.\n\n" * 40)
    other = desk.add_rater()
    assignment = desk.site.services.assignment
    page = desk.open(viewport=PHONE)
    message, stop = page.locator("#rate-message"), page.get_by_role("button", name="Stop for today")
    press(page, "3")
    stop.click()  # far down on a phone
    expect(message).to_contain_text("You have stopped.")
    expect(message).to_be_in_viewport(ratio=1)
    press(page, "4", "Backspace")
    assert len(assignment.queue(desk.project.id, other.id).pairs) == 2
    assignment.give_back(desk.project.id, other.id)
    page.get_by_role("button", name="Go on grading").click()
    expect(page.locator("#rate-pair")).to_be_visible()
    expect(page.locator("#rate-right")).to_have_text("late train 1")
    expect(page.locator("#rate-value b")).to_have_text("3")
    press(page, "Enter")
    expect(page.locator("#rate-right")).to_have_text("late train 2")
    stop.click()
    expect(message).to_contain_text("You have stopped.")
    assert desk.grades() == {"late train 1": 3}
    assert len(assignment.queue(desk.project.id, other.id).pairs) == 1
    assignment.give_back(desk.project.id, other.id)
    press(page, "Enter")
    expect(page.locator("#rate-pair")).to_be_focused()

    answer = {"error": "You are no rater here."}
    page.route("**/stop", lambda route: route.fulfill(status=403, json=answer))
    stop.click()
    expect(page.locator("#rate-notices")).to_contain_text("You are no rater here.")
    expect(message.locator("span")).to_have_text("You have stopped. ")
    page.unroute("**/stop")
    page.get_by_role("button", name="Go on grading").click()
    expect(page.locator("#rate-pair")).to_be_visible()
    desk.end_session()
    stop.click()
    page.wait_for_url("**/sign-in?next=*")


# Changing one's mind


@pytest.mark.slow
def test_an_answer_can_be_changed_by_a_key_for_five_seconds_by_a_line_and_later_by_the_list(open_desk):
    desk = open_desk()
    page = desk.open()
    right, saved = page.locator("#rate-right"), page.locator("#rate-saved")
    press(page, "1", "Enter", "2", "Enter", "3")
    press(page, "Backspace", "Backspace")
    expect(right).to_have_text("late train 1")
    expect(page.locator("#rate-value b")).to_have_text("1")
    press(page, "Backspace", "0", "Escape")  # nothing is discarded
    expect(right).to_have_text("late train 3")
    expect(page.locator("#rate-value b")).to_have_text("3")
    expect(saved).to_have_text(SAVED)
    assert desk.grades() == {"late train 1": 1, "late train 2": 2}

    press(page, "1", "Enter")
    expect(page.locator("#rate-undo")).to_contain_text("Last pair: 1.")
    page.get_by_role("button", name="Change", exact=True).click()
    expect(right).to_have_text("late train 3")
    press(page, "4", "Enter")
    expect(right).to_have_text("late train 4")
    expect(page.locator("#rate-undo")).to_be_hidden()
    page.get_by_text("My last 20 answers").click()
    page.get_by_role("button", name="4 The 3th train was late. / late train 3").click()
    press(page, "3", "Enter")
    expect(page.get_by_role("button", name="3 The 3th train was late. / late train 3")).to_be_visible()
    expect(saved).to_have_text(SAVED)
    assert desk.grades() == {"late train 1": 1, "late train 2": 2, "late train 3": 3}
    expect(page.locator("#rate-count")).to_have_text("3 graded, up to 2 left")


@pytest.mark.slow
def test_who_is_done_sees_the_answers_without_unfolding_them_and_changes_them_there(open_desk):
    desk = open_desk(2, guidelines="# Read\n\nTwice.")
    desk.context = desk.site.context(desk.browser, desk.rater.name)
    page = desk.another_tab(begins=False)
    answers, message, note = (page.locator(f"#rate-{part}") for part in ("history", "message", "earlier"))
    expect(message.locator("span").first).to_have_text("Please read the guidelines below first.")
    expect(page.locator("#rate-guidelines")).to_contain_text("Twice.")
    press(page, "1", "Enter")  # for no pair that is shown
    begin = page.get_by_role("button", name="I have read the guidelines: begin")
    begin.click()
    expect(page.locator("#rate-pair")).to_be_focused()
    page.reload()
    expect(page.locator("#rate-right")).to_have_text("late train 1")
    expect(begin).to_be_hidden()
    expect(answers.locator("li")).to_have_count(0)
    press(page, "1", "Enter", "3", "Enter")
    expect(message).to_contain_text("You have graded 2 pairs,")
    expect(message).to_be_focused()
    expect(message.get_by_role("link", name="My projects")).to_be_visible()
    expect(answers.get_by_role("button")).to_have_text(
        ["3 The 2th train was late. / late train 2", "1 The 1th train was late. / late train 1"]
    )
    expect(answers.get_by_role("button").first).to_be_in_viewport()
    assert answers.bounding_box()["y"] < page.locator("#rate-guidelines").bounding_box()["y"]
    page.set_viewport_size({"width": 390, "height": 800})
    sides = answers.locator("li").first.locator("span")
    before = sides.all_inner_texts()
    sides.evaluate_all("all => all.forEach(one => { one.textContent = one.textContent.repeat(20) })")
    ends = sides.evaluate_all("all => all.map(one => one.getBoundingClientRect().right)")
    assert max(ends) < 390  # however long, each side is cut within the screen
    sides.evaluate_all("(all, texts) => all.forEach((one, at) => { one.textContent = texts[at] })", before)
    page.set_viewport_size({"width": 1280, "height": 900})

    expect(page.locator("#rate-saved")).to_have_text(SAVED)
    answer = answers.get_by_role("button", name="The 1th train was late.")
    for keys in (["Escape"], ["2", "Enter"]):
        answer.focus()
        press(page, "Enter")
        expect(page.locator("#rate-pair")).to_be_focused()
        press(page, *keys)
        expect(answer).to_be_focused()  # it stays there when one is closed or changed
    expect(answers.get_by_role("button")).to_have_text(
        ["2 The 1th train was late. / late train 1", "3 The 2th train was late. / late train 2"]
    )
    page.get_by_text("My last 20 answers").click()  # folded
    press(page, "Backspace")
    expect(note.locator("span").first).to_have_text(
        "This is an earlier answer: choose another grade and save it, or close it."
    )
    note.get_by_role("button", name="Close").click()  # to no current pair: there is none
    expect(note).to_be_hidden()
    expect(page.locator("#rate-saved")).to_have_text(SAVED)
    assert desk.grades() == {"late train 1": 2, "late train 2": 3}
    page.reload()
    expect(answers.get_by_role("button")).to_have_text(
        ["2 The 1th train was late. / late train 1", "3 The 2th train was late. / late train 2"]
    )


@pytest.mark.slow
def test_the_list_of_answers_comes_later_when_it_could_not_be_loaded_at_first(open_desk):
    desk = open_desk()
    desk.context = desk.site.context(desk.browser, desk.rater.name)
    desk.context.route("**/history", lambda route: route.abort())
    page = desk.another_tab()
    page.get_by_text("My last 20 answers").click()
    answers = page.locator("#rate-history ol")
    expect(answers).to_have_text("Your answers are on their way.")
    desk.context.unroute("**/history")
    page.evaluate(SEEN_AGAIN)
    expect(answers).to_have_text("No answers yet.")


def test_a_project_may_have_whole_steps_and_grades_that_are_final(open_desk):
    desk = open_desk(step=Decimal(1), may_revise=False)
    page = desk.open()
    press(page, "3", "]", "]")
    expect(page.locator("#rate-value b")).to_have_text("4")
    expect(page.get_by_role("button", name="1 up")).to_be_disabled()
    press(page, "1", "Enter")
    expect(page.locator("#rate-undo")).to_be_hidden()
    press(page, "Backspace", "4", "Enter")
    expect(page.locator("#rate-earlier")).to_contain_text("grades cannot be changed")
    expect(page.locator("#rate-submit")).to_be_disabled()
    expect(page.locator("#rate-value b")).to_have_text("1")
    press(page, "Escape", "2", "Enter")
    expect(page.locator("#rate-count")).to_have_text("2 graded, up to 3 left")
    expect(page.locator("#rate-saved")).to_have_text(SAVED)
    assert desk.grades() == {"late train 1": 1, "late train 2": 2}


@pytest.mark.slow
def test_a_paused_rater_is_told_on_the_card_and_finds_the_answers_to_look_at(open_desk):
    desk = open_desk(guidelines="Be kind.\n\n" * 40)
    page = desk.open()
    press(page, "1", "Enter")
    expect(page.locator("#rate-saved")).to_have_text(SAVED)
    desk.site.services.quality.pause(desk.project.id, desk.rater.name)
    page.goto(f"{desk.site.address}/annotate/")
    expect(page.locator("#home-projects")).to_contain_text("Paused: your administrator can tell you")
    page.get_by_role("link", name="See my answers").click()
    answer = page.get_by_role("button", name="1 The 1th train was late. / late train 1")
    expect(answer).to_be_in_viewport()
    answer.click()
    expect(page.locator("#rate-earlier")).to_contain_text("This is an earlier answer. Your work in")
    expect(page.locator("#rate-submit")).to_be_disabled()
    press(page, "4", "Enter")
    expect(page.locator("#rate-value b")).to_have_text("1")
    page.get_by_role("button", name="Close").click()
    expect(page.locator("#rate-message")).to_contain_text("is paused")
    assert desk.grades() == {"late train 1": 1}


@pytest.mark.slow
def test_who_is_removed_is_shown_no_pair_after_the_first_refusal(open_desk):
    desk = open_desk()
    page = desk.open()
    press(page, "1", "Enter")
    expect(page.locator("#rate-saved")).to_have_text(SAVED)
    desk.site.services.projects.remove_member(desk.project.id, desk.rater.name)
    press(page, "3", "Enter")
    expect(page.locator("#rate-notices")).to_contain_text("Your grade 3 for “late train 2” was refused.")
    message = page.locator("#rate-message")
    expect(message).to_contain_text("You are no longer a rater in the project")
    expect(message).to_contain_text("your grade is kept")
    expect(page.locator("#rate-work")).to_be_hidden()
    expect(page.get_by_role("button", name="1 The 1th train was late. / late train 1")).to_be_in_viewport()
    message.get_by_role("link", name="My projects").click()
    expect(page.locator("#home-projects")).to_contain_text("You are in no project now; what you graded")


@pytest.mark.parametrize("has_seen", [False, True])
@pytest.mark.slow
def test_a_saved_answer_stays_in_the_list_when_its_change_is_refused(open_desk, has_seen):
    desk = open_desk(raters_per_pair=2)
    page = desk.open()
    with page.expect_response("**/history"):  # while there is nothing in it
        page.get_by_text("My last 20 answers").click()
    press(page, "2")
    page.locator("#rate-submit").click()
    expect(page.locator("#rate-saved")).to_have_text(SAVED)
    projects = desk.site.services.projects
    if has_seen:  # as the rater adjudicates too, and somebody else graded the pair since
        projects.add_member(desk.project.id, desk.rater.name, Role.ADJUDICATOR)
        grade = NewRating("p1", desk.add_rater().name, Decimal(4))
        desk.site.services.importing.import_pairs(desk.project.id, [grade])
    else:
        settings = replace(projects.get(desk.project.id).settings, may_revise=False)
        projects.update(desk.project.id, settings)
    answer = page.get_by_role("button", name="The 1th train was late. / late train 1")
    answer.click()
    press(page, "3")
    page.locator("#rate-submit").click()
    expect(page.locator("#rate-notices")).to_contain_text("Your grade 3 for “late train 1” was refused.")
    if has_seen:
        expect(page.locator("#rate-notices")).to_contain_text("You graded this pair 2, and could look at")
    expect(answer).to_have_text("2 The 1th train was late. / late train 1")


def test_a_pair_is_skipped_with_a_reason_by_keys_alone_and_can_still_be_graded(open_desk):
    desk = open_desk(3, most_per_rater=1)
    page = desk.open()
    press(page, "s", "4", "Enter")
    expect(page.get_by_role("dialog", name="Skip this pair")).to_be_visible()
    expect(page.locator("#rate-skip-confirm")).to_be_disabled()
    press(page, "ArrowDown", "Tab")
    page.keyboard.type("cut off")
    press(page, "Escape", "s")
    expect(page.locator("#rate-skip-note")).to_have_value("cut off")
    press(page, "Tab", "Enter")
    expect(page.locator("#rate-right")).to_have_text("late train 2")
    expect(page.locator("#rate-undo")).to_contain_text("Skipped.")
    expect(page.locator("#rate-saved")).to_have_text(SAVED)
    press(page, "Backspace")
    expect(page.locator("#rate-earlier")).to_contain_text("You skipped this pair")
    press(page, "2", "Enter")
    expect(page.locator("#rate-message")).to_contain_text("you have graded your share, 1 pair.")
    expect(page.locator("#rate-saved")).to_have_text(SAVED)
    expect(page.locator("#rate-count")).to_have_text(re.compile("^1 graded"))
    assert desk.grades() == {"late train 1": 2}


# Typing


def test_a_comment_that_is_saved_before_the_grade_is_told_to_be_and_keys_rest_while_it_is_written(open_desk):
    desk = open_desk()
    page = desk.open()
    text, saved = page.locator("#rate-comment-text"), page.locator("#rate-comment-saved")
    press(page, "c")
    page.keyboard.type("Is 3 meant?")
    expect(saved).to_have_text("")
    page.get_by_role("button", name="Save comment").click()
    expect(saved).to_have_text("Saved")
    page.get_by_label("Comment on this pair").press("End")
    page.keyboard.type("!")
    expect(saved).to_have_text("")
    page.get_by_role("button", name="Comment", exact=True).click()
    expect(text).to_be_hidden()
    page.get_by_role("button", name="Comment: not saved yet", exact=True).click()
    expect(text).to_be_focused()
    expect(page.get_by_role("button", name="Comment", exact=True)).to_be_visible()
    press(page, "Escape", "2", "Enter")
    expect(page.locator("#rate-saved")).to_have_text(SAVED)
    assert desk.comments() == {"late train 1": "Is 3 meant?!"}

    press(page, "1", "c")
    page.keyboard.type("4 s c ? [ Enter")
    press(page, "Backspace", "Enter")
    expect(page.locator("#rate-value b")).to_have_text("1")
    expect(text).to_have_value("4 s c ? [ Ente\n")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_label("Problem").check()
    press(page, "Escape", "2", "Enter")
    expect(page.locator("#rate-right")).to_have_text("late train 3")
    expect(text).to_be_hidden()
    expect(page.locator("#rate-saved")).to_have_text(SAVED)
    assert desk.comments() == {"late train 1": "Is 3 meant?!", "late train 2": "4 s c ? [ Ente"}
    assert desk.grades() == {"late train 1": 2, "late train 2": 2}


def refuse_comments(page: Page) -> None:
    answer = {"error": "This pair takes no comments."}
    page.route("**/comment", lambda route: route.fulfill(status=409, json=answer))


@pytest.mark.slow
def test_a_comment_that_was_refused_stays_typed_and_can_be_saved_again(open_desk):
    desk = open_desk()
    page = desk.open()
    text, saved = page.locator("#rate-comment-text"), page.locator("#rate-comment-saved")
    save = page.get_by_role("button", name="Save comment")
    press(page, "c")
    text.fill("Is 2 meant?")
    save.click()
    expect(saved).to_have_text("Saved")
    refuse_comments(page)
    text.fill("Is 3 meant?")
    page.get_by_label("Problem").check()
    save.click()
    expect(page.locator("#rate-notices")).to_contain_text("Your comment for “late train 1” was refused.")
    expect(saved).to_have_text("")
    expect(save).to_be_enabled()
    expect(text).to_have_value("Is 3 meant?")
    expect(page.get_by_label("Problem")).to_be_checked()
    page.reload()
    expect(text).to_have_value("Is 3 meant?")
    expect(saved).to_have_text("")
    page.unroute_all()
    save.click()
    expect(saved).to_have_text("Saved")
    press(page, "Escape", "2", "Enter")
    expect(page.locator("#rate-saved")).to_have_text(SAVED)
    assert desk.comments() == {"late train 1": "Is 3 meant?"}

    refuse_comments(page)
    press(page, "2", "c")
    text.fill("Is 4 meant?")
    page.locator("#rate-submit").click()
    expect(page.locator("#rate-notices")).to_contain_text("Your comment for “late train 2” was refused.")
    press(page, "Backspace")
    expect(page.locator("#rate-right")).to_have_text("late train 2")
    expect(text).to_have_value("")  # an earlier answer shows none that was refused
    expect(saved).to_have_text("")
    assert desk.grades() == {"late train 1": 2, "late train 2": 2}


@pytest.mark.slow
def test_keys_can_be_switched_off_for_good(open_desk):
    desk = open_desk()
    page = desk.open()
    page.keyboard.press("?")
    page.get_by_label("Use these keys").uncheck()
    page.get_by_role("button", name="Close").click()
    press(page, "3")
    expect(page.get_by_role("radio", checked=True)).to_have_count(0)
    page.reload()
    expect(page.locator("#rate-right")).to_have_text("late train 1")
    press(page, "3")
    expect(page.get_by_role("radio", checked=True)).to_have_count(0)
    page.get_by_role("radio", name="Somewhat similar").click()
    page.locator("#rate-submit").click()
    expect(page.locator("#rate-saved")).to_have_text(SAVED)
    assert desk.grades() == {"late train 1": 3}


def test_from_sign_in_to_a_graded_pair_by_the_keyboard_without_the_rating_keys(open_desk):
    desk = open_desk()
    desk.context = desk.site.context(desk.browser)
    page = desk.context.new_page()
    page.goto(desk.path)
    page.get_by_label("Name").focus()
    page.keyboard.type(desk.rater.name)
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.locator("#rate-right")).to_have_text("late train 1")
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.getAttribute('role')") == "radio":
            break
    press(page, " ", "ArrowDown", "ArrowDown", "ArrowLeft")
    expect(page.locator("#rate-value b")).to_have_text("1.75")
    for _ in range(5):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "rate-submit":
            break
    assert page.locator("#rate-submit").evaluate("e => getComputedStyle(e).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    expect(page.locator("#rate-saved")).to_have_text(SAVED)
    assert page.evaluate("document.activeElement.id") == "rate-pair"
    assert desk.grades() == {"late train 1": Decimal("1.75")}


# Texts, widths, and everybody

AWKWARD = {
    "markup": "<img src=x onerror=alert(1)><b>bold</b> &amp; ${value} {{value}} <script>alert(2)</script>",
    "right to left": "القطار المتأخر وصل אחרי חצות",
    "right to left, first a name": "BERT نموذج لغوي يستخرج العبارات المفتاحية.",
    "right to left, half a name": "מודל BERT?",
    "right to left, before a long name": "מודל Transformer",
    "right to left, before two names": "خوارزمية Expectation Maximization",
    "a right-to-left word": "العبارات means keyphrases in Arabic.",
    "emoji and lines": "👩‍👩‍👧‍👦 one\n\n  two\ttabs   spaces",
    "Chinese": "语言水平的比较" * 40,
    "one long word": "x" * 5000,
    "100 kB": "A sentence of a long paragraph. " * 3200,
}


@pytest.mark.slow
def test_each_text_is_shown_exactly_and_scrolls_by_itself(open_desk):
    texts = {kind: text.strip() for kind, text in AWKWARD.items()}
    desk = open_desk([NewPair(kind, "word2sense", text, text) for kind, text in texts.items()])
    page = desk.open()
    expect(page.get_by_role("heading", level=2)).to_have_text(["Word", "Sense", "Guidelines and examples"])
    for number, (kind, text) in enumerate(texts.items(), start=1):
        for side in ("left", "right"):
            box = page.locator(f"#rate-{side}")
            assert whole_text(page, side, text) == text
            assert box.locator("*").count() == 0
            assert box.evaluate("e => e.scrollWidth <= e.clientWidth && e.scrollTop === 0")
            assert box.evaluate("e => e.matches(':dir(rtl)')") is kind.startswith("right to left")
            box.evaluate("e => { e.scrollTop = 50; }")
        assert page.evaluate("document.documentElement.scrollWidth") <= 1280
        expect(page.locator("#rate-submit")).to_be_in_viewport()
        press(page, "1", "Enter")
        expect(page.locator("#rate-count")).to_have_text(re.compile(f"^{number} graded"))
    expect(page.locator("#rate-message")).to_contain_text(f"You have graded {len(texts)} pairs,")
    assert desk.watch.complaints == []


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_axe_finds_nothing_serious(open_desk, scheme):
    desk = open_desk(guidelines="# Read\n\n- [a link](https://example.org)\n\n| a | b |\n|--|--|\n| 1 | 2 |")
    page = desk.open(color_scheme=scheme)
    press(page, "1", "Enter", "3", "[", "c", "Escape")
    page.get_by_text("My last 20 answers").click()
    assert page.evaluate("document.body.classList.contains('dark')") is (scheme == "dark")
    assert serious_violations(page) == []
    for key, name in (("?", "Keys"), ("s", "Skip this pair")):
        press(page, key)
        expect(page.get_by_role("dialog", name=name)).to_be_visible()
        assert serious_violations(page, "dialog[open]") == []
        press(page, "Escape")
    press(page, "Backspace")
    assert serious_violations(page, "#rate-work") == []


def test_a_phone_has_the_scale_in_reach_under_long_texts_and_large_targets(open_desk):
    long = "A sentence of a long paragraph. " * 300
    desk = open_desk([NewPair(f"p{at}", "paragraph2sentence", f"{at} {long}", long) for at in range(3)])
    page = desk.open(viewport=PHONE, has_touch=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_role("radio", name="Slightly related").tap()
    page.locator("#rate-submit").tap()
    expect(page.locator("#rate-left")).to_contain_text("1 A sentence")
    for part in ("Unrelated", "Very similar"):
        expect(page.get_by_role("radio", name=part)).to_be_in_viewport(ratio=1)
    expect(page.locator("#rate-submit")).to_be_in_viewport(ratio=1)
    sizes = page.evaluate("""() => [...document.querySelectorAll("#rate-form :is(button, summary)")]
      .filter(e => e.checkVisibility()).map(e => [e.textContent.trim(), e.getBoundingClientRect()])
      .filter(([, box]) => box.height < 44 || box.width < 44).map(([text]) => text)""")
    assert sizes == []
    page.set_viewport_size({"width": 320, "height": 844})
    actions = page.locator(".rate-actions button:visible")
    assert all(actions.evaluate_all("all => all.map(one => one.scrollWidth <= one.clientWidth)"))
    page.get_by_role("radio", name="Slightly related").tap()
    page.emulate_media(forced_colors="active")
    chosen = page.get_by_role("radio", checked=True)
    assert chosen.evaluate("e => getComputedStyle(e).forcedColorAdjust") == "none"


@pytest.mark.slow
def test_the_grades_of_each_pair_have_the_words_of_its_type_and_fit_a_phone(open_desk):
    longest = f"{'x' * LONGEST_POINT_NAME}: {'y' * LONGEST_DESCRIPTION}"
    own = f"0 <b>Wrong</b>: a\n1 {longest}\n2 Fair: b\n3 Good: c\n4 Right: d"
    arabic = "0 غير متعلق: لا علاقة\n1 ضعيف: أ\n2 مقبول: ب\n3 جيد: ج\n4 ممتاز: د"
    desk = open_desk(
        [
            NewPair("1", "sentence2phrase", "A train was late.", "late train"),
            NewPair("2", "phrase2word", "a boat with oars", "rowboat"),
            NewPair("3", "document2keyphrase", "On bicycles for hire.", "bicycle hire"),
        ],
        guidelines="Read both.",
        scale_words=f"[sentence2phrase]\n{own}\n[phrase2word]\n{arabic}",
    )
    page = desk.open(viewport=PHONE, has_touch=True)
    names, tables = page.locator("#rate-scale b"), page.locator("#rate-guidelines caption:visible")
    expect(names).to_have_text(["<b>Wrong</b>", "x" * LONGEST_POINT_NAME, "Fair", "Good", "Right"])
    expect(tables.first).to_have_text("The scale: sentence to phrase")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    fits = "all => all.every((e) => e.scrollWidth <= e.clientWidth && e.scrollHeight <= e.clientHeight)"
    assert page.locator("#rate-scale button").evaluate_all(fits)
    assert serious_violations(page) == []
    below = page.locator("#rate-names")
    expect(below).to_contain_text(
        f"1 {'x' * LONGEST_POINT_NAME} · 2 Fair"
    )  # they would be cut in the buttons
    expect(below).to_be_visible()
    assert names.evaluate_all("all => Math.max(...all.map((e) => e.clientWidth))") == 1
    expect(page.get_by_role("radio", name="x" * LONGEST_POINT_NAME)).to_be_enabled()
    press(page, "1", "Enter")
    expect(names).to_have_text(["غير متعلق", "ضعيف", "مقبول", "جيد", "ممتاز"])
    expect(below).to_be_hidden()
    assert names.evaluate_all("all => Math.min(...all.map((e) => e.clientWidth))") > 1
    assert page.locator("#rate-scale b").first.evaluate("e => getComputedStyle(e).direction") == "rtl"
    press(page, "2", "]")
    expect(page.locator("#rate-value span")).to_have_text("between 2 \u2068مقبول\u2069 and 3 \u2068جيد\u2069")
    press(page, "Enter")
    expect(names.last).to_have_text("Very similar")
    expect(tables.first).to_have_text("The scale: document to keyphrase")
    page.get_by_role("radio", name="Somewhat similar").tap()
    page.locator("#rate-submit").tap()
    expect(page.locator("#rate-form")).to_have_attribute("data-phase", "done")


WHOLE_WORDS = """all => all.every((place) => [...place.textContent.matchAll(/\\S+/g)].every((found) => {
  const word = document.createRange();
  word.setStart(place.firstChild, found.index);
  word.setEnd(place.firstChild, found.index + found[0].length);
  return word.getClientRects().length === 1;
}))"""


@pytest.mark.slow
@pytest.mark.parametrize("scale", [CLSS, Scale(Decimal(1), 0, 5)], ids=["CLSS", "STS"])
@pytest.mark.parametrize("language", ["en", "de", "fr", "es", "sr"])
def test_no_name_of_a_point_is_cut_or_broken_within_a_word_on_a_phone(open_desk, language, scale):
    desk = open_desk(1, language=language, scale=scale, step=scale.step)
    page = desk.open(viewport=PHONE)
    expect(page.locator("#rate-form")).to_have_attribute("data-names", re.compile("."))
    page.add_style_tag(content="* { hyphens: manual !important; }")  # few browsers here can hyphenate
    in_buttons = page.locator("#rate-form").get_attribute("data-names") == "within"
    expect(page.locator("#rate-names")).to_be_visible(visible=not in_buttons)
    assert page.locator("#rate-scale b" if in_buttons else "#rate-names").evaluate_all(WHOLE_WORDS)
    page.locator("#rate-guidelines").evaluate("(guidelines) => { guidelines.open = true; }")
    named = page.locator("#rate-guidelines td:nth-child(2):not(:last-child):visible")
    expect(named).to_have_count(len(scale.points))
    assert named.evaluate_all(WHOLE_WORDS)
    assert widest_overflow(page) <= 0


@pytest.mark.slow
def test_no_plain_word_of_the_scale_is_broken_on_a_phone_and_its_bar_uses_the_width(open_desk):
    desk = open_desk(20, guidelines="Read both.")
    page = desk.open(viewport=PHONE, has_touch=True, is_mobile=True)
    lines = """cells => cells.map(cell => {
      const word = document.createRange(), text = cell.firstChild;
      word.setStart(text, 0);
      word.setEnd(text, text.data.trim().split(" ")[0].length);
      return word.getClientRects().length;
    })"""
    names = page.locator("#rate-guidelines td:nth-child(2):not(:last-child):visible")
    expect(names).to_have_count(5)
    assert names.evaluate_all(lines) == [1] * 5
    expect(page.get_by_role("button", name="Keys")).to_have_count(0)  # there are none

    page.get_by_role("radio", name="Somewhat related").tap()
    page.locator("[data-rate=up]").tap()
    page.locator("#rate-submit").tap()
    undo = page.locator("#rate-undo")
    expect(undo).to_contain_text("Last pair: 2.25.")
    assert undo.locator("span").bounding_box()["height"] < 24
    assert undo.locator("button").evaluate("e => e.scrollWidth <= e.clientWidth")
    page.route("**/annotate/api/**", lambda route: route.abort())
    page.get_by_role("radio", name="Slightly related").tap()
    page.locator("#rate-submit").tap()
    saved = page.locator("#rate-saved")
    expect(saved).to_contain_text("Not saved")
    assert saved.bounding_box()["height"] < 48
    page.unroute("**/annotate/api/**")


BOARD = "The board met to decide whether the old railway line should be opened again for goods traffic. "
POSITIONS = """() => ({
  dock: document.querySelector("#rate-dock").getBoundingClientRect().height / innerHeight,
  text: document.querySelector("#rate-left").getBoundingClientRect().height,
  under: document.querySelector(".rate-actions").getBoundingClientRect().bottom
    - document.querySelector("#rate-dock").getBoundingClientRect().top,
  wide: document.documentElement.scrollWidth - innerWidth,
  small: [...document.querySelectorAll("#rate-dock button")].filter((e) => e.checkVisibility()
    && e.getBoundingClientRect().height < 44).length,
})"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "scale"),
    [
        ((390, 800), ""),
        ((844, 390), "0-10"),
        ((390, 664), "1-7"),
        ((390, 664), "0-10"),
        ((640, 400), ""),
        ((844, 390), ""),
        ((320, 568), "sts"),
    ],
)
def test_submit_is_in_sight_of_each_of_13_long_pairs_on_a_phone(open_desk, size, scale):
    desk = open_desk(
        [NewPair(f"p{at}", "paragraph2sentence", f"{at} {BOARD * (2 * at)}", BOARD) for at in range(1, 14)],
        **(dict(zip(("scale", "step"), parse_scale(scale), strict=True)) if scale else {}),
    )
    page = desk.open(viewport={"width": size[0], "height": size[1]}, has_touch=True)
    submit, scale_row = page.locator("#rate-submit"), page.locator("#rate-scale")
    for at in range(1, 14):
        expect(page.locator("#rate-left")).to_contain_text(f"{at} The board")
        expect(page.locator("#rate-form")).to_have_attribute("data-dock", "fixed")
        expect(scale_row).to_be_in_viewport(ratio=1)
        expect(submit).to_be_in_viewport(ratio=1)
        page.locator("#rate-scale [role=radio]").nth(2).tap()
        if at in (1, 13):
            found = page.evaluate(POSITIONS)
            assert found["dock"] < 0.4
            assert found["text"] > 80
            assert found["wide"] <= 0
            assert found["small"] == 0
            if size[1] > size[0]:
                assert found["under"] <= 0  # nor does the bar lie on the buttons above it
        submit.tap()
    expect(page.locator("#rate-form")).to_have_attribute("data-phase", "done")


def darkness(page: Page, box: Locator) -> tuple[int, int]:
    """How much darker than its middle a text is at its upper and lower edge, left of the letters."""
    from io import BytesIO

    from PIL import Image

    place = box.bounding_box()
    image = Image.open(BytesIO(page.screenshot())).convert("L")
    x, middle = int(place["x"] + 5), int(place["y"] + place["height"] / 2)
    top, bottom = int(place["y"] + 4), int(place["y"] + place["height"] - 4)
    light = image.getpixel((x, middle))
    return light - image.getpixel((x, top)), light - image.getpixel((x, bottom))


@pytest.mark.slow
def test_a_text_that_is_cut_off_has_a_shade_where_it_goes_on_and_none_at_its_end(open_desk):
    page = open_desk([NewPair("p", "paragraph2sentence", BOARD * 30, BOARD)]).open(
        viewport=PHONE, has_touch=True, color_scheme="light"
    )
    left = page.locator("#rate-left")
    expect(page.locator("#rate-form")).to_have_attribute("data-dock", "fixed")
    top, bottom = darkness(page, left)
    assert top < 5
    assert bottom > 15
    left.evaluate("e => { e.scrollTop = e.scrollHeight / 2 - e.clientHeight / 2; }")
    assert min(darkness(page, left)) > 15
    left.evaluate("e => { e.scrollTop = e.scrollHeight; }")
    top, bottom = darkness(page, left)
    assert top > 15
    assert bottom < 5
    assert max(darkness(page, page.locator("#rate-right"))) < 5  # all of it is there


FOCUS_ORDER = [
    "page-menu",
    "rate-left",
    "rate-right",
    "choose",
    "down",
    "up",
    "submit",
    "back",
    "skip",
    "comment",
]


@pytest.mark.slow
def test_on_a_phone_keys_go_as_on_a_wide_page_and_the_bar_covers_no_comment(open_desk):
    page = open_desk(2).open(viewport={"width": 390, "height": 664}, has_touch=True)
    assert page.locator("header.site").bounding_box()["height"] < 60
    expect(page.get_by_role("button", name="Sign out")).to_be_hidden()
    page.get_by_role("radio", name="Slightly related").tap()
    page.locator("#page-menu").focus()
    order = []
    for _ in FOCUS_ORDER:
        order.append(page.evaluate("(e => e.dataset.rate ?? e.id)(document.activeElement)"))
        page.keyboard.press("Tab")
    assert order == FOCUS_ORDER
    page.locator("[data-rate=comment]").tap()
    comment, dock = page.locator("#rate-comment-text"), page.locator("#rate-dock")
    comment.focus()
    expect(dock).not_to_be_in_viewport()
    comment.fill("late")
    page.locator("#rate-pair").focus()
    expect(page.locator("#rate-submit")).to_be_in_viewport(ratio=1)
    page.get_by_role("button", name="Menu").tap()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    expect(page.get_by_role("button", name="Menu", expanded=True)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert serious_violations(page) == []


@pytest.mark.slow
def test_a_phone_at_twice_the_size_has_the_bar_in_the_page_and_not_over_it(open_desk):
    page = open_desk(1).open(viewport={"width": 195, "height": 400}, has_touch=True)
    expect(page.locator("#rate-form")).to_have_attribute("data-dock", "flow")
    assert page.evaluate("document.documentElement.scrollWidth") <= 195
    page.get_by_role("radio", name="Very similar").tap()
    page.locator("#rate-submit").tap()
    expect(page.locator("#rate-form")).to_have_attribute("data-phase", "done")


@pytest.mark.slow
def test_in_training_on_a_phone_what_was_expected_and_the_next_step_are_in_sight(open_desk):
    desk = open_desk(3)
    known = KnownPair(NewPair("t1", "paragraph2sentence", BOARD * 9, BOARD), Decimal("2.5"), BOARD * 4)
    desk.site.services.known_pairs.import_training(desk.project.id, [known])
    page = desk.open(viewport={"width": 390, "height": 664}, has_touch=True)
    page.get_by_role("radio", name="Unrelated").tap()
    page.locator("#rate-submit").tap()
    expect(page.locator("#rate-feedback")).to_be_in_viewport(ratio=1)
    expect(page.locator("#rate-submit")).to_contain_text("Go on")
    expect(page.locator("#rate-submit")).to_be_in_viewport(ratio=1)


@pytest.mark.slow
def test_at_twice_the_size_nothing_is_cut_off(open_desk):
    long = NewPair("long", "sentence2phrase", "The train was late. " * 50, "a late train")
    page = open_desk([long]).open(viewport={"width": 640, "height": 400})
    assert page.evaluate("document.documentElement.scrollWidth") <= 640
    assert (
        page.locator("#rate-left").evaluate(
            "e => e.clientHeight / parseFloat(getComputedStyle(e).lineHeight)"
        )
        > 5
    )
    for name in ("Submit and next", "Back", "Skip", "Comment"):
        button = page.get_by_role("button", name=name)
        button.scroll_into_view_if_needed()
        expect(button).to_be_in_viewport(ratio=1)


@pytest.mark.slow
def test_who_is_no_rater_and_who_named_no_project_are_told_the_next_step(open_desk):
    desk = open_desk()
    stranger = desk.site.add_user(f"stranger {next(NUMBERS)}")
    desk.context = desk.site.context(desk.browser, stranger.name)
    page = desk.context.new_page()
    for path in (
        desk.path,
        *(f"{desk.site.address}/annotate/rate{query}" for query in ("", "?project=9999")),
    ):
        page.goto(path)
        expect(page.locator("#rate-page .empty")).not_to_have_text("Opening the project.")
        expect(page.locator("#rate-page .empty")).to_contain_text(":")
        expect(page.locator("#rate-page").get_by_role("link", name="My projects")).to_be_visible()
        expect(page.locator("#rate-form")).to_have_count(0)


def test_a_project_without_pairs_says_so(open_desk):
    page = open_desk(0).open()
    expect(page.locator("#rate-message")).to_contain_text("There are no pairs for you to grade:")


WIDE = f"| kept | for whom |\n|-|-|\n| {'grades' * 20} | {'raters' * 20} |\n\n```\n{'code ' * 50}\n```\n\n"


def ask_for(desk: Desk, text: str) -> None:
    projects = desk.site.services.projects
    now = projects.get(desk.project.id).settings
    projects.update(desk.project.id, replace(now, consent=text))


@pytest.mark.slow
def test_a_text_is_agreed_to_before_the_first_pair_and_a_changed_one_loses_nothing(open_desk):
    desk = open_desk(consent="You may *stop* at any time.\n\n" * 3)
    page = desk.open(color_scheme="dark")
    text, services = page.locator("#rate-consent"), desk.site.services
    expect(text).to_contain_text("Please read this first")
    expect(page.locator("#rate-live")).to_have_text("Please read this first. You can begin once you agree.")
    expect(text.locator("em").first).to_have_text("stop")
    expect(page.locator("#rate-work, #rate-message, #rate-guidelines").locator("visible=true")).to_have_count(
        0
    )
    press(page, "3", "Enter", "Backspace")
    assert serious_violations(page, "#rate-consent") == []
    assert services.assignment.give_back(desk.project.id, desk.rater.id) == 0  # nothing was claimed
    expect(text.get_by_role("link", name="Back to my projects")).to_have_attribute("href", "/annotate/")
    text.get_by_role("button", name="I agree").press("Enter")
    expect(page.locator("#rate-right")).to_have_text("late train 1")
    expect(text).to_be_hidden()
    expect(page.locator("#rate-pair")).to_be_focused()
    expect(page.locator("#rate-live")).to_have_text("You can go on.")

    press(page, "3", "c")
    page.keyboard.type("my thoughts")
    ask_for(desk, "Comments are kept *too*.")
    page.locator("#rate-submit").click()
    expect(text).to_contain_text("This text has changed: please read it again")
    expect(text).to_contain_text("You can go on once you agree. What you have filled in is kept.")
    expect(text).to_be_focused()
    expect(page.locator("#rate-saved")).to_have_text("Not sent: 1 answer kept in this browser.")
    assert desk.grades() == {}
    page.reload()
    expect(text.locator("em")).to_have_text("too")
    ask_for(desk, "And *times*.")
    text.get_by_role("button", name="I agree").click()  # to what stands there no longer
    expect(text).to_contain_text("It was changed while you read it, so you have not agreed yet.")
    expect(text.locator("em")).to_have_text("times")
    assert desk.grades() == {}
    text.get_by_role("button", name="I agree").click()
    expect(page.locator("#rate-right")).to_have_text("late train 2")
    expect(page.locator("#rate-saved")).to_have_text(SAVED)
    assert desk.grades() == {"late train 1": 3}
    assert desk.comments() == {"late train 1": "my thoughts"}

    press(page, "s")
    ask_for(desk, "And *reasons*.")
    page.evaluate(SEEN_AGAIN)
    expect(text.locator("em")).to_have_text("reasons")
    text.get_by_role("button", name="I agree").click()  # no dialog keeps the click
    expect(page.locator("#rate-pair")).to_be_focused()


@pytest.mark.slow
def test_a_long_text_that_changes_is_read_from_its_beginning_before_it_can_be_agreed_to(open_desk):
    desk = open_desk(consent="One.\n\n" * 60)
    page = desk.open(viewport=PHONE)
    text, given = page.locator("#rate-consent"), desk.site.services.consents.consents
    agree, alert = text.get_by_role("button", name="I agree"), text.get_by_role("alert")
    page.route("**/consent", lambda route: route.abort())
    agree.press("Enter")
    expect(alert).to_have_text("There is no connection: press again in a moment.")
    expect(alert).to_be_in_viewport(ratio=1)
    page.unroute("**/consent")
    ask_for(desk, WIDE + "Another.\n\n" * 60)
    agree.press("Enter")
    expect(text.get_by_role("heading", name="This text has changed")).to_be_in_viewport(ratio=1)
    expect(text.locator(".small")).to_be_in_viewport(ratio=1)
    expect(agree).not_to_be_in_viewport()
    expect(text).to_be_focused()
    expect(alert).to_have_count(0)
    press(page, "Enter", "Enter")
    assert given(desk.project.id) == {}
    assert serious_violations(page, "#rate-consent") == []
    for wide in text.locator("table, pre").all():
        expect(wide).to_have_attribute("tabindex", "0")
        assert wide.evaluate("e => { e.scrollLeft = 1e6; return e.scrollLeft; }") > 0
        assert wide.bounding_box()["width"] <= PHONE["width"]
    expect(text.locator("td").last).to_be_in_viewport()
    ask_for(desk, "")  # it is ended while it is read
    agree.press("Enter")
    expect(page.locator("#rate-pair")).to_be_focused()
    expect(page.locator("#rate-pair")).to_be_in_viewport(ratio=1)
    assert given(desk.project.id) is None


@pytest.mark.slow
def test_who_stops_for_today_keeps_pairs_and_answers_until_a_changed_text_is_agreed_to(open_desk):
    desk = open_desk(2)
    other, assignment = desk.add_rater(), desk.site.services.assignment
    page = desk.open()
    text = page.locator("#rate-consent")
    page.route("**/rating", lambda route: None)
    with page.expect_request("**/rating"):
        press(page, "3", "Enter")
    ask_for(desk, "One.")
    page.get_by_role("button", name="Stop for today").click()
    page.unroute("**/rating")  # which lets go the one that is held
    expect(text).to_contain_text("Once you agree, your last answers are saved, and you are done for today.")
    ask_for(desk, "Two.")
    text.get_by_role("button", name="I agree").click()
    expect(text).to_contain_text("Two.")
    desk.site.services.consents.agree(desk.project.id, other.id, sha256(b"Two.").hexdigest())
    assert assignment.queue(desk.project.id, other.id).pairs == ()
    expect(page.locator("#rate-saved")).to_have_text("Not sent: 1 answer kept in this browser.")
    text.get_by_role("button", name="I agree").click()
    expect(page.locator("#rate-message")).to_contain_text("You have stopped. All your answers are saved")
    expect(page.get_by_role("button", name="Go on grading")).to_be_focused()
    expect(page.get_by_role("alert")).to_have_count(0)
    assert desk.grades() == {"late train 1": 3}
    assert [pair.right for pair in assignment.queue(desk.project.id, other.id).pairs] == ["late train 2"]


@pytest.mark.slow
def test_a_text_to_agree_to_takes_the_focus_from_a_training_pair(open_desk):
    desk = open_desk(1)
    known = KnownPair(NewPair("t1", "sentence2phrase", "The cat sleeps.", "a sleeping cat"), Decimal(4))
    desk.site.services.known_pairs.import_training(desk.project.id, [known])
    page = desk.open()
    expect(page.locator("#rate-right")).to_have_text("a sleeping cat")
    ask_for(desk, "One.")
    press(page, "4")
    page.locator("#rate-submit").press("Enter")
    expect(page.locator("#rate-consent")).to_be_focused()
    page.get_by_role("button", name="I agree").press("Enter")
    expect(page.locator("#rate-feedback")).to_contain_text("You gave 4, exactly as expected.")
    expect(page.locator("#rate-pair")).to_be_focused()


TEN = {"scale": PRESETS["0-10"][0], "threshold": Decimal("2.5"), "types": ("word2word",)}
GERMAN = """Question: Wie ähnlich sind die beiden Wörter?
Larger: Erstes Wort
Smaller: Zweites Wort
1 Gar nicht ähnlich: Ohne Zusammenhang.
5 Gleich: Dasselbe gemeint."""


def widest_overflow(page: Page) -> int:
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


@pytest.mark.parametrize(
    "size", [{"width": 1280, "height": 800}, pytest.param(PHONE, marks=pytest.mark.slow)]
)
def test_a_scale_from_0_to_10_is_drawn_with_a_button_and_a_key_for_each_point(open_desk, site, size):
    desk = open_desk([NewPair(f"w{at}", "word2word", f"tiger {at}", "cat") for at in range(3)], **TEN)
    page = desk.open(viewport=size)
    buttons = page.locator("#rate-scale [role=radio]")
    expect(buttons).to_have_count(11)
    expect(page.locator("#rate-value span")).to_have_text("No grade yet: choose 0 to 10.")
    assert widest_overflow(page) <= 0
    heights = buttons.evaluate_all("all => all.map((one) => one.getBoundingClientRect().height)")
    assert min(heights) >= 44
    named = page.locator("#rate-names" if size == PHONE else "#rate-scale [data-value='10'] b")
    expect(named).to_be_visible()
    expect(named).to_have_text("0 Unrelated · 10 Very similar" if size == PHONE else "Very similar")
    page.keyboard.press("7")
    expect(page.locator("#rate-value b")).to_have_text("7")
    page.keyboard.press("]")
    expect(page.locator("#rate-value b")).to_have_text("7.25")
    page.keyboard.press("Enter")
    expect(page.locator("#rate-left")).to_have_text("tiger 1")
    buttons.nth(10).click()
    page.keyboard.press("]")
    expect(page.locator("#rate-value b")).to_have_text("10")
    page.keyboard.press("Enter")
    expect(page.locator("#rate-saved")).to_have_text(SAVED)
    given = site.services.ratings.recent(desk.project.id, desk.rater.id)
    assert sorted(pair.grade for pair in given) == [Decimal("7.25"), Decimal(10)]


@pytest.mark.slow
def test_an_own_scale_speaks_the_projects_own_words(open_desk):
    scale, step = parse_scale("1-5/0.5")
    pairs = [NewPair("a", "word2word", "Tiger", "Katze")]
    own = {
        "scale": scale,
        "step": step,
        "threshold": Decimal(1),
        "scale_words": GERMAN.replace("5 G", "2 a: b\n3 c: d\n4 e: f\n5 G"),
    }
    page = open_desk(pairs, types=("word2word",), **own).open(viewport=PHONE)
    expect(page.locator("#rate-question")).to_have_text("Wie ähnlich sind die beiden Wörter?")
    expect(page.locator("#rate-larger")).to_have_text("Erstes Wort")
    expect(page.locator("#rate-smaller")).to_have_text("Zweites Wort")
    expect(page.locator("#rate-scale [data-value='5'] b")).to_have_text("Gleich")
    page.keyboard.press("0")
    expect(page.locator("#rate-value b")).to_be_empty()
    page.keyboard.press("1")
    page.keyboard.press("]")
    expect(page.locator("#rate-value b")).to_have_text("1.5")
    expect(page.locator("#rate-value span")).to_have_text("between 1 Gar nicht ähnlich and 2 a")
    assert widest_overflow(page) <= 0
