"""What an operator sees: a line for each request, an id to quote, metrics, and a stop in order."""

from __future__ import annotations

import io
import json
import logging
import re
import socket
import subprocess
import sys
import threading
import time
from ipaddress import ip_network
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import text

import app
from annotation.services.bundle import open_annotation
from kpdemo.ui.monitoring import LogFormatter, MetricsAccess, add_monitoring
from kpdemo.ui.serving import PageServer, listen, server_config
from tests.fakes import FakePredictor

ROOT = Path(__file__).parents[2]
SECRETS = {
    "document": "the secret life of otters",
    "password": "correct-horse-battery",
    "cookie": "cookie-of-mine-1234",
    "token": "token-of-an-invitation",
    "query": "words-in-a-query",
}
ACCESS = MetricsAccess((ip_network("192.0.2.0/24"),), token="scrape-me")


@pytest.fixture
def log(request):
    """What is written of requests and errors, as JSON, one object a line."""
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(LogFormatter(as_json=getattr(request, "param", True)))
    logger = logging.getLogger("kpdemo.requests")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield written
    logger.removeHandler(handler)
    logger.setLevel(level)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    services = open_annotation(f"sqlite:///{tmp_path_factory.mktemp('data') / 'kpdemo.db'}")
    context = app.AppContext({"default": "a fake"}, FakePredictor, annotation=services, metrics=ACCESS)
    server = app.build_server(context)

    def fail(document: str) -> str:
        with services.database.reading() as session:
            try:
                session.execute(text("SELECT :document FROM nowhere"), {"document": document})
            except Exception as error:
                raise ValueError(f"Cannot use {document}") from error
        return ""

    server.router.add_api_route("/failing/{document}", fail)
    server.router.routes.insert(0, server.router.routes.pop())
    return server


@pytest.mark.parametrize("log", [True, False], indirect=True, ids=["json", "plain"])
def test_no_line_holds_what_people_send(server, log):
    headers = {"Cookie": f"kpdemo-session={SECRETS['cookie']}", "Authorization": f"Bearer {SECRETS['token']}"}
    document = SECRETS["document"]
    with TestClient(server, raise_server_exceptions=False) as client:
        client.post("/sign-in", data={"name": "ana", "password": SECRETS["password"]}, headers=headers)
        client.get(f"/set-up/{SECRETS['token']}?q={SECRETS['query']}", headers=headers)
        client.post("/api/predict", json={"documents": [document]}, headers=headers)
        client.post("/gradio_api/queue/join", json={"data": [document], "fn_index": 99_999}, headers=headers)
        client.get(f"/{document}", headers=headers)
        script = re.search(r"scripts/\w+/kpdemo/", client.get("/").text)[0]
        client.get(f"/{script}{document}", headers=headers)
        assert client.get(f"/failing/{document}", headers=headers).status_code == 500
    lines = log.getvalue()
    assert "/set-up/{token}" in lines
    assert "/api/predict" in lines
    assert re.search(r"/scripts/\w+/kpdemo/\{path\}", lines)
    assert "ValueError" in lines
    assert "OperationalError" in lines, "what led to it"
    assert "test_monitoring.py" in lines, "where it was"
    for secret in SECRETS.values():
        assert secret not in lines


def test_a_failure_is_answered_by_a_sentence_with_the_id_that_the_log_has(server, log):
    with TestClient(server, raise_server_exceptions=False) as client:
        page = client.get("/failing/x", headers={"Accept": "text/html"})
        answer = client.get("/failing/x", headers={"X-Request-ID": "from-the-proxy.1"})
    assert answer.headers["x-request-id"] == "from-the-proxy.1"
    assert answer.json()["error"].endswith("send whoever runs the server this number: from-the-proxy.1")
    made = page.headers["x-request-id"]
    assert re.fullmatch("[0-9a-f]{32}", made)
    assert made in page.text
    assert "content-security-policy" in page.headers
    records = [json.loads(line) for line in log.getvalue().splitlines()]
    assert [(one["level"], one["request_id"]) for one in records] == [
        ("error", made),
        ("info", made),
        ("error", "from-the-proxy.1"),
        ("info", "from-the-proxy.1"),
    ]
    assert {(one["route"], one["status"], one["method"]) for one in records if one["level"] == "info"} == {
        ("/failing/{document}", 500, "GET")
    }


