"""Triggers that keep history, and grades on the scale of their project.

Rows of the append-only tables are added, never changed. The scale is that of the project, at which no CHECK
of another table can look.

They guard against our own mistakes, not against the owner of the database. A row is deleted only with its
project (the cascade finds the project gone), an audit event never: it only forgets the project.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sqlalchemy import Connection, inspect, text

from db.models import APPEND_ONLY, GRADES, Base

NEVER_DELETED = "audit_events"
_FUNCTION, _OF_SCALE = "keep_history", "keep_scale"
_GONE = "project_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM {projects} WHERE id = OLD.project_id)"


def trigger_names(*, is_sqlite: bool) -> set[str]:
    """The triggers that a database has to have."""
    events = ("insert", "update", "delete") if is_sqlite else ("change", "truncate")
    history = {f"{table}_{event}" for table in APPEND_ONLY for event in events}
    return history | {f"{table}_scale_{event}" for table in GRADES for event in ("insert", "update")}


def create_triggers(connection: Connection) -> None:
    """Guard the append-only tables and the grades that are there: an older revision has fewer."""
    is_sqlite = connection.dialect.name == "sqlite"
    looking = inspect(connection)
    there = looking.get_table_names()
    tables = [table for table in APPEND_ONLY if table in there]
    statements = [*(_sqlite(tables) if is_sqlite else _postgresql(tables))]
    if "projects" in there and "scale_low" in {column["name"] for column in looking.get_columns("projects")}:
        grades = {table: columns for table, columns in GRADES.items() if table in there}
        statements += _scale_sqlite(grades) if is_sqlite else _scale_postgresql(grades)
    for statement in statements:
        connection.execute(text(statement.replace(":", r"\:")))


def drop_triggers(connection: Connection) -> None:
    """Take them away, as far as they are there, so that a migration may change anything."""
    if connection.dialect.name == "sqlite":
        for name in sorted(trigger_names(is_sqlite=True)):
            connection.execute(text(f"DROP TRIGGER IF EXISTS {name}"))
    else:
        for function in (_FUNCTION, _OF_SCALE):
            connection.execute(text(f"DROP FUNCTION IF EXISTS {function}() CASCADE"))


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


def _scale_sqlite(grades: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for table, columns in grades.items():
        off = " OR ".join(f"NEW.{column} NOT BETWEEN scale_low AND scale_high" for column in columns)
        own = f"SELECT 1 FROM projects WHERE id = {_owner(table, 'NEW', '')} AND ({off})"
        refuse = f"WHEN EXISTS ({own}) BEGIN SELECT RAISE(ABORT, '{table}: a grade is off the scale'); END"
        yield f"CREATE TRIGGER {table}_scale_insert BEFORE INSERT ON {table} {refuse}"
        changed = ", ".join(columns)
        yield f"CREATE TRIGGER {table}_scale_update BEFORE UPDATE OF {changed} ON {table} {refuse}"


def _owner(table: str, row: str, schema: str) -> str:
    """The id of the project that a row belongs to."""
    if table != "training_grades":
        return f"{row}.project_id"
    return f"(SELECT project_id FROM {schema}training_attempts WHERE id = {row}.attempt_id)"


def _scale_postgresql(grades: Mapping[str, Sequence[str]]) -> Iterator[str]:
    # Inserted rows are looked at together: an import of many asks once. The names are those of _FUNCTION.
    yield f"""
        CREATE FUNCTION {_OF_SCALE}() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE
            grade text;
            is_off boolean;
            project text = 'new.project_id';
            condition text;
        BEGIN
            IF TG_TABLE_NAME = 'training_grades' THEN
                project = format('{_owner("training_grades", "new", "%I.")}', TG_TABLE_SCHEMA);
            END IF;
            FOREACH grade IN ARRAY TG_ARGV LOOP
                condition = format(
                    ' AS new JOIN %I.projects AS project ON project.id = ' || project ||
                    ' WHERE new.%I NOT BETWEEN project.scale_low AND project.scale_high)',
                    TG_TABLE_SCHEMA, grade
                );
                IF TG_LEVEL = 'STATEMENT' THEN
                    EXECUTE 'SELECT EXISTS (SELECT 1 FROM added' || condition INTO is_off;
                ELSE
                    EXECUTE 'SELECT EXISTS (SELECT 1 FROM (SELECT ($1).*)' || condition INTO is_off USING NEW;
                END IF;
                IF is_off THEN
                    RAISE EXCEPTION '%: a grade is off the scale', TG_TABLE_NAME
                        USING ERRCODE = 'check_violation';
                END IF;
            END LOOP;
            RETURN NULL;
        END $$
    """
    for table, columns in grades.items():
        listed = ", ".join(f"'{column}'" for column in columns)
        run = f"EXECUTE FUNCTION {_OF_SCALE}({listed})"
        yield (
            f"CREATE TRIGGER {table}_scale_insert AFTER INSERT ON {table} "
            f"REFERENCING NEW TABLE AS added FOR EACH STATEMENT {run}"
        )
        changed = ", ".join(columns)
        differs = " OR ".join(f"OLD.{column} IS DISTINCT FROM NEW.{column}" for column in columns)
        yield (
            f"CREATE TRIGGER {table}_scale_update AFTER UPDATE OF {changed} ON {table} "
            f"FOR EACH ROW WHEN ({differs}) {run}"
        )
