"""`python -m annotation training`, `checks`, `quality` and `user pause`."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from annotation.services.assignment import AssignmentService
from annotation.services.projects import ProjectService
from annotation.services.ratings import RatingService
from tests.commands import main
from tests.raters import new_world


@pytest.fixture
def call(sqlite_database, capsys):
    world = new_world(sqlite_database, pairs=3, raters=1)
    url = f"sqlite:///{sqlite_database.url.database}"

    def run(*arguments: str) -> tuple[int, str, str]:
        status = main([*arguments, "--database-url", url])
        out, err = capsys.readouterr()
        return status, out, err

    run.world = world
    return run


def test_a_project_has_its_own_name_whatever_was_typed(call):
    for command in ("plan", "adjudications", "raters", "agreement"):
        assert json.loads(call(command, "PROJECT 0", "--json")[1])["project"] == "Project 0"
    [rater] = json.loads(call("raters", "Project 0", "--json")[1])["raters"]
    for command in ("pause", "resume", "excuse"):
        assert " in Project 0" in call("user", command, rater["rater"], "--project", "PROJECT 0")[1]


def test_a_rater_has_not_failed_a_training_that_there_is_not(call):
    [rater] = json.loads(call("quality", "Project 0", "--json")[1])["raters"]
    assert (rater["training"], rater["attempts"]) == (None, [])


def test_pairs_are_imported_settings_changed_and_raters_listed(call, tmp_path):
    file = tmp_path / "known.tsv"
    file.write_text(
        "id\tleft\tright\tgrade\texplanation\na\tA ship 🦜.\tship\t3.5\tשלום <b>\nb\tA boat.\tboat\t0\t\n",
        encoding="utf-8",
    )
    assert call("training", "import", "Project 0", str(file)) == (
        0,
        "Imported 2 training pairs into Project 0.\n",
        "",
    )
    again = "2 training pairs were there already and were left out: a, b."
    assert again in call("training", "import", "Project 0", str(file))[1]
    rated = tmp_path / "rated.csv"
    rated.write_text("id,left,right,gold,rating:Ana\nr,A raft.,raft,3.5,2\n", encoding="utf-8")
    left_out = "1 rating in the file was left out: these pairs have one grade, which is known.\n"
    said = f"Imported 1 check pair into Project 0.\n{left_out}"
    assert call("checks", "import", "Project 0", str(rated))[1].startswith(said)
    checks = tmp_path / "checks.tsv"
    checks.write_text("id\tleft\tright\tgrade\nc\tA car.\tcar\t3\nd\tA cart.\tcart\t1\n")
    status, out, _ = call("checks", "import", "Project 0", str(checks))
    assert (status, out.splitlines()[0]) == (0, "Imported 2 check pairs into Project 0.")
    assert "None is given to raters yet" in out
    status, out, _ = call("quality", "Project 0", "--check-every", "20", "--pass-mark", "70", "--json")
    found = json.loads(out)
    assert found["settings"] == {
        "pass_percent": 70,
        "training_distance": 0.5,
        "check_every": 20,
        "check_distance": 1.0,
    }
    assert (found["training_pairs"], found["check_pairs"]) == (2, 3)
    [rater] = found["raters"]
    assert (rater["paused"], rater["training"], rater["check_share"]) == (False, "not passed", None)
    name, here = rater["rater"], ("--project", "Project 0")
    assert call("user", "pause", name, *here)[:2] == (0, f"{name} is paused in Project 0.\n")
    assert call("user", "excuse", name, *here)[:2] == (
        0,
        f"{name} can work in Project 0 without its training.\n",
    )
    out = call("quality", "Project 0")[1]
    assert "paused" in out
    assert "excused" in out
    assert call("user", "resume", name, *here)[:2] == (0, f"{name} can continue in Project 0.\n")
    assert call("training", "clear", "Project 0")[1] == "2 training pairs of Project 0 no longer used.\n"


def test_a_rater_who_was_removed_is_still_told_of(call):
    world = call.world
    pair = AssignmentService(world.database).queue(world.project, world.raters[0]).pairs[0].id
    RatingService(world.database).rate(pair, world.raters[0], Decimal(2), 1.0)
    [before] = json.loads(call("quality", "Project 0", "--json")[1])["raters"]
    ProjectService(world.database).remove_member(world.project, before["rater"])
    [after] = json.loads(call("quality", "Project 0", "--json")[1])["raters"]
    assert after == {**before, "former": True}
    assert "no longer a rater" in call("quality", "Project 0")[1]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("a\tA ship.\tship\t\t", "field 'grade': is empty; write the known grade, 0 to 4, or delete the row"),
        ("a\tA ship.\tship\t4.1\t", "4.1 is not 0 to 4 in steps of 0.25"),
        ("a\t\tship\t4\t", "field 'left': is empty"),
    ],
)
def test_a_row_that_cannot_be_used_is_named_and_nothing_is_imported(call, tmp_path, line, said):
    file = tmp_path / "known.tsv"
    file.write_text(f"id\tleft\tright\tgrade\texplanation\nx\tFine.\tfine\t1\t\n{line}\n", encoding="utf-8")
    status, _, err = call("training", "import", "Project 0", str(file))
    assert status == 1
    assert "known.tsv, line 3, " in err
    assert said in err
    assert json.loads(call("quality", "Project 0", "--json")[1])["training_pairs"] == 0


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--check-every", "1"),
        ("--check-every", "-1"),
        ("--pass-mark", "101"),
        ("--training-distance", "0.3"),
        ("--check-distance", "far"),
    ],
)
def test_a_setting_out_of_its_range_is_a_wrong_call(call, option, value):
    status, out, err = call("quality", "Project 0", option, value)
    assert (status, out, err.count("\n")) == (2, "", 1)
