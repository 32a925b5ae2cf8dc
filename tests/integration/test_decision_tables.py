"""Tables of flagged pairs that a group fills in, and the decisions that come back."""

from __future__ import annotations

import csv
import io
import itertools
import json
import threading
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy import event, select

from annotation.adjudication import Which
from annotation.cli.adjudication import DECISION_COLUMNS, decision_lines
from annotation.errors import AccessError, ImportFileError, NotFoundError
from annotation.exchange import WrongLinesError, read_decisions, read_items_or_errors
from annotation.gold import ExportOptions, Unfinished
from annotation.services.accounts import AccountService
from annotation.services.adjudication import AdjudicationService, DecisionSummary, DecisionTableService
from annotation.services.assignment import AssignmentService
from annotation.services.audit import EventService
from annotation.services.bundle import open_services
from annotation.services.gold import GoldService
from annotation.services.imports import ImportService
from annotation.services.pairs import PairService
from annotation.services.projects import ProjectService
from annotation.services.ratings import RatingService
from annotation.types import Cause, KnownPair, NewPair, Role
from db.models import Adjudication, AdjudicationChange, Assignment, Pair
from kpdemo.io.tables import escape_formula, open_stream, unescape_formula
from tests.commands import main
from tests.databases import row_problems
from tests.rated import pair, rated_project
from tests.workbooks import workbook


@pytest.fixture
def database(sqlite_database):
    return sqlite_database


PAIRS = [
    pair("near", "2", "2.75"),
    pair("point", "2", "3"),
    pair("far", "0", "4"),
    pair("single", "4"),
    pair("also-far", "4", "0", type="phrase2word"),
    pair("half", "1", "2.5"),
]
CAUSES = "overlooked_text, misunderstood, scale, guideline, true_ambiguity"


