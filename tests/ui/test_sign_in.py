"""Signing in over HTTP: cookies, headers, what is answered to whom. A real server, and real requests."""

from __future__ import annotations

import html
import re
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import httpx
import pytest
import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from annotation.services.accounts import AccountService, InvitationService
from annotation.services.projects import ProjectService
from annotation.services.sign_in import SignInService
from annotation.services.tokens import TokenService
from annotation.types import ProjectSettings, Role, User
from annotation.web.responder import HOME, local_path
from annotation.web.sign_in import ENDED, KEPT, add_account_pages
from db import Database
from db.models import Base
from kpdemo.translation import LANGUAGE_COOKIE
from kpdemo.ui.serving import SecurityMiddleware
from tests.people import CHEAP, PASSWORD

PAGE = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
HTTPS = {"x-forwarded-proto": "https", "x-forwarded-for": "203.0.113.9"}
EVIL = "<script>alert(1)</script>"


def build_server(database: Database) -> FastAPI:
    """The account pages, and a page and two routes behind them that say who asks."""
    server = FastAPI()
    server.add_middleware(SecurityMiddleware)
    sign_ins = SignInService(database, passwords=CHEAP)
    guard = add_account_pages(
        server, sign_ins, InvitationService(database, passwords=CHEAP), TokenService(database)
    )

    @server.get("/annotate/")
    @server.get("/annotate/rate")
    def page(request: Request) -> HTMLResponse:
        return HTMLResponse(html.escape(f"page of {guard.current_user(request)}"))

    @server.get("/annotate/api/me")
    @server.post("/annotate/api/me")
    async def me(request: Request) -> dict[str, str | None]:
        return {"name": guard.current_user(request)}

    @server.get("/public/me")
    def public(request: Request) -> dict[str, str | None]:
        return {"name": guard.current_user(request)}

    return server


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    folder: Path = tmp_path_factory.mktemp("accounts")
    database = Database(f"sqlite:///{folder / 'test.db'}")
    Base.metadata.create_all(database.engine)
    yield database
    database.dispose()


@pytest.fixture(scope="module")
def accounts(database: Database) -> AccountService:
    service = AccountService(database, passwords=CHEAP)
    service.add_user("root", PASSWORD, is_administrator=True)
    return service


