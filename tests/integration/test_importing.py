"""Importing on both databases: everything or nothing, nothing doubled, nothing invented."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select, text

from annotation.assignment import position_of
from annotation.errors import ImportFileError, NotFoundError
from annotation.services.accounts import AccountService
from annotation.services.assignment import refresh_pairs
from annotation.services.audit import EventService
from annotation.services.imports import MOST_ITEMS, ImportService
from annotation.services.known_pairs import KnownPairService
from annotation.services.pairs import PairService
from annotation.services.projects import ProjectService
from annotation.types import KnownPair, NewPair, NewRating, ProjectSettings, Role
from db import Database
from db.models import Assignment, AuditEvent, Pair, Rating, RatingChange, User

ROOT = Path(__file__).parent.parent.parent
SETTINGS = ProjectSettings("News", types=("sentence2phrase", "phrase2word"), raters_per_pair=3)
NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)


def pair(number: int, grades: dict[str, str] | None = None, **changes) -> NewPair:
    ratings = tuple((rater, Decimal(grade)) for rater, grade in (grades or {}).items())
    values = {"id": f"p{number}", "type": "sentence2phrase", "left": f"left {number}", "right": f"{number}"}
    return NewPair(**{**values, **changes}, ratings=ratings)


def rating(number: int, rater: str, grade: str, type: str | None = None, place: str = "") -> NewRating:
    return NewRating(f"p{number}", rater, Decimal(grade), type, place)


def import_into(database: Database, items, **changes):
    project = ProjectService(database).create(replace(SETTINGS, **changes))
    return project, ImportService(database, clock=lambda: NOON).import_pairs(project.id, items)


def everything(database: Database) -> dict[str, list]:
    """What the database holds of pairs and ratings, to see that nothing changed."""
    with database.reading() as session:
        tables = (
            Pair.__table__,
            Rating.__table__,
            Assignment.__table__,
            RatingChange.__table__,
            User.__table__,
        )
        return {
            table.name: [tuple(row) for row in session.execute(select(table).order_by(table.c.id))]
            for table in tables
        }


def graded(database: Database) -> dict[tuple[str, str], float]:
    with database.reading() as session:
        rows = session.execute(
            select(Pair.external_id, User.name, Rating.quarters)
            .join(Rating, Rating.pair_id == Pair.id)
            .join(User, User.id == Rating.rater_id)
        )
        return {(id, rater): quarters / 4 for id, rater, quarters in rows}


# What is imported


def test_a_pair_is_kept_as_it_came(database):
    awkward = pair(
        1,
        left="  Tab\there, line\nthere, שלום, 中文, 👩‍👩‍👧, <script>alert(1)</script>, 'quoted', \\N  ",
        right="=1+1",
        genre="Travel",
        intended=Decimal("2.25"),
        source="berlitz 7",
    )
    project, summary = import_into(database, [awkward])
    assert (summary.pairs, summary.ratings, summary.duplicates) == (1, 0, ())
    with database.reading() as session:
        [row] = session.scalars(select(Pair))
    assert (row.external_id, row.type, row.left, row.right) == ("p1", awkward.type, awkward.left, "=1+1")
    assert (row.genre, row.intended_quarters, row.source) == ("Travel", 9, "berlitz 7")
    assert (row.open_slots, row.rating_count, row.low_quarters, row.spread_quarters) == (3, 0, None, 0)
    assert row.position == position_of(project.settings.seed, "sentence2phrase", "p1")


def test_order_of_import_goes_on_where_it_stopped_and_is_the_order_of_rating_if_wished(database):
    project, _ = import_into(database, map(pair, range(3)), is_random=False)
    ImportService(database).import_pairs(project.id, map(pair, range(5)))
    with database.reading() as session:
        rows = session.execute(select(Pair.external_id, Pair.import_order, Pair.position).order_by(Pair.id))
        assert [tuple(row) for row in rows] == [(f"p{n}", n, n) for n in range(5)]


def test_ratings_bring_accounts_assignments_history_and_counts(database):
    project, summary = import_into(database, [pair(1, {"Ana": "0", "Ben": "2.75"}), pair(2, {"Ana": "4"})])
    assert (summary.pairs, summary.ratings) == (2, 3)
    assert graded(database) == {("p1", "Ana"): 0, ("p1", "Ben"): 2.75, ("p2", "Ana"): 4}
    held = everything(database)
    with database.session() as session:
        first, second = session.scalars(select(Pair).order_by(Pair.import_order))
        changes = list(session.scalars(select(RatingChange)))
        assignments = list(session.scalars(select(Assignment)))
        refresh_pairs(session, [first.id, second.id])  # as the raters' own way of counting has it
    assert everything(database) == held
    assert (first.open_slots, first.rating_count) == (1, 2)
    assert (first.low_quarters, first.high_quarters, first.spread_quarters) == (0, 11, 11)
    assert (second.open_slots, second.rating_count, second.spread_quarters) == (2, 1, 0)
    assert {(c.origin, c.previous_quarters, c.seconds, c.at) for c in changes} == {
        ("import", None, None, NOON)
    }
    assert sorted(c.quarters for c in changes) == [0, 11, 16]
    assert {(a.state, a.lease_expires_at) for a in assignments} == {("rated", None)}
    assert {(a.pair_id, a.position) for a in assignments} == {(p.id, p.position) for p in (first, second)}
    members = ProjectService(database).members(project.id)
    assert [(m.user.name, m.user.has_password, m.roles) for m in members] == [
        ("Ana", False, {Role.RATER}),
        ("Ben", False, {Role.RATER}),
    ]


def test_an_account_that_is_there_is_used_however_its_name_is_written(database):
    ana = AccountService(database).add_user("Ana")
    _, _ = import_into(database, [pair(1, {"ANA": "1"}), pair(2, {"ａｎａ": "2"})])
    assert [user.id for user in AccountService(database).users()] == [ana.id]
    assert graded(database) == {("p1", "Ana"): 1, ("p2", "Ana"): 2}


def test_accounts_that_became_raters_are_told_once_and_in_the_audit(database):
    for name in ("Ana", "Ben"):
        AccountService(database).add_user(name)
    projects = ProjectService(database)
    project, summary = import_into(database, [pair(1, {"ana": "1", "Cleo": "2"}), pair(2, {"cleo": "2"})])
    assert summary.joined == ("Ana",)
    projects.add_member(project.id, "Ben", Role.ADJUDICATOR)
    ratings = [rating(2, "Ana", "1"), rating(2, "Ben", "1")]
    assert ImportService(database).import_pairs(project.id, ratings).joined == ("Ben",)
    projects.remove_member(project.id, "Ben", Role.RATER)
    assert ImportService(database).import_pairs(project.id, ratings).joined == ()
    roles = {member.user.name: member.roles for member in projects.members(project.id)}
    assert roles == {"Ana": {Role.RATER}, "Ben": {Role.ADJUDICATOR}, "Cleo": {Role.RATER}}
    with database.reading() as session:
        events = session.scalars(select(AuditEvent).where(AuditEvent.action == "pairs imported"))
        assert [event.detail["joined"] for event in events] == [["Ana"], ["Ben"], []]
    made = [event.detail["name"] for event in EventService(database).of_server() if event.user is None]
    assert sorted(made) == sorted(account.name for account in AccountService(database).users())


def test_numbered_raters_are_the_projects_own(database):
    import_into(database, [pair(1, {"1": "0", "rater 2": "1"})])
    import_into(database, [pair(1, {"1": "2"})], name="x" * 120)
    names = [name for _, name in graded(database)]
    assert names[:2] == ["News/1", "News/2"]
    assert names[2].startswith("xxxx")
    assert names[2].endswith("…/1")
    assert len(names[2]) == 80


def test_numbered_raters_stay_the_same_when_the_project_is_renamed(database):
    project, _ = import_into(database, [pair(1, {"press/1": "0"}), pair(1, {"1": "3"})])
    ProjectService(database).update(project.id, replace(project.settings, name="News 2026"))
    summary = ImportService(database).import_pairs(project.id, [pair(1, {"1": "3"}), pair(2, {"1": "2"})])
    assert (summary.pairs, summary.ratings) == (1, 1)
    assert set(graded(database)) == {("p1", "press/1"), ("p1", "News/1"), ("p2", "News/1")}


def test_numbered_raters_are_found_in_a_project_that_an_earlier_version_renamed(database, monkeypatch):
    project, _ = import_into(database, [pair(1, {"1": "3"})])
    monkeypatch.setattr("annotation.services.projects.FORMER_NAME", "not kept")
    for name in ("Times", "News 2026"):
        ProjectService(database).update(project.id, replace(project.settings, name=name))
    assert ImportService(database).import_pairs(project.id, [pair(1, {"1": "3"})]).ratings == 0


def test_a_named_rater_with_a_slash_is_nobodys_number(database):
    project, _ = import_into(database, [pair(1, {"team/1": "3"})])
    ImportService(database).import_pairs(project.id, [pair(2, {"1": "2"})])
    assert set(graded(database)) == {("p1", "team/1"), ("p2", "News/1")}


def test_numbered_raters_are_nobody_elses_whatever_the_projects_are_called(database):
    first, _ = import_into(database, [pair(1, {"1": "3"})])
    ProjectService(database).update(first.id, replace(first.settings, name="Old news"))
    AccountService(database).add_user("News/2")
    second, _ = import_into(database, [pair(2, {"1": "3", "2": "1"})])
    again = ImportService(database).import_pairs(second.id, [pair(2, {"1": "3", "rater 2": "1"})])
    assert again.ratings == 0
    long = "x" * 90
    import_into(database, [pair(3, {"1": "0"})], name=long + "a")
    import_into(database, [pair(4, {"1": "0"})], name=long + "b")
    raters = {id: {name for pair, name in graded(database) if pair == id} for id in ("p2", "p3", "p4")}
    assert raters["p2"] == {"News (2)/1", "News (2)/2"}
    assert not raters["p3"] & raters["p4"]


def test_an_import_is_written_down(database):
    ana = AccountService(database).add_user("Ana")
    project = ProjectService(database).create(SETTINGS)
    ImportService(database).import_pairs(project.id, [pair(1), pair(1)], by=ana, files=["a.tsv"])
    with database.reading() as session:
        [event] = session.scalars(select(AuditEvent).where(AuditEvent.action == "pairs imported"))
    assert (event.user_id, event.project_id) == (ana.id, project.id)
    assert event.detail == {"pairs": 1, "ratings": 0, "duplicates": 1, "files": ["a.tsv"], "joined": []}


# Ratings in long form


def test_ratings_in_long_form_are_added_to_pairs_of_this_import_and_of_earlier_ones(database):
    project, _ = import_into(database, [pair(1), pair(2, {"Ana": "1"})])
    items = [rating(1, "Ana", "3"), pair(3), rating(3, "Ben", "0.25"), rating(2, "Ben", "4")]
    summary = ImportService(database).import_pairs(project.id, items)
    assert (summary.pairs, summary.ratings, summary.duplicates) == (1, 3, ())
    assert graded(database) == {
        ("p1", "Ana"): 3, ("p2", "Ana"): 1, ("p2", "Ben"): 4, ("p3", "Ben"): 0.25,
    }  # fmt: skip
    with database.reading() as session:
        rows = session.execute(
            select(Pair.open_slots, Pair.rating_count, Pair.spread_quarters).order_by(Pair.import_order)
        )
        assert [tuple(row) for row in rows] == [(2, 1, 0), (1, 2, 12), (2, 1, 0)]
        assert session.scalar(select(func.count()).select_from(RatingChange)) == 4


@pytest.mark.parametrize(("state", "slots"), [("held", 2), ("skipped", 3), ("returned", 3)])
def test_a_rating_ends_what_the_rater_had_with_the_pair(database, state, slots):
    project, _ = import_into(database, [pair(1)])
    ana = AccountService(database).add_user("Ana")
    with database.session() as session:
        [row] = session.scalars(select(Pair))
        row.open_slots = slots
        lease = NOON + timedelta(minutes=30) if state == "held" else None
        session.add(
            Assignment(
                project_id=project.id,
                pair_id=row.id,
                rater_id=ana.id,
                state=state,
                position=row.position,
                claimed_at=NOON,
                lease_expires_at=lease,
            )
        )
    ImportService(database).import_pairs(project.id, [rating(1, "Ana", "2")])
    with database.reading() as session:
        [assignment] = session.scalars(select(Assignment))
        [row] = session.scalars(select(Pair))
    assert (assignment.state, assignment.lease_expires_at) == ("rated", None)
    assert (row.open_slots, row.rating_count) == (2, 1)


def test_an_id_of_two_types_needs_its_type(database):
    project, _ = import_into(database, [pair(1), pair(1, type="phrase2word")])
    importing = ImportService(database)
    with pytest.raises(
        ImportFileError, match=r"have the id 'p1' \(phrase2word, sentence2phrase\); add a field"
    ):
        importing.import_pairs(project.id, [rating(1, "Ana", "1")])
    importing.import_pairs(project.id, [rating(1, "Ana", "1", "phrase2word")])
    with database.reading() as session:
        assert session.scalar(select(Pair.type).join(Rating, Rating.pair_id == Pair.id)) == "phrase2word"


# Duplicates


def test_importing_a_file_again_reports_and_doubles_nothing(database):
    items = [pair(1, {"Ana": "1"}), pair(2), pair(3, {"1": "2"})]
    project, _ = import_into(database, items)
    before = everything(database)
    summary = ImportService(database).import_pairs(project.id, [*items, rating(1, "ana", "1")])
    assert (summary.pairs, summary.ratings, summary.duplicates) == (0, 0, ("p1", "p2", "p3"))
    assert everything(database) == before


def test_one_row_for_each_rating_makes_one_pair(database):
    _, summary = import_into(database, [pair(1, {"Ana": "1"}), pair(1, {"Ben": "2"}), pair(1, {"Ana": "1"})])
    assert (summary.pairs, summary.ratings, summary.duplicates) == (1, 2, ("p1",))


# Equal texts under two ids


def twin(number: int, grades: dict[str, str] | None = None, *, of: int) -> NewPair:
    """A pair with an id of its own and, but for white space, the texts of another."""
    return pair(number, grades, left=f" left  {of}", right=f"{of}\n")


@pytest.mark.parametrize("distance", [0, MOST_ITEMS + 1])
def test_the_same_texts_under_two_ids_are_two_pairs_with_all_their_grades(database, distance):
    between = [pair(number) for number in range(10, 10 + distance)]
    first, second = {"r1": "1", "r2": "2"}, {"r1": "4", "r2": "3"}
    turned = pair(3, left="1", right="left 1")
    items = [pair(1, first), *between, twin(2, second, of=1), turned, twin(4, of=1)]
    project, summary = import_into(database, items)
    assert (summary.pairs, summary.ratings, summary.duplicates) == (4 + distance, 4, ())
    assert summary.equal_texts == (("p2", "p1"), ("p4", "p1"))
    assert graded(database) == {("p1", "r1"): 1, ("p1", "r2"): 2, ("p2", "r1"): 4, ("p2", "r2"): 3}
    before = everything(database)
    again = ImportService(database).import_pairs(project.id, [*items, rating(2, "r1", "4")])
    assert (again.pairs, again.ratings, again.equal_texts) == (0, 0, ())
    assert {"p1", "p2", "p3", "p4"} <= set(again.duplicates)
    assert everything(database) == before


def test_merged_ids_bring_their_grades_to_one_pair_and_what_is_not_taken_is_told(database):
    project = ProjectService(database).create(SETTINGS)
    items = [
        pair(1, {"r1": "1", "r2": "2"}),
        *(pair(number) for number in range(10, 10 + MOST_ITEMS)),
        twin(2, {"r1": "4", "r3": "3"}, of=1),
        twin(2, {"r2": "2"}, of=1),
        *(pair(number) for number in range(10 + MOST_ITEMS, 10 + 2 * MOST_ITEMS)),
        rating(2, "R2", "0.25"),  # in long form, in a later part
        rating(2, "r3", "3"),
    ]
    importing = ImportService(database)
    summary = importing.import_pairs(project.id, items, merges_equal_texts=True)
    assert (summary.pairs, summary.ratings) == (1 + 2 * MOST_ITEMS, 3)
    assert (summary.merged, summary.equal_texts, summary.duplicates) == ((("p2", "p1"),), (), ())
    told = [(each.id, each.rater, float(each.grade), float(each.kept)) for each in summary.left_out]
    assert told == [("p2", "r1", 4, 1), ("p2", "r2", 2, 2), ("p2", "R2", 0.25, 2), ("p2", "r3", 3, 3)]
    assert graded(database) == {("p1", "r1"): 1, ("p1", "r2"): 2, ("p1", "r3"): 3}
    with database.reading() as session:
        [event] = session.scalars(select(AuditEvent).where(AuditEvent.action == "pairs imported"))
        counts = session.execute(
            select(Pair.open_slots, Pair.rating_count, Pair.spread_quarters).where(Pair.external_id == "p1")
        ).one()
    assert (event.detail["merged"], event.detail["ratings_left_out"]) == (1, 4)
    assert tuple(counts) == (0, 3, 8)
    before = everything(database)
    again = importing.import_pairs(project.id, items, merges_equal_texts=True)
    assert (again.pairs, again.ratings, again.merged) == (0, 0, summary.merged)
    assert {(each.rater, each.grade) for each in again.left_out} == {
        ("r1", 4), ("r2", 2), ("R2", Decimal("0.25")), ("r3", 3),
    }  # fmt: skip
    assert everything(database) == before


def test_merged_grades_may_come_before_those_of_the_pair(database):
    project = ProjectService(database).create(SETTINGS)
    items = [pair(1), twin(2, of=1), rating(2, "Ana", "4"), rating(1, "Ana", "1"), rating(1, "Ben", "2")]
    summary = ImportService(database).import_pairs(project.id, items, merges_equal_texts=True)
    assert graded(database) == {("p1", "Ana"): 4, ("p1", "Ben"): 2}
    [left_out] = summary.left_out
    assert (left_out.id, left_out.rater, left_out.grade, left_out.kept) == ("p1", "Ana", 1, 4)


def test_a_pair_that_stands_is_never_merged_and_takes_the_grades_of_its_own_id(database):
    items = [pair(1, {"Ana": "1"}), twin(2, of=1)]
    project, _ = import_into(database, items)
    more = [twin(2, {"Ana": "3"}, of=1), twin(3, {"Ben": "2"}, of=1)]
    summary = ImportService(database).import_pairs(project.id, more, merges_equal_texts=True)
    assert (summary.pairs, summary.merged, summary.left_out) == (0, (("p3", "p1"),), ())
    assert graded(database) == {("p1", "Ana"): 1, ("p2", "Ana"): 3, ("p1", "Ben"): 2}


def test_grades_are_merged_into_a_pair_in_use_before_a_withdrawn_one(database):
    project, _ = import_into(database, [pair(1), twin(2, of=1)])
    PairService(database).withdraw(project.id, ["p1"])
    ImportService(database).import_pairs(project.id, [twin(3, {"Ana": "2"}, of=1)], merges_equal_texts=True)
    assert graded(database) == {("p2", "Ana"): 2}


def test_merging_never_gives_a_pair_more_raters_than_the_project_asks_for(sqlite_database):
    project, _ = import_into(sqlite_database, [pair(1, {"A": "1", "B": "1", "C": "1"})])
    before = everything(sqlite_database)
    with pytest.raises(ImportFileError, match="the pair 'p2' has all the 3 raters"):
        ImportService(sqlite_database).import_pairs(
            project.id, [twin(2, {"D": "1"}, of=1)], merges_equal_texts=True
        )
    assert everything(sqlite_database) == before


def simulated(rows: int, texts: int, seed: int) -> list[NewPair]:
    """Pairs of few texts, graded by three raters, as the files of machine translation have them."""
    draw = random.Random(seed)
    return [
        twin(
            number,
            {f"r{rater}": str(draw.randrange(17) / 4) for rater in draw.sample(range(5), 3)},
            of=draw.randrange(texts),
        )
        for number in range(rows)
    ]


def test_every_grade_of_a_file_with_many_repeated_texts_arrives(database):
    items = simulated(1_200, 300, seed=3)
    project, summary = import_into(database, items)
    assert (summary.pairs, summary.ratings) == (1_200, 3_600)
    assert len(summary.equal_texts) == 1_200 - len({item.left for item in items})
    assert graded(database) == {
        (item.id, rater): float(grade) for item in items for rater, grade in item.ratings
    }
    before = everything(database)
    assert ImportService(database).import_pairs(project.id, items).ratings == 0
    assert everything(database) == before


def test_every_grade_of_a_file_with_many_repeated_texts_is_merged_or_told(database):
    items = simulated(1_200, 300, seed=4)
    project = ProjectService(database).create(replace(SETTINGS, raters_per_pair=5))
    summary = ImportService(database).import_pairs(project.id, items, merges_equal_texts=True)
    kept, texts = graded(database), {}
    for item in items:
        texts.setdefault(item.left, item.id)
    assert summary.pairs == len(texts)
    assert len(kept) == summary.ratings
    assert summary.ratings + len(summary.left_out) == 3_600
    into, left_out = dict(summary.merged), {(each.id, each.rater): each for each in summary.left_out}
    for item in items:
        assert into.get(item.id, item.id) == texts[item.left]
        for rater, grade in item.ratings:
            stands = kept[texts[item.left], rater]
            told = left_out.get((item.id, rater))
            assert stands == float(grade) if told is None else (told.grade, told.kept) == (grade, stands)


# What is refused


@pytest.mark.parametrize(
    ("items", "part"),
    [
        ([pair(2, type="a2b", place="f.tsv, line 9")], "f.tsv, line 9, field 'type': 'a2b' is not a type of"),
        ([pair(1, left="other")], "field 'id': 'p1' is the id of another pair, in the project or further up"),
        ([pair(2, {"Ana": "0.5"})], "Pair 'p2': the grade 0.5 is off the project's steps of 1"),
        ([pair(2, {"A": "1", "B": "1", "C": "1", "D": "1"})], "4 ratings, but the project asks for 3"),
        ([rating(1, "Dora", "1")], "the pair 'p1' has all the 3 raters"),
        ([pair(2, {"A": "1", "B": "1", "C": "1"}), rating(2, "D", "1")], "'p2' has all the 3 raters"),
        ([pair(2, {"Ana": "1", "ANA": "1"})], "'ANA' rated the pair 'p2' twice"),
        ([rating(1, "Ana", "2")], "'Ana' graded the pair 'p1' 1 before and 2 here; keep one of them"),
        ([pair(2), rating(2, "Ana", "2"), rating(2, "ana", "3")], "'ana' graded the pair 'p2' 2 before"),
        ([rating(7, "Ana", "2", place="r.csv, line 3")], "r.csv, line 3, field 'id': the project has no"),
        ([rating(1, "Ana", "1", "phrase2word")], "no pair 'p1' of type 'phrase2word'"),
        ([pair(2, {"a\u202eb": "1"})], "rater 'a\\u202eb': The name holds the invisible character U+202E"),
    ],
)  # fmt: skip
def test_a_bad_item_is_told_and_nothing_is_imported(sqlite_database, items, part):
    database = sqlite_database
    first = [pair(1, {"Ana": "1", "Ben": "2", "Cy": "1"})]
    project, _ = import_into(database, first, step=Decimal(1))
    before = everything(database)
    many = [pair(number) for number in range(100, 100 + MOST_ITEMS)]  # a part that was inserted already
    with pytest.raises(ImportFileError) as caught:
        ImportService(database).import_pairs(project.id, [*many, *items])
    assert part in str(caught.value)
    assert str(caught.value).endswith(".")
    assert everything(database) == before


def refused(database: Database, project_id: int, items) -> str:
    before = everything(database)
    with pytest.raises(ImportFileError) as caught:
        ImportService(database).import_pairs(project_id, items)
    assert everything(database) == before
    return str(caught.value)


def test_every_line_that_clashes_with_the_project_is_counted(database):
    project, _ = import_into(database, map(pair, range(6_000)))
    told = refused(database, project.id, (pair(number, left="other") for number in range(6_000)))
    assert told.startswith(
        "6,000 lines cannot be imported; the first 5 are: (1) Pair 'p0', field 'id': 'p0' is"
    )


def test_lines_that_clash_after_a_wrong_one_are_counted_in_the_order_of_the_file(sqlite_database):
    project, _ = import_into(sqlite_database, [pair(1)])
    items = [
        pair(1, left="other"),
        ImportFileError("f.tsv, line 3: is no pair."),
        pair(2, type="a2b"),
        *map(pair, range(3, MOST_ITEMS + 10)),
        pair(3, left="other"),  # a pair further up that was not inserted
        pair(4),
        pair(7_000, left="left 5", right="5"),  # the texts of one
        pair(7_000),
    ]
    told = refused(sqlite_database, project.id, items)
    assert told.startswith("5 lines cannot be imported; these are: (1) Pair 'p1', field 'id'")
    assert "; (2) f.tsv, line 3: is no pair; (3) Pair 'p2', field 'type': 'a2b' is" in told
    assert "; (4) Pair 'p3', field 'id'" in told
    assert "; (5) Pair 'p7000', field 'id'" in told


def test_a_line_that_is_wrong_in_two_ways_counts_once(sqlite_database):
    project, _ = import_into(sqlite_database, [pair(1)])
    known = KnownPair(pair(2), Decimal(2))
    KnownPairService(sqlite_database).import_checks(project.id, [known])
    told = refused(sqlite_database, project.id, [pair(1, left="left 2", right="2"), pair(1, left="other")])
    assert told.startswith(
        "2 lines cannot be imported; these are: (1) Pair 'p1': the pair 'p1' is a check pair"
    )
    assert "(2) Pair 'p1', field 'id': 'p1' is the id of another pair" in told


def test_every_wrong_rating_is_counted_in_the_order_of_the_file(database):
    project, _ = import_into(database, [pair(1, {"Ana": "1", "Ben": "2", "Cy": "1"})])
    items = [
        rating(7_000, "Ana", "1", place="f.csv, line 2"),
        *map(pair, range(100, 100 + MOST_ITEMS)),
        rating(1, "Ana", "2", place="f.csv, line 602"),
        pair(1, left="other", place="f.csv, line 603"),
        rating(1, "Dora", "1", place="f.csv, line 604"),
        pair(2, {"Ana": "1", "ana": "2", "a\u202eb": "2"}, place="f.csv, line 605"),
        rating(100, "Ana", "1"),
        rating(100, "Ana", "1"),
        pair(101, {"Ana": "1", "ANA": "2"}, place="f.csv, line 608"),
        rating(1, "a\u202eb", "1", place="f.csv, line 609"),
        rating(7_000, "Ben", "1", place="f.csv, line 610"),
    ]
    told = refused(database, project.id, items)
    assert told.startswith("8 lines cannot be imported; the first 5 are: (1) f.csv, line 2, field 'id'")
    assert [int(line) for line in re.findall(r"f.csv, line (\d+)", told)] == [2, 602, 603, 604, 605]
    assert refused(database, project.id, items[-4:-2]).count("f.csv") == 1


def test_ratings_of_a_pair_whose_own_line_is_wrong_are_not_counted_beside_it(sqlite_database):
    project, _ = import_into(sqlite_database, [pair(1)])
    unread = ImportFileError("f.csv, line 2, field 'left': is empty; write its text.")
    unread.pair_id = "p2"
    items = [unread, rating(2, "Ana", "1"), pair(3, type="a2b"), rating(3, "Ana", "1"), rating(4, "Ana", "1")]
    told = refused(sqlite_database, project.id, items)
    assert told.startswith("3 lines cannot be imported")
    assert "the project has no pair 'p4'" in told


def test_what_breaks_while_reading_undoes_everything(database):
    project = ProjectService(database).create(SETTINGS)

    def broken() -> Iterator[NewPair]:
        yield from map(pair, range(MOST_ITEMS * 2))
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="gone"):
        ImportService(database).import_pairs(project.id, broken())
    assert everything(database)["pairs"] == []


def test_a_project_that_is_not_there_is_told(database):
    with pytest.raises(NotFoundError, match="There is no project 77"):
        ImportService(database).import_pairs(77, [pair(1)])


KILLED = """
import os, signal, sys
from annotation.services.imports import ImportService
from annotation.types import NewPair
from db import Database

