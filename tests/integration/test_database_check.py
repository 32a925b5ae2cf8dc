"""`check`: what it finds, on both systems."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing

import pytest
from sqlalchemy import select, text

from db import Database
from db.checks import INVARIANTS, check
from db.errors import DamagedError
from db.migrations import MIGRATIONS
from db.models import Base, Project
from tests.databases import fill, spoil

pytestmark = pytest.mark.both_databases


def test_a_whole_database_has_no_problem(database):
    fill(database)
    found = check(database)
    assert found.problems == ()
    assert found.revision == MIGRATIONS.head
    assert (found.rows["pairs"], found.rows["ratings"], found.rows["rating_history"]) == (3, 6, 13)


LIES = {
    "open slots": "UPDATE pairs SET open_slots = 3 WHERE import_order = 1",
    "count": "UPDATE pairs SET rating_count = 1 WHERE import_order = 1",
    "lowest": "UPDATE pairs SET low_quarters = NULL WHERE import_order = 1",
    "highest": "UPDATE pairs SET high_quarters = 16 WHERE import_order = 1",
    "spread": "UPDATE pairs SET spread_quarters = 0 WHERE import_order = 1",
    "nobody holds": "UPDATE assignments SET state = 'held', lease_expires_at = claimed_at WHERE id = 6",
    "a rating has an assignment": "DELETE FROM assignments WHERE id = 3",
    "says rated has a rating": "DELETE FROM ratings WHERE id = 4",
    "set aside has an assignment": "UPDATE assignments SET state = 'skipped' WHERE id = 7",
    "position": "UPDATE assignments SET position = 5 WHERE id = 5",
    "a rating is the last": "UPDATE ratings SET quarters = 9 WHERE id = 6",
    "also one that is set aside": "UPDATE set_aside_ratings SET quarters = 9",
    "a second grade is the last": "UPDATE repeats SET quarters = 9",
    "a decision is the last": "UPDATE adjudications SET quarters = 9",
    "is with one writer": "UPDATE writings SET state = 'blank'",
    "a consent text has the SHA-256": "UPDATE projects SET consent = consent || '.'",
}


@pytest.mark.parametrize(("rule", "lie"), LIES.items(), ids=LIES)
def test_the_check_finds_what_does_not_agree(sqlite_database, rule, lie):
    fill(sqlite_database)
    with sqlite_database.session() as session:
        session.execute(text(lie))
    problems = check(sqlite_database).problems
    assert any(
        re.match(rf"Violated by 1 (pair|larger item|project) \(\d\): .*{rule}", problem)
        for problem in problems
    ), problems


def test_the_check_finds_everything_that_does_not_agree_at_once(database):
    fill(database)
    with database.session() as session:
        for lie in LIES.values():
            session.execute(text(lie))
    problems = check(database).problems
    assert len(problems) == 12
    for rule in LIES:
        assert any(rule in problem for problem in problems), problems


def test_the_check_finds_what_belongs_to_another_project(database):
    fill(database)
    with database.session() as session:
        session.execute(text(COPY_PROJECT))
        session.execute(text("UPDATE comments SET project_id = 2"))
    assert check(database).problems == (
        "Violated by 1 pair (3): what is in comments belongs to the project of its pair.",
    )


COPY_PROJECT = """
INSERT INTO projects (id, name, name_key, guidelines, types, raters_per_pair, threshold_quarters,
    step_quarters, is_random, seed, may_revise, lease_minutes, created_by, created_at)
SELECT 2, 'Other', 'other', guidelines, types, raters_per_pair, threshold_quarters,
    step_quarters, is_random, seed, may_revise, lease_minutes, created_by, created_at FROM projects
"""


def test_every_invariant_can_be_broken_by_a_test():
    by_project = [each for each in INVARIANTS if "belongs to the project" in each.rule]
    assert len(INVARIANTS) - len(by_project) == 11
    tables = [set(table.columns.keys()) for table in Base.metadata.tables.values()]
    assert len(by_project) == sum({"pair_id", "project_id"} <= columns for columns in tables)


def test_the_check_finds_a_missing_trigger_a_missing_index_and_a_stray_column(database):
    with database.session() as session:
        if database.is_sqlite:
            session.execute(text("DROP TRIGGER audit_events_delete"))
        else:
            session.execute(text("ALTER TABLE audit_events DISABLE TRIGGER audit_events_change"))
        session.execute(text("DROP INDEX ix_pairs_spread"))
        session.execute(text("ALTER TABLE users ADD COLUMN nickname TEXT"))
    problems = " ".join(check(database).problems)
    assert "History can be changed: audit_events_" in problems
    assert "add index ix_pairs_spread" in problems
    assert "remove column users nickname" in problems


def test_the_check_names_the_tables_that_are_missing(database):
    cascade = "" if database.is_sqlite else " CASCADE"
    with database.session() as session:
        session.execute(text(f"DROP TABLE sign_in_attempts{cascade}"))
        session.execute(text(f"DROP TABLE pairs{cascade}"))
    found = check(database)
    assert found.problems == ("Tables are missing (pairs, sign_in_attempts): restore a backup.",)


def test_the_check_finds_a_damaged_file(sqlite_database):
    fill(sqlite_database)
    assert sqlite_database.path is not None
    sqlite_database.dispose()
    with closing(sqlite3.connect(sqlite_database.path)) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute("UPDATE memberships SET user_id = 77")
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("DELETE FROM sqlite_master WHERE name = 'ix_ratings_recent'")
        connection.commit()
    problems = " ".join(check(sqlite_database).problems)
    assert "Rows of memberships refer to rows that are not there (1)" in problems
    assert "The file is damaged: " in problems


def test_the_check_tells_of_a_table_that_nobody_can_read(sqlite_database):
    fill(sqlite_database)
    spoil(sqlite_database, "projects")
    found = check(sqlite_database)
    assert len(found.problems) == 1
    assert re.fullmatch(r"The file is damaged: [^\n]+; restore a backup\.", found.problems[0])


@pytest.mark.parametrize("opened", [Database.session, Database.reading, Database.single_read])
def test_what_meets_damage_says_which_database_and_what_to_do(sqlite_database, opened):
    spoil(sqlite_database, "projects")
    said = (
        r"test\.db is damaged \(.*malformed\): look at it with `python -m db check`, and restore a backup\.$"
    )
    with pytest.raises(DamagedError, match=said), opened(sqlite_database) as session:
        session.execute(select(Project)).all()


def test_the_check_of_a_database_of_an_earlier_revision_asks_for_an_upgrade(sqlite_database):
    earlier = MIGRATIONS.revisions[0]
    with sqlite_database.session() as session:
        session.execute(text(f"UPDATE alembic_version SET version_num = '{earlier}'"))
    [problem] = check(sqlite_database).problems
    state = f"The tables are those of revision {earlier}, this version needs {MIGRATIONS.head}"
    assert problem.startswith(f"{state}: run `python -m db upgrade --database-url sqlite:///")
