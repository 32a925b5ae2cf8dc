"""`python -m annotation project` and `import`, as scripts call them."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy.exc import DataError, IntegrityError, OperationalError, ProgrammingError

from annotation.services.projects import ProjectService
from db import Database
from db.migrations import prepare
from tests import tiny_wordnet as tiny
from tests.commands import main
from tests.databases import migrated_file, spoil

UNREADABLE = Path("/proc/self/mem")
ROWS = [
    {"id": "a", "type": "sentence2phrase", "left": "Snow fell.", "right": "snow", "ratings": [4, 2.75]},
    {"id": "b", "type": "sentence2phrase", "left": "Rain fell.", "right": "sun", "genre": "Travel"},
]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Run a command line on a database of its own; gives status, output and errors."""
    file = tmp_path / "data" / "kpdemo.db"
    file.parent.mkdir()
    file.write_bytes(migrated_file())
    monkeypatch.setenv("KPDEMO_DATABASE_URL", f"sqlite:///{file}")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))

    def run(*arguments: str) -> tuple[int, str, str]:
        status = main(arguments)
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


def test_a_project_goes_from_its_making_to_its_deletion(call, tmp_path):
    (tmp_path / "guide.md").write_bytes("﻿# Grade\r\nwell".encode())
    (tmp_path / "consent.md").write_text("Take part?\n", encoding="utf-8")
    made = call(
        "project", "create", "News", "--types", "sentence2phrase,title2abstract", "--types", "own",
        "--raters", "3", "--threshold", "1.5", "--step", "0.5", "--guidelines", "guide.md", "--seed", "7",
        "--order", "file", "--no-revise", "--lease", "45", "--most-per-rater", "40",
        "--consent", "consent.md", "--json",
    )  # fmt: skip
    assert made[0] == 0, made[2]
    project = json.loads(made[1])
    assert {key: project[key] for key in project if key not in ("id", "created_at")} == {
        "name": "News",
        "types": ["sentence2phrase", "own", "title2abstract"],
        "guidelines": "# Grade\nwell",
        "raters_per_pair": 3,
        "threshold": 1.5,
        "average": "mean",
        "step": 0.5,
        "order": "file",
        "seed": 7,
        "may_revise": False,
        "lease_minutes": 45,
        "most_per_rater": 40,
        "repeat_percent": 0,
        "consent": "Take part?",
        "scale_words": "",
    }
    assert call("project", "list")[1].split()[-5:] == ["3", "0", "0", "0", "0"]
    status, _, errors = call("project", "delete", "news")
    assert (status, errors) == (
        2,
        "This would delete News with 0 pairs and 0 ratings: add --yes if that is what you want.\n",
    )
    assert call("project", "delete", "news", "--yes") == (0, "Deleted News with 0 pairs and 0 ratings.\n", "")
    assert json.loads(call("project", "list", "--json")[1]) == []
    assert "No projects yet" in call("project", "list")[1]


def test_the_limit_of_pairs_per_rater_is_set_shown_and_removed(call):
    made = json.loads(call("project", "create", "News", "--most-per-rater", "0", "--json")[1])
    assert made["most_per_rater"] is None
    assert re.search(r"Most pairs per rater +no limit", call("project", "show", "news")[1])
    set_to = call("project", "change", "news", "--most-per-rater", "1200")
    assert set_to == (0, "Changed News: limit of pairs per rater: none → 1200.\n", "")
    assert re.search(r"Most pairs per rater +1,200", call("project", "show", "news")[1])
    assert json.loads(call("project", "show", "news", "--json")[1])["most_per_rater"] == 1200
    changed = json.loads(call("project", "change", "NEWS", "--most-per-rater", "0", "--json")[1])
    assert changed == made