def items():
    for number in range(100_000):
        yield NewPair(str(number), "sentence2phrase", f"left {number}", "right", ratings=())

def progress(done):
    if done >= 5_000:
        os.kill(os.getpid(), signal.SIGKILL)

ImportService(Database(sys.argv[1])).import_pairs(int(sys.argv[2]), items(), progress=progress)
"""


def test_a_process_that_is_killed_in_the_middle_leaves_nothing(database):
    project, _ = import_into(database, [pair(1, {"Ana": "1"})])
    before = everything(database)
    url = database.url.render_as_string(hide_password=False)
    command = [sys.executable, "-c", KILLED, url, str(project.id)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, check=False, env=dict(os.environ))
    assert result.returncode == -signal.SIGKILL, result.stderr
    assert everything(database) == before
    assert ImportService(database).import_pairs(project.id, [pair(2)]).pairs == 1


# Concurrency and size


@pytest.mark.both_databases
def test_two_imports_at_once_into_one_project_follow_each_other(database):
    project, _ = import_into(database, [])
    failures = []

    def run(first: int) -> None:
        try:
            items = [pair(number, {"Ana": "1", "1": "2"}) for number in range(first, first + 700)]
            ImportService(database).import_pairs(project.id, items)
        except Exception as error:  # noqa: BLE001  # a thread's error would go unseen
            failures.append(error)

    threads = [threading.Thread(target=run, args=(first,)) for first in (0, 350, 350)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    with database.reading() as session:
        assert sorted(session.scalars(select(Pair.import_order))) == list(range(1050))
        assert session.scalar(select(func.count()).select_from(Rating)) == 2100
        assert set(session.scalars(select(Pair.open_slots))) == {1}


def test_an_import_does_not_wait_for_one_into_another_project(postgresql_database):
    project = ProjectService(postgresql_database).create(SETTINGS)
    with postgresql_database.engine.begin() as other:
        other.execute(text("ANALYZE pairs"))  # as the other one does, which holds a lock to its end
        summary = ImportService(postgresql_database).import_pairs(
            project.id, map(pair, range(4 * MOST_ITEMS))
        )
    assert summary.pairs == 4 * MOST_ITEMS


def test_memory_stays_flat(sqlite_database):
    project = ProjectService(sqlite_database).create(SETTINGS)
    importing = ImportService(sqlite_database)

    def peak(first: int, count: int) -> int:
        items = (pair(number, left=f"{number} " + "x" * 2_000) for number in range(first, first + count))
        tracemalloc.start()
        importing.import_pairs(project.id, items)
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return used

    peak(0, 600)  # what is loaded once
    small = peak(1_000, 1_000)
    assert peak(10_000, 4_000) < small * 1.5


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.sampled_from(["Ana", "ana", "Ben", "1", "2"]), st.integers(0, 16)),
        max_size=25,
    ),
    st.integers(0, 25),
)
def test_however_ratings_arrive_the_counts_are_right(sqlite_database, triples, split):
    service = ProjectService(sqlite_database)
    project = service.create(replace(SETTINGS, name=os.urandom(8).hex(), raters_per_pair=4))
    importing = ImportService(sqlite_database)
    importing.import_pairs(project.id, map(pair, range(5)))
    expected: dict[tuple[int, str], int] = {}
    items = []
    for number, rater, quarters in triples:  # the first grade of a rater stands; later ones repeat it
        grade = expected.setdefault((number, rater.lower()), quarters)
        items.append(rating(number, rater, str(Decimal(grade) / 4)))
    for part in (items[:split], items[split:]):
        importing.import_pairs(project.id, part)
    with sqlite_database.reading() as session:
        rows = list(session.scalars(select(Pair).where(Pair.project_id == project.id)))
    for row in rows:
        given_to = [quarters for (number, _), quarters in expected.items() if f"p{number}" == row.external_id]
        assert (row.rating_count, row.open_slots) == (len(given_to), 4 - len(given_to))
        assert row.low_quarters == min(given_to, default=None)
        assert row.spread_quarters == max(given_to, default=0) - min(given_to, default=0)


def test_the_projects_own_data_format_imports_as_it_is(database, tmp_path):
    from kpdemo.io.tables import open_source
    from tests.reading import read_items

    rows = [
        {"type": "sentence2phrase", "id": "x-0", "left": "Jedan dan.", "right": "dan", "gold": 2.0,
         "ratings": [2.0, 2.0, 1.0], "scale": "0-4", "language": "sr"},
        {"type": "sentence2phrase", "id": "x-1", "left": "Drugi dan.", "right": "noć", "gold": 0.33,
         "genre": "Travel", "baseline_lcs": 0.312},
    ]  # fmt: skip
    path = tmp_path / "clss.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with open_source(path) as source:
        _, summary = import_into(database, read_items(source))
    assert (summary.pairs, summary.ratings) == (2, 3)
    assert graded(database) == {("x-0", f"News/{n}"): g for n, g in ((1, 2), (2, 2), (3, 1))}
