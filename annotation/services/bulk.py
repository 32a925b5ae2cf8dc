"""Counting, asking for and inserting rows: one or many at once, in the way of each database."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar, cast

from sqlalchemy import ColumnElement, String, Table, any_, bindparam, func, insert, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import InstrumentedAttribute, Session

from db.models import Base

if TYPE_CHECKING:
    from psycopg import Connection

Value = TypeVar("Value")
Built = TypeVar("Built")

_AT_ONCE = 500
"""Values a statement; SQLite limits the parameters of one."""


def parts(values: Iterable[Value]) -> Iterator[list[Value]]:
    """As many at once as a statement takes."""
    left = iter(values)
    while part := list(islice(left, _AT_ONCE)):
        yield part


def is_among(
    session: Session, column: InstrumentedAttribute[str], values: Collection[str]
) -> ColumnElement[bool]:
    """Whether a column has one of many values: `IN`, which PostgreSQL reads faster as one array."""
    if session.connection().dialect.name == "postgresql":
        return column == any_(bindparam(None, list(values), ARRAY(String)))
    return column.in_(values)


def count_where(session: Session, *conditions: ColumnElement[bool]) -> int:
    """How many rows meet the conditions, which name their table."""
    return session.scalar(select(func.count()).where(*conditions)) or 0


def insert_rows(session: Session, model: type[Base], rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows that all have the same columns; values are what the driver takes, or dicts for JSON."""
    connection = session.connection()
    if not rows:
        return
    if connection.dialect.name == "postgresql":
        driver = cast("Connection[Any]", connection.connection.driver_connection)
        _copy(driver, model.__tablename__, rows)
    else:
        connection.execute(insert(_table(model)), rows)


def _copy(connection: Connection[Any], table: str, rows: Sequence[Mapping[str, Any]]) -> None:
    from psycopg import sql

    columns = list(rows[0])
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    statement = sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(table), names)
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for row in rows:
            values = (row[column] for column in columns)
            copy.write_row([json.dumps(value) if isinstance(value, dict) else value for value in values])


def insert_if_missing(session: Session, model: type[Base], values: Mapping[str, Any]) -> None:
    """Insert a row unless one with its key is there; of two at once, one does."""
    connection = session.connection()
    statements = per_system(_table(model), lambda insert: insert.on_conflict_do_nothing())
    connection.execute(statements[connection.dialect.name], values)


def per_system(table: Table, build: Callable[[sqlite.Insert], Built]) -> dict[str, Built]:
    """A statement INSERT … ON CONFLICT for each system; both write it in the same way."""
    return {
        "sqlite": build(sqlite.insert(table)),
        "postgresql": build(cast(sqlite.Insert, postgresql.insert(table))),
    }


def _table(model: type[Base]) -> Table:
    return cast(Table, model.__table__)
