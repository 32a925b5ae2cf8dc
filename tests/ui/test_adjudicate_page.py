"""The adjudication page's handlers, its HTML, the export section and the download: roles before anything."""

from __future__ import annotations

import io
import json
import re
import tempfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from decimal import Decimal
from types import SimpleNamespace

import gradio as gr
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from starlette.responses import StreamingResponse

from annotation.services.accounts import AccountService, InvitationService
from annotation.services.adjudication import AdjudicationService
from annotation.services.gold import GoldService
from annotation.services.projects import ProjectService
from annotation.services.sign_in import SignInService, start_session
from annotation.services.tokens import TokenService
from annotation.types import Cause, Role
from annotation.ui.adjudicate import AdjudicateHandlers
from annotation.ui.projects import ExportHandlers
from annotation.ui.widgets import ScriptEvent
from annotation.web.downloads import Admission, build_downloads
from annotation.web.responder import COOKIE
from annotation.web.routes import build_adjudication_routes
from annotation.web.sign_in import add_account_pages
from tests.rated import pair, rated_project

PAIRS = [pair("far", "0", "4"), pair("near", "2", "2.5"), pair("half", "1", "2.5", type="phrase2word")]
NASTY = '<script>alert("1")</script> ${1} {{x}}'


@pytest.fixture
def rated(sqlite_database):
    rated = rated_project(sqlite_database, PAIRS)
    accounts, projects = AccountService(sqlite_database), ProjectService(sqlite_database)
    for name, role in (("admin", Role.ADMINISTRATOR), ("rita", Role.RATER)):
        accounts.add_user(name)
        projects.add_member(rated.id, name, role)
    accounts.add_user("stranger")
    return rated


@pytest.fixture
def handlers(rated):
    return open_handlers(rated.database, AdjudicationService(rated.database, clock=rated.clock))


def open_handlers(database, adjudication=None):
    return AdjudicateHandlers(
        AccountService(database),
        ProjectService(database),
        adjudication or AdjudicationService(database),
        GoldService(database),
    )


def request(rated, name="judith", **query):
    return SimpleNamespace(username=name, query_params={"project": str(rated.id), **query})


def event(**data):
    return gr.EventData(None, data)


def decision(rated, handlers, **changes):
    pair_id = rated.pair_id("far")
    version = handlers.adjudication.item(rated.id, pair_id).version
    asked = {
        "pair": str(pair_id),
        "version": version,
        "grade": "2.75",
        "cause": "scale",
        "note": "n",
        "which": "open",
    }
    return event(**{**asked, **changes})


def test_the_first_open_pair_is_shown_and_the_next_after_a_decision(rated, handlers):
    opened = handlers.open(request(rated))
    assert "far" in opened["item"]
    assert "2" in opened["queue"]
    saved = handlers.save(decision(rated, handlers), request(rated))
    assert "Saved far: 2.75." in saved["said"]
    assert "half" in saved["item"]
    assert handlers.adjudication.item(rated.id, rated.pair_id("far")).decision.by == "judith"


def test_pairs_that_share_a_text_are_told_apart_in_the_queue(sqlite_database):
    document = "Counting bees at the hive entrance tells how a colony fares. " * 4
    pairs = [pair(id, "0", "4", left=document, right=id) for id in ("bees", "hive < entrance")]
    queue = open_handlers(sqlite_database).open(request(rated_project(sqlite_database, pairs)))["queue"]
    [left, other], rights = zip(*re.findall("<bdi>(.*?)</bdi> / <bdi>(.*?)</bdi>", queue), strict=True)
    assert left == other == f"{document[:80].rstrip()}…"
    assert rights == ("bees", "hive &lt; entrance")


def test_a_queue_that_is_longer_than_the_page_lists_says_where_the_rest_is(rated, handlers, monkeypatch):
    def shown(number):
        return handlers.show(event(which="open", shown=str(number)), request(rated))["queue"]

    monkeypatch.setattr("annotation.ui.adjudicate.MOST_SHOWN", 1)
    monkeypatch.setattr("annotation.ui.adjudicate.MOST_SHOWN", 1, raising=False)
    queue = shown(201)
    assert 'data-adjudicate="more"' not in queue
    assert "1 more not listed: choose a part or a type with fewer pairs, or go on with Next." in queue
    monkeypatch.undo()
    assert '<button type="button" class="keep" data-adjudicate="more">1 more</button>' in shown(1)
    assert " more" not in shown(2)


