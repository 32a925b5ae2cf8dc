"""Wrong lines of training pairs, check pairs and larger items: on the page and the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from annotation.services.accounts import AccountService
from annotation.services.bundle import Services, open_services
from annotation.types import NewPair
from annotation.ui.quality import QualityHandlers
from annotation.ui.writing import ItemsHandlers
from tests.commands import main
from tests.writers import TYPE, Office, open_office, sentence

PAIRS = f"""id,type,left,right,grade
a,{TYPE},Fine.,fine,1
b,{TYPE},,fine,1
c,a2b,Fine.,fine,1
d,{TYPE},Fine.,fine,4.1
e,word2sense,mouse#n,mouse%1,1
f,{TYPE},The project's.,the project's,1
g,{TYPE},Fine too.,fine too,
h,{TYPE},Good.,good,2
"""
ITEMS = f"""id,type,text
x,{TYPE},{sentence(70)}
y,{TYPE},
z,a2b,{sentence(71)}
v,{TYPE},Short.
item 1,{TYPE},{sentence(72)}
x,{TYPE},{sentence(73)}
w,{TYPE},{sentence(74)}
"""


@pytest.fixture
def office(sqlite_database) -> Office:
    AccountService(sqlite_database).add_user("root", is_administrator=True)
    office = open_office(sqlite_database, items=3)
    pair = NewPair("p", TYPE, "The project's.", "the project's")
    open_services(sqlite_database).importing.import_pairs(office.project.id, [pair])
    return office


@pytest.fixture
def services(office) -> Services:
    return open_services(office.database)


@pytest.fixture
def said(office, tmp_path, capsys, monkeypatch) -> Callable[..., str]:
    """What a command that failed said on standard error, in one line."""
    monkeypatch.chdir(tmp_path)
    url = f"sqlite:///{office.database.url.database}"

    def run(*arguments: str) -> str:
        assert main([*arguments, "ferries", "f.csv", "--database-url", url]) == 1
        return " ".join(capsys.readouterr().err.split())

    return run


def write(content: str, tmp_path: Path) -> str:
    path = tmp_path / "f.csv"
    path.write_text(content, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("kind", ["training", "checks"])
def test_wrong_lines_of_known_pairs_are_counted(office, services, said, tmp_path, kind):
    path = write(PAIRS, tmp_path)
    handlers = QualityHandlers(
        services.accounts,
        services.projects,
        services.quality,
        services.known_pairs,
        services.dictionary,
        services.work,
    )
    asked = SimpleNamespace(username="root", query_params={"project": str(office.project.id)})
    bring = {"training": handlers.import_training, "checks": handlers.import_checks}[kind]
    page = bring(asked, path)[0]
    assert "<b>Nothing was imported.</b> 6 lines cannot be imported; " in page
    assert page.count("<li>f.csv, line ") == 5
    told = said(kind, "import")
    assert "6 lines cannot be imported; " in told
    places = (
        "line 3, field 'left'",
        "line 4, field 'type'",
        "line 5, field 'grade'",
        "line 6, field 'right'",
    )
    found = [told.index(f"f.csv, {place}") for place in places]
    assert found == sorted(found)
    assert "line 7: the pair 'f' is a pair of the project too" in told
    assert services.known_pairs.known(office.project.id) == ()


def test_wrong_lines_of_larger_items_are_counted(office, services, said, tmp_path):
    path = write(ITEMS, tmp_path)
    handlers = ItemsHandlers(services.accounts, services.projects, services.items)
    asked = SimpleNamespace(username="eda", query_params={"project": str(office.project.id)})
    page = handlers.import_file(asked, path, "")[0]
    assert "<b>Nothing was imported.</b> 5 lines cannot be imported; these are:" in page
    assert page.count("<li>f.csv, line ") == 5
    told = said("items", "import")
    for part in ("5 lines cannot be imported", "line 3", "line 4", "line 5", "line 6", "line 7"):
        assert part in told
    assert services.items.count(office.project.id) == 3