@pytest.mark.parametrize(
    "given", ["short", "a" * 65, "with a blank", 'quote"quote', "<script>12345", "é" * 9]
)
def test_an_id_that_is_not_well_formed_is_replaced(server, given):
    with TestClient(server) as client:
        answer = client.get("/healthz", headers={"X-Request-ID": given.encode()})
    assert re.fullmatch("[0-9a-f]{32}", answer.headers["x-request-id"])


def metrics_of(server, **headers: str) -> dict[str, float]:
    with TestClient(server, client=("192.0.2.7", 1)) as client:
        answer = client.get("/metrics", headers=headers)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = [line for line in answer.text.splitlines() if not line.startswith("#")]
    for line in lines:
        assert re.fullmatch(r'[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.e-]+', line), line
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def test_metrics_count_by_route_and_have_no_end_of_labels_from_no_request(server):
    with TestClient(server, raise_server_exceptions=False) as client:
        for number in range(30):
            client.get(f"/failing/{number}")
            client.get(f"/nothing/{number}")
            client.request(f"VERB{number}", "/healthz")
        client.get("/annotate/", headers={"Accept": "application/json"})
    found = metrics_of(server)
    counted = found['kpdemo_requests_total{route="/failing/{document}",method="GET",status="500"}']
    assert counted >= 30
    assert found['kpdemo_request_seconds_count{route="/failing/{document}"}'] == counted
    assert found['kpdemo_request_seconds_bucket{route="/failing/{document}",le="+Inf"}'] == counted
    assert found['kpdemo_part_works{part="database"}'] == found['kpdemo_part_works{part="disk"}'] == 1
    assert found["kpdemo_requests_running"] == 1, "the one that asks"
    assert sum(name.startswith("kpdemo_requests_total") for name in found) < 20


def test_metrics_are_for_the_networks_named_and_for_the_token(server):
    def status(host: str, **headers: str) -> int:
        with TestClient(server, client=(host, 1)) as client:
            return client.get("/metrics", headers=headers).status_code

    assert status("192.0.2.200") == 200
    assert status("198.51.100.1") == 403
    assert status("198.51.100.1", Authorization="Bearer scrape-me") == 200
    assert status("198.51.100.1", Authorization="Bearer ") == 403
    assert not MetricsAccess(()).allows("198.51.100.1", ""), "no token is no token"
    closed = FastAPI()
    add_monitoring(closed, dict)
    with TestClient(closed, client=("127.0.0.1", 1)) as client:
        assert client.get("/metrics").status_code == 404


def test_a_stop_takes_nobody_new_and_finishes_what_runs():
    pages = FastAPI()
    begun, release = threading.Event(), threading.Event()

    @pages.get("/slow")
    def slow() -> str:
        begun.set()
        release.wait(20)
        return "done"

    metrics = add_monitoring(pages, dict)
    listener = listen("127.0.0.1", 0)
    address = listener.getsockname()
    server = PageServer(server_config(pages, behind_proxy=False), lambda: metrics.work)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    with socket.create_connection(address) as idle, socket.create_connection(address) as busy:
        busy.sendall(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
        assert begun.wait(20)
        server.should_exit = True
        assert idle.recv(10) == b"", "nothing runs on this connection"
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(address)
        time.sleep(1.5)
        assert thread.is_alive()
        release.set()
        answer = busy.makefile("rb").read()
    assert answer.endswith(b'"done"')
    thread.join(20)
    assert not thread.is_alive()


@pytest.mark.parametrize("option", ["10.0.0.1/8", "everybody", ""])
def test_a_network_that_is_none_is_a_wrong_call(option):
    call = [sys.executable, "app.py", "--metrics", option]
    ended = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "give addresses and networks such as 127.0.0.1,10.0.0.0/8" in ended.stderr
    assert ended.stderr.count("\n") == 1