def test_the_consent_text_is_changed_by_a_file_and_ended_by_an_empty_one(call, tmp_path):
    for name, text in (("consent.md", "Take part?\n"), ("empty.md", "\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    call("project", "create", "News", "--most-per-rater", "7")
    assert re.search(r"Consent text +none", call("project", "show", "news")[1])
    asked = call("project", "change", "news", "--consent", "consent.md")
    assert asked == (0, "Changed News: consent text: 0 → 10 characters.\n", "")
    shown = json.loads(call("project", "show", "news", "--json")[1])
    assert (shown["consent"], shown["most_per_rater"]) == ("Take part?", 7)
    ended = call("project", "change", "news", "--consent", "empty.md", "--most-per-rater", "8")
    assert ended[1] == ("Changed News: limit of pairs per rater: 7 → 8; consent text: 10 → 0 characters.\n")


def test_ids_that_an_import_makes_up_are_told(call):
    call("project", "create", "News", "--types", "sentence2phrase")
    Path("bare.tsv").write_text("A dog runs far.\ta dog runs\nA bird sings well.\ta bird sings\n")
    assert call("import", "news", "bare.tsv", "pairs.jsonl")[1] == (
        "Imported 4 pairs and 2 ratings into News.\n"
        "bare.tsv has no header and was read as an input file of SemEval-2014 Task 3: 2 pairs have no id and "
        "got the number of the line, first sentence2phrase-1.\n"
    )
    assert json.loads(call("import", "news", "bare.tsv", "--json")[1])["made_ids"] == 2


def test_an_import_of_senses_without_wordnet_warns_until_they_have_definitions(call, tmp_path):
    wordnet = tiny.write_wordnet(tmp_path / "dict", tiny.NETWORK)
    row = {"id": "s", "type": "word2sense", "left": "mouse#n", "right": tiny.POINTER.key}
    (tmp_path / "senses.jsonl").write_text(json.dumps(row) + "\n")
    assert call("project", "create", "news", "--types", "word2sense")[0] == 0
    told = call("import", "news", "senses.jsonl", "--wordnet", "nowhere")[1]
    assert "1 pair has a sense key and no definition, as there is no WordNet here" in told
    assert "`apt install wordnet-base wordnet-sense-index`" in told
    status, _, error = call("pairs", "describe", "news", "--wordnet", "nowhere")
    assert (status, "There is no WordNet in nowhere" in error) == (1, True)
    described = json.loads(call("pairs", "describe", "news", "--wordnet", str(wordnet), "--json")[1])
    assert described == {"project": "news", "described": 1, "unknown": 0}
    assert call("pairs", "describe", "news", "--wordnet", str(wordnet))[1] == (
        "0 pairs of news have their definitions now.\n"
    )


def test_accounts_that_an_import_makes_raters_are_named(call):
    call("project", "create", "News", "--types", "sentence2phrase", "--raters", "10")
    call("project", "create", "Fables", "--types", "sentence2phrase", "--raters", "10")
    names = [f"rater {letter}" for letter in "abcdefg"]
    for name in names:
        call("user", "add", name)
    names.append("New")
    row = {**ROWS[0], "ratings": ";".join(f"{name}=1" for name in names)}
    Path("many.jsonl").write_text(json.dumps(row) + "\n")
    assert call("import", "News", "many.jsonl")[1] == (
        "Imported 1 pair and 8 ratings into News.\n"
        "7 existing accounts became raters of the project: rater a, rater b, rater c, rater d, "
        "rater e and 2 more. Take the role away if that was not intended.\n"
    )
    assert json.loads(call("import", "Fables", "many.jsonl", "--json")[1])["joined"] == names


REPEATED = (
    "id,type,left,right,rating:r1,rating:r2\n1,sentence2sentence,a,b,1,2\n2,sentence2sentence,a,b,4,3\n"
)


@pytest.mark.parametrize("name", ["repeated.csv", "repeated.tsv"])
def test_grades_of_equal_texts_under_two_ids_all_arrive_and_that_is_told(call, name):
    Path(name).write_text(REPEATED.replace(",", "\t") if name.endswith("tsv") else REPEATED)
    call("project", "create", "News", "--types", "sentence2sentence")
    assert call("import", "news", name) == (
        0,
        "Imported 2 pairs and 4 ratings into News.\n"
        "1 pair has the same texts as a pair with another id, and both are graded: 2 (as 1). They can be "
        "merged only while they are imported.\n",
        "",
    )
    rows = [json.loads(line) for line in call("ratings", "news", "--raters", "named")[1].splitlines()]
    grades = {(row["id"], row["rater"]): row["grade"] for row in rows}
    assert grades == {("1", "r1"): 1, ("1", "r2"): 2, ("2", "r1"): 4, ("2", "r2"): 3}
    again = json.loads(call("import", "news", name, "--json")[1])
    assert (again["pairs"], again["ratings"], again["duplicates"]) == (0, 0, ["1", "2"])
    call("project", "create", "Fables", "--types", "sentence2sentence")
    assert json.loads(call("import", "fables", name, "--json")[1])["equal_texts"] == [{"id": "2", "as": "1"}]


def test_equal_texts_are_merged_if_wished_and_the_grades_left_out_are_named(call):
    Path("repeated.csv").write_text(f"{REPEATED}3,sentence2sentence,a,b,1,\n")
    call("project", "create", "News", "--types", "sentence2sentence")
    said = (
        "2 pairs were merged into the pair with the same texts: 2 (into 1), 3 (into 1).\n"
        "3 ratings were left out, because their raters had graded the pair with the same texts: "
        "r1 of 2 (4; kept: 1), r2 of 2 (3; kept: 2), r1 of 3 (1; kept: 1).\n"
    )
    done = call("import", "news", "repeated.csv", "--merge-equal-texts")
    assert done == (0, f"Imported 1 pair and 2 ratings into News.\n{said}", "")
    again = json.loads(call("import", "news", "repeated.csv", "--merge-equal-texts", "--json")[1])
    assert (again["pairs"], again["ratings"], again["duplicates"]) == (0, 0, ["1"])
    assert again["merged"] == [{"id": "2", "into": "1"}, {"id": "3", "into": "1"}]
    assert again["ratings_left_out"] == [
        {"id": "2", "rater": "r1", "grade": 4, "kept": 1},
        {"id": "2", "rater": "r2", "grade": 3, "kept": 2},
        {"id": "3", "rater": "r1", "grade": 1, "kept": 1},
    ]


@pytest.mark.parametrize(
    ("name", "way"), [("nws", "use 'News', or another of"), ("weather", "see"), ("\ud800", "see")]
)
def test_a_project_that_is_not_there_has_the_nearest_name_and_the_command_that_lists_all(call, name, way):
    for project in ("News", "Fables"):
        call("project", "create", project, "--types", "sentence2phrase")
    said = f"There is no project {name!r}: {way} `python -m annotation project list`.\n"
    assert call("import", name, "pairs.jsonl") == (1, "", said)


def test_files_are_imported_together_and_shown(call):
    call("project", "create", "News", "--types", "sentence2phrase")
    Path("late.csv").write_text("id,rater,grade\nb,Ana,1\n")
    assert call("import", "news", "pairs.jsonl", "late.csv") == (
        0,
        "Imported 2 pairs and 3 ratings into News.\n",
        "",
    )
    again = json.loads(call("import", "news", "pairs.jsonl", "--json")[1])
    assert again == {
        "project": "News", "pairs": 0, "ratings": 0, "duplicates": ["a", "b"], "made_ids": 0, "joined": [],
        "without_definitions": 0, "equal_texts": [], "merged": [], "ratings_left_out": [],
    }  # fmt: skip
    assert "2 pairs were there already and were left out: a, b." in call("import", "news", "pairs.jsonl")[1]
    Path("one.jsonl").write_text(json.dumps(ROWS[0]) + "\n")
    assert "1 pair was there already and was left out: a." in call("import", "news", "one.jsonl")[1]
    shown, typed = json.loads(call("project", "show", "news", "--json")[1]), "sentence2phrase"
    assert shown["counts"] == {
        "pairs": 2, "ratings": 3, "finished": 1, "flagged": 1, "to_adjudicate": 1,
        "groups": [
            {"type": typed, "genre": None, "pairs": 1, "ratings": 2, "finished": 1, "flagged": 1},
            {"type": typed, "genre": "Travel", "pairs": 1, "ratings": 1, "finished": 0, "flagged": 0},
        ],
    }  # fmt: skip
    assert [member["user"] for member in shown["members"]] == ["Ana", "News/1", "News/2"]
    text = call("project", "show", "news")[1]
    assert "Of the flagged pairs 1 waits to be adjudicated.\n" in text
    assert "Travel" in text
    assert "News/2" in text
    assert "\x1b" not in text


def test_several_wrong_lines_are_told_in_one_sentence(call):
    call("project", "create", "News", "--types", "own")
    Path("pairs.csv").write_text("id,left,right\n1,,b\n2,a,b\n3,a,\n")
    status, _, errors = call("import", "News", "pairs.csv")
    assert status == 1
    assert errors.count("\n") == 1
    assert errors.startswith(
        "2 lines cannot be imported; these are: (1) pairs.csv, line 2, field 'left': is empty; "
    )
    assert "; (2) pairs.csv, line 4, field 'right': is empty; " in errors
    assert errors.count(".\n") == 1
    Path("pairs.csv").write_text("id,left,right\n" + "".join(f"{n},,b\n" for n in range(9)))
    _, _, errors = call("import", "News", "pairs.csv")
    assert errors.startswith("9 lines cannot be imported; the first 5 are: (1) ")
    assert "(5) " in errors
    assert errors.count("\n") == 1


def test_the_only_type_of_a_project_need_not_be_named(call):
    call("project", "create", "News", "--types", "own")
    Path("pairs.csv").write_text("id,left,right\n1,a,b\n")
    assert call("import", "News", "pairs.csv")[0] == 0
    call("project", "create", "Two", "--types", "own,other")
    status, _, errors = call("import", "Two", "pairs.csv")
    assert (status, errors) == (
        1,
        "pairs.csv, line 2, field 'type': is missing; add it, or name the type of the whole file.\n",
    )
    assert call("import", "Two", "pairs.csv", "--type", "other")[0] == 0


def test_a_file_named_for_another_type_than_the_only_one_is_refused(call):
    call("project", "create", "words", "--types", "phrase2word")
    Path("paragraph2sentence.trial.input.tsv").write_text("A long one.\tShort.\ttrial-p2s-1\n")
    status, _, errors = call("import", "words", "paragraph2sentence.trial.input.tsv")
    assert status == 1
    assert "'paragraph2sentence' is not a type of the project" in errors


def test_the_tasks_own_files_are_imported_by_their_names(call):
    call("project", "create", "clss")
    Path("word2sense.trial.input.tsv").write_text("pot#n\tbasket%1:06:00::\tbasket#n#1\ttrial-w2s-1\n")
    Path("phrase2word.trial.input.tsv").write_text('a "large ship\tbattleship\ttrial-p2w-4\n')
    names = ("word2sense.trial.input.tsv", "phrase2word.trial.input.tsv")
    assert call("import", "clss", *names)[1].startswith("Imported 2 pairs and 0 ratings into clss.\n")


@pytest.mark.parametrize(
    ("command", "header"),
    [
        ("import", "id\ttype\tleft\tright\n"),
        ("import", "id\trater\tgrade\n\n"),
        ("items import", "id\ttype\ttext\n"),
        ("training import", "id\ttype\tleft\tright\tgrade\n"),
    ],
)
def test_a_file_without_rows_is_refused(call, tmp_path, command, header):
    call("project", "create", "News")
    (tmp_path / "new.tsv").write_text(header)
    refused = call(*command.split(), "News", "new.tsv")
    assert refused == (1, "", "new.tsv: the file has no rows; add one or more.\n")


def test_examples_of_commands_can_be_copied(call):
    for command in ("export", "adjudications", "remarks"):
        status, told, _ = call(command, "--help")
        lines = [line.strip() for line in told.splitlines()]
        examples = lines[lines.index("Examples:") + 2 :]
        assert status == 0
        assert len(examples) == 2
        assert all(line.startswith(f"python -m annotation {command} news") for line in examples)


def test_standard_input_is_read(call, monkeypatch):
    call("project", "create", "News")
    content = "".join(json.dumps(row) + "\n" for row in ROWS).encode()

    class Input:
        buffer = io.BufferedReader(io.BytesIO(content))

    monkeypatch.setattr(sys, "stdin", Input)
    assert call("import", "News", "-")[1] == "Imported 2 pairs and 2 ratings into News.\n"


def test_members_are_added_and_removed(call):
    call("project", "create", "News")
    call("user", "add", "Ana")
    assert call("project", "add-member", "news", "ana", "--role", "rater")[1] == "Ana is now rater in News.\n"
    assert call("project", "add-member", "news", "ana", "--role", "adjudicator")[1] == (
        "Ana is now adjudicator, rater in News.\n"
    )
    assert call("project", "remove-member", "news", "Ana")[0] == 0
    assert json.loads(call("project", "show", "News", "--json")[1])["members"] == []


@pytest.mark.parametrize(
    ("arguments", "status", "part"),
    [
        (("project", "create", "X", "--threshold", "9"), 2, "The threshold is 0.25 to 4"),
        (("project", "create", "X", "--threshold", "high"), 2, "neither a number, such as 1, nor none"),
        (("project", "create", "X", "--threshold", "inf"), 2, "'inf' is neither a number, such as 1"),
        (("quality", "X", "--check-distance", "far"), 2, "'far' is not a number, such as 0.25"),
        (("bridge", "X", "--threshold", "all"), 2, "'all' is not a number, such as 0.25"),
        (("project", "create", "X", "--step", "0.3"), 2, "The step is 0.25, 0.5 or 1, not 0.3"),
        (("project", "create", "X", "--raters", "0"), 2, "from 1 to 20, not 0"),
        (("project", "create", "X", "--most-per-rater", "-1"), 2, "The limit of pairs per rater is a"),
        (("project", "change", "News", "--most-per-rater", "1000001"), 2, "from 1 to 1000000, not 1000001"),
        (("project", "change", "News", "--most-per-rater", "few"), 2, "it should be a valid integer"),
        (("project", "change", "News"), 2, "Nothing to change: name a setting, such as --raters 3"),
        (("project", "change", "News", "--step", "sNaN"), 2, "'sNaN' is not a number, such as 0.25"),
        (("project", "change", "News", "--consent", "gone.md"), 2, "gone.md: cannot be read"),
        (("project", "change", "Olds", "--most-per-rater", "1"), 1, "There is no project 'Olds'"),
        (("project", "create", "X", "--types", " ,"), 2, "The project has no comparison types: give"),
        (("project", "create", "X", "--types", "a b"), 2, "'a b' is not a valid name for a comparison type"),
        (("project", "create", "X", "--guidelines", "gone.md"), 2, "gone.md: cannot be read"),
        (("project", "create", " "), 2, "name is empty"),
        (("project", "create", "NEWS"), 1, "A project named 'NEWS' already exists"),
        (("project", "show", "Olds"), 1, "There is no project 'Olds'"),
        (("project", "add-member", "News", "Nobody"), 1, "There is no account named 'Nobody'"),
        (("project", "add-member", "News", "Ana", "--role", "king"), 2, "'king' is not one of"),
        (("import", "Olds", "pairs.jsonl"), 1, "There is no project 'Olds'"),
        (("import", "News", "gone.tsv"), 2, "gone.tsv: no such file; check the name."),
        (("import", "News", "."), 2, ".: a folder, not a file"),
        (("send", "News", "--documents", ".", "--predictions", "."), 2, ".: a folder, not a file"),
        (("training", "import", "News", "."), 2, ".: a folder, not a file"),
        (("import", "News", "-", "-"), 2, "Standard input can be read once"),
        (("import", "News"), 2, "Missing argument"),
        (("export", "News", "--format", "xls"), 2, "'--format': 'xls' is not one of 'semeval', 'jsonl'"),
        (("import", "News", "bad.csv"), 1, "bad.csv, line 2, field 'right': is empty"),
    ],
)  # fmt: skip
def test_what_goes_wrong_is_one_sentence(call, arguments, status, part):
    call("project", "create", "News")
    Path("bad.csv").write_text("id,type,left,right\na,sentence2phrase,b,\n")
    got, output, errors = call(*arguments)
    assert (got, output) == (status, "")
    assert part in errors
    assert errors.count("\n") == 1


def test_a_project_has_the_five_types_unless_told_otherwise(call):
    project = json.loads(call("project", "create", "News", "--json")[1])
    assert project["types"] == [
        "paragraph2sentence", "sentence2phrase", "phrase2word", "word2sense", "document2keyphrase",
    ]  # fmt: skip
    Path("keyphrases.jsonl").write_text(json.dumps({**ROWS[0], "type": "document2keyphrase"}))
    assert call("import", "News", "keyphrases.jsonl")[0] == 0


def test_a_bad_second_file_undoes_the_first(call):
    call("project", "create", "News")
    Path("bad.csv").write_text("id,type,left,right\na2,sentence2phrase,b,\n")
    assert call("import", "News", "pairs.jsonl", "bad.csv")[0] == 1
    assert json.loads(call("project", "list", "--json")[1])[0]["counts"]["pairs"] == 0


@pytest.mark.parametrize(
    "command",
    [
        ("project", "list"), ("project", "show", "News"), ("user", "list", "--json"), ("agreement", "News"),
        ("import", "News", "pairs.jsonl"), ("adjudications", "News"), ("export", "News"),
    ],
)  # fmt: skip
def test_a_command_that_begins_nothing_makes_no_database(call, tmp_path, command):
    url = f"sqlite:///{tmp_path}/typo/kpdemo.db"
    sentence = (
        f"There is no database at {tmp_path}/typo/kpdemo.db: check the URL, or create one with "
        f"`python -m db upgrade --database-url {url}`."
    )
    printed = json.dumps({"error": sentence}) + "\n" if "--json" in command else ""
    assert call(*command, "--database-url", url) == (1, printed, f"{sentence}\n")
    assert not (tmp_path / "typo").exists()


@pytest.mark.parametrize("command", [("project", "create", "News"), ("user", "add", "Ana")])
def test_a_new_sqlite_database_is_made_by_the_first_command(call, tmp_path, command):
    (tmp_path / "data" / "kpdemo.db").unlink()
    (tmp_path / "data").rmdir()
    assert call(*command)[0] == 0

    database = Database(f"sqlite:///{tmp_path / 'data' / 'kpdemo.db'}")
    assert prepare(database) is None
    database.dispose()


@pytest.mark.slow
def test_closed_streams_and_a_full_disk_are_no_traceback(call, tmp_path):
    call("project", "create", "News")
    rows = "".join(json.dumps({**ROWS[0], "id": str(n), "right": f"{n}" * 200}) + "\n" for n in range(2_000))
    (tmp_path / "many.jsonl").write_text(rows)
    python = f"cd {Path(__file__).parents[2]} && {sys.executable} -m annotation"

    def shell(command: str) -> tuple[int, str]:
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
        return done.returncode, done.stderr

    assert shell(f"{python} project list >&- <&-") == (0, "")
    status, errors = shell(f"{python} import News - <&-")
    assert (status, errors.count("\n"), "empty" in errors) == (1, 1, True)
    status, errors = shell(f"ulimit -f 1200; {python} import News {tmp_path / 'many.jsonl'}")
    assert (status, errors.count("\n")) == (1, 1)
    assert "kpdemo.db cannot be written (disk I/O error): check that its disk works and is not full" in errors
    assert json.loads(call("project", "show", "News", "--json")[1])["counts"]["pairs"] == 0


@pytest.mark.parametrize(
    "call_of",
    [
        ("score", "--gold", "pairs.jsonl", "--system="),
        ("bridge", "News", "--gold", ""),
        ("project", "change", "News", "--consent="),
        ("project", "change", "News", "--scale="),
    ],
)
def test_an_empty_path_is_not_the_current_folder(call, call_of):
    option = call_of[-1].removesuffix("=") or call_of[-2]
    assert call(*call_of) == (2, "", f"{option} is empty: give a name.\n")


def test_a_search_for_a_very_long_text_is_a_wrong_call(call):
    said = "--search has 100,000 characters: give at most 10,000.\n"
    assert call("pairs", "list", "News", "--search", "x" * 100_000) == (2, "", said)
    call("project", "create", "News")
    assert call("pairs", "list", "News", "--search", "%😀" * 5_000)[0] == 0


@pytest.mark.skipif(not UNREADABLE.exists(), reason="needs a file that opens but cannot be read")
@pytest.mark.parametrize(
    "call_of",
    [
        ("import", "News", UNREADABLE),
        ("items", "import", "News", UNREADABLE),
        ("training", "import", "News", UNREADABLE),
        ("score", "--gold", UNREADABLE, "--system", "lcs"),
    ],
)
def test_what_cannot_be_read_is_told_of_the_file(call, call_of):
    call("project", "create", "News")
    status, _, errors = call(*map(str, call_of))
    told = "cannot be read (Input/output error); check its permissions or give another file."
    assert (status, errors) == (1, f"{UNREADABLE}: {told}\n")


def test_a_damaged_database_is_no_traceback(call, tmp_path):
    assert call("project", "create", "News")[0] == 0
    file = tmp_path / "data" / "kpdemo.db"
    spoil(Database(f"sqlite:///{file}"), "projects")
    for command in ("list",), ("create", "Sports"):
        status, out, errors = call("project", *command)
        assert (status, out) == (1, "")
        assert re.fullmatch(rf"\S*{file.name} is damaged \(.+\): look .*`python -m db check`.*\n", errors)


@pytest.mark.parametrize("kind", [DataError, IntegrityError, OperationalError, ProgrammingError])
def test_whatever_a_database_refuses_in_the_middle_is_no_traceback(call, monkeypatch, kind):
    call("project", "create", "News")

    def refuse(*_):
        raise kind("SELECT", {}, Exception("permission denied\nfor table projects"))

    monkeypatch.setattr(ProjectService, "list", refuse)
    status, out, errors = call("project", "list")
    assert (status, out, errors.count("\n")) == (1, "", 1)
    assert errors.startswith("The database failed (permission denied): ")
    assert "`python -m db check`" in errors


def test_a_gold_set_without_a_grade_says_that_it_is_empty(call):
    assert call("project", "create", "News", "--types", "sentence2phrase", "--raters", "3")[0] == 0
    assert call("import", "news", "pairs.jsonl")[0] == 0
    status, _, errors = call("export", "news", "--output", "gold")
    assert (status, errors.count("\n")) == (1, 1)
    assert (
        " lack ratings: have them graded and adjudicated, or give --unfinished leave-out or --unfinished "
        "list." in errors
    )
    status, printed, errors = call("export", "news", "--output", "gold", "--unfinished", "list")
    assert status == 0, errors
    assert "No pair has a gold grade yet" in printed


@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet", "semeval"])
def test_a_gold_set_that_was_exported_empty_is_called_so(call, tmp_path, format):
    call("project", "create", "News", "--types", "sentence2phrase")
    Path("bare.jsonl").write_text(json.dumps(ROWS[1]) + "\n")
    call("import", "news", "bare.jsonl")
    assert call("export", "news", "--format", format, "--unfinished", "leave-out", "--output", "out")[0] == 0
    about = {"manifest.json", "README.md"}
    for path in [Path("out"), *(file for file in Path("out").iterdir() if file.name not in about)]:
        status, _, said = call("score", "--gold", str(path), "--system", "lcs")
        assert (status, said) == (
            1,
            f"{path}: an empty gold set, since no pair had a gold grade when it was exported; export it "
            "again once raters have graded enough.\n",
        )
