"""An adjudicator at the page: dots, keys, drafts, two at once, any text, any width."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import count
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Page, expect

from annotation.adjudication import Which
from annotation.scale import PRESETS
from annotation.types import Cause, NewPair, NewRating, Project, ProjectSettings, Role, User
from annotation.ui.adjudicate import CAUSE_KEYS
from tests.browser.conftest import PASSWORD, Site, Watch, serious_violations
from tests.browser.test_look import BROKEN_WORDS, PALE, WIDTH
from tests.rated import rated_pairs

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NUMBERS = count(1)
LONG = "Die Donaudampfschifffahrtsgesellschaftskapitänswitwenrente wurde am Montag erhöht. " * 30
AWKWARD = [
    ("<script>alert(1)</script> ${1+1} {{value}} `x`", "<img src=x onerror=alert(1)>", "0", "4"),
    ("הספינה יוצאת מן הנמל הישן בצהריים.", "ספינה בצהריים", "4", "0.25"),
    ("渡船中午从旧港口出发。" * 20, "中午的渡船", "1", "4"),
    ("🛶 The canoe left at dawn. 👩‍👩‍👧", "🛶", "1", "3"),
    (LONG, "W" * 300, "1.25", "2.5"),
]


def disagreements(rows: Sequence[tuple[str, ...]]) -> list[NewPair]:
    return [
        NewPair(
            f"p{at}",
            "sentence2phrase",
            left,
            right,
            ratings=tuple(zip(("Anouk", "Bertil", "Cosima"), map(Decimal, grades), strict=False)),
        )
        for at, (left, right, *grades) in enumerate(rows, 1)
    ]


def plain(number: int) -> list[NewPair]:
    return disagreements(
        [
            (f"The {at}th ferry was late.", f"late ferry {at}", "0", str(4 - at % 3))
            for at in range(1, number + 1)
        ]
    )


@dataclass
class Bench:
    """A project of the test's own with its adjudicator."""

    site: Site
    browser: Browser
    project: Project
    judge: User
    watch: Watch = field(default_factory=Watch)

    def open(
        self, query: str = "", user: User | None = None, *, has_clock: bool = False, **options: object
    ) -> Page:
        """The page once the queue is there; with a clock that the test moves."""
        context = self.site.context(self.browser, (user or self.judge).name, **options)
        page = context.new_page()
        if has_clock:
            page.clock.install()
        self.watch.over(page, self.site.address)
        page.goto(f"{self.site.address}/annotate/adjudicate?project={self.project.id}{query}")
        page.locator("#adjudicate-item").wait_for()
        expect(page.get_by_text("Opening the queue.")).to_have_count(0)
        return page

    def queue(self, which: Which = Which.OPEN) -> list[str]:
        page = self.site.services.adjudication.queue(self.project.id, which)
        return [entry.external_id for entry in page.entries]

    def pair_id(self, external_id: str) -> int:
        entries = self.site.services.adjudication.queue(self.project.id, Which.ALL).entries
        return next(entry.pair_id for entry in entries if entry.external_id == external_id)

    def item(self, external_id: str):
        return self.site.services.adjudication.item(self.project.id, self.pair_id(external_id))

    def add_judge(self, role: Role = Role.ADJUDICATOR) -> User:
        user = self.site.add_user(f"judge {next(NUMBERS)}")
        self.site.services.projects.add_member(self.project.id, user.name, role)
        return user


@pytest.fixture
def bench(site: Site, browser: Browser) -> Iterator:
    made: list[Bench] = []

    def bench(pairs: Sequence[NewPair] | int = 3, **settings: object) -> Bench:
        chosen = {"name": f"Bench {next(NUMBERS)}", "is_random": False, "raters_per_pair": 3, **settings}
        project = site.services.projects.create(ProjectSettings(**chosen))
        pairs = plain(pairs) if isinstance(pairs, int) else pairs
        site.services.importing.import_pairs(project.id, pairs)
        made.append(Bench(site, browser, project, None))
        made[-1].judge = made[-1].add_judge()
        return made[-1]

    yield bench
    for one in made:
        assert one.watch.foreign == []
        assert one.watch.complaints == []


def heading(page: Page, external_id: str) -> None:
    expect(page.locator("#adjudicate-heading")).to_contain_text(f"· {external_id}")


