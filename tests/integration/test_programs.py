"""Programs with tokens at a server that runs: the guide's example, each address, each refusal."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import krippendorff
import numpy as np
import pytest
from sqlalchemy import select

import app
from annotation.client import Client, ClientError
from annotation.errors import NotFoundError, SettingsError
from annotation.reliability.report import agreement_to_json
from annotation.services.bundle import open_services
from annotation.services.tokens import MARK, MOST_OF_USER, TokenService
from annotation.types import NewPair, Role
from annotation.web import answers, programs
from annotation.web.responder import COOKIE
from db.models import AccessToken
from tests.browser.conftest import MODELS, load
from tests.databases import new_database
from tests.integration.test_api_server import served
from tests.people import MovableClock

GUIDE = Path(app.__file__).parent / "docs" / "annotation_api.md"
ROWS = [
    {
        "id": f"p{at}",
        "left": f"The {at}th ferry leaves at noon.",
        "right": f"noon ferry {at}",
        "ratings": [{"rater": "Ben", "grade": at % 5}, {"rater": "Cleo", "grade": min(at % 5 + 1, 4)}],
    }
    for at in range(8)
]


@pytest.fixture(scope="module")
def services(tmp_path_factory):
    with new_database("sqlite", tmp_path_factory.mktemp("programs")) as database:
        yield open_services(database)


@pytest.fixture(scope="module")
def url(services) -> Iterator[str]:
    with served(app.build_server(app.AppContext(MODELS, load, annotation=services))) as address:
        yield address


@pytest.fixture(scope="module")
def root(services, url) -> Client:
    services.accounts.add_user("root", is_administrator=True)
    return Client(url, services.tokens.make("root", "tests"))


def ask(url: str, path: str, token: str = "", *, method: str = "GET", body: bytes | None = None, **headers):
    """Status, headers and JSON of an answer."""
    if token:
        headers["Authorization"] = f"Bearer {token}"
    request = Request(url + path, body, headers, method=method)
    try:
        with urlopen(request, timeout=30) as answer:
            return answer.status, answer.headers, json.load(answer)
    except HTTPError as error:
        with error:
            return error.code, error.headers, json.load(error)


def new_project(root: Client, name: str, **settings) -> int:
    return root.create_project(name, types=["sentence2phrase"], raters_per_pair=2, **settings)["id"]


def test_the_example_of_the_guide_runs(services, root, url, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = "\n".join(
        f"{row['id']},sentence2phrase,{row['left']},{row['right']},{rater},{grade}"
        for row in ROWS
        for rater, grade in map(dict.values, row["ratings"])
    )
    Path("pairs.csv").write_text(f"id,type,left,right,rater,grade\n{rows}\n", encoding="utf-8")
    scores = "\n".join(f"{row['id']},{row['ratings'][0]['grade']}" for row in ROWS)
    Path("scores.csv").write_text(f"id,score\n{scores}\n", encoding="utf-8")
    [example] = re.findall(r"^```python\n(.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
    token = services.tokens.make("root", "the guide")
    exec(compile(example, "guide", "exec"), {"url": url, "token": token})
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "8 pairs, 16 ratings"
    assert said[1:9] == [f"p{at} 2 {said[1 + at].split(' ', 2)[2]}" for at in range(8)]
    assert said[-1].startswith("404 ")
    assert len(Path("ratings.csv").read_text().splitlines()) == 17
    assert Path("gold.zip").read_bytes().startswith(b"PK")
    project = root.project("harbour")
    assert float(said[9]) == root.agreement(project["id"])["alpha"]["all"]["value"]
    report = services.agreement.report(project["id"])
    assert root.agreement(project["id"]) == json.loads(json.dumps(agreement_to_json(report)))
    assert [row["rater"] for row in root.ratings(project["id"], raters="named")] == ["Ben", "Cleo"] * 8
    assert said[10] == "0.0 points above the people"


def test_a_system_is_measured_beside_people_and_counts_among_none(root, tmp_path):
    project = new_project(root, "a declared rater", threshold=None)
    file = tmp_path / "pairs.jsonl"
    file.write_text("".join(json.dumps({**row, "type": "sentence2phrase"}) + "\n" for row in ROWS))
    root.import_pairs(project, file)
    before = root.agreement(project)
    scores = tmp_path / "scores.jsonl"
    rows = [{"id": row["id"], "score": row["ratings"][1]["grade"]} for row in ROWS]
    scores.write_text("".join(json.dumps(row) + "\n" for row in rows))
    told = root.add_system(project, "cleo again", scores)
    answers.AddedSystem.model_validate(told)
    [figures] = told["as_rater"]
    people = np.array([[rating["grade"] for rating in row["ratings"]] for row in ROWS], dtype=float)
    table = np.column_stack([people, people[:, 1]])
    alone, together = (
        krippendorff.alpha(part.T, level_of_measurement="interval") for part in (people, table)
    )
    assert figures["bias"] == pytest.approx((people[:, 1] - people.mean(1)).mean())
    assert figures["alpha_people"]["value"] == pytest.approx(alone, abs=1e-12)
    assert figures["alpha_with_system"]["value"] == pytest.approx(together, abs=1e-12)
    assert root.agreement(project) == before
    assert {row["rater"] for row in root.ratings(project)} == {"rater 1", "rater 2"}
    board = root.export(project, "leaderboard.json", tmp_path / "board.json")
    assert [system["system"] for system in json.loads(board.read_text())["systems"]] == ["cleo again"]
    scores.write_text(json.dumps(rows[0]) + "\n")
    with pytest.raises(ClientError, match="has no score for sentence2phrase 'p1'") as refused:
        root.add_system(project, "half", scores)
    assert refused.value.status == 422
    scores.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(ClientError, match="already"):
        root.add_system(project, "Cleo again", scores)


def test_a_system_and_the_raters_are_measured_by_the_scale_of_the_project(root, services, tmp_path):
    project = new_project(root, "to a hundred", grades="0-100", threshold=None)
    rows = [
        {**row, "type": "sentence2phrase", "ratings": [{"rater": who, "grade": 20 + 5 * at} for who in "xy"]}
        for at, row in enumerate(ROWS)
    ]
    file = tmp_path / "pairs.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    root.import_pairs(project, file)
    scores = tmp_path / "scores.jsonl"
    scores.write_text(
        "".join(json.dumps({"id": row["id"], "score": 95 - at}) + "\n" for at, row in enumerate(rows))
    )
    [figures] = root.add_system(project, "generous", scores)["as_rater"]
    assert figures["bias"] == pytest.approx(95 - 3.5 - (20 + 5 * 3.5))
    assert services.agreement.report(project).far == 25


def test_a_rater_grades_by_a_program_what_their_queue_gives(services, root, url, tmp_path):
    project = new_project(root, "queue")
    file = tmp_path / "pairs.json"
    file.write_text(json.dumps([{**row, "ratings": []} for row in ROWS]))
    done = root.import_pairs(project, file)
    assert (done["pairs"], done["ratings"]) == (8, 0)
    services.accounts.add_user("rita")
    services.projects.add_member(project, "rita", Role.RATER)
    rita = Client(url, services.tokens.make("rita", "script"))
    queue, graded = rita.queue(project), 0
    while queue["pairs"]:
        queue, graded = rita.rate(queue["pairs"][0]["id"], 2.75, 4), graded + 1
    assert graded == 8
    assert {row["grade"] for row in root.ratings(project)} == {2.75}
    with pytest.raises(ClientError, match="needs the role") as refused:
        list(rita.ratings(project))
    assert refused.value.status == 403
    with pytest.raises(ClientError, match="no such pair") as refused:
        rita.rate("0" * 16, 2)
    assert refused.value.status == 404


def test_lists_come_in_parts_and_an_import_is_all_or_nothing(root, tmp_path, monkeypatch):
    project = new_project(root, "parts")
    file = tmp_path / "pairs.jsonl"
    file.write_text("\n".join(map(json.dumps, ROWS)))
    root.import_pairs(project, file)
    monkeypatch.setattr("annotation.client.PAGE", 3)
    assert [row["id"] for row in root.pairs(project)] == [row["id"] for row in ROWS]
    assert len(list(root.ratings(project))) == 16
    assert [row["id"] for row in root.pairs(project, search="ferry 7")] == ["p7"]
    assert root.adjudications(project, "all")["counts"]["open"] == root.project(project)["counts"]["flagged"]
    file.write_text('{"id": "n", "left": "a b c.", "right": "d"}\n{"id": "m", "left": "a"}\n')
    with pytest.raises(ClientError, match="line 2") as refused:
        root.import_pairs(project, file)
    assert refused.value.status == 422
    assert root.project(project)["counts"]["pairs"] == 8


def test_refusals_are_a_sentence_with_a_status(services, root, url, monkeypatch):
    token = services.tokens.make("root", "refusals")
    project = new_project(root, "refusals")
    here = f"/annotation/api/projects/{project}"
    for path, said, status in (
        ("/annotation/api/projects", "", 401),
        (f"{here}/pairs?limit=0", token, 422),
        (f"{here}/pairs?state=odd", token, 422),
        (f"{here}/agreement?resamples=x", token, 422),
        (f"{here}/exports/ratings.odt", token, 404),
        ("/annotation/api/projects/999", token, 404),
        ("/annotation/api/nothing", token, 404),
    ):
        found, _, told = ask(url, path, said)
        assert (found, list(told)) == (status, ["error"]), path
        assert told["error"].endswith(".")
    monkeypatch.setattr(programs, "LARGEST_IMPORT", 10)
    sent = {"method": "POST", "body": b"x" * 11, "Content-Type": "text/csv"}
    assert ask(url, f"{here}/pairs", token, **sent)[0] == 413
    sent["Content-Type"] = "image/png"
    assert ask(url, f"{here}/pairs", token, **{**sent, "body": b"x"})[0] == 422
    for body in (
        b'{"name": 3, "types": []}',
        b'{"name": "x", "types": ["phrase2word"], "seed": 1e999}',
        b"[]",
    ):
        sent = {"method": "POST", "body": body, "Content-Type": "application/json"}
        assert ask(url, "/annotation/api/projects", token, **sent)[0] == 422


def test_answers_are_as_the_description_says(services, root, url, tmp_path):
    project = new_project(root, "described", grades="1-5", threshold=1)
    file = tmp_path / "pairs.json"
    rows = [{**row, "ratings": [{"rater": "Ben", "grade": at % 2 + 1}]} for at, row in enumerate(ROWS)]
    file.write_text(json.dumps(rows))
    answers.Import.model_validate(root.import_pairs(project, file))
    services.accounts.add_user("rosa")
    services.projects.add_member(project, "rosa", Role.RATER)
    rosa, here = services.tokens.make("rosa", "script"), f"/annotation/api/projects/{project}"
    body = {"body": b'{"grade": 3, "seconds": 4}', "method": "PUT"}
    comment = {"body": b'{"text": "odd", "flagged": true}', "method": "PUT"}
    skip = {"body": b'{"reason": "other", "note": ""}', "method": "POST"}
    queue = ask(url, f"{here}/queue", rosa)[2]
    pairs = [f"/annotation/api/pairs/{pair['id']}" for pair in queue["pairs"]]
    token = services.tokens.make("root", "described")
    for model, path, said, more in (
        (answers.Queue, f"{here}/queue", rosa, {}),
        (answers.RaterPair, pairs[0], rosa, {}),
        (answers.SavedMoment, f"{pairs[0]}/comment", rosa, comment),
        (answers.Saved, f"{pairs[0]}/rating", rosa, body),
        (answers.Saved, f"{pairs[1]}/skip", rosa, skip),
        (answers.RaterPairs, f"{here}/history", rosa, {}),
        (answers.Nothing, f"{here}/stop", rosa, {"method": "POST", "body": b""}),
        (answers.Projects, "/annotation/api/projects", token, {}),
        (answers.CountedProject, here, token, {}),
        (answers.Pairs, f"{here}/pairs", token, {}),
        (answers.Ratings, f"{here}/ratings", token, {}),
        (answers.Agreement, f"{here}/agreement?resamples=5", token, {}),
        (answers.Adjudications, f"{here}/adjudications", token, {}),
    ):
        status, _, told = ask(url, path, said, **more)
        assert status == 200, (path, told)
        model.model_validate(told)
    described = ask(url, "/annotation/api/openapi.json")[2]
    shown = described["paths"]["/annotation/api/projects/{project_id}/pairs"]["get"]["responses"]
    assert shown["200"]["content"]["application/json"]["schema"]["$ref"].endswith("/Pairs")
    assert shown["428"]["content"]["application/json"]["schema"]["$ref"].endswith("/Refusal")
    for path, methods in described["paths"].items():
        for told in methods.values():
            places = [each["name"] for each in told["parameters"] if each["in"] == "path"]
            assert places == re.findall(r"{(\w+)}", path)


def test_what_cannot_be_done_as_things_stand_is_409_and_what_is_to_be_agreed_to_first_428(
    services, root, url
):
    project = new_project(root, "standing")
    services.importing.import_pairs(project, [NewPair("a", "sentence2phrase", "A ferry leaves.", "ferry")])
    for name in ("sam", "tess"):
        services.accounts.add_user(name)
        services.projects.add_member(project, name, Role.RATER)
    sam, tess = (services.tokens.make(name, "script") for name in ("sam", "tess"))
    here = f"/annotation/api/projects/{project}"
    [pair] = ask(url, f"{here}/queue", sam)[2]["pairs"]
    grade = {"body": b'{"grade": 3, "seconds": 4}', "method": "PUT"}
    status, _, told = ask(url, f"/annotation/api/pairs/{pair['id']}/rating", tess, **grade)
    assert (status, list(told)) == (409, ["error"])
    token = services.tokens.make("root", "standing")
    status, _, told = ask(url, f"{here}/exports/gold.zip", token)
    assert (status, list(told)) == (409, ["error"])
    now = services.projects.get(project).settings
    services.projects.update(project, replace(now, consent="Take part?"))
    status, _, told = ask(url, f"/annotation/api/pairs/{pair['id']}/rating", sam, **grade)
    assert (status, list(told)) == (428, ["error"])
    asked = ask(url, f"{here}/queue", sam)[2]
    agreed = {"body": json.dumps({"sha256": asked["consent"]["sha256"]}).encode(), "method": "POST"}
    assert ask(url, f"{here}/consent", sam, **agreed)[0] == 200
    assert ask(url, f"/annotation/api/pairs/{pair['id']}/rating", sam, **grade)[0] == 200


def test_a_field_whose_name_is_half_a_character_is_unknown(services, root, url):
    token = services.tokens.make("root", "half")
    sent = {"method": "POST", "body": b'{"\\ud800": 1}', "Content-Type": "application/json"}
    status, _, told = ask(url, "/annotation/api/projects", token, **sent)
    assert (status, told["error"].partition(":")[0]) == (422, 'The request has an unknown field "\\ud800"')


def test_a_cookie_opens_no_address_of_programs_and_a_token_no_page(services, root, url):
    token = services.tokens.make("root", "no cookie")
    for cookie in (token, f"{COOKIE}={token}"):
        assert ask(url, "/annotation/api/projects", Cookie=f"{COOKIE}={cookie}")[0] == 401
    services.accounts.set_password("root", "correct horse battery")
    session = services.sign_ins.sign_in("root", "correct horse battery", "127.0.0.1")
    assert ask(url, "/annotation/api/projects", Cookie=f"{COOKIE}={session}")[0] == 401
    assert ask(url, "/annotation/api/projects", session)[0] == 401
    assert ask(url, "/annotate/api/projects/1/queue", token)[0] == 401
    status, headers, _ = ask(url, "/annotation/api/projects", token)
    assert (status, headers["cache-control"]) == (200, "no-store")
    assert ask(url, "/annotation/api/projects")[1]["www-authenticate"] == "Bearer"


def test_one_account_has_so_many_answers_at_once_and_the_client_tries_again(services, root, monkeypatch):
    waits: list[float] = []
    monkeypatch.setattr("annotation.client.time.sleep", waits.append)
    monkeypatch.setattr(programs.Busy, "_most", 0, raising=False)
    busy = programs.Busy.__call__

    async def refuse(self, request):
        self._most = 0 if len(waits) < 2 else 8
        async for nothing in busy(self, request):
            yield nothing

    monkeypatch.setattr(programs.Busy, "__call__", refuse)
    assert root.projects()
    assert waits == [1, 1]


class _BreaksOff(BaseHTTPRequestHandler):
    """Sends less than it said, and of JSON nothing that could be read."""

    def do_GET(self) -> None:
        is_file = "/exports/" in self.path
        self.send_response(200)
        self.send_header("Content-Length", "1000" if is_file or "/1" in self.path else "6")
        self.end_headers()
        self.wfile.write(b"half a file" if is_file else b"<html>")

    def log_message(self, *_: object) -> None:
        pass


def test_what_came_in_part_replaces_no_file_and_the_client_says_so(tmp_path):
    earlier = tmp_path / "gold.zip"
    earlier.write_bytes(b"the gold set of yesterday")
    server = ThreadingHTTPServer(("127.0.0.1", 0), _BreaksOff)
    Thread(target=server.serve_forever, daemon=True).start()
    client = Client(f"http://127.0.0.1:{server.server_port}", "token")
    try:
        with pytest.raises(ClientError, match=r"Only 11 of 1,000 bytes of gold\.zip came"):
            client.export(1, "gold.zip", earlier)
        with pytest.raises(ClientError, match="broke off"):
            client.project(1)
        with pytest.raises(ClientError, match="answered with no JSON"):
            client.projects()
    finally:
        server.shutdown()
        server.server_close()
    assert earlier.read_bytes() == b"the gold set of yesterday"
    assert list(tmp_path.iterdir()) == [earlier]
    with pytest.raises(ClientError, match="was not reached"):
        Client("rate.example.org", "token").projects()


def test_a_program_makes_a_project_with_every_setting_that_it_reads_of_one(root):
    given = {
        "guidelines": "Grade *all*.",
        "threshold": 2,
        "average": "median",
        "grades": "1-7",
        "step": 1,
        "order": "file",
        "seed": 7,
        "may_revise": False,
        "lease_minutes": 9,
        "most_per_rater": 5,
        "repeat_percent": 10,
        "consent": "You may stop.",
        "language": "de",
        "scale_words": "Question: Wie ähnlich?",
    }
    made = root.create_project("every setting", types=["sentence2phrase"], raters_per_pair=3, **given)
    assert set(made) - {"id", "created_at"} == {*given, "name", "types", "raters_per_pair"}
    assert {name: made[name] for name in given} == {
        **given,
        "grades": {"lowest": 1, "highest": 7, "step": 1.0},
    }
    with pytest.raises(ClientError, match="There is no language 'xx'"):
        root.create_project("no language", types=["sentence2phrase"], language="xx")


def test_the_description_is_open_and_has_every_address(url):
    status, _, told = ask(url, "/annotation/api/openapi.json")
    assert status == 200
    assert {"/annotation/api/projects", "/annotation/api/projects/{project_id}/exports/gold.zip"} <= set(
        told["paths"]
    )
    assert "/annotation/api/pairs/{pair}/rating" in told["paths"]
    assert told["security"] == [{"token": []}]


@pytest.mark.both_databases
def test_tokens_are_kept_hashed_end_and_stop_with_their_account(database):
    clock = MovableClock()
    services = open_services(database)
    tokens = TokenService(database, clock)
    ana = services.accounts.add_user("Ana")
    made, short = tokens.make("Ana", "export"), tokens.make("ana", "short", 1, by=ana)
    assert made.startswith(MARK)
    with database.reading() as session:
        assert all(row.token_hash not in (made, short) for row in session.scalars(select(AccessToken)))
    assert tokens.user_of(made).name == "Ana"
    assert [each.last_used_at is None for each in tokens.tokens("Ana")] == [False, True]
    clock.forward(seconds=timedelta(days=1).total_seconds())
    assert tokens.user_of(short) is None
    assert [each.name for each in tokens.tokens("Ana")] == ["export"]
    for wrong in ("", made[:-1], made + "x", "kpdemo_", "ü" * 500):
        assert tokens.user_of(wrong) is None
    services.accounts.disable("Ana")
    assert tokens.user_of(made) is None
    with pytest.raises(SettingsError, match="is disabled"):
        tokens.make("Ana", "again")
    services.accounts.enable("Ana")
    assert (tokens.user_of(made), tokens.tokens("Ana")) == (None, [])
    for number in range(MOST_OF_USER):
        tokens.make("Ana", f"t{number}")
    with pytest.raises(SettingsError, match="has 20 tokens"):
        tokens.make("Ana", "one more")
    services.accounts.add_user("Ben")
    mine = tokens.tokens("Ana")[0]
    with pytest.raises(NotFoundError, match="Ben has no token"):
        tokens.revoke("Ben", mine.id)
    assert tokens.revoke("Ana", mine.id) == "t0"
    told = [(event.action, event.detail) for event in services.events.of_server()]
    assert ("token revoked", {"name": "Ana", "token": "t0"}) in told
    assert ("token made", {"name": "Ana", "token": "short", "days": 1}) in told
