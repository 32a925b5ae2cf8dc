"""The JSON interface of the writing page, and who may open the pages of writers and editors."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from types import SimpleNamespace

import gradio as gr
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from annotation.services.bundle import UnreachableError, open_services
from annotation.services.sign_in import start_session
from annotation.types import Role
from annotation.ui.writing import ItemsHandlers, ReviewHandlers, WriteHandlers
from annotation.web.mount import add_annotation_routes
from annotation.web.responder import COOKIE
from tests.commands import main
from tests.writers import open_office

API = "/annotate/api"


@pytest.fixture
def office(sqlite_database):
    return open_office(sqlite_database, items=5)


@pytest.fixture
def client(office):
    server = FastAPI()
    add_annotation_routes(server, open_services(office.database))

    def sign_in(name: str | None) -> TestClient:
        client = TestClient(server, headers={"accept": "application/json"})
        if name is not None:
            with office.database.session() as session:
                token = start_session(session, office.id(name), datetime.now().astimezone())
            client.cookies.set(COOKIE, token)
        return client

    return sign_in


def test_a_writer_gets_an_item_keeps_a_draft_and_submits_it(office, client):
    browser = client("wim")
    desk = browser.get(f"{API}/projects/{office.project.id}/writing").json()
    task = desk["task"]
    assert task["grade"] in (1, 2, 3, 4)
    assert task["guidance"] == "2 to 15 words"
    assert set(desk) == {
        "task", "submitted", "accepted", "sent_back", "unwritten", "waiting", "balance", "has_genre",
    }  # fmt: skip
    assert not {"genre", "source", "id_in_file", "external_id"} & set(task)
    path, text = f"{API}/writings/{task['id']}", {"text": "gulls", "version": 0, "seconds": 3.5}
    draft = browser.put(f"{path}/draft", json=text)
    assert draft.json()["check"]["problem"] == "The text has 1 word, not 2 to 15."
    stale = browser.put(f"{path}/draft", json={**text, "text": "other"})
    assert (stale.status_code, "another window" in stale.json()["error"]) == (412, True)
    refused = browser.post(f"{path}/submit", json={**text, "version": 1})
    assert refused.status_code == 422
    for body in ({}, {**text, "version": 1.5}, {**text, "seconds": -1}, {**text, "text": None}):
        assert browser.put(f"{path}/draft", json=body).status_code == 422
    for number in ("1e1000000", "1e-1000000", "9" * 4_000):  # to write the first out takes a minute
        body = f'{{"text": "gulls", "version": {number}, "seconds": 1}}'
        assert browser.put(f"{path}/draft", content=body).status_code == 422
    assert browser.put(f"{path}/draft", json={**text, "text": "x" * 70_000}).status_code == 413
    done = browser.post(f"{path}/submit", json={"text": "gulls at sea", "version": 1, "seconds": 9})
    assert (done.status_code, done.json()["submitted"]) == (200, 1)
    again = browser.put(f"{path}/draft", json={**text, "version": 2})
    assert (again.status_code, again.json()["error"][:13]) == (409, "You submitted")
    [written] = browser.get(f"{API}/projects/{office.project.id}/written").json()["texts"]
    assert (written["text"], written["state"]) == ("gulls at sea", "submitted")


@pytest.mark.parametrize(("name", "status"), [(None, 401), ("ana", 403), ("eda", 403), ("wim", 200)])
def test_only_writers_have_an_interface(office, client, name, status):
    answer = client(name).get(f"{API}/projects/{office.project.id}/writing")
    assert answer.status_code == status


def test_a_writers_text_is_nobody_elses(office, client):
    task = office.task("wim")
    other = client("wes")
    body = {"text": "mine now", "version": 0, "seconds": 0}
    assert other.get(f"{API}/writings/{task.id}").status_code == 404
    assert other.put(f"{API}/writings/{task.id}/draft", json=body).status_code == 404
    assert other.post(f"{API}/writings/{task.id}/blank", json={"note": ""}).status_code == 404


def test_pages_are_for_their_roles(office):
    services = open_services(office.database)
    write = WriteHandlers(services.accounts, services.projects)
    review = ReviewHandlers(services.accounts, services.editing)

    def asks(name: str) -> SimpleNamespace:
        return SimpleNamespace(username=name, query_params={"project": str(office.project.id)})

    assert 'id="write-form"' in write.open(asks("wim"))
    assert "This needs the role writer" in write.open(asks("ana"))
    office.submit("wim", "a ferry <b>at</b> noon")
    item, text = review.open(asks("eda"))[3:5]
    assert text["value"] == "a ferry <b>at</b> noon" if isinstance(text, dict) else text.value
    assert "Ferry number" in item
    with pytest.raises(gr.Error, match="This needs the role editor or administrator"):
        review.open(asks("wim"))
    with pytest.raises(gr.Error, match="role editor or administrator"):
        review.accept(asks("wim"), "text", "1:1")
    for token in ("nonsense", "²:1", "1:²", f"{'9' * 5000}:1", "1:2147483648", None):
        with pytest.raises(gr.Error, match="No text is chosen"):
            review.accept(asks("eda"), "text", token)
    assert "grade" not in str(review.open(asks("eda"))[2])


@pytest.mark.parametrize(("waiting", "shown"), [(3, "gulls 2"), (2, "No texts are awaiting review")])
def test_review_goes_on_where_another_editor_takes_the_next_text(office, monkeypatch, waiting, shown):
    services = open_services(office.database)
    review = ReviewHandlers(services.accounts, services.editing)
    asked = SimpleNamespace(username="eda", query_params={"project": str(office.project.id)})
    office.projects.add_member(office.project.id, "ben", Role.EDITOR)
    for number in range(waiting):
        office.submit("wim", f"gulls {number}")
    token = review.open(asked)[6]
    read = services.editing.text

    def read_after_the_other(project_id, writing_id, editor_id):
        monkeypatch.undo()
        office.editing.accept(project_id, writing_id, office.id("ben"), version=1)
        return read(project_id, writing_id, editor_id)

    monkeypatch.setattr(services.editing, "text", read_after_the_other)
    said, _, item, text, *_ = review.accept(asked, "gulls 0", token)
    assert "Accepted" in said
    assert shown in f"{item} {text.value}"
    assert len(office.editing.queue(office.project.id, office.id("eda"))) == waiting - 2


@pytest.mark.both_databases
def test_review_opens_without_a_text_while_an_import_keeps_the_database(office, monkeypatch):
    monkeypatch.setattr("db.database.WAIT_SECONDS", 0.01)
    services = open_services(office.database)
    review = ReviewHandlers(services.accounts, services.editing)
    asked = SimpleNamespace(username="eda", query_params={"project": str(office.project.id)})
    office.submit("wim", "gulls at sea")
    with ThreadPoolExecutor(1) as editor, office.database.session():
        _, tabs, queue, item, text, _, token, buttons = editor.submit(review.open, asked).result(60)
    assert (tabs.visible, queue.visible, text.visible, buttons.visible) == (True, True, False, False)
    [(_, chosen)] = queue.choices
    assert (queue.value, text.value, token) == (None, "", "")
    assert "wait a moment" in item
    _, item, text, _, token, _ = review.show(asked, chosen)
    assert (text.value, "try again" in item) == ("gulls at sea", False)
    with ThreadPoolExecutor(1) as editor, office.database.session():
        accepted = editor.submit(review.accept, asked, "gulls at sea", token)
        with pytest.raises(gr.Error, match="not responding: try again in a moment"):
            accepted.result(60)
    assert "Accepted" in review.accept(asked, "gulls at sea", token)[0]


@pytest.mark.parametrize(
    ("verb", "told"), [("accept", "Accepted"), ("send_back", "Sent back"), ("hand_on", "to another writer")]
)
def test_what_was_done_with_a_text_is_told_where_the_next_cannot_be_shown(office, monkeypatch, verb, told):
    services = open_services(office.database)
    review = ReviewHandlers(services.accounts, services.editing)
    asked = SimpleNamespace(username="eda", query_params={"project": str(office.project.id)})
    for number in range(2):
        office.submit("wim", f"gulls {number}")
    token = review.open(asked)[6]

    def held_by_an_import(*_):
        raise UnreachableError("test.db is being written to")

    monkeypatch.setattr(services.editing, "text", held_by_an_import)
    said, queue, item, *_, new_token, _ = getattr(review, verb)(asked, "gulls at sea", token)
    assert told in said
    assert (len(queue.choices), new_token) == (1, "")
    assert "wait a moment" in item
    assert len(office.editing.queue(office.project.id, office.id("eda"))) == 1


def test_an_editor_withdraws_items_and_gives_them_out_again(office):
    services = open_services(office.database)
    items = ItemsHandlers(services.accounts, services.projects, services.items)
    asked = SimpleNamespace(username="eda", query_params={"project": str(office.project.id)})
    assert "2 larger items withdrawn." in items.withdraw(asked, " item 1\n\nitem 2 ", "")
    assert items.show(asked)[0].count("<td>withdrawn</td>") == 2
    assert "1 larger item with the writers again." in items.restore(asked, "item 2", "")
    for ids, problem in (
        ("", "No item is named"),
        ("item 1\nitem <9>", "no larger item &#x27;item &lt;9&gt;"),
    ):
        with pytest.raises(gr.Error, match=problem):
            items.withdraw(asked, ids, "")
    with pytest.raises(gr.Error, match="role editor or administrator"):
        items.withdraw(SimpleNamespace(username="wim", query_params=asked.query_params), "item 2", "")
    url = f"sqlite:///{office.database.url.database}"
    assert main(["items", "withdraw", "ferries", "item 2", "--database-url", url]) == 0
    assert (
        main(["items", "restore", "ferries", "item 1", "--type", "phrase2word", "--database-url", url]) == 1
    )
    assert {line.id for line in services.items.items(office.project.id) if line.state == "withdrawn"} == {
        "item 1",
        "item 2",
    }


def test_two_editors_who_save_bounds_at_once_undo_nothing_of_each_other(office):
    services = open_services(office.database)
    items = ItemsHandlers(services.accounts, services.projects, services.items)
    asked = SimpleNamespace(username="eda", query_params={"project": str(office.project.id)})
    type, has_zeros, one, two, three, four, seen = items.open(asked)
    kept = type["value"] if isinstance(type, dict) else type.value
    shown = items.show(asked)  # after every import and withdrawal: no field of the bounds is among it
    assert len(shown) == 5
    assert not any("value" in part for part in shown if isinstance(part, dict))
    items.save_bounds(asked, kept, seen, False, "9-99", two, three, four)
    said, _, *fields, seen_now = items.save_bounds(asked, kept, seen, has_zeros, one, two, three, "1-7")
    assert "Somebody else changed settings meanwhile" in said
    assert fields == [False, "9-99", two, three, "1-7"]
    *_, seen_of_other = items.show_bounds(asked, "phrase2word", seen)
    items.save_bounds(asked, "phrase2word", seen_of_other, True, *["1-5"] * 4)
    assert not services.items.plan(office.project.id).has_zeros
    with pytest.raises(gr.Error, match="changed the words of the larger item"):
        items.save_bounds(asked, kept, seen, False, "8-88", two, three, four)
    assert items.save_bounds(asked, kept, seen_now, True, "8-88", two, three, four)[3] == gr.skip()