class Study:
    """A project with four flagged pairs, and the table of them."""

    def __init__(self, database, pairs=PAIRS, **options):
        self.rated = rated_project(database, pairs, **options)
        self.database, self.id, self.clock = database, self.rated.id, self.rated.clock
        self.adjudication = AdjudicationService(database, clock=self.clock)
        self.tables = DecisionTableService(database, clock=self.clock)

    def text(self, which=Which.OPEN, delimiter=",", **options):
        return "".join(decision_lines(self.tables.items(self.id, which, **options), delimiter))

    def rows(self, which=Which.OPEN, **options):
        text = self.text(which, **options).removeprefix("\ufeff")
        return list(csv.DictReader(io.StringIO(text, newline="")))

    def read(self, rows, by="judith", **options):
        """Read rows as a spreadsheet saves them."""
        out = io.StringIO(newline="")
        writer = csv.DictWriter(out, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
        return self.take(out.getvalue(), by, **options)

    def take(self, text, by="judith", *, name="flagged.csv", **options):
        self.clock.move()
        source = open_stream(io.BufferedReader(io.BytesIO(text.encode())), name)
        return self.tables.decide_all(self.id, read_decisions(source), by, **options)

    def refused(self, rows, by="judith", **options):
        before = self.state()
        with pytest.raises(ImportFileError) as caught:
            self.read(rows, by, **options)
        assert self.state() == before
        return str(caught.value)

    def state(self):
        """Everything that a decision writes, by the ids of pairs, but for times and numbers of rows."""
        columns = {
            table: (table.adjudicator_id, table.quarters, table.cause, table.note)
            for table in (Adjudication, AdjudicationChange)
        } | {Assignment: (Assignment.rater_id, Assignment.state)}
        with self.database.reading() as session:
            return tuple(
                sorted(map(tuple, session.execute(_of_pairs(table, columns[table], self.id))), key=repr)
                for table in columns
            )

    def decide(self, name, grade="2", by=None, cause=Cause.SCALE, note=""):
        self.clock.move()
        pair_id, by = self.rated.pair_id(name), by or self.rated.adjudicator.id
        return self.adjudication.decide(self.id, pair_id, by, Decimal(grade), cause, note)

    def rate(self, name, rater, grade):
        self.clock.move()
        account = AccountService(self.database).user(rater)
        ratings = RatingService(self.database, self.clock)
        ratings.rate(self.rated.pair_id(name), account.id, Decimal(grade))

    def add(self, name, *roles):
        AccountService(self.database, clock=self.clock).add_user(name)
        for role in roles:
            ProjectService(self.database, clock=self.clock).add_member(self.id, name, role)

    def decided(self):
        """Grade, cause, note and adjudicator of each pair that is decided, by id."""
        entries = self.adjudication.queue(self.id, Which.ALL).entries
        items = [self.adjudication.item(self.id, entry.pair_id) for entry in entries]
        found = [(item.external_id, item.decision) for item in items if item.decision]
        return {id: (float(said.grade), said.cause, said.note, said.by) for id, said in found}


def _of_pairs(table, columns, project):
    pairs = select(Pair.external_id, *columns).join(table, table.pair_id == Pair.id)
    return pairs.where(Pair.project_id == project).order_by(table.id)


@pytest.fixture
def study(database):
    return Study(database)


def filled(rows, **decisions):
    """The rows with grades by id, `also_far` for also-far."""
    by_id = {id.replace("_", "-"): grade for id, grade in decisions.items()}
    return [
        row | ({"grade": by_id[row["id"]], "cause": "scale"} if row["id"] in by_id else {}) for row in rows
    ]


def test_the_table_has_the_flagged_pairs_in_the_order_of_the_queue_and_no_rater(study):
    rows = study.rows()
    assert [row["id"] for row in rows] == ["far", "also-far", "half", "point"]
    assert tuple(rows[0]) == DECISION_COLUMNS
    assert rows[2] | {"version_seen": ""} == {
        "id": "half",
        "type": "sentence2phrase",
        "left": "The ferry half leaves the old harbour at noon.",
        "right": "a noon ferry half",
        "rated": "1; 2.5",
        "comments": "",
        "earlier_decision": "",
        "grade": "",
        "cause": "",
        "note": "",
        "version_seen": "",
    }
    assert not {"ana", "ben"} & set(study.text().replace('"', " ").split())


def test_what_raters_said_stands_in_it_without_their_names(study):
    ratings = RatingService(study.database, study.clock)
    for name, words, is_flagged in (("ana", "I see\na harbour", False), ("ben", "", True)):
        rater = AccountService(study.database).user(name)
        ProjectService(study.database).add_member(study.id, name, Role.RATER)
        ratings.comment(study.rated.pair_id("far"), rater.id, words, is_flagged=is_flagged)
    [far, *_] = study.rows()
    assert far["comments"] in ("I see\na harbour\nproblem", "problem\nI see\na harbour")


def test_rows_with_a_grade_are_decided_and_empty_ones_passed_over(study):
    rows = filled(study.rows(), far="1,25", also_far="0")
    rows[0] |= {"cause": " True Ambiguity ", "note": "  =both "}
    assert study.read(rows) == DecisionSummary(decided=2, unchanged=0, empty=2)
    assert study.decided() == {
        "far": (1.25, Cause.TRUE_AMBIGUITY, "=both", "judith"),
        "also-far": (0, Cause.SCALE, "", "judith"),
    }
    assert not row_problems(study.database)


def test_a_longer_table_is_written_and_read_with_as_many_queries(database):
    study, asked = Study(database, [pair(f"p{number}", "0", "4") for number in range(8)]), []

    def queries(work):
        asked.clear()
        work()
        return sum(statement.startswith("SELECT") for statement in asked)

    event.listen(database.engine, "before_cursor_execute", lambda *arguments: asked.append(arguments[2]))
    rows = [{**row, "grade": "2", "cause": "scale"} for row in study.rows()]
    assert queries(lambda: study.read(rows[:1])) == queries(lambda: study.read(rows[1:]))
    withdraw = PairService(database).withdraw
    whole = queries(lambda: study.rows(Which.ALL))
    withdraw(study.id, [row["id"] for row in rows[1:]])
    assert queries(lambda: study.rows(Which.ALL)) == whole


def test_the_same_table_twice_and_one_that_nobody_touched_change_nothing(study):
    rows = filled(study.rows(), far="1", half="2")
    study.read(rows)
    after = study.state()
    assert study.read(rows) == DecisionSummary(decided=0, unchanged=2, empty=2)
    study.add("kim", Role.ADMINISTRATOR)  # whose decisions the others' do not become
    assert study.take(study.text(Which.ALL), "kim") == DecisionSummary(decided=0, unchanged=2, empty=2)
    assert study.state() == after


def test_an_untouched_decision_on_a_pair_that_is_flagged_no_longer_stays_whose_it_was(study):
    study.decide("point", "2.5")
    study.rate("point", "ana", "2.75")  # ends the disagreement, after the decision
    before = study.state()
    study.add("kim", Role.ADJUDICATOR)
    assert study.take(study.text(Which.DECIDED), "kim").unchanged == 1
    assert study.state() == before


def test_a_pair_that_is_open_again_has_its_decision_as_an_earlier_one(study):
    study.read([study.rows()[0] | {"grade": "2", "cause": "scale", "note": "both hold"}])
    [decided] = study.rows(Which.DECIDED)
    assert (decided["grade"], decided["earlier_decision"]) == ("2", "")
    study.rate("far", "ana", "0.5")
    [far] = [row for row in study.rows() if row["id"] == "far"]
    assert (far["rated"], far["grade"], far["cause"], far["note"]) == ("0.5; 4", "", "", "")
    assert far["earlier_decision"] == "2, scale: both hold"
    assert study.read([far]).empty == 1
    assert study.read(filled([far], far="2")) == DecisionSummary(1, 0, 0)  # confirmed
    assert "far" not in [row["id"] for row in study.rows()]


def test_events_gold_and_manifest_tell_these_decisions_like_those_of_the_page(study, tmp_path):
    study.read(filled(study.rows(), far="1", half="2", also_far="3", point="2.5"))
    event = EventService(study.database).recent(study.id)[0]
    assert (event.action, event.user, event.detail["times"]) == ("pair decided", "judith", 4)
    options = ExportOptions(unfinished=Unfinished.LEAVE_OUT)
    manifest = (
        GoldService(study.database, clock=study.clock).export(study.id, tmp_path / "g", options).manifest
    )
    assert manifest["counts"]["adjudicated"] == 4
    assert "reopened" not in manifest["counts"]


# What came between


def test_what_was_decided_meanwhile_is_refused_unless_it_is_to_be_replaced(study):
    rows = filled(study.rows(), far="1", half="2")
    study.decide("far", "3", note="read it twice")
    study.decide("half", "2")  # the same
    assert study.refused(rows) == (
        "flagged.csv, line 2: judith decided 3, scale, “read it twice” already; leave the row of the pair "
        "'far' out, or give --replace to decide all the same."
    )
    assert study.read(rows, replaces=True) == DecisionSummary(decided=1, unchanged=1, empty=2)
    assert study.decided()["far"][0] == 1


def test_a_withdrawn_decision_is_told(study):
    study.decide("far", "3")
    rows = study.rows(Which.ALL)
    rows = filled(rows, far="1")
    study.adjudication.withdraw(study.id, study.rated.pair_id("far"), study.rated.adjudicator.id)
    assert "line 2: judith withdrew the decision already;" in study.refused(rows)
    assert study.read(rows, replaces=True).decided == 1


def test_a_rating_that_changed_is_told_and_cannot_be_overruled_unseen(study):
    rows = filled(study.rows(), far="1", half="2")
    study.rate("far", "ana", "0.5")
    problem = (
        "flagged.csv, line 2: a rating of the pair 'far' changed since the table was written; leave the row "
        "out, and look at the pair in a new table."
    )
    assert [study.refused(rows, replaces=replaces) for replaces in (False, True)] == [problem] * 2
    study.decide("far", "3")  # that --replace would help is not said where it does not
    assert [study.refused(rows, replaces=replaces) for replaces in (False, True)] == [problem] * 2


def test_a_pair_that_got_another_rating_or_is_flagged_no_longer(database):
    study = Study(database, [pair("far", "0", "4"), pair("point", "2", "3", "3")], raters_per_pair=3)
    rows = filled(study.rows(), far="1", point="2.5")
    study.clock.move()
    study.rated.rate("far", cleo="4")
    study.rate("point", "ana", "2.5")
    assert study.refused(rows) == (
        "2 lines cannot be used; these are: (1) flagged.csv, line 2: a rating of the pair 'far' changed "
        "since the table was written; leave the row out, and look at the pair in a new table; (2) "
        "flagged.csv, line 3: The ratings of this pair are 0.5 apart, less than 1: their mean is its gold "
        "grade."
    )


def test_a_withdrawn_pair_is_told(study):
    rows = filled(study.rows(), far="1", half="2")
    PairService(study.database, study.clock).withdraw(study.id, ["far"])
    assert "line 2: The pair 'far' is withdrawn and needs no decision" in study.refused(rows)
    assert "far" not in [row["id"] for row in study.rows()]


def test_pairs_that_are_not_there_or_have_known_grades_are_told(study):
    known = [
        KnownPair(NewPair(id, "sentence2phrase", f"The {id} is here.", f"a {id}", place=id), Decimal(3))
        for id in ("check", "training")
    ]
    services = open_services(study.database)
    services.known_pairs.import_checks(study.id, known[:1])
    services.known_pairs.import_training(study.id, known[1:])
    [far, *_] = filled(study.rows(), far="1")
    for id, type, told in (
        ("check", "", "field 'id': 'check' is a check pair, whose grade is known; leave the row out."),
        (
            "training",
            "",
            "field 'id': 'training' is a training pair, whose grade is known; leave the row out.",
        ),
        (
            "1.23457E+19",
            "",
            "field 'id': the project harbour has no pair '1.23457E+19'; fix the id, which a spreadsheet may "
            "have rewritten (open the column id as text), or leave the row out.",
        ),
        ("far", "x2y", "field 'id': the pair 'far' is of the type sentence2phrase, not x2y; fix it."),
        ("single", "", "The pair 'single' has 1 of 2 ratings, none far apart: wait for the others."),
        ("near", "", "The ratings of this pair are 0.75 apart, less than 1: their mean is its gold grade."),
    ):
        assert study.refused([far | {"id": id, "type": type}]).endswith(told)


def test_a_table_of_another_project_is_refused(study):
    other = Study(study.database, PAIRS, name="other")
    assert "changed since the table was written" in study.refused(filled(other.rows(), far="1"))


# Who decides


def test_only_an_adjudicator_or_administrator_of_the_project_decides(study):
    rows = filled(study.rows(), far="1")
    study.add("rita", Role.RATER, Role.EDITOR)
    for name in ("rita", "ana"):
        with pytest.raises(AccessError, match=f"{name} is neither adjudicator nor administrator of harbour"):
            study.read(rows, name)
    with pytest.raises(NotFoundError, match="no account named 'fern'"):
        study.read(rows, "fern")
    AccountService(study.database).disable("judith")
    with pytest.raises(AccessError, match="The account judith is disabled"):
        study.read(rows)
    AccountService(study.database).add_user("Root", is_administrator=True)
    assert study.read(rows, "root").decided == 1
    assert study.decided()["far"][3] == "Root"


def test_who_may_still_grade_a_pair_neither_sees_it_in_a_table_nor_decides_on_it(database):
    pairs = [pair("lacking", "0", "3"), pair("done", "0", "4", "4")]
    study = Study(database, pairs, raters_per_pair=3)
    ProjectService(database, clock=study.clock).add_member(study.id, "judith", Role.RATER)
    judith = study.tables.adjudicator(study.id, "Judith")
    assert [row["id"] for row in study.rows(viewer=judith)] == ["done"]
    rows = filled(study.rows(), lacking="1", done="2")
    assert study.refused(rows) == (
        "flagged.csv, line 3: judith may still grade the pair 'lacking' and so must not decide on it; "
        "leave the row out, or let another adjudicator decide."
    )
    study.add("kim", Role.ADJUDICATOR)
    study.read(rows, "kim")
    ProjectService(database, clock=study.clock).add_member(study.id, "kim", Role.RATER)
    assignments = AssignmentService(database, study.clock)
    kim = AccountService(database).user("kim").id
    assert not assignments.queue(study.id, kim, 2).pairs  # whoever decided is never given the pair
    assert len(assignments.queue(study.id, judith, 2).pairs) == 1


# Wrong tables


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"grade": "5"}, "field 'grade': 5 is not 0 to 4 in steps of 0.25; fix it or delete the row."),
        ({"grade": "high"}, "field 'grade': 'high' is not a grade; write 0 to 4 such as 2.75."),
        ({"grade": "2.25"}, "field 'grade': A decision is a grade of 0 to 4 in steps of 0.5, not 2.25: "
         "choose one."),
        ({"grade": " "}, "field 'grade': is empty; write it, or empty cause and note too."),
        ({"grade": "", "cause": "", "note": "nobody knew"}, "field 'grade': is empty; write it, or empty "
         "cause and note too."),
        ({"cause": " "}, f"field 'cause': is empty; write one of {CAUSES}."),
        ({"cause": "mood"}, f"field 'cause': 'mood' is not a cause; write one of {CAUSES}."),
        ({"note": "x" * 4001}, "field 'note': has 4,001 characters; shorten it to 4,000."),
        ({"id": ""}, "field 'id': is empty; fill it in or delete the row."),
        ({"version_seen": "Mar 1"}, "field 'version_seen': 'Mar 1' is not a value that a table of decisions "
         "has there; restore the value, or leave it empty."),
    ],
)  # fmt: skip
def test_a_row_that_cannot_be_used_is_told_and_nothing_is_decided(sqlite_database, changes, told):
    study = Study(sqlite_database, [row for row in PAIRS if row.id != "near"], step=Decimal("0.5"))
    first, second, *_ = filled(study.rows(), far="1", also_far="2")
    assert study.refused([first, second | changes]) == f"flagged.csv, line 3, {told}"


