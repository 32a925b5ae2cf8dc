"""Every single rating as a file, which can be imported again."""

from __future__ import annotations

import csv
import io
import json
import sys
from datetime import timedelta
from decimal import Decimal

import pytest
from sqlalchemy import Engine, event

from annotation.errors import ExportError
from annotation.exchange import read_items_or_errors
from annotation.files.gold_files import RatingFormat, rating_json
from annotation.gold import ExportOptions, Unfinished
from annotation.quality import QualitySettings
from annotation.services.assignment import AssignmentService
from annotation.services.bundle import open_services
from annotation.services.ratings import RatingExportService, RatingService
from annotation.types import KnownPair, NewPair, ProjectSettings
from db.models import ServerKey
from kpdemo.io.tables import open_source
from tests.commands import main
from tests.raters import LONG_AGO, TYPE, new_world


@pytest.fixture
def database(sqlite_database):
    return sqlite_database


COLUMNS = ["id", "type", "rater", "grade", "seconds", "at", "revisions"]


def written(database, project, file, format=RatingFormat.JSONL, *, named=True):
    count = RatingExportService(database).export(project, file, format, named=named)
    text = file.read_text(encoding="utf-8")
    rows = (
        [json.loads(line) for line in text.splitlines()]
        if format is RatingFormat.JSONL
        else list(csv.DictReader(io.StringIO(text), delimiter="\t" if format is RatingFormat.TSV else ","))
    )
    assert count == len(rows)
    return rows


def imported(database, name, *pairs):
    services = open_services(database)
    project = services.projects.create(ProjectSettings(name, types=(TYPE, "phrase2word"), raters_per_pair=3))
    services.importing.import_pairs(project.id, pairs)
    return project.id


def pair(id, *ratings, type=TYPE):
    grades = tuple((rater, Decimal(grade)) for rater, grade in ratings)
    return NewPair(id, type, f"The ferry {id} leaves.", f"a ferry {id}", ratings=grades, place=f"f, {id}")


PAIRS = (
    pair("a", ("ben", "2.75"), ("ana", "0")),
    pair("a", ("ana", "4"), type="phrase2word"),
    pair("=1+1", ("@cleo", "1.5"), ("-1", "2")),
    pair("none"),
)


def test_tables_spell_a_grade_alike(database, tmp_path):
    project = imported(database, "harbour", *PAIRS)
    csv_rows, tsv_rows = (
        written(database, project, tmp_path / "r", format) for format in (RatingFormat.CSV, RatingFormat.TSV)
    )
    assert [row["grade"] for row in csv_rows] == [row["grade"] for row in tsv_rows]
    assert {"0", "2.75", "4"} <= {row["grade"] for row in tsv_rows}


def test_a_grade_on_the_page_has_its_time_and_how_often_it_was_changed(database, tmp_path):
    world = new_world(database, pairs=3, raters=2)
    now = [LONG_AGO]
    ratings = RatingService(database, lambda: now[0])
    assignment = AssignmentService(database, lambda: now[0])
    first, second = world.raters
    for rater, grade in ((second, "4"), (first, "1.25")):
        [shown, *_] = assignment.queue(world.project, rater).pairs
        ratings.rate(shown.id, rater, Decimal(grade), 7.5)
    now[0] += timedelta(hours=1)
    ratings.rate(shown.id, first, Decimal(3), 2.0)
    rows = written(database, world.project, tmp_path / "r.jsonl")
    id = rows[0]["id"]
    at = "2026-03-01T09:00:00+00:00"
    assert [list(row) for row in rows] == [COLUMNS] * 2
    assert [list(row.values()) for row in rows] == [
        [id, TYPE, "rater 0.0", 3.0, 9.5, "2026-03-01T10:00:00+00:00", 1],
        [id, TYPE, "rater 0.1", 4.0, 7.5, at, 0],
    ]


