"""What the leaderboard says and to whom, adding and removing systems, and its files."""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
from datetime import UTC, datetime
from html import unescape
from types import SimpleNamespace

import gradio as gr
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from scipy.stats import pearsonr

from annotation import __version__
from annotation.files.scores import GoldPair
from annotation.sense_pairs import Dictionary
from annotation.services.accounts import AccountService, InvitationService
from annotation.services.leaderboard import SystemService
from annotation.services.projects import ProjectService
from annotation.services.sign_in import SignInService, start_session
from annotation.services.tokens import TokenService
from annotation.system_report import System, score_systems, wide_intervals_text, wide_parts
from annotation.types import Role
from annotation.ui.figures import genre_chart, type_label
from annotation.ui.leaderboard import (
    FILES,
    FOR_LEADERS,
    OWN,
    SHOWN,
    LeaderboardHandlers,
    SystemFormHandlers,
    wide_intervals_html,
)
from annotation.web.downloads import Admission, board_address, build_board_downloads
from annotation.web.responder import COOKIE
from annotation.web.sign_in import add_account_pages
from tests.latex_tables import saved_table
from tests.rated import pair, rated_project

EVIL = "<img src=x onerror=alert(1)>"
PAIRS = [
    pair("a", "0", "0.5", genre="news"),
    pair("b", "4", "3.5", genre="news"),
    pair("c", "1", "1.5", genre="news"),
    pair("d", "2.75", "2.25", genre=EVIL),
    pair("e", "1", "1.5", genre=EVIL),
    pair("f", "3", "3", genre=EVIL, type="phrase2word"),
    pair("g", "0", "0", type="phrase2word"),
    pair("h", "1", "1.5", type="phrase2word", genre="news", left="a boat", right="boat"),
    pair("open", "2"),
]


def shares_of_words(pairs):
    words = [(set(first.split()), set(second.split())) for first, second in pairs]
    return [len(first & second) / len(first | second) for first, second in words]


@pytest.fixture
def rated(sqlite_database):
    rated = rated_project(sqlite_database, PAIRS)
    accounts = AccountService(sqlite_database)
    accounts.add_user("leader")
    ProjectService(sqlite_database).add_member(rated.id, "leader", Role.ADMINISTRATOR)
    return rated


@pytest.fixture
def service(rated):
    return SystemService(rated.database, similarities=shares_of_words, clock=rated.clock)


@pytest.fixture
def handlers(rated, service):
    return LeaderboardHandlers(AccountService(rated.database), ProjectService(rated.database), service)


@pytest.fixture
def form(rated, service, tmp_path):
    return SystemFormHandlers(AccountService(rated.database), service, Dictionary(tmp_path))


def ask(name, project):
    return SimpleNamespace(username=name, query_params={"project": str(project)})


@pytest.fixture
def upload(tmp_path):
    def write(name: str, text: str) -> str:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


def add(
    form,
    rated,
    name,
    files=(),
    *,
    what="scores",
    gold=OWN,
    gold_files=(),
    gold_id=None,
    training=None,
    training_scores=(),
    by="leader",
):
    calibration = (training is not None, training, training_scores)
    return form.add(ask(by, rated.id), name, what, files, gold, gold_files, gold_id, *calibration)


def test_an_empty_leaderboard_says_the_next_step_and_others_are_told_why_not(handlers, form, rated):
    parts = handlers.open(ask("judith", rated.id))
    assert parts["closed"] == ""
    assert "An administrator of the project can add one" in parts["status"]
    assert not parts["board"].visible
    assert FOR_LEADERS in handlers.open(ask("ana", rated.id))["closed"]
    assert form.open(ask("judith", rated.id)) == (gr.skip(), gr.skip(), gr.skip())
    column, _, golds = form.open(ask("leader", rated.id))
    assert column.visible is True
    assert SHOWN not in dict(golds.choices).values()