@pytest.fixture(scope="module")
def address(database: Database, accounts: AccountService) -> Iterator[str]:
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(build_server(database), log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    deadline = time.monotonic() + 30
    while not server.started and time.monotonic() < deadline:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    server.should_exit = True
    thread.join(10)


@pytest.fixture
def client(address: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=address) as client:
        yield client


@pytest.fixture
def ana(accounts: AccountService, request: pytest.FixtureRequest) -> User:
    """An account of the test's own."""
    return accounts.add_user(f"Ana {request.node.name}"[:80], PASSWORD)


def sign_in(client: httpx.Client, name: str, password: str = PASSWORD, **more: str) -> httpx.Response:
    return client.post("/sign-in", data={"name": name, "password": password, **more})


def cookie_lines(response: httpx.Response) -> dict[str, str]:
    """Every cookie that is set: name to the whole line."""
    return {line.partition("=")[0]: line for line in response.headers.get_list("set-cookie")}


def alert(response: httpx.Response) -> str:
    [text] = re.findall(r'role="alert">(.*?)</p>', response.text)
    return html.unescape(text)


# Where a sign-in leads


@pytest.mark.parametrize(
    "path", ["/annotate/", "/annotate/rate?project=3", "/annotate/rate?project=3&x=%2F%2Fevil", "/x#y", "/é"]
)
def test_a_path_of_this_site_is_kept(path):
    assert local_path(path) == path


@pytest.mark.parametrize(
    "address",
    [
        "//evil.example",
        "///evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "https://evil.example",
        "https:evil.example",
        "javascript:alert(1)",
        "evil.example",
        "/\t/evil.example",
        "/\n/evil.example",
        "\t//evil.example",
        " //evil.example",
        "/x\r\nSet-Cookie: a=b",
        "/\x00/evil",
        "/\u202e",
        "",
        None,
        "/" + "x" * 2000,
        "//[evil",
    ],
)
def test_another_sites_address_is_not(address):
    assert local_path(address) == HOME


@given(st.text(alphabet="/\\:.@?#%\t\n\r aé\u2028evil", max_size=12))
def test_no_text_leads_a_browser_away(text):
    # What browsers do first (WHATWG URL): drop tabs and newlines, strip, read \ as /.
    seen = re.sub(r"[\t\n\r]", "", local_path(text)).strip().replace("\\", "/")
    assert seen.startswith("/")
    assert not seen.startswith("//")


@pytest.mark.parametrize(
    "path", ["//evil.example", "https://evil.example", "/\\evil.example", "/\t/evil.example"]
)
def test_a_sign_in_leads_to_this_site_only(client, ana, path):
    shown = client.get("/sign-in", params={"next": path}).text
    assert "evil" not in shown
    assert sign_in(client, ana.name, next=path).headers["location"] == HOME
    assert client.get("/sign-in", params={"next": path}).headers["location"] == HOME


def test_a_sign_in_leads_back_to_where_one_was(client, ana):
    first = client.get("/annotate/rate?project=3&pair=a%20b", headers=PAGE)
    assert first.status_code == 303
    [wanted] = parse_qs(urlsplit(first.headers["location"]).query)["next"]
    assert wanted == "/annotate/rate?project=3&pair=a%20b"
    assert html.escape(wanted) in client.get(first.headers["location"]).text
    assert sign_in(client, ana.name, next=wanted).headers["location"] == wanted


# Cookies


def test_the_cookie_is_out_of_reach_of_scripts_and_of_other_sites(client, ana):
    response = sign_in(client, ana.name)
    assert response.status_code == 303
    lines = cookie_lines(response)
    assert set(lines) == {"kpdemo-session", "kpdemo-known"}
    for line in lines.values():
        assert {"HttpOnly", "Path=/", "SameSite=lax"} <= set(line.split("; "))
        assert "Secure" not in line  # a browser would not keep it on plain HTTP
        assert "Domain" not in line


def test_behind_a_proxy_with_https_the_cookie_is_secure_and_bound_to_the_host(client, ana):
    response = client.post("/sign-in", data={"name": ana.name, "password": PASSWORD}, headers=HTTPS)
    lines = cookie_lines(response)
    assert set(lines) == {"__Host-kpdemo-session", "__Host-kpdemo-known"}
    for line in lines.values():
        assert {"HttpOnly", "Path=/", "SameSite=lax", "Secure"} <= set(line.split("; "))
        assert "Domain" not in line
    token = lines["__Host-kpdemo-session"].partition("=")[2].partition(";")[0]
    named = {"cookie": f"__Host-kpdemo-session={token}"}
    assert client.get("/public/me", headers={**HTTPS, **named}).json()["name"] == ana.name
    planted = {"cookie": f"kpdemo-session={token}"}  # what a site of the same domain could set
    assert client.get("/public/me", headers={**HTTPS, **planted}).json()["name"] is None


def test_a_sign_out_ends_the_session_on_the_server_too(client, ana, address):
    sign_in(client, ana.name)
    token = client.cookies["kpdemo-session"]
    response = client.post("/sign-out")
    assert response.headers["location"] == "/sign-in?out"
    assert "Max-Age=0" in cookie_lines(response)["kpdemo-session"]
    stale = {"cookie": f"kpdemo-session={token}"}
    assert httpx.get(f"{address}/public/me", headers=stale).json() == {"name": None}
    assert "You are signed out." in client.get("/sign-in?out").text


def test_a_sign_out_is_no_link(client, ana):
    sign_in(client, ana.name)
    assert client.get("/sign-out").status_code == 405
    assert client.get("/annotate/api/me").json() == {"name": ana.name}


# What is answered to whom


def test_a_page_without_a_session_leads_to_the_sign_in(client):
    response = client.get("/annotate/", headers=PAGE)
    assert (response.status_code, response.headers["location"]) == (303, "/sign-in?next=/annotate/")


@pytest.mark.parametrize(
    "path", ["/annotate/api/me", "/annotate/gradio_api/info", "/annotate/config", "/annotate/", "/annotate/x"]
)
def test_a_program_without_a_session_is_told_in_json(client, path):
    for response in (client.get(path), client.post(path, json={})):
        assert response.status_code == 401
        assert response.json() == {"error": "You are not signed in: sign in and try again."}


def test_a_form_of_somebody_else_is_not_taken(client, ana):
    sign_in(client, ana.name)
    mine, other = (
        client.get("/annotate/gradio_api/info", headers={"x-rater": str(ana.id + n)}) for n in (0, 1)
    )
    assert mine.status_code == 404  # it got through
    assert other.status_code == 409
    assert other.json() == {"error": "Somebody else is signed in now: open the page again."}


def test_an_api_is_not_answered_with_a_page_even_when_a_browser_asks(client):
    assert client.get("/annotate/api/me", headers=PAGE).status_code == 401


@pytest.mark.parametrize("path", ["/annotate/../annotate/api/me", "/annotate/%61pi/me", "/annotate//api/me"])
def test_other_spellings_of_a_path_do_not_get_in(address, path):
    host, port = urlsplit(address).hostname, urlsplit(address).port
    with socket.create_connection((host, port)) as connection:  # as it is: httpx would tidy the path
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 401")


def test_the_path_without_its_slash_leads_to_the_page(client, ana):
    anonymous = client.get("/annotate?x=1", headers=PAGE)
    assert anonymous.headers["location"] == "/sign-in?next=/annotate/%3Fx%3D1"
    sign_in(client, ana.name)
    response = client.get("/annotate?x=1", headers=PAGE)
    assert (response.status_code, response.headers["location"]) == (308, "/annotate/?x=1")


def test_a_path_that_only_begins_alike_is_not_guarded(client):
    assert client.get("/annotated", headers=PAGE).status_code == 404


def test_what_is_behind_the_sign_in_is_stored_nowhere(client, ana):
    sign_in(client, ana.name)
    for path in ("/annotate/", "/annotate/api/me", "/account"):
        assert client.get(path, headers=PAGE).headers["cache-control"] == "no-store"
    client.post("/sign-out")
    for path in ("/annotate/", "/annotate/api/me", "/account", "/sign-in", "/set-up/x", "/invitation/x"):
        assert client.get(path, headers=PAGE).headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", ["/sign-in", "/annotate/", "/annotate/api/me", "/invitation/x"])
def test_every_answer_has_the_security_headers(client, path):
    headers = client.get(path, headers=PAGE).headers
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"  # links with tokens stay on this site


def test_pages_and_routes_are_told_who_asks(client, ana):
    sign_in(client, ana.name.upper())
    assert client.get("/annotate/", headers=PAGE).text == html.escape(f"page of {ana.name}")
    for path in ("/annotate/api/me", "/public/me"):
        assert client.get(path).json() == {"name": ana.name}


@pytest.mark.parametrize("value", ["x", "x" * 3000, '"; DROP', "%00", "é"])
def test_a_made_up_cookie_is_nobodys(client, value):
    sent = {"cookie": f"kpdemo-session={value}".encode("latin-1")}
    assert client.get("/annotate/api/me", headers=sent).status_code == 401
    assert client.get("/sign-in", headers=sent).status_code == 200


def test_a_disabled_user_is_out_at_the_next_request(client, ana, accounts):
    sign_in(client, ana.name)
    assert client.get("/annotate/api/me").status_code == 200
    accounts.disable(ana.name)
    assert client.get("/annotate/api/me").status_code == 401
    assert client.get("/annotate/", headers=PAGE).status_code == 303


# Other sites


@pytest.mark.parametrize(
    "path", ["/sign-in", "/sign-out", "/account/password", "/set-up/x", "/annotate/api/me"]
)
@pytest.mark.parametrize("origin", ["https://evil.example", "null"])
def test_a_form_of_another_site_is_refused(client, ana, path, origin):
    sign_in(client, ana.name)
    response = client.post(path, data={"name": ana.name}, headers={"origin": origin})
    assert response.status_code == 403
    assert client.get("/annotate/api/me").json() == {"name": ana.name}


def test_a_form_of_ours_is_taken(client, ana, address):
    response = client.post(
        "/sign-in", data={"name": ana.name, "password": PASSWORD}, headers={"origin": address}
    )
    assert response.status_code == 303


# The forms


def test_a_wrong_password_is_one_sentence_and_keeps_the_name(client, ana):
    response = sign_in(client, ana.name, "a wild guess", next="/annotate/rate?project=3")
    assert response.status_code == 403
    assert alert(response).startswith("The name and the password do not fit: ")
    assert f'value="{html.escape(ana.name)}"' in response.text
    assert 'value="/annotate/rate?project=3"' in response.text
    assert "a wild guess" not in response.text
    assert "set-cookie" not in response.headers


def test_a_name_that_nobody_has_gets_the_same_page(client, ana):
    known, unknown = (sign_in(client, name, "a wild guess") for name in (ana.name, "nobody at all"))
    assert known.status_code == unknown.status_code
    assert known.text.replace(html.escape(ana.name), "") == unknown.text.replace("nobody at all", "")


def test_too_many_attempts_say_how_long_to_wait(client):
    answers = [sign_in(client, "somebody", "a wild guess") for _ in range(6)]
    assert [answer.status_code for answer in answers] == [403] * 5 + [429]
    assert alert(answers[-1]) == "There were too many attempts: try again in 15 minutes."
    assert answers[-1].headers["retry-after"] == "900"


def test_attempts_are_counted_by_the_readers_address_behind_a_proxy(client, ana):
    def attempt(number: int, password: str) -> int:
        headers = {"x-forwarded-for": f"198.51.100.{number}"}
        return client.post(
            "/sign-in", data={"name": ana.name, "password": password}, headers=headers
        ).status_code

    assert [attempt(1, "a wild guess") for _ in range(6)][-1] == 429
    assert attempt(2, PASSWORD) == 303


@pytest.mark.parametrize("name", [EVIL, '" onfocus="alert(1)', "{{ 7 * 7 }}", "😀", "محمد", "", "x" * 5000])
def test_an_awkward_name_comes_back_as_text(client, name):
    response = sign_in(client, name, "a wild guess")
    assert response.status_code == 403
    assert (
        f'value="{html.escape(name).replace("&#x27;", "&#39;").replace("&quot;", "&#34;")}"' in response.text
    )
    assert EVIL not in response.text


def test_a_lost_session_says_that_nothing_is_lost(client):
    client.cookies.set("kpdemo-session", "ended")
    response = client.get("/annotate/rate", headers=PAGE, follow_redirects=True)
    assert KEPT in response.text


def test_also_where_the_browser_has_forgotten_the_session(client):
    assert KEPT in client.get("/sign-in?next=/annotate/rate&ended").text


def test_of_a_page_that_keeps_nothing_it_says_only_that_the_session_ended(client):
    client.cookies.set("kpdemo-session", "ended")
    response = client.get("/annotate/project?project=1", headers=PAGE, follow_redirects=True)
    assert ENDED in response.text


def test_who_comes_before_the_first_account_is_told_of_the_set_up_link(client, tmp_path):
    told = "The first account is made with the link to /set-up"
    assert told not in client.get("/sign-in").text
    accounts_of_nobody = Database(f"sqlite:///{tmp_path / 'empty.db'}")
    Base.metadata.create_all(accounts_of_nobody.engine)
    server = build_server(accounts_of_nobody)
    with TestClient(server) as first:
        page = first.get("/sign-in").text
    accounts_of_nobody.dispose()
    assert told in page
    assert "Your administrator" not in page


def test_a_first_visit_is_not_told_of_a_lost_session(client):
    assert ENDED not in client.get("/annotate/rate", headers=PAGE, follow_redirects=True).text


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b'{"name": "x"}', "application/json", 415),
        (b"name=" + b"x" * 70_000, "application/x-www-form-urlencoded", 413),
        (b"&".join(b"a=b" for _ in range(50)), "application/x-www-form-urlencoded", 400),
        (b"name=\xff", "application/x-www-form-urlencoded", 400),
        (b"", "application/x-www-form-urlencoded", 403),
    ],
)
def test_what_is_no_form_is_refused(client, content, kind, status):
    response = client.post("/sign-in", content=content, headers={"content-type": kind})
    assert response.status_code == status


