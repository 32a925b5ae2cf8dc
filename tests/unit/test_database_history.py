"""The triggers of the append-only tables, on both systems."""

from __future__ import annotations

import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import DBAPIError

from db.models import APPEND_ONLY, Project
from tests.databases import contents, fill

STATEMENTS = (
    "UPDATE rating_history SET quarters = 1",
    "UPDATE adjudication_history SET note = ''",
    "UPDATE consents SET at = '2026-03-01 12:00:00'",
    "DELETE FROM consents",
    "UPDATE audit_events SET action = 'y'",
    "UPDATE audit_events SET project_id = NULL",  # the project still stands
    "DELETE FROM rating_history WHERE id = 1",
    "DELETE FROM adjudication_history",
    "DELETE FROM audit_events",
    "DELETE FROM pairs",  # which would take its history along
)


def test_history_can_neither_be_changed_nor_deleted(database):
    fill(database)
    before = contents(database)
    for statement in STATEMENTS:
        with pytest.raises(DBAPIError, match="append-only"), database.session() as session:
            session.execute(text(statement))
    assert contents(database) == before


@pytest.mark.parametrize("table", APPEND_ONLY)
def test_history_cannot_be_truncated(postgresql_database, table):
    fill(postgresql_database)
    with pytest.raises(DBAPIError, match="append-only"), postgresql_database.session() as session:
        session.execute(text(f"TRUNCATE {table}"))


@pytest.mark.parametrize("table", APPEND_ONLY)
def test_history_cannot_be_replaced(sqlite_database, table):
    fill(sqlite_database)
    with pytest.raises(DBAPIError, match="append-only"), sqlite_database.session() as session:
        session.execute(text(f"INSERT OR REPLACE INTO {table} SELECT * FROM {table}"))


def test_an_audit_event_outlives_its_project_but_nobody_else_may_change_it_then(database):
    fill(database)
    with database.session() as session:
        session.delete(session.scalars(select(Project)).one())
    for statement in ("DELETE FROM audit_events", "UPDATE audit_events SET user_id = NULL"):
        with pytest.raises(DBAPIError, match="append-only"), database.session() as session:
            session.execute(text(statement))