def choose_cause(page: Page, name: str = "Scale") -> None:
    page.get_by_role("radio", name=name).check()


def said(page: Page):
    return page.locator("#adjudicate-said")


@pytest.mark.slow
def test_without_a_session_a_decision_signs_in_and_is_still_there(bench):
    one = bench(1)
    page = one.open()
    page.keyboard.press("3")
    page.locator("[name=adjudicate-cause]").first.check()
    page.context.clear_cookies()
    with page.expect_response(lambda response: response.status == 401):
        page.locator("#adjudicate-save").click()
    expect(page.get_by_role("status")).to_contain_text("what you graded and typed is kept")
    page.get_by_label("Name").fill(one.judge.name)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.locator("#adjudicate-value b")).to_have_text("3")
    expect(page.locator("#adjudicate-draft")).to_be_visible()
    one.watch.complaints.clear()  # the browser notes the refused answer


@pytest.mark.slow
def test_where_there_is_nothing_to_decide_no_form_waits_for_a_decision(bench):
    one = bench(
        disagreements([("The ferry was late.", "late ferry", "1", "1"), ("It rains.", "rain", "0", "4")])
    )
    pair, _ = rated_pairs(one.site.services.database, one.project.id)
    page = one.open(f"&pair={pair.id}")
    expect(page.locator("#adjudicate-item")).to_contain_text("2 of 3 grades so far: nothing to decide yet.")
    expect(page.locator("#adjudicate-item")).to_contain_text("Only flagged pairs can be adjudicated")
    expect(page.locator("#adjudicate-scale")).to_have_count(0)
    expect(page.locator(".adj-dot").first).to_be_disabled()
    page.keyboard.press("3")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("button", name="Next")).to_be_disabled()
    page.keyboard.press("n")
    page.keyboard.press("p")
    heading(page, "p2")
    expect(page.locator("#adjudicate-heading")).to_be_focused()


def test_the_keyboard_decides_a_whole_queue_and_the_save_key_leads_to_what_is_missing(bench):
    desk = bench(3, guidelines="Read both *whole*.")
    page = desk.open(viewport={"width": 1280, "height": 500})
    page.locator("#adjudicate-guidelines summary").click()
    expect(page.locator("#adjudicate-guidelines")).to_contain_text("Read both whole.")
    heading(page, "p3")
    page.keyboard.press("Control+Enter")
    expect(said(page)).to_have_text("Choose a grade first.")
    expect(page.locator("#adjudicate-scale [role=radio]").first).to_be_focused()
    page.keyboard.press("3")
    expect(said(page)).to_have_text("")
    page.keyboard.press("Control+Enter")
    expect(said(page)).to_have_text("Choose a cause first.")
    expect(page.locator("input[name=adjudicate-cause]").first).to_be_focused()
    assert desk.queue()[0] == "p3"

    for part in ("all", "open"):
        page.locator(f"[data-part={part}]").press("Enter")
        expect(page.locator(f"[data-part={part}][aria-pressed=true]")).to_be_focused()
    for id, key, expected, why in (
        ("p3", "2", "2", Cause.SCALE),
        ("p1", "3", "3", Cause.TRUE_AMBIGUITY),
        ("p2", "1", "1", Cause.OVERLOOKED_TEXT),
    ):
        heading(page, id)
        expect(page.locator("#adjudicate-heading")).to_be_in_viewport(ratio=1)
        page.keyboard.press(key)
        page.keyboard.press("]")
        page.keyboard.press(CAUSE_KEYS[why].lower())
        page.keyboard.press("Control+Enter")
        expect(said(page)).to_have_text(f"Saved {id}: {expected}.25.")
        assert desk.item(id).decision.cause is why
    expect(page.locator("#adjudicate-item .empty")).to_contain_text("Nothing to decide")
    assert desk.queue() == []
    assert len(desk.queue(Which.DECIDED)) == 3


