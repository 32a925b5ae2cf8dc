"""Headers, foreign requests and closed doors of the web application."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

import app
from tests.fakes import FakePredictor

CONTEXT = app.AppContext({"default": "a fake"}, FakePredictor)


@pytest.fixture(scope="module")
def client():
    with TestClient(app.build_server(CONTEXT), base_url="http://127.0.0.1:7860") as client:
        yield client


def test_health_is_open(client):
    answer = client.get("/healthz").json()
    assert answer["status"] == "ok"
    assert answer["model"] in ("loading", "ready")


def test_every_answer_carries_the_policy(client):
    for path in ("/", "/healthz", "/config", "/nothing"):
        headers = client.get(path).headers
        assert "script-src-attr 'none'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"


def test_a_space_may_be_framed_by_its_own_site():
    context = app.AppContext(CONTEXT.models, CONTEXT.load, in_space=True)
    with TestClient(app.build_server(context)) as client:
        policy = client.get("/healthz").headers["content-security-policy"]
    assert "frame-ancestors https://huggingface.co" in policy


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1"])
def test_another_site_may_not_post(client, origin):
    response = client.post("/gradio_api/queue/join", json={}, headers={"Origin": origin})
    assert response.status_code == 403


def test_our_own_page_and_programs_may_post(client):
    own = client.post("/gradio_api/queue/join", json={}, headers={"Origin": "http://127.0.0.1:7860"})
    program = client.post("/gradio_api/queue/join", json={})
    assert own.status_code == program.status_code == 422  # let in, and found empty


def test_no_other_site_is_allowed_to_read(client):
    headers = client.get(
        "/config", headers={"Origin": "https://evil.example", "Host": "demo.example"}
    ).headers
    assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize("path", ["/docs", "/redoc", "/openapi.json", "/monitoring"])
def test_what_nobody_needs_is_closed(client, path):
    assert client.get(path).status_code in (403, 404)


def test_events_cannot_skip_the_queue(client):
    assert client.post("/gradio_api/run/predict", json={"data": []}).status_code == 404


def test_files_of_the_machine_are_not_served(client):
    for path in ("/etc/passwd", "app.py", "../app.py"):
        assert client.get(f"/gradio_api/file={path}").status_code in (403, 404)
