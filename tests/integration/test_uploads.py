"""Uploads: who may have them read, and that nothing else is ever fetched or read for a request."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import cycle
from pathlib import Path
from threading import Thread
from typing import Any

import gradio as gr
import pytest
import safehttpx
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts
from gradio import processing_utils
from gradio.routes import App
from starlette.requests import Request
from starlette.routing import Mount
from starlette.testclient import TestClient
from starlette.types import Message, Receive, Scope, Send

import app
from annotation.services.bundle import open_annotation
from annotation.web.responder import COOKIE
from kpdemo.ui import uploads
from kpdemo.ui.page import Pages, mount_pages
from kpdemo.ui.uploads import (
    LARGEST_REQUEST,
    LARGEST_UPLOAD,
    UPLOAD_COOKIE,
    UploadGuard,
    UploadQuota,
    private_uploads,
)
from tests.fakes import USUAL_OPTIONS, FakePredictor

PASSWORD = "correct horse battery"


@pytest.fixture(scope="module")
def served(tmp_path_factory) -> Iterator[tuple[TestClient, str, str]]:
    """Both mounts, and the tokens of two who are signed in."""
    folder = tmp_path_factory.mktemp("served")
    services = open_annotation(f"sqlite:///{folder / 'kpdemo.db'}")
    services.accounts.add_user("root", password=PASSWORD, is_administrator=True)
    services.accounts.add_user("other", password=PASSWORD)
    token, other = (services.sign_ins.sign_in(name, PASSWORD, "127.0.0.1") for name in ("root", "other"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADIO_TEMP_DIR", str(folder / "uploads"))
        server = app.build_server(
            app.AppContext({"first": "first phrases"}, FakePredictor, annotation=services)
        )
        with TestClient(server) as client:  # the queue works from the start of the server on
            yield client, token, other


@pytest.fixture
def client(served) -> TestClient:
    client, token, _ = served
    client.base_url = "http://localhost"
    client.cookies.clear()
    client.cookies.set(COOKIE, token)
    return client


def upload(client: TestClient, under: str) -> str:
    answer = client.post(f"{under}/gradio_api/upload", files={"files": ("pairs.tsv", b"id\ttype\n")})
    assert answer.status_code == 200
    [path] = answer.json()
    assert Path(path).is_file()
    return path


@pytest.mark.slow
def test_an_upload_of_annotation_is_not_served_to_the_public(client):
    path = upload(client, "/annotate")
    assert client.get(f"/annotate/gradio_api/file={path}").status_code == 200
    client.cookies.clear()
    assert client.get(f"/gradio_api/file={path}").status_code == 403


def test_an_upload_of_the_public_page_is_served_there(client):
    path = upload(client, "")
    assert client.get(f"/gradio_api/file={path}").status_code == 200
    assert client.get(f"/annotate/gradio_api/file={path}").status_code == 403


def named_file(path: str) -> dict[str, Any]:
    """What a page sends for an upload."""
    return {"path": path, "url": path, "orig_name": "pairs.tsv", "meta": {"_type": "gradio.FileData"}}


def call_predict_files(client: TestClient, path: str) -> Any:
    return client.post(
        "/gradio_api/call/predict_files", json={"data": [[named_file(path)], "first", *USUAL_OPTIONS]}
    )


def join_import(client: TestClient, path: str) -> Any:
    """The event of *Import* under /annotate."""
    [event] = [
        fn for fn in gradio_app(client, "/annotate").get_blocks().fns.values() if fn.api_name == "import_file"
    ]
    body = {"data": [named_file(path), None], "fn_index": event._id, "session_hash": "a"}
    return client.post("/annotate/gradio_api/queue/join", json=body)


def gradio_app(client: TestClient, under: str) -> App:
    [found] = [route.app for route in client.app.routes if isinstance(route, Mount) and route.path == under]
    assert isinstance(found, App)
    return found


def test_an_upload_is_read_for_the_browser_that_sent_it(client):
    call = call_predict_files(client, upload(client, ""))
    assert "pairs.tsv" in client.get(f"/gradio_api/call/predict_files/{call.json()['event_id']}").text
    assert join_import(client, upload(client, "/annotate")).status_code == 200


def test_an_upload_of_another_browser_is_refused(client):
    """Also where somebody is signed in with the same account in both."""
    public, annotation = upload(client, ""), upload(client, "/annotate")
    for other in ("", "another-token"):
        del client.cookies[UPLOAD_COOKIE]
        client.cookies.set(UPLOAD_COOKIE, other)
        for refused in (call_predict_files(client, public), join_import(client, annotation)):
            assert refused.status_code == 403
            assert refused.json()["detail"].startswith("pairs.tsv is not a file that this browser uploaded")


def test_a_file_that_nobody_uploaded_on_the_page_is_refused(client, tmp_path):
    """As a file of the machine, one of the folder of uploads, and one from behind the sign-in."""
    own = upload(client, "")
    lost = Path(own).with_name("lost.txt")
    lost.write_text("Graph kernels compare molecules by their common substructures.")
    for path in (
        "/etc/passwd",
        str(lost),
        f"{own}/../lost.txt",
        upload(client, "/annotate"),
        "",
        "pairs.tsv",
    ):
        assert call_predict_files(client, path).status_code == 403


def test_what_one_account_uploaded_no_other_may_read(served, client):
    """Nor in the same browser, where somebody else signs in."""
    path = upload(client, "/annotate")
    client.cookies.set(COOKIE, served[2], domain="localhost.local")
    assert client.get(f"/annotate/gradio_api/file={path}").status_code == 403
    assert join_import(client, path).status_code == 403


def test_a_page_of_one_account_is_followed_by_no_other(served, client):
    def join() -> int:
        body = {"data": [], "fn_index": 0, "session_hash": "of-root"}
        return client.post("/annotate/gradio_api/queue/join", json=body).status_code

    assert join() == 200
    client.cookies.set(COOKIE, served[2], domain="localhost.local")
    assert join() == 403
    for address in ("queue/data?session_hash=of-root", "heartbeat/of-root"):
        answer = client.get(f"/annotate/gradio_api/{address}")
        assert answer.status_code == 403
        assert answer.json() == {"detail": "This page was opened by somebody else: open it again."}


@pytest.mark.parametrize("under", ["", "/annotate"])
def test_addresses_that_no_page_asks_for_answer_nobody(client, under):
    for address in ("dev/reload", "deep_link?session_hash=a", "run-history/x", "stream/a/b/1/playlist-file"):
        assert client.get(f"{under}/gradio_api/{address}").status_code == 404
    assert client.post(f"{under}/gradio_api/call/v2/predict", json={}).status_code == 404


# Addresses of other servers


class Trap(ThreadingHTTPServer):
    """A server that nobody should ask for anything."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        super().__init__(("127.0.0.1", 0), TrapHandler)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/pairs.tsv"


