"""Pairs of a wrong import go, all that are named or none; whatever somebody has met stays."""

from __future__ import annotations

import io
import json

import pytest
from sqlalchemy import func, select

from annotation.errors import NotFoundError, PairError
from annotation.services.imports import ImportService
from annotation.services.pairs import PairService
from annotation.services.rater_queue import bar_raters
from annotation.types import NewPair
from db.models import Assignment, AuditEvent, Pair, Rating
from tests.commands import main
from tests.databases import row_problems
from tests.rated import Rated, pair, rated_project
from tests.writers import TYPE, open_office


@pytest.fixture
def rated(database) -> Rated:
    return rated_project(database, [pair("graded", "1"), *(pair(f"p{number}") for number in range(1200))])


def left(rated: Rated) -> list[str]:
    return [line.external_id for line in PairService(rated.database).pairs(rated.id, limit=None).items]


def test_what_nobody_has_met_goes_and_can_be_imported_again(rated):
    wrong = [f"p{number}" for number in range(1199)]
    assert PairService(rated.database).remove(rated.id, [*wrong, wrong[0]], by=rated.adjudicator) == 1199
    assert left(rated) == ["graded", "p1199"]
    assert row_problems(rated.database) == []
    with rated.database.reading() as session:
        event = session.scalars(select(AuditEvent).where(AuditEvent.action == "pairs removed")).one()
        assert (event.detail["pairs"], event.user_id) == (wrong, rated.adjudicator.id)
        assert session.scalar(select(func.count()).select_from(Rating)) == 1
    ImportService(rated.database, clock=rated.clock).import_pairs(rated.id, [pair("p7")])
    assert left(rated) == ["graded", "p1199", "p7"]


def test_one_that_somebody_has_met_keeps_all(rated):
    service, before = PairService(rated.database), left(rated)
    with pytest.raises(
        PairError, match=r"^The pair 'graded' has grades and stays: leave it out, or withdraw it\.$"
    ):
        service.remove(rated.id, ["p1", "graded"])
    with rated.database.session() as session:
        held = session.scalars(select(Pair).where(Pair.external_id == "p1100")).one()
        state = {"state": "returned", "position": held.position, "claimed_at": rated.clock()}
        session.add(Assignment(project_id=rated.id, pair_id=held.id, rater_id=rated.adjudicator.id, **state))
    with pytest.raises(PairError, match=r"^The pair 'p1100' was given to a rater and stays"):
        service.remove(rated.id, before[1:])
    for missing in ("p9999", "\0"):
        with pytest.raises(NotFoundError, match="There is no pair"):
            service.remove(rated.id, ["p1", missing])
    assert left(rated) == before


def test_who_only_may_not_grade_a_pair_was_not_given_it(database):
    office = open_office(database, items=1)
    office.items.change_plan(office.project.id, has_zeros=False)
    office.submit("wim")
    office.accept_all()
    office.importing.import_pairs(office.project.id, [pair("chosen", type=TYPE)])
    service = PairService(database)
    with pytest.raises(PairError, match=r"^The pair 'item 0' was written in this project and stays"):
        service.remove(office.project.id, ["item 0"])
    with database.session() as session:  # as the pair of a sense that an administrator chose
        chosen = session.scalars(select(Pair).where(Pair.external_id == "chosen")).one()
        bar_raters(session.connection(), chosen, [office.id("ana")], office.clock())
    assert service.remove(office.project.id, ["chosen"]) == 1
    assert row_problems(database) == []


