"""What is chosen from a list is asked of the server once, and the last choice is what the page shows."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from threading import Event

import pytest
from playwright.sync_api import Page, expect

from annotation.errors import WritingError
from annotation.services.editing import EditingService
from annotation.types import ProjectSettings, Role
from tests.profiles import PATIENCE
from tests.writers import TYPE, new_items

TEXTS = ("a boat on its way", "gulls at noon", "the old harbour", "a late ferry")


@dataclass
class Slow:
    """A server that answers once it may; it has been asked for these texts."""

    asked: list[str] = field(default_factory=list)
    may_answer: Event = field(default_factory=Event)
    refuses: list[str] = field(default_factory=list)


@pytest.fixture
def review(site, browser, unused) -> Page:
    """The page for editors, with some texts to choose from and the first one shown."""
    services = site.services
    root = services.accounts.user("root")
    project = services.projects.create(ProjectSettings(unused, types=(TYPE,)), created_by=root).id
    writer, editor = (site.add_user(f"{name} {unused}") for name in ("wim", "eda"))
    for person, role in ((writer, Role.WRITER), (editor, Role.EDITOR)):
        services.projects.add_member(project, person.name, role, by=root)
    services.items.import_items(project, new_items(10), by=root)
    for text in TEXTS:
        task = services.writing.desk(project, writer.id).task
        services.writing.submit(task.id, writer.id, text, task.version)
    page = site.page(browser, editor.name, f"/annotate/review?project={project}")
    expect(page.locator("#review-text textarea")).to_have_value(TEXTS[0])
    return page


@pytest.fixture
def slow(review: Page, monkeypatch: pytest.MonkeyPatch) -> Slow:
    server, show = Slow(), EditingService.text

    def slowly(service, *of):
        shown = show(service, *of)
        server.asked.append(shown.text)
        assert server.may_answer.wait(PATIENCE / 1000)
        if shown.text in server.refuses:
            raise WritingError("Nobody may see this text.")
        return shown

    monkeypatch.setattr(EditingService, "text", slowly)
    return server


def choose(page: Page, *places: int) -> None:
    for place in places:
        page.locator("#review-queue input").click()
        page.locator("[role=option]").nth(place).click()


def check_shown(page: Page, place: int) -> None:
    """Now, and when whatever else is under way has come."""
    for wait in (0, 300):
        page.wait_for_timeout(wait)
        expect(page.locator("#review-text textarea")).to_have_value(TEXTS[place])
        expect(page.locator("#review-queue input")).to_have_value(re.compile(rf"^{place + 1}\. "))


def test_the_last_of_quick_choices_is_shown_and_none_is_asked_for_twice(review, slow):
    choose(review, 1, 2, 3)
    slow.may_answer.set()
    check_shown(review, 3)
    assert slow.asked == [TEXTS[1], TEXTS[3]]
    choose(review, 1)
    check_shown(review, 1)
    assert slow.asked[2:] == [TEXTS[1]]


@pytest.mark.slow
def test_the_last_choice_is_shown_though_an_earlier_one_is_refused(review, slow):
    slow.refuses.append(TEXTS[1])
    choose(review, 1, 2)
    slow.may_answer.set()
    check_shown(review, 2)


@pytest.mark.slow
def test_what_was_refused_can_be_chosen_again(review, slow):
    slow.may_answer.set()
    slow.refuses.append(TEXTS[1])
    choose(review, 1)
    expect(review.locator(".toast-body.error")).to_contain_text("Nobody may see this text.")
    slow.refuses.clear()
    choose(review, 1)
    check_shown(review, 1)
    assert slow.asked == [TEXTS[1]] * 2


@pytest.mark.slow
def test_a_choice_by_keys_is_asked_for_once_and_leaving_the_list_asks_for_nothing(review, slow):
    slow.may_answer.set()
    queue = review.locator("#review-queue input")
    queue.focus()
    for key in ("ArrowDown", "Enter"):
        review.keyboard.press(key)
    check_shown(review, 1)
    expect(queue).to_be_focused()
    review.keyboard.press("Control")
    expect(review.locator("[role=option]")).to_have_count(0)
    review.keyboard.type("3")
    expect(queue).to_have_value("3")
    for leave in (lambda: review.keyboard.press("Tab"), lambda: review.locator("h1").click()):
        queue.click()
        leave()
        check_shown(review, 1)
    choose(review, 1)
    check_shown(review, 1)
    assert slow.asked == [TEXTS[1]]