def test_a_pair_twice_in_a_table_and_an_id_of_two_types(database):
    study = Study(database, [pair("far", "0", "4"), pair("far", "4", "0", type="phrase2word")])
    rows = filled(study.rows(), far="1")
    assert study.refused([rows[0], rows[1], rows[0]]) == (
        "flagged.csv, line 4: the pair 'far' is decided further up too (flagged.csv, line 2); keep one of "
        "them."
    )
    assert study.refused([rows[0] | {"type": ""}]) == (
        "flagged.csv, line 2, field 'type': is missing, and several types have a pair 'far' "
        "(phrase2word, sentence2phrase); write the type."
    )
    assert study.read(rows).decided == 2


def test_many_wrong_rows_are_told_together(study):
    rows = [row | {"grade": "9"} for row in study.rows()] * 2
    with pytest.raises(WrongLinesError, match="8 lines cannot be used; the first 5 are"):
        study.read(rows)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "t.csv: the file is empty; give one with at least one row."),
        ("id,grade\nfar,1\n", "t.csv, line 1: the header has id, grade; it needs id, grade and cause."),
        ("id,grade,cause\n", "t.csv: the file has no rows; add one or more."),
        ('id,grade,cause\nfar,1,"scale\n', 't.csv, line 2: a field begins with " and is never closed; close '
         "it (what follows was not read)."),
    ],
)  # fmt: skip
def test_a_file_that_is_no_table_is_told(sqlite_database, text, told):
    study = Study(sqlite_database)
    with pytest.raises(ImportFileError) as caught:
        study.take(text, name="t.csv")
    assert str(caught.value) == told


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.csv", "\ufeffID;Grade;Cause\r\nfar;1,5;Scale\r\n"),
        ("t.tsv", "id\tgrade\tcause\nfar\t1.5\tscale\n"),
        ("t.jsonl", '{"id": "far", "grade": 1.5, "cause": "scale"}\n'),
    ],
)
def test_a_table_that_a_group_made_itself_is_read(sqlite_database, name, text):
    study = Study(sqlite_database)
    assert study.take(text, name=name) == DecisionSummary(1, 0, 0)
    assert study.take(text, name=name) == DecisionSummary(0, 1, 0)
    study.decide("far", "3")
    with pytest.raises(ImportFileError, match="judith decided 3, scale already"):
        study.take(text, name=name)
    assert study.take(text, name=name, replaces=True) == DecisionSummary(1, 0, 0)


