"""The ES modules of the pages: where a page finds its own, what they import, how long they are kept."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urljoin

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from annotation.ui import pages as annotation_pages
from kpdemo.ui.page import CLOSED_DOCS, SCRIPTS, Pages, add_scripts, mount_pages

FOLDERS = {"kpdemo": SCRIPTS, "annotation": annotation_pages.SCRIPTS}
IMPORT = re.compile(r'(?:\b(?:import|from) |: )"(\.[^"]+\.js)"')
"""Also what the entry module of annotation imports by the name of the page."""
ENTRY = re.compile(r'window\.kpdemo = import\("(.+?)"\)')
AHEAD = re.compile(r'<link rel="modulepreload" href="(.+?)">')


def new_site(folders: dict[str, Path] = FOLDERS) -> FastAPI:
    """A public page and one under /annotate, each with its entry module."""
    site = FastAPI(**CLOSED_DOCS)
    scripts = add_scripts(site, folders)
    for path, name in (("/annotate", "annotation"), ("/", "kpdemo")):
        mount_pages(site, Pages, path, max_file_size="1mb", scripts=scripts[name])
    return site


def head_of(client: TestClient, page: str) -> str:
    return client.get(f"{page}config").json()["head"]


def entry_of(client: TestClient, page: str) -> str:
    """The address of the module that a page loads."""
    [script] = ENTRY.findall(head_of(client, page))
    return urljoin(page, script)


def load(client: TestClient, address: str, loaded: dict[str, str]) -> dict[str, str]:
    """The text of a module and of all that it imports, by address."""
    answer = client.get(address)
    assert answer.status_code == 200, address
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    loaded[address] = answer.text
    for imported in IMPORT.findall(answer.text):
        if (other := urljoin(address, imported)) not in loaded:
            load(client, other, loaded)
    return loaded


@pytest.mark.parametrize("root", ["", "/under/a/path"])
def test_each_page_finds_its_modules_and_each_module_is_a_page_s(root):
    site = new_site()
    if root:
        outer = FastAPI()
        outer.mount(root, site)
        site = outer
    client = TestClient(site)
    loaded: dict[str, str] = {}
    for page in (f"{root}/", f"{root}/annotate/"):
        load(client, entry_of(client, page), loaded)
        ahead = {urljoin(page, address) for address in AHEAD.findall(head_of(client, page))}
        assert entry_of(client, page) in ahead <= loaded.keys()
    served = {path.name for folder in FOLDERS.values() for path in folder.rglob("*.js")}
    assert {address.rpartition("/")[2] for address in loaded} == served
    assert len(loaded) == sum(len(list(folder.rglob("*.js"))) for folder in FOLDERS.values())
    assert not any("console." in text for text in loaded.values())


def test_a_module_that_changes_has_another_address(tmp_path):
    script = tmp_path / "main.js"
    script.write_text("export const number = 1;")
    addresses = []
    for text in ("export const number = 1;", "export const number = 2;", "export const number = 1;"):
        script.write_text(text)
        addresses += add_scripts(FastAPI(), {"kpdemo": tmp_path})["kpdemo"]
    assert addresses[0] == addresses[2] != addresses[1]


def test_what_is_no_module_is_not_served():
    client = TestClient(new_site())
    address = entry_of(client, "/")
    for other in ("none.js", "../style.css", "../../examples.json"):
        assert client.get(urljoin(address, other)).status_code == 404
