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


def predicted(client, path: str) -> str:
    """The events of *Predict files* for a file that is named as an upload."""
    file = {"path": path, "meta": {"_type": "gradio.FileData"}}
    call = client.post("/gradio_api/call/predict_files", json={"data": [[file], "first"]})
    return client.get(f"/gradio_api/call/predict_files/{call.json()['event_id']}").text


def test_a_file_that_nobody_uploaded_on_the_page_is_not_read(client, tmp_path):
    """As a file of the machine, one of a server that has ended, and one from behind the sign-in."""
    secret = tmp_path / "secret.txt"
    secret.write_text("Graph kernels compare molecules by their common substructures.")
    with client:  # the queue works from the start of the server on
        answers = [predicted(client, path) for path in (str(secret), upload(client, "/annotate"))]
        own = predicted(client, upload(client, ""))
    for answer in answers:
        assert "event: error" in answer
        assert "secret" not in answer
        assert "pairs.tsv" not in answer
    assert "pairs.tsv" in own