@pytest.mark.parametrize("named", [True, False])
def test_parts_of_the_ratings_make_up_the_export_and_each_reads_its_own_rows(database, tmp_path, named):
    raters = [f"rater {number}" for number in range(12)]
    pairs = [
        pair(f"p{at}", *((raters[(5 * at + rater) % 12], str((at + rater) % 5)) for rater in range(at % 4)))
        for at in range(1_500)
    ]
    project = imported(database, "harbour", *pairs)
    open_services(database).pairs.withdraw(project, ["p2", "p1023"])
    exported = written(database, project, tmp_path / "r.jsonl", named=named)
    assert len(exported) == 2_245
    service, fetched = RatingExportService(database), []

    def count_rows(connection, cursor, *statement):
        cursor.row_factory = lambda cursor, row: fetched.append(row) or row

    event.listen(Engine, "before_cursor_execute", count_rows)
    try:
        for limit in (97, 1_000):
            found = []
            while len(found) < len(exported):
                fetched.clear()
                total, rows = service.page(project, named=named, limit=limit, offset=len(found))
                assert total == len(exported)
                assert len(rows) == min(limit, total - len(found))
                assert len(fetched) < limit + 3 * len(raters)
                found += rows
            assert [rating_json(row) for row in found] == exported
        single = [service.page(project, named=named, limit=1, offset=at)[1] for at in range(1_500, 1_512)]
        assert [rating_json(row) for [row] in single] == exported[1_500:1_512]
        assert service.page(project, named=named, limit=5, offset=2_245) == (2_245, [])
        assert len(service.page(project, named=named, limit=sys.maxsize, offset=0)[1]) == 2_245
    finally:
        event.remove(Engine, "before_cursor_execute", count_rows)


def test_check_pairs_and_withdrawn_ones_are_not_in_it(database, tmp_path):
    world = new_world(database, pairs=2, raters=1, k=1)
    services = open_services(database)
    known = NewPair("c1", TYPE, "A ship is in the dock.", "a docked ship", place="known.tsv, line 1")
    services.known_pairs.import_checks(world.project, [KnownPair(known, Decimal(3))])
    services.quality.change(world.project, QualitySettings(check_every=2))
    queue = services.assignment.queue(world.project, world.raters[0])
    while queue.pairs:
        queue = services.ratings.rate(queue.pairs[0].id, world.raters[0], Decimal(2), 1.0).queue
    assert services.work.work(world.project)[0].ratings == 3
    services.pairs.withdraw(world.project, ["secret id 0"])
    assert [row["id"] for row in written(database, world.project, tmp_path / "r.jsonl")] == ["secret id 1"]


@pytest.mark.parametrize("format", list(RatingFormat))
def test_the_file_can_be_imported_again(database, tmp_path, format):
    project = imported(database, "harbour", *PAIRS)
    file = tmp_path / f"r.{format}"
    rows = written(database, project, file, format)
    assert [(row["type"], row["rater"], float(row["grade"])) for row in rows] == [
        (TYPE, "ana", 0),
        (TYPE, "ben", 2.75),
        ("phrase2word", "ana", 4),
        (TYPE, rows[3]["rater"], 2),
        (TYPE, rows[4]["rater"], 1.5),
    ]
    assert all(row["at"] in (None, "") and row["seconds"] in (None, "") for row in rows)
    bare = [NewPair(p.id, p.type, p.left, p.right, place=p.place) for p in PAIRS]
    other = imported(database, "other", *bare)
    with open_source(file) as source:
        summary = open_services(database).importing.import_pairs(other, read_items_or_errors(source))
    assert (summary.pairs, summary.ratings) == (0, 5)
    again = written(database, other, tmp_path / f"again.{format}", format)
    assert again == rows
    assert (tmp_path / f"again.{format}").read_bytes() == file.read_bytes()


@pytest.mark.parametrize("id", ["1\t2", "1\n2", "1\u20282"])
def test_an_id_that_tsv_cannot_hold_is_refused_there_only(database, tmp_path, id):
    project = imported(database, "harbour", pair(id, ("ana", "1")))
    with pytest.raises(ExportError, match="tab or a line break, which TSV cannot hold: write CSV or JSON"):
        written(database, project, tmp_path / "r.tsv", RatingFormat.TSV)
    other = imported(database, "other", pair(id))
    for format in (RatingFormat.CSV, RatingFormat.JSONL):
        file = tmp_path / f"r.{format}"
        written(database, project, file, format)
        with open_source(file) as source:
            summary = open_services(database).importing.import_pairs(other, read_items_or_errors(source))
        assert summary.ratings == int(format is RatingFormat.CSV)  # the second time it is there already


def test_no_cell_of_a_table_for_spreadsheets_is_a_formula_and_others_are_as_they_are(call, tmp_path):
    for options, id, rater in (((), "=1+1", "@cleo"), (("--for-spreadsheets",), "'=1+1", "'@cleo")):
        assert call("--output", str(tmp_path / "r.csv"), "--raters", "named", *options)[0] == 0
        with (tmp_path / "r.csv").open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
        assert (rows[3]["id"], rows[4]["rater"]) == (id, rater)
    assert call("--output", str(tmp_path / "r.jsonl"), "--for-spreadsheets")[0] == 2