@pytest.mark.parametrize("name", ["rita", "stranger", None, "nobody"])
@pytest.mark.parametrize("what", ["open", "show", "save", "withdraw"])
def test_only_adjudicators_and_administrators_see_or_change_anything(rated, handlers, name, what):
    handlers.save(decision(rated, handlers, grade="1"), request(rated))
    calls = (request(rated, name),) if what == "open" else (decision(rated, handlers), request(rated, name))
    assert "ferry" not in str(getattr(handlers, what)(*calls))
    history = handlers.adjudication.item(rated.id, rated.pair_id("far")).history
    assert [change.grade for change in history] == [1]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"grade": ""}, "No grade is chosen"),
        ({"grade": "2.8"}, "in steps of 0.25"),
        ({"grade": "Infinity"}, "not Infinity"),
        ({"cause": "moon"}, "No cause is chosen"),
        ({"pair": "x"}, "is not a pair"),
        ({"pair": "999"}, "no pair 999"),
        ({"pair": None}, "is not a pair"),
        ({"note": "x" * 4001}, "4,001"),
    ],
)
def test_what_cannot_be_saved_is_explained_and_the_form_left_alone(rated, handlers, changes, sentence):
    answer = handlers.save(decision(rated, handlers, **changes), request(rated))
    assert answer.keys() == {"said"}
    assert sentence in answer["said"]
    assert 'role="alert"' in answer["said"]


@pytest.mark.both_databases
def test_a_decision_that_an_import_keeps_from_being_written_is_told(rated, handlers, monkeypatch):
    monkeypatch.setattr("db.database.WAIT_SECONDS", 0.01)
    asked = decision(rated, handlers)
    with ThreadPoolExecutor(1) as page, rated.database.session():
        answer = page.submit(handlers.save, asked, request(rated)).result(60)
    assert answer.keys() == {"said"}
    assert "The database is not responding: try again in a moment." in answer["said"]


def test_pairs_that_the_adjudicator_may_still_grade_are_held_back(sqlite_database):
    rated = rated_project(sqlite_database, PAIRS[:2], raters_per_pair=3)
    handlers = open_handlers(sqlite_database, AdjudicationService(sqlite_database, clock=rated.clock))
    asked = decision(rated, handlers)
    handlers.projects.add_member(rated.id, "judith", Role.RATER)
    opened = handlers.open(request(rated))
    assert "1 pair is held back because you may still grade it" in opened["queue"]
    assert "Nothing to decide: no other open pair has grades 1 or more apart." in opened["item"]
    for handler in (handlers.show, handlers.save, handlers.withdraw):
        answer = handler(asked, request(rated))
        assert "You may still grade the pair &#x27;far&#x27;" in answer["said"]
        assert answer.keys() == {"said"}
    opened = handlers.open(request(rated, pair=str(rated.pair_id("far"))))
    assert "You may still grade the pair" in opened["said"]
    assert "ferry" not in str(opened)


def test_who_leads_a_project_finds_the_export_where_no_pair_is_left(sqlite_database):
    rated = rated_project(sqlite_database, [pair("near", "1", "1.5")])
    handlers = open_handlers(sqlite_database)
    handlers.accounts.add_user("admin")
    handlers.projects.add_member(rated.id, "admin", Role.ADMINISTRATOR)
    [judith, admin] = [handlers.open(request(rated, name))["item"] for name in ("judith", "admin")]
    assert "1 of 1 pair has a gold grade." in judith
    link = f'href="/annotate/project?project={rated.id}&amp;tab=gold">Export the gold set</a>'
    assert (link in judith, link in admin) == (False, True)


def test_a_pair_of_another_project_cannot_be_reached(rated, handlers):
    other = rated_project(rated.database, [pair("secret", "0", "4", left="A secret text.")], name="other")
    asked = decision(rated, handlers, pair=str(other.pair_id("secret")), version="")
    for handler in (handlers.show, handlers.save, handlers.withdraw):
        assert "secret" not in str(handler(asked, request(rated)))
    assert handlers.adjudication.item(other.id, other.pair_id("secret")).history == ()