@pytest.mark.parametrize("name", ["judith", "ana", None])
def test_only_administrators_add_and_remove(form, rated, service, upload, name):
    gold_id = service.add(rated.id, service.own_gold(rated.id), _system(service, rated))
    [entry] = service.board(rated.id, gold_id).entries
    files = [upload("run.txt", "1\n2\n3\n4\n5\n6\n7\n8\n")]
    assert "Nothing was added" in add(form, rated, "mine", files, by=name)[0]
    with pytest.raises(gr.Error):
        form.remove(ask(name, rated.id), entry.id)
    assert len(service.board(rated.id, gold_id).entries) == 1


def _system(service, rated):
    from annotation.system_report import System

    return System("kept", tuple(one.gold for one in service.own_gold(rated.id).pairs))


def test_uploaded_scores_and_systems_that_run_here_are_ranked(handlers, form, rated, upload):
    lines = "".join(f"{score}\n" for score in (0, 4, 1, 3, 1, 3, 0, 2))
    said, name, *_, gold_id = add(form, rated, EVIL, [upload("run.txt", lines)])
    assert "onerror=alert(1)&gt; on the project&#x27;s gold (" in said
    assert name == ""
    for what in ("lcs", "embedding"):
        assert "Added" in add(form, rated, "", what=what)[0]
    parts = handlers.show(gold_id, ask("judith", rated.id))
    assert "On the project's gold as it is now: 8 pairs" in parts["status"]
    assert parts["first"].choices[0] == (EVIL, EVIL)
    assert "<img" not in "".join(part for part in parts.values() if isinstance(part, str))
    assert parts["pearson"].index("&lt;img") < parts["pearson"].index("lcs")
    assert "Pearson (official), ranked by its sum" in parts["pearson"]
    assert parts["chart"].visible
    told = handlers.compare(gold_id, "lcs", EVIL, ask("judith", rated.id))
    assert "lcs minus &lt;img" in told
    assert "p (Williams)" in told
    assert "same system" in handlers.compare(gold_id, "lcs", "lcs", ask("judith", rated.id))
    assert handlers.compare(gold_id, "lcs", None, ask("judith", rated.id)) == gr.skip()

    rated.rate("open", ben="2")
    assert (
        "8 then. These figures are of the older gold;"
        in handlers.show(gold_id, ask("judith", rated.id))["status"]
    )


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ([], "No file of scores is chosen"),
        (
            [("run.txt", "1\n2\n")],
            "run.txt, line 3: no score, the file ends after 2 and the gold grades have 8 pairs",
        ),
        ([("run.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")], "run.txt, line 9: one score too many"),
        ([("run.txt", "1\ntwo\n")], "run.txt, line 2: &#x27;two&#x27; is not a number"),
        ([("run.jsonl", '{"id": "zz", "score": 1}\n')], "run.jsonl, line 1: the gold grades have no"),
        ([("run.gz", "1\n")], "run.gz cannot be read here"),
        ([("a.txt", "1\n"), ("b.txt", "1\n")], "a.txt: its name contains no comparison type"),
        ([("run.txt", "")], "run.txt, line 1: no score, the file ends after 0"),
        ([("run.txt", "\n")], "run.txt, line 1: no score, the file ends after 0"),
        ([("run.txt", "1\r\n2\r\nNaN\r\n")], "run.txt, line 3: &#x27;NaN&#x27; is not a number"),
        ([("run.txt", "1\n²\n")], "run.txt, line 2: &#x27;²&#x27; is not a number"),
        ([("run.txt", "1\n١\n")], "run.txt, line 2: &#x27;١&#x27; is not a number"),
        ([("run.txt", "1\n1e999\n")], "run.txt, line 2: "),
        ([("run.txt", "1\n\n3\n")], "run.txt, line 2: is empty"),
        ([("run.txt", "\ufeffx\n")], "run.txt, line 1: &#x27;x&#x27; is not a number"),
        ([("run.txt", "7" * 1_000_000)], "run.txt, line 1: "),
        ([("run.txt", "1\n" * 500_000)], "run.txt, line 9: one score too many"),
        ([("run.jsonl", '{"id": "a", "score": NaN}\n')], "run.jsonl, line 1"),
        ([("run.jsonl", '{"id": "a", "score": true}\n')], "run.jsonl, line 1, field"),
        (
            [("phrase2word.a.txt", "1\n2\n3\n"), ("phrase2word.b.txt", "1\n2\n3\n")],
            "in another file of The upload",
        ),
    ],
)
def test_what_is_wrong_with_scores_is_said_with_the_line_and_without_paths(form, rated, upload, files, told):
    said, name, *_ = add(form, rated, "mine", [upload(*file) for file in files])
    assert told in said
    assert "Nothing was added" in said
    assert "/scores-" not in said
    assert len(said) < 400
    assert name == gr.skip()
    assert form.systems.golds(rated.id) == []