def test_raters_have_the_numbers_of_gold_sets_which_stay(database, tmp_path):
    project = imported(database, "harbour", *PAIRS)
    services = open_services(database)
    before = written(database, project, tmp_path / "1.jsonl", named=False)
    named = written(database, project, tmp_path / "2.jsonl")
    label = {one["rater"]: other["rater"] for one, other in zip(named, _by(named, before), strict=True)}
    assert sorted(label.values()) == ["rater 1", "rater 2", "rater 3", "rater 4"]
    with database.session() as session:  # newcomers would be put between the others by another key
        session.get(ServerKey, "raters").value = "1" * 64
    services.importing.import_pairs(project, [pair("b", ("dora", "1"), ("eva", "2"), ("fred", "3"))])
    services.gold.export(project, tmp_path / "gold", ExportOptions(unfinished=Unfinished.LIST))
    lines = (tmp_path / "gold" / "unfinished.jsonl").read_text(encoding="utf-8").splitlines()
    gold = {(row["id"], row["type"]): row["ratings"] for row in map(json.loads, lines)}
    assert {one["rater"] for one in gold["a", TYPE]} == {label["ana"], label["ben"]}
    assert [record.options.unfinished for record in services.gold.exports(project)] == [Unfinished.LIST]
    after = written(database, project, tmp_path / "3.jsonl", named=False)
    assert after[: len(before)] == before
    assert {row["rater"] for row in after[len(before) :]} == {"rater 5", "rater 6", "rater 7"}


def _by(named, numbered):
    """The numbered rows in the order of the named ones: of a pair each grade is another's."""
    found = {(row["id"], row["type"], row["grade"]): row for row in numbered}
    return [found[row["id"], row["type"], row["grade"]] for row in named]


def test_a_number_that_was_written_is_recognised_in_an_import(database, tmp_path):
    project = imported(database, "harbour", *PAIRS)
    file = tmp_path / "r.jsonl"
    written(database, project, file, named=False)
    with open_source(file) as source:
        summary = open_services(database).importing.import_pairs(project, read_items_or_errors(source))
    assert (summary.ratings, summary.pairs) == (0, 0)


def test_where_the_file_cannot_be_put_in_its_place_nothing_was_exported(database, tmp_path):
    project = imported(database, "harbour", *PAIRS)
    service, events = RatingExportService(database), open_services(database).events

    def fail():
        raise OSError

    for named in (True, False):
        before = events.recent(project)
        arguments = (project, tmp_path / "r.csv", RatingFormat.CSV)
        with pytest.raises(OSError):  # noqa: PT011
            service.export(*arguments, named=named, publish=fail)
        assert events.recent(project) == before
        service.export(*arguments, named=named)
        assert [event.action for event in events.recent(project)][: 1 + len(before)] == [
            "ratings exported",
            *(event.action for event in before),
        ]


@pytest.fixture
def call(sqlite_database, capsys):
    imported(sqlite_database, "harbour", *PAIRS)
    url = f"sqlite:///{sqlite_database.url.database}"

    def run(*arguments):
        status = main(["ratings", "harbour", *arguments, "--database-url", url])
        return status, *capsys.readouterr()

    return run


def test_the_command_writes_by_the_ending_of_the_name(call, tmp_path):
    for ending, begins in (
        ("jsonl", '{"id": "a"'),
        ("CSV", '"id","type","rater"'),
        ("tsv", "id\ttype\trater"),
    ):
        file = tmp_path / f"r.{ending}"
        assert call("--output", str(file)) == (0, f"{file}: 5 ratings.\n", "")
        assert file.read_text(encoding="utf-8").startswith(begins)
        assert "ana" not in file.read_text(encoding="utf-8")
    assert "ana" in call("--raters", "named")[1]


def test_without_a_file_lines_are_printed_and_nothing_else(call):
    status, out, err = call("--output", "-")
    assert (status, err, len([json.loads(line) for line in out.splitlines()])) == (0, "", 5)


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["--output", "r.parquet"], 2, "end it in .jsonl, .csv or .tsv."),
        (["--raters", "none"], 2, "'none'"),
        (["--output", "no/such/folder/r.csv"], 2, "cannot be written"),
    ],
)
def test_a_wrong_call_is_one_sentence(call, arguments, status, said):
    found, out, err = call(*arguments)
    assert (found, out, err.count("\n")) == (status, "", 1)
    assert said in err
