"""What is wrong with a call, in the same words by `python -m kpdemo`, `annotation` and `db`."""

from __future__ import annotations

import json

import pytest

import annotation.cli
import db.cli
import kpdemo.cli
from annotation.services.projects import ProjectService
from annotation.types import ProjectSettings
from kpdemo.command import call_problem, fail
from tests.commands import main as annotation_main

PROGRAMS = pytest.mark.parametrize(
    "program", [kpdemo.cli, annotation.cli, db.cli], ids=lambda cli: cli.PROGRAM
)


class RefusedError(Exception):
    def __init__(self, problem: str) -> None:
        self.problem = problem

    def format_message(self) -> str:
        return self.problem


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ("No such option: --x.", "No such option: --x"),
        (
            "Invalid value for '--k': Input should be a whole number.",
            "Invalid value for '--k': it should be a whole number",
        ),
        ("Invalid value for '--k': Value error, it is odd", "Invalid value for '--k': it is odd"),
    ],
)
def test_the_words_of_the_library_are_left_out(found, told):
    assert call_problem(RefusedError(found)) == told


@PROGRAMS
def test_an_unknown_command_is_one_sentence(program, capsys):
    main = annotation_main if program is annotation.cli else program.main
    assert main(["frobnicate"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"No such command 'frobnicate'; see `{program.PROGRAM} --help`.\n"


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("one\n  two", "one two"),
        ("one two", "one two"),
        ("one\x1b[2J \x9b31m\x00two", "one\ufffd[2J \ufffd31m\ufffdtwo"),
    ],
)
def test_what_failed_is_one_line_that_steers_no_terminal(capsys, message, told):
    assert fail(message, 1) == 1
    assert capsys.readouterr().err == f"{told}\n"


@pytest.mark.parametrize(
    "call",
    [
        ("items", "withdraw", "news", "i1", "--type", "\udcff"),
        ("pairs", "withdraw", "news", "p1", "--type", "\udcff"),
    ],
)
def test_an_argument_that_is_not_utf8_is_one_sentence(call, sqlite_database, capsys):
    ProjectService(sqlite_database).create(ProjectSettings("news", types=("phrase2word",)))
    url = f"sqlite:///{sqlite_database.path}"
    assert annotation_main([*call, "--database-url", url]) == 2
    assert capsys.readouterr().err == (
        "'\\udcff' is not UTF-8, so it can be neither stored nor found: check how it is encoded.\n"
    )


def test_a_database_whose_name_is_not_utf8_can_be_missed(tmp_path, capsys):
    url = f"sqlite:///{tmp_path}/\udcff.db"
    assert annotation_main(["project", "list", "--database-url", url]) == 1
    assert "There is no database at " in capsys.readouterr().err


@PROGRAMS
def test_alone_a_program_prints_its_help_and_asked_its_version(program, capsys):
    run = annotation_main if program is annotation.cli else program.main
    assert run([]) == 0
    assert f"Usage: {program.PROGRAM} [OPTIONS] COMMAND" in capsys.readouterr().out
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"kpdemo {kpdemo.__version__}\n"


@PROGRAMS
def test_with_json_a_refusal_is_json_too(program, capsys):
    run = annotation_main if program is annotation.cli else program.main
    assert run(["nothing", "--json"]) == 2
    printed = capsys.readouterr()
    assert json.loads(printed.out) == {"error": printed.err.rstrip("\n")}
    assert "No such command 'nothing'" in printed.err