def test_of_several_files_all_that_are_there_stay_chosen_when_one_is_refused(form, rated, upload):
    right = upload("sentence2phrase.ours.txt", "0\n1\n2\n3\n4\n")
    wrong = upload("phrase2word.ours.txt", "1\nx\n")
    said, _, files, *_ = add(form, rated, "ours", [right, wrong])
    assert "phrase2word.ours.txt, line 2: " in said
    assert "The files are still chosen; remove the wrong one with × and add the right one." in said
    assert files == gr.skip()
    said, _, files, *_ = add(form, rated, "ours", [right, wrong, "/nowhere/gone.txt"])
    assert [file["orig_name"] for file in files.value] == ["sentence2phrase.ours.txt", "phrase2word.ours.txt"]


def test_ranks_on_few_pairs_are_said_to_be_uncertain(handlers, form, rated, upload):
    grades = [float(pair.gold) for pair in form.systems.own_gold(rated.id).pairs]
    add(form, rated, "perfect", [upload("run.txt", "".join(f"{grade}\n" for grade in grades))])
    status = handlers.show(None, ask("leader", rated.id))["status"]
    reason = "\\d+ of 1\u202f000 resamples drew one value only: no interval"
    assert re.search(rf"Uncertain ranks: phrase to word has 3 pairs, and for “perfect” {reason}\. ", status)
    assert "sentence to phrase has" not in status, "an interval without width is not wide"
    mixed = "".join(f"{grade}\n" for grade in (*grades[4:], *grades[:4]))
    *_, gold_id = add(form, rated, "mixed", [upload("mixed.txt", mixed)])
    [wide, *_] = wide_parts(form.systems.board(rated.id, gold_id).report)
    assert wide.width > 1
    status = unescape(handlers.show(None, ask("leader", rated.id))["status"])
    assert f"{type_label(wide.type)} has {wide.pairs} pairs" in status
    assert f"and the interval of “mixed” is {wide.width:.2f} wide" in status
    assert "A correlation lies between −1 and 1" in status


def test_of_a_system_whose_scores_hardly_differ_many_pairs_are_not_called_few():
    gold = [GoldPair("phrase2word", f"{number}", "left", "right", number % 5) for number in range(1_000)]
    spiked = System("spiked", tuple(float(number == 4) for number in range(1_000)))
    said = unescape(wide_intervals_html(score_systems(gold, [spiked], resamples=100)))
    reason = r"\d+ of 100 resamples drew one value only: no interval"
    assert re.search(f"phrase to word has 1\u202f000 pairs, and for “spiked” {reason}", said)
    assert "few" not in said.lower()


def test_scores_of_windows_programs_are_read(form, rated, upload):
    said = add(form, rated, "", [upload("run.txt", "\ufeff0\r\n4\r\n1\r\n3\r\n1\r\n3\r\n0\r\n2\r\n")])[0]
    assert "Added run on " in said
    assert "8 scores" in said