def test_a_conflict_shows_the_pair_as_it_is_now(rated, handlers):
    asked = decision(rated, handlers, grade="1")
    handlers.save(decision(rated, handlers, grade="4", cause="guideline"), request(rated, "admin"))
    answer = handlers.save(asked, request(rated))
    assert "admin decided 4, guideline" in answer["said"]
    assert handlers.adjudication.item(rated.id, rated.pair_id("far")).version in answer["item"]


def test_all_text_is_shown_and_none_of_it_runs(sqlite_database):
    rated = rated_project(sqlite_database, [pair(NASTY, "0", "4", left=NASTY, right=NASTY)])
    service = AdjudicationService(sqlite_database, clock=rated.clock)
    service.decide(rated.id, rated.pair_id(NASTY), rated.adjudicator.id, Decimal(1), Cause.SCALE, NASTY)
    handlers = open_handlers(sqlite_database, service)
    whole = "".join(handlers.show(event(which="all"), request(rated)).values())
    assert not any(sign in whole for sign in ("<script", "${", "{{"))
    assert whole.count("alert(&quot;1&quot;)") >= 4


def test_an_empty_project_says_the_next_step(sqlite_database):
    rated = rated_project(sqlite_database, [])
    assert "Import a file of pairs" in open_handlers(sqlite_database).open(request(rated))["item"]


def test_the_page_says_why_it_is_empty_in_a_project_without_adjudication(sqlite_database):
    rated = rated_project(sqlite_database, [pair("far", "0", "4")], threshold=None)
    assert (
        "The project does without adjudication" in open_handlers(sqlite_database).open(request(rated))["item"]
    )


@pytest.fixture
def client(rated):
    """A browser at a server that has sign-in and downloads; sign_in(name) changes who it is."""
    accounts = AccountService(rated.database)
    server = FastAPI()
    add_account_pages(
        server, SignInService(rated.database), InvitationService(rated.database), TokenService(rated.database)
    )
    gold = GoldService(rated.database, clock=rated.clock)
    server.include_router(build_adjudication_routes(accounts, AdjudicationService(rated.database)))
    server.include_router(build_downloads(Admission(accounts, ProjectService(rated.database)), gold))
    client = TestClient(server, headers={"accept": "application/json"})

    def sign_in(name):
        with rated.database.session() as session:
            token = start_session(session, accounts.user(name).id, datetime.now(UTC))
        client.cookies.set(COOKIE, token)
        return client

    client.sign_in = sign_in
    return client


@pytest.mark.parametrize(
    ("name", "status", "answer"),
    [
        ("judith", 200, {"open": 2, "decided": 0, "all": 2}),
        ("admin", 200, {"open": 2, "decided": 0, "all": 2}),
        *((name, 403, None) for name in ("rita", "stranger")),
        (None, 401, None),
    ],
)
def test_an_open_page_asks_how_many_pairs_there_are_by_now(rated, client, name, status, answer):
    if name:
        client.sign_in(name)
    found = client.get(f"/annotate/api/projects/{rated.id}/adjudication?type=")
    assert found.status_code == status
    assert answer is None or found.json() == answer
    assert answer is not None or "open" not in found.json()


def test_it_asks_for_the_type_that_it_shows(rated, client):
    address = f"/annotate/api/projects/{rated.id}/adjudication?type="
    client.sign_in("judith")
    assert client.get(f"{address}phrase2word").json() == {"open": 1, "decided": 0, "all": 1}
    assert client.get(f"{address}%00").status_code == 404
    assert client.get("/annotate/api/projects/x/adjudication").status_code == 404


def path(rated, query="format=csv&unfinished=leave-out"):
    return f"/annotate/download/{rated.id}/gold.zip?{query}"


