"""Copying rows: all of them from one system to the other, or many into a table of PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import JSON, Connection, DateTime, MetaData, Table, event, insert, select, text

from db.errors import DatabaseError
from db.models import Base, UtcDateTime

AT_ONCE = 2_000
_KEEPS_REVISION = "alembic_version"


def copy_rows(source: Connection, target: Connection) -> None:
    """Copy every row to the target, whose tables are empty and of the revision of the source.

    The tables are reflected from both, as those of an older revision are not those of `db.models`.
    """
    tables = _reflect(target, None)
    origin = _reflect(source, set(tables.tables))
    for table in tables.sorted_tables:  # what is referred to comes first
        _copy_table(source, target, origin.tables[table.name], table)


def empty_tables(connection: Connection) -> None:
    """Delete every row on PostgreSQL."""
    connection.execute(text(f"TRUNCATE {', '.join(sorted(Base.metadata.tables))} RESTART IDENTITY"))


def _reflect(connection: Connection, names: set[str] | None) -> MetaData:
    metadata = MetaData()
    event.listen(metadata, "column_reflect", _read_alike)
    wanted = Base.metadata.tables if connection.dialect.name == "postgresql" and names is None else names
    metadata.reflect(
        connection, only=lambda name, _: name != _KEEPS_REVISION and (wanted is None or name in wanted)
    )
    return metadata


def _read_alike(inspector: object, table: Table, column: Any) -> None:
    if isinstance(column["type"], DateTime):
        column["type"] = UtcDateTime()
    elif isinstance(column["type"], JSON):
        column["type"] = JSON(none_as_null=True)


def _copy_table(source: Connection, target: Connection, origin: Table, table: Table) -> None:
    names = [column.name for column in table.columns]
    query = select(*(origin.columns[name] for name in names)).order_by(*origin.primary_key.columns)
    with source.execution_options(yield_per=AT_ONCE).execute(query) as rows:
        if target.dialect.name == "postgresql":
            _stream_in(target, table, rows)
        else:
            for part in rows.mappings().partitions():
                target.execute(insert(table), [dict(row) for row in part])


def _stream_in(target: Connection, table: Table, rows: Iterable[Sequence[Any]]) -> None:
    """Copy the rows in; the ids of later rows come after theirs."""
    try:
        copy_in(target, table, table.columns.keys(), rows)
    except target.dialect.loaded_dbapi.Error as error:
        reason = str(error).splitlines()[0]
        raise DatabaseError(
            f"The server refused a row of {table.name} ({reason}): nothing was changed; fix the row in the "
            "database that was backed up."
        ) from error
    if "id" in table.columns:
        sequence = f"pg_get_serial_sequence('{table.name}', 'id')"
        target.execute(text(f"SELECT setval({sequence}, MAX(id)) FROM {table.name} HAVING COUNT(*) > 0"))


def copy_in(
    connection: Connection, table: Table, names: Sequence[str], rows: Iterable[Sequence[Any]]
) -> None:
    """COPY rows of the columns `names` into a table of PostgreSQL: less than half the work of INSERT."""
    quote = connection.dialect.identifier_preparer.quote
    as_json = [isinstance(table.columns[name].type, JSON) for name in names]
    driver: Any = connection.connection.driver_connection
    into = f"COPY {quote(table.name)} ({', '.join(map(quote, names))}) FROM STDIN"
    with driver.cursor() as cursor, cursor.copy(into) as copy:
        for row in rows:
            copy.write_row(
                [
                    json.dumps(value) if encode and value is not None else value
                    for value, encode in zip(row, as_json, strict=True)
                ]
            )
