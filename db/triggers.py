"""Triggers that keep history: rows of the append-only tables are added, never changed.

They guard against our own mistakes, not against the owner of the database. A row is deleted only with its
project (the cascade finds the project gone), an audit event never: it only forgets the project.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlalchemy import Connection, inspect, text

from db.models import APPEND_ONLY, Base

NEVER_DELETED = "audit_events"
_FUNCTION = "keep_history"
_GONE = "project_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM {projects} WHERE id = OLD.project_id)"


def trigger_names(*, is_sqlite: bool) -> set[str]:
    """The triggers that a database has to have."""
    events = ("insert", "update", "delete") if is_sqlite else ("change", "truncate")
    return {f"{table}_{event}" for table in APPEND_ONLY for event in events}


def create_triggers(connection: Connection) -> None:
    """Guard the append-only tables that are there: an older revision has fewer."""
    is_sqlite = connection.dialect.name == "sqlite"
    there = inspect(connection).get_table_names()
    tables = [table for table in APPEND_ONLY if table in there]
    for statement in _sqlite(tables) if is_sqlite else _postgresql(tables):
        connection.execute(text(statement.replace(":", r"\:")))


def drop_triggers(connection: Connection) -> None:
    """Take them away, as far as they are there, so that a migration may change anything."""
    if connection.dialect.name == "sqlite":
        for name in sorted(trigger_names(is_sqlite=True)):
            connection.execute(text(f"DROP TRIGGER IF EXISTS {name}"))
    else:
        connection.execute(text(f"DROP FUNCTION IF EXISTS {_FUNCTION}() CASCADE"))


def _sqlite(tables: Sequence[str]) -> Iterator[str]:
    for table in tables:
        refuse = f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
        # INSERT OR REPLACE would delete the old row without asking the trigger for DELETE.
        taken = f"EXISTS (SELECT 1 FROM {table} WHERE id = NEW.id)"
        yield f"CREATE TRIGGER {table}_insert BEFORE INSERT ON {table} WHEN {taken} {refuse}"
        gone = "OLD." + _GONE.format(projects="projects")
        if table == NEVER_DELETED:
            same = " AND ".join(f"NEW.{column} IS OLD.{column}" for column in _columns(table))
            forgets = f"NEW.project_id IS NULL AND {gone} AND {same}"
            yield f"CREATE TRIGGER {table}_update BEFORE UPDATE ON {table} WHEN NOT ({forgets}) {refuse}"
            yield f"CREATE TRIGGER {table}_delete BEFORE DELETE ON {table} {refuse}"
        else:
            yield f"CREATE TRIGGER {table}_update BEFORE UPDATE ON {table} {refuse}"
            yield f"CREATE TRIGGER {table}_delete BEFORE DELETE ON {table} WHEN NOT ({gone}) {refuse}"


def _postgresql(tables: Sequence[str]) -> Iterator[str]:
    same = " AND ".join(
        f"NEW.{column} IS NOT DISTINCT FROM OLD.{column}" for column in _columns(NEVER_DELETED)
    )
    same = same.replace("NEW.detail", "NEW.detail::text").replace("OLD.detail", "OLD.detail::text")
    # The schema is asked of the trigger, not of search_path, which a tool of the server may have emptied.
    yield f"""
        CREATE FUNCTION {_FUNCTION}() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE project_stands boolean;
        BEGIN
            IF TG_OP <> 'TRUNCATE' THEN
                EXECUTE format('SELECT EXISTS (SELECT 1 FROM %I.projects WHERE id = $1)', TG_TABLE_SCHEMA)
                    INTO project_stands USING OLD.project_id;
                IF TG_TABLE_NAME <> '{NEVER_DELETED}' THEN
                    IF TG_OP = 'DELETE' AND NOT project_stands THEN
                        RETURN OLD;
                    END IF;
                ELSIF TG_OP = 'UPDATE' AND NOT project_stands THEN
                    IF NEW.project_id IS NULL AND OLD.project_id IS NOT NULL AND {same} THEN
                        RETURN NEW;
                    END IF;
                END IF;
            END IF;
            RAISE EXCEPTION '% is append-only', TG_TABLE_NAME
                USING ERRCODE = 'integrity_constraint_violation';
        END $$
    """
    for table in tables:
        run = f"EXECUTE FUNCTION {_FUNCTION}()"
        yield f"CREATE TRIGGER {table}_change BEFORE UPDATE OR DELETE ON {table} FOR EACH ROW {run}"
        yield f"CREATE TRIGGER {table}_truncate BEFORE TRUNCATE ON {table} FOR EACH STATEMENT {run}"


def _columns(table: str) -> list[str]:
    return [column.name for column in Base.metadata.tables[table].columns if column.name != "project_id"]