@pytest.mark.slow
def test_save_is_in_view_under_long_texts_and_no_word_of_the_scale_is_broken(bench):
    page = bench(disagreements([(LONG, LONG, "0", "4")])).open()
    save, note = page.locator("#adjudicate-save"), page.locator("#adjudicate-note")
    for height in (640, 900):
        page.set_viewport_size({"width": 1280, "height": height})
        page.evaluate("scrollTo(0, 0)")
        expect(save).to_be_in_viewport(ratio=1)
        note.focus()
        assert bottom(note) <= save.bounding_box()["y"]
        note.blur()
    for width in (701, 720, 1000, 1001):  # 720: a screen of 1440 at 200 %
        page.set_viewport_size({"width": width, "height": 450})
        assert page.locator("#adjudicate-scale").evaluate(BROKEN_WORDS) == []
        assert page.evaluate(WIDTH) <= width


@pytest.mark.slow
def test_n_and_p_walk_and_rest_while_writing_and_the_arrows_of_the_scale_go_without_keys(bench):
    page = bench(3).open()
    note, value = page.get_by_label("Note (optional)"), page.locator("#adjudicate-value b")
    heading(page, "p3")
    page.keyboard.press("n")
    heading(page, "p1")
    note.focus()
    page.keyboard.type("npn 3")
    expect(note).to_have_value("npn 3")
    heading(page, "p1")
    note.blur()
    page.keyboard.press("p")
    heading(page, "p3")
    page.get_by_label("Use keys").uncheck()
    page.keyboard.press("n")
    page.locator("#adjudicate-scale [role=radio]").first.focus()
    for key, grade in (  # as on the rating page
        ("ArrowDown", "0"),
        ("ArrowDown", "1"),
        ("ArrowRight", "1.25"),
        ("ArrowDown", "2"),
        ("ArrowLeft", "1.75"),
        ("ArrowUp", "1"),
        ("]", "1"),
    ):
        page.keyboard.press(key)
        expect(value).to_have_text(grade)
    heading(page, "p3")
    page.get_by_label("Use keys").check()
    altgr = {"key": "]", "bubbles": True, "modifierAltGraph": True, "ctrlKey": True, "altKey": True}
    page.locator("#adjudicate-heading").dispatch_event("keydown", altgr)
    expect(value).to_have_text("1.25")
    up = page.locator("[data-adjudicate=up]")
    before = up.bounding_box()
    for key in "012]34":  # whatever the grade is called, the button stays
        page.keyboard.press(key)
        assert up.bounding_box()["x"] == before["x"]


def bottom(place) -> float:
    return place.evaluate("place => place.getBoundingClientRect().bottom")


def test_a_pair_is_clicked_a_dot_is_taken_and_the_decision_saved(bench):
    desk = bench(3)
    page = desk.open()
    value = page.locator("#adjudicate-value b")
    heading(page, "p3")
    assert bottom(page.locator("#adjudicate-note")) < page.locator("#adjudicate-save").bounding_box()["y"] - 8
    for label in page.locator(".adj-causes label").all():  # the key is beside the meaning, under no name
        assert label.locator("kbd").bounding_box()["x"] < label.locator("b").bounding_box()["x"]
    assert not any(name in page.content() for name in ("Anouk", "Bertil"))  # of raters
    for id in ("p1", "p3", "p2"):  # the last one is shown
        page.locator(f".adj-queue [data-pair='{desk.pair_id(id)}']").evaluate("pair => pair.click()")
    heading(page, "p2")
    page.keyboard.press("3")
    choose_cause(page)
    page.get_by_role("button", name="Save and next").click()
    page.locator(f".adj-queue [data-pair='{desk.pair_id('p3')}']").click()
    expect(value).to_have_text("")
    heading(page, "p3")
    assert desk.item("p2").decision.grade == 3

    expect(page.locator("#adjudicate-save")).to_be_disabled()
    page.get_by_role("button", name="A rater graded 4: take 4").click()
    expect(value).to_have_text("4")
    choose_cause(page, "Overlooked text")
    page.get_by_label("Note (optional)").fill("The last clause says it.")
    page.get_by_role("button", name="Save and next").click()
    expect(said(page)).to_have_text("Saved p3: 4.")
    heading(page, "p1")
    decision = desk.item("p3").decision
    assert (decision.grade, decision.cause, decision.note, decision.by) == (
        4,
        Cause.OVERLOOKED_TEXT,
        "The last clause says it.",
        desk.judge.name,
    )
    expect(page.get_by_label("Note (optional)")).to_have_value("")
    expect(value).to_have_text("")