def test_systems_are_measured_on_other_gold_and_on_the_gold_that_is_shown(handlers, form, rated, upload):
    gold = "".join(
        json.dumps(
            {"id": f"x{n}", "type": "sentence2phrase", "left": f"{n} boats", "right": "boats", "gold": n}
        )
        + "\n"
        for n in range(4)
    )
    files = [upload("other.jsonl", gold)]
    scores = [upload("sentence2phrase.txt", "0\n1\n2\n2.5\n")]
    *_, gold_id = add(form, rated, "first", scores, gold=FILES, gold_files=files)
    assert add(form, rated, "second", what="gst", gold=SHOWN, gold_id=gold_id)[-1] == gold_id
    parts = handlers.show(gold_id, ask("leader", rated.id))
    assert "On gold from other.jsonl" in parts["status"]
    assert "The pairs have no genres. Import pairs with a field genre" in parts["genres"]
    assert not parts["chart"].visible
    broken = [upload("broken.jsonl", gold.replace('"gold": 3', '"gold": "x"'))]
    said = add(form, rated, "third", scores, gold=FILES, gold_files=broken)[0]
    assert "broken.jsonl, line 4, field &#x27;gold&#x27;" in said


def test_scores_of_pairs_without_a_gold_grade_are_left_out_and_counted(form, rated, service, upload):
    ids = [*"abcdefgh", "open"]
    run = [upload("run.csv", "id,score\n" + "".join(f"{id},{n}\n" for n, id in enumerate(ids)))]
    said, *_, gold_id = add(form, rated, "first", run)
    scores = "8 scores (sentence to phrase, phrase to word)."
    assert f": {scores} 1 score is left out, as its pair has no gold grade so far." in said
    unknown = [upload("unknown.csv", "id,score\na,1\nz,2\n")]
    assert "the gold grades have no &#x27;z&#x27;" in add(form, rated, "second", unknown)[0]

    rated.rate("open", ben="2")  # it has a grade now, but not in the gold set that is shown
    assert ": 9 scores (" in add(form, rated, "third", run)[0]
    assert "1 score is left out" in add(form, rated, "fourth", run, gold=SHOWN, gold_id=gold_id)[0]
    entries = service.board(rated.id, gold_id).entries
    assert [entry.name for entry in entries] == ["first", "fourth"]


def test_the_list_of_unfinished_pairs_may_come_with_gold_from_files(form, rated, upload):
    gold = upload("gold.jsonl", training_pairs(4, "sentence2phrase", lambda n: n))
    unfinished = upload("unfinished.jsonl", training_pairs(6, "phrase2word", lambda n: None))
    run = [upload("run.csv", "id,score\n" + "".join(f"t{n},{n}\n" for n in range(6)))]
    said = add(form, rated, "first", run, gold=FILES, gold_files=[gold, unfinished])[0]
    assert "Added first on gold from gold.jsonl, unfinished.jsonl (" in said
    assert ": 4 scores (sentence to phrase). 2 scores are left out" in said
    assert "No file of gold grades" in add(form, rated, "second", run, gold=FILES, gold_files=[unfinished])[0]


def training_pairs(count, type, grade_of):
    rows = [
        {"id": f"t{n}", "type": type, "left": f"{n} of {type}", "right": f"{n} boats", "gold": grade_of(n)}
        for n in range(count)
    ]
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def test_a_system_is_calibrated_on_other_pairs_and_its_name_says_so(handlers, form, rated, upload):
    types = ("sentence2phrase", "phrase2word")
    grades = upload("train.jsonl", "".join(training_pairs(5, type, lambda n: n) for type in types))
    bent = "".join(f"{n**3}\n" for _ in types for n in range(5))  # the cubes of what people said
    own = [float(pair.gold) for pair in form.systems.own_gold(rated.id).pairs]
    run = upload("run.txt", "".join(f"{round(grade) ** 3}\n" for grade in own))
    said, *_, gold_id = add(
        form, rated, "ours", [run], training=[grades], training_scores=[upload("taught.txt", bent)]
    )
    assert "Added ours (calibrated) on the project&#x27;s gold (" in said
    [system] = form.systems.board(rated.id, gold_id).report.systems
    rounded = [float(round(grade)) for grade in own]
    for type in types:
        places = [n for n, pair in enumerate(form.systems.own_gold(rated.id).pairs) if pair.type == type]
        straight = pearsonr([own[n] for n in places], [rounded[n] for n in places]).statistic
        assert system.types[type].pearson.value == pytest.approx(straight)
    parts = handlers.show(gold_id, ask("judith", rated.id))
    assert "ours (calibrated)" in parts["pearson"]
    assert "fitted to the grades of 10 other pairs, type by type, by isotonic regression" in parts["method"]
    assert "Added lcs (calibrated)" in add(form, rated, "", what="lcs", training=[grades])[0]