class TrapHandler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.requests.append(self.path)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"id\ttype\n")

    do_HEAD = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def trap(monkeypatch) -> Iterator[Trap]:
    """The trap, which Gradio takes for a server of the public internet."""

    async def validate(hostname: str) -> str:
        return hostname

    monkeypatch.setattr(processing_utils, "PUBLIC_HOSTNAME_WHITELIST", ["127.0.0.1"])
    monkeypatch.setattr(safehttpx, "async_validate_url", validate)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with Trap() as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def text_page() -> Pages:
    with Pages() as pages:
        text = gr.Textbox()
        text.submit(str, text, text, api_name="repeat")
    return pages


def ask_for_address(client: TestClient, address: str) -> None:
    with client:
        call = client.post("/gradio_api/call/repeat", json={"data": [named_file(address)]})
        if call.status_code == 200:
            client.get(f"/gradio_api/call/repeat/{call.json()['event_id']}")
        client.get(f"/gradio_api/file={address}")


def test_gradio_by_itself_fetches_what_anyone_names_and_our_pages_do_not(trap):
    alone, ours = FastAPI(), FastAPI()
    gr.mount_gradio_app(alone, text_page(), path="/")
    mount_pages(ours, text_page, "/", max_file_size="1mb", scripts=["main.js"])
    ask_for_address(TestClient(ours), trap.address)
    assert trap.requests == []
    ask_for_address(TestClient(alone), trap.address)
    assert trap.requests == ["/pairs.tsv"] * 2


def taking_routes(pages: App) -> list[str]:
    """Every address of Gradio's that takes something, uploads apart."""
    found = [route.path for route in iter_route_contexts(pages.routes) if "POST" in (route.methods or ())]
    found.remove("/gradio_api/upload")
    for expected in (
        "queue/join",
        "call/{api_name}",
        "call/v2/{api_name}",
        "run/{api_name}",
        "api/{api_name}",
    ):
        assert f"/gradio_api/{expected}" in found
    return found


