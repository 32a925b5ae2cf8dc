"""What the public page hands over reaches a project only through an administrator's confirmation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from html import unescape

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from annotation.errors import HandOverError, ImportFileError
from annotation.files.predictions import read_bundle
from annotation.guidelines import is_starter, starter_guidelines
from annotation.predictions import TYPE, QueueOrder, pool
from annotation.scale import CLSS, STS
from annotation.services.bundle import Services, open_services
from annotation.services.predictions import (
    KEPT_MINUTES,
    LARGEST,
    MOST_KEPT,
    MOST_OF_ONE,
    REMEMBERED_HOURS,
    HandOvers,
)
from annotation.services.sign_in import start_session
from annotation.types import KnownPair, NewPair, ProjectSettings, Role
from annotation.web.mount import ANNOTATION_PATHS, add_annotation_routes
from annotation.web.responder import COOKIE
from db import models
from kpdemo.io.predictions import bundle_of, count_phrases
from kpdemo.translation import LANGUAGE_COOKIE
from kpdemo.types import Document
from kpdemo.ui.serving import SecurityMiddleware
from tests.fakes import FakePredictor
from tests.people import MovableClock, add_project
from tests.predicted import grade, pairs_of

ADDRESS = "http://127.0.0.1:7860"
AWKWARD = '<img src=x onerror=alert(1)> "שלום" 短語 🦜'
FILES = ("gold-keyphrases.jsonl", "keyphrases.qrels", "keyphrases.run?model=one")


def bundle(title: str = AWKWARD, models: Sequence[str] = ("one", "two")) -> dict[str, object]:
    document = Document("Ferries leave the old harbour at noon.", title=title)
    predictions = {name: FakePredictor(name).predict([document])[0] for name in models}
    return bundle_of([(document, predictions)])


@pytest.fixture
def services(sqlite_database) -> Services:
    services = open_services(sqlite_database)
    root = services.accounts.add_user("root", is_administrator=True)
    for name in ("Mine", "Other"):
        services.projects.create(ProjectSettings(name, types=(TYPE,), raters_per_pair=1), created_by=root)
    for name, role in (
        ("Eva", Role.ADMINISTRATOR),
        ("Ana", Role.RATER),
        ("Ben", Role.ADJUDICATOR),
    ):
        services.accounts.add_user(name)
        services.projects.add_member(1, name, role)
    return services


@pytest.fixture
def client(services) -> TestClient:
    server = FastAPI()
    server.add_middleware(SecurityMiddleware, never_framed=ANNOTATION_PATHS)
    add_annotation_routes(server, services)
    return TestClient(server, base_url=ADDRESS, follow_redirects=False)


@pytest.fixture
def path(services) -> str:
    return services.handovers.keep(bundle())


def as_user(services: Services, name: str) -> dict[str, str]:
    with services.database.session() as session:
        user = services.accounts.user(name)
        token = start_session(session, user.id, datetime.now().astimezone())
    return {"cookie": f"{COOKIE}={token}", "accept": "text/html"}


def send(client: TestClient, path: str, headers: dict[str, str], project: str = "1", **more: str):
    return client.post(path, data={"project": project}, headers={**headers, **more})


def test_who_is_not_signed_in_signs_in_first_and_comes_back(client, path):
    answer = client.get(path, headers={"accept": "text/html"})
    assert (answer.status_code, answer.headers["location"]) == (303, f"/sign-in?next={path}")
    assert send(client, path, {}).status_code == 401


def test_an_administrator_sees_what_would_be_sent_and_sends_it(client, services, path):
    eva = as_user(services, "Eva")
    shown = client.get(path, headers=eva)
    count = count_phrases(bundle())
    assert f"Send {count} pairs of 1 document to <bdi>Mine</bdi>?" in shown.text
    assert "&lt;img src=x" in shown.text
    assert "<img" not in shown.text
    assert "Other" not in shown.text
    answer = send(client, path, eva)
    assert (answer.status_code, answer.headers["location"]) == (
        303,
        f"/annotate/predictions?project=1&sent={count}",
    )
    assert len(pairs_of(services.database, 1)) == count
    actions = {event.action for event in services.events.recent(1)[:2]}
    assert actions == {"predictions sent", "order chosen"}


def test_the_order_of_rating_is_chosen_where_it_is_sent(client, services, path):
    eva = as_user(services, "Eva")
    assert (
        '<option value="document" selected>Document by document</option>'
        in client.get(path, headers=eva).text
    )
    client.post(path, data={"project": "1", "order": "uncertain"}, headers=eva)
    chosen, _ = services.events.recent(1)[:2]
    assert (chosen.action, chosen.user, chosen.detail) == ("order chosen", "Eva", {"order": "uncertain"})
    more = services.handovers.keep(bundle("Another title"))
    assert '<option value="uncertain" selected>' in client.get(more, headers=eva).text
    send(client, more, eva)
    assert services.judgements.pool(1).order is QueueOrder.UNCERTAIN


def test_whoever_comes_back_after_sending_is_led_to_the_project(client, services, path):
    eva = as_user(services, "Eva")
    send(client, path, eva)
    for again in (client.get(path, headers=eva), send(client, path, eva)):
        assert again.status_code == 200
        assert "have been sent to <bdi>Mine</bdi> already" in again.text
        assert 'href="/annotate/predictions?project=1"' in again.text
        assert 'title="My account"><bdi>Eva</bdi>' in again.text
    stranger = client.get(path, headers=as_user(services, "Ana")).text
    assert "have been sent to a project already" in stranger
    assert "Mine" not in stranger
    assert len(pairs_of(services.database, 1)) == count_phrases(bundle())


def test_who_sends_to_a_project_whose_raters_are_done_is_told_before(client, services, path):
    eva = as_user(services, "Eva")
    assert "are done" not in client.get(path, headers=eva).text
    send(client, path, eva)
    done = services.projects.counts(1).pairs
    grade(services.database, 1, dict.fromkeys(pairs_of(services.database, 1), "3"))
    again = client.get(services.handovers.keep(bundle()), headers=eva).text
    assert "are done" not in again, "nothing new opens nothing"
    more = client.get(services.handovers.keep(bundle("Another title")), headers=eva).text
    warning = f"The raters of <bdi>Mine</bdi> are done: {done} pairs, all graded."
    assert warning in more
    assert more.index(warning) < more.index('<button type="submit" autofocus>Send')


def texts_of(page: str) -> set[str]:
    """What a reader sees in the main part of a page, and its title."""
    texts = re.split(r"<[^>]*>", page[page.index("<main") : page.index("</main>")])
    return {text for text in map(str.strip, texts) if re.search(r"[^\W\d_]{2}", text)}


def test_every_page_of_sending_is_in_the_reader_s_language(client, services, path):
    eva, root = as_user(services, "Eva"), as_user(services, "root")
    stars = ProjectSettings("Stars", types=(TYPE,), scale=STS, step=Decimal(1), raters_per_pair=1)
    services.projects.create(stars, created_by=services.accounts.user("root"))
    names = {"Mine", "Other", "Stars", "one", "two", unescape(AWKWARD)}
    asked = [(path, root), (f"{path}?project=2", root), (path, eva), (path, as_user(services, "Ana"))]

    def both(address: str, headers: dict[str, str], **form: str) -> tuple[str, str]:
        pages = []
        for code in ("en", "de"):
            told = {**headers, "cookie": f"{headers['cookie']}; {LANGUAGE_COOKIE}={code}"}
            ask = client.post if form else client.get
            page = ask(address, headers=told, **({"data": form} if form else {}))
            assert f'<html lang="{code}">' in page.text
            assert "data-language-menu" in page.text or page.status_code == 410
            pages.append(page.text)
        return pages[0], pages[1]

    shown = [both(address, headers) for address, headers in asked]
    shown += [
        both(path, root, project="new", name="Mine"),
        both(path, root, project="3"),
        both(path, root, project=""),
    ]
    assert f'data-address="{path}?project=3"' in shown[-2][1], "a choice of language asks for the page again"
    send(client, path, eva)
    grade(services.database, 1, dict.fromkeys(pairs_of(services.database, 1), "3"))
    more = [
        services.handovers.keep(each) for each in (bundle(), bundle("More"), bundle(models=("one", "three")))
    ]
    shown += [both(address, eva) for address in (*more, path, "/annotate/send/unknown")]
    shown.append(both(path, as_user(services, "Ana")))
    for english, german in shown:
        assert {unescape(text) for text in texts_of(english) & texts_of(german)} <= {*names, "More", "three"}
    said = " ".join(german for _english, german in shown)
    assert "0 bis 4 in Schritten von 0,25" in said
    assert "Nichts Neues für <bdi>Mine</bdi>" in said
    assert "sind fertig" in said


def test_nothing_is_sent_that_is_there_already(client, services, path):
    eva = as_user(services, "Eva")
    send(client, path, eva)
    again = client.get(services.handovers.keep(bundle()), headers=eva).text
    assert "Nothing new to send to <bdi>Mine</bdi>" in again
    assert '<button type="button" disabled>Send</button>' in again
    assert "<form" not in again[again.index("<main") :]
    # The same keyphrases by another model are no new pairs, but its figures need them.
    third = client.get(services.handovers.keep(bundle(models=("one", "three"))), headers=eva).text
    assert "Send predictions of 1 document to <bdi>Mine</bdi>?" in third
    assert "raters get no new pairs" in third
    assert '<button type="submit" autofocus>Send</button>' in third


def test_who_sends_to_a_project_of_other_pairs_is_told_what_it_gets(client, services, path):
    eva = as_user(services, "Eva")
    told = "<bdi>Mine</bdi> has other comparison types so far. Sending adds the type document2keyphrase"
    assert "compares other pairs" not in client.get(path, headers=eva).text
    with services.database.session() as session:
        session.get_one(models.Project, 1).types = ["phrase2word"]
    assert told in client.get(path, headers=eva).text
    send(client, path, eva)
    assert "compares other pairs" not in client.get(services.handovers.keep(bundle()), headers=eva).text


def test_an_administrator_of_several_projects_chooses_one(client, services, path):
    root = as_user(services, "root")
    first = client.get(path, headers=root).text
    assert "<option" in first
    assert "Send 7 pairs" not in first
    assert "to <bdi>Other</bdi>?" in client.get(f"{path}?project=2", headers=root).text


def test_only_projects_that_can_take_the_predictions_are_offered(client, services, path):
    root = services.accounts.user("root")
    stars = ProjectSettings("Stars", types=(TYPE,), scale=STS, step=Decimal(1), raters_per_pair=1)
    services.projects.create(stars, created_by=root)
    [document] = read_bundle(bundle())
    shown_first = NewPair("t", TYPE, document.text, pool(document)[0].text)
    services.known_pairs.import_training(2, [KnownPair(shown_first, Decimal(3))])
    shown = client.get(path, headers=as_user(services, "root")).text
    assert f"Send {count_phrases(bundle())} pairs of 1 document to <bdi>Mine</bdi>?" in shown
    assert "<option" not in shown[shown.index("<main") : shown.index("<h2>")]
    assert "2 projects of yours cannot take these predictions" in shown
    assert "<bdi>Stars</bdi>: Stars grades 0 to 5 in steps of 0.05, and predicted keyphrases are" in shown
    assert "is a training pair of the project, whose grade is known" in shown
    answer = send(client, path, as_user(services, "root"), "3")
    assert answer.status_code == 422
    assert "make a project with that scale" in answer.text


def test_a_project_is_made_for_what_is_sent_and_nothing_is_lost_by_a_name_that_is_taken(
    client, services, path
):
    root = as_user(services, "root")
    shown = client.get(path, headers=root).text
    name = unescape(re.search(r'id="name" name="name" value="([^"]*)"', shown)[1])
    assert name.startswith("Keyphrases of <img src=x")
    taken = client.post(path, data={"project": "new", "name": "Mine"}, headers=root)
    assert taken.status_code == 422
    assert "A project named &#39;Mine&#39; already exists: choose another name." in taken.text
    assert 'value="Mine"' in taken.text
    answer = client.post(path, data={"project": "new", "name": name, "order": "mixed"}, headers=root)
    count = count_phrases(bundle())
    assert answer.headers["location"] == f"/annotate/predictions?project=3&sent={count}"
    made = services.projects.get(3)
    assert (made.name, made.settings.types, made.settings.scale) == (name, (TYPE,), CLSS)
    assert is_starter(made.settings.guidelines)
    assert len(pairs_of(services.database, 3)) == count
    assert services.judgements.pool(3).order is QueueOrder.MIXED
    assert [member.user.name for member in services.projects.members(3)] == ["root"]
    again = services.handovers.keep(bundle(models=("one", "two", "three")))
    assert f"{name} (2)" in unescape(client.get(again, headers=root).text)


def test_a_project_that_is_made_speaks_the_language_of_who_sends(client, services, path):
    headers = as_user(services, "root")
    client.post(
        path,
        data={"project": "new", "name": "Auf Deutsch"},
        headers={**headers, "cookie": f"{headers['cookie']}; {LANGUAGE_COOKIE}=de"},
    )
    made = services.projects.get(3).settings
    assert (made.language, made.guidelines) == ("de", starter_guidelines((TYPE,), "de"))


def test_a_project_is_made_only_together_with_its_pairs(services):
    with pytest.raises(ImportFileError, match="There is no document"):
        services.sending.send_to_new("Empty", [], by=services.accounts.user("root"))
    assert [project.name for project in services.projects.list()] == ["Mine", "Other"]


def test_only_administrators_of_the_server_make_projects(client, services, path):
    for name in ("Eva", "Ana"):
        user = as_user(services, name)
        assert "new project" not in client.get(path, headers=user).text
        answer = client.post(path, data={"project": "new", "name": "Theirs"}, headers=user)
        assert answer.status_code == 403
    assert len(services.projects.list()) == 2
    assert "Ask to become administrator" in client.get(path, headers=as_user(services, "Ana")).text


@pytest.mark.parametrize(("name", "project"), [("Ana", "1"), ("Ben", "1"), ("Eva", "2")])
def test_nobody_else_sends(client, services, path, name, project):
    answer = send(client, path, as_user(services, name), project)
    assert answer.status_code == 403
    assert "This needs the role administrator" in answer.text
    assert pairs_of(services.database, int(project)) == {}


@pytest.mark.parametrize("project", ["", "x", "1; DROP TABLE", "99", "9" * 40])
def test_a_project_that_is_none_is_explained(client, services, path, project):
    answer = send(client, path, as_user(services, "root"), project)
    assert answer.status_code == 422
    assert "There is no project" in answer.text or "No project is chosen" in answer.text


def test_another_site_cannot_send_in_the_administrators_name(client, services, path):
    answer = send(client, path, as_user(services, "Eva"), origin="https://evil.example")
    assert answer.status_code == 403
    assert pairs_of(services.database, 1) == {}
    headers = client.get(path, headers=as_user(services, "Eva")).headers
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert client.get("/annotate/send/unknown", headers=as_user(services, "Eva")).status_code == 410


def test_files_with_models_names_are_for_administrators_only(client, services, path):
    send(client, path, as_user(services, "Eva"))
    for name, status in (("Eva", 200), ("Ana", 403), ("Ben", 403)):
        for file in FILES:
            address = f"/annotate/download/1/{file}"
            assert client.get(address, headers=as_user(services, name)).status_code == status
    assert client.get("/annotate/download/1/keyphrases.qrels").status_code == 401
    eva = as_user(services, "Eva")
    for address, status in (
        ("1/keyphrases.run?model=no", 404),
        ("1/gold-keyphrases.jsonl?threshold=x", 422),
        ("1/gold-keyphrases.jsonl?threshold=9", 422),
        ("x/keyphrases.qrels", 404),
    ):
        assert client.get(f"/annotate/download/{address}", headers=eva).status_code == status


def test_raters_find_no_model_and_no_score_in_what_they_are_given(client, services, path):
    send(client, path, as_user(services, "Eva"))
    ana = {**as_user(services, "Ana"), "accept": "application/json"}
    queue = client.get("/annotate/api/projects/1/queue", headers=ana)
    pair = queue.json()["pairs"][0]["id"]
    answer = client.put(f"/annotate/api/pairs/{pair}/rating", headers=ana, json={"grade": 3, "seconds": 1})
    history = client.get("/annotate/api/projects/1/history", headers=ana)
    for seen in (queue, answer, history):
        assert seen.status_code == 200
        assert not {"model", "score", "rank", "source", "position"} & set(seen.json()["pairs"][0])
        assert '"one"' not in seen.text
    assert services.gold.counts(1).with_gold == 1


@pytest.mark.both_databases
def test_bundles_are_kept_for_a_while_and_every_process_finds_them(database):
    clock = MovableClock()
    handovers, elsewhere = HandOvers(database, clock), HandOvers(database, clock)
    project = add_project(database, clock(), "Sent")
    address = handovers.keep(bundle())
    token = address.rsplit("/", 1)[-1]
    clock.forward(seconds=KEPT_MINUTES * 60 - 1)
    assert elsewhere.documents(token)[0].title == AWKWARD
    clock.forward(seconds=1)
    with pytest.raises(HandOverError, match=r"no longer kept .* already do not come twice"):
        handovers.documents(token)
    with pytest.raises(ImportFileError):
        handovers.keep({"documents": 3})
    handovers.mark_sent(token, project)
    clock.forward(seconds=REMEMBERED_HOURS * 3600 - 1)
    assert elsewhere.project_of(token) == project
    with pytest.raises(HandOverError, match="no longer kept"):
        elsewhere.documents(token)
    clock.forward(seconds=1)
    assert handovers.project_of(token) is None


def test_what_is_too_much_is_refused_and_nobody_loses_what_is_kept(monkeypatch, sqlite_database):
    monkeypatch.setattr("annotation.services.predictions.LARGEST", 10)
    with pytest.raises(ValueError, match="and the page sends at most 10"):
        HandOvers(sqlite_database).keep(bundle())
    monkeypatch.setattr("annotation.services.predictions.LARGEST", LARGEST)
    monkeypatch.setattr("annotation.services.predictions.MOST_OF_ONE", 1_000)
    monkeypatch.setattr("annotation.services.predictions.MOST_KEPT", 2_000)
    clock = MovableClock()
    handovers = HandOvers(sqlite_database, clock)
    kept = []

    def keep_until_refused(*senders: str) -> None:
        for number, sender in enumerate(senders):
            kept.append(handovers.keep(bundle(f"{number}"), sender))

    keep_until_refused("192.0.2.1")
    with pytest.raises(HandOverError, match="Too many predictions from your address are already waiting"):
        keep_until_refused(*(f"2001:db8::{number}" for number in range(9)))  # one home
    with pytest.raises(HandOverError, match="The server cannot keep more predictions"):
        keep_until_refused(*(f"198.51.100.{number}" for number in range(9)))
    assert len(kept) > 3
    for address in kept:
        assert handovers.documents(address.rsplit("/", 1)[-1])
    clock.forward(minutes=KEPT_MINUTES)
    assert handovers.keep(bundle("later"), "192.0.2.1")
    assert MOST_KEPT > MOST_OF_ONE >= LARGEST