def test_the_download_is_the_same_archive_each_time_and_is_recorded(rated, client):
    client.sign_in("admin")
    first = client.get(path(rated))
    rated.clock.move(7200)
    assert first.status_code == 200
    assert client.get(path(rated)).content == first.content
    assert first.headers["content-disposition"].startswith('attachment; filename="harbour-gold-csv.zip"')
    with zipfile.ZipFile(io.BytesIO(first.content)) as archive:
        names = ("README.md", "gold.csv", "manifest.json")
        assert archive.namelist() == [f"harbour-gold-csv/{name}" for name in names]
        assert json.loads(archive.read("harbour-gold-csv/manifest.json"))["counts"]["pairs"] == 3
    records = GoldService(rated.database).exports(rated.id)
    assert [(record.by, record.pairs) for record in records] == [("admin", 1)] * 2


@pytest.mark.parametrize(("name", "status"), [(None, 401), ("judith", 403), ("rita", 403), ("stranger", 403)])
def test_only_administrators_download(rated, client, name, status):
    if name:
        client.sign_in(name)
    response = client.get(path(rated))
    assert response.status_code == status
    assert response.json()["error"]
    assert GoldService(rated.database).exports(rated.id) == []


def test_another_site_cannot_have_an_administrator_download(rated, client):
    client.sign_in("admin")
    refused = client.get(path(rated), headers={"Sec-Fetch-Site": "cross-site"})
    assert (refused.status_code, "Another site" in refused.json()["error"]) == (403, True)
    assert GoldService(rated.database).exports(rated.id) == []
    for site in ("same-origin", "none"):
        assert client.get(path(rated), headers={"Sec-Fetch-Site": site}).status_code == 200


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("/annotate/download/999/gold.zip", 403),
        ("/annotate/download/-1/gold.zip", 404),
        ("/annotate/download/1/gold.zip?format=exe", 404),
        ("/annotate/download/1/gold.zip?format=csv", 409),
    ],
)
def test_a_download_that_cannot_be_is_explained_and_leaves_no_file(
    client, rated, address, status, tmp_path, monkeypatch
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    response = client.sign_in("admin").get(address)
    assert response.status_code == status
    assert response.json()["error"].endswith(".")
    assert list(tmp_path.glob("gold-*")) == []


def test_nothing_of_a_download_stays_behind(rated, client, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert client.sign_in("admin").get(path(rated)).status_code == 200
    assert list(tmp_path.glob("gold-*")) == []


def test_nothing_of_a_download_stays_behind_when_the_server_stops_on_the_way(
    rated, client, tmp_path, monkeypatch
):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    found = []

    async def look(response, *arguments, **named):
        found.append(list(folder.iterdir()))
        return await answer(response, *arguments, **named)

    answer = StreamingResponse.__call__
    monkeypatch.setattr(StreamingResponse, "__call__", look)
    assert client.sign_in("admin").get(path(rated)).status_code == 200
    assert found == [[]]


def test_the_export_section_counts_links_and_lists(rated):
    handlers = ExportHandlers(AccountService(rated.database), GoldService(rated.database, clock=rated.clock))
    result, earlier = handlers.show("csv", "refuse", "none", False, request(rated, "admin"))
    assert "2 of 3 pairs have no gold grade yet" in result
    assert "download" not in result
    assert re.search(r'<button[^>]* id="export-closed" disabled[^>]*>Export gold</button>', result)
    assert "Nothing has been exported yet" in earlier
    result, _ = handlers.show("csv", "list", "none", True, request(rated, "admin"))
    assert f"/annotate/download/{rated.id}/gold.zip?format=csv&amp;unfinished=list&amp;raters=none" in result
    assert "holds no raters" not in result
    result, _ = handlers.show("semeval", "list", "named", False, request(rated, "admin"))
    assert "This layout holds no genres, no raters&#x27; grades and no comments." in result
    for name in ("judith", "rita", "stranger", None):
        assert "download" not in "".join(handlers.show("csv", "list", "none", True, request(rated, name)))


@pytest.mark.parametrize("sent", [None, "pair", ["pair"], 4, {"pair": {"pair": 1}}])
def test_what_is_sent_without_names_and_texts_is_no_text(sent):
    assert ScriptEvent(gr.EventData(None, sent)).text("pair") == ""


def test_a_text_that_is_sent_is_cut_where_it_gets_too_long():
    assert ScriptEvent(event(note="too long"), longest=3).text("note") == "too"
