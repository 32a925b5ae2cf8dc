"""Headers, foreign requests and closed doors of the web application."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

import app
from tests.fakes import FakePredictor

ROOT = Path(__file__).parents[2]
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


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://[::1"])
def test_another_site_may_not_post(client, origin):
    response = client.post("/gradio_api/queue/join", json={}, headers={"Origin": origin})
    assert response.status_code == 403
    assert f"A page of {origin} sent this to the host 127.0.0.1:7860: open" in response.text


def documented_headers(host: str) -> dict[str, str]:
    """What reaches the server through nginx set up as in deploy/nginx.conf, for a reader's `host`."""
    block = (ROOT / "deploy" / "nginx.conf").read_text(encoding="utf-8")
    [passed_to] = re.findall(r"proxy_pass http://([^/;]+);", block)
    values = {"$http_host": host, "$scheme": "https", "$remote_addr": "203.0.113.9"}
    named = dict(re.findall(r"proxy_set_header (\S+) (\S+);", block))
    return {"Host": passed_to, **{name: values.get(value, value) for name, value in named.items()}}


@pytest.mark.parametrize("host", ["demo.example", "demo.example:8443"])
def test_a_page_behind_the_documented_proxy_may_post(client, host):
    headers = {**documented_headers(host), "Origin": f"https://{host}"}
    assert client.post("/gradio_api/queue/join", json={}, headers=headers).status_code == 422


def test_a_proxy_may_name_the_port_that_browsers_leave_out(client):
    headers = {"Origin": "https://demo.example", "Host": "demo.example:443"}
    assert client.post("/gradio_api/queue/join", json={}, headers=headers).status_code == 422


def test_our_own_page_and_programs_may_post(client):
    own = client.post("/gradio_api/queue/join", json={}, headers={"Origin": "http://127.0.0.1:7860"})
    program = client.post("/gradio_api/queue/join", json={})
    assert own.status_code == program.status_code == 422  # let in, and found empty


def test_no_other_site_is_allowed_to_read(client):
    headers = client.get(
        "/config", headers={"Origin": "https://evil.example", "Host": "demo.example"}
    ).headers
    assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize("path", ["/redoc", "/openapi.json", "/monitoring"])
def test_what_nobody_needs_is_closed(client, path):
    assert client.get(path).status_code in (403, 404)


def test_events_cannot_skip_the_queue(client):
    assert client.post("/gradio_api/run/predict", json={"data": []}).status_code == 404


def test_files_of_the_machine_are_not_served(client):
    for path in ("/etc/passwd", "app.py", "../app.py"):
        assert client.get(f"/gradio_api/file={path}").status_code in (403, 404)


def test_a_name_of_the_host_that_anybody_can_send_is_not_believed(client):
    page = client.get("/", headers={"X-Forwarded-Host": "evil.example"})
    assert "evil.example" not in page.text


def test_browsers_that_came_by_https_stay_with_it():
    with TestClient(app.build_server(CONTEXT), base_url="https://demo.example") as client:
        assert client.get("/healthz").headers["strict-transport-security"] == "max-age=31536000"


def test_without_https_nothing_is_said_of_it(client):
    assert "strict-transport-security" not in client.get("/healthz").headers


def test_a_value_that_no_field_could_hold_is_a_line_in_the_log_and_no_traceback(client, caplog, capfd):
    def answer(values: list[object]) -> str:
        event = client.post("/gradio_api/call/predict", json={"data": values}).json()["event_id"]
        return client.get(f"/gradio_api/call/predict/{event}").text

    config = client.get("/config").json()
    [predict] = [each for each in config["dependencies"] if each["api_name"] == "predict"]
    parts = {part["id"]: part for part in config["components"]}
    values = [parts[number]["props"].get("value") for number in predict["inputs"]]
    [place] = [
        index
        for index, number in enumerate(predict["inputs"])
        if parts[number]["props"].get("label") == "Model"
    ]
    values[place] = "no such model"
    assert "not what the fields of this page hold" in answer(["too few"])
    assert "no such model is not in the list of choices" in answer(values)
    assert "Traceback" not in capfd.readouterr().err
    assert [record.getMessage() for record in caplog.records if record.name == "kpdemo.pages"] == [
        "predict: the values that were sent are refused (ValueError)",
        "predict: the values that were sent are refused (Error)",
    ]