def test_the_table_may_come_back_as_a_workbook(study):
    far = next(row for row in study.rows() if row["id"] == "far")
    content = workbook([list(far), list((far | {"grade": 3, "cause": "scale", "note": "'=1+1"}).values())])
    source = open_stream(io.BufferedReader(io.BytesIO(content)), "flagged.xlsx")
    assert study.tables.decide_all(study.id, read_decisions(source), "judith").decided == 1
    assert study.decided()["far"] == (3.0, Cause.SCALE, "=1+1", "judith")


def test_importing_the_table_as_pairs_brings_no_ratings(database):
    study = Study(database, raters_per_pair=3)
    source = open_stream(io.BufferedReader(io.BytesIO(study.text().encode())), "flagged.csv")
    summary = ImportService(database).import_pairs(study.id, read_items_or_errors(source))
    assert (summary.pairs, summary.ratings, len(summary.duplicates)) == (0, 0, 4)


@pytest.mark.both_databases
def test_of_two_tables_at_once_one_is_told_what_the_other_decided(study):
    rows = study.rows()
    study.add("kim", Role.ADJUDICATOR)
    together, told = threading.Barrier(2), []

    def run(name, grade):
        mine = filled(
            rows if name == "kim" else rows[::-1], far=grade, half=grade, point=grade, also_far=grade
        )
        together.wait()
        try:
            study.read(mine, name)
        except ImportFileError as error:
            told.append(str(error))

    threads = [threading.Thread(target=run, args=each) for each in (("kim", "1"), ("judith", "2"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    winners = {(grade, by) for grade, _, _, by in study.decided().values()}
    assert winners in ({(1, "kim")}, {(2, "judith")})
    [[grade, winner]] = winners
    assert [sentence.count(f"{winner} decided {grade:g}") for sentence in told] == [4]


# The commands


@pytest.fixture
def call(sqlite_database, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("KPDEMO_DATABASE_URL", f"sqlite:///{sqlite_database.path}")
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        status = main(arguments)
        return status, *capsys.readouterr()

    return run


def test_a_group_writes_a_table_fills_it_in_and_has_it_read(call, sqlite_database, tmp_path, monkeypatch):
    study = Study(sqlite_database)
    file = tmp_path / "flagged.csv"
    assert call("adjudications", "harbour", "--output", "flagged.csv") == (0, "flagged.csv: 4 pairs.\n", "")
    assert file.read_text() == study.text()
    rows = filled(study.rows(), far="1", half="2")
    with file.open("w", newline="", encoding="utf-8-sig") as stream:
        writer = csv.DictWriter(stream, DECISION_COLUMNS, delimiter=";")
        writer.writeheader()
        writer.writerows(rows)
    filled_in = file.read_bytes()
    problem = "flagged.csv already exists: give another name, or --force to replace it.\n"
    assert call("adjudications", "harbour", "--output", "flagged.csv") == (2, "", problem)
    assert file.read_bytes() == filled_in
    decide = ("adjudicate", "harbour", "flagged.csv", "--as", "Judith")
    told = "2 pairs of harbour decided, 0 as before, 2 rows without a grade.\n"
    assert call(*decide) == (0, told, "")
    assert {id: grade for id, (grade, *_) in study.decided().items()} == {"far": 1, "half": 2}
    source = io.BufferedReader(io.BytesIO(file.read_bytes()))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(source))
    status, told, _ = call("adjudicate", "harbour", "-", "--as", "judith", "--json")
    figures = {"project": "harbour", "decided": 0, "unchanged": 2, "empty": 2}
    assert (status, json.loads(told)) == (0, figures)
    assert (
        call("adjudications", "harbour", "--which", "decided", "--output", "t.TSV")[1] == "t.TSV: 2 pairs.\n"
    )
    assert (tmp_path / "t.TSV").read_text() == study.text(Which.DECIDED, "\t")

    study.decide("far", "4")
    status, told, problem = call(*decide)
    assert (status, told) == (1, "")
    assert problem.startswith("flagged.csv, line 2: judith decided 4, scale already;")
    assert call(*decide, "--replace")[1].startswith("1 pair of harbour decided, 1 as before")
    assert call("adjudications", "harbour", "--output", "flagged.csv", "--force")[0] == 0
    assert file.read_text() == study.text()


def test_wrong_calls_are_told(call, sqlite_database, tmp_path):
    Study(sqlite_database)
    table = ("adjudications", "harbour", "--output")
    for arguments, status, told in (
        (
            (*table, "t.txt"),
            2,
            "t.txt: the format is chosen by the name of the file; end it in .csv or .tsv.",
        ),
        ((*table, "t.csv", "--json"), 2, "A table is not JSON: give either --output or --json."),
        (
            (*table, "t.csv", "--as", "ana"),
            1,
            "ana is neither adjudicator nor administrator of harbour: name",
        ),
        (("adjudicate", "harbour", "t.csv", "--as", "judith"), 2, "t.csv: no such file; check the name."),
        (("adjudicate", "harbour", "t.csv"), 2, "--as"),
    ):
        found, _, problem = call(*arguments)
        assert (found, told in problem) == (status, True), problem
    assert not list(tmp_path.glob("t.*"))


def test_list_and_table_can_leave_out_what_an_adjudicator_may_still_grade(call, sqlite_database):
    study = Study(
        sqlite_database, [pair("lacking", "0", "3"), pair("done", "0", "4", "4")], raters_per_pair=3
    )
    ProjectService(sqlite_database, clock=study.clock).add_member(study.id, "judith", Role.RATER)
    assert "lacking" in call("adjudications", "harbour")[1]
    as_judith = ("adjudications", "harbour", "--as", "judith")
    held_back = "1 pair held back, which judith may still grade."
    told = call(*as_judith)[1]
    assert "lacking" not in told
    assert f"1 open, 0 decided. {held_back}\n" in told
    assert call(*as_judith, "--output", "t.csv")[1] == f"t.csv: 1 pair. {held_back}\n"
    listed = json.loads(call(*as_judith, "--json")[1])
    assert (listed["held_back"], [row["id"] for row in listed["pairs"]]) == (1, ["done"])


# The way there and back


_NUMBERS = itertools.count()
_TEXT = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0") | st.sampled_from("=+-@'\"\t\r\n;, "),
    max_size=12,
)
_DECISIONS = st.lists(
    st.none() | st.tuples(st.integers(0, 16), st.sampled_from(list(Cause)), _TEXT), min_size=4, max_size=4
)


@given(
    ids=st.lists(_TEXT.map(str.strip).filter(bool), min_size=4, max_size=4, unique=True),
    texts=st.lists(
        _TEXT.filter(str.strip), min_size=4, max_size=4, unique_by=lambda text: " ".join(text.split())
    ),
    first=_DECISIONS,
    then=_DECISIONS,
    delimiter=st.sampled_from([",", "\t"]),
)
@settings(
    max_examples=15,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # each makes two projects
    suppress_health_check=list(HealthCheck),
)
def test_decisions_in_a_table_are_those_on_the_page(sqlite_database, ids, texts, first, then, delimiter):
    """Written, filled in, read: the same rows as by the page; then again over what is decided."""
    pairs = [
        replace(pair("x", "0", "4"), id=id, left=text, right=f"{number} {text}")
        for number, (id, text) in enumerate(zip(ids, texts, strict=True))
    ]
    by_table, by_page = (Study(sqlite_database, pairs, name=f"study {next(_NUMBERS)}") for _ in range(2))
    for decisions in (first, then):
        wanted = dict(zip(ids, decisions, strict=True))
        _by_table(by_table, wanted, delimiter)
        for id, decision in wanted.items():
            if decision:
                quarters, cause, note = decision
                by_page.decide(id, Decimal(quarters) / 4, cause=cause, note=note)
        assert by_table.state() == by_page.state()


def _by_table(study, wanted, delimiter):
    """As a group does it: all cells are read, some of three columns filled in, all written again."""
    text = study.text(Which.ALL, delimiter).removeprefix("\ufeff")
    rows = list(csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter))
    assert len(rows) == 4
    for row in rows:
        if decision := wanted[unescape_formula(row["id"])]:
            quarters, cause, note = decision
            row |= {"grade": str(quarters / 4), "cause": cause, "note": escape_formula(note.strip())}
    out = io.StringIO(newline="")
    out.write("\ufeff")
    writer = csv.DictWriter(out, rows[0], delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writeheader()
    writer.writerows(rows)
    study.take(out.getvalue(), name="t.csv" if delimiter == "," else "t.tsv")
