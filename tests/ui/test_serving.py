"""`python app.py` at the terminal: where it serves, and why it cannot."""

from __future__ import annotations

import socket

import pytest
from fastapi import FastAPI, Request
from fastapi.testclient import TestClient

import app
from kpdemo.ui.serving import add_documentation, listen, server_config


@pytest.fixture
def taken_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def test_a_port_in_use_is_one_sentence(taken_port, capsys):
    assert app.main(["--port", str(taken_port)]) == 1
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err == f"Port {taken_port} is in use: stop what uses it, or give another --port.\n"


def test_an_address_of_another_machine_is_one_sentence(capsys):
    assert app.main(["--host", "192.0.2.1", "--port", "0"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("Cannot serve on 192.0.2.1, port 0 (")
    assert error.endswith("): give another --host or --port.\n")
    assert error.count("\n") == 1


@pytest.mark.parametrize("port", ["65536", "-1", "http"])
def test_a_number_that_is_no_port_is_a_wrong_call(port, capsys):
    with pytest.raises(SystemExit, match="2"):
        app.main([f"--port={port}"])
    assert "argument --port" in capsys.readouterr().err


def test_an_answer_does_not_wait_until_the_reader_has_acknowledged_its_beginning():
    with listen("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        connection, _ = listener.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def readers_address(peer: str, forwarded: str, *, behind_proxy: bool) -> str:
    """Who asks, as the limits by address see it, of a request that `peer` passes on."""
    pages = FastAPI()

    @pages.get("/")
    def answer(request: Request) -> str:
        return request.client.host

    config = server_config(pages, behind_proxy=behind_proxy)
    config.load()
    client = TestClient(config.loaded_app, client=(peer, 40_000))
    return client.get("/", headers={"X-Forwarded-For": forwarded}).json()


@pytest.mark.parametrize("forged", ["", "198.51.100.1, ", "198.51.100.2, 10.0.0.9, ", "nonsense, "])
def test_in_a_space_nobody_writes_their_own_address(forged, monkeypatch):
    monkeypatch.delenv("FORWARDED_ALLOW_IPS", raising=False)
    passed_on = f"{forged}203.0.113.9, 10.16.0.3"
    assert readers_address("10.16.4.7", passed_on, behind_proxy=True) == "203.0.113.9"
    assert readers_address("203.0.113.9", passed_on, behind_proxy=True) == "203.0.113.9", "no proxy of ours"


def test_elsewhere_only_this_machine_is_a_proxy(monkeypatch):
    monkeypatch.delenv("FORWARDED_ALLOW_IPS", raising=False)
    assert readers_address("127.0.0.1", "198.51.100.1, 203.0.113.9", behind_proxy=False) == "203.0.113.9"
    assert readers_address("10.16.4.7", "198.51.100.1", behind_proxy=False) == "10.16.4.7"


def test_the_documentation_is_served_once_it_has_been_built(tmp_path):
    server = FastAPI(docs_url=None)
    assert add_documentation(FastAPI(docs_url=None), tmp_path) == ""
    (tmp_path / "index.html").write_text("<title>kpdemo</title>", encoding="utf-8")
    assert add_documentation(server, tmp_path) == "docs/"
    assert "<title>kpdemo</title>" in TestClient(server).get("/docs/").text


def test_each_page_of_the_documentation_is_there_before_the_site_has_been_built(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "rater.md").write_text("# For *raters*", encoding="utf-8")
    (tmp_path / "docs" / "index.md").write_text("[Rate](rater.md)", encoding="utf-8")
    (tmp_path / "secret.md").write_text("secret", encoding="utf-8")
    server = FastAPI(docs_url=None)
    add_documentation(server, tmp_path / "site")
    client = TestClient(server)
    assert "For <em>raters</em>" in client.get("/docs/rater.html").text
    assert client.get("/docs/rater.md").text == client.get("/docs/rater.html").text  # as the pages link
    start = client.get("/docs")
    assert (start.url.path, start.status_code) == ("/docs/", 200)
    assert "run <code>make docs</code> and start the server again" in start.text
    assert '<a href="rater.md"' in start.text
    for missing in ("none.html", "..%2Fsecret.html", "rater.txt"):
        assert client.get(f"/docs/{missing}").status_code == 404
