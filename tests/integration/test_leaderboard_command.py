"""`python -m annotation leaderboard`: the rules and figures of the page and of `score`."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from html import unescape
from pathlib import Path
from types import SimpleNamespace

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from annotation.files.scores import gold_digest, read_gold
from annotation.sense_pairs import Dictionary
from annotation.services import leaderboard
from annotation.services.accounts import AccountService, InvitationService
from annotation.services.audit import EventService
from annotation.services.leaderboard import SystemService
from annotation.services.pairs import PairService
from annotation.services.projects import ProjectService
from annotation.services.sign_in import SignInService, start_session
from annotation.services.tokens import TokenService
from annotation.system_report import wide_intervals_text
from annotation.types import ProjectSettings, Role
from annotation.ui.leaderboard import FILES, OWN, SystemFormHandlers
from annotation.web.downloads import Admission, board_address, build_board_downloads
from annotation.web.responder import COOKIE
from annotation.web.sign_in import add_account_pages
from tests.commands import main
from tests.latex_tables import read_tables
from tests.rated import Rated, pair, rated_project

PAIRS = [
    pair("a", "0", "0.5", genre="news"),
    pair("b", "4", "3.5", genre="news", right='=a  "noon", ferry'),
    pair("c", "1", "1.5", genre="news"),
    pair("d", "2.75", "2.25", genre="fable"),
    pair("e", "1", "1.5", genre="fable", left="a boat", right="boat"),
    pair("f", "3", "3", genre="fable", type="phrase2word", left="a red boat", right="boat"),
    pair("g", "0", "0", type="phrase2word"),
    pair("h", "1", "1.5", type="phrase2word", genre="news"),
    pair("open", "2"),
]
SCORES = {"a": 0.2, "b": 3.0, "c": 2.0, "d": 2.5, "e": 0.5, "f": 3.5, "g": 0.3, "h": 0.9, "open": 2.0}


def shares_of_words(pairs):
    words = [(set(first.split()), set(second.split())) for first, second in pairs]
    return [len(first & second) / len(first | second) for first, second in words]


@pytest.fixture
def rated(sqlite_database, tmp_path, monkeypatch) -> Rated:
    """A project, and in its folder scores of its pairs and training grades with scores."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    training = [
        {"type": type, "id": f"{type}-{n}", "left": f"word {n} of {type}", "right": "word", "gold": n % 4}
        for type in ("sentence2phrase", "phrase2word")
        for n in range(6)
    ]
    scores = [{"id": row["id"], "score": n % 5} for n, row in enumerate(training)]
    kept = [{"id": id, "score": score} for id, score in SCORES.items()]
    for name, rows in (("run.jsonl", kept), ("train.jsonl", training), ("taught.jsonl", scores)):
        Path(name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return rated_project(sqlite_database, PAIRS)


@pytest.fixture
def call(rated, capfd, monkeypatch):
    """Run a command on the database: its status, output and standard error."""
    monkeypatch.setenv("KPDEMO_DATABASE_URL", f"sqlite:///{rated.database.url.database}")

    def run(*arguments: str) -> tuple[int, str, str]:
        status = main(arguments, embedding=shares_of_words)
        out, err = capfd.readouterr()
        return status, out, err

    return run


@pytest.fixture
def leader(rated):
    """An administrator of the project, whose account comes by the name."""
    AccountService(rated.database).add_user("leader")
    ProjectService(rated.database).add_member(rated.id, "leader", Role.ADMINISTRATOR)
    return "leader"


def by_page(rated, project_id: int, **choice) -> str:
    """What the page says to the leader who adds a system so."""
    service = SystemService(rated.database, similarities=shares_of_words)
    form = SystemFormHandlers(AccountService(rated.database), service, Dictionary())
    asked = {"name": "", "what": "scores", "uploads": [], "gold": OWN, "gold_uploads": [], "gold_id": None}
    request = SimpleNamespace(username="leader", query_params={"project": str(project_id)})
    return unescape(form.add(request, **{**asked, **choice})[0])


def newest(service: SystemService, project_id: int):
    return service.board(project_id, service.golds(project_id)[0].id)


CALIBRATION = ("--calibrate-on", "train.jsonl")
CALIBRATED = {"calibrates": True, "training_grades": ["train.jsonl"]}


@pytest.mark.parametrize(
    ("arguments", "choice"),
    [
        (("--system", "run.jsonl"), {"uploads": ["run.jsonl"]}),
        (("--system", " My  run=run.jsonl"), {"uploads": ["run.jsonl"], "name": " My  run"}),
        (("--system", "lcs"), {"what": "lcs"}),
        (("--system", "tiles=gst"), {"what": "gst", "name": "tiles"}),
        (("--system", "embedding", *CALIBRATION), {"what": "embedding", **CALIBRATED}),
        (
            ("--system", "run.jsonl", *CALIBRATION, "--training-scores", "taught.jsonl"),
            {"uploads": ["run.jsonl"], **CALIBRATED, "training_scores": ["taught.jsonl"]},
        ),
        (
            ("--gold", "train.jsonl", "--system", "taught.jsonl"),
            {"uploads": ["taught.jsonl"], "gold": FILES, "gold_uploads": ["train.jsonl"]},
        ),
    ],
)
def test_a_system_is_added_as_by_the_page(call, rated, leader, arguments, choice):
    twin = rated_project(rated.database, PAIRS, name="twin").id
    ProjectService(rated.database).add_member(twin, leader, Role.ADMINISTRATOR)
    said = by_page(rated, twin, **choice)
    assert "Added" in said
    status, out, errors = call("leaderboard", "add", "harbour", *arguments)
    assert status == 0, errors
    service, events = SystemService(rated.database), EventService(rated.database)
    mine, page = newest(service, rated.id), newest(service, twin)
    assert mine.report == page.report
    [entry], [on_page] = mine.entries, page.entries
    assert (entry.name, entry.origin, entry.remark) == (on_page.name, on_page.origin, on_page.remark)
    assert (entry.by, on_page.by) == (None, "leader")
    assert (mine.gold.name, mine.gold.sha256) == (page.gold.name, page.gold.sha256)
    [event, *_], [on_page_event, *_] = events.recent(rated.id, 1), events.recent(twin, 1)
    assert (event.action, event.detail, event.user) == (on_page_event.action, on_page_event.detail, None)
    origin = "gold from train.jsonl" if "--gold" in arguments else "the project's gold"
    gold = f"{origin} ({mine.gold.sha256[:12]})"
    scores = f"{mine.gold.pairs} scores (sentence2phrase, phrase2word)."
    assert out == f"Added {entry.name} on {gold} to the leaderboard of harbour: {scores}\n"
    assert [line.partition(": ")[2] in said for line in errors.splitlines()] == [True] * errors.count("\n")
    assert errors.count("\n") == ("left out" in said)


def test_types_that_a_system_leaves_out_are_told_with_their_pairs_when_it_is_added(call, rated):
    Path("part.jsonl").write_text(
        '{"id": "f", "score": 1}\n{"id": "g", "score": 2}\n{"id": "h", "score": 0}\n'
    )
    _, out, _ = call("leaderboard", "add", "harbour", "--system", "part.jsonl")
    assert out.endswith(": 3 scores (phrase2word). 5 of 8 pairs, those of sentence2phrase, have no score.\n")
    again = ("--system", "again=part.jsonl", "--system", "run.jsonl", "--json")
    added = json.loads(call("leaderboard", "add", "harbour", *again)[1])["added"]
    assert [one["without_score"] for one in added] == [{"sentence2phrase": 5}, {}]


def test_figures_are_those_of_score_on_the_exported_gold(call, rated):
    systems = ("--system", "run.jsonl", "--system", "lcs", "--system", "embedding")
    assert call("export", "harbour", "--format", "jsonl", "--output", "gold", "--unfinished", "list")[0] == 0
    status, out, errors = call("score", "--gold", "gold", *systems, "--json")
    scored = json.loads(out)
    assert (status, scored["left_out"]["run"]) == (0, 1)

    status, out, told = call("leaderboard", "add", "harbour", *systems, "--json")
    assert (status, told) == (0, errors)
    added = json.loads(out)
    assert {one["system"]: one["left_out"] for one in added["added"]} == scored["left_out"]
    board = json.loads(call("leaderboard", "show", "harbour", "--json")[1])
    about = ("origin", "at", "by")
    origins = [[one.pop(field) for field in about][::2] for one in board["systems"]]
    assert origins == [["scores", None], ["lcs", None], ["embedding", None]]
    of_score = {
        key: scored[key]
        for key in scored.keys() - {"left_out", "upper_bound", "not_adjudicated", "changed_gold"}
    }
    assert {key: board[key] for key in of_score} == of_score
    assert board.keys() - of_score.keys() == {"project", "project_gold", "gold_sets", "gold"}
    assert board["project_gold"] == added["gold"] == {"pairs": 8, "sha256": board["gold"]["sha256"]}

    assert call("leaderboard", "add", "harbour", "--gold", "gold", "--system", "again=run.jsonl")[0] == 0
    board = json.loads(call("leaderboard", "show", "harbour", "--json")[1])
    assert (len(board["gold_sets"]), len(board["systems"])) == (1, 4)
    assert board["systems"][3]["types"] == board["systems"][0]["types"]


def test_all_exports_of_a_gold_set_have_its_sha256_but_for_semevals_which_have_no_genres(call, rated):
    own = SystemService(rated.database).own_gold(rated.id)
    for format in ("jsonl", "csv", "parquet", "semeval"):
        options = ("--format", format, "--output", format, "--unfinished", "list")
        assert call("export", "harbour", *options)[0] == 0
    read = {format: read_gold([Path(format)]) for format in ("jsonl", "csv", "parquet", "semeval")}
    assert {gold_digest(read[format][::-1]) for format in ("jsonl", "csv", "parquet")} == {own.sha256}
    bare = [replace(pair, genre=None) for pair in own.pairs]
    assert gold_digest(read["semeval"]) == gold_digest(bare) != own.sha256
    assert own.sha256 not in {sha256(file.read_bytes()).hexdigest() for file in Path("jsonl").iterdir()}


def test_the_report_is_printed_as_score_prints_it_below_who_added_what(call, rated, leader):
    without_people = ("--unfinished", "list", "--raters", "none", "--output", "gold")
    assert call("export", "harbour", "--format", "jsonl", *without_people)[0] == 0
    by_page(rated, rated.id, what="gst")
    assert call("leaderboard", "add", "harbour", "--system", "lcs")[0] == 0
    shown, scored = (
        call(*words)[1]
        for words in (
            ("leaderboard", "show", "harbour"),
            ("score", "--gold", "gold", "--system", "gst", "--system", "lcs"),
        )
    )
    assert scored
    assert shown.endswith(f"\n\n{scored}")
    head = shown.removesuffix(scored).splitlines()
    board = newest(SystemService(rated.database), rated.id)
    assert head[0] == f"On the project's gold as it is now: 8 pairs, version {board.gold.sha256[:12]}."
    assert scored.splitlines()[:2] == [wide_intervals_text(board.report), ""]
    assert [line.split()[:2] + line.split()[4:] for line in head[3:5]] == [
        ["gst", "gst", "leader"],
        ["lcs", "lcs", "command", "line"],
    ]


def test_files_are_those_that_the_page_saves(call, rated, leader):
    assert call("leaderboard", "add", "harbour", "--system", "+1=run.jsonl", "--system", "lcs")[0] == 0
    accounts, projects = AccountService(rated.database), ProjectService(rated.database)
    service, server = SystemService(rated.database), FastAPI()
    add_account_pages(
        server, SignInService(rated.database), InvitationService(rated.database), TokenService(rated.database)
    )
    server.include_router(build_board_downloads(Admission(accounts, projects), service))
    client = TestClient(server)
    with rated.database.session() as session:
        client.cookies.set(COOKIE, start_session(session, accounts.user(leader).id, datetime.now(UTC)))
    gold_id = service.golds(rated.id)[0].id
    saved = {ending: client.get(board_address(rated.id, gold_id, ending)) for ending in ("csv", "json")}
    assert call("leaderboard", "show", "harbour", "--csv") == (0, saved["csv"].content.decode(), "")
    printed = json.loads(call("leaderboard", "show", "harbour", "--json")[1])
    assert printed.items() >= saved["json"].json().items()

    [table] = read_tables(call("leaderboard", "show", "harbour", "--latex")[1])
    assert list(table.rows) == ["+1", "lcs"]
    digest = service.golds(rated.id)[0].sha256
    assert wide_intervals_text(newest(service, rated.id).report) in table.comments
    assert table.comments[0].startswith(
        "python -m annotation leaderboard show --latex, project harbour, gold from the project, "
        f"SHA-256 of its pairs {digest}, version "
    )


def test_figures_of_older_gold_stay_and_systems_are_removed_from_the_gold_set_that_is_named(call, rated):
    assert call("leaderboard", "add", "harbour", "--system", "lcs", "--system", "Run=run.jsonl")[0] == 0
    [old] = SystemService(rated.database).golds(rated.id)
    rated.rate("open", ben="2")
    _, shown, _ = call("leaderboard", "show", "harbour")
    assert "The gold has changed since: 9 pairs have a grade now, 8 then." in shown
    assert call("leaderboard", "add", "harbour", "--system", "lcs")[0] == 0
    new, _ = SystemService(rated.database).golds(rated.id)
    _, shown, _ = call("leaderboard", "show", "harbour")
    assert f"as it is now: 9 pairs, version {new.sha256[:12]}." in shown
    assert [line.split()[0] for line in shown.splitlines()[-2:]] == [new.sha256[:12], old.sha256[:12]]
    older = ("--gold-set", old.sha256[:12].upper())
    _, shown, _ = call("leaderboard", "show", "harbour", *older)
    since = shown.splitlines()[0]
    assert since.startswith(f"On the project's gold of {old.at:%Y-%m-%d %H:%M} UTC: 8 pairs, ")
    tables = [call("leaderboard", "show", "harbour", *words, "--latex")[1] for words in (older, ())]
    assert [table.count(f"\n% {since}\n") for table in tables] == [1, 0]
    assert "changed" not in tables[1]
    shown = json.loads(call("leaderboard", "show", "harbour", *older, "--json")[1])
    assert (shown["gold"]["sha256"], shown["project_gold"]["sha256"]) == (old.sha256, new.sha256)
    assert call("leaderboard", "add", "harbour", "--system", "gst", *older)[0] == 0

    status, _, told = call("leaderboard", "remove", "harbour", "run")
    assert (status, f"no system 'run' on the gold set {new.sha256[:12]}" in told) == (1, True)
    status, out, told = call("leaderboard", "remove", "harbour", "run", *older)
    done, hint = out.splitlines()
    of_old, of_new = (f"the project's gold ({gold.sha256[:12]})" for gold in (old, new))
    assert (status, done, told) == (0, f"Removed Run on {of_old} from the leaderboard of harbour.", "")
    assert f"leaderboard show harbour` shows another gold set, {of_new}; to see this one: " in hint
    way = hint.partition("to see this one: python -m annotation ")[2].split()
    assert call(*way, "--json") == call("leaderboard", "show", "harbour", *older, "--json")
    left = json.loads(call("leaderboard", "show", "harbour", *older, "--json")[1])
    assert [one["system"] for one in left["systems"]] == ["lcs", "gst"]
    [event] = EventService(rated.database).recent(rated.id, 1)
    assert (event.action, event.user, event.detail) == (
        "system removed",
        None,
        {"name": "Run", "gold_sha256": old.sha256},
    )
    _, out, _ = call("leaderboard", "remove", "harbour", "lcs", "--json")
    assert (json.loads(out)["removed"], json.loads(out)["gold"]["sha256"]) == ("lcs", new.sha256)
    assert [gold.sha256 for gold in SystemService(rated.database).golds(rated.id)] == [old.sha256]


def test_a_system_on_another_gold_set_than_show_has_is_said_to_be_there(call, rated):
    def done(verb: str, *words: str) -> list[str]:
        status, out, _ = call("leaderboard", verb, "harbour", *words)
        assert status == 0
        return out.splitlines()

    assert len(done("add", "--system", "lcs")) == 1
    added, hint = done("add", "--gold", "train.jsonl", "--system", "lcs")
    own, files = SystemService(rated.database).golds(rated.id)
    assert (own.is_own, files.is_own) == (True, False)
    of_files = f"gold from train.jsonl ({files.sha256[:12]})"
    of_project = f"the project's gold ({own.sha256[:12]})"
    assert added.startswith(f"Added lcs on {of_files} to the leaderboard of harbour: ")
    assert hint == (
        f"`python -m annotation leaderboard show harbour` shows another gold set, {of_project}; to see this "
        f"one: python -m annotation leaderboard show harbour --gold-set {files.sha256[:12]}"
    )
    [added] = done("add", "--system", "gst")
    assert added.startswith(f"Added gst on {of_project} to the leaderboard of harbour: 8 scores (")
    other = ("--gold-set", files.sha256[:12])
    done("add", "--system", "gst", *other)
    assert done("remove", "gst", *other)[1:] == [hint]
    assert len(done("remove", "lcs", *other)) == 1, "its gold set is gone with it"
    for name in ("lcs", "gst"):
        assert done("remove", name) == [f"Removed {name} on {of_project} from the leaderboard of harbour."]
    assert SystemService(rated.database).golds(rated.id) == []


def test_gold_that_is_again_as_it_was_is_the_one_that_is_shown(call, rated):
    """The advice to add a system again would else be refused: it is there already."""
    assert call("leaderboard", "add", "harbour", "--system", "lcs")[0] == 0
    rated.rate("open", ben="2")
    assert call("leaderboard", "add", "harbour", "--system", "gst")[0] == 0
    PairService(rated.database).withdraw(rated.id, ["open"])
    _, shown, _ = call("leaderboard", "show", "harbour", "--json")
    told = json.loads(shown)
    assert [one["system"] for one in told["systems"]] == ["lcs"]
    assert told["gold"]["sha256"] == told["project_gold"]["sha256"]


def test_gold_from_a_file_that_turns_out_to_be_the_project_s_is_the_project_s(call, rated):
    assert call("export", "harbour", "--output", "own", "--unfinished", "leave-out")[0] == 0
    assert call("leaderboard", "add", "harbour", "--gold", "own", "--system", "lcs")[0] == 0
    assert [gold.name for gold in SystemService(rated.database).golds(rated.id)] == ["own"]
    assert call("leaderboard", "add", "harbour", "--system", "gst")[0] == 0
    [gold] = SystemService(rated.database).golds(rated.id)
    assert gold.is_own
    assert call("leaderboard", "add", "harbour", "--gold", "own", "--system", "embedding")[0] == 0
    assert SystemService(rated.database).golds(rated.id) == [gold]


def test_all_systems_of_a_call_are_added_or_none_with_the_sentences_of_the_page(
    call, rated, leader, monkeypatch
):
    def refused(*arguments: str) -> str:
        before = [(one.gold, one.entries) for one in boards()]
        status, out, told = call("leaderboard", "add", "harbour", *arguments)
        assert (status, out) == (1, "")
        assert [(one.gold, one.entries) for one in boards()] == before
        return told.removesuffix("\n")

    def boards():
        service = SystemService(rated.database)
        return [service.board(rated.id, gold.id) for gold in service.golds(rated.id)]

    Path("short.txt").write_text("1\n2\n")
    short = refused("--system", "lcs", "--system", "short.txt")
    assert short in by_page(rated, rated.id, uploads=["short.txt"])
    assert call("leaderboard", "add", "harbour", "--system", "lcs")[0] == 0
    twice = refused("--system", "gst", "--system", "LCS=gst")
    assert twice == "A system named 'LCS' already exists: give another name, or remove that one."
    assert refused("--system", "a=gst", "--system", "A=gst").startswith("A system named 'A' already")
    monkeypatch.setattr(leaderboard, "MOST_SYSTEMS", 2)
    assert refused("--system", "a=gst", "--system", "b=gst") == (
        "3 systems would be on this gold set, and 2 can be: add fewer, or remove some first."
    )
    assert call("leaderboard", "add", "harbour", "--system", "gst")[0] == 0
    full = refused("--system", "c=gst")
    assert full == "There are 2 systems on this gold set, as many as can be: remove some first."
    assert full in by_page(rated, rated.id, what="gst", name="c")
    monkeypatch.setattr(leaderboard, "MOST_PAIRS", 11)
    many = refused("--system", "c=gst", *CALIBRATION)
    assert many == (
        "There are 12 training pairs, and the leaderboard takes 11: use `python -m annotation score`."
    )
    assert many in by_page(rated, rated.id, what="gst", name="c", **CALIBRATED)
    monkeypatch.setattr(leaderboard, "MOST_PAIRS", 7)
    many = refused("--system", "c=gst")
    assert many.startswith("The gold set has 8 pairs, and the leaderboard takes 7: ")
    assert many in by_page(rated, rated.id, what="gst", name="c")


def test_without_systems_the_next_step_is_said(call, rated):
    status, out, _ = call("leaderboard", "show", "harbour")
    assert (status, out.splitlines()[-1]) == (
        0,
        "Next: python -m annotation leaderboard add harbour --system lcs",
    )
    status, out, _ = call("leaderboard", "show", "harbour", "--json")
    told = json.loads(out)
    assert (status, told["gold"], told["systems"], told["project_gold"]["pairs"]) == (0, None, [], 8)
    for arguments in (("show", "--csv"), ("show", "--latex"), ("remove", "lcs"), ("show", "--gold-set", "a")):
        status, out, told = call("leaderboard", arguments[0], "harbour", *arguments[1:])
        assert (status, out) == (1, "")
        assert told == (
            "No system has been measured yet: `python -m annotation leaderboard add harbour` adds one.\n"
        )
    ProjectService(rated.database).create(ProjectSettings("empty"))
    status, _, told = call("leaderboard", "add", "empty", "--system", "run.jsonl")
    assert (status, told.startswith("The gold set has no pairs with a grade yet")) == (1, True)


def test_a_wrong_call_is_refused(call):
    assert call("leaderboard", "add", "harbour", "--system", "lcs")[0] == 0
    for arguments, told in (
        (
            ("show", "harbour", "--csv", "--latex"),
            "--latex and --csv cannot be combined; give one of them.\n",
        ),
        (
            ("add", "harbour", "--system", "gst", "--gold", "train.jsonl", "--gold-set", "a"),
            "--gold and --gold-set cannot be combined; give one of them.\n",
        ),
    ):
        assert call("leaderboard", *arguments) == (2, "", told)
    for digits in ("", "x"):
        status, _, told = call("leaderboard", "show", "harbour", "--gold-set", digits)
        assert (status, told.startswith(f"No gold sets of the leaderboard begin with {digits!r}: ")) == (
            1,
            True,
        )