@pytest.mark.parametrize("under", ["", "/annotate"])
def test_no_event_fetches_an_address(client, trap, under):
    """In any input, alone, in a list and in a dict, by any address that takes something."""
    pages = gradio_app(client, under)
    file = named_file(trap.address)
    shapes = cycle([file, [file], {"value": {"video": file}}])
    routes = taking_routes(pages)
    by_name = cycle(route for route in routes if route.endswith("{api_name}"))
    events = pages.get_blocks().config["dependencies"]
    assert len(events) > 50

    def check(route: str, event: dict[str, Any], body: dict[str, Any]) -> None:
        address = route.format(api_name=event["api_name"], event_id="1")
        common = {"fn_index": event["id"], "session_hash": "a", "component_id": 1, "fn_name": "ls"}
        assert client.post(f"{under}{address}", json={**common, **body}).status_code in (403, 404)

    for event in events:
        inputs: list[Any] = [None] * len(event["inputs"])
        for place in range(len(inputs)):
            data = [*inputs[:place], next(shapes), *inputs[place + 1 :]]
            check("/gradio_api/queue/join", event, {"data": data})
        check(next(by_name), event, {"data": [next(shapes), *inputs[1:]]})
    for route in routes:
        check(route, events[0], {"data": [file]})
    check("/gradio_api/queue/join", events[0], {"data": [], "event_data": file})
    check("/gradio_api/call/v2/{api_name}", events[0], {"text": file})
    assert trap.requests == []


@pytest.mark.parametrize("under", ["", "/annotate"])
@pytest.mark.parametrize("route", ["file=", "file/", "proxy=", "stream/"])
def test_no_address_is_fetched_by_name(client, trap, under, route):
    for address in (trap.address, trap.address.replace(":", "%3A").replace("/", "%2F")):
        for method in ("GET", "HEAD"):
            assert client.request(method, f"{under}/gradio_api/{route}{address}").status_code in (403, 404)
    assert trap.requests == []


def test_no_spelling_of_a_request_hides_an_address(client, trap):
    text = json.dumps({"data": [[named_file(trap.address)], "first"]})
    twice = text.replace('"path"', f'"path": {json.dumps(upload(client, ""))}, "path"')
    for body in (
        text.replace('"path"', '"p\\u0061th"').encode(),
        text.encode("utf-16"),
        text.encode("utf-8-sig"),
        twice.encode(),
        f"{'[' * 5000}{text}{']' * 5000}".encode(),
    ):
        for kind in ("application/json", "application/vnd.api+json", "text/plain", "multipart/form-data"):
            answer = client.post(
                "/gradio_api/call/predict_files", content=body, headers={"Content-Type": kind}
            )
            assert answer.status_code in (400, 403)
    assert trap.requests == []


# The guard