@pytest.mark.slow
def test_the_address_opens_a_pair_and_what_was_typed_is_a_draft_until_it_is_saved(bench):
    desk = bench(3)
    page = desk.open(f"&pair={desk.pair_id('p2')}")
    note = page.get_by_label("Note (optional)")
    heading(page, "p2")
    page.get_by_role("button", name="Previous").click()
    heading(page, "p1")
    page.wait_for_url(re.compile(rf"project={desk.project.id}&pair={desk.pair_id('p1')}$"))
    page.keyboard.press("3")
    choose_cause(page)
    note.fill("half a thought")
    page.get_by_role("button", name="Next ›").click()
    heading(page, "p2")
    page.get_by_role("button", name="Previous").click()
    heading(page, "p1")
    expect(note).to_have_value("half a thought")
    expect(page.locator("#adjudicate-value b")).to_have_text("3")
    page.reload()
    expect(note).to_have_value("half a thought")
    expect(page.locator("#adjudicate-draft")).to_be_visible()
    page.get_by_role("button", name="Drop it").click()
    expect(note).to_have_value("")
    page.goto(f"{desk.site.address}/annotate/adjudicate?project={desk.project.id}&pair=nonsense")
    expect(said(page)).to_contain_text("'nonsense' is not a pair")
    heading(page, "p3")


def test_new_work_is_told_and_moves_nothing_that_is_being_decided(bench):
    desk = bench(2)
    services, project = desk.site.services, desk.project
    page = desk.open(has_clock=True)
    heading(page, "p1")
    page.keyboard.press("3")
    page.get_by_label("Note (optional)").fill("half a")
    with page.expect_response(re.compile("/adjudication[?]")):
        page.clock.fast_forward(11_000)
    services.importing.import_pairs(project.id, disagreements([("It rained.", "rain", "0", "4")] * 3)[2:])
    services.adjudication.decide(project.id, desk.pair_id("p1"), desk.judge.id, Decimal(1), Cause.SCALE)
    news = page.locator("#adjudicate-news")
    refresh = news.get_by_role("button", name="Refresh")
    expect(refresh).to_be_hidden()
    page.clock.fast_forward(11_000)
    expect(news).to_contain_text("Now 2 open, 1 decided.")
    page.get_by_label("Note (optional)").press_sequentially(" thought")
    refresh.click()
    expect(page.locator(f".adj-queue [data-pair='{desk.pair_id('p3')}']")).to_contain_text(
        "It rained. / rain"
    )
    expect(refresh).to_be_hidden()
    expect(page.locator("#adjudicate-heading")).to_be_focused()
    heading(page, "p1")
    expect(page.get_by_label("Note (optional)")).to_have_value("half a thought")
    expect(page.locator("#adjudicate-value b")).to_have_text("3")
    choose_cause(page)
    page.keyboard.press("Control+Enter")
    expect(said(page)).to_contain_text("decided 1, scale in the meantime, and yours was not saved")


@pytest.mark.slow
def test_new_work_on_an_empty_queue_is_opened_on_asking(bench):
    desk = bench([])
    page = desk.open(has_clock=True)
    expect(page.locator("#adjudicate-item .empty")).to_contain_text("Import a file of pairs")
    desk.site.services.importing.import_pairs(desk.project.id, plain(1))
    page.clock.fast_forward(11_000)
    expect(page.locator("#adjudicate-news")).to_contain_text("Now 1 open, 0 decided.")
    page.get_by_role("button", name="Refresh").click()
    heading(page, "p1")


@pytest.mark.slow
def test_news_that_no_longer_hold_go(bench):
    desk = bench(2)
    adjudication, project = desk.site.services.adjudication, desk.project
    page = desk.open(has_clock=True)
    heading(page, "p1")
    other = adjudication.decide(project.id, desk.pair_id("p2"), desk.judge.id, Decimal(1), Cause.SCALE)
    page.clock.fast_forward(11_000)
    expect(page.locator("#adjudicate-news")).to_contain_text("Now 1 open, 1 decided.")
    adjudication.withdraw(project.id, other.pair_id, desk.judge.id)
    page.clock.fast_forward(11_000)
    expect(page.locator("#adjudicate-news span")).to_be_empty()
    expect(page.get_by_role("button", name="Refresh")).to_be_hidden()


