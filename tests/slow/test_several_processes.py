"""Two processes with one PostgreSQL behind nginx, set up as deploy/nginx.conf says; one of them is killed."""

from __future__ import annotations

import http.client
import re
import shutil
import socket
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.conftest import unavailable
from tests.raters import new_world
from tests.soak import Server, SoakRater, ask, check_acknowledged, url_of, wait_until_served

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
AROUND = """
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
    log_format where '$kpdemo_browser $upstream_addr $status $request_uri';
    access_log {folder}/access.log where;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    {conf}
}}
"""


def free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        return taken.getsockname()[1]


def as_tried(conf: str, port: int, ports: tuple[int, int]) -> str:
    """deploy/nginx.conf for a machine without certificates, on a port of its own."""
    plain = re.sub(r"server \{\n    listen 80;.*?\n\}\n", "", conf, flags=re.DOTALL)
    plain = re.sub(r"^ *(http2 on|ssl_certificate(_key)? .*?);.*\n", "", plain, flags=re.MULTILINE)
    for old, new in (
        ("listen 443 ssl;", f"listen 127.0.0.1:{port};"),
        ("127.0.0.1:7860", f"127.0.0.1:{ports[0]}"),
        ("127.0.0.1:7861", f"127.0.0.1:{ports[1]}"),
    ):
        assert plain.count(old) == 1, old
        plain = plain.replace(old, new)
    return plain


@contextmanager
def nginx(folder: Path, ports: tuple[int, int]) -> Iterator[int]:
    """The port of a proxy before `ports`."""
    program = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
    if program is None:
        unavailable("nginx is not installed: apt-get install nginx.")
    port = free_port()
    conf = as_tried((ROOT / "deploy/nginx.conf").read_text(encoding="utf-8"), port, ports)
    around = folder / "nginx.conf"
    around.write_text(AROUND.format(folder=folder, conf=conf), encoding="utf-8")
    process = subprocess.Popen([program, "-c", around, "-p", folder, "-e", folder / "error.log"])
    try:
        yield port
    finally:
        process.terminate()
        process.communicate()


def test_raters_go_on_when_one_of_two_processes_is_killed_and_no_grade_is_lost(postgresql_database, tmp_path):
    if shutil.which("nginx") is None and shutil.which("/usr/sbin/nginx") is None:
        unavailable("nginx is not installed: apt-get install nginx.")
    world = new_world(postgresql_database, pairs=2_000, raters=6, k=3)
    url = url_of(postgresql_database)
    servers = [Server(url, tmp_path), Server(url, tmp_path)]
    stop = threading.Event()
    raters = [SoakRater(world, rater) for rater in world.raters]
    try:
        with nginx(tmp_path, (servers[0].port, servers[1].port)) as port:
            for server in servers:
                wait_until_served(server.port)
            wait_until_served(port)
            what_the_proxy_does(port)
            each_browser_stays_with_one_process(port, tmp_path / "access.log")
            threads = [threading.Thread(target=rater.run, args=(lambda: port, stop)) for rater in raters]
            for thread in threads:
                thread.start()
            time.sleep(8)
            servers[0].kill()
            before = sum(rater.sent for rater in raters)
            time.sleep(8)
            assert sum(rater.sent for rater in raters) > before + 20, "work goes on with the other one"
            servers[0].restart()
            wait_until_served(servers[0].port)
            time.sleep(4)
            stop.set()
            for thread in threads:
                thread.join()
    finally:
        stop.set()
        for server in servers:
            server.close()
    assert [dict(rater.unexpected) for rater in raters] == [{}] * 6
    check_acknowledged(world, raters)
    print(sum(rater.sent for rater in raters), "grades,", sum(rater.repeated for rater in raters), "again")


def what_the_proxy_does(port: int) -> None:
    """Limits, compression, events at once, and no metrics for the world."""
    assert ask(port, "GET", "/metrics")[0] == 404
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    with closing(connection):
        connection.putrequest("POST", "/gradio_api/upload")
        connection.putheader("Content-Length", str(140 * 1024 * 1024))
        connection.endheaders()
        assert connection.getresponse().status == 413
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request("GET", "/theme.css", headers={"Accept-Encoding": "gzip"})
        answer = connection.getresponse()
        assert answer.getheader("content-encoding") == "gzip"
        assert re.fullmatch("[0-9a-f]{32}", answer.getheader("x-request-id"))
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request("GET", "/gradio_api/heartbeat/a-page")
        assert connection.getresponse().readline() == b"data: ALIVE\n", "while the answer is still open"


def each_browser_stays_with_one_process(port: int, log: Path) -> None:
    for number in range(12):
        cookie = {"Cookie": f"other=1; kpdemo-uploads=browser-{number}; kpdemo-session=x"}
        for path in ("/", "/healthz", "/config"):
            assert ask(port, "GET", path, headers=cookie)[0] == 200
    where = defaultdict(set)
    for line in log.read_text().splitlines():
        browser, upstream, *_ = line.split()
        if browser.startswith("browser-"):
            where[browser].add(upstream)
    assert len(where) == 12
    assert {len(upstreams) for upstreams in where.values()} == {1}
    assert len(set.union(*where.values())) == 2, "both have some"
