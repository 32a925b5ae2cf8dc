"""The whole web application: what is open to whom, what it says at the start, and what it leaves behind."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import gradio as gr
import pytest
from fastapi.testclient import TestClient
from gradio.blocks import BlockFunction
from sqlalchemy import event

import app
from annotation.services import bundle
from annotation.services.bundle import SPACE_DISK, Services, UnwritableError, default_url, open_annotation
from annotation.types import NewPair, ProjectSettings, Role
from annotation.ui.agreement import FOR_LEADERS
from annotation.ui.leaderboard import FOR_LEADERS as LEADERBOARD_FOR_LEADERS
from annotation.ui.pages import build_annotation_pages
from annotation.web.guard import NOTHING
from annotation.web.mount import start_notes
from annotation.web.responder import COOKIE
from tests.fakes import FakePredictor

ROOT = Path(app.__file__).parent
ADDRESS = "http://127.0.0.1:7860"
PASSWORD = "correct horse battery"

OPEN_TO_ALL = {
    *("show_projects", "preview_new_guidelines", "preview_project_guidelines"),
    *("show_new_range", "show_project_range", "follow_raters", "follow_scale", "follow_types"),
}
"""What everybody who is signed in may call, apart from the headers of the pages."""
OPEN_TO_RATERS = {"open_rating"}

SILENT = {"look_at_agreement", "open_system_form"}
"""What a page asks by itself; it has said once why it stays closed."""

Inputs = list[list[str] | None]

REFUSALS = ("This needs the role", "This is for administrators", FOR_LEADERS, LEADERBOARD_FOR_LEADERS)


@pytest.fixture(scope="module")
def services(tmp_path_factory) -> Services:
    services = open_annotation(f"sqlite:///{tmp_path_factory.mktemp('app') / 'kpdemo.db'}")
    root = services.accounts.add_user("root", PASSWORD, is_administrator=True)
    for number, name in enumerate(("Mine", "Other"), start=1):
        project = services.projects.create(ProjectSettings(name, types=("sentence2phrase",)), created_by=root)
        assert project.id == number
    for name, project, role in (
        ("Ana", 1, Role.RATER),
        ("Ben", 1, Role.ADJUDICATOR),
        ("Eva", 2, Role.ADMINISTRATOR),
    ):
        services.accounts.add_user(name, PASSWORD)
        services.projects.add_member(project, name, role)
    services.importing.import_pairs(
        1, [NewPair(str(n), "sentence2phrase", f"left {n}", f"right {n}") for n in range(40)]
    )
    return services


@pytest.fixture(scope="module")
def server(services):
    return app.build_server(app.AppContext({"default": "a fake"}, FakePredictor, annotation=services))


@pytest.fixture(scope="module")
def client(server) -> Iterator[TestClient]:
    with TestClient(server, base_url=ADDRESS, follow_redirects=False) as client:
        yield client


@pytest.fixture(scope="module")
def signed_in(services) -> dict[str, dict[str, str]]:
    """The headers of a browser that is signed in, by account."""
    return {
        name: {"Cookie": f"{COOKIE}={services.sign_ins.sign_in(name, PASSWORD, '127.0.0.1')}"}
        for name in ("root", "Ana", "Ben", "Eva")
    }


def ask(client: TestClient, api_name: str, inputs: Inputs, headers: dict[str, str]) -> str:
    """Call a handler of the pages as a program does, on the page of project 1; everything it answers."""
    address = f"/annotate/gradio_api/call/{api_name}"
    # As of one open page: a session that Gradio has not met costs it a tenth of a second.
    body = {"data": inputs, "session_hash": headers.get("Cookie", "")}
    call = client.post(f"{address}?project=1", json=body, headers=headers)
    if call.status_code != 200:
        return str(call.status_code)
    return client.get(f"{address}/{call.json()['event_id']}", headers=headers).text


def is_refusal(answer: str) -> bool:
    return any(refusal in answer for refusal in REFUSALS)


def tells_nothing(answer: str) -> bool:
    """Whether a handler let everything on the page be as it was."""
    event, _, data = answer.strip().partition("\ndata: ")
    unchanged = (None, {"__type__": "update"}, {"props": {"__type__": "update"}, "__type__": "update"})
    return event == "event: complete" and all(value in unchanged for value in json.loads(data))


@pytest.fixture(scope="module")
def events(services) -> list[BlockFunction]:
    """Those of the pages of annotation."""
    return list(build_annotation_pages(services).fns.values())


@pytest.fixture(scope="module")
def handlers(events) -> dict[str, Inputs]:
    """Every event of the pages that runs Python, with inputs as of empty fields."""
    return {
        event.api_name: [[] if isinstance(field, gr.CheckboxGroup) else None for field in event.inputs]
        for event in events
        if event.fn is not None
    }


@pytest.mark.parametrize("path", ["/nothing", "/annotate/nothing", "/annotate/a/b", "/a/b?c=<b>"])
def test_people_find_a_page_where_there_is_nothing_and_programs_json(client, signed_in, path):
    page = client.get(path, headers={**signed_in["root"], "accept": "text/html,*/*"})
    assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "<h1>Nothing here</h1>" in page.text
    assert NOTHING in page.text
    assert '<a href="/annotate/">your projects</a>' in page.text
    assert "frame-ancestors" in page.headers["content-security-policy"]
    for accept in ("*/*", "application/json"):
        answer = client.get(path, headers={**signed_in["root"], "accept": accept})
        assert (answer.status_code, answer.headers["content-type"]) == (404, "application/json")


def test_the_page_says_what_is_missing_where_the_answer_does(client, signed_in):
    headers = {**signed_in["root"], "accept": "text/html"}
    page = client.get("/annotate/download/99/keyphrases.qrels", headers=headers)
    assert page.status_code == 404
    assert "There is no project 99" in page.text
    assert client.get("/annotate/api/nothing", headers=headers).headers["content-type"] == "application/json"
    assert client.get("/", headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "nothing"), ("PUT", "projects/1/queue"), ("GET", "a/b/c")]
)
def test_the_scripts_of_pages_are_told_in_a_sentence_that_an_address_is_none(client, signed_in, method, path):
    answer = client.request(method, f"/annotate/api/{path}", headers=signed_in["root"])
    assert (answer.status_code, answer.json()) == (404, {"error": NOTHING})


def test_every_event_of_annotation_has_a_name_of_its_own(events):
    names = [event.api_name for event in events]
    assert all(isinstance(name, str) for name in names)
    assert sorted(names) == sorted(set(names))


def test_nobody_calls_a_handler_without_signing_in(client, handlers):
    assert {ask(client, name, inputs, {}) for name, inputs in handlers.items()} == {"401"}


@pytest.mark.parametrize(("name", "allowed"), [("Ana", OPEN_TO_ALL | OPEN_TO_RATERS), ("Eva", OPEN_TO_ALL)])
def test_a_handler_that_is_not_for_this_user_refuses(client, handlers, signed_in, name, allowed):
    """Ana is a rater of the project, Eva the administrator of another one."""
    closed = {api_name for api_name in handlers if not api_name.startswith("show_header_of_")} - allowed
    assert len(closed) >= 30
    answers = {api_name: ask(client, api_name, handlers[api_name], signed_in[name]) for api_name in closed}
    silent = {api_name for api_name, answer in answers.items() if tells_nothing(answer)}
    assert silent <= SILENT
    assert {api_name: text for api_name, text in answers.items() if not is_refusal(text)}.keys() == silent


@pytest.mark.slow
def test_the_administrator_is_not_refused(client, handlers, services, signed_in):
    """The test above would also pass if everything were closed."""
    answers = {name: ask(client, name, inputs, signed_in["root"]) for name, inputs in handlers.items()}
    assert [name for name, text in answers.items() if is_refusal(text)] == []
    services.projects.remove_member(1, "root", Role.RATER)  # as "Grade it myself", one of them, made root


def test_the_header_tells_no_name_of_a_project_that_is_not_mine(client, signed_in):
    assert "Mine" in ask(client, "show_header_of_project", [], signed_in["Ana"])
    assert "Mine" not in ask(client, "show_header_of_project", [], signed_in["Eva"])


@pytest.mark.parametrize(
    ("name", "pages"),
    [
        ("Ana", {"rate"}),
        ("Ben", {"agreement", "adjudicate"}),
        ("root", {"agreement", "adjudicate", "project"}),
        ("Eva", set()),
    ],
)
def test_the_header_leads_where_the_roles_allow(client, signed_in, name, pages):
    header = ask(client, "show_header_of_project", [], signed_in[name])
    shown = {
        page for page in ("rate", "agreement", "adjudicate", "project") if f"/annotate/{page}?" in header
    }
    assert shown == pages
    assert ("/annotate/users" in header) is (name == "root")


def test_the_public_page_is_open_and_leads_to_annotation(client):
    page = client.get("/")
    assert page.status_code == 200
    assert "/annotate/" in page.text


@pytest.mark.parametrize("path", ["/", "/annotate/"])
def test_pages_are_sent_compressed(client, signed_in, path):
    page = client.get(path, headers=signed_in["root"] | {"Accept-Encoding": "gzip"})
    assert page.headers["Content-Encoding"] == "gzip"
    assert int(page.headers["Content-Length"]) < len(page.content) / 3


def test_annotation_sends_a_reader_to_the_sign_in_and_back(client):
    headers = {"Accept": "text/html"}
    answer = client.get("/annotate/project?project=1&tab=members", headers=headers)
    assert answer.status_code == 303
    assert answer.headers["location"] == "/sign-in?next=/annotate/project%3Fproject%3D1%26tab%3Dmembers"
    assert client.get("/annotate", headers=headers).headers["location"] == "/sign-in?next=/annotate/"


@pytest.mark.parametrize(
    "path", ["/annotate/", "/annotate/rate", "/annotate/project", "/annotate/users", "/annotate/config"]
)
def test_a_stranger_learns_nothing_of_the_pages(client, path):
    answer = client.get(path)
    assert answer.status_code == 401
    assert "components" not in answer.text


def test_a_page_of_a_project_is_found_with_and_without_a_slash(client, signed_in):
    headers = {"Accept": "text/html"}
    assert client.get("/annotate/project?project=1", headers=signed_in["root"]).status_code == 200
    slashed = client.get("/annotate/project/?project=1", headers=headers | signed_in["root"])
    assert slashed.headers["location"] == "/annotate/project?project=1"


@pytest.mark.parametrize("path", ["/annotate/openapi.json", "/annotate/docs", "/annotate/monitoring/summary"])
def test_what_nobody_needs_is_closed_to_users_too(client, signed_in, path):
    assert client.get(path, headers=signed_in["root"]).status_code in (403, 404)


@pytest.mark.parametrize(("in_space", "public"), [(False, "'none'"), (True, "https://huggingface.co")])
def test_annotation_is_shown_in_no_frame_and_the_public_page_only_in_a_space(services, in_space, public):
    context = app.AppContext({"default": "a fake"}, FakePredictor, in_space=in_space, annotation=services)
    with TestClient(app.build_server(context), base_url=ADDRESS) as client:
        policies = {
            path: client.get(path).headers["content-security-policy"].split("frame-ancestors ")[1]
            for path in ("/", "/sign-in", "/account", "/annotate/", "/set-up/x", "/sign-insane")
        }
        page = client.get("/").text
    assert policies.pop("/").startswith(public)
    assert policies.pop("/sign-insane").startswith(public)
    assert set(policies.values()) == {"'none'"}
    link = page.index("/annotate/")
    assert ("_blank" in page[link : link + 60]) is in_space


def test_health_says_whether_the_database_answers(tmp_path):
    services = open_annotation(f"sqlite:///{tmp_path / 'kpdemo.db'}")
    server = app.build_server(app.AppContext({"default": "a fake"}, FakePredictor, annotation=services))
    with TestClient(server) as client:
        assert client.get("/healthz").json()["database"] == "ok"
        services.database.dispose()
        for file in tmp_path.iterdir():
            file.unlink()
        tmp_path.rmdir()
        answer = client.get("/healthz")
    assert answer.status_code == 503
    assert answer.json()["database"] == "unavailable"


def test_a_full_disk_is_told_and_work_goes_on_when_there_is_room(tmp_path, monkeypatch):
    services = open_annotation(f"sqlite:///{tmp_path / 'kpdemo.db'}")
    server = app.build_server(app.AppContext({"default": "a fake"}, FakePredictor, annotation=services))
    large = ProjectSettings("Large", types=("sentence2phrase",), guidelines="x" * 20_000)
    pages = [1]

    @event.listens_for(services.database.engine, "checkout")
    def limit(connection, *_) -> None:
        connection.execute(f"PRAGMA max_page_count = {pages[-1]}")  # SQLite raises 1 to what there are

    with TestClient(server) as client:
        with pytest.raises(UnwritableError, match=r"database or disk is full.*free some space"):
            services.projects.create(large)
        monkeypatch.setattr(bundle, "has_room", lambda folder: False)
        answer = client.get("/healthz")
        assert (answer.status_code, answer.json()["database"]) == (503, "read-only")
        monkeypatch.undo()
        pages.append(1_000_000)
        assert client.get("/healthz").status_code == 200
    assert services.projects.create(large).settings == large


def test_ready_means_that_the_model_is_too():
    release = threading.Event()

    def load(name: str) -> FakePredictor:
        release.wait(10)
        return FakePredictor(name)

    with TestClient(app.build_server(app.AppContext({"default": "a fake"}, load))) as client:
        assert client.get("/healthz").status_code == 200
        assert client.get("/readyz").status_code == 503
        release.set()
        until = time.monotonic() + 10
        while client.get("/readyz").status_code != 200:
            assert time.monotonic() < until
            time.sleep(0.05)


@pytest.mark.both_databases
def test_a_rater_saves_while_an_import_runs(services, client, signed_in):
    """On SQLite there is one writer: a grade may wait for the import, but comes through and is kept."""
    started, release, answers = threading.Event(), threading.Event(), []

    def items() -> Iterator[NewPair]:
        for number in range(1_500):
            if number == 1_400:  # the transaction of the import has begun
                started.set()
                release.wait(60)
            yield NewPair(f"new-{number}", "sentence2phrase", f"a left {number}", f"a right {number}")

    def save() -> None:
        queue = client.get("/annotate/api/projects/1/queue", headers=signed_in["Ana"]).json()
        grade = {"grade": 2.75, "seconds": 1}
        path = f"/annotate/api/pairs/{queue['pairs'][0]['id']}/rating"
        answers.append(client.put(path, json=grade, headers=signed_in["Ana"]))

    importing = threading.Thread(target=services.importing.import_pairs, args=(2, items()))
    importing.start()
    assert started.wait(10)
    saving = threading.Thread(target=save)
    saving.start()
    assert client.get("/healthz").json()["database"] == "ok"
    assert client.get("/annotate/", headers=signed_in["Ana"]).status_code == 200
    assert importing.is_alive(), "reading does not wait for a writer"
    release.set()
    importing.join(20)
    saving.join(20)
    assert [answer.status_code for answer in answers] == [200]
    assert services.projects.counts(2).pairs == 1_500
    assert services.ratings.recent(1, services.accounts.user("Ana").id)[0].grade == pytest.approx(2.75)


@pytest.mark.parametrize(
    ("url", "status"),
    [("foo", 2), ("mysql://127.0.0.1/x", 2), ("sqlite://", 2), ("postgresql://127.0.0.1:1/none", 1)],
)
def test_a_database_that_cannot_be_used_is_one_sentence(url, status, capsys):
    assert app.main(["--port", "0", "--database-url", url]) == status
    output = capsys.readouterr()
    assert (output.out, output.err.count("\n")) == ("", 1)


def test_a_gpu_that_is_not_there_is_refused_before_the_page_is_served(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    url = f"sqlite:///{tmp_path / 'kpdemo.db'}"
    assert app.main(["--device", "cuda", "--port", "0", "--database-url", url]) == 1
    output = capfd.readouterr()
    assert output.out == ""
    assert output.err == "There is no CUDA device on this machine: use --device cpu or auto.\n"
    assert not (tmp_path / "kpdemo.db").exists()


def test_the_link_is_printed_as_long_as_nobody_can_administer(tmp_path):
    services = open_annotation(f"sqlite:///{tmp_path / 'kpdemo.db'}")
    [note] = start_notes(services, ADDRESS, in_space=False)
    assert f"{ADDRESS}/set-up/" in note
    services.accounts.add_user("root", PASSWORD, is_administrator=True)
    assert start_notes(services, ADDRESS, in_space=False) == []


def test_a_space_says_that_it_forgets(tmp_path):
    services = open_annotation(f"sqlite:///{tmp_path / 'kpdemo.db'}")
    services.accounts.add_user("root", PASSWORD, is_administrator=True)
    [note] = start_notes(services, ADDRESS, in_space=True)
    assert note.startswith("Accounts and ratings are lost when this Space restarts")


def test_a_space_uses_its_disk_where_it_has_one(tmp_path):
    assert default_url(in_space=True, disk=tmp_path) == f"sqlite:///{tmp_path / 'kpdemo.db'}"
    assert default_url(in_space=True, disk=tmp_path / "missing") == "sqlite:///data/kpdemo.db"
    assert default_url(in_space=False, disk=tmp_path) == "sqlite:///data/kpdemo.db"
    assert str(SPACE_DISK) == "/data"


@pytest.mark.slow
def test_the_start_loads_nothing_that_only_some_pages_need():
    code = "import app, sys; print(*({'alembic', 'matplotlib', 'plotly', 'torch'} & set(sys.modules)))"
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert result.stdout.split() == []