def test_what_cannot_be_calibrated_is_refused_and_right_files_stay_in_their_boxes(form, rated, upload):
    run = [upload("run.txt", "1\n" * 8)]
    grades = [upload("train.jsonl", training_pairs(5, "sentence2phrase", lambda n: n))]
    assert "No file of training grades is chosen" in add(form, rated, "", run, training=[])[0]
    said = add(form, rated, "", run, training=grades)[0]
    assert "No file of its scores of the training pairs is chosen" in said
    short = [upload("taught.txt", "1\n2\nx\n")]
    said, _, files, _, training, taught, _ = add(form, rated, "", run, training=grades, training_scores=short)
    assert "taught.txt, line 3: &#x27;x&#x27; is not a number" in said
    assert (files, training) == (gr.skip(), gr.skip())
    assert taught == gr.skip()
    assert "The file is still chosen; to choose another one, remove it with × first." in said
    said = add(form, rated, "", what="lcs", training=grades)[0]
    assert "no scored pair of phrase2word to calibrate on" in said
    rows = [
        {"id": pair.id, "type": pair.type, "left": pair.left, "right": pair.right, "gold": pair.gold}
        for pair in form.systems.own_gold(rated.id).pairs
    ]
    same = [upload("same.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows))]
    said = add(form, rated, "", what="lcs", training=same)[0]
    assert "also in the training grades (same.jsonl, line 1), as are 8 of 8 in all" in said
    assert form.systems.golds(rated.id) == []


def test_boxes_for_training_are_there_when_they_are_wanted(form, rated):
    def visible(what, calibrates):
        return [box.visible for box in form.choose(what, OWN, calibrates, ask("leader", rated.id))]

    assert visible("scores", False) == [True, False, False, False]
    assert visible("scores", True) == [True, False, True, True]
    assert visible("lcs", True) == [False, False, True, False]


@pytest.fixture
def client(rated, service):
    """A browser at a server that has sign-in and this download; sign_in(name) changes who it is."""
    accounts = AccountService(rated.database)
    server = FastAPI()
    add_account_pages(
        server, SignInService(rated.database), InvitationService(rated.database), TokenService(rated.database)
    )
    projects = ProjectService(rated.database)
    server.include_router(build_board_downloads(Admission(accounts, projects), service))
    client = TestClient(server, headers={"accept": "application/json"})

    def sign_in(name):
        with rated.database.session() as session:
            client.cookies.set(COOKIE, start_session(session, accounts.user(name).id, datetime.now(UTC)))

    client.sign_in = sign_in
    return client


def test_files_have_every_figure_and_run_nothing_in_a_spreadsheet(form, rated, client, upload):
    lines = "".join(f"{score}\n" for score in (0, 4, 1, 3, 1, 3, 0, 2))
    gold_id = add(form, rated, "=1+1", [upload("run.txt", lines)])[-1]
    add(form, rated, "", what="lcs")
    client.sign_in("judith")
    table = client.get(board_address(rated.id, gold_id, "csv"))
    assert table.headers["content-disposition"].startswith('attachment; filename="harbour-leaderboard.csv"')
    rows = list(csv.DictReader(io.StringIO(table.content.decode("utf-8-sig"))))
    assert table.content.startswith(codecs.BOM_UTF8)
    assert (rows[0]["system"], rows[0]["type"], rows[0]["rank"]) == ("'=1+1", "sum", "1")
    assert {(row["type"], row["genre"]) for row in rows} >= {
        ("phrase2word", ""),
        ("", EVIL),
        ("phrase2word", "news"),
    }
    told = client.get(board_address(rated.id, gold_id, "json")).json()
    assert told["gold"] == {
        "name": None,
        "pairs": 8,
        "sha256": form.systems.own_gold(rated.id).sha256,
        "at": rated.clock().isoformat(),
    }
    assert [(one["system"], one["origin"], one["by"]) for one in told["systems"]] == [
        ("=1+1", "scores", "leader"),
        ("lcs", "lcs", "leader"),
    ]
    assert float(rows[0]["pearson"]) == told["systems"][0]["sum_pearson"]


@pytest.mark.parametrize(
    ("name", "ending", "gold", "status"),
    [(None, "csv", 1, 401), ("ana", "csv", 1, 403), ("judith", "exe", 1, 404), ("judith", "json", 99, 404)],
)
def test_files_are_for_leaders_and_there_are_no_others(form, rated, client, name, ending, gold, status):
    add(form, rated, "", what="lcs")
    if name:
        client.sign_in(name)
    assert client.get(board_address(rated.id, gold, ending)).status_code == status


def cells(table_html, table):
    """The texts of a table, row by row."""
    body = (
        table_html.partition(f'id="leaderboard-{table}"')[2].partition("<tbody>")[2].partition("</tbody>")[0]
    )
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in body.split("</tr>")[:-1]]
    return [[re.sub(r"<[^>]*>", "", cell) for cell in row] for row in rows]


def test_each_table_is_in_the_order_of_its_own_ranks_and_says_why_a_figure_is_undefined(
    handlers, form, rated, upload
):
    own = [float(pair.gold) for pair in form.systems.own_gold(rated.id).pairs]
    rows = [f"{grade**6}\n" for grade in own]  # the right order on another scale: Spearman's favourite
    add(form, rated, "order", [upload("order.txt", "".join(rows))])
    near = [grade + 0.7 * (-1) ** n for n, grade in enumerate(own)]
    add(form, rated, "scale", [upload("scale.txt", "".join(f"{grade}\n" for grade in near))])
    half = [upload("phrase2word.txt", "1\n2\n0\n")]
    gold_id = add(form, rated, "half", half)[-1]
    parts = handlers.show(gold_id, ask("judith", rated.id))
    added = f'<time datetime="{rated.clock().isoformat()}">'
    assert parts["pearson"].count(added) == 3  # the page's script writes it as everywhere else
    assert [row[:2] for row in cells(parts["pearson"], "pearson")] == [
        ["scale", "1"],
        ["order", "2"],
        ["half", "3"],
    ]
    assert [row[:2] for row in cells(parts["spearman"], "spearman")] == [
        ["order", "1"],
        ["scale", "2"],
        ["half", "3"],
    ]
    assert [row[-2:] for row in cells(parts["ranks"], "ranks")] == [["1", "2"], ["2", "1"], ["3", "3"]]
    told = parts["method"].partition("Why some figures are undefined")[2]
    assert "<strong>half: sentence to phrase, " in told
    assert "The system does not score these pairs." in told


def test_the_ranking_is_saved_for_papers_and_tells_of_the_page_and_its_gold(handlers, form, rated, upload):
    own = [float(pair.gold) for pair in form.systems.own_gold(rated.id).pairs]
    lines = "".join(f"{grade + 0.7 * (-1) ** n}\n" for n, grade in enumerate(own))
    add(form, rated, f"R&D_{EVIL}", [upload("run.txt", lines)])
    gold_id = add(form, rated, "half", [upload("phrase2word.txt", "2\n1\n0\n")])[-1]
    parts = handlers.show(gold_id, ask("judith", rated.id))
    table = saved_table(parts["save"], "harbour-leaderboard.tex")
    assert table.heads == ["System", "sentence2phrase", "phrase2word", "Sum", "Rank", "Sum", "Rank"]
    assert list(table.rows) == [f"R&D_{EVIL}", "half"]
    spearman = {row[0]: row for row in cells(parts["spearman"], "spearman")}
    for (name, row), (shown_name, rank, *pearson) in zip(
        table.rows.items(), cells(parts["pearson"], "pearson"), strict=True
    ):
        _, second_rank, *_, second_sum = spearman[shown_name]
        types_and_sum = pearson[:3]
        expected = [*map(as_latex, types_and_sum), rank, as_latex(second_sum), second_rank]
        assert (name, row) == (unescape(shown_name), expected)
    uncertain = wide_intervals_text(form.systems.board(rated.id, gold_id).report)
    assert uncertain.startswith("Uncertain ranks: ")
    assert uncertain in table.comments
    sha256 = form.systems.own_gold(rated.id).sha256
    assert table.comments[0] == (
        "The page Leaderboard of kpdemo, project harbour, gold from the project, "
        f"SHA-256 of its pairs {sha256}, version {__version__}."
    )
    assert "--: half, sentence2phrase: The system does not score these pairs." in table.comments
    assert not any("python -m" in comment for comment in table.comments)
    rated.rate("open", ben="2")
    parts = handlers.show(gold_id, ask("judith", rated.id))
    older = saved_table(parts["save"], "harbour-leaderboard.tex")
    assert [comment for comment in older.comments if comment not in table.comments] == [
        f"On the project's gold of 2026-03-01 09:00 UTC: 8 pairs, version {sha256[:12]}. The gold has "
        "changed since: 9 pairs have a grade now, 8 then. These figures are of the older gold; to measure a "
        "system on the new one, add it again."
    ]


def as_latex(cell):
    """The figure of a cell of the page, without its interval."""
    figure = cell.split()[0]
    if figure == "undefined":
        return "--"
    return re.sub(r"\b0\.", ".", figure).replace("\N{MINUS SIGN}", "$-$").replace("-", "$-$")


def test_removing_leaves_the_others(handlers, form, rated):
    gold_id = add(form, rated, "", what="lcs")[-1]
    add(form, rated, "", what="gst")
    held, golds = form.list_systems(gold_id, ask("leader", rated.id))
    assert SHOWN in dict(golds.choices).values()
    assert [name for name, _ in held.choices] == ["lcs", "gst"]
    form.remove(ask("leader", rated.id), held.choices[0][1])
    assert "lcs" not in handlers.show(gold_id, ask("leader", rated.id))["pearson"].replace("(lcs)", "")


def test_a_chart_stacks_genres_and_has_none_without_them():
    chart = genre_chart(["a", "b"], [("news", (0.5, -0.2)), ("none", (None, None)), ("fables", (0.1, None))])
    assert [trace["name"] for trace in chart["data"]] == ["news", "fables"]
    assert chart["data"][0]["y"] == [0.5, -0.2]
    assert chart["layout"]["barmode"] == "relative"
    looks = [
        (trace["marker"]["color"], trace["marker"]["pattern"]["shape"])
        for trace in genre_chart(["a"], [(str(n), (0.1,)) for n in range(40)])["data"]
    ]
    assert len(set(looks)) == 40
    assert genre_chart(["a"], [("none", (None,))]) is None


def test_without_wordnet_a_system_that_runs_here_leaves_senses_out_or_says_how_to_get_it(form, rated, upload):
    rows = [
        {"id": f"w{n}", "type": "word2sense", "left": "boat#n", "right": "a vessel", "gold": n % 3}
        for n in range(3)
    ]
    senses = [upload("senses.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows))]
    assert "There is no WordNet in" in add(form, rated, "", what="lcs", gold=FILES, gold_files=senses)[0]
    mixed = [{**row, "id": f"p{row['id']}", "type": "phrase2word"} for row in rows]
    both = [upload("both.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows + mixed))]
    said = add(form, rated, "", what="lcs", gold=FILES, gold_files=both)[0]
    left_out = (
        "3 of 6 pairs, those of word to sense, have no score. word2sense is left out: There is no WordNet"
    )
    assert f": 3 scores (phrase to word). {left_out}" in said
