"""The tables with columns, types, constraints, indexes and triggers, and the commands of the database."""

from __future__ import annotations

import json
import os
import re
import uuid
from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, Inspector, create_engine, inspect, make_url, text
from sqlalchemy.exc import OperationalError

from tests.characterisation.commands import done, run
from tests.characterisation.comparing import check_json, check_text
from tests.conftest import unavailable

SERVER = os.environ.get("POSTGRESQL_URL", "postgresql://127.0.0.1:5432/test")


def engine(url: str) -> Engine:
    parsed = make_url(url)
    is_server = parsed.drivername.startswith("postgres")
    return create_engine(parsed.set(drivername="postgresql+psycopg") if is_server else parsed)


@pytest.fixture
def schema() -> Iterator[str]:
    """The name of an empty schema on the PostgreSQL server."""
    name, server = f"kpdemo_{uuid.uuid4().hex}", engine(SERVER)
    try:
        try:
            with server.begin() as connection:
                connection.execute(text(f"CREATE SCHEMA {name}"))
        except OperationalError as error:
            unavailable(f"No PostgreSQL at {SERVER}: {error.orig}")
        yield name
        with server.begin() as connection:
            connection.execute(text(f"DROP SCHEMA {name} CASCADE"))
    finally:
        server.dispose()


def tables(inspector: Inspector) -> Iterator[str]:
    """Every table, in the order of names: a line for each thing that it has."""
    for name in sorted(inspector.get_table_names()):
        yield f"\ntable {name}"
        lines = [f"  primary key {_columns(inspector.get_pk_constraint(name)['constrained_columns'])}"]
        for column in inspector.get_columns(name):
            needed = "" if column["nullable"] else " not null"
            default = f" default {column['default']}" if column["default"] is not None else ""
            lines.append(f"  column {column['name']} {column['type']!s}{needed}{default}")
        for key in inspector.get_foreign_keys(name):
            options = "".join(f" {option} {value}" for option, value in sorted(key["options"].items()))
            target = f"{key['referred_table']} {_columns(key['referred_columns'])}"
            lines.append(f"  foreign key {_columns(key['constrained_columns'])} to {target}{options}")
        for unique in inspector.get_unique_constraints(name):
            lines.append(f"  unique {_columns(unique['column_names'])} named {unique['name']}")
        for check in inspector.get_check_constraints(name):
            lines.append(f"  check {check['name']}: {_condition(check['sqltext'])}")
        for index in inspector.get_indexes(name):
            if not index.get("duplicates_constraint"):
                lines.append(f"  {_index(index)}")
        yield from sorted(lines, key=lambda line: (line.split()[0] != "primary", line))


def _columns(names: list[str]) -> str:
    return f"({', '.join(names)})"


def _index(index) -> str:
    parts = index.get("expressions") or index["column_names"]
    where = next((str(value) for key, value in index["dialect_options"].items() if key.endswith("where")), "")
    unique = "unique index" if index["unique"] else "index"
    return f"{unique} {index['name']} {_columns(parts)}" + (f" where {_condition(where)}" if where else "")


def _condition(sql: str) -> str:
    return " ".join(sql.replace('"', "").split())


def described(server: Engine, triggers: str) -> str:
    with server.connect() as connection:
        lines = list(tables(inspect(connection)))
        lines += ["", *sorted(_condition(row[0]) for row in connection.execute(text(triggers)))]
    return "\n".join(lines).lstrip("\n") + "\n"


def test_an_sqlite_file_has_these_tables(tmp_path):
    url = f"sqlite:///{tmp_path / 'new.db'}"
    done(tmp_path, f"db upgrade --database-url {url}")
    server = engine(url)
    check_text(
        "database/sqlite.txt", described(server, "SELECT sql FROM sqlite_master WHERE type = 'trigger'")
    )
    with server.connect() as connection:  # none is overlooked
        made = connection.execute(text("SELECT sql FROM sqlite_master WHERE type = 'table'")).scalars()
        assert described(server, "SELECT ''").count("\n  check ") == sum(
            len(re.findall(r"\bCHECK\b", sql)) for sql in made
        )
    server.dispose()


HIDDEN = ("revision", "newest", "before", "after", "bytes")
"""Revisions are named anew when their history is; the size of a file is SQLite's."""

TRIGGERS = """
SELECT pg_get_triggerdef(oid) FROM pg_trigger
WHERE NOT tgisinternal AND tgrelid IN (SELECT oid FROM pg_class WHERE relnamespace = '{0}'::regnamespace)
UNION ALL SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = '{0}'::regnamespace"""


def test_a_postgresql_database_has_these_tables(tmp_path, schema):
    url = make_url(SERVER).update_query_dict({"options": f"-csearch_path={schema}"})
    shown = url.render_as_string(hide_password=False)
    done(tmp_path, ["db", "upgrade", "--database-url", shown])
    server = engine(shown)
    found = described(server, TRIGGERS.format(schema))
    server.dispose()
    check_text("database/postgresql.txt", found.replace(f"{schema}.", ""))


def test_what_the_commands_of_the_database_print(tmp_path):
    given = {"KPDEMO_DATABASE_URL": "sqlite:///study.db"}
    lines = (
        "db current --json", "db check --json", "db upgrade --json", "db upgrade --json",
        "db current --json", "db check --json", "db backup copy.db --json", "db backup copy.db --json",
        "db restore copy.db --json", "db restore copy.db --force --json",
        "db current --json --database-url mysql://nowhere/x", "db check --json --database-url sqlite:///none.db",
    )  # fmt: skip
    found = []
    for line in lines:
        outcome = run(tmp_path, line, given=given)
        printed = json.loads(outcome.out) if outcome.out else None
        said = outcome.err.replace(f"{tmp_path}/", "")
        found.append({"line": f"python -m {line}", "status": outcome.status, "json": printed, "stderr": said})
    check_json("database/commands.json", found, hide=HIDDEN)
