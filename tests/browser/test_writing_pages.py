"""A writer writes, an editor accepts, and the pair comes to a rater, in real browsers."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from hashlib import sha256

import pytest
from playwright.sync_api import expect

from annotation.types import NewPair, ProjectSettings, Role
from tests.browser.conftest import open_annotation_page
from tests.writers import TYPE, new_items, sentence

PEOPLE = {"wim": Role.WRITER, "wes": Role.WRITER, "eda": Role.EDITOR, "ana": Role.RATER}


@pytest.fixture(scope="module")
def _people(site):
    for name in PEOPLE:
        site.add_user(name)


@pytest.fixture
def project(site, unused, _people):
    """Ten larger items for the people."""
    root = site.services.accounts.user("root")
    project = site.services.projects.create(ProjectSettings(unused, types=(TYPE,)), created_by=root)
    for person, role in PEOPLE.items():
        site.services.projects.add_member(project.id, person, role, by=root)
    site.services.items.import_items(project.id, new_items(10), by=root)
    return project


def test_what_a_writer_writes_and_an_editor_accepts_comes_to_the_rater(site, browser, project):
    path = f"?project={project.id}"
    wim = site.page(browser, "wim", f"/annotate/write{path}")
    field = wim.locator("#write-text")
    field.click()
    field.press_sequentially("gulls <b>שלום</b> 🦜 after", delay=5)
    expect(wim.locator("#write-saved")).to_contain_text("Saved")
    expect(wim.locator("#write-size")).to_contain_text("3 words, 1 sentence. Wanted: 2 to 15 words.")
    expect(wim.locator("#write-left")).to_contain_text("Ferry")
    left = wim.locator("#write-left").inner_text()

    second = site.page(browser, "wim", f"/annotate/write{path}")  # another browser finds the draft
    expect(second.locator("#write-text")).to_have_value("gulls <b>שלום</b> 🦜 after")
    expect(second.locator("#write-left")).to_have_text(left)
    second.locator("#write-text").fill("leaves the old harbour at noon")
    expect(second.locator("#write-check")).to_contain_text("is copied from the given item")
    field.fill("typed in an old window")
    expect(wim.locator("#write-notices")).to_contain_text("changed in another window")
    expect(wim.locator("#write-notices")).to_contain_text("typed in an old window")
    expect(field).to_have_value("leaves the old harbour at noon")

    field.press("Control+Enter")
    expect(wim.locator("#write-submit")).to_contain_text("Submit anyway")
    field.fill("a boat on its way")
    field.press("Control+Enter")
    expect(wim.locator("#write-counts")).to_contain_text("You wrote 1 text")
    expect(wim.locator("#write-left")).not_to_have_text(left)
    wim.locator("#write-recent summary").click()
    expect(wim.locator("#write-recent li")).to_contain_text(["a boat on its way"])

    other = wim.locator("#write-left").inner_text()
    wim.get_by_role("button", name="I do not understand it").click()
    wim.locator("#write-blank-confirm").click()
    expect(wim.locator("#write-left")).not_to_have_text(other)

    eda = site.page(browser, "eda", f"/annotate/review{path}")
    expect(eda.locator("#review-item .rate-text")).to_have_text(left)
    eda.locator("#review-text textarea").fill("a boat leaving at noon")
    eda.locator("#review-accept").click()
    expect(eda.locator("#review-said")).to_contain_text("Accepted")
    expect(eda.locator("#review-item")).to_contain_text("No texts are awaiting review")

    ana = site.page(browser, "ana", f"/annotate/rate{path}")
    expect(ana.locator("#rate-left")).to_have_text(left)
    expect(ana.locator("#rate-right")).to_have_text("a boat leaving at noon")
    assert site.services.assignment.queue(project.id, site.services.accounts.user("ana").id).pairs
    current = wim.locator("#write-left").inner_text()
    eda.get_by_role("tab", name="Larger items").click()
    row = eda.locator("#items-list tr", has_text=current[:60])
    eda.get_by_role("button", name="Withdraw items").click()
    eda.locator("#items-ids textarea").fill(row.locator("th").inner_text())
    eda.locator("#items-withdraw").click()
    expect(eda.locator("#items-changed")).to_contain_text("1 larger item withdrawn.")
    expect(row).to_contain_text("withdrawn")
    wim.locator("#write-text").fill("a ferry leaving")
    expect(wim.locator("#write-notices")).to_contain_text("This item was withdrawn")
    expect(wim.locator("#write-left")).not_to_have_text(current)
    expect(eda.locator("#writing-writers table")).to_have_count(0)  # it is made for who looks at it
    eda.get_by_role("tab", name="Report").click()
    expect(eda.locator("#writing-writers table")).to_contain_text("wim")


def test_a_text_is_not_lost_when_the_server_cannot_be_reached(site, browser, project):
    page = site.page(browser, "wes", f"/annotate/write?project={project.id}")
    field = page.locator("#write-text")
    expect(field).to_have_value("")
    page.route("**/draft", lambda route: route.abort())
    field.fill("a noon departure")
    expect(page.locator("#write-saved")).to_contain_text("Not saved: trying again")
    page.unroute("**/draft")
    page.reload()
    expect(page.locator("#write-text")).to_have_value("a noon departure")
    expect(page.locator("#write-saved")).to_contain_text("Saved")


@pytest.mark.slow
def test_a_text_to_agree_to_comes_before_the_first_item_and_keeps_what_is_typed_when_it_changes(
    site, browser, project
):
    def ask_for(text):
        now = site.services.projects.get(project.id).settings
        site.services.projects.update(project.id, replace(now, consent=text))

    ask_for("You may *stop* at any time.")
    page = site.page(browser, "wes", f"/annotate/write?project={project.id}")
    text, field = page.locator("#write-consent"), page.locator("#write-text")
    expect(text.locator("em")).to_have_text("stop")
    expect(page.locator("#write-work")).to_be_hidden()
    expect(page.locator("#write-live")).to_have_text("Please read this first. You can begin once you agree.")
    text.get_by_role("button", name="I agree").press("Enter")
    expect(field).to_be_focused()
    expect(page.locator("#write-live")).to_have_text("You can go on.")
    field.fill("a noon")
    expect(page.locator("#write-saved")).to_contain_text("Saved")
    ask_for("Texts are *kept*.")
    field.fill("a noon departure")
    expect(text).to_contain_text("This text has changed: please read it again")
    expect(field).to_be_hidden()
    expect(text).to_be_focused()
    expect(page.locator("#write-saved")).to_have_text("Not sent until you agree.")
    page.keyboard.press("Control+Enter")
    wes = site.services.accounts.user("wes").id
    site.services.consents.agree(project.id, wes, sha256(b"Texts are *kept*.").hexdigest())
    assert site.services.writing.desk(project.id, wes).task.text == "a noon"
    text.get_by_role("button", name="I agree").click()  # as in another tab before
    expect(page.locator("#write-saved")).to_contain_text("Saved")
    expect(field).to_have_value("a noon departure")
    field.press("Control+Enter")
    expect(page.locator("#write-counts")).to_contain_text("You wrote 1 text")
    expect(page.locator("#write-notices")).to_be_empty()

    left = page.locator("#write-left").inner_text()
    page.get_by_role("button", name="I do not understand it").click()
    page.locator("#write-blank-note").fill("two ferries?")
    ask_for("Reasons are *read*.")
    page.locator("#write-blank-confirm").click()
    expect(text).to_be_focused()
    expect(page.locator("#write-saved")).to_have_text("Not sent until you agree.")
    ask_for("Reasons are *read twice*.")
    text.get_by_role("button", name="I agree").press("Enter")
    expect(text).to_contain_text("It was changed while you read it, so you have not agreed yet.")
    expect(text).to_be_focused()
    page.route("**/writing", lambda route: route.abort())
    text.get_by_role("button", name="I agree").press("Enter")
    expect(text.get_by_role("alert")).to_have_text("There is no connection: press again in a moment.")
    page.unroute("**/writing")
    text.get_by_role("button", name="I agree").press("Enter")
    expect(page.locator("#write-left")).not_to_have_text(left)
    expect(field).to_be_focused()
    expect(page.locator("#write-notices")).to_be_empty()
    page.locator("#write-recent summary").click()
    expect(page.locator("#write-recent")).to_contain_text("left blank – two ferries?")


@pytest.mark.slow
def test_the_reason_for_a_blank_outlives_a_reload_and_goes_with_its_item(site, browser, project):
    page = site.page(browser, "wes", f"/annotate/write?project={project.id}")
    reason, left = page.locator("#write-blank-note"), page.locator("#write-left")
    blank, consent = page.locator("[data-write=blank]"), page.locator("#write-consent")
    expect(left).to_contain_text("Ferry")
    item = left.inner_text()
    blank.click()
    reason.fill("two ferries?")
    now = site.services.projects.get(project.id).settings
    site.services.projects.update(project.id, replace(now, consent="Reasons are *read*."))
    page.locator("#write-blank-confirm").click()
    expect(page.locator("#write-saved")).to_have_text("Not sent until you agree.")
    page.reload()
    consent.get_by_role("button", name="I agree").click()
    expect(left).to_have_text(item)
    blank.click()
    expect(reason).to_have_value("two ferries?")
    page.locator("#write-blank-confirm").click()
    expect(left).not_to_have_text(item)
    blank.click()
    expect(reason).to_have_value("")


@pytest.mark.slow
def test_on_a_phone_the_bar_hides_neither_the_field_nor_its_size(site, browser, project):
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
    page = site.page(browser, "wes", f"/annotate/write?project={project.id}", **phone)
    field, size, bar = (page.locator(name) for name in ("#write-text", "#write-size", ".write-actions"))

    def is_seen() -> bool:
        boxes = [part.bounding_box() for part in (field, size)]
        ends = [box["y"] + box["height"] for box in boxes]
        return boxes[0]["y"] >= 0 and max(ends) <= bar.bounding_box()["y"]

    for height in (844, 810, 664, 520):
        page.set_viewport_size({"width": 390, "height": height})
        field.fill("")
        field.blur()
        page.evaluate("scrollTo(0, 0)")
        field.focus()
        assert is_seen()
        page.keyboard.type("a noon departure")
        expect(size).to_contain_text("3 words")
        assert is_seen()
        page.evaluate("scrollTo(0, 0)")
        page.keyboard.type("s")
        assert is_seen()
    page.set_viewport_size({"width": 320, "height": 256})  # zoomed to 400 %
    assert bar.evaluate("e => getComputedStyle(e).position") == "static"


@pytest.mark.slow
def test_a_text_that_waits_in_one_tab_outlives_what_is_saved_in_another(site, browser, project):
    page = site.page(browser, "wes", f"/annotate/write?project={project.id}")
    expect(page.locator("#write-text")).to_have_value("")
    other = page.context.new_page()
    other.goto(page.url)
    expect(other.locator("#write-text")).to_have_value("")
    page.route("**/draft", lambda route: route.abort())
    page.locator("#write-text").fill("a noon departure")
    expect(page.locator("#write-saved")).to_contain_text("Not saved: trying again")
    other.locator("#write-text").fill("a ferry leaving")
    expect(other.locator("#write-saved")).to_contain_text("Saved")
    page.reload()
    notice = page.get_by_role("alert").filter(has_text="another one has replaced it")
    expect(notice).to_contain_text("a noon departure")
    expect(page.locator("#write-text")).to_have_value("a ferry leaving")
    page.reload()
    expect(page.locator("#write-text")).to_have_value("a ferry leaving")
    expect(page.locator("#write-notices")).to_be_empty()


@pytest.mark.slow
def test_a_text_of_a_page_that_crashed_is_not_called_unsaved_once_it_is_submitted(site, browser, project):
    page = site.page(browser, "wes", f"/annotate/write?project={project.id}")
    expect(page.locator("#write-left")).to_contain_text("Ferry")
    left = page.locator("#write-left").inner_text()
    page.route("**/draft", lambda route: route.abort())
    page.locator("#write-text").fill("a noon departure")
    expect(page.locator("#write-saved")).to_contain_text("Not saved: trying again")
    page.evaluate("""() => {
      const name = Object.keys(localStorage).find((key) => key.startsWith("kpdemo-write:"));
      localStorage.setItem(`${name}-crashed`, localStorage.getItem(name));
    }""")
    page.unroute("**/draft")
    page.reload()
    expect(page.locator("#write-text")).to_have_value("a noon departure")
    expect(page.locator("#write-saved")).to_contain_text("Saved")
    page.locator("#write-submit").click()
    expect(page.locator("#write-left")).not_to_have_text(left)
    page.reload()
    expect(page.locator("#write-left")).to_contain_text(" ")
    expect(page.locator("#write-text")).to_have_value("")
    expect(page.locator("#write-notices")).to_be_empty()


@pytest.mark.slow
def test_what_is_not_sent_yet_is_told_and_nothing_can_be_typed_meanwhile(site, browser, project):
    page = site.page(browser, "wes", f"/annotate/write?project={project.id}")
    field, saved, left = (page.locator(f"#write-{part}") for part in ("text", "saved", "left"))
    expect(left).to_contain_text("Ferry")
    for what in ("submit", "blank"):
        before = left.inner_text()
        field.fill("a noon departure")
        expect(saved).to_contain_text("Saved")
        page.route(f"**/{what}", lambda route: route.abort())
        page.locator(f"[data-write={what}]").click()
        if what == "blank":
            page.locator("#write-blank-confirm").click()
        expect(saved).to_have_text("Not sent: trying again.")
        expect(field).not_to_be_editable()
        for button in page.locator("#write-work [data-write]").all():
            expect(button).to_be_disabled()
        page.unroute(f"**/{what}")
        expect(left).not_to_have_text(before)
        expect(saved).to_have_text("")
        expect(field).to_be_editable()
        expect(page.locator("#write-notices")).to_be_empty()


@pytest.mark.slow
def test_a_text_that_was_not_saved_is_told_when_its_item_has_gone(site, browser, project):
    writing, wes = site.services.writing, site.services.accounts.user("wes").id
    task = writing.desk(project.id, wes).task
    page = site.page(browser, "wes", f"/annotate/write?project={project.id}")
    page.route("**/draft", lambda route: route.abort())
    page.locator("#write-text").fill("a noon departure")
    expect(page.locator("#write-saved")).to_contain_text("Not saved: trying again")
    writing.leave_blank(task.id, wes)
    page.reload()
    notice = page.get_by_role("alert").filter(has_text="its item is no longer open here")
    expect(notice).to_contain_text("a noon departure")
    expect(page.locator("#write-left")).not_to_have_text(task.left)
    expect(page.locator("#write-text")).to_have_value("")


@pytest.mark.slow
def test_a_text_that_was_sent_back_comes_with_the_note_and_the_time_that_it_waits(site, browser, project):
    path = f"?project={project.id}"
    wes = site.page(browser, "wes", f"/annotate/write{path}")
    expect(wes.locator("#write-left")).to_contain_text("Ferry")
    left = wes.locator("#write-left").inner_text()
    expect(wes.locator("#write-back")).to_be_hidden()
    wes.locator("#write-text").fill("some quick boats")
    wes.locator("#write-text").press("Control+Enter")
    expect(wes.locator("#write-counts")).to_contain_text("You wrote 1 text")

    eda = site.page(browser, "eda", f"/annotate/review{path}")
    expect(eda.locator("#review-item .rate-text")).to_have_text(left)
    eda.get_by_label("Note to the writer").fill("Three words,\nplease.")
    eda.get_by_role("button", name="Send back").click()
    expect(eda.locator("#review-item")).to_contain_text("No texts are awaiting review")

    again = site.page(browser, "wes", f"/annotate/write{path}")
    expect(again.locator("#write-left")).to_contain_text("Ferry")
    expect(again.locator("#write-left")).not_to_have_text(left)  # what wes was at comes first
    again.locator("#write-text").fill("going somewhere else")
    again.locator("#write-text").press("Control+Enter")
    expect(again.locator("#write-left")).to_have_text(left)
    note = again.locator("#write-back")
    expect(note).to_contain_text("An editor sent this back: Three words,")
    expect(note).to_contain_text("stays yours for 7 days after your last change; then it may")


@pytest.mark.usefixtures("_people")
@pytest.mark.slow
def test_the_last_text_is_said_to_be_sent_no_longer_than_it_is(site, browser, unused):
    services, root = site.services, site.services.accounts.user("root")
    project = services.projects.create(ProjectSettings(unused, types=(TYPE,)), created_by=root)
    services.projects.add_member(project.id, "wim", Role.WRITER, by=root)
    services.items.import_items(project.id, new_items(1), by=root)
    page = site.page(browser, "wim", f"/annotate/write?project={project.id}")
    page.locator("#write-text").fill("a boat on its way")
    expect(page.locator("#write-saved")).to_contain_text("Saved")
    page.locator("#write-recent summary").click()
    held = []
    page.route("**/submit", lambda route: held.append(route))
    page.locator("#write-text").press("Control+Enter")
    expect(page.locator("#write-saved")).to_have_text("Sending…")
    expect(page.locator("#write-recent ol")).to_have_attribute("inert", "")
    held[0].continue_()
    expect(page.locator("#write-message")).to_contain_text("You have written for every item")
    expect(page.locator("#write-saved")).to_be_empty()


@pytest.mark.usefixtures("_people")
@pytest.mark.slow
def test_after_the_last_item_was_withdrawn_an_imported_one_appears_by_itself(site, browser, unused):
    services, root = site.services, site.services.accounts.user("root")
    project = services.projects.create(ProjectSettings(unused, types=(TYPE,)), created_by=root)
    services.projects.add_member(project.id, "wim", Role.WRITER, by=root)
    services.items.import_items(project.id, new_items(1), by=root)
    page = site.context(browser, "wim").new_page()
    page.clock.install()  # before the page sets its timers
    open_annotation_page(page, f"{site.address}/annotate/write?project={project.id}")
    expect(page.locator("#write-left")).to_have_text(sentence(0))
    services.items.withdraw(project.id, ["item 0"], by=root)
    page.locator("#write-text").fill("a boat on its way")
    expect(page.locator("#write-message")).to_be_visible()
    services.items.import_items(project.id, new_items(3, first=1), by=root)
    page.clock.fast_forward(20_000)
    expect(page.locator("#write-left")).to_contain_text("Ferry number")
    expect(page.locator("#write-left")).not_to_have_text(sentence(0))
    expect(page.locator("#write-text")).to_have_value("")


def test_who_cannot_rewrite_is_told_why_and_without_a_session_signs_in(site, browser, project):
    services = site.services
    wes, eda = (services.accounts.user(name).id for name in ("wes", "eda"))
    task = services.writing.desk(project.id, wes).task
    services.writing.submit(task.id, wes, "some quick boats", task.version)
    services.writing.desk(project.id, wes)  # another item, which comes first
    version = services.editing.text(project.id, task.id, eda).version
    services.editing.send_back(project.id, task.id, eda, "Three words.", version=version)
    page = site.page(browser, "wes", f"/annotate/write?project={project.id}")
    page.locator("#write-recent summary").click()
    rewrite, address = page.get_by_role("button", name="Rewrite"), f"**/writings/{task.id}"
    page.route(address, lambda route: route.fulfill(status=503, json={"error": "Try again in a moment."}))
    rewrite.click()
    expect(page.locator("#write-notices")).to_contain_text("Try again in a moment.")
    page.unroute(address)
    services.sign_ins.sign_out_everywhere("wes")
    rewrite.click()
    page.wait_for_url("**/sign-in?next=*")


@pytest.mark.slow
def test_both_axes_of_the_grades_are_read_in_the_dark(site, browser, project):
    services, ana = site.services, site.services.accounts.user("ana").id
    services.projects.update(project.id, replace(project.settings, raters_per_pair=1))
    services.importing.import_pairs(project.id, [NewPair("a", TYPE, "A boat leaves.", "a boat")])
    [pair] = services.assignment.queue(project.id, ana).pairs
    services.ratings.rate(pair.id, ana, Decimal(2))
    page = site.page(browser, "eda", f"/annotate/review?project={project.id}&tab=report", color_scheme="dark")
    texts = [
        page.locator(f"#writing-grades-chart .{name} text").first for name in ("ytick", "y2tick", "g-y2title")
    ]
    assert len({text.evaluate("e => getComputedStyle(e).fill") for text in texts}) == 1


@pytest.mark.slow
def test_review_opens_while_an_import_writes_and_shows_a_text_once_it_is_chosen(
    site, browser, monkeypatch, project
):
    services, wim = site.services, site.services.accounts.user("wim").id
    task = services.writing.desk(project.id, wim).task
    services.writing.submit(task.id, wim, "a boat on its way", task.version)
    eda = site.context(browser, "eda").new_page()
    monkeypatch.setattr("db.database.WAIT_SECONDS", 0.01)
    with services.database.session():
        open_annotation_page(eda, f"{site.address}/annotate/review?project={project.id}")
        expect(eda.locator("#review-item")).to_contain_text("No text can be shown now")
        expect(eda.locator("#review-accept")).to_be_hidden()
        eda.get_by_role("tab", name="Larger items").click()
        expect(eda.locator("#items-list")).to_contain_text("item 1")
        eda.get_by_role("tab", name="Review").click()
    eda.get_by_label("Texts awaiting review").click()
    eda.locator("[role=option]").click()
    expect(eda.locator("#review-text textarea")).to_have_value("a boat on its way")
    expect(eda.locator("#review-accept")).to_be_visible()
