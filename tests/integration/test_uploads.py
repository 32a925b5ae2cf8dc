"""What is uploaded behind the sign-in is not served on the public page."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

import app
from annotation.services.bundle import open_annotation
from annotation.web.cookies import COOKIE
from tests.fakes import FakePredictor

PASSWORD = "correct horse battery"


@pytest.fixture
def client(tmp_path, monkeypatch) -> TestClient:
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path / "uploads"))
    services = open_annotation(f"sqlite:///{tmp_path / 'kpdemo.db'}")
    services.accounts.add_user("root", password=PASSWORD, is_administrator=True)
    token = services.sign_ins.sign_in("root", PASSWORD, "127.0.0.1")
    client = TestClient(
        app.build_server(app.AppContext({"first": "first phrases"}, FakePredictor, annotation=services)),
        base_url="http://localhost",
    )
    client.cookies.set(COOKIE, token)
    return client


def upload(client: TestClient, under: str) -> str:
    answer = client.post(f"{under}/gradio_api/upload", files={"files": ("pairs.tsv", b"id\ttype\n")})
    assert answer.status_code == 200
    [path] = answer.json()
    assert Path(path).is_file()
    return path


def test_an_upload_of_annotation_is_not_served_to_the_public(client):
    path = upload(client, "/annotate")
    assert client.get(f"/annotate/gradio_api/file={path}").status_code == 200
    client.cookies.clear()
    assert client.get(f"/gradio_api/file={path}").status_code == 403


def test_an_upload_of_the_public_page_is_served_there(client):
    path = upload(client, "")
    assert client.get(f"/gradio_api/file={path}").status_code == 200
    assert client.get(f"/annotate/gradio_api/file={path}").status_code == 403


@pytest.mark.parametrize("api_name", ["predict_files", "evaluate_files"])
def test_a_file_of_a_server_that_has_ended_is_said_to_be_gone(client, tmp_path, api_name):
    path = tmp_path / "ended" / "public" / "docs.jsonl"
    file = {"path": str(path), "meta": {"_type": "gradio.FileData"}}
    inputs = {"predict_files": [[file], "first"], "evaluate_files": [file, [file]]}[api_name]
    with client:  # the queue works from the start of the server on
        call = client.post(f"/gradio_api/call/{api_name}", json={"data": inputs})
        answer = client.get(f"/gradio_api/call/{api_name}/{call.json()['event_id']}").text
    assert "docs.jsonl is gone: uploads are deleted after 10 minutes, so choose it again." in answer


def test_where_a_press_fails_without_a_reason_the_page_says_to_choose_the_files_again(client):
    events = {event["api_name"]: event for event in client.get("/config").json()["dependencies"]}
    told = "What was asked last has no answer. Choose the files again and press once more."
    for name in ("predict_files", "evaluate_files", "send_files"):
        assert told in events[f"keep_reason_of_{name}"]["js"]
    assert '"What was asked last has no answer."' in events["keep_reason_of_predict"]["js"]