def test_a_request_that_is_too_large_is_refused_before_it_is_all_read():
    async def nothing(*_: object) -> None:
        raise AssertionError

    pieces = iter([b" " * (LARGEST_REQUEST // 2)] * 9)
    sent = []

    async def receive() -> Message:
        return {"type": "http.request", "body": next(pieces), "more_body": True}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/gradio_api/queue/join", "headers": []}
    asyncio.run(UploadGuard(nothing, folder=Path())(scope, receive, send))
    assert sent[0]["status"] == 413
    assert sent[1]["body"] == b'{"detail":"The request is too large: send at most 16,777,216 bytes."}'
    assert len([*pieces]) == 6


def test_the_cookie_comes_with_the_page_so_that_first_uploads_at_once_share_it(client):
    [cookie] = client.get("/").headers.get_list("set-cookie")
    assert cookie.startswith(f"{UPLOAD_COOKIE}=")
    assert {"HttpOnly", "Path=/", "SameSite=Lax"} <= {*cookie.split("; ")}
    for path in ("/", "/annotate/"):
        assert "set-cookie" not in client.get(path).headers
    answer = client.post("/gradio_api/upload", files={"files": ("pairs.tsv", b"id")})
    assert "set-cookie" not in answer.headers


def test_in_the_frame_of_a_space_browsers_keep_the_cookie(client):
    client.base_url = "https://localhost"
    [cookie] = client.get("/").headers.get_list("set-cookie")
    assert cookie.startswith(f"__Host-{UPLOAD_COOKIE}=")
    assert {"HttpOnly", "Path=/", "Secure", "SameSite=None", "Partitioned"} <= {*cookie.split("; ")}


def test_of_too_many_uploads_the_oldest_are_forgotten(tmp_path):
    async def keep(scope: Scope, receive: Receive, send: Send) -> None:
        paths = [f"/uploads/{number}" for number in range(3)] if scope["path"].endswith("upload") else []
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": json.dumps(paths).encode()})

    client = TestClient(UploadGuard(keep, folder=tmp_path, most_uploads=2))
    client.post("/gradio_api/upload", content=b"three files")
    statuses = [client.post("/", json=named_file(f"/uploads/{number}")).status_code for number in range(3)]
    assert statuses == [403, 200, 200]


# How much


HERE = "192.0.2.7"


def test_an_upload_that_is_too_large_is_refused_before_it_is_read(client):
    def never() -> Iterator[bytes]:
        raise AssertionError
        yield b""

    headers = {"content-length": str(LARGEST_UPLOAD + 1)}
    answer = client.post("/gradio_api/upload", content=never(), headers=headers)
    assert answer.status_code == 413
    assert answer.json()["detail"] == "An upload has at most 134,217,728 bytes: send fewer files at once."
    assert client.post("/gradio_api/upload", content=never()).status_code == 411


def test_an_address_may_upload_so_much_in_an_hour(tmp_path):
    now = 0.0
    quota = UploadQuota(tmp_path, of_address=1000, clock=lambda: now)
    assert quota.refusal(HERE, 600) is None
    quota.count(HERE, 600, 0)
    refused = quota.refusal(HERE, 600)
    assert refused is not None
    assert refused.status_code == 429
    assert refused.headers["retry-after"] == "720"  # a fifth of an hour, for 200 of 1,000
    assert quota.refusal("192.0.2.8", 600) is None
    now = 720.0
    assert quota.refusal(HERE, 600) is None


def test_many_small_files_count_too(tmp_path):
    quota = UploadQuota(tmp_path, of_address=1_000_000)
    assert quota.refusal(HERE, 20) is None
    quota.count(HERE, 20, 1_000)
    assert quota.refusal(HERE, 20) is not None


def test_all_uploads_together_have_a_limit_and_room_comes_back(tmp_path):
    """Those that are on their way count as well, or many at once would pass it."""
    quota = UploadQuota(tmp_path, stored=1000)
    lying = tmp_path / "folder" / "pairs.tsv"
    lying.parent.mkdir()
    lying.write_bytes(b" " * 500)
    assert quota.refusal(HERE, 300) is None
    refused = quota.refusal("192.0.2.8", 300)
    assert refused is not None
    assert refused.status_code == 507
    quota.count(HERE, 300, 0)
    assert quota.refusal("192.0.2.8", 300) is None


def test_a_subscriber_of_ipv6_is_one_address():
    near, far = ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9"), "2001:db8:1:3::1"
    assert len({uploads.network_of({"client": (host, 1)}) for host in near}) == 1
    assert uploads.network_of({"client": (far, 1)}) != uploads.network_of({"client": (near[0], 1)})


def test_a_body_that_does_not_go_on_is_given_up(client, monkeypatch):
    """It would keep what is counted for it."""
    monkeypatch.setattr(uploads, "PATIENCE", 0.05)
    sent: list[Message] = []

    async def receive() -> Message:
        await asyncio.sleep(60)
        raise AssertionError

    async def send(message: Message) -> None:
        sent.append(message)

    async def read(scope: Scope, receive: Receive, send: Send) -> None:
        await Request(scope, receive).body()

    for path in ("/gradio_api/upload", "/gradio_api/queue/join"):
        scope = {"type": "http", "method": "POST", "path": path, "headers": [(b"content-length", b"9")]}
        asyncio.run(UploadGuard(read, folder=Path())(scope, receive, send))
    assert [message["status"] for message in sent if "status" in message] == [408, 408]


def test_uploads_of_a_killed_server_go_at_the_next_start(tmp_path, monkeypatch):
    monkeypatch.setenv("GRADIO_TEMP_DIR", "")
    code = f"""
import os, signal
from pathlib import Path
from kpdemo.ui.uploads import private_uploads
with private_uploads(Path({str(tmp_path)!r})) as folder:
    (folder / "pairs.tsv").write_text("id")
    os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", code], cwd=Path(app.__file__).parent, check=False)
    [left] = tmp_path.iterdir()
    with private_uploads(tmp_path) as first:
        assert not left.exists()
        with private_uploads(tmp_path):
            assert first.exists()
    assert [*tmp_path.iterdir()] == []
