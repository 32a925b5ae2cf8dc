"""`python -m annotation project change`: every setting of the page, by the same rules."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import typer

import annotation.cli
from annotation.changes import describe_changes, print_settings
from annotation.errors import SettingsError
from annotation.services.accounts import AccountService
from annotation.services.audit import Event, EventService
from annotation.services.consents import ConsentService
from annotation.services.imports import ImportService
from annotation.services.projects import ProjectService
from annotation.types import NewPair, Project, ProjectSettings, Role
from db import Database
from tests.commands import main

OWN_WORDS = "0 Wrong: a\n1 Poor: b\n2 Fair: c\n3 Good: d\n4 Right: e"
BEFORE = ProjectSettings(
    "News",
    types=("sentence2phrase", "own"),
    guidelines="# Grade\n",
    most_per_rater=40,
    consent="Take part?",
    scale_words=OWN_WORDS,
)
SAME = (
    *("--name", " News ", "--types", "own,,sentence2phrase,", "--raters", "2", "--threshold", "1.00"),
    *("--average", "mean", "--repeats", "0"),
    *("--grades", "0-4/0.25"),
    *("--step", ".25", "--guidelines", "guide.md", "--seed", "20140301", "--order", "random", "--revise"),
    *("--lease", "30", "--most-per-rater", "40", "--consent", "consent.md"),
    *("--scale", "scale.txt", "--language", "en"),
)
CHANGES: list[tuple[str, tuple[str, ...], object, str]] = [
    ("name", ("--name", "Old  news"), "Old news", "name: News → Old news"),
    (
        *("types", ("--types", "own,new", "--types", "sentence2phrase"), ("sentence2phrase", "new", "own")),
        "comparison types: sentence2phrase, own → sentence2phrase, new, own",
    ),
    ("guidelines", ("--guidelines", "new.md"), "Neu: ö\n", "guidelines: 8 → 7 characters"),
    ("raters_per_pair", ("--raters", "3"), 3, "number of raters per pair: 2 → 3"),
    ("threshold", ("--threshold", "1.5"), Decimal("1.5"), "threshold: 1 → 1.5"),
    ("average", ("--average", "median"), "median", "gold grade without a decision: mean → median"),
    ("repeat_percent", ("--repeats", "10"), 10, "percentage of repeat pairs: 0 → 10"),
    ("language", ("--language", "de"), "de", "language of the raters' pages: en → de"),
    ("step", ("--step", "0.5"), Decimal("0.5"), "step: 0.25 → 0.5"),
    ("is_random", ("--order", "file"), False, "order: random → as imported"),
    ("seed", ("--seed", "0"), 0, "seed: 20140301 → 0"),
    ("may_revise", ("--no-revise",), False, "switch for changing grades: yes → no"),
    ("lease_minutes", ("--lease", "45"), 45, "minutes for a pair: 30 → 45"),
    ("most_per_rater", ("--most-per-rater", "0"), None, "limit of pairs per rater: 40 → none"),
    ("consent", ("--consent", "empty.md"), "", "consent text: 10 → 0 characters"),
    ("scale_words", ("--scale", "empty.md"), "", f"words of the scale: {len(OWN_WORDS)} → 0 characters"),
]

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(
    sqlite_database: Database,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Call:
    """Run a command of `project`, beside files of texts; gives status, output and errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KPDEMO_DATABASE_URL", f"sqlite:///{sqlite_database.path}")
    texts = {
        "guide.md": "﻿# Grade\r\n",
        "consent.md": "\r\nTake part?\n",
        "new.md": "Neu: ö\n",
        "empty.md": "\n",
        "scale.txt": f"\ufeff\r\n  {OWN_WORDS.replace(': ', '：')}\r\n",
    }
    for name, text in texts.items():
        Path(name).write_bytes(text.encode())

    def run(*arguments: str) -> tuple[int, str, str]:
        status = main(["project", *arguments])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


@pytest.fixture
def project(sqlite_database: Database) -> Project:
    """One with a pair that two raters have graded, and one that none has."""
    made = ProjectService(sqlite_database).create(BEFORE)
    graded = NewPair("a", "sentence2phrase", "Snow fell.", "snow", ratings=(("1", Decimal("2.75")),))
    both = replace(graded, ratings=(*graded.ratings, ("2", Decimal(2))))
    ImportService(sqlite_database).import_pairs(made.id, [both, NewPair("b", "own", "Rain fell.", "sun")])
    return made


def changes_of(database: Database, project: Project) -> list[Event]:
    events = EventService(database).recent(project.id)
    return [event for event in events if event.action == "project changed"]


def options_of(command: str) -> dict[str, Any]:
    """The options of a command of `project`, by what they are called."""
    group: Any = typer.main.get_command(annotation.cli.app)
    parameters = group.commands["project"].commands[command].params
    return {one.opts[0]: one for one in parameters if one.param_type_name == "option"}