def test_opening_a_link_does_not_use_it_up(client, accounts, database):
    accounts.add_user("invited by link")
    token = InvitationService(database).invite("invited by link")
    for _ in range(3):
        assert "invited by link" in client.get(f"/invitation/{token}").text
    short = client.post(f"/invitation/{token}", data={"password": "short"})
    assert (short.status_code, "5 characters" in alert(short)) == (422, True)
    done = client.post(f"/invitation/{token}", data={"password": PASSWORD})
    assert (done.status_code, done.headers["location"]) == (303, HOME)
    assert client.get("/annotate/api/me").json() == {"name": "invited by link"}
    again = client.get(f"/invitation/{token}")
    assert (again.status_code, "used already" in alert(again)) == (410, True)


@pytest.mark.parametrize("token", ["x", "x" * 3000, quote("<b onclick=alert(1)>"), "%00", "😀"])
def test_a_made_up_link_is_explained(client, token):
    for path in ("/set-up", "/invitation"):
        for response in (client.get(f"{path}/{token}"), client.post(f"{path}/{token}", data={"name": "x"})):
            assert response.status_code == 410
            assert alert(response).startswith("This link is unknown or no longer valid")
            assert "onclick" not in response.text


def test_a_changed_password_ends_the_other_browser(client, ana, address):
    sign_in(client, ana.name)
    with httpx.Client(base_url=address) as other:
        sign_in(other, ana.name)
        new = {"current": PASSWORD, "password": "staple on the hill"}
        response = client.post("/account/password", data=new)
        assert response.headers["location"] == "/account?changed"
        assert client.get("/annotate/api/me").status_code == 200
        assert other.get("/annotate/api/me").status_code == 401