def test_of_two_adjudicators_the_second_is_told_and_loses_nothing(bench):
    desk = bench(1)
    other = desk.add_judge()
    one, two = desk.open(), desk.open(user=other)
    for page, key, note in ((one, "1", "first"), (two, "4", "second thoughts")):
        page.keyboard.press(key)
        choose_cause(page)
        page.get_by_label("Note (optional)").fill(note)
    one.keyboard.press("Control+Enter")
    expect(said(one)).to_have_text("Saved p1: 1.")
    two.keyboard.press("Control+Enter")
    expect(said(two)).to_contain_text(f"{desk.judge.name} decided 1, scale, “first” in the meantime")
    expect(two.get_by_label("Note (optional)")).to_have_value("second thoughts")
    expect(two.locator("#adjudicate-value b")).to_have_text("4")
    assert desk.item("p1").decision.grade == 1
    two.keyboard.press("Control+Enter")
    expect(said(two)).to_have_text("Saved p1: 4.")
    assert [one.grade for one in desk.item("p1").history] == [4, 1]


def test_a_decision_is_revised_and_withdrawn_with_its_history(bench):
    desk = bench(2)
    desk.site.services.adjudication.decide(
        desk.project.id, desk.pair_id("p1"), desk.judge.id, Decimal(2), Cause.SCALE, "one"
    )
    page = desk.open()
    page.get_by_role("button", name=re.compile("^Decided")).click()
    heading(page, "p1")
    expect(page.get_by_label("Note (optional)")).to_have_value("one")
    expect(page.locator("#adjudicate-value b")).to_have_text("2")
    page.get_by_role("button", name="Withdraw the decision").click()
    expect(said(page)).to_contain_text("Withdrawn")
    page.get_by_text("History, 2 entries").click()
    expect(page.locator("#adjudicate-history li")).to_have_count(2)
    expect(page.locator("#adjudicate-history li").first).to_contain_text("withdrawn")
    assert desk.queue() == ["p1", "p2"]


@pytest.mark.slow
def test_a_rating_that_changed_opens_the_pair_again(bench):
    desk = bench(1)
    services, project = desk.site.services, desk.project
    services.adjudication.decide(project.id, desk.pair_id("p1"), desk.judge.id, Decimal(2), Cause.SCALE)
    services.importing.import_pairs(project.id, [NewRating("p1", "Cosima", Decimal(1))])
    page = desk.open()
    expect(page.locator(".adj-changed")).to_have_text("Grades changed since the decision.")
    expect(page.locator(".adj-dot")).to_have_count(3)


@pytest.mark.slow
def test_raters_and_strangers_see_no_pair(bench):
    desk = bench(1)
    for user in (desk.add_judge(Role.RATER), desk.site.add_user(f"stranger {next(NUMBERS)}")):
        page = desk.open(user=user)
        expect(page.locator("#adjudicate-form")).to_have_count(0)
        assert "late ferry" not in page.content()