def test_it_takes_what_create_takes_in_the_same_words_and_the_name():
    create, change = options_of("create"), options_of("change")
    assert [option for option in change if option != "--name"] == list(create)
    told = [
        {name: (one.help, one.metavar, one.opts) for name, one in each.items()} for each in (create, change)
    ]
    assert told[0].items() <= told[1].items()
    assert all(
        one.default is None for name, one in change.items() if name not in ("--json", "--database-url")
    )
    changeable = {field.name for field in fields(ProjectSettings)} - {"scale"}  # which stays as it is
    assert changeable == {name for name, *_ in CHANGES}


@pytest.mark.parametrize(("name", "options", "value", "words"), CHANGES, ids=[name for name, *_ in CHANGES])
def test_a_setting_that_is_named_changes_alone_and_is_told_as_by_the_page(
    call, sqlite_database, name, options, value, words
):
    service = ProjectService(sqlite_database)
    made = service.create(BEFORE)
    table = call("show", "news")[1]
    after = replace(BEFORE, **{name: value})
    status, out, errors = call("change", "NEWS", *options)
    assert (status, out.splitlines()[0], errors) == (0, f"Changed {after.name}: {words}.", "")
    assert service.get(made.id).settings == after
    [event] = changes_of(sqlite_database, made)
    former = {"former_name": "News"} if name == "name" else {}
    assert (event.user, event.detail) == (None, {**describe_changes(BEFORE, after), **former})
    assert call("show", after.name)[1] != table


def test_a_changed_consent_text_tells_how_many_have_to_agree_anew(call, project, sqlite_database):
    accounts, consents = AccountService(sqlite_database), ConsentService(sqlite_database)
    for name in ("Ana", "Ben"):
        user = accounts.add_user(name).id
        ProjectService(sqlite_database).add_member(project.id, name, Role.RATER)
        asked = consents.text_to_agree(project.id, user)
        assert asked is not None
        consents.agree(project.id, user, asked.sha256)
    said = "2 raters and writers have to agree again before they go on; “My projects” tells them so.\n"
    words = "consent text: 10 → 6 characters"
    assert call("change", "news", "--consent", "new.md") == (0, f"Changed News: {words}.\n{said}", "")
    assert call("change", "news", "--lease", "45")[1].count("\n") == 1
    assert call("change", "news", "--consent", "empty.md")[1].count("\n") == 1


def test_changed_words_of_the_scale_tell_how_many_grades_came_before(call, project):
    said = "2 grades were given before the words of the scale changed; the gold set's manifest says so.\n"
    words = f"words of the scale: {len(OWN_WORDS)} → 0 characters"
    assert call("change", "news", "--scale", "empty.md") == (0, f"Changed News: {words}.\n{said}", "")
    assert "of SemEval-2014 Task 3" in call("show", "news")[1]


def test_words_that_are_none_are_refused_and_nothing_changes(call, project, sqlite_database):
    status, out, errors = call("change", "news", "--scale", "new.md", "--raters", "3")
    assert (status, out) == (2, "")
    assert "'Neu: ö' is not a grade from 0 to 4, a name, a colon and a description; give five lines" in errors
    assert ProjectService(sqlite_database).get(project.id) == project


def test_a_changed_threshold_tells_what_it_flags(call, project, sqlite_database):
    more = [
        NewPair("c", "own", "Hail fell.", "hail", ratings=(("1", Decimal(0)), ("2", Decimal(4)))),
        NewPair("d", "own", "Fog rose.", "fog", ratings=(("1", Decimal(2)), ("2", Decimal(1)))),
    ]
    ImportService(sqlite_database).import_pairs(project.id, more)
    for threshold, said in (
        ("0.75", "3 pairs are flagged now (2 before); 3 wait for a decision.\n"),
        ("3", "1 pair is flagged now (3 before); 1 waits for a decision.\n"),
    ):
        assert call("change", "news", "--threshold", threshold)[1].endswith(f".\n{said}")
    assert "flagged" not in call("change", "news", "--lease", "45")[1]


def test_more_raters_than_two_at_the_tasks_threshold_are_told_to_flag_more_pairs(call, project):
    said = "3 raters reach a difference of 1 more often than two, so more pairs are "
    said += "flagged; 1.5 flags about as many as 1 with two.\n"
    assert call("change", "news", "--raters", "3")[1].endswith(said)
    without = call("change", "news", "--threshold", "None")[1]
    assert without.startswith("Changed News: threshold: 1 → none.\n")
    assert "more often" not in without
    assert call("change", "news", "--threshold", "1")[1].endswith(said)
    assert "more often" not in call("change", "news", "--lease", "45")[1]
    four = said.replace("3", "4", 1).replace("1.5", "1.75")
    assert call("create", "Four", "--raters", "4", "--threshold", "1")[1].endswith(four)


def test_a_new_project_has_the_threshold_for_its_number_of_raters(call):
    for raters, threshold in ((2, 1), (3, 1.5), (5, 1.75), (20, 2.5)):
        made = call("create", f"Of {raters}", "--raters", str(raters), "--json")[1]
        assert json.loads(made)["threshold"] == threshold
    assert (
        json.loads(call("create", "None", "--raters", "5", "--threshold", "none", "--json")[1])["threshold"]
        is None
    )
    assert "more often" not in call("create", "Two", "--raters", "2")[1]