@pytest.mark.parametrize(
    ("current", "password", "sentence"),
    [("a wild guess", "staple on the hill", "do not fit"), (PASSWORD, "short", "5 characters")],
)
def test_a_password_that_cannot_be_changed_is_explained(client, ana, current, password, sentence):
    sign_in(client, ana.name)
    response = client.post("/account/password", data={"current": current, "password": password})
    assert response.status_code == 422
    assert sentence in alert(response)


def test_the_account_page_asks_for_a_sign_in(client):
    assert client.get("/account").headers["location"] == "/sign-in?next=/account"
    for path in ("/account/password", "/account/sign-out-everywhere"):
        assert client.post(path, data={"x": "y"}).headers["location"].startswith("/sign-in")


def test_before_a_project_is_known_the_reader_is_met_in_their_language(client):
    french = {**PAGE, "accept-language": "nl, fr-CA;q=0.9, en;q=0.8"}
    page = client.get("/sign-in", headers=french).text
    assert '<html lang="fr">' in page
    assert "<h1>Se connecter</h1>" in page
    client.cookies.set(LANGUAGE_COOKIE, "sr")
    page = client.get("/sign-in", headers=french).text
    assert '<html lang="sr-Latn">' in page
    assert '<option value="sr" lang="sr-Latn" selected>' in page
    refused = client.post("/sign-in", data={"name": "Nobody", "password": "no such password"})
    assert "Ime i lozinka se ne slažu" in refused.text
    client.cookies.set(LANGUAGE_COOKIE, "xx")
    assert '<html lang="fr">' in client.get("/sign-in", headers=french).text
    assert '<html lang="en">' in client.get("/sign-in", headers=PAGE).text


def test_an_invitation_speaks_the_language_of_its_project(client, database):
    projects = ProjectService(database)
    project = projects.create(ProjectSettings("Satzpaare", types=("phrase2word",), language="de"))
    token = InvitationService(database).invite(project_id=project.id, role=Role.RATER)
    page = client.get(f"/invitation/{token}", headers={**PAGE, "accept-language": "fr"}).text
    assert (
        'Sie sind zum Projekt <bdi class="strong">Satzpaare</bdi> eingeladen. Ihre Rolle: Bewertung.' in page
    )
    refused = client.post(f"/invitation/{token}", data={"name": "Uta", "password": "kurz"})
    assert "Das Passwort hat 4 Zeichen: nehmen Sie mindestens 10." in refused.text
    client.post(f"/invitation/{token}", data={"name": "Uta", "password": PASSWORD})
    assert "<h1>Ihr Konto</h1>" in client.get("/account", headers={**PAGE, "accept-language": "fr"}).text