@pytest.mark.slow
def test_any_text_is_shown_as_it_is_and_equal_grades_are_stacked(bench):
    desk = bench(disagreements([*AWKWARD, ("The ferry was late.", "late", "0", "4", "4")]))
    page = desk.open()
    for number, (left, right, *_) in enumerate(AWKWARD, 1):
        page.locator(f".adj-queue [data-pair='{desk.pair_id(f'p{number}')}']").click()
        heading(page, f"p{number}")
        expect(page.locator("#adjudicate-left")).to_have_text(left)
        expect(page.locator("#adjudicate-right")).to_have_text(right)
        assert page.evaluate(WIDTH) <= 1280
    page.locator(f".adj-queue [data-pair='{desk.pair_id('p6')}']").click()
    heading(page, "p6")
    boxes = [dot.bounding_box() for dot in page.get_by_role("button", name="A rater graded 4").all()]
    assert boxes[0]["x"] == boxes[1]["x"]
    assert abs(boxes[0]["y"] - boxes[1]["y"]) >= boxes[0]["height"]


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read_and_used_by_everybody(bench, scheme, width):
    desk = bench(disagreements([*AWKWARD, ("The ferry was late.", "late", "0", "4", "4")]))
    page = desk.open(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.keyboard.press("3")
    assert page.evaluate(WIDTH) <= width
    assert page.evaluate(PALE) == []
    assert serious_violations(page) == []
    points = page.locator("#adjudicate-scale button")
    lefts = {points.nth(at).bounding_box()["x"] for at in range(5)}
    assert len(lefts) == (1 if width == 390 else 5), "on a phone one below the other, its words whole"


@pytest.mark.slow
def test_a_grade_taken_while_the_pair_is_drawn_again_stays(bench):
    desk = bench(2)
    page = desk.open()
    page.keyboard.press("3")
    choose_cause(page)
    saving, showing = [], []
    page.route(
        "**/gradio_api/run/**", lambda route: showing.append(route) if saving else saving.append(route)
    )
    page.get_by_role("button", name="Save and next").click()
    page.locator(f".adj-queue [data-pair='{desk.pair_id('p2')}']").click()  # asked for once p1 is saved
    with page.expect_request("**/gradio_api/run/**"):
        saving[0].continue_()
    heading(page, "p2")
    drawn = page.locator("#adjudicate-form").get_attribute("data-drawn")
    value = page.locator("#adjudicate-value b")
    page.keyboard.press("4")
    expect(value).to_have_text("4")
    showing[0].continue_()
    expect(page.locator("#adjudicate-form")).not_to_have_attribute("data-drawn", drawn)
    expect(value).to_have_text("4")


def test_a_server_that_does_not_answer_is_told_and_a_late_answer_drops_no_draft_typed_since(bench):
    desk = bench(2)
    page = desk.open()
    page.keyboard.press("3")
    choose_cause(page)
    note = page.get_by_label("Note (optional)")
    note.fill("as sent")
    page.clock.install()
    held = []
    page.route("**/gradio_api/run/**", lambda route: route.continue_() if held else held.append(route))
    page.get_by_role("button", name="Save and next").click()
    expect(note).not_to_be_editable()
    page.get_by_role("radio", name="Guidelines").click()
    expect(page.get_by_role("radio", name="Scale")).to_be_checked()
    page.clock.fast_forward(21_000)
    expect(said(page)).to_contain_text("The server did not answer")
    expect(note).to_have_value("as sent")
    expect(page.locator("#adjudicate-save")).to_be_enabled()
    note.fill("as sent, and more")
    page.clock.resume()
    held[0].continue_()
    expect(page.locator("#adjudicate-form")).to_have_attribute("data-quarters", "12")  # p1 as it is now
    heading(page, "p1")
    expect(said(page)).to_have_text("")
    expect(note).to_have_value("as sent, and more")
    expect(page.locator("#adjudicate-draft")).to_be_visible()
    assert desk.item("p1").decision.note == "as sent"
    page.keyboard.press("Control+Enter")
    expect(said(page)).to_have_text("Saved p1: 3.")
    assert desk.item("p1").decision.note == "as sent, and more"
    assert page.evaluate("Object.keys(sessionStorage).filter(key => key.includes('adjudicate'))") == []


@pytest.mark.slow
def test_a_scale_from_0_to_10_has_its_line_its_dots_and_its_keys(bench):
    scale = PRESETS["0-10"][0]
    rows = [
        NewPair(
            "w", "word2word", "tiger", "cat", ratings=(("Anouk", Decimal("2.5")), ("Bertil", Decimal(10)))
        )
    ]
    desk = bench(rows, scale=scale, threshold=Decimal("2.5"), types=("word2word",), raters_per_pair=2)
    page = desk.open(viewport={"width": 390, "height": 844})
    heading(page, "w")
    expect(page.locator(".adj-tick")).to_have_count(11)
    boxes = [page.locator(".adj-dot").nth(at).bounding_box() for at in range(2)]
    line = page.locator(".adj-track").bounding_box()
    places = [(box["x"] + box["width"] / 2 - line["x"]) / line["width"] for box in boxes]
    assert places == [pytest.approx(0.25, abs=0.01), pytest.approx(1, abs=0.01)]
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    page.keyboard.press("7")
    page.keyboard.press("]")
    expect(page.locator("#adjudicate-value b")).to_have_text("7.25")
    choose_cause(page)
    page.get_by_role("button", name="Save and next").click()
    expect(said(page)).to_have_text("Saved w: 7.25.")
    assert desk.item("w").decision.grade == Decimal("7.25")