def test_all_settings_change_at_once(call, project, sqlite_database):
    later = [change for change in CHANGES if change[0] not in ("step", "seed", "is_random")]
    options = [option for _, given, *_ in later for option in given]
    status, out, errors = call("change", "news", *options, "--json")
    assert (status, errors) == (0, "")
    after = replace(BEFORE, **{name: value for name, _, value, _ in later})
    assert ProjectService(sqlite_database).get(project.id).settings == after
    [event] = changes_of(sqlite_database, project)
    assert event.detail == {**describe_changes(BEFORE, after), "former_name": "News"}
    shown = json.loads(call("show", "old news", "--json")[1])
    assert json.loads(out).items() <= shown.items()
    assert (shown["types"], shown["may_revise"]) == (["sentence2phrase", "new", "own"], False)


def test_values_that_are_there_already_change_nothing(call, project, sqlite_database):
    said = (0, "Nothing changed: News has these settings already.\n", "")
    assert call("change", "news", *SAME) == said
    assert call("change", "news", *SAME[-2:]) == said
    assert {option for option in SAME if option.startswith("--")} == {
        option for option in options_of("change") if option not in ("--json", "--database-url")
    }
    assert ProjectService(sqlite_database).get(project.id) == project
    assert changes_of(sqlite_database, project) == []


@pytest.mark.parametrize(
    ("options", "change"),
    [
        (("--raters", "1"), {"raters_per_pair": 1}),
        (("--step", "1"), {"step": Decimal(1)}),
        (("--seed", "8"), {"seed": 8}),
        (("--order", "file"), {"is_random": False}),
        (("--types", "sentence2phrase"), {"types": ("sentence2phrase",)}),
        (("--name", "FABLES"), {"name": "FABLES"}),
    ],
)
def test_what_the_page_refuses_is_refused_for_the_same_reason_with_all_else(
    call, project, sqlite_database, options, change
):
    service = ProjectService(sqlite_database)
    service.create(replace(BEFORE, name="Fables"))
    with pytest.raises(SettingsError) as caught:
        service.update(project.id, replace(BEFORE, **change), seen=print_settings(BEFORE))
    allowed = ("--threshold", "2", "--guidelines", "new.md", "--lease", "5", "--no-revise")
    assert call("change", "news", *allowed, *options) == (1, "", f"{caught.value}\n")
    assert service.get(project.id) == project
    assert changes_of(sqlite_database, project) == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--raters", "21"), "The number of raters per pair is a whole number from 1 to 20, not 21."),
        (("--lease", "0"), "The lease is a whole number from 1 to 10080 minutes, not 0."),
        (("--seed", "-1"), "The seed is a whole number from 0 to 9223372036854775807, not -1."),
        (("--name", " "), "The project's name is empty: give 1 to 120 characters."),
        (("--guidelines", "gone.md"), "gone.md: cannot be read (No such file or directory); check the name."),
    ],
)
def test_a_value_that_cannot_be_is_a_wrong_call_and_nothing_changes(
    call, project, sqlite_database, options, said
):
    assert call("change", "news", "--threshold", "2", *options) == (2, "", f"{said}\n")
    assert ProjectService(sqlite_database).get(project.id) == project


def test_what_somebody_else_changes_meanwhile_stays_is_not_told_and_not_replaced(
    call, project, sqlite_database, monkeypatch
):
    get = ProjectService.get

    def get_and_lose_the_race(self: ProjectService, name: str | int) -> Project:
        found = get(self, name)
        monkeypatch.setattr(ProjectService, "get", get)
        self.update(found.id, replace(found.settings, lease_minutes=found.settings.lease_minutes - 1))
        return found

    monkeypatch.setattr(ProjectService, "get", get_and_lose_the_race)
    assert call("change", "news", "--no-revise")[1].endswith("for changing grades: yes → no.\n")
    kept = replace(BEFORE, lease_minutes=BEFORE.lease_minutes - 1, may_revise=False)
    assert ProjectService(sqlite_database).get(project.id).settings == kept

    monkeypatch.setattr(ProjectService, "get", get_and_lose_the_race)
    status, told, problem = call("change", "news", "--raters", "4", "--lease", "7")
    assert (status, told) == (1, "")
    assert problem.startswith(
        "Somebody else has changed the minutes for a pair in the meantime, so nothing was saved:"
    )
    assert "page" not in problem
    kept = replace(kept, lease_minutes=kept.lease_minutes - 1)
    assert ProjectService(sqlite_database).get(project.id).settings == kept


def test_a_text_that_is_too_large_is_not_cut_in_the_middle_of_a_character(call: Call):
    Path("large.md").write_text("é" * 700_000, encoding="utf-8")
    refused = (2, "", "large.md: has more than 1,000,000 bytes; shorten the text.\n")
    for option in ("--guidelines", "--consent"):
        assert call("change", "News", option, "large.md") == refused