def test_an_id_of_several_types_wants_its_type(sqlite_database, capsys):
    rated = rated_project(sqlite_database, [pair("a"), NewPair("a", "phrase2word", "a fast ship", "ferry")])
    asked = ["pairs", "remove", "harbour", "a", "--database-url", str(sqlite_database.engine.url)]
    assert main(asked) == 1
    assert "several types" in capsys.readouterr().err
    assert main([*asked, "--type", "phrase2word", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"project": "harbour", "removed": 1}
    assert left(rated) == ["a"]


AWKWARD = [
    "p 17",
    "a'b",
    'say "no"',
    "naïve 短語 🦜",
    "-x",
    "line\u2028break",
    "$(rm) * \\\\",
]


def given(monkeypatch, content: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_ids_come_from_standard_input_whatever_stands_in_them(sqlite_database, monkeypatch, capsys, ending):
    rated = rated_project(sqlite_database, [pair(id, left=f"left {id}") for id in [*AWKWARD, "last"]])
    url = ["--database-url", str(sqlite_database.engine.url), "--json"]
    content = "\ufeff" + ending.join([*AWKWARD, "", f"  {AWKWARD[0]}\t"])  # an import strips them too
    for verb, done in (("withdraw", "withdrawn"), ("restore", "restored"), ("remove", "removed")):
        given(monkeypatch, (content + f"{ending}nobody").encode())
        assert main(["pairs", verb, "harbour", "-", *url]) == 1
        assert "There is no pair 'nobody'" in capsys.readouterr().err
        given(monkeypatch, content.encode())
        assert main(["pairs", verb, "harbour", "-", *url]) == 0
        assert json.loads(capsys.readouterr().out) == {"project": "harbour", done: len(AWKWARD)}
    assert left(rated) == ["last"]


@pytest.mark.parametrize(
    ("ids", "content", "said"),
    [
        (["-"], b"\n\r\n", "Standard input names no pair: write ids to it, one per line."),
        (["-"], b"caf\xe9\n", "The ids on standard input are not UTF-8: save them as UTF-8."),
        (["-", "p1"], b"p2\n", "Ids are given together with -: give either ids, or - alone"),
    ],
)
def test_standard_input_that_names_no_ids_is_explained(
    sqlite_database, monkeypatch, capsys, ids, content, said
):
    rated_project(sqlite_database, [pair("p1"), pair("p2")])
    given(monkeypatch, content)
    assert main(["pairs", "remove", "harbour", *ids, "--database-url", str(sqlite_database.engine.url)]) == 2
    assert said in capsys.readouterr().err


def test_the_command_withdraws_and_restores_with_a_reason(sqlite_database, capsys):
    rated = rated_project(sqlite_database, [pair("a", "1"), pair("b")])
    url = ["--database-url", str(sqlite_database.engine.url)]
    assert main(["pairs", "withdraw", "harbour", "a", "--reason", "cut off", *url]) == 0
    assert capsys.readouterr().out == "1 pair of harbour withdrawn.\n"
    assert main(["project", "show", "harbour", "--json", *url]) == 0
    assert json.loads(capsys.readouterr().out)["counts"]["withdrawn"] == 1
    assert main(["project", "show", "harbour", *url]) == 0
    assert "1 pair withdrawn, not counted above; see it with" in capsys.readouterr().out
    assert main(["pairs", "list", "harbour", "--state", "withdrawn", "--json", *url]) == 0
    assert [row["id"] for row in json.loads(capsys.readouterr().out)["pairs"]] == ["a"]
    assert main(["pairs", "restore", "harbour", "a", "b", *url]) == 0
    assert capsys.readouterr().out == "1 pair of harbour restored.\n"
    with rated.database.reading() as session:
        event = session.scalars(select(AuditEvent).where(AuditEvent.action == "pairs withdrawn")).one()
    assert (event.user_id, event.detail["reason"]) == (None, "cut off")


def test_ids_that_begin_with_a_hyphen_stand_behind_two(sqlite_database, capsys):
    rated_project(sqlite_database, [pair("-1"), pair("-2")])
    url = ["--database-url", str(sqlite_database.engine.url)]
    assert main(["pairs", "withdraw", *url, "harbour", "--", "-1", "-2"]) == 0
    assert capsys.readouterr().out == "2 pairs of harbour withdrawn.\n"
    assert main(["pairs", "withdraw", "--help"]) == 0
    assert "begin with a hyphen write --." in " ".join(capsys.readouterr().out.split())
