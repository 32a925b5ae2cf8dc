"""The models over HTTP, from a server that runs: as the command, in turn with others, for who hangs up."""

from __future__ import annotations

import io
import json
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from threading import Event

import pytest
from anyio import create_task_group, run, sleep
from fastapi import FastAPI

import app
from kpdemo.api import requests
from kpdemo.api.queue import TOGETHER
from kpdemo.api.routes import MOST_OF_ADDRESS, MOST_REQUESTS, Api, Places, add_api
from kpdemo.cli import main
from kpdemo.errors import BusyError
from kpdemo.predictors import available_models, load_predictor
from kpdemo.types import Document, PredictionRequest
from kpdemo.ui.models import ModelShelf
from kpdemo.ui.serving import PageServer, add_health, address_of, listen, server_config
from kpdemo.worker import Stop
from tests.fakes import FakePredictor
from tests.processes import PATIENCE, wait_for

ROOT = Path(app.__file__).parent
TEXT = (
    "Graph kernels compare molecules by their common substructures. Kernels of graphs are fast, and a "
    "support vector machine learns which molecules are drugs."
)
JSON = {"Content-Type": "application/json"}
SERVED = "http://127.0.0.1:7860"
FENCE = re.compile(r"^```(bash|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@contextmanager
def served(pages: FastAPI) -> Iterator[str]:
    """The address at which `pages` are served meanwhile."""
    with listen("127.0.0.1", 0) as listener:
        server = PageServer(server_config(pages, behind_proxy=False))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield address_of(listener)
        finally:
            server.should_exit = True
            thread.join(PATIENCE)


def connect(address: str) -> HTTPConnection:
    return HTTPConnection(address.removeprefix("http://"), timeout=PATIENCE)


def ask(address: str, content: object, **headers: str) -> tuple[int, str, dict[str, str]]:
    """Status, body and headers of the answer of /api/predict."""
    with closing(connect(address)) as connection:
        connection.request("POST", "/api/predict", json.dumps(content).encode(), JSON | headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), dict(answer.headers)


def get(address: str, path: str) -> tuple[int, str]:
    """Status and body."""
    with closing(connect(address)) as connection:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


@pytest.fixture(scope="module")
def whole() -> Iterator[str]:
    """The address of the whole application, with the models that ship."""
    context = app.AppContext(available_models(), lambda name: load_predictor(name, device="cpu"))
    with served(app.build_server(context)) as address:
        yield address


@pytest.mark.parametrize(
    ("fields", "options"),
    [
        ({"model": "tfidf"}, ["--model=tfidf"]),
        ({"model": "tfidf", "title": "Graph kernels", "top_k": 3}, ["--model=tfidf", "--top-k=3"]),
        ({"model": "tfidf", "nested": False}, ["--model=tfidf", "--no-nested"]),
        ({"model": "first", "threshold": 0.2, "language": "en"}, ["--model=first", "--threshold=0.2"]),
        ({}, []),
        ({"nested": False, "top_k": 4}, ["--no-nested", "--top-k=4"]),
    ],
    ids=json.dumps,
)
def test_the_answer_is_what_the_command_prints(whole, fields, options, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
    title = [f"--title={fields['title']}"] if "title" in fields else []
    assert main(["predict", "-", "--json", "--device=cpu", *options, *title]) == 0
    printed = capsys.readouterr().out
    status, body, _ = ask(whole, {"text": TEXT} | fields)
    assert status == 200
    without_time = [re.sub(r'"seconds": [\d.]+', "", text) for text in (printed, body)]
    assert without_time[0] == without_time[1]


def test_the_models_of_the_command_are_listed(whole):
    rows = json.loads(get(whole, "/api/models")[1])["models"]
    assert {row["name"]: row["description"] for row in rows} == available_models()


def test_nothing_of_annotation_or_of_the_machine_is_reached(whole):
    for path in ("/api/../annotate/api/projects/1/queue", "/api/%2e%2e/annotate/", "/api//etc/passwd"):
        status, body = get(whole, path)
        assert (status, "nothing at this address" in body) == (404, True)


def examples() -> list[tuple[str, str]]:
    """The code of docs/api.md that asks a server: bash and Python."""
    found = FENCE.findall((ROOT / "docs" / "api.md").read_text(encoding="utf-8"))
    return [(language, code) for language, code in found if SERVED in code]


@pytest.mark.parametrize(("language", "code"), examples(), ids=lambda value: value[:30])
def test_the_examples_of_the_documentation_run_as_they_stand(whole, language, code):
    if language == "bash" and shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    code = code.replace(SERVED, whole)
    command = ["bash", "-ec", code] if language == "bash" else [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert "error" not in done.stdout
    assert "raph kernels" in done.stdout or '"default": true' in done.stdout


def test_both_ways_of_asking_are_among_the_examples():
    assert {language for language, _ in examples()} == {"bash", "python"}


class Held(FakePredictor):
    """Answers nothing but its warm-up before `go`; `read` are the titles in the order of their reading."""

    go = Event()
    read: list[str] = []  # noqa: RUF012 - cleared before each test

    def predict(self, documents, **options):
        if documents[0].title != "Warm-up":
            self.read.extend(document.title for document in documents)
            assert self.go.wait(PATIENCE)
        return super().predict(documents, **options)


@pytest.fixture
def held() -> Iterator[str]:
    """The address of a server whose model answers when `Held.go` is set."""
    Held.go.clear()
    Held.read.clear()
    pages, shelf = FastAPI(), ModelShelf({"default": "a fake"}, Held)
    shelf.warm_up()
    add_health(pages, lambda: shelf.state, lambda: "ok")
    add_api(pages, shelf)
    with served(pages) as address:
        try:
            yield address
        finally:
            Held.go.set()


def titled(title: str) -> dict[str, str]:
    return {"title": title, "text": TEXT}


def asked(pool: ThreadPoolExecutor, address: str, content: object) -> Future[tuple[int, str, dict[str, str]]]:
    """A request that waits for its answer in a thread; the model reads it already, or will next."""
    return pool.submit(ask, address, content)


def test_nothing_else_waits_for_a_model(held):
    address = held
    with ThreadPoolExecutor(2) as pool:
        first = asked(pool, address, titled("first"))
        assert wait_for(lambda: len(Held.read) == 1)
        second = asked(pool, address, titled("second"))  # both at once may be read together
        for path in ("/healthz", "/api/models"):
            assert get(address, path)[0] == 200
        assert ask(address, {"txt": ""})[0] == 422, "what cannot be answered is told at once"
        assert len(Held.read) == 1, "one at a time"
        Held.go.set()
        answers = [json.loads(future.result(PATIENCE)[1]) for future in (first, second)]
    assert [answer["text"] for answer in answers] == [f"{title}\n\n{TEXT}" for title in ("first", "second")]


def test_requests_over_the_bound_are_told_to_come_back(held):
    address = held
    more = 4
    with ThreadPoolExecutor(MOST_OF_ADDRESS + more) as pool:
        sent = [asked(pool, address, titled(str(number))) for number in range(MOST_OF_ADDRESS + more)]
        assert wait_for(lambda: sum(future.done() for future in sent) == more)
        refused = [future.result() for future in sent if future.done()]
        Held.go.set()
        assert sorted(future.result(PATIENCE)[0] for future in sent) == [200] * MOST_OF_ADDRESS + [503] * more
    for _, body, headers in refused:
        said = f"{MOST_OF_ADDRESS} other requests from your address are being answered"
        assert json.loads(body)["error"].startswith(said)
        assert int(headers["retry-after"]) > 0
    assert ask(address, titled("later"))[0] == 200


def send(address: str, content: object) -> socket.socket:
    """The connection on which a request was sent."""
    connection = connect(address)
    connection.request("POST", "/api/predict", json.dumps(content).encode(), JSON)
    assert connection.sock is not None
    return connection.sock


def is_full(address: str) -> bool:
    """Whether there is no place for one who would be answered, with a refusal, at once."""
    return ask(address, {"text": ""})[0] == 503


def test_who_hangs_up_gives_their_place_to_others(held):
    address = held
    with ThreadPoolExecutor(2) as pool:
        first = asked(pool, address, titled("first"))
        assert wait_for(lambda: Held.read == ["first"])
        gone = [send(address, titled(f"gone {number}")) for number in range(2 * MOST_REQUESTS)]
        assert wait_for(lambda: is_full(address))
        for connection in gone:
            connection.close()
        assert wait_for(lambda: not is_full(address))
        last = asked(pool, address, titled("last"))
        Held.go.set()
        assert [future.result(PATIENCE)[0] for future in (first, last)] == [200, 200]
    assert Held.read == ["first", "last"], "nothing was read for who had gone"


def begin(address: str) -> socket.socket:
    """The connection on which half of a request was sent."""
    connection = connect(address)
    connection.putrequest("POST", "/api/predict")
    for name, value in {**JSON, "Content-Length": "100"}.items():
        connection.putheader(name, value)
    connection.endheaders(b'{"text": "')
    assert connection.sock is not None
    return connection.sock


def test_who_has_not_sent_to_the_end_holds_no_place_and_who_hangs_up_meanwhile_is_no_error(held, caplog):
    sending = [begin(held) for _ in range(MOST_OF_ADDRESS - 1)]
    Held.go.set()
    assert ask(held, titled("whole"))[0] == 200
    sending.append(begin(held))
    assert wait_for(lambda: is_full(held)), "one address can send so many at once"
    for connection in sending:
        connection.close()
    assert wait_for(lambda: not is_full(held))
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def test_four_hundred_connections_that_say_nothing_keep_nobody_waiting(held):
    """Half of them have begun a header."""
    Held.go.set()
    silent = []
    for number in range(400):
        connection = connect(held)
        connection.connect()
        if number % 2:
            connection.sock.sendall(b"POST /api/predict HTTP/1.1\r\nHost:")
        silent.append(connection)
    assert ask(held, titled("whole"))[0] == 200
    for connection in silent:
        connection.close()


def test_one_address_cannot_take_all_places():
    places = Places(4, 2)
    with ExitStack() as stack:
        for address in ("first", "first", "second"):
            stack.enter_context(places.taken(address))
        with pytest.raises(BusyError, match="2 other requests from your address"):
            stack.enter_context(places.taken("first"))
        stack.enter_context(places.taken("second"))
        with pytest.raises(BusyError, match="4 other requests are"):
            stack.enter_context(places.taken("third"))
    with places.taken("first"):
        pass


def test_who_does_not_send_to_the_end_is_told_so(held, monkeypatch):
    monkeypatch.setattr(requests, "LONGEST_SENDING", 0.2)
    with closing(begin(held)) as connection:
        connection.settimeout(PATIENCE)
        assert connection.recv(1_000).startswith(b"HTTP/1.1 408 ")
    assert not is_full(held)


def test_the_rest_of_the_documents_of_who_hangs_up_is_not_read(held):
    address = held
    connection = send(address, {"documents": [titled(str(number)) for number in range(2 * TOGETHER + 1)]})
    assert wait_for(lambda: Held.read)
    read = [*Held.read]
    assert len(read) <= TOGETHER
    connection.close()
    time.sleep(1)  # the server hears of it, or not
    Held.go.set()
    assert ask(address, titled("next"))[0] == 200
    assert Held.read == [*read, "next"]


def test_the_server_stops_while_a_caller_waits():
    Held.go.clear()
    Held.read.clear()
    pages = FastAPI()
    add_api(pages, ModelShelf({"default": "a fake"}, Held))
    began = time.monotonic()
    with served(pages) as address:
        connection = send(address, titled("waits"))
        assert wait_for(lambda: Held.read == ["waits"])
    connection.close()
    Held.go.set()
    assert time.monotonic() - began < PATIENCE, "it did not wait for the answer"


async def ask_in_turns(api: Api) -> None:
    """Three questions of one request, and meanwhile that of another, which comes while the first is read."""

    async def many() -> None:
        for title in ("many 1", "many 2", "many 3"):
            await api.ask(PredictionRequest(Document(TEXT, title=title), "default"), Stop())

    async with create_task_group() as group:
        group.start_soon(many)
        while not Held.read:
            await sleep(0.01)
        group.start_soon(api.ask, PredictionRequest(Document(TEXT, title="one"), "default"), Stop())
        await sleep(0.05)  # it stands in the line
        Held.go.set()


def test_requests_take_turns_between_the_documents_of_one():
    Held.go.clear()
    Held.read.clear()
    run(ask_in_turns, Api(ModelShelf({"default": "a fake"}, Held)))
    assert Held.read == ["many 1", "one", "many 2", "many 3"]


def test_a_short_text_does_not_wait_for_a_long_one_of_another_program():
    Held.go.clear()
    Held.read.clear()
    api = Api(ModelShelf({"default": "a fake"}, FakePredictor, load_apart=Held))
    long, short = (PredictionRequest(Document(text, title="t"), "default") for text in (TEXT * 200, TEXT))

    async def both() -> None:
        async with create_task_group() as group:
            group.start_soon(api.ask, long, Stop())
            while not Held.read:
                await sleep(0.01)
            assert (await api.ask(short, Stop())).prediction.present
            Held.go.set()

    run(both)
