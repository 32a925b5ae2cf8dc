"""What several services write in their statements: many rows at once, conflicts, beginnings of texts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, TypeVar, cast

from sqlalchemy import ColumnElement, Label, String, Table, any_, bindparam, func, insert, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import InstrumentedAttribute, Session

from annotation.types import Clock
from annotation.wording import BEGINNING_LENGTH, read_length
from db import Database
from db.database import copy_in
from db.models import Base

Result = TypeVar("Result")


def in_transaction(database: Database, clock: Clock, work: Callable[[Session, datetime], Result]) -> Result:
    """What `work` returns, called with the session of a transaction and the time."""
    return database.transact(lambda session: work(session, clock()))


Value = TypeVar("Value")
Built = TypeVar("Built")

AT_ONCE = 500
"""Values a statement; SQLite limits the parameters of one."""
STREAMED_AT_ONCE = 2_000
"""Rows that are held of a large result."""


def parts(values: Iterable[Value]) -> Iterator[list[Value]]:
    """As many at once as a statement takes."""
    left = iter(values)
    while part := list(islice(left, AT_ONCE)):
        yield part


def is_among(
    session: Session, column: InstrumentedAttribute[str], values: Collection[str]
) -> ColumnElement[bool]:
    """Whether a column has one of many values: `IN`, which PostgreSQL reads faster as one array."""
    if session.connection().dialect.name == "postgresql":
        return column == any_(bindparam(None, list(values), ARRAY(String)))
    return column.in_(values)


def by_code_point(session: Session, column: InstrumentedAttribute[str]) -> ColumnElement[str]:
    """A column to sort by as Python sorts texts, whatever the language of the database is."""
    is_sqlite = session.connection().dialect.name == "sqlite"
    return column.collate("BINARY" if is_sqlite else "C")


def count_where(session: Session, *conditions: ColumnElement[bool]) -> int:
    """How many rows meet the conditions, which name their table."""
    return session.scalar(select(func.count()).where(*conditions)) or 0


def insert_rows(session: Session, model: type[Base], rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows that all have the same columns; values are what the driver takes, JSON as Python has it."""
    connection = session.connection()
    if not rows:
        return
    if connection.dialect.name == "postgresql":
        names = list(rows[0])
        copy_in(connection, _table(model), names, ([row[name] for name in names] for row in rows))
    else:
        connection.execute(insert(_table(model)), rows)


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


def beginning_of(column: InstrumentedAttribute[str], length: int = BEGINNING_LENGTH) -> Label[str]:
    """What `beginning` needs of a column to show `length` characters, under the column's own name."""
    return func.substr(column, 1, read_length(length)).label(column.key)
