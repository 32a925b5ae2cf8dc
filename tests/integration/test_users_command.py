"""`python -m annotation user …`"""

from __future__ import annotations

import io
import json
import sys
from datetime import UTC, datetime

import pytest

from annotation.services.accounts import AccountService, InvitationService
from annotation.services.sign_in import SignInService
from annotation.services.tokens import TokenService
from annotation.types import Role
from db import Database
from tests.commands import main
from tests.people import CHEAP, HERE, PASSWORD, add_project


@pytest.fixture
def call(sqlite_database: Database, monkeypatch, capsys):
    """Run `python -m annotation user …`: its status, output and standard error."""

    def run(*arguments: str, stdin: bytes = b"") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        status = main(["user", *arguments, "--database-url", f"sqlite:///{sqlite_database.url.database}"])
        out, err = capsys.readouterr()
        return status, out, err

    return run


def test_an_account_is_added_by_a_link(call, sqlite_database):
    status, out, err = call("add", "Ana", "--administrator", "--address", "https://rate.example/")
    assert status == 0
    assert out.startswith("https://rate.example/invitation/")
    assert out.count("\n") == 1  # nothing but the link, for scripts
    assert err == "For Ana, valid once within 7 days:\n"
    invitations = InvitationService(sqlite_database, passwords=CHEAP)
    invitations.accept_invitation(out.strip().rpartition("/")[2], "", PASSWORD)
    assert AccountService(sqlite_database).require("Ana", None)


def test_a_link_has_the_address_of_the_variable_and_a_guess_is_called_one(call, monkeypatch):
    guess = "for a server at another address give --address or the variable KPDEMO_ADDRESS"
    monkeypatch.delenv("KPDEMO_ADDRESS", raising=False)
    _, out, err = call("add", "Ana")
    assert out.startswith("http://127.0.0.1:7860/invitation/")
    assert err == f"For Ana, valid once within 7 days; {guess}:\n"
    monkeypatch.setenv("KPDEMO_ADDRESS", "http://localhost:8000")
    _, out, err = call("invite", "Ana")
    assert out.startswith("http://localhost:8000/invitation/")
    assert guess not in err


@pytest.mark.parametrize(
    "address",
    [
        "",
        "rate.example",
        "http://",
        "ftp://x",
        "http://h:99999",
        "http://h:x",
        "http://a b",
        "http://h?a=1",
        "http://[",
    ],
)
def test_an_address_that_makes_no_link_is_a_wrong_call_and_nothing_is_made(call, address):
    for command in ("add", "invite"):
        status, out, err = call(command, "Ana", "--address", address)
        assert (status, out) == (2, "")
        assert err.startswith("--address must be like http://127.0.0.1:7860 or ")
    assert json.loads(call("list", "--json")[1]) == []


def test_an_account_is_added_with_a_password_from_standard_input(call, sqlite_database):
    password = "größer als zehn"
    status, out, _ = call("add", "Ben 😀", "--password-stdin", stdin=f"{password}\r\n".encode())
    assert (status, out) == (0, "Added Ben 😀.\n")
    SignInService(sqlite_database).sign_in("Ben 😀", password, HERE)


def test_accounts_are_listed_as_json(call):
    call("add", "Ana")
    call("disable", "ana")
    [row] = json.loads(call("list", "--json")[1])
    assert row.pop("created_at").endswith("+00:00")
    assert row == {
        "name": "Ana",
        "administrator": False,
        "disabled": True,
        "has_password": False,
        "roles": [],
    }
    assert call("list")[1] == "Ana\tdisabled\n"


def test_an_account_is_renamed(call):
    call("add", "Ama")
    assert call("rename", "ama", "Ana") == (0, "Ama is now called Ana, and signs in with that name.\n", "")
    assert call("rename", "Ana", "ANA") == (0, "Ana is now called ANA, and signs in with that name.\n", "")
    assert call("rename", "ana", " ANA ") == (0, "ANA is called that already: nothing has changed.\n", "")
    assert [row["name"] for row in json.loads(call("list", "--json")[1])] == ["ANA"]


def test_a_link_to_a_project_is_printed(call, sqlite_database, clock):
    add_project(sqlite_database, clock(), "News")
    status, out, _ = call("invite", "--project", "news", "--role", "adjudicator")
    assert status == 0
    offer = InvitationService(sqlite_database).invitation(out.strip().rpartition("/")[2])
    assert (offer.project, offer.role) == ("News", Role.ADJUDICATOR)


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (["disable", "Eve"], 1, "There is no account named 'Eve'"),
        (["invite"], 2, "Whom to invite?"),
        (["invite", "--role", "rater"], 2, "in which project?"),
        (["invite", "--project", "none"], 1, "none"),
        (["add", "a\u202eb"], 1, "U+202E"),
        (["add", "Ana", "--password-stdin"], 1, "0 characters"),
        (["password", "Ana"], 2, "--password-stdin"),
        (["promote"], 2, "NAME"),
    ],
)
def test_a_call_that_cannot_be_done_is_one_sentence(call, arguments, status, sentence):
    got, out, err = call(*arguments)
    assert (got, out) == (status, "")
    assert sentence in err
    assert len(err.splitlines()) == 1


def test_the_last_administrator_stays_on_the_command_line_too(call):
    call("add", "root", "--password-stdin", stdin=PASSWORD.encode())
    assert call("promote", "root")[0] == 0
    for command in ("disable", "demote"):
        status, _, err = call(command, "root")
        assert status == 1
        assert "last administrator" in err


def test_a_password_that_is_no_text_is_explained(call):
    status, _, err = call("add", "Ana", "--password-stdin", stdin=b"\xff\xfe" * 10)
    assert (status, "not UTF-8" in err) == (2, True)


def test_open_links_are_listed_and_revoked(call, sqlite_database):
    add_project(sqlite_database, datetime(2026, 1, 1, tzinfo=UTC), "News")
    call("add", "Ana")
    call("invite", "--project", "News")
    call("invite", "--project", "News", "--note", "Mia")
    listed = json.loads(call("invitations", "--json")[1])
    assert [(link["name"], link["note"], link["project"], link["role"]) for link in listed] == [
        (None, "Mia", "News", "rater"),
        (None, "", "News", "rater"),
        ("Ana", "", None, None),
    ]
    assert call("revoke", str(listed[2]["number"])) == (0, "", "")
    [meant, line] = call("invitations")[1].splitlines()
    assert meant.startswith(f"{listed[0]['number']}\tanybody (Mia)\tNews: rater")
    assert line.startswith(f"{listed[1]['number']}\tanybody\tNews: rater\tuntil 20")
    for number in ("99", "0", "9" * 24):
        status, _, errors = call("revoke", number)
        assert status == 1
        assert errors == f"There is no open link with the number {number}: see the list of them.\n"


def test_a_token_is_shown_once_listed_and_revoked(call, sqlite_database):
    call("add", "Ana")
    status, out, err = call("token", "Ana", "--for", "nightly export", "--days", "90")
    assert (status, out.count("\n"), err) == (0, 1, "For Ana, shown only now:\n")
    assert TokenService(sqlite_database).user_of(out.strip()).name == "Ana"
    _, listed, _ = call("tokens", "Ana")
    assert listed.startswith("1\tnightly export\tmade ")
    assert out.strip() not in listed
    [told] = json.loads(call("tokens", "Ana", "--json")[1])
    assert (told["number"], told["name"]) == (1, "nightly export")
    assert call("revoke-token", "Ana", "1")[0] == 0
    assert TokenService(sqlite_database).user_of(out.strip()) is None
    status, _, err = call("revoke-token", "Ana", "1")
    assert (status, "Ana has no token 1" in err) == (1, True)
    assert call("token", "Ana", "--for", "x", "--days", "0")[0] == 1
